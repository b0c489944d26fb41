//! The division of a network's routers into regions.

use super::{Link, Topology};
use crate::machine::topologies::{DirectRoutes, FatTreeRoutes, TopologySpec};

/// Parts of the neighbours, in percent, beyond which a router without terminals belongs to the region of these neighbours.
const MOST: usize = 75;

/// Not assigned yet.
const NONE: u8 = u8::MAX;

impl Topology {
    /// Whether the routes of a topology depend on queues.
    pub(crate) fn chooses_by_queues(spec: &TopologySpec) -> bool {
        match spec {
            TopologySpec::FatTree(tree) => tree.routes == FatTreeRoutes::Adaptive,
            TopologySpec::Dragonfly(dragonfly) => dragonfly.routes.adapts().is_some(),
            TopologySpec::DragonflyPlus(plus) => plus.routes.adapts().is_some(),
            TopologySpec::Hyperx(hyperx) => hyperx.routes == DirectRoutes::UgalL,
            TopologySpec::SlimFly(slim_fly) => slim_fly.routes == DirectRoutes::UgalL,
            _ => false,
        }
    }

    /// Returns the region of each router: parts of the network in proportion to `weights` that consist of routers of neighbouring terminals, and of
    /// the routers between them.
    pub(crate) fn regions(&self, terminals: u32, weights: &[u32]) -> Vec<u8> {
        let links = self.links();
        let routers = self.routers(terminals) as usize;
        let mut regions = vec![NONE; routers];
        for terminal in 0..terminals {
            let region = &mut regions[self.router(terminal) as usize];
            if *region == NONE {
                *region = by_share(u64::from(terminal), u64::from(terminals), weights);
            }
        }
        let neighbours = neighbours(&links, routers);
        loop {
            let ring: Vec<usize> = (0..routers)
                .filter(|&router| {
                    regions[router] == NONE && neighbours[router].iter().any(|&other| regions[other as usize] != NONE)
                })
                .collect();
            if ring.is_empty() {
                break;
            }
            let chosen = |(place, &router): (usize, &usize)| {
                let mut counts = vec![0; weights.len()];
                let known = neighbours[router].iter().map(|&other| regions[other as usize]).filter(|&region| region != NONE);
                known.for_each(|region| counts[usize::from(region)] += 1);
                let all: usize = counts.iter().sum();
                let most = (0..counts.len()).find(|&region| counts[region] * 100 > all * MOST);
                // Routers between several regions, such as the top of a tree, are shared out.
                most.map_or_else(|| by_share(place as u64, ring.len() as u64, weights), |region| region as u8)
            };
            let found: Vec<u8> = ring.iter().enumerate().map(|(place, router)| chosen((place, router))).collect();
            ring.into_iter().zip(found).for_each(|(router, region)| regions[router] = region);
        }
        regions.iter_mut().filter(|region| **region == NONE).for_each(|region| *region = 0);
        regions
    }
}

/// Returns the region of the `place`-th of `count` things that are shared out in proportion to `weights`.
fn by_share(place: u64, count: u64, weights: &[u32]) -> u8 {
    let all: u64 = weights.iter().copied().map(u64::from).sum();
    let mut end = 0;
    let within = |&weight: &u32| {
        end += u64::from(weight);
        place * all < end * count
    };
    weights.iter().position(within).unwrap_or(0) as u8
}

fn neighbours(links: &[Link], routers: usize) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); routers];
    for &Link { from, to } in links.iter().filter(|link| !link.is_absent()) {
        neighbours[from as usize].push(to);
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::{rail, topology};

    fn regions(text: &str, terminals: u32, weights: &[u32]) -> Vec<u8> {
        topology(terminals, 3, text).unwrap().regions(terminals, weights)
    }

    /// Leaf routers are divided by their terminals, routers between leaves of one region belong to it, and the top of the tree is shared out.
    #[test]
    fn a_tree_is_divided_into_subtrees() {
        // Eight leaves in four groups of two; two middle routers for each group; four top routers.
        let regions = regions(r#"type = "fat-tree", down = [2, 2, 4], up = [2, 2]"#, 16, &[1, 1]);
        let [leaves, middle, top] = [&regions[..8], &regions[8..16], &regions[16..]];
        assert_eq!(leaves, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(middle, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(top, [0, 0, 1, 1]);
    }

    #[test]
    fn a_torus_is_divided_by_weight() {
        let regions = regions(r#"type = "torus", dimensions = [6, 5]"#, 30, &[1, 2, 2]);
        let count = |region| regions.iter().filter(|&&of| of == region).count();
        assert_eq!([0, 1, 2].map(count), [6, 12, 12]);
        assert!(regions.is_sorted(), "{regions:?}");
    }

    #[test]
    fn a_hyperx_is_divided_into_planes() {
        let regions = regions(r#"type = "hyperx", dimensions = [3, 2, 4], nodes_per_router = 2"#, 48, &[1, 1]);
        assert_eq!(regions, [[0; 12], [1; 12]].concat());
    }

    const PLUS: &str = r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 2, spines_per_group = 3, global_links_per_spine = 2"#;

    /// The spines of a group belong to the region of its leaf routers.
    #[test]
    fn a_dragonfly_plus_is_divided_into_groups() {
        assert_eq!(regions(PLUS, 24, &[1, 2]), [[0; 10].as_slice(), &[1; 20]].concat());
    }

    #[test]
    fn routes_by_queues_keep_a_network_in_one_region() {
        for (text, chooses) in [
            (r#"type = "hyperx", dimensions = [3], routes = "valiant""#, false),
            (r#"type = "hyperx", dimensions = [3], routes = "ugal-l""#, true),
            (r#"type = "slim-fly", q = 3"#, false),
            (PLUS, false),
            (&format!(r#"{PLUS}, routes = "ugal-g""#), true),
            (&format!(r#"{PLUS}, routes = "progressive""#), true),
            (r#"type = "slim-fly", q = 3, routes = "ugal-l""#, true),
        ] {
            let machine = rail(4, text).unwrap();
            assert_eq!(Topology::chooses_by_queues(&machine.rails[0].topology), chooses, "{text}");
        }
    }

    /// A graph may have routers that no terminal reaches by a neighbour.
    #[test]
    fn routers_far_from_terminals_belong_to_a_region() {
        let regions = regions(r#"type = "graph", links = [[0, 1], [1, 2], [2, 3], [3, 4]], nodes_per_router = 1"#, 1, &[1, 1]);
        assert_eq!(regions, [0, 0, 0, 0, 0]);
    }
}
