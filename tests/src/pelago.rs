//! The `pelago` command, which the tests run.

fn main() -> std::process::ExitCode {
    pelago_cli::main()
}
