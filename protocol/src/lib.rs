//! Reliable one-sided operations over datagrams, as a state machine.
//!
//! Time and received bytes are arguments; datagrams and events are results. Sockets, a simulated network, and tests in virtual time drive the
//! same [`Conversations`].
//!
//! | part | for |
//! |---|---|
//! | [`Conversations`] | one rank's conversations with all its peers: its own operations, and those that it performs for peers |
//! | [`Memory`] | the memory that operations access |
//! | `peer` | the state of one peer: datagrams in flight and received, timeouts, congestion window |
//! | `wire` | the datagram format, field by field; each datagram carries a tag made with the job's key |
//!
//! # How it works
//!
//! - **Once.** A datagram keeps its sequence number and its contents in all retransmissions. The receiver executes each number once, in any
//!   order of arrival: pieces of a put are written directly to their addresses, atomics are performed, and answers travel in numbered
//!   datagrams of the other direction, which are retransmitted until they have arrived. Both directions keep their sequence state for
//!   ever, so no repeated datagram is executed again, however late it arrives and whoever sends it.
//! - **Packed.** Bytes of a put or get whose ends are blocks travel one block after another. Each datagram names the blocks of its bytes, by the
//!   whole shape and an offset in it or by a list of its own, so that datagrams may arrive in any order, late or twice. It also names the range
//!   that contains all blocks of the operation, so that no byte is written unless all may be.
//! - **Known.** A write is complete when its datagram is acknowledged. Every acknowledgement carries the count of all writes ever refused; no
//!   operation completes while counted refusals have not been received.
//! - **In order.** After a fence, datagrams name the sequence number below which all must have been received before they are executed; the
//!   receiver drops those that arrive too early, and the sender retransmits them.
//! - **Bounded.** A sender has at most 1,024 datagrams in flight to a peer, and at most the bytes that the receiver grants: the capacity of its
//!   socket, divided by the number of its senders. A peer that owes answers to too many requests gets no further ones.
//! - **Finite.** A rank with operations in flight hears from the peer, or asks it repeatedly. A peer that is silent for the failure limit has
//!   failed unless another source reports it alive; a peer that is alive, but silent for twenty times as long, is unreachable.
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
