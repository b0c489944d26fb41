//! Lanes: connected sockets for the most frequent destinations.
//!
//! A connected socket remembers its route; an unconnected one looks it up for each message, which took 0.4 µs of 2.7 µs where measured.
//! A lane receives nothing: a peer answers to the address that it knows of this rank, not to the source address of a datagram.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

/// Number of addresses that may have a connected socket: at best, one for each neighbour in a grid of three dimensions.
const LANES: usize = 8;

/// Number of votes from which on an address gets a connected socket: its datagrams less those to other addresses of the same place.
const WORTHWHILE: u32 = 1000;

/// Maximum value of a usage count, so that a new frequent destination replaces an old one within a bounded number of sends.
const COUNT_MAX: u32 = 4 * WORTHWHILE;

/// The most frequent destinations, each in a place that its address determines.
#[derive(Default)]
pub(super) struct Lanes([Lane; LANES]);

/// The most frequent destination of one place (majority vote): each datagram to it is a vote for it, each to another address a vote against it.
#[derive(Default)]
struct Lane {
    to: Option<SocketAddr>,
    votes: u32,
    /// A socket connected to `to`.
    socket: Option<OwnedFd>,
}

impl Lanes {
    /// Counts `count` datagrams to `to`; returns its socket if there is one or `connect` creates one now.
    pub(super) fn take(
        &mut self,
        to: SocketAddr,
        count: u32,
        connect: impl FnOnce(SocketAddr) -> Option<OwnedFd>,
    ) -> Option<&OwnedFd> {
        let lane = &mut self.0[place(to)];
        if lane.to != Some(to) {
            lane.votes = lane.votes.saturating_sub(count);
            if lane.votes == 0 {
                *lane = Lane { to: Some(to), votes: count, socket: None };
            }
            return None;
        }
        lane.votes = (lane.votes + count).min(COUNT_MAX);
        if lane.votes >= WORTHWHILE && lane.socket.is_none() {
            lane.socket = connect(to);
        }
        lane.socket.as_ref()
    }
}

/// Returns the place of an address. Consecutive ports of one host, and consecutive hosts, have different places.
fn place(to: SocketAddr) -> usize {
    let host = match to.ip() {
        IpAddr::V4(ip) => ip.octets()[3],
        IpAddr::V6(ip) => ip.octets()[15],
    };
    usize::from(host).wrapping_add(usize::from(to.port())) % LANES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn open(_: SocketAddr) -> Option<OwnedFd> {
        std::net::UdpSocket::bind(address(0)).ok().map(OwnedFd::from)
    }

    /// Sends `messages` messages, and returns how many of them used a lane.
    fn send(lanes: &mut Lanes, port: u16, messages: u32) -> u32 {
        (0..messages).map(|_| u32::from(lanes.take(address(port), 1, open).is_some())).sum()
    }

    #[test]
    fn whoever_is_sent_to_most_has_a_socket() {
        let mut lanes = Lanes::default();
        assert_eq!(send(&mut lanes, 1, WORTHWHILE - 1), 0);
        assert_eq!(send(&mut lanes, 1, 10 * WORTHWHILE), 10 * WORTHWHILE);
        let others = LANES as u16 + 1;
        assert_eq!(send(&mut lanes, others, COUNT_MAX - 1), 0, "it shares the place");
        assert_eq!(send(&mut lanes, 1, 1), 1, "the favourite stays as long as votes are left");
        assert_eq!(send(&mut lanes, others, WORTHWHILE), 0);
        assert_eq!(send(&mut lanes, others, WORTHWHILE), WORTHWHILE, "now it is the favourite");
        assert_eq!(send(&mut lanes, 1, 1), 0);
    }

    #[test]
    fn neighbours_do_not_share_a_place() {
        let places: std::collections::BTreeSet<_> = (0..LANES as u16).map(|port| place(address(7000 + port))).collect();
        assert_eq!(places.len(), LANES);
    }

    #[test]
    fn a_socket_that_is_refused_is_done_without() {
        let mut lanes = Lanes::default();
        assert!((0..3 * WORTHWHILE).all(|_| lanes.take(address(1), 1, |_| None).is_none()));
    }
}
