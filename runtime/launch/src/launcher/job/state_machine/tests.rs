//! Jobs of one host in virtual time.

use super::*;
use crate::launcher::job::outcome::ProcessLocation;

const SECOND: Duration = Duration::from_milliseconds(1000);
const TWO_SECONDS: Duration = Duration::from_milliseconds(2000);
const LIMITS: JobLimits = JobLimits { start: Some(SECOND), time: Some(TWO_SECONDS), failure: SECOND };
const ENDLESS: JobLimits = JobLimits { start: None, time: None, failure: SECOND };

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_milliseconds(milliseconds)
}

fn process(rank: u32) -> RankProcess {
    RankProcess { rank: Rank::new(rank), location: ProcessLocation::Local(100 + rank) }
}

/// Returns a job of three ranks that all run.
fn state() -> JobStateMachine {
    let mut state = JobStateMachine::new("program".into(), 3, LIMITS, at(0));
    (0..3).for_each(|_| state.handle_start(at(0)));
    state
}

fn actions(state: &mut JobStateMachine, now: Instant) -> Vec<RankAction> {
    std::iter::from_fn(|| state.poll_action(now)).collect()
}

fn census(joined: bool, absent: Option<u32>) -> Census {
    Census { joined, absent: absent.map(process), absent_besides: 0, still: None }
}

#[test]
fn a_program_that_survives_goes_on_until_nobody_is_left() {
    let process = |rank| RankProcess { rank: Rank::new(rank), location: ProcessLocation::Local(100 + rank) };
    let killed = |rank| JobOutcome::RankFailed(process(rank), FailureCause::Signal(9));
    let running = || {
        let mut state = JobStateMachine::new("program".into(), 3, ENDLESS, Instant::ZERO);
        (0..3).for_each(|_| state.handle_start(Instant::ZERO));
        state.handle_fault_tolerant();
        state.handle_end(Instant::ZERO, process(1), ProcessEnd::Signal(9), RankStage::Joined);
        assert_eq!(state.poll_action(Instant::ZERO), Some(RankAction::ContinueWithout(Rank::new(1))));
        assert!(state.poll_action(Instant::ZERO).is_none() && !state.is_ending());
        state
    };
    let mut state = running();
    [0, 2].into_iter().for_each(|rank| state.handle_end(Instant::ZERO, process(rank), ProcessEnd::Code(0), RankStage::Finished));
    assert_eq!((state.is_over(), state.into_outcome()), (true, JobOutcome::ContinuedAfterFailures(vec![killed(1)])));

    let mut state = running();
    state.handle_end(Instant::ZERO, process(0), ProcessEnd::Code(7), RankStage::Joined);
    state.handle_end(Instant::ZERO, process(2), ProcessEnd::Code(0), RankStage::Finished);
    let outcome = state.into_outcome();
    assert_eq!(outcome, JobOutcome::ContinuedAfterFailures(vec![killed(1), JobOutcome::ExitCode(process(0), 7)]));
    assert_eq!((outcome.exit_code(), JobOutcome::ContinuedAfterFailures(vec![killed(1)]).exit_code()), (1, 0));

    let mut state = running();
    [0, 2].into_iter().for_each(|rank| state.handle_end(Instant::ZERO, process(rank), ProcessEnd::Signal(9), RankStage::Joined));
    assert_eq!(state.into_outcome(), killed(1), "nobody was left");
}

#[test]
fn ranks_that_finish_are_a_good_job() {
    let mut state = state();
    (0..3).for_each(|rank| state.handle_end(at(1), process(rank), ProcessEnd::Code(0), RankStage::Finished));
    state.handle_time(at(5000));
    assert!(state.is_over() && actions(&mut state, at(5000)).is_empty());
    assert_eq!(state.into_outcome(), JobOutcome::Finished);
}

