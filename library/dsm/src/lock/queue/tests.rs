//! Single steps of the queue, on memory of one process: cases that the exploration of whole jobs does not distinguish.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::super::memory::WORDS;
use super::*;

const HOME: Rank = Rank::new(0);
const ME: Rank = Rank::new(1);

/// An action of another rank while this one waits, which returns the result of the wait if it ends it.
type Event = Box<dyn FnOnce(&Alone) -> Option<Waited>>;

/// The arguments of `post`.
type Release = (WordAddress, Change, usize, u64, u64);

/// The words of two ranks, of which only one executes code.
#[derive(Default)]
struct Alone {
    words: RefCell<Vec<[u64; WORDS]>>,
    lost: RefCell<Vec<Rank>>,
    /// Whether the home is reached by messages: a posted operation then takes effect when it is settled, not immediately.
    is_apart: Cell<bool>,
    posted: Cell<Option<Release>>,
    /// The result of the compare-swap of a release that was posted before the test.
    found: Cell<Option<u64>>,
    events: RefCell<VecDeque<Event>>,
    waits: Cell<u32>,
    /// Whether swaps do not reach the other rank.
    is_unreachable: Cell<bool>,
}

impl Alone {
    fn member() -> Member<Self> {
        let alone = Self { words: RefCell::new(vec![[0; WORDS]; 2]), ..Self::default() };
        alone.set(HOME, newest(Epoch(0)), version(1).word());
        alone.set(HOME, tail(Epoch(0)), Tail::free(Epoch(0), false).word());
        Member::new(alone)
    }

    /// Adds an event that happens while this rank waits.
    fn then(&self, event: impl FnOnce(&Self) -> Option<Waited> + 'static) {
        self.events.borrow_mut().push_back(Box::new(event));
    }

    /// Adds an event: another rank changes the state of this one while it waits.
    fn then_state(&self, state: State) {
        self.then(move |alone| {
            alone.set_own(STATE, state.word());
            None
        });
    }

    fn get(&self, rank: Rank, word: usize) -> u64 {
        self.words.borrow()[rank.index()][word]
    }

    fn set(&self, rank: Rank, word: usize, value: u64) {
        self.words.borrow_mut()[rank.index()][word] = value;
    }

    fn state_at_home(&self) -> State {
        State::of_word(self.get(HOME, STATE))
    }

    fn apply(&self, at: WordAddress, change: Change, then: usize, expected: u64, new: u64) -> Result<u64> {
        self.change(at, |word| match change {
            Change::Store(new) => new,
            Change::Raise(new) => word.max(new),
        });
        self.compare_swap(WordAddress { word: then, ..at }, expected, new)
    }

    fn change(&self, at: WordAddress, new: impl FnOnce(u64) -> u64) -> u64 {
        let word = &mut self.words.borrow_mut()[at.rank.index()][at.word];
        std::mem::replace(word, new(*word))
    }

    fn tail(&self) -> Tail {
        Tail::of_word(self.get(HOME, tail(Epoch(0))))
    }
}

impl LockMemory for Alone {
    fn me(&self) -> Rank {
        ME
    }

    fn home(&self) -> Rank {
        HOME
    }

    fn size(&self) -> u32 {
        2
    }

    fn lost(&self) -> Vec<Rank> {
        self.lost.borrow().clone()
    }

    fn losses(&self) -> usize {
        self.lost.borrow().len()
    }

    fn load(&self, at: WordAddress) -> Result<u64> {
        Ok(self.change(at, |word| word))
    }

    fn store(&self, at: WordAddress, new: u64) -> Result<()> {
        self.change(at, |_| new);
        Ok(())
    }

    fn swap(&self, at: WordAddress, new: u64) -> Result<u64> {
        if self.is_unreachable.get() {
            return Err(Failure::Unreachable(at.rank).into());
        }
        Ok(self.change(at, |_| new))
    }

    fn compare_swap(&self, at: WordAddress, expected: u64, new: u64) -> Result<u64> {
        Ok(self.change(at, |word| if word == expected { new } else { word }))
    }

    fn add(&self, at: WordAddress, operand: u64) -> Result<u64> {
        Ok(self.change(at, |word| word.wrapping_add(operand)))
    }

