//! Ranks by libfabric, opened at run time: InfiniBand, Slingshot, EFA, Omni-Path or sockets, by one interface.
//!
//! | part | for |
//! |---|---|
//! | [`Ofi`] | the transport |
//! | [`Introduced`] | the same between hosts: ranks find each other by another transport, which also finds out who is gone |
//! | `fabric` | libfabric: its functions, found at run time, and an endpoint |
//! | `message` | what ranks send each other besides accesses to memory |
//! | `engine` | a rank's conversations over its endpoint, moved by the thread that holds them |
//! | `progress_thread` | the thread that holds them while the rank computes or sleeps |
//!
//! Tested over `tcp;ofi_rxm`. The providers of network cards are used as libfabric documents them, and are untested on hardware.
//!
//! Absent on purpose: handles, waiting, the launcher, and silence: who is alive is known by the launcher, and by the provider.

#[cfg(test)]
mod around_tests;
#[cfg(test)]
mod device_tests;
mod engine;
mod fabric;
mod introduced;
pub mod limits;
mod message;
#[cfg(test)]
mod mock_tests;
mod progress_thread;
mod transport;

pub use fabric::{FabricChoice, FabricError, FabricName};
pub use introduced::{Introduced, Introduction};
pub use transport::{NAME, Ofi, Setup};
