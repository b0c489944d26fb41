//! Programs on machines whose routers or NICs reduce.

use pelago_base::{Duration, Instant, Rank, Team};
use pelago_netsim::Machine;
use pelago_platform::Fault;
use pelago_rma::{BarrierAlgorithm, Error, Group, ReductionOperator, Result, World};
use pelago_simulator::Settings;
use pelago_test_support::simulated::{self, run};

const ROUTERS: &str = "level = \"routers\"\ncombine_ns = 50.0\nbytes_max = 64\ngroups_max = 3\n";

fn settings_with(reduction: &str, ranks: u32, per_node: u32) -> Settings {
    settings_of("rx200-qdr", "[rail.topology]", reduction, ranks, per_node)
}

/// A bundled machine with reductions, which are written before a table.
fn settings_of(machine: &str, before: &str, reduction: &str, ranks: u32, per_node: u32) -> Settings {
    let text = Machine::bundled(machine).unwrap();
    assert!(text.contains(before));
    let text = text.replacen(before, &format!("[rail.reduction]\n{reduction}{before}"), 1);
    simulated::settings_on(Machine::parse(&text).unwrap(), ranks, per_node)
}

/// The results of all ranks of a job without a fault.
fn results<R>(settings: &Settings, program: impl Fn(&World) -> Result<R>) -> Vec<R> {
    let outcome = run(settings, program);
    assert_eq!((outcome.fault, outcome.failed, &outcome.stuck[..]), (None, None, &[][..]));
    outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect()
}

/// The time of the third barrier of a job, which all ranks enter at once.
fn barrier(settings: &Settings, barrier: impl Fn(&World) -> Result<()>) -> Vec<Duration> {
    results(settings, |world| {
        barrier(world)?;
        barrier(world)?;
        let before = world.now();
        barrier(world)?;
        Ok(world.now().since(before))
    })
}

#[test]
fn a_barrier_takes_the_way_up_and_down() {
    // The values of the machine file: overhead 1,000 ns, 30 bytes at 4 GB/s, cables of 0.6 ns, three decisions of 4 ns, a switch of 128 ns.
    let picoseconds = 1_000_000 + (7_500 + 600 + 12_000) + 50_000 + (128_000 + 600 + 7_500);
    let expected = vec![Duration::from_picoseconds(picoseconds); 16];
    let reducing = settings_with(ROUTERS, 16, 1);
    assert_eq!(barrier(&reducing, World::barrier), expected);
    assert_eq!(barrier(&reducing, |world| world.barrier_by(BarrierAlgorithm::Network)), expected);
    assert_eq!(barrier(&reducing, |world| world.allreduce_words(ReductionOperator::Sum, &mut [1])).len(), 16);
    // Two ranks of a node: the NIC combines as well.
    let with_nic = vec![Duration::from_picoseconds(picoseconds + 50_000); 16];
    assert_eq!(barrier(&settings_with(ROUTERS, 16, 2), World::barrier), with_nic);
}

#[test]
fn interruptions_of_a_core_delay_its_contribution() {
    // Of the overhead of 1,000 ns, 500 pass before the interruption from 600 to 1,000 µs.
    let noise = "[node.noise]\nphases = \"same\"\nperiod_ns = 1e6\nduration_ns = 4e5\n";
    let [reduction, before] = [format!("[rail.reduction]\n{ROUTERS}[rail.topology]"), format!("{noise}[[rail]]")];
    let text = Machine::bundled("rx200-qdr").unwrap().replace("[rail.topology]", &reduction).replace("[[rail]]", &before);
    let found = results(&simulated::settings_on(Machine::parse(&text).unwrap(), 4, 1), |world| {
        world.compute(Instant::from_picoseconds(599_500_000) - world.now());
        world.barrier()?;
        Ok(world.now())
    });
    let whole = results(&settings_with(ROUTERS, 4, 1), |world| {
        let before = world.now();
        world.barrier()?;
        Ok(world.now().since(before))
    });
    assert_eq!(found, whole.iter().map(|&whole| Instant::from_picoseconds(999_500_000) + whole).collect::<Vec<_>>());
}

