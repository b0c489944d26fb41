//! The lock: a queue of ranks, in the memory of the waiting ranks, and a token that is handed over along the queue.
//!
//! The rank that has the token may write. A reader that has the token adds itself to the count of readers and hands the token over at once, so
//! that consecutive readers read together. A writer that has the token waits until the readers have left. So the lock serves all ranks in the order of
//! their requests.
//!
//! - **Q1** A rank changes its own state only while the state is open, and changes its phase by a compare-swap. So a rank that recovers the lock,
//!   and closes the states of all ranks first, knows the phase of each.
//! - **Q2** A compare-swap from `Waiting` of one epoch and one attempt hands the token over. A recovery changes the epoch, so that no rank accepts
//!   a token of an earlier epoch, for any sender and any delay.
//! - **Q3** A rank announces its state before it acts on the words of other ranks: `Waiting` before it enters the queue, `Leaving` before it
//!   subtracts itself from the count of readers, `Idle` before it hands the token over. From then on the token belongs to no rank until it has
//!   reached the next one.
//! - **Q4** The loss of a rank ends every wait for it: a rank checks for losses before and during each wait.
//! - **Q5** A rank that releases does not wait. Before it releases the token to the home it leaves the token in its own node, by a swap. A rank that has
//!   entered the queue meanwhile swaps its link into the same node. So one of the two sees the other, and the effect of the message to the home does not
//!   matter: the token lies in the node or at the home, and the next rank takes it from there.
//! - **Q6** A rank reuses a node in its next attempt but one. That attempt begins after the token of the attempt before has arrived. That token
//!   went along the queue, and so through every rank that had to read the node.
//! - **Q7** A posted operation may take effect late, when other ranks have had the token. It changes the end of the queue only if the end still is the
//!   node, which the rank does not reuse before, and changes the version at the home only to a newer one.
//! - **Q8** A rank may leave the token in its node without a message to the home. Until another rank requests the token, the rank takes it back
//!   by a compare-swap, as an attempt of its own and by the same node, whose place in the queue it still has. So the token is in the node once: a
//!   rank does not take from its node a token that it has released to the home, or has posted there.
//!
//! The queue is that of Mellor-Crummey and Scott (1991), but for Q5. `docs/book/src/dsm.md` has the argument; `tests/exploration` checks it.

use std::cell::Cell;

use pelago_base::{Instant, Rank};
use pelago_rma::{Error, Failure, Fault, Result};

use super::encoding::{End, Epoch, LeftToken, Link, Node, Phase, Readers, Recovery, State, Tail, Version};
use super::memory::{
    Change, KNOWN, LockMemory, STATE, Waited, WordAddress, handed_version, link, newest, readers, recovery, tail,
};

/// The access that a rank requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Read,
    Write,
}

/// The time that a rank is willing to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Does not wait.
    None,
    Until(Instant),
    /// Waits without a time limit.
    Endless,
}

/// The acquired token: its version and source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// The newest version.
    pub version: Version,
    pub source: TokenSource,
}

/// Where a rank found the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// No rank had it: it was in the node of the rank that released it last, or at the home.
    Free,
    /// Handed over by the rank before this one in the queue.
    HandedOver,
    /// In this rank's own node, where the rank had kept it.
    Kept,
}

/// The result of an attempt to acquire the lock.
enum Attempt {
    /// The token was acquired.
    Token(Acquired),
    /// The lock was recovered meanwhile, so all waiting ranks begin a new attempt.
    Anew,
    /// The time limit has passed.
    Late,
}

/// The result of an attempt to hand the token over to the next rank.
enum HandOver {
    /// The rank has the token, or is sure to get it.
    Done,
    /// The rank has stopped waiting; its state does not change until this rank resets it.
    Skipped(State),
    /// The lock was recovered meanwhile.
    Recovered,
}

