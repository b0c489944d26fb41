//! Layers that record the waits and the operations of a rank in bounded memory, for a trace of the job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::{AddressLayout, Counters, GlobalAddress, Instant, Rank, Sample};
use pelago_platform::{
    Activity, Clock, Completion, Endpoint, Extensions, Fault, Flags, For, Network, Operation, PostError, Registry, Reports,
    Tally, Token, Transfer, Transport, Wait, WaitPolicy, WaitSite, Woken,
};

use super::recorded::{RecordedKind, RecordedOperation, RecordedRank};

/// Maximum number of waits that a rank records, of 16 bytes each; later ones are only counted.
const RECORDED_WAITS_MAX: usize = 1 << 17;

/// Maximum number of operations that a rank records, of 48 bytes each; later ones are only counted.
const RECORDED_OPERATIONS_MAX: usize = 1 << 17;

/// The waits and operations of a rank so far, in the time of a sample. The layers [`Record`] and [`RecordWaits`] of the rank fill it.
///
/// Memory: 16 bytes for each wait and 48 for each operation up to 131,072 of each, and an entry of a table for each operation in flight.
pub struct Recording {
    me: Rank,
    layout: AddressLayout,
    sample: Sample,
    state: Mutex<State>,
}

struct State {
    /// Beginning and end of the recorded time.
    window: (Instant, Instant),
    /// Number of threads that use the library, and number of those that wait.
    threads: u32,
    waiting: u32,
    /// Time since which all of them wait.
    since: Option<Instant>,
    rank: RecordedRank,
    /// Indices of recorded operations in flight, by token.
    in_flight: HashMap<u64, usize>,
}

impl Recording {
    /// Creates the recording of the rank `me`, whose operations use addresses of this layout. It takes operations that are posted in the time of
    /// `sample`, and waits as far as they are in that time. A sample that names times begins only with [`start`](Self::start).
    pub fn new(me: Rank, layout: AddressLayout, sample: Sample) -> Arc<Self> {
        let never = (Sample::ALL.until(), Sample::ALL.until());
        let state = State {
            window: if sample.names_times() { never } else { (sample.from(), sample.until()) },
            threads: 0,
            waiting: 0,
            since: None,
            rank: RecordedRank::default(),
            in_flight: HashMap::new(),
        };
        Arc::new(Self { me, layout, sample, state: Mutex::new(state) })
    }

    /// Records that all ranks have joined the job at `now`, by the clock of the layers, and makes this the origin of the times of the sample.
    pub fn start(&self, now: Instant) {
        let mut state = self.state();
        state.rank.joined_ns = nanoseconds(now);
        if self.sample.names_times() {
            let at = |moment: Instant| now + moment.since(Instant::ZERO);
            state.window = (at(self.sample.from()), at(self.sample.until()));
        }
    }

    /// Returns what was recorded up to now; nothing before the time of the sample begins.
    pub fn recorded(&self, now: Instant) -> RecordedRank {
        let state = self.state();
        let (from, until) = state.window;
        RecordedRank { begin_ns: nanoseconds(from.min(now)), end_ns: nanoseconds(until.min(now)), ..state.rank.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, activity: Activity, now: Instant) {
        let mut state = self.state();
        let state = &mut *state;
        let are_waiting = |state: &State| state.waiting >= state.threads.max(1);
        match activity {
            Activity::Joins => state.threads += 1,
            Activity::Leaves => state.threads = state.threads.saturating_sub(1),
            Activity::Waits => state.waiting += 1,
            Activity::GoesOn => state.waiting = state.waiting.saturating_sub(1),
        }
        if are_waiting(state) {
            state.since.get_or_insert(now);
        } else if let Some(since) = state.since.take() {
            let (since, now) = (since.max(state.window.0), now.min(state.window.1));
            if since > now {
                return;
            }
            if state.rank.waits.len() < RECORDED_WAITS_MAX {
                state.rank.waits.push((nanoseconds(since), nanoseconds(now)));
            } else {
                state.rank.waits_dropped += 1;
                state.rank.waits_dropped_ns += nanoseconds(now) - nanoseconds(since);
            }
        }
    }

    fn posted(&self, token: Token, operation: &Operation<'_>, began: Instant, returned: Instant) {
        let (kind, address, bytes) = self.facts(operation);
        let operation = RecordedOperation {
            kind,
            to: self.layout.rank(address).number(),
            bytes,
            posted_ns: nanoseconds(began),
            returned_ns: nanoseconds(returned),
            completed: None,
        };
        let mut state = self.state();
        let state = &mut *state;
        if began < state.window.0 || began >= state.window.1 {
            return;
        }
        if state.rank.operations.len() < RECORDED_OPERATIONS_MAX {
            state.in_flight.insert(token.0, state.rank.operations.len());
            state.rank.operations.push(operation);
        } else {
            let dropped = &mut state.rank.operations_dropped[kind as usize];
            dropped.count += 1;
            dropped.bytes = dropped.bytes.saturating_add(bytes);
        }
    }

    fn completed(&self, completions: &[Completion], now: Instant) {
        let mut state = self.state();
        for Completion { token, result } in completions {
            if let Some(place) = state.in_flight.remove(&token.0) {
                state.rank.operations[place].completed = Some((nanoseconds(now), result.is_ok()));
            }
        }
    }

    /// The kind of an operation, an address at its other end, and its number of bytes.
    fn facts(&self, operation: &Operation<'_>) -> (RecordedKind, GlobalAddress, u64) {
        use RecordedKind::{Atomic, Copy, Get, Put};
        let other = |from: GlobalAddress, to: GlobalAddress| if self.layout.rank(to) == self.me { from } else { to };
        match *operation {
            Operation::Write { to, bytes } | Operation::Signalled { to, bytes, .. } => (Put, to, bytes.len() as u64),
            Operation::Put { from, to } => (Put, to, from.bytes() as u64),
            Operation::Get { from, to } => (Get, from, to.bytes() as u64),
            Operation::PutBlocks { to, blocks, .. } => (Put, to, blocks.bytes().unwrap_or(0)),
            Operation::GetBlocks { from, blocks, .. } => (Get, from, blocks.bytes().unwrap_or(0)),
            Operation::Copy { from, to, bytes } => (Copy, other(from, to), bytes),
            Operation::Atomic { at, width, .. } => (Atomic, at, width.bytes()),
            Operation::Sized(Transfer::Put { to, bytes }) => (Put, to, bytes),
            Operation::Sized(Transfer::Get { from, bytes }) => (Get, from, bytes),
            Operation::Sized(Transfer::Copy { from, to, bytes }) => (Copy, other(from, to), bytes),
        }
    }
}

fn nanoseconds(at: Instant) -> u64 {
    at.as_picoseconds() / 1000
}

/// Records the times at which operations are posted and at which their initiator receives the completion. Two-sided messages are not recorded.
pub struct Record<T> {
    inner: T,
    recording: Arc<Recording>,
    clock: Arc<dyn Clock>,
}

impl<T> Record<T> {
    /// Records the operations of `inner`, with times of `clock`.
    pub fn new(inner: T, recording: Arc<Recording>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, recording, clock }
    }
}

