//! Messages with fixed memory, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Mailbox`] | many to one: senders acquire slots by a remote atomic, without involving the receiver's core |
//! | [`MessageGuard`], [`Sent`] | a message in its slot; the result of an attempt to send |
//! | [`Channel`] | one to one, in order; neither end reads the memory of the other |
//! | [`Limit`] | a bound on concurrent messages to a receiver that use another path |
//! | [`Messages`] | two-sided, with tags; the length chooses eager, acquired slots, or rendezvous |
//! | [`Settings`], [`Placement`], [`Counting`], [`Waiting`] | slots, the place of the counters, how senders read them and wait |
//! | [`PlacementExplanation`], [`Server`] | the place of the counters, with the reasons |
//! | [`credit`] | permission to send, as arithmetic on two counters |
//!
//! `docs/book/src/messaging.md` compares the parts, their costs and the effects of losses. Source: Sumimoto et al., methods for memory-saving communication with remote atomics (2013): paper A.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, unbounded memory, unsafe code.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod admission;
mod channel;
mod composed;
pub mod credit;
mod debug;
mod limit;
mod limits;
mod mailbox;
mod message_guard;
mod peer_loss;
mod pending;
mod relays;
mod servers;
mod settings;
mod slot_flag;
mod slots;
mod two_sided;

pub use channel::{Channel, ChannelReceiver, ChannelSender, ChannelSettings};
pub use limit::{Limit, LimitReceiver, LimitSender};
pub use limits::{RELAY_RANKS_MAX, SHARES_MAX, SLOTS_MAX, WAITERS_MAX};
pub use mailbox::{MailReceiver, MailSender, Mailbox};
pub use message_guard::{MessageGuard, Sent};
pub use servers::{PlacementExplanation, Server};
pub use settings::{Counting, Placement, Settings, Waiting};
pub use two_sided::{Lengths, Messages, Party, Received};
