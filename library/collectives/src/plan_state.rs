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
    /// Whether a run is advancing. It stays so if its operator panics: part of a message is then combined already.
    advances: bool,
}

const FAILED: Error = Error::Invalid("an operation of the plan has failed, or was forgotten before its end");

impl PlanState {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, cursor: Cursor::default(), busy: false, advances: false }
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
        if core::mem::replace(&mut self.advances, true) {
            return Err(FAILED);
        }
        let mut executor = Executor::new(context, &self.layout, &mut ends, fold);
        let ended = executor.advance(&mut self.cursor, wait);
        self.advances = false;
        self.busy = !matches!(ended, Ok(true));
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
