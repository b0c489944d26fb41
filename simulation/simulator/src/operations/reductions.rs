//! Groups of ranks whose contributions the simulated network combines.
//!
//! The slot of a group is used again only when all members have left it and no event refers to it.

use std::collections::VecDeque;
use std::sync::Arc;

use pelago_base::{Instant, Rank, Team};
use pelago_netsim::ReductionTree;
use pelago_platform::{Completion, Failure, PostError, ReductionOperator, Token};

/// Maximum number of results of a group that a member has not taken, and of its contributions that have not completed.
const RESULTS_MAX: u64 = 4096;

/// All groups.
#[derive(Default)]
pub(crate) struct ReductionGroups {
    groups: Vec<Option<Group>>,
    /// Number of groups that the network serves.
    served: u32,
    /// Number of groups that were ever asked for.
    serial: u64,
    failed: Vec<Rank>,
}

struct Group {
    team: Team,
    serial: u64,
    /// The members, sorted, with their positions.
    positions: Vec<(Rank, u32)>,
    members: Vec<Member>,
    /// Number of members that have not called `open`, and of those that have not left the group.
    unasked: u32,
    present: u32,
    /// A member that has failed: no further reduction completes.
    lost: Option<Rank>,
    /// `None` if the network does not serve the group.
    network: Option<GroupNetwork>,
}

/// What combines the contributions of a group.
struct GroupNetwork {
    tree: ReductionTree,
    /// The nodes of the members, sorted.
    nodes: Vec<u32>,
    /// When the latest result reaches each node.
    latest: Vec<Instant>,
    /// Number of the first of `reductions`.
    first: u64,
    /// Reductions that have not completed at all members.
    reductions: VecDeque<Reduction>,
    /// Number of events that will deliver results.
    events: u64,
}

#[derive(Clone, Default)]
struct Member {
    stage: MemberStage,
    /// Number of its contributions, and of those that have completed.
    contributed: u64,
    completed: u64,
    results: VecDeque<Arc<[u64]>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MemberStage {
    #[default]
    Unasked,
    Present,
    Left,
}

/// A reduction of a group.
struct Reduction {
    /// The tokens of the contributions, by position.
    tokens: Vec<Option<Token>>,
    missing: u32,
    /// When the last rank of each node has posted its contribution.
    posted: Vec<Instant>,
    operator: ReductionOperator,
    /// The words of each member, by position: combined in that order when all are there.
    words: Vec<Box<[u64]>>,
    result: Arc<[u64]>,
    /// Number of members to which the result was not delivered.
    undelivered: u32,
}

/// The results of a reduction: when each member gets its own.
pub(crate) type Results = Vec<(Rank, Instant)>;

impl ReductionGroups {
    /// Makes a rank a member of the group of a team; returns the number of the group unless the network does not serve it. The first member
    /// that asks decides for all: the network serves at most `groups_max` groups. `grow` makes the tree of nodes and their numbers of ranks.
    pub(crate) fn open(
        &mut self,
        (rank, team, per_node): (Rank, &Team, u32),
        groups_max: u32,
        grow: impl FnOnce(&[(u32, u32)]) -> Option<ReductionTree>,
    ) -> Option<u32> {
        let asked = |group: &Group| &group.team == team && group.member(rank).is_some_and(|it| it.stage == MemberStage::Unasked);
        let found = (0..).zip(&self.groups).filter_map(|(slot, group)| Some((slot, group.as_ref()?)));
        let found = found.filter(|(_, group)| asked(group)).min_by_key(|(_, group)| group.serial).map(|(slot, _)| slot);
        let slot = match found {
            Some(slot) => slot,
            None => {
                let has_room = self.served < groups_max;
                let mut group = Group::new(team, per_node, self.serial, |nodes| has_room.then(|| grow(nodes)).flatten());
                self.failed.iter().for_each(|&failed| group.lose(failed));
                self.serial += 1;
                self.served += u32::from(group.network.is_some());
                self.store(group)
            }
        };
        let group = self.groups[slot as usize].as_mut()?;
        // A failed rank is no member any more.
        let member = group.member_mut(rank).filter(|member| member.stage == MemberStage::Unasked)?;
        member.stage = MemberStage::Present;
        group.unasked -= 1;
        if group.network.is_some() {
            return Some(slot);
        }
        self.forget_if_over(slot);
        None
    }

    fn store(&mut self, group: Group) -> u32 {
        let free = self.groups.iter().position(Option::is_none).unwrap_or(self.groups.len());
        if free == self.groups.len() {
            self.groups.push(None);
        }
        self.groups[free] = Some(group);
        free as u32
    }

