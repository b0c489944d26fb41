//! T3 once and T4 visible for all operations together: generated operations of all ranks against an oracle.

use fastrand::Rng;
use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Operation, Token};

use super::Fixture;
use super::world::{Memory, World, contents, expect, local, pick, random_bytes};
use crate::captured::ends;

/// Number of runs, each with its own seed.
const SEEDS: u64 = 12;

/// Number of ranks; three, so that a rank may post a copy of which it is neither end.
const RANKS: u32 = 3;

/// Number of operations in a run.
const OPERATIONS: u32 = 400;

/// Operations of three ranks have the same effects and results on memory as the same operations, one after another, on an array of bytes.
///
/// Many are in flight at once. One that overlaps another in memory is ordered after it: by a fence where both go from the same rank to
/// the same peer, by waiting otherwise. The message of a failure contains the seed.
pub fn operations_agree_with_an_oracle<F: Fixture>(make: impl Fn(u32) -> F) {
    for seed in 0..SEEDS {
        let mut world = World::new(&make, RANKS);
        world.about(format!("seed {seed}"));
        let memory = world.fill(seed);
        Run { world, memory, random: Rng::with_seed(seed), flying: Vec::new() }.go(seed);
    }
}

struct Run<F> {
    world: World<F>,
    /// Expected contents of memory when everything posted so far has taken effect.
    memory: Memory,
    random: Rng,
    flying: Vec<Flying>,
}

struct Flying {
    token: Token,
    poster: Rank,
    peer: Rank,
    spans: Vec<Span>,
    operation: Operation<'static>,
    found: u64,
    fetched: Option<(Cells<'static>, Vec<u8>)>,
}

impl Flying {
    fn meets(&self, spans: &[Span]) -> bool {
        self.spans.iter().any(|one| spans.iter().any(|other| one.meets(other)))
    }
}

impl<F: Fixture> Run<F> {
    fn go(mut self, seed: u64) {
        for step in 0..OPERATIONS {
            self.world.about(format!("seed {seed}, operation {step}"));
            self.post_one();
            if self.random.u32(..1000) < 100 {
                self.world.turn();
            }
            if self.random.u32(..1000) < 20 {
                self.compare();
            }
        }
        self.compare();
    }

    fn post_one(&mut self) {
        let poster = Rank::new(self.random.u32(..RANKS));
        let operation = operation(&self.world, &mut self.random);
        let layout = self.world.layout();
        let (peer, spans) = (ends(layout, &operation)[0], spans(layout, &operation));
        if let [from, to] = &spans[..]
            && from.meets(to)
        {
            return; // A copy onto itself has no defined outcome.
        }
        self.order_after_what_it_meets(poster, peer, &spans);
        let (found, fetched) = perform(&mut self.memory, layout, &operation);
        let token = self.world.post(poster, operation);
        self.flying.push(Flying { token, poster, peer, spans, operation, found, fetched });
    }

    fn order_after_what_it_meets(&mut self, poster: Rank, peer: Rank, spans: &[Span]) {
        let under_way = self.flying.iter().filter(|other| self.world.is_pending(other.token));
        let met = under_way.filter(|other| other.meets(spans)).collect::<Vec<_>>();
        if met.is_empty() {
            return;
        }
        if met.iter().all(|other| (other.poster, other.peer) == (poster, peer)) && self.random.u32(..1000) < 700 {
            self.world.fence(poster, peer);
        } else {
            for other in met {
                let _ = self.world.wait(other.token);
            }
        }
    }

    fn compare(&mut self) {
        self.world.quiet();
        for Flying { token, poster, operation, found, fetched, .. } in self.flying.drain(..) {
            assert_eq!(self.world.wait(token), Ok(found), "{}: {operation:?} by rank {poster}", self.world.name());
            if let Some((to, fetched)) = fetched {
                assert!(contents(to) == fetched, "{}: {operation:?} by rank {poster} fetched other bytes", self.world.name());
            }
        }
        self.world.expect_memory(&self.memory, "after all that was posted");
    }
}

/// A random operation on registered memory; half of all places are near the start of a segment, so that operations overlap.
pub(super) fn operation<F: Fixture>(world: &World<F>, random: &mut Rng) -> Operation<'static> {
    use AtomicOperator::*;
    let most = [0, 8, 64, 64, 64, 600, 3000];
    let bytes = pick(random, &most);
    let bytes = random.u64(..=bytes);
    match random.u64(..5) {
        0 => Operation::Write {
            to: place(world, random, bytes.min(64)),
            bytes: random_bytes(random, bytes.min(64) as usize).leak(),
        },
        1 => Operation::Put { from: local(&random_bytes(random, bytes as usize)), to: place(world, random, bytes) },
        2 => Operation::Get { from: place(world, random, bytes), to: local(&vec![0; bytes as usize]) },
        3 => Operation::Copy { from: place(world, random, bytes), to: place(world, random, bytes), bytes },
        _ => {
            let width = pick(random, &[Width::Four, Width::Eight]);
            let place = place(world, random, 8);
            let at = GlobalAddress::from_bits(place.bits() / 8 * 8 + pick(random, &[0, 8 - width.bytes()]));
            let expected = random.u64(..3);
            let operator =
                pick(random, &[Load, Swap, CompareSwap { expected }, Add, And, Or, Xor, Max, Min, MaxSigned, MinSigned]);
            Operation::Atomic { at, width, operator, operand: random.u64(..) >> pick(random, &[0, 32, 62]) }
        }
    }
}

