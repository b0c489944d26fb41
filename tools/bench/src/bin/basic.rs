//! Times blocking four-byte atomics of a context of one thread, and of one among contexts of several threads.
//!
//! Source of the values in `docs/evaluation/basic-layer.md` for shared memory and UDP, and for own memory on the simulated machine. Started by
//! `pelago run` or `pelago sim` with the argument `one` or `many` to select the context. Rank 0 prints a line of JSON with three times: for a
//! word of another rank; for a word of its own heap, reached by loads and stores; for a word of its own memory that the program registered,
//! reached by the transport.

use pelago::{Context, GlobalPtr, Result};

/// Atomics per sample, and number of samples, of which the median is printed.
const COUNT: u32 = 1000;
const SAMPLES: usize = 31;

fn main() -> Result<()> {
    let many = std::env::args().nth(1).is_some_and(|word| word == "many");
    pelago::run(|world| {
        let memory = world.alloc::<u32>(16)?;
        if world.rank().number() == 0 {
            let [there, here] = [world.rank().next(world.size()), world.rank()].map(|rank| memory.at(rank, 0));
            match many {
                // From here on, contexts take a lock where they use a transport.
                true => tell(&world.context_factory().context()?, "many", there, here)?,
                false => tell(world, "one", there, here)?,
            }
        }
        // The other ranks wait in the library.
        world.barrier()
    })
}

fn tell(context: &Context, threads: &str, there: GlobalPtr<u32>, here: GlobalPtr<u32>) -> Result<()> {
    let registered = context.register(vec![0_u32; 16])?;
    let [remote, local, registered] = [there, here, registered.ptr(0)].map(|word| median_us(context, word));
    let (remote, local, registered) = (remote?, local?, registered?);
    println!("{{\"threads\":\"{threads}\",\"remote_us\":{remote:.4},\"local_us\":{local:.4},\"registered_us\":{registered:.4}}}");
    Ok(())
}

/// Returns the median time of one atomic.
fn median_us(context: &Context, word: GlobalPtr<u32>) -> Result<f64> {
    let mut times = Vec::with_capacity(SAMPLES);
    for _ in 0..=SAMPLES {
        let start = context.now();
        for _ in 0..COUNT {
            context.fetch_add(word, 1)?.wait()?;
        }
        times.push((context.now() - start).as_seconds() * 1e6 / f64::from(COUNT));
    }
    // The first sample is a warm-up.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(times[SAMPLES / 2])
}
