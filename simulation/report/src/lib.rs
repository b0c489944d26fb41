//! Reports on simulated or recorded jobs: as a trace for Perfetto, in JSON, and as one page for a browser.
//!
//! | part | for |
//! |---|---|
//! | [`Recorder`] | is called for each event: ranks that stop and continue, operations in transit |
//! | [`Facts`], [`LinkUse`] | data of the simulator on the completed job: the machine, the end, the links |
//! | [`Report`], `sections` | the whole report: totals, ranks, activity, latencies, links, time line |
//! | [`Distribution`] | the distribution of latencies, in bounded memory |
//! | [`Report::to_json`], [`Report::trace`], [`Report::to_html`], `forms` | the three forms |
//! | [`files`] | files that exist completely or not at all |
//! | [`limits`] | every bound, with its unit and its reason |
//!
//! The same calls give the same bytes, in all three forms. Records that exceed a bound are counted, and all three forms show the count.
//!
//! Absent on purpose: coroutines, networks and clocks; the caller of the recorder.

#![forbid(unsafe_code)]

mod facts;
pub mod files;
mod forms;
pub mod limits;
mod recorder;
mod report;
mod sections;

pub use facts::{Disturbances, Facts, LinkUse, RecordingFacts};
pub use forms::trace::TraceNode;
pub use limits::Limits;
pub use recorder::{Recorder, StopReason};
pub use report::{FORMAT, JobFacts, ReadError, Report, Totals};
pub use sections::activity::Activity;
pub use sections::distribution::{Bucket, Distribution};
pub use sections::latencies::{OperationKind, OperationReport};
pub use sections::links::{LinkRow, Links, Share};
pub use sections::ranks::{RankRow, Ranks, Spread};
pub use sections::timeline::{MessageSpan, RankActivity, RankSpan, Timeline};
