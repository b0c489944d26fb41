//! The `pelago` command, as the tests run it.

fn main() -> std::process::ExitCode {
    pelago_cli::main()
}
