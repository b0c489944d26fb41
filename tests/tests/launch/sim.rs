//! The same programs on simulated machines.

use crate::{Ended, end, pelago, run};

/// Runs `pelago sim`, which is one process.
fn sim(arguments: &[&str]) -> Ended {
    run(&[&["sim", "--machine", "rx200-qdr"], arguments].concat())
}

/// Returns the number after a word of the output.
fn number(ended: &Ended, word: &str) -> f64 {
    let mut words = ended.output.split_whitespace().skip_while(|found| *found != word);
    words.nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number after {word}: {ended:?}"))
}

#[test]
fn programs_compute_the_same_as_on_a_real_machine() {
    for ranks in [1, 2, 5, 8] {
        let ranks = ranks.to_string();
        for program in [&["ring"][..], &["himeno", "XS", "--iterations", "5"], &["particles", "--side", "16"]] {
            let results = |ended: &Ended| -> Vec<String> {
                ended.expect(0, "");
                let kept = |line: &&&str| ["rank", "hash", "gosa"].iter().any(|word| line.starts_with(word));
                ended.sorted_lines().iter().filter(kept).map(|line| (*line).to_owned()).collect()
            };
            let real = results(&run(&[&["run", "-n", &ranks], program].concat()));
            assert!(!real.is_empty());
            for per_node in ["1", "2"] {
                assert_eq!(results(&sim(&[&["--quiet", "-n", &ranks, "--per-node", per_node], program].concat())), real);
            }
            let lossy = ["--quiet", "-n", &ranks, "--faults", "loss=0.1,duplicate=0.05,delay=0.1:50us", "--seed", "3"];
            assert_eq!(results(&sim(&[&lossy, program].concat())), real, "over a network that loses");
        }
    }
}

/// Of one rank, an iteration takes no virtual time, so that no number of iterations takes three seconds.
#[test]
fn himeno_ends_without_a_number_of_iterations() {
    for ranks in ["1", "2"] {
        let ended = sim(&["--quiet", "--time-limit", "300", "-n", ranks, "himeno", "6x6x6"]);
        ended.expect(0, "");
        assert_eq!(number(&ended, "iterations"), 10.0, "{ended:?}");
    }
}

/// Table 2 of paper C: the barrier of Fagus on three networks, and their comparison.
#[test]
fn fagus_meets_in_the_times_of_its_paper() {
    let time_with = |machine, set: &[&str]| {
        let job = ["sim", "--machine", machine, "-n", "2", "--quiet"];
        let program = ["barrier", "--algorithm", "entry-permit", "--repeat", "100", "--warm-up", "1"];
        let ended = run(&[&job, set, &program[..]].concat());
        ended.expect(0, "");
        number(&ended, "us")
    };
    let [dimmnet, fast, gigabit] = ["dimmnet1", "fast-ethernet", "gigabit-ethernet"].map(|machine| time_with(machine, &[]));
    let library = time_with("dimmnet1", &["--set", "node.software.call_ns=1412.3"]);
    for (here, paper) in [
        (dimmnet, 29.8033),
        (fast, 179.8826),
        (gigabit, 136.6572),
        (fast / dimmnet, 6.04),
        (gigabit / dimmnet, 4.59),
        (library, 4.0881),
        (dimmnet / library, 7.290),
    ] {
        assert!((here / paper - 1.0).abs() < 0.01, "{here}, published {paper}");
    }
}

