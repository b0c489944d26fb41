//! Becoming a rank of a job, and starting jobs.
//!
//! | part | for |
//! |---|---|
//! | [`Settings`] | what the environment says about the job |
//! | [`Foreign`] | another launcher, of which a program cannot be a rank yet |
//! | [`Local`] | a rank on a host whose launcher or ranks made its memory, or alone: `Bootstrap` |
//! | `adoption` | processes of another launcher that become ranks by themselves: [`AdoptedJob`] |
//! | [`Binding`] | which cores ranks keep to |
//! | `launcher`, a feature | starting the ranks of a job and ending them; a rank does not need it |
//! | [`OsClock`], [`OsWait`] | the system's clock; sleeping on a doorbell: `Clock`, `Wait` |
//!
//! Absent on purpose: operations, transports other than the host's memory (sockets are bound and handed on, never used), and what a job
//! computes.

mod adoption;
mod binding;
mod environment;
mod foreign;
mod key;
#[cfg(feature = "launcher")]
pub mod launcher;
mod limits;
mod local;
mod os_clock;
mod os_wait;
mod ports;
mod stat;

pub use adoption::{AdoptedJob, AdoptionError, StoreError, tell_fault};
pub use binding::Binding;
pub use environment::{LaunchedJob, Progress, Settings, SettingsError, TransportChoice, names};
pub use foreign::Foreign;
pub use local::{Local, StartError};
pub use os_clock::OsClock;
pub use os_wait::OsWait;
