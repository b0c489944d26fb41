//! Processes of a launcher that provides only a number and a key-value store set up a job among themselves: its output, its end, and that no
//! process is left.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::starter::{NOTHING, Over, Start, Started};
use crate::{MARK, PROGRAM, RANK, Running, end, shared_memory_names};
use pelago_test_support::moments::{below, kills, wait};

/// The command, which has the bundled programs.
const PELAGO: &str = env!("CARGO_BIN_EXE_pelago-under-test");

/// Result of `himeno S --iterations 3`, independent of the number of ranks.
const HASH: &str = "79dc8598e66ba7bc";

/// Maximum private memory of a rank, as for ranks that the command has started.
const PRIVATE_KIB_MAX: u64 = 2048;

/// Time limits of tests that wait until the limits have passed.
const START: (&str, &str) = ("PELAGO_START_SECONDS", "0.5");
const FAILURE: (&str, &str) = ("PELAGO_FAILURE_SECONDS", "0.2");

const UDP: (&str, &str) = ("PELAGO_TRANSPORT", "udp");

fn run(ranks: u32, command: &[&str], variables: &[(&str, &str)]) -> Over {
    Start { ranks, command, variables, ..NOTHING }.run()
}

/// Starts four ranks that print a line each and continue until they are ended.
fn start(command: &[&str], variables: &[(&str, &str)]) -> Started {
    Start { ranks: 4, command, variables, ..NOTHING }.start().await_lines(4)
}

/// Checks that these ranks of four were killed and that the others ended because of it: by themselves, or by their monitor threads, which end ranks that
/// do not check memory that others change, and ranks that get no core for long.
#[track_caller]
fn expect_killed(over: &Over, killed: &[usize]) {
    for (rank, code) in over.codes().into_iter().enumerate() {
        assert!(if killed.contains(&rank) { code == -9 } else { [3, -15].contains(&code) }, "rank {rank}: {over:?}");
    }
}

/// Returns the lines by which these ranks report the failure of another.
fn lost(ranks: &[u32], lost: u32) -> Vec<String> {
    ranks.iter().map(|rank| format!("pelago: rank {rank}: rank {lost} was lost; the job was ended")).collect()
}

#[test]
fn the_ring_closes() {
    for (ranks, variables) in [(2, &[][..]), (5, &[]), (3, &[UDP])] {
        let over = run(ranks, &[PELAGO, "bundled", "ring"], variables);
        assert_eq!((over.codes(), over.error.as_str()), (vec![0; ranks as usize], ""), "{over:?}");
        let expected: Vec<_> = (0..ranks).map(|rank| format!("rank {rank} holds {}", (rank + ranks - 1) % ranks + 1)).collect();
        assert_eq!(over.sorted_lines(), expected);
    }
}

#[test]
fn himeno_finds_the_same() {
    for (ranks, variables) in [(2, &[][..]), (6, &[]), (4, &[UDP])] {
        let over = run(ranks, &[PELAGO, "bundled", "himeno", "S", "--iterations", "3"], variables);
        assert_eq!(over.codes(), vec![0; ranks as usize], "{over:?}");
        assert!(over.output.lines().any(|line| line.starts_with("hash") && line.ends_with(HASH)), "{over:?}");
    }
}

/// Placements: blocks of ranks on two hosts, round robin on two and on three hosts, and an irregular one.
const PLACEMENTS: [&str; 4] = ["(vector,(0,2,2))", "(vector,(0,2,1))", "(vector,(0,3,1))", "(vector,(0,1,1),(1,1,2))"];

/// Returns the start of four ranks in the placement of the store; each of its hosts is this machine.
fn placed<'a>(store: &'a [(&'a str, &'a str)], command: &'a [&'a str]) -> Start<'a> {
    Start { ranks: 4, command, store, ..NOTHING }
}

