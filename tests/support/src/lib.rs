//! What the tests of several crates share. A dev-dependency only: no library or program is built with it.
//!
//! | part | feature | for |
//! |---|---|---|
//! | [`threads`] | `threads` | jobs of several ranks in one process, a thread each, on several platforms |
//! | [`simulated`] | `simulated` | jobs in virtual time on a bundled or altered machine |
//! | [`faulty`] | `simulated` | the same on the library's own protocol, with deaths, late operations and notes of what ranks ask for |
//! | [`traffic`] | `traffic` | open-loop traffic on a simulated network, without ranks |
//! | [`counting`] | – | an allocator that counts, which a test program installs |
//! | [`moments`] | – | random moments, for tests that kill processes |
//! | [`c`] | – | C programs, compiled and linked with `libacp` |
//! | [`shmem`] | – | C programs, compiled and linked with `libsma` |
//!
//! Absent on purpose: assertions on the subject of a test.

pub mod c;
pub mod counting;
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
