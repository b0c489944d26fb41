//! Millions of datagrams that no rank would send, injected into ranks that communicate with each other.
//!
//! | part | for |
//! |---|---|
//! | `job` | three endpoints in virtual time, and the properties that must hold for any input |
//! | `work` | the operations of the endpoints, and their expected results |
//! | `memory` | the memory of a rank, between guards |
//! | `anatomy`, `alter` | the layout of a datagram, and its alterations |
//! | `input` | one input for a job |
//! | `round` | some thousand inputs for one job, from a seed |
//! | `campaign` | rounds on all cores |
//! | `replay` | repetition of a round or of a few datagrams |
//! | `hex` | datagrams as text |
//!
//! # Injected datagrams
//!
//! - **Noise**: random bytes, some of which begin like a datagram.
//! - **From outside**: datagrams of the job, repeated, or altered without its key. A quarter of the rounds has only these; then all operations
//!   of the ranks must have correct results.
//! - **From inside**: datagrams that are altered or invented and sealed with the key, as a faulty rank might send. They reach the parser and
//!   the code behind it. Then operations may fail, but no input may cause a panic, an endless loop, unbounded memory, a second completion, or
//!   an access to unregistered memory.
//!
//! Everything follows from the seed and the number of a round. Without `--release`, arithmetic overflows count as bugs, too.
//!
//! In the folder `libfuzzer`, libFuzzer makes the choices ([`guided`]) and learns which of them lead to code that was not reached before.

#![forbid(unsafe_code)]

mod alter;
mod anatomy;
mod campaign;
mod hex;
mod input;
mod job;
mod memory;
mod random;
mod replay;
mod round;
mod work;

pub use campaign::{Failure, Plan, campaign};
pub use hex::{hex, parse_hex};
pub use replay::{replay, replay_round, shrink};
pub use round::{Tally, guided};
