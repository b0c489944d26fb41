//! Which ranks poll memory without a call: decided from samples of a rank's registers and stack, taken at ticks of its CPU time.
//!
//! A loop that polls repeats its states exactly, because nothing but another rank can change what it reads. A rank whose state was seen before
//! since its last call is therefore stopped until something happens to it. A rank that computes has other states at each sample; it is stopped
//! for short times, and only if it has run for long, because it may count its polls.

use pelago_base::{Duration, Instant};

/// Ticks of CPU time without a call after which a rank is stopped whose states do not repeat; the second number counts once a rank was.
pub(crate) const PATIENCE_TICKS: [u32; 2] = [250, 25];

/// Repeated states in a row that show that a rank can only be released from outside.
pub(crate) const CERTAIN: u32 = 100;

/// Ticks without a call after which the rank is named: 3 s.
const NAMED_TICKS: u32 = 750;

/// Maximum number of remembered states of a rank since its last call.
const STATES_MAX: usize = 64;
/// Maximum number of remembered states of polling loops.
const POLLED_MAX: usize = 256;

/// Maximum length of the first stop of a stretch. Each further stop may be twice as long, up to 2¹² times: about the time between two
/// ticks, so that long computations take no more virtual time than CPU time.
const STOP_MIN: Duration = Duration::from_microseconds(1);
/// Maximum number of doublings of a stop.
const DOUBLINGS_MAX: u32 = 12;

/// Number of stops of a stretch that end with an event of the rank without a penalty. Later stops alternate with stops that last a part of
/// the stretch, so that many events do not cost a tick each.
const EVENTS_MAX: u32 = 32;
const PART_OF_STRETCH: u64 = 8;

/// What becomes of a rank at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Until something happens to it, or for this time.
    AtMost(Duration),
    /// For this time.
    For(Duration),
    /// Until something happens to it: nothing else can release it.
    Certain,
}

/// A sample: who runs, and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) rank: u32,
    pub(crate) thread: usize,
    /// Counts the calls of all ranks.
    pub(crate) calls: u64,
    /// A hash of registers and stack.
    pub(crate) state: u64,
    pub(crate) now: Instant,
}

/// What is known of the code between two calls of a rank.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    rank: u32,
    thread: usize,
    calls: u64,
    since: Instant,
    ticks: u32,
    states: Vec<u64>,
    /// States in a row that were known.
    repeated: u32,
    stops: u32,
    /// When the present stop ends by itself, and how many were ended by an event before.
    until: Option<Instant>,
    events: u32,
}

/// The samples of a simulation.
#[derive(Debug, Default)]
pub(crate) struct PollingDetector {
    stretch: Stretch,
    /// States that repeated, as a ring.
    polled: Vec<u64>,
    next: usize,
    /// Whether a rank was stopped whose states did not repeat.
    has_lost_patience: bool,
}

impl PollingDetector {
    /// A tick: whether the rank stops.
    pub(crate) fn tick(&mut self, sample: Sample) -> Option<Stop> {
        let Sample { rank, thread, calls, state, now } = sample;
        let stretch = &mut self.stretch;
        if (stretch.rank, stretch.thread, stretch.calls) != (rank, thread, calls) || stretch.ticks == 0 {
            *stretch = Stretch { rank, thread, calls, since: now, ..Stretch::default() };
        }
        stretch.ticks = stretch.ticks.saturating_add(1);
        let is_known = self.polled.contains(&state);
        let is_repeated = stretch.states.contains(&state);
        if !is_repeated {
            if stretch.states.len() == STATES_MAX {
                stretch.states.remove(0);
            }
            stretch.states.push(state);
        } else if !is_known {
            if self.polled.len() < POLLED_MAX {
                self.polled.push(state);
            } else {
                self.polled[self.next] = state;
                self.next = (self.next + 1) % POLLED_MAX;
            }
        }
        stretch.repeated = if is_repeated || is_known { stretch.repeated + 1 } else { 0 };
        if stretch.repeated == 0 {
            if stretch.ticks < PATIENCE_TICKS[usize::from(self.has_lost_patience)] {
                return None;
            }
            self.has_lost_patience = true;
        }
        let stops = stretch.stops;
        stretch.stops = stops.saturating_add(1);
        if stretch.events >= EVENTS_MAX && stops.is_multiple_of(2) {
            let part = Duration::from_picoseconds(now.since(stretch.since).as_picoseconds() / PART_OF_STRETCH).max(STOP_MIN);
            stretch.until = Some(now + part);
            return Some(Stop::For(part));
        }
        if stretch.repeated >= CERTAIN {
            stretch.until = None;
            return Some(Stop::Certain);
        }
        let longest = Duration::from_picoseconds(STOP_MIN.as_picoseconds() << stops.min(DOUBLINGS_MAX));
        stretch.until = Some(now + longest);
        Some(Stop::AtMost(longest))
    }

