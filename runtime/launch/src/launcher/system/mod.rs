//! The host, before ranks start: available system calls, and resources for the ranks.
//!
//! | file | content |
//! |---|---|
//! | [`system_calls`] | the calls that not every system permits |
//! | `call_error` | a refused call, with its name |
//! | `descriptor_limit` | the limit on open descriptors |
//! | `program` | the path of the program |
//! | `sockets` | the sockets by which ranks receive datagrams |
//! | `poll_set` | a set of descriptors to wait for (epoll) |

pub(crate) mod call_error;
pub(crate) mod descriptor_limit;
pub(crate) mod poll_set;
pub(crate) mod program;
pub(crate) mod sockets;
pub mod system_calls;
