//! `fetch_add` and `compare_swap` on a word of another rank, which nobody else touches meanwhile.

use std::sync::atomic::Ordering::SeqCst;

use pelago::{GlobalPtr, World};

use super::REPETITIONS;
use crate::duel::{Duel, Side};
use crate::error::{Result, check};
use crate::raw::Raw;
use crate::stage::Stage;

pub(crate) fn fetch_add(stage: &Stage<'_>) -> Result<()> {
    measure(stage, "fetch_add", "atomic", add_each, raw_add_each)
}

pub(crate) fn compare_swap(stage: &Stage<'_>) -> Result<()> {
    measure(stage, "compare_swap", "atomic", swap_each, raw_swap_each)
}

/// Counts a word up. Either side begins where the other ended, and returns how far the word was from what it should have been.
fn measure(
    stage: &Stage<'_>,
    name: &str,
    raw_name: &str,
    library: fn(&World, GlobalPtr<u64>, u64, u64) -> Result<u64>,
    raw: fn(&Raw<'_, u64>, u64, u64) -> u64,
) -> Result<()> {
    let memory = stage.world.alloc::<u64>(8)?;
    if stage.is_idle() {
        return Ok(());
    }
    let at = memory.at(stage.receiver(), 0);
    let word = Raw::of(stage.world, &memory, stage.receiver())?;
    let mut counted = 0;
    let mut calibrated = 0;
    let count = stage.calibrate(1, |count| {
        calibrated += count;
        library(stage.world, at, calibrated - count, count).map(drop)
    })?;
    // Only the sender knows how far it counted while it calibrated.
    let beginning = stage.tell(calibrated)?;
    let duel = Duel::fight(REPETITIONS, |side| {
        let first = beginning + counted;
        counted += count;
        let mut differences = 0;
        let nanoseconds = stage.send(|| {
            differences = match side {
                Side::Library => library(stage.world, at, first, count)?,
                Side::Raw => raw(&word, first, count),
            };
            Ok(())
        })?;
        check("a word that was fetched", differences, 0)?;
        stage.receive(|| check("the word that was counted up", memory.local().load(0), first + count))?;
        Ok(nanoseconds / count as f64)
    })?;
    stage.emit(&stage.row(name).timed(&duel, raw_name).sized(8))
}

#[inline(never)]
fn add_each(world: &World, at: GlobalPtr<u64>, first: u64, count: u64) -> Result<u64> {
    let mut differences = 0;
    for value in first..first + count {
        differences |= world.fetch_add(at, 1)?.wait()? ^ value;
    }
    Ok(differences)
}

#[inline(never)]
fn raw_add_each(memory: &Raw<'_, u64>, first: u64, count: u64) -> u64 {
    let word = memory.word(0);
    (first..first + count).fold(0, |differences, value| differences | word.fetch_add(1, SeqCst) ^ value)
}

#[inline(never)]
fn swap_each(world: &World, at: GlobalPtr<u64>, first: u64, count: u64) -> Result<u64> {
    let mut differences = 0;
    for value in first..first + count {
        differences |= world.compare_swap(at, value, value + 1)?.wait()? ^ value;
    }
    Ok(differences)
}

#[inline(never)]
fn raw_swap_each(memory: &Raw<'_, u64>, first: u64, count: u64) -> u64 {
    let word = memory.word(0);
    (first..first + count).fold(0, |differences, value| {
        let found = word.compare_exchange(value, value + 1, SeqCst, SeqCst).unwrap_or_else(|found| found);
        differences | found ^ value
    })
}