impl<T: Transport> Transport for Record<T> {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        // `now` may be the time of the last progress.
        let began = self.clock.now();
        self.inner.post(now, to, operation, flags, token)?;
        self.recording.posted(token, &operation, began, self.clock.now());
        Ok(())
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let before = completed.len();
        let moved = self.inner.progress(now, completed);
        if completed.len() > before {
            self.recording.completed(&completed[before..], self.clock.now());
        }
        moved
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()
    }
}

/// Records the times in which all threads of the rank that use the library wait in it.
pub struct RecordWaits {
    inner: Arc<dyn Wait>,
    recording: Arc<Recording>,
    clock: Arc<dyn Clock>,
    shortest: bool,
}

impl RecordWaits {
    /// Records the waits of `inner`, with times of `clock`: those that do not end while a rank polls without yielding. With `shortest`, a rank polls
    /// once and then yields between polls, so that all waits are recorded.
    pub fn new(inner: Arc<dyn Wait>, recording: Arc<Recording>, clock: Arc<dyn Clock>, shortest: bool) -> Self {
        Self { inner, recording, clock, shortest }
    }
}

impl Wait for RecordWaits {
    fn policy(&self) -> WaitPolicy {
        let policy = self.inner.policy();
        if self.shortest { WaitPolicy { spins: policy.spins.min(1), ..policy } } else { policy }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        self.inner.park(what, until, ready)
    }

    fn yield_now(&self) -> bool {
        self.inner.yield_now()
    }

    fn note(&self, activity: Activity) {
        self.recording.note(activity, self.clock.now());
        self.inner.note(activity);
    }

    fn reports(&self) -> Option<&dyn Reports> {
        self.inner.reports().map(|_| self as &dyn Reports)
    }

    fn fault(&self) -> Option<Fault> {
        self.inner.fault()
    }

    fn tolerate_peer_failures(&self) {
        self.inner.tolerate_peer_failures();
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.inner.failed_peer(known)
    }
}

impl Reports for RecordWaits {
    fn show(&self, site: &WaitSite) -> Option<u8> {
        self.inner.reports()?.show(site)
    }

    fn hide(&self, place: Option<u8>, site: &WaitSite) {
        if let Some(reports) = self.inner.reports() {
            reports.hide(place, site);
        }
    }

    fn tally(&self, tally: &Tally) {
        if let Some(reports) = self.inner.reports() {
            reports.tally(tally);
        }
    }