/// An address from which `bytes` bytes are inside a segment.
fn place<F: Fixture>(world: &World<F>, random: &mut Rng, bytes: u64) -> GlobalAddress {
    let rank = Rank::new(random.u32(..RANKS));
    let segment = pick(random, &world.segments());
    let last = world.segment_bytes(segment) - bytes;
    let offset = pick(random, &[last.min(128), last]);
    world.address(rank, segment, random.u64(..offset.max(1)))
}

/// Performs an operation on the oracle. Returns its result and the contents of its local memory afterwards.
fn perform(
    memory: &mut Memory,
    layout: AddressLayout,
    operation: &Operation<'static>,
) -> (u64, Option<(Cells<'static>, Vec<u8>)>) {
    let spans = spans(layout, operation);
    match *operation {
        Operation::Write { bytes, .. } => set(memory, &spans[0], bytes),
        Operation::Put { from, .. } => set(memory, &spans[0], &contents(from)),
        Operation::Get { to, .. } => return (0, Some((to, look(memory, &spans[0])))),
        Operation::Copy { .. } => {
            let bytes = look(memory, &spans[0]);
            set(memory, &spans[1], &bytes);
        }
        Operation::Atomic { width, operator, operand, .. } => {
            let mut word = [0; 8];
            let bytes = width.bytes() as usize;
            word[..bytes].copy_from_slice(&look(memory, &spans[0]));
            let found = u64::from_le_bytes(word);
            let left = operator.apply(width, found, operand).to_le_bytes();
            set(memory, &spans[0], &left[..bytes]);
            return (found, None);
        }
        Operation::Signalled { .. } | Operation::PutBlocks { .. } | Operation::GetBlocks { .. } | Operation::Sized(_) => {
            unreachable!("none is generated")
        }
    }
    (0, None)
}

fn set(memory: &mut Memory, at: &Span, bytes: &[u8]) {
    expect(memory, at.rank, at.segment, at.start, bytes);
}

fn look(memory: &Memory, at: &Span) -> Vec<u8> {
    memory[&(at.rank, at.segment)][at.start as usize..at.end as usize].to_vec()
}

/// Bytes that an operation reads or writes.
struct Span {
    rank: Rank,
    segment: SegmentId,
    start: u64,
    end: u64,
    writes: bool,
}

impl Span {
    fn meets(&self, other: &Self) -> bool {
        (self.writes || other.writes)
            && (self.rank, self.segment) == (other.rank, other.segment)
            && self.start < other.end
            && other.start < self.end
    }
}

/// The spans that an operation accesses: for a `Copy` first the source, then the target.
fn spans(layout: AddressLayout, operation: &Operation<'_>) -> Vec<Span> {
    let span = |at: GlobalAddress, bytes: u64, writes: bool| Span {
        rank: layout.rank(at),
        segment: layout.segment(at).expect("generated addresses have a segment"),
        start: layout.offset(at),
        end: layout.offset(at) + bytes,
        writes,
    };
    match *operation {
        Operation::Write { to, bytes } => vec![span(to, bytes.len() as u64, true)],
        Operation::Put { from, to } => vec![span(to, from.bytes() as u64, true)],
        Operation::Get { from, to } => vec![span(from, to.bytes() as u64, false)],
        Operation::Copy { from, to, bytes } => vec![span(from, bytes, false), span(to, bytes, true)],
        Operation::Atomic { at, width, .. } => vec![span(at, width.bytes(), true)],
        Operation::Signalled { .. } | Operation::PutBlocks { .. } | Operation::GetBlocks { .. } | Operation::Sized(_) => {
            unreachable!("none is generated")
        }
    }
}
