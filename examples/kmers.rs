//! Tutorial: all ranks count the k-mers (words of length k) of one DNA sequence in a hash table that is spread over all ranks.

use pelago::containers::{GlobalHeap, GlobalMultiset};

const K: usize = 4;
const BASES: usize = 10_000;

fn main() -> pelago::Result<()> {
    pelago::run(|world| {
        // Every rank generates the same sequence. A real program reads a file, as `pelago run kmers FILE` does.
        let sequence = sequence();
        let words = BASES - K + 1;

        // Collective: 1 MiB of global memory per rank, and a table with 256 buckets per rank.
        let heap = GlobalHeap::new(world, 1 << 20)?;
        let table = GlobalMultiset::<u64>::new(&heap, 256)?;

        // Each rank counts its share of the words. An insertion is a few one-sided operations on the rank that owns the bucket.
        let (rank, ranks) = (world.rank().index(), world.size() as usize);
        for at in (rank * words / ranks)..((rank + 1) * words / ranks) {
            table.insert(&packed(&sequence[at..at + K]), 1)?;
        }
        world.barrier()?;

        // Each rank sums over its own part of the table; the reduction adds the parts.
        let (mut different, mut total) = (0, 0);
        table.for_each_local(|_word, count| {
            different += 1;
            total += count;
        })?;
        let mut sums = [different, total];
        world.allreduce(&mut sums, |one, other| one + other)?;
        if world.rank().number() == 0 {
            println!("{} different words of length {K} among {}", sums[0], sums[1]);
            println!("AAAA occurs {} times", table.count(&packed(b"AAAA"))?);
        }
        world.barrier()
    })
}

/// Generates a sequence of bases by a linear congruential generator.
fn sequence() -> Vec<u8> {
    let mut state = 1_u64;
    let mut base = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b"ACGT"[(state >> 62) as usize]
    };
    (0..BASES).map(|_| base()).collect()
}

/// Packs a word into two bits per base.
fn packed(word: &[u8]) -> u64 {
    word.iter().fold(0, |packed, base| packed << 2 | b"ACGT".iter().position(|letter| letter == base).expect("a base") as u64)
}
