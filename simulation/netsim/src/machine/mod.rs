//! The description of a machine.
//!
//! | part | for |
//! |---|---|
//! | this file | a description that was read and checked |
//! | `spec`, `software`, `datagrams`, `noise`, `domain`, `topologies` | its tables: hardware, use and interruptions of cores, domains of a node, networks |
//! | `reduction` | reductions by routers or NICs |
//! | `rule` | which packets belong to a traffic class |
//! | `reading` | errors of types and ranges |
//! | `times` | tables of times by size |
//! | `check` | the check of all values |
//! | `keys` | all values by their paths |

mod check;
pub(crate) mod datagrams;
pub(crate) mod domain;
pub(crate) mod keys;
pub(crate) mod noise;
mod reading;
pub(crate) mod reduction;
pub(crate) mod rule;
pub(crate) mod software;
pub(crate) mod spec;
pub(crate) mod times;
pub(crate) mod topologies;

use pelago_base::Duration;
use serde::Deserialize;

use self::datagrams::Datagrams;
use self::noise::Noise;
use self::software::Software;
use self::spec::{NicChoice, NodeSpec, RailSpec};
use crate::events::ENTITIES_MAX;
use crate::events::rate::Rate;

/// The bundled descriptions, by name.
const BUNDLED: [(&str, &str); 12] = [
    ("dimmnet1", include_str!("../../machines/dimmnet1.toml")),
    ("dragonfly-slingshot", include_str!("../../machines/dragonfly-slingshot.toml")),
    ("fast-ethernet", include_str!("../../machines/fast-ethernet.toml")),
    ("fat-tree-ndr", include_str!("../../machines/fat-tree-ndr.toml")),
    ("fat-tree-roce", include_str!("../../machines/fat-tree-roce.toml")),
    ("gigabit-ethernet", include_str!("../../machines/gigabit-ethernet.toml")),
    ("ha-pacs-host", include_str!("../../machines/ha-pacs-host.toml")),
    ("ha-pacs-tca", include_str!("../../machines/ha-pacs-tca.toml")),
    ("laptop", include_str!("../../machines/laptop.toml")),
    ("rx200-qdr", include_str!("../../machines/rx200-qdr.toml")),
    ("tofu2", include_str!("../../machines/tofu2.toml")),
    ("torus-tofud", include_str!("../../machines/torus-tofud.toml")),
];

/// The reason why a description is invalid, or not possible with a number of nodes. One line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(String);

impl MachineError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }

    pub(crate) fn too_many(nodes: u32) -> Self {
        Self(format!("nodes = {nodes}: too many NICs or links, at most {ENTITIES_MAX}"))
    }

    fn value(key: &str, value: impl std::fmt::Display, allowed: &str) -> Self {
        Self(format!("{key} = {value}: must be {allowed}"))
    }

    /// A key that would have no effect.
    fn without(key: &str, needed: &str) -> Self {
        Self(format!("{key}: has no effect without {needed}; add that, or remove this key"))
    }
}

/// A machine, as its description says: the properties of a node, and one or more rails, each of which is a network with NICs
/// of every node. A single node whose ranks share memory needs no rail.
///
/// Times are in nanoseconds, rates in 10⁹ bytes per second, `inf` for no limit. Rates are rounded to whole bytes per
/// second, times to whole picoseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) about: String,
    #[serde(default)]
    pub(crate) node: NodeSpec,
    #[serde(default)]
    pub(crate) choice: NicChoice,
    #[serde(rename = "rail", default)]
    pub(crate) rails: Vec<RailSpec>,
}

