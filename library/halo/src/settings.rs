//! What is brought, and how.

use std::fmt;

use pelago_base::Duration;
use pelago_rma::Rail;

use crate::grid::nodes::DIMENSIONS_MAX;

/// Which cells of a halo an exchange brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Halo {
    /// Those beside a face: for stencils without diagonals.
    #[default]
    Faces,
    /// Those beside faces and edges. By [`Route::Forwarded`] corners come too.
    Edges,
    /// All.
    Corners,
}

impl Halo {
    /// In how many dimensions a direction to a neighbour may lead.
    pub(crate) const fn distance_max(self) -> usize {
        match self {
            Self::Faces => 1,
            Self::Edges => 2,
            Self::Corners => usize::MAX,
        }
    }
}

/// Through whom edges and corners come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// From their owners: one round, up to 26 neighbours in three dimensions.
    Direct,
    /// From the neighbours across faces, dimension by dimension: as many rounds as dimensions, six neighbours in three dimensions.
    Forwarded,
}

/// How the cells of one neighbour travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Straight from border to halo, block by block, when the neighbour has said that its halo may be written: no packing, no copy at the
    /// receiver.
    Direct,
    /// Packed into one piece of memory that the receiver keeps for it, twice, and unpacked there: no leave is asked.
    Packed,
    /// Straight from border to halo too, but by the receiver, when the neighbour has said that its border may be read: each cell crosses
    /// between cores once. The neighbour's exchange is over when its border has been taken.
    Fetched,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Packed, Self::Fetched];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Packed => "packed",
            Self::Fetched => "fetched",
        })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Forwarded => "forwarded",
        })
    }
}

/// What a plan brings, and what is decided for it. The same on every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which cells.
    pub halo: Halo,
    /// How those across the faces of each dimension travel; edges and corners as those of the first dimension in which they lie apart. By default
    /// a trial decides for each neighbour.
    pub methods: [Option<Method>; DIMENSIONS_MAX],
    /// Through whom edges and corners come; by default a trial decides.
    pub route: Option<Route>,
    /// By which rail those of each dimension go, where that leads, likewise; `world.rails().all()` is all of them at once, long borders in parts. By
    /// default trials decide, of each neighbour alone and of all together.
    pub rails: [Option<Rail>; DIMENSIONS_MAX],
    /// How long all trials of a plan may take together, [`TRIAL_LIMIT`] by default; none are made in no time. The round of turns that is
    /// under way then is the last, and what has not been tried is not taken.
    pub trial_limit: Duration,
}

/// How long trials of a plan may take unless [`Settings::trial_limit`] says otherwise: much longer than they take where nothing is lost and
/// every rank has a core.
pub const TRIAL_LIMIT: Duration = Duration::from_milliseconds(500);

impl Default for Settings {
    /// Those of [`new`](Self::new) for the default halo.
    fn default() -> Self {
        Self::new(Halo::default())
    }
}

impl Settings {
    /// A plan that brings `halo`, by what trials find best.
    pub const fn new(halo: Halo) -> Self {
        Self { halo, methods: [None; DIMENSIONS_MAX], route: None, rails: [None; DIMENSIONS_MAX], trial_limit: TRIAL_LIMIT }
    }

    /// All by `method`.
    #[must_use]
    pub const fn with_method(self, method: Method) -> Self {
        Self { methods: [Some(method); DIMENSIONS_MAX], ..self }
    }

    /// With trials for so long at most.
    #[must_use]
    pub const fn with_trial_limit(self, trial_limit: Duration) -> Self {
        Self { trial_limit, ..self }
    }

    /// All by `rail`, where it leads.
    #[must_use]
    pub const fn with_rail(self, rail: Rail) -> Self {
        Self { rails: [Some(rail); DIMENSIONS_MAX], ..self }
    }
}
