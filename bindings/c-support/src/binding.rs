//! The interface that uses this crate: its name, and the end of a rank.

use std::fmt;
use std::sync::OnceLock;

/// A C interface. A process has one.
#[derive(Debug)]
pub struct Binding {
    /// The word with which its messages begin.
    pub name: &'static str,
    /// The number of the calling rank, if it is one.
    pub own_rank: fn() -> Option<u32>,
    /// Leaves the job when the calling rank ends with an exit code; the exit code to end with instead, if something is wrong.
    pub leave: fn(i32) -> Option<i32>,
}

static BINDING: OnceLock<&'static Binding> = OnceLock::new();

/// Names the interface of this process; the first call counts.
pub fn register(binding: &'static Binding) {
    BINDING.get_or_init(|| binding);
}

/// The number of the calling rank, if it is one.
pub(crate) fn own_rank() -> Option<u32> {
    BINDING.get().and_then(|binding| (binding.own_rank)())
}

/// Leaves the job; see [`Binding::leave`].
pub(crate) fn leave(code: i32) -> Option<i32> {
    BINDING.get().and_then(|binding| (binding.leave)(code))
}

/// Writes one line to standard error, beginning with the name of the interface.
pub fn write_line(rank: Option<u32>, what: &dyn fmt::Display) {
    use std::io::Write;
    let name = BINDING.get().map_or("pelago", |binding| binding.name);
    let who = rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default();
    // One write, so that the lines of ranks do not mix; a failed write is of no interest to a rank that reports something else.
    let _ = std::io::stderr().write_all(format!("{name}: {who}{what}\n").as_bytes());
}
