//! Which ways there are for a link, and which of them is to be beaten.

use crate::link::Link;
use crate::settings::Method;

/// Blocks of fewer bytes than a cache line are proposed to be packed where memory is mapped: paper B packs single cells and nothing
/// else. Longer ones are fetched: pushed by their owner, each line would cross between processors twice, to be written and to be read.
const FETCHED_BLOCK_BYTES_MIN: u64 = 64;

/// Over a transport a block goes by itself, and leave is a message: this is proposed for one long block alone.
const DIRECT_REMOTE_BYTES_MIN: u64 = 16 << 10;

/// Over a transport each block is an operation: with more of them packing is cheaper for sure, and nothing else is tried.
const DIRECT_REMOTE_BLOCKS_MAX: u64 = 16;

/// Whether a method is worth a trial. The neighbour says the same: both ways count, whichever is there and back.
pub(crate) fn is_possible<const D: usize>(link: &Link<'_, D>, method: Method) -> bool {
    match method {
        Method::Packed => true,
        Method::Direct => link.is_mapped || link.blocks().into_iter().max() <= Some(DIRECT_REMOTE_BLOCKS_MAX),
        // Over a transport the way there and back is to be waited for.
        Method::Fetched => link.is_mapped,
    }
}

/// What is taken unless something else is clearly cheaper. The neighbour says the same.
pub(crate) fn proposal<const D: usize>(link: &Link<'_, D>, cell_bytes: usize) -> Method {
    let bytes = link.cells().into_iter().sum::<usize>() as u64 * cell_bytes as u64;
    let blocks = link.blocks().into_iter().sum::<u64>().max(1);
    let is_one_long_block = link.blocks().into_iter().max() <= Some(1) && bytes / blocks >= DIRECT_REMOTE_BYTES_MIN;
    match link.is_mapped {
        true if bytes / blocks >= FETCHED_BLOCK_BYTES_MIN => Method::Fetched,
        false if is_one_long_block => Method::Direct,
        _ => Method::Packed,
    }
}
