//! Which operation waits for which, and how each ends.
//!
//! | file | holds |
//! |---|---|
//! | `graph` | the dependencies, by numbers alone |
//! | `outcomes`, `failures` | how operations ended, for those who ask later |

pub(crate) mod failures;
pub(crate) mod graph;
pub(crate) mod outcomes;
