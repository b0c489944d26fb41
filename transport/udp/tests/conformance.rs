//! The contract of a transport, between sockets of this machine.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use pelago_base::{AddressLayout, Duration, Rank, SegmentId};
use pelago_kit::conformance::Fixture;
use pelago_memory::Cells;
use pelago_platform::{Registry, Transport};
use pelago_udp::{Setup, Socket, Udp, Unwatched};

const WHOLE_BYTES: usize = 128 * 1024;
const PART_BYTES: usize = 72_008;

/// Ranks with a socket each, all driven by the test.
struct Ranks {
    layout: AddressLayout,
    ends: Vec<Udp>,
    memory: BTreeMap<(Rank, SegmentId), Cells<'static>>,
}

impl Ranks {
    fn new(ranks: u32, address: SocketAddr, encrypt: bool) -> Self {
        let layout = AddressLayout::new(ranks, WHOLE_BYTES as u64).unwrap();
        let sockets: Vec<Socket> = (0..ranks).map(|_| Socket::bind(address).unwrap()).collect();
        let addresses: Vec<SocketAddr> = sockets.iter().map(Socket::local_address).collect();
        let end = |(rank, socket): (usize, Socket)| {
            let addresses = addresses.clone();
            Udp::new(Setup {
                me: Rank::new(rank as u32),
                layout,
                socket,
                key: [7; 16],
                encrypt,
                failure_limit: Duration::from_milliseconds(5_000),
                find: Box::new(move |rank| addresses.get(rank.index()).copied()),
                wake: Box::new(|| {}),
                watcher: Box::new(Unwatched),
                agent: None,
            })
            .unwrap()
        };
        let mut ends: Vec<Udp> = sockets.into_iter().enumerate().map(end).collect();
        let mut memory = BTreeMap::new();
        for (number, end) in ends.iter_mut().enumerate() {
            for (segment, bytes) in [(SegmentId::SYMMETRIC, WHOLE_BYTES), (SegmentId::REGISTERED_FIRST, PART_BYTES)] {
                let cells = Cells::from_mut(vec![0u64; bytes / 8].leak());
                let rank = Rank::new(number as u32);
                end.register(layout.encode(rank, segment, 0).unwrap(), cells.into()).unwrap();
                memory.insert((rank, segment), cells);
            }
        }
        Self { layout, ends, memory }
    }
}

impl Fixture for Ranks {
    fn layout(&self) -> AddressLayout {
        self.layout
    }

    fn segments(&self) -> Vec<SegmentId> {
        vec![SegmentId::SYMMETRIC, SegmentId::REGISTERED_FIRST]
    }

    fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_> {
        self.memory[&(rank, segment)]
    }

    fn transport(&mut self, rank: Rank) -> &mut dyn Transport {
        &mut self.ends[rank.index()]
    }

    fn lose(&mut self, _rank: Rank) -> bool {
        // A rank that makes no progress any more answers nobody.
        true
    }
}

fn plain(ranks: u32) -> Ranks {
    Ranks::new(ranks, (Ipv4Addr::LOCALHOST, 0).into(), false)
}

fn encrypted(ranks: u32) -> Ranks {
    Ranks::new(ranks, (Ipv4Addr::LOCALHOST, 0).into(), true)
}

fn version_six(ranks: u32) -> Ranks {
    let local = (Ipv6Addr::LOCALHOST, 0).into();
    if Socket::bind(local).is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return plain(ranks);
    }
    Ranks::new(ranks, local, false)
}

pelago_kit::conformance!(ipv4, plain);
pelago_kit::conformance!(ipv4_encrypted, encrypted);
pelago_kit::conformance!(ipv6, version_six);