#[test]
fn the_first_loss_is_reported_and_the_rest_is_ended_step_by_step() {
    let mut state = state();
    state.handle_end(at(10), process(1), ProcessEnd::Signal(9), RankStage::Joined);
    state.handle_end(at(20), process(0), ProcessEnd::Code(3), RankStage::Joined);
    assert_eq!(actions(&mut state, at(20)), [RankAction::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(state.next_deadline(), Some(at(510)));
    assert_eq!(actions(&mut state, at(510)), [RankAction::Terminate]);
    assert_eq!(actions(&mut state, at(760)), [RankAction::Kill]);
    state.handle_end(at(761), process(2), ProcessEnd::Signal(9), RankStage::Joined);
    assert!(state.is_over());
    assert_eq!(state.into_outcome(), JobOutcome::RankFailed(process(1), FailureCause::Signal(9)));
}

#[test]
fn a_rank_that_leaves_in_the_middle_is_lost() {
    let mut state = state();
    state.handle_end(at(1), process(2), ProcessEnd::Code(0), RankStage::Joined);
    assert_eq!(state.into_outcome(), JobOutcome::RankFailed(process(2), FailureCause::Silent));
}

#[test]
fn hearsay_is_replaced_by_the_end_of_the_rank_that_is_lost() {
    let mut state = state();
    state.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    state.handle_end(at(2), process(0), ProcessEnd::Code(3), RankStage::Joined);
    state.handle_end(at(3), process(2), ProcessEnd::Code(101), RankStage::Failed);
    assert_eq!(state.into_outcome(), JobOutcome::ExitCode(process(2), 101));
}

#[test]
fn ranks_killed_by_the_launcher_are_no_cause() {
    let mut state = state();
    state.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    assert_eq!(actions(&mut state, at(600)), [RankAction::Terminate]);
    state.handle_end(at(601), process(2), ProcessEnd::Signal(15), RankStage::Failed);
    assert_eq!(state.into_outcome(), JobOutcome::RankFailed(process(2), FailureCause::ReportedByPeer));
}

#[test]
fn a_host_is_lost_with_all_its_ranks_and_explains_what_was_heard_of_one() {
    let lost = JobOutcome::HostFailed { host: "b".into(), first: Rank::new(1), count: 2 };
    let mut first = state();
    first.handle_host_failure(at(1), "b".into(), Rank::new(1), 2);
    assert_eq!(actions(&mut first, at(1)), [RankAction::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(first.into_outcome(), lost);

    let mut heard = state();
    heard.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    heard.handle_host_failure(at(2), "b".into(), Rank::new(1), 2);
    assert_eq!(heard.into_outcome(), lost);

    let mut other = state();
    other.handle_fault(at(1), Fault::PeerLost(Rank::new(0)), Some(process(0)));
    other.handle_host_failure(at(2), "b".into(), Rank::new(1), 2);
    assert_eq!(other.into_outcome(), JobOutcome::RankFailed(process(0), FailureCause::ReportedByPeer));
}

#[test]
fn a_rank_that_cannot_be_reached_is_not_said_to_be_lost() {
    let mut state = state();
    state.handle_fault(at(1), Fault::Unreachable(Rank::new(2)), Some(process(2)));
    state.handle_end(at(2), process(0), ProcessEnd::Code(3), RankStage::Joined);
    let outcome = state.into_outcome();
    assert_eq!((outcome.exit_code(), &outcome), (3, &JobOutcome::Unreachable(process(2))));
    assert!(outcome.to_string().contains("is alive but unreachable"), "{outcome}");
}

#[test]
fn who_ended_the_job_is_named() {
    let mut state = state();
    state.handle_fault(at(1), Fault::Aborted, None);
    state.handle_end(at(2), process(0), ProcessEnd::Code(3), RankStage::Joined);
    state.handle_end(at(2), process(1), ProcessEnd::Code(7), RankStage::Joined);
    assert_eq!(state.into_outcome(), JobOutcome::ExitCode(process(1), 7));
}

#[test]
fn a_rank_that_ends_the_job_without_an_error_is_no_loss() {
    let mut state = state();
    state.handle_fault(at(1), Fault::Ended, None);
    state.handle_end(at(2), process(0), ProcessEnd::Code(0), RankStage::Joined);
    state.handle_end(at(2), process(1), ProcessEnd::Code(0), RankStage::Finished);
    // A rank that does not notice the end is ended.
    assert_eq!(actions(&mut state, at(501)), [RankAction::Terminate]);
    state.handle_end(at(501), process(2), ProcessEnd::Signal(15), RankStage::Joined);
    let outcome = state.into_outcome();
    assert_eq!((outcome.exit_code(), outcome.is_quiet(), outcome), (0, true, JobOutcome::Ended));
}

#[test]
fn programs_that_never_join_are_told_from_ranks_that_do_not() {
    let mut foreign = state();
    (0..3).for_each(|rank| foreign.handle_end(at(1), process(rank), ProcessEnd::Code(0), RankStage::Absent));
    assert_eq!(foreign.into_outcome(), JobOutcome::NotAPelagoProgram("program".into()));

    let mut idle = state();
    assert!(!idle.wants_census(at(999)) && idle.wants_census(at(1000)));
    idle.handle_census(at(1000), census(false, Some(0)));
    assert_eq!(actions(&mut idle, at(1000)), [RankAction::Terminate]);
    assert_eq!(idle.into_outcome(), JobOutcome::NoRankJoined("program".into(), SECOND));

    let mut late = state();
    late.handle_census(at(1000), census(true, Some(2)));
    assert_eq!(late.into_outcome(), JobOutcome::RanksDidNotJoin(process(2), 0, SECOND));

    let mut left = state();
    left.handle_end(at(1), process(1), ProcessEnd::Code(0), RankStage::Absent);
    assert!(left.wants_census(at(2)));
    left.handle_census(at(2), census(false, Some(0)));
    assert!(!left.is_ending() && left.wants_census(at(3)));
    left.handle_census(at(3), census(true, None));
    assert_eq!(actions(&mut left, at(3)), [RankAction::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(left.into_outcome(), JobOutcome::LeftWithoutJoining(process(1)));
}

#[test]
fn ranks_that_joined_in_time_have_no_start_limit_any_more() {
    let mut state = state();
    state.handle_time(at(1000));
    state.handle_census(at(1000), census(true, None));
    assert!(!state.wants_census(at(1001)));
    assert_eq!(state.next_deadline(), Some(at(2000)));
    state.handle_time(at(2000));
    assert_eq!(state.into_outcome(), JobOutcome::TimeLimit(TWO_SECONDS));
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let mut state = state();
    state.handle_signal(at(1), 2);
    assert_eq!(actions(&mut state, at(1)), [RankAction::Terminate]);
    state.handle_signal(at(2), 2);
    assert_eq!(actions(&mut state, at(2)), [RankAction::Kill]);
    assert_eq!(state.into_outcome(), JobOutcome::Interrupted(2));
}

#[test]
fn ranks_that_are_not_started_yet_need_not_end() {
    let mut state = JobStateMachine::new("program".into(), 3, ENDLESS, at(0));
    state.handle_start(at(0));
    state.handle_start_failure(at(1), Rank::new(1), "no room".into());
    assert!(!state.wants_start() && !state.is_over());
    state.handle_end(at(2), process(0), ProcessEnd::Signal(15), RankStage::Absent);
    assert!(state.is_over());
    assert_eq!(state.into_outcome().exit_code(), 2);
}

/// Handles checks that found these ranks stopped so many times each, in this order.
fn stop(state: &mut JobStateMachine, seen: &[(u32, u32)]) {
    for &(rank, times) in seen {
        (0..times).for_each(|_| state.handle_stop(at(10), process(rank)));
    }
}

fn stopped(rank: u32) -> JobOutcome {
    JobOutcome::RankFailed(process(rank), FailureCause::Stopped(SECOND))
}

#[test]
fn a_rank_that_is_stopped_for_longer_than_the_limit_ends_the_job() {
    let mut state = state();
    stop(&mut state, &[(1, STOP_LOOKS)]);
    assert!(!state.is_ending(), "as long as the limit, it may be");
    state.handle_continuation(Rank::new(1));
    stop(&mut state, &[(1, STOP_LOOKS), (2, STOP_LOOKS)]);
    assert!(!state.is_ending(), "it ran in between");
    stop(&mut state, &[(2, 1)]);
    assert_eq!(actions(&mut state, at(10)), [RankAction::Tell(Fault::PeerLost(Rank::new(2)))]);
    let outcome = state.into_outcome();
    assert_eq!((outcome.exit_code(), &outcome), (3, &stopped(2)));
    assert!(outcome.to_string().contains("was stopped (not killed) for longer than the failure limit of 1 s"), "{outcome}");
}

#[test]
fn a_job_that_is_stopped_as_a_whole_waits_for_nobody() {
    let mut state = state();
    stop(&mut state, &[(0, STOP_LOOKS), (1, STOP_LOOKS), (2, 100), (0, 100), (1, 100)]);
    assert!(!state.is_ending());
    state.handle_continuation(Rank::new(0));
    stop(&mut state, &[(1, STOP_LOOKS)]);
    assert!(!state.is_ending(), "the others are as if stopped just now");
    stop(&mut state, &[(1, 1)]);
    assert_eq!(state.into_outcome(), stopped(1));
}

#[test]
fn who_is_the_only_rank_left_may_be_stopped() {
    let mut state = state();
    [0, 1].into_iter().for_each(|rank| state.handle_end(at(1), process(rank), ProcessEnd::Code(0), RankStage::Finished));
    stop(&mut state, &[(2, 100)]);
    assert!(!state.is_ending());
}

#[test]
fn a_program_that_survives_goes_on_without_a_stopped_rank_once_that_is_dead() {
    let mut state = state();
    state.handle_fault_tolerant();
    stop(&mut state, &[(1, 100)]);
    assert_eq!(actions(&mut state, at(10)), [RankAction::KillOne(Rank::new(1))], "once");
    state.handle_end(at(11), process(1), ProcessEnd::Signal(9), RankStage::Joined);
    assert_eq!(actions(&mut state, at(11)), [RankAction::ContinueWithout(Rank::new(1))]);
    [0, 2].into_iter().for_each(|rank| state.handle_end(at(12), process(rank), ProcessEnd::Code(0), RankStage::Finished));
    assert_eq!(state.into_outcome(), JobOutcome::ContinuedAfterFailures(vec![stopped(1)]));
}

#[test]
fn a_rank_that_others_do_not_hear_and_that_is_stopped_is_said_to_be() {
    let mut state = state();
    stop(&mut state, &[(2, 1)]);
    state.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    assert_eq!(state.into_outcome(), stopped(2));
}

#[test]
fn a_rank_that_the_kernel_killed_for_its_memory_says_so() {
    let mut state = state();
    state.handle_end(at(1), process(0), ProcessEnd::OutOfMemory, RankStage::Joined);
    let outcome = state.into_outcome();
    assert_eq!(outcome, JobOutcome::RankFailed(process(0), FailureCause::OutOfMemory));
    assert!(outcome.to_string().contains("killed by signal 9 (SIGKILL), probably because memory ran out"), "{outcome}");
}

#[test]
fn ranks_that_cannot_be_killed_are_left() {
    let mut state = state();
    state.handle_signal(at(0), 15);
    assert_eq!(actions(&mut state, at(0)), [RankAction::Terminate]);
    assert_eq!(actions(&mut state, at(250)), [RankAction::Kill]);
    let end = state.next_deadline().unwrap();
    assert_eq!(end, at(250) + COLLECT);
    state.handle_time(at(300));
    assert!(!state.is_over());
    state.handle_time(end);
    assert!(state.is_over());
}
