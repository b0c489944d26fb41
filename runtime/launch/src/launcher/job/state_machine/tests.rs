//! Jobs of one host in virtual time.

use super::*;
use crate::launcher::job::outcome::Place;

const SECOND: Duration = Duration::from_milliseconds(1000);
const TWO_SECONDS: Duration = Duration::from_milliseconds(2000);
const LIMITS: Limits = Limits { start: Some(SECOND), time: Some(TWO_SECONDS), failure: SECOND };
const ENDLESS: Limits = Limits { start: None, time: None, failure: SECOND };

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_milliseconds(milliseconds)
}

fn process(rank: u32) -> Process {
    Process { rank: Rank::new(rank), place: Place::Here(100 + rank) }
}

/// A job of three ranks that all run.
fn course() -> Course {
    let mut course = Course::new("program".into(), 3, LIMITS, at(0));
    (0..3).for_each(|_| course.handle_start(at(0)));
    course
}

fn actions(course: &mut Course, now: Instant) -> Vec<Action> {
    std::iter::from_fn(|| course.poll_action(now)).collect()
}

fn census(joined: bool, absent: Option<u32>) -> Census {
    Census { joined, absent: absent.map(process), absent_besides: 0 }
}

#[test]
fn a_program_that_survives_goes_on_until_nobody_is_left() {
    let process = |rank| Process { rank: Rank::new(rank), place: Place::Here(100 + rank) };
    let killed = |rank| Outcome::Lost(process(rank), Death::Signal(9));
    let running = || {
        let mut course = Course::new("program".into(), 3, ENDLESS, Instant::ZERO);
        (0..3).for_each(|_| course.handle_start(Instant::ZERO));
        course.handle_survival();
        course.handle_end(Instant::ZERO, process(1), End::Signal(9), RankStage::Joined);
        assert_eq!(course.poll_action(Instant::ZERO), Some(Action::Lose(Rank::new(1))));
        assert!(course.poll_action(Instant::ZERO).is_none() && !course.is_ending());
        course
    };
    let mut course = running();
    [0, 2].into_iter().for_each(|rank| course.handle_end(Instant::ZERO, process(rank), End::Code(0), RankStage::Finished));
    assert_eq!((course.is_over(), course.into_outcome()), (true, Outcome::Survived(vec![killed(1)])));

    let mut course = running();
    course.handle_end(Instant::ZERO, process(0), End::Code(7), RankStage::Joined);
    course.handle_end(Instant::ZERO, process(2), End::Code(0), RankStage::Finished);
    let outcome = course.into_outcome();
    assert_eq!(outcome, Outcome::Survived(vec![killed(1), Outcome::Failed(process(0), 7)]));
    assert_eq!((outcome.exit_code(), Outcome::Survived(vec![killed(1)]).exit_code()), (1, 0));

    let mut course = running();
    [0, 2].into_iter().for_each(|rank| course.handle_end(Instant::ZERO, process(rank), End::Signal(9), RankStage::Joined));
    assert_eq!(course.into_outcome(), killed(1), "nobody was left");
}

#[test]
fn ranks_that_finish_are_a_good_job() {
    let mut course = course();
    (0..3).for_each(|rank| course.handle_end(at(1), process(rank), End::Code(0), RankStage::Finished));
    course.handle_time(at(5000));
    assert!(course.is_over() && actions(&mut course, at(5000)).is_empty());
    assert_eq!(course.into_outcome(), Outcome::Finished);
}

