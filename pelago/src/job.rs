//! A rank that takes part from one call to another, for bindings to languages whose programs have no body to hand over.

use std::ops::Deref;

#[cfg(feature = "simulation")]
use pelago_platform::BootstrapError;
use pelago_platform::Wait;

#[cfg(feature = "simulation")]
use crate::simulation::processes;
use crate::wiring::launched;
use crate::{Result, World, run};

/// A rank that takes part, as in [`run`](crate::run), between [`join`](Self::join) and [`leave`](Self::leave).
pub struct Job {
    kind: Kind,
}

enum Kind {
    /// A process of its own.
    Process(launched::Joined),
    /// One of [`processes`].
    #[cfg(feature = "simulation")]
    Simulated(World),
}

impl Job {
    /// Takes part in the job that a launcher started, or in one of this rank alone; as the running rank of `pelago::processes`, in the
    /// simulated job. Once in a process: what a launcher leaves for a rank is used up. Collective. If a launched job is at fault before
    /// all have come, the process exits, and who watches over the job tells.
    ///
    /// # Errors
    /// The process cannot take part; it is to be simulated, which needs a body for each rank; a rank was lost before all had come.
    pub fn join() -> Result<Self> {
        #[cfg(feature = "simulation")]
        if let Some(joined) = processes::join() {
            return joined.map(|world| Self { kind: Kind::Simulated(world) });
        }
        #[cfg(feature = "simulation")]
        if crate::wiring::simulated::request()?.is_some() {
            let why = "only the body that pelago::run is given can be simulated, or a program linked with libacp.so".into();
            return Err(BootstrapError::Start(why).into());
        }
        #[cfg(not(feature = "simulation"))]
        launched::refuse_simulation()?;
        Ok(Self { kind: Kind::Process(run::join()?) })
    }

    /// Ends this rank's part of the job in good order, when every rank does; nothing may be done with the job afterwards. Collective.
    ///
    /// # Errors
    /// As [`World::finish`].
    pub fn leave(&self) -> Result<()> {
        let left = World::leave(self);
        match &self.kind {
            Kind::Process(joined) => run::tell_at_end(joined.world.rank(), &joined.counters, joined.record.as_ref()),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) if left.is_ok() => processes::left(),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) => {}
        }
        left
    }

    /// Ends the job for all ranks, without an error, for a process that exits with code 0 directly afterwards. Waits of the other ranks end with
    /// [`Fault::Ended`](crate::Fault::Ended), and [`exit_code`](Self::exit_code) is 0 there; launchers end ranks that do not exit.
    /// Ranks on other hosts learn it from the `pelago` launcher. Not collective.
    pub fn end_for_all(&self) {
        match &self.kind {
            Kind::Process(joined) => joined.wait.end_job(),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) => processes::end_for_all(),
        }
    }

    /// With which exit code this process has to end without another word, because the job is at fault and its launcher tells why in one line,
    /// or this call has.
    pub fn exit_code(&self) -> Option<i32> {
        match &self.kind {
            Kind::Process(joined) => joined.wait.fault().and_then(run::watched_exit_code),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) => processes::exit_code(),
        }
    }
}

impl Deref for Job {
    type Target = World;

    fn deref(&self) -> &World {
        match &self.kind {
            Kind::Process(joined) => &joined.world,
            #[cfg(feature = "simulation")]
            Kind::Simulated(world) => world,
        }
    }
}
