//! System calls that are refused to the launcher, with the name of the call.

use std::io;

use crate::launcher::error::reason;

/// The system refuses a call that the launcher needs.
#[derive(Debug, thiserror::Error)]
#[error("the system refuses {call}: {}; pelago info shows what is missing here", reason(.error))]
pub struct SystemCallError {
    call: &'static str,
    error: io::Error,
}

/// Adds the name of the call to its error.
pub(crate) trait NamedCall<T> {
    fn named(self, call: &'static str) -> Result<T, SystemCallError>;
}

impl<T, E: Into<io::Error>> NamedCall<T> for Result<T, E> {
    fn named(self, call: &'static str) -> Result<T, SystemCallError> {
        self.map_err(|error| SystemCallError { call, error: error.into() })
    }
}
