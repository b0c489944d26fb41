//! Operations by the library's own protocol: its datagrams on the simulated network, and ranks that die.

use pelago_base::{Duration, Rank};
use pelago_platform::Fault;

use super::SimulatedJob;
use super::tokens::{Subject, WakeUp};
use crate::protocol::stations::{StationChanges, StationRequest};

impl SimulatedJob {
    /// Handles a datagram that reaches its rank.
    pub(super) fn receive_datagram(&mut self, number: u32) {
        if self.is_driven() {
            return self.receive_driven(number);
        }
        let Some(stations) = &mut self.stations else { return };
        let (rank, now) = (stations.receiver(number), self.network.now());
        self.status.access(rank, || stations.receive(now, number));
        self.network.consume(rank.number() / self.per_node);
        self.settle(rank);
    }

    /// Removes a datagram that the network has lost.
    pub(super) fn lose_datagram(&mut self, number: u32) {
        if let Some(stations) = &mut self.stations {
            stations.forget(number);
        }
    }

    /// Sends a datagram that the fault injection has held back.
    pub(super) fn send_delayed_datagram(&mut self, number: u32) {
        let Some(stations) = &self.stations else { return };
        let (datagram, from) = stations.delayed(number, self.per_node);
        self.network.post(from.number(), datagram, Subject::Operation(number).token());
    }

    /// Handles an event of the timer of a rank's station.
    pub(super) fn handle_station_timer(&mut self, rank: Rank) {
        let now = self.network.now();
        let Some(stations) = &mut self.stations else { return };
        if stations.handle_timer(now, rank) { self.settle(rank) } else { self.set_timer(rank) }
    }

    /// On the first call, kills a rank; on the second, announces its death as the launcher would.
    pub(super) fn handle_death(&mut self, rank: Rank) {
        match self.stations.as_ref().is_some_and(|stations| stations.is_dead(rank)) {
            false => self.kill(rank),
            true => self.fail(Fault::PeerLost(rank)),
        }
    }

    /// Ends a rank immediately, as if its process had died.
    fn kill(&mut self, rank: Rank) {
        if self.is_ended(rank) {
            return;
        }
        self.end_rank(rank);
        self.note_failed_rank(rank);
        if let Some(stations) = &mut self.stations {
            stations.kill(rank);
        }
    }

    /// Executes the requests of a rank's station, and wakes the rank if the station has news for it.
    pub(super) fn settle(&mut self, rank: Rank) {
        if self.is_driven() {
            return self.attend(rank);
        }
        let Some(stations) = &mut self.stations else { return };
        let (mut requests, now) = (Vec::new(), self.network.now());
        let changes = self.status.access(rank, || stations.settle(now, rank, self.per_node, &mut requests));
        for request in requests {
            match request {
                StationRequest::Send { number, datagram, from, delay } if delay == Duration::ZERO => {
                    self.network.post(from.number(), datagram, Subject::Operation(number).token());
                }
                StationRequest::Send { number, from, delay, .. } => {
                    self.network.wake_at(now + delay, from.number(), WakeUp::Datagram { number }.token());
                }
                StationRequest::Timer { rank, at } => {
                    let rank = rank.number();
                    self.network.wake_at(at, rank, WakeUp::Station { rank }.token());
                }
            }
        }
        if changes.has_news {
            self.make_ready(rank.number(), false);
        }
        self.note_failed_peers(changes);
    }

    /// Records peers that have not answered for too long as failed, and ends the job if datagrams do not reach a peer.
    pub(super) fn note_failed_peers(&mut self, changes: StationChanges) {
        if let Some(&unreachable) = changes.unreachable_peers.first() {
            self.fail(Fault::Unreachable(unreachable));
        }
        for failed in changes.failed_peers {
            self.note_failed_rank(failed);
            self.fail(Fault::PeerLost(failed));
        }
    }
}
