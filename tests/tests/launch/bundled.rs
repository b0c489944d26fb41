//! The bundled programs: the same result for every number of ranks and every decomposition, and one line for wrong arguments.

use rustix::process::{Signal, kill_process};

use crate::{Ended, end, pelago, run, shared_memory_names, wait_until_gone};

/// Result of `himeno S --iterations 3`, independent of the number of ranks.
pub(crate) const HASH: &str = "79dc8598e66ba7bc";
const GOSA: f64 = 3.296794e-3;

#[test]
fn the_ring_closes() {
    for ranks in [1, 2, 5] {
        let ended = run(&["run", "-n", &ranks.to_string(), "ring"]);
        ended.expect(0, "");
        let mut expected: Vec<_> =
            (0..ranks).map(|rank| format!("rank {rank} holds {}", (rank + ranks - 1) % ranks + 1)).collect();
        expected.sort();
        assert_eq!(ended.sorted_lines(), expected);
    }
}

#[test]
fn himeno_is_bitwise_the_same_for_every_number_of_ranks() {
    for ranks in 1..=16 {
        expect_field(&himeno(ranks, &["S", "--iterations", "3"]), HASH);
    }
}

#[test]
fn himeno_is_bitwise_the_same_for_every_split() {
    for split in ["1x1x6", "1x6", "6x1", "2x3", "3x2x1", "1x2x3", "2x1x3"] {
        expect_field(&himeno(6, &["S", "--iterations", "3", "--split", split]), HASH);
    }
    for (ranks, split) in [(8, "2x2x2"), (7, "1x7"), (12, "3x2x2"), (11, "1x1x11"), (16, "2x2x4")] {
        expect_field(&himeno(ranks, &["S", "--iterations", "3", "--split", split]), HASH);
    }
}

#[test]
fn himeno_is_bitwise_the_same_by_every_method_and_route() {
    for (transport, method, route) in ["shm", "udp"]
        .into_iter()
        .flat_map(|transport| ["direct", "packed", "fetched"].map(|method| (transport, method)))
        .flat_map(|(transport, method)| ["direct", "forwarded"].map(|route| (transport, method, route)))
    {
        let way = ["--method", method, "--route", route, "--explain"];
        let job = ["run", "-n", "4", "--transport", transport, "himeno", "S", "--iterations", "3", "--split", "2x2"];
        let ended = run(&[&job[..], &way].concat());
        expect_field(&ended, HASH);
        let taken = format!("{method:<10}");
        assert!(ended.output.lines().any(|line| line.trim_start().starts_with(&taken) && line.contains("chosen:")), "{ended:?}");
    }
}

#[test]
fn himeno_is_bitwise_the_same_by_every_rail() {
    for rails in ["shm,udp", "shm:2,udp"] {
        for by in ["-", "shm", "udp", "udp,shm"] {
            let job = [
                "run",
                "-n",
                "4",
                "--rails",
                rails,
                "himeno",
                "S",
                "--iterations",
                "3",
                "--split",
                "2x2",
                "--rail",
                by,
                "--explain",
            ];
            let ended = run(&job);
            expect_field(&ended, HASH);
            let taken =
                |name: &str| ended.output.lines().any(|line| line.contains(&format!("by {name}")) && line.contains("chosen:"));
            assert!(by != "udp" || taken("udp") && !taken("shm"), "{rails}: {}", ended.output);
            assert!(by != "shm" || rails != "shm,udp" || taken("shm") && !taken("udp"), "{rails}: {}", ended.output);
        }
    }
    let ended = run(&["run", "-n", "2", "--rails", "shm,udp", "himeno", "XS", "--rail", "tca"]);
    assert!(ended.code == Some(1) && ended.error.contains("there is no rail \"tca\" here: give shm, udp or -"));
}

/// The output of a program with correct transfers does not depend on the pairs of ranks that share memory.
#[test]
fn programs_agree_whatever_the_rails() {
    for program in [
        &["fields", "--steps", "5"][..],
        &["alltoall", "--bytes", "2000", "--repeat", "2"],
        &["barrier", "--repeat", "20"],
        &["particles", "--side", "12"],
        &["collectives", "--repeat", "2"],
        &["incast", "--messages", "50"],
        &["counter", "--turns", "20"],
        &["tsp", "--cities", "7"],
        &["ring"],
    ] {
        for rails in ["shm:2,udp", "shm,udp"] {
            let ended = run(&[&["run", "-n", "5", "--rails", rails][..], program].concat());
            assert_eq!(ended.code, Some(0), "{program:?} by {rails}: {ended:?}");
        }
    }
}

