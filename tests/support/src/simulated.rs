//! Whole jobs on a simulated machine, for tests.

use pelago_netsim::Machine;
use pelago_rma::{Result, World};
use pelago_simulator::{Settings, SimulationOutcome, simulate};

/// Returns the settings of a job of `ranks` ranks on a bundled machine, with 4 MiB each and without a report.
pub fn settings(machine: &str, ranks: u32, per_node: u32) -> Settings {
    settings_on(Machine::parse(Machine::bundled(machine).unwrap()).unwrap(), ranks, per_node)
}

/// Like [`settings`], on any machine.
pub fn settings_on(machine: Machine, ranks: u32, per_node: u32) -> Settings {
    Settings {
        machine,
        ranks,
        per_node,
        seed: 1,
        heap_bytes: 4 << 20,
        stack_bytes: 256 << 10,
        shared_stack: false,
        protocol: None,
        data: Default::default(),
        computing: Default::default(),
        threads: 1,
        report: None,
        watch: Default::default(),
    }
}

/// Returns the settings of a job of `ranks` ranks on one node that reach each other by the library's own protocol. Datagrams cost time of a core, so that
/// operations that may be held back share datagrams, as over UDP.
pub fn settings_by_datagrams(ranks: u32) -> Settings {
    let machine = "name = \"costly\"\n[node.datagrams]\ndatagram_bytes = 65000\nwindow_bytes = 4000000\npost_ns = 100.0\nlatency_ns = 500.0\n\
                   overlap_ns = 0.0\nwake_ns = 20000.0\nsend = [[1000, 1000.0]]\nreceive = [[1000, 500.0]]\n";
    Settings { protocol: Some(Default::default()), ..settings_on(Machine::parse(machine).unwrap(), ranks, ranks) }
}

/// Returns the settings of a job of `ranks` ranks, one on each node, with reordered datagrams according to a seed.
pub fn settings_late(ranks: u32, seed: u64) -> Settings {
    Settings { seed, protocol: Some("delay=0.3:60us".parse().unwrap()), ..settings("rx200-qdr", ranks, 1) }
}

/// Returns the settings of a job of `ranks` ranks, one on each node, of the machine of paper D with a network for each of `rails`, which lists its
/// differences in lines of `key = value`. Without a selection, the first network is used.
pub fn settings_by(ranks: u32, rails: &[&str]) -> Settings {
    settings_of(ranks, rails, "first")
}

/// Like [`settings_by`], with the machine's rule `choice` for the selection of the network.
pub fn settings_of(ranks: u32, rails: &[&str], choice: &str) -> Settings {
    let (head, rail) = Machine::bundled("rx200-qdr").unwrap().split_once("[[rail]]").unwrap();
    let key = |line: &str| line.split_once(" = ").map_or("", |(key, _)| key).to_owned();
    let rail = |differs: &&str| {
        let same = rail.lines().filter(|line| key(line).is_empty() || differs.lines().all(|other| key(other) != key(line)));
        let with = |line: &str| {
            // Each line is placed in its section, after the first line of the section.
            let section = |other: &str| match key(other).as_str() {
                "group" => "count",
                "gb_per_s" => "[rail.link]",
                _ => "[rail.nic]",
            };
            let more = differs.lines().filter(|other| line.starts_with(section(other)));
            std::iter::once(line).chain(more).collect::<Vec<_>>().join("\n")
        };
        format!("[[rail]]\n{}\n", same.map(with).collect::<Vec<_>>().join("\n"))
    };
    let rails: String = rails.iter().map(rail).collect();
    settings_on(Machine::parse(&format!("choice = \"{choice}\"\n{head}{rails}")).unwrap(), ranks, 1)
}

/// Pairs of networks, whose stated properties, the only ones known in advance, may be true or false.
pub const PROFILES: [(&str, [&str; 2]); 7] = [
    ("equal", ["overhead_ns = 1000.0", "overhead_ns = 1000.0"]),
    ("true", ["read_gb_per_s = 1.0", "read_gb_per_s = 3.0"]),
    // The network that is stated to be ten times as fast has a fifth of the speed, as each message is staged.
    ("inverted", ["read_gb_per_s = 10.0\ngb_per_s = 10.0\nstages = [[1000000000, 0.0, 0.2]]", "read_gb_per_s = 1.0"]),
    ("constant", ["overhead_ns = 1000.0", "stages = [[1000000000, 50000.0, 0.1]]"]),
    (
        "garbage",
        ["read_gb_per_s = 1e6\nwrite_gb_per_s = inf\ngb_per_s = inf\nstages = [[1000000000, 0.0, 0.3]]", "read_gb_per_s = 1e-3"],
    ),
    // The other rail exists, but reaches only some ranks, or none.
    ("a rail missing for some", ["overhead_ns = 1000.0", "group = 2\nread_gb_per_s = 2.0"]),
    ("a rail missing", ["overhead_ns = 1000.0", "group = 1"]),
];

/// Runs `body` as every rank of a job.
pub fn run<R>(settings: &Settings, body: impl Fn(&World) -> Result<R>) -> SimulationOutcome<Result<R>> {
    simulate(settings, |parts| {
        let world = World::new(*parts)?;
        let value = body(&world)?;
        world.finish()?;
        Ok(value)
    })
    .unwrap()
}

/// Like [`run`], for a job whose ranks must all end without an error.
pub fn run_to_the_end(settings: &Settings, what: &str, body: impl Fn(&World) -> Result<()>) {
    let outcome = run(settings, body);
    let (ranks, seed) = (settings.ranks, settings.seed);
    assert!(outcome.stuck.is_empty(), "{what}, {ranks} ranks, seed {seed}: {:?} wait for ever", outcome.stuck);
    assert!(
        outcome.results.iter().all(|ended| *ended == Some(Ok(()))),
        "{what}, {ranks} ranks, seed {seed}: {:?}",
        outcome.results
    );
}
