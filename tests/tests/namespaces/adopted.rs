//! Jobs of other launchers on several hosts with their own networks and names: any placement, the same results, and no process left when a rank is
//! killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, kill_process};

use crate::job::{Ended, MARK, PROGRAM, is_gone_soon, mark};
use crate::network::Network;

/// The command, which has the bundled programs.
const PELAGO: &str = env!("CARGO_BIN_EXE_pelago-under-test");

/// Result of `himeno S --iterations 3`, independent of the number of ranks.
const HASH: &str = "79dc8598e66ba7bc";

/// Time limit in seconds, which turns a hang into a failure.
const PATIENCE: &str = "60";

const SECRET: &str = "00112233445566778899aabbccddeeff";

/// A remote shell to the hosts of a network, by their names or their addresses.
struct Shell(PathBuf);

impl Shell {
    fn to(network: &Network) -> Self {
        let path = std::env::temp_dir().join(format!("pelago-shell-{}", network.hosts()[0]));
        let cases = (1..).zip(network.hosts()).map(|(number, host)| format!("10.77.0.{number}) host={host} ;;\n"));
        // Hydra passes an option before the host.
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -x ] && shift\nhost=$1; shift\ncase $host in\n{}esac\n\
             exec ip netns exec $host unshare --uts sh -c \"hostname $host; $*\"\n",
            cases.collect::<String>()
        );
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its owner");
        Self(path)
    }

    /// Returns a command that runs on a host.
    fn on(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(host).args(words).env(MARK, mark()).stdin(Stdio::null());
        command
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether a launcher is installed; writes a line if not.
fn is_installed(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("not tested: {program} is not installed");
    }
    is_there
}

fn end(mut command: Command) -> Ended {
    let output = command.output().expect("the command under test");
    let [said, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert!(is_gone_soon(), "a process of the job is left: {said} {error}");
    Ended { code: output.status.code(), output: said, error }
}

/// Runs the ring and the solver by this command, and checks their results.
#[track_caller]
fn programs(ranks: usize, command: impl Fn(&[&str]) -> Ended) {
    let ring = command(&[PELAGO, "bundled", "ring"]);
    let mut lines: Vec<_> = ring.output.lines().filter(|line| line.starts_with("rank ")).collect();
    lines.sort();
    let expected: Vec<_> = (0..ranks).map(|rank| format!("rank {rank} holds {}", (rank + ranks - 1) % ranks + 1)).collect();
    assert!(ring.code == Some(0) && lines == expected, "{ring:?}");
    let himeno = command(&[PELAGO, "bundled", "himeno", "S", "--iterations", "3"]);
    assert!(himeno.code == Some(0) && himeno.output.contains(HASH), "{himeno:?}");
    let everything = command(&[PROGRAM, "everything"]);
    assert_eq!(everything.code, Some(0), "{everything:?}");
}

#[test]
fn hydra_starts_jobs_on_several_hosts() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed("mpiexec.hydra")) else { return };
    let shell = Shell::to(&network);
    for (ranks, hosts) in [("4", "10.77.0.1:2,10.77.0.2:2"), ("5", "10.77.0.1:1,10.77.0.2:1")] {
        let launcher =
            ["timeout", PATIENCE, "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", shell.path(), "-iface", "net"];
        let options = ["-n", ranks, "-hosts", hosts];
        programs(ranks.parse().expect("a number"), |program| {
            end(shell.on("10.77.0.1", &[&launcher[..], &options, program].concat()))
        });
    }
}

#[test]
fn open_mpi_starts_jobs_on_several_hosts() {
    let Some(network) = Network::ordinary(2).filter(|_| is_installed("mpirun.openmpi")) else { return };
    let shell = Shell::to(&network);
    let hosts: Vec<_> = network.hosts().iter().map(|host| format!("{host}:3")).collect();
    for (ranks, by) in [("4", "slot"), ("5", "node")] {
        let launcher = ["timeout", PATIENCE, "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--map-by", by];
        let way = ["--mca", "plm_rsh_agent", shell.path(), "--mca", "oob_tcp_if_include", "net", "-x", MARK];
        let options = ["--host", &hosts.join(","), "-n", ranks];
        programs(ranks.parse().expect("a number"), |program| {
            end(shell.on("10.77.0.1", &[&launcher[..], &way, &options, program].concat()))
        });
    }
}

