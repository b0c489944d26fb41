//! The placement of a job's ranks in its machine, as far as it is known.

use std::sync::Arc;

use crate::Rank;

/// Maximum number of dimensions of a grid.
const DIMENSIONS_MAX: usize = 8;

/// The placement of a job's ranks in its machine: levels of a tree, or coordinates in a grid. Cloning copies no table.
///
/// Ranks are numbered along the machine: ranks of a host, of a switch and of a line of a grid are consecutive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    ranks: u32,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Levels from the hosts up, each with fewer groups than the one before.
    Tree(Arc<[Level]>),
    Grid(Grid),
}

/// The groups of one level of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Level {
    name: &'static str,
    starts: Starts,
}

/// The first rank of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Starts {
    /// Each group has this number of ranks, the last one perhaps fewer.
    Every(u32),
    At(Arc<[u32]>),
}

/// Routers in a grid. In the first dimension neighbours have consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    ranks_per_router: u32,
    dimensions: usize,
    lengths: [u32; DIMENSIONS_MAX],
}

/// Groups of neighbouring ranks; each rank is in one group, and no group is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    ranks: u32,
    name: &'static str,
    groups: Groups,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Groups {
    /// The first rank of each group; and the number of ranks per router, 0 if there is no grid.
    Starts { firsts: Vec<u32>, router: u32 },
    /// Boxes, with the number of parts of each dimension; and the group of each box, or `None` if the box has no rank.
    Boxes { grid: Grid, parts: [u32; DIMENSIONS_MAX], numbers: Vec<Option<u32>> },
}

impl Topology {
    /// Returns the topology of `ranks` ranks on one host.
    pub fn flat(ranks: u32) -> Self {
        Self::tree(ranks, [("host", ranks)])
    }

    /// Returns the topology of hosts whose first ranks are `firsts`, in ascending order from 0.
    pub fn hosts(ranks: u32, firsts: impl IntoIterator<Item = u32>) -> Self {
        let level = Level { name: "host", starts: Starts::At(firsts.into_iter().collect()) };
        Self { ranks, form: Form::Tree([level].into()) }
    }

    /// Returns a tree whose groups of one level have equal numbers of ranks: the name and the number of ranks of each level, from the hosts up.
    pub fn tree(ranks: u32, levels: impl IntoIterator<Item = (&'static str, u32)>) -> Self {
        let level = |(name, each): (_, u32)| Level { name, starts: Starts::Every(each.max(1)) };
        Self { ranks, form: Form::Tree(levels.into_iter().map(level).collect()) }
    }

    /// Returns a grid of routers of these lengths, of up to 8 dimensions; in the first one neighbours have consecutive numbers.
    pub fn grid(ranks: u32, ranks_per_router: u32, lengths: &[u32]) -> Self {
        let dimensions = lengths.len().min(DIMENSIONS_MAX);
        let mut all = [1; DIMENSIONS_MAX];
        all.iter_mut().zip(lengths).for_each(|(length, &given)| *length = given.max(1));
        Self { ranks, form: Form::Grid(Grid { ranks_per_router: ranks_per_router.max(1), dimensions, lengths: all }) }
    }

    /// Returns the number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the names of the levels with their numbers of groups, from the hosts up; for a grid, its routers.
    pub fn levels(&self) -> Vec<(&'static str, u32)> {
        match &self.form {
            Form::Tree(levels) => levels.iter().map(|level| (level.name, level.groups(self.ranks))).collect(),
            Form::Grid(grid) => vec![("router", self.ranks.div_ceil(grid.ranks_per_router))],
        }
    }

    /// Returns at most `most` groups of neighbouring ranks.
    ///
    /// In a tree, the groups are those of the highest level with at least `most` groups, or of the lowest level; consecutive groups are joined so
    /// that all have about the same number of ranks. In a grid, the groups are boxes of one shape, cut from the last dimension on. Routes go
    /// dimension by dimension, so that traffic from one box to one rank arrives over the same last links, and a busy link delays few boxes. If the
    /// lengths allow fewer boxes than `most`, the groups are runs of consecutive routers of nearly equal length: whole planes and lines of the
    /// grid, except at their ends.
    ///
    /// Cost: linear in the number of groups.
    pub fn partition(&self, most: u32) -> Partition {
        let most = most.clamp(1, self.ranks.max(1));
        match &self.form {
            Form::Grid(grid) => grid.partition(self.ranks, most),
            Form::Tree(levels) => {
                let level = levels.iter().rev().find(|level| level.groups(self.ranks) >= most).or(levels.first());
                let (name, starts) = level.map_or(("job", vec![0]), |level| (level.name, level.joined(self.ranks, most)));
                Partition { ranks: self.ranks, name, groups: Groups::Starts { firsts: starts, router: 0 } }
            }
        }
    }
}

impl Level {
    fn groups(&self, ranks: u32) -> u32 {
        match &self.starts {
            Starts::Every(each) => ranks.div_ceil(*each),
            Starts::At(starts) => starts.len() as u32,
        }
    }

