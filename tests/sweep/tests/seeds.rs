//! The required properties hold for seeds, on any number of threads, and errors of a transport are detected.

use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::Instant;
use pelago_platform::{Completion, Endpoint, Extensions, Flags, Network, Operation, PostError, Registry, Token, Transport};
use pelago_sweep::{Chosen, Plan, Program, Progress, Routines, Scenario, Tally, examine, examine_by, examine_through, sweep};

fn swept(plan: Plan) -> (Tally, Vec<String>) {
    let mut told = Vec::new();
    let (tally, failures) = sweep(plan, |progress| match progress {
        Progress::Violated(violation) => told.push(violation.to_string()),
        Progress::Done(_) => {}
    });
    assert_eq!(told.len(), failures);
    (tally, told)
}

#[test]
fn four_hundred_seeds_hold() {
    let (tally, violations) = swept(Plan { first: 0, seeds: 400, threads: 2, chosen: Chosen::default() });
    assert_eq!(violations, [""; 0]);
    assert_eq!(tally.scenarios, 400);
    // Each C program on each kind of network, if there is a compiler.
    assert!(tally.processes + tally.skipped > 90, "{tally:?}");
    assert!(tally.runs + tally.skipped > 400 && tally.deaths > 30 && tally.survived > 10, "{tally:?}");
    assert!(tally.sent > 100_000 && tally.lost > 10_000 && tally.repeated > 10_000, "{tally:?}");
}

#[test]
fn halos_are_neither_early_nor_stale() {
    let (tally, violations) = swept(Plan { first: 0, seeds: 240, threads: 2, chosen: Chosen::program(Program::Halos) });
    assert_eq!(violations, [""; 0]);
    assert!(tally.scenarios == 240 && tally.lost > 10_000 && tally.deaths > 15, "{tally:?}");
}

#[test]
fn nothing_overtakes_parts_on_two_unruly_networks() {
    let (tally, violations) = swept(Plan { first: 0, seeds: 20, threads: 2, chosen: Chosen::program(Program::Rails) });
    assert_eq!(violations, [""; 0]);
    assert!(tally.scenarios == 20 && tally.lost > 100 && tally.sent == 0, "{tally:?}");
}

/// Every program holds if single operations overtake each other, are refused (not those of programs in C), and find short send queues full; those in Rust
/// also if a connection breaks.
#[test]
fn every_program_holds_on_two_unruly_networks() {
    let (mut runs, mut lost, mut broken) = (0, 0, 0);
    for program in Program::ALL {
        let chosen = Chosen { networks: true, ..Chosen::program(program) };
        let (tally, violations) = swept(Plan { first: 0, seeds: 8, threads: 2, chosen });
        assert_eq!(violations, [""; 0], "{}", program.name());
        assert_eq!((tally.scenarios, tally.sent), (8, 0), "{}", program.name());
        (runs, lost, broken) = (runs + tally.runs, lost + tally.lost, broken + tally.broken);
    }
    assert!(runs > 100 && lost > 100 && broken > 10, "{runs} runs, {lost} packets lost, {broken} broken connections");
}

/// Every program in Rust holds on machines that are drawn at random, and several threads simulate the same job there.
#[test]
fn every_program_holds_on_drawn_machines() {
    let (mut runs, mut sent) = (0, 0);
    for program in Program::ALL.into_iter().filter(|program| !matches!(program, Program::Acp(_) | Program::Shmem(_))) {
        let chosen = Chosen { machines: true, ..Chosen::program(program) };
        let (tally, violations) = swept(Plan { first: 2_000_000, seeds: 16, threads: 2, chosen });
        assert_eq!(violations, [""; 0], "{}", program.name());
        assert_eq!(tally.scenarios, 16, "{}", program.name());
        (runs, sent) = (runs + tally.runs, sent + tally.sent);
    }
    assert!(runs > 200 && sent > 10_000, "{runs} runs, {sent} datagrams");
}

/// A delayed operation finds the short send queue of an adapter full, while its rank waits for its memory.
#[test]
fn delayed_operations_are_posted_again() {
    let chosen = Chosen { networks: true, ..Chosen::program(Program::Halos) };
    assert_eq!(swept(Plan { first: 7_600_248, seeds: 1, threads: 1, chosen }).1, [""; 0]);
}

/// A signal of a context that the PE does not call again finds the send queue full, while the PE waits for its consequence in the default context.
#[test]
fn a_wait_for_memory_posts_the_operations_of_other_contexts() {
    for first in [7_100_012, 7_100_051] {
        let chosen = Chosen { networks: true, ..Chosen::program(Program::Shmem(Routines::Signals)) };
        assert_eq!(swept(Plan { first, seeds: 1, threads: 1, chosen }).1, [""; 0]);
    }
}

#[test]
fn what_is_found_does_not_depend_on_threads() {
    let with = |threads| swept(Plan { first: 1_000_000, seeds: 40, threads, chosen: Chosen::default() });
    let one = with(1);
    assert_eq!((one.0.scenarios, one.1.len()), (40, 0));
    assert!([2, 3, 7].into_iter().all(|threads| with(threads) == one));
}

#[test]
fn a_seed_says_the_same_each_time() {
    for seed in [0, 7, 50, u64::MAX] {
        assert_eq!(examine(seed), examine(seed));
    }
}

/// The lock is in the memory of the spinning rank, and its holder fails: only the failure of the job ends the loop.
#[test]
fn seed_11417_who_spins_on_its_own_memory_learns_of_a_death() {
    assert_eq!(examine(11_417).map(|tally| (tally.deaths, tally.survived)), Ok((1, 0)));
}

