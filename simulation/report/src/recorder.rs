//! The recorder: records each event of a job, and counts.

use pelago_base::{Duration, Instant, Rank};

use crate::facts::Facts;
use crate::limits::Limits;
use crate::report::Report;
use crate::sections::activity::ActivityGrid;
use crate::sections::latencies::{OperationKind, Tally};
use crate::sections::ranks::RankRow;
use crate::sections::timeline::{MessageSpan, RankActivity, RankSpan, Timeline};

/// Records the events of a job, in order of time.
///
/// A rank is known from the first call that names it. Memory: 72 bytes for each rank, 24 for each message number, 512 KiB, and the
/// time line up to [`Limits`]. No call but [`finish`](Self::finish) costs more than some tens of nanoseconds.
#[derive(Clone, Debug)]
pub struct Recorder {
    limits: Limits,
    ranks: Vec<RankState>,
    /// Operations that have been posted and have not completed, by number.
    under_way: Vec<Option<UnderWay>>,
    under_way_now: u64,
    under_way_max: u64,
    /// In the order of [`OperationKind::ALL`].
    tallies: [Tally; 4],
    activity: ActivityGrid,
    timeline: Timeline,
}

/// Why a rank stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It waits for an event.
    Waiting,
    /// It computes.
    Computing,
    /// It has ended.
    Ended,
}

#[derive(Clone, Debug, Default)]
struct RankState {
    /// Its current activity, and when it began; `None` before its first event and after its end.
    doing: Option<(RankActivity, Instant)>,
    computing_ps: u64,
    waiting_ps: u64,
    ended: Option<Instant>,
    operations: u64,
    failed: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    kind: OperationKind,
    effective: bool,
    from: Rank,
    posted: Instant,
    /// Its index in the time line, if it is kept there.
    kept: Option<u32>,
}

impl Recorder {
    /// Makes a recorder without events.
    pub fn new(limits: Limits) -> Self {
        let limits = Limits { records_max: limits.records_max.min(u32::MAX as usize), ..limits };
        Self {
            ranks: Vec::new(),
            under_way: Vec::new(),
            under_way_now: 0,
            under_way_max: 0,
            tallies: Default::default(),
            activity: ActivityGrid::new(),
            timeline: Timeline::new(&limits),
            limits,
        }
    }

    /// Records that a rank continues. Time that passes before it stops is time of computing.
    pub fn resumed(&mut self, rank: Rank, now: Instant) {
        self.change(rank, now, Some(RankActivity::Computing));
    }

    /// Records that a rank stops: until it continues it waits or computes, or it has ended.
    pub fn stopped(&mut self, rank: Rank, now: Instant, why: StopReason) {
        let next = match why {
            StopReason::Waiting => Some(RankActivity::Waiting),
            StopReason::Computing => Some(RankActivity::Computing),
            StopReason::Ended => None,
        };
        self.change(rank, now, next);
        self.rank(rank).ended = next.is_none().then_some(now);
    }

    /// Records that a rank posts an operation. `message` is its number until it completes, `to` the rank at its other end: the one whose
    /// memory a put or an atomic changes, a get reads, and a copy reads or changes.
    ///
    /// # Panics
    /// An operation of this number is in flight.
    // The six properties of a message; a struct for them would have only this use.
    #[allow(clippy::too_many_arguments)]
    pub fn posted(&mut self, message: u32, kind: OperationKind, from: Rank, to: Rank, bytes: u64, now: Instant) {
        let state = self.rank(from);
        state.operations += 1;
        state.bytes = state.bytes.saturating_add(bytes);
        self.tallies[kind as usize].post(bytes);
        self.activity.add_operation(from, now);
        self.under_way_now += 1;
        self.under_way_max = self.under_way_max.max(self.under_way_now);
        let record = MessageSpan {
            kind,
            from: from.number(),
            to: to.number(),
            bytes,
            posted_ps: now.as_picoseconds(),
            effective_ps: None,
            completed_ps: None,
            failed: false,
        };
        let kept = self.timeline.add_message(record, &self.limits).map(|place| place as u32);
        let place = place_of(&mut self.under_way, message as usize);
        let before = place.replace(UnderWay { kind, effective: false, from, posted: now, kept });
        assert!(before.is_none(), "message {message} is posted while it is under way");
    }

