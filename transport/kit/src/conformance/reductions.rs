//! R1 to R6: reductions by the network, where it performs them. Elsewhere, the tests pass without testing.

use pelago_base::{Rank, Team};
use pelago_platform::{Failure, PostError, ReductionGroup, ReductionOperator, Reductions, Token};

use super::Fixture;
use super::world::World;

/// Number of ranks of the tests.
const RANKS: u32 = 4;

/// Number of turns of all ranks in which a contribution that waits for another must not complete.
const TURNS: u32 = 400;

/// Every member gets the combination of the contributions of all, for every operator and order of arrival, and not before the last one (R1, R2, R4).
pub fn everyone_gets_the_combination<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, RANKS);
    let all = Team::all(RANKS);
    let Some(groups) = open(&mut world, &all) else { return };
    let words_max = reductions(&mut world, Rank::new(0)).map_or(0, |network| network.words_max());
    for (round, operator) in (0..).zip(ReductionOperator::ALL) {
        let words = |rank: Rank| [word(operator, rank.number() + round), word(operator, 7 * rank.number())];
        let count = words_max.min(2);
        let order: Vec<Rank> = (0..RANKS).map(|rank| Rank::new((rank + round) % RANKS)).collect();
        let mut tokens = Vec::new();
        for &rank in &order {
            (0..TURNS).for_each(|_| world.turn());
            assert!(tokens.iter().all(|&token| world.is_pending(token)), "{operator:?}: not all have contributed (R2)");
            tokens.push(contribute(&mut world, rank, groups[rank.index()], operator, &words(rank)[..count]).unwrap());
        }
        for token in tokens {
            assert_eq!(world.wait(token), Ok(0));
        }
        let combine = |left: [u64; 2], right: [u64; 2]| [0, 1].map(|at| operator.combine(left[at], right[at]));
        let expected = all.iter().map(words).reduce(combine).expect("a team has members");
        for rank in world.ranks() {
            let mut found = [0; 2];
            let taken = take(&mut world, rank, groups[rank.index()], &mut found[..count]);
            assert_eq!((taken, &found[..count]), (count > 0, &expected[..count]), "{operator:?} on rank {rank} (R4)");
            assert!(!take(&mut world, rank, groups[rank.index()], &mut found), "a result is taken once");
        }
    }
    world.quiet();
}

/// Members that are ahead of others, in one group and in two: the n-th contributions belong together (R3).
pub fn reductions_do_not_mix<F: Fixture>(make: impl Fn(u32) -> F) {
    const ROUNDS: u32 = 5;
    let mut world = World::new(make, RANKS);
    let (Some(first), Some(second)) = (open(&mut world, &Team::all(RANKS)), open(&mut world, &Team::all(RANKS))) else { return };
    let words_max = reductions(&mut world, Rank::new(0)).map_or(0, |network| network.words_max());
    let count = words_max.min(1);
    let mut tokens = Vec::new();
    for rank in world.ranks() {
        for round in 0..ROUNDS {
            for (group, factor) in [(first[rank.index()], 1), (second[rank.index()], 100)] {
                let word = [u64::from(factor * (round + 1))];
                tokens.push(contribute(&mut world, rank, group, ReductionOperator::Sum, &word[..count]).unwrap());
            }
        }
    }
    for token in tokens {
        assert_eq!(world.wait(token), Ok(0));
    }
    for rank in world.ranks() {
        for (group, factor) in [(first[rank.index()], 1), (second[rank.index()], 100)] {
            for round in 0..ROUNDS * count as u32 {
                let mut found = [0];
                assert!(take(&mut world, rank, group, &mut found));
                assert_eq!(found, [u64::from(RANKS * factor * (round + 1))], "round {round} on rank {rank} (R3)");
            }
        }
    }
    world.quiet();
}

