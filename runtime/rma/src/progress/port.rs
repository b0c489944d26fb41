//! A context's way to the transport: its own, or one that it shares with the rank's other threads.

use core::hint::black_box;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::Instant;
use pelago_platform::{Completion, Endpoint, Flags, Operation, PostError, Token, Transport};

use crate::{Error, Result};

/// Where in a shared transport's tokens the context's number stands; operations are numbered below.
const CONTEXT_SHIFT: u32 = 48;

/// Bytes of a page of memory, at least.
const PAGE_BYTES: usize = 4096;

/// Maximum number of contexts that share a transport: the range of the context bits of a token.
const CONTEXTS_MAX: usize = 1 << (64 - CONTEXT_SHIFT);

const _: () = assert!(CONTEXTS_MAX - 1 == (u64::MAX >> CONTEXT_SHIFT) as usize, "as many as the bits above tell apart");

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
    /// The contexts by their numbers.
    contexts: Vec<Member>,
    /// Numbers that no context has and no operation under way bears.
    free: Vec<usize>,
    scratch: Vec<Completion>,
}

/// A context that shares a transport, or its number.
enum Member {
    /// It is there, and has so many operations with the transport.
    Present {
        under_way: usize,
        /// What completed and was not fetched.
        completed: VecDeque<Completion>,
    },
    /// It is gone. Its number is given to another when nothing is under way that bears it, so that nobody is handed what others completed.
    Gone { under_way: usize },
}

impl Port {
    /// Runs `f` with the transport.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut dyn Transport) -> R) -> R {
        match self {
            Self::Own(transport) => f(transport.as_mut()),
            Self::Shared { hub, .. } => f(lock(hub).transport.as_mut()),
            Self::Empty => unreachable!("a port is empty only inside `context_factory`"),
        }
    }

    #[inline(always)]
    pub(crate) fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        match self {
            Self::Own(transport) => transport.post(now, to, operation, flags, token),
            _ => self.post_shared(now, to, operation, flags, token),
        }
    }

    #[inline(never)]
    fn post_shared(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        Token(id): Token,
    ) -> Result<(), PostError> {
        match self {
            Self::Own(transport) => transport.post(now, to, operation, flags, Token(id)),
            Self::Shared { hub, context } => {
                if let Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. } = operation {
                    touch(bytes);
                }
                let mut hub = lock(hub);
                hub.transport.post(now, to, operation, flags, token_of(*context, id))?;
                hub.begin(*context);
                Ok(())
            }
            Self::Empty => unreachable!("a port is empty only inside `context_factory`"),
        }
    }

    /// As `post`, for a two-sided message; `None` if the network has none.
    pub(crate) fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], Token(id): Token) -> Option<Result<(), PostError>> {
        touch(bytes);
        let Self::Shared { hub, context } = self else {
            return self.with(|transport| transport.two_sided().map(|network| network.send(now, to, bytes, Token(id))));
        };
        let mut hub = lock(hub);
        let sent = hub.transport.two_sided()?.send(now, to, bytes, token_of(*context, id));
        if sent.is_ok() {
            hub.begin(*context);
        }
        Some(sent)
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
                // What this context has under way already is not known here: its number is never given to another.
                let first = Member::Present { under_way: usize::MAX / 2, completed: VecDeque::new() };
                let hub = Hub { transport, contexts: vec![first], free: Vec::new(), scratch: Vec::new() };
                *self = Self::Shared { hub: Arc::new(Mutex::new(hub)), context: 0 };
            }
            port => *self = port,
        }
        let Self::Shared { hub, .. } = self else { unreachable!("just made so") };
        hub.clone()
    }

    /// The way of one more context to a transport that several use.
    ///
    /// # Errors
    /// There are 65,536 contexts, or so many are gone while operations of theirs were under way, which have not ended.
    pub(crate) fn to(hub: Arc<Mutex<Hub>>) -> Result<Self> {
        let context = lock(&hub).join()?;
        Ok(Self::Shared { hub, context })
    }

    /// Gives up what still completes for this context.
    pub(crate) fn leave(&mut self) {
        if let Self::Shared { hub, context } = self {
            lock(hub).leave(*context);
        }
    }
}

impl Hub {
    fn progress(&mut self, now: Instant, context: usize, completed: &mut Vec<Completion>) -> bool {
        let moved = self.transport.progress(now, &mut self.scratch);
        for Completion { token: Token(token), result } in self.scratch.drain(..) {
            let (owner, id) = ((token >> CONTEXT_SHIFT) as usize, token & ((1 << CONTEXT_SHIFT) - 1));
            match self.contexts.get_mut(owner) {
                Some(Member::Present { under_way, completed }) => {
                    *under_way -= 1;
                    completed.push_back(Completion { token: Token(id), result });
                }
                Some(Member::Gone { under_way }) => {
                    *under_way -= 1;
                    if *under_way == 0 {
                        self.free.push(owner);
                    }
                }
                None => {}
            }
        }
        if let Member::Present { completed: mine, .. } = &mut self.contexts[context] {
            completed.extend(mine.drain(..));
        }
        moved
    }

    /// The number of a new context.
    fn join(&mut self) -> Result<usize> {
        let member = Member::Present { under_way: 0, completed: VecDeque::new() };
        if let Some(context) = self.free.pop() {
            self.contexts[context] = member;
            return Ok(context);
        }
        if self.contexts.len() == CONTEXTS_MAX {
            return Err(Error::TooMany { what: "contexts", limit: CONTEXTS_MAX });
        }
        self.contexts.push(member);
        Ok(self.contexts.len() - 1)
    }

    /// The transport has accepted an operation of a context.
    fn begin(&mut self, context: usize) {
        let (Member::Present { under_way, .. } | Member::Gone { under_way }) = &mut self.contexts[context];
        *under_way += 1;
    }

    /// A context is gone. What of it is under way completes for nobody.
    fn leave(&mut self, context: usize) {
        let (Member::Present { under_way, .. } | Member::Gone { under_way }) = self.contexts[context];
        self.contexts[context] = Member::Gone { under_way };
        if under_way == 0 {
            self.free.push(context);
        }
    }
}

/// The token of an operation of a context.
const fn token_of(context: usize, id: u64) -> Token {
    Token((context as u64) << CONTEXT_SHIFT | id)
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
