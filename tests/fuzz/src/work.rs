//! The operations of the ranks of a job, and their expected results.
//!
//! The results do not depend on the order of execution: each byte that is written follows from its offset, and only one operator is applied
//! to each word.

use pelago_base::{AtomicOperator, Block, Blocks, GlobalAddress, Rank, SegmentId, Shape, Width};
use pelago_protocol::Request;

use crate::job::{Job, Outcome, PRESENT};
use crate::memory::{SEGMENT_BYTES, SOURCE, TARGET, pattern};

/// Atomics on the first words of the written segment, in order, with their operands.
const ATOMICS: [(Width, AtomicOperator, u64); 8] = [
    (Width::Eight, AtomicOperator::Add, 1),
    (Width::Eight, AtomicOperator::Load, 0),
    (Width::Eight, AtomicOperator::Swap, 5),
    (Width::Four, AtomicOperator::CompareSwap { expected: 0 }, 0),
    (Width::Eight, AtomicOperator::And, 0),
    (Width::Four, AtomicOperator::Or, 7),
    (Width::Eight, AtomicOperator::Xor, 1),
    (Width::Four, AtomicOperator::Add, 1),
];

const WORDS_BYTES: usize = 8 * ATOMICS.len();

impl Job {
    /// Issues a random operation of any rank to any rank, including itself, sometimes followed by a fence. Issues none if there is no room.
    pub(crate) fn ask(&mut self) {
        let token = self.asked;
        let [rank, to, third] = [0; 3].map(|_| self.random.below(PRESENT));
        let kind = self.random.below(8);
        let most = *self.random.pick(&[16, 960, 961, 3_000, 20_000]);
        let bytes = self.random.below(most + 1).min(if kind == 0 { 960 } else { most });
        let offset = WORDS_BYTES + self.random.below(SEGMENT_BYTES - WORDS_BYTES - 2 * bytes.max(256));
        let peer = self.endpoints[rank].connect(Rank::new(to as u32), self.scenario.datagram_bytes);
        let written: Vec<u8> = (offset..offset + bytes).map(pattern).collect();
        let mut local = None;
        // Blocks that cover all bytes: columns first on both sides, and a list, in reverse order if it is the target.
        let side = 1 + self.random.below(24);
        let counts = [1, side as u64, (bytes / side / 8) as u64];
        let across = Shape { block: 8, counts, strides: [0, 8, 8 * side as u64] };
        let covered = across.bytes().unwrap_or(0) as usize;
        let length = 1 + self.random.below(40);
        let mut list: Vec<Block> = (0..bytes.min(40_000) / length)
            .map(|number| Block { offset: (number * length) as u64, bytes: length as u64 })
            .take(2_000)
            .collect();
        let packed = Shape::contiguous((list.len() * length) as u64);
        if kind == 7 {
            list.reverse();
        }
        let (request, outcome) = match kind {
            0 => {
                let request = Request::Write { to: self.at(to, TARGET, offset), bytes: &written };
                (request, Outcome::Written { rank: to, offset, bytes })
            }
            1 => {
                let from = *local.insert(self.memories[rank].lend(written.iter().copied()));
                let request = Request::Put { from, to: self.at(to, TARGET, offset), bytes: bytes as u64 };
                (request, Outcome::Written { rank: to, offset, bytes })
            }
            2 => {
                let into = *local.insert(self.memories[rank].lend((0..bytes).map(|_| 0)));
                let request = Request::Get { from: self.at(to, SOURCE, offset), to: into, bytes: bytes as u64 };
                (request, Outcome::Fetched { offset })
            }
            3 => {
                let (from, to) = (self.at(to, SOURCE, offset % 256), self.at(third, TARGET, offset));
                (Request::Copy { from, to, bytes: bytes as u64 }, Outcome::Written { rank: third, offset, bytes })
            }
            4 => {
                let (writes, blocks) = (self.random.one_in(2), Blocks::Shape(&across));
                let bytes = |keep: bool| (offset..offset + covered).map(move |place| if keep { pattern(place) } else { 0 });
                let near = *local.insert(self.memories[rank].lend(bytes(writes)));
                if writes {
                    let to_address = self.at(to, TARGET, offset);
                    let request = Request::PutBlocks { from: near, from_shape: &across, to: to_address, blocks };
                    (request, Outcome::Written { rank: to, offset, bytes: covered })
                } else {
                    let from = self.at(to, SOURCE, offset);
                    (Request::GetBlocks { from, blocks, to: near, to_shape: &across }, Outcome::Fetched { offset })
                }
            }
            6 => {
                let into = *local.insert(self.memories[rank].lend((0..packed.block as usize).map(|_| 0)));
                let (from, blocks) = (self.at(to, SOURCE, offset), Blocks::List(&list));
                (Request::GetBlocks { from, blocks, to: into, to_shape: &packed }, Outcome::Fetched { offset })
            }
            7 => {
                let values = list.iter().flat_map(|block| {
                    let start = offset + block.offset as usize;
                    start..start + block.bytes as usize
                });
                let values: Vec<u8> = values.map(pattern).collect();
                let from = *local.insert(self.memories[rank].lend(values.into_iter()));
                let (to_address, blocks) = (self.at(to, TARGET, offset), Blocks::List(&list));
                let request = Request::PutBlocks { from, from_shape: &packed, to: to_address, blocks };
                (request, Outcome::Written { rank: to, offset, bytes: packed.block as usize })
            }
            _ => {
                let word = self.random.below(ATOMICS.len());
                let (width, operator, operand) = ATOMICS[word];
                (Request::Atomic { at: self.at(to, TARGET, 8 * word), width, operator, operand }, Outcome::Changed)
            }
        };
        if self.endpoints[rank].submit(self.now, peer, request, token).is_err() {
            local.into_iter().for_each(|local| drop(self.memories[rank].take_back(local)));
            return;
        }
        self.asked += 1;
        self.under_way.insert((rank, token), outcome);
        if matches!(request, Request::Atomic { at, .. } if at == self.at(to, TARGET, 0)) {
            self.additions[to] += 1;
        }
        if self.random.one_in(8) {
            self.endpoints[rank].fence(peer);
        }
        self.pump(rank);
    }

    /// # Panics
    /// The result of an operation is wrong.
    pub(crate) fn verify(&self, outcome: Outcome, local: Option<&[u8]>) {
        let (found, offset) = match outcome {
            Outcome::Written { rank, offset, bytes } => (&self.memories[rank].target()[offset..offset + bytes], offset),
            Outcome::Fetched { offset } => (local.unwrap_or_default(), offset),
            Outcome::Changed => return,
        };
        let wrong = (offset..).zip(found).find(|&(offset, &byte)| byte != pattern(offset));
        assert_eq!(wrong, None, "{outcome:?} is not what it should be, with the byte at");
    }

    /// # Panics
    /// An addition was executed twice, or not at all.
    pub(crate) fn check_additions(&self) {
        let sum = |rank: usize| self.memories[rank].target()[..8].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        assert_eq!([0, 1, 2].map(sum), self.additions, "additions that each rank was asked for");
    }

    fn at(&self, rank: usize, segment: u32, offset: usize) -> GlobalAddress {
        let segment = SegmentId::new(segment).expect("not 0");
        self.layout.encode(Rank::new(rank as u32), segment, offset as u64).expect("inside")
    }
}
