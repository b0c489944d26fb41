//! Jobs over libfabric, where it is installed, and the messages where it is not.

use rustix::process::{Signal, kill_process};

use crate::{Ended, PROGRAM, Running, end, pelago, run, shared_memory_names, wait_until_gone};

/// Options of a job over sockets by libfabric.
const TCP: [&str; 4] = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm"];

/// Runs a program over libfabric.
fn over(fabric: &str, ranks: &str, program: &[&str]) -> Ended {
    run(&[&["run", "-n", ranks, "--transport", "ofi", "--fabric", fabric], program].concat())
}

/// Whether libfabric is installed; writes a line if not.
pub(crate) fn is_installed() -> bool {
    let ended = run(&["info"]);
    let line = ended.output.lines().find(|line| line.starts_with("transport ofi")).expect("a line for it");
    let says = line.trim_start_matches("transport ofi").trim();
    let missing = says.starts_with("no: libfabric cannot be opened");
    if missing {
        eprintln!("skipped: {says}");
    } else {
        assert!(says.contains("(libfabric "), "{line}");
    }
    !missing
}

#[test]
fn every_operation_works_over_each_provider_of_sockets() {
    if !is_installed() {
        return;
    }
    over("tcp;ofi_rxm:lo", "2", &[PROGRAM, "everything"]).expect(0, "");
    // Two rails, with an endpoint of a provider each.
    over("tcp;ofi_rxm:lo,sockets", "2", &[PROGRAM, "everything"]).expect(0, "");
    for (fabric, ranks) in [("tcp;ofi_rxm", ["1", "2", "5"]), ("udp;ofi_rxd", ["1", "2", "3"]), ("shm", ["1", "2", "3"])] {
        for ranks in ranks {
            over(fabric, ranks, &[PROGRAM, "everything"]).expect(0, "");
        }
        for act in ["registered", "device", "wake"] {
            over(fabric, "3", &[PROGRAM, act]).expect(0, "");
        }
    }
}

#[test]
fn bundled_programs_compute_the_same_over_a_fabric() {
    if !is_installed() {
        return;
    }
    let hash = |ended: &Ended| ended.output.lines().find(|line| line.starts_with("hash")).map(str::to_owned);
    let himeno = ["himeno", "XS", "--iterations", "8"];
    let alone = run(&[&["run", "-n", "1", "--transport", "shm"], &himeno[..]].concat());
    for ranks in ["1", "2", "4", "7"] {
        let ended = over("tcp;ofi_rxm", ranks, &himeno);
        assert!(ended.code == Some(0) && hash(&ended).is_some() && hash(&ended) == hash(&alone), "{ended:?}");
        let ring = over("tcp;ofi_rxm", ranks, &["ring"]);
        assert!(ring.code == Some(0) && ring.output.lines().count().to_string() == ranks, "{ring:?}");
        let counter = over("tcp;ofi_rxm", ranks, &["counter", "--turns", "20"]);
        assert!(counter.code == Some(0) && counter.output.starts_with(&format!("counter ranks {ranks} ")), "{counter:?}");
    }
}

/// Programs that check their own results; `ring`, `himeno` and `counter` are compared above.
#[test]
fn every_bundled_program_runs_over_a_fabric() {
    if !is_installed() {
        return;
    }
    let reads = std::env::temp_dir().join(format!("pelago-fabric-{}.fa", std::process::id()));
    // A schedule, and for each rank a trace without nodes.
    let [schedule, traces] =
        ["goal", "trace"].map(|name| std::env::temp_dir().join(format!("pelago-fabric-{}.{name}", std::process::id())));
    std::fs::write(&schedule, "num_ranks 3\nrank 0 { send 4000b to 2 tag 1 }\nrank 2 { recv 4000b from 0 tag 1 }")
        .expect("a schedule");
    let trace_of = |rank| std::path::PathBuf::from(format!("{}.{rank}.et", traces.display()));
    (0..3).for_each(|rank| std::fs::write(trace_of(rank), [0]).expect("a trace"));
    let kmers = ["kmers", reads.to_str().expect("a name"), "--generate", "20000", "--verify"];
    let programs = [
        &["fields", "--steps", "5"][..],
        &["barrier", "--repeat", "20"],
        &["fagus", "--repeat", "20", "--warm-up", "2"],
        &["latency", "--operation", "fetch-add", "--repeat", "50"],
        &["collectives", "--repeat", "2"],
        &["alltoall", "--bytes", "2000", "--repeat", "2"],
        &["incast", "--messages", "50"],
        &["tsp", "--cities", "7"],
        &["sor"],
        &["lu"],
        &["litmus", "--runs", "10"],
        &["kmeans"],
        &["particles", "--side", "12"],
        &kmers,
        &["gups", "--log-words", "8", "--updates", "1"],
        &["gups", "--log-words", "8", "--updates", "1", "--by", "atomics"],
        &["uts", "--root", "200", "--verify"],
        &["bfs", "--scale", "8", "--roots", "2"],
        &["is"],
        &["cg"],
        &["goal", schedule.to_str().expect("a name")],
        &["chakra", traces.to_str().expect("a name")],
    ];
    let bundled = run(&["run", "--list"]).output;
    let names = bundled.lines().filter_map(|line| line.split_whitespace().next());
    // The other test runs the first three; the last one needs a driver of GPUs.
    let elsewhere = ["ring", "himeno", "counter", "gpu"];
    let is_run = |name: &&str| programs.iter().any(|program| program[0] == *name) || elsewhere.contains(name);
    assert_eq!(names.filter(|name| !is_run(name)).collect::<Vec<_>>(), [""; 0], "every program");
    for program in programs {
        let ended = over("tcp;ofi_rxm", "3", program);
        assert!(ended.code == Some(0) && ended.error.is_empty(), "{program:?}: {ended:?}");
    }
    for file in [reads, schedule].into_iter().chain((0..3).map(trace_of)) {
        let _may_stay = std::fs::remove_file(file);
    }
}

