//! Jobs from the command line: their output, their ends, and that no process or memory is left.

mod adopted;
mod allocation;
mod applications;
mod bench;
mod bundled;
mod chakra;
mod compare;
mod doctor;
mod ends;
mod fabric;
mod fields;
mod foreign;
mod gpu;
mod hosts;
mod kept;
mod killed;
mod kills;
mod kmers;
mod messages;
mod network;
mod output;
mod programs;
mod quit;
mod rails;
mod record;
mod refused;
mod schedules;
mod secret;
mod settings;
mod silence;
mod sim;
mod sim_ends;
mod sim_files;
mod sim_input;
mod starter;
mod stopped;
mod stranger;
mod survival;
mod sweep;
mod synchronization;
mod top;
mod trace;
mod wrong_input;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Time limit after which a test counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The rank program of these tests.
const RANK: &str = env!("CARGO_BIN_EXE_rank-under-test");

/// The program of these tests that uses the library.
const PROGRAM: &str = env!("CARGO_BIN_EXE_program-under-test");

/// Environment variable that marks the processes of one job, and their children.
const MARK: &str = "PELAGO_TEST_JOB";

/// Returns the command `pelago` with these arguments, and the mark of its job.
fn pelago(arguments: &[&str]) -> (Command, String) {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
    // The tests may run with ignored signals (nohup, background jobs of a shell), which would be inherited.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM,QUIT", env!("CARGO_BIN_EXE_pelago-under-test")]);
    command.args(arguments).env(MARK, &mark).stdin(Stdio::null());
    // These tests may run in a job script.
    for name in ["SLURM_JOB_NODELIST", "SLURM_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "PE_HOSTFILE"] {
        command.env_remove(name);
    }
    (command, mark)
}

/// The outcome of a command that has ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    output: String,
    error: String,
}

/// Runs `pelago` to its end, after which no process or memory of the job may be left.
fn run(arguments: &[&str]) -> Ended {
    let (command, mark) = pelago(arguments);
    let ended = end(command);
    wait_until_gone(&mark);
    ended
}

fn end(mut command: Command) -> Ended {
    let output = command.output().expect("the command under test");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ended { code: output.status.code(), output: text(output.stdout), error: text(output.stderr) }
}

impl Ended {
    /// Checks that the job ended with `code` and wrote only `line` to standard error; `*` stands for any number.
    #[track_caller]
    fn expect(&self, code: i32, line: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let mut said = String::new();
        for (index, part) in self.error.split("(process ").enumerate() {
            let rest = if index == 0 { part } else { part.trim_start_matches(|digit: char| digit.is_ascii_digit()) };
            said += &format!("{}{rest}", if index == 0 { "" } else { "(process *" });
        }
        assert_eq!(said, if line.is_empty() { String::new() } else { format!("pelago: {line}\n") });
    }

    /// Like `expect`, after a report of the waits of the ranks, which is returned.
    #[track_caller]
    fn expect_after_report(mut self, code: i32, line: &str) -> Vec<String> {
        let is_report =
            |line: &&str| line.starts_with("pelago: rank ") || line.starts_with("pelago: all ranks that run here wait");
        let report = self.error.lines().filter(is_report).map(str::to_owned).collect::<Vec<_>>();
        self.error = self.error.lines().filter(|line| !is_report(line)).map(|line| format!("{line}\n")).collect();
        self.expect(code, line);
        report
    }

    /// Returns the sorted lines that the ranks have written, as their order among ranks is arbitrary.
    fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.output.lines().collect();
        lines.sort();
        lines
    }
}

/// A running job, each of whose ranks has printed a line that ends with the number of a process.
struct Running {
    launcher: Child,
    mark: String,
    output: BufReader<ChildStdout>,
    processes: Vec<Pid>,
}

impl Running {
    /// Starts a job of four ranks and reads what they print.
    fn start(arguments: &[&str]) -> Self {
        Self::of(4, pelago(&[&["run", "-n", "4"], arguments].concat()))
    }

    /// Like `start`, with a command that starts `ranks` ranks.
    fn of(ranks: usize, (mut command, mark): (Command, String)) -> Self {
        let mut launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command under test");
        let mut output = BufReader::new(launcher.stdout.take().expect("piped"));
        let mut lines: Vec<String> = Vec::new();
        while lines.len() < ranks {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("text") > 0, "a line of each rank");
            lines.extend(Some(line).filter(|line| line.starts_with("rank ")));
        }
        lines.sort();
        let number = |line: &String| line.split_whitespace().last().and_then(|word| word.parse().ok()).and_then(Pid::from_raw);
        let processes = lines.iter().map(|line| number(line).expect("a process")).collect();
        Self { launcher, mark, output, processes }
    }

    fn signal_launcher(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.launcher), signal).expect("it runs");
    }

    /// Waits for the end of the launcher, and of all processes that the job has started.
    fn end(mut self) -> (ExitStatus, Ended) {
        let status = self.launcher.wait().expect("a status");
        wait_until_gone(&self.mark);
        let (mut output, mut error) = (String::new(), String::new());
        self.output.read_to_string(&mut output).expect("text");
        self.launcher.stderr.take().expect("piped").read_to_string(&mut error).expect("text");
        (status, Ended { code: status.code(), output, error })
    }
}

/// Waits until no process of the job with this mark is left.
#[track_caller]
fn wait_until_gone(mark: &str) {
    let patience = Instant::now() + PATIENCE;
    let mark = format!("{MARK}={mark}");
    loop {
        let left = with_environment(&mark);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < patience, "processes {left:?} are left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn with_environment(variable: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok());
    let marked = processes.filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|found| found == variable.as_bytes())
    });
    marked.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the names of shared memory that other processes can see.
fn shared_memory_names() -> Vec<std::ffi::OsString> {
    let folder = std::fs::read_dir("/dev/shm").into_iter().flatten();
    folder.filter_map(|entry| Some(entry.ok()?.file_name())).filter(|name| name.to_string_lossy().contains("pelago")).collect()
}
