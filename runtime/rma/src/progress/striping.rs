//! Striping: the division of a transfer over several rails, or into several messages.

use std::ops::Range;

use pelago_base::Shape;
use pelago_platform::{Capabilities, Rail};

/// Alignment of stripes: a cache line, so that no word is transferred by two rails.
const PART_ALIGN_BYTES: u64 = 64;

/// Maximum bandwidth of a rail in bytes per second that striping assumes, so that sums of shares do not overflow.
const RATE_MAX: f64 = 1e15;

/// All rails of a transport together: long transfers are striped over them in proportion to their known bandwidths in bytes per second.
pub(crate) struct Striping {
    /// Bandwidth of each rail, by its number.
    rates: Box<[f64]>,
}

/// The division of a transfer.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Stripes {
    /// Undivided.
    #[default]
    Whole,
    /// One block, split: the byte range of each non-empty part, and its rail.
    Cut(Box<[(Rail, Range<u64>)]>),
    /// Each block in pieces of this size, by the common rail: the network accepts no longer messages.
    Pieces(u64),
    /// All blocks as one operation, on a rail that supports this.
    Together,
    /// Many blocks, distributed: the rails, each with its share of the blocks that the previous rails leave.
    Dealt(Box<[(Rail, f64)]>),
}

impl Striping {
    /// `None` if there is only one rail, or no free number for all of them.
    pub(crate) fn new(rails: &[Capabilities]) -> Option<Self> {
        let rate = |rail: &Capabilities| {
            let rate = rail.bytes_per_second;
            // An impossible bandwidth carries no information.
            if rate > 0.0 { rate.min(RATE_MAX) } else { 0.0 }
        };
        (rails.len() > 1 && Rail::new(rails.len()).is_some()).then(|| Self { rates: rails.iter().map(rate).collect() })
    }

    /// Returns the rail number that stands for all rails: the one after the last.
    pub(crate) fn rail(&self) -> Rail {
        Rail::new(self.rates.len()).expect("there is a number")
    }

    /// Returns the division of a transfer of that shape over these rails (at least one), in messages of at most `message_bytes_max` bytes.
    pub(crate) fn stripes(&self, rails: &[Rail], shape: Shape, message_bytes_max: u64) -> Stripes {
        let is_one = shape.blocks() == 1;
        if !is_one && shape.block > message_bytes_max {
            return Stripes::Whole;
        }
        let rate = |rail: &Rail| self.rates[rail.number()];
        let share = |(index, rail): (usize, &Rail)| {
            let left: f64 = rails[index..].iter().map(rate).sum();
            // If no bandwidth is known, all rails count equally.
            let share = if left > 0.0 { rate(rail) / left } else { 1.0 / (rails.len() - index) as f64 };
            (*rail, share)
        };
        let shares = rails.iter().enumerate().map(share);
        if is_one { cut(shares, shape.block, message_bytes_max) } else { Stripes::Dealt(shares.collect()) }
    }
}

/// Splits a block: the last rail takes the remainder. Each rail takes its part in as many messages as necessary.
fn cut(shares: impl ExactSizeIterator<Item = (Rail, f64)>, bytes: u64, message_bytes_max: u64) -> Stripes {
    let piece = piece_bytes(message_bytes_max);
    let (last, mut start) = (shares.len() - 1, 0);
    let part = |(index, (rail, share)): (usize, (Rail, f64))| {
        let left = bytes - start;
        let taken = if index == last { left } else { (left as f64 * share) as u64 / PART_ALIGN_BYTES * PART_ALIGN_BYTES };
        let part = start..start + taken.min(left);
        start = part.end;
        (rail, part)
    };
    let pieces = |(rail, part): (Rail, Range<u64>)| {
        let starts = (0..(part.end - part.start).div_ceil(piece)).map(move |index| part.start + index * piece);
        starts.map(move |start| (rail, start..part.end.min(start.saturating_add(piece))))
    };
    Stripes::Cut(shares.enumerate().map(part).flat_map(pieces).collect())
}

/// Size of the messages of a split transfer: a multiple of a cache line where possible, so that no word is transferred by two messages.
const fn piece_bytes(message_bytes_max: u64) -> u64 {
    if message_bytes_max < PART_ALIGN_BYTES { message_bytes_max } else { message_bytes_max / PART_ALIGN_BYTES * PART_ALIGN_BYTES }
}

impl Stripes {
    /// Returns the division of a transfer by one rail into messages of at most `message_bytes_max` bytes.
    pub(crate) const fn of_messages(message_bytes_max: u64) -> Self {
        Self::Pieces(piece_bytes(message_bytes_max))
    }

    /// Whether the transfer uses several rails.
    pub(crate) const fn is_striped(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Dealt(_))
    }

    /// Number of operations of a transfer of that shape.
    pub(crate) fn count(&self, shape: Shape) -> u64 {
        match self {
            Self::Together => 1,
            Self::Whole | Self::Dealt(_) => shape.blocks(),
            Self::Cut(parts) => parts.len() as u64,
            Self::Pieces(bytes) => shape.blocks() * shape.block.div_ceil(*bytes),
        }
    }

    /// Returns the block of the `index`-th operation, its byte range, and its rail if it differs from the common one.
    pub(crate) fn part(&self, index: u64, block_bytes: u64) -> (u64, Range<u64>, Option<Rail>) {
        match self {
            Self::Whole | Self::Together => (index, 0..block_bytes, None),
            Self::Pieces(bytes) => {
                let pieces = block_bytes.div_ceil(*bytes);
                let start = index % pieces * bytes;
                (index / pieces, start..block_bytes.min(start + bytes), None)
            }
            Self::Cut(parts) => {
                let (rail, part) = parts[index as usize].clone();
                (0, part, Some(rail))
            }
            Self::Dealt(shares) => (index, 0..block_bytes, Some(dealt(shares, index))),
        }
    }
}

