//! Becoming a rank of a job, and starting jobs.
//!
//! | folder | content |
//! |---|---|
//! | `rank` | a process as a rank: its environment ([`LaunchSettings`]), its host ([`LocalBootstrap`], a `Bootstrap`), its cores ([`CoreBinding`]) |
//! | `adoption` | processes of another launcher that become ranks by themselves: [`AdoptedJob`] |
//! | `launcher`, a feature | starting the ranks of a job and ending them; a rank does not need it |
//! | `system` | the clock of the machine ([`OsClock`]); sleeping on a doorbell ([`OsWait`]) |
//!
//! Absent on purpose: operations, transports other than the host's memory (sockets are bound and handed on, never used), and what a job
//! computes.

mod adoption;
#[cfg(feature = "launcher")]
pub mod launcher;
mod limits;
mod rank;
mod system;

pub use adoption::{AdoptedJob, AdoptionError, ForeignStore, StoreError, tell_fault};
pub use rank::bootstrap::{LocalBootstrap, StartError};
pub use rank::core_binding::CoreBinding;
pub use rank::environment::{CopyMode, LaunchSettings, LaunchSettingsError, LaunchedJob, ProgressMode, TransportChoice, names};
pub use rank::foreign_launcher::ForeignLauncher;
pub use system::clock::OsClock;
pub use system::wait::OsWait;
