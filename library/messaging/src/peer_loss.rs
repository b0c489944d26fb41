//! Waiting in a job that may go on without lost ranks.

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{Context, Error, Fault, Result};

/// The interval at which a receiver checks, after the loss of ranks, whether a missing message is lost with them.
pub(crate) const ABANDONED_INTERVAL: Duration = Duration::from_milliseconds(20);

/// The end of a wait for messages of lost ranks. A message that such a rank had completed may lie behind the ticket of another lost rank. It is
/// received after the receiver has checked that ticket, at most [`ABANDONED_INTERVAL`] after it has noticed the loss.
#[derive(Default)]
pub(crate) struct LastLook(Option<Instant>);

impl LastLook {
    /// Must be called when no message has arrived. Fails if no message can arrive any more: each possible sender (`from`, or all other ranks) is lost, and
    /// the receiver has since checked for messages.
    pub(crate) fn check(&mut self, context: &Context, from: Option<Rank>) -> Result<()> {
        if context.losses() == 0 {
            return Ok(());
        }
        let lost = match from {
            Some(from) => is_lost(context, from).then_some(from),
            None => context.lost().last().copied().filter(|_| context.losses() + 1 >= context.size() as usize),
        };
        let Some(lost) = lost else { return Ok(()) };
        let now = context.now();
        match self.0 {
            Some(at) if now >= at => Err(Fault::PeerLost(lost).into()),
            Some(_) => Ok(()),
            None => {
                self.0 = Some(now + ABANDONED_INTERVAL);
                Ok(())
            }
        }
    }
}

/// Whether `rank` is lost and the job goes on without it.
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

/// The result of a wait; `None` if the time limit has passed, or if a rank was lost and the job goes on. The caller checks whether the loss matters.
pub(crate) fn unless_lost<T>(context: &Context, waited: Result<T>) -> Result<Option<T>> {
    match waited {
        Ok(value) => Ok(Some(value)),
        Err(Error::TimedOut { .. }) => Ok(None),
        Err(Error::Fault(Fault::PeerLost(_))) if context.fault().is_none() => Ok(None),
        Err(error) => Err(error),
    }
}
