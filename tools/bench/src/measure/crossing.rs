//! `crossing`: operations on memory that its owner has used since the last one, so that every cache line moves between the cores; and puts to
//! unused pages. Measures the library alone, as seen by a program, for a description of this machine.

use std::hint::black_box;

use pelago::Symmetric;

use super::transfer::{fill, pattern, renew, source};
use crate::Row;
use crate::comparison::percentile;
use crate::error::{Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Operations timed together: few enough for a core to have all their stores in flight.
const BATCH: u64 = 16;

/// Bytes per batch above which a batch has fewer operations.
const BATCH_BYTES: u64 = 16 << 10;

/// Total bytes that determine the number of repetitions, within bounds.
const MOVED_BYTES: u64 = 128 << 20;
const REPETITIONS_MIN: u64 = 15;
const REPETITIONS_MAX: u64 = 501;

/// Words of a cache line.
const LINE_WORDS: u64 = 8;

/// Bytes of memory whose pages are used for the first time.
const FRESH_BYTES: u64 = 4 << 20;
const FRESH_REPETITIONS: u64 = 5;
const PAGE_BYTES: u64 = 4096;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    for &bytes in stage.settings.sizes() {
        let batch = (BATCH_BYTES / bytes).clamp(1, BATCH);
        // Each block begins on a separate page, at a different cache line of it, so that no prefetch for one block reaches the next.
        let words = (bytes.next_multiple_of(PAGE_BYTES) / 8) + LINE_WORDS;
        let memory = stage.world.alloc::<u64>((batch * words) as usize)?;
        if stage.is_idle() {
            continue;
        }
        let blocks = Blocks { memory, bytes, words, batch };
        let repetitions = (MOVED_BYTES / bytes).clamp(REPETITIONS_MIN, REPETITIONS_MAX);
        blocks.show(stage, "crossing_put", repetitions, Blocks::put)?;
        blocks.show(stage, "crossing_get", repetitions, Blocks::get)?;
        if bytes == 8 {
            blocks.show(stage, "crossing_fetch_add", repetitions, Blocks::fetch_add)?;
        }
    }
    fresh(stage)
}

/// Memory of every rank; the sender uses the receiver's.
struct Blocks<'w> {
    memory: Symmetric<'w, u64>,
    bytes: u64,
    /// Distance between blocks.
    words: u64,
    batch: u64,
}

impl Blocks<'_> {
    /// Measures and emits the time of one operation of a batch.
    fn show(
        &self,
        stage: &RankContext<'_>,
        name: &str,
        repetitions: u64,
        measure: impl Fn(&Self, &RankContext<'_>, u64) -> Result<f64>,
    ) -> Result<()> {
        let (mut times, mut idle) = (Vec::new(), Vec::new());
        for round in 1..=repetitions {
            idle.push(stage.send(|| Ok(()))?);
            times.push(measure(self, stage, round)?);
        }
        // The clock is subtracted, as reading it costs more than a put.
        let clock = percentile(&mut idle, 50);
        let each = |nanoseconds: f64| rounded(((nanoseconds - clock) / self.batch as f64).max(0.0));
        stage.emit(&Row {
            repetitions: Some(repetitions),
            median_ns: Some(each(percentile(&mut times, 50))),
            min_ns: Some(each(times[0])),
            ..stage.row(name).sized(self.bytes)
        })
    }

    /// Returns the indexes of the blocks' first words.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let words = self.words as usize;
        (0..self.batch as usize).map(move |block| block * words)
    }

    fn put(&self, stage: &RankContext<'_>, round: u64) -> Result<f64> {
        let mut block = source(self.bytes, 0);
        renew(&mut block, round);
        let to = self.memory.at(stage.receiver(), 0);
        let nanoseconds = stage.send(|| {
            for place in self.places() {
                stage.world.put(to.add(place as u64), &block)?.wait()?;
            }
            Ok(())
        })?;
        stage.receive(|| {
            let here = self.memory.local();
            self.places().try_for_each(|place| {
                (0..block.len())
                    .try_for_each(|index| check("a block that was put", here.load(place + index), pattern(round, index as u64)))
            })
        })?;
        Ok(nanoseconds)
    }

    fn get(&self, stage: &RankContext<'_>, round: u64) -> Result<f64> {
        stage.receive(|| fill(self.memory.local(), round))?;
        let from = self.memory.at(stage.receiver(), 0);
        let mut block = source(self.bytes, 0);
        let (mut sum, mut expected) = (0_u64, 0_u64);
        let nanoseconds = stage.send(|| {
            for place in self.places() {
                // The next address depends on the fetched data, as in a program that uses them.
                let place = place as u64 + (black_box(sum) >> 32 >> 32);
                stage.world.get_into(from.add(place), &mut block)?;
                sum = sum.wrapping_add(block[block.len() - 1]);
                expected = expected.wrapping_add(pattern(round, place + block.len() as u64 - 1));
            }
            Ok(())
        })?;
        if stage.is_sender() {
            check("the sum of what was got", sum, expected)?;
        }
        Ok(nanoseconds)
    }

    fn fetch_add(&self, stage: &RankContext<'_>, round: u64) -> Result<f64> {
        let at = self.memory.at(stage.receiver(), 0);
        stage.receive(|| fill(self.memory.local(), round))?;
        let (mut sum, mut expected) = (0_u64, 0_u64);
        let nanoseconds = stage.send(|| {
            for place in self.places() {
                sum = sum.wrapping_add(stage.world.fetch_add(at.add(place as u64), 1)?.wait()?);
                expected = expected.wrapping_add(pattern(round, place as u64));
            }
            Ok(())
        })?;
        if stage.is_sender() {
            check("the sum of the words that were fetched", sum, expected)?;
        }
        Ok(nanoseconds)
    }
}

/// Measures the additional time per page of a put to unused pages, compared with a put to the same pages later.
fn fresh(stage: &RankContext<'_>) -> Result<()> {
    let block = source(FRESH_BYTES, 1);
    let mut times = Vec::new();
    for _ in 0..FRESH_REPETITIONS {
        // Memory that was freed comes as fresh pages from the system.
        let memory = stage.world.alloc::<u64>(block.len())?;
        if stage.is_idle() {
            continue;
        }
        let to = memory.at(stage.receiver(), 0);
        let put = || stage.send(|| Ok(stage.world.put(to, &block)?.wait()?));
        let (first, second) = (put()?, put()?);
        times.push((first - second).max(0.0) / (FRESH_BYTES / PAGE_BYTES) as f64);
    }
    if stage.is_idle() {
        return Ok(());
    }
    let (repetitions, median_ns) = (Some(FRESH_REPETITIONS), Some(rounded(percentile(&mut times, 50))));
    stage.emit(&Row { repetitions, median_ns, min_ns: times.first().copied().map(rounded), ..stage.row("crossing_fresh_page") })
}
