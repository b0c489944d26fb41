//! How operations that are not done at once get to a transport and back.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | the operations of a context that have not ended: it posts them and takes in their completions |
//! | `record` | what is known of an operation that has not ended |
//! | `task`, `striping` | what an operation has to do; which part of it goes by which rail, or message |
//! | `places` | values at places of their own |
//! | `peers` | what is known of each rank, by each rail |
//! | `port` | the transport, of one context or shared |

pub(crate) mod engine;
pub(crate) mod peers;
pub(crate) mod places;
pub(crate) mod port;
pub(crate) mod record;
pub(crate) mod striping;
pub(crate) mod task;