/// Starts processes with the variables that torchrun sets, on the hosts that `places` gives for each rank.
fn torchrun(shell: &Shell, places: &[u32], variables: &[&str], program: &[&str]) -> Vec<Child> {
    let start = |(rank, place): (usize, &u32)| {
        let own = [format!("RANK={rank}"), format!("WORLD_SIZE={}", places.len())];
        let own = [&own[0], &own[1], "MASTER_ADDR=10.77.0.1", "MASTER_PORT=29500"];
        let mut command =
            shell.on(&format!("10.77.0.{place}"), &[&["timeout", PATIENCE, "env"], &own[..], variables, program].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program")
    };
    places.iter().enumerate().map(start).collect()
}

/// Returns the combined outcome of all processes, with the largest exit code.
fn together(processes: Vec<Child>) -> Ended {
    let mut all = Ended { code: None, output: String::new(), error: String::new() };
    for process in processes {
        let output = process.wait_with_output().expect("a status");
        all.code = all.code.max(output.status.code());
        all.output += &String::from_utf8(output.stdout).expect("text");
        all.error += &String::from_utf8(output.stderr).expect("text");
    }
    assert!(is_gone_soon(), "a process of the job is left");
    all
}

#[test]
fn processes_without_a_store_meet_on_several_hosts() {
    let Some(network) = Network::ordinary(2) else { return };
    let shell = Shell::to(&network);
    let secret = format!("PELAGO_SECRET={SECRET}");
    for places in [&[1, 1, 2, 2][..], &[1, 2, 1, 2, 1], &[2, 1, 1]] {
        // The other processes connect to the host of process 0.
        let address = format!("MASTER_ADDR=10.77.0.{}", places[0]);
        programs(places.len(), |program| together(torchrun(&shell, places, &[&secret, &address], program)));
    }
    let differ = together(torchrun(&shell, &[1, 2], &["PELAGO_START_SECONDS=1"], &[PROGRAM, "nothing"]));
    assert!(differ.code == Some(2) && differ.error.contains("set PELAGO_SECRET to the same 32"), "{differ:?}");
}

#[test]
fn processes_that_meet_reach_each_other_by_a_fabric() {
    if pelago::fabric_library().is_err() {
        return;
    }
    let Some(network) = Network::ordinary(2) else { return };
    let shell = Shell::to(&network);
    let secret = format!("PELAGO_SECRET={SECRET}");
    let by = [secret.as_str(), "PELAGO_TRANSPORT=ofi", "'PELAGO_FABRIC=tcp;ofi_rxm'"];
    for places in [&[1, 1, 2, 2][..], &[1, 2, 1]] {
        programs(places.len(), |program| together(torchrun(&shell, places, &by, program)));
    }
    if is_installed("mpiexec.hydra") {
        let launcher =
            ["timeout", PATIENCE, "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", shell.path(), "-iface", "net"];
        let variables = ["-genv", "PELAGO_TRANSPORT", "ofi", "-genv", "PELAGO_FABRIC", "'tcp;ofi_rxm'"];
        let options = ["-n", "4", "-hosts", "10.77.0.1:2,10.77.0.2:2"];
        programs(4, |program| end(shell.on("10.77.0.1", &[&launcher[..], &variables, &options, program].concat())));
    }
    for (victim, places) in [(0, [1, 1, 2, 2]), (3, [1, 2, 1, 2])] {
        killed(&shell, victim, &places, &[&by[..], &["PELAGO_FAILURE_SECONDS=0.5"]].concat());
    }
}

#[test]
fn a_rank_that_is_killed_ends_ranks_that_met_on_several_hosts() {
    let Some(network) = Network::ordinary(2) else { return };
    let shell = Shell::to(&network);
    for (victim, places) in [(0, [1, 1, 2, 2]), (3, [1, 2, 1, 2]), (2, [1, 1, 2, 1])] {
        let secret = format!("PELAGO_SECRET={SECRET}");
        killed(&shell, victim, &places, &[secret.as_str(), "PELAGO_FAILURE_SECONDS=0.5"]);
    }
}

/// Kills a rank of an exchange. The others must end and print the reason.
#[track_caller]
fn killed(shell: &Shell, victim: usize, places: &[u32], variables: &[&str]) {
    let mut processes = torchrun(shell, places, variables, &[PROGRAM, "exchange", "barrier"]);
    let mut found = None;
    for (number, process) in processes.iter_mut().enumerate() {
        let mut line = String::new();
        let mut output = std::io::BufReader::new(process.stdout.as_mut().expect("piped"));
        std::io::BufRead::read_line(&mut output, &mut line).expect("text");
        let number_of_process = line.split_whitespace().last().and_then(|word| word.parse().ok());
        found = found.or(number_of_process.and_then(rustix::process::Pid::from_raw).filter(|_| number == victim));
    }
    kill_process(found.expect("a line of each rank"), Signal::KILL).expect("it runs");
    let ended = together(processes);
    let told = ended.error.lines().filter(|line| line.ends_with("was lost; the job was ended")).count();
    assert!(told >= 2, "each says why: {ended:?}");
}

/// The table of docs/evaluation/launchers.md, for one program: every installed launcher, including a Slurm of two nodes.
#[test]
fn every_launcher_that_is_installed_starts_jobs() {
    let Some(_network) = Network::ordinary(1) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluation/launchers.sh");
    let mut command = Command::new("sh");
    command.args([script, PELAGO, "2", "5"]).env("PROGRAMS", "ring").env(MARK, mark()).stdin(Stdio::null());
    let ended = end(command);
    let rows = ended.output.lines().filter(|line| line.contains(" | ring | "));
    assert!(rows.count() >= 3 && !ended.output.contains("**no**"), "{ended:?}");
    eprint!("{}", ended.error);
}