    /// Whether a rank can contribute to a group.
    ///
    /// # Errors
    /// The rank is no member of such a group, or has too many results that it has not taken.
    pub(crate) fn check(&self, rank: Rank, slot: u32) -> Result<(), PostError> {
        let group = self.groups.get(slot as usize).and_then(Option::as_ref).ok_or(PostError::Group)?;
        let member = group.member(rank).filter(|member| member.stage == MemberStage::Present).ok_or(PostError::Group)?;
        let waiting = member.contributed - member.completed + member.results.len() as u64;
        if waiting >= RESULTS_MAX { Err(PostError::Full) } else { Ok(()) }
    }

    /// Adds a contribution that reaches the NIC of its rank at `posted`; returns when each member gets the result, if the contribution is the last
    /// one of its reduction.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn contribute(
        &mut self,
        (rank, slot, node): (Rank, u32, u32),
        posted: Instant,
        operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<Contributed, PostError> {
        self.check(rank, slot)?;
        let group = self.group(slot).ok_or(PostError::Group)?;
        let position = group.position(rank).ok_or(PostError::Group)?;
        let (size, member) = (group.team.size(), &mut group.members[position as usize]);
        let network = group.network.as_mut().ok_or(PostError::Group)?;
        if let Some(lost) = group.lost {
            return Ok(Contributed::Failed(Completion { token, result: Err(Failure::PeerLost(lost)) }));
        }
        let index = (member.contributed - network.first) as usize;
        member.contributed += 1;
        if index == network.reductions.len() {
            network.reductions.push_back(Reduction::new(size, network.nodes.len(), operator));
        }
        let reduction = &mut network.reductions[index];
        let place = network.nodes.binary_search(&node).map_err(|_| PostError::Group)?;
        reduction.tokens[position as usize] = Some(token);
        reduction.posted[place] = reduction.posted[place].max(posted);
        reduction.words[position as usize] = words.into();
        reduction.missing -= 1;
        if reduction.missing > 0 {
            return Ok(Contributed::Waits);
        }
        reduction.combine();
        let times = network.tree.results(&reduction.posted, size_of_val(words) as u64);
        for (latest, time) in network.latest.iter_mut().zip(times) {
            // A short result does not overtake a longer one.
            *latest = time.max(*latest);
        }
        network.events += u64::from(size);
        Ok(Contributed::Last)
    }

    /// Returns when each member of a group gets the result of the reduction whose last contribution was just added.
    pub(crate) fn results(&self, slot: u32, per_node: u32) -> Results {
        let Some(group) = self.groups.get(slot as usize).and_then(Option::as_ref) else { return Results::new() };
        let Some(network) = &group.network else { return Results::new() };
        let time = |rank: Rank| Some(network.latest[network.nodes.binary_search(&(rank.number() / per_node)).ok()?]);
        group.team.iter().filter_map(|rank| Some((rank, time(rank)?))).collect()
    }

    /// Delivers the oldest result to a member; returns its completion.
    pub(crate) fn deliver(&mut self, rank: Rank, slot: u32) -> Option<Completion> {
        let group = self.group(slot)?;
        let position = group.position(rank)?;
        let member = &mut group.members[position as usize];
        let network = group.network.as_mut()?;
        network.events -= 1;
        let reduction = &mut network.reductions[(member.completed - network.first) as usize];
        member.completed += 1;
        reduction.undelivered -= 1;
        if !reduction.result.is_empty() && member.stage == MemberStage::Present {
            member.results.push_back(reduction.result.clone());
        }
        let token = reduction.tokens[position as usize].take();
        while network.reductions.front().is_some_and(|reduction| reduction.undelivered == 0) {
            network.reductions.pop_front();
            network.first += 1;
        }
        self.forget_if_over(slot);
        Some(Completion { token: token?, result: Ok(0) })
    }

    /// Copies the oldest result that a member has not taken; returns whether there was one.
    pub(crate) fn take(&mut self, rank: Rank, slot: u32, into: &mut [u64]) -> bool {
        let member = self.group(slot).and_then(|group| group.member_mut(rank));
        let Some(result) = member.and_then(|member| member.results.pop_front()) else { return false };
        into.iter_mut().zip(&*result).for_each(|(into, word)| *into = *word);
        true
    }

    /// Ends the part of a member.
    pub(crate) fn close(&mut self, rank: Rank, slot: u32) {
        let Some(group) = self.group(slot) else { return };
        group.leave(rank);
        self.forget_if_over(slot);
    }

