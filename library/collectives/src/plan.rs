//! A collective operation that is prepared once and run often.

use pelago_rma::{Error, Pod, Result};

use crate::collectives::{Collectives, IN_PLACE, INPUT, OUTPUT};
use crate::executor::Ends;
use crate::operator::{Fold, Nothing};
use crate::plan_state::{PlanState, shifts};
use crate::scratch::room_for;
use crate::{Algorithm, Choice, Collective, Explanation, Operator};

/// A collective operation that is prepared once and run often; made by [`Collectives::plan`] and [`Collectives::plan_of`].
///
/// Every member makes its plans in the same order, drops them in the same order, and runs each as often as the others do. Several plans may run at
/// once. Runs allocate nothing: messages over a network are captured, or kept in the plan's own memory.
pub struct Plan<'c, 'w, T: Pod> {
    collectives: &'c Collectives<'w>,
    state: PlanState,
    operation: Collective,
    fold: Box<dyn Fold<T> + 'c>,
    temporary: Vec<T>,
    chunk: Vec<T>,
    /// Room for a copy of the input of an operation in place, if it needs one.
    input_copy: Option<Vec<T>>,
    explanation: Explanation,
}

impl<'w> Collectives<'w> {
    /// Prepares an operation that combines nothing, on blocks of `count` values.
    ///
    /// Cost: a reduction over the team, and the trial, if there is one.
    ///
    /// # Errors
    /// The operation combines values; the algorithm does not support it; no memory is left, or a member has none for the buffers of a trial or for
    /// the copy of an `alltoall` in place (`OutOfMemory`, with the number of bytes); the blocks of a member are longer than 128 TiB (`TooLong`);
    /// members disagree; the job is at fault.
    pub fn plan<T: Pod>(&self, operation: Collective, count: usize, choice: Choice) -> Result<Plan<'_, 'w, T>> {
        if operation.combines() {
            return Err(Error::Invalid("the operation combines values: plan it with an operator"));
        }
        self.plan_of(operation, count, Nothing, choice)
    }

    /// As [`plan`](Self::plan), for any operation; `operator` combines where values are combined.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_of<'c, T: Pod>(
        &'c self,
        operation: Collective,
        count: usize,
        operator: impl Operator<T> + 'c,
        choice: Choice,
    ) -> Result<Plan<'c, 'w, T>> {
        let key = self.key::<T>(operation, count, operator.commutes())?;
        let copies = operation == Collective::Alltoall;
        let input_copy = copies.then(|| room_for(INPUT_COPY, self.team().size() as usize * count)).transpose();
        let own = input_copy.as_ref().map(drop).map_err(Clone::clone);
        let (state, explanation) = self.prepare::<T>(key, &operator, choice, &own)?;
        Ok(Plan::new(self, operation, state, Box::new(operator), input_copy?, explanation))
    }
}

/// What takes the memory of a plan, in error messages.
const INPUT_COPY: &str = "the copy of the input of an alltoall in place";

/// The program's buffers in a run.
enum Buffers<'r, T> {
    Separate(&'r [T], &'r mut [T]),
    InPlace(&'r mut [T]),
}

impl<'c, 'w, T: Pod> Plan<'c, 'w, T> {
    pub(crate) fn new(
        collectives: &'c Collectives<'w>,
        operation: Collective,
        state: PlanState,
        fold: Box<dyn Fold<T> + 'c>,
        input_copy: Option<Vec<T>>,
        explanation: Explanation,
    ) -> Self {
        let of = |length: usize| vec![T::new_zeroed(); length];
        let (temporary, chunk) = (of(state.layout.temporary()), of(state.layout.chunk()));
        Self { collectives, state, operation, fold, temporary, chunk, input_copy, explanation }
    }

    /// The operation.
    pub fn operation(&self) -> Collective {
        self.operation
    }

