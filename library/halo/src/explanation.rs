//! Why a plan goes as it goes.

use std::fmt;

use pelago_base::{Duration, Rank};

/// What was tried for a plan, what it cost, and why it won or lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The ways to edges and corners; one, where there are none.
    pub routes: Vec<Candidate>,
    /// The sets of a way for each dimension that were tried for all neighbours together; none where there is one rail.
    pub rails: Vec<Candidate>,
    /// Each neighbour by the route that was taken.
    pub links: Vec<Choice>,
}

/// One neighbour.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Who.
    pub neighbour: Rank,
    /// Where its block lies: −1, 0 or 1 in each dimension.
    pub step: Vec<i8>,
    /// How many fields move.
    pub fields: usize,
    /// What goes there in one exchange.
    pub bytes: u64,
    /// In how many blocks, if it is not packed.
    pub blocks: u64,
    /// Whether its memory is mapped.
    pub is_mapped: bool,
    /// The methods, by each rail.
    pub candidates: Vec<Candidate>,
}

/// One way.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// The median of the costs of exchanges on this rank, if it was tried: with all neighbours in that direction and its opposite.
    pub here: Option<Duration>,
    /// The same on the neighbour; for a route or a set of rails, on the slowest rank.
    pub there: Option<Duration>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Taken: it was asked for, or there is no other.
    Forced,
    /// Taken: it was proposed, and no other was found clearly cheaper: by 5 %, or for sets of rails by 1 %.
    Proposed,
    /// Taken: it is clearly cheaper than what was proposed.
    Cheaper,
    /// Taken: not the best for this neighbour alone, but for all together, who share rails.
    Together,
    /// Lost, though it is cheaper for this neighbour alone.
    CheaperAlone,
    /// Lost.
    Dearer,
    /// Lost, though it was cheaper: by too little.
    NotClearlyCheaper,
    /// Lost: another was asked for.
    Excluded,
    /// Lost: its rail does not lead there.
    NoRail,
    /// Lost without a trial: each block would be an operation of a transport, or its way there and back be waited for, or it is too short to go by
    /// all rails in parts.
    NotTried,
    /// Lost without a trial: the time for trials was over.
    NoTime,
}

impl Verdict {
    /// Whether it was taken.
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::Forced | Self::Proposed | Self::Cheaper | Self::Together)
    }
}

impl Choice {
    /// The method that was taken.
    pub fn taken(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.verdict.is_taken())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forced => "taken: no other may be",
            Self::Proposed => "taken: proposed, and no other was found clearly cheaper",
            Self::Cheaper => "taken: clearly cheaper than what was proposed",
            Self::Together => "taken: cheaper for all together",
            Self::CheaperAlone => "lost: cheaper alone, not with the others",
            Self::Dearer => "lost: dearer",
            Self::NotClearlyCheaper => "lost: not clearly cheaper than what was proposed",
            Self::Excluded => "lost: another was asked for",
            Self::NoRail => "lost: the rail does not lead there",
            Self::NotTried => "lost: not tried, too many messages",
            Self::NoTime => "lost: not tried, the time for trials was over",
        })
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = |cost: Option<Duration>| cost.map_or("-".into(), |cost| format!("{:.2}", cost.as_seconds() * 1e6));
        write!(f, "{:<18}{:>10} µs here {:>10} µs there  {}", self.name, micro(self.here), micro(self.there), self.verdict)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for route in &self.routes {
            writeln!(f, "route {route}")?;
        }
        for rails in &self.rails {
            writeln!(f, "rails {rails}")?;
        }
        for link in &self.links {
            let step: Vec<_> = link.step.iter().map(|step| format!("{step:+}")).collect();
            let way = if link.is_mapped { "mapped" } else { "by a transport" };
            let (fields, blocks) = (plural(link.fields as u64, "field"), plural(link.blocks, "block"));
            writeln!(f, "{} at ({}), {way}: {fields}, {} bytes in {blocks}", link.neighbour, step.join(" "), link.bytes)?;
            for candidate in &link.candidates {
                writeln!(f, "  {candidate}")?;
            }
        }
        Ok(())
    }
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
