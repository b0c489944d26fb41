//! `rate`: puts of 8 bytes as fast as they can be issued, 64 and then quiet.

use std::sync::atomic::Ordering::{Release, SeqCst};
use std::sync::atomic::fence;

use pelago::{GlobalPtr, World};

use super::{REPETITIONS, SLOTS};
use crate::Row;
use crate::duel::{Duel, Side};
use crate::error::{Result, check};
use crate::raw::Raw;
use crate::row::rounded;
use crate::stage::Stage;

/// Puts between two calls of quiet.
const WINDOW: u64 = 64;

pub(crate) fn run(stage: &Stage<'_>) -> Result<()> {
    let memory = stage.world.alloc::<u64>(SLOTS as usize)?;
    if stage.is_idle() {
        return Ok(());
    }
    let to = memory.at(stage.receiver(), 0);
    let raw = Raw::of(stage.world, &memory, stage.receiver())?;
    let count = stage.calibrate(SLOTS, |count| put_windows(stage.world, to, 0, count))?;
    let mut sent = 0;
    let duel = Duel::fight(REPETITIONS, |side| {
        let first = sent;
        sent += count;
        let nanoseconds = stage.send(|| match side {
            Side::Library => put_windows(stage.world, to, first, count),
            Side::Raw => {
                store_windows(&raw, first, count);
                Ok(())
            }
        })?;
        stage.receive(|| {
            let here = memory.local();
            (0..SLOTS).try_for_each(|slot| check("a word that was put", here.load(slot as usize), sent - SLOTS + slot))
        })?;
        Ok(nanoseconds / count as f64)
    })?;
    let row = stage.row("rate").timed(&duel, "store").moved(8);
    let operations_per_second = row.median_ns.map(|nanoseconds| rounded(1e9 / nanoseconds));
    stage.emit(&Row { operations_per_second, ..row })
}

#[inline(never)]
fn put_windows(world: &World, to: GlobalPtr<u64>, first: u64, count: u64) -> Result<()> {
    for window in (first..first + count).step_by(WINDOW as usize) {
        for value in window..window + WINDOW {
            world.put(to.add(value % SLOTS), &[value])?;
        }
        world.quiet()?;
    }
    Ok(())
}

#[inline(never)]
fn store_windows(to: &Raw<'_, u64>, first: u64, count: u64) {
    for window in (first..first + count).step_by(WINDOW as usize) {
        let words = &to.words()[(window % SLOTS) as usize..][..WINDOW as usize];
        for (value, word) in (window..).zip(words) {
            word.store(value, Release);
        }
        fence(SeqCst);
    }
}
