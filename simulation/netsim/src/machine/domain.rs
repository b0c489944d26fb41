//! Domains: ranks of a node whose memories are connected directly, as GPUs are by a switch or by links between pairs.

use serde::Deserialize;

use super::{MachineError, check};

/// Smallest and largest piece of a transfer that a description may state.
const PIECE_BYTES: (u32, u32) = (256, 1 << 30);

/// Shortest latency in nanoseconds that a description may state: the resolution of virtual time.
const LATENCY_NS_MIN: f64 = 1e-3;

/// Connections between the memories of consecutive ranks of a node. Times are in nanoseconds, rates in 10⁹ bytes per second.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DomainSpec {
    /// Number of consecutive ranks of a node that form a domain; all ranks of the node if absent.
    #[serde(default)]
    pub(crate) ranks: Option<u32>,
    /// Rate, in each direction, of the port that connects a rank with the switch of its domain.
    #[serde(default)]
    port_gb_per_s: Option<f64>,
    /// Rate, in each direction, of the link between each two ranks, if no switch connects them.
    #[serde(default)]
    pair_gb_per_s: Option<f64>,
    /// Time from one rank to another, without the transmission of bytes.
    pub(crate) latency_ns: f64,
    /// Time from posting an operation until it begins.
    #[serde(default)]
    pub(crate) overhead_ns: f64,
    /// Time that an atomic takes at its target, for one atomic at a time.
    #[serde(default)]
    pub(crate) atomic_ns: f64,
    /// Bytes after which a sender or a port goes over to the next transfer.
    #[serde(default = "piece_bytes")]
    pub(crate) piece_bytes: u32,
}

fn piece_bytes() -> u32 {
    1 << 16
}

impl DomainSpec {
    /// Whether a switch connects the ranks.
    pub(crate) fn has_switch(&self) -> bool {
        self.port_gb_per_s.is_some()
    }

    /// The rate of ports or of links between pairs.
    pub(crate) fn gb_per_s(&self) -> f64 {
        self.port_gb_per_s.or(self.pair_gb_per_s).unwrap_or(f64::INFINITY)
    }

    pub(super) fn check(&self) -> Result<(), MachineError> {
        if let Some(ranks) = self.ranks {
            check::range("node.domain.ranks", ranks, 2, u32::MAX)?;
        }
        match (self.port_gb_per_s, self.pair_gb_per_s) {
            (Some(rate), None) => check::rate("node.domain.port_gb_per_s", rate)?,
            (None, Some(rate)) => check::rate("node.domain.pair_gb_per_s", rate)?,
            _ => {
                return Err(MachineError(
                    "node.domain: needs either port_gb_per_s, for ports of a switch, or pair_gb_per_s, for a link of each pair"
                        .into(),
                ));
            }
        }
        check::delay("node.domain.latency_ns", self.latency_ns)?;
        if self.latency_ns < LATENCY_NS_MIN {
            let allowed = format!("at least {LATENCY_NS_MIN}: bytes arrive after they were read");
            return Err(MachineError::value("node.domain.latency_ns", self.latency_ns, &allowed));
        }
        check::delay("node.domain.overhead_ns", self.overhead_ns)?;
        check::delay("node.domain.atomic_ns", self.atomic_ns)?;
        check::range("node.domain.piece_bytes", self.piece_bytes, PIECE_BYTES.0, PIECE_BYTES.1)
    }
}

#[cfg(test)]
mod tests {
    use crate::Machine;

    #[test]
    fn wrong_values_are_named() {
        let shared = "port_gb_per_s = 450.0\nlatency_ns = 1.0\n[node.shared]\nvisible_ns = 1\natomic_ns = 1\nput = [[8, 1]]\nget = [[8, 1]]";
        let datagrams = "port_gb_per_s = 450.0\nlatency_ns = 1.0\n[node.datagrams]\ndatagram_bytes = 1472\nwindow_bytes = 200000\npost_ns = 1\n\
                         send = [[8, 1]]\nreceive = [[8, 1]]\noverlap_ns = 0\nlatency_ns = 1\nwake_ns = 1";
        for (domain, says) in [
            ("latency_ns = 1.0", "node.domain: needs either port_gb_per_s"),
            ("port_gb_per_s = 450.0\npair_gb_per_s = 50.0\nlatency_ns = 1.0", "node.domain: needs either port_gb_per_s"),
            ("port_gb_per_s = 0.0\nlatency_ns = 1.0", "node.domain.port_gb_per_s = 0: must be gigabytes per second"),
            ("pair_gb_per_s = -1.0\nlatency_ns = 1.0", "node.domain.pair_gb_per_s = -1: must be gigabytes per second"),
            ("port_gb_per_s = 450.0\nlatency_ns = -1.0", "node.domain.latency_ns = -1: must be nanoseconds"),
            ("port_gb_per_s = 450.0\nlatency_ns = 0", "node.domain.latency_ns = 0: must be at least 0.001"),
            ("port_gb_per_s = 450.0\nlatency_ns = 1.0\natomic_ns = nan", "node.domain.atomic_ns = NaN: must be nanoseconds"),
            ("port_gb_per_s = 450.0\nlatency_ns = 1.0\noverhead_ns = -2", "node.domain.overhead_ns = -2: must be nanoseconds"),
            ("port_gb_per_s = 450.0\nlatency_ns = 1.0\nranks = 1", "node.domain.ranks = 1: must be from 2"),
            ("port_gb_per_s = 450.0\nlatency_ns = 1.0\npiece_bytes = 8", "node.domain.piece_bytes = 8: must be from 256"),
            (shared, "node.domain: must be absent where [node.shared]"),
            (datagrams, "node.domain: must be absent where [node.datagrams]"),
        ] {
            let text = Machine::bundled("rx200-qdr").unwrap().replace("[[rail]]", &format!("[node.domain]\n{domain}\n[[rail]]"));
            let error = Machine::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
        let alone = Machine::parse("name = \"m\"\n[node.domain]\nport_gb_per_s = 450.0\nlatency_ns = 1.0").unwrap_err();
        assert!(alone.to_string().starts_with("rail: there must be at least one"), "{alone}");
    }
}
