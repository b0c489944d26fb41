//! Tickets that a sender takes ahead of its messages: their number, and the word from which the sender uses them or its receiver withdraws them.

use pelago_base::limits::RANKS_MAX;
use pelago_base::{Duration, Instant, Rank};

use crate::credit::Ticket;
use crate::limits::{AHEAD_RANKS_MAX, SHARES_MAX, SLOTS_MAX, TICKETS_AHEAD_MAX};

/// Maximum time for which a sender plans to hold a ticket: other senders wait behind it.
const AHEAD_TIME: Duration = Duration::from_microseconds(100);

/// The time for which a receiver waits for the next message before it withdraws the ticket of that message, if the sender has not used it.
pub(crate) const WITHDRAW_AFTER: Duration = Duration::from_microseconds(100);

/// The receiver of a sender and the tickets that the sender has taken and not used, in one word. The word is zero if there is no sender.
///
/// The sender adds tickets when there are none, and removes each by compare-and-swap before it uses it. The receiver removes all by compare-and-swap
/// before it skips them. So each ticket is used or withdrawn (G3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) to: Rank,
    pub(super) share: u32,
    /// Low bits of the first ticket's number, sufficient to distinguish the tickets of a job that are taken and not consumed.
    first: u32,
    pub(super) count: u32,
}

impl Held {
    const FIRST_BITS: u32 = 24;
    const TO_BITS: u32 = 21;
    const SHARE_BITS: u32 = 8;

    /// A sender to `to` without tickets.
    pub(super) const fn none(to: Rank) -> Self {
        Self { to, share: 0, first: 0, count: 0 }
    }

    pub(super) const fn new(to: Rank, share: u32, first: Ticket, count: u32) -> Self {
        Self { to, share, first: first.number() & ((1 << Self::FIRST_BITS) - 1), count }
    }

    pub(super) fn word(self) -> u64 {
        let upper = self.count << Self::SHARE_BITS | self.share;
        (u64::from(upper) << Self::FIRST_BITS | u64::from(self.first)) << Self::TO_BITS | (u64::from(self.to) + 1)
    }

    pub(super) fn of_word(word: u64) -> Option<Self> {
        let field = |shift: u32, bits: u32| (word >> shift) as u32 & ((1 << bits) - 1);
        let (to, upper) = (field(0, Self::TO_BITS).checked_sub(1)?, (word >> (Self::TO_BITS + Self::FIRST_BITS)) as u32);
        Some(Self {
            to: Rank::new(to & (RANKS_MAX - 1)),
            first: field(Self::TO_BITS, Self::FIRST_BITS),
            share: upper & ((1 << Self::SHARE_BITS) - 1),
            count: upper >> Self::SHARE_BITS,
        })
    }

    /// Whether `ticket` was taken and not used.
    pub(super) fn covers(self, share: u32, ticket: Ticket) -> bool {
        let step = ticket.number().wrapping_sub(self.first) & ((1 << Self::FIRST_BITS) - 1);
        self.share == share && step < self.count
    }
}

const _: () = {
    assert!(RANKS_MAX < 1 << Held::TO_BITS && SHARES_MAX <= 1 << Held::SHARE_BITS, "there is room for all");
    assert!(TICKETS_AHEAD_MAX < 1 << (u64::BITS - Held::TO_BITS - Held::SHARE_BITS - Held::FIRST_BITS));
    // A sender takes at most 128 tickets at once, so the tickets that are taken and not consumed differ in these bits.
    assert!(AHEAD_RANKS_MAX as usize * super::SENDERS * 128 + 2 * (SLOTS_MAX as usize) < 1 << Held::FIRST_BITS);
};

/// The number of tickets that a sender takes at once: one, until its program sends in a loop and the receiver consumes; then as many as the program uses
/// in [`AHEAD_TIME`].
#[derive(Debug)]
pub(super) struct Pace {
    /// Maximum number at once; one if no tickets are taken ahead.
    most: u32,
    count: u32,
    /// The time at which the last tickets were taken, and the time that this sender has since waited for grants.
    since: Instant,
    waited: Duration,
    /// The first ticket that was not granted when tickets were last taken.
    granted: Option<Ticket>,
    /// The last ticket at the time when the receiver was last seen to have consumed messages.
    moved: Option<Ticket>,
    last: Ticket,
}

impl Pace {
    pub(super) fn new(most: u32) -> Self {
        let (since, waited) = (Instant::ZERO, Duration::ZERO);
        Self { most, count: 1, since, waited, granted: None, moved: None, last: Ticket::default() }
    }

    /// Whether tickets may be taken ahead.
    pub(super) fn is_ahead(&self) -> bool {
        self.most > 1
    }

