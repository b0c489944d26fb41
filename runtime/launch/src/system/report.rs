//! The waits of the ranks of a host, and the ranks for which they wait: reported at SIGQUIT by the launcher, and at a deadlock by the rank that detects it.
//!
//! The ranks publish their waits in the memory of the host (`pelago_shm::RankReport`), so that a report needs no reply of a rank: a rank that
//! computes, or is stopped, is included.

use std::fmt;

use pelago_base::Rank;
use pelago_platform::Awaited;
use pelago_shm::{HostMemory, RankControl, RankStage, ShownWait};
use rustix::time::{ClockId, clock_gettime};

use crate::limits::{REPORT_NAMES_MAX, REPORT_RANKS_MAX};
use crate::system::process_stat::ProcessStat;

/// The system's monotonic clock, which all processes of a host share, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The activity of the ranks of a host at one moment. Its text has a line per rank, and one for each group of awaited ranks.
pub(crate) struct HostReport {
    ranks: Vec<RankLine>,
    now_ns: u64,
}

/// The activity of one rank.
struct RankLine {
    rank: Rank,
    process: u32,
    doing: Doing,
    past: Vec<ShownWait>,
}

enum Doing {
    /// The rank has not called the library.
    Absent,
    Ended(RankStage),
    /// The waits of its threads, of which there is at least one.
    Waits(Vec<ShownWait>),
    /// None of its threads sleeps in the library; the state of the process, if it can be seen.
    Works(Option<u8>),
}

impl HostReport {
    pub(crate) fn of(host: &HostMemory, now_ns: u64) -> Self {
        Self { ranks: host.controls().map(|(rank, control)| RankLine::of(rank, control)).collect(), now_ns }
    }

    /// Returns the lines, each with its rank. Ranks that do not wait take precedence.
    pub(crate) fn lines(&self) -> Vec<(Rank, String)> {
        let (waiting, others): (Vec<_>, Vec<_>) = self.ranks.iter().partition(|line| line.waits().is_some());
        let mut shown: Vec<_> = others.into_iter().chain(waiting).take(REPORT_RANKS_MAX).collect();
        shown.sort_by_key(|line| line.rank);
        let mut lines: Vec<_> = shown.iter().map(|line| (line.rank, self.line(line))).collect();
        let hidden = self.ranks.len() - shown.len();
        let first = self.ranks.first().map_or(Rank::new(0), |line| line.rank);
        if hidden > 0 {
            lines.push((first, format!("ranks that wait, besides: {hidden}")));
        }
        lines.extend(self.summary().map(|line| (first, line)));
        lines
    }

    fn line(&self, line: &RankLine) -> String {
        let RankLine { rank, process, doing, past } = line;
        let doing = match doing {
            Doing::Absent => "has not called the library".to_owned(),
            Doing::Ended(RankStage::Finished) => "has finished".to_owned(),
            Doing::Ended(_) => "has failed".to_owned(),
            Doing::Waits(waits) => {
                let waits = waits.iter().map(|wait| self.wait(*rank, wait)).collect::<Vec<_>>();
                format!("waits {}", waits.join("; another thread waits "))
            }
            Doing::Works(state) => format!("does not wait in the library: {}", state_text(*state)),
        };
        let past = past.iter().map(|wait| format!("{} {:.1} s ago", wait.what(), wait.seconds_before(self.now_ns)));
        let past = past.collect::<Vec<_>>().join(", ");
        let past = if past.is_empty() { past } else { format!("; waits that ended before: {past}") };
        match process {
            // It has not joined the job.
            0 => format!("rank {rank} {doing}{past}"),
            process => format!("rank {rank} (process {process}) {doing}{past}"),
        }
    }

    /// Describes a wait of `rank`, and the ranks for which it waits, as far as the states of all ranks show.
    fn wait(&self, rank: Rank, wait: &ShownWait) -> String {
        let text = format!("{:.1} s in {wait}", wait.seconds_before(self.now_ns));
        if wait.awaited != Awaited::Everyone {
            return text;
        }
        // At a barrier of all ranks, the missing ranks are those that do not wait in the same barrier.
        let is_there = |line: &RankLine| line.waits().is_some_and(|waits| waits.iter().any(|other| other.what() == wait.what()));
        let missing = self.ranks.iter().filter(|line| line.rank != rank && !is_there(line)).map(|line| line.rank);
        let missing: Vec<_> = missing.collect();
        if missing.is_empty() { text } else { format!("{text}; not there: {}", names(&missing)) }
    }

