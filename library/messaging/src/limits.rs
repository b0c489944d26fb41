//! Bounds of mailboxes, limits and messages, with their reasons.

use pelago_base::limits::RANKS_MAX;

/// Messages that a mailbox holds, or a limit lets through, at once: far fewer than ticket numbers, which wrap at 2^32.
pub const SLOTS_MAX: u32 = 1 << 16;

/// Places for senders that wait: as many as a job can have ranks.
pub const WAITERS_MAX: u32 = 1 << 20;

/// Shares that counters are split into: what the receiver looks through when it finds no message, a load for each.
pub const SHARES_MAX: usize = 256;

/// Ranks that share a relay: their answers travel as one short put.
pub const RELAY_RANKS_MAX: u32 = 256;

/// Operations that one object of the library keeps, so that it handles their failures itself; one more waits for the first. A small part of what a
/// context may have in flight.
pub(crate) const PENDING_MAX: usize = 64;

/// Notifications and grants of one receiver that are on their way; one more waits for the first. As many as it has slots, up to this: half of what a
/// context may have in flight. With 64, a receiver of 65,536 ranks waited for notifications that were behind transfers of others.
pub(crate) const NOTIFICATIONS_MAX: usize = 512;

/// Operations of one sender that are on their way, two for a message: half of what a context may have in flight.
pub(crate) const SENDING_MAX: usize = 512;

/// Messages whose tickets are taken at once by a program that gives them all: a small part of a message each.
pub(crate) const BATCH_MAX: usize = 128;

/// Tickets that a sender takes at once for a loop of single messages, beside a quarter of the slots.
pub(crate) const TICKETS_AHEAD_MAX: u32 = 128;

/// Ranks of a job in which senders take tickets ahead: a receiver that finds the next message missing asks each of them once.
pub(crate) const AHEAD_RANKS_MAX: u32 = 128;

/// Ranks whose senders a receiver asks at once for the tickets that they hold: eight senders each, of which 64 operations are in flight.
pub(crate) const ASKED_AT_ONCE: usize = 8;

/// Bytes of unexpected messages by default: a gigabyte, which no program needs that receives what is sent.
pub(crate) const UNEXPECTED_BYTES_MAX: usize = 1 << 30;

/// Ranks for which a party keeps the sending end of its mailbox: as many as a rank may have at one; the one used longest ago goes.
pub(crate) const SENDERS_KEPT: usize = 8;

const _: () = {
    assert!(WAITERS_MAX >= RANKS_MAX, "each rank has a place");
    assert!(NOTIFICATIONS_MAX <= pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX / 2, "others are in flight, too");
    assert!(SENDING_MAX <= pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX / 2, "others are in flight, too");
};
