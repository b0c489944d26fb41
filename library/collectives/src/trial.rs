//! The trial: measures candidate algorithms and rails on zero values, and chooses the fastest.

use pelago_base::{Duration, Instant};
use pelago_rma::{Error, Pod, Rail, Result};

use crate::Algorithm;
use crate::choice::{Candidate, Rails};
use crate::collectives::{Collectives, Key};
use crate::executor::Ends;
use crate::operator::Fold;
use crate::plan_state::PlanState;
use crate::scratch::zeroed;

/// Number of candidates that a trial tries however many messages they need, besides the simplest one: the best by the model.
const TRIED: usize = 3;

/// Maximum number of messages per member of a candidate that takes part in a trial although its predicted time is longer. The limit bounds
/// the duration of trials.
const TRIED_MESSAGES_MAX: u64 = 512;

/// A candidate whose first batch takes so many times as long as another's best is dropped.
const HOPELESS: u64 = 3;

/// Maximum number of batches of a trial. A trial ends earlier if two consecutive batches differ by at most one part in `TRIAL_SAME`.
const TRIAL_BATCHES_MAX: usize = 9;
const TRIAL_SAME: u64 = 200;

/// Target duration of a batch, and its minimum and maximum number of operations. The clock is read around the whole batch: operations follow one
/// another as in a program that runs many. If one operation is long, a batch has two.
const TRIAL_BATCH: Duration = Duration::from_microseconds(100);
const TRIAL_OPERATIONS: (u64, u64) = (8, 64);
const TRIAL_LONG: Duration = Duration::from_microseconds(2000);

/// Pause between operations that are tried one at a time, in virtual time: longer than messages of the agreement on the next one stay in flight.
const TRIAL_PAUSE: Duration = Duration::from_microseconds(1000);

/// What takes the memory of a trial, in error messages.
const BUFFERS: &str = "the buffers of the trial of a collective operation";

/// The buffers of a trial at a member.
struct Buffers<T> {
    input: Vec<T>,
    output: Vec<T>,
}

