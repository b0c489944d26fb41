//! The key of a job is in no argument, no variable and no core dump.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::{MARK, PROGRAM, RANK, Running, pelago, with_environment};

const KEY_BYTES: usize = 16;

/// Rank 0 writes the key to a file, rank 1 uses the network.
const SCRIPT: &str = r#"ulimit -c unlimited
if [ $PELAGO_RANK = 0 ]; then exec "$0" secret "$2"; else exec "$1" exchange put; fi"#;

/// Returns a folder for core dumps, if this system writes them to the working directory.
fn folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut crash = Command::new("sh");
    crash.args(["-c", "ulimit -c unlimited && kill -SEGV $$"]).current_dir(&folder);
    let leaves = crash.status().is_ok_and(|status| status.core_dumped()) && dump(&folder).is_some();
    if !leaves {
        eprintln!("not tested: this system leaves no core dumps in the folder of a process");
        fs::remove_dir_all(&folder).expect("the folder");
    }
    leaves.then_some(folder)
}

/// Returns the dump in a folder, and removes it.
fn dump(folder: &Path) -> Option<Vec<u8>> {
    let is_dump = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"));
    let path = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_dump)?;
    let bytes = fs::read(&path).ok()?;
    fs::remove_file(path).ok()?;
    Some(bytes)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn the_key_of_a_job_is_seen_nowhere() {
    let Some(folder) = folder("secret") else { return };
    // A rank that is killed while it seals a datagram has the key in its registers, which are part of the dump. A key in memory would be in every dump.
    let is_clean = (0..4).any(|_| {
        let (key, dump) = key_and_dump(&folder);
        assert!(contains(&dump, b"PELAGO_RANK=1"), "what is on its stack is there");
        !contains(&dump, &key)
    });
    assert!(is_clean, "each dump of a rank shows the key");
    fs::remove_dir_all(&folder).expect("the folder");
}

/// Returns the key of a job that ends because a rank was killed, and the dump of that rank.
fn key_and_dump(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let file = folder.join("key");
    let run = ["run", "-n", "2", "--transport", "udp", "--heap", "1M", "sh", "-c", SCRIPT, RANK, PROGRAM];
    let (mut command, mark) = pelago(&[&run[..], &[file.to_str().expect("text")]].concat());
    command.current_dir(folder);
    let job = Running::of(1, (command, mark));
    let key = fs::read(&file).expect("the key");
    assert!(key.len() == KEY_BYTES && key != [0; KEY_BYTES]);
    let hexadecimal: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let of_job = with_environment(&format!("{MARK}={}", job.mark));
    for process in &of_job {
        for name in ["environ", "cmdline"] {
            let shown = fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
            assert!(!contains(&shown, &key) && !contains(&shown, hexadecimal.as_bytes()), "{name} shows the key");
        }
    }
    let is_other = |process: &&String| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        contains(&environment, b"PELAGO_RANK=1\0")
    };
    let other = of_job.iter().find(is_other).and_then(|process| Pid::from_raw(process.parse().ok()?)).expect("rank 1");
    kill_process(other, Signal::ABORT).expect("it runs");
    let (_, ended) = job.end();
    ended.expect(3, "rank 1 (process *) was killed by signal 6 (SIGABRT); the job was ended");
    fs::remove_file(&file).expect("the key");
    (key, dump(folder).expect("a dump of rank 1"))
}

#[test]
fn a_launcher_that_has_a_key_leaves_no_dump() {
    let Some(folder) = folder("launcher") else { return };
    let (command, mark) = pelago(&["run", "-n", "4", "--transport", "udp", RANK, "wait"]);
    let mut dumped = Command::new("sh");
    dumped.args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    dumped.env(MARK, &mark).current_dir(&folder);
    let job = Running::of(4, (dumped, mark));
    job.signal_launcher(Signal::ABORT);
    let (status, _) = job.end();
    assert!(status.signal() == Some(Signal::ABORT.as_raw()) && !status.core_dumped() && dump(&folder).is_none());
    fs::remove_dir_all(&folder).expect("the folder");
}
