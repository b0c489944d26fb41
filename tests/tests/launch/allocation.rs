//! Jobs in allocations of schedulers. `srun` and `ssh` are scripts that run the command on this machine and pass the name of the requested host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, kill_process};

use crate::{Ended, PROGRAM, RANK, Running, end, pelago, shared_memory_names, wait_until_gone};

/// Shell words that print the host of a rank. They are not a Pelago program, so that the job ends with exit code 1.
const PLACE: [&str; 3] = ["sh", "-c", "echo $PELAGO_RANK of $PELAGO_SIZE on $PELAGO_TEST_HOST"];

const SRUN: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo slurm-wlm 22.05.8
options=''
while :; do
    case $1 in
    --nodelist=*) export PELAGO_TEST_HOST="${1#--nodelist=}" ;;
    -*) options="$options $1" ;;
    *) break ;;
    esac
    shift
done
export PELAGO_TEST_OPTIONS="$options"
exec "$@"
"#;

const SSH: &str = "#!/bin/sh\nexport PELAGO_TEST_HOST=\"$1 by ssh\"\nshift\nexec sh -c \"$*\"\n";

const SCONTROL: &str = "#!/bin/sh\necho 'TaskPlugin = task/affinity'\n";

/// A folder with replacements for the commands of a cluster, and with node files.
struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Self {
        let site = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("site-{name}-{}", std::process::id())));
        fs::create_dir_all(&site.0).expect("a folder");
        for (name, script) in [("srun", SRUN), ("ssh", SSH), ("scontrol", SCONTROL)] {
            fs::write(site.0.join(name), script).expect("a script");
            fs::set_permissions(site.0.join(name), fs::Permissions::from_mode(0o755)).expect("a script");
        }
        site
    }

    /// Writes a node file and returns its path.
    fn file(&self, text: &str) -> String {
        let path = self.0.join("nodes");
        fs::write(&path, text).expect("a file");
        path.to_str().expect("text").into()
    }

    /// Returns the command `pelago` with these arguments in an allocation with these variables.
    fn command(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (Command, String) {
        let (mut command, mark) = pelago(arguments);
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap_or_default());
        command.envs(variables.iter().copied()).env("PATH", path);
        (command, mark)
    }

    fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
        let (command, mark) = self.command(variables, arguments);
        let ended = end(command);
        wait_until_gone(&mark);
        ended
    }

    /// Returns the lines by which the ranks print their hosts.
    fn places(&self, variables: &[(&str, &str)], options: &[&str]) -> Vec<String> {
        let ended = self.run(variables, &[&["run"], options, &PLACE].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.sorted_lines().into_iter().map(str::to_owned).collect()
    }

    /// Returns the only line of a refusal.
    fn refusal(&self, variables: &[(&str, &str)], options: &[&str]) -> String {
        let ended = self.run(variables, &[&["run"], options, &[RANK, "meet"]].concat());
        assert_eq!((ended.code, ended.error.lines().count()), (Some(2), 1), "{ended:?}");
        ended.error
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SLURM: [(&str, &str); 2] = [("SLURM_JOB_NODELIST", "node[08-09],gpu"), ("SLURM_TASKS_PER_NODE", "2(x2),1")];

#[test]
fn an_allocation_gives_hosts_and_slots() {
    let site = Site::new("slots");
    let five =
        ["0 of 5 on node08", "1 of 5 on node08", "2 of 5 on node09", "3 of 5 on node09", "4 of 5 on gpu"].map(str::to_owned);
    assert_eq!(site.places(&SLURM, &[]), five);
    assert_eq!(site.places(&SLURM, &["-n", "1"]), ["0 of 1 on node08"]);
    assert_eq!(site.places(&SLURM, &["-N", "1"]), ["0 of 3 on node08", "1 of 3 on node09", "2 of 3 on gpu"]);
    assert_eq!(site.places(&SLURM, &["-np", "2", "-ppn", "1"]), ["0 of 2 on node08", "1 of 2 on node09"]);
    assert_eq!(site.places(&SLURM, &["-n", "8", "--oversubscribe"]).len(), 8);
    let by_ssh = |name: &str, text: &str| site.places(&[(name, &site.file(text))], &[]);
    let three = ["0 of 3 on a by ssh", "1 of 3 on a by ssh", "2 of 3 on b by ssh"];
    assert_eq!(by_ssh("PBS_NODEFILE", "a\nb\na\n"), three);
    assert_eq!(by_ssh("LSB_DJOB_HOSTFILE", "a\na\nb\n"), three);
    assert_eq!(by_ssh("PE_HOSTFILE", "a 2 all.q@a <NULL>\nb 1 all.q@b <NULL>\n"), three);
    assert_eq!(site.places(&[("LSB_MCPU_HOSTS", "a 2 b 1")], &[]), three);
}

#[test]
fn programs_run_in_an_allocation() {
    let site = Site::new("programs");
    let ring = site.run(&SLURM, &["run", "ring"]);
    ring.expect(0, "");
    assert_eq!(ring.sorted_lines().len(), 5);
    site.run(&SLURM, &["run", PROGRAM, "everything"]).expect(0, "");
    site.run(&SLURM, &["run", RANK, "code", "4", "7"]).expect(1, "rank 4 (host gpu) failed with exit code 7; the job was ended");
    let options = site.run(&SLURM, &["run", "-n", "1", "sh", "-c", "echo $PELAGO_TEST_OPTIONS"]);
    let expected = "-Q -u --mpi=none --export=ALL --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpu-bind=none --overlap\n";
    assert_eq!(options.output, expected);
}

#[test]
fn named_hosts_and_refusals_beat_the_allocation() {
    let site = Site::new("beat");
    let gone = [("PBS_NODEFILE", "/no/such/file")];
    assert_eq!(site.places(&SLURM, &["--hosts", "x:1"]), ["0 of 1 on x by ssh"]);
    assert_eq!(site.places(&gone, &["--hosts", "x:1"]), ["0 of 1 on x by ssh"]);
    assert_eq!(site.places(&gone, &["-hostfile", &site.file("x slots=1\n")]), ["0 of 1 on x by ssh"]);
    assert_eq!(site.places(&SLURM, &["--remote-shell", "env PELAGO_TEST_HOST=my-{host}", "-n", "1"]), ["0 of 1 on my-node08"]);
    for variables in [&SLURM[..], &gone] {
        assert_eq!(site.places(variables, &["--no-allocation", "-n", "1"]), ["0 of 1 on"]);
    }
    // A process that a launcher has started is not a job script.
    for name in ["SLURM_STEP_ID", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"] {
        assert_eq!(site.places(&[&SLURM[..], &[(name, "1")]].concat(), &["-n", "1"]), ["0 of 1 on"], "{name}");
    }
}

#[test]
fn an_allocation_of_this_host_needs_no_remote_shell() {
    let site = Site::new("here");
    let name = rustix::system::uname().nodename().to_str().expect("text").to_owned();
    assert_eq!(site.places(&[("PBS_NODEFILE", &site.file(&format!("{name}\n{name}\n")))], &[]), ["0 of 2 on", "1 of 2 on"]);
    let slurm = [&SLURM[..], &[("SLURMD_NODENAME", "node08")]].concat();
    assert_eq!(site.places(&slurm, &["-n", "2"]), ["0 of 2 on", "1 of 2 on"]);
    let both = site.places(&slurm, &["-n", "3"]);
    assert_eq!(both, ["0 of 3 on node08", "1 of 3 on node08", "2 of 3 on node09"]);
}

#[test]
fn what_an_allocation_does_not_allow_is_one_line() {
    let site = Site::new("refused");
    let many = site.refusal(&SLURM, &["-n", "6"]);
    assert!(many.contains("6 ranks do not fit the 5 slots of 3 hosts") && many.contains("--oversubscribe"), "{many}");
    let many = site.refusal(&SLURM, &["-N", "2"]);
    assert!(many.contains("2 ranks per host do not fit the 1 slots of gpu") && many.contains("--oversubscribe"), "{many}");
    let many = site.refusal(&SLURM, &["-N", "1", "-n", "4"]);
    assert!(many.contains("4 ranks are more than 1 for each host (-N 1; hosts: 3)"), "{many}");
    for (text, says) in [("", "no host is named"), ("a\nb c\n", "line 2 is \"b c\""), ("-oProxyCommand=x\n", "line 1 is")] {
        let line = site.refusal(&[("PBS_NODEFILE", &site.file(text))], &[]);
        assert!(line.contains(says) && line.contains("PBS_NODEFILE") && line.contains("--no-allocation"), "{line}");
    }
    for name in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"] {
        let line = site.refusal(&[(name, "/no/such/file")], &[]);
        assert!(line.contains(&format!("from /no/such/file ({name}): No such file or directory")), "{line}");
    }
    for list in ["n[1-", "n[0-99999999999]", "n[1-2]", ""] {
        let line = site.refusal(&[("SLURM_JOB_NODELIST", list), SLURM[1]], &[]);
        assert!(line.contains("of this Slurm allocation cannot be"), "{line}");
    }
    fs::remove_file(site.0.join("srun")).expect("a script");
    let (mut command, mark) = site.command(&SLURM, &["run", RANK, "meet"]);
    // If Slurm is installed, its own command must not be found either.
    let program = fs::canonicalize("/usr/bin/env").expect("env");
    std::os::unix::fs::symlink(program, site.0.join("env")).expect("a link");
    let ended = end(std::mem::replace(command.env("PATH", &site.0), Command::new("true")));
    wait_until_gone(&mark);
    let says = ["install it (Debian: slurm-client)", "--remote-shell"].iter().all(|part| ended.error.contains(part));
    assert!(ended.error.starts_with("pelago: cannot run srun") && says, "{ended:?}");
    assert_eq!((ended.code, ended.error.lines().count()), (Some(2), 1), "{ended:?}");
}

#[test]
fn without_hosts_and_slots_the_number_of_ranks_is_asked_for() {
    let site = Site::new("unsaid");
    for options in [&[][..], &["--hosts", "a,b"], &["--no-allocation"]] {
        let line = site.refusal(&[], options);
        assert!(line.starts_with("pelago: say how many ranks: -n N"), "{line}");
    }
    assert_eq!(site.places(&[], &["-N", "2"]), ["0 of 2 on", "1 of 2 on"]);
    assert_eq!(site.places(&[], &["--hosts", "a:1,b:1"]), ["0 of 2 on a by ssh", "1 of 2 on b by ssh"]);
}

#[test]
fn the_allocation_is_shown() {
    let site = Site::new("info");
    let shown = |variables: &[(&str, &str)]| {
        let ended = site.run(variables, &["info", "--launch"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let line = |name: &str| ended.output.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        (line("allocation ").expect("a line"), line("node daemons "))
    };
    let (allocation, daemons) = shown(&SLURM);
    assert_eq!(allocation, "Slurm (SLURM_JOB_NODELIST): node08:2, node09:2, gpu:1");
    assert!(daemons.is_some_and(|line| line.starts_with("by srun ") && line.contains("--nodelist={host}")));
    let (allocation, daemons) = shown(&[("LSB_MCPU_HOSTS", "a 2 b 1")]);
    assert_eq!((allocation.as_str(), daemons.as_deref()), ("LSF (LSB_MCPU_HOSTS): a:2, b:1", Some("by ssh {host}")));
    let (allocation, daemons) = shown(&[&SLURM[..], &[("SLURMD_NODENAME", "n")], &[("SLURM_STEP_ID", "0")]].concat());
    assert!(allocation.starts_with("not used: SLURM_STEP_ID says") && daemons.is_none(), "{allocation}");
    assert!(shown(&[("PBS_NODEFILE", "/no/such/file")]).0.starts_with("refused: the hosts of this PBS allocation"));
    assert!(shown(&[]).0.starts_with("none"));
}

#[test]
fn losses_and_signals_end_a_job_in_an_allocation() {
    let site = Site::new("ends");
    let four = [SLURM[0], ("SLURM_TASKS_PER_NODE", "1(x2),2")];
    let start = || Running::of(4, site.command(&four, &["run", RANK, "wait"]));
    let job = start();
    job.signal_launcher(Signal::TERM);
    job.end().1.expect(130, "interrupted by signal 15 (SIGTERM); the job was ended");
    let job = start();
    kill_process(job.processes[3], Signal::KILL).expect("it runs");
    job.end().1.expect(3, "rank 3 (host gpu) was killed by signal 9 (SIGKILL); the job was ended");
    let job = start();
    job.signal_launcher(Signal::KILL);
    job.end();
    assert_eq!(shared_memory_names(), [""; 0]);
}
