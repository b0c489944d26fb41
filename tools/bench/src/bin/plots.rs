//! Draws the figures of `docs/evaluation`; see the module `evaluation` of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    pelago_bench::evaluation::plots_main(&arguments)
}
