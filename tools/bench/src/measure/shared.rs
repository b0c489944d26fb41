//! Shared variables and regions: the cost of acquire and release, of a hand-over, with much cached data, and while the home computes; and the
//! fairness. Counterpart: `tools/peers/shared.c`.
//!
//! If memory is mapped, the raw limit of acquire is an uncontended mutex of one word, and that of a hand-over is a word with the rank whose
//! turn it is, with the data copied out and in. Over UDP both are a datagram and its answer.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use pelago::Rank;
use pelago::dsm::{Placement, Region, RegionSettings, Shared};

use super::REPETITIONS;
use super::transfer::ROUND_TRIP;
use crate::Row;
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::comparison::{Comparison, Side, percentile, time};
use crate::error::{Result, check};
use crate::rank::context::{BATCH_APART_NS, BATCH_NS, RankContext};
use crate::results::row::rounded;

/// Default sizes of handed-over data, and of cached data.
const HANDED_BYTES: [u64; 3] = [64, 4 << 10, 64 << 10];
const CACHED_BYTES: [u64; 3] = [1 << 20, 32 << 20, 1 << 30];

/// Duration of the home's computation, and maximum number of acquires timed during it.
const COMPUTATION: Duration = Duration::from_secs(2);
const ACQUIRINGS_MAX: usize = 20_000;

/// Maximum number of round trips of datagrams in a batch: the batch is calibrated on acquires of a kept variable, which are far faster.
const CONVERSATION_MAX: u64 = 20_000;

/// Duration of the contention of all ranks for one variable.
const CONTEST: Duration = Duration::from_secs(1);

/// Polls of a word before the thread yields.
const LOOKS: u32 = 1_000;

pub(crate) fn acquire(stage: &RankContext<'_>) -> Result<()> {
    acquire_placed(stage, "acquire", Placement::Home)?;
    acquire_placed(stage, "acquire_kept", Placement::Migrating)
}

fn acquire_placed(stage: &RankContext<'_>, name: &'static str, placement: Placement) -> Result<()> {
    let memory = stage.world.alloc::<u64>(8)?;
    let mut variable = Shared::<u64>::new(stage.world, stage.receiver(), 0)?;
    variable.place(placement)?;
    if stage.is_idle() {
        return Ok(());
    }
    let limit = stage.baseline(&memory)?;
    let mut acquired = 0;
    let mut count = stage.calibrate(1, |count| {
        acquired += count;
        acquire_each(&mut variable, count)
    })?;
    if let Baseline::Datagrams(_) = limit {
        count = count.min(CONVERSATION_MAX);
    }
    let comparison = Comparison::run(REPETITIONS, |side| {
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => {
                acquired += count;
                stage.send(|| acquire_each(&mut variable, count))?
            }
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| lock_each(raw.word(0), raw.word(1), count))?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || (0..count).try_for_each(|_| line.ask(&[0], &mut [0])),
                || line.serve(count, |question| line.send(question)),
            )?,
        };
        Ok(nanoseconds / count as f64)
    })?;
    // Only the sender knows the number of acquires for the calibration.
    let acquired = stage.tell(acquired)?;
    check("a variable that was acquired", *variable.read()?, acquired)?;
    stage.emit(&stage.row(name).timed(&comparison, limit.name("mutex", ROUND_TRIP)).sized(8))
}

#[inline(never)]
fn acquire_each(variable: &mut Shared<'_, u64>, count: u64) -> Result<()> {
    for _ in 0..count {
        let mut guard = variable.write()?;
        *guard += 1;
        guard.release()?;
    }
    Ok(())
}

#[inline(never)]
fn lock_each(lock: &AtomicU64, data: &AtomicU64, count: u64) -> Result<()> {
    for _ in 0..count {
        while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            spin_loop();
        }
        data.store(data.load(Relaxed) + 1, Relaxed);
        // A real mutex would wake a sleeping waiter here.
        if lock.swap(0, AcqRel) == 2 {
            std::thread::yield_now();
        }
    }
    Ok(())
}

pub(crate) fn hand_over(stage: &RankContext<'_>) -> Result<()> {
    let sizes = if stage.settings.bytes.is_empty() { &HANDED_BYTES[..] } else { &stage.settings.bytes };
    for &bytes in sizes {
        hand_over_bytes(stage, bytes)?;
    }
    Ok(())
}

