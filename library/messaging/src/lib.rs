//! Messages with fixed memory, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Mailbox`] | many to one: senders acquire room by a remote atomic; the receiver's core has no part in it |
//! | [`Channel`] | one to one, in order; neither end looks into the memory of the other |
//! | [`Limit`] | so many messages at a time to a receiver, whichever way they go |
//! | [`Messages`] | two-sided, with tags: eager, into acquired room, or by rendezvous, as their lengths choose |
//! | [`Settings`], [`Placement`], [`Counting`], [`Waiting`] | how much room, where the counters lie, how senders look and wait |
//! | [`credit`] | who may send, as arithmetic |
//!
//! `docs/messaging.md` says when to use what, what it costs and what may be lost. Source: Sumimoto et al., methods for memory-saving communication with remote atomics (2013): paper A.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, unbounded memory, unsafe code.

#![forbid(unsafe_code)]

mod channel;
pub mod credit;
mod flag;
mod flights;
mod gate;
mod limit;
mod loss;
mod mailbox;
mod message;
mod messages;
mod settings;
mod slots;

pub use channel::{Channel, ChannelReceiver, ChannelSender, ChannelSettings};
pub use limit::{Limit, LimitReceiver, LimitSender};
pub use mailbox::{MailReceiver, MailSender, Mailbox};
pub use message::{Message, Sent};
pub use messages::{Lengths, Messages, Party, Received};
pub use settings::{Counting, Placement, SHARES_MAX, SLOTS_MAX, Settings, WAITERS_MAX, Waiting};
