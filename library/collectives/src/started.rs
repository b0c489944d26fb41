//! Started operations: they own their values, and advance in every call of this rank that waits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_rma::{Background, Context, Error, Pod, Result};

use crate::collectives::{Collectives, Key};
use crate::counted::exchange::{Buffers, Exchange};
use crate::executor::Ends;
use crate::limits::STARTED_MAX;
use crate::member::{InFlight, Member, Uses};
use crate::operator::{Fold, Nothing};
use crate::plan_state::{PlanState, shifts};
use crate::scratch::zeroed_output;
use crate::{Collective, Operator};

/// A started operation, with its values.
///
/// It advances in [`test`](Self::test), in [`wait`](Self::wait), and in every other call of this rank that waits or makes
/// [`progress`](Context::progress): a wait for a handle, a value, a message, a barrier. Dropping it discards its result; the operation continues, and
/// the drop of its [`Collectives`] waits for it.
#[must_use = "the values are returned by wait"]
pub struct Started<'c, 'w, T: Pod> {
    collectives: &'c Collectives<'w>,
    flight: Rc<dyn Flight<T>>,
}

/// A started operation on values of type `T`.
pub(crate) trait Flight<T>: InFlight {
    fn outcome(&self) -> Option<Result<()>>;
    fn take_output(&self) -> Vec<T>;
}

impl<T: Pod> Started<'_, '_, T> {
    /// Makes progress without waiting; returns whether the operation has ended.
    ///
    /// # Errors
    /// A member failed; members disagree; the job is at fault.
    pub fn test(&mut self) -> Result<bool> {
        let Collectives { world, member, .. } = self.collectives;
        member.advance_started(world);
        if self.flight.outcome().is_none() {
            world.progress();
        }
        match self.flight.outcome() {
            None => world.fault().map_or(Ok(false), |fault| Err(fault.into())),
            Some(outcome) => self.collectives.told(outcome).map(|()| true),
        }
    }

    /// Waits until the operation has ended, and returns its output; for an operation in place, in the values that were passed.
    ///
    /// # Errors
    /// As [`test`](Self::test).
    pub fn wait(self) -> Result<Vec<T>> {
        self.collectives.wait_for(|| self.flight.outcome().is_some())?;
        let outcome = self.flight.outcome().unwrap_or(Ok(()));
        self.collectives.told(outcome)?;
        Ok(self.flight.take_output())
    }
}

/// An operation that uses the plan of a one-shot operation.
struct Planned<T> {
    operation: Collective,
    position: u32,
    number: u64,
    state: Rc<RefCell<PlanState>>,
    inner: RefCell<Values<T>>,
    outcome: RefCell<Option<Result<()>>>,
    has_begun: Cell<bool>,
}

/// An operation with counts.
struct Exchanged<T> {
    exchange: RefCell<Exchange>,
    inner: RefCell<Values<T>>,
    outcome: RefCell<Option<Result<()>>>,
}

struct Values<T> {
    input: Option<Vec<T>>,
    output: Vec<T>,
    temporary: Vec<T>,
    chunk: Vec<T>,
    fold: Box<dyn Fold<T>>,
}

impl<T: Pod> InFlight for Planned<T> {
    fn uses(&self) -> Uses {
        Uses::Plan(self.number)
    }

    fn advance(&self, member: &Member, context: &Context) -> (bool, bool) {
        let mut state = self.state.borrow_mut();
        if !self.has_begun.replace(true)
            && let Err(error) = state.begin()
        {
            *self.outcome.borrow_mut() = Some(Err(error));
            return (true, true);
        }
        let before = state.cursor();
        let mut values = self.inner.borrow_mut();
        let Values { input, output, temporary, chunk, fold } = &mut *values;
        let shifts = if input.is_none() { shifts(self.operation, self.position as usize) } else { (0, 0) };
        let ends = Ends { input: input.as_deref(), output, shifts, temporary, chunk };
        match state.advance(member.context(context), ends, &**fold, false) {
            Ok(false) => (state.cursor() != before, false),
            ended => {
                *self.outcome.borrow_mut() = Some(ended.map(drop));
                (true, true)
            }
        }
    }
}

impl<T: Pod> InFlight for Exchanged<T> {
    fn uses(&self) -> Uses {
        Uses::Streams
    }

