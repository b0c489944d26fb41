//! The interface that uses this crate: its name, and its function that leaves the job.

use std::fmt;
use std::sync::OnceLock;

/// A C interface. A process has exactly one.
#[derive(Debug)]
pub struct Binding {
    /// Prefix of the interface's messages.
    pub name: &'static str,
    /// Returns the number of the calling rank; `None` if the process is not a rank.
    pub own_rank: fn() -> Option<u32>,
    /// Leaves the job when the calling rank ends with an exit code. Returns a different exit code if leaving fails.
    pub leave: fn(i32) -> Option<i32>,
}

static BINDING: OnceLock<&'static Binding> = OnceLock::new();

/// Registers the interface of this process. Only the first call has an effect.
pub fn register(binding: &'static Binding) {
    BINDING.get_or_init(|| binding);
}

/// Returns the number of the calling rank; `None` if the process is not a rank.
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
    // One write, so that the lines of ranks do not mix. A failed write is ignored: the rank is reporting another problem.
    let _ = std::io::stderr().write_all(format!("{name}: {who}{what}\n").as_bytes());
}