    /// Records that an operation takes effect. Of several effects of one operation the first counts.
    ///
    /// # Panics
    /// No operation of this number is in flight.
    pub fn effective(&mut self, message: u32, now: Instant) {
        let under_way = self.under_way.get_mut(message as usize).and_then(Option::as_mut);
        let under_way = under_way.unwrap_or_else(|| panic!("message {message} takes effect and is not under way"));
        if !std::mem::replace(&mut under_way.effective, true) {
            let UnderWay { kind, posted, kept, .. } = *under_way;
            self.tallies[kind as usize].take_effect(now - posted);
            if let Some(place) = kept {
                self.timeline.messages[place as usize].effective_ps = Some(now.as_picoseconds());
            }
        }
    }

    /// Records the completion of an operation, whose number may then be reused.
    ///
    /// # Panics
    /// No operation of this number is in flight.
    pub fn completed(&mut self, message: u32, failed: bool, now: Instant) {
        let under_way = self.under_way.get_mut(message as usize).and_then(Option::take);
        let UnderWay { kind, from, posted, kept, .. } =
            under_way.unwrap_or_else(|| panic!("message {message} completes and is not under way"));
        self.under_way_now -= 1;
        let tally = &mut self.tallies[kind as usize];
        if failed {
            tally.fail();
            self.rank(from).failed += 1;
        } else {
            tally.complete(now - posted);
        }
        if let Some(place) = kept {
            let record = &mut self.timeline.messages[place as usize];
            (record.completed_ps, record.failed) = (Some(now.as_picoseconds()), failed);
        }
    }

    /// Records operations that `from` has posted at unknown times, not before `since`. They count in totals alone.
    pub fn untimed(&mut self, from: Rank, kind: OperationKind, operations: u64, bytes: u64, since: Instant) {
        let state = self.rank(from);
        state.operations += operations;
        state.bytes = state.bytes.saturating_add(bytes);
        self.tallies[kind as usize].add_untimed(operations, bytes);
        self.timeline.leave_out(0, operations, since);
    }

    /// Records that a rank ends, which since its last event has waited `waits` times at unknown times, for `waiting` in total, and otherwise
    /// computed. That time counts in totals alone: the rank's row of the time line ends at its last event.
    pub fn ended_after_gap(&mut self, rank: Rank, now: Instant, waits: u64, waiting: Duration) {
        let state = self.rank(rank);
        let since = state.doing.take().map_or(now, |(_, since)| since);
        let gap_ps = if since < now { (now - since).as_picoseconds() } else { 0 };
        let waiting_ps = waiting.as_picoseconds().min(gap_ps);
        state.waiting_ps += waiting_ps;
        state.computing_ps += gap_ps - waiting_ps;
        state.ended = Some(now);
        self.timeline.leave_out(waits, 0, since);
    }

    /// Makes the report of a completed job: the current activity of each rank lasts to the end. Cost: sorts spans, ranks and links.
    pub fn finish(mut self, facts: Facts) -> Report {
        if let Some(last) = facts.ranks.checked_sub(1) {
            self.rank(Rank::new(last));
        }
        for number in 0..self.ranks.len() as u32 {
            self.change(Rank::new(number), facts.end, None);
        }
        self.timeline.finish(self.ranks.len() as u32);
        let activity = self.activity.finish(self.ranks.len() as u32, facts.end);
        let rows = (0..).zip(&self.ranks).map(|(rank, state)| state.row(rank)).collect();
        let latencies = OperationKind::ALL.into_iter().filter_map(|kind| self.tallies[kind as usize].report(kind)).collect();
        Report::new(facts, rows, activity, (latencies, self.under_way_max), self.timeline)
    }

