//! Variables with entry consistency: the data of one or several values, reached by a guard that holds the variable's lock.
//!
//! | file | content |
//! |---|---|
//! | `shared` | a variable of one type: acquire and release |
//! | `guard` | the data, as long as the variable is held |
//! | `access` | acquire and release, without the type of the data |
//! | `bundle` | several slices under one lock |
//! | `multi_acquire` | several variables in one call |
//! | `blocks` | the blocks of the data, their versions, and the transfer of those that changed |
//! | `prefetch` | a copy of the newest version that is fetched before the variable is acquired |
//! | `statistics` | counts of the costs of a variable |

mod access;
mod blocks;
mod bundle;
mod guard;
mod multi_acquire;
mod prefetch;
mod shared;
mod statistics;

pub use bundle::{Bundle, BundleReadGuard, BundleReadRequest, BundleWriteGuard, BundleWriteRequest, PartMut, Parts};
pub use guard::{ReadGuard, WriteGuard};
pub use multi_acquire::{AcquireRequest, AcquireSet, ReadRequest, WriteRequest, acquire};
pub use shared::{Placement, Shared};
pub use statistics::Statistics;
