//! `pelago doctor`: on the unchanged machine, with a refused system call, without huge pages, and with a small `/dev/shm`.

use std::process::Command;

use pelago_launch::launcher::system_calls::SYSTEM_CALLS;

use crate::{PROGRAM, end, pelago};

const REFUSE: &str = env!("CARGO_BIN_EXE_refuse-under-test");
const PELAGO: &str = env!("CARGO_BIN_EXE_pelago-under-test");

/// The number of `EPERM`.
const REFUSED: &str = "1";

#[test]
fn a_machine_is_examined_as_text_and_as_json() {
    let text = end(pelago(&["doctor"]).0);
    assert!(text.code == Some(0) && text.output.contains("ok      kernel ") && text.output.contains("checks: "), "{text:?}");
    let json = end(pelago(&["doctor", "--json"]).0);
    let is_object = |line: &str| line.starts_with("{\"check\":\"") && line.ends_with('}') && line.contains("\"state\":\"");
    assert!(json.code == Some(0) && json.output.lines().count() > 20 && json.output.lines().all(is_object), "{json:?}");
    let brief = end(pelago(&["doctor", "--brief"]).0);
    assert!(brief.output.lines().all(|line| !line.starts_with("ok ")), "{brief:?}");
}

#[test]
fn a_call_that_is_refused_is_named_with_what_it_costs() {
    let cases = [
        ("process_vm_writev", 0, "costs   system call", "instead: the owner's thread copies"),
        ("membarrier", 0, "costs   membarrier", "sleeping ranks look at their memory every millisecond"),
        ("sendto", 1, "fails   system call", "jobs with --transport udp or ofi, and jobs of several hosts, cannot start"),
        ("memfd_create", 1, "fails   shared memory", "heaps of ranks of one host cannot have their default size"),
    ];
    for (name, code, state, cost) in cases {
        let call = SYSTEM_CALLS.iter().find(|call| call.name == name).expect("it is in the table");
        let mut command = Command::new(REFUSE);
        command.args([&call.number.to_string(), REFUSED, PELAGO, "doctor"]);
        let ended = end(command);
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(ended.output.contains(state) && ended.output.contains(cost), "{name}: {}", ended.output);
        assert!(ended.output.contains(&format!("{name} is refused: ")), "{name}: {}", ended.output);
    }
}

/// In a namespace in which mounts are allowed, `/dev/shm` has one mebibyte and huge pages seem to be unavailable; jobs work.
#[test]
fn a_small_dev_shm_and_no_huge_pages_cost_little_and_jobs_work() {
    let script = format!(
        "mount -t tmpfs -o size=1M none /dev/shm && echo 'always within_size advise [never] deny force' >/dev/shm/setting \
         && mount --bind /dev/shm/setting /sys/kernel/mm/transparent_hugepage/shmem_enabled \
         && {PELAGO} doctor && {PELAGO} run -n 2 {PROGRAM} nothing && echo done"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    let ended = end(command);
    if ["Operation not permitted", "permission denied", "No such file"].iter().any(|refusal| ended.error.contains(refusal)) {
        eprintln!("not tested, as namespaces are refused here: {}", ended.error);
        return;
    }
    assert!(ended.code == Some(0) && ended.output.ends_with("done\n"), "{ended:?}");
    let small = "ok      /dev/shm              1 MiB; jobs do not use it (their memory is a memfd); small, which matters to other libraries";
    assert!(ended.output.contains(small), "{}", ended.output);
    assert!(
        ended.output.contains("costs   huge pages            not granted to shared memory (shmem_enabled is never)"),
        "{}",
        ended.output
    );
}

/// Under each filter of system calls, the result of `pelago doctor` agrees with the outcome of a job over each transport.
#[test]
fn what_is_said_of_a_filter_is_what_jobs_do() {
    let under = |calls: &[&str], arguments: &[&str]| {
        let mut words: Vec<String> = Vec::new();
        for name in calls {
            let call = SYSTEM_CALLS.iter().find(|call| call.name == *name).expect("it is in the table");
            words.extend([REFUSE.into(), call.number.to_string(), REFUSED.into()]);
        }
        words.push(PELAGO.into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(arguments);
        end(command)
    };
    // Filters like those of container profiles: the refused calls, and the exit codes of doctor and of jobs over shm and udp.
    for (calls, doctor, jobs) in [
        (&["process_vm_readv", "process_vm_writev", "userfaultfd"][..], 0, [0, 0]),
        (&["membarrier", "sched_setaffinity"], 0, [0, 0]),
        (&["timerfd_create"], 1, [0, 2]),
        (&["pidfd_open"], 1, [2, 2]),
    ] {
        let said = under(calls, &["doctor", "--brief"]);
        assert_eq!(said.code, Some(doctor), "{calls:?}: {said:?}");
        for call in calls {
            assert!(said.output.contains(&format!("{call} is refused: ")), "{call}: {}", said.output);
        }
        let found = ["shm", "udp"].map(|transport| under(calls, &["run", "-n", "2", "--transport", transport, "ring"]).code);
        assert_eq!(found, jobs.map(Some), "{calls:?}");
    }
}

#[test]
fn limits_of_the_process_are_findings() {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n 200 && ulimit -v 8000000 && exec {PELAGO} doctor")]);
    let ended = end(command);
    let files = "costs   open files            hard limit 200";
    assert!(ended.output.contains(files) && ended.output.contains("starts at most 45 ranks on this host"), "{ended:?}");
    assert!(ended.output.contains("costs   address space         7812 MiB per process"), "{ended:?}");
}

/// The kernel kills a process that makes a file longer than its limit, without a message. The memory of a job is a file.
#[test]
fn a_limit_of_the_length_of_files_is_said() {
    let limited = |then: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f 1000 && exec {PELAGO} {then}")]);
        end(command)
    };
    let ended = limited("doctor");
    assert!(ended.output.contains("ulimit -f unlimited"), "{ended:?}");
    let ended = limited("run -n 2 ring");
    assert!(ended.error.ends_with("raise the limit (ulimit -f) or lower the heap (--heap, PELAGO_HEAP)\n"), "{ended:?}");
    assert_eq!(ended.code, Some(2), "{ended:?}");
}
