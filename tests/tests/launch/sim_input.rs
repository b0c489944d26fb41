//! Wrong input of `pelago sim` and related commands: one line that names the error and valid input, and exit code 2, before anything runs.

use crate::{Ended, pelago, run};

#[track_caller]
fn refused(arguments: &[&str]) -> String {
    line_of(run(arguments), arguments)
}

#[track_caller]
fn line_of(ended: Ended, arguments: &[&str]) -> String {
    let is_line = ended.error.starts_with("pelago: ") && ended.error.lines().count() == 1 && ended.output.is_empty();
    assert!(is_line && ended.code == Some(2), "{arguments:?}: {ended:?}");
    ended.error
}

/// Machines with networks of limited size. The refusal of each names an option that makes the machine large enough.
#[test]
fn a_machine_that_is_too_small_says_how_many_fit() {
    for (machine, ranks, per_node) in
        [("fat-tree-ndr", "1048576", 16), ("dragonfly-slingshot", "1048576", 4), ("fat-tree-ndr", "65537", 2)]
    {
        let line = refused(&["sim", "-n", ranks, "--machine", machine, "ring"]);
        assert!(line.contains(&format!("there is room with --per-node {per_node}, which needs ")), "{line}");
        let quoted: Vec<&str> = line.split('\'').collect();
        assert!(quoted[0].ends_with("or with --set ") && quoted[1].starts_with("rail.topology."), "{line}");
        for fits in [["--per-node", &per_node.to_string()], ["--set", quoted[1]]] {
            // The path of the report is checked next, so that nothing is simulated.
            let next = refused(&["sim", "-n", ranks, "--machine", machine, fits[0], fits[1], "--report", "/no/x", "ring"]);
            assert!(next.contains("cannot write /no/x"), "{next}");
        }
    }
    let line = refused(&["sim", "-n", "4", "--machine", "laptop", "ring"]);
    assert!(
        line.contains("has no network ([[rail]]); there is room with --per-node 4, which needs 1 of at most 1 nodes"),
        "{line}"
    );
    // A network on which no value of its topology has an effect gets no advice that would not help.
    for (topology, error) in [
        ("{ type = \"graph\", links = [[0, 2]] }", "no route leads from router 0 to router 1"),
        ("{ type = \"graph\", links = [[0, 4294967295]] }", "router 4294967295: must be less than 4096"),
        (
            "{ type = \"dragonfly\", nodes_per_router = 1, routers_per_group = 4294967295, global_links_per_router = 4294967295 }",
            "too many links",
        ),
    ] {
        let set = format!("rail.topology={topology}");
        let line = refused(&["sim", "-n", "4", "--machine", "rx200-qdr", "--set", "rail.router.vcs=2", "--set", &set, "ring"]);
        assert!(line.contains(error) && !line.contains("--set '"), "{line}");
    }
}

