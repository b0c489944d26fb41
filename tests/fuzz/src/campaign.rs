//! Rounds on all cores until the number of inputs is reached, or a round fails.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::hex::hex;
use crate::round::{Current, INPUTS, Tally, run};

/// Time limit of a round. A round takes a fraction of a second; one that exceeds the limit will not end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The parameters of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of datagrams.
    pub inputs: u64,
    /// The seed of all rounds.
    pub seed: u64,
}

/// A round that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed and the number of the round.
    pub seed: u64,
    /// The round, which follows from the seed and its number.
    pub round: u64,
    /// The last input, by its number in the round.
    pub input: u64,
    /// The bytes of the last input.
    pub bytes: Vec<u8>,
    /// The description of the failure.
    pub what: String,
    /// Whether the round does not end.
    pub is_endless: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, round, input, what, .. } = self;
        write!(f, "{what}\nafter input {input} of round {round} of seed {seed}:\n{}", hex(std::slice::from_ref(&self.bytes)))
    }
}

enum News {
    Ended(Tally),
    Failed(Failure),
}

/// Injects datagrams into endpoints. Calls `progress` from time to time with the number of datagrams so far.
///
/// # Errors
/// A round panicked or does not end. In the latter case, its thread continues.
pub fn campaign(plan: Plan, mut progress: impl FnMut(u64)) -> Result<Tally, Failure> {
    let next = Arc::new(AtomicU64::new(0));
    let (sender, receiver) = channel();
    let workers = available_parallelism().map_or(1, usize::from);
    let workers: Vec<Arc<Worker>> = (0..workers).map(|_| Worker::start(plan, next.clone(), sender.clone())).collect();
    drop(sender);
    let mut all = Tally::default();
    let mut last = Instant::now();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(News::Ended(tally)) => {
                all.add(&tally);
                progress(all.inputs);
            }
            Ok(News::Failed(failure)) => return Err(failure),
            Err(RecvTimeoutError::Disconnected) => return Ok(all),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if last.elapsed() >= PATIENCE {
            if let Some(stuck) = workers.iter().find(|worker| !worker.has_moved()) {
                return Err(Failure { is_endless: true, ..stuck.failure(plan.seed, "it does not end".into()) });
            }
            last = Instant::now();
        }
    }
}

/// State of one thread.
#[derive(Default)]
struct Worker {
    /// The current round, and the round at the last check.
    round: AtomicU64,
    seen: AtomicU64,
    current: Current,
}

impl Worker {
    fn start(plan: Plan, next: Arc<AtomicU64>, news: Sender<News>) -> Arc<Self> {
        let worker = Arc::new(Self { seen: AtomicU64::new(u64::MAX), ..Self::default() });
        let own = worker.clone();
        std::thread::spawn(move || own.work(plan, &next, &news));
        worker
    }

    fn work(&self, plan: Plan, next: &AtomicU64, news: &Sender<News>) {
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            let inputs = plan.inputs.saturating_sub(round.saturating_mul(INPUTS)).min(INPUTS);
            if inputs == 0 {
                // Marks the thread as idle, so that it does not count as endless.
                return self.round.store(u64::MAX, Ordering::Relaxed);
            }
            self.round.store(round, Ordering::Relaxed);
            let ended = catch_unwind(AssertUnwindSafe(|| run(plan.seed, round, inputs, &self.current, |_| {})));
            let told = match ended {
                Ok(tally) => News::Ended(tally),
                Err(panic) => News::Failed(self.failure(plan.seed, message(panic.as_ref()))),
            };
            if news.send(told).is_err() {
                return;
            }
        }
    }

    fn has_moved(&self) -> bool {
        let round = self.round.load(Ordering::Relaxed);
        round == u64::MAX || self.seen.swap(round, Ordering::Relaxed) != round
    }

    fn failure(&self, seed: u64, what: String) -> Failure {
        let (input, bytes) = self.current.get();
        Failure { seed, round: self.round.load(Ordering::Relaxed), input, bytes, what, is_endless: false }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
