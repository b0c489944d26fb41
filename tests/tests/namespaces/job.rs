//! Jobs on the hosts of a network.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::network::Network;

/// The program of these tests that uses the library.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_program-under-test");

/// Failure limit, in seconds, of jobs in which a rank fails, and time after which a rank that is alive counts as unreachable.
pub(crate) const FAILURE_LIMIT_SECONDS: &str = "0.5";
const UNREACHABLE: Duration = Duration::from_secs(10);

/// Additional time from the failure to the end of a job: ranks have a grace period to leave, and the machine may be busy.
const MARGIN: Duration = Duration::from_secs(6);

/// Seconds after which a job counts as hanging.
const PATIENCE: &str = "120";

/// Marks the processes of a job, and their children, in their environment. The value names the test ([`mark`]).
pub(crate) const MARK: &str = "PELAGO_TEST_NAMESPACES";

/// The outcome of a job that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) error: String,
}

impl Ended {
    /// Returns the value of a line of a report.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        let mut lines = self.output.lines().map(|line| line.split_whitespace());
        let line = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words));
        line.and_then(|mut words| words.next()).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }
}

/// Runs a program with `slots` ranks on each host to its end. It must succeed, and no process of it may remain.
#[track_caller]
pub(crate) fn run(network: &Network, slots: u32, options: &[&str], program: &[&str]) -> Ended {
    let output = pelago(network, slots, options, program).output().expect("the command under test");
    let [said, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    let ended = Ended { code: output.status.code(), output: said, error };
    assert!(ended.code == Some(0) && ended.error.is_empty(), "{options:?} {program:?}: {ended:?}");
    assert!(is_gone_soon(), "a process of the job is left");
    ended
}

/// A running job, each of whose ranks has printed a line that ends with the number of a process.
pub(crate) struct Running {
    launcher: Child,
    output: BufReader<ChildStdout>,
    /// The processes by rank.
    processes: Vec<Pid>,
}

impl Running {
    /// Starts a job with `slots` ranks on each host that does not end by itself.
    pub(crate) fn start(network: &Network, slots: u32, options: &[&str], program: &[&str]) -> Self {
        let mut command = pelago(network, slots, &[&["--failure-limit", FAILURE_LIMIT_SECONDS], options].concat(), program);
        let mut launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command under test");
        let output = BufReader::new(launcher.stdout.take().expect("piped"));
        let mut job = Self { launcher, output, processes: Vec::new() };
        job.processes = job.introductions(network.hosts().len() * slots as usize);
        job
    }

    /// Reads the line of each rank.
    fn introductions(&mut self, ranks: usize) -> Vec<Pid> {
        let mut processes = vec![None; ranks];
        while processes.contains(&None) {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                panic!("the job ended before each rank had printed its line: {}", self.error());
            }
            let mut words = line.split_whitespace().skip(1).map(|word| word.parse().expect("a number"));
            let rank = words.next().and_then(|rank| usize::try_from(rank).ok()).expect("a rank");
            processes[rank] = words.next().and_then(Pid::from_raw);
        }
        processes.into_iter().flatten().collect()
    }

    /// The standard error of the job, which has ended.
    fn error(&mut self) -> String {
        let mut error = String::new();
        self.launcher.stderr.take().expect("piped").read_to_string(&mut error).expect("text");
        error
    }

    pub(crate) fn signal(&self, rank: usize, signal: Signal) {
        kill_process(self.processes[rank], signal).expect("it runs");
    }

    /// Kills the launcher of the job. All processes that it has started must end soon.
    #[track_caller]
    pub(crate) fn kill_launcher(mut self) {
        self.launcher.kill().expect("it runs");
        assert_eq!(self.launcher.wait().expect("a status").code(), None);
        assert!(is_gone_soon(), "a process of the job is left");
    }

    /// Kills the node daemon of a host: of the processes there, the one that the job's launcher has started.
    pub(crate) fn kill_host(&self, network: &Network, host: usize) {
        let launcher = network.processes(host).into_iter().find(|process| parent(*process) == Some(self.launcher.id()));
        kill_process(launcher.expect("a launcher on the host"), Signal::KILL).expect("it runs");
    }

    /// Waits for the end of a job in which a process has failed, and of all processes that it has started, which must end soon. Returns the job's line,
    /// which names the failed process.
    #[track_caller]
    pub(crate) fn end_lost(mut self) -> String {
        let begun = Instant::now();
        let code = self.launcher.wait().expect("a status").code();
        assert!(is_gone_soon(), "a process of the job is left");
        let took = begun.elapsed();
        let error = self.error();
        assert_eq!(code, Some(3), "{error}");
        assert!(took < UNREACHABLE + MARGIN, "it took {took:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let line = error.trim_end().strip_prefix("pelago: ").and_then(|line| line.strip_suffix("; the job was ended"));
        line.unwrap_or_else(|| panic!("{error}")).into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If a test fails, the job is still running.
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
        is_gone_soon();
    }
}

/// Returns the command of a job with `slots` ranks on each host.
pub(crate) fn pelago(network: &Network, slots: u32, options: &[&str], program: &[&str]) -> Command {
    let hosts: Vec<_> = network.hosts().iter().map(|host| format!("{host}:{slots}")).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    command.args(["run", "-n", &(hosts.len() * slots as usize).to_string(), "--hosts", &hosts.join(",")]);
    command.args(["--remote-shell", "ip netns exec {host}", "--time-limit", PATIENCE]).args(options).args(program);
    command.env(MARK, mark()).stdin(Stdio::null());
    command
}

/// Returns the value of [`MARK`] of this test: the numbers of the process and of the thread, of which each test has its own.
pub(crate) fn mark() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id())
}

/// Waits a short time until no process of a job of this test is left. Returns whether that is so.
pub(crate) fn is_gone_soon() -> bool {
    let begun = Instant::now();
    let mark = format!("{MARK}={}", mark());
    while is_left(&mark) {
        if begun.elapsed() > MARGIN {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Whether there is a process with this environment variable.
fn is_left(variable: &str) -> bool {
    let mut environments =
        fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.any(|environment| environment.split(|byte| *byte == 0).any(|found| found == variable.as_bytes()))
}

fn parent(process: Pid) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    status.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}