    /// The number of tickets to take now that none is left, at an admission of `slots` slots.
    pub(super) fn next(&mut self, now: Instant, slots: u32) -> u32 {
        // While the receiver does not consume, its slots are left for actual messages.
        let consumes = self.moved.is_some_and(|moved| self.last.since(moved) < (slots / 2) as i32);
        if !consumes {
            self.count = 1;
            return 1;
        }
        let time = now.since(self.since).as_picoseconds().saturating_sub(self.waited.as_picoseconds());
        let limit = AHEAD_TIME.as_picoseconds();
        if time <= limit / 2 {
            self.count = (2 * self.count).min(self.most);
        } else if time > limit {
            let fitting = (u64::from(self.count) * limit / time) as u32;
            self.count = fitting.max(self.count / 2).max(1);
        }
        self.count
    }

    /// Records taken tickets: the last of them, and the first ticket that is not granted.
    pub(super) fn came(&mut self, now: Instant, last: Ticket, granted: Ticket) {
        if self.granted.replace(granted).is_some_and(|before| before != granted) {
            self.moved = Some(last);
        }
        (self.since, self.waited, self.last) = (now, Duration::ZERO, last);
    }

    /// Records the time that this sender waited for a grant.
    pub(super) fn waited(&mut self, time: Duration) {
        self.waited = self.waited + time;
    }

    /// Records that tickets were not used: the program does not send in a loop.
    pub(super) fn unused(&mut self) {
        self.count = 1;
        self.moved = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sender_holds_is_read_as_it_was_written() {
        for to in [0, 1, RANKS_MAX - 1].map(Rank::new) {
            for share in [0, SHARES_MAX as u32 - 1] {
                for count in [0, 1, TICKETS_AHEAD_MAX] {
                    for first in [0, 7, (1 << 24) - 2, u32::MAX - 1].map(Ticket::new) {
                        let held = Held::new(to, share, first, count);
                        assert_eq!(Held::of_word(held.word()), Some(held));
                        let covered = |step: u32| held.covers(share, first.after(step));
                        assert_eq!((covered(0), covered(count.wrapping_sub(1)), covered(count)), (count > 0, count > 0, false));
                        assert!(!held.covers(share ^ 1, first) && !covered(u32::MAX), "another share; the ticket before");
                    }
                }
            }
            assert_eq!(Held::of_word(Held::none(to).word()), Some(Held::none(to)));
        }
        assert_eq!(Held::of_word(0), None, "fresh memory");
    }

    /// The counts of a sender that uses a ticket in the time `each`, with a receiver that consumes or does not.
    fn counts(each: Duration, waited: Duration, consumes: bool, turns: u32) -> Vec<u32> {
        let (mut pace, mut now, mut taken) = (Pace::new(32), Instant::ZERO, Ticket::new(u32::MAX - 20));
        let next = |turn: u32| {
            let count = pace.next(now, 256);
            taken = taken.after(count);
            pace.came(now, taken, Ticket::new(if consumes { turn } else { 7 }));
            pace.waited(waited);
            now = now + Duration::from_picoseconds(each.as_picoseconds() * u64::from(count)) + waited;
            count
        };
        (0..turns).map(next).collect()
    }

    #[test]
    fn a_sender_takes_as_many_tickets_as_its_program_uses_in_a_short_time() {
        let micro = Duration::from_microseconds;
        assert_eq!(counts(micro(1), Duration::ZERO, true, 8), [1, 1, 2, 4, 8, 16, 32, 32]);
        assert_eq!(counts(micro(1), micro(1000), true, 8), [1, 1, 2, 4, 8, 16, 32, 32], "waiting does not count");
        assert_eq!(counts(micro(200), Duration::ZERO, true, 8), [1; 8], "others would wait behind the second");
        assert!(counts(micro(10), Duration::ZERO, true, 20)[10..].iter().all(|&count| count == 8));
    }

    /// A program may rely on a free slot for as many messages as there are slots, also before its receiver receives.
    #[test]
    fn no_ticket_is_taken_ahead_while_the_receiver_consumes_nothing() {
        assert_eq!(counts(Duration::ZERO, Duration::ZERO, false, 100), [1; 100]);
        let mut pace = Pace::new(32);
        for (last, granted, expected) in [(0, 8, 1), (1, 9, 1), (2, 9, 2), (6, 9, 4), (10, 9, 8), (14, 9, 1)] {
            assert_eq!(pace.next(Instant::ZERO, 16), expected, "after ticket {last}");
            pace.came(Instant::ZERO, Ticket::new(last), Ticket::new(granted));
        }
    }

    #[test]
    fn a_sender_that_has_not_used_its_tickets_begins_again() {
        let mut pace = Pace::new(32);
        (0..4).for_each(|turn| pace.came(Instant::ZERO, Ticket::new(turn), Ticket::new(turn)));
        assert_eq!([pace.next(Instant::ZERO, 64), pace.next(Instant::ZERO, 64)], [2, 4]);
        pace.unused();
        assert_eq!(pace.next(Instant::ZERO, 64), 1);
    }
}
