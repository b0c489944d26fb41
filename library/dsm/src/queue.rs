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
//! - **Q3** A rank announces its state before it acts on the words of others: `Waiting` before it enters the queue, `Leaving` before it is no
//!   longer counted, `Idle` before it hands the token on, which is from then on nobody's until it has come to another.
//! - **Q4** Nobody waits for another in a way that its loss does not end: losses are looked for before and during each wait.
//!
//! - **Q5** Who goes does not wait. Before it lays the token down at the home it leaves word in its node, by a swap; whoever has come after it
//!   meanwhile swaps a link in there, and finds that word or is found. So one of the two sees the other, and what the home makes of the
//!   message changes nothing: the token lies in the node or at the home, and is taken there by the next that comes.
//! - **Q6** A node is used again by the next attempt but one. That attempt begins after the token of the one before has come, which went
//!   along the queue, and so through whoever had to read in the node.
//! - **Q7** What is posted may take effect late, when others have had the token. It changes the end of the queue only if that still is the
//!   node, which the rank does not use again before, and what the home knows only to a newer version.
//! - **Q8** A rank may leave the token in its node and not tell the home. Until somebody comes for it, it takes it again from there by a
//!   compare-swap, as an attempt of its own and by the same node, whose place in the queue it still has. So the token is in the node once: what a rank
//!   has laid down at the home, or posted there, it does not take from the node.
//!
//! The queue is that of Mellor-Crummey and Scott (1991), but for Q5. `docs/dsm.md` has the argument; the tests of this file explore it.

use std::cell::Cell;

use pelago_base::{Instant, Rank};
use pelago_rma::{Error, Failure, Fault, Result};

use crate::memory::{Change, KNOWN, Memory, Place, STATE, Waited, brought, link, newest, readers, settlement, tail};
use crate::word::{Edition, End, Epoch, Gone, Link, Node, Phase, Readers, Settlement, State, Tail};

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
    pub(crate) way: Way,
}

/// Where the token was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It lay where the last had laid it down.
    Lay,
    /// Who had it before has handed it on.
    Handed,
    /// This rank had kept it.
    Kept,
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

/// What became of the token that was brought to who comes next.
enum Brought {
    /// It has it, or is sure to get it.
    Taken,
    /// It does not wait any more, and stays as it is until it is forgotten.
    Skipped(State),
    /// The lock was mended meanwhile.
    Mended,
}

/// A rank at a lock.
pub(crate) struct Member<M> {
    pub(crate) memory: M,
    /// The losses after which the lock is known to have been mended.
    attended: Cell<usize>,
    posted: Cell<Option<Posted>>,
    /// Whether it keeps the token until somebody comes for it.
    keeps: Cell<bool>,
    kept: Cell<Option<Kept>>,
}

/// A token that a rank has left in its node, and of which the home does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kept {
    epoch: Epoch,
    /// Of the attempt that it came with.
    sequence: u64,
    /// Whether readers may be counted.
    readers: bool,
}

/// All that a rank remembers of a lock between two calls: losses, what was posted, what is kept.
#[cfg(test)]
pub(crate) type Remembered = (usize, Option<(Epoch, Option<u64>)>, Option<(Epoch, u64, bool)>);

/// How a release was posted of which it is not known what came of it.
#[derive(Clone, Copy, Debug)]
struct Posted {
    epoch: Epoch,
    /// The state in which the token was to find who comes next; `None` if it was laid down at the home.
    next: Option<State>,
}

impl<M: Memory> Member<M> {
    pub(crate) fn new(memory: M) -> Self {
        let attended = Cell::new(memory.losses());
        Self { memory, attended, posted: Cell::new(None), keeps: Cell::new(false), kept: Cell::new(None) }
    }

