//! Which operation waits for which, and how each ends.
//!
//! | file | holds |
//! |---|---|
//! | `graph` | the dependencies, by numbers alone |
//! | `record` | what is known of an operation that has not ended |
//! | `outcomes`, `failures` | how operations ended, for those who ask later |
//! | `handle`, `chain` | what programs see of it |

pub(crate) mod chain;
pub(crate) mod failures;
pub(crate) mod graph;
pub(crate) mod handle;
pub(crate) mod outcomes;
pub(crate) mod record;
