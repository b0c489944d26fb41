//! First contact: a rank is found, connected to by the first rail and greeted; then the other rails to it are tested.
//!
//! Messages use the first rail from the start. Another rail is used for accesses only after the peer has answered a test message that arrived by it.

use pelago_base::{Failure, Rank};
use pelago_memory::Cells;
use pelago_platform::{Address, ConnectError};
use zerocopy::IntoBytes;

use super::{Engine, FIRST, Way};
use crate::fabric::{FiAddress, Refusal};
use crate::message::{End, Header, Published, kind, sender};

impl Engine {
    /// Whether `connect` has returned the endpoint of this peer by this rail.
    pub(super) fn is_connected(&self, peer: usize, lane: usize) -> bool {
        self.peers.get(peer).and_then(|peer| peer.lanes.get(lane)).is_some_and(|lane| lane.is_connected)
    }

    /// Tests whether the rails by which this rank has connected to peers reach them. Each is tested once: without an answer, or if the provider fails,
    /// the first rail is used.
    pub(super) fn prove_rails(&mut self) {
        for (peer, rail) in std::mem::take(&mut self.unproved) {
            if !self.has_asked(peer, rail) {
                self.unproved.push((peer, rail));
            }
        }
    }

    /// Sends the test of a rail, if possible; returns whether nothing is left to send.
    pub(super) fn has_asked(&mut self, peer: usize, rail: usize) -> bool {
        let entry = &self.peers[peer];
        match entry.way {
            Way::Sought | Way::Greeted => return false,
            Way::Open => {}
            Way::Me | Way::Around | Way::Lost(_) => return true,
        }
        let (Some(end), port) = (entry.ends.get(rail - 1), &mut self.ports[rail]) else { return true };
        let Some(address) = entry.lanes[rail].asked.or_else(|| port.insert(end)) else { return true };
        let (nonce, from) = (entry.nonce.into(), self.me.number().into());
        self.peers[peer].lanes[rail].asked = Some(address);
        let Some(slot) = port.take() else { return false };
        let question = Header { nonce, from, kind: kind::RAIL, code: rail as u8, ..Header::default() };
        port.memory(&slot).part(0, size_of::<Header>() as u64).expect("a message fits a slot").write(question.as_bytes());
        let Err((slot, refusal)) = port.send(slot, size_of::<Header>(), address) else { return true };
        port.give_back(slot);
        matches!(refusal, Refusal::Failed(_))
    }

    /// Returns the entry of a rank; a new one is greeted.
    pub(super) fn peer(&mut self, rank: Rank, address: &Address) -> Result<usize, ConnectError> {
        let wrong = || ConnectError::Address(address.clone());
        let published = Published::parse(address, self.ports[FIRST].end().fabric).ok_or_else(wrong)?;
        if let Some(&peer) = self.by_rank.get(&rank) {
            return Ok(peer);
        }
        if rank == self.me {
            return if published.nonce == self.nonce { Ok(self.add(rank, Way::Me, 0, self.nonce)) } else { Err(wrong()) };
        }
        let fabric_address = self.ports[FIRST].insert(&published.ends[FIRST]).ok_or_else(wrong)?;
        let peer = self.add(rank, Way::Sought, 0, 0);
        self.enter(peer, fabric_address, published, Way::Greeted);
        Ok(peer)
    }

    pub(super) fn greet(&mut self, peer: usize) {
        let ends = End::join(&self.ends());
        self.tell(peer, Header { kind: kind::HELLO, other: self.nonce.into(), ..Header::default() }, &ends);
    }

    /// Returns the entry of a rank, and starts to obtain its address if that is unknown.
    pub(super) fn reach(&mut self, rank: Rank) -> Result<usize, Failure> {
        let unreachable = Failure::Unreachable(rank);
        if let Some(&peer) = self.by_rank.get(&rank) {
            return Ok(peer);
        }
        if rank == self.me {
            return Ok(self.add(rank, Way::Me, 0, self.nonce));
        }
        let known = self.records.get(&rank).cloned().or_else(|| (self.find)(rank));
        match known {
            Some(address) => match self.peer(rank, &address) {
                Err(_) if self.seeks => Ok(self.add(rank, Way::Around, 0, 0)),
                entered => entered.map_err(|_| unreachable),
            },
            None if self.seeks => {
                self.seek(rank);
                Ok(self.add(rank, Way::Sought, 0, 0))
            }
            None => Err(unreachable),
        }
    }

