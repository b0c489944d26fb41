//! Tools for transports: the simplest transport, wrappers around any transport, and the tests of the contract.
//!
//! | part | for |
//! |---|---|
//! | [`Loopback`] | the whole contract in its simplest form: ranks inside one process. Read it first |
//! | [`Trace`], [`Count`], [`Record`], [`Fault`] | layers: a transport around a transport that traces, counts, records or disturbs operations |
//! | [`Split`] | a layer around two transports: one to the ranks of this node, one to all |
//! | [`MockDevice`] | memory of a device that does not exist, which fails on demand |
//! | [`datagrams`] | common parts of transports by datagrams (feature `datagrams`) |
//! | [`mod@conformance`], [`conformance!`] | every clause of [`Transport`](pelago_platform::Transport)'s contract as a test for any transport |
//!
//! Absent on purpose: sockets, threads, clocks, random sources, `unsafe`; the other transports.

#![forbid(unsafe_code)]

mod captured;
pub mod conformance;
#[cfg(feature = "datagrams")]
pub mod datagrams;
mod device;
mod layers;
mod loopback;

pub use device::MockDevice;
pub use layers::{
    Count, DroppedOperations, Fault, Faults, Manner, Record, RecordWaits, RecordedHost, RecordedKind, RecordedOperation,
    RecordedRank, Recording, Split, Trace,
};
pub use loopback::Loopback;
