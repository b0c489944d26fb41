//! Tutorial: dynamic load balancing. Ranks claim rows of the Mandelbrot set from one shared counter until no row is left.

use pelago::dsm::Counter;
use pelago::prelude::*;

const SIZE: u64 = 256;
const ITERATIONS: u32 = 500;

fn main() -> pelago::Result<()> {
    pelago::run(|world| {
        // Collective. The counter is in the memory of rank 0. A claim is a get and a remote atomic; rank 0 takes no part in it.
        let rows = Counter::new(world, Rank::new(0), 0)?;

        // Rows take different times. A rank that has finished four rows claims the next four.
        let mut inside = 0;
        while let Some(claimed) = rows.claim(4, SIZE)? {
            for row in claimed {
                inside += (0..SIZE).filter(|&column| is_inside(row, column)).count() as u64;
            }
        }

        let mut total = [inside];
        world.allreduce(&mut total, |one, other| one + other)?;
        if world.rank().number() == 0 {
            println!("{} of {} points are inside", total[0], SIZE * SIZE);
        }
        Ok(())
    })
}

/// Returns whether the iteration z² + c stays bounded.
fn is_inside(row: u64, column: u64) -> bool {
    let place = |number: u64| number as f64 / SIZE as f64 * 3.0;
    let (real, imaginary) = (place(column) - 2.0, place(row) - 1.5);
    let (mut x, mut y) = (0.0, 0.0);
    for _ in 0..ITERATIONS {
        (x, y) = (x * x - y * y + real, 2.0 * x * y + imaginary);
        if x * x + y * y > 4.0 {
            return false;
        }
    }
    true
}
