//! The hosts of a job of another launcher: their order, and what their leaders tell each other through the launcher's store.
//!
//! | file | content |
//! |---|---|
//! | `order` | the hosts, and ranks that are consecutive on each |
//! | `agreement` | addresses, ports, key and heaps, on which the leaders of all hosts agree |
//! | `value` | the values that they leave in the store |

pub(crate) mod agreement;
pub(crate) mod order;
mod value;