    /// The rank that has run for seconds without a call.
    pub(crate) fn silent(&self) -> Option<u32> {
        (self.stretch.ticks >= NAMED_TICKS).then_some(self.stretch.rank)
    }

    /// Takes what is known of the running rank out, while others run.
    pub(crate) fn suspend(&mut self) -> Stretch {
        std::mem::take(&mut self.stretch)
    }

    /// The rank of a stretch continues now; there were so many calls until then.
    pub(crate) fn resume(&mut self, stretch: Stretch, calls: u64, now: Instant) {
        let is_event = stretch.until.is_none_or(|until| now < until);
        self.stretch = Stretch { calls, events: stretch.events.saturating_add(is_event.into()), ..stretch };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rank: u32, calls: u64, state: u64) -> Sample {
        Sample { rank, thread: 0, calls, state, now: Instant::ZERO }
    }

    #[test]
    fn a_state_that_repeats_stops_its_rank_for_longer_each_time_and_in_the_end_for_good() {
        let mut detector = PollingDetector::default();
        assert_eq!([7, 8, 9].map(|state| detector.tick(sample(0, 5, state))), [None; 3]);
        let stop = |microseconds| Some(Stop::AtMost(Duration::from_microseconds(microseconds)));
        assert_eq!([8, 7, 9, 10, 10].map(|state| detector.tick(sample(0, 5, state))), [stop(1), stop(2), stop(4), None, stop(8)]);
        let stops: Vec<_> = (1..CERTAIN).map(|_| detector.tick(sample(0, 5, 7)).unwrap()).collect();
        let (last, others) = stops.split_last().unwrap();
        assert_eq!(*last, Stop::Certain);
        assert_eq!(*others.last().unwrap(), Stop::AtMost(Duration::from_microseconds(1 << DOUBLINGS_MAX)));
    }

    #[test]
    fn many_events_do_not_cost_a_tick_each() {
        let mut detector = PollingDetector::default();
        detector.tick(sample(0, 5, 7));
        let later = Instant::ZERO + Duration::from_microseconds(80);
        let mut stops = Vec::new();
        for _ in 0..EVENTS_MAX + 2 {
            stops.push(detector.tick(Sample { now: later, ..sample(0, 5, 7) }).unwrap());
            let stretch = detector.suspend();
            detector.resume(stretch, 5, later);
        }
        assert_eq!(
            stops[EVENTS_MAX as usize..],
            [Stop::For(Duration::from_microseconds(10)), Stop::AtMost(Duration::from_microseconds(1 << DOUBLINGS_MAX))]
        );
        assert!(stops[..EVENTS_MAX as usize].iter().all(|stop| matches!(stop, Stop::AtMost(_))));
    }

    #[test]
    fn a_call_begins_anew_and_a_loop_that_has_polled_is_known_at_once() {
        let mut detector = PollingDetector::default();
        assert_eq!([1, 1].map(|state| detector.tick(sample(3, 5, state)).is_some()), [false, true]);
        assert_eq!(detector.tick(sample(3, 6, 2)), None);
        assert_eq!(detector.tick(sample(3, 6, 1)), Some(Stop::AtMost(STOP_MIN)));
        assert_eq!(detector.tick(sample(4, 6, 2)), None, "another rank's");
    }

    #[test]
    fn a_rank_keeps_its_stretch_while_others_run() {
        let mut detector = PollingDetector::default();
        assert_eq!(detector.tick(sample(0, 5, 1)), None);
        let before = detector.suspend();
        assert_eq!(detector.tick(sample(1, 6, 1)), None);
        detector.resume(before, 9, Instant::ZERO);
        assert_eq!(detector.tick(sample(0, 9, 1)), Some(Stop::AtMost(STOP_MIN)));
    }

    #[test]
    fn a_rank_whose_states_do_not_repeat_is_left_alone_for_long() {
        let mut detector = PollingDetector::default();
        let mut states = 0..;
        let mut stops_after = |detector: &mut PollingDetector, calls| {
            (1..).find(|_| detector.tick(sample(0, calls, states.next().unwrap())).is_some()).unwrap()
        };
        assert_eq!([1, 2].map(|calls| stops_after(&mut detector, calls)), PATIENCE_TICKS);
        assert_eq!(detector.silent(), None);
        for _ in PATIENCE_TICKS[1]..NAMED_TICKS {
            detector.tick(sample(0, 2, 0));
        }
        assert_eq!(detector.silent(), Some(0));
    }
}
