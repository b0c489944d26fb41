//! Permission to send, decided by two cyclic counters: how many tickets senders have taken, and how many the receiver has granted.
//!
//! Pure arithmetic: other modules place the counters and reach them. `tests/loom.rs` checks the protocol in every order of
//! events.
//!
//! - **C1** A sender writes only by a ticket that is granted; the receiver grants no ticket before the one `slots` before it was
//!   consumed. So a slot never holds two messages.
//! - **C2** Tickets are taken by an atomic addition, so that each belongs to one sender.
//! - **C3** At most 2³¹ tickets are taken and not granted, so that cyclic numbers compare; a job has at most 2²⁰ ranks.

/// A number in the order of admission; cyclic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket(u32);

/// The counters: tickets taken, and tickets granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The next ticket to be taken: `SendCNT` of the paper.
    pub taken: Ticket,
    /// The first ticket that is not granted: `RecvCNT + N` of the paper.
    pub granted: Ticket,
}

impl Ticket {
    /// The ticket that is `number` on a cycle of 2³².
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The ticket `steps` later.
    #[must_use]
    pub const fn after(self, steps: u32) -> Self {
        Self(self.0.wrapping_add(steps))
    }

    /// How many tickets later this is than `other`; negative if it is earlier.
    pub const fn since(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The slot of this ticket, of `slots` slots, a power of two.
    pub const fn slot(self, slots: u32) -> u32 {
        self.0 & (slots - 1)
    }

    /// The number of times that all slots were used before this ticket.
    pub const fn lap(self, slots: u32) -> u32 {
        self.0 >> slots.trailing_zeros()
    }
}

impl Credit {
    /// The addend of one ticket to a [word](Self::word).
    pub const TAKE: u64 = 1 << 32;

    /// Nothing taken; `slots` granted.
    pub const fn new(slots: u32) -> Self {
        Self { taken: Ticket(0), granted: Ticket(slots) }
    }

    /// Both counters in one word, so that a sender that takes a ticket learns in one round trip whether it is granted.
    pub const fn word(self) -> u64 {
        (self.taken.0 as u64) << 32 | self.granted.0 as u64
    }

    /// The counters that a word holds.
    pub const fn of_word(word: u64) -> Self {
        Self { taken: Ticket((word >> 32) as u32), granted: Ticket(word as u32) }
    }

    /// The addend that grants `count` more tickets in a word with `granted` granted ones. The receiver alone grants, so it knows when
    /// the addition carries into the other counter, and subtracts the carry.
    pub const fn grant(granted: Ticket, count: u32) -> u64 {
        let carries = granted.0.checked_add(count).is_none();
        (count as u64).wrapping_sub((carries as u64) << 32)
    }

    /// Whether `ticket` may be used.
    pub const fn admits(self, ticket: Ticket) -> bool {
        self.granted.since(ticket) > 0
    }

    /// Whether the next ticket would have to wait.
    pub const fn is_full(self) -> bool {
        !self.admits(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_do_not_disturb_each_other_when_they_wrap() {
        for granted in [0, 1, u32::MAX - 1, u32::MAX] {
            for taken in [0, 7, u32::MAX] {
                for count in [1, 2, 5] {
                    let before = Credit { taken: Ticket(taken), granted: Ticket(granted) };
                    let after = Credit::of_word(before.word().wrapping_add(Credit::grant(before.granted, count)));
                    assert_eq!(after, Credit { granted: Ticket(granted).after(count), ..before });
                    let after = Credit::of_word(before.word().wrapping_add(Credit::TAKE));
                    assert_eq!(after, Credit { taken: Ticket(taken).after(1), ..before });
                }
            }
        }
    }

    #[test]
    fn tickets_are_admitted_as_they_are_granted_also_where_numbers_wrap() {
        for start in [0, u32::MAX - 2] {
            let credit = Credit { taken: Ticket(start), granted: Ticket(start).after(4) };
            let admitted = |steps| credit.admits(Ticket(start).after(steps));
            assert_eq!([0, 3, 4, 5].map(admitted), [true, true, false, false]);
            assert!(!credit.is_full() && Credit { taken: credit.granted, ..credit }.is_full());
        }
    }

    #[test]
    fn slots_follow_each_other_also_where_numbers_wrap() {
        let last = Ticket(u32::MAX);
        assert_eq!([last, last.after(1), last.after(2)].map(|ticket| ticket.slot(8)), [7, 0, 1]);
        assert_eq!([Ticket(7), Ticket(8), last].map(|ticket| ticket.lap(8)), [0, 1, u32::MAX >> 3]);
        assert_eq!([Ticket(0), Ticket(1), last].map(|ticket| ticket.lap(1)), [0, 1, u32::MAX]);
    }
}