    /// Returns the first rank of each of at most `most` unions of consecutive groups, whose numbers of ranks are as equal as possible.
    fn joined(&self, ranks: u32, most: u32) -> Vec<u32> {
        let groups = self.groups(ranks);
        let first = |group: u32| match &self.starts {
            Starts::Every(each) => group * each,
            Starts::At(starts) => starts[group as usize],
        };
        let joined = most.min(groups);
        let mut next = 0;
        let start = |number: u32| {
            // The group that begins nearest to the ideal start of this union; at least one group is left for each union that follows.
            let wanted = (u64::from(number) * u64::from(ranks) / u64::from(joined)) as u32;
            let after = match &self.starts {
                Starts::Every(each) => wanted / each + 1,
                Starts::At(starts) => starts.partition_point(|&start| start <= wanted) as u32,
            };
            let is_later_nearer = after < groups && first(after) - wanted < wanted - first(after - 1);
            let group = (after - u32::from(!is_later_nearer)).clamp(next, groups - (joined - number));
            next = group + 1;
            first(group)
        };
        (0..joined).map(start).collect()
    }
}

impl Grid {
    fn partition(self, ranks: u32, most: u32) -> Partition {
        // Cuts from the last dimension on, as long as parts are left: into equal parts, unless that gives less than half as many.
        let (mut parts, mut rest) = ([1; DIMENSIONS_MAX], most);
        for along in (0..self.dimensions).rev() {
            let length = self.lengths[along];
            let wanted = rest.min(length);
            let equal = (wanted.div_ceil(2)..=wanted).rev().find(|&parts| length.is_multiple_of(parts));
            parts[along] = equal.unwrap_or(wanted);
            rest /= parts[along];
        }
        let mut found = 0;
        let mut number = |part| {
            let has_ranks = self.ranks_of(part, parts, ranks) > 0;
            found += u32::from(has_ranks);
            has_ranks.then(|| found - 1)
        };
        let numbers: Vec<_> = (0..parts.iter().product()).map(&mut number).collect();
        let routers = ranks.div_ceil(self.ranks_per_router);
        if found < most.min(routers) {
            return self.runs(ranks, most.min(routers));
        }
        Partition { ranks, name: "box", groups: Groups::Boxes { grid: self, parts, numbers } }
    }

    /// Returns `count` runs of consecutive routers.
    fn runs(self, ranks: u32, count: u32) -> Partition {
        let (router, routers) = (self.ranks_per_router, u64::from(ranks.div_ceil(self.ranks_per_router)));
        let first = |run: u32| (u64::from(run) * routers / u64::from(count)) as u32 * router;
        Partition { ranks, name: "run of routers", groups: Groups::Starts { firsts: (0..count).map(first).collect(), router } }
    }

    /// Returns the number of a rank's box among all boxes.
    fn part_of(self, rank: u32, parts: [u32; DIMENSIONS_MAX]) -> u32 {
        let (mut router, mut part, mut stride) = (rank / self.ranks_per_router, 0, 1);
        for (length, parts) in self.lengths.into_iter().zip(parts) {
            let place = router % length;
            router /= length;
            part += (u64::from(place) * u64::from(parts) / u64::from(length)) as u32 * stride;
            stride *= parts;
        }
        part
    }

    /// Returns the corners of a box: for each dimension the first coordinate, and the one after the last.
    fn corners(self, mut part: u32, parts: [u32; DIMENSIONS_MAX]) -> [[u32; 2]; DIMENSIONS_MAX] {
        std::array::from_fn(|along| {
            let (length, parts) = (u64::from(self.lengths[along]), parts[along]);
            let place = u64::from(part % parts);
            part /= parts;
            [place, place + 1].map(|place| (place * length).div_ceil(u64::from(parts)) as u32)
        })
    }