/// One rank's part in a lock.
pub struct Member<M> {
    pub memory: M,
    /// The number of losses after which the lock is known to be recovered.
    losses_handled: Cell<usize>,
    posted: Cell<Option<Posted>>,
    /// Whether this rank keeps the token until another rank requests it.
    keeps: Cell<bool>,
    kept: Cell<Option<Kept>>,
}

/// A token that this rank has left in its node without a message to the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kept {
    epoch: Epoch,
    /// Number of the attempt that acquired the token.
    sequence: u64,
    /// Whether the count of readers may be greater than 0.
    readers: bool,
}

/// The state of a rank between two calls, beside its words: losses, the posted release, the kept token.
pub type Remembered = (usize, Option<(Epoch, Option<u64>)>, Option<(Epoch, u64, bool)>);

/// A posted release whose result is not known yet.
#[derive(Clone, Copy, Debug)]
struct Posted {
    epoch: Epoch,
    /// The expected state of the next rank; `None` if the token was released to the home.
    next: Option<State>,
}

impl<M: LockMemory> Member<M> {
    pub fn new(memory: M) -> Self {
        let losses_handled = Cell::new(memory.losses());
        Self { memory, losses_handled, posted: Cell::new(None), keeps: Cell::new(false), kept: Cell::new(None) }
    }

