//! Tutorial: a program whose computing time is declared, so that a simulated machine can replace the real one.

use pelago::{Duration, Instant};

const ROUNDS: u32 = 10;

fn main() -> pelago::Result<()> {
    pelago::run(|world| {
        let right = world.rank().next(world.size());
        let inbox = world.alloc::<f64>(1024)?;
        let values = vec![f64::from(world.rank().number()); 1024];
        world.barrier()?;
        let start: Instant = world.now();
        for _ in 0..ROUNDS {
            // In a simulation with `--compute declared` this takes 50 µs of virtual time. On a real machine it does nothing: a real program
            // also has the computation itself here.
            world.compute(Duration::from_microseconds(50));
            world.put(inbox.at(right, 0), &values)?.wait()?;
            world.barrier()?;
        }
        let mut slowest = [(world.now() - start).as_picoseconds()];
        world.allreduce(&mut slowest, u64::max)?;
        if world.rank().number() == 0 {
            let microseconds = Duration::from_picoseconds(slowest[0] / u64::from(ROUNDS)).as_seconds() * 1e6;
            println!("{} ranks: {microseconds:.3} us for each round", world.size());
        }
        Ok(())
    })
}
