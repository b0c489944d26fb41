//! Bundled programs on systems that refuse one system call: each job works without the call, or ends immediately with one line that names it.
//! The outcomes are listed in `docs/book/src/system-calls.md`.

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use pelago_launch::launcher::system_calls::{CallNeed, OLDEST_LINUX, SYSTEM_CALLS, SystemCall};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::{Ended, PATIENCE, RANK, Running, pelago, wait_until_gone};

const REFUSE: &str = env!("CARGO_BIN_EXE_refuse-under-test");

/// The environment variable by which the document is renewed.
const RENEW: &str = "PELAGO_RENEW_DOCUMENTS";

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/book/src/system-calls.md");

/// The errors of kernels that are too old, and of filters.
const ERRORS: [Errno; 2] = [Errno::NOSYS, Errno::PERM];

/// The jobs of each transport.
const JOBS: [(&str, &[&[&str]]); 2] = [
    ("shm", &[&["ring"], &["himeno", "XS", "--iterations", "1"], &["counter", "--turns", "20"]]),
    ("udp", &[&["ring"], &["counter", "--turns", "20"]]),
];

/// The outcome of a job.
#[derive(Clone, PartialEq)]
enum Effect {
    Works,
    /// The job ended with exit code 2 and this line.
    Refused(String),
}

#[test]
fn a_job_works_without_a_call_or_says_which_is_refused() {
    let next = AtomicUsize::new(0);
    let mut rows: Vec<(usize, String)> = std::thread::scope(|threads| {
        let work = || {
            let numbers =
                std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < SYSTEM_CALLS.len()));
            numbers.map(|number| (number, row(&SYSTEM_CALLS[number]))).collect::<Vec<_>>()
        };
        let workers = [(); 2].map(|()| threads.spawn(work));
        workers.into_iter().flat_map(|worker| worker.join().expect("each call is as its row says")).collect()
    });
    rows.sort();
    let document = document(rows.into_iter().map(|(_, row)| row));
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(DOCUMENT, &document).expect("the document can be written");
    }
    let written = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    assert!(
        written == document,
        "docs/book/src/system-calls.md is out of date: renew it by {RENEW}=1 cargo test -p pelago-tests --test launch refused"
    );
}

/// Calls replace each other: without `sendmmsg` there is `sendmsg`, without both `sendto`.
#[test]
fn a_job_works_without_all_calls_that_it_can_do_without() {
    let hash = |ended: &Ended| ended.output.lines().find(|line| line.starts_with("hash")).map(str::to_owned);
    let job = || pelago(&["run", "-n", "4", "--transport", "udp", "himeno", "XS", "--iterations", "2"]);
    let expected = hash(&end_in_time(job().0));
    assert!(expected.is_some());
    for error in ERRORS {
        let (command, mark) = job();
        // `kill` and `pidfd_send_signal` replace each other. Filters are installed by `prctl`, which therefore has to be the last to be refused.
        let needless = SYSTEM_CALLS.iter().filter(|call| matches!(call.need, CallNeed::Nobody(_)) && call.name != "kill");
        let (last, others): (Vec<_>, Vec<_>) = needless.partition(|call| call.name == "prctl");
        let needless = last.into_iter().chain(others);
        let ended = end_in_time(needless.fold(command, |command, call| refusing(call, error, command)));
        wait_until_gone(&mark);
        assert_eq!((ended.code, hash(&ended)), (Some(0), expected.clone()), "{error}: {ended:?}");
    }
}

/// The guard, which must close inherited descriptors, still detects the end of the launcher.
#[test]
fn nothing_is_left_without_close_range() {
    let call = SYSTEM_CALLS.iter().find(|call| call.name == "close_range").expect("it is listed");
    for (signal, code) in [(Signal::TERM, Some(130)), (Signal::KILL, None)] {
        let (command, mark) = pelago(&["run", "-n", "4", RANK, "grandchild", "stay"]);
        let job = Running::of(4, (refusing(call, Errno::NOSYS, command), mark));
        job.signal_launcher(signal);
        assert_eq!(job.end().0.code(), code);
    }
}

/// The command lists a refused call.
#[test]
fn what_is_refused_is_listed() {
    let call = SYSTEM_CALLS.iter().find(|call| call.name == "pidfd_open").expect("it is listed");
    let ended = end_in_time(refusing(call, Errno::NOSYS, pelago(&["info"]).0));
    assert!(
        ended.output.contains("refused: pidfd_open: Function not implemented (os error 38) (jobs cannot start)"),
        "{ended:?}"
    );
}

