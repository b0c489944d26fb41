//! The actions of the ranks, written like a user's program, and the expected results.
//!
//! Each file has one program: its parameters, which all ranks draw from the seed in the same way, the state that ranks keep
//! outside of the simulated memory, and the checks of each rank.

mod active;
mod atomics;
mod barriers;
mod chains;
mod channels;
mod collectives;
mod containers;
mod copies;
mod halos;
mod locks;
mod mailboxes;
mod plans;
mod rails;
mod ring;
mod shapes;
mod shared;
mod talks;
mod teams;

use pelago_base::Duration;
use pelago_rma::World;

use crate::crew::Act;
use crate::program::{Memory, Program, Room, Trouble, demand};
use crate::random::Random;

/// Returns a program for `size` ranks, with its parameters.
pub(crate) fn stage(program: Program, random: &mut Random, size: u32) -> Box<dyn Act> {
    match program {
        Program::Ring => Box::new(ring::Ring::new(random)),
        Program::Barriers => Box::new(barriers::Barriers::new(random, size)),
        Program::Atomics => Box::new(atomics::Atomics::new(random, size)),
        Program::Locks => Box::new(locks::Locks::new(random, size)),
        Program::Copies => Box::new(copies::Copies::new(random, size)),
        Program::Chains => Box::new(chains::Chains::new(random, size)),
        Program::Collectives => Box::new(collectives::Collectives::new(random)),
        Program::Mailboxes => Box::new(mailboxes::Mailboxes::new(random, size)),
        Program::Channels => Box::new(channels::Channels::new(random)),
        Program::Halos => Box::new(halos::Halos::new(random, size)),
        Program::Rails => Box::new(rails::Rails::new(random, size)),
        Program::Plans => Box::new(plans::Plans::new(random, size)),
        Program::Containers => Box::new(containers::Containers::new(random, size)),
        Program::Shared => Box::new(shared::SharedData::new(random, size)),
        Program::Shapes => Box::new(shapes::Shapes::new(random, size)),
        Program::Active => Box::new(active::Active::new(random, size)),
        Program::Teams => Box::new(teams::Teams::new(random, size)),
        Program::Talks => Box::new(talks::Talks::new(random)),
        Program::Acp(_) | Program::Shmem(_) => unreachable!("its ranks are those of another process"),
    }
}

/// The first pause after an unsuccessful poll, and the maximum number of doublings.
const PAUSE: Duration = Duration::from_microseconds(5);
const DOUBLED_MAX: u32 = 11;

/// Computes for a random time after `tries` unsuccessful polls.
fn rest(world: &World, random: &mut Random, tries: u32) {
    let pause = PAUSE.as_picoseconds() << tries.min(DOUBLED_MAX);
    world.compute(Duration::from_picoseconds(random.within(pause / 2, pause)));
}