    fn advance(&self, member: &Member, context: &Context) -> (bool, bool) {
        let (mut values, mut streams) = (self.inner.borrow_mut(), member.streams.borrow_mut());
        let Values { input, output, chunk, fold, .. } = &mut *values;
        let buffers = Buffers { input: input.as_deref().unwrap_or(&[]), output, chunk, fold: &**fold };
        let streams = streams.as_mut().expect("they are made before an operation starts");
        match self.exchange.borrow_mut().advance(&member.context(context), context, streams, buffers) {
            Ok((moved, false)) => (moved, false),
            ended => {
                *self.outcome.borrow_mut() = Some(ended.map(drop));
                (true, true)
            }
        }
    }
}

impl<T: Pod> Flight<T> for Planned<T> {
    fn outcome(&self) -> Option<Result<()>> {
        self.outcome.borrow().clone()
    }

    fn take_output(&self) -> Vec<T> {
        core::mem::take(&mut self.inner.borrow_mut().output)
    }
}

impl<T: Pod> Flight<T> for Exchanged<T> {
    fn outcome(&self) -> Option<Result<()>> {
        self.outcome.borrow().clone()
    }

    fn take_output(&self) -> Vec<T> {
        core::mem::take(&mut self.inner.borrow_mut().output)
    }
}

impl<'w> Collectives<'w> {
    /// Waits until `ready`; the started operations of this team advance meanwhile.
    pub(crate) fn wait_for(&self, ready: impl Fn() -> bool) -> Result<()> {
        let Self { world, member, .. } = self;
        world.wait_for("a collective operation", None, || {
            member.advance_started(world);
            Ok(ready().then_some(()))
        })
    }

    /// Waits until no operation in flight uses this resource.
    pub(crate) fn wait_until_free(&self, uses: Uses) -> Result<()> {
        if self.member.is_used(uses) { self.wait_for(|| !self.member.is_used(uses)) } else { Ok(()) }
    }

    fn launch<T: Pod>(&self, flight: Rc<dyn Flight<T>>, in_flight: Rc<dyn InFlight>) -> Result<Started<'_, 'w, T>> {
        let member = &self.member;
        if member.started.borrow().len() >= STARTED_MAX {
            return Err(Error::TooMany { what: "started collective operations", limit: STARTED_MAX });
        }
        if !member.is_known.get() {
            let background: Rc<dyn Background> = member.clone();
            self.world.go_on_with(&background)?;
            member.is_known.set(true);
        }
        member.started.borrow_mut().push_back(in_flight);
        member.advance_started(self.world);
        Ok(Started { collectives: self, flight })
    }

    /// Starts an operation with counts, whose messages are in `exchange`.
    pub(crate) fn start_exchange<T: Pod>(
        &self,
        exchange: Exchange,
        input: Vec<T>,
        output: Vec<T>,
        operator: impl Operator<T> + 'static,
    ) -> Result<Started<'_, 'w, T>> {
        let chunk = vec![T::new_zeroed(); self.chunk_length::<T>()];
        let inner = Values { input: Some(input), output, temporary: Vec::new(), chunk, fold: Box::new(operator) };
        let exchange = RefCell::new(exchange);
        let flight = Rc::new(Exchanged { exchange, inner: RefCell::new(inner), outcome: RefCell::default() });
        self.launch(flight.clone(), flight)
    }

    fn start_once<T: Pod>(
        &self,
        operation: Collective,
        count: usize,
        (input, output): (Option<Vec<T>>, Vec<T>),
        fold: Box<dyn Fold<T>>,
        commutes: bool,
    ) -> Result<Started<'_, 'w, T>> {
        self.check_lengths(operation, count, input.as_deref(), &output)?;
        let key: Key = self.key::<T>(operation, count, commutes)?;
        let (number, state) = self.prepared_for::<T>(key)?;
        let [temporary, chunk] = {
            let state = state.borrow();
            [state.layout.temporary(), state.layout.chunk()].map(|length| vec![T::new_zeroed(); length])
        };
        let inner = RefCell::new(Values { input, output, temporary, chunk, fold });
        let (position, outcome, has_begun) = (self.position(), RefCell::default(), Cell::new(false));
        let flight = Rc::new(Planned { operation, position, number, state, inner, outcome, has_begun });
        self.launch(flight.clone(), flight)
    }

