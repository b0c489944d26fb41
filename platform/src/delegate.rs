//! Wrappers of [`Transport`](crate::Transport) without a line for each method that they leave as it is.

/// Writes the named methods of [`Transport`] as calls of the same methods of `self.inner`, or of another place:
/// `delegate! { self => (PLACE); METHODS }`. Every method can be named.
///
/// A method that is neither named nor written would keep the body that its trait gives it, and never reach what is inside: so every `impl`
/// that delegates denies `clippy::missing_trait_methods`. What a wrapper hides it hides by a method of its own, which says why.
///
/// [`Transport`]: crate::Transport
#[macro_export]
macro_rules! delegate {
    ($self:ident => $inner:tt; $($method:ident)+) => { $($crate::delegate! { @ $self $inner $method })+ };
    ($($method:ident)+) => { $crate::delegate! { self => (self.inner); $($method)+ } };

    // The methods of `Transport`.
    (@ $self:ident $inner:tt capabilities) => { fn capabilities(&$self) -> &$crate::Capabilities { $inner.capabilities() } };
    (@ $self:ident $inner:tt address) => { fn address(&$self) -> $crate::Address { $inner.address() } };
    (@ $self:ident $inner:tt connect) => {
        fn connect(&mut $self, peer: $crate::Rank, address: &$crate::Address) -> Result<$crate::Endpoint, $crate::ConnectError> {
            $inner.connect(peer, address)
        }
    };
    (@ $self:ident $inner:tt rails) => { fn rails(&$self) -> &[$crate::Capabilities] { $inner.rails() } };
    (@ $self:ident $inner:tt rail_to) => { fn rail_to(&$self, peer: $crate::Rank) -> $crate::Rail { $inner.rail_to(peer) } };
    (@ $self:ident $inner:tt leads) => {
        fn leads(&$self, rail: $crate::Rail, peer: $crate::Rank) -> bool {
            $inner.leads(rail, peer)
        }
    };
    (@ $self:ident $inner:tt connect_by) => {
        fn connect_by(
            &mut $self,
            rail: $crate::Rail,
            peer: $crate::Rank,
            address: &$crate::Address,
        ) -> Result<$crate::Endpoint, $crate::ConnectError> {
            $inner.connect_by(rail, peer, address)
        }
    };
    (@ $self:ident $inner:tt register) => {
        fn register(&mut $self, start: $crate::GlobalAddress, memory: $crate::Cells<'static>) -> Result<(), $crate::RegisterError> {
            $inner.register(start, memory)
        }
    };
    (@ $self:ident $inner:tt deregister) => {
        fn deregister(&mut $self, start: $crate::GlobalAddress) -> bool {
            $inner.deregister(start)
        }
    };
    (@ $self:ident $inner:tt post) => {
        fn post(
            &mut $self,
            now: $crate::Instant,
            to: $crate::Endpoint,
            operation: $crate::Operation<'_>,
            token: $crate::Token,
        ) -> Result<(), $crate::PostError> {
            $inner.post(now, to, operation, token)
        }
    };
    (@ $self:ident $inner:tt data_bytes_max) => { fn data_bytes_max(&$self) -> u64 { $inner.data_bytes_max() } };
    (@ $self:ident $inner:tt post_size) => {
        fn post_size(
            &mut $self,
            now: $crate::Instant,
            to: $crate::Endpoint,
            transfer: $crate::Transfer,
            token: $crate::Token,
        ) -> Result<(), $crate::PostError> {
            $inner.post_size(now, to, transfer, token)
        }
    };
    (@ $self:ident $inner:tt fence) => { fn fence(&mut $self, to: $crate::Endpoint) { $inner.fence(to); } };
    (@ $self:ident $inner:tt hold) => { fn hold(&mut $self, now: $crate::Instant, held: bool) { $inner.hold(now, held); } };
    (@ $self:ident $inner:tt progress) => {
        fn progress(&mut $self, now: $crate::Instant, completed: &mut Vec<$crate::Completion>) -> bool {
            $inner.progress(now, completed)
        }
    };
    (@ $self:ident $inner:tt next_deadline) => { fn next_deadline(&$self) -> Option<$crate::Instant> { $inner.next_deadline() } };
    (@ $self:ident $inner:tt before_sleep) => { fn before_sleep(&mut $self) { $inner.before_sleep(); } };
    (@ $self:ident $inner:tt lose) => {
        fn lose(&mut $self, now: $crate::Instant, rank: $crate::Rank) {
            $inner.lose(now, rank);
        }
    };
    (@ $self:ident $inner:tt two_sided) => {
        fn two_sided(&mut $self) -> Option<&mut dyn $crate::TwoSided> {
            $inner.two_sided()
        }
    };
}
