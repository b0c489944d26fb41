//! The sections of a report, by subject.

pub(crate) mod activity;
pub(crate) mod distribution;
pub(crate) mod latencies;
pub(crate) mod links;
pub(crate) mod ranks;
pub(crate) mod timeline;
