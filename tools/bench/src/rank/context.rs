//! The context of a rank in a benchmark: sender, receiver, and how they take turns.
//!
//! Rank 0 sends to rank 1; alone, to itself. The others wait inside the library, asleep. Where memory is mapped, sender and receiver
//! wait for each other outside it: a rank that sleeps in the library is woken by every put, which is not what is measured here. Over UDP
//! they wait inside it, as programs do.

use core::hint::spin_loop;
use std::cell::Cell;
use std::io::Write;
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use pelago::{GlobalPtr, Pod, Rank, Symmetric, World};

use crate::Row;
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::{Line, Plain};
use crate::comparison::time;
use crate::error::Result;
use crate::rank::usage::Usage;
use crate::settings::{Settings, Transport};

/// Looks at the other's flag before naps begin: some ten microseconds.
const LOOKS: u32 = 2_000;

/// Short beside what is measured, long beside what a wake-up costs the other.
const NAP: Duration = Duration::from_micros(50);

/// Time that a batch of operations should take: long beside reading the clock, short beside a turn of the scheduler.
pub(crate) const BATCH_NS: f64 = 250e3;

/// The same over UDP: long beside the time for which a rank that waits looks itself before it leaves that to its progress thread, so that what is
/// measured is how a long wait goes on, not how it begins.
pub(crate) const BATCH_APART_NS: f64 = 5e6;

/// Words of the context: flag and note, each on a cache line of its own.
const FLAG: usize = 0;
const NOTE: usize = 8;

/// Questions on a line before the clock starts: then both are there, and their ways are known to the system.
const GREETINGS: u64 = 3;

/// One rank while it measures.
pub(crate) struct RankContext<'w> {
    pub(crate) world: &'w World,
    pub(crate) settings: &'w Settings,
    /// Memory of this process before it became a rank.
    pub(crate) usage_before: Usage,
    /// Its memory when it was one, after a barrier.
    pub(crate) usage: Usage,
    words: Symmetric<'w, u64>,
    /// Flags that were raised for the other, and that were awaited from it.
    raised: Cell<u64>,
    awaited: Cell<u64>,
    /// The raw limit of sender and receiver, if they share no memory.
    line: Option<Line>,
}

impl<'w> RankContext<'w> {
    /// Collective.
    pub(crate) fn new(world: &'w World, settings: &'w Settings, usage_before: Usage, usage: Usage) -> Result<Self> {
        let (words, raised, awaited) = (world.alloc(NOTE + 8)?, Cell::new(0), Cell::new(0));
        let mut stage = Self { world, settings, usage_before, usage, words, raised, awaited, line: None };
        if stage.is_apart() && !stage.is_idle() {
            let plain = Plain::bind(false)?;
            let port = stage.exchange(u64::from(plain.port()?))?;
            stage.line = Some(Line::to(plain, port as u16)?);
        }
        Ok(stage)
    }

    pub(crate) fn sender(&self) -> Rank {
        Rank::new(0)
    }

    pub(crate) fn receiver(&self) -> Rank {
        Rank::new(u32::from(self.world.size() > 1))
    }

    pub(crate) fn is_sender(&self) -> bool {
        self.world.rank() == self.sender()
    }

    pub(crate) fn is_receiver(&self) -> bool {
        self.world.rank() == self.receiver()
    }

