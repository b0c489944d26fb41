//! Acquire and release of one variable: its lock, the version that comes with the lock, and the transfer of the data.

use pelago_rma::{Failure, Result};

use super::blocks::Blocks;
use super::prefetch::Prefetch;
use super::statistics::Statistics;
use crate::lock::{LockMemory, Member, Mode, Patience, RemoteWords, TokenSource, Version, newest};

/// A variable at this rank, without the private copy of its data.
pub(super) struct Access<'w> {
    pub(super) member: Member<RemoteWords<'w>>,
    pub(super) blocks: Blocks,
    pub(super) held: Held,
    pub(super) statistics: Statistics,
    pub(super) prefetch: Option<Prefetch<'w>>,
}

/// The access that this rank has acquired and not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    ToRead(Version),
    ToWrite(Version),
}

impl Access<'_> {
    /// Acquires the lock; returns whether that was possible in time.
    #[inline]
    pub(super) fn take(&mut self, mode: Mode, patience: Patience, private: &[u8]) -> Result<bool> {
        let Self { member, blocks, statistics, .. } = self;
        let adopt = |version: Version| {
            let orphaned = member.memory.losses() > 0 && member.is_lost(version.owner);
            if orphaned && blocks.version() == version.number {
                return blocks.inherit(&member.memory, version, private);
            }
            Ok(version)
        };
        member.memory.progress_sometimes();
        member.memory.reset_prefetch();
        member.memory.offer(Version::default());
        let Some(acquired) = member.take(mode, patience, adopt)? else { return Ok(false) };
        if acquired.source != TokenSource::Free {
            // The data was read before the token came, and the rank from which it was read may have written since.
            member.memory.reset_prefetch();
        }
        statistics.hand_overs += u64::from(acquired.source == TokenSource::HandedOver);
        statistics.kept += u64::from(acquired.source == TokenSource::Kept);
        self.held = match mode {
            Mode::Read => {
                statistics.reads += 1;
                Held::ToRead(acquired.version)
            }
            Mode::Write => {
                statistics.writes += 1;
                Held::ToWrite(acquired.version)
            }
        };
        Ok(true)
    }

    /// Updates the private copy to the acquired version; if that version is lost, releases the variable.
    #[inline]
    pub(super) fn fetch(&mut self, private: &mut [u8]) -> Result<()> {
        let (Held::ToRead(version) | Held::ToWrite(version)) = self.held else { return Ok(()) };
        let words = &self.member.memory;
        if self.blocks.version() == version.number {
            words.miss_prefetch();
            return Ok(());
        }
        let orphaned = words.losses() > 0 && self.member.is_lost(version.owner);
        let fetched = match orphaned {
            _ if words.take_piggyback(version, private) => {
                self.blocks.has_come(version);
                self.statistics.piggybacked += 1;
                Ok(private.len())
            }
            true => Err(Failure::PeerLost(version.owner).into()),
            false if self.is_prefetched(version) => {
                self.take_over(version, private)?;
                return Ok(());
            }
            false if words.take_prefetched(version.owner, private) => {
                self.blocks.has_come(version);
                self.statistics.piggybacked += 1;
                Ok(private.len())
            }
            false => self.blocks.fetch(words, version, private),
        };
        match fetched {
            Ok(bytes) => {
                self.statistics.fetched += 1;
                self.statistics.bytes += bytes as u64;
                Ok(())
            }
            Err(error) => {
                self.release(private)?;
                Err(error)
            }
        }
    }

    /// Begins to fetch the newest version that the home knows.
    pub(super) fn begin_prefetch(&mut self) -> Result<bool> {
        let words = &self.member.memory;
        let newest = words.load(self.member.at_home(newest(self.member.state().epoch)))?;
        let version = Version::of_word(newest);
        let unknown = version.number == 0 || version.number <= self.blocks.version() || version.owner == words.me();
        if unknown || self.member.is_lost(version.owner) {
            return Ok(false);
        }
        if self.prefetch.as_ref().is_none_or(|prefetch| prefetch.version != version) {
            let before = self.prefetch.take();
            self.prefetch = Some(Prefetch::begin(words, before, version, self.blocks.words())?);
        }
        Ok(true)
    }

    /// Whether the data of a version was prefetched.
    fn is_prefetched(&self, version: Version) -> bool {
        self.prefetch.as_ref().is_some_and(|prefetch| prefetch.version == version && prefetch.copied.wait().is_ok())
    }

    #[cold]
    fn take_over(&mut self, version: Version, private: &mut [u8]) -> Result<()> {
        let Some(prefetch) = &mut self.prefetch else { return Ok(()) };
        self.blocks.take_over(&self.member.memory, version, prefetch.landing.ptr(0), private)?;
        prefetch.version = Version::default();
        self.statistics.prefetched += 1;
        self.statistics.fetched += 1;
        self.statistics.bytes += (self.blocks.bytes() + self.blocks.blocks() * size_of::<u64>()) as u64;
        Ok(())
    }

    /// Releases the variable with the written data.
    #[inline]
    pub(super) fn release(&mut self, private: &[u8]) -> Result<()> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Nothing => Ok(()),
            Held::ToRead(_) => self.member.leave(),
            Held::ToWrite(before) => {
                let published = self.publish(before, private);
                let version = *published.as_ref().unwrap_or(&before);
                self.member.give(version)?;
                published.map(drop)
            }
        }
    }

    /// Releases a variable that a forgotten guard holds, without the written data.
    #[cold]
    pub(super) fn settle(&mut self) -> Result<()> {
        self.blocks.discard();
        self.release(&[])
    }

    /// Releases the written data and continues as a reader.
    pub(super) fn downgrade(&mut self, private: &[u8]) -> Result<()> {
        let Held::ToWrite(before) = self.held else { return Ok(()) };
        let published = self.publish(before, private);
        let version = *published.as_ref().unwrap_or(&before);
        self.held = Held::ToRead(version);
        self.member.downgrade(version)?;
        published.map(drop)
    }

    /// Publishes the written data, if any, as the next version.
    #[inline]
    fn publish(&mut self, before: Version, private: &[u8]) -> Result<Version> {
        self.blocks.compare(private);
        if !self.blocks.is_written() {
            return Ok(before);
        }
        let published = self.blocks.publish(&self.member.memory, before, private);
        match &published {
            Ok(version) => {
                self.member.commit(*version);
                self.member.memory.offer(*version);
            }
            Err(_) => self.blocks.discard(),
        }
        published
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use pelago_base::{Duration, Rank};
    use pelago_rma::World;
    use pelago_test_support::threads::{Platform, run};

    use crate::lock::{End, Epoch, LockMemory, Mode, Patience, STATE, State, Tail, WordAddress, link, tail};
    use crate::variable::Shared;

    const HOME: Rank = Rank::new(0);
    const READER: Rank = Rank::new(2);
    const BETWEEN: Rank = Rank::new(3);

    fn wait_until(world: &World, what: &str, mut is: impl FnMut() -> bool) {
        let begun = world.now();
        while !is() {
            assert!(world.now() - begun < Duration::from_milliseconds(20_000), "{what}");
            world.progress();
            std::thread::yield_now();
        }
    }

    /// ```text
    /// home     writes ······················ publishes 9, hands over
    /// rank 3      enters the queue ·································· gets version 9, writes nothing, hands over by memory
    /// rank 2           enters the queue, reads the home's data: 4 ···················································· gets version 9 of the home
    /// ```
    ///
    /// Ranks 2 and 3 share memory, so that rank 2 requests no data from rank 3, and the token comes without data.
    #[test]
    fn data_that_came_before_the_token_does_not_count() {
        let is_behind = AtomicBool::new(false);
        run(Platform::Hosts, 4, |world| {
            let mut variable = Shared::<u64>::new(world, HOME, 0).unwrap();
            let me = world.rank();
            // Token and data lie at the home, so that rank 2 requests both there from now on.
            for value in 1..=4 {
                if me == HOME {
                    *variable.write().unwrap() = value;
                }
                world.barrier().unwrap();
                if me == READER {
                    assert_eq!(*variable.read().unwrap(), value);
                }
                world.barrier().unwrap();
            }
            assert!(me != READER || variable.statistics().piggybacked > 0, "data comes with the token");
            let epoch = Epoch::default();
            match me {
                HOME => {
                    let access = &mut variable.access;
                    assert_eq!(access.take(Mode::Write, Patience::Endless, &[]), Ok(true));
                    world.barrier().unwrap();
                    let load = |rank, word| access.member.memory.load(WordAddress { rank, word }).unwrap();
                    let last = || match Tail::of_word(load(HOME, tail(epoch))).end {
                        End::Held { last, .. } => last,
                        End::Free { .. } => unreachable!("the home has the token"),
                    };
                    wait_until(world, "rank 3 enters the queue", || last() == BETWEEN);
                    is_behind.store(true, Ordering::Release);
                    let node = State::of_word(load(BETWEEN, STATE)).node();
                    wait_until(world, "rank 2 waits behind rank 3", || load(BETWEEN, link(epoch, node)) != 0);
                    access.blocks.replace_all();
                    access.release(&9_u64.to_ne_bytes()).unwrap();
                }
                READER => {
                    world.barrier().unwrap();
                    wait_until(world, "the home has seen rank 3", || is_behind.load(Ordering::Acquire));
                    assert_eq!(*variable.read().unwrap(), 9);
                }
                _ => {
                    world.barrier().unwrap();
                    if me == BETWEEN {
                        drop(variable.write().unwrap());
                    }
                }
            }
            world.barrier().unwrap();
        });
    }
}
