//! Programs that continue when ranks fail.

use rustix::process::{Signal, kill_process};

use crate::{Ended, PROGRAM, Running, pelago, run};

/// Four ranks with a time limit: a rank that never detects a failure ends its job with the line of the time limit.
const FOUR: [&str; 5] = ["run", "-n", "4", "--time-limit", "60"];

/// Kills the last of four ranks of a program that continues, and returns the outcome of the others.
fn survive(options: &[&str]) -> Ended {
    bereave("survive", options)
}

/// Like `survive`, with another action of the ranks.
fn bereave(act: &str, options: &[&str]) -> Ended {
    bereave_in(&[act], options)
}

/// Like `bereave`, with an action that has arguments.
fn bereave_in(act: &[&str], options: &[&str]) -> Ended {
    let job = Running::of(4, pelago(&[&FOUR, options, &[PROGRAM], act].concat()));
    kill_process(job.processes[3], Signal::KILL).expect("it runs");
    job.end().1
}

#[test]
fn the_others_finish_on_one_host() {
    let ended = survive(&[]);
    ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
    let expected: Vec<_> = (0..3).map(|rank| format!("rank {rank} went on, its words mapped")).collect();
    assert_eq!(ended.sorted_lines(), expected);
}

#[test]
fn the_others_finish_over_a_network() {
    let ended = survive(&["--transport", "udp"]);
    ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
    let expected: Vec<_> = (0..3).map(|rank| format!("rank {rank} went on, its words out of reach")).collect();
    assert_eq!(ended.sorted_lines(), expected);
}

#[test]
fn the_others_finish_on_several_hosts() {
    let hosts = ["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    let ended = survive(&hosts);
    ended.expect(0, "rank 3 (host b) was killed by signal 9 (SIGKILL); the others finished");
    let expected = ["out of reach", "out of reach", "mapped"];
    let expected: Vec<_> = (0..3).map(|rank| format!("rank {rank} went on, its words {}", expected[rank])).collect();
    assert_eq!(ended.sorted_lines(), expected);
}

/// A rank kills itself at a step of its use of a shared object. The others end by themselves and print their outcome.
fn share(what: &str, step: &str, options: &[&str], victim: usize, expected: &str) {
    let ended = run(&[&FOUR, options, &[PROGRAM, what, step]].concat());
    ended.expect(0, &format!("rank {victim} (process *) was killed by signal 9 (SIGKILL); the others finished"));
    let lines: Vec<_> = (0..4).filter(|&rank| rank != victim).map(|rank| format!("rank {rank} {expected}")).collect();
    assert_eq!(ended.sorted_lines(), lines, "{what}, {step}, {options:?}");
}

#[test]
fn a_variable_outlives_who_holds_it_waits_for_it_reads_it_or_wrote_it_last() {
    for options in [&[][..], &["--transport", "udp"]] {
        for step in ["holder", "waiter", "reader", "owner"] {
            share("variable", step, options, 3, "went on");
        }
        share("variable", "home", options, 3, "was told");
    }
}

#[test]
fn a_region_outlives_who_is_in_a_section_waits_for_one_or_has_left_one() {
    for options in [&[][..], &["--transport", "udp"]] {
        for step in ["holder", "waiter", "owner"] {
            share("region", step, options, 3, "went on");
        }
        // The memory of this host outlives its ranks.
        share("region", "home", options, 3, if options.is_empty() { "went on" } else { "was told" });
        share("region", "notes", options, 0, "was told");
    }
}

/// Where the system supports the handling of page faults.
#[test]
fn a_slice_goes_on_without_the_home_of_its_pages() {
    for (options, became) in [(&[][..], "went on"), (&["--transport", "udp"], "was told")] {
        let ended = run(&[&FOUR, options, &[PROGRAM, "slice"]].concat());
        if ended.output.contains("cannot: page faults need") {
            eprintln!("not tested: {}", ended.output);
            continue;
        }
        ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
        assert_eq!(ended.sorted_lines(), [0, 1, 2].map(|rank| format!("rank {rank} {became}")), "{options:?}");
    }
}

#[test]
fn a_mailbox_goes_on_without_a_sender_that_held_a_ticket() {
    for (options, act) in [&[][..], &["--transport", "udp"]].iter().flat_map(|&options| MAILBOXES.map(|act| (options, act))) {
        let ended = bereave_in(act, options);
        ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
        assert_eq!(ended.sorted_lines(), [0, 1, 2].map(|rank| format!("rank {rank} went on")), "{act:?} {options:?}");
    }
}

/// Without relays, and with the killed rank as the relay of rank 2.
const MAILBOXES: [&[&str]; 2] = [&["mailbox"], &["mailbox", "relayed"]];

#[test]
fn both_ends_of_a_channel_are_told_when_the_other_is_lost() {
    for options in [&[][..], &["--transport", "udp"]] {
        let ended = bereave("channel", options);
        ended.expect(0, "rank 3 (process *) was killed by signal 9 (SIGKILL); the others finished");
        assert_eq!(ended.sorted_lines(), [0, 1, 2].map(|rank| format!("rank {rank} was told")));
    }
}

#[test]
fn whoever_waits_for_messages_of_a_lost_rank_is_told() {
    let hosts = ["--hosts", "a:2,b:2", "--remote-shell", "env PELAGO_TEST_HOST={host}"];
    for options in [&[][..], &["--transport", "udp"], &hosts] {
        let ended = bereave("parties", options);
        let victim = if options == hosts { "rank 3 (host b)" } else { "rank 3 (process *)" };
        ended.expect(0, &format!("{victim} was killed by signal 9 (SIGKILL); the others finished"));
        assert_eq!(ended.sorted_lines(), [0, 1, 2].map(|rank| format!("rank {rank} was told")));
    }
}
