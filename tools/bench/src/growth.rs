//! Memory that a rank needs for other ranks: a rank of an arbitrarily large job communicates with some of them.
//!
//! The rank calls no collective operation, so that only its peers need to exist.

use pelago::{AddressLayout, GlobalPtr, Rank, SegmentId};

use crate::error::{Error, Result, check};
use crate::rank::usage::taken_bytes;

/// Joins the job; writes, reads and increments the first word of `peers` ranks from `first` on; prints its private memory in bytes; and exits
/// without waiting for other ranks.
///
/// `heap_bytes` is the size of the job's heaps.
///
/// # Errors
/// The process is not a rank of such a job, or a peer does not answer, or an answer is wrong.
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

/// Calls two barriers; rank 0 then prints the private memory of the process in bytes. In a simulated job this is the memory of all ranks.
///
/// # Errors
/// The job cannot start, or fails.
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
