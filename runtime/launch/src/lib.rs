//! Ranks of a job on real machines, and the launcher that starts them.
//!
//! | folder | content |
//! |---|---|
//! | `rank` | a process as a rank: its environment ([`LaunchSettings`]), its cores ([`CoreBinding`]) |
//! | `bootstrap` | a rank among those of its host, or alone: the `Bootstrap` of a real machine ([`LocalBootstrap`]) |
//! | `adoption` | processes of another launcher that set up a job among themselves: [`AdoptedJob`] |
//! | `launcher`, a feature | starting the ranks of a job and ending them; a rank does not need it |
//! | `system` | the clock of the machine ([`OsClock`]); sleeping on a doorbell ([`OsWait`]) |
//!
//! Absent on purpose: operations, transports other than the host's memory (sockets are bound and passed on, never used), and the computations
//! of a job.

mod adoption;
mod bootstrap;
#[cfg(feature = "launcher")]
pub mod launcher;
mod limits;
mod rank;
mod system;

pub use adoption::{AdoptionError, StoreError, adopted_rank, tell_fault};
pub use bootstrap::{LocalBootstrap, StartError};
pub use rank::core_binding::CoreBinding;
pub use rank::environment::{
    AdoptedJob, CopyMode, ForeignStore, LaunchSettings, LaunchSettingsError, LaunchedJob, ProgressMode, RecordSettings,
    RendezvousPoint, TransportChoice, names,
};
pub use rank::foreign_launcher::ForeignLauncher;
pub use rank::launch_report::{LaunchReport, LaunchWay};
pub use rank::meeting_secret::SecretSource;
pub use rank::shared_settings::SettingDifference;
pub use system::clock::OsClock;
pub use system::exhausted::with_remedy;
pub use system::network::{IpNetwork, IpNetworkError};
pub use system::wait::OsWait;
