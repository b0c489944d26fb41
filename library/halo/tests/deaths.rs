//! A rank dies at any moment of an exchange: that exchange reports the failure to the others, once, and a later one at once; no rank waits forever.
//! In virtual time, on the library's own protocol.

use pelago_base::{Instant, Rank, Team};
use pelago_halo::{DIMENSIONS_MAX, Field, Halo, Method, Nodes, Plan, Route, Settings, Template};
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death;

const CELLS: usize = 6;
const RANKS: u32 = 4;
const VICTIM: Rank = Rank::new(3);

/// More exchanges than there are before the latest death of the victim.
const EXCHANGES_MAX: usize = 20_000;

fn is_loss(ended: &Result<()>) -> bool {
    matches!(ended, Err(Error::Fault(Fault::PeerLost(VICTIM)) | Error::Failed(Failure::PeerLost(VICTIM))))
}

/// Exchanges until one fails; then no error of it is left to report, and another exchange fails at once.
fn exchange_until_lost(world: &World, method: Method, begin: &dyn Fn()) -> Result<()> {
    world.on_peer_lost(|_| {});
    let living: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
    let living = world.group(&Team::of(&living).unwrap())?;
    let nodes = Nodes::new([2, 2], [true, true]).unwrap();
    let array = Template::new([2 * CELLS; 2], nodes).unwrap().array().shadow([[1, 1]; 2]).unwrap();
    let settings = Settings {
        methods: [Some(method); DIMENSIONS_MAX],
        halo: Halo::Edges,
        route: Some(Route::Forwarded),
        ..Settings::default()
    };
    let mut fields = [Field::<u64, 2>::new(world, &array)?];
    let mut plan = Plan::build(world, &mut fields, &settings)?;
    let mut others = [Field::<u64, 2>::new(world, &array)?];
    let mut other = Plan::build(world, &mut others, &settings)?;
    world.barrier()?;
    begin();
    let ended = (0..EXCHANGES_MAX).try_for_each(|_| plan.reflect(&mut fields));
    let Some(living) = living else { return Ok(()) };
    assert!(is_loss(&ended), "{ended:?}");
    assert_eq!(world.quiet(), Ok(()), "the exchange has told it");
    assert!(
        matches!(plan.wait(&mut fields), Err(Error::Invalid(_))) && matches!(plan.start(&mut fields), Err(Error::Invalid(_)))
    );
    assert!(is_loss(&other.reflect(&mut others)), "the loss is known");
    living.barrier()?;
    world.quiet()
}

#[test]
fn whoever_exchanges_halos_learns_once_that_a_rank_has_died() {
    for method in Method::ALL {
        let play = |dies: Option<Instant>| {
            run_with_death(RANKS, FaultInjection::default(), (VICTIM, dies), |world, begin| {
                exchange_until_lost(world, method, begin)
            })
        };
        let (noted, _) = play(Some(Instant::from_picoseconds(500_000_000)));
        assert!(noted.len() > 8, "{} operations", noted.len());
        for &at in noted.iter().take(12).chain(noted.iter().rev().take(2)) {
            for later in [1, 900].map(pelago_base::Duration::from_nanoseconds) {
                let (_, ended) = play(Some(at + later));
                assert!(ended.iter().enumerate().all(|(rank, ended)| rank == VICTIM.index() || ended.is_some()), "{method:?}");
            }
        }
    }
}