#[test]
fn himeno_needs_its_edges_when_b_is_not_zero() {
    let arguments = ["XS", "--iterations", "5", "--b", "0.05"];
    let alone = field(&himeno(1, &arguments), "hash").to_owned();
    assert_ne!(alone, field(&himeno(1, &["XS", "--iterations", "5"]), "hash"));
    for (ranks, split) in [(2, "1x2"), (4, "2x2"), (8, "2x2x2"), (9, "3x3"), (12, "3x2x2"), (5, "1x1x5")] {
        let found = himeno(ranks, &[&arguments[..], &["--split", split]].concat());
        assert_eq!(field(&found, "hash"), alone, "split {split}");
    }
}

#[test]
fn himeno_ends_when_a_rank_is_killed() {
    let (mut command, mark) = pelago(&["run", "-n", "4", "himeno", "S", "--iterations", "1000000"]);
    let launcher = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let victim = loop {
        let ranks = crate::with_environment("PELAGO_RANK=2");
        let own = crate::with_environment(&format!("{}={mark}", crate::MARK));
        if let Some(rank) = ranks.into_iter().find(|process| own.contains(process)) {
            break rank;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    std::thread::sleep(std::time::Duration::from_millis(200));
    kill_process(rustix::process::Pid::from_raw(victim.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let output = launcher.wait_with_output().unwrap();
    wait_until_gone(&mark);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("pelago: rank 2 (process {victim}) was killed by signal 9 (SIGKILL); the job was ended\n"));
    assert_eq!(shared_memory_names(), [""; 0]);
}

#[test]
fn barriers_are_timed_by_every_algorithm() {
    for algorithm in ["ring", "recursive-doubling", "dissemination", "central", "tree", "entry-permit"] {
        for (ranks, transport) in [(1, "shm"), (3, "shm"), (8, "shm"), (2, "udp"), (5, "udp")] {
            let ranks = ranks.to_string();
            let times = ["--repeat", "20", "--warm-up", "2"];
            let job = ["run", "-n", &ranks, "--transport", transport, "barrier", "--algorithm", algorithm];
            let ended = run(&[&job[..], &times].concat());
            ended.expect(0, "");
            let time = ended.output.strip_prefix(&format!("{algorithm} ranks {ranks} us ")).expect("the line");
            let time = time.strip_suffix('\n').expect("one line");
            assert!(time.parse::<f64>().is_ok() && time.rsplit('.').next().map(str::len) == Some(3), "{time}");
        }
    }
    let ended = run(&["run", "-n", "2", "barrier"]);
    assert!(ended.code == Some(0) && ended.output.starts_with("recursive-doubling ranks 2 us "), "{ended:?}");
}

#[test]
fn messages_and_barriers_of_fagus_are_timed_with_and_without_a_progress_thread() {
    for (ranks, transport, progress) in
        [("2", "shm", "manual"), ("3", "shm", "thread"), ("2", "udp", "manual"), ("3", "udp", "thread")]
    {
        let job = ["run", "-n", ranks, "--transport", transport, "--progress", progress];
        let ended = run(&[&job[..], &["fagus", "--repeat", "20", "--warm-up", "2"]].concat());
        ended.expect(0, "");
        let words: Vec<_> = ended.output.split_whitespace().filter(|word| word.parse::<f64>().is_err()).collect();
        assert_eq!(words, ["message", "bytes", "sent", "us", "answered", "us", "barrier", "ranks", "us"], "{ended:?}");
    }
    let ended = run(&["run", "-n", "1", "fagus"]);
    assert!(ended.code == Some(2) && ended.error.contains("give -n 2") && ended.error.lines().count() == 1, "{ended:?}");
}

#[test]
fn operations_are_timed_one_by_one() {
    for (transport, operation, bytes) in [
        ("shm", "put", "100"),
        ("udp", "put", "100000"),
        ("udp", "get", "100000"),
        ("shm", "get", "1"),
        ("udp", "fetch-add", "8"),
        ("shm", "message", "8"),
        ("udp", "message", "5000"),
    ] {
        let program = ["latency", "--operation", operation, "--bytes", bytes, "--repeat", "50"];
        let ended = run(&[&["run", "-n", "3", "--transport", transport][..], &program].concat());
        ended.expect(0, "");
        assert!(
            ended.output.starts_with(&format!("latency {operation} ranks 3 bytes {bytes} operations 50 us p50 ")),
            "{ended:?}"
        );
        let numbers: Vec<f64> = ended.output.split_whitespace().skip(10).filter_map(|word| word.parse().ok()).collect();
        let (times, datagrams) = numbers.split_at(4);
        assert!(times[0] > 0.0 && times.is_sorted(), "{ended:?}");
        match (transport, datagrams) {
            ("shm", []) => {}
            ("udp", &[sent, repeated]) => assert!(sent >= 50.0 && repeated < sent, "{ended:?}"),
            _ => panic!("{ended:?}"),
        }
    }
}

#[test]
fn every_rank_puts_to_every_other() {
    for (ranks, transport, options, bytes) in [
        (1, "shm", &[][..], "4096"),
        (2, "shm", &["--bytes", "1"], "1"),
        (5, "shm", &["--bytes", "70001", "--repeat", "3"], "70001"),
        (8, "shm", &["--repeat", "20"], "4096"),
        (2, "udp", &["--repeat", "3"], "4096"),
        (5, "udp", &["--bytes", "20000", "--repeat", "2"], "20000"),
    ] {
        let ranks = ranks.to_string();
        let ended = run(&[&["run", "-n", &ranks, "--transport", transport, "alltoall"], options].concat());
        ended.expect(0, "");
        let time = ended.output.strip_prefix(&format!("alltoall ranks {ranks} bytes {bytes} us ")).expect("the line");
        let time = time.strip_suffix('\n').expect("one line");
        assert!(time.parse::<f64>().is_ok() && time.rsplit('.').next().map(str::len) == Some(3), "{time}");
    }
    let ended = run(&["run", "-n", "2", "--heap", "4M", "alltoall", "--bytes", "4000000000"]);
    assert!(ended.code == Some(1) && ended.error.starts_with("alltoall: no 8000000000 bytes are left"), "{ended:?}");
}

/// Final checksum of `particles --side 16`, independent of the distribution of the particles.
const TALLY: &str = "4a8e535186652e28";

#[test]
fn particles_are_the_same_for_every_number_of_ranks() {
    let mut moved = 0;
    for ranks in 1..=8 {
        for options in [&[][..], &["--no-sync"], &["--algorithm", "ring"]] {
            moved += expect_particles(ranks, &[], &[&["--side", "16"][..], options].concat(), TALLY);
        }
    }
    assert!(moved > 10_000, "particles change their owners: {moved}");
}

#[test]
fn particles_are_the_same_over_the_network() {
    for ranks in [1, 2, 3, 8] {
        for options in [&[][..], &["--no-sync"]] {
            expect_particles(ranks, &["--transport", "udp"], &[&["--side", "16"][..], options].concat(), TALLY);
        }
    }
}

#[test]
fn there_may_be_fewer_particles_than_ranks() {
    for arguments in [&["--side", "2"][..], &["--side", "2", "--no-sync", "--dt", "100"], &["--side", "1", "--seed", "7"]] {
        let alone = particles(1, &[], arguments);
        expect_particles(12, &[], arguments, tally_of(&alone));
    }
}

#[test]
fn particles_are_read_from_a_file() {
    let folder = std::env::temp_dir().join(format!("pelago-particles-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str, records: &[[f64; 3]]| {
        let path = folder.join(name);
        let record = |(id, position): (usize, &[f64; 3])| {
            let mut record = (id as u64).to_le_bytes().to_vec();
            record.extend(position.iter().flat_map(|x| x.to_le_bytes()));
            record.extend([0.3f32, 0.2, -0.1, 1.0].iter().flat_map(|v| v.to_le_bytes()));
            record
        };
        std::fs::write(&path, records.iter().enumerate().flat_map(record).collect::<Vec<_>>()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let positions: Vec<_> = (0..100).map(|i| [f64::from(i) / 100.0, f64::from(i % 7) / 7.0, f64::from(i % 3) / 3.0]).collect();
    let good = path("good", &positions);
    let alone = particles(1, &[], &["--file", &good]);
    for ranks in [2, 5] {
        expect_particles(ranks, &[], &["--file", &good], tally_of(&alone));
    }
    let outside = path("outside", &[[0.5; 3], [0.5; 3], [0.5, 1.0, 0.5]]);
    let ended = run(&["run", "-n", "2", "particles", "--file", &outside]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.error.starts_with(&format!("particles: record 2 of {outside} is no particle of the unit box\n")), "{ended:?}");
    let short = folder.join("short");
    std::fs::write(&short, [0; 47]).unwrap();
    for (file, says) in [(short.to_str().unwrap(), "is not a file of records of 48 bytes"), ("/no/file", "cannot read /no/file")]
    {
        let ended = run(&["run", "-n", "2", "particles", "--file", file]);
        assert!(ended.code == Some(2) && ended.error.contains(says) && ended.error.lines().count() == 1, "{ended:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The published values of the class for every number of ranks, on one host and on several.
#[test]
fn nas_programs_verify_for_every_number_of_ranks() {
    for program in ["is", "cg"] {
        for (ranks, transport) in [("1", "shm"), ("2", "shm"), ("5", "shm"), ("3", "udp")] {
            let ended = run(&["run", "-n", ranks, "--transport", transport, program, "S"]);
            ended.expect(0, "");
            assert!(ended.output.trim_end().ends_with(" verified"), "{ended:?}");
        }
    }
    // The other class with short runs; `tools/peers/nas.sh` runs all classes.
    for transport in ["shm", "udp"] {
        let ended = run(&["run", "-n", "2", "--transport", transport, "is", "W"]);
        ended.expect(0, "");
        assert!(ended.output.trim_end().ends_with(" verified"), "{ended:?}");
    }
}

/// Each program finds the results of one rank for any number of ranks, prints that it does, and transfers no more bytes than whole pages would take.
#[test]
fn programs_that_share_memory_find_what_one_rank_finds() {
    let programs = [
        &["sor", "--size", "60", "--iterations", "4"][..],
        &["sor", "--size", "61", "--iterations", "3", "--page", "100"],
        &["sor", "--size", "60", "--iterations", "4", "--page-faults"],
        &["sor", "--size", "61", "--iterations", "3", "--page", "512", "--page-faults"],
        &["lu", "--blocks", "5", "--rows", "8"],
        &["kmeans", "--points", "3000", "--clusters", "7"],
        &["tsp", "--cities", "9"],
    ];
    for (program, (ranks, transport)) in programs
        .iter()
        .flat_map(|program| [("1", "shm"), ("2", "shm"), ("5", "shm"), ("2", "udp"), ("3", "udp")].map(|job| (program, job)))
    {
        let ended = run(&[&["run", "-n", ranks, "--transport", transport], *program].concat());
        if ended.error.contains("page faults need userfaultfd") {
            assert!(program.contains(&"--page-faults") && ended.error.lines().count() == 1, "{ended:?}");
            eprintln!("not tested: {}", ended.error);
            continue;
        }
        ended.expect(0, "");
        let line = ended.output.lines().last().expect("a line");
        assert!(line.starts_with(program[0]) && line.ends_with(" same"), "{ended:?}");
        let after = |word: &str| {
            let mut words = line.split(' ').skip_while(|found| *found != word);
            words.nth(1).and_then(|number| number.parse::<f64>().ok()).unwrap_or_else(|| panic!("no {word}: {line}"))
        };
        assert_eq!(after("ranks").to_string(), *ranks);
        assert!(after("ms") > 0.0 && after("serial") > 0.0 && after("speedup") >= 0.0);
        // Notes of changed pages are transferred in addition to their contents.
        assert!(after("bytes") <= after("whole") * 1.25, "{line}");
        assert!(ranks == "1" || after("bytes") > 0.0, "{line}");
    }
}

#[test]
fn no_rank_sees_what_is_forbidden() {
    let real = |ranks, transport, runs| run(&["run", "-n", ranks, "--transport", transport, "litmus", "--runs", runs]);
    for (ranks, transport, runs, games) in [("2", "shm", "2000", 9), ("4", "shm", "600", 12), ("4", "udp", "300", 12)] {
        assert_none_forbidden(&real(ranks, transport, runs), games);
    }
    // Runs in which all ranks observe the same values prove nothing. On busy cores, ranks may run one after another; in virtual time
    // they never do.
    let simulated = ["sim", "-n", "4", "--machine", "rx200-qdr", "--protocol", "--faults", "delay=0.3:20us", "--seed", "1"];
    let ended = run(&[&simulated[..], &["litmus", "--runs", "100"]].concat());
    assert_none_forbidden(&ended, 12);
    let apart = ended.output.lines().filter(|line| !line.contains(" apart 0 ")).count();
    assert!(apart >= 10, "{ended:?}");
}

fn assert_none_forbidden(ended: &Ended, games: usize) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.output.lines().count(), games, "{ended:?}");
    assert!(ended.output.lines().all(|line| line.starts_with("litmus ") && line.ends_with(" forbidden 0")), "{ended:?}");
}

#[test]
fn wrong_arguments_are_one_line_before_any_rank_starts() {
    for (arguments, says) in [
        (&["himeno", "Q"][..], "himeno: invalid value 'Q'"),
        (&["himeno", "S", "--split", "3x1"], "himeno: split 3x1x1 makes 3 blocks, but there are 4 ranks"),
        (&["himeno", "S", "--iterations", "0"], "himeno: invalid value '0'"),
        (&["himeno", "--b", "much"], "himeno: invalid value 'much'"),
        (&["ring", "round"], "ring: "),
        (&["barrier", "--algorithm", "star"], "barrier: invalid value 'star'"),
        (&["barrier", "--repeat", "0"], "barrier: invalid value '0'"),
        (&["barrier", "--repeat", "-1"], "barrier: invalid value '-1'"),
        (&["barrier", "--warm-up", "some"], "barrier: invalid value 'some'"),
        (&["barrier", "8"], "barrier: unexpected argument '8'"),
        (&["alltoall", "--bytes", "0"], "alltoall: invalid value '0'"),
        (&["alltoall", "--bytes", "4294967296"], "alltoall: invalid value '4294967296'"),
        (&["alltoall", "--repeat", "-1"], "alltoall: invalid value '-1'"),
        (&["alltoall", "4096"], "alltoall: unexpected argument '4096'"),
        (&["fagus", "--bytes", "0"], "fagus: invalid value '0'"),
        (&["latency", "--operation", "push"], "latency: invalid value 'push'"),
        (&["particles", "--side", "0"], "particles: invalid value '0'"),
        (&["particles", "--side", "1025"], "particles: invalid value '1025'"),
        (&["particles", "--dt", "inf"], "particles: invalid value 'inf'"),
        (&["particles", "--cost-pack", "-1"], "particles: invalid value '-1'"),
        (
            &["particles", "--side", "8", "--file", "x"],
            "particles: the argument '--side <N>' cannot be used with '--file <PATH>'",
        ),
        (&["particles", "--algorithm", ""], "particles: invalid value ''"),
        (&["sor", "--size", "0"], "sor: invalid value '0'"),
        (&["sor", "--page", "40000"], "sor: invalid value '40000'"),
        (&["lu", "--rows", "129"], "lu: a row has at most 128 blocks, and a block 128 rows"),
        (&["kmeans", "--points", "3", "--clusters", "4"], "kmeans: there are at least as many points as clusters"),
        (&["litmus", "--runs", "none"], "litmus: invalid value 'none'"),
    ] {
        let (mut command, _) = pelago(&["run", "-n", "4"]);
        command.args(arguments);
        let ended = end(command);
        assert!(ended.code == Some(2) && ended.error.starts_with(&format!("pelago: {says}")), "{arguments:?}: {ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{ended:?}");
    }
}

fn himeno(ranks: u32, arguments: &[&str]) -> Ended {
    let ended = run(&[&["run", "-n", &ranks.to_string(), "himeno"], arguments].concat());
    ended.expect(0, "");
    ended
}

fn particles(ranks: u32, options: &[&str], arguments: &[&str]) -> Ended {
    let ended = run(&[&["run", "-n", &ranks.to_string()], options, &["particles"], arguments].concat());
    ended.expect(0, "");
    ended
}

/// Returns the checksum of a report.
fn tally_of(ended: &Ended) -> &str {
    ended.output.trim_end().rsplit(' ').next().expect("a word")
}

/// Checks the report and returns the number of particles that moved.
#[track_caller]
fn expect_particles(ranks: u32, options: &[&str], arguments: &[&str], tally: &str) -> u64 {
    let ended = particles(ranks, options, arguments);
    assert_eq!(tally_of(&ended), tally, "{}", ended.output);
    let phases: Vec<_> = ended.output.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(phases, ["phase", "count", "ready", "pack", "put", "arrive", "unpack", "total", "ranks"]);
    let words: Vec<_> = ended.output.lines().last().expect("a line").split(' ').collect();
    assert_eq!((words[0], words[1], words[4]), ("ranks", &*ranks.to_string(), "moved"));
    words[5].parse().expect("a number")
}

#[track_caller]
pub(crate) fn expect_field(ended: &Ended, hash: &str) {
    assert_eq!(field(ended, "hash"), hash, "{}", ended.output);
    let gosa: f64 = field(ended, "gosa").parse().unwrap();
    assert!((gosa - GOSA).abs() <= 1e-6 * GOSA, "{}", ended.output);
}

fn field<'a>(ended: &'a Ended, name: &str) -> &'a str {
    let line = ended.output.lines().find(|line| line.split_whitespace().next() == Some(name)).expect("a line of the report");
    line.split_whitespace().nth(1).expect("a value")
}
