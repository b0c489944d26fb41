//! What each rank of a simulated job takes: a page that its stack, or the image of it, and the first of its heap share, and what the library and the
//! network keep.

use std::process::{Command, Stdio};

use pelago_netsim::Machine;
use pelago_simulator::{Computing, Data, SimulationRequest, Summary, VARIABLE};

/// A page, and little more than as much for the rest: without a second page, which a rank takes if its stack or heap outgrows its part of the first.
const BYTES_PER_RANK_MAX: u64 = 9_216;

/// So many that they run on one stack.
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

/// The memory of a process that simulates so many ranks, which have met. In the release profile: stacks of another one are deeper.
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
