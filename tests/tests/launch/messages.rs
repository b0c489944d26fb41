//! Messages name the actual problem of a machine: networks that are down, memory that runs out, paths with blanks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{RANK, end, pelago, run, wait_until_gone};

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name} {}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_loopback_that_is_down_is_named() {
    let (command, mark) = pelago(&["run", "-n", "2", "--transport", "udp", RANK, "meet"]);
    let mut apart = Command::new("unshare");
    apart.args(["--net", "--map-root-user"]).arg(command.get_program()).args(command.get_args()).env(crate::MARK, &mark);
    if !Command::new("unshare").args(["--net", "--map-root-user", "true"]).status().is_ok_and(|status| status.success()) {
        return eprintln!("not tested: no network of its own is allowed here");
    }
    let ended = end(apart);
    wait_until_gone(&mark);
    let line = "datagrams do not reach 127.0.0.1 on this machine: Network is unreachable (os error 101); is its interface up (ip link set lo up)?";
    ended.expect(2, &format!("{line} --transport shm needs no network"));
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
