//! The transport to ranks of other hosts: UDP, in addition to the memory of this host or instead of it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use pelago_base::Rank;
use pelago_kit::Split;
use pelago_launch::{LaunchSettings, LocalBootstrap, OsClock, ProgressMode, TransportChoice};
use pelago_memory::Reach;
use pelago_platform::{Address, Bootstrap, Fault, Transport};
use pelago_shm::{HostMemory, Shm};
use pelago_sync::Doorbell;
use pelago_udp::{Liveness, Setup, Socket, Udp, Watcher};

use super::launched::{Counted, Watched, watched};

/// Connects ranks of this host through `shm` and others through datagrams of `socket` or a fabric, or all through datagrams, according to the
/// settings. Also returns the counters of the network.
pub(super) fn connect(
    shm: Shm,
    socket: OwnedFd,
    settings: &LaunchSettings,
    local: &LocalBootstrap,
    reach: &Reach,
    clock: OsClock,
) -> std::io::Result<(Box<dyn Transport>, Counted)> {
    let (host, rank) = (local.host().clone(), local.rank());
    let manual = settings.progress == ProgressMode::Manual;
    let socket = Socket::adopt(socket)?;
    if manual {
        local.wait().watch(socket.descriptor())?;
    }
    let udp = Udp::new(Setup {
        me: rank,
        layout: host.reach().addresses(),
        socket,
        key: host.key(),
        encrypt: settings.encrypt,
        failure_limit: settings.failure_limit,
        find: Box::new({
            let host = host.clone();
            move |rank| host.address_of(rank)
        }),
        wake: Box::new({
            let host = host.clone();
            move || {
                host.reach().bell(rank).map(Doorbell::ring);
            }
        }),
        watcher: Box::new(JobWatcher { host: host.clone(), watched: watched() }),
        clock: Arc::new(clock),
        progress_thread: !manual,
    })?;
    let counted: Counted = Arc::from(udp.counters());
    let only_datagrams_concern_it = match settings.transport {
        TransportChoice::Udp => true,
        TransportChoice::Ofi => false,
        _ => host.count() == 1,
    };
    if let Some(nap) = udp.nap().filter(|_| only_datagrams_concern_it) {
        local.wait().nap_by(nap);
    }
    let transport: Box<dyn Transport> = match settings.transport {
        TransportChoice::Udp => Box::new(udp),
        #[cfg(feature = "ofi")]
        TransportChoice::Ofi => Box::new(split(shm, super::fabric::introduce(settings, local, udp)?, reach)),
        _ => Box::new(split(shm, udp, reach)),
    };
    Ok((transport, counted))
}

/// Combines transports: `shm` for ranks whose memory is mapped, and `inter` for others.
fn split<E: Transport>(shm: Shm, inter: E, reach: &Reach) -> impl Transport + use<E> {
    let layout = reach.addresses();
    let intra_node = {
        let reach = reach.clone();
        move |rank| reach.holds(rank)
    };
    Split::new(shm, inter, layout, intra_node, |rank| Address(rank.number().to_le_bytes().into()))
}

/// The liveness of other ranks, as the memory of this host records it. Our launcher reports failed ranks and hosts to every host; ranks of
/// another launcher report those of their host to each other. A rank without a report that would have been reported is alive.
struct JobWatcher {
    host: Arc<HostMemory>,
    watched: Watched,
}

impl Watcher for JobWatcher {
    fn liveness(&self, rank: Rank) -> Liveness {
        let has_failed =
            self.host.job().fault() == Some(Fault::PeerLost(rank)) || self.host.failed_ranks().any(|failed| failed == rank);
        let is_watched = match self.watched {
            Watched::Not => false,
            Watched::ByLauncher => true,
            Watched::ByRanks(_) => self.host.control(rank).is_some(),
        };
        match (has_failed, is_watched) {
            (true, _) => Liveness::Lost,
            (false, true) => Liveness::Alive,
            (false, false) => Liveness::Unknown,
        }
    }

    fn lost(&self, rank: Rank) {
        // A wait for a value from the rank would otherwise never end.
        self.host.mark_failed(rank);
    }

    fn unreachable(&self, rank: Rank) {
        // Other ranks may still reach it: which side has failed is unknown, so that the job cannot continue without the rank.
        self.host.fail(Fault::Unreachable(rank));
    }
}
