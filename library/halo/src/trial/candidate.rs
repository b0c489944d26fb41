//! The methods that are possible for a link, and the one that a trial has to beat.

use pelago_rma::Rail;

use crate::exchange::link::{Link, LinkMethod};
use crate::settings::Method;

/// Minimum bytes of a block that is proposed to be fetched where memory is mapped: a cache line. Shorter blocks are packed; paper B packs only single
/// cells. If their owner pushed longer ones, each line would cross between cores twice, to be written and to be read.
const FETCHED_BLOCK_BYTES_MIN: u64 = 64;

/// Over a transport each block and the credit are messages: direct transfer is proposed for a single long block only.
const DIRECT_REMOTE_BYTES_MIN: u64 = 16 << 10;

/// Maximum number of blocks of a direct candidate on a transport that takes one operation per block; with more blocks only packing takes
/// part in the trial. Networks that chain operations take about 0.1 µs per operation (paper B), so that a plane of some hundred rows is
/// worth a trial.
const DIRECT_REMOTE_BLOCKS_MAX: u64 = 512;

/// Striping a border of fewer bytes over several rails gains nothing that a trial would detect: each part costs one more message.
pub(crate) const STRIPED_BYTES_MIN: u64 = 32 << 10;

/// Whether a method is worth a trial. The neighbour decides the same: the larger of the two directions counts.
pub(crate) fn is_possible<const D: usize>(link: &Link<'_, D>, link_method: LinkMethod) -> bool {
    let is_mapped = link.is_mapped && link_method.rail == link.best;
    match link_method.method {
        Method::Packed => true,
        Method::Direct => {
            let takes_blocks = link.takes_blocks(link_method.rail);
            is_mapped || takes_blocks || link.blocks().into_iter().max() <= Some(DIRECT_REMOTE_BLOCKS_MAX)
        }
        // Over a transport a fetch costs a round trip.
        Method::Fetched => is_mapped,
    }
}

/// Returns the method for a rail that is used unless another is clearly cheaper. The neighbour decides the same.
pub(crate) fn proposal<const D: usize>(link: &Link<'_, D>, rail: Rail, cell_bytes: usize) -> Method {
    let bytes = link.cells().into_iter().sum::<usize>() as u64 * cell_bytes as u64;
    let blocks = link.blocks().into_iter().sum::<u64>().max(1);
    let is_one_long_block = link.blocks().into_iter().max() <= Some(1) && bytes / blocks >= DIRECT_REMOTE_BYTES_MIN;
    match link.is_mapped && rail == link.best {
        true if bytes / blocks >= FETCHED_BLOCK_BYTES_MIN => Method::Fetched,
        false if is_one_long_block => Method::Direct,
        _ => Method::Packed,
    }
}