    /// Handles the failure of a rank: returns the completions of all contributions that wait for it.
    pub(crate) fn peer_failed(&mut self, failed: Rank) -> Vec<(Rank, Completion)> {
        self.failed.push(failed);
        let mut completions = Vec::new();
        for slot in 0..self.groups.len() as u32 {
            let Some(group) = self.group(slot) else { continue };
            group.lose(failed);
            if group.lost != Some(failed) {
                continue;
            }
            let reductions = group.network.iter_mut().flat_map(|network| &mut network.reductions);
            // The result of a complete reduction is on its way.
            let incomplete = reductions.filter(|reduction| reduction.missing > 0);
            for (token, position) in incomplete.flat_map(|reduction| reduction.tokens.iter_mut().zip(0..)) {
                let Some((token, rank)) = token.take().zip(group.team.rank(position)) else { continue };
                group.members[position as usize].contributed -= 1;
                completions.push((rank, Completion { token, result: Err(Failure::PeerLost(failed)) }));
            }
            self.forget_if_over(slot);
        }
        completions
    }

    fn group(&mut self, slot: u32) -> Option<&mut Group> {
        self.groups.get_mut(slot as usize)?.as_mut()
    }

    fn forget_if_over(&mut self, slot: u32) {
        let Some(group) = self.group(slot) else { return };
        let is_over = match &group.network {
            None => group.unasked == 0,
            Some(network) => group.present == 0 && network.events == 0,
        };
        if is_over {
            self.served -= u32::from(group.network.is_some());
            self.groups[slot as usize] = None;
        }
    }
}

/// What happens to a contribution.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contributed {
    /// It waits for those of other members.
    Waits,
    /// It is the last one of its reduction.
    Last,
    /// A member has failed.
    Failed(Completion),
}

impl Group {
    fn new(team: &Team, per_node: u32, serial: u64, grow: impl FnOnce(&[(u32, u32)]) -> Option<ReductionTree>) -> Self {
        let mut positions: Vec<(Rank, u32)> = team.iter().zip(0..).collect();
        positions.sort_unstable();
        let mut nodes: Vec<(u32, u32)> = Vec::new();
        for (rank, _) in &positions {
            let node = rank.number() / per_node;
            match nodes.last_mut() {
                Some((last, ranks)) if *last == node => *ranks += 1,
                _ => nodes.push((node, 1)),
            }
        }
        // A network is of no use within a node.
        let tree = if nodes.len() > 1 { grow(&nodes) } else { None };
        let latest = vec![Instant::ZERO; nodes.len()];
        let nodes = nodes.into_iter().map(|(node, _)| node).collect();
        let network = tree.map(|tree| GroupNetwork { tree, nodes, latest, first: 0, reductions: VecDeque::new(), events: 0 });
        let (size, members) = (team.size(), vec![Member::default(); team.size() as usize]);
        Self { team: team.clone(), serial, positions, members, unasked: size, present: size, lost: None, network }
    }

    fn position(&self, rank: Rank) -> Option<u32> {
        let found = self.positions.binary_search_by_key(&rank, |&(rank, _)| rank).ok()?;
        Some(self.positions[found].1)
    }

    fn member(&self, rank: Rank) -> Option<&Member> {
        Some(&self.members[self.position(rank)? as usize])
    }

    fn member_mut(&mut self, rank: Rank) -> Option<&mut Member> {
        let position = self.position(rank)?;
        Some(&mut self.members[position as usize])
    }

    /// Handles the failure of a rank, if it is a member.
    fn lose(&mut self, failed: Rank) {
        if self.position(failed).is_some() {
            self.leave(failed);
            self.lost.get_or_insert(failed);
        }
    }

    fn leave(&mut self, rank: Rank) {
        let Some(member) = self.member_mut(rank) else { return };
        member.results.clear();
        let before = std::mem::replace(&mut member.stage, MemberStage::Left);
        self.present -= u32::from(before != MemberStage::Left);
        self.unasked -= u32::from(before == MemberStage::Unasked);
    }
}

impl Reduction {
    fn new(size: u32, nodes: usize, operator: ReductionOperator) -> Self {
        Self {
            tokens: vec![None; size as usize],
            missing: size,
            posted: vec![Instant::ZERO; nodes],
            operator,
            words: vec![Box::default(); size as usize],
            result: Arc::new([]),
            undelivered: size,
        }
    }

    /// Combines the words of all members in the order of their positions: the result does not depend on the order of arrival.
    fn combine(&mut self) {
        let mut words = self.words.drain(..);
        let Some(mut result) = words.next() else { return };
        for with in words {
            result.iter_mut().zip(&with).for_each(|(into, with)| *into = self.operator.combine(*into, *with));
        }
        self.result = result.into();
    }
}