    fn post(&self, at: WordAddress, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>> {
        if !self.is_apart.get() {
            return self.apply(at, change, then, expected, new).map(Some);
        }
        assert_eq!(self.posted.replace(Some((at, change, then, expected, new))), None, "one release at a time");
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        match self.posted.take() {
            Some((at, change, then, expected, new)) => self.apply(at, change, then, expected, new).map(Some),
            None => Ok(self.found.take()),
        }
    }

    fn own(&self, word: usize) -> u64 {
        self.get(ME, word)
    }

    fn set_own(&self, word: usize, value: u64) {
        self.set(ME, word, value);
    }

    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool {
        self.change(WordAddress { rank: ME, word }, |found| if found == expected { new } else { found }) == expected
    }

    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited> {
        assert!(self.waits.replace(self.waits.get() + 1) < 100, "it waits again and again");
        loop {
            let found = self.own(word);
            if is(found) {
                return Ok(Waited::Seen(found));
            }
            let event = self.events.borrow_mut().pop_front();
            match (event, until) {
                (Some(event), _) => {
                    if let Some(waited) = event(self) {
                        return Ok(waited);
                    }
                }
                (None, Some(_)) => return Ok(Waited::Late),
                (None, None) => panic!("it waits for ever"),
            }
        }
    }
}

fn version(number: u64) -> Version {
    Version { number, owner: ME }
}

/// Writes a version, and returns the source of the token.
fn write(member: &Member<Alone>, number: u64) -> TokenSource {
    let acquired = member.take(Mode::Write, Patience::None, Ok).unwrap().expect("nobody else has it");
    assert_eq!(acquired.version, version(number - 1));
    member.commit(version(number));
    member.give(version(number)).unwrap();
    acquired.source
}

#[test]
fn a_kept_token_lies_in_the_node_until_it_is_released_to_the_home() {
    let member = Alone::member();
    let is_free = || matches!(member.memory.tail().end, End::Free { .. });
    assert_eq!((write(&member, 2), is_free()), (TokenSource::Free, true));
    member.keep(true).unwrap();
    assert_eq!((write(&member, 3), is_free()), (TokenSource::Free, false));
    assert_eq!((write(&member, 4), is_free()), (TokenSource::Kept, false));
    member.release_to_home().unwrap();
    assert!(is_free());
    assert_eq!((write(&member, 5), is_free()), (TokenSource::Free, false));
    member.keep(false).unwrap();
    assert!(is_free());
    assert_eq!((write(&member, 6), is_free()), (TokenSource::Free, true));
}

#[test]
fn an_adopted_version_is_the_one_that_is_acquired() {
    let member = Alone::member();
    let adopt = |Version { number, .. }| Ok(version(number + 9));
    let acquired = member.take(Mode::Write, Patience::Endless, adopt).unwrap().unwrap();
    assert_eq!((acquired.version, member.memory.own(KNOWN)), (version(10), version(10).word()));
}

/// A member whose home is last in the queue, and has the token or has left it in its node.
fn behind_home(left: bool) -> (Member<Alone>, Tail) {
    let (member, node) = (Alone::member(), Node::of_sequence(1));
    let last = Tail::of_rank(HOME, node, Epoch(0));
    let gone = LeftToken { epoch: Epoch(0), by: HOME, readers: false }.word();
    member.memory.set(HOME, tail(Epoch(0)), last.word());
    member.memory.set(HOME, KNOWN, version(7).word());
    member.memory.set(HOME, link(Epoch(0), node), if left { gone } else { 0 });
    (member, last)
}

#[test]
fn a_rank_that_does_not_wait_enters_the_queue_only_if_no_rank_has_the_token() {
    let (member, last) = behind_home(false);
    assert_eq!(member.take(Mode::Write, Patience::None, Ok), Ok(None));
    assert_eq!((member.memory.tail(), member.state()), (last, State::default()));
    let (member, _) = behind_home(true);
    let acquired = Acquired { version: version(7), source: TokenSource::Free };
    assert_eq!(member.take(Mode::Write, Patience::None, Ok), Ok(Some(acquired)));
}

#[test]
fn an_acquire_after_one_that_has_failed_half_way_is_an_error() {
    let member = Alone::member();
    member.memory.is_unreachable.set(true);
    assert_eq!(member.take(Mode::Write, Patience::Endless, Ok), Err(Failure::Unreachable(HOME).into()));
    for patience in [Patience::Endless, Patience::None] {
        assert!(matches!(member.take(Mode::Write, patience, Ok), Err(Error::Invalid(_))));
    }
}

#[test]
fn the_last_reader_notifies_a_writer_that_drains_in_its_epoch_and_no_other() {
    use Phase::{Draining, Holding, Idle};
    for (phase, epoch, closed, then) in
        [(Draining, 0, false, Holding), (Draining, 1, false, Draining), (Draining, 0, true, Draining), (Idle, 0, false, Idle)]
    {
        let member = Alone::member();
        let state = State { phase, epoch: Epoch(epoch), closed, ..State::default() };
        member.memory.set(HOME, STATE, state.word());
        member.notify_drained(HOME, Epoch(0)).unwrap();
        let found = member.memory.state_at_home();
        assert_eq!((found.phase, found.epoch, found.closed), (then, state.epoch, closed), "{state:?}");
    }
}

#[test]
fn a_rank_that_has_stopped_waiting_is_skipped() {
    let member = Alone::member();
    let waiting = State { phase: Phase::Waiting, sequence: 5, ..State::default() };
    let next = Link { rank: HOME, epoch: Epoch(0), patient: false, sequence: 5 };
    for (found, then) in [(Phase::Waiting, Phase::Holding), (Phase::Abandoned, Phase::Skipping)] {
        member.memory.set(HOME, STATE, waiting.with(found).word());
        let is_skipped = matches!(member.hand_over(next, version(2), false), Ok(HandOver::Skipped(_)));
        assert_eq!(is_skipped, then == Phase::Skipping);
        assert_eq!(member.memory.state_at_home(), waiting.with(then));
    }
}

#[test]
fn an_error_of_a_rank_that_is_not_lost_is_returned() {
    for lost in [None, Some(Rank::new(3))] {
        let member = Alone::member();
        member.memory.lost.borrow_mut().extend(lost);
        for rank in [HOME, Rank::new(2)] {
            let error = Error::from(Failure::PeerLost(rank));
            assert_eq!(member.unless_lost::<()>(Err(error.clone())), Err(error.clone()));
            assert_eq!(member.unless_damaged::<()>(Err(error.clone()), Epoch(0)), Err(error));
        }
    }
}

#[test]
fn a_posted_release_that_has_found_a_state_of_the_epoch_that_does_not_wait_damages_the_lock() {
    let waiting = State { phase: Phase::Waiting, sequence: 5, ..State::default() };
    let idle = waiting.with(Phase::Idle);
    for (next, found, is_recovered) in [
        (Some(waiting), waiting, false),
        (Some(waiting), idle, true),
        (Some(waiting), State { epoch: Epoch(1), ..idle }, false),
        (Some(waiting), State { closed: true, ..idle }, false),
        (None, idle, false),
    ] {
        let member = Alone::member();
        member.posted.set(Some(Posted { epoch: Epoch(0), next }));
        member.memory.found.set(Some(found.word()));
        member.settle().unwrap();
        assert_eq!(member.memory.found.take(), None);
        assert_eq!(member.state().epoch, Epoch(u16::from(is_recovered)), "{found:?}");
    }
}

#[test]
fn a_writer_that_stops_waiting_while_the_last_reader_notifies_it_has_the_token_unless_the_lock_is_recovered() {
    let holding = State { phase: Phase::Holding, readers: true, sequence: 5, ..State::default() };
    let draining = holding.with(Phase::Draining);
    let recovered = State { epoch: Epoch(1), ..draining.with(Phase::Idle) };
    let closed = State { epoch: Epoch(1), closed: true, ..draining };
    for (then, has_token) in [(draining.with(Phase::Holding), true), (recovered, false), (closed, false)] {
        let member = Alone::member();
        member.memory.set_own(STATE, holding.word());
        let counts = member.at_home(readers(Epoch(0)));
        member.memory.set(HOME, counts.word, Readers::ONE);
        member.memory.then(move |alone| {
            alone.change(counts, |count| count - Readers::ONE);
            Some(Waited::Late)
        });
        member.memory.then_state(then);
        let attempt = member.drain(holding, version(1), Patience::Until(Instant::ZERO)).unwrap();
        assert_eq!(matches!(attempt, Attempt::Token(_)), has_token, "{then:?}");
        assert_eq!(matches!(attempt, Attempt::Anew), !has_token, "{then:?}");
    }
}

#[test]
fn a_release_to_the_home_is_settled_before_the_node_of_another_rank_is_reset() {
    let own = State { phase: Phase::Holding, sequence: 5, ..State::default() };
    let (node, is_free) = (own.node(), |member: &Member<Alone>| member.memory.tail() == Tail::free(Epoch(0), false));
    let (member, next) = (Alone::member(), Link { rank: HOME, epoch: Epoch(0), patient: false, sequence: 5 });
    member.memory.is_apart.set(true);
    member.memory.set_own(STATE, own.word());
    member.memory.set_own(link(Epoch(0), node), next.word());
    member.memory.set(HOME, STATE, own.with(Phase::Abandoned).word());
    member.memory.set(HOME, tail(Epoch(0)), Tail::of_rank(HOME, node, Epoch(0)).word());
    member.give(version(2)).unwrap();
    assert_eq!((member.memory.state_at_home().phase, is_free(&member)), (Phase::Idle, true));
    // This rank's own node may enter the queue again only after the rank has settled the release itself.
    let member = Alone::member();
    member.memory.is_apart.set(true);
    member.memory.set_own(STATE, own.word());
    member.memory.set(HOME, tail(Epoch(0)), Tail::of_rank(ME, node, Epoch(0)).word());
    member.give(version(2)).unwrap();
    assert!(!is_free(&member), "a rank that releases does not wait");
    member.settle().unwrap();
    assert!(is_free(&member));
}

#[test]
fn a_rank_that_finds_its_successor_recovered_waits_until_it_is_recovered_itself() {
    let (member, idle) = (Alone::member(), State { sequence: 5, ..State::default() });
    let next = Link { rank: HOME, epoch: Epoch(0), patient: true, sequence: 5 };
    let closed = State { epoch: Epoch(1), closed: true, ..idle };
    member.memory.set_own(STATE, idle.word());
    member.memory.set(HOME, STATE, closed.word());
    member.memory.then_state(closed);
    assert!(matches!(member.hand_over(next, version(2), false), Ok(HandOver::Recovered)));
    assert_eq!(member.state(), closed);
}

#[test]
fn a_rank_goes_on_in_an_open_state_of_a_lock_that_is_recovered_from_all_losses() {
    let member = Alone::member();
    member.memory.lost.borrow_mut().push(Rank::new(2));
    let recovered = member.open().unwrap();
    assert_eq!(recovered, State { epoch: Epoch(1), ..State::default() });
    let opened = State { epoch: Epoch(2), ..recovered };
    member.memory.set_own(STATE, State { closed: true, ..opened }.word());
    member.memory.then_state(opened);
    assert_eq!(member.open(), Ok(opened));
}

#[test]
fn a_rank_waits_for_a_recovery_by_another_rank_unless_that_is_lost() {
    let (lost, opened) = (Rank::new(2), State { epoch: Epoch(1), ..State::default() });
    let recovery_by = |recoverer| Recovery { epoch: Epoch(1), recoverer: Some(recoverer), losses: 1 };
    let member = |recoverer| {
        let member = Alone::member();
        member.memory.lost.borrow_mut().push(lost);
        member.memory.set(HOME, recovery(), recovery_by(recoverer).word());
        member
    };
    let other = member(HOME);
    other.memory.then_state(State { closed: true, ..opened });
    other.memory.then_state(opened);
    other.recover_if_needed(None).unwrap();
    assert_eq!((other.state(), other.memory.get(HOME, recovery())), (opened, recovery_by(HOME).word()));
    let own = member(lost);
    own.recover_if_needed(None).unwrap();
    let whole = Recovery { epoch: Epoch(2), recoverer: None, losses: 1 };
    assert_eq!((own.state().epoch, own.memory.get(HOME, recovery())), (Epoch(2), whole.word()));
}
