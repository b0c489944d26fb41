//! Why a plan uses its methods, routes and rails.

use std::fmt;

use pelago_base::{Duration, Rank};
use pelago_rma::DeviceAccess;

/// The candidates of a plan, their costs, and why each was chosen or rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The routes to edges and corners; a single one if there are no such cells.
    pub routes: Vec<Candidate>,
    /// The sets of a method for each dimension that were tried with all neighbours at the same time; none if there is one rail.
    pub rails: Vec<Candidate>,
    /// Each neighbour of the chosen route.
    pub links: Vec<LinkExplanation>,
    /// The candidates of a [plan on a stream](crate::StreamPlan), tried by whole exchanges, the host's last; none for other plans.
    pub streams: Vec<Candidate>,
    /// For fields on devices: each network that accepts memory of devices, and its access to that memory on this rank.
    pub devices: Vec<(&'static str, DeviceAccess)>,
}

/// One neighbour.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkExplanation {
    /// Its rank.
    pub neighbour: Rank,
    /// Direction of its block: −1, 0 or 1 in each dimension.
    pub direction: Vec<i8>,
    /// Number of fields with cells to move.
    pub fields: usize,
    /// Bytes that are sent to it in one exchange.
    pub bytes: u64,
    /// Number of their blocks, if they are not packed.
    pub blocks: u64,
    /// Whether its memory is mapped.
    pub is_mapped: bool,
    /// Each method with each rail.
    pub candidates: Vec<Candidate>,
}

/// One candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The median cost of exchanges on this rank, if it was tried: with all neighbours in that direction and its opposite.
    pub here: Option<Duration>,
    /// The same on the neighbour; for a route or a set of rails, on the slowest rank.
    pub there: Option<Duration>,
    /// Whether it was chosen, and why.
    pub verdict: Verdict,
}

/// Why a candidate was chosen or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Chosen: it was requested, or is the only candidate.
    Forced,
    /// Chosen: it was proposed, and no other measured clearly cheaper: by 5 %, or for sets of rails by 1 %.
    Proposed,
    /// Chosen: clearly cheaper than the proposal.
    Cheaper,
    /// Chosen: not the best for this neighbour alone, but for all at the same time, as they share rails.
    Together,
    /// Rejected, though it is cheaper for this neighbour alone.
    CheaperAlone,
    /// Rejected: more expensive.
    MoreExpensive,
    /// Rejected, though it was cheaper: by too little.
    NotClearlyCheaper,
    /// Rejected: another was requested.
    Excluded,
    /// Rejected: its rail does not reach the neighbour.
    NoRail,
    /// Rejected: the stream of some rank does not write words of its neighbours, or does not reach their memory.
    NoStreams,
    /// Rejected without a trial: each block would be an operation of a transport, or a fetch would cost a round trip, or it is too short to be
    /// striped over all rails.
    NotTried,
    /// Rejected without a trial: the time for trials was over.
    NoTime,
}

impl Verdict {
    /// Whether it was chosen.
    pub const fn is_chosen(self) -> bool {
        matches!(self, Self::Forced | Self::Proposed | Self::Cheaper | Self::Together)
    }
}

impl LinkExplanation {
    /// The chosen candidate.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.verdict.is_chosen())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forced => "chosen: the only candidate",
            Self::Proposed => "chosen: proposed, and no other measured clearly cheaper",
            Self::Cheaper => "chosen: clearly cheaper than the proposal",
            Self::Together => "chosen: cheaper with all neighbours at the same time",
            Self::CheaperAlone => "rejected: cheaper alone, not with all neighbours at the same time",
            Self::MoreExpensive => "rejected: more expensive",
            Self::NotClearlyCheaper => "rejected: not clearly cheaper than the proposal",
            Self::Excluded => "rejected: another was requested",
            Self::NoRail => "rejected: the rail does not reach the neighbour",
            Self::NoStreams => "rejected: the streams of some ranks do not reach their neighbours",
            Self::NotTried => "rejected: not tried, too many messages",
            Self::NoTime => "rejected: not tried, the time for trials was over",
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
        for way in &self.streams {
            writeln!(f, "streams {way}")?;
        }
        for (rail, access) in &self.devices {
            writeln!(f, "memory of devices by {rail}: {access}")?;
        }
        for route in &self.routes {
            writeln!(f, "route {route}")?;
        }
        for rails in &self.rails {
            writeln!(f, "rails {rails}")?;
        }
        for link in &self.links {
            let direction: Vec<_> = link.direction.iter().map(|direction| format!("{direction:+}")).collect();
            let way = if link.is_mapped { "mapped" } else { "by a transport" };
            let (fields, blocks) = (plural(link.fields as u64, "field"), plural(link.blocks, "block"));
            writeln!(
                f,
                "rank {} at ({}), {way}: {fields}, {} bytes in {blocks}",
                link.neighbour,
                direction.join(" "),
                link.bytes
            )?;
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
