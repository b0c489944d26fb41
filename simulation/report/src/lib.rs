//! What happened in a job, simulated or recorded: as a trace for Perfetto, as a report in JSON, and as one page for a browser.
//!
//! | part | for |
//! |---|---|
//! | [`Recorder`] | is called for each event: ranks that stop and go on, operations in transit |
//! | [`Facts`], [`LinkUse`] | what the simulator knows of the job when it is over: the machine, the end, the links |
//! | [`Report`], `sections` | all of it, in order: totals, ranks, activity, latencies, links, time line |
//! | [`Distribution`] | how often which latency occurred, in bounded memory |
//! | [`Report::to_json`], [`Report::trace`], [`Report::to_html`], `forms` | the three forms |
//! | [`limits`] | every bound, with its unit and its reason |
//!
//! The same calls give the same bytes, in all three forms. What exceeds a bound is counted, and all three forms say so.
//!
//! Absent on purpose: coroutines, networks, clocks and files; who calls the recorder and where the bytes go.

#![forbid(unsafe_code)]

mod facts;
mod forms;
pub mod limits;
mod recorder;
mod report;
mod sections;

pub use facts::{Facts, LinkUse};
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
