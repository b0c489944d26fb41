//! What a plan chooses by itself is within a tenth of the best method, however wrong the rule is that proposes one: in virtual time.

#[path = "../../../simulation/simulator/tests/support/mod.rs"]
#[allow(dead_code)]
mod support;

use pelago_halo::{Field, Method, Nodes, Plan, Settings, Template};
use pelago_netsim::Machine;
use pelago_rma::{Result, World};

/// Picoseconds of an exchange on the slowest rank, by a plan as the settings have it; and the sum of the numbers of the methods that it has taken.
fn time<'w>(world: &'w World, field: &mut [Field<'w, f64, 2>; 1], method: Option<Method>) -> Result<[u64; 2]> {
    const EXCHANGES: u64 = 6;
    let mut plan = Plan::build(world, field, &Settings { methods: [method; 4], ..Settings::default() })?;
    plan.reflect(field)?;
    world.barrier()?;
    let start = world.now();
    (0..EXCHANGES).try_for_each(|_| plan.reflect(field))?;
    let mut slowest = [(world.now() - start).as_picoseconds() / EXCHANGES];
    world.allreduce(&mut slowest, u64::max)?;
    let number = |name: &str| Method::ALL.iter().position(|method| method.to_string() == name).unwrap() as u64;
    let taken = plan.explain().links.iter().map(|link| number(&link.taken().unwrap().name)).sum();
    Ok([slowest[0], taken])
}

#[test]
fn the_choice_is_within_a_tenth_of_the_best_method() {
    let bundled = Machine::bundled("rx200-qdr").unwrap();
    // Packing that costs nothing, and packing that is a hundred times as slow as the network; the rule knows neither.
    for copy in ["copy_gb_per_s = 1000.0", "copy_gb_per_s = 0.03"] {
        let line = bundled.lines().find(|line| line.starts_with("copy_gb_per_s")).unwrap();
        let machine = Machine::parse(&bundled.replace(line, copy)).unwrap();
        for (cells, width, parts) in [([8, 4000], [1, 1], [2, 1]), ([40, 40], [1, 1], [1, 2]), ([12, 3000], [3, 3], [2, 1])] {
            let settings = support::settings_on(machine.clone(), 2, 1);
            let outcome = support::run(&settings, |world| {
                let nodes = Nodes::new(parts, [false; 2]).unwrap();
                let widths = parts.map(|parts| if parts > 1 { width } else { [0, 0] });
                let array = Template::new(cells, nodes).unwrap().array().shadow(widths).unwrap();
                let mut field = [Field::new(world, &array)?];
                let mut best = u64::MAX;
                for method in Method::ALL {
                    best = best.min(time(world, &mut field, Some(method))?[0]);
                }
                let [took, taken] = time(world, &mut field, None)?;
                assert!(took * 10 <= best * 11, "{cells:?}, {copy}: {took} instead of {best} ps");
                let mut both = [taken, !taken];
                world.allreduce(&mut both, u64::min)?;
                assert_eq!(both, [taken, !taken], "both ends choose alike");
                Ok(())
            });
            outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
        }
    }
}