    /// The chosen algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.state.layout.shape.algorithm
    }

    /// The candidates, with predicted and measured times.
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }

    /// Runs the operation on `input` and `output`. [`Collective`] lists the blocks of each; a slice without blocks is empty. The root of a broadcast
    /// may pass its values as `input`, with an empty `output`.
    ///
    /// # Errors
    /// The slices do not have the lengths that the operation needs at this member; an earlier run failed, here or on another member; a member failed; the
    /// job is at fault. A run that has begun and fails waits until nothing of it is in flight; a later [`quiet`](pelago_rma::Context::quiet) does not
    /// report the failure again.
    pub fn run(&mut self, input: &[T], output: &mut [T]) -> Result<()> {
        self.begin(Buffers::Separate(input, output))?.wait()
    }

    /// As [`run`](Self::run), with the output in the place of the input. If an operation turns one block into several, or several into one,
    /// `values` has all blocks, and the one block is this member's (`gather`, `scatter`: the root's).
    ///
    /// An `alltoall` copies its input first.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in_place(&mut self, values: &mut [T]) -> Result<()> {
        self.begin(Buffers::InPlace(values))?.wait()
    }

    /// Starts the operation; see [`run`](Self::run). It progresses in calls of [`Running`], while the program computes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start<'r>(&'r mut self, input: &'r [T], output: &'r mut [T]) -> Result<Running<'r, 'c, 'w, T>> {
        let mut running = self.begin(Buffers::Separate(input, output))?;
        running.test()?;
        Ok(running)
    }

    /// As [`start`](Self::start), in place; see [`run_in_place`](Self::run_in_place).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start_in_place<'r>(&'r mut self, values: &'r mut [T]) -> Result<Running<'r, 'c, 'w, T>> {
        let mut running = self.begin(Buffers::InPlace(values))?;
        running.test()?;
        Ok(running)
    }

    fn begin<'r>(&'r mut self, buffers: Buffers<'r, T>) -> Result<Running<'r, 'c, 'w, T>> {
        let (position, size, count) = (self.collectives.position(), self.collectives.team().size(), self.state.layout.count);
        let blocks_in = self.operation.blocks_in(position, size) as usize * count;
        let blocks_out = self.operation.blocks_out(position, size) as usize * count;
        match &buffers {
            Buffers::Separate(input, output) => {
                // The root of a broadcast sends its input if it has no output.
                let brings = self.operation == (Collective::Broadcast { root: position }) && output.is_empty();
                Error::check_number(INPUT, input.len(), if brings { count } else { blocks_in })?;
                Error::check_number(OUTPUT, output.len(), if brings { 0 } else { blocks_out })?;
            }
            Buffers::InPlace(values) => Error::check_number(IN_PLACE, values.len(), blocks_in.max(blocks_out))?,
        }
        self.state.begin()?;
        let Self { collectives, state, operation, fold, temporary, chunk, input_copy, .. } = self;
        let (input, output, shifts) = match (buffers, input_copy) {
            (Buffers::Separate(input, output), _) => (Some(input), output, (0, 0)),
            (Buffers::InPlace(values), _) if blocks_in == 0 => (Some(&[][..]), values, (0, 0)),
            (Buffers::InPlace(values), _) if blocks_out == 0 => (Some(&*values), &mut [][..], (0, 0)),
            (Buffers::InPlace(values), Some(copy)) => {
                copy.clear();
                copy.extend_from_slice(values);
                (Some(&**copy), values, (0, 0))
            }
            (Buffers::InPlace(values), None) => (None, values, shifts(*operation, position as usize)),
        };
        Ok(Running { collectives, state, fold: &**fold, ends: Ends { input, output, shifts, temporary, chunk }, ended: false })
    }
}

impl<T: Pod> Drop for Plan<'_, '_, T> {
    fn drop(&mut self) {
        self.collectives.give_back(self.state.layout.region);
    }
}

/// A run in progress. Dropping it waits for its end.
#[must_use = "it goes on in its own calls only"]
pub struct Running<'r, 'c, 'w, T: Pod> {
    collectives: &'c Collectives<'w>,
    state: &'r mut PlanState,
    fold: &'r (dyn Fold<T> + 'c),
    ends: Ends<'r, T>,
    ended: bool,
}

impl<T: Pod> Running<'_, '_, '_, T> {
    /// Makes progress without waiting; returns whether the operation is complete.
    ///
    /// # Errors
    /// A member failed; the job is at fault.
    pub fn test(&mut self) -> Result<bool> {
        if !self.ended {
            self.collectives.world().progress();
        }
        self.advance(false)
    }

    /// Waits until the operation is complete.
    ///
    /// # Errors
    /// A member failed; the job is at fault.
    pub fn wait(mut self) -> Result<()> {
        self.advance(true).map(drop)
    }

    fn advance(&mut self, wait: bool) -> Result<bool> {
        if !self.ended {
            let Ends { input, output, shifts, temporary, chunk } = &mut self.ends;
            let ends = Ends { input: *input, output, shifts: *shifts, temporary, chunk };
            match self.collectives.told(self.state.advance(self.collectives.context(), ends, self.fold, wait)) {
                Ok(ended) => self.ended = ended,
                Err(error) => {
                    // The run cannot continue.
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
