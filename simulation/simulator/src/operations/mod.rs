//! Operations and messages in flight, as data: records and lists that depend neither on the network nor on the ranks.
//!
//! | part | for |
//! |---|---|
//! | `owned` | an operation with its own copy of captured bytes, and its effect on memory |
//! | `pending` | operations in flight, by the numbers that the network returns |
//! | `completions` | completions that ranks have not fetched |
//! | `fences` | operations of a pair of ranks that a fence holds back |
//! | `reductions` | groups whose contributions the network combines |
//! | `two_sided` | messages in transit, and those that no receive has taken |

pub(crate) mod completions;
pub(crate) mod fences;
pub(crate) mod owned;
pub(crate) mod pending;
pub(crate) mod reductions;
pub(crate) mod two_sided;
