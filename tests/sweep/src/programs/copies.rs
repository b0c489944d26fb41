//! Ranks put, get and copy between disjoint regions of any length and alignment. At the end, each byte equals the result of the
//! same transfers in plain memory.

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Bytes of each rank, and maximum bytes of a transfer.
const BYTES: usize = 96 << 10;
const TRANSFER_MAX: u64 = 64 << 10;

/// Maximum number of bytes between two regions.
const GAP_MAX: u64 = 40;

/// Maximum number of transfers in flight before the first is waited for.
const UNDER_WAY_MAX: usize = 8;

pub(super) struct Copies {
    seed: u64,
    phases: Vec<Vec<Transfer>>,
    /// The memory of each position before each phase, and after the last.
    images: Vec<Vec<Vec<u8>>>,
}

#[derive(Clone, Copy)]
struct Transfer {
    by: u32,
    number: u64,
    way: Way,
    bytes: usize,
}

#[derive(Clone, Copy)]
enum Way {
    Put { to: Region },
    Get { from: Region },
    Copy { from: Region, to: Region },
}

/// The start of a region.
#[derive(Clone, Copy)]
struct Region {
    position: u32,
    first: usize,
}

impl Copies {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let seed = random.draw();
        let of_each = random.within(1, if size > 6 { 3 } else { 5 });
        let phases: Vec<Vec<Transfer>> =
            (0..random.within(1, 2)).map(|_| plan(random, size, of_each * u64::from(size))).collect();
        let mut images: Vec<Vec<Vec<u8>>> = vec![(0..size).map(|position| content(seed, position.into(), BYTES)).collect()];
        for (before, phase) in phases.iter().enumerate() {
            let mut image = images[before].clone();
            phase.iter().for_each(|transfer| transfer.do_plainly(seed, &images[before], &mut image));
            images.push(image);
        }
        Self { seed, phases, images }
    }
}

/// Returns `count` transfers between disjoint regions.
fn plan(random: &mut Random, size: u32, count: u64) -> Vec<Transfer> {
    let mut used = vec![0; size as usize];
    let mut transfers = Vec::new();
    for number in 0..count {
        let (by, kind, bytes) = (random.below(size.into()) as u32, random.below(3), random.spread(TRANSFER_MAX) as usize);
        let (mut bytes_left, mut regions) = (bytes, [None; 2]);
        for region in &mut regions[..if kind == 2 { 2 } else { 1 }] {
            let position = random.below(size.into()) as u32;
            let first = used[position as usize] + random.within(0, GAP_MAX) as usize;
            bytes_left = bytes_left.min(BYTES.saturating_sub(first));
            used[position as usize] = (first + bytes_left).min(BYTES);
            *region = Some(Region { position, first });
        }
        let way = match (kind, regions) {
            (0, [Some(to), _]) => Way::Put { to },
            (1, [Some(from), _]) => Way::Get { from },
            (_, [Some(from), Some(to)]) => Way::Copy { from, to },
            _ => continue,
        };
        if bytes_left > 0 {
            transfers.push(Transfer { by, number, way, bytes: bytes_left });
        }
    }
    transfers
}

impl Transfer {
    /// Performs the transfer in plain memory.
    fn do_plainly(&self, seed: u64, before: &[Vec<u8>], after: &mut [Vec<u8>]) {
        let bytes = match self.way {
            Way::Put { .. } => self.content(seed),
            Way::Get { from } | Way::Copy { from, .. } => from.of(before, self.bytes).to_vec(),
        };
        if let Way::Put { to } | Way::Copy { to, .. } = self.way {
            after[to.position as usize][to.first..to.first + self.bytes].copy_from_slice(&bytes);
        }
    }

    /// Returns the data of a put.
    fn content(&self, seed: u64) -> Vec<u8> {
        content(seed, 1000 + self.number, self.bytes)
    }
}

impl Region {
    fn of(self, memory: &[Vec<u8>], bytes: usize) -> &[u8] {
        &memory[self.position as usize][self.first..self.first + bytes]
    }
}

impl Act for Copies {
    fn memory(&self) -> Memory {
        Memory { words: 0, bytes: BYTES }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        crew.fill(&self.images[0][crew.position() as usize]);
        crew.meet(None)?;
        let mut random = Random::of(self.seed, crew.position().into());
        for (phase, transfers) in self.phases.iter().enumerate() {
            let (before, after) = (&self.images[phase], &self.images[phase + 1]);
            let mut under_way = Vec::new();
            for transfer in transfers.iter().filter(|transfer| transfer.by == crew.position()) {
                crew.pause();
                let at = |region: Region| crew.byte(region.position, region.first);
                match transfer.way {
                    Way::Put { to } => under_way.push(crew.world().put(at(to), &transfer.content(self.seed))?),
                    Way::Copy { from, to } => under_way.push(crew.world().copy(at(from), at(to), transfer.bytes)?),
                    Way::Get { from } => {
                        let mut found = vec![0; transfer.bytes];
                        crew.world().get_into(at(from), &mut found)?;
                        let wrong = first_difference(&found, from.of(before, transfer.bytes));
                        let Region { position, first } = from;
                        demand!(
                            wrong.is_none(),
                            "byte {} of a get from {first} of position {position}",
                            wrong.unwrap_or_default()
                        );
                    }
                }
                if under_way.len() >= UNDER_WAY_MAX || random.one_in(4) {
                    crew.world().wait_all(&under_way)?;
                    under_way.clear();
                }
            }
            crew.meet(None)?;
            let wrong = first_difference(&crew.content(), &after[crew.position() as usize]);
            demand!(wrong.is_none(), "byte {} is wrong after phase {phase}", wrong.unwrap_or_default());
            crew.meet(None)?;
        }
        Ok(())
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other { None } else { one.iter().zip(other).position(|(one, other)| one != other) }
}

fn content(seed: u64, part: u64, bytes: usize) -> Vec<u8> {
    let words = (0..bytes.div_ceil(8) as u64).flat_map(|index| stamp(seed, [part, index, 0]).to_le_bytes());
    words.take(bytes).collect()
}
