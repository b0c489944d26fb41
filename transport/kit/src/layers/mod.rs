//! Layers: each is a transport around a transport and fulfils the contract if the inner one does. Layers may be stacked.
//!
//! | layer | adds |
//! |---|---|
//! | [`Trace`] | a line for every post, fence and completion |
//! | [`Count`] | a counter for each event |
//! | [`Record`], [`RecordWaits`] | a bounded record of operations and waits, for a trace of the job: [`Recording`], [`RecordedRank`] |
//! | [`Fault`] | refusals, delays, reordering and a failed rank, from a seed |
//! | [`Split`] | a second transport, for the ranks of this node |

mod count;
mod fault;
mod record;
mod recorded;
mod split;
mod trace;

pub use count::Count;
pub use fault::{Fault, Faults, Manner};
pub use record::{Record, RecordWaits, Recording};
pub use recorded::{DroppedOperations, RecordedHost, RecordedKind, RecordedOperation, RecordedRank};
pub use split::Split;
pub use trace::Trace;
