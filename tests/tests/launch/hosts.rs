//! Jobs of several hosts. All hosts are this machine, but each has a node daemon, memory and a remote shell of its own.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Ended, MARK, PROGRAM, RANK, Running, end, pelago, run, shared_memory_names, wait_until_gone, with_environment};

/// A remote shell that runs commands on this machine, and marks the processes of each host.
const SHELL: &str = "env PELAGO_TEST_HOST={host}";

/// Four ranks on two hosts.
const TWO: [&str; 4] = ["--hosts", "a:2,b:2", "--remote-shell", SHELL];

fn on(ranks: &str, hosts: &str, arguments: &[&str]) -> Ended {
    run(&[&["run", "-n", ranks, "--hosts", hosts, "--remote-shell", SHELL], arguments].concat())
}

/// Returns the node daemon on a host of a job: of the host's processes, the one that the job's launcher has started.
fn launcher_on(job: &Running, host: &str) -> Pid {
    let here = with_environment(&format!("PELAGO_TEST_HOST={host}"));
    let of_job = with_environment(&format!("{MARK}={}", job.mark));
    let parent = |process: &String| {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        status.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let found = here.into_iter().filter(|process| of_job.contains(process));
    let mut started = found.filter(|process| parent(process) == Some(job.launcher.id()));
    started.next().and_then(|process| Pid::from_raw(process.parse().ok()?)).expect("the host's launcher runs")
}

#[test]
fn each_host_runs_its_ranks() {
    let script = "echo $PELAGO_RANK of $PELAGO_SIZE on $PELAGO_TEST_HOST";
    let ended = on("5", "a:2,b:2,c:2", &["sh", "-c", script]);
    ended.expect(1, "sh ended without joining the job: is it a Pelago program?");
    assert_eq!(ended.sorted_lines(), ["0 of 5 on a", "1 of 5 on a", "2 of 5 on b", "3 of 5 on b", "4 of 5 on c"]);
}

#[test]
fn ranks_of_all_hosts_meet_and_finish() {
    for (ranks, hosts) in [("4", "a:2,b:2"), ("1", "a"), ("7", "a:1,b:5,c:1"), ("6", "a,b,c,d,e,f"), ("2", "a:1,a:1")] {
        on(ranks, hosts, &[RANK, "meet"]).expect(0, "");
        on(ranks, hosts, &[RANK, "nothing"]).expect(0, "");
    }
}

#[test]
fn programs_compute_the_same_on_several_hosts() {
    let ring = on("5", "a,b,c", &["ring"]);
    ring.expect(0, "");
    let expected: Vec<_> = (0..5).map(|rank| format!("rank {rank} holds {}", (rank + 4) % 5 + 1)).collect();
    assert_eq!(ring.sorted_lines(), expected);
    let hash = |ended: Ended| ended.output.lines().find(|line| line.starts_with("hash")).map(str::to_owned);
    let himeno = ["himeno", "XS", "--iterations", "3"];
    let alone = hash(run(&[&["run", "-n", "4"][..], &himeno].concat()));
    assert!(alone.is_some());
    assert_eq!(hash(on("4", "a:1,b:3", &himeno)), alone);
    for act in ["everything", "registered", "device", "wake"] {
        on("4", "a:2,b:2", &[PROGRAM, act]).expect(0, "");
    }
}

#[test]
fn survivors_on_every_host_learn_of_a_lost_rank() {
    let ended = on("4", "a:2,b:2", &[PROGRAM, "lost"]);
    ended.expect(3, "rank 1 (host a) was killed by signal 6 (SIGABRT); the job was ended");
    assert_eq!(ended.sorted_lines(), ["rank 0 saves its work", "rank 2 saves its work", "rank 3 saves its work"]);
}

#[test]
fn a_deadlock_of_ranks_on_several_hosts_is_found_and_named() {
    for (options, act) in [
        (&["--transport", "auto"], "deadlock"),
        (&["--transport", "udp"], "deadlock"),
        (&["--progress", "manual"], "deadlock"),
        (&["--transport", "auto"], "wait after put"),
    ] {
        let (mut command, mark) = pelago(&[&["run", "-n", "4"][..], &TWO, options, &[PROGRAM, act]].concat());
        command.env("PELAGO_DEADLOCK_SECONDS", "1");
        let ended = end(command);
        let report = ended.expect_after_report(1, "deadlock: every rank waits and nothing is under way; the job was ended");
        let waits = report.iter().filter(|line| line.contains("in a value, in the word at offset 0x")).count();
        assert_eq!((waits, report.len()), (4, 6), "a line of each rank, and one of each host: {report:?}");
        wait_until_gone(&mark);
    }
}

#[test]
fn a_host_whose_rank_computes_is_no_part_of_a_deadlock() {
    let (mut command, mark) = pelago(&[&["run", "-n", "4"][..], &TWO, &[PROGRAM, "slow"]].concat());
    command.env("PELAGO_DEADLOCK_SECONDS", "0.5");
    end(command).expect(0, "");
    wait_until_gone(&mark);
}

#[test]
fn hosts_come_from_a_file_too() {
    let path = std::env::temp_dir().join(format!("pelago-hosts-{}", std::process::id()));
    std::fs::write(&path, "# two machines\na slots=1\nb:3 # the large one\n").unwrap();
    let file = path.to_str().unwrap();
    let shell = ["--remote-shell", SHELL, "sh", "-c", "echo $PELAGO_RANK on $PELAGO_TEST_HOST"];
    let ended = run(&[&["run", "-n", "3", "--hostfile", file][..], &shell].concat());
    assert_eq!(ended.sorted_lines(), ["0 on a", "1 on b", "2 on b"]);
    let many = run(&[&["run", "-n", "5", "--hostfile", file][..], &shell].concat());
    many.expect(2, "5 ranks do not fit the 4 slots of 2 hosts; start fewer ranks, name more slots, or use --oversubscribe");
    std::fs::write(&path, "a slots=none\n").unwrap();
    let wrong = run(&[&["run", "-n", "2", "--hostfile", file][..], &shell].concat());
    let line = "line 1 is \"a slots=none\": use HOST, HOST:SLOTS or HOST slots=SLOTS, with 1 to 4096 slots";
    wrong.expect(2, &format!("cannot read hosts from {file}: {line}"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn ranks_have_the_variables_and_the_folder_of_the_job() {
    let script = "echo $PELAGO_HEAP,$PELAGO_PROGRESS,$PELAGO_STATISTICS,$TEST_COLOUR,$TEST_SECRET,$(pwd)";
    let shell = "env --unset=TEST_COLOUR --unset=TEST_SECRET --unset=PELAGO_STATISTICS PELAGO_TEST_HOST={host}";
    let options = ["--hosts", "a,b", "--remote-shell", shell, "--export", "TEST_COLOUR", "--progress", "manual"];
    let (mut command, mark) = pelago(&[&["run", "-n", "2"][..], &options, &["sh", "-c", script]].concat());
    command.env("PELAGO_STATISTICS", "1").env("PELAGO_SOCKET", "7").env("TEST_COLOUR", "green ☘").env("TEST_SECRET", "x");
    command.current_dir("/usr");
    let ended = end(command);
    wait_until_gone(&mark);
    assert_eq!(ended.sorted_lines(), [",manual,1,green ☘,,/usr"; 2]);
}

#[test]
fn labels_and_streams_are_those_of_the_writers() {
    let ended = on("3", "a:1,b:2", &["--label", RANK, "both"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.sorted_lines(), ["[0] rank 0 out", "[1] rank 1 out", "[2] rank 2 out"]);
    let mut errors: Vec<_> = ended.error.lines().collect();
    errors.sort();
    assert_eq!(errors, ["[0] rank 0 err", "[1] rank 1 err", "[2] rank 2 err"]);
    assert_eq!(
        on("2", "a,b", &["--label", RANK, "unfinished"]).sorted_lines(),
        ["[0] rank 0 has no end", "[1] rank 1 has no end"]
    );
}

#[test]
fn much_output_of_many_hosts_is_whole() {
    let ended = on("4", "a:1,b:2,c:1", &[RANK, "flood", "5000"]);
    ended.expect(0, "");
    assert_eq!(ended.output.lines().filter(|line| line.len() == 999).count(), 4 * 5000);
    let long = on("1", "a", &[RANK, "long", "1000000"]);
    assert!(long.output == format!("{}\n", "y".repeat(1_000_000)), "{} bytes", long.output.len());
}

#[test]
fn no_rank_reads_the_input() {
    let (mut command, mark) = pelago(&[&["run", "-n", "4"][..], &TWO, &[RANK, "stdin"]].concat());
    let mut launcher = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    launcher.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let output = launcher.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut lines: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
    lines.sort();
    assert_eq!(lines, ["rank 0 ", "rank 1 ", "rank 2 ", "rank 3 "]);
    wait_until_gone(&mark);
}

#[test]
fn the_last_word_stands_on_a_line_of_its_own() {
    let ended = on("1", "a", &["sh", "-c", "printf 'no end' >&2; exit 5"]);
    assert_eq!(ended.error, "no end\npelago: rank 0 (host a) failed with exit code 5; the job was ended\n");
}

#[test]
fn each_way_to_end_names_the_host() {
    for (act, code, line) in [
        (&["code", "3", "7"][..], 1, "rank 3 (host b) failed with exit code 7; the job was ended"),
        (&["silent", "0"], 3, "rank 0 (host a) ended with exit code 0 in the middle of the job; the job was ended"),
        (&["abort", "2"], 3, "rank 2 (host b) was killed by signal 6 (SIGABRT); the job was ended"),
        (&["fault", "1", "lost"], 1, "rank 1 (host a) failed with exit code 101; the job was ended"),
        (&["fault", "2", "deadlock"], 1, "deadlock: every rank waits and nothing is under way; the job was ended"),
        (&["bystander", "3"], 1, "rank 3 (host b) ended without joining the job, which other ranks joined; the job was ended"),
        (&["late", "2"], 1, "rank 2 (host b) did not join the job within 1 s; the job was ended (--start-limit allows more)"),
    ] {
        on("4", "a:2,b:2", &[&["--start-limit", "1", RANK], act].concat()).expect(code, line);
    }
    let line = "/bin/sleep did not join the job within 1 s: is it a Pelago program? (--start-limit allows more)";
    on("4", "a:2,b:2", &["--start-limit", "1", "/bin/sleep", "1000"]).expect(1, line);
    let line = "the time limit of 0.5 s has passed; the job was ended";
    on("4", "a:2,b:2", &["--time-limit", "0.5", "/bin/sleep", "1000"]).expect(4, line);
}

#[test]
fn a_rank_that_is_killed_ends_the_ranks_of_every_host() {
    let job = Running::start(&[&TWO[..], &[RANK, "wait"]].concat());
    kill_process(job.processes[3], Signal::KILL).unwrap();
    let (_, ended) = job.end();
    ended.expect(3, "rank 3 (host b) was killed by signal 9 (SIGKILL); the job was ended");
    assert_eq!(shared_memory_names(), [""; 0]);
}

#[test]
fn a_host_whose_launcher_is_killed_is_lost_with_all_that_ran_there() {
    for act in [&["wait"][..], &["grandchild", "stay"]] {
        let job = Running::start(&[&TWO[..], &[RANK], act].concat());
        kill_process(launcher_on(&job, "b"), Signal::KILL).unwrap();
        let (_, ended) = job.end();
        ended.expect(3, "host b failed (ranks 2-3); the job was ended");
        assert_eq!(shared_memory_names(), [""; 0]);
    }
}

#[test]
fn a_host_that_falls_silent_is_lost() {
    let job = Running::start(&[&TWO[..], &[RANK, "wait"]].concat());
    kill_process(launcher_on(&job, "a"), Signal::STOP).unwrap();
    let (_, ended) = job.end();
    ended.expect(3, "host a failed (ranks 0-1); the job was ended");
}

#[test]
fn a_launcher_that_is_killed_takes_all_hosts_along() {
    for act in [&["wait"][..], &["grandchild", "stay"]] {
        let job = Running::start(&[&TWO[..], &[RANK], act].concat());
        job.signal_launcher(Signal::KILL);
        let (status, _) = job.end();
        assert_eq!(status.signal(), Some(9));
        assert_eq!(shared_memory_names(), [""; 0]);
    }
}

#[test]
fn a_working_folder_that_was_deleted_is_named() {
    let folder = std::env::temp_dir().join(format!("pelago-deleted-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (command, _) = pelago(&[&["run", "-n", "2"][..], &TWO, &[RANK, "meet"]].concat());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "rmdir \"$PWD\" && exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    let line = "the working folder, which ranks on other hosts enter, has no path: No such file or directory; it was deleted or moved: enter it \
                again (cd) and repeat";
    shell.current_dir(&folder);
    end(shell).expect(2, line);
}

#[test]
fn a_remote_shell_that_outlives_its_kill_leaves_the_end_to_the_host() {
    // The shell forks instead of executing the node daemon, which detects the end of the launcher by its standard input.
    let shell = "sh -c 'setsid \"$@\"; true' {host} env PELAGO_TEST_HOST={host}";
    let job = Running::start(&["--hosts", "a:2,b:2", "--remote-shell", shell, RANK, "wait"]);
    job.signal_launcher(Signal::KILL);
    job.end();
}

#[test]
fn an_interrupt_ends_the_job_on_every_host() {
    let job = Running::start(&[&TWO[..], &[RANK, "wait"]].concat());
    job.signal_launcher(Signal::INT);
    let (_, ended) = job.end();
    ended.expect(130, "interrupted by signal 2 (SIGINT); the job was ended");
}

#[test]
fn ranks_that_ignore_requests_to_end_are_killed_on_every_host() {
    let script = "trap '' TERM INT HUP; while :; do sleep 1; done";
    let line = "the time limit of 0.5 s has passed; the job was ended";
    on("2", "a,b", &["--time-limit", "0.5", "sh", "-c", script]).expect(4, line);
}

#[test]
fn a_reader_that_stands_still_or_leaves_does_not_keep_the_job() {
    let job = Running::start(&[&TWO[..], &["--time-limit", "1", RANK, "wait-and-flood"]].concat());
    let (_, ended) = job.end();
    ended.expect(4, "the time limit of 1 s has passed; the job was ended");
    let mut job = Running::start(&[&TWO[..], &[RANK, "wait-and-flood"]].concat());
    job.output = std::io::BufReader::new(crate::output::spare_pipe());
    let (_, ended) = job.end();
    ended.expect(141, "");
}

#[test]
fn a_host_that_cannot_take_part_says_why() {
    let unready = |shell: &str, program: &str| run(&["run", "-n", "2", "--hosts", "a,b", "--remote-shell", shell, program]);
    let line = "cannot run \"no-such-program\": no such program in PATH; name one in this folder as ./no-such-program";
    let ended = unready(SHELL, "no-such-program");
    assert!(
        ended.error == format!("pelago: host a could not take part: {line}\n") || ended.error.contains("host b could"),
        "{ended:?}"
    );
    assert_eq!((ended.code, ended.error.lines().count()), (Some(2), 1), "{ended:?}");
    for (shell, says) in [
        ("false {host}", "could not take part: its remote shell (false) ended with exit code 1"),
        (
            "/no/such/shell {host}",
            "could not take part: cannot run /no/such/shell: No such file or directory; install it, or name",
        ),
        ("sh -c 'exec >&-; sleep 1000' {host}", "could not take part: its remote shell broke off"),
        ("sh -c 'echo Welcome to this host; exec \"$@\"' {host}", "does its shell print a greeting?"),
    ] {
        let ended = unready(shell, RANK);
        assert!(ended.code == Some(2) && ended.error.contains(says) && ended.error.lines().count() == 1, "{ended:?}");
    }
    let ended = run(&["run", "-n", "2", "--hosts", "a,b", "--remote-shell", SHELL, "--network", "203.0.113.0/24", RANK, "meet"]);
    assert!(ended.code == Some(2) && ended.error.contains("has no address in 203.0.113.0/24"), "{ended:?}");
}

#[test]
fn wrong_hosts_are_one_line() {
    let two = |arguments: &[&str]| run(&[&["run", "-n", "2", "--hosts", "a,b"], arguments, &[RANK, "meet"]].concat());
    two(&["--transport", "shm"])
        .expect(2, "ranks on 2 hosts cannot reach each other by shared memory; use --transport auto or udp");
    two(&["--export", "NO_SUCH_VARIABLE"]).expect(2, "--export NO_SUCH_VARIABLE: this variable is not set");
    for (arguments, says) in [
        (&["--hosts", "a:0"][..], "\"a:0\" is not a host"),
        (&["--hosts", "a,-oProxyCommand=x"], "\"-oProxyCommand=x\" is not a host"),
        (&["--hosts", "a", "--remote-shell", "ssh"], "does not say {host}"),
        (&["--hosts", "a", "--remote-shell", "ssh '{host}"], "no end"),
        (&["--hosts", "a", "--network", "10.0.0.0"], "10.1.0.0/16"),
        (&["--hosts", "a", "--hostfile", "hosts"], "--hostfile"),
        (&["--hostfile", "/no/such/file"], "cannot read hosts from /no/such/file: No such file"),
        (&["--hostfile", "/dev/zero"], "cannot read hosts from /dev/zero: it has more than 67108864 bytes"),
        (&["--remote-shell", SHELL], "--hosts"),
        (&["--network", "10.0.0.0/8"], "--hosts"),
    ] {
        let ended = run(&[&["run", "-n", "2"], arguments, &[RANK, "meet"]].concat());
        assert!(ended.code == Some(2) && ended.error.starts_with("pelago: ") && ended.error.contains(says), "{ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
    }
}
