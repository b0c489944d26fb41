//! The library's own protocol over the simulated network, which may lose, delay and duplicate its datagrams.
//!
//! | part | for |
//! |---|---|
//! | `settings` | the settings of the protocol and of injected faults, as text that users write |
//! | `faults` | faults that are injected, decided by a seed alone |
//! | `stations` | the station of each rank: its end of the protocol |
//! | `driver` | the driver of a station, on machines where datagrams take core time |

pub(crate) mod driver;
pub(crate) mod faults;
pub(crate) mod settings;
pub(crate) mod stations;
