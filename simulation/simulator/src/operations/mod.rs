//! Operations and messages under way, as data: records and lists that neither the network nor the ranks know.
//!
//! | part | for |
//! |---|---|
//! | `owned` | an operation with its own copy of what it writes, and its effect on memory |
//! | `pending` | operations under way, by the numbers that the network returns |
//! | `completions` | completions that ranks have not fetched |
//! | `fences` | operations of a pair of ranks that a fence holds back |
//! | `two_sided` | messages on their way, and those that no receive has taken |

pub(crate) mod completions;
pub(crate) mod fences;
pub(crate) mod owned;
pub(crate) mod pending;
pub(crate) mod two_sided;
