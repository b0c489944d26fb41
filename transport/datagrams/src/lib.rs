//! A transport's operations as conversations by datagrams, whatever carries them: sockets, or a simulated network.
//!
//! [`Station`] joins what every such transport needs: the protocol's end of all conversations, the memory that peers may reach, and what
//! has completed. Who uses it brings time, takes datagrams out and puts in those that come.
//!
//! Absent on purpose: sockets, addresses of hosts, clocks, threads, `unsafe`.

#![forbid(unsafe_code)]

mod segments;
mod station;

pub use station::{Found, Given, Station};
