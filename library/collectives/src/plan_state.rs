//! The state of a prepared operation between runs; plans and one-shot operations have one each.

use pelago_rma::{Error, Pod, Result};

use crate::Collective;
use crate::executor::{Cursor, Ends, Executor, Layout, MemberContext};
use crate::operator::Fold;

/// The state of a plan between two runs.
pub(crate) struct PlanState {
    pub(crate) layout: Layout,
    cursor: Cursor,
    /// Whether a run has begun and has not completed.
    busy: bool,
    /// Whether a run has failed. Part of a message is then combined already.
    has_failed: bool,
}

/// A run that is advancing. If it fails, or its operator panics, it does not continue, and members that wait for it must not wait for ever.
struct Advancing<'a> {
    state: &'a mut PlanState,
    context: MemberContext<'a>,
    is_well: bool,
}

impl Drop for Advancing<'_> {
    fn drop(&mut self) {
        if !self.is_well {
            self.state.has_failed = true;
            self.state.layout.tell_broken(self.context);
        }
    }
}

const FAILED: Error = Error::Invalid("an operation of the plan has failed, or was forgotten before its end");

impl PlanState {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, cursor: Cursor::default(), busy: false, has_failed: false }
    }

    /// Begins a run.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.busy {
            return Err(FAILED);
        }
        self.busy = true;
        Ok(())
    }

    /// Progress of the run.
    pub(crate) fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Continues a run; returns whether it has ended.
    pub(crate) fn advance<T: Pod>(
        &mut self,
        context: MemberContext<'_>,
        mut ends: Ends<'_, T>,
        fold: &dyn Fold<T>,
        wait: bool,
    ) -> Result<bool> {
        if self.has_failed {
            return Err(FAILED);
        }
        let mut advancing = Advancing { state: self, context, is_well: false };
        let Self { layout, cursor, .. } = &mut *advancing.state;
        let ended = Executor::new(context, layout, &mut ends, fold).advance(cursor, wait);
        advancing.is_well = ended.is_ok();
        advancing.state.busy = !matches!(ended, Ok(true));
        ended
    }
}

/// Returns the offsets, in blocks, of the input and the output in a buffer that holds both.
pub(crate) fn shifts(operation: Collective, position: usize) -> (usize, usize) {
    match operation {
        Collective::Allgather | Collective::Gather { .. } => (position, 0),
        Collective::ReduceScatter | Collective::Scatter { .. } => (0, position),
        _ => (0, 0),
    }
}
