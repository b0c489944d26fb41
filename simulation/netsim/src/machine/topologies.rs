//! The networks of routers that a description can name.

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
    /// Two rings, with a link between each two routers of one place.
    DoubleRing(RingSpec),
    Dragonfly(DragonflySpec),
    /// Any form.
    Graph(GraphSpec),
}

/// What a description says of a fat tree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FatTreeSpec {
    /// Links down of a router of each level, the lowest first; at the top at most so many.
    pub(crate) down: Vec<u32>,
    /// Links up of a router of each level but the top.
    pub(crate) up: Vec<u32>,
    #[serde(default)]
    pub(crate) routes: FatTreeRoutes,
}

/// Which link a packet takes up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FatTreeRoutes {
    #[default]
    Destination,
    Random,
    /// The link with the shortest queue, at each router.
    Adaptive,
}

/// What a description says of a torus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TorusSpec {
    /// Routers along each dimension, the one in which neighbours have consecutive numbers first; 0 for as many as the nodes need.
    pub(crate) dimensions: Vec<u32>,
    /// Which dimensions are rings; all if absent.
    #[serde(default)]
    pub(crate) rings: Option<Vec<bool>>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    #[serde(default)]
    pub(crate) deadlock: DeadlockAvoidance,
}

/// What a description says of a mesh.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeshSpec {
    pub(crate) dimensions: Vec<u32>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
}

/// What a description says of a ring, or of two with links between them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RingSpec {
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
    #[serde(default)]
    pub(crate) deadlock: DeadlockAvoidance,
}

/// What keeps the packets of a ring from waiting for each other in a circle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DeadlockAvoidance {
    #[default]
    Dateline,
    Bubble,
}

/// What a description says of a dragonfly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DragonflySpec {
    pub(crate) nodes_per_router: u32,
    pub(crate) routers_per_group: u32,
    /// Links of each router to other groups.
    pub(crate) global_links_per_router: u32,
    /// How many groups; as many as the nodes need if absent.
    #[serde(default)]
    pub(crate) groups: Option<u32>,
    #[serde(default)]
    pub(crate) routes: DragonflyRoutes,
}

/// Which route a packet takes to another group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DragonflyRoutes {
    #[default]
    Minimal,
    Valiant,
    /// One of both, by the queues of the first router.
    UgalL,
    /// One of both, by the queues of all links between groups of the first group.
    UgalG,
}

/// What a description says of a network of any form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphSpec {
    /// Pairs of routers, each linked both ways.
    pub(crate) links: Vec<(u32, u32)>,
    /// The router of each node, or else `nodes_per_router` in order.
    #[serde(default)]
    pub(crate) attach: Option<Vec<u32>>,
    #[serde(default = "one")]
    pub(crate) nodes_per_router: u32,
}

fn one() -> u32 {
    1
}
