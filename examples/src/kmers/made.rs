//! Generated sequences: random reads of a random genome, half of them of the opposite strand.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// Bases of a read.
const READ_BASES: usize = 150;

/// Average number of reads of each base of the genome.
const DEPTH: u64 = 10;

/// A pseudo-random number generator.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Writes a file of at least `bases` bases.
pub(crate) fn write(path: &Path, bases: u64, seed: u64) -> Result<()> {
    let mut chance = Chance(seed);
    let genome: Vec<u8> = (0..(bases / DEPTH).max(READ_BASES as u64)).map(|_| b"ACGT"[chance.below(4) as usize]).collect();
    let mut out = BufWriter::new(File::create(path)?);
    for number in 0..bases.div_ceil(READ_BASES as u64) {
        let start = chance.below((genome.len() - READ_BASES) as u64 + 1) as usize;
        let mut read = genome[start..start + READ_BASES].to_vec();
        if chance.below(2) == 0 {
            read.reverse();
            read.iter_mut().for_each(|base| *base = opposite(*base));
        }
        writeln!(out, ">{number}")?;
        out.write_all(&read)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn opposite(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    }
}
