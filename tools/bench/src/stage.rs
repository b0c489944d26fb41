//! Who sends and who receives, and how they take turns without the library's waiting.
//!
//! Rank 0 sends to rank 1; alone, to itself. The others wait inside the library, asleep. Sender and receiver wait for each other
//! outside it: a rank that sleeps in the library is woken by every put, which is not what is measured here.

use core::hint::spin_loop;
use std::cell::Cell;
use std::io::Write;
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use pelago::{Rank, Symmetric, World};

use crate::duel::time;
use crate::error::Result;
use crate::measure::memory::Usage;
use crate::{Arguments, Row};

/// Looks at the other's flag before naps begin: some ten microseconds.
const LOOKS: u32 = 2_000;

/// Short beside what is measured, long beside what a wake-up costs the other.
const NAP: Duration = Duration::from_micros(50);

/// Time that a batch of operations should take: long beside reading the clock, short beside a turn of the scheduler.
pub(crate) const BATCH_NS: f64 = 250e3;

/// Words of the stage: flag and note, each on a cache line of its own.
const FLAG: usize = 0;
const NOTE: usize = 8;

/// One rank's part in the measurements.
pub(crate) struct Stage<'w> {
    pub(crate) world: &'w World,
    pub(crate) arguments: &'w Arguments,
    /// Memory of this process before it became a rank.
    pub(crate) usage_before: Usage,
    /// Its memory when it was one, after a barrier.
    pub(crate) usage: Usage,
    words: Symmetric<'w, u64>,
    step: Cell<u64>,
}

impl<'w> Stage<'w> {
    /// Collective.
    pub(crate) fn new(world: &'w World, arguments: &'w Arguments, usage_before: Usage, usage: Usage) -> Result<Self> {
        Ok(Self { world, arguments, usage_before, usage, words: world.alloc(NOTE + 8)?, step: Cell::new(0) })
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

    /// Whether ranks share processors.
    pub(crate) fn is_crowded(&self) -> bool {
        self.world.size() as usize > available_parallelism().map_or(1, usize::from)
    }

    /// A row of this job, without results.
    pub(crate) fn row(&self, name: &str) -> Row {
        Row { name: name.into(), transport: self.arguments.transport.name().into(), ranks: self.world.size(), ..Row::default() }
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
        self.meet()?;
        let nanoseconds = if self.is_sender() { time(act)? } else { 0.0 };
        self.meet()?;
        Ok(nanoseconds)
    }

    /// Lets the receiver act while the sender goes on to the next meeting. For both of them to call.
    pub(crate) fn receive(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_receiver() { act() } else { Ok(()) }
    }

    /// Finds how many operations fill a batch, a multiple of `granularity`; `act` does so many. For both to call; only the sender acts.
    pub(crate) fn calibrate(&self, granularity: u64, mut act: impl FnMut(u64) -> Result<()>) -> Result<u64> {
        let mut count = granularity;
        if self.is_sender() {
            loop {
                let nanoseconds = time(|| act(count))?;
                if nanoseconds >= BATCH_NS / 8.0 {
                    let wanted = (count as f64 * BATCH_NS / nanoseconds) as u64;
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
        if self.is_sender() {
            self.world.put(self.words.at(self.receiver(), NOTE), &[value])?.wait()?;
        }
        self.meet()?;
        let told = if self.is_receiver() { self.words.local().load(NOTE) } else { value };
        self.meet()?;
        Ok(told)
    }

    /// Sender and receiver meet; what each wrote before is visible to the other after.
    pub(crate) fn meet(&self) -> Result<()> {
        let step = self.step.get() + 1;
        self.step.set(step);
        let other = if self.is_sender() { self.receiver() } else { self.sender() };
        self.world.put(self.words.at(other, FLAG), &[step])?.wait()?;
        let here = self.words.local();
        let mut looks = 0;
        while here.load(FLAG) < step {
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
}
