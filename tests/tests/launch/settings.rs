//! Ranks whose settings differ, although all ranks have to share them: the job ends at its start, and the line names the setting, the rank and both values.

use crate::starter::{NOTHING, Start};
use crate::{PROGRAM, run};

/// A remote shell that runs commands on this machine, and encrypts on host `b`, as a profile of the shell there might.
const SHELL: &str = "sh -c 'if [ {host} = b ]; then PELAGO_ENCRYPT=1; export PELAGO_ENCRYPT; fi; exec \"$@\"' sh";

/// A script that sets a variable for rank 1 alone, and then is the program of the tests.
fn script(variable: &str) -> String {
    format!("if [ $PELAGO_RANK = 1 ]; then export {variable}; fi; exec {PROGRAM} everything")
}

#[test]
fn a_rank_of_another_setting_ends_the_job_at_its_start() {
    for (options, variable, line) in [
        (&[][..], "PELAGO_TRANSPORT=udp", "PELAGO_TRANSPORT is udp for rank 1, and auto for the job: "),
        (&["--transport", "udp"], "PELAGO_TRANSPORT=auto", "PELAGO_TRANSPORT is auto for rank 1, and udp for the job: "),
        (&["--transport", "udp"], "PELAGO_ENCRYPT=1", "PELAGO_ENCRYPT is 1 for rank 1, and 0 for the job: "),
        (&["--transport", "udp", "--encrypt"], "PELAGO_ENCRYPT=0", "PELAGO_ENCRYPT is 0 for rank 1, and 1 for the job: "),
    ] {
        let ended = run(&[&["run", "-n", "2"], options, &["sh", "-c", &script(variable)]].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.error.contains(line) && ended.error.contains("pelago: rank 1 (process "), "{ended:?}");
        assert_eq!(ended.error.lines().count(), 2, "{ended:?}");
    }
}

#[test]
fn a_host_of_another_setting_ends_the_job_at_its_start() {
    let hosts = ["--hosts", "a:1,b:1", "--remote-shell", SHELL];
    let ended = run(&[&["run", "-n", "2"], &hosts[..], &[PROGRAM, "everything"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.error.contains("PELAGO_ENCRYPT is 1 for rank 1, and 0 for the job: "), "{ended:?}");
    let encrypted = run(&[&["run", "-n", "2", "--encrypt"], &hosts[..], &[PROGRAM, "everything"]].concat());
    encrypted.expect(0, "");
}

#[test]
fn ranks_of_another_launcher_with_different_settings_say_which() {
    let blocks = [("PMI_process_mapping", "(vector,(0,2,2))")];
    for (store, variables_of, line) in [
        (&[][..], &[(2, "PELAGO_ENCRYPT", "1")][..], "PELAGO_ENCRYPT is 1 for rank 2, and 0 for rank 0 of its host"),
        // The first rank of the host refuses also ranks that it does not know yet.
        (&[], &[(0, "PELAGO_ENCRYPT", "1")], "and 1 for rank 0 of its host"),
        (&blocks, &[(2, "PELAGO_ENCRYPT", "1"), (3, "PELAGO_ENCRYPT", "1")], "PELAGO_ENCRYPT is 1 on host "),
        (
            &blocks,
            &[(2, "PELAGO_NETWORK", "127.0.0.0/8"), (3, "PELAGO_NETWORK", "127.0.0.0/8")],
            "PELAGO_NETWORK is 127.0.0.0/8 on host ",
        ),
    ] {
        let over = Start { ranks: 4, command: &[PROGRAM, "nothing"], store, variables_of, ..NOTHING }.run();
        assert!(over.codes().iter().all(|&code| code == 1), "{over:?}");
        assert!(over.error.contains(line) && !over.error.contains("did not come"), "{line}: {over:?}");
    }
}
