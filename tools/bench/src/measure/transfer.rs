//! `put` and `get` from 8 bytes to many megabytes.
//!
//! Words and small blocks are transferred many times between two readings of the clock, to memory that stays in the sender's cache. From
//! [`LIVE_BYTES_MIN`] on, each transfer is timed separately; see `live`.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Release};

use pelago::zerocopy::{FromBytes, IntoBytes};
use pelago::{CellSlice, GlobalPtr, Symmetric, World};

use super::live::{Own, get_live, put_live};
use super::{REPETITIONS, SLOTS};
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::comparison::{Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

/// Bytes from which a transfer is long compared with reading the clock, even from a cache.
const LIVE_BYTES_MIN: u64 = 16 << 10;

/// Words of a cache line.
const LINE_WORDS: u64 = 8;

/// Names of the raw limits if ranks share no memory: a round trip of datagrams for each block, and a stream of datagrams.
pub(super) const ROUND_TRIP: &str = "round_trip";
pub(super) const STREAM: &str = "stream";

/// An odd number whose multiples look random, so that words not yet written differ from written ones.
const PATTERN: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) fn put(stage: &RankContext<'_>) -> Result<()> {
    each_size(stage, "put", ["store", "memcpy"], LIVE_BYTES_MIN, |stage, memory, bytes| match bytes {
        8 => put_words(stage, memory),
        ..LIVE_BYTES_MIN => put_blocks(stage, memory, bytes),
        _ => put_live(stage, memory, bytes, Own::Private),
    })
}

pub(crate) fn get(stage: &RankContext<'_>) -> Result<()> {
    each_size(stage, "get", ["load", "memcpy"], LIVE_BYTES_MIN, |stage, memory, bytes| match bytes {
        8 => get_words(stage, memory),
        ..LIVE_BYTES_MIN => get_blocks(stage, memory, bytes),
        _ => get_live(stage, memory, bytes, Own::Private),
    })
}

/// As `put`, from registered memory, which the sender does not reuse before the put completes: nothing has to be captured.
pub(crate) fn put_registered(stage: &RankContext<'_>) -> Result<()> {
    each_size(stage, "put_registered", ["memcpy"; 2], 0, |stage, memory, bytes| put_live(stage, memory, bytes, Own::Registered))
}

/// As `get`, to such memory.
pub(crate) fn get_registered(stage: &RankContext<'_>) -> Result<()> {
    each_size(stage, "get_registered", ["memcpy"; 2], 0, |stage, memory, bytes| get_live(stage, memory, bytes, Own::Registered))
}