/// Tables 1 and 3 of paper C: a message of 10,000 bytes waits for the switch of memory banks at each packet; a polling thread takes half of the core.
#[test]
fn a_block_on_dimmnet_waits_for_its_banks() {
    let time_with = |set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|value| ["--set", value]).collect();
        let ended = run(&[&["sim", "--machine", "dimmnet1", "-n", "2", "--quiet"], &set[..], &["fagus"]].concat());
        ended.expect(0, "");
        number(&ended, "us") / 1e3
    };
    let (inline, thread) = (time_with(&[]), time_with(&["node.software.detection=thread"]));
    assert!(
        (inline - 20.0).abs() < 0.01 && (thread - 23.59).abs() < 0.01,
        "{inline} and {thread} ms, published 20.000 and 23.590"
    );
    // The share of each part, from runs without it.
    for (percent, set) in [
        (99.46, &["rail.1.nic.bank_ns=0", "rail.1.nic.bank_core_ns=0"][..]),
        (0.36, &["rail.1.nic.overhead_ns=0", "node.software.call_ns=0"]),
        (0.11, &["rail.1.link.gb_per_s=inf"]),
        (0.071, &["rail.1.router.switch_ns=0"]),
    ] {
        let share = (inline - time_with(set)) / inline * 100.0;
        assert!((share / percent - 1.0).abs() < 0.03, "{set:?}: {share} %, published {percent} %");
    }
    // On a core of its own, the thread costs only its signals.
    let apart = time_with(&["node.software.detection=thread", "node.software.spare_cores=1"]);
    assert!((apart - inline - 22.0 * 0.005).abs() < 1e-6, "{apart} ms");
    let batched = time_with(&["rail.1.nic.bank_packets=22"]);
    assert!(batched < inline / 15.0, "one switching for all packets: {batched} of {inline} ms");
}

#[test]
fn memory_is_shared_on_simulated_machines() {
    for (ranks, program) in [
        ("3", &["sor", "--size", "40", "--iterations", "3"][..]),
        ("4", &["lu", "--blocks", "4", "--rows", "8"]),
        ("3", &["kmeans", "--points", "1000", "--clusters", "5"]),
        ("2", &["tsp", "--cities", "8"]),
        ("4", &["litmus", "--runs", "200"]),
    ] {
        for way in [&["--per-node", "2"][..], &["--faults", "loss=0.05,duplicate=0.05,delay=0.1:20us", "--seed", "5"]] {
            let ended = sim(&[&["--quiet", "-n", ranks], way, program].concat());
            ended.expect(0, "");
            let good = |line: &str| line.ends_with(" same") || line.ends_with(" forbidden 0") || line.starts_with("tsp");
            assert!(!ended.output.is_empty() && ended.output.lines().all(good), "{ended:?}");
        }
    }
}

#[test]
fn nas_programs_verify_on_simulated_machines() {
    for (program, way) in [
        ("is", &["--per-node", "2"][..]),
        ("is", &["--faults", "loss=0.02,duplicate=0.05,delay=0.1:20us", "--seed", "5"]),
        ("cg", &["--per-node", "2"]),
    ] {
        let ended = sim(&[&["--quiet", "-n", "3"], way, &[program, "S"]].concat());
        ended.expect(0, "");
        assert!(ended.output.trim_end().ends_with(" verified"), "{ended:?}");
    }
}

/// The closed form of `docs/book/src/simulator.md`: s steps of o + 156,414 ps, and an acknowledgement of 148,700 ps.
fn closed_form_us(steps: u32) -> f64 {
    let picoseconds = u64::from(steps) * (1_000_000 + 156_414) + 148_700;
    (picoseconds as f64 / 1e3).round() / 1e3
}

/// Returns the number of dependent steps of recursive doubling: p = 2ⁿ + r.
fn doubling_steps(ranks: u32) -> u32 {
    let n = ranks.ilog2();
    match ranks - (1 << n) {
        0 => n,
        r => n + 1 + u32::from(2 * r > 1 << n),
    }
}

#[test]
fn barriers_take_the_time_of_the_closed_form() {
    for ranks in 2..=32_u32 {
        for (algorithm, steps) in [("ring", ranks - 1), ("recursive-doubling", doubling_steps(ranks))] {
            let ended = sim(&["-n", &ranks.to_string(), "--quiet", "barrier", "--algorithm", algorithm]);
            ended.expect(0, "");
            assert!(ended.output.starts_with(&format!("{algorithm} ranks {ranks} us ")));
            let (time, form) = (number(&ended, "us"), closed_form_us(steps));
            if algorithm == "ring" || ranks.is_power_of_two() {
                assert_eq!(time, form, "{algorithm} of {ranks}");
            } else {
                // A rank with a surplus partner puts twice, after an acknowledgement: at most two control packets and their cables.
                assert!((0.0..0.03).contains(&(time - form)), "{algorithm} of {ranks}: {time} for {form}");
            }
        }
    }
    assert_eq!([closed_form_us(doubling_steps(16)), closed_form_us(15)], [4.774, 17.495], "16 ranks");
}

