//! Pelago over plain TCP sockets: the example of the tutorial for authors of transports, which is this package's `README.md`.
//!
//! | file | holds |
//! |---|---|
//! | `transport.rs` | [`Tcp`]: the complete transport |
//! | `job.rs` | [`join`]: the other parts of a rank: bootstrap, waiting, clock |
//! | `mesh.rs` | the connections between all ranks |
//! | `launcher.rs` | [`launch`]: starts the ranks of a job on this machine, and connects them for the bootstrap |
//! | `message.rs` | messages between ranks and launcher |
//!
//! Absent on purpose: anything that `pelago` does not export, so that another project can use the same code.

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
