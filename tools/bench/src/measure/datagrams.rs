//! `datagrams`: what a message costs the cores of its sender and of its receiver, each timed at its own end, and what passes between. The library
//! alone, for a description of the machine, in the terms of LogP (Culler et al., *Assessing Fast Network Interfaces*, IEEE Micro 1996): overheads of
//! sender and receiver, latency, and what a byte costs.
//!
//! Nothing here needs a way between the ranks but the library's: they may be on two hosts.

use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pelago::{Event, Symmetric};

use super::transfer::{pattern, renew, source};
use crate::Row;
use crate::comparison::percentile;
use crate::error::{Error, Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Sizes of messages, up to what one message carries.
const BYTES: [u64; 5] = [8, 1 << 10, 4 << 10, 16 << 10, 48 << 10];

const REPETITIONS: u64 = 301;

/// Repetitions before those that count: windows grow, pages are touched.
const RUN_UP: u64 = 40;

/// Puts that join a datagram which waits, and are timed together: they fit one on any path.
const JOINED: u64 = 32;

/// Words of the flags: what the receiver is ready for, a number of it, and a word that goes to and fro.
const READY: usize = 0;
const TOLD: usize = 8;
const BALL: usize = 16;

/// A put whose datagrams are counted.
const LONG_BYTES: u64 = 16 << 20;

/// For how long the target computes, when the asker begins, and how often it asks.
const COMPUTATION: Duration = Duration::from_millis(40);
const BEFORE_ASKING: Duration = Duration::from_millis(8);
const QUESTIONS: usize = 201;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let flags = stage.world.alloc::<u64>(BALL + 8)?;
    let blocks = stage.world.alloc::<u64>((LONG_BYTES / 8) as usize)?;
    if stage.is_idle() {
        return Ok(());
    }
    let ends = Ends { stage, flags, blocks };
    let mut ready = 0;
    for bytes in BYTES {
        ends.message(bytes, &mut ready)?;
    }
    ends.post()?;
    ends.one_way()?;
    ends.get("datagram_get", || Ok(()))?;
    ends.get("datagram_get_computing", || {
        let start = Instant::now();
        while start.elapsed() < COMPUTATION {
            black_box(&start);
        }
        Ok(())
    })?;
    ends.longest()
}

/// Sender and receiver.
struct Ends<'w> {
    stage: &'w RankContext<'w>,
    flags: Symmetric<'w, u64>,
    blocks: Symmetric<'w, u64>,
}

