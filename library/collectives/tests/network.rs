//! One-shot reductions that routers of a simulated machine combine.

use pelago_base::{Duration, Rank, Team};
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Commutative, Max, Min, Operator, Product, Settings, Sum};
use pelago_netsim::Machine;
use pelago_rma::{Pod, Result, World};
use pelago_test_support::simulated;

const RANKS: u32 = 12;

/// Runs a program on a machine with reductions of up to four words, and on the same machine without.
fn on_both<R>(program: impl Fn(&World, bool) -> Result<R>) -> [Vec<R>; 2] {
    let plain = Machine::bundled("rx200-qdr").unwrap();
    let table = "[rail.reduction]\nlevel = \"routers\"\ncombine_ns = 50.0\nbytes_max = 32\ngroups_max = 2\n[rail.topology]";
    [(plain.replace("[rail.topology]", table), true), (plain.to_owned(), false)].map(|(machine, reduces)| {
        let machine = Machine::parse(&machine).unwrap();
        let settings = pelago_simulator::Settings { heap_bytes: 16 << 20, ..simulated::settings_on(machine, RANKS, 2) };
        let outcome = simulated::run(&settings, |world| program(world, reduces));
        assert_eq!((outcome.fault, outcome.failed), (None, None));
        outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect()
    })
}

fn settings() -> Settings {
    Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, ..Settings::default() }
}

/// Reduces the values of all members; returns the result, the time, and whether the network did it.
fn reduce<T: Pod>(
    all: &Collectives<'_>,
    world: &World,
    values: &[T],
    operator: impl Operator<T>,
) -> Result<(Vec<T>, Duration, bool)> {
    let mut values = values.to_vec();
    let in_network = all.is_in_network(values.len(), &operator);
    all.barrier()?;
    let before = world.now();
    all.allreduce(&mut values, operator)?;
    Ok((values, world.now().since(before), in_network))
}

#[test]
fn short_values_of_known_operators_are_combined_by_the_network() {
    let [with, without] = on_both(|world, reduces| {
        let all = Collectives::new(world, &settings())?;
        let me = u64::from(world.rank()) + 1;
        let signed = me.cast_signed() - 7;
        let (sum, time, by_network) = reduce(&all, world, &[me, 2 * me], Sum)?;
        assert_eq!((sum, by_network), (vec![78, 156], reduces));
        assert_eq!(reduce(&all, world, &[signed], Sum)?.0, [78 - 7 * 12]);
        assert_eq!(reduce(&all, world, &[signed; 4], Min)?.0, [-6; 4]);
        assert_eq!(reduce(&all, world, &[signed, -signed], Max)?.0, [5, 6]);
        let (sum, _, by_network) = reduce(&all, world, &[0.5 * me as f64], Sum)?;
        assert_eq!((sum, by_network), (vec![39.0], reduces));
        // Others are combined by the members.
        for (found, by_network) in [
            (reduce(&all, world, &[me; 5], Sum)?.0, all.is_in_network::<u64>(5, &Sum)),
            (reduce(&all, world, &[1; 5], Product)?.0, all.is_in_network::<u64>(1, &Product)),
            (reduce(&all, world, &[me; 5], |one, other| one + other)?.0, all.is_in_network(1, &|one: u64, _| one)),
            (reduce(&all, world, &[me; 5], Commutative(|one, other| one + other))?.0, all.is_in_network::<u32>(1, &Sum)),
            (vec![], all.is_in_network::<f64>(1, &Min)),
            (vec![], all.is_in_network::<u64>(0, &Sum)),
        ] {
            assert!(!by_network && found.iter().all(|&value| value == 78 || value == 1), "{found:?}");
        }
        Ok(time)
    });
    assert!(with.iter().max() < without.iter().min(), "{with:?} {without:?}");
}

#[test]
fn the_choice_can_be_set() {
    on_both(|world, reduces| {
        let all = Collectives::new(world, &settings())?;
        assert_eq!(all.is_in_network::<u64>(1, &Sum), reduces);
        all.set(Collective::Allreduce, 8, Algorithm::Binomial)?;
        assert!(!all.is_in_network::<u64>(1, &Sum), "another one is set");
        assert_eq!(reduce(&all, world, &[1_u64], Sum)?.0, [12]);
        assert_eq!(all.prepared::<u64>(Collective::Allreduce, 1, true)?, Some(Algorithm::Binomial));
        all.set(Collective::Allreduce, 8, Algorithm::Network)?;
        assert_eq!(all.is_in_network::<u64>(1, &Sum), reduces);
        assert_eq!(reduce(&all, world, &[1_u64], Sum)?.0, [12]);
        // A plan is a schedule.
        assert!(
            all.plan_of(Collective::Allreduce, 1, Sum, Choice::Fixed(Algorithm::Network))
                .map(|plan: pelago_collectives::Plan<'_, '_, u64>| drop(plan))
                .is_err()
        );
        Ok(())
    });
}

#[test]
fn teams_have_groups_of_their_own_while_there_is_room() {
    on_both(|world, reduces| {
        let teams = [[0, 5, 9, 2], [1, 3, 8, 11], [4, 6, 7, 10]].map(|ranks| Team::of(&ranks.map(Rank::new)).unwrap());
        let mut mine = None;
        for (number, team) in teams.iter().enumerate() {
            if let Some(all) = Collectives::of(world, team, &settings())? {
                mine = Some((number, all));
            }
        }
        let (number, all) = mine.expect("each rank is a member of a team");
        // The ranks of the job have one of two groups.
        assert_eq!(all.is_in_network::<u64>(1, &Sum), reduces && number == 0, "team {number}");
        for round in 1..=5_u64 {
            let (found, ..) = reduce(&all, world, &[round * u64::from(all.position() + 1)], Sum)?;
            assert_eq!(found, [10 * round]);
        }
        world.barrier()
    });
}
