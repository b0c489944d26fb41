//! Counts instructions per operation; see the module `count` of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    pelago_bench::count::counted_main(&arguments)
}
