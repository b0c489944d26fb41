//! `rate`: puts of 8 bytes at the maximum issue rate, with a quiet after every 512.

use std::sync::atomic::Ordering::{Release, SeqCst};
use std::sync::atomic::fence;

use std::ops::Range;

use pelago::zerocopy::{FromBytes, IntoBytes};
use pelago::{CellSlice, GlobalPtr, World};

use super::SLOTS;
use super::transfer::by_words;
use crate::Row;
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::error::Result;
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Number of puts between two calls of quiet.
const WINDOW: u64 = SLOTS;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let memory = stage.world.alloc::<u64>(SLOTS as usize)?;
    if stage.is_idle() {
        return Ok(());
    }
    let here = memory.local();
    let limit = stage.baseline(&memory)?;
    let comparison = by_words(stage, &memory, put_windows, |values| match &limit {
        Baseline::Memory(raw) => stage.send(|| {
            store_windows(raw, values);
            Ok(())
        }),
        Baseline::Datagrams(line) => {
            let windows = (values.end - values.start) / WINDOW;
            stage.converse(line, || ask_windows(line, values), || line.serve(windows, |window| store_window(line, here, window)))
        }
    })?;
    let row = stage.row("rate").timed(&comparison, limit.name("store", "datagram")).moved(8);
    let operations_per_second = row.median_ns.map(|nanoseconds| rounded(1e9 / nanoseconds));
    stage.emit(&Row { operations_per_second, ..row })
}

#[inline(never)]
fn put_windows(world: &World, to: GlobalPtr<u64>, values: Range<u64>) -> Result<()> {
    for window in values.step_by(WINDOW as usize) {
        for value in window..window + WINDOW {
            world.put(to.add(value % SLOTS), &[value])?;
        }
        world.quiet()?;
    }
    Ok(())
}

#[inline(never)]
fn store_windows(to: &Raw<'_, u64>, values: Range<u64>) {
    for window in values.step_by(WINDOW as usize) {
        let words = &to.words()[(window % SLOTS) as usize..][..WINDOW as usize];
        for (value, word) in (window..).zip(words) {
            word.store(value, Release);
        }
        fence(SeqCst);
    }
}

/// The raw limit of a window of puts over a network: their offsets and values in one datagram, which is answered.
#[inline(never)]
fn ask_windows(line: &Line, values: Range<u64>) -> Result<()> {
    let mut puts = [[0_u64; 2]; WINDOW as usize];
    for window in values.step_by(WINDOW as usize) {
        for (value, put) in (window..).zip(&mut puts) {
            *put = [value % SLOTS, value];
        }
        line.ask(puts.as_bytes(), &mut [0; 8])?;
    }
    Ok(())
}

fn store_window(line: &Line, here: CellSlice<'_, u64>, window: &[u8]) -> Result<()> {
    for put in window.chunks_exact(size_of::<[u64; 2]>()) {
        let [slot, value] = <[u64; 2]>::read_from_bytes(put).unwrap_or_default();
        here.store((slot % SLOTS) as usize, value);
    }
    line.send(&[0; 8])
}
