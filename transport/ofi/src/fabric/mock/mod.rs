//! A library with libfabric's interface, for tests: its providers behave as those of network cards that tests do not have.
//!
//! | part | for |
//! |---|---|
//! | [`Profile`] | what a provider asks for, promises and leaves open |
//! | [`World`] | the endpoints of one job, and what is on its way between them |
//! | `interface` | libfabric's objects and functions over a world |
//!
//! What a caller must never do ends the process with a message.

mod interface;
mod world;

pub(super) use interface::library;
pub(crate) use world::{DeviceSupport, Failing, Profile, World};
