//! The placement of the ranks of a job in a machine.

use super::grid::Grid;
use super::hyperx::Hyperx;
use crate::machine::Machine;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::TopologySpec;

/// The names of the switches of a fat tree, from the nodes up.
const SWITCHES: [&str; 3] = ["leaf switch", "spine switch", "core switch"];

impl Machine {
    /// Returns the placement of `ranks` ranks, `per_node` consecutive ones on a node: the levels of a fat tree, the groups of a dragonfly, a
    /// dragonfly+ or a slim fly, the rows of a HyperX, the coordinates in a torus, a mesh or a ring, else the nodes. If there are several rails, the first one whose topology is neither a star nor a graph decides.
    pub fn topology(&self, ranks: u32, per_node: u32) -> pelago_base::Topology {
        let (per_node, nodes) = (per_node.max(1), ranks.div_ceil(per_node.max(1)));
        let has_routers = |rail: &&RailSpec| !matches!(rail.topology, TopologySpec::Star {} | TopologySpec::Graph(_));
        let levels = self.rails.iter().find(has_routers).map_or(Places::Nodes(Vec::new()), |rail| Places::of(rail, nodes));
        match levels {
            Places::Nodes(above) => {
                let above = above.into_iter().map(|(name, nodes)| (name, nodes.saturating_mul(per_node)));
                pelago_base::Topology::tree(ranks, [("host", per_node)].into_iter().chain(above))
            }
            Places::Grid { nodes_per_router, lengths } => {
                pelago_base::Topology::grid(ranks, nodes_per_router.saturating_mul(per_node), &lengths)
            }
        }
    }
}

/// The part of a rail's topology that determines which nodes are close to each other.
enum Places {
    /// The levels above the nodes: their names, and the number of consecutive nodes of each.
    Nodes(Vec<(&'static str, u32)>),
    Grid {
        nodes_per_router: u32,
        lengths: Vec<u32>,
    },
}

impl Places {
    fn of(rail: &RailSpec, nodes: u32) -> Self {
        let grid = |grid: Result<Grid, _>, nodes_per_router| {
            grid.map_or(Self::Nodes(Vec::new()), |grid| Self::Grid { nodes_per_router, lengths: grid.lengths() })
        };
        match &rail.topology {
            TopologySpec::Star {} | TopologySpec::Graph(_) => Self::Nodes(Vec::new()),
            TopologySpec::FatTree(spec) => {
                let reach = spec.down.iter().scan(1_u32, |reach, &down| {
                    *reach = reach.saturating_mul(down);
                    Some((*reach / rail.count).max(1))
                });
                Self::Nodes(SWITCHES.into_iter().zip(reach).collect())
            }
            TopologySpec::Dragonfly(spec) => {
                let group = spec.nodes_per_router.saturating_mul(spec.routers_per_group);
                Self::Nodes(vec![("router", spec.nodes_per_router), ("group of routers", group)])
            }
            TopologySpec::DragonflyPlus(spec) => {
                let group = spec.nodes_per_router.saturating_mul(spec.leaves_per_group);
                Self::Nodes(vec![("leaf router", spec.nodes_per_router), ("group of routers", group)])
            }
            TopologySpec::Hyperx(spec) => Hyperx::new(spec, rail, nodes).map_or(Self::Nodes(Vec::new()), |hyperx| {
                let row = spec.nodes_per_router.saturating_mul(hyperx.row());
                Self::Nodes(vec![("router", spec.nodes_per_router), ("row of routers", row)])
            }),
            TopologySpec::SlimFly(spec) => {
                let group = spec.nodes_per_router.saturating_mul(spec.q);
                Self::Nodes(vec![("router", spec.nodes_per_router), ("group of routers", group)])
            }
            TopologySpec::Torus(spec) => grid(Grid::torus(spec, rail, nodes), spec.nodes_per_router),
            TopologySpec::Mesh(spec) => grid(Grid::mesh(spec, rail, nodes), spec.nodes_per_router),
            TopologySpec::Ring(spec) => grid(Grid::ring(spec, rail, nodes, 1), spec.nodes_per_router),
            TopologySpec::DoubleRing(spec) => grid(Grid::ring(spec, rail, nodes, 2), spec.nodes_per_router),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::rail;

    fn topology(machine: &str, ranks: u32) -> pelago_base::Topology {
        Machine::parse(Machine::bundled(machine).unwrap()).unwrap().topology(ranks, 2)
    }

    #[test]
    fn levels_are_those_of_the_description() {
        let tree = topology("fat-tree-ndr", 4099);
        assert_eq!(tree.levels(), [("host", 2050), ("leaf switch", 65), ("spine switch", 3), ("core switch", 1)]);
        assert_eq!(topology("dragonfly-slingshot", 4099).levels()[0], ("host", 2050));
        assert_eq!(topology("gigabit-ethernet", 5).levels(), [("host", 3)], "one switch");
    }

    #[test]
    fn networks_of_routers_have_their_groups() {
        for (text, levels) in [
            (
                r#"type = "hyperx", dimensions = [4, 0], nodes_per_router = 3"#,
                [("host", 100), ("router", 34), ("row of routers", 9)],
            ),
            (
                r#"type = "dragonfly-plus", nodes_per_router = 4, leaves_per_group = 3, spines_per_group = 3, global_links_per_spine = 3"#,
                [("host", 100), ("leaf router", 25), ("group of routers", 9)],
            ),
            (r#"type = "slim-fly", q = 5, nodes_per_router = 4"#, [("host", 100), ("router", 25), ("group of routers", 5)]),
            (r#"type = "hyperx", dimensions = [0]"#, [("host", 100), ("router", 100), ("row of routers", 1)]),
        ] {
            assert_eq!(rail(4, text).unwrap().topology(200, 2).levels(), levels, "{text}");
        }
    }

    /// A router may have places for more ranks than a number of 32 bits counts.
    #[test]
    fn all_ranks_of_a_job_fit_at_one_router() {
        let ring = rail(2, r#"type = "ring", nodes_per_router = 2147483648"#).unwrap();
        assert_eq!(ring.topology(200, 2).levels(), [("router", 1)]);
    }

    #[test]
    fn a_torus_is_divided_into_boxes_or_into_runs_of_routers() {
        let torus = topology("torus-tofud", 16_387);
        for (groups, name) in [(9, "box"), (16, "run of routers")] {
            let partition = torus.partition(groups);
            assert_eq!((partition.name(), partition.groups()), (name, groups));
            let sizes: Vec<_> = (0..groups).map(|group| partition.ranks_of(group)).collect();
            assert_eq!(sizes.iter().sum::<u32>(), 16_387);
            assert!(*sizes.iter().max().unwrap() < 16_387 / groups + 300, "{sizes:?}");
        }
    }
}
