//! `put` and `get` of 8 bytes to many megabytes.
//!
//! Words and small blocks are moved many times between two looks at the clock, to memory that stays in the sender's cache. From
//! [`LIVE_BYTES_MIN`] on each transfer is timed by itself, and the receiver reads all of it before the next: so the data crosses
//! between the processors, as it does in a program that uses it.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Release};

use pelago::{CellSlice, GlobalPtr, Symmetric, World};

use super::{REPETITIONS, SLOTS};
use crate::duel::{Duel, Side};
use crate::error::{Result, check};
use crate::raw::Raw;
use crate::stage::Stage;

/// From here on a transfer is long beside reading the clock, even from a cache.
const LIVE_BYTES_MIN: u64 = 16 << 10;

/// Repetitions of large transfers: as many as move this much, within bounds.
const LIVE_BYTES: u64 = 256 << 20;
const LIVE_REPETITIONS_MIN: u64 = 15;
const LIVE_REPETITIONS_MAX: u64 = 501;

/// Words of a cache line.
const LINE_WORDS: u64 = 8;

/// An odd number whose multiples look random: words that were not written yet differ from those that were.
const PATTERN: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) fn put(stage: &Stage<'_>) -> Result<()> {
    each_size(stage, "put", |stage, memory, bytes| match bytes {
        8 => Ok((put_words(stage, memory)?, "store")),
        ..LIVE_BYTES_MIN => Ok((put_blocks(stage, memory, bytes)?, "memcpy")),
        _ => Ok((put_live(stage, memory, bytes)?, "memcpy")),
    })
}

pub(crate) fn get(stage: &Stage<'_>) -> Result<()> {
    each_size(stage, "get", |stage, memory, bytes| match bytes {
        8 => Ok((get_words(stage, memory)?, "load")),
        ..LIVE_BYTES_MIN => Ok((get_blocks(stage, memory, bytes)?, "memcpy")),
        _ => Ok((get_live(stage, memory, bytes)?, "memcpy")),
    })
}

