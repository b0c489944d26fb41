//! Inspection of a running job: at SIGQUIT, the launcher reports the waits of all ranks and a rank its own, and the job continues; and counters.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process};

use crate::{PATIENCE, PROGRAM, Running, pelago};

/// A job whose ranks 0 and 1 wait for rank 2, which computes until the file exists.
struct Hang {
    job: Running,
    error: BufReader<std::process::ChildStderr>,
    file: PathBuf,
}

impl Hang {
    fn start(options: &[&str]) -> Self {
        let file = std::env::temp_dir().join(format!("pelago-hang-{}-{}", std::process::id(), options.concat().len()));
        let path = file.to_str().expect("text");
        let command = pelago(&[&["run", "-n", "3"], options, &[PROGRAM, "hang", path]].concat());
        let mut job = Running::of(3, command);
        let error = BufReader::new(job.launcher.stderr.take().expect("piped"));
        Self { job, error, file }
    }

    /// Returns the next line of standard error, if one arrives within a second.
    fn line(&mut self) -> Option<String> {
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        if self.error.buffer().is_empty()
            && poll(&mut [PollFd::from_borrowed_fd(self.error.get_ref().as_fd(), PollFlags::IN)], Some(&second)) != Ok(1)
        {
            return None;
        }
        let mut line = String::new();
        self.error.read_line(&mut line).expect("text");
        Some(line).filter(|line| !line.is_empty())
    }

    /// Returns the report that `ask` makes the job write, once `is_expected` accepts it because the ranks have reached their waits.
    fn report(&mut self, ask: impl Fn(&Running), lines: usize, is_expected: impl Fn(&[String]) -> bool) -> Vec<String> {
        let patience = std::time::Instant::now() + PATIENCE;
        loop {
            ask(&self.job);
            let report: Vec<_> = std::iter::from_fn(|| self.line()).take(lines).collect();
            if is_expected(&report) {
                return report;
            }
            if std::time::Instant::now() >= patience {
                std::fs::write(&self.file, "").expect("a file");
                panic!("{report:?}");
            }
        }
    }

    /// Lets the job end without an error.
    fn end(self) {
        std::fs::write(&self.file, "").expect("a file");
        let Self { mut job, mut error, file } = self;
        let status = job.launcher.wait().expect("a status");
        crate::wait_until_gone(&job.mark);
        std::fs::remove_file(file).expect("it is there");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut error, &mut rest).expect("text");
        assert_eq!((status.code(), rest), (Some(0), String::new()), "the job went on as if nothing had been");
    }
}

fn is_explained(report: &[String]) -> bool {
    let [waits, awaits, computes, summary] = report else { return false };
    waits.starts_with("pelago: rank 0 (process ")
        && waits.contains(" s in a barrier or collective call, for rank 2")
        && awaits.contains(" s in a value, in the word at offset 0x")
        && computes.contains("does not wait in the library: it computes")
        && summary == "pelago: 2 ranks wait; rank 2 does not\n"
}

#[test]
fn a_hang_is_explained_by_the_launcher() {
    for options in [&["--transport", "shm"][..], &["--transport", "udp"]] {
        let mut hang = Hang::start(options);
        hang.report(|job| job.signal_launcher(Signal::QUIT), 4, is_explained);
        hang.end();
    }
}

#[test]
fn a_hang_is_explained_by_each_host() {
    let hosts = ["--hosts", "a:2,b:1", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    let mut hang = Hang::start(&hosts);
    let is_expected = |report: &[String]| {
        let has = |part: &str| report.iter().any(|line| line.contains(part));
        has("rank 0 (process ") && has("for rank 2") && has("all ranks that run here wait: 2") && has("it computes")
    };
    hang.report(|job| job.signal_launcher(Signal::QUIT), 4, is_expected);
    hang.end();
}

#[test]
fn a_rank_says_itself_where_it_waits_and_goes_on() {
    let mut hang = Hang::start(&[]);
    let ask = |rank: usize| move |job: &Running| kill_process(job.processes[rank], Signal::QUIT).expect("it runs");
    let waits = |report: &[String]| report.iter().any(|line| line.contains("barrier or collective call, for rank 2"));
    hang.report(ask(0), 1, |report| waits(report) && report[0].starts_with("pelago: rank 0 waits "));
    hang.report(ask(2), 1, |report| report.iter().any(|line| line.starts_with("pelago: rank 2 does not wait in the library")));
    hang.end();
}

#[test]
fn counters_name_what_went_over_a_network_and_nothing_on_mapped_memory() {
    for (transport, names) in [("shm", "[]"), ("udp", "[\"operations\", \"datagrams_sent\"]")] {
        let ended = crate::run(&["run", "-n", "2", "--transport", transport, PROGRAM, "counted"]);
        ended.expect(0, "");
        assert_eq!(ended.sorted_lines(), [0, 1].map(|rank| format!("rank {rank} counted {names}")));
    }
}
