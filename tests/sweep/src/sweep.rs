//! Many seeds on several threads, reported in their order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::examine::{Tally, Violation, examine_by};
use crate::scenario::Chosen;

/// Maximum number of violations, after which a sweep ends.
pub const FAILURES_MAX: usize = 10;

/// Time limit of a scenario. A scenario takes a fraction of a second; one that exceeds the limit will not end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum number of seeds by which threads may be ahead of the reported ones.
const AHEAD_MAX: u64 = 256;

/// The seeds of a sweep, and the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of threads, at least one.
    pub threads: usize,
    /// Choices that override the seeds.
    pub chosen: Chosen,
}

/// The progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'p> {
    /// The number of examined seeds.
    Done(u64),
    /// A seed has violated a property.
    Violated(&'p Violation),
}

type News = (u64, Result<Tally, Violation>);

/// Examines all seeds of a plan, and reports them to `tell` in their order, which is the same for any number of threads.
///
/// Returns the tally and the number of violations; the sweep ends at [`FAILURES_MAX`]. A scenario that does not end counts as
/// a violation and ends the sweep; its thread continues.
pub fn sweep(plan: Plan, mut tell: impl FnMut(Progress<'_>)) -> (Tally, usize) {
    let shared = Arc::new(Shared { plan, next: AtomicU64::new(0), told: AtomicU64::new(0) });
    let (sender, news) = sync_channel(AHEAD_MAX as usize);
    for _ in 0..plan.threads.max(1) {
        let (shared, sender) = (shared.clone(), sender.clone());
        std::thread::spawn(move || shared.work(&sender));
    }
    drop(sender);
    let (mut all, mut failures, mut early) = (Tally::default(), 0, BTreeMap::new());
    for number in 0..plan.seeds {
        let ended = match await_seed(&news, &mut early, number) {
            Some(ended) => ended,
            None => {
                let what = format!("it has not ended in {PATIENCE:?}");
                Err(Violation { seed: plan.first + number, chosen: plan.chosen, what })
            }
        };
        let endless = ended.as_ref().is_err_and(|violation| violation.what.starts_with("it has not ended in"));
        match ended {
            Ok(tally) => all.add(&tally),
            Err(violation) => {
                failures += 1;
                tell(Progress::Violated(&violation));
            }
        }
        shared.told.store(number + 1, Ordering::Relaxed);
        tell(Progress::Done(number + 1));
        if endless || failures == FAILURES_MAX {
            break;
        }
    }
    (all, failures)
}

/// Waits for the result of the scenario with a number; `None` if the scenario does not end.
fn await_seed(
    news: &Receiver<News>,
    early: &mut BTreeMap<u64, Result<Tally, Violation>>,
    number: u64,
) -> Option<Result<Tally, Violation>> {
    let since = Instant::now();
    loop {
        if let Some(ended) = early.remove(&number) {
            return Some(ended);
        }
        match news.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
            Ok((number, ended)) => drop(early.insert(number, ended)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// State that all threads share.
struct Shared {
    plan: Plan,
    next: AtomicU64,
    told: AtomicU64,
}

impl Shared {
    fn work(&self, news: &SyncSender<News>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.seeds {
                return;
            }
            while number > self.told.load(Ordering::Relaxed) + AHEAD_MAX {
                std::thread::sleep(Duration::from_millis(1));
            }
            if news.send((number, examine_by(self.plan.first + number, self.plan.chosen))).is_err() {
                return;
            }
        }
    }
}
