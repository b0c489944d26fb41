//! Programs that check their own results, one for each group of routines, by every transport.

use std::path::Path;
use std::process::Command;

use pelago_test_support::shmem::GROUPS;

use crate::build::{SIMULATED, TRANSPORTS, command, command_with, program, run};

/// The compiler flag by which serial products of signed integers wrap around, like those of the library.
const WRAPS: &[&str] = &["-fwrapv"];

/// Runs a program that prints one line on each PE if all its checks succeed.
fn conforms_as(group: &str, flags: &[&str], name: &str, transports: &[&str], sizes: &[u32]) {
    let built = program(&format!("{group}.c"), flags, name);
    for transport in transports {
        for &ranks in sizes {
            let ended = run(ranks, transport, &built, &[&ranks.to_string(), objects(transport)]);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.is_empty(), "{name}, {ranks} PEs, {transport}: {said}");
            assert_eq!(ended.stdout, b"good\n".repeat(ranks as usize), "{name}, {ranks} PEs, {transport}");
        }
    }
}

/// Returns the number of objects of `allocations`: each takes some barriers, which cost a simulation thousands of events.
fn objects(transport: &str) -> &'static str {
    if transport == SIMULATED { "100" } else { "1000" }
}

fn conforms(group: &str) {
    conforms_as(group, &[], group, &TRANSPORTS, &[1, 2, 3, 4, 7]);
}

#[test]
fn the_library_begins_and_ends_and_allocates() {
    conforms("setup");
}

#[test]
fn a_thousand_objects_are_allocated_and_change_their_size() {
    conforms("allocations");
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

/// With a short send queue, operations of one context wait for room until those of another have ended.
#[test]
fn contexts_advance_each_other() {
    conforms("contexts");
    let queue = ["--machine", "fat-tree-ndr", "--set", "rail.nic.send_queue=4", "--quiet", "--time-limit", "30"];
    all_conform(&["contexts"], "queue", &[2, 3], "sim", &queue);
}

#[test]
fn teams_of_teams_work_at_every_level() {
    conforms("nested");
    conforms_as("nested", &[], "nested-many", &[SIMULATED], &[33]);
}

#[test]
fn collective_operations_give_the_serial_result() {
    conforms("collectives");
    // Up and down a tree.
    conforms_as("collectives", &[], "collectives-many", &[SIMULATED], &[16, 33]);
}

#[test]
fn every_reduction_of_every_type_gives_the_serial_result() {
    conforms_as("reductions", WRAPS, "reductions", &TRANSPORTS, &[1, 2, 3, 4, 7]);
    // Up and down a tree.
    conforms_as("reductions", WRAPS, "reductions-many", &[SIMULATED], &[17]);
}

#[test]
fn active_sets_work() {
    conforms("oldsets");
}

#[test]
fn threads_work_side_by_side() {
    conforms("threads");
}

/// Returns the counters of a PE after the reductions of a program.
fn counted(program: &Path, values: u32, reductions: u32) -> impl Fn(&str) -> u32 {
    let mut command = command(2, "udp", program, &[&values.to_string(), &reductions.to_string()]);
    let ended = command.env("PELAGO_STATISTICS", "1").output().expect("the command under test");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() && ended.stdout == b"good\ngood\n", "{values} values: {said}");
    let counts = said.lines().find_map(|line| line.strip_prefix("rank 0: ")).unwrap_or_else(|| panic!("{said}")).to_owned();
    move |name| {
        let count = counts.split(", ").find_map(|count| count.strip_prefix(name)?.trim().parse().ok());
        count.unwrap_or(0)
    }
}

/// A reduction of two PEs on a network takes one message in each direction: two puts that share a datagram, or one put with signal, and no atomic, which
/// would need a response.
#[test]
fn reductions_of_two_take_one_message_each_way() {
    const REDUCTIONS: u32 = 200;
    let built = program("messages.c", &[], "messages");
    for (values, puts, datagrams) in [(1, 2, 1), (15, 2, 1), (16, 2, 1), (4096, 1, 1), (4097, 1, 1), (8192, 1, 2)] {
        let [none, all] = [0, REDUCTIONS].map(|reductions| counted(&built, values, reductions));
        let more = |name| all(name) - none(name);
        assert_eq!((more("puts_posted"), more("atomics_posted")), (puts * REDUCTIONS, 0), "{values} values");
        // Some acknowledgements are not piggybacked: in the worst case, all acknowledgements of long messages.
        let sent = all("datagrams_sent") - all("datagrams_repeated");
        let most = if values < 100 { REDUCTIONS * 3 / 2 } else { REDUCTIONS * (datagrams + 1) };
        assert!(sent < most + 100, "{values} values: {sent} datagrams");
    }
}

