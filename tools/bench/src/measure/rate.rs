//! `rate`: puts of 8 bytes as fast as they can be issued, 64 and then quiet.

use std::sync::atomic::Ordering::{Release, SeqCst};
use std::sync::atomic::fence;

use pelago::{GlobalPtr, World};

use super::SLOTS;
use super::transfer::by_words;
use crate::Row;
use crate::error::Result;
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
    let duel = by_words(stage, &memory, put_windows, store_windows)?;
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
