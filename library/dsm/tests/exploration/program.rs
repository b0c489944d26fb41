//! The programs of ranks: sequences of actions at a lock, and the checks that the model makes of them.

use pelago_base::Instant;
use pelago_dsm::lock::{LockMemory, Member, Mode, Patience, Version};
use pelago_rma::Result;

use crate::model::Reach;

/// What a rank does, once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Write,
    Read,
    /// Writes, then reads on.
    Downgrade,
    /// As `Write`, if the token comes before it loses patience, which may be at any time.
    WriteInTime,
    ReadInTime,
    TryWrite,
    /// Releases the token to the home, if it keeps it.
    ReleaseToHome,
    /// Writes and tells one that waits, or all.
    WriteAndNotify,
    WriteAndNotifyAll,
    /// Waits until so many have written, or one was lost, then writes. May be told for no reason.
    AwaitWrites(u64),
    /// As that, but may lose patience while it waits to be told, and writes then.
    AwaitWritesInTime(u64),
}

/// What is explored.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) programs: Vec<Vec<Action>>,
    /// Who may die; one of them does.
    pub(crate) mortal: Vec<u32>,
    /// Whether the words of a rank that died are out of reach.
    pub(crate) apart: bool,
    /// Whether what can be posted takes effect later than the rank goes on.
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
        // Stays inside for a step.
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
