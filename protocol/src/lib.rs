//! Reliable one-sided operations over datagrams, as a state machine.
//!
//! Time and bytes go in as arguments, datagrams and events come out: the same [`Conversations`] are driven by sockets, by a simulated
//! network and by tests in virtual time.
//!
//! | part | for |
//! |---|---|
//! | [`Conversations`] | one rank's conversations with all its peers: what it asks of others, and what it does for them |
//! | [`Memory`] | the memory that they reach |
//! | `peer` | what is known of one peer: what is on its way and what has come, how long to wait, how much to send |
//! | `wire` | what travels, field by field; each datagram carries a tag made with the job's key |
//!
//! # How it works
//!
//! - **Once.** A datagram has a sequence number and keeps it, and what it carries, however often it is sent. The receiver executes each
//!   number once, whatever order they come in: a put's pieces go straight to their addresses, atomics are performed, and answers travel in
//!   numbered datagrams of the other direction, which keep them until they have arrived. How far both directions have come is
//!   kept for ever, so nothing that is repeated, however late and by whomever, is executed again.
//! - **Packed.** Bytes of a put or get whose ends are blocks travel one block after another. Each datagram names the blocks of its bytes, by the
//!   shape of all and a place in it or by a list of its own, so that any of them may come first, late or twice; and the range in which all
//!   blocks of the operation lie, so that nothing is written unless all may be.
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

mod api;
mod conversations;
mod memory;
mod peer;
mod wire;

pub use api::{
    Completion, Config, Event, Full, Gap, INJECT_SIZE, Injection, LIST_BLOCKS_MAX, Liveness, PeerIndex, Rejected, Request,
    Signal, Transmit, UNREACHABLE_AFTER_LIMITS,
};
pub use conversations::Conversations;
pub use memory::{Denied, Memory};
pub use pelago_base::Failure;
pub use wire::seal::{Key, reseal};
pub use wire::{PUT_OVERHEAD_BYTES, cut};
