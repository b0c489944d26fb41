//! Commands on other hosts, by a remote shell such as `ssh`.
//!
//! | file | content |
//! |---|---|
//! | `command` | the words of such a command |
//! | `process` | the running command |

pub(crate) mod command;
pub(crate) mod process;
