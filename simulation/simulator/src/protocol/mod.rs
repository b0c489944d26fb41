//! The library's own protocol over the simulated network, which may lose, delay and double its datagrams.
//!
//! | part | for |
//! |---|---|
//! | `settings` | whether and how the protocol is simulated, as text that users write |
//! | `faults` | faults that are injected, decided by a seed alone |
//! | `stations` | the end of each rank |
//! | `driver` | what moves it where datagrams cost time of a core |

pub(crate) mod driver;
pub(crate) mod faults;
pub(crate) mod settings;
pub(crate) mod stations;
