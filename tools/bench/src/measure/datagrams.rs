//! `datagrams`: the cost of a message for the cores of sender and receiver, each timed locally, and the latency between them. Measures the
//! library alone, for a description of the machine, in terms of LogP (Culler et al., *Assessing Fast Network Interfaces*, IEEE Micro 1996):
//! overheads of sender and receiver, latency, and cost per byte.
//!
//! The ranks communicate by the library only, so that they may be on two hosts.

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

/// Message sizes, up to the payload of one message.
const BYTES: [u64; 5] = [8, 1 << 10, 4 << 10, 16 << 10, 48 << 10];

const REPETITIONS: u64 = 301;

/// Warm-up repetitions: windows grow, and pages are touched.
const RUN_UP: u64 = 40;

/// Puts that join a pending datagram, timed together; they fit one datagram on any path.
const JOINED: u64 = 32;

/// Offsets of the flags: the round for which the receiver is ready, a value from the receiver, and the word of the ping-pong.
const READY: usize = 0;
const TOLD: usize = 8;
const BALL: usize = 16;

/// Bytes of a put whose datagrams are counted.
const LONG_BYTES: u64 = 16 << 20;

/// Duration of a computation of the target, delay before the first get, and number of gets.
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

    /// Measures a put that is sent at once, and the call in which the receiver processes it.
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
        // The receiver sends its median to the sender, which reports it.
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

    /// Signals readiness for a block, polls until the block has arrived, and returns the time of the polls that made progress.
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

    /// Measures a put that joins a pending datagram.
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

    /// Measures half of a round trip of a word.
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

    /// Measures the get of a word while the target executes `target`.
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

    /// Derives the size of the longest datagram from the number of datagrams of a long put.
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

/// Returns the time of two readings of the clock.
fn clock_ns() -> f64 {
    let mut times: Vec<f64> = (0..101).map(|_| nanoseconds_since(Instant::now())).collect();
    percentile(&mut times, 50)
}
