//! What the system refuses the launcher, by the name of the call.

use std::io;

use crate::launcher::error::reason;

/// The system refuses a call that the launcher needs.
#[derive(Debug, thiserror::Error)]
#[error("the system refuses {call}: {}; pelago info shows what is missing here", reason(.error))]
pub struct Refusal {
    call: &'static str,
    error: io::Error,
}

/// An error of a system call gets the name of the call.
pub(crate) trait Named<T> {
    fn named(self, call: &'static str) -> Result<T, Refusal>;
}

impl<T, E: Into<io::Error>> Named<T> for Result<T, E> {
    fn named(self, call: &'static str) -> Result<T, Refusal> {
        self.map_err(|error| Refusal { call, error: error.into() })
    }
}
