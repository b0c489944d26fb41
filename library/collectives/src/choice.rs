//! The choice of an algorithm, and its explanation.

use core::fmt;

use pelago_base::Duration;
use pelago_rma::Rail;

use crate::{Algorithm, Collective, Promise};

/// The method by which an algorithm is chosen. All members use the same method, and so choose the same algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The model proposes, and a trial on zero values decides: for plans that are run often.
    #[default]
    Trial,
    /// The algorithm that was [tuned](crate::Collectives::tune) or [set](crate::Collectives::set) for the nearest number of bytes, else that of the model. One-shot
    /// operations begin with it; long ones that are called often are [tried](crate::Settings::calls_before_trial).
    Table,
    /// This algorithm.
    Fixed(Algorithm),
}

/// The rails of messages, intra-node and inter-node. If a rail is not named, or does not reach the peer, the best one for each peer is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rails {
    /// The intra-node rail; [`Settings::per_host`](crate::Settings::per_host) defines the members of a host.
    pub intra_node: Option<Rail>,
    /// The inter-node rail.
    pub inter_node: Option<Rail>,
}

/// A possible algorithm for an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Bounds of its messages.
    pub promise: Promise,
    /// The time that the model predicts.
    pub predicted: Duration,
    /// The median time of one operation in the trial, on the slowest member; `None` if it was not tried.
    pub measured: Option<Duration>,
    /// The rails of that measurement: the fastest ones.
    pub rails: Rails,
}

/// The reasons for the choice of an algorithm. Its text has a line for each candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The operation.
    pub operation: Collective,
    /// The number of members.
    pub size: u32,
    /// Bytes of a block.
    pub bytes: usize,
    /// All possible algorithms, sorted by predicted time.
    pub candidates: Vec<Candidate>,
    /// The chosen algorithm.
    pub chosen: Algorithm,
    /// The chosen rails.
    pub rails: Rails,
    /// The names of the rails, by their numbers.
    pub names: Vec<&'static str>,
    /// The method of the choice.
    pub by: Choice,
}

impl Explanation {
    /// Returns the names of the intra-node and the inter-node rail; `None` if none is named.
    pub fn name(&self, rails: Rails) -> Option<String> {
        let name = |rail: Option<Rail>| rail.and_then(|rail| self.names.get(rail.number())).copied().unwrap_or("-");
        (rails != Rails::default()).then(|| format!("{}, {}", name(rails.intra_node), name(rails.inter_node)))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.by {
            Choice::Trial => "by trial",
            Choice::Table => "by table or model",
            Choice::Fixed(_) => "as asked",
        };
        let by = self.name(self.rails).map_or_else(String::new, |rails| format!(" by {rails}"));
        writeln!(f, "{} of {} members, {} bytes: {}{by}, {why}", self.operation, self.size, self.bytes, self.chosen)?;
        writeln!(f, "  {:24}{:>8}{:>10}{:>14}{:>14}{:>14}", "algorithm", "steps", "messages", "values", "predicted", "measured")?;
        for candidate in &self.candidates {
            let Promise { steps, messages, values, .. } = candidate.promise;
            let mark = if candidate.algorithm == self.chosen { "*" } else { "" };
            let name = format!("{}{mark}", candidate.algorithm);
            let measured = candidate.measured.map_or("–".into(), microseconds);
            let predicted = microseconds(candidate.predicted);
            let rails = self.name(candidate.rails).map_or_else(String::new, |rails| format!("  {rails}"));
            writeln!(f, "  {name:24}{steps:>8}{messages:>10}{values:>14}{predicted:>14}{measured:>14}{rails}")?;
        }
        Ok(())
    }
}

fn microseconds(duration: Duration) -> String {
    format!("{:.3} us", duration.as_seconds() * 1e6)
}
