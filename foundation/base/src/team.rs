//! An ordered set of ranks.

use std::sync::Arc;

use crate::Rank;

/// An ordered set of ranks; its members are numbered by *position* from 0.
///
/// Memory: constant when the ranks are evenly spaced, four bytes per member otherwise (shared by clones).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team(Members);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Members {
    Spaced { first: u32, step: u32, count: u32 },
    Listed(Arc<[Rank]>),
}

/// Reason for which ranks do not form a team.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeamError {
    /// A team has at least one member.
    #[error("a team needs at least one rank")]
    Empty,
    /// A rank may appear only once.
    #[error("rank {0} appears twice in the team")]
    Repeated(Rank),
}

crate::debug_as_display! { TeamError }

impl Team {
    /// Returns the team of all ranks of a job of `size` ranks.
    pub const fn all(size: u32) -> Self {
        Self(Members::Spaced { first: 0, step: 1, count: size })
    }

    /// Returns the team of the given ranks, in the given order.
    ///
    /// # Errors
    /// `ranks` is empty, or contains a rank twice.
    pub fn of(ranks: &[Rank]) -> Result<Self, TeamError> {
        let (&first, rest) = ranks.split_first().ok_or(TeamError::Empty)?;
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TeamError::Repeated(pair[0]));
        }
        let step = rest.first().map_or(1, |second| second.number().wrapping_sub(first.number()));
        let spaced = ranks.windows(2).all(|pair| pair[0].number().checked_add(step) == Some(pair[1].number()));
        Ok(Self(if spaced {
            Members::Spaced { first: first.number(), step, count: ranks.len() as u32 }
        } else {
            Members::Listed(ranks.into())
        }))
    }

    /// Returns a number by which ranks compare teams: that of equal teams is the same in every program, that of different teams nearly always another.
    ///
    /// Cost: constant when the ranks are evenly spaced, otherwise proportional to the size.
    pub fn digest(&self) -> u64 {
        let fold = |digest: u64, number: u32| {
            // FNV-1a.
            number.to_le_bytes().iter().fold(digest, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        };
        let begin = fold(0xcbf2_9ce4_8422_2325, self.size());
        match &self.0 {
            Members::Spaced { first, step, .. } => fold(fold(begin, *first), *step),
            Members::Listed(ranks) => ranks.iter().fold(begin, |digest, rank| fold(digest, rank.number())),
        }
    }

    /// Returns the number of ranks of the team.
    pub fn size(&self) -> u32 {
        match &self.0 {
            Members::Spaced { count, .. } => *count,
            Members::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// Returns the rank at `position`, or `None` past the end.
    pub fn rank(&self, position: u32) -> Option<Rank> {
        match &self.0 {
            Members::Spaced { first, step, count } => (position < *count).then(|| Rank::new(first + step * position)),
            Members::Listed(ranks) => ranks.get(position as usize).copied(),
        }
    }

    /// Returns the member with the highest number. Constant time when evenly spaced, else linear.
    pub fn highest(&self) -> Rank {
        match &self.0 {
            Members::Spaced { first, step, count } => Rank::new(first + step * count.saturating_sub(1)),
            Members::Listed(ranks) => ranks.iter().copied().fold(Rank::new(0), Rank::max),
        }
    }

    /// Returns the position of `rank` in the team, or `None` if it is not a member. Constant time when evenly spaced, else linear.
    pub fn position(&self, rank: Rank) -> Option<u32> {
        match &self.0 {
            Members::Spaced { first, step, count } => {
                let distance = rank.number().checked_sub(*first)?;
                (distance.is_multiple_of(*step) && distance / step < *count).then_some(distance / step)
            }
            Members::Listed(ranks) => ranks.iter().position(|&member| member == rank).map(|position| position as u32),
        }
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl Iterator<Item = Rank> + '_ {
        (0..self.size()).filter_map(|position| self.rank(position))
    }

    /// Returns whether `rank` is a member. Constant time when evenly spaced, else linear.
    pub fn contains(&self, rank: Rank) -> bool {
        self.position(rank).is_some()
    }
}

/// Collects ranks, in their order, to a team; as [`Team::of`].
///
/// ```
/// # use pelago_base::{Rank, Team, TeamError};
/// let even: Result<Team, TeamError> = (0..8).step_by(2).map(Rank::new).collect();
/// assert_eq!(even?.size(), 4);
/// # Ok::<(), TeamError>(())
/// ```
impl FromIterator<Rank> for Result<Team, TeamError> {
    fn from_iter<I: IntoIterator<Item = Rank>>(ranks: I) -> Self {
        Team::of(&ranks.into_iter().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_a_team_is_refused() {
        assert_eq!(Team::of(&[]), Err(TeamError::Empty));
        assert_eq!(
            format!("{:?}", TeamError::Empty),
            "a team needs at least one rank",
            "what a main that returns the error prints"
        );
        assert_eq!(Team::of(&[Rank::new(4), Rank::new(1), Rank::new(4)]), Err(TeamError::Repeated(Rank::new(4))));
    }

    proptest! {
        #[test]
        fn positions_and_ranks_are_inverse(numbers in proptest::collection::hash_set(0u32..200, 1..40), spaced in any::<bool>()) {
            let ranks: Vec<Rank> = if spaced {
                (0..numbers.len() as u32).map(|i| Rank::new(7 + 3 * i)).collect()
            } else {
                numbers.into_iter().map(Rank::new).collect()
            };
            let team = Team::of(&ranks).unwrap();
            prop_assert_eq!(team.iter().collect::<Vec<_>>(), ranks.clone());
            prop_assert_eq!(ranks.iter().copied().collect::<Result<Team, _>>(), Ok(team.clone()));
            prop_assert_eq!(Some(team.highest()), ranks.iter().copied().max());
            for number in 0..200 {
                let expected = ranks.iter().position(|&rank| rank == Rank::new(number)).map(|p| p as u32);
                prop_assert_eq!(team.position(Rank::new(number)), expected);
                prop_assert_eq!(team.contains(Rank::new(number)), expected.is_some());
            }
        }
    }
}
