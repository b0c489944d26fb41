//! The lock: a queue in the memory of those who wait, and a token that goes along it.
//!
//! Whoever has the token may write. A reader that has it counts itself among the readers and hands it on at once, so that readers that
//! follow each other read together; a writer that has it waits until the readers have left. So all are served in the order in which they
//! came.
//!
//! - **Q1** A rank changes its own state only while that is open, and every change of phase is a compare-swap; so who mends the lock, and
//!   closes the states of all first, knows what each does.
//! - **Q2** The token is brought by a compare-swap from `Waiting` of one epoch and one attempt. A rank that mends changes the epoch, so that
//!   no token of an earlier one is accepted any more, whoever sent it and however late it comes.
//! - **Q3** A rank announces its state before it acts on the words of others, and withdraws it after: `Waiting` before it enters the queue,
//!   `Releasing` while it hands on, `Leaving` before it is no longer counted.
//! - **Q4** Nobody waits for another in a way that its loss does not end: losses are looked for before and during each wait.
//!
//! The queue is that of Mellor-Crummey and Scott (1991). `docs/dsm.md` has the argument; the tests of this file explore it.

use std::cell::Cell;

use pelago_base::{Instant, Rank};
use pelago_rma::{Error, Failure, Fault, Result};

use crate::memory::{KNOWN, Memory, Place, STATE, Waited, brought, link, newest, readers, settlement, tail};
use crate::word::{Edition, Epoch, Link, Phase, Readers, Settlement, State, Tail};

/// What a rank wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// How long a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not at all.
    None,
    Until(Instant),
    /// As long as it takes.
    Endless,
}

/// How the token came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The newest version.
    pub(crate) edition: Edition,
    /// Whether it was handed on by who had it before.
    pub(crate) handed: bool,
}

/// What became of an attempt.
enum Attempt {
    /// The token has come.
    Token(Taken),
    /// The lock was mended meanwhile: all who wait begin anew.
    Anew,
    /// Its time is over.
    Late,
}

/// A rank at a lock.
pub(crate) struct Member<M> {
    pub(crate) memory: M,
    /// The losses after which the lock is known to have been mended.
    attended: Cell<usize>,
}

impl<M: Memory> Member<M> {
    pub(crate) fn new(memory: M) -> Self {
        let attended = Cell::new(memory.losses());
        Self { memory, attended }
    }

    /// Acquires the lock; `None` if that is not possible in time. With the token, `adopt` may say that this rank owns the newest version.
    ///
    /// # Errors
    /// The home is lost; the job is at fault; those of `adopt`.
    #[inline]
    pub(crate) fn take(
        &self,
        mode: Mode,
        patience: Patience,
        mut adopt: impl FnMut(Edition) -> Result<Edition>,
    ) -> Result<Option<Taken>> {
        loop {
            let attempt = match self.attempt(patience) {
                Ok(Attempt::Token(taken)) => {
                    let edition = adopt(taken.edition)?;
                    // Before the phase changes: as long as it is `Holding`, whoever mends the lock does not take the token from it.
                    self.memory.set_own(KNOWN, edition.word());
                    match self.begin(mode, edition, patience) {
                        Ok(Attempt::Token(_)) => return Ok(Some(Taken { edition, ..taken })),
                        other => other,
                    }
                }
                other => other,
            };
            if let Some(Attempt::Late) = self.unless_lost(attempt)? {
                return Ok(None);
            }
        }
    }

    /// Notes the version that this rank has made, while it has the token.
    #[inline]
    pub(crate) fn commit(&self, edition: Edition) {
        self.memory.set_own(KNOWN, edition.word());
    }

