//! Counters placed by topology, on a simulated fat tree and a torus: every message arrives, the number of slots is that of one counter, and the
//! explanation has the reasons.

use std::collections::BTreeSet;

use pelago_base::Rank;
use pelago_messaging::{Limit, Mailbox, Placement, Settings};
use pelago_test_support::simulated;

const RECEIVER: Rank = Rank::new(0);
const MESSAGES: u32 = 3;

/// The results of a job of `ranks` ranks, two per node: bytes at the receiver, the holders of counters, and the explanation.
fn play(machine: &str, ranks: u32, settings: &Settings) -> (usize, Vec<Rank>, String) {
    let outcome = simulated::run(&simulated::settings(machine, ranks, 2), |world| {
        let mailbox = Mailbox::new(world, RECEIVER, settings.clone())?;
        if world.rank() == RECEIVER {
            let (mut receiver, mut next) = (mailbox.receiver()?, vec![0; world.size() as usize]);
            for _ in 0..(world.size() - 1) * MESSAGES {
                let message = receiver.receive()?;
                let (from, number) = (message.from(), message.to_vec()[0]);
                assert_eq!(number, next[from.index()], "messages of rank {from} come in order");
                next[from.index()] += 1;
                message.release()?;
            }
            assert!(receiver.try_receive()?.is_none());
        } else {
            let mut sender = mailbox.sender(RECEIVER)?;
            (0..MESSAGES).try_for_each(|number| sender.send([number as u8; 8]))?;
            sender.flush()?;
        }
        world.barrier()?;
        let explanation = mailbox.explain();
        assert_eq!(explanation.servers.iter().map(|server| server.slots).sum::<u32>(), settings.slots);
        assert_eq!(explanation.servers.iter().map(|server| server.senders).sum::<u32>(), world.size());
        let holders = explanation.servers.iter().map(|server| server.holder).collect::<Vec<_>>();
        Ok((mailbox.receiver_bytes(), holders, explanation.to_string()))
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    let mut told = outcome.results.into_iter().map(|result| result.unwrap().unwrap());
    let first = told.next().unwrap();
    assert!(told.all(|other| other == first), "all ranks know the same");
    first
}

#[test]
fn a_server_for_each_leaf_switch_with_shares_of_any_number() {
    // Leaf switches with up to 64 ranks: 64, 64 and 22.
    let settings = Settings::new(64, 8).placed(Placement::Topology { servers: 3, borrow: false });
    let (bytes, holders, explanation) = play("fat-tree-ndr", 150, &settings);
    assert_eq!(bytes, play("fat-tree-ndr", 150, &Settings::new(64, 8).placed(Placement::Receiver)).0, "memory at the receiver");
    assert_eq!(holders, [32, 96, 139].map(Rank::new));
    assert!(explanation.contains("3 servers, by leaf switch, with 10 to 27 slots for 22 to 64 ranks each"), "{explanation}");
}

#[test]
fn a_server_for_each_box_of_a_torus_or_for_each_run_of_routers_where_boxes_are_too_few() {
    for borrow in [false, true] {
        let mut by = BTreeSet::new();
        for servers in 2..8 {
            let settings = Settings::new(16, 8).placed(Placement::Topology { servers, borrow });
            let (_, holders, explanation) = play("torus-tofud", 100, &settings);
            assert_eq!(holders.len(), servers as usize, "{explanation}");
            by.insert(explanation.split(", ").nth(1).unwrap().to_owned());
        }
        assert_eq!(Vec::from_iter(by), ["by box", "by run of routers"]);
    }
}

/// Relays with servers: a rank uses the server of its relay, and the number of slots is that of one counter.
#[test]
fn relays_lie_below_servers() {
    for machine in ["fat-tree-ndr", "torus-tofud"] {
        for relay_ranks in [2, 6, 64] {
            let settings = Settings::new(16, 8).placed(Placement::Topology { servers: 3, borrow: false }).relayed(relay_ranks);
            assert_eq!(play(machine, 100, &settings).1.len(), 3);
        }
    }
}

#[test]
fn the_automatic_placement_is_one_counter_until_there_are_many_senders() {
    let settings = Settings::new(64, 8);
    let (_, holders, explanation) = play("fat-tree-ndr", 100, &settings);
    assert_eq!(holders, [RECEIVER], "{explanation}");
    let (_, holders, explanation) = play("fat-tree-ndr", 1030, &settings);
    assert_eq!(holders.len(), 4, "{explanation}");
    assert!(explanation.contains("\ncounters: rejected: one counter: "), "{explanation}");
}

#[test]
fn a_limit_knows_the_server_of_each_sender() {
    let outcome = simulated::run(&simulated::settings("fat-tree-ndr", 130, 2), |world| {
        let limit = Limit::new(
            world,
            RECEIVER,
            Settings::permits(5_u32.next_power_of_two()).placed(Placement::Topology { servers: 3, borrow: false }),
        )?;
        let came = world.alloc::<u64>(1 + world.size() as usize)?;
        if world.rank() == RECEIVER {
            let mut permits = limit.receiver()?;
            let mut done = vec![0; world.size() as usize + 1];
            for all in 1..=u64::from(world.size() - 1) * u64::from(MESSAGES) {
                permits.flush()?;
                world.wait_until(came.local(), 0, |count| count >= all)?;
                let from = (1..done.len()).find(|&from| came.local().load(from) > done[from]).unwrap();
                done[from] += 1;
                permits.release(Rank::new(from as u32))?;
            }
            permits.flush()?;
        } else {
            let mut permits = limit.sender(RECEIVER)?;
            for _ in 0..MESSAGES {
                permits.acquire()?;
                world.add(came.at(RECEIVER, world.rank().index()), 1)?.wait()?;
                world.add(came.at(RECEIVER, 0), 1)?.wait()?;
            }
        }
        world.barrier()
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
}