#[test]
fn a_killed_rank_ends_the_job_and_nothing_is_left() {
    if !is_installed() {
        return;
    }
    for way in ["put", "get", "add", "barrier"] {
        let job = Running::of(4, pelago(&[&["run", "-n", "4"], &TCP[..], &[PROGRAM, "exchange", way]].concat()));
        kill_process(job.processes[2], Signal::KILL).expect("it runs");
        job.end().1.expect(3, "rank 2 (process *) was killed by signal 9 (SIGKILL); the job was ended");
        assert_eq!(shared_memory_names(), [""; 0]);
    }
    let ended = over("tcp;ofi_rxm", "4", &[PROGRAM, "lost"]);
    ended.expect(3, "rank 1 (process *) was killed by signal 6 (SIGABRT); the job was ended");
    // A rank inside a call of the provider may return from it only after the grace period, too late to save its work.
    let saved = [0, 2, 3].map(|rank| format!("rank {rank} saves its work"));
    assert!(ended.sorted_lines().iter().all(|line| saved.iter().any(|saved| saved == line)), "{ended:?}");
}

#[test]
fn survivors_go_on_without_a_killed_rank() {
    if !is_installed() {
        return;
    }
    for (act, became) in
        [("survive", "went on, its words out of reach"), ("mailbox", "went on"), ("channel", "was told"), ("parties", "was told")]
    {
        let job = Running::of(4, pelago(&[&["run", "-n", "4"], &TCP[..], &[PROGRAM, act]].concat()));
        kill_process(job.processes[3], Signal::KILL).expect("it runs");
        let ended = job.end().1;
        ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
        assert_eq!(ended.sorted_lines(), [0, 1, 2].map(|rank| format!("rank {rank} {became}")), "{act}");
    }
}

#[test]
fn what_a_fabric_cannot_do_is_one_line() {
    let ofi = |options: &[&str]| run(&[&["run", "-n", "2", "--transport", "ofi"], options, &["ring"]].concat());
    ofi(&["--encrypt"]).expect(2, "fabrics do not encrypt: --encrypt needs --transport auto or udp");
    run(&["run", "-n", "2", "--fabric", "shm", "ring"]).expect(2, "--fabric is for --transport ofi");
    if !is_installed() {
        return;
    }
    for fabric in ["nosuch", "tcp;ofi_rxm:nosuch"] {
        let unknown = ofi(&["--fabric", fabric]);
        let says = format!("libfabric knows no fabric for {fabric} with");
        assert!(unknown.code == Some(2) && unknown.error.lines().count() == 1 && unknown.error.contains(&says), "{unknown:?}");
    }
}

#[test]
fn a_missing_library_is_one_line_that_says_what_to_install() {
    // The file of this name is not the library.
    let folder = std::env::temp_dir().join(format!("pelago-no-fabric-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("libfabric.so.1"), "").expect("a file");
    let (mut command, mark) = pelago(&["run", "-n", "3", "--transport", "ofi", "ring"]);
    command.env("LD_LIBRARY_PATH", &folder);
    let ended = end(command);
    wait_until_gone(&mark);
    std::fs::remove_dir_all(&folder).expect("the folder");
    let says = ["libfabric cannot be opened: ", "libfabric1"].iter().all(|part| ended.error.contains(part));
    assert!(ended.code == Some(2) && says && ended.error.lines().count() == 1, "{ended:?}");
}