#[test]
fn two_ranks_of_a_node_share_its_interface() {
    let time = |ranks: u32, algorithm| {
        let ended = sim(&["-n", &ranks.to_string(), "--per-node", "2", "--quiet", "barrier", "--algorithm", algorithm]);
        number(&ended, "us")
    };
    for ranks in [8, 16, 32] {
        let doubling = time(ranks, "recursive-doubling");
        assert!(doubling < time(ranks, "ring"), "{ranks} ranks: recursive doubling is ahead of the ring");
        assert!(doubling < time(ranks - 1, "recursive-doubling") && doubling < time(ranks + 1, "recursive-doubling"));
    }
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let directory = std::env::temp_dir().join(format!("pelago-sim-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let files = |run: u32, seed: &str| {
        let paths = ["json", "html", "trace"].map(|kind| directory.join(format!("{run}.{kind}")));
        let [json, html, trace] = paths.each_ref().map(|path| path.to_str().unwrap());
        let faults = ["--faults", "loss=0.05", "--seed", seed, "particles", "--side", "8"];
        sim(&[&["-n", "6", "--quiet", "--report", json, "--trace", trace], &faults[..]].concat()).expect(0, "");
        sim(&["-n", "6", "--quiet", "--report", html, "particles", "--side", "8"]).expect(0, "");
        paths.map(|path| std::fs::read(path).unwrap())
    };
    let first = files(1, "7");
    assert!(first == files(2, "7"), "byte by byte");
    let other = files(3, "8");
    assert!(first[0] != other[0] && first[1] == other[1], "losses depend on the seed, and nothing else does");
    std::fs::remove_dir_all(directory).unwrap();
}

/// Returns a machine file of this machine, for a test, by `pelago tune`; `None` with a message where it has one core.
fn tuned(path: &str) -> Option<String> {
    let ended = run(&["tune", "--rounds", "1", "-o", path]);
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        assert!(ended.code == Some(2) && ended.error.contains("one core") && ended.error.lines().count() == 1, "{ended:?}");
        return None;
    }
    assert_eq!((ended.code, ended.output.as_str(), ended.error.as_str()), (Some(0), "", ""));
    Some(std::fs::read_to_string(path).unwrap())
}

#[test]
fn this_machine_is_described_and_simulated() {
    let path = std::env::temp_dir().join(format!("pelago-tuned-{}.toml", std::process::id()));
    let path = path.to_str().unwrap();
    let Some(text) = tuned(path) else { return };
    assert!(
        text.starts_with("# Measured by `pelago tune` on ")
            && text.contains(&format!("name = \"pelago-tuned-{}\"", std::process::id()))
    );
    for key in ["visible_ns", "atomic_ns", "page_ns", "put", "get"] {
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{key} = ")) && line.contains("# measured: ")),
            "{key}: {text}"
        );
    }
    let on = |arguments: &[&str]| run(&[&["sim", "--machine", path, "--quiet", "-n", "2"], arguments].concat());
    let ended = on(&["--per-node", "2", "ring"]);
    assert_eq!((ended.code, ended.sorted_lines()), (Some(0), vec!["rank 0 holds 2", "rank 1 holds 1"]), "{ended:?}");
    assert!(number(&on(&["--per-node", "2", "barrier", "--repeat", "10"]), "us") > 0.0);
    let apart = on(&["ring"]);
    assert!(apart.code == Some(2) && apart.error.contains("has no network"), "{apart:?}");
    std::fs::remove_file(path).unwrap();
}