/// Measures each size; `mapped`: names of the raw limits for mapped memory, for a word and for larger blocks; `streamed`: size from which on the raw limit of
/// a network is a stream.
fn each_size(
    stage: &RankContext<'_>,
    name: &str,
    mapped: [&'static str; 2],
    streamed: u64,
    measure: impl Fn(&RankContext<'_>, &Symmetric<'_, u64>, u64) -> Result<Comparison>,
) -> Result<()> {
    for &bytes in stage.settings.sizes() {
        let memory = stage.world.alloc::<u64>((bytes / 8).max(SLOTS) as usize)?;
        if !stage.is_idle() {
            let comparison = measure(stage, &memory, bytes)?;
            let raw_name = match stage.line() {
                None => mapped[usize::from(bytes > 8)],
                Some(_) if bytes < streamed => ROUND_TRIP,
                Some(_) => STREAM,
            };
            stage.emit(&stage.row(name).timed(&comparison, raw_name).moved(bytes))?;
        }
    }
    Ok(())
}

fn put_words(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>) -> Result<Comparison> {
    let here = memory.local();
    let limit = stage.baseline(memory)?;
    by_words(stage, memory, put_each, |values| match &limit {
        Baseline::Memory(raw) => stage.send(|| {
            store_each(raw, values);
            Ok(())
        }),
        Baseline::Datagrams(line) => stage.converse(
            line,
            || values.clone().try_for_each(|value| line.ask(value.as_bytes(), &mut [0; 8])),
            || {
                line.serve(count_of(&values), |value| {
                    let value = word(value);
                    here.store((value % SLOTS) as usize, value);
                    line.send(value.as_bytes())
                })
            },
        ),
    })
}

/// Puts consecutive words to the slots in turn, by the library and raw; `raw` returns its time.
pub(crate) fn by_words(
    stage: &RankContext<'_>,
    memory: &Symmetric<'_, u64>,
    put: impl Fn(&World, GlobalPtr<u64>, Range<u64>) -> Result<()>,
    raw: impl Fn(Range<u64>) -> Result<f64>,
) -> Result<Comparison> {
    let to = memory.at(stage.receiver(), 0);
    let count = stage.calibrate(SLOTS, |count| put(stage.world, to, 0..count))?;
    let mut sent = 0;
    Comparison::run(REPETITIONS, |side| {
        let values = sent..sent + count;
        sent += count;
        let nanoseconds = match side {
            Side::Library => stage.send(|| put(stage.world, to, values))?,
            Side::Raw => raw(values)?,
        };
        stage.receive(|| {
            let here = memory.local();
            (0..SLOTS).try_for_each(|slot| check("a word that was put", here.load(slot as usize), sent - SLOTS + slot))
        })?;
        Ok(nanoseconds / count as f64)
    })
}

#[inline(never)]
fn put_each(world: &World, to: GlobalPtr<u64>, values: Range<u64>) -> Result<()> {
    for value in values {
        world.put(to.add(value % SLOTS), &[value])?.wait()?;
    }
    Ok(())
}

#[inline(never)]
fn store_each(to: &Raw<'_, u64>, values: Range<u64>) {
    for round in values.step_by(SLOTS as usize) {
        for (value, word) in (round..).zip(&to.words()[..SLOTS as usize]) {
            word.store(value, Release);
        }
    }
}

fn get_words(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>) -> Result<Comparison> {
    let (from, here) = (memory.at(stage.receiver(), 0), memory.local());
    let limit = stage.baseline(memory)?;
    let count = stage.calibrate(SLOTS, |count| get_each(stage.world, from, count).map(|sum| _ = black_box(sum)))?;
    let mut round = 0_u64;
    Comparison::run(REPETITIONS, |side| {
        round += 1;
        stage.receive(|| fill(here, round))?;
        let mut sum = 0;
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send(|| get_each(stage.world, from, count).map(|found| sum = found))?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                sum = load_each(raw, count);
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || ask_each(line, count).map(|found| sum = found),
                || line.serve(count, |slot| line.send(here.load((word(slot) % SLOTS) as usize).as_bytes())),
            )?,
        };
        if stage.is_sender() {
            let once = (0..SLOTS).fold(0_u64, |sum, slot| sum.wrapping_add(pattern(round, slot)));
            check("the sum of the words that were got", sum, once.wrapping_mul(count / SLOTS))?;
        }
        Ok(nanoseconds / count as f64)
    })
}

#[inline(never)]
fn get_each(world: &World, from: GlobalPtr<u64>, count: u64) -> Result<u64> {
    let mut sum = 0_u64;
    for index in 0..count {
        sum = sum.wrapping_add(world.get(from.add(index % SLOTS))?);
    }
    Ok(sum)
}

#[inline(never)]
fn load_each(from: &Raw<'_, u64>, count: u64) -> u64 {
    let once = |sum: u64| from.words()[..SLOTS as usize].iter().fold(sum, |sum, word| sum.wrapping_add(word.load(Acquire)));
    (0..count / SLOTS).fold(0, |sum, _| once(sum))
}

fn ask_each(line: &Line, count: u64) -> Result<u64> {
    let mut found = 0_u64;
    (0..count).try_fold(0_u64, |sum, index| {
        line.ask((index % SLOTS).as_bytes(), found.as_mut_bytes())?;
        Ok(sum.wrapping_add(found))
    })
}

