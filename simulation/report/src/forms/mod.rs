//! The forms of a report besides JSON: a page for a browser, and a trace.

mod page;
pub(crate) mod trace;
