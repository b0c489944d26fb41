//! Messages with fixed memory, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Mailbox`] | many to one: senders acquire room by a remote atomic; the receiver's processor has no part in it |
//! | [`Settings`], [`Placement`], [`Counting`], [`Waiting`] | how much room, where the counters lie, how senders look and wait |
//! | [`credit`] | who may send, as arithmetic |
//!
//! Source: Sumimoto et al., methods for memory-saving communication with remote atomics (2013): paper A.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, unbounded memory, unsafe code.

#![forbid(unsafe_code)]

pub mod credit;
mod flag;
mod gate;
mod mailbox;
mod settings;

pub use mailbox::{MailReceiver, MailSender, Mailbox, Message, Sent};
pub use settings::{Counting, Placement, SHARES_MAX, SLOTS_MAX, Settings, Waiting};
