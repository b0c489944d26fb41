//! The timer of a rank, whose events stay in the queue of the network until their times, even if the rank no longer waits for them.
//!
//! An event of an earlier wait serves later ones with later deadlines: the timer schedules an event only if none is in the queue until the deadline.
//! An event that comes before the deadline schedules the next one, if needed. So a loop of waits that end before their deadlines adds no events.

use pelago_base::{Duration, Instant};

/// The deadline of a timer that is not set, and the time of an event that does not exist.
const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

/// Number of later events in the queue from which an event comes after the largest power of two of picoseconds until the deadline, not at the
/// deadline. Each further event then has another power of two, so that a timer has at most 64 more.
const LATER_EXACT_MAX: usize = 64;

/// A timer, whose owner schedules its events and reports each of them.
pub(crate) struct Timer {
    due: Instant,
    /// The time of the next event in the queue.
    next: Instant,
    /// The times of later events in the queue, in descending order. Few timers have any.
    #[expect(clippy::box_collection, reason = "a word in each rank, most of which have no later deadline")]
    later: Option<Box<Vec<Instant>>>,
}

impl Default for Timer {
    fn default() -> Self {
        Self { due: NEVER, next: NEVER, later: None }
    }
}

impl Timer {
    /// Replaces the deadline; returns the time of an event that the owner must schedule, if one is needed.
    #[must_use]
    pub(crate) fn set(&mut self, now: Instant, due: Option<Instant>) -> Option<Instant> {
        self.due = due.map_or(NEVER, |due| due.max(now));
        self.schedule(now)
    }

    /// Records that the next event has happened; returns whether the deadline has passed, which unsets the timer.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        self.next = self.later.as_mut().and_then(|later| later.pop()).unwrap_or(NEVER);
        let is_due = self.due <= now;
        if is_due {
            self.due = NEVER;
        }
        is_due
    }

    /// Returns the time of an event that the owner must schedule for the present deadline, if one is needed.
    #[must_use]
    pub(crate) fn schedule(&mut self, now: Instant) -> Option<Instant> {
        if self.next <= self.due {
            return None;
        }
        let mut at = self.due;
        if self.next != NEVER {
            let later = self.later.get_or_insert_default();
            if later.len() >= LATER_EXACT_MAX
                && let Some(power) = at.since(now).as_picoseconds().checked_ilog2()
            {
                at = now + Duration::from_picoseconds(1 << power);
            }
            later.push(self.next);
        }
        self.next = at;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A timer with the queue of its owner.
    #[derive(Default)]
    struct Owner {
        timer: Timer,
        now: u64,
        queue: BTreeMap<u64, usize>,
    }

    impl Owner {
        fn set(&mut self, due: Option<u64>) {
            let at = self.timer.set(Instant::from_picoseconds(self.now), due.map(Instant::from_picoseconds));
            self.add(at);
        }

        fn add(&mut self, at: Option<Instant>) {
            if let Some(at) = at {
                *self.queue.entry(at.as_picoseconds()).or_default() += 1;
            }
        }

        fn events(&self) -> usize {
            self.queue.values().sum()
        }

        /// Advances time; returns when the timer was due.
        fn advance(&mut self, to: u64) -> Option<u64> {
            let mut due = None;
            while let Some(mut first) = self.queue.first_entry().filter(|first| *first.key() <= to) {
                self.now = *first.key();
                *first.get_mut() -= 1;
                if *first.get() == 0 {
                    first.remove();
                }
                let now = Instant::from_picoseconds(self.now);
                if self.timer.is_due(now) {
                    assert_eq!(due.replace(self.now), None);
                } else {
                    let at = self.timer.schedule(now);
                    self.add(at);
                }
            }
            self.now = to;
            due
        }
    }

    #[test]
    fn a_timer_is_due_at_its_deadline() {
        let mut state = 1u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let mut owner = Owner::default();
        for _ in 0..100_000 {
            let due = (below(4) > 0).then(|| owner.now + below(100));
            owner.set(due);
            let to = owner.now + below(60);
            assert_eq!(owner.advance(to), due.filter(|due| *due <= to));
        }
    }

    #[test]
    fn waits_that_end_before_their_deadlines_add_no_events() {
        let mut owner = Owner::default();
        for _ in 0..10_000 {
            for wait in [1_000_000_000, 1_000] {
                owner.set(Some(owner.now + wait));
                owner.advance(owner.now + 10);
            }
        }
        assert!(owner.events() <= 2, "{}", owner.events());
    }

    #[test]
    fn the_number_of_events_has_a_bound() {
        let mut owner = Owner::default();
        for wait in (0..10_000).rev() {
            owner.set(Some(1_000_000 + wait));
            assert_eq!(owner.advance(owner.now + 1), None);
        }
        assert!(owner.events() <= LATER_EXACT_MAX + 65, "{}", owner.events());
        assert_eq!(owner.advance(2_000_000), Some(1_000_000));
    }
}
