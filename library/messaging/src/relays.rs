//! The relays of an admission: ranks that combine the ticket requests of other ranks.

use pelago_base::Rank;

/// Consecutive ranks share a relay, which is one of them: ranks are numbered along hosts, switches and lines of a grid, so that it is few hops away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relays {
    /// Number of ranks per relay; the last relay may have fewer.
    pub(crate) each: u32,
    pub(crate) ranks: u32,
    /// The receiver, which is no relay unless it is alone in its group: its network interface handles the messages.
    pub(crate) receiver: Rank,
}

/// The relay of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relay {
    /// The rank that holds the words of the relay.
    pub(crate) holder: Rank,
    /// The first of the ranks that share the relay, and their number.
    pub(crate) first: Rank,
    pub(crate) members: u32,
}

impl Relays {
    /// The relay of `rank`, which may be the only rank of its group.
    pub(crate) fn of_rank(self, rank: Rank) -> Relay {
        let first = rank.number() / self.each * self.each;
        let members = self.each.min(self.ranks - first);
        let middle = first + members / 2;
        let holder = if middle == self.receiver.number() && middle > first { middle - 1 } else { middle };
        Relay { holder: Rank::new(holder), first: Rank::new(first), members }
    }

    /// All relays, in the order of their ranks.
    pub(crate) fn all(self) -> impl Iterator<Item = Relay> {
        (0..self.ranks).step_by(self.each as usize).map(move |first| self.of_rank(Rank::new(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_one_relay_amid_its_group_and_not_at_the_receiver() {
        for (each, ranks) in [(2, 2), (2, 5), (3, 7), (4, 16), (256, 1000)] {
            for receiver in [0, 1, ranks / 2, ranks - 1].map(Rank::new) {
                let relays = Relays { each, ranks, receiver };
                assert_eq!(relays.all().map(|relay| relay.members).sum::<u32>(), ranks);
                for rank in (0..ranks).map(Rank::new) {
                    let Relay { holder, first, members } = relays.of_rank(rank);
                    let group = first.number()..first.number() + members;
                    assert!(group.contains(&rank.number()) && group.contains(&holder.number()));
                    assert!(members <= each && (holder != receiver || members == 1));
                    assert!(group.map(Rank::new).all(|member| relays.of_rank(member) == relays.of_rank(rank)));
                }
            }
        }
    }
}