/// The properties of a rail that a user knows without measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct RailInfo {
    /// Its name in the description; else `rail` and its number.
    pub name: String,
    /// Time from posting a put of one packet until it reaches a neighbour in an idle network, without the transmission time of its bytes.
    pub latency: Duration,
    /// The lowest rate of NIC and links: of those of all planes if the packets of an operation take all.
    pub bytes_per_second: f64,
}

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// One line that names the key, the value, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine = reading::read(text)?;
        machine.check()?;
        Ok(machine)
    }

    /// Returns the text of a bundled description.
    pub fn bundled(name: &str) -> Option<&'static str> {
        BUNDLED.iter().find(|(bundled, _)| *bundled == name).map(|(_, text)| *text)
    }

    /// Returns the names of the bundled descriptions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|(name, _)| *name)
    }

    /// The name of the machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A one-line summary of the machine; may be empty.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Returns the time from the end of a put to memory that the ranks of a node share until its target sees it; `None` if they share none.
    pub fn visible(&self) -> Option<Duration> {
        self.node.shared.as_ref().map(|shared| Duration::from_picoseconds(picoseconds(shared.visible_ns)))
    }

    /// Returns how long the core of a rank takes to gather `bytes` bytes into one block, or to scatter them.
    pub fn gather(&self, bytes: u64) -> Duration {
        let time = bytes_per_second(self.node.gather_gb_per_s).time(bytes);
        Duration::from_picoseconds(picoseconds(self.node.gather_ns).saturating_add(time))
    }

    /// Its rails, by their numbers.
    pub fn rails(&self) -> impl Iterator<Item = RailInfo> {
        self.rails.iter().enumerate().map(|(number, rail)| {
            let (nic, router, host) = (&rail.nic, &rail.router, rail.host_link());
            let planes = f64::from(rail.planes_of_operation());
            let pipeline = router.routing_ns + router.vc_allocation_ns + router.switch_allocation_ns + router.switch_ns;
            RailInfo {
                name: rail.name.clone().unwrap_or_else(|| format!("rail{number}")),
                latency: Duration::from_picoseconds(picoseconds(nic.overhead_ns + 2.0 * host.cable_ns + pipeline)),
                bytes_per_second: nic.read_gb_per_s.min(nic.write_gb_per_s).min(planes * host.gb_per_s.min(rail.link.gb_per_s))
                    * 1e9,
            }
        })
    }

    /// Returns the maximum number of incomplete operations of a rank: the sum over its NICs; `None` if a rail states none.
    pub fn send_queue(&self) -> Option<u32> {
        let queues = self.rails.iter().map(|rail| rail.nic.send_queue.map(|operations| operations.saturating_mul(rail.count)));
        let sum = queues.reduce(|sum, queue| Some(sum?.saturating_add(queue?)));
        sum.flatten()
    }

    /// The library's use of the cores of a node.
    pub fn software(&self) -> &Software {
        &self.node.software
    }

    /// The number of cores of a node; `None` if each rank has its own.
    pub fn cores(&self) -> Option<u32> {
        self.node.cores
    }

    /// The time of a context switch: from one rank's yielding a core until another runs on it.
    pub fn switch(&self) -> Duration {
        Duration::from_picoseconds(picoseconds(self.node.switch_ns))
    }

    /// The costs of datagrams of the library's own protocol on the cores; `None` if ranks do not communicate by it.
    pub fn datagrams(&self) -> Option<&Datagrams> {
        self.node.datagrams.as_ref()
    }

    /// The interruptions of cores by the operating system; `None` if there are none.
    pub fn noise(&self) -> Option<&Noise> {
        self.node.noise.as_ref()
    }

    /// The number of consecutive ranks of a node whose memories a domain connects, `u32::MAX` for all of the node; `None` if the machine has no
    /// domains.
    pub fn domain_ranks(&self) -> Option<u32> {
        self.node.domain.as_ref().map(|domain| domain.ranks.unwrap_or(u32::MAX))
    }

    /// Returns how long a NIC of the first rail takes for an atomic on the memory of its own node, which crosses no link.
    pub fn own_atomic(&self) -> Duration {
        let nanoseconds = self.rails.first().map_or(0.0, |rail| rail.nic.overhead_ns + rail.nic.atomic_ns);
        Duration::from_picoseconds(picoseconds(nanoseconds))
    }

    /// The additional time of a put to memory that the ranks of a node share, for each page on its first use.
    pub fn page(&self) -> Duration {
        Duration::from_picoseconds(self.node.shared.as_ref().map_or(0, |shared| picoseconds(shared.page_ns)))
    }
}

/// Converts a checked delay to picoseconds.
pub(crate) fn picoseconds(nanoseconds: f64) -> u64 {
    (nanoseconds * 1e3).round() as u64
}

/// Converts a checked rate.
pub(crate) fn bytes_per_second(gigabytes_per_second: f64) -> Rate {
    if gigabytes_per_second == f64::INFINITY {
        return Rate::INFINITE;
    }
    Rate::bytes_per_second((gigabytes_per_second * 1e9).round() as u64)
}
