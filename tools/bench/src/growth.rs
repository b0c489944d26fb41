//! What a rank keeps of the others: a rank of a job however large, which talks to some of them.
//!
//! It does nothing that all ranks must take part in, so that of such a job only those need exist to whom it talks.

use pelago::{AddressLayout, GlobalPtr, Rank, SegmentId};

use crate::error::{Error, Result, check};
use crate::rank::usage::taken_bytes;

/// Joins the job, writes, reads and counts up the first word of `peers` ranks from `first` on, says on standard output how much memory
/// it has taken for itself, in bytes, and exits without waiting for anybody.
///
/// `heap_bytes` is the size of the job's heaps.
///
/// # Errors
/// The process is no rank of such a job, or a peer does not answer, or answers wrongly.
pub fn talk(heap_bytes: u64, first: u32, peers: u32) -> Result<()> {
    pelago::run(|world| {
        let layout = AddressLayout::new(world.size(), heap_bytes).map_err(|error| refused(&error.to_string()))?;
        for rank in (first..first + peers).map(Rank::new) {
            let address = layout.encode(rank, SegmentId::SYMMETRIC, 0).map_err(|error| refused(&error.to_string()))?;
            let word = GlobalPtr::<u64>::from_address(address).map_err(pelago::Error::from)?;
            let number = u64::from(rank);
            world.put(word, &[number])?.wait()?;
            check("a word that was got", world.get(word)?, number)?;
            check("a word that was fetched", world.fetch_add(word, 1)?.wait()?, number)?;
        }
        println!("{}", taken_bytes()?);
        std::process::exit(0)
    })
}

/// Meets all ranks in two barriers; rank 0 then says on standard output how much memory the process has taken for itself, in bytes. In a
/// simulated job this is the memory of all ranks.
///
/// # Errors
/// The job cannot start, or is at fault.
pub fn meet() -> Result<()> {
    pelago::run(|world| {
        world.barrier()?;
        world.barrier()?;
        if world.rank() == Rank::new(0) {
            println!("{}", taken_bytes()?);
        }
        Ok(())
    })
}

fn refused(why: &str) -> Error {
    Error::System("cannot talk to a rank", std::io::Error::other(why))
}
