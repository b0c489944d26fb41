//! The results of a completed simulation as one line of JSON, which a sweep stores for each run.

use pelago_base::Instant;
use serde::{Deserialize, Serialize};

use crate::run::SimulationOutcome;

/// The results of a completed simulation. The same simulation gives the same results, unless computing time is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulationSummary {
    /// The virtual time at the end, in picoseconds.
    pub end_ps: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Packets that entered the network, including control packets and retransmissions.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Bytes of operations that took effect.
    pub bytes: u64,
    /// Packets and datagrams that were lost.
    pub drops: u64,
    /// Number of repetitions by network interfaces.
    pub retries: u64,
    /// Number of times that a buffer has paused its sender.
    pub pauses: u64,
    /// Packets that a router has marked.
    pub marks: u64,
    /// The part of the time for which the busiest link was sending, from 0 to 1.
    pub link_use_max: f64,
    /// The largest number of packets that waited for a link.
    pub queue_max: u32,
    /// The fault of the job, if there was one.
    pub fault: Option<String>,
}

/// The beginning of each line of JSON.
const BEGIN: &str = "{\"simulation\":";

impl SimulationSummary {
    /// Summarizes an outcome. Takes time proportional to the number of links.
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

    /// Returns the summary as one line of JSON.
    pub fn to_json(&self) -> String {
        format!("{BEGIN}{}}}", serde_json::to_string(self).expect("numbers and text have a JSON form"))
    }

    /// Returns the last summary in the output of a program; `None` if there is none.
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