#[test]
fn without_reductions_nothing_changes() {
    let (with, without) = (settings_with(ROUTERS, 12, 2), simulated::settings("rx200-qdr", 12, 2));
    let software = |world: &World| world.barrier_by(BarrierAlgorithm::Dissemination);
    assert_eq!(barrier(&with, software), barrier(&without, software));
    assert_eq!(barrier(&without, World::barrier), barrier(&without, software));
    assert_eq!(barrier(&without, |world| world.barrier_by(BarrierAlgorithm::Network)), barrier(&without, software));
    assert!(barrier(&with, World::barrier)[0] < barrier(&without, World::barrier)[0]);
    let words = |settings: &Settings| results(settings, |world| Ok(world.network_words()));
    assert_eq!((words(&with), words(&without)), (vec![Some(8); 12], vec![None; 12]));
    // A network is of no use within a node, nor to the library's own protocol.
    assert_eq!(words(&settings_with(ROUTERS, 4, 4)), [None; 4]);
    let by_protocol = Settings { protocol: Some(Default::default()), ..settings_with(ROUTERS, 3, 1) };
    assert_eq!(words(&by_protocol), [None; 3]);
}

/// Some teams of 12 ranks: all, in steps, in another order, and one whose last member is first.
fn teams() -> Vec<Team> {
    let of = |ranks: &[u32]| Team::of(&ranks.iter().copied().map(Rank::new).collect::<Vec<_>>()).unwrap();
    vec![Team::all(12), of(&[0, 3, 6, 9]), of(&[7, 2, 11, 4, 0]), of(&[11, 1])]
}

