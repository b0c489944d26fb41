//! Programs that check what they do, one for each group of routines, by every transport.

use crate::build::{SIMULATED, TRANSPORTS, program, run};

/// Runs a program that prints one line on each PE when all was as it should be.
fn conforms_as(group: &str, flags: &[&str], name: &str, transports: &[&str], sizes: &[u32]) {
    let built = program(&format!("{group}.c"), flags, name);
    for transport in transports {
        for &ranks in sizes {
            let ended = run(ranks, transport, &built, &[&ranks.to_string()]);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.is_empty(), "{name}, {ranks} PEs, {transport}: {said}");
            assert_eq!(ended.stdout, b"good\n".repeat(ranks as usize), "{name}, {ranks} PEs, {transport}");
        }
    }
}

fn conforms(group: &str) {
    conforms_as(group, &[], group, &TRANSPORTS, &[1, 2, 3, 4, 7]);
}

#[test]
fn the_library_begins_and_ends_and_allocates() {
    conforms("setup");
}

#[test]
fn bytes_are_put_and_got() {
    conforms("transfers");
}

#[test]
fn atomics_count_whoever_serves() {
    conforms("atomics");
}

#[test]
fn waits_and_tests_see_what_others_write() {
    conforms("waits");
}

#[test]
fn locks_exclude() {
    conforms("locks");
}

#[test]
fn teams_split_and_have_contexts() {
    conforms("teams");
}

#[test]
fn collective_operations_give_the_serial_result() {
    conforms("collectives");
    // Up and down a tree.
    conforms_as("collectives", &[], "collectives-many", &[SIMULATED], &[33]);
}

#[test]
fn active_sets_work() {
    conforms("oldsets");
}

#[test]
fn threads_work_side_by_side() {
    conforms("threads");
}

/// Variables of an executable that is not position-independent are symmetric as well.
#[test]
fn executables_at_fixed_addresses_have_symmetric_variables() {
    conforms_as("transfers", &["-no-pie", "-fno-pie"], "transfers-fixed", &TRANSPORTS, &[1, 3]);
    conforms_as("waits", &["-no-pie", "-fno-pie"], "waits-fixed", &TRANSPORTS, &[2]);
}
