//! The hosts of a job of another launcher: their order, and the agreement of their leaders through the launcher's store.
//!
//! | file | content |
//! |---|---|
//! | `order` | the hosts, and ranks that are consecutive on each |
//! | `agreement` | addresses, ports, key and heap size, on which the leaders of all hosts agree |
//! | `value` | the values that the leaders store |

pub(crate) mod agreement;
pub(crate) mod order;
mod value;