/// Returns the lines of the output as JSON values.
fn json_values(ended: &Ended) -> Vec<serde_json::Value> {
    ended.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn this_machine_is_described_and_checked_over_udp() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        return;
    }
    let path = std::env::temp_dir().join(format!("pelago-tuned-udp-{}.toml", std::process::id()));
    let path = path.to_str().unwrap();
    run(&["tune", "--transport", "udp", "--rounds", "1", "-o", path]).expect(0, "");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("\n# The machine was not known to be quiet"), "one round tells nothing: {text}");
    for key in ["cores", "switch_ns", "datagram_bytes", "window_bytes", "post_ns", "latency_ns", "wake_ns", "send", "receive"] {
        let says = |line: &str| ["# read", "# measured: ", "# fitted: "].iter().any(|how| line.contains(how));
        assert!(text.lines().any(|line| line.starts_with(&format!("{key} = ")) && says(line)), "{key}: {text}");
    }
    let ranks = run(&["sim", "--machine", path, "--quiet", "-n", "4", "--per-node", "4", "ring"]);
    assert_eq!((ranks.code, ranks.sorted_lines().len()), (Some(0), 4), "{ranks:?}");
    let check = ["tune", "--transport", "udp", "--check", "--machine", path, "--rounds", "1"];
    let ended = run(&[&check[..], &["-n", "2,4", "--only", "ring,barrier", "--json"]].concat());
    assert_eq!((ended.code, ended.error.as_str()), (Some(0), ""), "{ended:?}");
    let (values, mut programs) = (json_values(&ended), Vec::new());
    for value in &values[..4] {
        assert!(value["real_us"].as_f64().unwrap() > 0.0 && value["simulated_us"].as_f64().unwrap() > 0.0, "{value}");
        assert!(value["error_percent"].is_f64() && value["real_spread_percent"].is_null(), "one round has no spread: {value}");
        assert_eq!(value["transport"], "udp");
        programs.push((value["program"].as_str().unwrap(), value["ranks"].as_u64().unwrap()));
    }
    assert_eq!(programs, [("ring", 2), ("barrier", 2), ("ring", 4), ("barrier", 4)]);
    assert_eq!(
        (values.len(), &values[4]["machine"], &values[4]["within_limits"]),
        (5, &"unknown".into(), &serde_json::Value::Null)
    );
    let table = run(&[&check[..], &["-n", "2", "--only", "ring"]].concat());
    assert!(table.output.ends_with("these figures do not count\n"), "{table:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ranks_that_share_memory_see_each_other_after_the_time_of_the_machine() {
    let ended = run(&[
        "sim",
        "--machine",
        "laptop",
        "--quiet",
        "-n",
        "2",
        "--per-node",
        "2",
        "barrier",
        "--repeat",
        "100",
        "--warm-up",
        "2",
    ]);
    let (put, visible) = (2.50, 62.97);
    assert!((number(&ended, "us") * 1e3 - put - visible).abs() < 1.0, "{ended:?}");
}

#[test]
fn computing_that_is_not_measured_is_the_same_every_time() {
    let report = std::env::temp_dir().join(format!("pelago-computing-{}.json", std::process::id()));
    let path = report.to_str().unwrap();
    let run = |how: &str| {
        let ended = sim(&["-n", "2", "--quiet", "--compute", how, "--report", path, "particles", "--side", "16"]);
        ended.expect(0, "");
        (number(&ended, "count"), std::fs::read_to_string(path).unwrap())
    };
    let (declared, zero) = (run("declared"), run("zero"));
    assert_eq!((&declared, &zero), (&run("declared"), &run("zero")));
    assert!(declared.1.contains("\"computing\":\"declared\"") && zero.1.contains("\"computing\":\"zero\""));
    assert!(declared.0 > 0.0 && zero.0 == 0.0, "the owners of particles are found in no time");
    let measured = run("measured");
    assert!(measured.0 > 0.0 && measured.1.contains("\"computing\":\"measured, times 1\""), "{}", measured.0);
    std::fs::remove_file(report).unwrap();
}

#[test]
fn rounds_of_the_ring_are_timed() {
    for command in [&["run", "-n", "3"][..], &["sim", "--machine", "rx200-qdr", "--quiet", "-n", "3"]] {
        let ended = run(&[command, &["ring", "--repeat", "20", "--warm-up", "2"]].concat());
        ended.expect(0, "");
        assert!(ended.output.starts_with("ring ranks 3 us ") && number(&ended, "us") > 0.0, "{ended:?}");
    }
}

