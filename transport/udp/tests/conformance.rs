//! The contract of a transport, between sockets of this machine.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pelago_base::{Duration, Instant, Rank};
use pelago_kit::conformance::Ends;
use pelago_platform::Clock;
use pelago_udp::{Setup, Socket, Udp, Unwatched};

/// A clock that stands still: the tests supply the time.
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::ZERO
    }
}

/// Ranks with a socket each, all driven by the test.
fn ends(ranks: u32, address: SocketAddr, encrypt: bool) -> Ends<Udp> {
    let (layout, wakes) = (Ends::<Udp>::layout(ranks), Ends::<Udp>::wakes(ranks));
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
            wake: Box::new({
                let wakes = wakes.clone();
                move || _ = wakes[rank].fetch_add(1, Ordering::Relaxed)
            }),
            watcher: Box::new(Unwatched),
            clock: Arc::new(Still),
            progress_thread: false,
        })
        .unwrap()
    };
    // A rank that makes no progress any more sends no answers.
    Ends::new(sockets.into_iter().enumerate().map(end), |_, _| ()).counting(wakes.clone())
}

fn plain(ranks: u32) -> Ends<Udp> {
    ends(ranks, (Ipv4Addr::LOCALHOST, 0).into(), false)
}

fn encrypted(ranks: u32) -> Ends<Udp> {
    ends(ranks, (Ipv4Addr::LOCALHOST, 0).into(), true)
}

fn version_six(ranks: u32) -> Ends<Udp> {
    let local = (Ipv6Addr::LOCALHOST, 0).into();
    if Socket::bind(local).is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return plain(ranks);
    }
    ends(ranks, local, false)
}

pelago_kit::conformance!(ipv4, plain);
pelago_kit::conformance!(ipv4_encrypted, encrypted);
pelago_kit::conformance!(ipv6, version_six);
