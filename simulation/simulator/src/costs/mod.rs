//! The times of the simulated program and library, besides the network.
//!
//! | part | for |
//! |---|---|
//! | `computing` | computing between two calls: declared by the program, or measured on this machine |
//! | `progress_threads` | calls and progress threads of the library |
//! | `cores` | cores that ranks share |
//! | `noise` | interruptions of cores by the operating system |
//! | `datagrams` | datagrams of the library's own protocol |
//! | `intra_node` | memory that the ranks of a node share |

pub(crate) mod computing;
pub(crate) mod cores;
pub(crate) mod datagrams;
pub(crate) mod intra_node;
pub(crate) mod noise;
pub(crate) mod progress_threads;
