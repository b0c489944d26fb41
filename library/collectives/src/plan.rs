//! An operation that is prepared once and done often.

use pelago_rma::{Error, Pod, Result};

use crate::collectives::Collectives;
use crate::executor::{Cursor, Ends, Executor, Layout};
use crate::operator::Fold;
use crate::{Algorithm, Explanation, Operation};

/// What an operation needs between two runs.
pub(crate) struct State {
    pub(crate) layout: Layout,
    cursor: Cursor,
    /// Whether a run has begun and not ended well.
    busy: bool,
}

impl State {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, cursor: Cursor::default(), busy: false }
    }

    /// Begins a run.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.busy {
            return Err(Error::Invalid("an operation of the plan has failed, or was forgotten before its end"));
        }
        self.busy = true;
        Ok(())
    }

    /// Goes on with a run; returns whether it has ended.
    pub(crate) fn advance<T: Pod>(
        &mut self,
        collectives: &Collectives<'_>,
        mut ends: Ends<'_, T>,
        fold: &dyn Fold<T>,
        wait: bool,
    ) -> Result<bool> {
        let mut executor = Executor::new(collectives.place(), &self.layout, &mut ends, fold);
        let ended = executor.advance(&mut self.cursor, wait)?;
        self.busy = !ended;
        Ok(ended)
    }
}

/// A collective operation that is prepared once and done often; made by [`Collectives::plan`] and [`Collectives::plan_of`].
///
/// Every member makes its plans in the same order, drops them in the same order, and runs each as often as the others do. Several may
/// be under way at once. After it is made nothing is allocated, as long as messages that go over a network are captured or kept in the
/// plan's own memory, which they are.
pub struct Plan<'c, 'w, T: Pod> {
    collectives: &'c Collectives<'w>,
    state: State,
    operation: Operation,
    fold: Box<dyn Fold<T> + 'c>,
    temporary: Vec<T>,
    chunk: Vec<T>,
    /// What is brought where it is also got, if it must be kept meanwhile.
    brought: Vec<T>,
    explanation: Explanation,
}

/// The program's memory in a run.
enum Memory<'r, T> {
    Apart(&'r [T], &'r mut [T]),
    InPlace(&'r mut [T]),
}

impl<'c, 'w, T: Pod> Plan<'c, 'w, T> {
    pub(crate) fn new(
        collectives: &'c Collectives<'w>,
        operation: Operation,
        state: State,
        fold: Box<dyn Fold<T> + 'c>,
        explanation: Explanation,
    ) -> Self {
        let of = |length: usize| vec![T::new_zeroed(); length];
        let (temporary, chunk) = (of(state.layout.temporary()), of(state.layout.chunk()));
        let kept = operation == Operation::Alltoall;
        let brought = if kept { of(collectives.team().size() as usize * state.layout.count) } else { Vec::new() };
        Self { collectives, state, operation, fold, temporary, chunk, brought, explanation }
    }

    /// What is done.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// By which steps.
    pub fn algorithm(&self) -> Algorithm {
        self.state.layout.shape.algorithm
    }

