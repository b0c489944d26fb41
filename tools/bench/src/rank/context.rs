//! The context of a rank in a benchmark: sender, receiver, and their synchronization.
//!
//! Rank 0 sends to rank 1, or to itself in a job of one rank. All other ranks sleep inside the library. If memory is mapped, sender and
//! receiver wait for each other outside the library: every put would wake a rank that sleeps in the library, and this wake-up is not to be
//! measured. Over UDP they wait inside the library, as programs do.

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
use crate::settings::Settings;

/// Polls of the other rank's flag before naps: about ten microseconds.
const LOOKS: u32 = 2_000;

/// Length of a nap: short compared with the measured time, long compared with the cost of a wake-up.
const NAP: Duration = Duration::from_micros(50);

/// Target time of a batch of operations: long compared with reading the clock, short compared with a time slice of the scheduler.
pub(crate) const BATCH_NS: f64 = 250e3;

/// The same over UDP: long compared with the time for which a waiting rank polls before its progress thread takes over, so that the steady
/// state of a long wait is measured, not its start.
pub(crate) const BATCH_APART_NS: f64 = 5e6;

/// Offsets of the words of the context: flag and note, on separate cache lines.
const FLAG: usize = 0;
const NOTE: usize = 8;

/// Round trips on a line before the clock starts: they ensure that both ranks are ready and that the system has resolved the route.
const GREETINGS: u64 = 3;

/// A rank during a measurement.
pub(crate) struct RankContext<'w> {
    pub(crate) world: &'w World,
    pub(crate) settings: &'w Settings,
    /// Memory use of this process before it became a rank.
    pub(crate) usage_before: Usage,
    /// Memory use after it became a rank and called a barrier.
    pub(crate) usage: Usage,
    words: Symmetric<'w, u64>,
    /// Number of flags raised for the other rank, and awaited from it.
    raised: Cell<u64>,
    awaited: Cell<u64>,
    /// The raw limit between sender and receiver, if they share no memory.
    line: Option<Line>,
}

impl<'w> RankContext<'w> {
    /// Creates the context. Collective.
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

    /// Returns whether this rank is neither sender nor receiver.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_sender() && !self.is_receiver()
    }

    /// Returns whether ranks share cores.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.world.size() as usize > available_parallelism().map_or(1, usize::from)
    }

    /// Returns whether ranks share no memory.
    pub(crate) fn is_apart(&self) -> bool {
        self.settings.transport.is_network() && self.world.size() > 1
    }

    /// The raw limit between sender and receiver, if they share no memory.
    pub(crate) fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// Returns the raw limit of operations on the receiver's part of `memory`.
    pub(crate) fn baseline<'m, T: Pod>(&'m self, memory: &'m Symmetric<'_, T>) -> Result<Baseline<'m, T>> {
        Ok(match self.line() {
            Some(line) => Baseline::Datagrams(line),
            None => Baseline::Memory(Raw::of(self.world, memory, self.receiver())?),
        })
    }

    /// Returns a row of this job without results.
    pub(crate) fn row(&self, name: &str) -> Row {
        Row { name: name.into(), transport: self.settings.transport.name().into(), ranks: self.world.size(), ..Row::default() }
    }

    /// Prints a row for the program that started the job, if this rank is the sender.
    pub(crate) fn emit(&self, row: &Row) -> Result<()> {
        if !self.is_sender() {
            return Ok(());
        }
        let mut line = serde_json::to_string(row).expect("rows are plain");
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes()).map_err(|error| crate::Error::System("cannot write a result", error))
    }

    /// Executes `act` on the sender while the receiver waits; returns its time. Sender and receiver both call this.
    pub(crate) fn send(&self, act: impl FnOnce() -> Result<()>) -> Result<f64> {
        if self.is_sender() && self.is_receiver() {
            return time(act);
        }
        self.play(act, || Ok(()))
    }

    /// Like [`send`](Self::send), but over UDP the sender first gets the word at `there` as often as [`converse`](Self::converse) exchanges
    /// greetings, so that library and raw limit start in the same state.
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

    /// Executes `act` on the sender and `serve` on the receiver; returns the time of the sender. Sender and receiver both call this.
    pub(crate) fn play(&self, act: impl FnOnce() -> Result<()>, serve: impl FnOnce() -> Result<()>) -> Result<f64> {
        // The receiver has no operation in flight while the sender acts.
        self.signal(self.receiver(), self.sender())?;
        let nanoseconds = if self.is_sender() { time(act)? } else { 0.0 };
        if !self.is_sender() {
            serve()?;
        }
        self.signal(self.sender(), self.receiver())?;
        Ok(nanoseconds)
    }

    /// Like [`play`](Self::play), on a line.
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

    /// Executes `act` on the receiver; the sender continues to the next synchronization. Sender and receiver both call this.
    pub(crate) fn receive(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_receiver() { act() } else { Ok(()) }
    }

    /// Determines the number of operations in a batch, a multiple of `granularity`; `act` executes a number of operations. Sender and receiver
    /// both call this; only the sender executes `act`.
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

    /// Transfers a number from the sender to the receiver.
    pub(crate) fn tell(&self, value: u64) -> Result<u64> {
        let told = self.exchange(value)?;
        Ok(if self.is_sender() { value } else { told })
    }

    /// Synchronizes sender and receiver; earlier writes of each are visible to the other afterwards.
    pub(crate) fn meet(&self) -> Result<()> {
        self.raise()?;
        self.wait()
    }

    /// Exchanges a number between sender and receiver.
    fn exchange(&self, value: u64) -> Result<u64> {
        self.world.put(self.words.at(self.other(), NOTE), &[value])?.wait()?;
        self.meet()?;
        let found = self.words.local().load(NOTE);
        self.meet()?;
        Ok(found)
    }

    /// Makes `to` wait for `from`; `from` continues at once.
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
