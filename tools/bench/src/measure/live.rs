//! Large transfers: each is timed separately, and the receiver reads all data before the next. Thus the data move between the caches of the
//! cores, as in a program that uses them.

use pelago::Symmetric;
use pelago::zerocopy::IntoBytes;

use super::transfer::{fill, pattern, renew, source, verify};
use crate::baseline::Baseline;
use crate::comparison::{Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

/// Total bytes that determine the number of repetitions of large transfers, within bounds.
const LIVE_BYTES: u64 = 256 << 20;
const LIVE_REPETITIONS_MIN: u64 = 15;
const LIVE_REPETITIONS_MAX: u64 = 501;

/// The memory of the sender that the library reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// Ordinary memory, which the sender may reuse when the call returns.
    Private,
    /// Registered memory, which the sender does not reuse before the operation completes.
    Registered,
}

/// Puts one block at a time: the sender rewrites it before, and the receiver reads all of it afterwards.
pub(super) fn put_live(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>, bytes: u64, own: Own) -> Result<Comparison> {
    let (from, to) = (memory.at(stage.world.rank(), 0), memory.at(stage.receiver(), 0));
    let limit = stage.baseline(memory)?;
    let (mut block, mut there) = (source(bytes, 0), source(bytes, 0));
    let mut round = 0;
    Comparison::run(live_repetitions(bytes), |side| {
        round += 1;
        if stage.is_sender() {
            renew(&mut block, round);
            if own == Own::Registered {
                fill(memory.local(), round)?;
            }
        }
        let put = || match own {
            Own::Private => stage.world.put(to, &block),
            Own::Registered => stage.world.copy(from, to, block.len()),
        };
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send_awaited(to, || Ok(put()?.wait()?))?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                raw.write(&block);
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => {
                let nanoseconds = stage.converse(line, || line.stream(block.as_bytes()), || line.take(there.as_mut_bytes()))?;
                stage.receive(|| verify("a block that was streamed", &there, round))?;
                return Ok(nanoseconds);
            }
        };
        stage.receive(|| {
            let here = memory.local();
            (0..block.len()).try_for_each(|index| check("a block that was put", here.load(index), pattern(round, index as u64)))
        })?;
        Ok(nanoseconds)
    })
}

/// Gets one block at a time: the owner rewrites it before, and the sender reads all of it afterwards.
pub(super) fn get_live(stage: &RankContext<'_>, memory: &Symmetric<'_, u64>, bytes: u64, own: Own) -> Result<Comparison> {
    let (from, to) = (memory.at(stage.receiver(), 0), memory.at(stage.world.rank(), 0));
    let limit = stage.baseline(memory)?;
    let (mut block, mut there) = (source(bytes, 0), source(bytes, 0));
    let mut round = 0;
    Comparison::run(live_repetitions(bytes), |side| {
        round += 1;
        stage.receive(|| match (side, &limit) {
            (Side::Raw, Baseline::Datagrams(_)) => {
                renew(&mut there, round);
                Ok(())
            }
            _ => fill(memory.local(), round),
        })?;
        let nanoseconds = match (side, &limit) {
            (Side::Library, _) => stage.send_awaited(from, || match own {
                Own::Private => Ok(stage.world.get_into(from, &mut block)?),
                Own::Registered => Ok(stage.world.copy(from, to, block.len())?.wait()?),
            })?,
            (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                raw.read(&mut block);
                Ok(())
            })?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || line.send(&[0; 8]).and_then(|()| line.take(block.as_mut_bytes())),
                || line.serve(1, |_| line.stream(there.as_bytes())),
            )?,
        };
        if stage.is_sender() {
            if own == Own::Registered && side == Side::Library {
                memory.local().read(0, &mut block);
            }
            verify("a block that was got", &block, round)?;
        }
        Ok(nanoseconds)
    })
}

fn live_repetitions(bytes: u64) -> u64 {
    (LIVE_BYTES / bytes).clamp(LIVE_REPETITIONS_MIN, LIVE_REPETITIONS_MAX)
}
