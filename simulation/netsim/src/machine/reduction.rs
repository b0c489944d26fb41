//! The table of a rail for reductions by its routers or NICs.

use serde::Deserialize;

use super::MachineError;
use super::check::{delay, range};
use super::spec::RailSpec;

/// Maximum number of bytes of a contribution, which is one packet.
const BYTES_MAX: u32 = 1 << 16;

/// Maximum number of groups of a machine.
const GROUPS_MAX: u32 = 1 << 16;

/// Maximum number of NICs that send to one NIC.
const RADIX_MAX: u32 = 1 << 10;

/// Number of NICs that send to one NIC by default: a flat tree, as each level costs two messages.
const RADIX: u32 = 8;

/// Reductions by the routers or the NICs of a rail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReductionSpec {
    pub(crate) level: ReductionLevel,
    /// Time of a router or NIC from the arrival of its last input until it has combined all of them.
    pub(crate) combine_ns: f64,
    /// Maximum size of a contribution; 0 for barriers only.
    #[serde(default)]
    pub(crate) bytes_max: u32,
    /// Maximum number of groups of ranks at once.
    pub(crate) groups_max: u32,
    /// Number of NICs that send to one NIC, if `level = "nics"`.
    #[serde(default)]
    pub(crate) radix: Option<u32>,
}

/// The parts of a rail that combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReductionLevel {
    Routers,
    Nics,
}

impl ReductionSpec {
    /// The number of NICs that send to one NIC, unless routers combine.
    pub(crate) fn radix(&self) -> Option<u32> {
        (self.level == ReductionLevel::Nics).then(|| self.radix.unwrap_or(RADIX))
    }

    pub(super) fn check(&self, rail: &RailSpec) -> Result<(), MachineError> {
        delay("reduction.combine_ns", self.combine_ns)?;
        range("reduction.bytes_max", self.bytes_max, 0, BYTES_MAX)?;
        range("reduction.groups_max", self.groups_max, 1, GROUPS_MAX)?;
        if let Some(radix) = self.radix {
            range("reduction.radix", radix, 1, RADIX_MAX)?;
        }
        let refused = |reason: &str| Err(MachineError::new(reason.into()));
        if self.level == ReductionLevel::Routers && self.radix.is_some() {
            return refused(
                "reduction.radix: must be absent where level = \"routers\", as the links of the network form the tree",
            );
        }
        if self.bytes_max > rail.nic.packet_bytes {
            let packet = rail.nic.packet_bytes;
            return refused(&format!(
                "reduction.bytes_max = {}: must be at most nic.packet_bytes, which is {packet}, as a contribution is one packet",
                self.bytes_max
            ));
        }
        if rail.group.is_some() {
            return refused("reduction: must be absent where the rail has a group, as it serves groups of any nodes");
        }
        if !rail.failure.is_empty() {
            return refused("reduction: must be absent where links fail, as its trees are not repaired: remove [rail.reduction]");
        }
        if rail.lossy() {
            return refused(
                "reduction: must be absent where packets are lost (kind = \"ethernet\", link.loss), as it repeats none",
            );
        }
        Ok(())
    }
}
