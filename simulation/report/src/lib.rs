//! What happened in a simulated job: as a trace for Perfetto, as a report in JSON, and as one page for a browser.
//!
//! | part | for |
//! |---|---|
//! | [`Recorder`] | hears of each thing as it happens: ranks that stop and go on, operations on their way |
//! | [`Facts`], [`LinkUse`] | what others know of the job when it is over: the machine, the end, the links |
//! | [`Report`] | all of it, in order: totals, ranks, latencies, links, time line |
//! | [`Distribution`] | how often which latency occurred, in bounded memory |
//! | [`Report::to_json`], [`Report::trace`], [`Report::to_html`] | the three forms |
//! | [`limits`] | every bound, with its unit and its reason |
//!
//! The same calls give the same bytes, in all three forms. What exceeds a bound is counted, and all three forms say so.
//!
//! Absent on purpose: coroutines, networks, clocks and files; who calls the recorder and where the bytes go.

#![forbid(unsafe_code)]

mod distribution;
mod facts;
mod latencies;
pub mod limits;
mod links;
mod page;
mod ranks;
mod recorder;
mod report;
mod timeline;
mod trace;

pub use distribution::{Bucket, Distribution};
pub use facts::{Facts, LinkUse};
pub use latencies::{Kind, KindReport};
pub use limits::Limits;
pub use links::{LinkRow, Links, Share};
pub use ranks::{RankRow, Ranks, Spread};
pub use recorder::{Recorder, Why};
pub use report::{FORMAT, Job, ReadError, Report, Totals};
pub use timeline::{Message, Span, State, Timeline};