fn hand_over_bytes(stage: &RankContext<'_>, bytes: u64) -> Result<()> {
    let words = (bytes as usize).div_ceil(size_of::<u64>());
    let (turn, data) = (stage.world.alloc::<u64>(8)?, stage.world.alloc::<u64>(words)?);
    let mut variable = Shared::<[u64]>::new(stage.world, stage.receiver(), vec![0; words])?;
    if stage.is_idle() {
        return Ok(());
    }
    let me = u64::from(stage.is_receiver());
    let raw = match stage.line() {
        None => Some((Raw::of(stage.world, &turn, stage.receiver())?, Raw::of(stage.world, &data, stage.receiver())?)),
        Some(_) => None,
    };
    let mut values = vec![0; words];
    let batch_ns = if stage.is_apart() { BATCH_APART_NS } else { BATCH_NS };
    let mut done = 0;
    // Sender and receiver take turns at the same time; the result is the time of this rank for `count` turns.
    let mut play = |count: u64, side: Side| {
        stage.meet()?;
        let nanoseconds = match (side, &raw, stage.line()) {
            (Side::Library, ..) => time(|| take_turns(&mut variable, me, done, count))?,
            (Side::Raw, Some((turn, data)), _) => time(|| alternate(turn.word(0), data, me, &mut values, count))?,
            (Side::Raw, None, Some(line)) => stage.converse(
                line,
                || (0..count).try_for_each(|_| line.ask(&[0], &mut [0])),
                || line.serve(count, |question| line.send(question)),
            )?,
            (Side::Raw, None, None) => f64::NAN,
        };
        done += if side == Side::Library { count } else { 0 };
        stage.meet()?;
        Ok(nanoseconds / (2 * count) as f64)
    };
    let trial_ns: f64 = play(100, Side::Library)?;
    let count = stage.tell(((batch_ns / trial_ns / 2.0) as u64).max(10))?;
    let comparison = Comparison::run(REPETITIONS, |side| play(count, side))?;
    check("a variable that was handed over", variable.read()?[0], 2 * done)?;
    let raw_name = if raw.is_some() { "turn, memcpy" } else { ROUND_TRIP };
    stage.emit(&stage.row("hand_over").timed(&comparison, raw_name).moved(bytes))
}

/// Writes the whole variable whenever it is this rank's turn, `count` times; each turn is a hand-over.
fn take_turns(variable: &mut Shared<'_, [u64]>, me: u64, done: u64, count: u64) -> Result<()> {
    for turn in done..done + count {
        loop {
            let mut guard = variable.write()?;
            let found = guard[0];
            if found == 2 * turn + me {
                guard.fill(found + 1);
                guard.release()?;
                break;
            }
            guard.release()?;
        }
    }
    Ok(())
}

/// The raw limit of [`take_turns`]: a word contains the rank whose turn it is.
fn alternate(turn: &AtomicU64, data: &Raw<'_, u64>, me: u64, values: &mut [u64], count: u64) -> Result<()> {
    for _ in 0..count {
        let mut looks = 0;
        while turn.load(Acquire) % 2 != me {
            looks += 1;
            if looks > LOOKS { std::thread::yield_now() } else { spin_loop() }
        }
        data.read(values);
        let next = values[0] + 1;
        values.fill(next);
        data.write(values);
        turn.store(turn.load(Relaxed) + 1, Release);
    }
    Ok(())
}

pub(crate) fn cached(stage: &RankContext<'_>) -> Result<()> {
    let sizes = if stage.settings.bytes.is_empty() { &CACHED_BYTES[..] } else { &stage.settings.bytes };
    for &bytes in sizes {
        cached_bytes(stage, bytes)?;
    }
    Ok(())
}

