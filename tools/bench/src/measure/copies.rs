//! `copy`: a copy between two other ranks, compared with a get and a put (paper E, figures 1 and 2).

use pelago::Rank;

use super::REPETITIONS;
use crate::comparison::{Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

/// Rank 0 copies data of rank 1 to rank 2: by one copy, or by a get and a put.
pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let world = stage.world;
    for &bytes in stage.settings.sizes() {
        let length = (bytes / 8) as usize;
        let memory = world.alloc::<u64>(length)?;
        if stage.is_idle() {
            continue;
        }
        let [from, to] = [1, 2].map(|rank| memory.at(Rank::new(rank), 0));
        let mut block = vec![0; length];
        let mut round = 0;
        let comparison = Comparison::run(REPETITIONS, |side| {
            round += 1;
            if stage.is_receiver() {
                (0..length).for_each(|index| memory.local().store(index, round ^ index as u64));
            }
            let nanoseconds = stage.send(|| {
                match side {
                    Side::Library => world.copy(from, to, length)?.wait()?,
                    Side::Raw => {
                        world.get_into(from, &mut block)?;
                        world.put(to, &block)?.wait()?;
                    }
                }
                Ok(())
            })?;
            if stage.is_sender() {
                world.get_into(to, &mut block)?;
                let last = length as u64 - 1;
                check("the end of a copy", block[length - 1], round ^ last)?;
                check("the beginning of a copy", block[0], round)?;
            }
            Ok(nanoseconds)
        })?;
        stage.emit(&stage.row("copy").timed(&comparison, "get, put").moved(bytes))?;
    }
    Ok(())
}
