//! Programs that check their own results, one for each group of functions, by every transport.

use crate::build::{TRANSPORTS, program, run};

/// Runs a program that prints one line on each rank if all its checks succeed.
fn conforms(group: &str) {
    let built = program(&format!("{group}.c"), group);
    for transport in TRANSPORTS {
        for ranks in [1, 2, 3, 4, 7] {
            let ended = run(ranks, transport, &built, &ranks.to_string(), None);
            let said = String::from_utf8_lossy(&ended.stderr);
            // The programs also make calls that must be refused.
            let refused_only = said.lines().all(|line| line.starts_with("acp: "));
            assert!(ended.status.success() && refused_only, "{group}, {ranks} ranks, {transport}: {said}");
            assert_eq!(ended.stdout, b"good\n".repeat(ranks as usize), "{group}, {ranks} ranks, {transport}");
        }
    }
}

#[test]
fn the_library_begins_and_ends_several_times() {
    conforms("infrastructure");
}

/// A message in flight would read memory that the program has unmapped.
#[test]
fn nothing_is_in_flight_after_the_end_of_the_library() {
    conforms("unfinished");
}

#[test]
fn memory_of_every_kind_is_reached() {
    conforms("memory");
}

/// As many registrations as a large program has, each with addresses and a key of its own.
#[test]
fn a_hundred_thousand_regions_are_registered_at_once() {
    let built = program("regions.c", "regions");
    for transport in TRANSPORTS {
        let ended = run(2, transport, &built, "100003", None);
        let said = String::from_utf8_lossy(&ended.stderr);
        let refused_only = said.lines().all(|line| line.starts_with("acp: "));
        assert!(ended.status.success() && refused_only, "{transport}: {said}");
        assert_eq!(ended.stdout, b"good\ngood\n", "{transport}");
    }
}

#[test]
fn copies_and_atomics_do_what_they_say() {
    conforms("access");
}

#[test]
fn atomics_on_registered_memory_count_whoever_serves() {
    conforms("storm");
}

#[test]
fn what_is_ordered_comes_in_order() {
    conforms("order");
}

#[test]
fn threads_work_side_by_side() {
    conforms("threads");
}

#[test]
fn threads_wait_for_each_other() {
    conforms("locks");
}

#[test]
fn waits_of_threads_end_at_their_limits() {
    conforms("limited");
}

#[test]
fn memory_is_allocated_on_every_rank() {
    conforms("allocator");
}

#[test]
fn messages_come_whole_and_in_order() {
    conforms("channel");
}

#[test]
fn segments_are_neither_overrun_nor_overtaken() {
    conforms("segbuf");
}

#[test]
fn vectors_and_deques_are_as_an_array_would_be() {
    conforms("vector");
}

#[test]
fn lists_are_linked_over_all_ranks() {
    conforms("list");
}

#[test]
fn words_of_containers_lie_where_programs_read_them() {
    conforms("layout");
}

#[test]
fn keys_are_added_by_all_ranks_at_once() {
    conforms("tables");
}

#[test]
fn workspaces_are_read_and_written_at_every_offset() {
    conforms("workspace");
}

/// The internal symbols that samples of the original C library call.
#[test]
fn samples_find_the_internal_symbols() {
    conforms("samples");
    let built = program("samples.c", "samples-abort");
    for transport in TRANSPORTS {
        let ended = run(3, transport, &built, "abort", None);
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_told = said.contains("message too long\nacp: rank 2: iacp_abort_cl: the job is ended\n");
        assert!(ended.status.code() == Some(1) && is_told && ended.stdout.is_empty(), "{transport}: {said}");
    }
}

/// A program defines the internal symbols itself, as some samples do.
#[test]
fn programs_define_internal_symbols_of_their_own() {
    conforms("overrides");
}

/// Where ranks are processes, a rank that polls memory observes its changes.
#[test]
fn memory_that_is_polled_without_a_call_changes() {
    let built = program("polling.c", "polling");
    for transport in ["shm", "udp"] {
        for how in ["starter", "global", "heap", "counted", "atomic", "get", "chain"] {
            let ended = run(3, transport, &built, how, None);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{how}, {transport}: {said}");
        }
    }
}
