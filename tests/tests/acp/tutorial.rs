//! The program of the tutorial, compiled and run as described on its page.

use crate::build::{TRANSPORTS, program, run};

#[test]
fn the_tutorial_in_c_is_the_ring() {
    let program = program("../../../../examples/hello-acp.c", "hello-acp");
    for transport in TRANSPORTS {
        let output = run(4, transport, &program, "", None);
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(lines, ["rank 0 holds 4", "rank 1 holds 1", "rank 2 holds 2", "rank 3 holds 3"], "{transport}: {error}");
    }
}
