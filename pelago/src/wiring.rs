//! The only file that names concrete parts: which transport, clock, waiting and bootstrap a rank gets.

use std::sync::{Arc, Mutex};

use pelago_base::Counters;
use pelago_kit::{Count, Trace};
use pelago_launch::{Local, OsClock, OsPark, Settings, names};
use pelago_platform::{Bootstrap, BootstrapError, Transport};
use pelago_rma::Parts;
use pelago_shm::{CopyBy, Shm};

use crate::{Error, World};

/// A rank that takes part.
pub(crate) struct Joined {
    pub(crate) world: World,
    /// Knows what is wrong with the job, also when the world has ended.
    pub(crate) park: Arc<OsPark>,
    /// What passed through the transport, if the user wants to know.
    pub(crate) counters: Option<Arc<Mutex<Counters>>>,
}

/// Becomes the rank that the environment names, or the only rank of a job of its own.
pub(crate) fn join() -> Result<Joined, Error> {
    let start = |error: &dyn std::error::Error| BootstrapError::Start(error.to_string());
    let settings = Settings::from_environment().map_err(|error| start(&error))?;
    let clock = OsClock::start();
    let local = Local::start(&settings, clock).map_err(|error| start(&error))?;
    let copy_by = if settings.copy_by_agent { CopyBy::Agent } else { CopyBy::Attach };
    let rank = local.rank();
    let park = local.park().clone();
    let mut counters = None;
    let mut transport: Box<dyn Transport> = Box::new(Shm::new(local.host().clone(), rank, copy_by, settings.inline_progress));
    if settings.statistics {
        let counted = Count::new(transport);
        counters = Some(counted.counters());
        transport = Box::new(counted);
    }
    if settings.trace {
        transport = Box::new(Trace::new(transport, move |line: &str| eprintln!("{rank}: {line}")));
    }
    let world = World::new(Parts {
        reach: local.host().reach().clone(),
        clock: Arc::new(clock),
        park: park.clone(),
        bootstrap: Box::new(local),
        transport,
    })?;
    Ok(Joined { world, park, counters })
}

/// Whether a launcher watches over the job.
pub(crate) fn is_launched() -> bool {
    std::env::var_os(names::RANK).is_some()
}
