//! The figures of a simulation that is over, as one line of JSON: what a sweep keeps of each run.

use pelago_base::Instant;
use serde::{Deserialize, Serialize};

use crate::run::SimulationOutcome;

/// The figures of a simulation that is over. The same simulation gives the same figures, except where computing is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulationSummary {
    /// The virtual time at the end, in picoseconds.
    pub end_ps: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Packets that were put on the network, control packets and repetitions included.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Bytes of operations that took effect.
    pub bytes: u64,
    /// Packets and datagrams that were lost.
    pub drops: u64,
    /// How often a network interface tried again.
    pub retries: u64,
    /// How often a buffer has had its sender pause.
    pub pauses: u64,
    /// Packets that a router has marked.
    pub marks: u64,
    /// The part of the time that the busiest link was sending: from 0 to 1.
    pub link_use_max: f64,
    /// Packets that waited for a link at most.
    pub queue_max: u32,
    /// What was wrong with the job, if anything.
    pub fault: Option<String>,
}

/// What each line of JSON begins with.
const BEGIN: &str = "{\"simulation\":";

impl SimulationSummary {
    /// The figures of an outcome. Cost: time for each link.
    pub fn new<R>(outcome: &SimulationOutcome<R>) -> Self {
        let (statistics, end_ps) = (&outcome.statistics, outcome.end.as_picoseconds());
        let busiest = statistics.links.iter().map(|link| link.busy).max().unwrap_or_default();
        let whole = outcome.end.since(Instant::ZERO);
        Self {
            end_ps,
            events: statistics.events,
            packets: statistics.packets,
            packet_hops: statistics.packet_hops,
            bytes: statistics.bytes,
            drops: statistics.drops,
            retries: statistics.retries,
            pauses: statistics.pauses,
            marks: statistics.marks,
            link_use_max: if end_ps == 0 { 0.0 } else { busiest.as_seconds() / whole.as_seconds() },
            queue_max: statistics.links.iter().map(|link| link.queue_max).max().unwrap_or(0),
            fault: outcome.fault.map(|fault| fault.to_string()),
        }
    }

    /// One line.
    pub fn to_json(&self) -> String {
        format!("{BEGIN}{}}}", serde_json::to_string(self).expect("numbers and text have a JSON form"))
    }

    /// The last summary among lines that a program has written; `None` if there is none.
    pub fn find(output: &str) -> Option<Self> {
        let of = |line: &str| serde_json::from_str(line.strip_prefix(BEGIN)?.strip_suffix('}')?).ok();
        output.lines().rev().find_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_found_among_what_a_program_writes() {
        let summary =
            SimulationSummary { end_ps: 5, link_use_max: 0.25, fault: Some("a \"fault\"".into()), ..Default::default() };
        let line = summary.to_json();
        assert!(line.starts_with("{\"simulation\":{\"end_ps\":5,") && !line.contains('\n'), "{line}");
        let earlier = SimulationSummary::default().to_json();
        assert_eq!(SimulationSummary::find(&format!("{earlier}\nx {line}\n{line}\nafter it\n")), Some(summary));
        assert_eq!(SimulationSummary::find("{\"simulation\":{}}\nx"), None);
    }
}
