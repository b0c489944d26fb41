//! Distributed arrays with halos, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Nodes`], [`Template`], [`Array`] (`grid`) | which rank owns which cells: a grid of ranks, block distribution, alignment, shadows |
//! | [`Field`], [`View`] | the cells of one rank, owned and halo, as plain slices |
//! | [`Plan`], [`Settings`] | the exchange, built once: start, compute what needs no halo, wait |
//! | [`StreamPlan`] | the exchange of fields on devices in the order of a stream: no host waits |
//! | [`Halo`], [`Route`], [`Method`], [`Explanation`] | which cells an exchange updates, by which route and method, and why |
//! | `exchange`, `trial` | the links of a block and their protocol; measuring methods and rails |
//! | [`shape`] | boxes of cells as count × block × stride |
//!
//! The terms are those of XcalableMP: *nodes*, *template*, *align*, *shadow*, *reflect*. `docs/book/src/halo.md` describes their use and the cost of
//! an exchange. Source: Odajima et al., hybrid communication in XcalableACC (2015): paper B, section `reflect`.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, the computation on cells.

#![warn(missing_debug_implementations)]

mod debug;
mod exchange;
mod explanation;
mod field;
mod grid;
mod plan;
mod settings;
mod stream_plan;
mod trial;

pub use explanation::{Candidate, Explanation, LinkExplanation, Verdict};
pub use field::{Field, Region, View};
pub use grid::array::{Array, Template};
pub use grid::direction::Side;
pub use grid::error::GridError;
pub use grid::layout::{Block, Layout};
pub use grid::nodes::{DIMENSIONS_MAX, Nodes};
pub use grid::shape;
pub use plan::Plan;
pub use settings::{Halo, Method, Route, Settings, TRIAL_LIMIT};
pub use stream_plan::StreamPlan;
