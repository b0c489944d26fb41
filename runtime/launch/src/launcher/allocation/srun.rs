//! The command that starts a node daemon in an allocation of Slurm: `srun`, with the options that its version supports.

use std::io;
use std::process::{Command, Stdio};

use crate::launcher::cluster::RemoteShell;

/// One task on one host, next to the other steps of the job, with all cores and variables of the job, and with unbuffered output.
const COMMAND: &str = "srun -Q -u --mpi=none --export=ALL --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist={host}";

/// From this release on, steps share the cores of a job only with this option.
const OVERLAP: ((u32, u32), &str) = ((20, 11), " --overlap");

/// If Slurm binds tasks to cores, the single task of a host, whose ranks are its children, must be unbound.
const UNBOUND: ((u32, u32), &str) = ((17, 11), " --cpu-bind=none");

/// Returns the command for the `srun` in PATH, whose version is queried.
pub(crate) fn remote_shell() -> io::Result<RemoteShell> {
    let version = output("srun", &["--version"])?;
    // Without `scontrol`, the worst case is a line of srun about binding that is impossible.
    let settings = output("scontrol", &["show", "config"]).unwrap_or_default();
    Ok(of_version(&version, &settings))
}

fn output(program: &str, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the command for a version as printed by `srun --version`, and settings as printed by `scontrol show config`. A version that cannot be
/// parsed is assumed to be recent; settings that cannot be parsed are assumed to bind tasks.
fn of_version(version: &str, settings: &str) -> RemoteShell {
    let release = release(version).unwrap_or((u32::MAX, 0));
    let plugin = settings.lines().filter_map(|line| line.split_once('=')).find(|(name, _)| name.trim() == "TaskPlugin");
    let binds = plugin.is_none_or(|(_, plugin)| plugin.contains("affinity"));
    let option = |(since, text): (_, &'static str), is_wanted| if is_wanted && release >= since { text } else { "" };
    let command = format!("{COMMAND}{}{}", option(UNBOUND, binds), option(OVERLAP, true));
    RemoteShell::parse(&command).expect("it names the host")
}

/// Parses the first two numbers of `slurm-wlm 22.05.8`.
fn release(text: &str) -> Option<(u32, u32)> {
    let version = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_those_of_the_version() {
        for (text, binds, overlaps) in [
            ("slurm-wlm 22.05.8\n", true, true),
            ("slurm 20.11.0", true, true),
            ("slurm 20.02.7", true, false),
            ("slurm 17.02.11", false, false),
            ("slurm 23.11.0-0rc1", true, true),
            ("slurm 24.05-dev", true, true),
            ("", true, true),
        ] {
            let words = of_version(text, "").words("n1", &[]);
            let has = |word: &str| words.iter().any(|found| found == word);
            assert_eq!((has("--cpu-bind=none"), has("--overlap")), (binds, overlaps), "{text}");
            assert!(has("--nodelist=n1") && has("-u") && words[0] == "srun");
        }
    }

    #[test]
    fn tasks_are_unbound_where_slurm_binds_them() {
        for (settings, expected) in [
            ("TaskPlugin              = task/none\nTaskPluginParam         = (null type)\n", false),
            ("SLURM_VERSION = 22.05.8\nTaskPlugin              = task/cgroup,task/affinity\n", true),
            ("TaskPlugin              = affinity,cgroup\n", true),
            ("TaskPluginParam         = autobind=cores\n", true),
            ("no answer", true),
        ] {
            let words = of_version("slurm 24.05.1", settings).words("n1", &[]);
            assert_eq!(words.iter().any(|word| word == "--cpu-bind=none"), expected, "{settings}");
        }
    }
}