    fn counters(&self) -> Counters {
        self.inner.reports().map(Reports::counters).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Loopback;

    struct Hand(AtomicU64);

    impl Clock for Hand {
        fn now(&self) -> Instant {
            Instant::from_picoseconds(self.0.fetch_add(1000, Ordering::Relaxed))
        }
    }

    #[test]
    fn posts_and_completions_are_recorded_by_the_clock() {
        let layout = AddressLayout::new(2, 4096).unwrap();
        let mut network = Loopback::network(layout, 2);
        let peer = network[1].network().address();
        let recording = Recording::new(Rank::new(0), layout, Sample::ALL);
        let clock = Arc::new(Hand(AtomicU64::new(5000)));
        let mut transport = Record::new(network.remove(0), recording.clone(), clock);
        let there = transport.network().connect(None, Rank::new(1), &peer).unwrap();
        let missing =
            Operation::Write { to: layout.encode(Rank::new(1), pelago_base::SegmentId::SYMMETRIC, 64).unwrap(), bytes: b"abc" };
        transport.post(Instant::ZERO, there, missing, Flags::NONE, Token(7)).unwrap();
        transport.post(Instant::ZERO, Endpoint(5), missing, Flags::NONE, Token(8)).unwrap_err();
        let mut completed = Vec::new();
        while completed.is_empty() {
            transport.progress(Instant::ZERO, &mut completed);
        }
        let recorded = recording.recorded(Instant::from_picoseconds(9000));
        // The refused operation is not recorded; the other failed, as its memory is not registered.
        let operation = RecordedOperation {
            kind: RecordedKind::Put,
            to: 1,
            bytes: 3,
            posted_ns: 5,
            returned_ns: 6,
            completed: Some((8, false)),
        };
        assert_eq!((recorded.operations, recorded.end_ns), (vec![operation], 9));
    }

    #[test]
    fn a_rank_waits_while_all_of_its_threads_do() {
        let recording = Recording::new(Rank::new(0), AddressLayout::new(2, 4096).unwrap(), Sample::ALL);
        let at = |ns: u64| Instant::from_picoseconds(ns * 1000);
        recording.start(at(1));
        recording.note(Activity::Joins, at(0));
        recording.note(Activity::Joins, at(0));
        recording.note(Activity::Waits, at(1));
        recording.note(Activity::Waits, at(2));
        recording.note(Activity::GoesOn, at(5));
        recording.note(Activity::GoesOn, at(6));
        recording.note(Activity::Leaves, at(7));
        recording.note(Activity::Waits, at(8));
        recording.note(Activity::GoesOn, at(9));
        let recorded = recording.recorded(at(10));
        assert_eq!((recorded.waits, recorded.joined_ns), (vec![(2, 5), (8, 9)], 1));
    }

    #[test]
    fn only_the_time_of_the_sample_is_recorded() {
        let sample = "0@7ns-17ns".parse().unwrap();
        let recording = Recording::new(Rank::new(0), AddressLayout::new(2, 4096).unwrap(), sample);
        let at = |ns: u64| Instant::from_picoseconds(ns * 1000);
        let write = Operation::Write { to: GlobalAddress::from_bits(0x1000), bytes: b"abc" };
        recording.posted(Token(9), &write, at(1), at(1));
        recording.start(at(3));
        for (number, ns) in [9, 10, 19, 20].into_iter().enumerate() {
            recording.posted(Token(number as u64), &write, at(ns), at(ns));
        }
        recording.completed(&[2, 3].map(|token| Completion { token: Token(token), result: Ok(0) }), at(25));
        for (from, to) in [(1, 2), (8, 12), (14, 15), (19, 30), (40, 50)] {
            recording.note(Activity::Waits, at(from));
            recording.note(Activity::GoesOn, at(to));
        }
        assert_eq!(recording.recorded(at(5)), RecordedRank { begin_ns: 5, end_ns: 5, ..recording.recorded(at(5)) });
        let recorded = recording.recorded(at(60));
        let posted: Vec<_> = recorded.operations.iter().map(|one| (one.posted_ns, one.completed)).collect();
        assert_eq!(posted, [(10, None), (19, Some((25, true)))], "an end is recorded whenever it comes");
        assert_eq!(recorded.waits, [(10, 12), (14, 15), (19, 20)]);
        assert_eq!((recorded.begin_ns, recorded.end_ns, recorded.operations_dropped(), recorded.waits_dropped), (10, 20, 0, 0));
    }

    #[test]
    fn what_exceeds_the_bounds_is_counted() {
        let recording = Recording::new(Rank::new(0), AddressLayout::new(2, 4096).unwrap(), Sample::ALL);
        let write = Operation::Write { to: GlobalAddress::from_bits(0x1000), bytes: b"abc" };
        for number in 0..RECORDED_OPERATIONS_MAX as u64 + 3 {
            recording.posted(Token(number), &write, Instant::ZERO, Instant::ZERO);
            recording.note(Activity::Waits, Instant::ZERO);
            recording.note(Activity::GoesOn, Instant::from_picoseconds(5000));
        }
        let recorded = recording.recorded(Instant::ZERO);
        assert_eq!((recorded.operations.len(), recorded.operations_dropped()), (RECORDED_OPERATIONS_MAX, 3));
        let puts = recorded.operations_dropped[RecordedKind::Put as usize];
        assert_eq!((puts.count, puts.bytes), (3, 9));
        assert_eq!((recorded.waits.len(), recorded.waits_dropped, recorded.waits_dropped_ns), (RECORDED_WAITS_MAX, 3, 15));
        assert_eq!(recording.state().in_flight.len(), RECORDED_OPERATIONS_MAX);
        assert_eq!((size_of::<RecordedOperation>(), size_of::<(u64, u64)>()), (48, 16));
    }
}
