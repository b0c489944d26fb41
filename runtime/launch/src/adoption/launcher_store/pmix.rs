//! The launcher's store by PMIx, as Open MPI's `mpirun`, `prterun` and `srun --mpi=pmix` offer it, through the library that they bring.
//!
//! Calls of the library have no time limit, so that a thread makes them: who asks waits for its answer until a deadline.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pelago_base::Instant;
use pelago_platform::Clock;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::OsClock;
use crate::adoption::launcher_store::pmix_library::{Answer, Library, NAME, WILDCARD};
use crate::adoption::launcher_store::{JobFacts, KeyValue, Placement, StoreError};

/// A call of the library.
type Call = Box<dyn FnOnce(&Library) + Send>;

/// A connection to the launcher.
pub(crate) struct Pmix {
    calls: SyncSender<Call>,
    clock: OsClock,
    facts: JobFacts,
    /// Hangs up when the launcher has gone.
    hang_up: OwnedFd,
}

impl Pmix {
    /// Connects to the launcher that has started this process.
    pub(crate) fn start(clock: OsClock, until: Instant) -> Result<Self, StoreError> {
        let system = |error: Errno| StoreError::Library(NAME, format!("no pipe for it: {error}"));
        let (hang_up, closed_when_lost) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
        let (calls, made) = sync_channel::<Call>(1);
        let (started, starts) = sync_channel(1);
        let serve = move || match Library::start(closed_when_lost) {
            Ok(library) => {
                // Nobody waits for it any more if that fails.
                let _ = started.send(Ok((library.job(), library.rank())));
                made.iter().for_each(|call| call(&library));
            }
            Err(error) => _ = started.send(Err(error)),
        };
        let thread = std::thread::Builder::new().name("pelago-pmix".into());
        thread.spawn(serve).map_err(|error| StoreError::Library(NAME, error.to_string()))?;
        let (job, rank) = received(&starts, clock, "PMIx_Init", until)?.map_err(|error| StoreError::Library(NAME, error))?;
        let facts = JobFacts { rank, size: 0, job, placement: Placement::one_host(1) };
        let mut pmix = Self { calls, clock, facts, hang_up };
        let size = pmix.call("pmix.job.size", until, |library| library.number(WILDCARD, c"pmix.job.size"))?;
        pmix.facts.size =
            size.filter(|&size| rank < size).ok_or_else(|| StoreError::Answer("pmix.job.size".into(), format!("{size:?}")))?;
        pmix.facts.placement = pmix.placed(until)?;
        Ok(pmix)
    }

    /// Which ranks share a host.
    fn placed(&self, until: Instant) -> Result<Placement, StoreError> {
        let peers = self.call("pmix.lpeers", until, |library| library.text(WILDCARD, c"pmix.lpeers"))?.unwrap_or_default();
        let size = self.facts.size;
        if peers.split(',').count() == size as usize {
            return Ok(Placement::one_host(size));
        }
        let hosts = (0..size).map(|rank| {
            let host = self.call("pmix.nodeid", until, move |library| library.number(rank, c"pmix.nodeid"))?;
            host.ok_or_else(|| StoreError::Answer("pmix.nodeid".into(), "no number".into()))
        });
        Ok(Placement::listed(&hosts.collect::<Result<Vec<_>, _>>()?))
    }

    fn call<T: Send + 'static>(
        &self,
        what: &str,
        until: Instant,
        call: impl FnOnce(&Library) -> Answer<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answers, answer) = sync_channel(1);
        let made = Box::new(move |library: &Library| {
            // Nobody waits for it any more if that fails.
            let _ = answers.send(call(library).map_err(|status| library.error(status)));
        });
        // The queue is full while the library has not returned from a call that was given up.
        self.calls.try_send(made).map_err(|_| StoreError::Silent(what.into()))?;
        received(&answer, self.clock, what, until)?.map_err(|error| StoreError::Refused(what.into(), error))
    }
}

/// What comes until the deadline.
fn received<T>(answers: &Receiver<T>, clock: OsClock, what: &str, until: Instant) -> Result<T, StoreError> {
    answers.recv_timeout(until.since(clock.now()).into()).map_err(|_| StoreError::Silent(what.into()))
}

/// A key or a value, which have no zero bytes.
fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

impl KeyValue for Pmix {
    fn facts(&self) -> &JobFacts {
        &self.facts
    }

    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), StoreError> {
        let (key, value) = (text(key), text(value));
        self.call("PMIx_Put", until, move |library| library.put(&key, &value))
    }

    fn get(&mut self, owner: u32, key: &str, until: Instant) -> Result<String, StoreError> {
        let key = text(key);
        let found = self.call("PMIx_Get", until, move |library| library.text(owner, &key))?;
        found.ok_or_else(|| StoreError::Answer("PMIx_Get".into(), "something else than a text".into()))
    }

    fn fence(&mut self, until: Instant) -> Result<(), StoreError> {
        match self.call("PMIx_Fence", until, Library::fence) {
            Err(StoreError::Silent(_)) => Err(StoreError::Incomplete),
            answer => answer,
        }
    }

    fn leave(&mut self, until: Instant) {
        let _whatever_it_says = self.call("PMIx_Finalize", until, Library::finalize);
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.hang_up.as_fd()
    }
}