/// Groups of some ranks work beside each other, and what no rank has opened, or has closed, is refused. All members are told alike when the
/// network has no room (R1, R6).
pub fn groups_have_their_members<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, RANKS);
    if open(&mut world, &Team::all(RANKS)).is_none() {
        return;
    }
    let operator = ReductionOperator::Max;
    let nowhere = contribute(&mut world, Rank::new(0), ReductionGroup(u32::MAX), operator, &[]);
    assert_eq!(nowhere, Err(PostError::Group));
    let words_max = reductions(&mut world, Rank::new(0)).map_or(0, |network| network.words_max());
    let long = vec![0; words_max + 1];
    for members in [[3, 0], [1, 2]] {
        let team = Team::of(&members.map(Rank::new)).expect("two ranks");
        // Some teams are not served, as those of ranks of one node.
        let Some(groups) = open(&mut world, &team) else { continue };
        let tokens: Vec<Token> = team
            .iter()
            .zip(&groups)
            .map(|(rank, &group)| {
                let refused = contribute(&mut world, rank, group, operator, &long);
                assert_eq!(refused, Err(PostError::TooLong(8 * long.len())));
                contribute(&mut world, rank, group, operator, &[]).unwrap()
            })
            .collect();
        for token in tokens {
            assert_eq!(world.wait(token), Ok(0));
        }
        for (rank, &group) in team.iter().zip(&groups) {
            reductions(&mut world, rank).expect("it was there").close(group);
            assert_eq!(contribute(&mut world, rank, group, operator, &[]), Err(PostError::Group), "closed");
        }
    }
    world.quiet();
}

/// Contributions to a group with a failed member complete with `PeerLost`, before the failure and after it; other groups go on (R5).
pub fn a_lost_member_ends_its_groups<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, RANKS);
    let lost = Rank::new(3);
    let others = Team::all(3);
    let (Some(all), Some(rest)) = (open(&mut world, &Team::all(RANKS)), open(&mut world, &others)) else { return };
    let operator = ReductionOperator::Or;
    let before: Vec<_> =
        others.iter().map(|rank| contribute(&mut world, rank, all[rank.index()], operator, &[]).unwrap()).collect();
    (0..TURNS).for_each(|_| world.turn());
    if !world.peer_failed(lost) {
        return;
    }
    for token in before {
        assert_eq!(world.wait(token), Err(Failure::PeerLost(lost)), "contributed before the loss (R5)");
    }
    for rank in others.iter() {
        let token = contribute(&mut world, rank, all[rank.index()], operator, &[]).unwrap();
        assert_eq!(world.wait(token), Err(Failure::PeerLost(lost)), "contributed after the loss (R5)");
    }
    // A group that is opened after the loss, if there is room.
    let team = Team::of(&[lost, Rank::new(0)]).expect("two ranks");
    if let Some(group) = reductions(&mut world, Rank::new(0)).and_then(|network| network.open(&team)) {
        let token = contribute(&mut world, Rank::new(0), group, operator, &[]).unwrap();
        assert_eq!(world.wait(token), Err(Failure::PeerLost(lost)), "opened after the loss (R5)");
    }
    let tokens: Vec<_> =
        others.iter().map(|rank| contribute(&mut world, rank, rest[rank.index()], operator, &[]).unwrap()).collect();
    for token in tokens {
        assert_eq!(world.wait(token), Ok(0), "the failed rank is no member");
    }
    world.quiet();
}

/// Opens the group of a team on all members; `None` if the network does not serve it, which all members are told.
fn open<F: Fixture>(world: &mut World<F>, team: &Team) -> Option<Vec<ReductionGroup>> {
    let mut answers = Vec::new();
    for rank in team.iter() {
        answers.push(reductions(world, rank).and_then(|network| network.open(team)));
    }
    let served = answers.iter().flatten().count();
    assert!(served == 0 || served == answers.len(), "the members of {team:?} are told {answers:?} (R1)");
    answers.into_iter().collect()
}

fn contribute<F: Fixture>(
    world: &mut World<F>,
    rank: Rank,
    group: ReductionGroup,
    operator: ReductionOperator,
    words: &[u64],
) -> Result<Token, PostError> {
    world.post_with(rank, |transport, now, token| {
        let network = transport.extensions().and_then(|network| network.reductions()).expect("it was there");
        network.contribute(now, group, operator, words, token)
    })
}

fn take<F: Fixture>(world: &mut World<F>, rank: Rank, group: ReductionGroup, into: &mut [u64]) -> bool {
    reductions(world, rank).expect("it was there").take(group, into)
}

fn reductions<F: Fixture>(world: &mut World<F>, rank: Rank) -> Option<&mut dyn Reductions> {
    world.transport(rank).extensions()?.reductions()
}

/// A contribution: as numbers, so that sums in any order are the same.
fn word(operator: ReductionOperator, number: u32) -> u64 {
    match operator {
        ReductionOperator::FloatSum => f64::from(number).to_bits(),
        // Half of them are negative.
        _ => (i64::from(number) - 10).cast_unsigned(),
    }
}
