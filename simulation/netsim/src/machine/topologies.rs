//! The network topologies that a description can name.

use serde::Deserialize;

/// How routers are connected.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum TopologySpec {
    /// One router.
    Star {},
    FatTree(FatTreeSpec),
    Torus(TorusSpec),
    Mesh(MeshSpec),
    /// A torus of one dimension.
    Ring(RingSpec),
    /// Two rings, with a link between each pair of corresponding routers.
    DoubleRing(RingSpec),
    Dragonfly(DragonflySpec),
    DragonflyPlus(DragonflyPlusSpec),
    Hyperx(HyperxSpec),
    SlimFly(SlimFlySpec),
    /// An arbitrary graph.
    Graph(GraphSpec),
}

/// The description of a fat tree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FatTreeSpec {
    /// Number of down links of a router of each level, the lowest first; at the top, the maximum.
    pub(crate) down: Vec<u32>,
    /// Number of up links of a router of each level but the top.
    pub(crate) up: Vec<u32>,
    #[serde(default)]
    pub(crate) routes: FatTreeRoutes,
}

/// The choice of the up link of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FatTreeRoutes {
    #[default]
    Destination,
    Random,
    /// The link with the shortest queue, at each router.
    Adaptive,
}

/// The description of a torus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TorusSpec {
    /// Number of routers along each dimension, beginning with the one in which neighbours have consecutive numbers; 0 for as many as the nodes need.
    pub(crate) dimensions: Vec<u32>,
    /// Whether each dimension is a ring; all are if absent.
    #[serde(default)]
    pub(crate) rings: Option<Vec<bool>>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    #[serde(default)]
    pub(crate) deadlock: DeadlockAvoidance,
}

/// The description of a mesh.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeshSpec {
    pub(crate) dimensions: Vec<u32>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
}

/// The description of a ring, or of two rings with links between them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RingSpec {
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    #[serde(default)]
    pub(crate) deadlock: DeadlockAvoidance,
}

/// How a ring avoids cycles of waiting packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DeadlockAvoidance {
    #[default]
    Dateline,
    Bubble,
}

/// The description of a dragonfly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DragonflySpec {
    pub(crate) nodes_per_router: u32,
    pub(crate) routers_per_group: u32,
    /// Number of links of each router to other groups.
    pub(crate) global_links_per_router: u32,
    /// Number of groups; as many as the nodes need if absent.
    #[serde(default)]
    pub(crate) groups: Option<u32>,
    #[serde(default)]
    pub(crate) routes: DragonflyRoutes,
}

/// The route of a packet to another group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DragonflyRoutes {
    #[default]
    Minimal,
    Valiant,
    /// The minimal or Valiant's route, by the queues of the first router.
    UgalL,
    /// The minimal or Valiant's route, by the queues of the links of the first group to other groups.
    UgalG,
    /// As UGAL-L; a packet on its minimal route may change to Valiant's at the second router of its first group.
    Progressive,
}

/// The description of a dragonfly+.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DragonflyPlusSpec {
    /// Number of nodes of a leaf router.
    pub(crate) nodes_per_router: u32,
    pub(crate) leaves_per_group: u32,
    pub(crate) spines_per_group: u32,
    /// Number of links of each spine to other groups.
    pub(crate) global_links_per_spine: u32,
    /// Number of groups; as many as the nodes need if absent.
    #[serde(default)]
    pub(crate) groups: Option<u32>,
    #[serde(default)]
    pub(crate) routes: DragonflyRoutes,
}

/// The description of a HyperX.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HyperxSpec {
    /// Number of routers along each dimension, beginning with the one in which neighbours have consecutive numbers; 0 for as many as the nodes need.
    pub(crate) dimensions: Vec<u32>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    /// Number of links between each pair of routers of a row, for each dimension; one if absent.
    #[serde(default)]
    pub(crate) links_per_pair: Option<Vec<u32>>,
    #[serde(default)]
    pub(crate) routes: DirectRoutes,
}

/// The description of a slim fly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlimFlySpec {
    /// Number of groups of either kind, and of routers of a group.
    pub(crate) q: u32,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    #[serde(default)]
    pub(crate) routes: DirectRoutes,
}

/// The route of a packet to another router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DirectRoutes {
    #[default]
    Minimal,
    Valiant,
    /// The minimal or Valiant's route, by the queues of the first router.
    UgalL,
}

/// The description of an arbitrary network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphSpec {
    /// Pairs of routers, each linked in both directions.
    pub(crate) links: Vec<(u32, u32)>,
    /// The router of each node; if absent, each router has `nodes_per_router` consecutive nodes.
    #[serde(default)]
    pub(crate) attach: Option<Vec<u32>>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
}

fn one() -> u32 {
    1
}
