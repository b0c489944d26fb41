//! Reductions by the network, if it performs them.

use pelago_base::Team;
use pelago_platform::{Failure, Fault, ReductionGroup, ReductionOperator, Reductions};

use crate::context::wait::Whom;
use crate::{Context, Error, Result};

/// The group of a team in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkGroup {
    group: ReductionGroup,
    /// Maximum number of words of a contribution.
    pub(crate) words_max: usize,
}

impl NetworkGroup {
    /// Makes this rank take part in the group of a team; `None` if the network does not serve it. All members get the same answer.
    pub(crate) fn open(reductions: &mut dyn Reductions, team: &Team) -> Option<Self> {
        let group = reductions.open(team)?;
        Some(Self { group, words_max: reductions.words_max() })
    }
}

impl Context {
    /// As [`NetworkGroup::open`].
    pub(crate) fn open_in_network(&self, team: &Team) -> Option<NetworkGroup> {
        let open = |reductions: &mut dyn Reductions| NetworkGroup::open(reductions, team);
        self.engine().borrow_mut().port().with(|transport| open(transport.extensions()?.reductions()?))
    }

    /// Ends the part of this rank in a group.
    pub(crate) fn close_in_network(&self, NetworkGroup { group, .. }: NetworkGroup) {
        self.engine().borrow_mut().port().with(|transport| {
            if let Some(reductions) = transport.extensions().and_then(|extensions| extensions.reductions()) {
                reductions.close(group);
            }
        });
    }

    /// Replaces the words by the combination of those of all members of a group; without words, waits until all members have called this.
    pub(crate) fn combine_in_network(
        &self,
        NetworkGroup { group, .. }: NetworkGroup,
        operator: ReductionOperator,
        words: &mut [u64],
    ) -> Result<()> {
        self.busy.set(true);
        let contribute = || {
            let mut engine = self.engine().borrow_mut();
            // A context has a maximum number of operations in flight, and background work issues some while this call waits.
            if engine.has_room(size_of_val(words)) {
                engine.submit_contribution(self.shared(), group, operator, words)
            } else {
                Ok(None)
            }
        };
        let id = match contribute()? {
            Some(id) => id,
            None => self.block("room for a contribution", Whom::Everyone, None, contribute)?,
        };
        let ended = self.block("a barrier or collective call", Whom::Everyone, None, || Ok(self.poll_id(id)?.then_some(())));
        match ended {
            // The same error as that of members that wait for words of each other.
            Err(Error::Failed(Failure::PeerLost(rank))) => return Err(Fault::PeerLost(rank).into()),
            ended => ended?,
        }
        if !words.is_empty() {
            let take = |reductions: &mut dyn Reductions| reductions.take(group, words);
            let mut engine = self.engine().borrow_mut();
            let taken = engine.port().with(|transport| transport.extensions()?.reductions().map(take));
            if taken != Some(true) {
                return Err(Error::Invalid("the network has completed a reduction without a result"));
            }
        }
        Ok(())
    }
}
