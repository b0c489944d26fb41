//! Executes simulations as parallel processes.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use pelago_simulator::SimulationSummary;

use super::plan::Run;
use super::results::{Outcome, Results};
use crate::Refused;

/// Bytes kept of a run's output: the first of standard output, which are searched for outputs, and the last of standard error, which have
/// the summary.
pub(crate) const SWEEP_OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Maximum number of characters kept of the message of a run that failed: the messages of all runs stay in memory until the table is written.
pub(crate) const SWEEP_MESSAGE_CHARS_MAX: usize = 1000;

/// Exit codes of runs that were ended from outside (interrupted, killed, terminated): their results are discarded.
const ENDED_FROM_OUTSIDE: [i32; 3] = [130, 137, 143];

/// Parameters of the execution.
pub(crate) struct Execution<'a> {
    /// Path of this executable.
    pub(crate) this: &'a Path,
    /// Maximum number of simultaneous processes.
    pub(crate) jobs: usize,
    /// Names of outputs, and the words that precede their values.
    pub(crate) outputs: Vec<(&'a str, &'a str)>,
}

impl Execution<'_> {
    /// Executes the runs whose keys have no result yet. Each result is in the file before the progress display counts it. Returns the number of
    /// runs that were ended from outside and thus have no result.
    ///
    /// # Errors
    /// A process cannot be started, a result cannot be written, or the `key` of a run is another at its end: its machine or its program has changed.
    pub(crate) fn run(
        &self,
        runs: &[(String, Run)],
        results: &mut Results,
        key: impl Fn(&Run) -> Result<String, Refused>,
    ) -> Result<usize, Refused> {
        let mut pending: Vec<&(String, Run)> = runs.iter().filter(|(key, _)| !results.known.contains_key(key)).collect();
        // Runs with equal keys are executed once.
        let mut seen = HashSet::new();
        pending.retain(|(key, _)| seen.insert(key));
        let mut progress = Progress::new(runs.len(), runs.len() - pending.len());
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::sync_channel(self.jobs);
        let mut ended = 0;
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(pending.len()) {
                let (sender, next, pending) = (sender.clone(), &next, &pending);
                scope.spawn(move || {
                    while let Some((key, run)) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // The receiver is gone after a failure to write a result.
                        if sender.send((key, run, self.outcome(run))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (before, run, outcome) in receiver {
                let outcome = outcome.map_err(|error| Refused(format!("cannot run {}: {error}", self.this.display())))?;
                if key(run)? != *before {
                    let (machine, program) = (&run.machine, &run.words[0]);
                    return Err(Refused(format!("{machine} or {program} has changed during the sweep: give the command again")));
                }
                let failed = outcome.exit != 0;
                if ENDED_FROM_OUTSIDE.contains(&outcome.exit) {
                    ended += 1;
                } else {
                    results.append(before, outcome).map_err(|error| Refused(format!("cannot write a result: {error}")))?;
                }
                progress.step(failed);
            }
            Ok(ended)
        })
    }

    /// Executes one run to its end.
    fn outcome(&self, run: &Run) -> io::Result<Outcome> {
        let inputs = run.inputs();
        let mut command = Command::new(self.this);
        command.args(run.command(std::process::id())).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (output, error) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let error = thread::spawn(move || last_bytes(error));
        let output = first_bytes(output);
        let error = error.join().expect("it only reads");
        let status = child.wait()?;
        let (output, error) = (output?, error?);
        let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let mut summary = SimulationSummary::find(&error);
        if let Some(fault) = summary.as_mut().and_then(|summary| summary.fault.as_mut()) {
            *fault = shortened(fault);
        }
        let number = |word: &str| output.split_whitespace().skip_while(|found| *found != word).nth(1)?.parse().ok();
        let outputs = self.outputs.iter().filter_map(|(name, word)| Some(((*name).to_owned(), number(word).filter(finite)?)));
        let error = (exit != 0).then(|| message(&error));
        // A file that has changed meanwhile is an output of the program, or of no use to tell whether the result is still that of the file.
        let after = run.inputs();
        let inputs = inputs.into_iter().filter(|input| after.contains(input)).collect();
        Ok(Outcome { exit, error, summary, outputs: outputs.collect(), inputs })
    }
}

/// Returns the last line on standard error that is not the summary, up to `SWEEP_MESSAGE_CHARS_MAX` characters.
fn message(error: &str) -> String {
    let line = error.lines().rev().find(|line| !line.trim().is_empty() && SimulationSummary::find(line).is_none());
    shortened(line.map_or("it ended without a message", |line| line.trim_start_matches("pelago: ")))
}

/// Returns the first `SWEEP_MESSAGE_CHARS_MAX` characters of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SWEEP_MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// JSON has finite numbers only.
fn finite(number: &f64) -> bool {
    number.is_finite()
}

/// Reads to the end; returns the first `SWEEP_OUTPUT_BYTES_MAX` bytes.
pub(crate) fn first_bytes(mut from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.by_ref().take(SWEEP_OUTPUT_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    io::copy(&mut from, &mut io::sink())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads to the end; returns the last `SWEEP_OUTPUT_BYTES_MAX` bytes.
fn last_bytes(mut from: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    while from.by_ref().take(SWEEP_OUTPUT_BYTES_MAX as u64).read_to_end(&mut bytes)? > 0 {
        bytes.drain(..bytes.len().saturating_sub(SWEEP_OUTPUT_BYTES_MAX));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Progress display on a terminal.
struct Progress {
    all: usize,
    before: usize,
    done: usize,
    failed: usize,
    start: Instant,
    is_terminal: bool,
}

impl Progress {
    fn new(all: usize, before: usize) -> Self {
        Self { all, before, done: 0, failed: 0, start: Instant::now(), is_terminal: io::stderr().is_terminal() }
    }

    fn step(&mut self, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
        if self.is_terminal {
            let end = if self.before + self.done == self.all { "\r\x1b[K" } else { "" };
            let _ = write!(io::stderr(), "\r\x1b[K{}{end}", self.line(self.start.elapsed().as_secs_f64()));
        }
    }

    /// Returns the line shown after `seconds`.
    fn line(&self, seconds: f64) -> String {
        let rate = self.done as f64 / seconds.max(1e-3);
        let left = (self.all - self.before - self.done) as f64 / rate.max(1e-9);
        let (done, all, failed) = (self.before + self.done, self.all, self.failed);
        let failed = if failed == 0 { String::new() } else { format!("; {failed} failed") };
        format!("{done} of {all} runs; {rate:.1} runs/s; {left:.0} s left{failed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_kept_of_much_output() {
        let long = "x".repeat(SWEEP_OUTPUT_BYTES_MAX) + "end";
        assert_eq!(first_bytes(format!("start{long}").as_bytes()).unwrap().len(), SWEEP_OUTPUT_BYTES_MAX);
        let last = last_bytes(long.repeat(3).as_bytes()).unwrap();
        assert!(last.len() <= SWEEP_OUTPUT_BYTES_MAX && last.ends_with("xend"));
    }

    #[test]
    fn the_message_is_the_last_line_and_not_long() {
        let summary = SimulationSummary::default().to_json();
        assert_eq!(message(&format!("first\npelago: it fails\n{summary}\n \n")), "it fails");
        assert_eq!(message(&summary), "it ended without a message");
        assert_eq!(message(&"é".repeat(SWEEP_OUTPUT_BYTES_MAX)).chars().count(), SWEEP_MESSAGE_CHARS_MAX + 1);
    }

    #[test]
    fn progress_has_rate_and_time_left() {
        let mut progress = Progress::new(200, 50);
        (0..30).for_each(|number| progress.step(number == 3));
        assert_eq!(progress.line(10.0), "80 of 200 runs; 3.0 runs/s; 40 s left; 1 failed");
    }
}
