//! The `pelago` command: calls the `pelago_cli` library.

fn main() -> std::process::ExitCode {
    pelago_cli::main()
}
