//! Bounds of mailboxes, limits and messages, with their reasons.

use pelago_base::limits::RANKS_MAX;

/// Maximum number of messages that a mailbox holds, or that a limit admits, at once: far below the range of ticket numbers, which wrap
/// around at 2³².
pub const SLOTS_MAX: u32 = 1 << 16;

/// Maximum number of entries for waiting senders: one per rank of a job of maximum size.
pub const WAITERS_MAX: u32 = 1 << 20;

/// Maximum number of shares of the counters. A receiver that finds no message loads one word per share.
pub const SHARES_MAX: usize = 256;

/// Maximum number of ranks per relay. One short put carries the replies to all of them.
pub const RELAY_RANKS_MAX: u32 = 256;

/// Maximum number of operations that an object of the library keeps in order to handle their failures itself; a further operation waits for
/// the oldest. A small part of the operations that a context may have in flight.
pub(crate) const PENDING_MAX: usize = 64;

/// Maximum number of notifications and grants of one receiver in flight; a further one waits for the oldest. The number is that of the
/// slots, up to half of the operations of a context. With a limit of 64, a receiver of 65,536 ranks waited for notifications behind
/// transfers of other ranks.
pub(crate) const NOTIFICATIONS_MAX: usize = 512;

/// Maximum number of operations of one sender in flight, two per message: half of the operations of a context.
pub(crate) const SENDING_MAX: usize = 512;

/// Maximum number of tickets that one atomic takes for a batch of messages. The cost per message becomes small, and condition C3 holds.
pub(crate) const BATCH_MAX: usize = 128;

/// Maximum number of tickets that a sender takes ahead for a loop of single messages; a quarter of the slots is another limit.
pub(crate) const TICKETS_AHEAD_MAX: u32 = 128;

/// Maximum number of ranks of a job whose senders take tickets ahead. A receiver that misses the next message queries each sender once.
pub(crate) const AHEAD_RANKS_MAX: u32 = 128;

/// Number of ranks whose senders a receiver queries at once for their tickets: eight senders each, with 64 operations in flight.
pub(crate) const ASKED_AT_ONCE: usize = 8;

/// Default maximum size in bytes of all unexpected messages: 1 GiB, more than a program needs that receives its messages.
pub(crate) const UNEXPECTED_BYTES_MAX: usize = 1 << 30;

/// Maximum number of ranks for which a party keeps the sending end of its mailbox: as many as a rank may have at one mailbox. The least
/// recently used one is dropped.
pub(crate) const SENDERS_KEPT: usize = 8;

/// Minimum size in bytes of a message that is put together with its flag: networks that take both as one operation do so from about that size on.
pub(crate) const SIGNALLED_MESSAGE_BYTES_MIN: usize = 1024;

const _: () = {
    assert!(WAITERS_MAX >= RANKS_MAX, "each rank has a place");
    assert!(NOTIFICATIONS_MAX <= pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX / 2, "others are in flight, too");
    assert!(SENDING_MAX <= pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX / 2, "others are in flight, too");
};