#[test]
fn all_operators_agree_with_their_definition_on_all_teams() {
    for (level, per_node) in [("routers", 1), ("routers", 4), ("nics", 1), ("nics", 3)] {
        let settings = settings_with(&ROUTERS.replace("routers", level), 12, per_node);
        for team in teams() {
            let word = |rank: Rank, operator| match operator {
                ReductionOperator::FloatSum => (0.1 * f64::from(rank.number())).to_bits(),
                _ => u64::from(rank.number()).wrapping_sub(5).wrapping_mul(0x0101_0101_0101_0101),
            };
            let found = results(&settings, |world| {
                let Some(group) = world.group(&team)? else { return Ok(None) };
                let mut found = Vec::new();
                for operator in ReductionOperator::ALL {
                    // Nine words are more than the network takes.
                    for count in [1, 8, 9] {
                        let mut words = vec![word(world.rank(), operator); count];
                        group.allreduce_words(operator, &mut words)?;
                        found.push((operator, words));
                    }
                }
                Ok(Some((group.network_words(), found)))
            });
            for (network_words, found) in found.into_iter().flatten() {
                assert_eq!(network_words, Some(8), "{level}, {per_node} ranks of a node, {team:?}");
                for (operator, words) in found {
                    let expected =
                        team.iter().map(|rank| word(rank, operator)).reduce(|left, right| operator.combine(left, right));
                    for found in words {
                        if operator == ReductionOperator::FloatSum {
                            let [found, expected] = [found, expected.unwrap()].map(f64::from_bits);
                            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
                        } else {
                            assert_eq!(Some(found), expected, "{operator:?} of {team:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn teams_without_room_combine_by_themselves() {
    let settings = settings_with(ROUTERS, 12, 1);
    let found = results(&settings, |world| {
        // The group of all ranks is the first of three.
        let mut groups: Vec<Option<Group<'_>>> = Vec::new();
        for team in teams() {
            groups.push(world.group(&team)?);
        }
        let served = |groups: &[Option<Group<'_>>]| -> Vec<Option<bool>> {
            groups.iter().map(|group| Some(group.as_ref()?.network_words().is_some())).collect()
        };
        let before = served(&groups);
        for group in groups.iter().flatten() {
            let mut words = [group.team().size().into()];
            group.allreduce_words(ReductionOperator::Sum, &mut words)?;
            assert_eq!(words, [u64::from(group.team().size() * group.team().size())]);
            group.barrier()?;
        }
        groups.clear();
        world.barrier()?;
        let again = world.group(&teams()[3])?;
        Ok((before, again.map(|group| group.network_words())))
    });
    for (rank, (before, again)) in (0..).map(Rank::new).zip(found) {
        let expected: Vec<_> =
            teams().iter().zip([true, true, false, false]).map(|(team, served)| team.contains(rank).then_some(served)).collect();
        assert_eq!(before, expected, "rank {rank}");
        assert_eq!(again, teams()[3].contains(rank).then_some(Some(8)), "there is room again");
    }
}

#[test]
fn nobody_leaves_before_all_have_come() {
    let settings = settings_with(ROUTERS, 12, 3);
    let entered = std::sync::atomic::AtomicU32::new(0);
    results(&settings, |world| {
        let entered = &entered;
        for round in 1..=20 {
            world.compute(Duration::from_nanoseconds(u64::from(world.rank().number() * 7919 % 13) * 300));
            entered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // Other barriers, of which none may be disturbed.
            match round % 3 {
                0 => world.barrier_by(BarrierAlgorithm::Dissemination)?,
                1 => world.barrier_by(BarrierAlgorithm::Tree)?,
                _ => world.barrier()?,
            }
            assert!(entered.load(std::sync::atomic::Ordering::Relaxed) >= round * 12, "barrier {round}");
        }
        Ok(())
    });
}

#[test]
fn a_failed_or_missing_member_ends_the_wait() {
    let settings = settings_with(ROUTERS, 6, 1);
    let failing = |world: &World| {
        world.barrier()?;
        if world.rank() == Rank::new(4) {
            world.compute(Duration::from_microseconds(50));
            return Err(Error::Disagreement("something of its own"));
        }
        world.barrier()
    };
    let outcome = run(&settings, failing);
    let lost = Fault::PeerLost(Rank::new(4));
    assert_eq!((outcome.failed, outcome.fault), (Some(Rank::new(4)), Some(lost)));
    for (rank, result) in outcome.results.into_iter().enumerate().filter(|(rank, _)| *rank != 4) {
        assert_eq!(result.unwrap().unwrap_err(), Error::Fault(lost), "rank {rank}");
    }
    let missing = |world: &World| if world.rank() == Rank::new(2) { Ok(()) } else { world.barrier() };
    let outcome = run(&settings, missing);
    assert_eq!(outcome.fault, Some(Fault::Deadlock));
}

#[test]
fn a_job_goes_on_without_a_lost_member() {
    let settings = settings_with(ROUTERS, 6, 1);
    let rest = Team::all(5);
    let program = |world: &World| {
        world.on_peer_lost(|_| ());
        let group = world.group(&rest)?;
        world.barrier()?;
        if world.rank() == Rank::new(5) {
            world.compute(Duration::from_microseconds(50));
            return Err(Error::Disagreement("something of its own"));
        }
        let group = group.expect("a member");
        let lost = Err(Error::Fault(Fault::PeerLost(Rank::new(5))));
        assert_eq!((world.barrier(), world.barrier()), (lost.clone(), lost));
        let mut sum = [1];
        group.allreduce_words(ReductionOperator::Sum, &mut sum)?;
        group.barrier()?;
        assert_eq!((sum, group.network_words()), ([5], Some(8)));
        Ok(())
    };
    let outcome = run(&settings, program);
    assert_eq!((outcome.fault, outcome.failed), (None, Some(Rank::new(5))));
    assert_eq!(outcome.results.into_iter().filter(|result| matches!(result, Some(Ok(())))).count(), 5);
}

#[test]
fn threads_change_nothing() {
    let settings = settings_of("fat-tree-ndr", "[rail.topology]", ROUTERS, 96, 2);
    let program = |world: &World| -> Result<(u64, Instant)> {
        let memory = world.alloc::<u64>(512)?;
        let mut sum = [1];
        for round in 0..4 {
            let to = Rank::new((world.rank().number() * 7 + round) % world.size());
            world.put(memory.at(to, 0), &[u64::from(round); 256])?;
            world.barrier()?;
            world.allreduce_words(ReductionOperator::Sum, &mut sum)?;
        }
        Ok((sum[0], world.now()))
    };
    let one = results(&settings, program);
    assert_eq!(one[0].0, 96u64.pow(4));
    assert_eq!(one, results(&Settings { threads: 4, ..settings }, program));
}
