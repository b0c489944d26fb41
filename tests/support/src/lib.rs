//! Support code that the tests of several crates share. A dev-dependency only: no library or program is built with it.
//!
//! | part | feature | for |
//! |---|---|---|
//! | [`threads`] | `threads` | jobs of several ranks in one process, one thread for each rank, on several platforms |
//! | [`earlier`] | `threads` | calls after an operation that has failed |
//! | [`simulated`] | `simulated` | jobs in virtual time on a bundled or altered machine |
//! | [`faulty`] | `simulated` | the same on the library's own protocol, with failures of ranks, delayed operations and records of posts |
//! | [`traffic`] | `traffic` | open-loop traffic on a simulated network, without ranks |
//! | [`counting`] | – | a counting allocator, which a test program installs |
//! | [`moments`] | – | random moments, for tests that kill processes |
//! | [`c`] | – | C programs, compiled and linked with `libacp` |
//! | [`shmem`] | – | C programs, compiled and linked with `libsma` |
//!
//! Absent on purpose: assertions on the subject of a test.

pub mod c;
pub mod counting;
#[cfg(feature = "threads")]
pub mod earlier;
#[cfg(feature = "simulated")]
pub mod faulty;
pub mod moments;
pub mod shmem;
#[cfg(feature = "simulated")]
pub mod simulated;
#[cfg(feature = "threads")]
pub mod threads;
#[cfg(feature = "traffic")]
pub mod traffic;
