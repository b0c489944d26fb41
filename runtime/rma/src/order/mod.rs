//! The dependencies between operations, and their results.
//!
//! | file | holds |
//! |---|---|
//! | `graph` | the dependencies, as numbers only |
//! | `outcomes`, `failures` | the results of operations, for later queries |

pub(crate) mod failures;
pub(crate) mod graph;
pub(crate) mod outcomes;
