//! `fetch_add` and `compare_swap` on a word of another rank without contention.

use std::ops::Range;
use std::sync::atomic::Ordering::SeqCst;

use pelago::zerocopy::{FromBytes, IntoBytes};
use pelago::{Accumulation, CellSlice, GlobalPtr, World};

use super::REPETITIONS;
use super::transfer::ROUND_TRIP;
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::comparison::{self, Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

pub(crate) fn fetch_add(stage: &RankContext<'_>) -> Result<()> {
    let question = |_| [1, 0];
    let perform = |here: CellSlice<'_, u64>, [operand, _]: [u64; 2]| here.fetch_add(0, operand);
    measure(stage, &Atomic { name: "fetch_add", library: add_each, raw: raw_add_each, question, perform })
}

pub(crate) fn compare_swap(stage: &RankContext<'_>) -> Result<()> {
    let question = |value| [value, value + 1];
    let perform = |here: CellSlice<'_, u64>, [expected, new]: [u64; 2]| here.compare_swap(0, expected, new);
    measure(stage, &Atomic { name: "compare_swap", library: swap_each, raw: raw_swap_each, question, perform })
}

/// Measures floating-point accumulation against integer additions: to one number with a wait for each, and to many numbers in one call, where
/// the integers are added one by one with a wait at the end.
pub(crate) fn accumulate(stage: &RankContext<'_>) -> Result<()> {
    let (memory, numbers) = (stage.world.alloc::<u64>(MANY)?, stage.world.alloc::<f64>(MANY)?);
    if stage.is_idle() {
        return Ok(());
    }
    let (integer, float) = (memory.at(stage.receiver(), 0), numbers.at(stage.receiver(), 0));
    type Act = fn(&World, GlobalPtr<f64>, GlobalPtr<u64>, u64) -> Result<()>;
    let one: [Act; 2] = [
        |world, float, _, count| accumulate_each(world, float, count),
        |world, _, integer, count| integer_each(world, integer, count),
    ];
    let many: [Act; 2] = [
        |world, float, _, count| accumulate_many(world, float, count),
        |world, _, integer, count| integer_many(world, integer, count),
    ];
    for (name, places, [library, raw]) in [("accumulate_f64", 1, one), ("accumulate_all_f64", MANY as u64, many)] {
        let count = stage.calibrate(places, |count| library(stage.world, float, integer, count))?;
        let mut added = 0;
        numbers.local().clear();
        stage.meet()?;
        let comparison = Comparison::run(REPETITIONS, |side| {
            let is_library = matches!(side, comparison::Side::Library);
            let act = if is_library { library } else { raw };
            let nanoseconds = stage.send(|| act(stage.world, float, integer, count))?;
            added += count / places * u64::from(is_library);
            stage.receive(|| {
                (0..places as usize).try_for_each(|place| check("the sum", numbers.local().load(place) as u64, added))
            })?;
            Ok(nanoseconds / count as f64)
        })?;
        stage.emit(&stage.row(name).timed(&comparison, "integer add").sized(8))?;
    }
    Ok(())
}

/// Numbers in one accumulate call.
const MANY: usize = 1024;

#[inline(never)]
fn accumulate_each(world: &World, at: GlobalPtr<f64>, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| Ok(world.accumulate(at, Accumulation::Sum, 1.0)?.wait()?))
}

#[inline(never)]
fn integer_each(world: &World, at: GlobalPtr<u64>, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| Ok(world.add(at, 1)?.wait()?))
}

#[inline(never)]
fn accumulate_many(world: &World, at: GlobalPtr<f64>, count: u64) -> Result<()> {
    let values = [1.0; MANY];
    (0..count / MANY as u64).try_for_each(|_| {
        world.accumulate_all(at, Accumulation::Sum, &values)?;
        Ok(world.quiet()?)
    })
}

#[inline(never)]
fn integer_many(world: &World, at: GlobalPtr<u64>, count: u64) -> Result<()> {
    (0..count / MANY as u64).try_for_each(|_| {
        (0..MANY as u64).try_for_each(|place| world.add(at.add(place), 1).map(drop))?;
        Ok(world.quiet()?)
    })
}

