//! `pelago top`: shows the ranks of a running job on this host, updated periodically.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use pelago_launch::launcher::{JobView, RankView};

use crate::{Refused, outputs, say};

/// Rows and columns assumed for a terminal of unknown size.
const TERMINAL: (usize, usize) = (24, 80);

/// Lines of the screen that do not show ranks.
const HEAD_LINES: usize = 3;

/// Columns before the text of a wait.
const WAIT_COLUMN: usize = 60;

/// Show the ranks of a running job: state, operations, bytes and waits
#[derive(Args)]
#[command(after_help = "\
The counters are those of operations that go through a transport; loads and stores on mapped memory are not counted. Rates are per second.
Of a job over a network root alone can see the counters. Ctrl-C ends the display; the job goes on.")]
pub(crate) struct Top {
    /// Process of the launcher [default: the only job of this user on this host]
    process: Option<u32>,
    /// Print one table, and end
    #[arg(long)]
    once: bool,
    /// Print one table as JSON, one object per rank and line, and end
    #[arg(long, conflicts_with = "once")]
    json: bool,
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=3600))]
    interval: u16,
}

impl Top {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let job = JobView::open(self.process).map_err(|error| Refused(error.to_string()))?;
        if self.json {
            return write(&job.ranks().iter().map(|rank| to_json(rank) + "\n").collect::<String>());
        }
        if self.once || !std::io::stdout().is_terminal() {
            return write(&table(&job, &job.ranks(), None, usize::MAX, usize::MAX));
        }
        let mut before: Option<(Instant, Vec<RankView>)> = None;
        while job.is_running() {
            let (now, ranks) = (Instant::now(), job.ranks());
            let (rows, columns) = size().unwrap_or(TERMINAL);
            let change = before.as_ref().map(|(then, old)| (now.duration_since(*then), &old[..]));
            // Moves the cursor home, clears each line to its end, then clears the rest of the screen: this avoids flicker.
            let screen = table(&job, &ranks, change, rows - 1, columns).replace('\n', "\x1b[K\n");
            let code = write(&format!("\x1b[H{screen}\x1b[J"))?;
            if code != ExitCode::SUCCESS {
                return Ok(code);
            }
            before = Some((now, ranks));
            std::thread::sleep(Duration::from_secs(self.interval.into()));
        }
        say("the job has ended");
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the rows and columns of the terminal from `stty`, with lower bounds that leave room for some ranks.
fn size() -> Option<(usize, usize)> {
    let told = Command::new("stty").arg("size").stdin(Stdio::inherit()).output().ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    let (rows, columns) = text.trim().split_once(' ')?;
    Some((rows.parse::<usize>().ok()?.max(HEAD_LINES + 2), columns.parse::<usize>().ok()?.max(WAIT_COLUMN)))
}

/// Writes to standard output; returns a failure, which stops the updates, if the reader has closed it.
///
/// # Errors
/// The text is lost for another reason.
fn write(text: &str) -> Result<ExitCode, Refused> {
    let mut output = std::io::stdout();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    let code = if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    outputs::printed(written).map(|()| code)
}

/// Formats the ranks in a number of lines and columns. If there is no room for all, running ranks and the longest waiting ones are shown.
fn table(job: &JobView, ranks: &[RankView], change: Option<(Duration, &[RankView])>, lines: usize, columns: usize) -> String {
    let count = |state| ranks.iter().filter(|rank| rank.state == state).count();
    let others = ranks.len() - count("waits") - count("runs");
    let mut text = format!(
        "job of process {}: {} of {} ranks on this host; {} wait, {} run, {others} others\n\n",
        job.launcher(),
        ranks.len(),
        job.ranks_of_job(),
        count("waits"),
        count("runs"),
    );
    let _ = writeln!(
        text,
        "{:>6} {:>8} {:8} {:>9} {:>9} {:>9} {:>6} waits for",
        "rank", "process", "state", "ops", "bytes", "ops/s", "waits"
    );
    let room = lines.saturating_sub(HEAD_LINES);
    for rank in chosen(ranks, room) {
        let line = line(rank, change.map(|(time, old)| rate(rank, old, time)));
        let _ = writeln!(text, "{}", line.chars().take(columns).collect::<String>());
    }
    text
}

/// Selects the ranks to show, ordered by rank.
fn chosen(ranks: &[RankView], room: usize) -> Vec<&RankView> {
    let mut chosen: Vec<_> = ranks.iter().collect();
    if chosen.len() > room {
        // The table should show the cause of a hang: the longest waiting ranks may wait for ranks that still run.
        let urgency = |rank: &RankView| rank.wait.as_ref().map_or(f64::INFINITY, |(_, seconds)| *seconds);
        chosen.sort_by(|one, other| urgency(other).total_cmp(&urgency(one)));
        chosen.truncate(room);
        chosen.sort_by_key(|rank| rank.rank);
    }
    chosen
}

fn line(rank: &RankView, rate: Option<f64>) -> String {
    let counters = rank.counters;
    let wait = rank.wait.as_ref().map_or_else(String::new, |(what, seconds)| format!("{seconds:.1} s: {what}"));
    let rate = rate.map_or_else(String::new, |rate| short(rate as u64));
    let (operations, bytes, waits) = (short(counters.operations), short(counters.bytes), short(counters.waits));
    let line = format!(
        "{:>6} {:>8} {:8} {operations:>9} {bytes:>9} {rate:>9} {waits:>6} {wait}",
        rank.rank.number(),
        rank.process,
        rank.state
    );
    line.trim_end().to_owned()
}

/// Returns the operations per second.
fn rate(rank: &RankView, old: &[RankView], time: Duration) -> f64 {
    let before = old.iter().find(|before| before.rank == rank.rank).map_or(0, |before| before.counters.operations);
    rank.counters.operations.saturating_sub(before) as f64 / time.as_secs_f64().max(1e-3)
}

/// Formats a number in at most six characters.
fn short(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        100_000..100_000_000 => format!("{}k", number / 1_000),
        100_000_000..100_000_000_000 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

fn to_json(rank: &RankView) -> String {
    let (what, seconds) = rank.wait.as_ref().map_or((None, None), |(what, seconds)| (Some(what), Some(seconds)));
    serde_json::json!({
        "rank": rank.rank.number(),
        "process": rank.process,
        "state": rank.state,
        "operations": rank.counters.operations,
        "bytes": rank.counters.bytes,
        "waits": rank.counters.waits,
        "waits_for": what,
        "wait_seconds": seconds,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use pelago_base::Rank;

    use super::*;

    fn view(rank: u32, wait: Option<f64>) -> RankView {
        let wait = wait.map(|seconds| ("a barrier".to_owned(), seconds));
        let state = if wait.is_some() { "waits" } else { "runs" };
        RankView { rank: Rank::new(rank), process: 100 + rank, state, wait, counters: Default::default() }
    }

    #[test]
    fn where_there_is_no_room_those_that_run_and_those_that_wait_longest_are_shown() {
        let ranks = [view(0, Some(1.0)), view(1, Some(9.0)), view(2, None), view(3, Some(2.0))];
        let shown = |room| chosen(&ranks, room).iter().map(|rank| rank.rank.number()).collect::<Vec<_>>();
        assert_eq!((shown(4), shown(2), shown(3)), (vec![0, 1, 2, 3], vec![1, 2], vec![1, 2, 3]));
    }

    #[test]
    fn a_line_has_the_state_the_counters_and_the_wait() {
        let line = line(&view(7, Some(1.25)), Some(1_234_567.0));
        assert_eq!(line, "     7      107 waits            0         0     1234k      0 1.2 s: a barrier");
        assert_eq!(rate(&view(7, None), &[], Duration::from_secs(1)), 0.0);
        assert_eq!([99_999, 100_000, 100_000_000, 100_000_000_000].map(short), ["99999", "100k", "100M", "100G"]);
    }
}
