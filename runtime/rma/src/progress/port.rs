//! A context's access to the transport: its own transport, or one shared with the rank's other threads.

use core::hint::black_box;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pelago_base::Instant;
use pelago_platform::{
    Completion, Endpoint, Flags, Operation, PostError, ReductionGroup, ReductionOperator, Token, Transport, Wait,
};

use crate::{Error, Result};

/// Position of the context's number in a token of a shared transport; the operation's number is in the bits below.
const CONTEXT_SHIFT: u32 = 48;

/// Minimum size of a memory page in bytes.
const PAGE_BYTES: usize = 4096;

/// Maximum number of yields of a coroutine to others that want the transport.
const YIELDS_MAX: u32 = 1000;

/// Maximum number of contexts that share a transport: the range of the context bits of a token.
const CONTEXTS_MAX: usize = 1 << (64 - CONTEXT_SHIFT);

const _: () = assert!(CONTEXTS_MAX - 1 == (u64::MAX >> CONTEXT_SHIFT) as usize, "as many as the bits above tell apart");

/// A context's access to the transport.
pub(crate) enum Port {
    /// The context is the only one.
    Own(Box<dyn Transport>),
    /// Other contexts use the transport as well.
    Shared { hub: Arc<SharedHub>, context: usize },
    /// Intermediate state while `share` changes the variant.
    Empty,
}

/// A transport that several threads use, and the lock that they take.
pub(crate) struct SharedHub {
    hub: Mutex<Hub>,
    coroutines: Option<Coroutines>,
}

/// How threads that are coroutines of one thread, as in a simulation, share the lock: one of them may be suspended inside the transport, and would not go on
/// while another one blocks.
struct Coroutines {
    /// Lets the others run.
    wait: Arc<dyn Wait>,
    /// Number of threads that have found the lock taken.
    wanted: AtomicU32,
}

/// A transport that several threads use under a lock.
pub(crate) struct Hub {
    transport: Box<dyn Transport>,
    /// The contexts, by number.
    contexts: Vec<Member>,
    /// Numbers without a context and without an operation in flight.
    free: Vec<usize>,
    scratch: Vec<Completion>,
}

/// An entry of the context table.
enum Member {
    /// The context exists and has `under_way` operations in flight.
    Present {
        under_way: usize,
        /// Completions that the context has not fetched.
        completed: VecDeque<Completion>,
    },
    /// The context was dropped. Its number is reused only when no operation in flight carries it, so that no context receives completions of another.
    Gone { under_way: usize },
}

