//! Tests that an operation takes effect exactly once, whatever the network loses, repeats and reorders.

use pelago_base::{AtomicOperator, Width};
use pelago_protocol::Request;

use crate::memory::at;
use crate::network::{Network, Random, Weather};

/// Additions of several ranks to one word result in their sum, and each intermediate value is returned once.
fn additions(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let (ranks, each) = (2 + random.below(3) as usize, 1 + random.below(12));
    let weather = Weather::foul(&mut random);
    let mut network = Network::new(ranks as u32, random.next(), weather);
    let word = at(network.layout, 0, 1, 8 * random.below(100));
    let add = Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    for token in 0..each {
        for rank in 0..ranks {
            network.submit(rank, 0, add, token);
            (0..random.below(4)).for_each(|_| {
                network.step();
            });
        }
    }
    network.quiet();
    let total = each * ranks as u64;
    let about = format!("test seed {seed:#x}; {}", network.about());
    assert_eq!(network.memories[0].word(network.layout.offset(word) as usize), total, "{about}");
    let mut found: Vec<u64> =
        network.ended.values().map(|result| result.unwrap_or_else(|error| panic!("{about}: {error:?}"))).collect();
    found.sort_unstable();
    assert_eq!(found, (0..total).collect::<Vec<_>>(), "{about}");
    assert!(network.endpoints.iter().all(|endpoint| endpoint.peers().1 == 0), "{about}: idle peers are dropped");
    network.endpoints.iter().map(|endpoint| endpoint.counters().of(pelago_base::Event::DatagramDuplicate)).sum()
}

#[test]
fn twenty_thousand_networks_add_each_addition_once() {
    let duplicates: u64 = (0..20_000).map(|number| additions(0xADD0_0000 + number)).sum();
    assert!(duplicates > 10_000, "the networks repeat: {duplicates}");
}

#[test]
fn idle_peers_come_back_where_they_were() {
    let mut network = Network::new(2, 7, Weather { lost: 100_000, repeated: 900_000, delay: (1_000, 50_000) });
    let word = at(network.layout, 1, 1, 0);
    for round in 0..20 {
        let add = Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        network.submit(0, 1, add, round);
        network.quiet();
        assert_eq!(network.endpoints.iter().map(|endpoint| endpoint.peers()).collect::<Vec<_>>(), [(1, 0), (1, 0)]);
        assert_eq!(network.ended[&(0, round)], Ok(round));
    }
    assert_eq!(network.memories[1].word(0), 20);
}
