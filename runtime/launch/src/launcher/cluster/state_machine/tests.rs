//! Jobs of several hosts in virtual time.

use pelago_base::Duration;
use pelago_shm::RankStage;

use super::*;
use crate::TransportChoice;
use crate::launcher::job::outcome::{FailureCause, ProcessLocation, RankProcess};
use crate::launcher::job::state_machine::{JobLimits, ProcessEnd};
use crate::system::network::HostAddresses;

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_milliseconds(milliseconds)
}

fn work(ranks: u32) -> JobDescription {
    JobDescription {
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

/// Returns a job of two hosts, a with ranks 0 and 1 and b with ranks 2 to 4, whose node daemons are being started; ranks have a second to join.
fn called(network: Option<NetworkChoice>) -> ClusterStateMachine {
    let second = Duration::from_milliseconds(1000);
    let limits = JobLimits { start: Some(second), time: None, failure: second };
    let job = JobStateMachine::new("program".into(), 5, limits, at(0));
    let placed = |name: &str, first, count| HostRanks { name: name.into(), first: Rank::new(first), count };
    ClusterStateMachine::new(job, work(5), network, vec![placed("a", 0, 2), placed("b", 2, 3)], Some(second + second), at(0))
}

fn hello(machine: &str, address: &str) -> FromHost {
    let reachable = HostAddresses { machine: machine.into(), addresses: vec![address.parse().unwrap()] };
    FromHost::Hello { version: VERSION.into(), reachable }
}

fn bound(port: u16, heap_bytes: u64) -> FromHost {
    FromHost::Bound { port: Some(port), heap_bytes }
}

fn ended(rank: u32, end: ProcessEnd) -> FromHost {
    FromHost::Ended { rank, end, stage: RankStage::Joined }
}

fn finished(rank: u32) -> FromHost {
    FromHost::Ended { rank, end: ProcessEnd::Code(0), stage: RankStage::Finished }
}

/// Handles one message of each host, one after the other.
fn both(state: &mut ClusterStateMachine, now: Instant, messages: [FromHost; 2]) {
    messages.into_iter().enumerate().for_each(|(host, message)| state.handle_message(now, host, message));
}

/// Returns the same job with all ranks running.
fn running() -> ClusterStateMachine {
    let mut state = called(Some(NetworkChoice::Common));
    both(&mut state, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    both(&mut state, at(2), [bound(7000, 1 << 30), bound(8000, 1 << 20)]);
    both(&mut state, at(3), [FromHost::Started, FromHost::Started]);
    drop(actions(&mut state));
    state
}

fn actions(state: &mut ClusterStateMachine) -> Vec<HostAction> {
    std::iter::from_fn(|| state.poll_action()).collect()
}

fn to_both(message: &ToHost) -> Vec<HostAction> {
    vec![HostAction::Send(0, message.clone()), HostAction::Send(1, message.clone())]
}

fn host_lost() -> JobOutcome {
    JobOutcome::HostFailed { host: "b".into(), first: Rank::new(2), count: 3 }
}

fn process(rank: u32, host: &str) -> RankProcess {
    RankProcess { rank: Rank::new(rank), location: ProcessLocation::Host(host.into()) }
}

#[test]
fn hosts_get_ready_together_and_start_together() {
    let mut state = called(Some(NetworkChoice::Common));
    state.handle_message(at(1), 1, hello("two", "10.0.0.2/24"));
    assert!(actions(&mut state).is_empty(), "the other may be anywhere");
    state.handle_message(at(2), 0, hello("one", "10.0.0.1/24"));
    let plan = |first, count, address: &str| {
        ToHost::Plan(Box::new(HostAssignment { first, count, address: Some(address.parse().unwrap()), job: work(5) }))
    };
    assert_eq!(actions(&mut state), [HostAction::Send(0, plan(0, 2, "10.0.0.1")), HostAction::Send(1, plan(2, 3, "10.0.0.2"))]);
    state.handle_message(at(3), 0, bound(7000, 1 << 30));
    assert!(actions(&mut state).is_empty());
    state.handle_message(at(4), 1, bound(8000, 1 << 20));
    let hosts = vec![(0, "10.0.0.1:7000".parse().unwrap()), (2, "10.0.0.2:8000".parse().unwrap())];
    assert_eq!(actions(&mut state), to_both(&ToHost::Start { hosts, heap_bytes: 1 << 20 }), "the least of their heaps");
}

#[test]
fn without_a_network_nobody_has_an_address() {
    let mut state = called(None);
    both(&mut state, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.1.0.1/24")]);
    assert!(
        actions(&mut state)
            .iter()
            .all(|action| matches!(action, HostAction::Send(_, ToHost::Plan(plan)) if plan.address.is_none()))
    );
    both(&mut state, at(2), [FromHost::Bound { port: None, heap_bytes: 1 }, FromHost::Bound { port: None, heap_bytes: 2 }]);
    assert_eq!(actions(&mut state), to_both(&ToHost::Start { hosts: Vec::new(), heap_bytes: 1 }));
}

#[test]
fn ranks_that_finish_on_every_host_are_a_good_job() {
    let mut state = running();
    (0..2).for_each(|rank| state.handle_message(at(10), 0, finished(rank)));
    state.handle_message(at(11), 0, FromHost::Done);
    assert_eq!(actions(&mut state), [HostAction::HangUp(0)]);
    state.handle_host_failure(at(12), 0, "its remote shell ended");
    (2..5).for_each(|rank| state.handle_message(at(20), 1, finished(rank)));
    assert!(!state.is_over(), "output may be on its way");
    state.handle_message(at(21), 1, FromHost::Done);
    assert!(state.is_over());
    assert_eq!(state.into_outcome(), JobOutcome::Finished);
}

#[test]
fn a_meeting_ends_when_the_ranks_of_every_host_have_come() {
    let mut state = running();
    state.handle_message(at(10), 0, FromHost::Arrived(1));
    state.handle_message(at(11), 0, FromHost::Arrived(2));
    assert!(actions(&mut state).is_empty());
    state.handle_message(at(12), 1, FromHost::Arrived(1));
    assert_eq!(actions(&mut state), to_both(&ToHost::Release(1)));
    state.handle_message(at(13), 1, FromHost::Arrived(2));
    assert_eq!(actions(&mut state), to_both(&ToHost::Release(2)));
}

#[test]
fn no_meeting_ends_when_the_job_does() {
    let mut state = running();
    state.handle_message(at(10), 0, ended(1, ProcessEnd::Signal(9)));
    drop(actions(&mut state));
    both(&mut state, at(11), [FromHost::Arrived(1), FromHost::Arrived(1)]);
    assert!(actions(&mut state).is_empty());
}

#[test]
fn a_host_whose_ranks_have_finished_comes_to_no_more_meetings() {
    let mut state = running();
    both(&mut state, at(10), [FromHost::Arrived(1), FromHost::Arrived(1)]);
    (0..2).for_each(|rank| state.handle_message(at(11), 0, finished(rank)));
    state.handle_message(at(12), 0, FromHost::Done);
    drop(actions(&mut state));
    state.handle_message(at(13), 1, FromHost::Arrived(2));
    assert!(actions(&mut state).is_empty());
}

/// Its node daemon ends without an answer to the last failure.
#[test]
fn a_host_whose_ranks_have_all_failed_holds_up_no_meeting() {
    let mut state = running();
    both(&mut state, at(10), [FromHost::FaultTolerant, FromHost::FaultTolerant]);
    both(&mut state, at(11), [FromHost::Arrived(1), FromHost::Arrived(1)]);
    state.handle_message(at(12), 0, FromHost::Arrived(2));
    (2..4).for_each(|rank| state.handle_message(at(13), 1, ended(rank, ProcessEnd::Signal(9))));
    drop(actions(&mut state));
    state.handle_message(at(14), 1, FromHost::Pong { round: 0, joined: true, absent: None, absent_besides: 0, still: None });
    assert!(actions(&mut state).is_empty(), "rank 4 may come");
    state.handle_message(at(15), 1, ended(4, ProcessEnd::Signal(9)));
    state.handle_message(at(15), 1, FromHost::Done);
    let released = actions(&mut state);
    assert!(released.contains(&HostAction::Send(0, ToHost::Release(2))), "{released:?}");
    (0..2).for_each(|rank| state.handle_message(at(16), 0, finished(rank)));
    state.handle_message(at(17), 0, FromHost::Done);
    assert!(
        state.is_over() && matches!(state.into_outcome(), JobOutcome::ContinuedAfterFailures(failures) if failures.len() == 3)
    );
}

#[test]
fn the_first_loss_is_told_to_all_and_the_rest_is_ended_step_by_step() {
    let mut state = running();
    state.handle_message(at(10), 1, ended(3, ProcessEnd::Signal(9)));
    assert_eq!(actions(&mut state), to_both(&ToHost::Fault(WireFault::PeerLost(3))));
    assert_eq!(state.next_deadline(), at(510));
    state.handle_time(at(510));
    assert_eq!(actions(&mut state), to_both(&ToHost::Terminate));
    state.handle_time(at(760));
    assert_eq!(actions(&mut state), to_both(&ToHost::Kill));
    both(&mut state, at(770), [FromHost::Done, FromHost::Done]);
    assert!(state.is_over());
    let outcome = state.into_outcome();
    assert_eq!(outcome, JobOutcome::RankFailed(process(3, "b"), FailureCause::Signal(9)));
    assert_eq!(outcome.to_string(), "rank 3 (host b) was killed by signal 9 (SIGKILL); the job was ended");
}

#[test]
fn what_ranks_of_one_host_find_is_told_to_the_others() {
    let mut state = running();
    state.handle_message(at(10), 0, FromHost::Fault(WireFault::Aborted));
    assert_eq!(actions(&mut state), [HostAction::Send(1, ToHost::Fault(WireFault::Aborted))]);
    state.handle_message(at(11), 1, FromHost::Fault(WireFault::Deadlock));
    assert!(actions(&mut state).is_empty(), "the first is what counts");
    state.handle_message(at(12), 0, ended(1, ProcessEnd::Code(7)));
    assert_eq!(state.into_outcome(), JobOutcome::ExitCode(process(1, "a"), 7));
}

#[test]
fn a_host_that_breaks_off_is_lost_with_its_ranks() {
    let mut state = running();
    state.handle_host_failure(at(10), 1, "its remote shell ended");
    assert_eq!(actions(&mut state), [HostAction::HangUp(1), HostAction::Send(0, ToHost::Fault(WireFault::PeerLost(2)))]);
    state.handle_message(at(11), 1, FromHost::Pong { round: 0, joined: true, absent: None, absent_besides: 0, still: None });
    state.handle_message(at(20), 0, FromHost::Done);
    assert!(state.is_over());
    let outcome = state.into_outcome();
    assert_eq!((outcome.clone(), outcome.exit_code()), (host_lost(), 3));
    assert_eq!(outcome.to_string(), "host b failed (ranks 2-4); the job was ended");
}

#[test]
fn a_host_that_is_silent_is_lost() {
    let mut state = running();
    let mut asked = 0;
    for second in 1..=6 {
        assert!(!state.is_ending());
        state.handle_time(at(second * 1000));
        asked += actions(&mut state).iter().filter(|action| matches!(action, HostAction::Send(1, ToHost::Ping(_)))).count();
        state.handle_message(
            at(second * 1000),
            0,
            FromHost::Pong { round: second, joined: true, absent: None, absent_besides: 0, still: None },
        );
    }
    assert_eq!((asked, state.into_outcome()), (5, host_lost()));
}

#[test]
fn a_launcher_that_was_stopped_blames_no_host() {
    let mut state = running();
    state.handle_time(at(1000));
    state.handle_time(at(3_600_000));
    assert!(!state.is_ending());
    for second in 3601..3610 {
        // Output counts as a sign of life too.
        (0..2).for_each(|host| state.handle_sign_of_life(host));
        state.handle_time(at(second * 1000));
    }
    assert!(!state.is_ending());
}

#[test]
fn a_host_that_never_answers_is_not_waited_for() {
    let mut state = called(Some(NetworkChoice::Common));
    state.handle_message(at(1000), 0, hello("one", "10.0.0.1/24"));
    for second in 2..30 {
        state.handle_time(at(second * 1000));
        state.handle_sign_of_life(0);
    }
    assert!(!state.is_over());
    drop(actions(&mut state));
    assert!(state.next_deadline() <= at(30_000));
    state.handle_time(at(30_000));
    assert!(state.is_over(), "where no rank runs, nothing is waited for");
    assert!(actions(&mut state).ends_with(&[HostAction::HangUp(0)]));
    let outcome = state.into_outcome();
    assert_eq!(outcome.exit_code(), 2);
    assert!(outcome.to_string().starts_with("host b could not take part: it was not ready within 30 s"), "{outcome}");
}

#[test]
fn a_host_that_is_never_ready_is_not_waited_for() {
    let mut state = called(Some(NetworkChoice::Common));
    both(&mut state, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    state.handle_message(at(2), 0, bound(7000, 1));
    for second in 1..=30 {
        state.handle_time(at(second * 1000));
        (0..2).for_each(|host| state.handle_sign_of_life(host));
    }
    assert!(!state.is_over());
    state.handle_time(at(30_001));
    assert!(state.is_over() && matches!(state.into_outcome(), JobOutcome::HostNotReady(host, _) if &*host == "b"));
}

#[test]
fn a_host_that_does_not_end_its_ranks_is_not_waited_for() {
    let mut state = running();
    state.handle_signal(at(10), 2);
    state.handle_time(at(260));
    state.handle_message(at(300), 0, FromHost::Done);
    assert_eq!(actions(&mut state).last(), Some(&HostAction::HangUp(0)));
    state.handle_sign_of_life(1);
    state.handle_time(at(5259));
    assert!(!state.is_over());
    state.handle_time(at(5260));
    assert!(state.is_over());
    assert_eq!(state.into_outcome(), JobOutcome::Interrupted(2));
}

#[test]
fn a_host_that_cannot_take_part_says_why() {
    let mut early = called(Some(NetworkChoice::Common));
    both(&mut early, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.0.0.2/24")]);
    early.handle_message(at(2), 1, FromHost::Refused("cannot run ./x: no such file".into()));
    assert!(early.is_over());
    assert_eq!(early.into_outcome().to_string(), "host b could not take part: cannot run ./x: no such file");

    let mut late = running();
    late.handle_message(at(10), 1, FromHost::Refused("no memory".into()));
    assert_eq!(actions(&mut late), [HostAction::HangUp(1), HostAction::Send(0, ToHost::Terminate)]);
    assert_eq!(late.into_outcome().exit_code(), 2);

    let mut other = called(None);
    let reachable = HostAddresses { machine: String::new(), addresses: Vec::new() };
    other.handle_message(at(1), 0, FromHost::Hello { version: "0.0.0".into(), reachable });
    assert!(other.into_outcome().to_string().contains("version 0.0.0 of pelago"));

    let mut apart = called(Some(NetworkChoice::Given("10.0.0.0/24".parse().unwrap())));
    both(&mut apart, at(1), [hello("one", "10.0.0.1/24"), hello("two", "10.1.0.1/24")]);
    let outcome = apart.into_outcome().to_string();
    assert_eq!(outcome, "host b could not take part: it has no address in 10.0.0.0/24; it has 10.1.0.1/24");
}

#[test]
fn ranks_that_do_not_join_are_found_by_asking() {
    let pong = |round, joined, absent, absent_besides| FromHost::Pong { round, joined, absent, absent_besides, still: None };
    let mut idle = running();
    idle.handle_time(at(1000));
    idle.handle_time(at(1500));
    both(&mut idle, at(1501), [pong(1, false, Some(0), 1), pong(1, false, Some(2), 2)]);
    assert!(!idle.is_ending(), "that was asked before the start limit, at 1003");
    idle.handle_time(at(2000));
    idle.handle_message(at(2001), 0, pong(2, false, Some(0), 1));
    assert!(!idle.is_ending(), "ranks of the other host may have joined");
    idle.handle_message(at(2001), 1, pong(2, false, Some(2), 2));
    assert!(matches!(idle.into_outcome(), JobOutcome::NoRankJoined(..)));

    let mut late = running();
    late.handle_time(at(2000));
    both(&mut late, at(2001), [pong(1, true, Some(1), 0), pong(1, true, Some(4), 0)]);
    assert!(matches!(late.into_outcome(), JobOutcome::RanksDidNotJoin(absent, 1, _) if absent == process(1, "a")));

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
    let mut state = running();
    state.handle_time(at(1500));
    assert_eq!(state.next_deadline(), at(2500), "until hosts have been asked again");
}

/// Asks the hosts every second, and answers 10 ms later with the count of events of each, if it is still.
fn answers(state: &mut ClusterStateMachine, counts: &[[Option<u64>; 2]]) {
    for counts in counts {
        let round = state.round + 1;
        state.handle_time(at(1000 * round));
        let pong = |still| FromHost::Pong { round, joined: true, absent: None, absent_besides: 0, still };
        both(state, at(1000 * round + 10), counts.map(pong));
    }
}

#[test]
fn ranks_of_all_hosts_that_are_still_for_the_limit_are_deadlocked() {
    let still = [Some(7), Some(8)];
    let mut state = running();
    answers(&mut state, &[still; 3]);
    assert!(!state.is_ending(), "two seconds from the second ping on have not passed");
    answers(&mut state, &[still]);
    let told = actions(&mut state);
    let place = |message: &ToHost| told.iter().position(|action| *action == HostAction::Send(1, message.clone()));
    assert!(place(&ToHost::Report).unwrap() < place(&ToHost::Fault(WireFault::Deadlock)).unwrap(), "{told:?}");
    assert_eq!(state.into_outcome(), JobOutcome::Deadlock);

    let mut done = running();
    (0..2).for_each(|rank| done.handle_message(at(10), 0, finished(rank)));
    done.handle_message(at(11), 0, FromHost::Done);
    answers(&mut done, &[still; 4]);
    assert_eq!(done.into_outcome(), JobOutcome::Deadlock, "nobody is left on the other host who could wake them");
}

#[test]
fn a_host_that_may_move_is_no_part_of_a_deadlock() {
    let moving: [[[Option<u64>; 2]; 2]; 4] = [
        [[Some(7), Some(8)], [Some(7), None]],
        [[Some(7), Some(8)], [Some(7), Some(9)]],
        [[Some(7), Some(8)], [Some(8), Some(7)]],
        [[None, None], [None, None]],
    ];
    for counts in moving {
        let mut state = running();
        answers(&mut state, &counts.repeat(20));
        assert!(!state.is_ending(), "{counts:?}");
    }
    let mut silent = running();
    for second in 1..5 {
        silent.handle_time(at(1000 * second));
        let pong = FromHost::Pong { round: second, joined: true, absent: None, absent_besides: 0, still: Some(7) };
        silent.handle_message(at(1000 * second + 10), 0, pong);
    }
    assert!(!silent.is_ending(), "the other host has not answered");
    let mut suspended = running();
    answers(&mut suspended, &[[Some(7), Some(8)]]);
    suspended.handle_time(at(60_000));
    let pong = |still| FromHost::Pong { round: 2, joined: true, absent: None, absent_besides: 0, still: Some(still) };
    both(&mut suspended, at(60_010), [pong(7), pong(8)]);
    assert!(!suspended.is_ending(), "this launcher was stopped meanwhile, and perhaps all of the job");
    let mut careless = ClusterStateMachine { deadlock_after: None, ..running() };
    answers(&mut careless, &[[Some(7), Some(8)]; 20]);
    assert!(!careless.is_ending(), "the user does not want to know");
}

#[test]
fn nonsense_is_a_lost_host_and_nothing_worse() {
    for nonsense in [
        hello("two", "10.0.0.2/24"),
        bound(1, 1),
        FromHost::Started,
        FromHost::Done,
        ended(1, ProcessEnd::Code(0)),
        ended(u32::MAX, ProcessEnd::Code(0)),
        FromHost::Fault(WireFault::PeerLost(5)),
        FromHost::NotStarted { rank: 0, why: String::new() },
        FromHost::Pong { round: 77, joined: true, absent: None, absent_besides: 0, still: None },
        FromHost::Pong { round: 0, joined: true, absent: Some(0), absent_besides: 0, still: None },
    ] {
        let mut state = running();
        state.handle_message(at(10), 1, nonsense.clone());
        assert_eq!(state.into_outcome(), host_lost(), "{nonsense:?}");
    }
    for early in [
        FromHost::Done,
        FromHost::Started,
        FromHost::Arrived(1),
        finished(2),
        FromHost::Fault(WireFault::Aborted),
        FromHost::Signal(2),
        bound(1, 1),
    ] {
        let mut state = called(Some(NetworkChoice::Common));
        state.handle_message(at(1), 1, early.clone());
        assert!(state.is_over() && matches!(state.into_outcome(), JobOutcome::HostNotReady(..)), "{early:?}");
    }

    let mut eager = running();
    (0..4).for_each(|_| eager.handle_message(at(10), 1, finished(2)));
    assert_eq!(eager.into_outcome(), host_lost(), "it has three ranks");
}

#[test]
fn only_ranks_of_a_host_that_runs_write() {
    let mut state = called(None);
    assert!(!state.has_running(0, Rank::new(0)));
    state = running();
    assert!(state.has_running(1, Rank::new(4)) && !state.has_running(1, Rank::new(5)) && !state.has_running(1, Rank::new(1)));
}
