//! `visible`: ping-pong of puts between two waiting ranks; the result is the one-way time.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::yield_now;

use pelago::zerocopy::IntoBytes;
use pelago::{CellSlice, GlobalPtr, World};

use super::transfer::ROUND_TRIP;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::comparison::{Comparison, Side, time};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

/// Round trips in one batch, which takes 0.1 to 0.2 milliseconds.
const ROUND_TRIPS: u64 = 600;

const REPETITIONS: u64 = 101;

/// Round trips before the clock starts, as one of the two ranks may arrive later.
const RUN_UP: u64 = 100;

/// Polls of a word before the raw side yields, so that it also ends on a machine with one free core.
const LOOKS: u32 = 100_000;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let memory = stage.world.alloc::<u64>(8)?;
    if stage.is_idle() {
        return Ok(());
    }
    let other = if stage.is_sender() { stage.receiver() } else { stage.sender() };
    let (here, there) = (memory.local(), memory.at(other, 0));
    let raw = match stage.line() {
        Some(line) => RawGame::Datagrams(line),
        None => RawGame::Memory {
            here: Raw::of(stage.world, &memory, stage.world.rank())?,
            there: Raw::of(stage.world, &memory, other)?,
        },
    };
    let mut values = 1..1;
    let comparison = Comparison::run(REPETITIONS, |side| {
        values = values.end..values.end + ROUND_TRIPS;
        let values = values.clone();
        let play = |values: Range<u64>| match (side, stage.is_sender()) {
            (Side::Library, true) => serve(stage.world, here, there, values),
            (Side::Library, false) => answer(stage.world, here, there, values),
            (Side::Raw, is_sender) => raw.play(is_sender, values),
        };
        let timed_from = values.start + RUN_UP;
        stage.meet()?;
        play(values.start..timed_from)?;
        let nanoseconds = time(|| play(timed_from..values.end))?;
        Ok(nanoseconds / (2 * (ROUND_TRIPS - RUN_UP)) as f64)
    })?;
    let raw_name = if stage.is_apart() { ROUND_TRIP } else { "cache_line" };
    stage.emit(&stage.row("visible").timed(&comparison, raw_name).sized(8))
}

/// The minimal signal to another rank and its reception: the raw limit.
enum RawGame<'m> {
    Memory { here: Raw<'m, u64>, there: Raw<'m, u64> },
    Datagrams(&'m Line),
}

impl RawGame<'_> {
    fn play(&self, is_sender: bool, mut values: Range<u64>) -> Result<()> {
        match (self, is_sender) {
            (Self::Memory { here, there }, true) => raw_serve(here.word(0), there.word(0), values),
            (Self::Memory { here, there }, false) => raw_answer(here.word(0), there.word(0), values),
            (Self::Datagrams(line), true) => {
                return values.try_for_each(|value| {
                    let mut found = 0_u64;
                    line.ask(value.as_bytes(), found.as_mut_bytes())?;
                    check("a word that came back", found, value)
                });
            }
            (Self::Datagrams(line), false) => return line.serve(values.end - values.start, |value| line.send(value)),
        }
        Ok(())
    }
}

#[inline(never)]
fn serve(world: &World, here: CellSlice<'_, u64>, there: GlobalPtr<u64>, values: Range<u64>) -> Result<()> {
    for value in values {
        world.put(there, &[value])?;
        // The same value has to come back: with a wrong value the wait does not end.
        world.wait_until(here, 0, |found| found == value)?;
    }
    Ok(())
}

#[inline(never)]
fn answer(world: &World, here: CellSlice<'_, u64>, there: GlobalPtr<u64>, values: Range<u64>) -> Result<()> {
    for value in values {
        world.wait_until(here, 0, |found| found == value)?;
        world.put(there, &[value])?;
    }
    Ok(())
}

#[inline(never)]
fn raw_serve(here: &AtomicU64, there: &AtomicU64, values: Range<u64>) {
    for value in values {
        there.store(value, Release);
        raw_wait(here, value);
    }
}

#[inline(never)]
fn raw_answer(here: &AtomicU64, there: &AtomicU64, values: Range<u64>) {
    for value in values {
        raw_wait(here, value);
        there.store(value, Release);
    }
}

#[inline(always)]
fn raw_wait(here: &AtomicU64, value: u64) {
    let mut looks = 0;
    while here.load(Acquire) != value {
        looks += 1;
        if looks > LOOKS {
            yield_now();
        }
        spin_loop();
    }
}