/// Puts blocks, each from a different part of a longer source, so that consecutive puts differ.
///
/// The source is not written between two puts: wide loads of data just written by narrow stores would stall, and hide the measured time.
fn put_blocks(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Comparison> {
    let to = memory.at(stage.receiver(), 0);
    let here = memory.local().range(0..(bytes / 8) as usize).cells();
    let limit = stage.baseline(memory)?;
    let source = source(bytes + 8 * SLOTS, 0);
    let first = |value: u64| (value * LINE_WORDS % SLOTS) as usize;
    let block = |value: u64| &source[first(value)..][..(bytes / 8) as usize];
    let library = |values: Range<u64>| values.into_iter().try_for_each(|value| Ok(stage.world.put(to, block(value))?.wait()?));
    let count = stage.calibrate(1, |count| library(0..count))?;
    let mut sent = 0;
    Comparison::run(REPETITIONS, |side| {
        let mut values = sent + 1..sent + 1 + count;
        sent += count;
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send(|| library(values))?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                values.for_each(|value| raw.write(block(value)));
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || values.try_for_each(|value| line.ask(block(value).as_bytes(), &mut [0; 8])),
                || {
                    line.serve(count, |block| {
                        here.write(block);
                        line.send(&[0; 8])
                    })
                },
            )?,
        };
        stage.receive(|| {
            let here = memory.local();
            let mut expected = block(sent).iter().enumerate();
            expected.try_for_each(|(index, word)| check("a block that was put", here.load(index), *word))
        })?;
        Ok(nanoseconds / count as f64)
    })
}

/// Gets the same block many times; its owner changes it between batches.
fn get_blocks(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Comparison> {
    let from = memory.at(stage.receiver(), 0);
    let limit = stage.baseline(memory)?;
    let mut block = source(bytes, 0);
    let library = |block: &mut [u64]| Ok(stage.world.get_into(from, black_box(block))?);
    let count = stage.calibrate(1, |count| (0..count).try_for_each(|_| library(&mut block)))?;
    let mut there = source(bytes, 0);
    let mut round = 0;
    Comparison::run(REPETITIONS, |side| {
        round += 1;
        stage.receive(|| fill(memory.local(), round))?;
        renew(&mut there, round);
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send(|| (0..count).try_for_each(|_| library(&mut block)))?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                (0..count).for_each(|_| raw.read(black_box(&mut block)));
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || (0..count).try_for_each(|_| line.ask(&[0; 8], block.as_mut_bytes())),
                || line.serve(count, |_| line.send(there.as_bytes())),
            )?,
        };
        if stage.is_sender() {
            verify("a block that was got", &block, round)?;
        }
        Ok(nanoseconds / count as f64)
    })
}

pub(super) fn pattern(round: u64, index: u64) -> u64 {
    round.wrapping_mul(PATTERN).wrapping_add(index)
}

pub(super) fn source(bytes: u64, round: u64) -> Vec<u64> {
    (0..bytes / 8).map(|index| pattern(round, index)).collect()
}

pub(super) fn renew(block: &mut [u64], round: u64) {
    block.iter_mut().enumerate().for_each(|(index, word)| *word = pattern(round, index as u64));
}

pub(super) fn fill(here: CellSlice<'_, u64>, round: u64) -> Result<()> {
    (0..here.len()).for_each(|index| here.store(index, pattern(round, index as u64)));
    Ok(())
}

pub(super) fn verify(what: &'static str, block: &[u64], round: u64) -> Result<()> {
    block.iter().enumerate().try_for_each(|(index, word)| check(what, *word, pattern(round, index as u64)))
}

/// Returns the word in a datagram; 0 for a malformed one, which the checks detect.
fn word(bytes: &[u8]) -> u64 {
    u64::read_from_bytes(bytes).unwrap_or_default()
}

fn count_of(values: &Range<u64>) -> u64 {
    values.end - values.start
}
