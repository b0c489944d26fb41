//! Distributed arrays with halos, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Nodes`], [`Template`], [`Array`] | which rank owns which cells: a grid of ranks, block distribution, alignment, shadows |
//! | [`Field`], [`View`] | the cells of one rank, owned and halo, as plain slices |
//! | [`Plan`], [`Settings`] | the exchange, built once: start, compute what needs no halo, wait |
//! | [`Halo`], [`Route`], [`Method`], [`Explanation`] | what is brought, through whom, how, and why so |
//! | [`shape`] | boxes of cells as count × block × stride |
//!
//! The words are those of XcalableMP: *nodes*, *template*, *align*, *shadow*, *reflect*. `docs/halo.md` says how to use them and what an
//! exchange costs. Source: Odajima et al., hybrid communication in XcalableACC (2015): paper B, section `reflect`.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, what is computed.

mod array;
mod candidate;
mod error;
mod exchange;
mod explanation;
mod field;
mod layout;
mod link;
mod nodes;
mod plan;
mod settings;
pub mod shape;
mod step;
mod trial;

pub use array::{Array, Block, Template};
pub use error::GridError;
pub use explanation::{Candidate, Choice, Explanation, Verdict};
pub use field::{Field, Region, View};
pub use layout::Layout;
pub use nodes::{DIMENSIONS_MAX, Nodes};
pub use plan::Plan;
pub use settings::{Halo, Method, Route, Settings, TRIAL_LIMIT};
pub use step::Side;
