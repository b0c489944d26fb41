//! Datagrams that no rank would send, by the million, for ranks that talk to each other meanwhile.
//!
//! | part | for |
//! |---|---|
//! | `job` | three endpoints in virtual time, and what must hold whatever they are sent |
//! | `work` | what they ask of each other, and what must come of it |
//! | `memory` | their memory, between guards |
//! | `anatomy`, `alter` | where the parts of a datagram lie, and how it is altered |
//! | `input` | one input for a job |
//! | `round` | some thousand inputs for one job, from a seed |
//! | `campaign` | rounds on all cores |
//! | `replay` | a round or a few datagrams once more |
//! | `hex` | datagrams as text |
//!
//! # What is sent
//!
//! - **Noise**: random bytes, some of which begin like a datagram.
//! - **From outside**: datagrams of the job, repeated, or altered without its key. In a quarter of the rounds there is nothing else; then all
//!   work of the ranks must come out right.
//! - **From inside**: datagrams that are altered or made up and sealed with the key, as a rank that has gone mad might send. They reach the
//!   parser and what lies behind it. Then work may fail, but nothing may panic, loop, grow, end twice or touch what is not registered.
//!
//! Everything follows from the seed and the number of a round. Run without `--release`, overflows of numbers count as bugs too.
//!
//! `libfuzzer` beside it lets libFuzzer make the choices ([`guided`]), which learns which of them lead to code that none has reached before.

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
