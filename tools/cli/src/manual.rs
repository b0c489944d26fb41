//! `pelago completions` and `pelago man`: shell completions and manual pages, generated from the definitions of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::{Refused, outputs};

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "\
For example:
  pelago completions bash > ~/.local/share/bash-completion/completions/pelago
  pelago completions zsh  > ~/.zfunc/_pelago                     (with ~/.zfunc in fpath)
  pelago completions fish > ~/.config/fish/completions/pelago.fish")]
pub(crate) struct Completions {
    /// Shell that reads the completions
    shell: Shell,
}

/// Write the manual pages of the command and its subcommands to a directory
#[derive(Args)]
#[command(after_help = "For example: pelago man ~/.local/share/man/man1; then: man pelago-run")]
pub(crate) struct Man {
    /// Directory for the pages; it is created if it is missing
    directory: PathBuf,
}

impl Completions {
    pub(crate) fn main(self, command: &clap::Command) -> Result<ExitCode, Refused> {
        // Internal commands are not completed.
        let visible: Vec<_> = command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
        let mut command = clap::Command::new("pelago").version(env!("CARGO_PKG_VERSION")).subcommands(visible);
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "pelago", &mut text);
        outputs::print(&String::from_utf8_lossy(&text)).map(|()| ExitCode::SUCCESS)
    }
}

impl Man {
    pub(crate) fn main(self, command: clap::Command) -> Result<ExitCode, Refused> {
        let path = &self.directory;
        std::fs::create_dir_all(path)
            .and_then(|()| clap_mangen::generate_to(command, path))
            .map_err(|error| Refused(format!("cannot write manual pages to {}: {error}", path.display())))?;
        Ok(ExitCode::SUCCESS)
    }
}
