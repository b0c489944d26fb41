//! Tutorial: a table of results that all ranks update under a lock. The data moves to the rank that acquires the lock.

use pelago::dsm::Shared;
use pelago::prelude::*;

const TURNS: u64 = 100;

fn main() -> pelago::Result<()> {
    pelago::run(|world| {
        // Collective. Rank 0 is the home: its memory holds the words of the lock. The table has a count, a sum, and a maximum.
        let mut results = Shared::<[u64]>::new(world, Rank::new(0), vec![0; 3])?;

        for turn in 0..TURNS {
            let found = u64::from(world.rank().number()) * TURNS + turn;
            // Exclusive access until the release. The guard shows everything that the previous holder wrote.
            let mut guard = results.write()?;
            guard[0] += 1;
            guard[1] += found;
            guard[2] = guard[2].max(found);
            guard.release()?;
        }
        world.barrier()?;

        // Several readers may hold the lock at the same time. The data is accessible only while the guard exists.
        let seen = results.read()?;
        if world.rank().number() == 0 {
            println!("{} results, sum {}, maximum {}", seen[0], seen[1], seen[2]);
        }
        seen.release()
    })
}
