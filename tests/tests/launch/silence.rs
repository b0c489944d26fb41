//! Ranks that are silent, because they are stopped or because the machine is oversubscribed, do not count as failed.

use crate::{PROGRAM, run};

#[test]
fn a_rank_that_is_stopped_for_three_seconds_while_two_hundred_send_to_it_is_not_lost() {
    // The ranks have a failure limit of their own: the launcher, which monitors the processes, treats stopped ones differently.
    let options = ["-n", "201", "--transport", "udp", "--failure-limit", "60"];
    let ended = run(&[&["run"], &options[..], &["env", "PELAGO_FAILURE_SECONDS=1", PROGRAM, "stopped"]].concat());
    ended.expect(0, "");
    assert_eq!(ended.output, "rank 200 heard of all\n");
}

#[test]
fn three_hundred_ranks_of_two_cores_lose_nobody() {
    let ended = run(&["run", "-n", "300", "--transport", "udp", "alltoall", "--bytes", "8"]);
    ended.expect(0, "");
    assert!(ended.output.starts_with("alltoall ranks 300 bytes 8 us "), "{ended:?}");
}
