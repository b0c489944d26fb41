//! Wrappers: each is a transport around a transport, fulfils the contract if the inner one does, and may be stacked.
//!
//! | layer | adds |
//! |---|---|
//! | [`Trace`] | a line for every post, fence and completion |
//! | [`Count`] | a counter for each event |
//! | [`Fault`] | refusals, delays, other orders and a lost rank, from a seed |
//! | [`Split`] | a second transport, for the ranks that are near |

/// Writes the named methods of `Transport` as calls of the same method of `self.inner`.
macro_rules! delegate {
    ($($method:ident)+) => { $(delegate! { @ $method })+ };
    (@ capabilities) => {
        fn capabilities(&self) -> &pelago_platform::Capabilities {
            self.inner.capabilities()
        }
    };
    (@ address) => {
        fn address(&self) -> pelago_platform::Address {
            self.inner.address()
        }
    };
    (@ connect) => {
        fn connect(
            &mut self,
            peer: pelago_base::Rank,
            address: &pelago_platform::Address,
        ) -> Result<pelago_platform::Endpoint, pelago_platform::ConnectError> {
            self.inner.connect(peer, address)
        }
    };
    (@ rails) => {
        fn rails(&self) -> &[pelago_platform::Capabilities] {
            self.inner.rails()
        }

        fn rail_to(&self, peer: pelago_base::Rank) -> pelago_platform::Rail {
            self.inner.rail_to(peer)
        }

        fn leads(&self, rail: pelago_platform::Rail, peer: pelago_base::Rank) -> bool {
            self.inner.leads(rail, peer)
        }
    };
    (@ connect_by) => {
        fn connect_by(
            &mut self,
            rail: pelago_platform::Rail,
            peer: pelago_base::Rank,
            address: &pelago_platform::Address,
        ) -> Result<pelago_platform::Endpoint, pelago_platform::ConnectError> {
            self.inner.connect_by(rail, peer, address)
        }
    };
    (@ register) => {
        fn register(
            &mut self,
            id: pelago_base::SegmentId,
            memory: pelago_memory::Cells<'static>,
        ) -> Result<(), pelago_platform::RegisterError> {
            self.inner.register(id, memory)
        }
    };
    (@ deregister) => {
        fn deregister(&mut self, id: pelago_base::SegmentId) -> bool {
            self.inner.deregister(id)
        }
    };
    (@ before_sleep) => {
        fn before_sleep(&mut self) {
            self.inner.before_sleep();
        }
    };
    (@ hold) => {
        fn hold(&mut self, now: pelago_base::Instant, held: bool) {
            self.inner.hold(now, held);
        }
    };
    (@ lose) => {
        fn lose(&mut self, now: pelago_base::Instant, rank: pelago_base::Rank) {
            self.inner.lose(now, rank);
        }
    };
    (@ next_deadline) => {
        fn next_deadline(&self) -> Option<pelago_base::Instant> {
            self.inner.next_deadline()
        }
    };
}

mod count;
mod fault;
mod split;
mod trace;

pub use count::Count;
pub use fault::{Fault, Faults, Manner};
pub use split::Split;
pub use trace::Trace;