    fn ranks_of(self, part: u32, parts: [u32; DIMENSIONS_MAX], ranks: u32) -> u32 {
        let corners = self.corners(part, parts);
        // Number of the box's routers below the first router that is not full.
        let full = ranks / self.ranks_per_router;
        let (mut below, mut is_inside, mut stride) = (0, true, self.lengths.iter().product::<u32>());
        if full >= stride {
            below = corners.iter().map(|[from, to]| to - from).product();
            return below * self.ranks_per_router;
        }
        for along in (0..DIMENSIONS_MAX).rev() {
            stride /= self.lengths[along];
            let place = full / stride % self.lengths[along];
            let [from, to] = corners[along];
            let lower: u32 = corners[..along].iter().map(|[from, to]| to - from).product();
            below += place.clamp(from, to).saturating_sub(from) * lower;
            is_inside = (from..to).contains(&place);
            if !is_inside {
                break;
            }
        }
        below * self.ranks_per_router + if is_inside { ranks % self.ranks_per_router } else { 0 }
    }

    /// Returns the first rank of a router adjacent to a rank's router in the same box, if there is one: along the first dimension that has one.
    fn beside(self, rank: u32, parts: [u32; DIMENSIONS_MAX], ranks: u32) -> Option<u32> {
        let router = rank / self.ranks_per_router;
        let corners = self.corners(self.part_of(rank, parts), parts);
        let strides = self.lengths.into_iter().scan(1, |next, length| Some(std::mem::replace(next, *next * length)));
        let along = |(([from, to], length), stride): (([u32; 2], u32), u32)| {
            let place = router / stride % length;
            let up = (place + 1 < to).then(|| (router + stride) * self.ranks_per_router).filter(|&rank| rank < ranks);
            up.or_else(|| (place > from).then(|| (router - stride) * self.ranks_per_router))
        };
        corners.into_iter().zip(self.lengths).zip(strides).find_map(along)
    }

    /// Returns a rank in the middle of a box.
    fn middle(self, part: u32, parts: [u32; DIMENSIONS_MAX], ranks: u32) -> u32 {
        let corners = self.corners(part, parts);
        let router = |places: [u32; DIMENSIONS_MAX]| {
            places.iter().zip(self.lengths).rev().fold(0, |router, (place, length)| router * length + place)
        };
        let middle = router(corners.map(|[from, to]| from + (to - from) / 2)) * self.ranks_per_router;
        // The last coordinates of the grid may have no ranks.
        if middle < ranks { middle } else { router(corners.map(|[from, _]| from)) * self.ranks_per_router }
    }
}

impl Partition {
    /// Returns the name of the unit of the groups: `host`, the level of a switch, `box`, or `run of routers`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> u32 {
        match &self.groups {
            Groups::Starts { firsts, .. } => firsts.len() as u32,
            Groups::Boxes { numbers, .. } => numbers.iter().flatten().count() as u32,
        }
    }

    /// Returns the group of a rank of the job.
    pub fn group_of(&self, rank: Rank) -> u32 {
        match &self.groups {
            Groups::Starts { firsts, .. } => firsts.partition_point(|&first| first <= rank.number()).saturating_sub(1) as u32,
            Groups::Boxes { grid, parts, numbers } => numbers[grid.part_of(rank.number(), *parts) as usize].unwrap_or(0),
        }
    }

    /// Returns the number of ranks of a group.
    pub fn ranks_of(&self, group: u32) -> u32 {
        match &self.groups {
            Groups::Starts { firsts, .. } => {
                let next = firsts.get(group as usize + 1).copied().unwrap_or(self.ranks);
                next - firsts[group as usize]
            }
            Groups::Boxes { grid, parts, .. } => self.part(group).map_or(0, |part| grid.ranks_of(part, *parts, self.ranks)),
        }
    }

    /// Returns a rank in the middle of a group.
    pub fn middle(&self, group: u32) -> Rank {
        Rank::new(match &self.groups {
            Groups::Starts { firsts, .. } => firsts[group as usize] + self.ranks_of(group) / 2,
            Groups::Boxes { grid, parts, .. } => self.part(group).map_or(0, |part| grid.middle(part, *parts, self.ranks)),
        })
    }

    /// Returns the first rank of a router adjacent to that of `rank` in the same group, if there is one; `None` in a tree, in which all hosts of one
    /// switch have the same distance.
    pub fn beside(&self, rank: Rank) -> Option<Rank> {
        match &self.groups {
            Groups::Boxes { grid, parts, .. } => grid.beside(rank.number(), *parts, self.ranks).map(Rank::new),
            Groups::Starts { router: 0, .. } => None,
            Groups::Starts { firsts, router } => {
                let group = self.group_of(rank);
                let first = firsts[group as usize];
                let here = rank.number() / router * router;
                let next = (here + router < first + self.ranks_of(group)).then(|| here + router);
                next.or_else(|| (here > first).then(|| here - router)).map(Rank::new)
            }
        }
    }

