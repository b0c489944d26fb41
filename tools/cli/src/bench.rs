//! `pelago bench`: measures in jobs of this executable.

use std::process::{Command, ExitCode};

use clap::Args;

use crate::{Refused, bundled};

/// Measure operations next to what this machine allows
#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    arguments: pelago_bench::Arguments,
}

impl Bench {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let this = std::env::current_exe().map_err(|error| Refused(format!("cannot find the pelago command: {error}")))?;
        Ok(pelago_bench::main(&self.arguments, |ranks, arguments| {
            let mut command = Command::new(&this);
            command.args(["run", "-n", &ranks.to_string()]).arg(&this).args([bundled::COMMAND, bundled::BENCH_RANK]);
            command.args(arguments);
            command
        }))
    }
}
