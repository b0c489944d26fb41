//! Memory of each rank of a simulated job: one page shared by its stack (or the saved image of it) and the start of its heap, and the data of library
//! and network.

use std::process::{Command, Stdio};

use pelago_netsim::Machine;
use pelago_simulator::{Computing, Data, SimulationRequest, Summary, VARIABLE};

/// Limit per rank: a page, and slightly more than a page for other data. A rank whose stack or heap outgrows its part of the page takes a second one.
const BYTES_PER_RANK_MAX: u64 = 9_216;

/// Numbers of ranks that are large enough for all ranks to run on one stack.
const SHARED: [u32; 2] = [20_480, 40_960];

#[test]
fn a_simulated_rank_of_a_barrier_takes_one_page_of_stack_and_heap() {
    for numbers in [[1_024, 9_216], SHARED] {
        check(numbers);
    }
}

fn check([few, many]: [u32; 2]) {
    let each = (bytes(many) - bytes(few)) / u64::from(many - few);
    println!("{each} bytes for each rank");
    assert!(each <= BYTES_PER_RANK_MAX, "{each} bytes for each of {many} ranks");
}

/// Returns the memory of a process that simulates `ranks` ranks after a barrier. In the release profile, as stacks in other profiles are deeper.
fn bytes(ranks: u32) -> u64 {
    let request = SimulationRequest {
        machine: Machine::bundled("fat-tree-ndr").expect("it is bundled").into(),
        ranks,
        per_node: 16,
        seed: 0,
        heap_bytes: None,
        stack_bytes: None,
        protocol: None,
        data: Data::default(),
        computing: Computing::default(),
        threads: 1,
        time_limit_seconds: None,
        summary: Summary::None,
        progress: false,
        program: "meet".into(),
        report: None,
        trace: None,
        sample: None,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--package", "pelago-bench", "--bin", "pelago-count", "--", "meet"]);
    cargo.env(VARIABLE, request.to_variable()).current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit());
    let output = cargo.output().expect("cargo is here, as it runs this test");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number of bytes")
}
