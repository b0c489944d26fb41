//! A rank that joins and leaves the job by separate calls, for bindings to languages whose programs cannot pass a body to [`run`](crate::run).

use std::ops::Deref;

#[cfg(feature = "simulation")]
use pelago_platform::BootstrapError;
use pelago_platform::Wait;

#[cfg(feature = "simulation")]
use crate::simulation::processes;
use crate::wiring::launched;
use crate::{Result, World, run};

/// A member of the job, as in [`run`](crate::run), between [`join`](Self::join) and [`leave`](Self::leave).
pub struct Job {
    kind: Kind,
}

enum Kind {
    /// A separate process.
    Process(launched::Joined),
    /// A rank of [`processes`].
    #[cfg(feature = "simulation")]
    Simulated(World),
}

impl Job {
    /// Joins the job that a launcher started, or a job of this rank alone; joins the simulated job as the running rank if the rank is simulated
    /// by `pelago::processes`. Once per process: the launcher's settings for a rank are consumed. Collective. If a launched job has a fault before
    /// all ranks have joined, the process exits, and the monitor of the job reports the fault.
    ///
    /// # Errors
    /// The process cannot join; a simulation was requested, which needs a body for each rank; a rank failed before all had joined.
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

    /// Ends this rank's part of the job in good order, together with every other rank; the job must not be used afterwards. Collective.
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

    /// Ends the job for all ranks, without an error, for a process that exits with code 0 immediately afterwards. Waits of the other ranks end with
    /// [`Fault::Ended`](crate::Fault::Ended), and [`exit_code`](Self::exit_code) is 0 there; launchers end ranks that do not exit.
    /// Ranks on other hosts are notified by the `pelago` launcher. Not collective.
    pub fn end_for_all(&self) {
        match &self.kind {
            Kind::Process(joined) => joined.wait.end_job(),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) => processes::end_for_all(),
        }
    }

    /// Returns the exit code with which this process has to end silently, because the job has a fault that its launcher reports in one line,
    /// or that this call has reported.
    pub fn exit_code(&self) -> Option<i32> {
        match &self.kind {
            Kind::Process(joined) => joined.wait.fault().and_then(run::watched_exit_code),
            #[cfg(feature = "simulation")]
            Kind::Simulated(_) => processes::exit_code(),
        }
    }
}

pelago_base::debug! {
    Job[][] { world: |it| &**it }
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
