//! A library with libfabric's interface, for tests: its providers behave as those of network cards that tests do not have.
//!
//! | part | for |
//! |---|---|
//! | [`Profile`] | the requirements and guarantees of a provider |
//! | [`World`] | the endpoints of one job, and the operations in flight between them |
//! | `interface` | libfabric's objects and functions over a world |
//!
//! A violation of the interface by the caller ends the process with a message.

mod interface;
mod world;

pub(super) use interface::library;
pub(crate) use world::{DeviceSupport, Failing, Profile, Silent, World};