    /// From now on, whether it keeps the token until somebody comes for it. If not, the home learns where it lies.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub(crate) fn keep(&self, keeps: bool) -> Result<()> {
        self.keeps.set(keeps);
        if keeps { Ok(()) } else { self.lay_down() }
    }

    /// Lays the token down at the home, if it was kept and nobody has come for it.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub(crate) fn lay_down(&self) -> Result<()> {
        let Some(Kept { epoch, sequence, readers }) = self.kept.take() else { return Ok(()) };
        let edition = Edition::of_word(self.memory.own(KNOWN));
        self.post_free((self.memory.me(), Node::of_sequence(sequence)), epoch, edition, readers)?;
        self.settle()
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

    /// A writer hands the token on. Where that takes a message nobody waits for it, unless who comes next may have lost patience.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[inline]
    pub(crate) fn give(&self, edition: Edition) -> Result<()> {
        let idle = loop {
            let state = self.open()?;
            if let Some(idle) = self.change(state, Phase::Idle) {
                break idle;
            }
        };
        self.pass(idle, edition, false)
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

    /// All that it remembers between two calls, besides what stands in memory.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> Remembered {
        let posted = self.posted.get().map(|Posted { epoch, next }| (epoch, next.map(State::word)));
        let kept = self.kept.get().map(|Kept { epoch, sequence, readers }| (epoch, sequence, readers));
        (self.attended.get(), posted, kept)
    }

    /// What this rank does.
    #[inline]
    pub(crate) fn state(&self) -> State {
        State::of_word(self.memory.own(STATE))
    }

    /// Waits until the token comes.
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

    /// Takes the token from its own node; `None` if somebody has come for it, or the lock was mended since.
    #[inline]
    fn take_again(&self, idle: State, Kept { epoch, sequence, readers }: Kept) -> Option<Attempt> {
        if (epoch, sequence) != (idle.epoch, idle.sequence) {
            return None;
        }
        let gone = Gone { epoch, by: self.memory.me(), readers };
        if !self.memory.change_own(link(epoch, idle.node()), gone.word(), 0) {
            return None;
        }
        let holding = State { readers, ..idle.again() };
        if !self.memory.change_own(STATE, idle.word(), holding.word()) {
            // Whoever mends the lock makes a new one.
            return Some(Attempt::Anew);
        }
        Some(Attempt::Token(Taken { edition: Edition::of_word(self.memory.own(KNOWN)), way: Way::Kept }))
    }

    /// Takes a token that nobody has.
    fn attempt_at_once(&self, idle: State) -> Result<Attempt> {
        self.settle()?;
        let end = self.at_home(tail(idle.epoch));
        let found = Tail::of_word(self.memory.load(end)?);
        if found.epoch != idle.epoch {
            return Ok(Attempt::Late);
        }
        if let End::Held { last, node } = found.end {
            let left = self.memory.load(Place { rank: last, word: link(idle.epoch, node) });
            match self.unless_damaged(left, idle.epoch)? {
                Some(left) if Gone::of_word(left, idle.epoch).is_some() => {}
                _ => return Ok(Attempt::Late),
            }
        }
        let Some(waiting) = self.announce(idle) else { return Ok(Attempt::Anew) };
        let entered = Tail::of_rank(self.memory.me(), waiting.node(), waiting.epoch).word();
        if self.memory.compare_swap(end, found.word(), entered)? != found.word() {
            self.change(waiting, Phase::Idle);
            return Ok(Attempt::Late);
        }
        let edition = match found.end {
            End::Free { .. } => self.memory.load(self.at_home(newest(waiting.epoch)))?,
            End::Held { .. } => 0,
        };
        self.come_after(waiting, found, edition, Patience::None)
    }

    /// Enters the queue.
    #[inline]
    fn enter(&self, idle: State, patience: Patience) -> Result<Attempt> {
        let Some(waiting) = self.announce(idle) else { return Ok(Attempt::Anew) };
        let epoch = waiting.epoch;
        let entered = Tail::of_rank(self.memory.me(), waiting.node(), epoch).word();
        let (found, edition) = self.memory.swap_then_load(self.at_home(tail(epoch)), entered, newest(epoch))?;
        self.settle()?;
        self.come_after(waiting, Tail::of_word(found), edition, patience)
    }

    /// Waits from now on, by the other node.
    #[inline]
    fn announce(&self, idle: State) -> Option<State> {
        let waiting = idle.attempt();
        self.memory.set_own(link(waiting.epoch, waiting.node()), 0);
        self.memory.change_own(STATE, idle.word(), waiting.word()).then_some(waiting)
    }

    /// Takes the token from where it lies, or waits for it behind who was found at the end of the queue.
    #[inline]
    fn come_after(&self, waiting: State, found: Tail, newest: u64, patience: Patience) -> Result<Attempt> {
        let epoch = waiting.epoch;
        if found.epoch != epoch {
            // What is found here comes from a rank that was lost, or this one comes very late.
            self.attend(Some(epoch))?;
            return Ok(Attempt::Anew);
        }
        let (last, node) = match found.end {
            End::Free { readers } => return Ok(self.pick_up(waiting, readers, Edition::of_word(newest))),
            End::Held { last, node } => (last, node),
        };
        let sequence = waiting.sequence;
        let this = Link { rank: self.memory.me(), epoch, patient: patience == Patience::Endless, sequence };
        let linked = self.memory.swap_then_load(Place { rank: last, word: link(epoch, node) }, this.word(), KNOWN);
        let (gone, known) = match self.unless_damaged(linked, epoch)? {
            Some((left, known)) => (Gone::of_word(left, epoch), known),
            // It may have read the link before it was lost.
            None => (None, 0),
        };
        match gone {
            Some(Gone { by, readers, .. }) if by == last => Ok(self.pick_up(waiting, readers, Edition::of_word(known))),
            Some(Gone { by, readers, .. }) => self.pick_up_from(by, waiting, readers),
            None => self.await_token(waiting, patience),
        }
    }

    /// As `pick_up`, where a rank has left the token in the node of another that was abandoned.
    #[cold]
    fn pick_up_from(&self, by: Rank, waiting: State, readers: bool) -> Result<Attempt> {
        let known = self.memory.load(Place { rank: by, word: KNOWN });
        Ok(match self.unless_damaged(known, waiting.epoch)? {
            Some(known) => self.pick_up(waiting, readers, Edition::of_word(known)),
            None => Attempt::Anew,
        })
    }

    /// Takes the token that nobody has.
    #[inline]
    fn pick_up(&self, waiting: State, readers: bool, edition: Edition) -> Attempt {
        let holding = State { readers, ..waiting.with(Phase::Holding) };
        if !self.memory.change_own(STATE, waiting.word(), holding.word()) {
            return Attempt::Anew;
        }
        Attempt::Token(Taken { edition, way: Way::Lay })
    }

    fn await_token(&self, waiting: State, patience: Patience) -> Result<Attempt> {
        loop {
            match self.wait(STATE, patience, |word| word != waiting.word())? {
                Waited::Seen(word) => {
                    if is_later(State::of_word(word), waiting, Phase::Holding) {
                        // Also if the lock was mended since: the token was brought in this epoch.
                        let edition = Edition::of_word(self.memory.own(brought(waiting.epoch)));
                        return Ok(Attempt::Token(Taken { edition, way: Way::Handed }));
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
    #[inline]
    fn begin(&self, mode: Mode, edition: Edition, patience: Patience) -> Result<Attempt> {
        let taken = Attempt::Token(Taken { edition, way: Way::Lay });
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
        let token = Ok(Attempt::Token(Taken { edition, way: Way::Lay }));
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
        if let Some(idle) = self.change(draining, Phase::Idle) {
            self.pass(idle, edition, true)?;
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

    /// Hands the token on, which this rank has no longer.
    #[inline]
    fn pass(&self, state: State, edition: Edition, readers: bool) -> Result<()> {
        let passed = self.pass_on(state, edition, readers);
        self.unless_damaged(passed, state.epoch).map(drop)
    }

    /// Gives the token to the next that waits, or lays it down. Whoever mends the lock meanwhile makes a new one.
    #[inline]
    fn pass_on(&self, State { epoch, sequence, .. }: State, edition: Edition, readers: bool) -> Result<()> {
        let me = self.memory.me();
        let gone = Gone { epoch, by: me, readers }.word();
        // Past those that were abandoned; the last of them stays until it is known who comes after it.
        let (mut rank, mut node, mut skipping) = (me, Node::of_sequence(sequence), None);
        loop {
            let Some(next) = Link::of_word(self.memory.swap(Place { rank, word: link(epoch, node) }, gone)?, epoch) else {
                if self.keeps.get() && rank == me {
                    self.kept.set(Some(Kept { epoch, sequence, readers }));
                    return Ok(());
                }
                // Whoever has come meanwhile finds the token in the node.
                self.post_free((rank, node), epoch, edition, readers)?;
                if rank != me {
                    // Another's node may stand in the queue anew as soon as that is forgotten.
                    self.settle()?;
                }
                return self.forget(rank, skipping);
            };
            match self.bring(next, edition, readers)? {
                Brought::Skipped(skipped) => {
                    self.forget(rank, skipping)?;
                    (rank, node, skipping) = (next.rank, skipped.node(), Some(skipped));
                }
                Brought::Taken => return self.forget(rank, skipping),
                Brought::Mended => return Ok(()),
            }
        }
    }

    /// Tells the home that nobody has the token, if that node still is the end of the queue.
    #[inline]
    fn post_free(&self, (rank, node): (Rank, Node), epoch: Epoch, edition: Edition, readers: bool) -> Result<()> {
        let (last, free) = (Tail::of_rank(rank, node, epoch), Tail::free(epoch, readers));
        let (at, change) = (self.at_home(newest(epoch)), Change::Raise(edition.word()));
        self.post(at, change, tail(epoch), (last.word(), free.word()), Posted { epoch, next: None }).map(drop)
    }

    /// Brings the token to who comes next.
    #[inline]
    fn bring(&self, next: Link, edition: Edition, readers: bool) -> Result<Brought> {
        let epoch = next.epoch;
        let waiting = State { phase: Phase::Waiting, readers: false, closed: false, epoch, sequence: next.sequence };
        let holding = State { readers, ..waiting.with(Phase::Holding) };
        let (at, change) = (Place { rank: next.rank, word: brought(epoch) }, (waiting.word(), holding.word()));
        loop {
            let mut found = self.post(at, Change::Store(edition.word()), STATE, change, Posted { epoch, next: Some(waiting) })?;
            if !next.patient && self.posted.take().is_some() {
                found = self.memory.settle()?;
            }
            let Some(found) = found.filter(|&found| found != waiting.word()).map(State::of_word) else {
                return Ok(Brought::Taken);
            };
            if found.epoch != epoch || found.closed {
                return self.await_mending(epoch).map(|()| Brought::Mended);
            }
            if found != waiting.with(Phase::Abandoned) {
                return self.attend(Some(epoch)).map(|()| Brought::Mended);
            }
            let (at, skipped) = (Place { rank: next.rank, word: STATE }, found.with(Phase::Skipping));
            if self.memory.compare_swap(at, found.word(), skipped.word())? == found.word() {
                return Ok(Brought::Skipped(skipped));
            }
        }
    }

    /// Posts a change and then a compare-swap, from one word to another; what that has found if it was done at once.
    #[inline]
    fn post(&self, at: Place, change: Change, then: usize, (from, to): (u64, u64), posted: Posted) -> Result<Option<u64>> {
        let found = self.memory.post(at, change, then, from, to)?;
        if found.is_none() {
            self.posted.set(Some(posted));
        }
        Ok(found)
    }

    /// Learns what came of the last release that was posted.
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
                // Else who mends sees to it.
                if found.epoch == epoch && !found.closed { self.attend(Some(epoch)) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// A rank that was abandoned is no longer in the queue.
    #[inline]
    fn forget(&self, node: Rank, skipping: Option<State>) -> Result<()> {
        if let Some(skipping) = skipping {
            let at = Place { rank: node, word: STATE };
            self.memory.compare_swap(at, skipping.word(), skipping.with(Phase::Idle).word())?;
        }
        Ok(())
    }

    /// Waits until who mends the lock has come to this rank.
    fn await_mending(&self, epoch: Epoch) -> Result<()> {
        while let Waited::Lost = self.wait(STATE, Patience::Endless, |word| State::of_word(word).epoch != epoch)? {
            self.attend(None)?;
        }
        Ok(())
    }

    /// Waits until this rank's own state is open.
    #[inline(always)]
    pub(crate) fn open(&self) -> Result<State> {
        if self.memory.losses() == self.attended.get() {
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
    #[inline]
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
    #[inline]
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