    /// Sets whether this rank keeps the token until another rank requests it. If not, releases a kept token to the home.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn keep(&self, keeps: bool) -> Result<()> {
        self.keeps.set(keeps);
        if keeps { Ok(()) } else { self.release_to_home() }
    }

    /// Releases the token to the home, if this rank has kept it and no rank has requested it.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn release_to_home(&self) -> Result<()> {
        let Some(Kept { epoch, sequence, readers }) = self.kept.take() else { return Ok(()) };
        let version = Version::of_word(self.memory.own(KNOWN));
        self.post_free((self.memory.me(), Node::of_sequence(sequence)), epoch, version, readers)?;
        self.settle()
    }

    /// Acquires the lock; `None` if that is not possible in time. `adopt` gets the version that came with the token, and may replace it by
    /// one that this rank owns.
    ///
    /// # Errors
    /// The home is lost; the job is at fault; as `adopt`.
    #[inline]
    pub fn take(
        &self,
        mode: Mode,
        patience: Patience,
        mut adopt: impl FnMut(Version) -> Result<Version>,
    ) -> Result<Option<Acquired>> {
        loop {
            let attempt = match self.attempt(patience) {
                Ok(Attempt::Token(acquired)) => {
                    let version = adopt(acquired.version)?;
                    // Before the phase changes: while it is `Holding`, a recovery does not take the token from this rank.
                    self.memory.set_own(KNOWN, version.word());
                    match self.begin(mode, version, patience) {
                        Ok(Attempt::Token(_)) => return Ok(Some(Acquired { version, ..acquired })),
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
    pub fn commit(&self, version: Version) {
        self.memory.set_own(KNOWN, version.word());
    }

    /// A writer hands the token over. If that takes a message, the writer does not wait for it, unless the next rank may have stopped waiting.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[inline]
    pub fn give(&self, version: Version) -> Result<()> {
        let idle = loop {
            let state = self.open()?;
            if let Some(idle) = self.change(state, Phase::Idle) {
                break idle;
            }
        };
        self.pass(idle, version, false)
    }

    /// A writer becomes a reader.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn downgrade(&self, version: Version) -> Result<()> {
        match self.begin(Mode::Read, version, Patience::Endless)? {
            Attempt::Token(_) => Ok(()),
            _ => unreachable!("who begins to read does not wait"),
        }
    }

    /// A reader leaves.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn leave(&self) -> Result<()> {
        let leaving = loop {
            let state = self.open()?;
            if let Some(leaving) = self.change(state, Phase::Leaving) {
                break leaving;
            }
        };
        let before = Readers(self.memory.add(self.at_home(readers(leaving.epoch)), Readers::ONE.wrapping_neg())?);
        if let (1, Some(writer)) = (before.count(), before.waiting()) {
            let told = self.notify_drained(writer, leaving.epoch);
            self.unless_lost(told)?;
        }
        self.change(leaving, Phase::Idle);
        Ok(())
    }

    /// The state of this rank between two calls, beside its words: for the model checker.
    pub fn remembered(&self) -> Remembered {
        let posted = self.posted.get().map(|Posted { epoch, next }| (epoch, next.map(State::word)));
        let kept = self.kept.get().map(|Kept { epoch, sequence, readers }| (epoch, sequence, readers));
        (self.losses_handled.get(), posted, kept)
    }

    /// The state of this rank.
    #[inline]
    pub fn state(&self) -> State {
        State::of_word(self.memory.own(STATE))
    }

    /// Makes one attempt to acquire the token.
    #[inline]
    fn attempt(&self, patience: Patience) -> Result<Attempt> {
        let state = self.open()?;
        if let (Phase::Idle, Some(kept)) = (state.phase, self.kept.take())
            && let Some(attempt) = self.take_again(state, kept)
        {
            return Ok(attempt);
        }
        match state.phase {
            Phase::Idle if patience == Patience::None => self.attempt_at_once(state),
            Phase::Idle => self.enter(state, patience),
            Phase::Abandoned if patience == Patience::None => Ok(Attempt::Late),
            // This rank still has its place in the queue.
            Phase::Abandoned => match self.change(state, Phase::Waiting) {
                Some(waiting) => self.await_token(waiting, patience),
                None => Ok(Attempt::Anew),
            },
            Phase::Skipping => self.await_change(state, patience),
            // An operation of an earlier attempt has failed, although no rank is lost: whether this rank is in the queue is unknown.
            _ => Err(Error::Invalid(
                "an earlier acquire or release of this shared variable has failed half-way (see its error), so this rank cannot acquire it again",
            )),
        }
    }

    /// Takes the token back from this rank's node; `None` if another rank has requested it, or the lock was recovered since.
    #[inline]
    fn take_again(&self, idle: State, Kept { epoch, sequence, readers }: Kept) -> Option<Attempt> {
        if (epoch, sequence) != (idle.epoch, idle.sequence) {
            return None;
        }
        let gone = LeftToken { epoch, by: self.memory.me(), readers };
        if !self.memory.change_own(link(epoch, idle.node()), gone.word(), 0) {
            return None;
        }
        let holding = State { readers, ..idle.again() };
        if !self.memory.change_own(STATE, idle.word(), holding.word()) {
            // The recovery makes a new token.
            return Some(Attempt::Anew);
        }
        Some(Attempt::Token(Acquired { version: Version::of_word(self.memory.own(KNOWN)), source: TokenSource::Kept }))
    }

    /// Takes a token that no rank has, without waiting.
    fn attempt_at_once(&self, idle: State) -> Result<Attempt> {
        self.settle()?;
        let end = self.at_home(tail(idle.epoch));
        let found = Tail::of_word(self.memory.load(end)?);
        if found.epoch != idle.epoch {
            return Ok(Attempt::Late);
        }
        if let End::Held { last, node } = found.end {
            let left = self.memory.load(WordAddress { rank: last, word: link(idle.epoch, node) });
            match self.unless_damaged(left, idle.epoch)? {
                Some(left) if LeftToken::of_word(left, idle.epoch).is_some() => {}
                _ => return Ok(Attempt::Late),
            }
        }
        let Some(waiting) = self.announce(idle) else { return Ok(Attempt::Anew) };
        let entered = Tail::of_rank(self.memory.me(), waiting.node(), waiting.epoch).word();
        if self.memory.compare_swap(end, found.word(), entered)? != found.word() {
            self.change(waiting, Phase::Idle);
            return Ok(Attempt::Late);
        }
        let version = match found.end {
            End::Free { .. } => self.memory.load(self.at_home(newest(waiting.epoch)))?,
            End::Held { .. } => 0,
        };
        self.come_after(waiting, found, version, Patience::None)
    }

    /// Enters the queue.
    #[inline]
    fn enter(&self, idle: State, patience: Patience) -> Result<Attempt> {
        let Some(waiting) = self.announce(idle) else { return Ok(Attempt::Anew) };
        let epoch = waiting.epoch;
        let entered = Tail::of_rank(self.memory.me(), waiting.node(), epoch).word();
        let (found, version) = self.memory.swap_then_load(self.at_home(tail(epoch)), entered, newest(epoch))?;
        self.settle()?;
        self.come_after(waiting, Tail::of_word(found), version, patience)
    }

    /// Announces a new attempt, with the other node.
    #[inline]
    fn announce(&self, idle: State) -> Option<State> {
        let waiting = idle.attempt();
        self.memory.set_own(link(waiting.epoch, waiting.node()), 0);
        self.memory.change_own(STATE, idle.word(), waiting.word()).then_some(waiting)
    }

    /// Takes the token from the home or from a node, or waits behind the rank that was found at the end of the queue.
    #[inline]
    fn come_after(&self, waiting: State, found: Tail, newest: u64, patience: Patience) -> Result<Attempt> {
        let epoch = waiting.epoch;
        if found.epoch != epoch {
            // A lost rank has written this word, or this rank has missed a recovery.
            self.recover_if_needed(Some(epoch))?;
            return Ok(Attempt::Anew);
        }
        let (last, node) = match found.end {
            End::Free { readers } => return Ok(self.pick_up(waiting, readers, Version::of_word(newest))),
            End::Held { last, node } => (last, node),
        };
        let sequence = waiting.sequence;
        let this = Link { rank: self.memory.me(), epoch, patient: patience == Patience::Endless, sequence };
        let linked = self.memory.swap_then_load(WordAddress { rank: last, word: link(epoch, node) }, this.word(), KNOWN);
        let (gone, known) = match self.unless_damaged(linked, epoch)? {
            Some((left, known)) => (LeftToken::of_word(left, epoch), known),
            // The lost rank may have read the link before.
            None => (None, 0),
        };
        match gone {
            Some(LeftToken { by, readers, .. }) if by == last => Ok(self.pick_up(waiting, readers, Version::of_word(known))),
            Some(LeftToken { by, readers, .. }) => self.pick_up_from(by, waiting, readers),
            None => self.await_token(waiting, patience),
        }
    }

    /// As `pick_up`, for a token that a rank has left in the abandoned node of another rank.
    #[cold]
    fn pick_up_from(&self, by: Rank, waiting: State, readers: bool) -> Result<Attempt> {
        let known = self.memory.load(WordAddress { rank: by, word: KNOWN });
        Ok(match self.unless_damaged(known, waiting.epoch)? {
            Some(known) => self.pick_up(waiting, readers, Version::of_word(known)),
            None => Attempt::Anew,
        })
    }

    /// Takes the token that no rank has.
    #[inline]
    fn pick_up(&self, waiting: State, readers: bool, version: Version) -> Attempt {
        let holding = State { readers, ..waiting.with(Phase::Holding) };
        if !self.memory.change_own(STATE, waiting.word(), holding.word()) {
            return Attempt::Anew;
        }
        Attempt::Token(Acquired { version, source: TokenSource::Free })
    }

    fn await_token(&self, waiting: State, patience: Patience) -> Result<Attempt> {
        loop {
            match self.wait(STATE, patience, |word| word != waiting.word())? {
                Waited::Seen(word) => {
                    if is_later(State::of_word(word), waiting, Phase::Holding) {
                        // This holds also if the lock was recovered since: the token was handed over in this epoch.
                        let version = Version::of_word(self.memory.own(handed_version(waiting.epoch)));
                        return Ok(Attempt::Token(Acquired { version, source: TokenSource::HandedOver }));
                    }
                    return Ok(Attempt::Anew);
                }
                Waited::Lost => self.recover_if_needed(None)?,
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
            Waited::Lost => self.recover_if_needed(None)?,
            Waited::Seen(_) => {}
        }
        Ok(Attempt::Anew)
    }

    /// Begins to read or to write; this rank has the token.
    #[inline]
    fn begin(&self, mode: Mode, version: Version, patience: Patience) -> Result<Attempt> {
        let acquired = Attempt::Token(Acquired { version, source: TokenSource::Free });
        loop {
            let state = self.open()?;
            match mode {
                Mode::Write if !state.readers => return Ok(acquired),
                Mode::Write => match self.drain(state, version, patience)? {
                    Attempt::Token(_) => {}
                    other => return Ok(other),
                },
                Mode::Read => {
                    self.memory.add(self.at_home(readers(state.epoch)), Readers::ONE)?;
                    if let Some(reading) = self.change(state, Phase::Reading) {
                        self.pass(reading, version, true)?;
                        return Ok(acquired);
                    }
                }
            }
        }
    }

    /// Waits until the readers have left.
    fn drain(&self, holding: State, version: Version, patience: Patience) -> Result<Attempt> {
        let token = Ok(Attempt::Token(Acquired { version, source: TokenSource::Free }));
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
                Waited::Lost => self.recover_if_needed(None)?,
                Waited::Late => break,
            }
        }
        if Readers(self.memory.add(counts, waiter.wrapping_neg())?).count() == 0 {
            // The last reader has left and is about to notify this rank.
            return match self.await_change(draining, Patience::Endless)? {
                _ if is_later(self.state(), draining, Phase::Holding) => token,
                other => Ok(other),
            };
        }
        if let Some(idle) = self.change(draining, Phase::Idle) {
            self.pass(idle, version, true)?;
        }
        Ok(Attempt::Late)
    }

    /// The last reader notifies the waiting writer.
    fn notify_drained(&self, writer: Rank, epoch: Epoch) -> Result<()> {
        let at = WordAddress { rank: writer, word: STATE };
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

    /// Hands over the token, which this rank no longer has.
    #[inline]
    fn pass(&self, state: State, version: Version, readers: bool) -> Result<()> {
        let passed = self.pass_on(state, version, readers);
        self.unless_damaged(passed, state.epoch).map(drop)
    }

    /// Hands the token over to the next waiting rank, or releases it. A recovery that happens meanwhile makes a new token.
    #[inline]
    fn pass_on(&self, State { epoch, sequence, .. }: State, version: Version, readers: bool) -> Result<()> {
        let me = self.memory.me();
        let gone = LeftToken { epoch, by: me, readers }.word();
        // Past abandoned nodes; the last of them is not reset before its successor is known.
        let (mut rank, mut node, mut skipping) = (me, Node::of_sequence(sequence), None);
        loop {
            let Some(next) = Link::of_word(self.memory.swap(WordAddress { rank, word: link(epoch, node) }, gone)?, epoch) else {
                if self.keeps.get() && rank == me {
                    self.kept.set(Some(Kept { epoch, sequence, readers }));
                    return Ok(());
                }
                // A rank that has entered the queue meanwhile finds the token in the node.
                self.post_free((rank, node), epoch, version, readers)?;
                if rank != me {
                    // The owner of an abandoned node may reuse it as soon as `forget` has reset it.
                    self.settle()?;
                }
                return self.forget(rank, skipping);
            };
            match self.hand_over(next, version, readers)? {
                HandOver::Skipped(skipped) => {
                    self.forget(rank, skipping)?;
                    (rank, node, skipping) = (next.rank, skipped.node(), Some(skipped));
                }
                HandOver::Done => return self.forget(rank, skipping),
                HandOver::Recovered => return Ok(()),
            }
        }
    }

    /// Posts to the home that no rank has the token, unless the node no longer is the end of the queue.
    #[inline]
    fn post_free(&self, (rank, node): (Rank, Node), epoch: Epoch, version: Version, readers: bool) -> Result<()> {
        let (last, free) = (Tail::of_rank(rank, node, epoch), Tail::free(epoch, readers));
        let (at, change) = (self.at_home(newest(epoch)), Change::Raise(version.word()));
        self.post(at, change, tail(epoch), (last.word(), free.word()), Posted { epoch, next: None }).map(drop)
    }

    /// Hands the token over to the next rank.
    #[inline]
    fn hand_over(&self, next: Link, version: Version, readers: bool) -> Result<HandOver> {
        let epoch = next.epoch;
        let waiting = State { phase: Phase::Waiting, readers: false, closed: false, epoch, sequence: next.sequence };
        let holding = State { readers, ..waiting.with(Phase::Holding) };
        let (at, change) = (WordAddress { rank: next.rank, word: handed_version(epoch) }, (waiting.word(), holding.word()));
        loop {
            let mut found = self.post(at, Change::Store(version.word()), STATE, change, Posted { epoch, next: Some(waiting) })?;
            if !next.patient && self.posted.take().is_some() {
                found = self.memory.settle()?;
            }
            let Some(found) = found.filter(|&found| found != waiting.word()).map(State::of_word) else {
                return Ok(HandOver::Done);
            };
            if found.epoch != epoch || found.closed {
                return self.await_recovery(epoch).map(|()| HandOver::Recovered);
            }
            if found != waiting.with(Phase::Abandoned) {
                return self.recover_if_needed(Some(epoch)).map(|()| HandOver::Recovered);
            }
            let (at, skipped) = (WordAddress { rank: next.rank, word: STATE }, found.with(Phase::Skipping));
            if self.memory.compare_swap(at, found.word(), skipped.word())? == found.word() {
                return Ok(HandOver::Skipped(skipped));
            }
        }
    }

    /// Posts a change and then a compare-swap; returns the value that the compare-swap found if it completed immediately.
    #[inline]
    fn post(&self, at: WordAddress, change: Change, then: usize, (from, to): (u64, u64), posted: Posted) -> Result<Option<u64>> {
        let found = self.memory.post(at, change, then, from, to)?;
        if found.is_none() {
            self.posted.set(Some(posted));
        }
        Ok(found)
    }

    /// Waits for the result of the last posted release.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[inline]
    fn settle(&self) -> Result<()> {
        match self.posted.take() {
            None => Ok(()),
            Some(posted) => self.settle_posted(posted),
        }
    }

    #[cold]
    fn settle_posted(&self, Posted { epoch, next }: Posted) -> Result<()> {
        let settled = self.memory.settle();
        let Some(Some(found)) = self.unless_damaged(settled, epoch)? else { return Ok(()) };
        match next {
            Some(waiting) if found != waiting.word() => {
                let found = State::of_word(found);
                // Otherwise the recovery has replaced the token.
                if found.epoch == epoch && !found.closed { self.recover_if_needed(Some(epoch)) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Resets an abandoned node, which is no longer in the queue.
    #[inline]
    fn forget(&self, node: Rank, skipping: Option<State>) -> Result<()> {
        if let Some(skipping) = skipping {
            let at = WordAddress { rank: node, word: STATE };
            self.memory.compare_swap(at, skipping.word(), skipping.with(Phase::Idle).word())?;
        }
        Ok(())
    }

    /// Waits until the recovery of the lock has reached this rank.
    fn await_recovery(&self, epoch: Epoch) -> Result<()> {
        while let Waited::Lost = self.wait(STATE, Patience::Endless, |word| State::of_word(word).epoch != epoch)? {
            self.recover_if_needed(None)?;
        }
        Ok(())
    }

    /// Waits until this rank's own state is open.
    #[inline(always)]
    pub fn open(&self) -> Result<State> {
        if self.memory.losses() == self.losses_handled.get() {
            let state = self.state();
            if !state.closed {
                return Ok(state);
            }
        }
        self.open_later()
    }

    #[cold]
    #[inline(never)]
    fn open_later(&self) -> Result<State> {
        loop {
            if self.memory.losses() != self.losses_handled.get() {
                self.recover_if_needed(None)?;
            }
            let state = self.state();
            if !state.closed {
                return Ok(state);
            }
            self.wait(STATE, Patience::Endless, |word| word != state.word())?;
        }
    }

    /// Recovers the lock, or waits for its recovery by another rank, if a rank was lost since, or if the lock was found `damaged` in that epoch.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[cold]
    pub fn recover_if_needed(&self, damaged: Option<Epoch>) -> Result<()> {
        let at = self.at_home(recovery());
        loop {
            let lost = self.memory.lost();
            if lost.contains(&self.memory.home()) {
                return Err(Failure::PeerLost(self.memory.home()).into());
            }
            let losses = lost.len() as u16;
            let found = Recovery::of_word(self.memory.load(at)?);
            if damaged.is_none_or(|epoch| found.epoch != epoch) && found.losses >= losses {
                let is_open = |state: State| state.epoch.has_come(found.epoch) && !state.closed;
                match found.recoverer {
                    None => {}
                    Some(recoverer) if lost.contains(&recoverer) => {}
                    Some(_) => match self.memory.wait(STATE, None, &mut |word| is_open(State::of_word(word)))? {
                        Waited::Seen(_) => {}
                        Waited::Lost | Waited::Late => continue,
                    },
                }
                if found.recoverer.is_none() || is_open(self.state()) {
                    self.losses_handled.set(lost.len());
                    return Ok(());
                }
            }
            let mine = Recovery { epoch: found.epoch.next(), recoverer: Some(self.memory.me()), losses };
            if self.memory.compare_swap(at, found.word(), mine.word())? == found.word() {
                self.recover(mine, &lost)?;
            }
        }
    }

    /// The result of an operation on another rank's words; `None` if that rank is lost, and the lock was recovered.
    #[inline]
    pub fn unless_lost<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match lost_rank(&error) {
                Some(rank) if rank != self.memory.home() && self.is_lost(rank) => self.recover_if_needed(None).map(|()| None),
                _ => Err(error),
            },
        }
    }

    /// As `unless_lost`, for an operation without which the lock cannot continue in this epoch.
    #[inline]
    fn unless_damaged<T>(&self, result: Result<T>, epoch: Epoch) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => match lost_rank(&error) {
                Some(rank) if rank != self.memory.home() && self.is_lost(rank) => {
                    self.recover_if_needed(Some(epoch)).map(|()| None)
                }
                _ => Err(error),
            },
        }
    }

    pub fn wait(&self, word: usize, patience: Patience, mut is: impl FnMut(u64) -> bool) -> Result<Waited> {
        if self.memory.losses() != self.losses_handled.get() {
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

    /// Changes the phase, unless the state was changed meanwhile.
    #[inline]
    fn change(&self, state: State, phase: Phase) -> Option<State> {
        let new = state.with(phase);
        self.memory.change_own(STATE, state.word(), new.word()).then_some(new)
    }

    pub fn at_home(&self, word: usize) -> WordAddress {
        WordAddress { rank: self.memory.home(), word }
    }

    pub fn is_lost(&self, rank: Rank) -> bool {
        self.memory.losses() > 0 && self.memory.lost().contains(&rank)
    }
}

/// Whether `state` is in `phase` in the same attempt as `earlier`.
fn is_later(state: State, earlier: State, phase: Phase) -> bool {
    state.phase == phase && state.sequence == earlier.sequence
}

/// The rank whose loss an error reports.
pub(crate) fn lost_rank(error: &Error) -> Option<Rank> {
    match error {
        Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank)) => Some(*rank),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