/// In a session with `SHMEM_CTX_SESSION_BATCH`, each three operations leave in one datagram; otherwise the first one leaves immediately.
#[test]
fn sessions_aggregate_operations() {
    conforms("sessions");
    let built = program("sessions.c", &[], "sessions-batch");
    for transport in TRANSPORTS {
        let ended = run(3, transport, &built, &["3", "batch"]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{transport}: {said}");
    }
    let datagrams = |mode| {
        let mut command = command(2, "udp", &built, &["2", mode, "100"]);
        let ended = command.env("PELAGO_STATISTICS", "1").output().expect("the command under test");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let counts = said.lines().find_map(|line| line.strip_prefix("rank 0: ")).unwrap_or_else(|| panic!("{said}"));
        let count = counts.split(", ").find_map(|count| count.strip_prefix("datagrams_sent ")?.parse::<u32>().ok());
        count.unwrap_or_else(|| panic!("{said}"))
    };
    let (alone, batched) = (datagrams("alone"), datagrams("batch"));
    assert!(batched < 160 && alone > 180, "100 times three operations: {alone} datagrams, {batched} in a session");
}

/// Programs compiled with optimization access words of mapped PEs without a call, and wake PEs that wait for these words; other words, and all words of
/// programs that ask for calls, are accessed by the library.
#[test]
fn words_of_mapped_pes_are_accessed_without_a_call() {
    const CALLS: &str = "-DSHMEM_NO_INLINE";
    for (flags, called) in [(&[][..], ["NONE", "OTHERS", "ALL"]), (&[CALLS], ["ALL"; 3]), (&["-Os"], ["ALL"; 3])] {
        let built = program("words.c", flags, &format!("words{}", flags.concat()));
        for (transport, called) in TRANSPORTS.iter().zip(called) {
            for ranks in [1_u32, 3] {
                let ended = run(ranks, transport, &built, &[&ranks.to_string(), called]);
                let said = String::from_utf8_lossy(&ended.stderr);
                assert!(ended.status.success() && said.is_empty(), "{flags:?}, {ranks} PEs, {transport}: {said}");
                assert_eq!(ended.stdout, b"good\n".repeat(ranks as usize), "{flags:?}, {ranks} PEs, {transport}");
            }
        }
    }
    for group in ["transfers", "atomics", "waits", "threads"] {
        conforms_as(group, &[CALLS], &format!("{group}-called"), &["shm", "udp"], &[1, 3]);
    }
}

/// Variables of an executable that is not position-independent are symmetric as well.
#[test]
fn executables_at_fixed_addresses_have_symmetric_variables() {
    conforms_as("transfers", &["-no-pie", "-fno-pie"], "transfers-fixed", &TRANSPORTS, &[1, 3]);
    conforms_as("waits", &["-no-pie", "-fno-pie"], "waits-fixed", &TRANSPORTS, &[2]);
}

/// The library moves the gaps that AddressSanitizer puts between variables with the variables, and accesses no other memory that the sanitizer protects.
#[test]
fn programs_run_under_sanitizers() {
    let flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for group in ["transfers", "waits", "teams"] {
        conforms_as(group, &flags, &format!("{group}-sanitized"), &["shm", "udp"], &[1, 3]);
    }
}

/// Runs every group with this subcommand and its options.
fn all_conform(groups: &[&str], how: &str, sizes: &[u32], start: &str, options: &[&str]) {
    for group in groups {
        let built = program(&format!("{group}.c"), WRAPS, &format!("{group}-{how}"));
        for &ranks in sizes {
            let ended = command_with(ranks, start, options, &built, &[&ranks.to_string(), "100"])
                .output()
                .expect("the command under test");
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.is_empty(), "{group}, {ranks} PEs, {how}: {said}");
            assert_eq!(ended.stdout, b"good\n".repeat(ranks as usize), "{group}, {ranks} PEs, {how}");
        }
    }
}

#[test]
fn all_groups_conform_on_simulated_networks_that_lose_and_delay() {
    let machine = ["--machine", "rx200-qdr", "--quiet", "--protocol", "--seed", "7", "--faults"];
    all_conform(
        &GROUPS,
        "faults",
        &[1, 2, 3, 4, 7],
        "sim",
        &[&machine[..], &["loss=0.02,duplicate=0.02,delay=0.1:50us"]].concat(),
    );
}

#[test]
fn all_groups_conform_over_libfabric() {
    let shown = Command::new(env!("CARGO_BIN_EXE_pelago-under-test")).arg("info").output().expect("the command under test");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    if let Some(line) =
        shown.lines().find(|line| line.starts_with("transport ofi") && line.contains("libfabric cannot be opened"))
    {
        return eprintln!("skipped: {line}");
    }
    let fabric = ["--transport", "ofi", "--fabric", "tcp;ofi_rxm", "--time-limit", "60"];
    let sizes = [1, 2, 3, 4, 7];
    if std::env::var_os("PELAGO_TEST_ALL_SIZES").is_some() {
        return all_conform(&GROUPS, "fabric", &sizes, "run", &fabric);
    }
    // A start takes a second. Therefore all groups run with one number of PEs, and one group with all numbers.
    all_conform(&GROUPS, "fabric", &[3], "run", &fabric);
    all_conform(&["transfers"], "fabric", &sizes, "run", &fabric);
}
