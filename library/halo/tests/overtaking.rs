//! Exchanges on a network where datagrams overtake each other, of ranks that are slow in turns: a halo is neither early nor stale, by any method.

use pelago_base::Duration;
use pelago_halo::{DIMENSIONS_MAX, Field, Method, Nodes, Plan, Settings, Template};
use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const CELLS: usize = 6;

/// Each rank writes the number of the exchange to its border, and finds the number of its neighbours in its halo for as long as it reads.
fn exchange(world: &World, method: Method) -> Result<()> {
    let nodes = Nodes::new([world.size() as usize], [true]).unwrap();
    let array = Template::new([CELLS * world.size() as usize], nodes).unwrap().array().shadow([[1, 1]]).unwrap();
    let mut fields = [Field::<u64, 1>::new(world, &array)?];
    let settings = Settings { methods: [Some(method); DIMENSIONS_MAX], ..Settings::default() };
    let mut plan = Plan::build(world, &mut fields, &settings)?;
    for number in 1..=30_u64 {
        fields[0].for_each(|_, cell| *cell = number);
        plan.start(&mut fields)?;
        plan.wait(&mut fields)?;
        for look in 0..2 {
            let cells = fields[0].cells();
            assert_eq!([cells[0], cells[CELLS + 1]], [number; 2], "exchange {number}, look {look}, {method:?}");
            if number % u64::from(world.size()) == u64::from(world.rank()) {
                world.compute(Duration::from_microseconds(200));
            }
        }
    }
    Ok(())
}

#[test]
fn exchanges_follow_one_another_where_datagrams_overtake_each_other() {
    for method in Method::ALL {
        for ranks in [4, 5, 7] {
            for seed in 0..4 {
                let late = simulated::settings_late(ranks, seed);
                simulated::run_to_the_end(&late, &format!("{method:?}"), |world| exchange(world, method));
            }
        }
    }
}
