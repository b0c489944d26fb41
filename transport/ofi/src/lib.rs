//! The transport over libfabric, opened at run time: InfiniBand, Slingshot, EFA, Omni-Path or sockets, by one interface.
//!
//! | part | for |
//! |---|---|
//! | [`Ofi`] | the transport |
//! | [`Introduced`] | the same between hosts: ranks find each other through another transport, which also detects failed peers |
//! | `fabric` | libfabric: its functions, found at run time, and an endpoint |
//! | `message` | messages between ranks besides accesses to memory |
//! | `engine` | a rank's conversations over its endpoint, driven by the thread that holds their lock |
//! | `progress_thread` | the thread that drives them while the rank computes or sleeps |
//!
//! Tested over `tcp;ofi_rxm`. The providers of network cards are used as libfabric documents them, and are untested on hardware.
//!
//! Absent on purpose: handles, waiting, the launcher, and failure detection by silence: the launcher and the provider know which ranks are alive.

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
