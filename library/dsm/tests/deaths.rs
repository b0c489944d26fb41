//! A rank dies after each of its operations, at a variable that others continue to use: in virtual time, with the library's own protocol.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::{Duration, Instant, Rank};
use pelago_dsm::{Placement, Shared};
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death;

const RANKS: u32 = 4;
const TURNS: u32 = 4;
const HOME: Rank = Rank::new(0);

/// The results of a job.
struct Ended {
    /// The times of the victim's operations after the creation of the variable.
    noted: Vec<Instant>,
    /// For each rank that ended, the last value that it found, and the number of calls that failed with the loss.
    found: Vec<Option<(u64, u32)>>,
    /// The numbers of writes that were released, by the others and by the victim; counted outside of the simulated memory.
    written: [u64; 2],
}

/// Number of words of data that travels with the token, and of data that does not.
const SHORT: usize = 1;
const LONG: usize = 600;

/// All ranks add 1 to each of `words` words in each turn; the victim dies at the time `dies`, if any.
fn play(words: usize, placement: Placement, victim: Rank, dies: Option<Instant>, loss: u32) -> Ended {
    let written = Cell::new([0; 2]);
    let faults = FaultInjection { loss, ..FaultInjection::default() };
    let (noted, found) = run_with_death(RANKS, faults, (victim, dies), |world, begin| {
        let told = Rc::new(RefCell::new(Vec::new()));
        let tell = told.clone();
        world.on_peer_lost(move |rank| tell.borrow_mut().push(rank));
        let mut variable = Shared::<[u64]>::new(world, HOME, vec![1000; words])?;
        variable.place(placement)?;
        begin();
        let found = add(world, &mut variable, victim, &written)?;
        assert!(told.borrow().iter().all(|&rank| rank == victim));
        Ok(found)
    });
    Ended { noted, found, written: written.get() }
}

fn add(world: &World, variable: &mut Shared<'_, [u64]>, victim: Rank, written: &Cell<[u64; 2]>) -> Result<(u64, u32)> {
    let (mut last, mut refused) = (0, 0);
    let who = usize::from(world.rank() == victim);
    for turn in 0..TURNS {
        if (turn + world.rank().number()).is_multiple_of(3) {
            match variable.read() {
                Ok(guard) => last = guard[0],
                Err(error) => refused += refusal(&error, victim),
            }
        }
        match variable.write() {
            Ok(mut guard) => {
                world.compute(Duration::from_microseconds(3));
                assert!(guard[0] >= last, "{} after {last}", guard[0]);
                assert!(guard.iter().all(|&word| word == guard[0]), "one version, whole: {guard:?}");
                last = guard[0] + 1;
                guard.fill(last);
                match guard.release() {
                    Ok(()) => {
                        let mut counts = written.get();
                        counts[who] += 1;
                        written.set(counts);
                    }
                    Err(error) => refused += refusal(&error, victim),
                }
            }
            Err(error) => refused += refusal(&error, victim),
        }
    }
    Ok((last, refused))
}

/// Counts an error, which must be the loss of the victim.
fn refusal(error: &Error, victim: Rank) -> u32 {
    match error {
        Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank)) if *rank == victim => 1,
        other => panic!("{other}"),
    }
}

#[test]
fn nobody_dies() {
    let placements = [Placement::Home, Placement::Migrating];
    for (words, placement, loss) in [SHORT, LONG]
        .into_iter()
        .flat_map(|words| placements.map(|placement| [0, 200].map(|loss| (words, placement, loss))))
        .flatten()
    {
        let ended = play(words, placement, Rank::new(1), None, loss);
        let all = u64::from(RANKS * TURNS);
        assert_eq!(ended.written.iter().sum::<u64>(), all);
        let last = ended.found.iter().map(|found| found.unwrap()).max().unwrap();
        assert_eq!(last, (1000 + all, 0));
    }
}

/// The victim is not the home: the others continue, or get an error that the last version of the victim is lost. Data that travels with the token is
/// lost only together with the token.
#[test]
fn a_rank_dies_after_each_of_its_operations() {
    let placements = [Placement::Home, Placement::Migrating].into_iter();
    let cases =
        placements.flat_map(|placement| [SHORT, LONG].map(|words| [1, 3].map(|victim| (placement, words, Rank::new(victim)))));
    for (placement, words, victim) in cases.flatten() {
        let whole = play(words, placement, victim, None, 0);
        assert!(whole.noted.len() > 20, "{} operations", whole.noted.len());
        let mut refused_all = 0;
        for (number, &at) in whole.noted.iter().enumerate() {
            for later in [1, 900].map(Duration::from_nanoseconds) {
                let ended = play(words, placement, victim, Some(at + later), 0);
                let survivors: Vec<_> = (0..).map(Rank::new).zip(&ended.found).filter(|(rank, _)| *rank != victim).collect();
                assert!(
                    survivors.iter().all(|(_, found)| found.is_some()),
                    "operation {number} of rank {victim}: all others end"
                );
                let found = survivors.iter().filter_map(|(_, found)| **found);
                let (last, refused) = found.fold((0, 0), |all, one| (all.0.max(one.0), all.1 + one.1));
                refused_all += refused;
                let [others, by_victim] = ended.written;
                // Each release takes effect once. One more release of the victim may have taken effect than it knows, and its last ones may be lost.
                let added = last.saturating_sub(1000);
                let possible = others..=others + by_victim + 1;
                assert!(possible.contains(&added), "operation {number} of rank {victim}: {added} of {:?}", ended.written);
                let missing = u64::from((RANKS - 1) * TURNS) - others;
                assert!(missing <= u64::from(refused), "who did not add was told why");
            }
        }
        assert!(refused_all > 0 || words == SHORT, "the last version is lost now and then");
    }
}

/// The victim is the home: all others get its loss as an error, and none waits for ever.
#[test]
fn the_home_dies_after_each_of_its_operations() {
    for placement in [Placement::Home, Placement::Migrating] {
        let whole = play(SHORT, placement, HOME, None, 0);
        for (number, &at) in whole.noted.iter().enumerate().filter(|(number, _)| number % 2 == 0) {
            let ended = play(SHORT, placement, HOME, Some(at + Duration::from_nanoseconds(1)), 0);
            let others = ended.found.iter().skip(1);
            assert!(others.clone().all(Option::is_some), "operation {number}: all others end");
        }
    }
}
