//! Errors of the original C library, with one test for each, which this library does not have. The conformance programs cover the messages that
//! follow one for which a receiver has too little room, the bytes around a transferred piece of a workspace, and merges, moves and assignments of
//! sets and maps. The tests with namespaces cover networks that lose datagrams.

use crate::build::{SIMULATED, TRANSPORTS, program, run};

/// Runs an action of the program, which must succeed on every rank.
fn act_well(act: &str, argument: &str, ranks: u32, transport: &str) {
    let built = program("failures.c", &format!("failures-{act}-{transport}"));
    let ended = crate::build::run_with(ranks, transport, &built, &[act, argument]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{act}, {transport}: {said}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "good\n".repeat(ranks as usize), "{act}, {transport}");
}

#[test]
fn every_start_succeeds() {
    let built = program("failures.c", "failures-start");
    for start in 0..40 {
        let ended = run(4, "udp", &built, "nothing", None);
        assert!(ended.status.success(), "start {start}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn inquire_says_what_is_under_way() {
    act_well("inquire", "?", 2, "shm");
    act_well("inquire", "n", 2, "udp");
    act_well("inquire", "n", 2, SIMULATED);
}

#[test]
fn reset_gives_another_rank_and_clear_memory() {
    TRANSPORTS.into_iter().for_each(|transport| act_well("reset", "", 3, transport));
}

#[test]
fn abort_says_why_and_ends_the_job() {
    let built = program("bad.c", "failures-abort");
    for transport in TRANSPORTS {
        let ended = run(3, transport, &built, "abort", None);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && said.starts_with("acp: rank 2: on purpose\n"), "{said}");
    }
}

#[test]
fn null_and_foreign_addresses_hurt_nobody() {
    TRANSPORTS.into_iter().for_each(|transport| act_well("foreign", "", 3, transport));
}

#[test]
fn what_is_not_registered_is_not_reached() {
    TRANSPORTS.into_iter().for_each(|transport| act_well("neighbours", "", 2, transport));
}

#[test]
fn a_dead_rank_is_not_taken_for_one_that_has_come() {
    let built = program("failures.c", "failures-dead");
    for transport in TRANSPORTS {
        let ended = run(3, transport, &built, "dead", None);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(3) && ended.stdout.is_empty(), "{said}");
        assert!(said.lines().count() == 1 && said.contains("was killed by signal 6"), "{said}");
    }
}

#[test]
fn more_requests_than_nine_are_under_way() {
    TRANSPORTS.into_iter().for_each(|transport| act_well("requests", "", 3, transport));
}

#[test]
fn ranks_that_poll_let_others_work() {
    TRANSPORTS.into_iter().for_each(|transport| act_well("polling", "", 8, transport));
}