/// Measures acquire of a fully cached variable, and a synchronization of a fully cached region.
fn cached_bytes(stage: &RankContext<'_>, bytes: u64) -> Result<()> {
    let words = (bytes as usize).div_ceil(size_of::<u64>());
    let mut variable = Shared::<u64>::new(stage.world, stage.receiver(), 0)?;
    let mut region = Region::<u64>::new(stage.world, words, RegionSettings::default())?;
    if stage.is_sender() {
        region.write(0..words)?.fill(1);
    }
    region.barrier()?;
    check("a region that is cached", region.read(0..words)?.iter().sum(), words as u64)?;
    stage.world.barrier()?;
    let mut meetings = Vec::new();
    for _ in 0..REPETITIONS {
        const MEETINGS: u64 = 200;
        stage.world.barrier()?;
        meetings.push(time(|| (0..MEETINGS).try_for_each(|_| Ok(region.barrier()?)))? / MEETINGS as f64);
    }
    stage.emit(&of_times(stage, "cached", &mut meetings).sized(bytes).named("region"))?;
    if stage.is_idle() {
        return Ok(());
    }
    let count = stage.calibrate(1, |count| acquire_each(&mut variable, count))?;
    let mut times = Vec::new();
    for _ in 0..REPETITIONS {
        times.push(stage.send(|| acquire_each(&mut variable, count))? / count as f64);
    }
    stage.emit(&of_times(stage, "cached", &mut times).sized(bytes).named("acquire"))
}

pub(crate) fn computing(stage: &RankContext<'_>) -> Result<()> {
    let mut variable = Shared::<[u64]>::new(stage.world, stage.receiver(), vec![0; 8])?;
    let end = stage.world.alloc::<u64>(8)?;
    if stage.is_idle() {
        return Ok(());
    }
    for (what, computes) in [("idle", false), ("computes", true)] {
        let mut times = Vec::new();
        stage.meet()?;
        let began = Instant::now();
        if stage.is_sender() {
            while began.elapsed() < COMPUTATION - COMPUTATION / 10 && times.len() < ACQUIRINGS_MAX {
                let before = Instant::now();
                let mut guard = variable.write()?;
                guard[0] += 1;
                guard.release()?;
                times.push(before.elapsed().as_secs_f64() * 1e9);
            }
            stage.world.put(end.at(stage.receiver(), 0), &[1])?.wait()?;
        } else if computes {
            // Computes without calls of the library.
            while began.elapsed() < COMPUTATION {
                spin_loop();
            }
            end.local().store(0, 0);
        } else {
            stage.world.wait_until(end.local(), 0, |ended| ended != 0)?;
            end.local().store(0, 0);
        }
        let p99 = percentile(&mut times, 99);
        let row = of_times(stage, "acquire_while_home_computes", &mut times).named(what);
        stage.emit(&Row { p99_ns: Some(rounded(p99)), ..row })?;
    }
    Ok(())
}

pub(crate) fn fairness(stage: &RankContext<'_>) -> Result<()> {
    let world = stage.world;
    let mut variable = Shared::<u64>::new(world, Rank::new(0), 0)?;
    let counts = world.alloc::<u64>(1)?;
    world.barrier()?;
    let (start, mut mine) = (Instant::now(), 0);
    while start.elapsed() < CONTEST {
        let mut guard = variable.write()?;
        *guard += 1;
        guard.release()?;
        mine += 1;
    }
    counts.local().store(0, mine);
    world.barrier()?;
    let mut all = Vec::new();
    for rank in world.ranks() {
        all.push(world.get(counts.at(rank, 0))?);
    }
    let sum: u64 = all.iter().sum();
    check("a variable that all ranks count up", *variable.read()?, sum)?;
    let (least, most) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
    let row = Row {
        bytes: Some(size_of::<u64>() as u64),
        repetitions: Some(sum),
        median_ns: Some(rounded(CONTEST.as_nanos() as f64 / sum as f64)),
        raw_name: Some("most/least".into()),
        ratio: Some(rounded(most as f64 / least as f64)),
        ..stage.row("fairness")
    };
    stage.emit(&row)
}

fn of_times(stage: &RankContext<'_>, name: &str, times: &mut [f64]) -> Row {
    Row {
        repetitions: Some(times.len() as u64),
        median_ns: Some(rounded(percentile(times, 50))),
        min_ns: Some(rounded(percentile(times, 0))),
        ..stage.row(name)
    }
}

impl Row {
    /// Returns the row with a label that distinguishes it from rows of the same name.
    fn named(self, what: &str) -> Self {
        let plane = self.bytes.map_or(what.into(), |bytes| format!("{what} {}", crate::results::table::bytes_text(bytes)));
        Self { plane: Some(plane), ..self }
    }
}
