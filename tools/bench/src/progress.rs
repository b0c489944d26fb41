//! Progress of long work: one line on a terminal, with the rate and the remaining time.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time after which the line is shown; shorter work shows nothing.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// Interval between updates of the line.
const PERIOD: Duration = Duration::from_millis(500);

/// Shows the completed steps of some work on standard error, if it is a terminal and the work takes longer than two seconds. The line is removed
/// when the value is dropped.
///
/// ```
/// let progress = pelago_bench::Progress::new("files", 3);
/// for name in ["a", "b", "c"] {
///     progress.step(name);
///     // Some seconds of work.
///     progress.print(|| println!("{name} is done"));
/// }
/// ```
pub struct Progress {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    unit: &'static str,
    start: Instant,
    steps: u64,
    /// Number of started steps, and the name of the last one.
    begun: u64,
    step: String,
    is_shown: bool,
    is_over: bool,
}

impl Progress {
    /// Creates the display for `steps` steps; `unit` is the plural name of a step.
    pub fn new(unit: &'static str, steps: u64) -> Self {
        let (start, step) = (Instant::now(), String::new());
        let state = State { unit, start, steps, begun: 0, step, is_shown: false, is_over: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let thread = stderr().is_terminal().then(|| {
            let shared = shared.clone();
            std::thread::spawn(move || show(&shared))
        });
        Self { shared, thread }
    }

    /// Starts the next step; all earlier steps count as completed.
    pub fn step(&self, name: &str) {
        let mut state = self.state();
        state.begun += 1;
        state.step = name.into();
    }

    /// Removes the line while `write` prints other output.
    pub fn print(&self, write: impl FnOnce()) {
        self.state().hide();
        write();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state().is_over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Updates the line until the work is over.
fn show((state, over): &(Mutex<State>, Condvar)) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    while !state.is_over {
        let elapsed = state.start.elapsed();
        if elapsed >= SHOWN_AFTER {
            let _ = write!(stderr(), "\r\x1b[K{}", state.line(elapsed)).and_then(|()| stderr().flush());
            state.is_shown = true;
        }
        state = over.wait_timeout(state, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
    }
    state.hide();
}

impl State {
    fn hide(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(stderr(), "\r\x1b[K").and_then(|()| stderr().flush());
        }
    }

    /// Formats the completed steps, the rate and the estimated remaining time.
    fn line(&self, elapsed: Duration) -> String {
        let done = self.begun.saturating_sub(1);
        let seconds = elapsed.as_secs_f64();
        let mut line = format!("{done} of {} {}, {}", self.steps, self.unit, time(seconds));
        if done > 0 {
            let rate = done as f64 / seconds;
            let rest = self.steps.saturating_sub(done) as f64 / rate;
            line += &format!(" ({rate:.2}/s), about {} left", time(rest));
        }
        if !self.step.is_empty() {
            line += &format!(": {}", self.step);
        }
        line
    }
}

fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if whole < 100 { format!("{whole} s") } else { format!("{} min {} s", whole / 60, whole % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_rate_and_remaining_time() {
        let progress = Progress::new("benchmarks", 8);
        progress.step("put");
        assert_eq!(progress.state().line(Duration::from_secs(4)), "0 of 8 benchmarks, 4 s: put");
        progress.step("get");
        progress.step("rate");
        assert_eq!(progress.state().line(Duration::from_secs(4)), "2 of 8 benchmarks, 4 s (0.50/s), about 12 s left: rate");
        let minutes = progress.state().line(Duration::from_secs(100));
        assert_eq!(minutes, "2 of 8 benchmarks, 1 min 40 s (0.02/s), about 5 min 0 s left: rate");
    }
}