    /// A writer hands the token on.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub(crate) fn give(&self, edition: Edition) -> Result<()> {
        let releasing = loop {
            let state = self.open()?;
            if let Some(releasing) = self.change(state, Phase::Releasing) {
                break releasing;
            }
        };
        self.pass(releasing, edition, false)
    }

    /// A writer becomes a reader.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub(crate) fn downgrade(&self, edition: Edition) -> Result<()> {
        match self.begin(Mode::Read, edition, Patience::Endless)? {
            Attempt::Token(_) => Ok(()),
            _ => unreachable!("who begins to read does not wait"),
        }
    }

    /// A reader leaves.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub(crate) fn leave(&self) -> Result<()> {
        let leaving = loop {
            let state = self.open()?;
            if let Some(leaving) = self.change(state, Phase::Leaving) {
                break leaving;
            }
        };
        let before = Readers(self.memory.add(self.at_home(readers(leaving.epoch)), Readers::ONE.wrapping_neg())?);
        if let (1, Some(writer)) = (before.count(), before.waiting()) {
            let told = self.tell_drained(writer, leaving.epoch);
            self.unless_lost(told)?;
        }
        self.change(leaving, Phase::Idle);
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn attended(&self) -> usize {
        self.attended.get()
    }

    /// What this rank does.
    pub(crate) fn state(&self) -> State {
        State::of_word(self.memory.own(STATE))
    }

    /// Waits until the token comes.
    fn attempt(&self, patience: Patience) -> Result<Attempt> {
        let state = self.open()?;
        match state.phase {
            Phase::Idle if patience == Patience::None => self.attempt_at_once(state),
            Phase::Idle => self.enter(state, patience),
            Phase::Abandoned if patience == Patience::None => Ok(Attempt::Late),
            // It still has its place.
            Phase::Abandoned => match self.change(state, Phase::Waiting) {
                Some(waiting) => self.await_token(waiting, patience),
                None => Ok(Attempt::Anew),
            },
            Phase::Skipping => self.await_change(state, patience),
            // Its own state is of an attempt that has not ended, or was closed in between.
            _ => unreachable!("a rank acquires what it has not: {state:?}"),
        }
    }

    /// Takes a free token.
    fn attempt_at_once(&self, idle: State) -> Result<Attempt> {
        let end = self.at_home(tail(idle.epoch));
        let found = Tail::of_word(self.memory.load(end)?);
        if found.last.is_some() || found.epoch != idle.epoch {
            return Ok(Attempt::Late);
        }
        let waiting = idle.attempt();
        self.memory.set_own(link(waiting.epoch), 0);
        if !self.memory.change_own(STATE, idle.word(), waiting.word()) {
            return Ok(Attempt::Anew);
        }
        if self.memory.compare_swap(end, found.word(), Tail::of_rank(self.memory.me(), waiting.epoch).word())? != found.word() {
            self.change(waiting, Phase::Idle);
            return Ok(Attempt::Late);
        }
        let edition = Edition::of_word(self.memory.load(self.at_home(newest(waiting.epoch)))?);
        Ok(self.pick_up(waiting, found.readers, edition))
    }

    /// Enters the queue.
    fn enter(&self, idle: State, patience: Patience) -> Result<Attempt> {
        let waiting = idle.attempt();
        let (me, epoch) = (self.memory.me(), waiting.epoch);
        self.memory.set_own(link(epoch), 0);
        if !self.memory.change_own(STATE, idle.word(), waiting.word()) {
            return Ok(Attempt::Anew);
        }
        let entered = Tail::of_rank(me, epoch).word();
        let (found, edition) = self.memory.swap_then_load(self.at_home(tail(epoch)), entered, newest(epoch))?;
        let found = Tail::of_word(found);
        match found.last {
            // What is found here comes from a rank that was lost, or this one comes very late.
            _ if found.epoch != epoch => {
                self.attend(Some(epoch))?;
                Ok(Attempt::Anew)
            }
            None => Ok(self.pick_up(waiting, found.readers, Edition::of_word(edition))),
            Some(before) => {
                let this = Link { rank: me, epoch, sequence: waiting.sequence };
                let linked = self.memory.store(Place { rank: before, word: link(epoch) }, this.word());
                match self.unless_damaged(linked, epoch)? {
                    Some(()) => self.await_token(waiting, patience),
                    None => Ok(Attempt::Anew),
                }
            }
        }
    }

    /// Takes the token that lay at the end of the queue.
    fn pick_up(&self, waiting: State, readers: bool, edition: Edition) -> Attempt {
        let holding = State { readers, ..waiting.with(Phase::Holding) };
        if !self.memory.change_own(STATE, waiting.word(), holding.word()) {
            return Attempt::Anew;
        }
        Attempt::Token(Taken { edition, handed: false })
    }

    fn await_token(&self, waiting: State, patience: Patience) -> Result<Attempt> {
        loop {
            match self.wait(STATE, patience, |word| word != waiting.word())? {
                Waited::Seen(word) => {
                    if is_later(State::of_word(word), waiting, Phase::Holding) {
                        // Also if the lock was mended since: the token was brought in this epoch.
                        let edition = Edition::of_word(self.memory.own(brought(waiting.epoch)));
                        return Ok(Attempt::Token(Taken { edition, handed: true }));
                    }
                    return Ok(Attempt::Anew);
                }
                Waited::Lost => self.attend(None)?,
                Waited::Late => {
                    if self.change(waiting, Phase::Abandoned).is_some() {
                        return Ok(Attempt::Late);
                    }
                }
            }
        }
    }

    fn await_change(&self, state: State, patience: Patience) -> Result<Attempt> {
        match self.wait(STATE, patience, |word| word != state.word())? {
            Waited::Late => return Ok(Attempt::Late),
            Waited::Lost => self.attend(None)?,
            Waited::Seen(_) => {}
        }
        Ok(Attempt::Anew)
    }

    /// With the token, begins to read or to write.
    fn begin(&self, mode: Mode, edition: Edition, patience: Patience) -> Result<Attempt> {
        let taken = Attempt::Token(Taken { edition, handed: false });
        loop {
            let state = self.open()?;
            match mode {
                Mode::Write if !state.readers => return Ok(taken),
                Mode::Write => match self.drain(state, edition, patience)? {
                    Attempt::Token(_) => {}
                    other => return Ok(other),
                },
                Mode::Read => {
                    self.memory.add(self.at_home(readers(state.epoch)), Readers::ONE)?;
                    if let Some(reading) = self.change(state, Phase::Reading) {
                        self.pass(reading, edition, true)?;
                        return Ok(taken);
                    }
                }
            }
        }
    }

    /// Waits until the readers have left.
    fn drain(&self, holding: State, edition: Edition, patience: Patience) -> Result<Attempt> {
        let token = Ok(Attempt::Token(Taken { edition, handed: false }));
        let Some(draining) = self.change(holding, Phase::Draining) else { return token };
        let (counts, waiter) = (self.at_home(readers(draining.epoch)), Readers::waiter(self.memory.me()));
        if Readers(self.memory.add(counts, waiter)?).count() == 0 {
            self.memory.add(counts, waiter.wrapping_neg())?;
            return if self.change(draining, Phase::Holding).is_some() { token } else { Ok(Attempt::Anew) };
        }
        loop {
            match self.wait(STATE, patience, |word| word != draining.word())? {
                Waited::Seen(word) if is_later(State::of_word(word), draining, Phase::Holding) => {
                    self.memory.add(counts, waiter.wrapping_neg())?;
                    return token;
                }
                Waited::Seen(_) => return Ok(Attempt::Anew),
                Waited::Lost => self.attend(None)?,
                Waited::Late => break,
            }
        }
        if Readers(self.memory.add(counts, waiter.wrapping_neg())?).count() == 0 {
            // The last reader has left and is about to say so.
            return match self.await_change(draining, Patience::Endless)? {
                _ if is_later(self.state(), draining, Phase::Holding) => token,
                other => Ok(other),
            };
        }
        if let Some(releasing) = self.change(draining, Phase::Releasing) {
            self.pass(releasing, edition, true)?;
        }
        Ok(Attempt::Late)
    }

    /// The last reader tells the writer that waits.
    fn tell_drained(&self, writer: Rank, epoch: Epoch) -> Result<()> {
        let at = Place { rank: writer, word: STATE };
        loop {
            let state = State::of_word(self.memory.load(at)?);
            if state.phase != Phase::Draining || state.epoch != epoch || state.closed {
                return Ok(());
            }
            if self.memory.compare_swap(at, state.word(), state.with(Phase::Holding).word())? == state.word() {
                return Ok(());
            }
        }
    }

    /// Hands the token on, and is idle afterwards unless it reads.
    fn pass(&self, state: State, edition: Edition, readers: bool) -> Result<()> {
        let passed = self.pass_on(state.epoch, edition, readers);
        self.unless_damaged(passed, state.epoch)?;
        if state.phase == Phase::Releasing {
            // Where it was closed, who mends does it.
            self.change(state, Phase::Idle);
        }
        Ok(())
    }

    /// Gives the token to the next that waits, or lays it down at the end of the queue. Whoever mends the lock meanwhile makes a new one.
    fn pass_on(&self, epoch: Epoch, edition: Edition, readers: bool) -> Result<()> {
        let me = self.memory.me();
        // Past those that were abandoned; the last of them stays until it is known who comes after it.
        let (mut node, mut skipping) = (me, None);
        loop {
            let after = Place { rank: node, word: link(epoch) };
            let after = if node == me { self.memory.own(after.word) } else { self.memory.load(after)? };
            let Some(next) = Link::of_word(after, epoch) else {
                let (last, free) = (Tail::of_rank(node, epoch).word(), Tail::free(epoch, readers).word());
                let end = tail(epoch);
                let found = self.memory.store_then_compare_swap(self.at_home(newest(epoch)), edition.word(), end, last, free)?;
                if found == last {
                    return self.forget(node, skipping);
                }
                let found = Tail::of_word(found);
                if found.epoch != epoch || found.last.is_none_or(|last| self.is_lost(last)) {
                    return self.attend(Some(epoch));
                }
                if !self.await_link(node, epoch)? {
                    return Ok(());
                }
                continue;
            };
            let waiting = State { phase: Phase::Waiting, readers: false, closed: false, epoch, sequence: next.sequence };
            let holding = State { readers, ..waiting.with(Phase::Holding) };
            let at = Place { rank: next.rank, word: brought(epoch) };
            let found = self.memory.store_then_compare_swap(at, edition.word(), STATE, waiting.word(), holding.word())?;
            if found == waiting.word() {
                return self.forget(node, skipping);
            }
            let found = State::of_word(found);
            if found.epoch != epoch || found.closed {
                return self.await_mending(epoch);
            }
            if found != waiting.with(Phase::Abandoned) {
                return self.attend(Some(epoch));
            }
            let (at, skipped) = (Place { rank: next.rank, word: STATE }, found.with(Phase::Skipping));
            if self.memory.compare_swap(at, found.word(), skipped.word())? == found.word() {
                self.forget(node, skipping)?;
                (node, skipping) = (next.rank, Some(skipped));
            }
        }
    }

    /// A rank that was abandoned is no longer in the queue.
    fn forget(&self, node: Rank, skipping: Option<State>) -> Result<()> {
        if let Some(skipping) = skipping {
            let at = Place { rank: node, word: STATE };
            self.memory.compare_swap(at, skipping.word(), skipping.with(Phase::Idle).word())?;
        }
        Ok(())
    }

    /// Waits until it is known who comes after `node`; `false` if the lock was mended instead.
    fn await_link(&self, node: Rank, epoch: Epoch) -> Result<bool> {
        let is_linked = |word| Link::of_word(word, epoch).is_some();
        while self.state().epoch == epoch {
            if node == self.memory.me() {
                if let Waited::Seen(_) = self.wait(link(epoch), Patience::Endless, is_linked)? {
                    return Ok(true);
                }
            } else if is_linked(self.memory.load(Place { rank: node, word: link(epoch) })?) {
                return Ok(true);
            } else {
                self.memory.pause(self.attended.get())?;
            }
            if self.memory.losses() != self.attended.get() {
                self.attend(None)?;
            }
        }
        Ok(false)
    }

    /// Waits until who mends the lock has come to this rank.
    fn await_mending(&self, epoch: Epoch) -> Result<()> {
        while let Waited::Lost = self.wait(STATE, Patience::Endless, |word| State::of_word(word).epoch != epoch)? {
            self.attend(None)?;
        }
        Ok(())
    }

    /// Waits until this rank's own state is open.
    #[inline]
    pub(crate) fn open(&self) -> Result<State> {
        loop {
            if self.memory.losses() != self.attended.get() {
                self.attend(None)?;
            }
            let state = self.state();
            if !state.closed {
                return Ok(state);
            }
            self.wait(STATE, Patience::Endless, |word| word != state.word())?;
        }
    }

    /// Has the lock mended if a rank was lost since, or if it was found to be `damaged` in that epoch.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[cold]
    pub(crate) fn attend(&self, damaged: Option<Epoch>) -> Result<()> {
        let at = self.at_home(settlement());
        loop {
            let lost = self.memory.lost();
            if lost.contains(&self.memory.home()) {
                return Err(Failure::PeerLost(self.memory.home()).into());
            }
            let losses = lost.len() as u16;
            let found = Settlement::of_word(self.memory.load(at)?);
            if damaged.is_none_or(|epoch| found.epoch != epoch) && found.losses >= losses {
                let is_open = |state: State| state.epoch.has_come(found.epoch) && !state.closed;
                match found.mender {
                    None => {}
                    Some(mender) if lost.contains(&mender) => {}
                    Some(_) => match self.memory.wait(STATE, None, &mut |word| is_open(State::of_word(word)))? {
                        Waited::Seen(_) => {}
                        Waited::Lost | Waited::Late => continue,
                    },
                }
                if found.mender.is_none() || is_open(self.state()) {
                    self.attended.set(lost.len());
                    return Ok(());
                }
            }
            let mine = Settlement { epoch: found.epoch.next(), mender: Some(self.memory.me()), losses };
            if self.memory.compare_swap(at, found.word(), mine.word())? == found.word() {
                self.mend(mine, &lost)?;
            }
        }
    }

    /// What came of an operation on another rank's words; `None` if that rank is lost, and the lock was mended.
    pub(crate) fn unless_lost<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match lost_by(&error) {
                Some(rank) if rank != self.memory.home() && self.is_lost(rank) => self.attend(None).map(|()| None),
                _ => Err(error),
            },
        }
    }

    /// As `unless_lost`, where the lock of this epoch does not go on without the operation.
    fn unless_damaged<T>(&self, result: Result<T>, epoch: Epoch) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match lost_by(&error) {
                Some(rank) if rank != self.memory.home() && self.is_lost(rank) => self.attend(Some(epoch)).map(|()| None),
                _ => Err(error),
            },
        }
    }

    pub(crate) fn wait(&self, word: usize, patience: Patience, mut is: impl FnMut(u64) -> bool) -> Result<Waited> {
        if self.memory.losses() != self.attended.get() {
            return Ok(Waited::Lost);
        }
        match patience {
            Patience::Endless => self.memory.wait(word, None, &mut is),
            Patience::Until(instant) => self.memory.wait(word, Some(instant), &mut is),
            Patience::None => {
                let found = self.memory.own(word);
                Ok(if is(found) { Waited::Seen(found) } else { Waited::Late })
            }
        }
    }

    /// Goes over to a phase, unless the state was changed meanwhile.
    #[inline]
    fn change(&self, state: State, phase: Phase) -> Option<State> {
        let new = state.with(phase);
        self.memory.change_own(STATE, state.word(), new.word()).then_some(new)
    }

    pub(crate) fn at_home(&self, word: usize) -> Place {
        Place { rank: self.memory.home(), word }
    }

    pub(crate) fn is_lost(&self, rank: Rank) -> bool {
        self.memory.losses() > 0 && self.memory.lost().contains(&rank)
    }
}

/// Whether a rank has come to `phase` in the attempt of an earlier state.
fn is_later(state: State, earlier: State, phase: Phase) -> bool {
    state.phase == phase && state.sequence == earlier.sequence
}

/// The rank whose loss an error tells of.
pub(crate) fn lost_by(error: &Error) -> Option<Rank> {
    match error {
        Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank)) => Some(*rank),
        _ => None,
    }
}