    /// Starts a [`broadcast`](Self::broadcast).
    ///
    /// Cost of every start: that of the one-shot operation, and some allocations. All members prepare the first operation of its kind and length
    /// together, which waits.
    ///
    /// # Errors
    /// As the one-shot operation; too many operations are in flight.
    pub fn start_broadcast<T: Pod>(&self, root: u32, values: Vec<T>) -> Result<Started<'_, 'w, T>> {
        self.start_once(Collective::Broadcast { root }, values.len(), (None, values), Box::new(Nothing), false)
    }

    /// Starts a [`reduce`](Self::reduce). Members other than the root get no values.
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_reduce<T: Pod>(
        &self,
        root: u32,
        values: Vec<T>,
        operator: impl Operator<T> + 'static,
    ) -> Result<Started<'_, 'w, T>> {
        let (operation, count, commutes) = (Collective::Reduce { root }, values.len(), operator.commutes());
        let ends = if self.position() == root { (None, values) } else { (Some(values), Vec::new()) };
        self.start_once(operation, count, ends, Box::new(operator), commutes)
    }

    /// Starts an [`allreduce`](Self::allreduce).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_allreduce<T: Pod>(&self, values: Vec<T>, operator: impl Operator<T> + 'static) -> Result<Started<'_, 'w, T>> {
        let (count, commutes) = (values.len(), operator.commutes());
        self.start_once(Collective::Allreduce, count, (None, values), Box::new(operator), commutes)
    }

    /// Starts an [`allgather`](Self::allgather).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_allgather<T: Pod>(&self, own: Vec<T>) -> Result<Started<'_, 'w, T>> {
        self.start_of(Collective::Allgather, own.len(), own)
    }

    /// Starts a [`gather`](Self::gather).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_gather<T: Pod>(&self, root: u32, own: Vec<T>) -> Result<Started<'_, 'w, T>> {
        self.start_of(Collective::Gather { root }, own.len(), own)
    }

    /// Starts a [`scatter`](Self::scatter) of blocks of `count` values.
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_scatter<T: Pod>(&self, root: u32, all: Vec<T>, count: usize) -> Result<Started<'_, 'w, T>> {
        self.start_of(Collective::Scatter { root }, count, all)
    }

    /// Starts an [`alltoall`](Self::alltoall).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_alltoall<T: Pod>(&self, from: Vec<T>) -> Result<Started<'_, 'w, T>> {
        self.start_of(Collective::Alltoall, from.len() / self.team().size() as usize, from)
    }

    /// Starts a [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_reduce_scatter<T: Pod>(&self, all: Vec<T>, operator: impl Operator<T> + 'static) -> Result<Started<'_, 'w, T>> {
        let (count, commutes) = (all.len() / self.team().size() as usize, operator.commutes());
        let own = vec![T::new_zeroed(); count];
        self.start_once(Collective::ReduceScatter, count, (Some(all), own), Box::new(operator), commutes)
    }

    /// Starts a [`scan`](Self::scan).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_scan<T: Pod>(&self, values: Vec<T>, operator: impl Operator<T> + 'static) -> Result<Started<'_, 'w, T>> {
        let (count, commutes) = (values.len(), operator.commutes());
        self.start_once(Collective::Scan, count, (None, values), Box::new(operator), commutes)
    }

    /// Starts an [`exclusive_scan`](Self::exclusive_scan).
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_exclusive_scan<T: Pod>(
        &self,
        values: Vec<T>,
        operator: impl Operator<T> + 'static,
    ) -> Result<Started<'_, 'w, T>> {
        let (count, commutes) = (values.len(), operator.commutes());
        self.start_once(Collective::ExclusiveScan, count, (None, values), Box::new(operator), commutes)
    }

    /// Starts a barrier: it ends when every member has started it. Earlier puts of members are visible after it only if the members waited for them
    /// ([`quiet`](Context::quiet)) before.
    ///
    /// # Errors
    /// As [`start_broadcast`](Self::start_broadcast).
    pub fn start_barrier(&self) -> Result<Started<'_, 'w, u8>> {
        self.start_once(Collective::Barrier, 0, (None, Vec::new()), Box::new(Nothing), false)
    }

    /// Starts an operation that combines nothing and has a separate output.
    fn start_of<T: Pod>(&self, operation: Collective, count: usize, input: Vec<T>) -> Result<Started<'_, 'w, T>> {
        let blocks = operation.blocks_out(self.position(), self.team().size()) as usize;
        let output = zeroed_output(blocks.saturating_mul(count))?;
        self.start_once(operation, count, (Some(input), output), Box::new(Nothing), false)
    }
}
