//! A store for launchers without one: the first process of the job serves it over TCP to all others.
//!
//! ```text
//!   process 0                                                     any process (0 too)
//!   listen at the address that the environment names
//!                          --- nonce, who serves ---------------->
//!                          <-- nonce, rank, size, tag ------------   the tags and what follows need the secret
//!                          --- tag ------------------------------>
//!                          <-- come: host, and then commands -----   sealed
//!   all have come          --- placed: job, hosts --------------->
//! ```
//!
//! | file | content |
//! |---|---|
//! | `client` | the store in each process |
//! | `server` | the thread of process 0 |
//! | `message` | the messages of both |
//! | `sealed_stream` | authentication and encryption of a connection |

pub(crate) mod client;
mod message;
mod sealed_stream;
mod server;

#[cfg(test)]
mod tests;
