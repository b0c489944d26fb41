//! The programs of ranks: sequences of actions at a lock, and the checks that the model makes of them.

use pelago_base::Instant;
use pelago_dsm::lock::{LockMemory, Member, Mode, Patience, Version};
use pelago_rma::Result;

use crate::model::Reach;

/// An action of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Write,
    Read,
    /// Writes, then continues as a reader.
    Downgrade,
    /// As `Write`, with a time limit, which may pass at any time.
    WriteInTime,
    ReadInTime,
    TryWrite,
    /// Releases the token to the home, if it keeps it.
    ReleaseToHome,
    /// Writes and notifies one waiting rank, or all.
    WriteAndNotify,
    WriteAndNotifyAll,
    /// Waits until the given number of writes is done, or a rank was lost, then writes. Notifications may be spurious.
    AwaitWrites(u64),
    /// As `AwaitWrites`, with a time limit for each notification, after which it writes.
    AwaitWritesInTime(u64),
}

/// A job to explore.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) programs: Vec<Vec<Action>>,
    /// The ranks that may die; one of them does.
    pub(crate) mortal: Vec<u32>,
    /// Whether the words of a dead rank are unreachable.
    pub(crate) apart: bool,
    /// Whether posted operations take effect after the rank has continued.
    pub(crate) posts: bool,
    /// Whether ranks keep the token until another requests it, and release it to the home when they end.
    pub(crate) keeps: bool,
}

pub(crate) fn play(member: &Member<Reach<'_>>, action: Action) -> Result<()> {
    let (mode, patience) = match action {
        Action::AwaitWrites(writes) => return await_writes(member, writes, Patience::Endless),
        Action::AwaitWritesInTime(writes) => return await_writes(member, writes, Patience::Until(Instant::ZERO)),
        Action::Write | Action::Downgrade | Action::WriteAndNotify | Action::WriteAndNotifyAll => {
            (Mode::Write, Patience::Endless)
        }
        Action::Read => (Mode::Read, Patience::Endless),
        Action::WriteInTime => (Mode::Write, Patience::Until(Instant::ZERO)),
        Action::ReadInTime => (Mode::Read, Patience::Until(Instant::ZERO)),
        Action::TryWrite => (Mode::Write, Patience::None),
        Action::ReleaseToHome => {
            let laid = member.unless_lost(member.release_to_home());
            return laid.map(drop);
        }
    };
    let (me, model) = (member.memory.me, member.memory.model.clone());
    let Some(acquired) = member.take(mode, patience, Ok)? else {
        if patience == Patience::Endless {
            model.borrow_mut().wrong = Some(format!("rank {me} waits as long as it takes and gets nothing"));
        }
        return Ok(());
    };
    model.borrow_mut().enter(me, mode, acquired.version);
    if mode == Mode::Read {
        // Holds the lock for one step.
        member.memory.own(0);
        model.borrow_mut().exit(me);
        return member.leave();
    }
    let version = Version { number: acquired.version.number + 1, owner: me };
    model.borrow_mut().made = version.number;
    member.commit(version);
    if let Action::WriteAndNotify | Action::WriteAndNotifyAll = action {
        member.notify(matches!(action, Action::WriteAndNotifyAll))?;
    }
    model.borrow_mut().exit(me);
    if let Action::Downgrade = action {
        member.downgrade(version)?;
        let mut model_now = model.borrow_mut();
        model_now.give(me, version, member.remembered());
        model_now.enter(me, Mode::Read, version);
        drop(model_now);
        member.memory.own(0);
        model.borrow_mut().exit(me);
        return member.leave();
    }
    member.give(version)?;
    model.borrow_mut().give(me, version, member.remembered());
    Ok(())
}

pub(crate) fn await_writes(member: &Member<Reach<'_>>, writes: u64, patience: Patience) -> Result<()> {
    let (me, model) = (member.memory.me, member.memory.model.clone());
    let (mut listed, mut told) = (None, true);
    loop {
        let acquired = member.take(Mode::Write, Patience::Endless, Ok)?.expect("it is patient");
        model.borrow_mut().enter(me, Mode::Write, acquired.version);
        if let (Some(epoch), false) = (listed, told) {
            member.withdraw(epoch)?;
        }
        if acquired.version.number > writes || !told || member.memory.losses() > 0 {
            let version = Version { number: acquired.version.number + 1, owner: me };
            model.borrow_mut().made = version.number;
            member.commit(version);
            model.borrow_mut().exit(me);
            member.give(version)?;
            model.borrow_mut().give(me, version, member.remembered());
            return Ok(());
        }
        listed = Some(member.enlist()?);
        model.borrow_mut().exit(me);
        member.give(acquired.version)?;
        told = member.sleep(patience)?;
    }
}
