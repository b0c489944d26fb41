//! A rank that a launcher has started, or that runs alone: its memory, clock, waits, and transport to other ranks.
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): all transports here are Pelago's, and so are the layers around them.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use pelago_base::{Counters, Rank};
use pelago_kit::{Count, Trace};
pub(crate) use pelago_launch::tell_fault;
use pelago_launch::{
    CopyMode, LaunchSettings, LocalBootstrap, OsClock, OsWait, ProgressMode, TransportChoice, adopted_rank, names, with_remedy,
};
use pelago_memory::Reach;
use pelago_platform::{Bootstrap, BootstrapError, Parts, Transport, TrustedTransport, Wait};
use pelago_shm::{CopyBy, Shm};

use super::recorded::RankRecord;
use crate::{Error, World};

/// A rank that has joined the job.
pub(crate) struct Joined {
    pub(crate) world: World,
    /// Knows the fault of the job, even after the world has ended.
    pub(crate) wait: Arc<OsWait>,
    /// The counters of the transport and of the network below it, if the user has requested them.
    pub(crate) counters: Vec<Counted>,
    /// The record for a trace, if the user has requested one.
    pub(crate) record: Option<RankRecord>,
}

/// Returns counters, even after the world has ended.
pub(crate) type Counted = Arc<dyn Fn() -> Counters + Send + Sync>;

/// The exit code of a program that was started incorrectly.
const WRONG_USE: i32 = 2;

/// Becomes the rank that the environment specifies, or the only rank of its own job.
pub(crate) fn join() -> Result<Joined, Error> {
    let start = |error: &dyn std::error::Error| BootstrapError::Start(error.to_string());
    let settings = LaunchSettings::from_environment().map_err(|error| start(&error))?;
    if let Some(foreign) = &settings.foreign {
        // Exits as for a wrong use of the command: however the program would handle an error, a job of one rank is not what the user requested.
        eprintln!("pelago: {foreign}");
        std::process::exit(WRONG_USE);
    }
    if settings.job.is_some() || settings.adopted.is_some() {
        once()?;
    }
    let clock = OsClock::start();
    let mut local = LocalBootstrap::start(&settings, clock).map_err(|error| start(&error))?;
    let (rank, wait) = (local.rank(), local.wait().clone());
    let mapped = match settings.transport {
        // A fabric connects other hosts, and the ranks of this host if there are no others.
        TransportChoice::Ofi if !local.host().is_whole_job() => 0..u32::MAX,
        // Loads and stores cannot be recorded.
        _ if settings.record.as_ref().is_some_and(|record| record.all) => rank.number()..rank.number() + 1,
        transport => transport.mapped_ranks(rank),
    };
    let reach = local.host().reach().part(mapped);
    let (mut transport, network) = transport(&settings, &mut local, &reach, clock).map_err(|error| start(&with_remedy(error)))?;
    scrub_stack();
    if let Some(network) = network.clone() {
        wait.count_network(move || network());
    }
    let mut counters = Vec::new();
    if settings.statistics {
        let count = Count::new(transport);
        let operations = count.counters();
        counters.push(Arc::new(move || operations.lock().unwrap_or_else(PoisonError::into_inner).clone()) as Counted);
        counters.extend(network);
        transport = Box::new(count);
    }
    if settings.trace {
        transport = Box::new(Trace::new(transport, move |line: &str| eprintln!("rank {rank}: {line}")));
    }
    let host = local.host().clone();
    let mut record = settings.record.clone().map(|record| RankRecord::new(record, rank, &host, clock));
    let mut waits: Arc<dyn Wait> = wait.clone();
    if let Some(record) = &record {
        transport = record.transport(transport);
        waits = record.wait(waits);
    }
    local.bind(settings.binding);
    let (clock, bootstrap) = (Arc::new(clock), Box::new(local));
    // SAFETY: U1.
    let transport = unsafe { TrustedTransport::new(transport) };
    let world = World::new(Parts { reach, clock, wait: waits, virtual_time: None, bootstrap, transport })?;
    if let Some(record) = &mut record {
        record.begin(&world, &host)?;
    }
    Ok(Joined { world, wait, counters, record })
}

/// Refuses a second place of this process in its job. What a launcher left for the rank is taken; its descriptors may be files of the program now.
pub(crate) fn once() -> Result<(), Error> {
    static HAS_JOINED: AtomicBool = AtomicBool::new(false);
    if !HAS_JOINED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let why = "this process has joined it before, and takes part once; one call of pelago::run has to do all of the work";
    Err(BootstrapError::Start(why.into()).into())
}

/// Overwrites data that earlier calls have left on the stack below this frame: the key of the job has been passed by value, and a core dump
/// would contain it.
#[inline(never)]
fn scrub_stack() {
    let mut left = [0_u8; 1 << 16];
    std::hint::black_box(&mut left);
}

/// Returns the transport to memory that is not mapped: of ranks of this host, of other hosts, or of both; and the counters of the
/// network, if there is one.
fn transport(
    settings: &LaunchSettings,
    local: &mut LocalBootstrap,
    reach: &Reach,
    clock: OsClock,
) -> std::io::Result<(Box<dyn Transport>, Option<Counted>)> {
    let is_whole_job = local.host().is_whole_job();
    if settings.transport == TransportChoice::Ofi && (is_whole_job || cfg!(not(feature = "ofi"))) {
        #[cfg(feature = "ofi")]
        return super::fabric::connect(settings, local).map(|transport| (transport, None));
        #[cfg(not(feature = "ofi"))]
        return Err(std::io::Error::other("this program was built without libfabric (feature `ofi` of pelago)"));
    }
    let copy_by = match settings.copy {
        CopyMode::Attach => CopyBy::Attach,
        CopyMode::ProgressThread => CopyBy::ProgressThread,
    };
    let shm = Shm::new(local.host().clone(), local.rank(), copy_by, settings.progress == ProgressMode::Manual);
    let Some(socket) = local.take_socket() else { return Ok((Box::new(shm), None)) };
    #[cfg(feature = "udp")]
    return super::network::connect(shm, socket, settings, local, reach, clock)
        .map(|(transport, counted)| (transport, Some(counted)));
    #[cfg(not(feature = "udp"))]
    {
        drop((shm, socket, reach, clock));
        Err(std::io::Error::other(
            "its ranks reach each other by UDP, and this program was built without (feature `udp` of pelago)",
        ))
    }
}

/// Refuses a request to simulate all ranks in this process.
///
/// # Errors
/// The environment requests a simulation.
#[cfg(not(feature = "simulation"))]
pub(crate) fn refuse_simulation() -> Result<(), Error> {
    let why = "it was built without the simulator (feature `simulation` of pelago)";
    std::env::var_os("PELAGO_SIM").map_or(Ok(()), |_| Err(BootstrapError::Start(why.into()).into()))
}

/// The monitor of the job, which reports its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// None: the program was started alone.
    Not,
    /// The launcher, which reports in one line.
    ByLauncher,
    /// The ranks, started by another launcher: each reports for itself.
    ByRanks(Rank),
}

/// Returns the monitor of this process's job.
pub(crate) fn watched() -> Watched {
    if std::env::var_os(names::RANK).is_some() {
        return Watched::ByLauncher;
    }
    let adopted = LaunchSettings::from_environment().ok().and_then(|settings| settings.adopted);
    adopted.map_or(Watched::Not, |job| Watched::ByRanks(adopted_rank().unwrap_or(job.rank)))
}
