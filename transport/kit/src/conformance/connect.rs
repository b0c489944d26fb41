//! Endpoints: one per peer and rail, known only from `connect`.

use std::collections::BTreeSet;

use pelago_base::{Instant, Rank};

use pelago_platform::limits;
use pelago_platform::{Address, ConnectError, Endpoint, Flags, Operation, PostError, Rail, Token};

use super::Fixture;
use super::world::World;

/// Connecting to a peer again returns the same endpoint; different peers have different endpoints.
pub fn again_gives_the_same_endpoint<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 4);
    for from in world.ranks() {
        for to in world.ranks() {
            let address = world.transport(to).network().address();
            assert!(address.0.len() <= limits::PUBLISHED_BYTES_MAX, "the address can be published");
            assert_eq!(world.transport(from).network().connect(None, to, &address), Ok(world.endpoint(from, to)));
            assert!(
                world.ranks().filter(|&other| other != to).all(|other| world.endpoint(from, other) != world.endpoint(from, to))
            );
        }
    }
}

/// Every rank is reached by the rail that `connect` chooses and by every rail for which `is_reachable` holds, each with its own endpoint: writes by
/// each arrive and complete, independently of writes by the others. `connect` refuses all other rails.
pub fn rails_lead_where_they_say<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    let mut expected = world.fill(1);
    let (here, segment) = (Rank::new(0), world.segments()[0]);
    for to in world.ranks() {
        let address = world.transport(to).network().address();
        let known = world.transport(here).network().rails().len();
        assert!((1..=Rail::MAX).contains(&known));
        let best = world.transport(here).network().rail_to(to);
        assert!(world.transport(here).network().is_reachable(best, to), "rank {to} is reached");
        let mut endpoints = BTreeSet::from([world.endpoint(here, to)]);
        for rail in (0..Rail::MAX).filter_map(Rail::new) {
            let connected = world.transport(here).network().connect(Some(rail), to, &address);
            if !world.transport(here).network().is_reachable(rail, to) {
                assert_eq!(connected, Err(ConnectError::Unreachable(to)), "{rail:?} leads nowhere");
                continue;
            }
            let endpoint = connected.expect("it says that it leads there");
            assert!(rail.number() < known && world.transport(here).network().connect(Some(rail), to, &address) == Ok(endpoint));
            assert!(endpoints.insert(endpoint) || rail == best, "an endpoint of its own");
            world.redirect(here, to, endpoint);
            let (offset, bytes) = (8 * rail.number(), [0x80 | rail.number() as u8; 8]);
            world.post(here, Operation::Write { to: world.address(to, segment, offset as u64), bytes: &bytes });
            expected.get_mut(&(to, segment)).expect("it was filled")[offset..][..8].copy_from_slice(&bytes);
        }
    }
    world.quiet();
    world.expect_memory(&expected, "a write by each rail");
}

/// `connect` refuses an address that no end of this transport has, and accepts the correct one afterwards.
pub fn foreign_addresses_are_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut fixture = make(2);
    let peer = Rank::new(1);
    let foreign = Address(vec![0xFF; limits::PUBLISHED_BYTES_MAX]);
    let refused = fixture.transport(Rank::new(0)).network().connect(None, peer, &foreign);
    assert_eq!(refused, Err(ConnectError::Address(foreign)));
    let address = fixture.transport(peer).network().address();
    fixture.transport(Rank::new(0)).network().connect(None, peer, &address).expect("a refusal changes nothing");
}

/// A post to an endpoint that `connect` did not return is refused and never completes.
pub fn unknown_endpoints_are_refused<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let expected = world.fill(1);
    let (here, unknown) = (Rank::new(0), Endpoint(u32::MAX));
    let to = world.address(Rank::new(1), world.segments()[0], 0);
    let operation = Operation::Write { to, bytes: b"unknown" };
    let answer = world.transport(here).post(Instant::ZERO, unknown, operation, Flags::NONE, Token(0));
    assert_eq!(answer, Err(PostError::Unknown(unknown)));
    world.quiet();
    world.expect_memory(&expected, "a refused write");
}
