//! Several rails at once: which part of a transfer goes by which.

use std::ops::Range;

use pelago_base::Shape;
use pelago_platform::{Capabilities, Rail};

/// Parts begin at multiples of so many bytes: a cache line, so that no word is brought by two rails.
const PART_ALIGN_BYTES: u64 = 64;

/// What a rail is taken to carry at most, in bytes per second: more than any, so that shares can be added up.
const RATE_MAX: f64 = 1e15;

/// All rails of a transport as one: long transfers go by each of them in part, in proportion to the bytes per second that they are known to carry.
pub(crate) struct Joint {
    /// Of each rail, by its number.
    rates: Box<[f64]>,
}

/// How a transfer is parted.
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Parts {
    /// Not at all.
    #[default]
    Whole,
    /// One block, cut: the bytes of each part, which are some, and its rail.
    Cut(Box<[(Rail, Range<u64>)]>),
    /// Many blocks, dealt out: the rails, each with its share of what those before it leave.
    Dealt(Box<[(Rail, f64)]>),
}

impl Joint {
    /// `None` where there is one rail, or no number for all of them.
    pub(crate) fn new(rails: &[Capabilities]) -> Option<Self> {
        let rate = |rail: &Capabilities| {
            let rate = rail.bytes_per_second;
            // What nobody can carry says nothing.
            if rate > 0.0 { rate.min(RATE_MAX) } else { 0.0 }
        };
        (rails.len() > 1 && Rail::new(rails.len()).is_some()).then(|| Self { rates: rails.iter().map(rate).collect() })
    }

    /// The number that stands for all of them: the one after the last.
    pub(crate) fn rail(&self) -> Rail {
        Rail::new(self.rates.len()).expect("there is a number")
    }

    /// How a transfer of that shape goes by these rails, which are one at least.
    pub(crate) fn parts(&self, rails: &[Rail], shape: Shape) -> Parts {
        let rate = |rail: &Rail| self.rates[rail.number()];
        let share = |(index, rail): (usize, &Rail)| {
            let left: f64 = rails[index..].iter().map(rate).sum();
            // Where nothing is known of any, all are alike.
            let share = if left > 0.0 { rate(rail) / left } else { 1.0 / (rails.len() - index) as f64 };
            (*rail, share)
        };
        let shares = rails.iter().enumerate().map(share);
        if shape.blocks() == 1 { cut(shares, shape.block) } else { Parts::Dealt(shares.collect()) }
    }
}

/// Cuts a block: the last takes what is left.
fn cut(shares: impl ExactSizeIterator<Item = (Rail, f64)>, bytes: u64) -> Parts {
    let (last, mut start) = (shares.len() - 1, 0);
    let part = |(index, (rail, share)): (usize, (Rail, f64))| {
        let left = bytes - start;
        let taken = if index == last { left } else { (left as f64 * share) as u64 / PART_ALIGN_BYTES * PART_ALIGN_BYTES };
        let part = start..start + taken.min(left);
        start = part.end;
        (rail, part)
    };
    Parts::Cut(shares.enumerate().map(part).filter(|(_, part)| !part.is_empty()).collect())
}

impl Parts {
    /// Whether it goes by one rail.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The block of the `index`-th operation, which of its bytes, and the rail if it is not that of all.
    pub(crate) fn part(&self, index: u64, block_bytes: u64) -> (u64, Range<u64>, Option<Rail>) {
        match self {
            Self::Whole => (index, 0..block_bytes, None),
            Self::Cut(parts) => {
                let (rail, part) = parts[index as usize].clone();
                (0, part, Some(rail))
            }
            Self::Dealt(shares) => (index, 0..block_bytes, Some(dealt(shares, index))),
        }
    }
}

/// The rail of a block: each takes its share of the blocks in a row that those before it leave, evenly spread.
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
    use pelago_base::Duration;
    use proptest::prelude::*;

    fn joint(rates: &[f64]) -> Option<Joint> {
        let rail = |&bytes_per_second: &f64| Capabilities {
            name: "rail",
            inject_size: 0,
            latency: Duration::ZERO,
            bytes_per_second,
            atomics_by_progress_thread: false,
            data_bytes_max: u64::MAX,
        };
        Joint::new(&rates.iter().map(rail).collect::<Vec<_>>())
    }

    fn rails(count: usize) -> Vec<Rail> {
        (0..count).filter_map(Rail::new).collect()
    }

    /// The bytes of each rail of a block of so many.
    fn cut_bytes(rates: &[f64], bytes: u64) -> Vec<u64> {
        let Parts::Cut(parts) = joint(rates).unwrap().parts(&rails(rates.len()), Shape::contiguous(bytes)) else { panic!() };
        let of = |rail: &Rail| parts.iter().filter(|(by, _)| by == rail).map(|(_, part)| part.end - part.start).sum();
        rails(rates.len()).iter().map(of).collect()
    }

    #[test]
    fn parts_are_as_the_rates() {
        assert_eq!(cut_bytes(&[1e9, 1e9], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[3e9, 1e9], 1 << 20), [3 << 18, 1 << 18]);
        assert_eq!(cut_bytes(&[1e9, 2e9, 5e9], 8 << 20), [1 << 20, 2 << 20, 5 << 20]);
        // The last takes what does not fill a line.
        assert_eq!(cut_bytes(&[1e9, 1e9], 4096 + 100), [2048, 2048 + 100]);
    }

    #[test]
    fn rates_that_are_none_are_survived() {
        assert_eq!(cut_bytes(&[f64::INFINITY, f64::INFINITY], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[f64::NAN, 0.0], 1 << 20), [1 << 19, 1 << 19]);
        assert_eq!(cut_bytes(&[0.0; 3], 3 << 20), [1 << 20; 3]);
        assert_eq!(cut_bytes(&[-1.0, 1e9], 1 << 20), [0, 1 << 20]);
        assert_eq!(cut_bytes(&[1e9, 0.0], 1 << 20), [1 << 20, 0]);
        assert!(joint(&[1e9]).is_none() && joint(&[1e9; Rail::MAX]).is_none());
        assert_eq!(joint(&[1e9; Rail::MAX - 1]).map(|joint| joint.rail().number()), Some(Rail::MAX - 1));
    }

    proptest! {
        /// Every byte, or block, goes by one rail; of blocks dealt out each rail has its share of every run from the first on.
        #[test]
        fn every_byte_goes_once(rates in prop::collection::vec(0.0..1e10f64, 2..5), bytes in 1..1u64 << 24, blocks in 2..300u64) {
            let (joint, rails) = (joint(&rates).unwrap(), rails(rates.len()));
            let Parts::Cut(parts) = joint.parts(&rails, Shape::contiguous(bytes)) else { panic!() };
            let mut end = 0;
            for (_, part) in &parts {
                prop_assert!(part.start == end && part.end > end && part.start.is_multiple_of(PART_ALIGN_BYTES));
                end = part.end;
            }
            prop_assert_eq!(end, bytes);
            let dealt = joint.parts(&rails, Shape { counts: [1, 1, blocks], ..Shape::contiguous(8) });
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
