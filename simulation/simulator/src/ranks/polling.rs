//! Detection of ranks that poll memory without a call, from samples of a rank's registers and stack at ticks of its CPU time.
//!
//! A polling loop repeats its states exactly, because only another rank can change the memory that it reads. A rank whose state has occurred
//! before since its last call is therefore stopped until an event for it. A computing rank has a different state at each sample; it is stopped
//! for short times only, and only if it has run for long, because it may be a loop that counts its polls.

use pelago_base::{Duration, Instant};

/// Ticks of CPU time without a call after which a rank is stopped whose states do not repeat; the second number applies after the first such stop.
pub(crate) const PATIENCE_TICKS: [u32; 2] = [250, 25];

/// Number of consecutive repeated states that prove that only another rank can end the loop.
pub(crate) const CERTAIN: u32 = 100;

/// Ticks without a call after which the rank is reported: 3 s.
const NAMED_TICKS: u32 = 750;

/// Maximum number of stored states of a rank since its last call.
const STATES_MAX: usize = 64;
/// Maximum number of stored states of polling loops.
const POLLED_MAX: usize = 256;

/// Maximum length of the first stop of a stretch. Each further stop may be twice as long, up to 2¹² times: about the time between two
/// ticks, so that long computations take no more virtual time than CPU time.
const STOP_MIN: Duration = Duration::from_microseconds(1);
/// Maximum number of times that the length of a stop doubles within a stretch, in which a rank computes or polls without calling the library.
const DOUBLINGS_MAX: u32 = 12;

/// Maximum number of stops of a rank, within a stretch without a call of the library, that an event of the rank may end early. From then on, such stops
/// alternate with stops that last a fixed part of the stretch, so that many events do not cost a tick each.
const EVENTS_MAX: u32 = 32;
const PART_OF_STRETCH: u64 = 8;

/// How a rank is stopped at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Until an event of the rank, or for this time.
    AtMost(Duration),
    /// For this time.
    For(Duration),
    /// Until an event of the rank: nothing else can end its loop.
    Certain,
}

/// A sample: the running rank and thread, and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) rank: u32,
    pub(crate) thread: usize,
    /// Number of calls of all ranks.
    pub(crate) calls: u64,
    /// A hash of registers and stack.
    pub(crate) state: u64,
    pub(crate) now: Instant,
}

/// The samples of a stretch: the code that a rank executes between two calls.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    rank: u32,
    thread: usize,
    calls: u64,
    since: Instant,
    ticks: u32,
    states: Vec<u64>,
    /// Number of consecutive known states.
    repeated: u32,
    stops: u32,
    /// When the current stop ends without an event, and the number of stops that an event has ended earlier.
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
    /// Whether a rank whose states did not repeat has been stopped.
    has_lost_patience: bool,
}

impl PollingDetector {
    /// Evaluates the sample of a tick; returns how the rank is stopped, if at all.
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

    /// Returns the rank that has run for seconds without a call.
    pub(crate) fn silent(&self) -> Option<u32> {
        (self.stretch.ticks >= NAMED_TICKS).then_some(self.stretch.rank)
    }

    /// Removes the stretch of the running rank while others run.
    pub(crate) fn suspend(&mut self) -> Stretch {
        std::mem::take(&mut self.stretch)
    }

    /// Restores a stretch whose rank continues now, after a total of `calls` calls.
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