    /// Names the ranks that do not wait while others do.
    fn summary(&self) -> Option<String> {
        let works = self.ranks.iter().filter(|line| matches!(line.doing, Doing::Works(_) | Doing::Absent)).map(|line| line.rank);
        let (works, waits): (Vec<_>, usize) = (works.collect(), self.ranks.iter().filter(|line| line.waits().is_some()).count());
        match (works.len(), waits) {
            (_, 0) => None,
            (0, _) => Some(format!("all ranks that run here wait: {waits}")),
            (count, _) => {
                let waits = if waits == 1 { "1 rank waits".into() } else { format!("{waits} ranks wait") };
                Some(format!("{waits}; {} {} not", names(&works), if count == 1 { "does" } else { "do" }))
            }
        }
    }
}

impl fmt::Display for HostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|(_, line)| writeln!(f, "pelago: {line}"))
    }
}

impl RankLine {
    fn of(rank: Rank, control: &RankControl) -> Self {
        let process = control.process();
        let waits: Vec<_> = control.report.waits().collect();
        let doing = match control.stage() {
            RankStage::Absent => Doing::Absent,
            stage @ (RankStage::Finished | RankStage::Failed) => Doing::Ended(stage),
            RankStage::Joined if waits.is_empty() => Doing::Works(ProcessStat::of(process).map(|stat| stat.state)),
            RankStage::Joined => Doing::Waits(waits),
        };
        Self { rank, process, doing, past: control.report.past_waits().collect() }
    }

    fn waits(&self) -> Option<&[ShownWait]> {
        if let Doing::Waits(waits) = &self.doing { Some(waits) } else { None }
    }
}

fn state_text(state: Option<u8>) -> &'static str {
    match state {
        Some(b'R') => "it computes",
        Some(b'S' | b'D') => "it sleeps in a system call of its own",
        Some(b'T') => "it is stopped",
        Some(b't') => "it stands in a debugger",
        _ => "its process cannot be seen",
    }
}

/// Lists the first of some ranks by number.
fn names(ranks: &[Rank]) -> String {
    let shown: Vec<_> = ranks.iter().take(REPORT_NAMES_MAX).map(|rank| rank.to_string()).collect();
    let more = ranks.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use pelago_platform::WaitSite;
    use pelago_shm::HostPlan;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn host(ranks: u32) -> HostMemory {
        let host = HostMemory::create(&HostPlan::local(ranks, Some(1 << 16))).unwrap().0;
        (0..ranks).for_each(|rank| _ = host.join(Rank::new(rank)));
        host
    }

    fn show(host: &HostMemory, rank: u32, what: &'static str, awaited: Awaited) {
        let site = WaitSite { what, awaited, word: None, in_flight: 0 };
        host.control(Rank::new(rank)).unwrap().report.show(&site, SECOND).unwrap();
    }

    fn text(host: &HostMemory) -> Vec<String> {
        let process = format!("(process {})", std::process::id());
        HostReport::of(host, 4 * SECOND).lines().into_iter().map(|(_, line)| line.replace(&process, "(me)")).collect()
    }

    #[test]
    fn ranks_that_wait_name_the_one_that_does_not() {
        let host = host(3);
        show(&host, 0, "a barrier", Awaited::Everyone);
        show(&host, 1, "flush", Awaited::Rank(Rank::new(2)));
        let lines = text(&host);
        assert_eq!(lines[0], "rank 0 (me) waits 3.0 s in a barrier, for all ranks; not there: ranks 1, 2");
        assert_eq!(lines[1], "rank 1 (me) waits 3.0 s in flush, for rank 2");
        assert!(lines[2].starts_with("rank 2 (me) does not wait in the library: it "), "{lines:?}");
        assert_eq!(lines[3], "2 ranks wait; rank 2 does not");
    }

    #[test]
    fn ranks_that_do_not_run_are_described_too() {
        let host = HostMemory::create(&HostPlan::local(2, Some(1 << 16))).unwrap().0;
        host.join(Rank::new(1));
        host.finish(Rank::new(1));
        let lines = text(&host);
        assert_eq!(lines, ["rank 0 has not called the library", "rank 1 (me) has finished"]);
    }

    #[test]
    fn a_report_of_many_ranks_is_bounded_and_keeps_those_that_do_not_wait() {
        let host = host(100);
        (0..99).for_each(|rank| show(&host, rank, "a barrier", Awaited::Everyone));
        let lines = text(&host);
        assert_eq!(lines.len(), REPORT_RANKS_MAX + 2);
        assert!(lines[REPORT_RANKS_MAX - 1].starts_with("rank 99 "), "{lines:?}");
        assert_eq!(lines[REPORT_RANKS_MAX..], ["ranks that wait, besides: 36", "99 ranks wait; rank 99 does not"]);
    }

    #[test]
    fn names_are_bounded() {
        let ranks: Vec<_> = (0..10).map(Rank::new).collect();
        assert_eq!(names(&ranks), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!(names(&ranks[..1]), "rank 0");
    }
}