#[test]
fn sizes_alone_give_the_same_files() {
    let directory = std::env::temp_dir().join(format!("pelago-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let program = ["alltoall", "--bytes", "5000", "--repeat", "2"];
    for program in [&program[..], &["barrier"], &["ring"]] {
        let files = |data: &str| {
            let paths = ["json", "trace"].map(|kind| directory.join(format!("{data}.{kind}")));
            let [json, trace] = paths.each_ref().map(|path| path.to_str().unwrap());
            let options = ["-n", "12", "--per-node", "2", "--data", data, "--report", json, "--trace", trace, "--quiet"];
            let ended = sim(&[&options, program].concat());
            ended.expect(0, "");
            (paths.map(|path| std::fs::read(path).unwrap()), ended.output)
        };
        let ((real, said), (sizes, said_of_sizes)) = (files("real"), files("sizes"));
        assert!(real == sizes, "{program:?}, byte by byte");
        assert_eq!(said_of_sizes.replace(" (only sizes: nothing was checked)", ""), said);
        assert_eq!(said_of_sizes.contains("only sizes"), program[0] == "alltoall");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn programs_that_need_bytes_are_refused_without_them() {
    for program in [&["himeno", "XS", "--iterations", "2"][..], &["particles", "--side", "16"]] {
        let ended = sim(&[&["-n", "8", "--data", "sizes", "--quiet"], program].concat());
        let lines: Vec<_> = ended.error.lines().collect();
        let [rank, why] = lines[..] else { panic!("{ended:?}") };
        assert!(rank.ends_with(" returned an error; the job was ended") && why.contains("World::moves_data"), "{ended:?}");
        assert_eq!((ended.code, ended.output.as_str()), (Some(1), ""));
    }
}

#[test]
fn wrong_input_is_one_line() {
    for (arguments, says) in [
        (&["-n", "0", "ring"][..], "-n 0: a job has 1 to 1048576 ranks"),
        (&["-n", "2", "--per-node", "0", "ring"], "--per-node 0"),
        (&["-n", "2", "--faults", "loss=2", "ring"], "loss"),
        (&["-n", "2", "--faults", "gremlins=1", "ring"], "gremlins"),
        (&["-n", "2", "--data", "some", "ring"], "'some'"),
        (&["-n", "2", "--data", "sizes", "--protocol", "ring"], "--data sizes"),
        (&["-n", "2", "/no/such/program"], "/no/such/program"),
        (&["-n", "2", "barrier", "--algorithm", "fast"], "barrier:"),
        (&["-n", "x", "ring"], "'x'"),
        (&["-n", "2", "--compute", "guessed", "ring"], "guessed"),
        (&["-n", "2", "--compute-scale", "2", "ring"], "--compute measured"),
        (&["-n", "2", "--compute", "measured", "--compute-scale", "-1", "ring"], "-1"),
        (&["-n", "2", "ring", "--repeat", "0"], "ring:"),
        (&["-n", "2", "ring", "--warm-up", "1"], "--repeat"),
    ] {
        let ended = sim(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.error.contains(says) && ended.error.lines().count() == 1 && ended.output.is_empty(), "{ended:?}");
    }
    for (arguments, says) in [
        (&["tune", "--machine", "laptop"][..], "--check"),
        (&["tune", "--check", "--machine", "/no/such/machine"], "/no/such/machine"),
        (&["tune", "-o", "/no/such/folder/file.toml"], "cannot write /no/such/folder/file.toml"),
        (&["tune", "--rounds", "0"], "'0'"),
        (&["tune", "--transport", "ofi"], "--transport ofi is not measured"),
        (&["tune", "--hosts", "a,b"], "--hosts needs --transport udp"),
        (&["tune", "--check", "--only", "ring,rign"], "--only rign"),
        (&["tune", "-n", "4"], "--check"),
        (&["sim", "-n", "2", "--machine", "laptop", "ring"], "no network"),
    ] {
        let ended = run(arguments);
        assert!(ended.code != Some(0) && ended.error.contains(says) && ended.error.lines().count() == 1, "{ended:?}");
    }
    let ended = run(&["sim", "-n", "2", "--machine", "/dev/null", "ring"]);
    assert_eq!((ended.code, ended.error.lines().count()), (Some(2), 1), "{ended:?}");
    let (mut command, _) = pelago(&["run", "-n", "1", "ring"]);
    command.env("PELAGO_SIM", "nonsense");
    let ended = end(command);
    assert!(ended.code == Some(1) && ended.error.contains("PELAGO_SIM"), "{ended:?}");
    assert!(ended.error.contains("built from other sources of Pelago"), "{ended:?}");
}
