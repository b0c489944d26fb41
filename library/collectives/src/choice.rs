//! Which algorithm, and why.

use core::fmt;

use pelago_base::Duration;
use pelago_rma::Rail;

use crate::{Algorithm, Operation, Promise};

/// How an algorithm is chosen. Every member chooses the same way, and so the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The model proposes, a trial on zero values decides: for plans that are used often.
    #[default]
    Trial,
    /// What was [tuned](crate::Collectives::tune) or [set](crate::Collectives::set) for nearly as many bytes, else what the model says.
    Table,
    /// This one.
    Fixed(Algorithm),
}

/// By which rails messages go: to members of the same host and to others. Where none is named, or it does not lead there, as is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rails {
    /// Between members of a host, as many as [`Settings::per_host`](crate::Settings::per_host).
    pub near: Option<Rail>,
    /// Between others.
    pub far: Option<Rail>,
}

/// An algorithm that could do an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub algorithm: Algorithm,
    /// What it needs at most.
    pub promise: Promise,
    /// What the model expects.
    pub predicted: Duration,
    /// What one operation took in the trial, on the slowest member: the median of some; `None` if it was not tried.
    pub measured: Option<Duration>,
    /// By which rails it took that: those by which it took least.
    pub rails: Rails,
}

/// Why an algorithm was chosen. Its text has a line for each candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is done.
    pub operation: Operation,
    /// Members.
    pub size: u32,
    /// Bytes of a block.
    pub bytes: usize,
    /// All that are possible, the one that is predicted to be fastest first.
    pub candidates: Vec<Candidate>,
    /// By which it is done.
    pub chosen: Algorithm,
    /// And by which rails.
    pub rails: Rails,
    /// What the rails are called, by their numbers.
    pub names: Vec<&'static str>,
    /// On whose word.
    pub by: Choice,
}

impl Explanation {
    /// The names of two rails, to members of the same host and to others; `None` if none is named.
    pub fn name(&self, rails: Rails) -> Option<String> {
        let name = |rail: Option<Rail>| rail.and_then(|rail| self.names.get(rail.number())).copied().unwrap_or("-");
        (rails != Rails::default()).then(|| format!("{}, {}", name(rails.near), name(rails.far)))
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
            let Promise { steps, messages, values } = candidate.promise;
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
