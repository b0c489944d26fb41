//! The protocol between the launcher of a job and the node daemons on its hosts.
//!
//! | file | content |
//! |---|---|
//! | `message` | the messages |
//! | `frame` | messages and output as frames in a stream of bytes |
//! | `link` | frames over a pair of pipes |

pub(crate) mod frame;
pub(crate) mod link;
pub(crate) mod message;
