//! `barrier`: barriers of all ranks.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::thread::yield_now;

use pelago::zerocopy::IntoBytes;
use pelago::{Rank, Symmetric};

use super::REPETITIONS;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Plain;
use crate::comparison::{Comparison, Side, time};
use crate::error::{Result, check};
use crate::rank::context::{BATCH_NS, RankContext};

/// Number of barriers whose effect is checked.
const CHECKED: u64 = 200;

/// Target time of a batch of barriers if ranks are oversubscribed: a few time slices of the scheduler.
const BATCH_OVERSUBSCRIBED_NS: f64 = 5e6;

/// Words on separate cache lines: one for each round of the raw barrier, and one for the check, next to the port of a socket.
const LINE: usize = 8;
const ROUNDS_MAX: usize = 20;
const CHECK: usize = ROUNDS_MAX * LINE;
const PORT: usize = CHECK + 1;
const WORDS: usize = (ROUNDS_MAX + 1) * LINE;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let memory = stage.world.alloc::<u64>(WORDS)?;
    verify(stage, &memory)?;
    let mut raw = RawBarrier::new(stage, &memory)?;
    let batch_ns = if stage.is_oversubscribed() { BATCH_OVERSUBSCRIBED_NS } else { BATCH_NS };
    let trial_ns = time(|| (0..CHECKED).try_for_each(|_| Ok(stage.world.barrier()?)))?;
    let mut count = [((batch_ns * CHECKED as f64 / trial_ns) as u64).max(10)];
    stage.world.broadcast(Rank::new(0), &mut count)?;
    let comparison = Comparison::run(REPETITIONS, |side| {
        stage.world.barrier()?;
        let nanoseconds = time(|| match side {
            Side::Library => (0..count[0]).try_for_each(|_| Ok(stage.world.barrier()?)),
            Side::Raw => (0..count[0]).try_for_each(|_| raw.meet()),
        })?;
        Ok(nanoseconds / count[0] as f64)
    })?;
    stage.emit(&stage.row("barrier").timed(&comparison, raw.name()))
}

/// Checks that a value put before a barrier is visible after it, and not earlier.
fn verify(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>) -> Result<()> {
    let world = stage.world;
    for value in 1..=CHECKED {
        world.put(memory.at(world.rank().next(world.size()), CHECK), &[value])?;
        world.barrier()?;
        check("a word that was put before a barrier", memory.local().load(CHECK), value)?;
        world.barrier()?;
    }
    Ok(())
}

/// The minimal barrier on this machine: the raw limit.
enum RawBarrier<'m> {
    Memory(MemoryBarrier<'m>),
    Datagrams(DatagramBarrier),
}

impl<'m> RawBarrier<'m> {
    /// Creates the barrier. Collective.
    fn new(stage: &RankContext<'_>, memory: &'m Symmetric<'_, u64>) -> Result<Self> {
        Ok(match stage.is_apart() {
            true => Self::Datagrams(DatagramBarrier::new(stage, memory)?),
            false => Self::Memory(MemoryBarrier::new(stage, memory)?),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Memory(memory) if memory.oversubscribed => "counter",
            Self::Memory(_) => "flags",
            Self::Datagrams(_) => "datagrams",
        }
    }

    fn meet(&mut self) -> Result<()> {
        match self {
            Self::Memory(memory) => {
                memory.meet();
                Ok(())
            }
            Self::Datagrams(datagrams) => datagrams.meet(),
        }
    }
}

/// A barrier in memory that all ranks map.
struct MemoryBarrier<'m> {
    ranks: Vec<Raw<'m, u64>>,
    position: usize,
    oversubscribed: bool,
    epoch: u64,
}

impl<'m> MemoryBarrier<'m> {
    fn new(stage: &RankContext<'_>, memory: &'m Symmetric<'_, u64>) -> Result<Self> {
        let ranks = stage.world.ranks().map(|rank| Raw::of(stage.world, memory, rank)).collect::<Result<_>>()?;
        Ok(Self { ranks, position: stage.world.rank().number() as usize, oversubscribed: stage.is_oversubscribed(), epoch: 0 })
    }

    fn meet(&mut self) {
        self.epoch += 1;
        if self.oversubscribed { self.meet_at_counter() } else { self.exchange_flags() }
    }

    /// Dissemination barrier: log₂ n rounds, in each of which every rank signals one rank and waits for the signal of one.
    fn exchange_flags(&self) {
        let size = self.ranks.len();
        for round in 0..rounds(size) {
            let there = (self.position + (1 << round)) % size;
            self.ranks[there].word(round * LINE).store(self.epoch, Release);
            wait(self.ranks[self.position].word(round * LINE), self.epoch, spin_loop);
        }
    }

    /// Central counter: all ranks increment one word, and the last one releases them by another.
    fn meet_at_counter(&self) {
        let (arrived, released) = (self.ranks[0].word(0), self.ranks[0].word(LINE));
        if arrived.fetch_add(1, AcqRel) + 1 == self.epoch * self.ranks.len() as u64 {
            released.store(self.epoch, Release);
        } else {
            wait(released, self.epoch, yield_now);
        }
    }
}

/// A dissemination barrier by datagrams: log₂ n rounds, in each of which every rank signals one rank and waits for the signal of one.
struct DatagramBarrier {
    socket: Plain,
    /// Ports of the ranks to signal, by round.
    ports: Vec<u16>,
    /// Last received epoch, by round; ranks that are ahead may be one epoch further.
    heard: Vec<u64>,
    epoch: u64,
}

impl DatagramBarrier {
    fn new(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>) -> Result<Self> {
        let (world, socket) = (stage.world, Plain::bind(stage.is_oversubscribed())?);
        memory.local().store(PORT, u64::from(socket.port()?));
        world.barrier()?;
        let size = world.size();
        let rounds = rounds(size as usize);
        let port = |round: usize| {
            let there = (u64::from(world.rank()) + (1 << round)) % u64::from(size);
            Ok(world.get(memory.at(Rank::new(there as u32), PORT))? as u16)
        };
        Ok(Self { socket, ports: (0..rounds).map(port).collect::<Result<_>>()?, heard: vec![0; rounds], epoch: 0 })
    }

    fn meet(&mut self) -> Result<()> {
        self.epoch += 1;
        for (round, &port) in self.ports.iter().enumerate() {
            self.socket.send_to([round as u64, self.epoch].as_bytes(), port)?;
            while self.heard[round] < self.epoch {
                let mut word = [0_u64; 2];
                self.socket.receive(word.as_mut_bytes())?;
                let [round, epoch] = word;
                if let Some(heard) = self.heard.get_mut(round as usize) {
                    *heard = epoch;
                }
            }
        }
        Ok(())
    }
}

fn rounds(ranks: usize) -> usize {
    ranks.next_power_of_two().ilog2() as usize
}

fn wait(word: &AtomicU64, epoch: u64, meanwhile: fn()) {
    while word.load(Acquire) < epoch {
        meanwhile();
    }
}
