//! The path of operations that do not complete immediately: posting to a transport, and their completions.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | the live operations of a context: posts them and processes their completions |
//! | `record` | the state of an operation that has not ended |
//! | `task`, `striping` | the work of an operation; its division into messages and over rails |
//! | `places` | values at individual offsets |
//! | `peers` | the state of each rank, per rail |
//! | `port` | the transport, of one context or shared |

pub(crate) mod engine;
pub(crate) mod peers;
pub(crate) mod places;
pub(crate) mod port;
pub(crate) mod record;
pub(crate) mod striping;
pub(crate) mod task;
