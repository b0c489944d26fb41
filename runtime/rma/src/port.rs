//! A context's way to the transport: its own, or one that it shares with the rank's other threads.

use core::hint::black_box;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::Instant;
use pelago_platform::{Completion, Endpoint, Operation, PostError, Token, Transport};

use crate::shared::Shared;
use crate::task::Piece;
use crate::{Context, Error, Result};

/// Where in a shared transport's tokens the context's number stands; operations are numbered below.
const CONTEXT_SHIFT: u32 = 48;

/// Bytes of a page of memory, at least.
const PAGE_BYTES: usize = 4096;

/// Contexts that share a transport, ever: what the top bits of a token number.
const CONTEXTS_MAX: usize = 1 << (64 - CONTEXT_SHIFT);

/// A context's way to the transport.
pub(crate) enum Port {
    /// The context is the only one.
    Own(Box<dyn Transport>),
    /// Others use the transport too.
    Shared { hub: Arc<Mutex<Hub>>, context: usize },
    /// Between the two.
    Empty,
}

/// A transport that several threads use, one at a time.
pub(crate) struct Hub {
    transport: Box<dyn Transport>,
    /// What completed for each context and was not fetched; `None` for those that have ended.
    completed: Vec<Option<VecDeque<Completion>>>,
    scratch: Vec<Completion>,
}

/// Makes contexts for other threads of this rank. Cheap to clone and to send.
///
/// Every thread has a context of its own, so that the path to mapped memory stays free of locks; threads meet at a lock only when they
/// use a transport. Handles are of the context that issued them.
#[derive(Clone)]
pub struct Sharer {
    /// First, so that the transport is dropped before the memory that it was lent (R2).
    hub: Arc<Mutex<Hub>>,
    shared: Arc<Shared>,
}

impl Port {
    /// Runs `f` with the transport.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut dyn Transport) -> R) -> R {
        match self {
            Self::Own(transport) => f(transport.as_mut()),
            Self::Shared { hub, .. } => f(lock(hub).transport.as_mut()),
            Self::Empty => unreachable!("a port is empty only inside `share`"),
        }
    }

    #[inline]
    pub(crate) fn post(&mut self, now: Instant, to: Endpoint, piece: Piece<'_>, Token(id): Token) -> Result<(), PostError> {
        match self {
            Self::Own(transport) => post(transport.as_mut(), now, to, piece, Token(id)),
            Self::Shared { hub, context } => {
                if let Piece::Bytes(Operation::Write { bytes, .. }) = piece {
                    touch(bytes);
                }
                post(lock(hub).transport.as_mut(), now, to, piece, Token((*context as u64) << CONTEXT_SHIFT | id))
            }
            Self::Empty => unreachable!("a port is empty only inside `share`"),
        }
    }

    /// As `post`, for a two-sided message; `None` if the network has none.
    pub(crate) fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], Token(id): Token) -> Option<Result<(), PostError>> {
        let context = if let Self::Shared { context, .. } = self { *context as u64 } else { 0 };
        let token = Token(context << CONTEXT_SHIFT | id);
        touch(bytes);
        self.with(|transport| transport.two_sided().map(|network| network.send(now, to, bytes, token)))
    }

    /// Moves the transport and appends what completed for this context.
    pub(crate) fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        match self {
            Self::Own(transport) => transport.progress(now, completed),
            Self::Shared { hub, context } => lock(hub).progress(now, *context, completed),
            Self::Empty => false,
        }
    }

    /// Makes the transport one that several contexts use.
    pub(crate) fn share(&mut self) -> Arc<Mutex<Hub>> {
        match std::mem::replace(self, Self::Empty) {
            Self::Own(transport) => {
                let hub = Hub { transport, completed: vec![Some(VecDeque::new())], scratch: Vec::new() };
                *self = Self::Shared { hub: Arc::new(Mutex::new(hub)), context: 0 };
            }
            port => *self = port,
        }
        let Self::Shared { hub, .. } = self else { unreachable!("just made so") };
        hub.clone()
    }

    /// Gives up what still completes for this context.
    pub(crate) fn leave(&mut self) {
        if let Self::Shared { hub, context } = self {
            lock(hub).completed[*context] = None;
        }
    }
}

impl Hub {
    fn progress(&mut self, now: Instant, context: usize, completed: &mut Vec<Completion>) -> bool {
        let moved = self.transport.progress(now, &mut self.scratch);
        for Completion { token: Token(token), result } in self.scratch.drain(..) {
            let (owner, id) = ((token >> CONTEXT_SHIFT) as usize, token & ((1 << CONTEXT_SHIFT) - 1));
            if let Some(Some(queue)) = self.completed.get_mut(owner) {
                queue.push_back(Completion { token: Token(id), result });
            }
        }
        if let Some(mine) = &mut self.completed[context] {
            completed.extend(mine.drain(..));
        }
        moved
    }
}

impl Sharer {
    pub(crate) fn new(hub: Arc<Mutex<Hub>>, shared: Arc<Shared>) -> Self {
        Self { hub, shared }
    }

    /// A context for the calling thread.
    ///
    /// # Errors
    /// Too many contexts have been made.
    pub fn context(&self) -> Result<Context> {
        let mut hub = lock(&self.hub);
        let context = hub.completed.len();
        if context == CONTEXTS_MAX {
            return Err(Error::TooMany { what: "contexts", limit: CONTEXTS_MAX });
        }
        hub.completed.push(Some(VecDeque::new()));
        drop(hub);
        Ok(Context::new(self.shared.clone(), Port::Shared { hub: self.hub.clone(), context }))
    }
}

#[inline]
fn post(transport: &mut dyn Transport, now: Instant, to: Endpoint, piece: Piece<'_>, token: Token) -> Result<(), PostError> {
    match piece {
        Piece::Bytes(operation) => transport.post(now, to, operation, token),
        Piece::Size(transfer) => transport.post_size(now, to, transfer, token),
    }
}

/// Reads of every page of a program's memory. Another thread may have to bring it by the transport, so that nobody who has locked that may be
/// the first to read it.
fn touch(bytes: &[u8]) {
    bytes.chunks(PAGE_BYTES).chain(bytes.last().map(core::slice::from_ref)).for_each(|page| {
        black_box(page[0]);
    });
}

/// A panic of one thread inside the transport is its own: the transport's state is consistent between calls.
fn lock(hub: &Mutex<Hub>) -> std::sync::MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}
