//! The only file that names concrete parts: which transport, clock, waiting and bootstrap a rank gets.

use std::sync::Arc;

use pelago_launch::{Local, OsClock, Settings};
use pelago_platform::{Bootstrap, BootstrapError};
use pelago_rma::Parts;
use pelago_shm::{CopyBy, Shm};

use crate::{Error, World};

/// A rank that takes part.
pub(crate) struct Joined {
    pub(crate) world: World,
    /// Whether a launcher watches over the job.
    pub(crate) launched: bool,
}

/// Becomes the rank that the environment names, or the only rank of a job of its own.
pub(crate) fn join() -> Result<Joined, Error> {
    let start = |error: &dyn std::error::Error| BootstrapError::Start(error.to_string());
    let settings = Settings::from_environment().map_err(|error| start(&error))?;
    let clock = OsClock::start();
    let local = Local::start(&settings, clock).map_err(|error| start(&error))?;
    let copy_by = if settings.copy_by_agent { CopyBy::Agent } else { CopyBy::Attach };
    let transport = Shm::new(local.host().clone(), local.rank(), copy_by, settings.inline_progress);
    let world = World::new(Parts {
        reach: local.host().reach().clone(),
        clock: Arc::new(clock),
        park: local.park().clone(),
        bootstrap: Box::new(local),
        transport: Box::new(transport),
    })?;
    Ok(Joined { world, launched: settings.job.is_some() })
}
