//! Jobs of several hosts in virtual time.

use pelago_base::Duration;
use pelago_shm::RankStage;

use super::*;
use crate::TransportChoice;
use crate::launcher::cluster::network::Reachable;
use crate::launcher::job::outcome::{Death, Place, Process};
use crate::launcher::job::state_machine::End;

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_milliseconds(milliseconds)
}

fn work(ranks: u32) -> Work {
    Work {
        ranks,
        program: "program".into(),
        arguments: Vec::new(),
        environment: Vec::new(),
        folder: "/".into(),
        transport: TransportChoice::Auto,
        heap_bytes: None,
        failure_limit_ms: 5000,
        key: [7; 16],
    }
}

/// A job of two hosts, a with ranks 0 and 1 and b with ranks 2 to 4, which are being called; ranks have a second to join.
fn called(network: Option<Way>) -> Course {
    let second = Duration::from_milliseconds(1000);
    let limits = job::Limits { start: Some(second), time: None, failure: second };
    let job = job::Course::new("program".into(), 5, limits, at(0));
    let placed = |name: &str, first, count| Placed { name: name.into(), first: Rank::new(first), count };
    Course::new(job, work(5), network, vec![placed("a", 0, 2), placed("b", 2, 3)], at(0))
}

fn hello(machine: &str, address: &str) -> Up {
    let reachable = Reachable { machine: machine.into(), addresses: vec![address.parse().unwrap()] };
    Up::Hello { version: VERSION.into(), reachable }
}

fn bound(port: u16, heap_bytes: u64) -> Up {
    Up::Bound { port: Some(port), heap_bytes }
}

fn ended(rank: u32, end: End) -> Up {
    Up::Ended { rank, end, stage: RankStage::Joined }
}

fn finished(rank: u32) -> Up {
    Up::Ended { rank, end: End::Code(0), stage: RankStage::Finished }
}

/// Both hosts say these things, one after the other.
fn both(course: &mut Course, now: Instant, messages: [Up; 2]) {
    messages.into_iter().enumerate().for_each(|(host, message)| course.handle_message(now, host, message));
}

