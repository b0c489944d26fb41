//! `pelago bench`: measures in jobs of this executable.

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use pelago_bench::Transport;

use crate::{Refused, bundled, outputs};

/// Measure operations of the library and compare each with the limit of this machine
#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    arguments: pelago_bench::Arguments,
}

impl Bench {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if self.arguments.list {
            return outputs::print(&pelago_bench::list()).map(|()| ExitCode::SUCCESS);
        }
        let this = crate::this()?;
        let settings = &self.arguments.settings;
        if settings.fabric.is_some() && settings.transport != Transport::Ofi {
            return Err(Refused("--fabric is for --transport ofi".into()));
        }
        Ok(pelago_bench::main(&self.arguments, |ranks, arguments| {
            job(&this, settings.transport, settings.fabric.as_deref(), ranks, arguments)
        }))
    }
}

/// Returns the command for a job of `ranks` ranks that measures what `arguments` select.
pub(crate) fn job(this: &Path, transport: Transport, fabric: Option<&str>, ranks: u32, arguments: &[String]) -> Command {
    let mut command = Command::new(this);
    command.args(["run", "--end-with-parent", &std::process::id().to_string()]);
    command.args(["-n", &ranks.to_string(), "--transport", transport.name()]);
    command.args(fabric.into_iter().flat_map(|fabric| ["--fabric", fabric]));
    command.arg(this).args([bundled::COMMAND, bundled::BENCH_RANK]).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_reaches_its_ranks_as_the_command_line_says() {
        for (transport, says) in [(Transport::Auto, "shm"), (Transport::Shm, "shm"), (Transport::Udp, "udp")] {
            let command = job(Path::new("/bin/pelago"), transport, None, 3, &["put".into()]);
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
            let run = ["-n", "3", "--transport", says, "/bin/pelago", bundled::COMMAND, bundled::BENCH_RANK, "put"];
            assert_eq!(words[..2], ["run", "--end-with-parent"]);
            assert_eq!(words[3..], run);
        }
        let command = job(Path::new("/bin/pelago"), Transport::Ofi, Some("tcp;ofi_rxm:lo"), 2, &[]);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[5..9], ["--transport", "ofi", "--fabric", "tcp;ofi_rxm:lo"]);
    }
}
