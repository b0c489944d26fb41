//! `indexed`: an indexed get of scattered numbers of another rank in one call, compared with a get of as many contiguous ones.

use pelago::zerocopy::IntoBytes;

use super::REPETITIONS;
use crate::comparison::{Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

/// Numbers per call.
const NUMBERS: usize = 2000;

/// Number of words over which they are scattered.
const PLACES: usize = 1 << 16;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let numbers = stage.world.alloc::<f64>(PLACES)?;
    (0..PLACES).for_each(|place| numbers.local().store(place, place as f64));
    if stage.is_idle() {
        return Ok(());
    }
    let from = numbers.at(stage.receiver(), 0);
    // An odd step visits each word once before it repeats.
    let places: Vec<u64> = (0..NUMBERS).map(|number| (number * 40_503 % PLACES) as u64).collect();
    let (mut found, mut together) = (vec![0.0; NUMBERS], vec![0.0; NUMBERS]);
    stage.meet()?;
    let count =
        stage.calibrate(1, |count| (0..count).try_for_each(|_| Ok(stage.world.get_indexed(from, &places, &mut found)?)))?;
    let comparison = Comparison::run(REPETITIONS, |side| {
        let nanoseconds = match side {
            Side::Library => {
                stage.send(|| (0..count).try_for_each(|_| Ok(stage.world.get_indexed(from, &places, &mut found)?)))?
            }
            Side::Raw => stage.send(|| (0..count).try_for_each(|_| Ok(stage.world.get_into(from, &mut together)?)))?,
        };
        if stage.is_sender() && matches!(side, Side::Library) {
            found.iter().zip(&places).try_for_each(|(found, &place)| check("a number", *found as u64, place))?;
            found.as_mut_bytes().fill(0);
        }
        Ok(nanoseconds / count as f64)
    })?;
    stage.emit(&stage.row("get_indexed").timed(&comparison, "get of as many together").sized((NUMBERS * 8) as u64))
}