fn each_size(
    stage: &Stage<'_>,
    name: &str,
    measure: impl Fn(&Stage<'_>, &Symmetric<'_, u64>, u64) -> Result<(Duel, &'static str)>,
) -> Result<()> {
    for &bytes in stage.arguments.sizes() {
        let memory = stage.world.alloc::<u64>((bytes / 8).max(SLOTS) as usize)?;
        if !stage.is_idle() {
            let (duel, raw_name) = measure(stage, &memory, bytes)?;
            stage.emit(&stage.row(name).timed(&duel, raw_name).moved(bytes))?;
        }
    }
    Ok(())
}

fn put_words(stage: &Stage<'_>, memory: &Symmetric<'_, u64>) -> Result<Duel> {
    by_words(stage, memory, put_each, store_each)
}

/// Words put one after the other, by the library and raw: each function writes so many from a first value on, round the slots.
pub(crate) fn by_words(
    stage: &Stage<'_>,
    memory: &Symmetric<'_, u64>,
    put: impl Fn(&World, GlobalPtr<u64>, u64, u64) -> Result<()>,
    store: impl Fn(&Raw<'_, u64>, u64, u64),
) -> Result<Duel> {
    let to = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let count = stage.calibrate(SLOTS, |count| put(stage.world, to, 0, count))?;
    let mut sent = 0;
    Duel::fight(REPETITIONS, |side| {
        let first = sent;
        sent += count;
        let nanoseconds = stage.send(|| match side {
            Side::Library => put(stage.world, to, first, count),
            Side::Raw => {
                store(&raw, first, count);
                Ok(())
            }
        })?;
        stage.receive(|| {
            let here = memory.local();
            (0..SLOTS).try_for_each(|slot| check("a word that was put", here.load(slot as usize), sent - SLOTS + slot))
        })?;
        Ok(nanoseconds / count as f64)
    })
}

#[inline(never)]
fn put_each(world: &World, to: GlobalPtr<u64>, first: u64, count: u64) -> Result<()> {
    for value in first..first + count {
        world.put(to.add(value % SLOTS), &[value])?.wait()?;
    }
    Ok(())
}

#[inline(never)]
fn store_each(to: &Raw<'_, u64>, first: u64, count: u64) {
    for round in (first..first + count).step_by(SLOTS as usize) {
        for (value, word) in (round..).zip(&to.words()[..SLOTS as usize]) {
            word.store(value, Release);
        }
    }
}

fn get_words(stage: &Stage<'_>, memory: &Symmetric<'_, u64>) -> Result<Duel> {
    let from = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let count = stage.calibrate(SLOTS, |count| get_each(stage.world, from, count).map(|sum| _ = black_box(sum)))?;
    let mut round = 0_u64;
    Duel::fight(REPETITIONS, |side| {
        round += 1;
        stage.receive(|| fill(memory.local(), round))?;
        let mut sum = 0;
        let nanoseconds = stage.send(|| {
            sum = match side {
                Side::Library => get_each(stage.world, from, count)?,
                Side::Raw => load_each(&raw, count),
            };
            Ok(())
        })?;
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

/// Another part of a longer source each time, so that neighbours in time differ.
///
/// Nothing is written to the source between two puts: wide loads of what narrow stores have just written would stall, and
/// hide what is measured.
fn put_blocks(stage: &Stage<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Duel> {
    let to = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let source = source(bytes + 8 * SLOTS, 0);
    let first = |value: u64| (value * LINE_WORDS % SLOTS) as usize;
    let block = |value: u64| &source[first(value)..][..(bytes / 8) as usize];
    let library = |values: Range<u64>| values.into_iter().try_for_each(|value| Ok(stage.world.put(to, block(value))?.wait()?));
    let count = stage.calibrate(1, |count| library(0..count))?;
    let mut sent = 0;
    Duel::fight(REPETITIONS, |side| {
        let values = sent + 1..sent + 1 + count;
        sent += count;
        let nanoseconds = stage.send(|| match side {
            Side::Library => library(values),
            Side::Raw => {
                values.into_iter().for_each(|value| raw.write(block(value)));
                Ok(())
            }
        })?;
        stage.receive(|| {
            let here = memory.local();
            let mut expected = block(sent).iter().enumerate();
            expected.try_for_each(|(index, word)| check("a block that was put", here.load(index), *word))
        })?;
        Ok(nanoseconds / count as f64)
    })
}

/// The same block many times; its owner changes it between batches.
fn get_blocks(stage: &Stage<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Duel> {
    let from = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let mut block = source(bytes, 0);
    let count =
        stage.calibrate(1, |count| (0..count).try_for_each(|_| Ok(stage.world.get_into(from, black_box(&mut block))?)))?;
    let mut round = 0;
    Duel::fight(REPETITIONS, |side| {
        round += 1;
        stage.receive(|| fill(memory.local(), round))?;
        let nanoseconds = stage.send(|| {
            for _ in 0..count {
                match side {
                    Side::Library => stage.world.get_into(from, black_box(&mut block))?,
                    Side::Raw => raw.read(black_box(&mut block)),
                }
            }
            Ok(())
        })?;
        if stage.is_sender() {
            verify("a block that was got", &block, round)?;
        }
        Ok(nanoseconds / count as f64)
    })
}

/// One block at a time: the sender writes it anew, the receiver reads all of it.
fn put_live(stage: &Stage<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Duel> {
    let to = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let mut block = source(bytes, 0);
    let mut round = 0;
    Duel::fight(live_repetitions(bytes), |side| {
        round += 1;
        if stage.is_sender() {
            renew(&mut block, round);
        }
        let nanoseconds = stage.send(|| match side {
            Side::Library => Ok(stage.world.put(to, &block)?.wait()?),
            Side::Raw => {
                raw.write(&block);
                Ok(())
            }
        })?;
        stage.receive(|| {
            let here = memory.local();
            (0..block.len()).try_for_each(|index| check("a block that was put", here.load(index), pattern(round, index as u64)))
        })?;
        Ok(nanoseconds)
    })
}

/// One block at a time: its owner writes it anew, the sender reads all of it.
fn get_live(stage: &Stage<'_>, memory: &Symmetric<'_, u64>, bytes: u64) -> Result<Duel> {
    let from = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, memory, stage.receiver())?;
    let mut block = source(bytes, 0);
    let mut round = 0;
    Duel::fight(live_repetitions(bytes), |side| {
        round += 1;
        stage.receive(|| fill(memory.local(), round))?;
        let nanoseconds = stage.send(|| match side {
            Side::Library => Ok(stage.world.get_into(from, &mut block)?),
            Side::Raw => {
                raw.read(&mut block);
                Ok(())
            }
        })?;
        if stage.is_sender() {
            verify("a block that was got", &block, round)?;
        }
        Ok(nanoseconds)
    })
}

fn live_repetitions(bytes: u64) -> u64 {
    (LIVE_BYTES / bytes).clamp(LIVE_REPETITIONS_MIN, LIVE_REPETITIONS_MAX)
}

fn pattern(round: u64, index: u64) -> u64 {
    round.wrapping_mul(PATTERN).wrapping_add(index)
}

fn source(bytes: u64, round: u64) -> Vec<u64> {
    (0..bytes / 8).map(|index| pattern(round, index)).collect()
}

fn renew(block: &mut [u64], round: u64) {
    block.iter_mut().enumerate().for_each(|(index, word)| *word = pattern(round, index as u64));
}

fn fill(here: CellSlice<'_, u64>, round: u64) -> Result<()> {
    (0..here.len()).for_each(|index| here.store(index, pattern(round, index as u64)));
    Ok(())
}

fn verify(what: &'static str, block: &[u64], round: u64) -> Result<()> {
    block.iter().enumerate().try_for_each(|(index, word)| check(what, *word, pattern(round, index as u64)))
}
