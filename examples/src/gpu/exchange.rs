//! Rounds in which every rank writes a part of another rank's memory, by each kind of operation in turn.
//!
//! Each rank has two memories. In a round one of them is read and the other is written, each part of it by one rank, so that no two operations
//! conflict; then they swap roles. Thus the result depends only on the numbers of ranks, words and rounds, not on memory kind or transport.

use pelago::cuda::Device;
use pelago::{GlobalPtr, Handle, Shape, World};

use super::Memory;

/// Executes the rounds; returns the hash of all memory. Collective.
pub(super) fn exchange(
    world: &World,
    device: Option<&Device>,
    is_managed: bool,
    words: usize,
    rounds: u32,
) -> pelago::Result<u64> {
    let memories = [Memory::new(world, device, is_managed, words)?, Memory::new(world, device, is_managed, words)?];
    let starts = [memories[0].starts(world)?, memories[1].starts(world)?];
    let (me, ranks) = (world.rank().index(), world.size() as usize);
    // The first word of each memory is a counter; the rest is divided among the ranks.
    let part = (words - 1) / ranks;
    let first = |rank: usize| (1 + rank * part) as u64;
    let numbers =
        |round: usize| (0..part as u64).map(|word| mix(word ^ (me as u64) << 32 ^ (round as u64) << 48)).collect::<Vec<_>>();
    for start in starts.iter().map(|starts| starts[me]) {
        world.put(start, &(0..words as u64).map(|word| mix(word ^ (me as u64) << 40)).collect::<Vec<_>>())?.wait()?;
    }
    world.barrier()?;
    let mut now = 0;
    for round in 0..rounds as usize {
        let (read, written) = (&starts[now], &starts[1 - now]);
        // In each round, every rank writes its part of another rank's memory; over all rounds it writes to every rank.
        let target = (me + round) % ranks;
        let source = read[(me + 2 * round + 1) % ranks].add(first(target));
        let to = written[target].add(first(me));
        write(world, (me + round) % 5, source, to, part, &numbers(round))?.wait()?;
        for &counter in written {
            world.fetch_add(counter, (round * ranks + me + 1) as u64)?.wait()?;
        }
        world.barrier()?;
        now = 1 - now;
    }
    let mut hash = [0u64];
    for (number, start) in starts.iter().map(|starts| starts[me]).enumerate() {
        let mut all = vec![0; words];
        world.get_into(start, &mut all)?;
        let place = |index: usize| mix((me * 2 + number) as u64) ^ index as u64;
        hash[0] = all
            .iter()
            .enumerate()
            .fold(hash[0], |hash, (index, &word)| hash.wrapping_add(mix(place(index)).wrapping_mul(word | 1)));
    }
    world.allreduce(&mut hash, u64::wrapping_add)?;
    // No rank may free memory that another rank still reads.
    world.barrier()?;
    Ok(hash[0])
}

/// Writes `part` words to `to`, by one of five kinds of operations.
fn write<'w>(
    world: &'w World,
    kind: usize,
    from: GlobalPtr<u64>,
    to: GlobalPtr<u64>,
    part: usize,
    numbers: &[u64],
) -> pelago::Result<Handle<'w>> {
    match kind {
        0 => world.put(to, numbers),
        1 => world.copy(from, to, part),
        2 => {
            let mut words = vec![0; part];
            world.get_into(from, &mut words)?;
            world.put(to, &words)
        }
        3 => {
            // Every second pair of words; the words in between stay unchanged.
            let count = part as u64 / 4;
            world.put_strided(to, Shape::strided(count, 2, 4), &numbers[..2 * count as usize], Shape::strided(count, 2, 2))
        }
        _ => {
            let heap = world.alloc_individual::<u64>(part)?;
            world.copy(from, heap.ptr(0), part)?.wait()?;
            world.copy(heap.ptr(0), to, part)?.wait()?;
            Ok(Handle::done())
        }
    }
}

/// Returns a 64-bit number that depends on all bits of `number` (splitmix64).
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