/// The same job with all ranks running.
fn running() -> Course {
    let mut course = called(Some(Way::Any));
    both(&mut course, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    both(&mut course, at(2), [bound(7000, 1 << 30), bound(8000, 1 << 20)]);
    both(&mut course, at(3), [Up::Started, Up::Started]);
    drop(actions(&mut course));
    course
}

fn actions(course: &mut Course) -> Vec<Action> {
    std::iter::from_fn(|| course.poll_action()).collect()
}

fn to_both(message: &Down) -> Vec<Action> {
    vec![Action::Send(0, message.clone()), Action::Send(1, message.clone())]
}

fn host_lost() -> Outcome {
    Outcome::HostLost { host: "b".into(), first: Rank::new(2), count: 3 }
}

fn process(rank: u32, host: &str) -> Process {
    Process { rank: Rank::new(rank), place: Place::On(host.into()) }
}

#[test]
fn hosts_get_ready_together_and_start_together() {
    let mut course = called(Some(Way::Any));
    course.handle_message(at(1), 1, hello("two", "10.0.0.2/24"));
    assert!(actions(&mut course).is_empty(), "the other may be anywhere");
    course.handle_message(at(2), 0, hello("one", "10.0.0.1/24"));
    let plan = |first, count, address: &str| {
        Down::Plan(Box::new(Plan { first, count, address: Some(address.parse().unwrap()), job: work(5) }))
    };
    assert_eq!(actions(&mut course), [Action::Send(0, plan(0, 2, "10.0.0.1")), Action::Send(1, plan(2, 3, "10.0.0.2"))]);
    course.handle_message(at(3), 0, bound(7000, 1 << 30));
    assert!(actions(&mut course).is_empty());
    course.handle_message(at(4), 1, bound(8000, 1 << 20));
    let hosts = vec![(0, "10.0.0.1:7000".parse().unwrap()), (2, "10.0.0.2:8000".parse().unwrap())];
    assert_eq!(actions(&mut course), to_both(&Down::Start { hosts, heap_bytes: 1 << 20 }), "the least of their heaps");
}

#[test]
fn without_a_network_nobody_has_an_address() {
    let mut course = called(None);
    both(&mut course, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.1.0.1/24")]);
    assert!(
        actions(&mut course).iter().all(|action| matches!(action, Action::Send(_, Down::Plan(plan)) if plan.address.is_none()))
    );
    both(&mut course, at(2), [Up::Bound { port: None, heap_bytes: 1 }, Up::Bound { port: None, heap_bytes: 2 }]);
    assert_eq!(actions(&mut course), to_both(&Down::Start { hosts: Vec::new(), heap_bytes: 1 }));
}

#[test]
fn ranks_that_finish_on_every_host_are_a_good_job() {
    let mut course = running();
    (0..2).for_each(|rank| course.handle_message(at(10), 0, finished(rank)));
    course.handle_message(at(11), 0, Up::Done);
    assert_eq!(actions(&mut course), [Action::HangUp(0)]);
    course.handle_loss(at(12), 0, "its remote shell ended");
    (2..5).for_each(|rank| course.handle_message(at(20), 1, finished(rank)));
    assert!(!course.is_over(), "output may be on its way");
    course.handle_message(at(21), 1, Up::Done);
    assert!(course.is_over());
    assert_eq!(course.into_outcome(), Outcome::Finished);
}

#[test]
fn a_meeting_ends_when_the_ranks_of_every_host_have_come() {
    let mut course = running();
    course.handle_message(at(10), 0, Up::Arrived(1));
    course.handle_message(at(11), 0, Up::Arrived(2));
    assert!(actions(&mut course).is_empty());
    course.handle_message(at(12), 1, Up::Arrived(1));
    assert_eq!(actions(&mut course), to_both(&Down::Release(1)));
    course.handle_message(at(13), 1, Up::Arrived(2));
    assert_eq!(actions(&mut course), to_both(&Down::Release(2)));
}

#[test]
fn no_meeting_ends_when_the_job_does() {
    let mut course = running();
    course.handle_message(at(10), 0, ended(1, End::Signal(9)));
    drop(actions(&mut course));
    both(&mut course, at(11), [Up::Arrived(1), Up::Arrived(1)]);
    assert!(actions(&mut course).is_empty());
}

#[test]
fn a_host_whose_ranks_have_finished_comes_to_no_more_meetings() {
    let mut course = running();
    both(&mut course, at(10), [Up::Arrived(1), Up::Arrived(1)]);
    (0..2).for_each(|rank| course.handle_message(at(11), 0, finished(rank)));
    course.handle_message(at(12), 0, Up::Done);
    drop(actions(&mut course));
    course.handle_message(at(13), 1, Up::Arrived(2));
    assert!(actions(&mut course).is_empty());
}

#[test]
fn the_first_loss_is_told_to_all_and_the_rest_is_ended_step_by_step() {
    let mut course = running();
    course.handle_message(at(10), 1, ended(3, End::Signal(9)));
    assert_eq!(actions(&mut course), to_both(&Down::Fault(Trouble::Lost(3))));
    assert_eq!(course.next_deadline(), at(510));
    course.handle_time(at(510));
    assert_eq!(actions(&mut course), to_both(&Down::Terminate));
    course.handle_time(at(760));
    assert_eq!(actions(&mut course), to_both(&Down::Kill));
    both(&mut course, at(770), [Up::Done, Up::Done]);
    assert!(course.is_over());
    let outcome = course.into_outcome();
    assert_eq!(outcome, Outcome::Lost(process(3, "b"), Death::Signal(9)));
    assert_eq!(outcome.to_string(), "rank 3 (host b) was killed by signal 9 (SIGKILL); the job was ended");
}

#[test]
fn what_ranks_of_one_host_find_is_told_to_the_others() {
    let mut course = running();
    course.handle_message(at(10), 0, Up::Fault(Trouble::Aborted));
    assert_eq!(actions(&mut course), [Action::Send(1, Down::Fault(Trouble::Aborted))]);
    course.handle_message(at(11), 1, Up::Fault(Trouble::Deadlock));
    assert!(actions(&mut course).is_empty(), "the first is what counts");
    course.handle_message(at(12), 0, ended(1, End::Code(7)));
    assert_eq!(course.into_outcome(), Outcome::Failed(process(1, "a"), 7));
}

#[test]
fn a_host_that_breaks_off_is_lost_with_its_ranks() {
    let mut course = running();
    course.handle_loss(at(10), 1, "its remote shell ended");
    assert_eq!(actions(&mut course), [Action::HangUp(1), Action::Send(0, Down::Fault(Trouble::Lost(2)))]);
    course.handle_message(at(11), 1, Up::Pong { round: 0, joined: true, absent: None, absent_besides: 0 });
    course.handle_message(at(20), 0, Up::Done);
    assert!(course.is_over());
    let outcome = course.into_outcome();
    assert_eq!((outcome.clone(), outcome.exit_code()), (host_lost(), 3));
    assert_eq!(outcome.to_string(), "host b was lost (ranks 2-4); the job was ended");
}

#[test]
fn a_host_that_is_silent_is_lost() {
    let mut course = running();
    let mut asked = 0;
    for second in 1..=6 {
        assert!(!course.is_ending());
        course.handle_time(at(second * 1000));
        asked += actions(&mut course).iter().filter(|action| matches!(action, Action::Send(1, Down::Ping(_)))).count();
        course.handle_message(at(second * 1000), 0, Up::Pong { round: second, joined: true, absent: None, absent_besides: 0 });
    }
    assert_eq!((asked, course.into_outcome()), (5, host_lost()));
}

#[test]
fn a_launcher_that_was_stopped_blames_no_host() {
    let mut course = running();
    course.handle_time(at(1000));
    course.handle_time(at(3_600_000));
    assert!(!course.is_ending());
    for second in 3601..3610 {
        // Output is a sign of life too.
        (0..2).for_each(|host| course.handle_sign_of_life(host));
        course.handle_time(at(second * 1000));
    }
    assert!(!course.is_ending());
}

#[test]
fn a_host_that_never_answers_is_not_waited_for() {
    let mut course = called(Some(Way::Any));
    course.handle_message(at(1000), 0, hello("one", "10.0.0.1/24"));
    for second in 2..30 {
        course.handle_time(at(second * 1000));
        course.handle_sign_of_life(0);
    }
    assert!(!course.is_over());
    drop(actions(&mut course));
    assert!(course.next_deadline() <= at(30_000));
    course.handle_time(at(30_000));
    assert!(course.is_over(), "where no rank runs, nothing is waited for");
    assert!(actions(&mut course).ends_with(&[Action::HangUp(0)]));
    let outcome = course.into_outcome();
    assert_eq!(outcome.exit_code(), 2);
    assert!(outcome.to_string().starts_with("host b could not take part: it was not ready within 30 s"), "{outcome}");
}

#[test]
fn a_host_that_is_never_ready_is_not_waited_for() {
    let mut course = called(Some(Way::Any));
    both(&mut course, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    course.handle_message(at(2), 0, bound(7000, 1));
    for second in 1..=30 {
        course.handle_time(at(second * 1000));
        (0..2).for_each(|host| course.handle_sign_of_life(host));
    }
    assert!(!course.is_over());
    course.handle_time(at(30_001));
    assert!(course.is_over() && matches!(course.into_outcome(), Outcome::Unready(host, _) if &*host == "b"));
}

#[test]
fn a_host_that_does_not_end_its_ranks_is_not_waited_for() {
    let mut course = running();
    course.handle_signal(at(10), 2);
    course.handle_time(at(260));
    course.handle_message(at(300), 0, Up::Done);
    assert_eq!(actions(&mut course).last(), Some(&Action::HangUp(0)));
    course.handle_sign_of_life(1);
    course.handle_time(at(5259));
    assert!(!course.is_over());
    course.handle_time(at(5260));
    assert!(course.is_over());
    assert_eq!(course.into_outcome(), Outcome::Interrupted(2));
}

#[test]
fn a_host_that_cannot_take_part_says_why() {
    let mut early = called(Some(Way::Any));
    both(&mut early, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    early.handle_message(at(2), 1, Up::Refused("cannot run ./x: no such file".into()));
    assert!(early.is_over());
    assert_eq!(early.into_outcome().to_string(), "host b could not take part: cannot run ./x: no such file");

    let mut late = running();
    late.handle_message(at(10), 1, Up::Refused("no memory".into()));
    assert_eq!(actions(&mut late), [Action::HangUp(1), Action::Send(0, Down::Terminate)]);
    assert_eq!(late.into_outcome().exit_code(), 2);

    let mut other = called(None);
    let reachable = Reachable { machine: String::new(), addresses: Vec::new() };
    other.handle_message(at(1), 0, Up::Hello { version: "0.0.0".into(), reachable });
    assert!(other.into_outcome().to_string().contains("version 0.0.0 of pelago"));

    let mut apart = called(Some(Way::By("10.0.0.0/24".parse().unwrap())));
    both(&mut apart, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.1.0.1/24")]);
    let outcome = apart.into_outcome().to_string();
    assert_eq!(outcome, "host b could not take part: it has no address in 10.0.0.0/24; it has 10.1.0.1/24");
}

#[test]
fn ranks_that_do_not_join_are_found_by_asking() {
    let pong = |round, joined, absent, absent_besides| Up::Pong { round, joined, absent, absent_besides };
    let mut idle = running();
    idle.handle_time(at(1000));
    idle.handle_time(at(1500));
    both(&mut idle, at(1501), [pong(1, false, Some(0), 1), pong(1, false, Some(2), 2)]);
    assert!(!idle.is_ending(), "that was asked before the start limit, at 1003");
    idle.handle_time(at(2000));
    idle.handle_message(at(2001), 0, pong(2, false, Some(0), 1));
    assert!(!idle.is_ending(), "ranks of the other host may have joined");
    idle.handle_message(at(2001), 1, pong(2, false, Some(2), 2));
    assert!(matches!(idle.into_outcome(), Outcome::Idle(..)));

    let mut late = running();
    late.handle_time(at(2000));
    both(&mut late, at(2001), [pong(1, true, Some(1), 0), pong(1, true, Some(4), 0)]);
    assert!(matches!(late.into_outcome(), Outcome::Late(absent, 1, _) if absent == process(1, "a")));

    let mut wild = running();
    wild.handle_time(at(2000));
    both(&mut wild, at(2001), [pong(1, true, Some(1), u32::MAX), pong(1, true, Some(4), u32::MAX)]);
    assert!(wild.is_ending(), "whatever is said of how many");

    let mut whole = running();
    whole.handle_time(at(2000));
    both(&mut whole, at(2001), [pong(1, true, None, 0), pong(1, true, None, 0)]);
    assert!(!whole.is_ending() && whole.next_deadline() == at(3000));
}

#[test]
fn a_limit_that_has_passed_is_no_reason_to_look_again_at_once() {
    let mut course = running();
    course.handle_time(at(1500));
    assert_eq!(course.next_deadline(), at(2500), "until hosts have been asked again");
}

#[test]
fn nonsense_is_a_lost_host_and_nothing_worse() {
    for nonsense in [
        hello("two", "10.0.0.2/24"),
        bound(1, 1),
        Up::Started,
        Up::Done,
        ended(1, End::Code(0)),
        ended(u32::MAX, End::Code(0)),
        Up::Fault(Trouble::Lost(5)),
        Up::NotStarted { rank: 0, why: String::new() },
        Up::Pong { round: 77, joined: true, absent: None, absent_besides: 0 },
        Up::Pong { round: 0, joined: true, absent: Some(0), absent_besides: 0 },
    ] {
        let mut course = running();
        course.handle_message(at(10), 1, nonsense.clone());
        assert_eq!(course.into_outcome(), host_lost(), "{nonsense:?}");
    }
    for early in [Up::Done, Up::Started, Up::Arrived(1), finished(2), Up::Fault(Trouble::Aborted), Up::Signal(2), bound(1, 1)] {
        let mut course = called(Some(Way::Any));
        course.handle_message(at(1), 1, early.clone());
        assert!(course.is_over() && matches!(course.into_outcome(), Outcome::Unready(..)), "{early:?}");
    }

    let mut eager = running();
    (0..4).for_each(|_| eager.handle_message(at(10), 1, finished(2)));
    assert_eq!(eager.into_outcome(), host_lost(), "it has three ranks");
}

#[test]
fn only_ranks_of_a_host_that_runs_write() {
    let mut course = called(None);
    assert!(!course.has_running(0, Rank::new(0)));
    course = running();
    assert!(course.has_running(1, Rank::new(4)) && !course.has_running(1, Rank::new(5)) && !course.has_running(1, Rank::new(1)));
}
