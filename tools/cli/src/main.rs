//! The `pelago` command: see the library beside it.

fn main() -> std::process::ExitCode {
    pelago_cli::main()
}