#[test]
fn ranks_of_several_hosts_are_one_job_however_they_are_placed() {
    for mapping in PLACEMENTS {
        let store = [("PMI_process_mapping", mapping)];
        let ring = placed(&store, &[PELAGO, "bundled", "ring"]).run();
        assert_eq!((ring.codes(), ring.error.as_str()), (vec![0; 4], ""), "{ring:?}");
        let expected: Vec<_> = (0..4).map(|rank| format!("rank {rank} holds {}", (rank + 3) % 4 + 1)).collect();
        assert_eq!(ring.sorted_lines(), expected, "{mapping}");
        let himeno = placed(&store, &[PELAGO, "bundled", "himeno", "S", "--iterations", "3"]).run();
        assert_eq!(himeno.codes(), [0; 4], "{mapping}: {himeno:?}");
        assert!(himeno.output.lines().any(|line| line.starts_with("hash") && line.ends_with(HASH)), "{mapping}: {himeno:?}");
        for act in ["everything", "registered", "wake"] {
            let over = placed(&store, &[PROGRAM, act]).run();
            assert_eq!((over.codes(), over.error.as_str()), (vec![0; 4], ""), "{mapping}: {act}: {over:?}");
        }
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_ranks_of_every_host_of_another_launcher() {
    for mapping in PLACEMENTS {
        for way in ["put", "barrier"] {
            let store = [("PMI_process_mapping", mapping)];
            let job = Start { variables: &[FAILURE], ..placed(&store, &[PROGRAM, "exchange", way]) }.start().await_lines(4);
            job.signal(0, Signal::KILL);
            let over = job.end();
            assert!(over.codes().iter().skip(1).all(|&code| [1, 3, -15].contains(&code)), "{mapping}: {over:?}");
            assert!(over.told().iter().any(|line| line.contains("rank 0 was lost; the job was ended")), "{mapping}: {over:?}");
            assert_eq!(shared_memory_names(), [""; 0]);
        }
    }
}

#[test]
fn hosts_that_cannot_be_one_job_say_why() {
    let store = [("PMI_process_mapping", "(vector,(0,2,2))")];
    let refused = |variables: &[(&str, &str)], variables_of: &[(u32, &str, &str)], why: &str| {
        let over = Start { variables, variables_of, ..placed(&store, &[PROGRAM, "nothing"]) }.run();
        assert!(over.codes().iter().all(|&code| code == 1), "{over:?}");
        assert!(over.error.contains(why), "{why}: {over:?}");
    };
    refused(&[("PELAGO_TRANSPORT", "shm")], &[], "ranks on 2 hosts cannot reach each other by shared memory");
    refused(&[("PELAGO_NETWORK", "203.0.113.0/24")], &[], "cannot take part: it has no address in 203.0.113.0/24");
    let udp = [(2, "PELAGO_TRANSPORT", "udp"), (3, "PELAGO_TRANSPORT", "udp")];
    refused(&[], &udp, "PELAGO_TRANSPORT has to be the same");
}

#[test]
fn the_counter_counts() {
    for variables in [&[][..], &[UDP]] {
        let over = run(4, &[PELAGO, "bundled", "counter"], variables);
        assert_eq!((over.codes(), over.error.as_str()), (vec![0; 4], ""), "{over:?}");
        assert!(over.output.starts_with("counter ranks 4 bytes 8 ") && over.output.contains(" turns 4000 "), "{over:?}");
    }
}

#[test]
fn every_operation_is_as_under_the_command() {
    for variables in [&[][..], &[UDP]] {
        for act in ["everything", "registered", "wake"] {
            let over = run(4, &[PROGRAM, act], variables);
            assert_eq!((over.codes(), over.error.as_str()), (vec![0; 4], ""), "{act}: {over:?}");
        }
    }
}

#[test]
fn a_rank_has_little_memory_to_itself() {
    let over = run(4, &[PROGRAM, "memory"], &[]);
    assert_eq!((over.codes(), over.sorted_lines().len()), (vec![0; 4], 4), "{over:?}");
    for line in over.sorted_lines() {
        let kilobytes: u64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert!(kilobytes <= PRIVATE_KIB_MAX, "{line}");
    }
}

#[test]
fn ranks_that_are_killed_at_random_moments_are_reported_by_all_others() {
    for variables in [&[][..], &[UDP]] {
        for _ in 0..kills() {
            // Rank 0 has gathered the others.
            for victim in [0, 1 + below(3)] {
                let way = ["put", "get", "add", "barrier"][below(4)];
                let job = start(&[PROGRAM, "exchange", way], variables);
                wait();
                job.signal(victim, Signal::KILL);
                let over = job.end();
                expect_killed(&over, &[victim]);
                let others: Vec<u32> = (0..4).filter(|&rank| rank != victim as u32).collect();
                assert_eq!(over.told(), lost(&others, victim as u32));
                assert_eq!(shared_memory_names(), [""; 0]);
            }
        }
    }
}

#[test]
fn ranks_that_are_killed_together_are_reported_by_who_is_left() {
    for victims in [&[0, 1][..], &[1, 2, 3], &[0, 2, 3]] {
        let job = start(&[PROGRAM, "exchange", "barrier"], &[]);
        victims.iter().for_each(|&victim| job.signal(victim, Signal::KILL));
        let over = job.end();
        expect_killed(&over, victims);
        assert_eq!(over.told().len(), 4 - victims.len(), "{over:?}");
    }
}

#[test]
fn a_rank_that_computes_is_ended_when_another_is_lost() {
    let job = start(&[RANK, "wait"], &[]);
    job.signal(2, Signal::KILL);
    // Rank 0 never checks for failures.
    let over = job.end();
    expect_killed(&over, &[2]);
    assert!(over.codes()[0] == -15 && over.told().contains(&"pelago: rank 0: rank 2 was lost; the job was ended"), "{over:?}");
}

#[test]
fn a_rank_that_is_stopped_hides_nobody_and_is_not_left_behind() {
    let job = start(&[PROGRAM, "exchange", "get"], &[]);
    job.signal(1, Signal::STOP);
    job.signal(2, Signal::KILL);
    let over = job.end();
    expect_killed(&over, &[1, 2]);
    assert_eq!(over.told(), lost(&[0, 3], 2));
}

#[test]
fn a_rank_that_is_stopped_for_longer_than_the_limit_is_lost() {
    let job = start(&[PROGRAM, "exchange", "get"], &[FAILURE]);
    job.signal(2, Signal::STOP);
    let over = job.end();
    expect_killed(&over, &[2]);
    let says = |line: &&str| line.contains("rank 2 (process ") && line.contains("was stopped (not killed) for longer than");
    assert!(over.told().iter().any(says) && over.told().len() == 4, "{over:?}");
}

#[test]
fn a_job_that_is_stopped_and_goes_on_loses_nobody() {
    let job = start(&[PROGRAM, "exchange", "barrier"], &[FAILURE]);
    (0..4).for_each(|rank| job.signal(rank, Signal::STOP));
    // Longer than the failure limit.
    std::thread::sleep(std::time::Duration::from_millis(400));
    (0..4).for_each(|rank| job.signal(rank, Signal::CONT));
    wait();
    job.signal(3, Signal::KILL);
    let over = job.end();
    expect_killed(&over, &[3]);
    assert_eq!(over.told(), lost(&[0, 1, 2], 3));
}

#[test]
fn a_rank_that_ends_before_the_others_ends_the_job() {
    let over = run(3, &[PROGRAM, "leave"], &[]);
    assert_eq!((over.codes(), over.told()), (vec![1, 3, 3], lost(&[1, 2], 0).iter().map(String::as_str).collect()), "{over:?}");
    assert!(over.error.contains("Error: the handle belongs to another context"), "{over:?}");
    for (act, code) in [("quit", 0), ("panic", 101)] {
        let over = run(3, &[PROGRAM, act], &[]);
        assert_eq!(
            (over.codes(), over.told()),
            (vec![3, code, 3], lost(&[0, 2], 1).iter().map(String::as_str).collect()),
            "{over:?}"
        );
    }
}

#[test]
fn a_deadlock_is_found_by_the_ranks() {
    let over = run(3, &[PROGRAM, "deadlock"], &[("PELAGO_DEADLOCK_SECONDS", "0.2")]);
    assert_eq!(over.codes(), [1, 1, 1], "{over:?}");
    let found = over.told().into_iter().filter(|line| line.contains(": deadlock: ")).count();
    let reported = over.told().into_iter().filter(|line| line.contains("in a value, in the word at offset 0x")).count();
    assert_eq!((found, reported), (3, 3), "{over:?}");
}

#[test]
fn a_program_may_go_on_without_lost_ranks() {
    for (variables, reach) in [(&[][..], "mapped"), (&[UDP], "out of reach")] {
        let job = start(&[PROGRAM, "survive"], variables);
        job.signal(3, Signal::KILL);
        let over = job.end();
        assert_eq!(over.codes(), [0, 0, 0, -9], "{over:?}");
        assert_eq!(over.output.matches(&format!("went on, its words {reach}")).count(), 3, "{over:?}");
    }
}

#[test]
fn ranks_end_with_their_launcher() {
    let job = start(&[PROGRAM, "exchange", "put"], &[]);
    job.lose_launcher();
    let over = job.end();
    assert!(over.codes().iter().all(|code| [1, -15].contains(code)), "{over:?}");
    assert!(over.error.contains("the launcher has gone"), "{over:?}");
    let aborted = (0..4).filter(|rank| over.told().contains(&format!("pelago: rank {rank}: the job was aborted").as_str()));
    assert_eq!(aborted.count(), 4, "{over:?}");
}

#[test]
fn ranks_that_do_not_come_are_named() {
    for (act, absent) in [("late", 2), ("late", 0), ("bystander", 1)] {
        let rank = absent.to_string();
        let command = [RANK, act, &rank];
        let mut job = Start { ranks: 3, command: &command, variables: &[START], ..NOTHING }.start();
        if act == "late" {
            job.await_ends(2);
            job.signal(absent, Signal::KILL);
        }
        let over = job.end();
        let named = format!("rank {absent} did not come within the start limit");
        assert_eq!(over.error.matches(&named).count(), 2, "{act} {absent}: {over:?}");
    }
}

#[test]
fn ranks_that_do_not_agree_are_refused() {
    let refused = |variables_of: &[(u32, &str, &str)], why: &str| {
        let over = Start { ranks: 3, command: &[PROGRAM, "nothing"], variables: &[START], variables_of, ..NOTHING }.run();
        assert!(over.codes().iter().all(|&code| code == 1), "{over:?}");
        assert!(over.error.matches(why).count() >= 2, "{why}: {over:?}");
    };
    refused(&[(2, "PMI_SIZE", "4")], "rank 2 belongs to a job of 4 ranks, and the first rank of its host to one of 3");
    refused(&[(1, "PELAGO_TRANSPORT", "udp")], "PELAGO_TRANSPORT is udp for rank 1, and auto for rank 0 of its host: ");
    refused(&[(1, "PMI_RANK", "2")], "two processes of this host claim to be rank 2");
    refused(&[(1, "PMI_RANK", "0")], "did not come within the start limit");
}

/// Starts a process of another user, which performs `act` at the socket where the first ranks of a job of this name meet; `None` if this user cannot start one.
fn other_user(act: &str, job: &str, text: &str) -> Option<Child> {
    const NOBODY: u32 = 65534;
    let user = rustix::process::geteuid();
    // The same digest as that of the ranks; if theirs changes, the process meets no rank there.
    let digest =
        job.bytes().fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let name = format!("pelago/{}/{digest:016x}/0", user.as_raw());
    let mut command = Command::new(RANK);
    command.args([act, &name, text]).uid(NOBODY).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = user.is_root().then(|| command.spawn().ok()).flatten();
    if started.is_none() {
        eprintln!("not tested: this user cannot start a process of another");
    }
    started
}

#[test]
fn another_user_cannot_come_between() {
    let job = format!("between-{}", std::process::id());
    let Some(mut visitor) = other_user("visit", &job, "pelago-adoption-1 1 3 1 auto") else { return };
    let started = Start { ranks: 3, name: &job, command: &[RANK, "late", "1"], variables: &[START], ..NOTHING }.start();
    let mut said = String::new();
    visitor.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(visitor.wait().expect("a status").success() && said == "rank that is none was sent away\n", "{said}");
    started.signal(1, Signal::KILL);
    let over = started.end();
    assert!(over.error.contains("rank 1 did not come within the start limit"), "not refused because of the visitor: {over:?}");
}

#[test]
fn another_user_who_takes_the_place_of_the_leader_is_refused() {
    let job = format!("instead-{}", std::process::id());
    let Some(mut holder) = other_user("hold", &job, "") else { return };
    let mut said = String::new();
    BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut said).expect("text");
    let over = Start { ranks: 2, name: &job, command: &[PROGRAM, "nothing"], variables: &[START], ..NOTHING }.run();
    holder.kill().expect("it runs");
    holder.wait().expect("a status");
    assert_eq!(over.codes(), [1, 1], "{over:?}");
    assert!(over.error.contains("another process occupies the meeting place of the ranks of this host"), "{over:?}");
    assert!(over.error.contains("a process of user 65534 occupies the meeting place"), "{over:?}");
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let refused = |variables: &[(&str, &str)], code: i32, why: &str| {
        let over = run(2, &[PROGRAM, "nothing"], variables);
        assert_eq!((over.codes(), over.error.matches(why).count()), (vec![code; 2], 2), "{why}: {over:?}");
    };
    refused(&[("PMI_RANK", "2")], 1, "the environment variable PMI_RANK cannot be");
    refused(&[("PMI_SIZE", "some")], 1, "the environment variable PMI_SIZE cannot be");
    refused(&[("PMI_FD", "-1")], 1, "the environment variable PMI_FD cannot be");
    refused(&[("PMI_FD", "999")], 1, "descriptor 999");
    refused(&[("PMI_FD", "1")], 1, "cannot speak to the launcher by descriptor 1 (PMI_FD)");
    refused(&[("PELAGO_START_SECONDS", "0")], 1, "the environment variable PELAGO_START_SECONDS cannot be");
}

#[test]
fn a_launcher_that_does_not_keep_to_the_protocol_is_an_error() {
    let start = Start { ranks: 2, command: &[PROGRAM, "nothing"], variables: &[START], ..NOTHING };
    for (store, refused, unanswered, why) in [
        (&[][..], &["put"][..], &[][..], "the launcher refuses put: no_room"),
        (&[], &[], &["get_maxes"], "the launcher did not answer get_maxes within the start limit"),
        (&[], &[], &["barrier_in"], "not every rank came to the launcher's barrier within the start limit"),
        (&[("PMI_process_mapping", "(vector,(0")], &[], &[], "the launcher answered PMI_process_mapping by"),
    ] {
        let over = Start { store, refused, unanswered, ..start }.run();
        assert_eq!((over.codes(), over.error.matches(why).count()), (vec![1; 2], 2), "{why}: {over:?}");
    }
}

/// A job of the launcher Hydra, where it is installed.
#[test]
fn hydra_starts_jobs() {
    let hydra = |ranks: &str, command: &[&str]| {
        let mut hydra = Command::new("mpiexec.hydra");
        hydra.args(["-n", ranks]).args(command).stdin(Stdio::null());
        end(hydra)
    };
    if Command::new("mpiexec.hydra").arg("--version").output().is_err() {
        return eprintln!("not tested: mpiexec.hydra is not installed (Debian: mpich)");
    }
    for ranks in ["2", "5"] {
        let himeno = hydra(ranks, &[PELAGO, "bundled", "himeno", "S", "--iterations", "3"]);
        assert!(himeno.code == Some(0) && himeno.output.contains(HASH), "{himeno:?}");
    }
    let ring = hydra("4", &[PELAGO, "bundled", "ring"]);
    assert_eq!((ring.code, ring.sorted_lines().len(), ring.error.as_str()), (Some(0), 4, ""), "{ring:?}");
    // It reports the bitwise OR of the exit codes of all ranks: 1 of the first, 3 of those that detected the failure.
    let left = hydra("3", &[PROGRAM, "leave"]);
    assert_eq!((left.code, left.error.matches("rank 0 was lost; the job was ended").count()), (Some(3), 2), "{left:?}");
    // It ends the other ranks immediately.
    let killed = hydra("3", &[PROGRAM, "late"]);
    assert!(killed.code.is_some_and(|code| code != 0), "{killed:?}");
    let placed = hydra("4", &["-launcher", "fork", "-hosts", "a,b", PELAGO, "bundled", "himeno", "S", "--iterations", "3"]);
    assert!(placed.code == Some(0) && placed.output.contains(HASH), "{placed:?}");
}

/// Makes a job of Open MPI's launcher on one host use PMIx, as on several hosts, by removing a variable that its ranks would otherwise use.
const BY_PMIX: [&str; 3] = ["env", "-u", "OMPI_MCA_orte_precondition_transports"];

/// A job of Open MPI's launcher, where it is installed.
#[test]
fn open_mpi_starts_jobs() {
    let mpirun = |ranks: &str, command: &[&str]| {
        let mut mpirun = Command::new("mpirun.openmpi");
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-n", ranks]).args(command).stdin(Stdio::null());
        end(mpirun)
    };
    if Command::new("mpirun.openmpi").arg("--version").output().is_err() {
        return eprintln!("not tested: mpirun.openmpi is not installed (Debian: openmpi-bin)");
    }
    for ranks in ["1", "2", "5"] {
        let himeno = mpirun(ranks, &[PELAGO, "bundled", "himeno", "S", "--iterations", "3"]);
        assert!(himeno.code == Some(0) && himeno.output.contains(HASH), "{himeno:?}");
    }
    // On one host no rank needs the library, so that this invalid one has no effect.
    let folder = std::env::temp_dir().join(format!("pelago-bad-pmix-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("libpmix.so.2"), "").expect("a file");
    let without = format!("LD_LIBRARY_PATH={}", folder.display());
    for by in [&BY_PMIX[..], &["env", &without]] {
        let ring = mpirun("4", &[by, &[PELAGO, "bundled", "ring"]].concat());
        assert_eq!((ring.code, ring.sorted_lines().len(), ring.error.as_str()), (Some(0), 4, ""), "{ring:?}");
    }
    let refused = mpirun("2", &[&BY_PMIX[..], &[&without, PELAGO, "bundled", "ring"]].concat());
    assert!(refused.code == Some(1) && refused.error.contains("libpmix.so.2 cannot be used"), "{refused:?}");
    std::fs::remove_dir_all(&folder).expect("the folder");
    // It ends the other ranks immediately, with the code of the first.
    let left = mpirun("3", &[PROGRAM, "leave"]);
    assert_eq!(left.code, Some(1), "{left:?}");
    let killed = mpirun("3", &[PROGRAM, "late"]);
    assert!(killed.code.is_some_and(|code| code != 0), "{killed:?}");
}

#[test]
fn a_missing_pmix_library_is_one_line_that_says_what_to_install() {
    // The file of this name is not the library.
    let folder = std::env::temp_dir().join(format!("pelago-no-pmix-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("libpmix.so.2"), "").expect("a file");
    let mut command = Command::new(PELAGO);
    command.args(["bundled", "ring"]).stdin(Stdio::null());
    command.envs([("PMIX_NAMESPACE", "job"), ("PMIX_RANK", "0")]).env("LD_LIBRARY_PATH", &folder);
    let ended = end(command);
    std::fs::remove_dir_all(&folder).expect("the folder");
    let says = ["libpmix.so.2 cannot be used", "install it (Debian: libpmix2)"].iter().all(|part| ended.error.contains(part));
    assert!(ended.code == Some(1) && says && ended.error.lines().count() == 1, "{ended:?}");
}

/// Open MPI's launcher is killed and does not end the ranks: they detect its end by the kernel or by the PMIx library, and end by themselves.
#[test]
fn ranks_end_with_an_open_mpi_launcher_that_is_killed() {
    if Command::new("mpirun.openmpi").arg("--version").output().is_err() {
        return eprintln!("not tested: mpirun.openmpi is not installed (Debian: openmpi-bin)");
    }
    for (way, by) in [("put", &[][..]), ("barrier", &[]), ("barrier", &BY_PMIX)] {
        let mark = format!("mpirun-{way}-{}-{}", by.len(), std::process::id());
        let mut mpirun = Command::new("mpirun.openmpi");
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-n", "4"]).args(by).args([PROGRAM, "exchange", way]);
        mpirun.env(MARK, &mark).stdin(Stdio::null());
        let job = Running::of(4, (mpirun, mark));
        job.signal_launcher(Signal::KILL);
        let (status, _) = job.end();
        assert_eq!(status.signal(), Some(9));
        assert_eq!(shared_memory_names(), [""; 0]);
    }
}
