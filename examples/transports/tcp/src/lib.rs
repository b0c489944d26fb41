//! Pelago over plain TCP sockets: the example of the tutorial for authors of transports, which is this package's `README.md`.
//!
//! | file | holds |
//! |---|---|
//! | `transport.rs` | [`Tcp`]: the transport, whole |
//! | `job.rs` | [`join`]: the other parts that make a rank: who takes part, how it waits, what time it is |
//! | `mesh.rs` | the connections between all ranks |
//! | `launcher.rs` | [`launch`]: starts the ranks of a job on this machine, and is where they meet |
//! | `message.rs` | what ranks and launcher tell each other |
//!
//! Absent on purpose: anything that another project could not use, which is whatever `pelago` does not export.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct TheExamplesOfTheTutorialCompile;

mod job;
mod launcher;
mod mesh;
mod message;
mod transport;

pub use job::{Seat, join};
pub use launcher::{Outcome, launch};
pub use transport::Tcp;