#[test]
fn the_first_loss_is_reported_and_the_rest_is_ended_step_by_step() {
    let mut course = course();
    course.handle_end(at(10), process(1), End::Signal(9), RankStage::Joined);
    course.handle_end(at(20), process(0), End::Code(3), RankStage::Joined);
    assert_eq!(actions(&mut course, at(20)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(course.next_deadline(), Some(at(510)));
    assert_eq!(actions(&mut course, at(510)), [Action::Terminate]);
    assert_eq!(actions(&mut course, at(760)), [Action::Kill]);
    course.handle_end(at(761), process(2), End::Signal(9), RankStage::Joined);
    assert!(course.is_over());
    assert_eq!(course.into_outcome(), Outcome::Lost(process(1), Death::Signal(9)));
}

#[test]
fn a_rank_that_leaves_in_the_middle_is_lost() {
    let mut course = course();
    course.handle_end(at(1), process(2), End::Code(0), RankStage::Joined);
    assert_eq!(course.into_outcome(), Outcome::Lost(process(2), Death::Silent));
}

#[test]
fn hearsay_is_replaced_by_the_end_of_the_rank_that_is_lost() {
    let mut course = course();
    course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
    course.handle_end(at(3), process(2), End::Code(101), RankStage::Failed);
    assert_eq!(course.into_outcome(), Outcome::Failed(process(2), 101));
}

#[test]
fn ranks_killed_by_the_launcher_are_no_cause() {
    let mut course = course();
    course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    assert_eq!(actions(&mut course, at(600)), [Action::Terminate]);
    course.handle_end(at(601), process(2), End::Signal(15), RankStage::Failed);
    assert_eq!(course.into_outcome(), Outcome::Lost(process(2), Death::Hearsay));
}

#[test]
fn a_host_is_lost_with_all_its_ranks_and_explains_what_was_heard_of_one() {
    let lost = Outcome::HostLost { host: "b".into(), first: Rank::new(1), count: 2 };
    let mut first = course();
    first.handle_host_loss(at(1), "b".into(), Rank::new(1), 2);
    assert_eq!(actions(&mut first, at(1)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(first.into_outcome(), lost);

    let mut heard = course();
    heard.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    heard.handle_host_loss(at(2), "b".into(), Rank::new(1), 2);
    assert_eq!(heard.into_outcome(), lost);

    let mut other = course();
    other.handle_fault(at(1), Fault::PeerLost(Rank::new(0)), Some(process(0)));
    other.handle_host_loss(at(2), "b".into(), Rank::new(1), 2);
    assert_eq!(other.into_outcome(), Outcome::Lost(process(0), Death::Hearsay));
}

#[test]
fn a_rank_that_cannot_be_reached_is_not_said_to_be_lost() {
    let mut course = course();
    course.handle_fault(at(1), Fault::Unreachable(Rank::new(2)), Some(process(2)));
    course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
    let outcome = course.into_outcome();
    assert_eq!((outcome.exit_code(), &outcome), (3, &Outcome::Unreachable(process(2))));
    assert!(outcome.to_string().contains("is alive but cannot be reached"), "{outcome}");
}

#[test]
fn who_ended_the_job_is_named() {
    let mut course = course();
    course.handle_fault(at(1), Fault::Aborted, None);
    course.handle_end(at(2), process(0), End::Code(3), RankStage::Joined);
    course.handle_end(at(2), process(1), End::Code(7), RankStage::Joined);
    assert_eq!(course.into_outcome(), Outcome::Failed(process(1), 7));
}

#[test]
fn programs_that_never_join_are_told_from_ranks_that_do_not() {
    let mut foreign = course();
    (0..3).for_each(|rank| foreign.handle_end(at(1), process(rank), End::Code(0), RankStage::Absent));
    assert_eq!(foreign.into_outcome(), Outcome::Foreign("program".into()));

    let mut idle = course();
    assert!(!idle.wants_census(at(999)) && idle.wants_census(at(1000)));
    idle.handle_census(at(1000), census(false, Some(0)));
    assert_eq!(actions(&mut idle, at(1000)), [Action::Terminate]);
    assert_eq!(idle.into_outcome(), Outcome::Idle("program".into(), SECOND));

    let mut late = course();
    late.handle_census(at(1000), census(true, Some(2)));
    assert_eq!(late.into_outcome(), Outcome::Late(process(2), 0, SECOND));

    let mut left = course();
    left.handle_end(at(1), process(1), End::Code(0), RankStage::Absent);
    assert!(left.wants_census(at(2)));
    left.handle_census(at(2), census(false, Some(0)));
    assert!(!left.is_ending() && left.wants_census(at(3)));
    left.handle_census(at(3), census(true, None));
    assert_eq!(actions(&mut left, at(3)), [Action::Tell(Fault::PeerLost(Rank::new(1)))]);
    assert_eq!(left.into_outcome(), Outcome::Left(process(1)));
}

#[test]
fn ranks_that_joined_in_time_have_no_start_limit_any_more() {
    let mut course = course();
    course.handle_time(at(1000));
    course.handle_census(at(1000), census(true, None));
    assert!(!course.wants_census(at(1001)));
    assert_eq!(course.next_deadline(), Some(at(2000)));
    course.handle_time(at(2000));
    assert_eq!(course.into_outcome(), Outcome::TimeLimit(TWO_SECONDS));
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let mut course = course();
    course.handle_signal(at(1), 2);
    assert_eq!(actions(&mut course, at(1)), [Action::Terminate]);
    course.handle_signal(at(2), 2);
    assert_eq!(actions(&mut course, at(2)), [Action::Kill]);
    assert_eq!(course.into_outcome(), Outcome::Interrupted(2));
}

#[test]
fn ranks_that_are_not_started_yet_need_not_end() {
    let mut course = Course::new("program".into(), 3, ENDLESS, at(0));
    course.handle_start(at(0));
    course.handle_start_failure(at(1), Rank::new(1), "no room".into());
    assert!(!course.wants_start() && !course.is_over());
    course.handle_end(at(2), process(0), End::Signal(15), RankStage::Absent);
    assert!(course.is_over());
    assert_eq!(course.into_outcome().exit_code(), 2);
}

/// How the job ends of whose ranks these were seen stopped so often, in this order.
fn stop(course: &mut Course, seen: &[(u32, u32)]) {
    for &(rank, times) in seen {
        (0..times).for_each(|_| course.handle_stop(at(10), process(rank)));
    }
}

fn stopped(rank: u32) -> Outcome {
    Outcome::Lost(process(rank), Death::Stopped(SECOND))
}

#[test]
fn a_rank_that_is_stopped_for_longer_than_the_limit_ends_the_job() {
    let mut course = course();
    stop(&mut course, &[(1, STOP_LOOKS)]);
    assert!(!course.is_ending(), "as long as the limit, it may be");
    course.handle_continuation(Rank::new(1));
    stop(&mut course, &[(1, STOP_LOOKS), (2, STOP_LOOKS)]);
    assert!(!course.is_ending(), "it ran in between");
    stop(&mut course, &[(2, 1)]);
    assert_eq!(actions(&mut course, at(10)), [Action::Tell(Fault::PeerLost(Rank::new(2)))]);
    let outcome = course.into_outcome();
    assert_eq!((outcome.exit_code(), &outcome), (3, &stopped(2)));
    assert!(outcome.to_string().contains("was stopped, not dead, for longer than the failure limit of 1 s"), "{outcome}");
}

#[test]
fn a_job_that_is_stopped_as_a_whole_waits_for_nobody() {
    let mut course = course();
    stop(&mut course, &[(0, STOP_LOOKS), (1, STOP_LOOKS), (2, 100), (0, 100), (1, 100)]);
    assert!(!course.is_ending());
    course.handle_continuation(Rank::new(0));
    stop(&mut course, &[(1, STOP_LOOKS)]);
    assert!(!course.is_ending(), "the others are as if stopped just now");
    stop(&mut course, &[(1, 1)]);
    assert_eq!(course.into_outcome(), stopped(1));
}

#[test]
fn who_is_the_only_rank_left_may_be_stopped() {
    let mut course = course();
    [0, 1].into_iter().for_each(|rank| course.handle_end(at(1), process(rank), End::Code(0), RankStage::Finished));
    stop(&mut course, &[(2, 100)]);
    assert!(!course.is_ending());
}

#[test]
fn a_program_that_survives_goes_on_without_a_stopped_rank_once_that_is_dead() {
    let mut course = course();
    course.handle_survival();
    stop(&mut course, &[(1, 100)]);
    assert_eq!(actions(&mut course, at(10)), [Action::KillOne(Rank::new(1))], "once");
    course.handle_end(at(11), process(1), End::Signal(9), RankStage::Joined);
    assert_eq!(actions(&mut course, at(11)), [Action::Lose(Rank::new(1))]);
    [0, 2].into_iter().for_each(|rank| course.handle_end(at(12), process(rank), End::Code(0), RankStage::Finished));
    assert_eq!(course.into_outcome(), Outcome::Survived(vec![stopped(1)]));
}

#[test]
fn a_rank_that_others_do_not_hear_and_that_is_stopped_is_said_to_be() {
    let mut course = course();
    stop(&mut course, &[(2, 1)]);
    course.handle_fault(at(1), Fault::PeerLost(Rank::new(2)), Some(process(2)));
    assert_eq!(course.into_outcome(), stopped(2));
}

#[test]
fn a_rank_that_the_kernel_killed_for_its_memory_says_so() {
    let mut course = course();
    course.handle_end(at(1), process(0), End::Memory, RankStage::Joined);
    let outcome = course.into_outcome();
    assert_eq!(outcome, Outcome::Lost(process(0), Death::Memory));
    assert!(outcome.to_string().contains("killed by signal 9 (SIGKILL), probably because memory ran out"), "{outcome}");
}

#[test]
fn ranks_that_cannot_be_killed_are_left() {
    let mut course = course();
    course.handle_signal(at(0), 15);
    assert_eq!(actions(&mut course, at(0)), [Action::Terminate]);
    assert_eq!(actions(&mut course, at(250)), [Action::Kill]);
    let end = course.next_deadline().unwrap();
    assert_eq!(end, at(250) + COLLECT);
    course.handle_time(at(300));
    assert!(!course.is_over());
    course.handle_time(end);
    assert!(course.is_over());
}