/// A check takes time for a rank that has polled for long, and its last message arrives meanwhile.
#[test]
fn seed_1411_what_happens_while_a_rank_looks_is_not_missed() {
    examine(1411).unwrap();
}

/// A rank fails before it acknowledges the last word of a barrier. An operation that is ordered after all others must not fail because of that.
#[test]
fn seed_24869_what_follows_a_meeting_does_not_fail_with_its_signals() {
    assert_eq!(examine(24_869).map(|tally| (tally.deaths, tally.survived)), Ok((1, 1)));
}

/// A job that ends with a failed rank does not recover its variables: a living rank would get the version before one that the failed rank was writing.
#[test]
fn seed_251_a_variable_is_not_recovered_in_a_job_that_ends() {
    assert_eq!(examine_by(251, Chosen::program(Program::Shared)).map(|tally| (tally.deaths, tally.survived)), Ok((1, 0)));
}

/// The first failures of ranks in each program of a further library.
#[test]
fn who_uses_a_library_learns_of_a_death() {
    for program in Program::LIBRARIES {
        let chosen = Chosen::program(program);
        let dies = |seed: &u64| Scenario::new(*seed).chosen(chosen).death.is_some();
        let deaths: u64 = (1..).step_by(2).filter(dies).take(8).map(|seed| examine_by(seed, chosen).unwrap().deaths).sum();
        assert!(deaths > 4, "{deaths} failures in {}", program.name());
    }
}

/// A guarantee that a transport violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// None, to check that the wrapper itself has no effect.
    Nothing,
    /// The transport performs an atomic twice if it is the thirtieth operation.
    Repeats,
    /// The transport drops a write if it is the thirtieth operation, and reports its completion.
    Forgets,
    /// The transport does not report the completion of the thirtieth operation.
    KeepsSilent,
    /// The transport reports the completion of writes when they are posted.
    Hurries,
    /// The transport ignores all ordering requirements.
    Disorders,
}

/// A transport that violates a guarantee.
struct Saboteur {
    inner: Box<dyn Transport>,
    wrong: Wrong,
    posted: u64,
    /// Invented completions.
    early: Vec<Completion>,
}

/// Token of operations that the wrapper posts itself. Their completions are not reported.
const OWN: Token = Token(u64::MAX);

impl Transport for Saboteur {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let flags = Flags { fence: flags.fence && self.wrong != Wrong::Disorders, ..flags };
        self.posted += 1;
        let is_turn = |every| self.posted.is_multiple_of(every);
        match (self.wrong, operation) {
            (Wrong::Repeats, Operation::Atomic { .. }) if is_turn(30) => self.inner.post(now, to, operation, flags, OWN)?,
            (Wrong::Forgets, Operation::Write { .. }) if is_turn(30) => {
                self.early.push(Completion { token, result: Ok(0) });
                return Ok(());
            }
            (Wrong::KeepsSilent, _) if is_turn(30) => return self.inner.post(now, to, operation, flags, OWN),
            (Wrong::Hurries, Operation::Write { .. }) => {
                self.inner.post(now, to, operation, flags, OWN)?;
                self.early.push(Completion { token, result: Ok(0) });
                return Ok(());
            }
            _ => {}
        }
        self.inner.post(now, to, operation, flags, token)
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let moved = self.inner.progress(now, completed);
        completed.retain(|completion| completion.token != OWN);
        let any = !self.early.is_empty();
        completed.append(&mut self.early);
        moved || any
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()
    }
}

/// Returns the number of the first seeds that are violated over transports with an error.
fn violated(wrong: Wrong, seeds: u64) -> u64 {
    let violated = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let violated = &violated;
            scope.spawn(move || {
                for seed in (0..seeds).filter(|seed| seed % 2 == half) {
                    let around =
                        |inner| -> Box<dyn Transport> { Box::new(Saboteur { inner, wrong, posted: 0, early: Vec::new() }) };
                    violated.fetch_add(u64::from(examine_through(seed, &around).is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    violated.into_inner()
}

/// Checks that an error is detected in more than a few of the first seeds.
fn assert_found(wrong: Wrong) {
    let violated = violated(wrong, 60);
    assert!(violated >= 5, "{violated} of 60 seeds found that a transport does wrong: {wrong:?}");
}

#[test]
fn a_transport_that_does_nothing_wrong_is_not_suspected() {
    assert_eq!(violated(Wrong::Nothing, 30), 0);
}

#[test]
fn what_is_done_twice_is_found() {
    assert_found(Wrong::Repeats);
}

#[test]
fn what_is_forgotten_is_found() {
    assert_found(Wrong::Forgets);
}

#[test]
fn what_never_ends_is_found() {
    assert_found(Wrong::KeepsSilent);
}

#[test]
fn what_is_acknowledged_early_is_found() {
    assert_found(Wrong::Hurries);
}

#[test]
fn what_is_out_of_order_is_found() {
    assert_found(Wrong::Disorders);
}

/// Two jobs in which a sender reads the counters of a failing rank: the failure of the second read is not reported at the next barrier.
#[test]
fn who_goes_on_learns_of_no_failure_twice() {
    for first in [4733, 7849] {
        let (tally, violations) = swept(Plan { first, seeds: 1, threads: 1, chosen: Chosen::default() });
        assert_eq!(violations, [""; 0]);
        assert_eq!(tally.survived, 1);
    }
}