impl Collectives<'_> {
    /// Returns the rails to try: the requested ones, else first the best for each member, then each pair.
    fn rails_to_try(&self) -> Vec<Rails> {
        let rails = || (0..self.world.rails().len()).filter_map(Rail::new);
        match self.rails {
            Some(asked) => vec![asked],
            None if rails().count() == 1 => vec![Rails::default()],
            None => {
                let is_one_kind = self.per_host == 1 || self.per_host >= self.team().size();
                let two = |far: Rail| {
                    let near = rails().filter(move |&near| !is_one_kind || near == far);
                    near.map(move |near| Rails { intra_node: Some(near), inter_node: Some(far) })
                };
                [Rails::default()].into_iter().chain(rails().flat_map(two)).collect()
            }
        }
    }

    /// Measures the candidates by all rails, the best by the model first, and returns the fastest. A later candidate replaces an earlier one only if
    /// it is faster by more than a twentieth. If no candidate finds room, the best by the model is returned. `own`: whether this member has its
    /// memory for the operation; `forgets`: whether prepared one-shot operations are forgotten if there is no room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], on all members: one has no memory for the operation, or for the buffers of the trial.
    pub(crate) fn try_out<T: Pod>(
        &self,
        key: Key,
        fold: &dyn Fold<T>,
        candidates: &mut [Candidate],
        own: &Result<()>,
        forgets: bool,
    ) -> Result<(Algorithm, Rails)> {
        if candidates.is_empty() {
            return own.clone().map(|()| (Algorithm::Flat, Rails::default()));
        }
        let mut buffers = self.trial_buffers::<T>(key);
        let own = own.clone().and(buffers.as_ref().map(drop).map_err(Clone::clone));
        let simplest = candidates.iter().map(|candidate| candidate.algorithm).min_by_key(|algorithm| *algorithm as u8);
        let all_rails = self.rails_to_try();
        let mut best: Option<((Algorithm, Rails), Duration)> = None;
        for (index, candidate) in candidates.iter_mut().enumerate() {
            let is_cheap = candidate.promise.messages <= TRIED_MESSAGES_MAX;
            if index >= TRIED && !is_cheap && Some(candidate.algorithm) != simplest {
                continue;
            }
            for &rails in &all_rails {
                let made = match forgets {
                    true => self.make_with_room(key, candidate.algorithm, rails, &own),
                    false => self.make(key, candidate.algorithm, rails, &own),
                };
                let state = match made {
                    Err(Error::NoMemory { .. }) => continue,
                    made => made?,
                };
                let buffers = buffers.as_mut().map_err(|error| error.clone())?;
                let measured = self.time::<T>(state, fold, best.map(|(_, least)| least), buffers)?;
                if candidate.measured.is_none_or(|least| measured < least) {
                    (candidate.measured, candidate.rails) = (Some(measured), rails);
                }
                let better = best.is_none_or(|(_, least)| measured.as_picoseconds() * 20 < least.as_picoseconds() * 19);
                if better {
                    best = Some(((candidate.algorithm, rails), measured));
                }
            }
        }
        Ok(best.map_or_else(|| (candidates[0].algorithm, Rails::default()), |(way, _)| way))
    }

    /// Returns the buffers of a trial; the error has the bytes of both.
    fn trial_buffers<T: Pod>(&self, key: Key) -> Result<Buffers<T>> {
        let (position, size) = (self.position(), self.team().size());
        let [input, output] = [key.operation.blocks_in(position, size), key.operation.blocks_out(position, size)]
            .map(|blocks| blocks as usize * key.count);
        let bytes = (input as u64 + output as u64).saturating_mul(size_of::<T>() as u64);
        let of = |length| zeroed(BUFFERS, length).map_err(|_| Error::OutOfMemory { what: BUFFERS, bytes });
        Ok(Buffers { input: of(input)?, output: of(output)? })
    }

    /// Returns the time of one operation on zeroes: the median over several batches of the slowest member's time. Without disturbance, as in a
    /// simulation, two batches suffice. `best` is the time of another algorithm.
    fn time<T: Pod>(
        &self,
        mut state: PlanState,
        fold: &dyn Fold<T>,
        best: Option<Duration>,
        Buffers { input, output }: &mut Buffers<T>,
    ) -> Result<Duration> {
        let [mut temporary, mut chunk] =
            [state.layout.temporary(), state.layout.chunk()].map(|length| vec![T::new_zeroed(); length]);
        let mut times = Vec::with_capacity(TRIAL_BATCHES_MAX);
        // The first operation touches pages and determines the operations of a batch; the first batch determines whether to continue.
        let (mut operations, mut batch) = (1, 0);
        while times.len() < TRIAL_BATCHES_MAX {
            let (mut start, mut lasted) = (self.world.now(), 0);
            for _ in 0..operations {
                if self.apart {
                    lasted += (self.world.now() - start).as_picoseconds();
                    start = self.meet_to_begin()?;
                }
                state.begin()?;
                let ends = Ends {
                    input: Some(&input[..]),
                    output: &mut output[..],
                    shifts: (0, 0),
                    temporary: &mut temporary,
                    chunk: &mut chunk,
                };
                self.told(state.advance(self.context(), ends, fold, true))?;
            }
            // The agreement also keeps members from running ahead of each other.
            let mut slowest = [lasted + (self.world.now() - start).as_picoseconds()];
            self.agree(&mut slowest, u64::max)?;
            let time = slowest[0] / operations;
            batch += 1;
            match batch {
                1 => {
                    let least = if time > TRIAL_LONG.as_picoseconds() { 2 } else { TRIAL_OPERATIONS.0 };
                    operations = (TRIAL_BATCH.as_picoseconds() / time.max(1)).clamp(least, TRIAL_OPERATIONS.1);
                    continue;
                }
                2 if best.is_some_and(|best| time / HOPELESS > best.as_picoseconds()) => {
                    times.push(time);
                    break;
                }
                _ => {}
            }
            let is_same = times.last().is_some_and(|&last: &u64| last.abs_diff(time) <= last / TRIAL_SAME);
            times.push(time);
            if is_same {
                break;
            }
        }
        self.give_back(state.layout.region);
        times.sort_unstable();
        Ok(Duration::from_picoseconds(times[times.len() / 2]))
    }

    /// Waits until all members have arrived and nothing is in flight, and returns that time: in virtual time, the same instant for all.
    fn meet_to_begin(&self) -> Result<Instant> {
        let mut last = [self.world.now().as_picoseconds()];
        self.agree(&mut last, u64::max)?;
        self.world.compute(Instant::from_picoseconds(last[0]) + TRIAL_PAUSE - self.world.now());
        Ok(self.world.now())
    }
}
