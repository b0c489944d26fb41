//! Permission to send, decided by two cyclic counters: the tickets that senders have taken, and the tickets that the receiver has granted.
//!
//! Pure arithmetic: other modules place and access the counters. `tests/loom.rs` checks the protocol in every order of events.
//!
//! - **C1** A sender writes only with a granted ticket. The receiver grants a ticket only after it has consumed the message of the ticket `slots`
//!   earlier. So a slot never holds two messages.
//! - **C2** Tickets are taken by an atomic addition, so that each belongs to one sender.
//! - **C3** At most 2³¹ tickets are taken and not granted, so that cyclic numbers compare; a job has at most 2²⁰ ranks.
//! - **C4** If the number of slots is no power of two, the sequence of slots breaks where numbers wrap: ticket 0 of the next cycle is granted only
//!   after all tickets of this cycle were consumed.
//! - **C5** The addition of a grant that [carries](Credit::carries) changes both counters. So it takes effect after all earlier grants and before all
//!   later ones: otherwise the count of taken tickets would be wrong in between, and a ticket would be taken twice or by no sender.

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

    /// The number of tickets from `other` to this one; negative if this one is earlier.
    pub const fn since(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The slot of this ticket, of `slots` slots.
    pub const fn slot(self, slots: u32) -> u32 {
        if slots.is_power_of_two() { self.0 & (slots - 1) } else { self.0 % slots }
    }

    /// The number of times that all slots were used before this ticket, on this cycle of 2³².
    pub const fn lap(self, slots: u32) -> u32 {
        if slots.is_power_of_two() { self.0 >> slots.trailing_zeros() } else { self.0 / slots }
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
        (count as u64).wrapping_sub((Self::carries(granted, count) as u64) << 32)
    }

    /// Whether the addition that grants `count` more tickets in a word with `granted` granted ones carries into the other counter (C5).
    pub const fn carries(granted: Ticket, count: u32) -> bool {
        granted.0.checked_add(count).is_none()
    }

    /// The number of the `owed` tickets that may be granted now (C4). `granted` is the first ticket that is not granted; all tickets before it were
    /// consumed, except the last `slots` − `owed`.
    pub const fn grantable(granted: Ticket, owed: u32, slots: u32) -> u32 {
        let left = granted.0.wrapping_neg();
        match granted.0 {
            _ if slots.is_power_of_two() => owed,
            0 if owed < slots => 0,
            0 => owed,
            _ if owed < left => owed,
            _ => left,
        }
    }

    /// Whether `ticket` may be used.
    pub const fn admits(self, ticket: Ticket) -> bool {
        self.granted.since(ticket) > 0
    }

    /// Whether a sender would have to wait for the next ticket to be granted.
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

    /// A receiver consumes tickets in order and grants as many as it may: no two tickets that are granted and not consumed have the same slot, and
    /// there always is a granted ticket.
    #[test]
    fn no_slot_is_granted_twice_where_numbers_wrap() {
        for slots in [1, 2, 3, 5, 6, 7, 8] {
            let start = u32::MAX - 40;
            let (mut consumed, mut granted, mut owed) = (Ticket(start), Ticket(start).after(slots), 0);
            for _ in 0..100 {
                let granting = Credit::grantable(granted, owed, slots);
                (granted, owed) = (granted.after(granting), owed - granting);
                let open = granted.since(consumed);
                assert!((1..=slots as i32).contains(&open), "{slots} slots at {consumed:?}: {open} open");
                let mut used: Vec<_> = (0..open as u32).map(|step| consumed.after(step).slot(slots)).collect();
                used.sort_unstable();
                used.dedup();
                assert_eq!(used.len(), open as usize, "{slots} slots at {consumed:?}");
                (consumed, owed) = (consumed.after(1), owed + 1);
            }
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