    /// Returns the number of a group's box among all boxes.
    fn part(&self, group: u32) -> Option<u32> {
        let Groups::Boxes { numbers, .. } = &self.groups else { return None };
        numbers.iter().position(|&number| number == Some(group)).map(|part| part as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topologies() -> impl Strategy<Value = Topology> {
        let ranks = 1..2000_u32;
        let hosts = (ranks.clone(), prop::collection::btree_set(1..2000_u32, 0..20)).prop_map(|(ranks, starts)| {
            let firsts = std::iter::once(0).chain(starts.into_iter().filter(move |&start| start < ranks));
            Topology::hosts(ranks, firsts)
        });
        let tree = (ranks.clone(), 1..4_u32, 1..9_u32, 1..9_u32).prop_map(|(ranks, host, leaf, spine)| {
            Topology::tree(ranks, [("host", host), ("leaf switch", host * leaf), ("spine switch", host * leaf * spine)])
        });
        let grid = (1..4_u32, prop::collection::vec(1..7_u32, 1..5), 0.01..1.0_f64).prop_map(|(each, lengths, filled)| {
            let all = each * lengths.iter().product::<u32>();
            Topology::grid(((f64::from(all) * filled) as u32).max(1), each, &lengths)
        });
        prop_oneof![hosts, tree, grid, ranks.prop_map(Topology::flat)]
    }

    proptest! {
        #[test]
        fn every_rank_is_in_one_group_and_every_group_has_its_ranks(topology in topologies(), most in 1..300_u32) {
            let partition = topology.partition(most);
            let mut members = vec![0; partition.groups() as usize];
            for rank in 0..topology.ranks() {
                members[partition.group_of(Rank::new(rank)) as usize] += 1;
            }
            prop_assert!(partition.groups() <= most && partition.groups() >= 1);
            for (group, &count) in (0..).zip(&members) {
                prop_assert!(count > 0, "group {group} is empty");
                prop_assert_eq!(partition.ranks_of(group), count);
                let middle = partition.middle(group);
                prop_assert!(middle.number() < topology.ranks());
                prop_assert_eq!(partition.group_of(middle), group, "{} lies in its group", middle);
                if let Some(beside) = partition.beside(middle) {
                    prop_assert!(beside.number() < topology.ranks() && beside != middle);
                    prop_assert_eq!(partition.group_of(beside), group, "{} lies in the group of {}", beside, middle);
                }
            }
        }
    }

    #[test]
    fn groups_are_those_of_the_highest_level_that_has_enough() {
        let tree = Topology::tree(4099, [("host", 2), ("leaf switch", 64), ("spine switch", 2048)]);
        assert_eq!(tree.levels(), [("host", 2050), ("leaf switch", 65), ("spine switch", 3)]);
        let of = |most| {
            let partition = tree.partition(most);
            let sizes = (0..partition.groups()).map(|group| partition.ranks_of(group));
            (partition.name(), partition.groups(), sizes.clone().min().unwrap(), sizes.max().unwrap())
        };
        assert_eq!(of(1), ("spine switch", 1, 4099, 4099));
        assert_eq!(of(3), ("spine switch", 3, 3, 2048));
        assert_eq!(of(16), ("leaf switch", 16, 256, 259));
        assert_eq!(of(65), ("leaf switch", 65, 3, 64));
        assert_eq!(of(5000), ("host", 2050, 1, 2));
        let hosts = Topology::hosts(7, [0, 3, 4]);
        let sizes: Vec<_> = (0..3).map(|group| hosts.partition(9).ranks_of(group)).collect();
        assert_eq!(sizes, [3, 1, 3]);
    }

    #[test]
    fn boxes_are_equal_where_lengths_allow() {
        let torus = Topology::grid(2 * 12 * 6 * 6 * 6, 2, &[2, 3, 2, 6, 6, 6]);
        let sizes = |most| {
            let partition = torus.partition(most);
            (0..partition.groups()).map(|group| partition.ranks_of(group)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(6), [864; 6], "planes of the last dimension");
        assert_eq!(sizes(1), [5184]);
        assert_eq!(sizes(36), [144; 36], "lines of those");
        assert_eq!([6, 8].map(|most| torus.partition(most).name()), ["box", "run of routers"]);
        assert_eq!(sizes(8), [648; 8], "eight equal boxes of such planes there are not");
        let few = Topology::grid(7, 2, &[4, 4]).partition(3);
        assert_eq!((0..few.groups()).map(|group| few.ranks_of(group)).collect::<Vec<_>>(), [2, 2, 3]);
        assert_eq!([0, 3, 6].map(|rank| few.beside(Rank::new(rank))), [None, None, Some(Rank::new(4))]);
    }
}