/// Returns the row of the document for a call.
fn row(call: &SystemCall) -> String {
    let [unknown, forbidden] = ERRORS.map(|error| cell(call, error));
    format!("| `{}` | {} | {unknown} | {forbidden} |", call.name, call.purpose)
}

/// Returns the outcomes of jobs for which the system refuses a call.
fn cell(call: &SystemCall, error: Errno) -> String {
    let effects = JOBS.map(|(transport, programs)| {
        let mut effects = programs.iter().map(|program| effect(call, error, transport, program));
        let effect = effects.next().expect("a program");
        assert!(effects.all(|other| other == effect), "{}: what comes of it differs from program to program", call.name);
        if matches!(call.need, CallNeed::Nobody(_)) {
            assert!(effect == Effect::Works, "{}: a job over {transport} does not do without", call.name);
        }
        effect
    });
    let [shm, udp] = effects.clone().map(|effect| text(call, &effect));
    match (&effects[0], &effects[1]) {
        (one, other) if one == other => shm,
        _ => format!("shm: {shm}; udp: {udp}"),
    }
}

fn text(call: &SystemCall, effect: &Effect) -> String {
    match (effect, call.need) {
        (Effect::Refused(line), _) => format!("exit code 2: `{line}`"),
        (Effect::Works, CallNeed::Nobody(instead)) => format!("works: {instead}"),
        (Effect::Works, _) => "not needed".into(),
    }
}

/// Runs a job to its end, after which no process of it is left. Returns the outcome.
fn effect(call: &SystemCall, error: Errno, transport: &str, program: &[&str]) -> Effect {
    let (command, mark) = pelago(&[&["run", "-n", "2", "--transport", transport], program].concat());
    let ended = end_in_time(refusing(call, error, command));
    wait_until_gone(&mark);
    let what = format!("{} refused with {error}, {program:?} over {transport}: {ended:?}", call.name);
    match ended.code {
        Some(0) => {
            assert!(ended.error.is_empty() && !ended.output.is_empty(), "{what}");
            Effect::Works
        }
        Some(2) => {
            assert!(ended.output.is_empty() && ended.error.lines().count() == 1, "{what}");
            assert!(ended.error.starts_with("pelago: ") && ended.error.contains(call.name), "{what}");
            Effect::Refused(ended.error.trim_end().into())
        }
        _ => panic!("{what}"),
    }
}

/// Returns `command`, modified to run on a system that refuses a call.
fn refusing(call: &SystemCall, error: Errno, command: Command) -> Command {
    let mut refusing = Command::new(REFUSE);
    refusing
        .arg(call.number.to_string())
        .arg(error.raw_os_error().to_string())
        .arg(command.get_program())
        .args(command.get_args());
    refusing.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    refusing
}

/// Like `end`, but a command that does not end fails the test.
fn end_in_time(mut command: Command) -> Ended {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command under test");
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("a child");
    let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)) == Ok(0) {
        child.kill().expect("it runs");
        panic!("{command:?} does not end");
    }
    let output = child.wait_with_output().expect("a status");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ended { code: output.status.code(), output: text(output.stdout), error: text(output.stderr) }
}

fn document(rows: impl Iterator<Item = String>) -> String {
    let (major, minor) = OLDEST_LINUX;
    let mut text = format!(
        "# System calls\n\n\
        Jobs need Linux {major}.{minor} or later. A container may refuse system calls that the kernel provides. `pelago info` lists the refused calls of a\n\
        machine.\n\n\
        The table shows the effect of refusing one call: with `ENOSYS`, as an older kernel does, or with `EPERM`, as the filter of an older container\n\
        runtime does. Each row was tested with `ring`, `himeno` and `counter` over shared memory and with `ring` and `counter` over UDP. A job either works\n\
        by other means, or ends with exit code 2 before any rank runs. The table omits calls that every program needs, such as `read`, `mmap`, `futex`,\n\
        `poll`, `clone`, `execve`, `prlimit64` and `sysinfo`.\n\n\
        A test writes this page: `{RENEW}=1 cargo test -p pelago-tests --test launch refused`.\n\n\
        | call | purpose | refused with `ENOSYS` | refused with `EPERM` |\n|---|---|---|---|\n"
    );
    rows.for_each(|row| writeln!(text, "{row}").expect("memory takes all"));
    text
}