impl Ends<'_> {
    fn emit(&self, name: &str, bytes: u64, mut times: Vec<f64>) -> Result<()> {
        let (repetitions, median_ns) = (Some(times.len() as u64), Some(rounded(percentile(&mut times, 50))));
        let row =
            Row { repetitions, median_ns, min_ns: times.first().copied().map(rounded), ..self.stage.row(name).sized(bytes) };
        self.stage.emit(&row)
    }

    /// The time of a put that leaves at once, and that of the call in which the receiver takes it in.
    fn message(&self, bytes: u64, ready: &mut u64) -> Result<()> {
        let (world, here) = (self.stage.world, self.flags.local());
        let mut block = source(bytes, 0);
        let (words, clock) = (block.len(), clock_ns());
        let mut times = Vec::new();
        for repetition in 0..RUN_UP + REPETITIONS {
            *ready += 1;
            let round = *ready;
            let nanoseconds = if self.stage.is_sender() {
                renew(&mut block, round);
                world.wait_until(here, READY, |found| found == round)?;
                let start = Instant::now();
                world.put(self.blocks.at(self.stage.receiver(), 0), &block)?;
                let nanoseconds = nanoseconds_since(start);
                world.quiet()?;
                nanoseconds
            } else {
                self.take_in(round, words)?
            };
            if repetition >= RUN_UP {
                times.push((nanoseconds - clock).max(0.0));
            }
        }
        // The receiver's median travels to the sender, which reports.
        let told = if self.stage.is_receiver() {
            world.put(self.flags.at(self.stage.sender(), TOLD), &[percentile(&mut times, 50).to_bits()])?.wait()?;
            None
        } else {
            Some(times)
        };
        self.stage.meet()?;
        if let Some(times) = told {
            self.emit("datagram_send", bytes, times)?;
            self.emit("datagram_receive", bytes, vec![f64::from_bits(here.load(TOLD))])?;
        }
        self.stage.meet()
    }

    /// Says that a block may come, looks until it is there, and returns the time of the looks that found something.
    fn take_in(&self, round: u64, words: usize) -> Result<f64> {
        let (world, memory) = (self.stage.world, self.blocks.local());
        world.put(self.flags.at(self.stage.sender(), READY), &[round])?;
        let (mut busy, last) = (0.0, words - 1);
        while memory.load(last) != pattern(round, last as u64) {
            let start = Instant::now();
            if world.progress() {
                busy += nanoseconds_since(start);
            }
            if let Some(fault) = world.fault() {
                return Err(pelago::Error::from(fault).into());
            }
        }
        (0..words).try_for_each(|index| check("a block that was put", memory.load(index), pattern(round, index as u64)))?;
        Ok(busy)
    }

    /// The time of a put that joins a datagram which waits.
    fn post(&self) -> Result<()> {
        let (world, to) = (self.stage.world, self.blocks.at(self.stage.receiver(), 0));
        let mut times = Vec::new();
        for _ in 0..REPETITIONS {
            let mut nanoseconds = 0.0;
            self.stage.send(|| {
                world.put(to, &[0])?;
                let start = Instant::now();
                (1..=JOINED).try_for_each(|index| world.put(to.add(index), &[index]).map(drop))?;
                nanoseconds = nanoseconds_since(start);
                Ok(world.quiet()?)
            })?;
            times.push((nanoseconds - clock_ns()).max(0.0) / JOINED as f64);
        }
        self.stage.receive(|| check("the last word that was put", self.blocks.local().load(JOINED as usize), JOINED))?;
        self.emit("datagram_post", 8, times)
    }

    /// Half of the time of a word to and fro.
    fn one_way(&self) -> Result<()> {
        let (world, here) = (self.stage.world, self.flags.local());
        let other = if self.stage.is_sender() { self.stage.receiver() } else { self.stage.sender() };
        let mut times = Vec::new();
        self.stage.meet()?;
        for value in 1..=RUN_UP + 4 * REPETITIONS {
            let start = Instant::now();
            if self.stage.is_sender() {
                world.put(self.flags.at(other, BALL), &[value])?;
                world.wait_until(here, BALL, |found| found == value)?;
            } else {
                world.wait_until(here, BALL, |found| found == value)?;
                world.put(self.flags.at(other, BALL), &[value])?;
            }
            if value > RUN_UP {
                times.push(nanoseconds_since(start) / 2.0);
            }
        }
        self.stage.meet()?;
        self.emit("datagram_one_way", 8, times)
    }

    /// The time of a get of a word while the target does this.
    fn get(&self, name: &str, target: impl Fn() -> Result<()>) -> Result<()> {
        let (world, from) = (self.stage.world, self.blocks.at(self.stage.receiver(), 1));
        let mut times = Vec::new();
        let ask = || {
            sleep(BEFORE_ASKING);
            let begin = Instant::now();
            while times.len() < QUESTIONS && begin.elapsed() < COMPUTATION - 2 * BEFORE_ASKING {
                let start = Instant::now();
                let found = world.get(from)?;
                times.push(nanoseconds_since(start));
                check("a word that was got", found, 1)?;
            }
            Ok(())
        };
        self.stage.play(ask, target)?;
        self.emit(name, 8, times)
    }

    /// How long the longest datagram is, as far as a long put shows it.
    fn longest(&self) -> Result<()> {
        let world = self.stage.world;
        let block = source(LONG_BYTES, 1);
        let sent = || world.counters().of(Event::DatagramSent);
        let mut datagrams = 0;
        self.stage.send(|| {
            let before = sent();
            world.put(self.blocks.at(self.stage.receiver(), 0), &block)?.wait()?;
            datagrams = sent() - before;
            Ok(())
        })?;
        self.stage.receive(|| {
            let last = block.len() - 1;
            check("the last word of a long put", self.blocks.local().load(last), block[last])
        })?;
        if self.stage.is_sender() && datagrams == 0 {
            return Err(Error::System("a long put", std::io::Error::other("it was sent without datagrams")));
        }
        self.stage.emit(&self.stage.row("datagram_longest").sized(LONG_BYTES.checked_div(datagrams).unwrap_or(0)))
    }
}

fn nanoseconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9
}

/// What reading the clock twice takes.
fn clock_ns() -> f64 {
    let mut times: Vec<f64> = (0..101).map(|_| nanoseconds_since(Instant::now())).collect();
    percentile(&mut times, 50)
}
