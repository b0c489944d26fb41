//! The state of one host in a job of several.

use std::net::IpAddr;
use std::sync::Arc;

use pelago_base::{Instant, Rank};

use crate::launcher::cluster::host_list::HostRanks;
use crate::launcher::job::outcome::{ProcessLocation, RankProcess};
use crate::launcher::job::state_machine::Census;
use crate::launcher::limits::HOST_START;
use crate::system::network::HostAddresses;

/// The state of one host.
pub(crate) struct HostState {
    pub(crate) name: Arc<str>,
    pub(crate) first: Rank,
    pub(crate) count: u32,
    pub(crate) phase: HostPhase,
    /// Start time of that phase.
    pub(crate) since: Instant,
    pub(crate) reachable: Option<HostAddresses>,
    /// The datagram address of its first rank.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: Option<u16>,
    pub(crate) heap_bytes: u64,
    /// Whether all of its ranks were started.
    pub(crate) started: bool,
    /// Number of its ranks that have ended.
    pub(crate) ended: u32,
    /// Number of its ranks that have failed in a job that continues without them.
    pub(crate) failed: u32,
    /// The last barrier of the bootstrap that its ranks have entered.
    pub(crate) arrived: u64,
    /// Number of pings since its last message.
    pub(crate) unanswered: u32,
    /// The last ping that it answered, and its answer about the participation of its ranks.
    pub(crate) answered: u64,
    pub(crate) census: Census,
}

/// The phase of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostPhase {
    /// Its remote shell was started.
    Called,
    /// It has sent its hello.
    Greeted,
    /// Its assignment was sent.
    Planned,
    /// It is ready to start its ranks.
    Bound,
    /// The command to start them was sent.
    Running,
    /// It has sent its last message.
    Done,
    /// It will send no more messages, without having sent the last one.
    Gone,
}

impl HostState {
    /// Returns the state of a host whose node daemon is being started.
    pub(crate) fn called(HostRanks { name, first, count }: HostRanks, now: Instant) -> Self {
        Self {
            name: name.into(),
            first,
            count,
            phase: HostPhase::Called,
            since: now,
            reachable: None,
            address: None,
            port: None,
            heap_bytes: 0,
            started: false,
            ended: 0,
            failed: 0,
            arrived: 0,
            unanswered: 0,
            answered: 0,
            census: Census::default(),
        }
    }

    /// The deadline for its next message; hosts that have answered wait for others.
    pub(crate) fn start_end(&self) -> Option<Instant> {
        matches!(self.phase, HostPhase::Called | HostPhase::Planned).then(|| self.since + HOST_START)
    }

    pub(crate) fn enter(&mut self, phase: HostPhase, now: Instant) {
        (self.phase, self.since) = (phase, now);
    }

    /// The last barrier of the bootstrap that need not wait for this host. A host whose ranks have all failed enters no further one.
    pub(crate) fn passed(&self) -> u64 {
        if self.failed >= self.count { u64::MAX } else { self.arrived }
    }

    pub(crate) fn has(&self, rank: u32) -> bool {
        rank.checked_sub(self.first.number()).is_some_and(|place| place < self.count)
    }

    pub(crate) fn process(&self, rank: u32) -> Option<RankProcess> {
        self.has(rank).then(|| RankProcess { rank: Rank::new(rank), location: ProcessLocation::Host(self.name.clone()) })
    }
}
