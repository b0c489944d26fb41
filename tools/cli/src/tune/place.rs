//! Placement of measuring jobs: on this host, or on several.

use std::path::Path;
use std::process::Command;

use clap::Args;
use pelago_bench::Transport;

use crate::Refused;

/// How ranks reach each other, and where they run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// Transport between the ranks: shm or udp
    #[arg(long, value_enum, default_value = "shm", hide_possible_values = true)]
    transport: Transport,
    /// Hosts, as for pelago run; with --transport udp
    #[arg(long, value_name = "HOST,HOST,…", value_delimiter = ',')]
    hosts: Vec<String>,
    /// Command that runs another command on a host, as for pelago run
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    remote_shell: Option<String>,
}

impl Place {
    /// Returns an error if nothing can be measured with these options.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let refused = |why: &str| Err(Refused(format!("tune: {why}")));
        if self.transport == Transport::Ofi {
            return refused(
                "--transport ofi is not measured: what a fabric does by itself has no description yet; measure shm or udp",
            );
        }
        if !self.hosts.is_empty() && !self.is_network() {
            return refused("--hosts needs --transport udp: hosts share no memory");
        }
        if self.hosts.iter().any(|host| host.is_empty() || host.contains(':')) {
            return refused("--hosts is a list of names without numbers of ranks: each host has as many ranks");
        }
        Ok(())
    }

    pub(crate) fn is_network(&self) -> bool {
        self.transport.is_network()
    }

    /// Returns the transport of the measuring jobs.
    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    pub(crate) fn has_several_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// Returns the number of ranks on each host.
    pub(crate) fn per_host(&self, ranks: u32) -> u32 {
        ranks.div_ceil(self.hosts.len().max(1) as u32)
    }

    /// Returns the command for a job of `ranks` ranks, to which the caller adds the program.
    pub(crate) fn run(&self, this: &Path, ranks: u32) -> Command {
        let mut command = Command::new(this);
        command.args(["run", "--end-with-parent", &std::process::id().to_string()]);
        command.args(["-n", &ranks.to_string(), "--transport", self.transport.name()]);
        if self.hosts.is_empty() {
            return command;
        }
        let per_host = self.per_host(ranks);
        let hosts: Vec<_> = self.hosts.iter().map(|host| format!("{host}:{per_host}")).collect();
        command.args(["--hosts", &hosts.join(",")]);
        command.args(self.remote_shell.iter().flat_map(|shell| ["--remote-shell", shell]));
        command
    }
}

#[cfg(test)]
impl Place {
    /// Returns the placement on this host with shared memory.
    pub(crate) fn here() -> Self {
        Self { transport: Transport::Shm, hosts: Vec::new(), remote_shell: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(transport: Transport, hosts: &[&str]) -> Place {
        Place {
            transport,
            hosts: hosts.iter().map(ToString::to_string).collect(),
            remote_shell: Some("ip netns exec {host}".into()),
        }
    }

    #[test]
    fn ranks_are_spread_over_the_hosts() {
        let words = |place: Place| {
            let command = place.run(Path::new("pelago"), 4);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let run = format!("run --end-with-parent {} -n 4 --transport", std::process::id());
        assert_eq!(words(place(Transport::Shm, &[])), format!("{run} shm"));
        assert_eq!(
            words(place(Transport::Udp, &["a", "b"])),
            format!("{run} udp --hosts a:2,b:2 --remote-shell ip netns exec {{host}}")
        );
    }

    #[test]
    fn what_cannot_be_measured_is_said() {
        for (place, says) in [
            (place(Transport::Ofi, &[]), "ofi"),
            (place(Transport::Shm, &["a", "b"]), "--transport udp"),
            (place(Transport::Udp, &["a:2"]), "without numbers"),
        ] {
            assert!(place.check().unwrap_err().0.contains(says));
        }
        assert!(place(Transport::Udp, &["a", "b"]).check().is_ok());
    }
}
