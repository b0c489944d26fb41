//! The ranks of a host gather: the first one creates the memory and the sockets, and passes them to the others.
//!
//! | file | content |
//! |---|---|
//! | `leader`, `follower` | the first rank of a host; any other one |
//! | `message`, `socket` | their messages; Unix sockets without a name in the file system |
//! | `peer_credentials` | the process and the user at the other end of a socket |

pub(crate) mod follower;
pub(crate) mod leader;
pub(crate) mod message;
pub(crate) mod peer_credentials;
pub(crate) mod socket;
