//! The contract of a transport, over providers of libfabric that need no hardware.
//!
//! The provider `shm` of 1.17 is tested only by jobs (`tests/tests/launch/fabric.rs`): its endpoints in one process interfere with each other, and it crashes
//! when it sends to a closed one.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pelago_base::{Duration, Instant, Rank};
use pelago_kit::Loopback;
use pelago_kit::conformance::Ends;
use pelago_ofi::{FabricError, FabricName, Introduced, Introduction, Ofi, Setup};
use pelago_platform::{Address, Transport};

/// As [`ends`], for ranks that find each other through another transport.
fn introduced(ranks: u32) -> Ends<Introduced<Loopback>> {
    let (layout, wakes) = (Ends::<Ofi>::layout(ranks), Ends::<Ofi>::wakes(ranks));
    let control = Loopback::network(layout, ranks);
    let end = |(me, control): (u32, Loopback)| {
        let wakes = wakes.clone();
        let setup = Setup {
            me: Rank::new(me),
            layout,
            fabric: "tcp;ofi_rxm".parse().unwrap(),
            interface: Some(Ipv4Addr::LOCALHOST.into()),
            find: Box::new(|_| None),
            wake: Box::new(move || _ = wakes[me as usize].fetch_add(1, Ordering::Relaxed)),
            lost: Box::new(|_| ()),
            progress_thread: false,
            devices: false,
            is_oversubscribed: false,
        };
        let find = Box::new(|rank: Rank| Some(Address(rank.number().to_le_bytes().into())));
        let failure_limit = Duration::from_seconds(5.0);
        Introduced::new(setup, Introduction { control, find, failure_limit, unreachable: Box::new(|_| ()) }).unwrap()
    };
    let failed = |ends: &mut BTreeMap<Rank, _>, rank| {
        drop(ends.remove(&rank));
        ends.values_mut().for_each(|end: &mut Introduced<_>| end.network().peer_failed(Instant::ZERO, rank));
    };
    Ends::new((0..).zip(control).map(end), failed).counting(wakes)
}

/// Ranks with an endpoint of this provider each, all driven by the test; `None` where the library or the provider is not installed.
fn ends(ranks: u32, provider: &str) -> Option<Ends<Ofi>> {
    let (layout, wakes) = (Ends::<Ofi>::layout(ranks), Ends::<Ofi>::wakes(ranks));
    let addresses: Arc<Mutex<BTreeMap<Rank, Address>>> = Arc::default();
    let mut ends = Vec::new();
    for me in (0..ranks).map(Rank::new) {
        let (addresses_found, wakes) = (addresses.clone(), wakes.clone());
        let setup = Setup {
            me,
            layout,
            fabric: provider.parse().unwrap(),
            interface: None,
            find: Box::new(move |rank| addresses_found.lock().unwrap().get(&rank).cloned()),
            wake: Box::new(move || _ = wakes[me.index()].fetch_add(1, Ordering::Relaxed)),
            lost: Box::new(|_| ()),
            progress_thread: false,
            devices: false,
            is_oversubscribed: false,
        };
        let mut end = match Ofi::new(setup) {
            Ok(end) => end,
            Err(error @ (FabricError::Missing(_) | FabricError::None(..))) => {
                eprintln!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        addresses.lock().unwrap().insert(me, end.network().address());
        ends.push(end);
    }
    // The endpoint is closed, as that of a process that died, and the others are informed, as by the launcher.
    let failed = |ends: &mut BTreeMap<Rank, Ofi>, rank| {
        drop(ends.remove(&rank));
        ends.values_mut().for_each(|end| end.network().peer_failed(Instant::ZERO, rank));
    };
    Some(Ends::new(ends, failed).counting(wakes))
}

/// Whether a test can run over this provider; prints the reason if not.
fn can_run(provider: &str, test: &str) -> bool {
    let reason = match test {
        "the_same_script_completes_alike" => "when a provider delivers, and in which order, is not in the hands of a test (T7)",
        _ => return ends(1, provider).is_some(),
    };
    eprintln!("skipped: {reason}");
    false
}

/// The fixtures of a provider, after `can_run` has found it.
macro_rules! over {
    ($name:ident, $provider:literal) => {
        pelago_kit::conformance!($name, |ranks| ends(ranks, $provider).expect("it was there before"), |test| can_run(
            $provider, test
        ));
    };
}

over!(tcp, "tcp;ofi_rxm");
over!(udp, "udp;ofi_rxd");

pelago_kit::conformance!(introduced, introduced, |test| can_run("tcp;ofi_rxm", test));

/// Sockets do not access memory directly, and report this where a rank may have device memory.
#[test]
fn a_fabric_says_how_it_reaches_memory_of_devices() {
    let shown = |devices| FabricName::selected(&"tcp;ofi_rxm".parse().unwrap(), devices).map(|name| name.to_string());
    match (shown(true), shown(false)) {
        (Ok(with), Ok(without)) => {
            assert!(with.ends_with("; device memory: staged by its owner: tcp;ofi_rxm moves no memory by itself)"), "{with}");
            assert!(without.ends_with("; device memory: staged by its owner: this host has no GPU)"), "{without}");
        }
        (Err(error), _) | (_, Err(error)) => eprintln!("skipped: {error}"),
    }
}