/// Returns the rail of a block: each rail takes its share of the blocks that the previous rails leave, evenly spread.
fn dealt(shares: &[(Rail, f64)], mut index: u64) -> Rail {
    let (last, others) = shares.split_last().expect("there is a rail");
    for &(rail, share) in others {
        let taken = |blocks: u64| (blocks as f64 * share) as u64;
        let before = taken(index);
        if taken(index + 1) > before {
            return rail;
        }
        index -= before;
    }
    last.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn striping(rates: &[f64]) -> Option<Striping> {
        let rail = |&bytes_per_second: &f64| Capabilities { bytes_per_second, ..Capabilities::of("rail") };
        Striping::new(&rates.iter().map(rail).collect::<Vec<_>>())
    }

    fn rails(count: usize) -> Vec<Rail> {
        (0..count).filter_map(Rail::new).collect()
    }

    /// Returns the number of bytes per rail of a block of `bytes` bytes.
    fn cut_bytes(rates: &[f64], bytes: u64) -> Vec<u64> {
        let Stripes::Cut(parts) = striping(rates).unwrap().stripes(&rails(rates.len()), Shape::contiguous(bytes), u64::MAX)
        else {
            panic!()
        };
        let of = |rail: &Rail| parts.iter().filter(|(by, _)| by == rail).map(|(_, part)| part.end - part.start).sum();
        rails(rates.len()).iter().map(of).collect()
    }

    #[test]
    fn parts_are_as_the_rates() {
        assert_eq!(cut_bytes(&[1e9, 1e9], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[3e9, 1e9], 1 << 20), [3 << 18, 1 << 18]);
        assert_eq!(cut_bytes(&[1e9, 2e9, 5e9], 8 << 20), [1 << 20, 2 << 20, 5 << 20]);
        // The last rail takes the part that does not fill a cache line.
        assert_eq!(cut_bytes(&[1e9, 1e9], 4096 + 100), [2048, 2048 + 100]);
    }

    #[test]
    fn rates_that_are_none_are_survived() {
        assert_eq!(cut_bytes(&[f64::INFINITY, f64::INFINITY], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[f64::NAN, 0.0], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[0.0; 3], 3 << 20), [1 << 20; 3]);
        assert_eq!(cut_bytes(&[-1.0, 1e9], 1 << 20), [0, 1 << 20]);
        assert_eq!(cut_bytes(&[1e9, 0.0], 1 << 20), [1 << 20, 0]);
        assert!(striping(&[1e9]).is_none() && striping(&[1e9; Rail::MAX]).is_none());
        assert_eq!(striping(&[1e9; Rail::MAX - 1]).map(|striping| striping.rail().number()), Some(Rail::MAX - 1));
    }

    #[test]
    fn long_blocks_go_in_messages() {
        let shape = Shape { counts: [1, 1, 3], ..Shape::contiguous(300) };
        let parts = Stripes::of_messages(150);
        assert_eq!(parts.count(shape), 9);
        let all: Vec<_> = (0..parts.count(shape)).map(|index| parts.part(index, shape.block)).collect();
        let of = |block| [(block, 0..128, None), (block, 128..256, None), (block, 256..300, None)];
        assert_eq!(all, [of(0), of(1), of(2)].concat());
        assert!(!parts.is_striped() && Stripes::of_messages(7) == Stripes::Pieces(7));
    }

    proptest! {
        /// Every byte, or block, uses exactly one rail; of distributed blocks each rail has its share of every prefix.
        #[test]
        fn every_byte_goes_once(rates in prop::collection::vec(0.0..1e10f64, 2..5), bytes in 1..1u64 << 24, blocks in 2..300u64, message in (1..1u64 << 20).prop_map(|bytes| bytes * PART_ALIGN_BYTES)) {
            let (striping, rails) = (striping(&rates).unwrap(), rails(rates.len()));
            let Stripes::Cut(parts) = striping.stripes(&rails, Shape::contiguous(bytes), message) else { panic!() };
            let mut end = 0;
            for (_, part) in &parts {
                prop_assert!(part.start == end && part.end > end && part.start.is_multiple_of(PART_ALIGN_BYTES));
                prop_assert!(part.end - part.start <= message);
                end = part.end;
            }
            prop_assert_eq!(end, bytes);
            let dealt = striping.stripes(&rails, Shape { counts: [1, 1, blocks], ..Shape::contiguous(8) }, u64::MAX);
            let mut counts = vec![0_u64; rates.len()];
            for index in 0..blocks {
                let (block, part, rail) = dealt.part(index, 8);
                prop_assert_eq!((block, part), (index, 0..8));
                counts[rail.unwrap().number()] += 1;
                let sum: f64 = rates.iter().sum();
                for (count, rate) in counts.iter().zip(&rates).filter(|_| sum > 0.0) {
                    let share = (index + 1) as f64 * rate / sum;
                    prop_assert!((*count as f64 - share).abs() < rates.len() as f64, "{counts:?} of {rates:?}");
                }
            }
        }
    }
}
