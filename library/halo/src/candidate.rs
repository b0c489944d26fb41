//! Which ways there are for a link, and which of them is to be beaten.

use pelago_rma::Rail;

use crate::link::Link;
use crate::settings::Method;

/// How a link may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Means {
    pub(crate) method: Method,
    pub(crate) rail: Rail,
}

/// Blocks of fewer bytes than a cache line are proposed to be packed where memory is mapped: paper B packs single cells and nothing
/// else. Longer ones are fetched: pushed by their owner, each line would cross between cores twice, to be written and to be read.
const FETCHED_BLOCK_BYTES_MIN: u64 = 64;

/// Over a transport a block goes by itself, and leave is a message: this is proposed for one long block alone.
const DIRECT_REMOTE_BYTES_MIN: u64 = 16 << 10;

/// Over a transport each block is an operation: with more of them nothing but packing is tried. Networks that chain operations need a tenth of
/// a microsecond for each (paper B), so that a plane of some hundred rows is worth a trial.
const DIRECT_REMOTE_BLOCKS_MAX: u64 = 512;

/// A border of fewer bytes gains nothing that a trial would see by going over several rails in parts: each part takes a message more.
pub(crate) const STRIPED_BYTES_MIN: u64 = 32 << 10;

/// Whether a way is worth a trial. The neighbour says the same: both ways count, whichever is there and back.
pub(crate) fn is_possible<const D: usize>(link: &Link<'_, D>, means: Means) -> bool {
    let is_mapped = link.is_mapped && means.rail == link.best;
    match means.method {
        Method::Packed => true,
        Method::Direct => is_mapped || link.blocks().into_iter().max() <= Some(DIRECT_REMOTE_BLOCKS_MAX),
        // Over a transport the way there and back is to be waited for.
        Method::Fetched => is_mapped,
    }
}

/// The method that is taken by a rail unless another is clearly cheaper. The neighbour says the same.
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
