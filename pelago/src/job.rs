//! A rank that takes part from one call to another, for bindings to languages whose programs have no body to hand over.

use std::ops::Deref;

use pelago_platform::{BootstrapError, Park};

use crate::{Error, Result, World, processes, run, wiring};

/// A rank that takes part, as in [`run`](crate::run), between [`join`](Self::join) and [`leave`](Self::leave).
pub struct Job {
    kind: Kind,
}

enum Kind {
    /// A process of its own.
    Process(wiring::Joined),
    /// One of [`processes`](crate::processes).
    Simulated(World),
}

impl Job {
    /// Takes part in the job that a launcher started, or in one of this rank alone; as the running rank of [`processes`](crate::processes),
    /// in the simulated job. Once in a process: what a launcher leaves for a rank is used up. Collective. If a launched job is at fault before
    /// all have come, the process exits without a word: the launcher tells.
    ///
    /// # Errors
    /// The process cannot take part; it is to be simulated, which needs a body for each rank; a rank was lost before all had come.
    pub fn join() -> Result<Self> {
        if let Some(joined) = processes::join() {
            return joined.map(|world| Self { kind: Kind::Simulated(world) });
        }
        if wiring::request()?.is_some() {
            let why = "only the body that pelago::run is given can be simulated, or a program linked with libacp.so".into();
            return Err(BootstrapError::Start(why).into());
        }
        match wiring::join() {
            Err(Error::Bootstrap(BootstrapError::Fault(fault))) if wiring::is_launched() => run::leave(fault),
            joined => Ok(Self { kind: Kind::Process(joined?) }),
        }
    }

    /// Ends this rank's part of the job in good order, when every rank does; nothing may be done with the job afterwards. Collective.
    ///
    /// # Errors
    /// As [`World::finish`].
    pub fn leave(&self) -> Result<()> {
        let left = World::leave(self);
        match &self.kind {
            Kind::Process(joined) => run::tell_counted(joined.world.rank(), &joined.counters),
            Kind::Simulated(_) if left.is_ok() => processes::left(),
            Kind::Simulated(_) => {}
        }
        left
    }

    /// With which exit code this process has to end without a word, because the job is at fault and its launcher tells why in one line.
    pub fn exit_code(&self) -> Option<i32> {
        match &self.kind {
            Kind::Process(joined) => joined.park.fault().filter(|_| wiring::is_launched()).map(run::exit_code),
            Kind::Simulated(_) => processes::exit_code(),
        }
    }
}

impl Deref for Job {
    type Target = World;

    fn deref(&self) -> &World {
        match &self.kind {
            Kind::Process(joined) => &joined.world,
            Kind::Simulated(world) => world,
        }
    }
}
