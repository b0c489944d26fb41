//! Settings of a plan: which halo cells it updates, and how.

use std::fmt;

use pelago_base::Duration;
use pelago_rma::Rail;

use crate::grid::nodes::DIMENSIONS_MAX;

/// The cells of a halo that an exchange updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Halo {
    /// Cells beside faces: for stencils without diagonals.
    #[default]
    Faces,
    /// Cells beside faces and edges. [`Route::Forwarded`] updates corners too.
    Edges,
    /// All cells.
    Corners,
}

impl Halo {
    /// Maximum number of dimensions in which the block of a neighbour may differ.
    pub(crate) const fn distance_max(self) -> usize {
        match self {
            Self::Faces => 1,
            Self::Edges => 2,
            Self::Corners => usize::MAX,
        }
    }
}

/// The route of edges and corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// From their owners: one round, up to 26 neighbours in three dimensions.
    Direct,
    /// From the neighbours across faces, dimension by dimension: as many rounds as dimensions, six neighbours in three dimensions.
    Forwarded,
}

/// The transfer of the cells of one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Directly from border to halo, block by block, after the neighbour has given credit for its halo: no packing, no copy at the receiver.
    Direct,
    /// Packed into contiguous memory that the receiver keeps for it, twice, and unpacked there: needs no credit.
    Packed,
    /// Directly from border to halo too, but by the receiver, after the neighbour has announced that its border may be read: each cell crosses
    /// between cores once. The neighbour's exchange is over when its border has been read.
    Fetched,
}

impl Method {
    /// All methods.
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

/// The halo that a plan updates, and the choices that are fixed for it. The same on every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The cells.
    pub halo: Halo,
    /// The method for the faces of each dimension; edges and corners use that of the first dimension in which the neighbour differs. By default a
    /// trial decides for each neighbour.
    pub methods: [Option<Method>; DIMENSIONS_MAX],
    /// The route of edges and corners; by default a trial decides.
    pub route: Option<Route>,
    /// The rail of each dimension, likewise, where it reaches the neighbour; `world.rails().all()` is all rails at once, with long borders striped
    /// over them. By default trials decide, for each neighbour alone and for all together.
    pub rails: [Option<Rail>; DIMENSIONS_MAX],
    /// Maximum duration of all trials of a plan together, [`TRIAL_LIMIT`] by default; zero disables trials. The round of turns in which the limit
    /// passes is the last, and methods that have not been tried are not chosen.
    pub trial_limit: Duration,
}

/// Default maximum duration of the trials of a plan: much longer than they take where nothing is lost and every rank has a core.
pub const TRIAL_LIMIT: Duration = Duration::from_milliseconds(500);

impl Default for Settings {
    /// As [`new`](Self::new) with the default halo.
    fn default() -> Self {
        Self::new(Halo::default())
    }
}

impl Settings {
    /// A plan that updates `halo`, with the choices that trials find best.
    pub const fn new(halo: Halo) -> Self {
        Self { halo, methods: [None; DIMENSIONS_MAX], route: None, rails: [None; DIMENSIONS_MAX], trial_limit: TRIAL_LIMIT }
    }

    /// Sets `method` for all dimensions.
    #[must_use]
    pub const fn with_method(self, method: Method) -> Self {
        Self { methods: [Some(method); DIMENSIONS_MAX], ..self }
    }

    /// Limits the duration of trials.
    #[must_use]
    pub const fn with_trial_limit(self, trial_limit: Duration) -> Self {
        Self { trial_limit, ..self }
    }

    /// Sets `rail` for all dimensions, where it reaches the neighbour.
    #[must_use]
    pub const fn with_rail(self, rail: Rail) -> Self {
        Self { rails: [Some(rail); DIMENSIONS_MAX], ..self }
    }
}
