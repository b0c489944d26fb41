//! The output of ranks.
//!
//! | file | content |
//! |---|---|
//! | `stream` | the pipes to which ranks write their standard output, or error |
//! | `lines` | bytes of many ranks as one stream of whole lines |
//! | `writer` | that stream to the launcher's own standard output, or error |

pub(crate) mod lines;
pub(crate) mod stream;
pub(crate) mod writer;