    pub(super) fn seek(&mut self, rank: Rank) {
        if self.sought.insert(rank) {
            self.wanted.push(rank);
            // The thread that drives the other transport must poll.
            self.touched = true;
        }
    }

    /// Takes the ranks whose published address the caller must obtain; it calls [`found`](Self::found) for each.
    pub(crate) fn take_wanted(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.wanted)
    }

    /// Records the published address of a rank, or why it cannot be obtained.
    pub(crate) fn found(&mut self, rank: Rank, found: Result<Address, Failure>) {
        self.sought.remove(&rank);
        let waiting = self.by_rank.get(&rank).copied().filter(|&peer| matches!(self.peers[peer].way, Way::Sought));
        match (found, waiting) {
            (Ok(address), Some(peer)) => {
                let first = &mut self.ports[FIRST];
                let published = Published::parse(&address, first.end().fabric);
                let entered = published.and_then(|it| first.insert(&it.ends[FIRST]).map(|address| (address, it)));
                match entered {
                    Some((address, published)) => self.enter(peer, address, published, Way::Greeted),
                    None => self.go_around(peer),
                }
                self.records.insert(rank, address);
            }
            (Ok(address), None) => drop(self.records.insert(rank, address)),
            (Err(failure), Some(peer)) => self.lose(peer, failure),
            (Err(failure), None) if !self.by_rank.contains_key(&rank) => drop(self.add(rank, Way::Lost(failure), 0, 0)),
            (Err(_), None) => {}
        }
        // Copies to that rank may wait at any peer.
        self.busy.extend((0..self.peers.len()).filter(|&peer| self.peers[peer].is_queued()));
    }

    /// Records the endpoint of a peer.
    pub(super) fn enter(&mut self, peer: usize, address: FiAddress, published: Published, way: Way) {
        let is_greeted = matches!(way, Way::Greeted);
        let entry = &mut self.peers[peer];
        (entry.address, entry.nonce, entry.way) = (address, published.nonce, way);
        entry.ends = published.ends.into_iter().take(self.ports.len()).skip(1).collect();
        if is_greeted {
            self.greet(peer);
        }
        self.busy.insert(peer);
    }

    /// Handles the greeting of a peer.
    pub(super) fn greeted(&mut self, header: &Header, ends: Cells<'static>) {
        let (rank, nonce) = (sender(header), header.other.get());
        if rank == self.me || rank.number() >= self.layout.ranks() {
            return;
        }
        let known = self.by_rank.get(&rank).copied();
        let is_entered = known.is_some_and(|peer| self.peers[peer].nonce != 0);
        let peer = match known {
            Some(peer) if is_entered => peer,
            _ => {
                let Some(ends) = End::split(&ends.to_vec()) else { return };
                let Some(address) = self.ports[FIRST].insert(&ends[FIRST]) else { return };
                let peer = known.unwrap_or_else(|| self.add(rank, Way::Sought, address, nonce));
                if known.is_none() {
                    self.peers[peer].delivery.begin();
                }
                let is_around = matches!(self.peers[peer].way, Way::Around);
                self.enter(peer, address, Published { nonce, ends }, if is_around { Way::Around } else { Way::Open });
                peer
            }
        };
        if self.peers[peer].nonce != nonce {
            return;
        }
        match self.peers[peer].way {
            Way::Lost(_) => return,
            // Operations to it continue to use the other transport.
            Way::Around => {}
            _ => self.peers[peer].way = Way::Open,
        }
        self.tell(peer, Header { kind: kind::WELCOME, ..Header::default() }, &[]);
        self.busy.insert(peer);
    }
}