impl Port {
    /// Runs `f` with the transport.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut dyn Transport) -> R) -> R {
        match self {
            Self::Own(transport) => f(transport.as_mut()),
            Self::Shared { hub, .. } => f(hub.lock().transport.as_mut()),
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
                let mut hub = hub.lock();
                hub.transport.post(now, to, operation, flags, token_of(*context, id))?;
                hub.begin(*context);
                Ok(())
            }
            Self::Empty => unreachable!("a port is empty only inside `context_factory`"),
        }
    }

    /// As `post`, for a two-sided message; `None` if the network does not support them.
    pub(crate) fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], Token(id): Token) -> Option<Result<(), PostError>> {
        touch(bytes);
        let Self::Shared { hub, context } = self else {
            return self.with(|transport| Some(transport.extensions()?.two_sided()?.send(now, to, bytes, Token(id))));
        };
        let mut hub = hub.lock();
        let sent = hub.transport.extensions()?.two_sided()?.send(now, to, bytes, token_of(*context, id));
        if sent.is_ok() {
            hub.begin(*context);
        }
        Some(sent)
    }

    /// As `post`, for a contribution to a reduction by the network; `None` if the network performs none.
    pub(crate) fn contribute(
        &mut self,
        now: Instant,
        to: ReductionGroup,
        operator: ReductionOperator,
        words: &[u64],
        Token(id): Token,
    ) -> Option<Result<(), PostError>> {
        let Self::Shared { hub, context } = self else {
            let contribute = |transport: &mut dyn Transport| {
                Some(transport.extensions()?.reductions()?.contribute(now, to, operator, words, Token(id)))
            };
            return self.with(contribute);
        };
        let mut hub = hub.lock();
        let network = hub.transport.extensions()?.reductions()?;
        let contributed = network.contribute(now, to, operator, words, token_of(*context, id));
        if contributed.is_ok() {
            hub.begin(*context);
        }
        Some(contributed)
    }

    /// Makes progress on the transport and appends the completions of this context.
    pub(crate) fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        match self {
            Self::Own(transport) => transport.progress(now, completed),
            Self::Shared { hub, context } => hub.lock().progress(now, *context, completed),
            Self::Empty => false,
        }
    }

    /// Makes the transport usable by several contexts. `coroutines`: what lets other threads run, if threads are coroutines.
    pub(crate) fn share(&mut self, coroutines: Option<Arc<dyn Wait>>) -> Arc<SharedHub> {
        let coroutines = coroutines.map(|wait| Coroutines { wait, wanted: AtomicU32::new(0) });
        match std::mem::replace(self, Self::Empty) {
            Self::Own(transport) => {
                // The number of this context's operations in flight is unknown here: the context's number is never reused.
                let first = Member::Present { under_way: usize::MAX / 2, completed: VecDeque::new() };
                let hub = Hub { transport, contexts: vec![first], free: Vec::new(), scratch: Vec::new() };
                *self = Self::Shared { hub: Arc::new(SharedHub { hub: Mutex::new(hub), coroutines }), context: 0 };
            }
            port => *self = port,
        }
        let Self::Shared { hub, .. } = self else { unreachable!("just made so") };
        hub.clone()
    }

    /// Adds a context to a shared transport.
    ///
    /// # Errors
    /// There are 65,536 contexts, including dropped ones with operations that have not ended.
    pub(crate) fn to(hub: Arc<SharedHub>) -> Result<Self> {
        let context = hub.lock().join()?;
        Ok(Self::Shared { hub, context })
    }

    /// Discards further completions of this context.
    pub(crate) fn leave(&mut self) {
        if let Self::Shared { hub, context } = self {
            hub.lock().leave(*context);
        }
    }
}

impl SharedHub {
    /// Ignores poisoning: the transport's state is consistent between calls, so that a panic inside it concerns its thread only.
    fn lock(&self) -> MutexGuard<'_, Hub> {
        let Some(Coroutines { wait, wanted }) = &self.coroutines else {
            return self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        };
        // A thread that polls is suspended inside the transport only: without this, others would never find the lock free.
        for _ in 0..YIELDS_MAX {
            if wanted.load(Ordering::Relaxed) == 0 {
                break;
            }
            wait.yield_now();
        }
        if let Some(hub) = self.try_lock() {
            return hub;
        }
        wanted.fetch_add(1, Ordering::Relaxed);
        loop {
            wait.yield_now();
            if let Some(hub) = self.try_lock() {
                wanted.fetch_sub(1, Ordering::Relaxed);
                return hub;
            }
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Hub>> {
        match self.hub.try_lock() {
            Ok(hub) => Some(hub),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
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

    /// Returns the number for a new context.
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

    /// Counts an operation of a context that the transport has accepted.
    fn begin(&mut self, context: usize) {
        let (Member::Present { under_way, .. } | Member::Gone { under_way }) = &mut self.contexts[context];
        *under_way += 1;
    }

    /// Removes a context. Completions of its operations in flight are discarded.
    fn leave(&mut self, context: usize) {
        let (Member::Present { under_way, .. } | Member::Gone { under_way }) = self.contexts[context];
        self.contexts[context] = Member::Gone { under_way };
        if under_way == 0 {
            self.free.push(context);
        }
    }
}

/// Returns the token of an operation of a context.
const fn token_of(context: usize, id: u64) -> Token {
    Token((context as u64) << CONTEXT_SHIFT | id)
}

/// Reads from every page of a program's memory. Another thread may have to fetch such a page through the transport, so that the first access must not
/// happen under the transport's lock.
fn touch(bytes: &[u8]) {
    bytes.chunks(PAGE_BYTES).chain(bytes.last().map(core::slice::from_ref)).for_each(|page| {
        black_box(page[0]);
    });
}
