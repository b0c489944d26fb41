//! Common parts of transports by datagrams, independent of what carries them: a rank's memory as the protocol accesses it, and the conversion
//! of a transport's operations to requests of the protocol.
//!
//! A driver owns [`RankConversations`] and [`RankMemory`], supplies the time, sends the datagrams they produce and passes received ones to them.
//!
//! Absent on purpose: sockets, addresses of hosts, clocks, threads.

mod memory;

use pelago_base::GlobalAddress;
use pelago_memory::Cells;
use pelago_platform::limits::COMPLETIONS_MAX;
use pelago_platform::{Completion, Operation, PostError, Token};
use pelago_protocol::{Conversations, INJECT_SIZE, LIST_BLOCKS_MAX, Request};

use crate::captured::check_blocks;

pub use memory::RankMemory;

/// The conversations of a rank whose memory is mapped.
pub type RankConversations = Conversations<RankMemory>;

/// Checks that another operation may be posted: the number of completions that the rank has not fetched is bounded.
///
/// # Errors
/// [`PostError::Full`]: the bound is reached.
#[inline]
pub fn admit(conversations: &RankConversations) -> Result<(), PostError> {
    if conversations.completions() < COMPLETIONS_MAX { Ok(()) } else { Err(PostError::Full) }
}

/// Converts an operation to a request of the protocol.
///
/// # Errors
/// [`PostError::TooLong`]: a write has more than [`INJECT_SIZE`] bytes; [`PostError::Signalled`]: the operation is a put with signal; [`PostError::Sizes`]: the
/// operation has only a size; [`PostError::Blocks`]: the two ends of blocks differ, blocks of a shape overlap, or a list has more than [`LIST_BLOCKS_MAX`].
#[inline]
pub fn request(operation: Operation<'_>) -> Result<Request<'_, Cells<'static>>, PostError> {
    Ok(match operation {
        Operation::Write { bytes, .. } if bytes.len() > INJECT_SIZE => return Err(PostError::TooLong(bytes.len())),
        Operation::Write { to, bytes } => Request::Write { to, bytes },
        Operation::Signalled { .. } => return Err(PostError::Signalled),
        Operation::Put { from, to } => Request::Put { from, to, bytes: from.bytes() as u64 },
        Operation::Get { from, to } => Request::Get { from, to, bytes: to.bytes() as u64 },
        Operation::PutBlocks { from, from_shape, to, blocks } => {
            check_blocks(from, from_shape, blocks, LIST_BLOCKS_MAX)?;
            Request::PutBlocks { from, from_shape, to, blocks }
        }
        Operation::GetBlocks { from, blocks, to, to_shape } => {
            check_blocks(to, to_shape, blocks, LIST_BLOCKS_MAX)?;
            Request::GetBlocks { from, blocks, to, to_shape }
        }
        Operation::Copy { from, to, bytes } => Request::Copy { from, to, bytes },
        Operation::Atomic { at, width, operator, operand } => Request::Atomic { at, width, operator, operand },
        Operation::Sized(_) => return Err(PostError::Sizes),
    })
}

/// Appends the completions to `into`; returns whether there were any.
pub fn completed(conversations: &mut RankConversations, into: &mut Vec<Completion>) -> bool {
    let any = conversations.completions() > 0;
    let completions = conversations.poll_completions();
    into.extend(completions.map(|completion| Completion { token: Token(completion.token), result: completion.result }));
    any
}

/// As [`Registry::deregister`](pelago_platform::Registry::deregister).
pub fn deregister(conversations: &RankConversations, memory: &mut RankMemory, start: GlobalAddress) -> bool {
    let Some(bytes) = memory.close(start) else { return true };
    let done = !conversations.is_reading(start, bytes);
    if done {
        memory.remove(start);
    }
    done
}
