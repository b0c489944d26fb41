//! A rank that takes part from one call to another, for bindings to languages whose programs have no body to hand over.

use std::ops::Deref;

use pelago_platform::{BootstrapError, Park};

use crate::{Error, Result, World, run, wiring};

/// A rank that takes part, as in [`run`](crate::run), between [`join`](Self::join) and [`leave`](Self::leave).
pub struct Job {
    joined: wiring::Joined,
}

impl Job {
    /// Takes part in the job that a launcher started, or in one of this rank alone. Once in a process: what a launcher leaves for a rank is
    /// used up. Collective. If a launched job is at fault before all have come, the process exits without a word: the launcher tells.
    ///
    /// # Errors
    /// The process cannot take part; it is to be simulated, which needs a body for each rank; a rank was lost before all had come.
    pub fn join() -> Result<Self> {
        if wiring::simulation()?.is_some() {
            let why = "a simulation runs the body that pelago::run is given, and this program has none".into();
            return Err(BootstrapError::Start(why).into());
        }
        match wiring::join() {
            Err(Error::Bootstrap(BootstrapError::Fault(fault))) if wiring::is_launched() => run::leave(fault),
            joined => Ok(Self { joined: joined? }),
        }
    }

    /// Ends this rank's part of the job in good order, when every rank does; nothing may be done with the job afterwards. Collective.
    ///
    /// # Errors
    /// As [`World::finish`].
    pub fn leave(&self) -> Result<()> {
        let left = self.joined.world.leave();
        run::tell_counted(self.joined.world.rank(), &self.joined.counters);
        left
    }

    /// With which exit code this process has to end without a word, because the job is at fault and its launcher tells why in one line.
    pub fn exit_code(&self) -> Option<i32> {
        self.joined.park.fault().filter(|_| wiring::is_launched()).map(run::exit_code)
    }
}

impl Deref for Job {
    type Target = World;

    fn deref(&self) -> &World {
        &self.joined.world
    }
}
