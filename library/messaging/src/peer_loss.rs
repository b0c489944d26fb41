//! Waiting in a job that may go on without lost ranks.

use pelago_base::Rank;
use pelago_rma::{Context, Error, Fault, Result};

/// Whether the job goes on without `rank`.
pub(crate) fn is_lost(context: &Context, rank: Rank) -> bool {
    context.lost().contains(&rank)
}

/// Makes progress, for a rank that polls; fails if the job is at fault.
pub(crate) fn progress(context: &Context) -> Result<()> {
    context.progress();
    match context.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(()),
    }
}

/// Fails if one of these ranks is lost.
pub(crate) fn all_there(context: &Context, ranks: &[Rank]) -> Result<()> {
    match ranks.iter().find(|&&rank| is_lost(context, rank)) {
        Some(&rank) => Err(Fault::PeerLost(rank).into()),
        None => Ok(()),
    }
}

/// The result of a wait; `None` if its time is over, or if a rank was lost without which the job goes on: the caller checks whether the loss matters.
pub(crate) fn unless_lost<T>(context: &Context, waited: Result<T>) -> Result<Option<T>> {
    match waited {
        Ok(value) => Ok(Some(value)),
        Err(Error::TimedOut { .. }) => Ok(None),
        Err(Error::Fault(Fault::PeerLost(_))) if context.fault().is_none() => Ok(None),
        Err(error) => Err(error),
    }
}
