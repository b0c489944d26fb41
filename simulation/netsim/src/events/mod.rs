//! Events in virtual time, and the basic data structures of the simulation.
//!
//! | part | for |
//! |---|---|
//! | this file | the order of events at one time |
//! | `queue` | events in order of time |
//! | `pool` | pools of reusable records, and lists that link them |
//! | `rate` | transmission times |
//! | `random` | seeded random numbers |

pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod queue;
pub(crate) mod random;
pub(crate) mod rate;

/// The classes of events, which order events of equal times: users first, then links that become free, then packets that ask, then NICs, then copies
/// within nodes, then domains of ranks.
pub(crate) mod class {
    pub(crate) const WAKE: u64 = 0 << 61;
    pub(crate) const START: u64 = 1 << 61;
    pub(crate) const LINK: u64 = 2 << 61;
    pub(crate) const READY: u64 = 3 << 61;
    pub(crate) const NIC: u64 = 4 << 61;
    pub(crate) const COPY: u64 = 5 << 61;
    pub(crate) const DOMAIN: u64 = 6 << 61;
    pub(crate) const MASK: u64 = 7 << 61;
}

/// Maximum number of entities of one class: the range of the event key.
pub(crate) const ENTITIES_MAX: u32 = 1 << 29;