#[test]
fn a_value_that_is_set_has_units_and_is_named_when_it_is_wrong() {
    let sim = ["sim", "-n", "2", "--machine", "rx200-qdr", "--quiet"];
    let barrier = |set: &str| {
        let ended = run(&[&sim[..], &["--set", set, "barrier", "--algorithm", "ring"]].concat());
        ended.expect(0, "");
        ended.output
    };
    for (plain, with_unit) in [
        ("rail.nic.overhead_ns=1500", "rail.nic.overhead_ns=1.5us"),
        ("rail.link.gb_per_s=0.125", "rail.link.gb_per_s=1Gb/s"),
        ("rail.nic.packet_bytes=1024", "rail.nic.packet_bytes=1KiB"),
    ] {
        assert_eq!(barrier(plain), barrier(with_unit), "{with_unit}");
    }
    assert_ne!(barrier("rail.nic.overhead_ns=1.5us"), barrier("rail.nic.overhead_ns=1.5ns"));
    for (set, says) in [
        ("rail.nic.overhead=5", "no machine has a rail.nic.overhead; the nearest are rail.nic.overhead_ns, "),
        (
            "rail.nic.overhead_ns=fast",
            "rail.nic.overhead_ns cannot be \"fast\": it is a time, in nanoseconds, or with one of ps, ns",
        ),
        ("rail.nic.overhead_ns=5GB/s", "GB/s is a unit of rates; it is a time"),
        ("rail.router.vcs=1000", "rail.router.vcs cannot be \"1000\": it is a whole number, from 0 to 255"),
        ("rail.router.vcs=17", "rail.router.vcs = 17: must be from 1 to 16"),
    ] {
        let line = refused(&[&sim[..], &["--set", set, "ring"]].concat());
        assert!(line.starts_with(&format!("pelago: --set {set}: ")) && line.contains(says), "{line}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let stray = std::ffi::OsStr::from_bytes(b"stray\xff");
    for before in [
        &["sim", "-n", "2", "--machine"][..],
        &["sim", "-n", "2", "--machine", "rx200-qdr", "--set"],
        &["sim", "-n", "2", "--machine", "rx200-qdr", "ring", "--repeat"],
        &["sim", "-n", "2", "--machine", "rx200-qdr", "--report"],
        &["tune", "--check", "--machine"],
    ] {
        let (mut command, _) = pelago(before);
        command.arg(stray).arg("ring");
        line_of(crate::end(command), before);
    }
}

#[test]
fn what_is_too_long_or_never_ends_is_refused() {
    let line = refused(&["sim", "-n", "2", "--machine", "/dev/zero", "ring"]);
    assert!(line.contains("it has more than 1048576 bytes"), "{line}");
    let line = refused(&["sweep", "/dev/zero"]);
    assert_eq!(line, "pelago: /dev/zero: it has more than 1048576 bytes\n");
    let path = std::env::temp_dir().join(format!("pelago-long-{}.toml", std::process::id()));
    let text = "simulation/netsim/machines/rx200-qdr.toml";
    let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(text)).unwrap();
    std::fs::write(&path, text + &"# a remark\n".repeat(20_000)).unwrap();
    let line = refused(&["sim", "-n", "2", "--machine", path.to_str().unwrap(), "ring"]);
    assert!(line.contains("at most 131008 reach a program"), "{line}");
    std::fs::remove_file(path).unwrap();
    // Long arguments are passed to the program.
    let long = "x".repeat(100_000);
    let line = run(&["sim", "-n", "1", "--machine", "rx200-qdr", "/bin/false", &long]);
    assert_eq!((line.code, line.error.as_str()), (Some(1), ""), "it was started");
}

#[test]
fn faults_that_do_not_fit_the_job_are_refused() {
    for (faults, says) in [
        ("kill=4@100us", "kill=4: the job has ranks 0 to 3"),
        ("slow=9:1us", "slow=9: the job has ranks 0 to 3"),
        ("partition=9@1ms-2ms", "partition=9: the job has ranks 0 to 3"),
        ("partition=1@2ms-1ms", "partition=1: its end must be later than its beginning"),
        ("slow=0:1us,slow=0:2us", "slow=0: this rank occurs twice"),
    ] {
        let line = refused(&["sim", "-n", "4", "--machine", "rx200-qdr", "--faults", faults, "ring"]);
        assert_eq!(line, format!("pelago: --faults {says}\n"));
    }
}

/// Machines on which regions would have to agree about more than packets and room take one thread; others give the same summary with several.
#[test]
fn threads_are_refused_where_a_network_cannot_be_divided() {
    let lossy = ["--set", "rail.link.loss=0.01"];
    let slots = ["--set", "rail.receive.slots=4"];
    let routes = ["--set", "rail.topology.routes=\"adaptive\""];
    for (machine, set, says) in [
        ("fat-tree-ndr", &lossy[..], "packets can be lost"),
        ("fat-tree-ndr", &slots[..], "receive slots are limited"),
        ("fat-tree-ndr", &routes[..], "routes depend on queues"),
        ("fat-tree-roce", &[], "NICs control congestion"),
        ("fast-ethernet", &[], "packets can be lost"),
    ] {
        let line = refused(&[&["sim", "-n", "8", "--machine", machine, "--threads", "2"], set, &["ring"]].concat());
        assert_eq!(line, format!("pelago: --threads 2: {machine} takes one thread, as {says}; leave out --threads\n"));
    }
    let summary = |threads| {
        let ended =
            run(&["sim", "-n", "200", "--machine", "fat-tree-ndr", "--json", "--threads", threads, "alltoall", "--bytes", "64"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        (ended.output, ended.error)
    };
    assert_eq!(summary("1"), summary("3"));
}

#[test]
fn networks_without_a_failing_link_or_without_memory_are_refused() {
    let failure = "rail.failure=[{ link = [0, 99], at_ns = 2e4, detection_ns = 5e3 }]";
    let line = refused(&["sim", "-n", "4", "--machine", "fat-tree-ndr", "--set", failure, "ring"]);
    assert_eq!(line, "pelago: fat-tree-ndr: rail.failure.link = [0, 99]: no link connects these routers\n");
    // 1.3 TB with 64 threads.
    let large = ["--set", "rail.topology.dimensions=[5000, 5000]", "--set", "rail.topology.rings=[true, true]"];
    let line = refused(&[&["sim", "-n", "4", "--machine", "torus-tofud", "--threads", "64"], &large[..], &["ring"]].concat());
    assert!(line.starts_with("pelago: torus-tofud: the links of its network take "), "{line}");
    assert!(line.ends_with("simulate a smaller network, or leave out --threads\n"), "{line}");
    let lanes = [
        "--set",
        "rail.topology.dimensions=[6000, 6000]",
        "--set",
        "rail.topology.rings=[true, true]",
        "--set",
        "rail.router.vcs=4",
    ];
    let line = refused(&[&["sim", "-n", "4", "--machine", "torus-tofud"], &lanes[..], &["ring"]].concat());
    assert!(line.contains("too many NICs or links"), "{line}");
}

#[test]
fn a_misspelled_program_is_refused_as_by_pelago_run() {
    for program in ["rign", "no-such-program", "/no/such/program"] {
        let simulated = refused(&["sim", "-n", "2", "--machine", "rx200-qdr", program]);
        assert_eq!(simulated, refused(&["run", "-n", "2", program]));
        assert_eq!(simulated.contains("did you mean the bundled program ring?"), program == "rign", "{simulated}");
    }
}

#[test]
fn bundled_machines_are_listed_and_described() {
    let listed = run(&["sim", "--list"]);
    listed.expect(0, "");
    assert!(listed.output.lines().all(|line| line.split_whitespace().count() > 2), "{listed:?}");
    let described = run(&["sim", "--describe", "--machine", "rx200-qdr"]);
    described.expect(0, "");
    assert_eq!(described.output, include_str!("../../../simulation/netsim/machines/rx200-qdr.toml"));
    let changed = run(&["sim", "--describe", "--machine", "rx200-qdr", "--set", "rail.link.cable_ns=7"]);
    assert!(changed.code == Some(0) && changed.output.contains("cable_ns = 7"), "{changed:?}");
    assert!(refused(&["sim", "--describe"]).contains("--machine"));
    let file = std::env::temp_dir().join(format!("pelago-described-{}", std::process::id()));
    std::fs::write(&file, "secret = \"of another program\"\n").unwrap();
    let line = refused(&["sim", "--describe", "--machine", file.to_str().unwrap()]);
    assert!(line.contains(": line 1: ") && line.contains("secret"), "{line}");
    std::fs::remove_file(file).unwrap();
}
