//! Messages name the actual problem of a machine: networks that are down, memory that runs out, paths with blanks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Ended, RANK, end, pelago, run, wait_until_gone};

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name} {}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs the command in a network of its own, in which the loopback interface is down, after `script`; `None` if the system allows none.
fn without_loopback(script: &str, arguments: &[&str]) -> Option<Ended> {
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "sh", "-c", script, "sh"]);
        command
    };
    if !apart(&format!("{{ {script}; }} 2>/dev/null")).status().is_ok_and(|status| status.success()) {
        eprintln!("not tested: no network of its own is allowed here");
        return None;
    }
    let (command, mark) = pelago(arguments);
    let mut apart = apart(&format!("{{ {script}; }} && exec \"$@\""));
    apart.arg(command.get_program()).args(command.get_args()).env(crate::MARK, &mark);
    let ended = end(apart);
    wait_until_gone(&mark);
    Some(ended)
}

#[test]
fn a_loopback_that_is_down_is_named() {
    let Some(ended) = without_loopback("true", &["run", "-n", "2", "--transport", "udp", RANK, "meet"]) else { return };
    let line = "datagrams do not reach 127.0.0.1 on this machine: Network is unreachable (os error 101); is its interface up (ip link set lo up)?";
    ended.expect(2, &format!("{line} --transport shm needs no network"));
    let Some(ended) = without_loopback("true", &["doctor", "--brief"]) else { return };
    assert!(ended.code == Some(1) && ended.output.contains("ip link set lo up"), "{ended:?}");
}

/// Ranks of one host reach each other by the address of another interface, but over the loopback interface: the system takes these datagrams and drops them.
#[test]
fn datagrams_that_the_system_drops_are_named() {
    let up = "ip link add one type veth peer name other && ip address add 10.79.3.1/24 dev one && ip link set one up && ip link set other up";
    let up = format!("{up} && timeout 10 sh -c 'until ip address show dev one | grep -q LOWER_UP; do :; done'");
    let here =
        ["run", "--hosts", "here:1,there:1", "--network", "10.79.3.0/24", "--remote-shell", "env HOST={host}", RANK, "meet"];
    let Some(ended) = without_loopback(&up, &here) else { return };
    let line =
        "datagrams do not reach 10.79.3.1 on this machine: the system drops them; is its interface up (ip link set lo up)?";
    assert!(ended.code == Some(2) && ended.error.contains(line), "{ended:?}");
}

/// Several hosts may write to one terminal at once.
#[test]
fn a_line_is_written_at_once() {
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let (mut command, _) = crate::pelago(&["run", "-n", "1", "/no/such/program"]);
    command.stderr(std::os::fd::OwnedFd::from(theirs)).status().unwrap();
    let mut written = [0; 1024];
    let bytes = ours.recv(&mut written).unwrap();
    assert_eq!(&written[..bytes], b"pelago: cannot run /no/such/program: No such file or directory\n");
}

/// The remote shell passes all words as one to a shell on the host, like ssh.
#[test]
fn a_remote_path_may_contain_blanks() {
    let folder = folder("it's a remote");
    let (ssh, command) = (folder.join("ssh"), folder.join("pelago"));
    fs::write(&ssh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").expect("a script");
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("a script");
    symlink(env!("CARGO_BIN_EXE_pelago-under-test"), &command).expect("a link");
    let shell = format!("\"{}\" {{host}}", ssh.display());
    let path = command.to_str().expect("text");
    let ended = run(&["run", "-n", "2", "--hosts", "a,b", "--remote-shell", &shell, "--remote-pelago", path, RANK, "meet"]);
    fs::remove_dir_all(&folder).expect("the folder");
    ended.expect(0, "");
}

/// A control group with little memory, where this user may create one.
struct Confined(PathBuf);

impl Confined {
    const BYTES: &str = "67108864";

    fn new() -> Option<Self> {
        for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let folder = Path::new(root).join(format!("pelago-test-{}", std::process::id()));
            let made = Path::new(root).join("cgroup.procs").exists() && fs::create_dir(&folder).is_ok();
            let confined = Self(folder);
            if made && fs::write(confined.0.join(limit), Self::BYTES).is_ok() {
                return Some(confined);
            }
        }
        None
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_rank_that_exceeds_the_memory_of_its_container_says_so() {
    let Some(confined) = Confined::new() else { return eprintln!("not tested: no group of processes can be confined here") };
    let script = format!("test $PELAGO_RANK = 0 || echo $$ > {}/cgroup.procs; exec $0 hoard 1", confined.0.display());
    let ended = run(&["run", "-n", "2", "sh", "-c", &script, RANK]);
    ended.expect(3, "rank 1 (process *) was killed by signal 9 (SIGKILL), probably because memory ran out; the job was ended");
}
