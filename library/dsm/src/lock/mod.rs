//! The lock of a shared variable: a queue of ranks with a token, its words in the memory of the job, and its recovery after the loss of a rank.
//!
//! | file | content |
//! |---|---|
//! | `queue` | a rank at the lock: acquire, release, hand over |
//! | `condition` | the list of ranks that wait for a notification |
//! | `recovery` | a new epoch of the lock after the loss of a rank |
//! | `encoding` | the fields of each word |
//! | `memory` | the place of each word, and the operations that the queue needs ([`LockMemory`]) |
//! | `remote` | these operations by remote atomics, with data that travels with the token |
//! | `piggyback` | data that travels with the token |
//!
//! The queue is generic over its memory. The model checker in `tests/exploration` runs it on the words of a model; so the module is public and
//! hidden. It is no interface for programs.
//!
//! Absent on purpose: the data of a variable, except that of `piggyback`.

mod condition;
mod encoding;
mod memory;
mod piggyback;
mod queue;
mod recovery;
mod remote;

pub use encoding::{Epoch, Phase, State, Tail, Version};
pub use memory::{Change, KNOWN, LockMemory, STATE, WORDS, Waited, WordAddress, newest, tail};
pub use queue::{Acquired, Member, Mode, Patience, Remembered, TokenSource};

#[cfg(test)]
pub(crate) use encoding::End;
pub(crate) use encoding::VERSIONS_MAX;
#[cfg(test)]
pub(crate) use memory::link;
pub(crate) use remote::RemoteWords;
