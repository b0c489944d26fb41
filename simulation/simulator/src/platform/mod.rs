//! The platform as a simulated rank sees it.
//!
//! | part | for |
//! |---|---|
//! | `shared_job` | the job behind a lock; `Clock`, `Wait`, `VirtualTime` |
//! | `transport` | `Transport`, and two-sided messages |
//! | `bootstrap` | `Bootstrap` |
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): the job keeps the memory of an operation until it completes the operation, and regions until they
//! are deregistered.
#![allow(unsafe_code)]

mod bootstrap;
mod shared_job;
mod transport;

use std::sync::Arc;

use pelago_base::Rank;
use pelago_platform::{Address, Parts, TrustedTransport};

use self::bootstrap::SimulatedBootstrap;
pub(crate) use self::shared_job::SharedJob;
use self::transport::SimulatedTransport;

/// The name of the simulated transport.
const NAME: &str = "simulated";

/// Makes the parts of a rank's platform.
pub(crate) fn parts(shared: &Arc<SharedJob>, rank: Rank) -> Parts {
    let reach = shared.job().memory.reach_of(rank);
    let bootstrap = Box::new(SimulatedBootstrap { rank, shared: shared.clone() });
    let transport = Box::new(SimulatedTransport { rank, shared: shared.clone() });
    // SAFETY: U1.
    let transport = unsafe { TrustedTransport::new(transport) };
    Parts { reach, clock: shared.clone(), wait: shared.clone(), virtual_time: Some(shared.clone()), bootstrap, transport }
}

fn address_of(rank: Rank) -> Address {
    Address(rank.number().to_le_bytes().into())
}

/// Whether `address` is the address of `rank`.
fn is_address_of(rank: Rank, address: &Address) -> bool {
    address.0 == rank.number().to_le_bytes()
}