    /// Which algorithms could do it, what each is expected to cost, and has cost in the trial.
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }

    /// Does the operation: brings `input`, gets `output`. [`Operation`] says how many blocks each has; one that has none is empty.
    ///
    /// # Errors
    /// The slices do not have the lengths that the operation needs at this member; an earlier run failed; the job is at fault.
    pub fn run(&mut self, input: &[T], output: &mut [T]) -> Result<()> {
        self.begin(Memory::Apart(input, output))?.wait()
    }

    /// As [`run`](Self::run), where what is got takes the place of what is brought. Of operations that turn one block into several, or
    /// several into one, `values` has them all, and the one block is this member's (`gather`, `scatter`: the root's).
    ///
    /// An `alltoall` copies what is brought once more.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in_place(&mut self, values: &mut [T]) -> Result<()> {
        self.begin(Memory::InPlace(values))?.wait()
    }

    /// Begins the operation; see [`run`](Self::run). It goes on in calls of [`Running`], while the program computes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start<'r>(&'r mut self, input: &'r [T], output: &'r mut [T]) -> Result<Running<'r, 'c, 'w, T>> {
        let mut running = self.begin(Memory::Apart(input, output))?;
        running.test()?;
        Ok(running)
    }

    /// As [`start`](Self::start), in place; see [`run_in_place`](Self::run_in_place).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start_in_place<'r>(&'r mut self, values: &'r mut [T]) -> Result<Running<'r, 'c, 'w, T>> {
        let mut running = self.begin(Memory::InPlace(values))?;
        running.test()?;
        Ok(running)
    }

    fn begin<'r>(&'r mut self, memory: Memory<'r, T>) -> Result<Running<'r, 'c, 'w, T>> {
        let (position, size, count) = (self.collectives.position(), self.collectives.team().size(), self.state.layout.count);
        let blocks_in = self.operation.blocks_in(position, size) as usize * count;
        let blocks_out = self.operation.blocks_out(position, size) as usize * count;
        let fits = match &memory {
            Memory::Apart(input, output) => input.len() == blocks_in && output.len() == blocks_out,
            Memory::InPlace(values) => values.len() == blocks_in.max(blocks_out),
        };
        if !fits {
            return Err(Error::Invalid("the values are not as many as the operation needs at this member"));
        }
        self.state.begin()?;
        let (input, output, shifts) = match memory {
            Memory::Apart(input, output) => (Some(input), output, (0, 0)),
            Memory::InPlace(values) if blocks_in == 0 => (Some(&[][..]), values, (0, 0)),
            Memory::InPlace(values) if blocks_out == 0 => (Some(&*values), &mut [][..], (0, 0)),
            Memory::InPlace(values) if !self.brought.is_empty() => {
                self.brought.copy_from_slice(values);
                (None, values, (0, 0))
            }
            Memory::InPlace(values) => (None, values, shifts(self.operation, position as usize)),
        };
        let Self { collectives, state, fold, temporary, chunk, brought, .. } = self;
        let input = if input.is_none() && !brought.is_empty() { Some(&**brought) } else { input };
        Ok(Running { collectives, state, fold: &**fold, ends: Ends { input, output, shifts, temporary, chunk }, ended: false })
    }
}

/// Blocks by which an input, and an output, is further back in memory that is both.
pub(crate) fn shifts(operation: Operation, position: usize) -> (usize, usize) {
    match operation {
        Operation::Allgather | Operation::Gather { .. } => (position, 0),
        Operation::ReduceScatter | Operation::Scatter { .. } => (0, position),
        _ => (0, 0),
    }
}

impl<T: Pod> Drop for Plan<'_, '_, T> {
    fn drop(&mut self) {
        self.collectives.give_back(self.state.layout.region);
    }
}

/// An operation under way. Dropped, it is waited for.
#[must_use = "it goes on in its own calls only"]
pub struct Running<'r, 'c, 'w, T: Pod> {
    collectives: &'c Collectives<'w>,
    state: &'r mut State,
    fold: &'r (dyn Fold<T> + 'c),
    ends: Ends<'r, T>,
    ended: bool,
}

impl<T: Pod> Running<'_, '_, '_, T> {
    /// Goes on as far as it goes at once; returns whether the operation has ended.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn test(&mut self) -> Result<bool> {
        if !self.ended {
            self.collectives.world().progress();
        }
        self.advance(false)
    }

    /// Goes on to the end.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn wait(mut self) -> Result<()> {
        self.advance(true).map(drop)
    }

    fn advance(&mut self, wait: bool) -> Result<bool> {
        if !self.ended {
            let Ends { input, output, shifts, temporary, chunk } = &mut self.ends;
            let ends = Ends { input: *input, output, shifts: *shifts, temporary, chunk };
            match self.state.advance(self.collectives, ends, self.fold, wait) {
                Ok(ended) => self.ended = ended,
                Err(error) => {
                    // Nothing more comes of it.
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(self.ended)
    }
}

impl<T: Pod> Drop for Running<'_, '_, '_, T> {
    fn drop(&mut self) {
        if !self.ended && !std::thread::panicking() {
            let _at_fault = self.advance(true);
        }
    }
}