/// A method to increment a word. Each method returns 0 if the word always had its expected value, else the differing bits.
struct Atomic {
    name: &'static str,
    library: fn(&World, GlobalPtr<u64>, Range<u64>) -> Result<u64>,
    raw: fn(&Raw<'_, u64>, Range<u64>) -> u64,
    /// Payload of the datagram that requests an increment from this value, and the action of its receiver.
    question: fn(u64) -> [u64; 2],
    perform: fn(CellSlice<'_, u64>, [u64; 2]) -> u64,
}

/// Measures increments of a word. Each side starts at the value at which the other one ended.
fn measure(stage: &RankContext<'_>, atomic: &Atomic) -> Result<()> {
    let memory = stage.world.alloc::<u64>(8)?;
    if stage.is_idle() {
        return Ok(());
    }
    let (at, here) = (memory.at(stage.receiver(), 0), memory.local());
    let limit = stage.baseline(&memory)?;
    let mut counted = 0;
    let mut calibrated = 0;
    let count = stage.calibrate(1, |count| {
        calibrated += count;
        (atomic.library)(stage.world, at, calibrated - count..calibrated).map(drop)
    })?;
    // Only the sender knows the value after calibration.
    let beginning = stage.tell(calibrated)?;
    let comparison = Comparison::run(REPETITIONS, |side| {
        let values = beginning + counted..beginning + counted + count;
        counted += count;
        let end = values.end;
        let mut differences = 0;
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send(|| (atomic.library)(stage.world, at, values).map(|found| differences = found))?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                differences = (atomic.raw)(raw, values);
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || ask_each(line, atomic, values).map(|found| differences = found),
                || line.serve(count, |question| answer(line, atomic, here, question)),
            )?,
        };
        check("a word that was fetched", differences, 0)?;
        stage.receive(|| check("the word that was counted up", here.load(0), end))?;
        Ok(nanoseconds / count as f64)
    })?;
    stage.emit(&stage.row(atomic.name).timed(&comparison, limit.name("atomic", ROUND_TRIP)).sized(8))
}

#[inline(never)]
fn ask_each(line: &Line, atomic: &Atomic, mut values: Range<u64>) -> Result<u64> {
    let mut found = 0_u64;
    values.try_fold(0, |differences, value| {
        line.ask((atomic.question)(value).as_bytes(), found.as_mut_bytes())?;
        Ok(differences | found ^ value)
    })
}

fn answer(line: &Line, atomic: &Atomic, here: CellSlice<'_, u64>, question: &[u8]) -> Result<()> {
    // A malformed question changes nothing, which the final check detects.
    let question = <[u64; 2]>::read_from_bytes(question).unwrap_or_default();
    line.send((atomic.perform)(here, question).as_bytes())
}

#[inline(never)]
fn add_each(world: &World, at: GlobalPtr<u64>, values: Range<u64>) -> Result<u64> {
    let mut differences = 0;
    for value in values {
        differences |= world.fetch_add(at, 1)?.wait()? ^ value;
    }
    Ok(differences)
}

#[inline(never)]
fn raw_add_each(memory: &Raw<'_, u64>, values: Range<u64>) -> u64 {
    let word = memory.word(0);
    values.fold(0, |differences, value| differences | word.fetch_add(1, SeqCst) ^ value)
}

#[inline(never)]
fn swap_each(world: &World, at: GlobalPtr<u64>, values: Range<u64>) -> Result<u64> {
    let mut differences = 0;
    for value in values {
        differences |= world.compare_swap(at, value, value + 1)?.wait()? ^ value;
    }
    Ok(differences)
}

#[inline(never)]
fn raw_swap_each(memory: &Raw<'_, u64>, values: Range<u64>) -> u64 {
    let word = memory.word(0);
    values.fold(0, |differences, value| {
        let found = word.compare_exchange(value, value + 1, SeqCst, SeqCst).unwrap_or_else(|found| found);
        differences | found ^ value
    })
}
