//! The contract of [`Transport`], [`Network`](pelago_platform::Network) and [`Registry`](pelago_platform::Registry) as tests, for every transport and every wrapper.
//!
//! | clause | tests |
//! |---|---|
//! | endpoints | [`connect`] |
//! | segments | [`register`], [`device`] |
//! | T1 bounded | [`full`] |
//! | T2 captured | [`mod@write`] |
//! | T3 once, T4 visible | [`transfer`], [`atomic`], [`generated`] |
//! | T5 unordered | [`fence`] |
//! | T6 finite | [`lost`] |
//! | T7 timeless | [`timeless`] |
//! | T8 checked | [`bounds`] |
//! | T9 rails | [`connect`] |
//! | T10 waking | [`wake`] |
//! | T11 atomic | [`atomic`] |
//! | T12 sizes | [`transfer`] |
//! | T13 blocks | [`blocks`] |
//! | T14 signalled | [`signalled`] |
//! | R1 to R6 of reductions | [`reductions`] |
//!
//! A transport provides a [`Fixture`] that creates a job of its ranks inside one process; one line,
//! [`conformance!`](crate::conformance!), then runs every test on it. The tests drive all ranks in turn in virtual time, skip to the
//! next deadline when nothing moves, and check the transferred data. They omit sizes that do not fit a segment.
//!
//! Not tested, because the contract leaves it open: an operation posted to the endpoint of a rank that it does not name, a copy
//! onto itself, operations of no bytes outside registered memory, a second `deregister`.

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::Transport;

pub mod atomic;
pub mod blocks;
pub mod bounds;
pub mod connect;
pub mod device;
pub mod fence;
pub mod full;
pub mod generated;
pub mod lost;
pub mod reductions;
pub mod register;
pub mod signalled;
pub mod timeless;
pub mod transfer;
pub mod wake;
pub mod write;

mod ends;
mod world;

pub use ends::{Ends, Wakes};

/// A job inside one process, created anew for each test.
///
/// Every rank has registered the same segments, at least one, each of at least 4096 bytes and beginning at a multiple of 8. The maximum length of
/// a message is at least 72,000 bytes. The tests fill the segments first. No rank is connected to any other. Tests create jobs of one to four ranks.
pub trait Fixture {
    /// The layout of the job's global addresses.
    fn layout(&self) -> AddressLayout;

    /// The segments that every rank has registered: one of each kind that the transport treats differently.
    fn segments(&self) -> Vec<SegmentId>;

    /// The memory of a segment of [`segments`](Self::segments).
    fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_>;

    /// The transport of `rank`.
    fn transport(&mut self, rank: Rank) -> &mut dyn Transport;

    /// Makes `rank` fail as if its process had died; it makes no progress from now on. Returns `false`, and does nothing, if a rank of this
    /// transport cannot fail in a test: the tests of T6 then pass without testing.
    fn peer_failed(&mut self, rank: Rank) -> bool;

    /// Number of times that `rank` has been woken. `None` if the fixture does not count: the tests of T10 then pass without testing.
    fn wakes(&self, rank: Rank) -> Option<u64> {
        let _ = rank;
        None
    }
}

/// Runs every test of [`conformance`](mod@crate::conformance) on the fixtures that `$make`, called with a number of ranks, creates.
///
/// In the tests of a crate this example creates the modules `traced::write`, `traced::fence` and so on:
///
/// ```
/// use pelago_kit::conformance::Ends;
/// use pelago_kit::{Loopback, Trace};
///
/// fn job(ranks: u32) -> Ends<Trace<Loopback, fn(&str)>> {
///     Ends::layered(ranks, |_, end| Trace::new(end, (|line| eprintln!("{line}")) as fn(&str)), |trace, rank| trace.inner().peer_failed(rank))
/// }
///
/// pelago_kit::conformance!(traced, job);
/// ```
///
/// An optional third argument is a function that receives the name of each test and returns whether the test can run here; it prints the reason if
/// not.
#[macro_export]
macro_rules! conformance {
    (@ $make:expr, $can_run:expr; $($file:ident { $($test:ident)+ })+) => {$(
        mod $file {
            #[allow(unused_imports, reason = "the fixture may be named by its whole path")]
            use super::*;
            $(#[test]
            fn $test() {
                if $can_run(stringify!($test)) {
                    $crate::conformance::$file::$test($make);
                }
            })+
        }
    )+};
    ($name:ident, $make:expr) => {
        $crate::conformance!($name, $make, |_: &str| true);
    };
    ($name:ident, $make:expr, $can_run:expr) => {
        mod $name {
            #[allow(unused_imports, reason = "as below")]
            use super::*;
            $crate::conformance! { @ $make, $can_run;
                connect {
                    again_gives_the_same_endpoint
                    foreign_addresses_are_refused
                    unknown_endpoints_are_refused
                    rails_lead_where_they_say
                }
                register {
                    addresses_in_use_are_refused
                    addresses_that_are_not_its_own_are_refused
                    memory_is_reached_until_it_is_deregistered
                    regions_agree_with_an_oracle
                    regions_are_as_many_as_have_room
                }
                device {
                    device_memory_is_reached_as_any_other
                    device_memory_is_checked
                    a_failing_device_fails_what_needs_it
                }
                write {
                    bytes_may_be_reused_at_once
                    every_length_lands_whole
                    too_long_is_refused
                }
                transfer {
                    puts_land_whole
                    gets_fetch_all
                    copies_move_between_any_two
                    messages_are_as_long_as_they_say
                }
                atomic {
                    every_operator_agrees_with_its_definition
                    additions_from_all_ranks_are_each_counted_once
                    misaligned_words_are_refused
                    cores_are_excluded
                }
                generated {
                    operations_agree_with_an_oracle
                }
                blocks {
                    blocks_are_one_operation_where_they_say
                    all_blocks_are_reached_or_none
                    lists_are_as_long_as_they_say
                }
                signalled {
                    whoever_sees_the_word_sees_the_bytes
                    a_word_whose_bytes_lead_nowhere_is_not_written
                }
                fence {
                    later_effects_are_not_seen_without_earlier
                    reads_before_find_what_was_there
                    chains_need_no_wait
                    what_stays_in_order_by_itself_does
                }
                full {
                    is_temporary
                    fences_take_no_room
                }
                lost {
                    every_operation_completes
                    others_go_on
                    a_full_queue_completes
                }
                timeless {
                    the_same_script_completes_alike
                }
                reductions {
                    everyone_gets_the_combination
                    reductions_do_not_mix
                    groups_have_their_members
                    a_lost_member_ends_its_groups
                }
                wake {
                    notified_targets_are_woken
                    targets_are_woken_where_all_writes_wake
                }
                bounds {
                    nothing_outside_is_touched
                    ranks_that_do_not_exist_are_outside
                    atomics_stay_inside
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_test_is_run_by_the_macro() {
        let this = include_str!("mod.rs");
        macro_rules! files {
            ($($file:literal)+) => { [$(include_str!($file)),+].concat() };
        }
        let all = files! {
            "atomic.rs" "blocks.rs" "bounds.rs" "connect.rs" "device.rs" "fence.rs" "full.rs" "generated.rs"
            "lost.rs" "reductions.rs" "register.rs" "signalled.rs" "timeless.rs" "transfer.rs" "wake.rs" "write.rs"
        };
        let tests = all.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split('<').next());
        for test in tests {
            assert!(this.lines().any(|line| line.trim() == test), "list {test} in conformance!, or it never runs");
        }
    }
}
