//! Reliable one-sided operations over datagrams, as a state machine.
//!
//! Time and bytes go in as arguments, datagrams and events come out: the same [`Endpoint`] is driven by sockets, by a simulated network
//! and by tests in virtual time.
//!
//! | part | for |
//! |---|---|
//! | [`Endpoint`] | one rank's end: what it asks of others, and what it does for them |
//! | [`Memory`], [`Readable`] | how it touches the memory of its rank |
//! | `wire` | what travels, field by field |
//! | `seal` | each datagram carries a tag made with the job's key |
//! | `peer` | what is known of one peer; 120 bytes when idle |
//! | `sender`, `receiver` | one direction each: what is on its way and what has come |
//! | `round_trip`, `congestion` | how long to wait, and how much to send |
//! | `operations` | what has not ended |
//! | `serve` | what is done for others |
//!
//! # How it works
//!
//! - **Once.** A datagram has a sequence number and keeps it, and what it carries, however often it is sent. The receiver executes each
//!   number once, whatever order they come in: a put's pieces go straight to their addresses, atomics are performed, and answers travel in
//!   numbered datagrams of the other direction, which keep them until they have arrived. How far both directions have come is
//!   kept for ever, so nothing that is repeated, however late and by whomever, is executed again.
//! - **Known.** A write is complete when its datagram is acknowledged. Every acknowledgement counts the writes ever refused; while refusals
//!   that are counted have not come, nothing completes.
//! - **In order.** After a fence, datagrams name the number that must have come before they are executed; those that come too early
//!   are left to be sent again.
//! - **Bounded.** A sender keeps a window of 1,024 datagrams to a peer, in as many bytes as the receiver grants: what its
//!   socket holds, shared among those who send to it. Whoever owes answers for too many requests gets no further ones.
//! - **Finite.** Whoever has something under way hears from the peer, or asks it again and again. A peer that is silent for the failure limit is
//!   lost if nobody else knows that it is alive; one that is alive, but silent for twenty times as long, is unreachable.
//!
//! Absent on purpose: sockets, addresses of hosts, clocks, threads, random numbers, unsafe code.

#![forbid(unsafe_code)]

mod congestion;
mod endpoint;
mod memory;
#[cfg(test)]
mod misconduct;
mod operations;
mod peer;
mod receiver;
mod round_trip;
mod seal;
mod sender;
mod serve;
mod transmit;
mod wire;

pub use endpoint::{
    Config, Endpoint, Event, Full, INJECT_SIZE, Liveness, PeerIndex, Rejected, Request, Transmit, UNREACHABLE_AFTER_LIMITS,
};
pub use memory::{Denied, Local, Memory, Readable};
pub use pelago_base::Failure;
pub use seal::{Key, reseal};
pub use wire::cut;