    /// Whether this rank neither sends nor receives.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_sender() && !self.is_receiver()
    }

    /// Whether ranks share cores.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.world.size() as usize > available_parallelism().map_or(1, usize::from)
    }

    /// Whether ranks share no memory.
    pub(crate) fn is_apart(&self) -> bool {
        self.settings.transport == Transport::Udp && self.world.size() > 1
    }

    /// The raw limit of sender and receiver, if they share no memory.
    pub(crate) fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// The raw limit of operations on the part that the receiver has of `memory`.
    pub(crate) fn baseline<'m, T: Pod>(&'m self, memory: &'m Symmetric<'_, T>) -> Result<Baseline<'m, T>> {
        Ok(match self.line() {
            Some(line) => Baseline::Datagrams(line),
            None => Baseline::Memory(Raw::of(self.world, memory, self.receiver())?),
        })
    }

    /// A row of this job, without results.
    pub(crate) fn row(&self, name: &str) -> Row {
        Row { name: name.into(), transport: self.settings.transport.name().into(), ranks: self.world.size(), ..Row::default() }
    }

    /// Hands a row on, if this is the sender; to the program that started the job.
    pub(crate) fn emit(&self, row: &Row) -> Result<()> {
        if !self.is_sender() {
            return Ok(());
        }
        let mut line = serde_json::to_string(row).expect("rows are plain");
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| crate::Error::System("cannot write a result", error))
    }

    /// Lets the sender act while the receiver waits; returns the time that it took. For both of them to call.
    pub(crate) fn send(&self, act: impl FnOnce() -> Result<()>) -> Result<f64> {
        if self.is_sender() && self.is_receiver() {
            return time(act);
        }
        self.play(act, || Ok(()))
    }

    /// As [`send`](Self::send), but over UDP the sender asks for the word at `there` first, as often as on a line, so that both begin alike.
    pub(crate) fn send_awaited(&self, there: GlobalPtr<u64>, act: impl FnOnce() -> Result<()>) -> Result<f64> {
        let mut nanoseconds = 0.0;
        self.send(|| {
            if self.is_apart() {
                (0..GREETINGS).try_for_each(|_| self.world.get(there).map(drop))?;
            }
            nanoseconds = time(act)?;
            Ok(())
        })?;
        Ok(nanoseconds)
    }

    /// Lets the sender act while the receiver serves; returns the time that it took the sender. For both of them to call.
    pub(crate) fn play(&self, act: impl FnOnce() -> Result<()>, serve: impl FnOnce() -> Result<()>) -> Result<f64> {
        // Nothing of the receiver's is under way while the sender acts.
        self.signal(self.receiver(), self.sender())?;
        let nanoseconds = if self.is_sender() { time(act)? } else { 0.0 };
        if !self.is_sender() {
            serve()?;
        }
        self.signal(self.sender(), self.receiver())?;
        Ok(nanoseconds)
    }

    /// As [`play`](Self::play), on a line.
    pub(crate) fn converse(
        &self,
        line: &Line,
        act: impl FnOnce() -> Result<()>,
        serve: impl FnOnce() -> Result<()>,
    ) -> Result<f64> {
        let mut nanoseconds = 0.0;
        let act = || {
            (0..GREETINGS).try_for_each(|_| line.ask(&[0], &mut [0]))?;
            nanoseconds = time(act)?;
            Ok(())
        };
        self.play(act, || {
            line.serve(GREETINGS, |greeting| line.send(greeting))?;
            serve()
        })?;
        Ok(nanoseconds)
    }

    /// Lets the receiver act while the sender goes on to the next meeting. For both of them to call.
    pub(crate) fn receive(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_receiver() { act() } else { Ok(()) }
    }

    /// Finds how many operations fill a batch, a multiple of `granularity`; `act` does so many. For both to call; only the sender acts.
    pub(crate) fn calibrate(&self, granularity: u64, mut act: impl FnMut(u64) -> Result<()>) -> Result<u64> {
        let batch_ns = if self.is_apart() { BATCH_APART_NS } else { BATCH_NS };
        let mut count = granularity;
        if self.is_sender() {
            loop {
                let nanoseconds = time(|| act(count))?;
                if nanoseconds >= batch_ns / 8.0 {
                    let wanted = (count as f64 * batch_ns / nanoseconds) as u64;
                    count = wanted.max(1).next_multiple_of(granularity);
                    break;
                }
                count *= 2;
            }
        }
        self.tell(count)
    }

    /// Brings a number of the sender to the receiver.
    pub(crate) fn tell(&self, value: u64) -> Result<u64> {
        let told = self.exchange(value)?;
        Ok(if self.is_sender() { value } else { told })
    }

    /// Sender and receiver meet; what each wrote before is visible to the other after.
    pub(crate) fn meet(&self) -> Result<()> {
        self.raise()?;
        self.wait()
    }

    /// Each of sender and receiver gets the number of the other.
    fn exchange(&self, value: u64) -> Result<u64> {
        self.world.put(self.words.at(self.other(), NOTE), &[value])?.wait()?;
        self.meet()?;
        let found = self.words.local().load(NOTE);
        self.meet()?;
        Ok(found)
    }

    /// One of the two goes on at once, the other when it has come so far.
    fn signal(&self, from: Rank, to: Rank) -> Result<()> {
        if self.world.rank() == from {
            self.raise()?;
        }
        if self.world.rank() == to { self.wait() } else { Ok(()) }
    }

    fn raise(&self) -> Result<()> {
        self.raised.set(self.raised.get() + 1);
        Ok(self.world.put(self.words.at(self.other(), FLAG), &[self.raised.get()])?.wait()?)
    }

    fn wait(&self) -> Result<()> {
        let awaited = self.awaited.get() + 1;
        self.awaited.set(awaited);
        let here = self.words.local();
        if self.is_apart() {
            self.world.wait_until(here, FLAG, |raised| raised >= awaited)?;
            return Ok(());
        }
        let mut looks = 0;
        while here.load(FLAG) < awaited {
            looks += 1;
            if looks < LOOKS {
                spin_loop();
                continue;
            }
            if let Some(fault) = self.world.fault() {
                return Err(pelago::Error::from(fault).into());
            }
            sleep(NAP);
        }
        Ok(())
    }

    fn other(&self) -> Rank {
        if self.is_sender() { self.receiver() } else { self.sender() }
    }
}