    /// Ends the current activity of a rank, and begins the next.
    fn change(&mut self, rank: Rank, now: Instant, next: Option<RankActivity>) {
        let state = self.rank(rank);
        if let Some((done, since)) = std::mem::replace(&mut state.doing, next.map(|next| (next, now)))
            && since < now
        {
            let time = match done {
                RankActivity::Waiting => &mut state.waiting_ps,
                RankActivity::Computing => &mut state.computing_ps,
            };
            *time += (now - since).as_picoseconds();
            if done == RankActivity::Computing {
                self.activity.add_computing(rank, since, now);
            }
            let (from_ps, to_ps) = (since.as_picoseconds(), now.as_picoseconds());
            self.timeline.add_span(RankSpan { rank: rank.number(), state: done, from_ps, to_ps }, &self.limits);
        }
    }

    fn rank(&mut self, rank: Rank) -> &mut RankState {
        place_of(&mut self.ranks, rank.index())
    }
}

impl RankState {
    fn row(&self, rank: u32) -> RankRow {
        let Self { computing_ps, waiting_ps, operations, failed, bytes, .. } = *self;
        let ended_ps = self.ended.map(Instant::as_picoseconds);
        RankRow { rank, computing_ps, waiting_ps, ended_ps, operations, failed, bytes }
    }
}

/// Returns the element at `index`; extends the vector with default values if necessary.
fn place_of<T: Default>(places: &mut Vec<T>, index: usize) -> &mut T {
    if places.len() <= index {
        places.resize_with(index + 1, T::default);
    }
    &mut places[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_as_large_as_they_say() {
        assert_eq!(size_of::<RankState>(), 72);
        assert_eq!(size_of::<Option<UnderWay>>(), 24);
        assert_eq!((size_of::<RankSpan>(), size_of::<MessageSpan>()), (24, 64));
    }

    #[test]
    #[should_panic(expected = "message 3 is posted while it is under way")]
    fn a_number_is_used_once_at_a_time() {
        let mut recorder = Recorder::new(Limits::default());
        let (rank, now) = (Rank::new(0), Instant::ZERO);
        recorder.posted(3, OperationKind::Put, rank, rank, 8, now);
        recorder.posted(3, OperationKind::Get, rank, rank, 8, now);
    }

    #[test]
    #[should_panic(expected = "message 0 completes and is not under way")]
    fn what_was_not_posted_does_not_complete() {
        Recorder::new(Limits::default()).completed(0, false, Instant::ZERO);
    }

    #[test]
    fn what_has_no_times_counts_in_totals() {
        let at = Instant::from_picoseconds;
        let mut recorder = Recorder::new(Limits::default());
        let rank = Rank::new(0);
        recorder.resumed(rank, at(10));
        recorder.posted(0, OperationKind::Put, rank, rank, 8, at(20));
        recorder.completed(0, false, at(25));
        recorder.stopped(rank, at(30), StopReason::Waiting);
        recorder.resumed(rank, at(50));
        recorder.untimed(rank, OperationKind::Put, 3, 24, at(20));
        recorder.ended_after_gap(rank, at(150), 7, Duration::from_picoseconds(60));
        let report = recorder.finish(Facts { ranks: 1, end: at(200), ..Facts::default() });
        let row = &report.ranks.rows[0];
        assert_eq!((row.computing_ps, row.waiting_ps, row.ended_ps), (20 + 40, 20 + 60, Some(150)));
        assert_eq!((row.operations, row.bytes), (4, 32));
        let puts = &report.latencies[0];
        assert_eq!((puts.operations, puts.untimed, puts.unfinished, puts.bytes, puts.to_completion.count), (4, 3, 0, 32, 1));
        let timeline = &report.timeline;
        assert_eq!((timeline.spans_left_out, timeline.messages_left_out, timeline.complete_until_ps), (7, 3, Some(20)));
        assert_eq!(timeline.spans.iter().map(|span| span.to_ps).max(), Some(50), "nothing is claimed about the time after it");
        assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    }
}
