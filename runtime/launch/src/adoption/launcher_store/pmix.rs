//! The launcher's store by PMIx, as in Open MPI's `mpirun`, `prterun` and `srun --mpi=pmix`, through the launcher's own library.
//!
//! Calls of the library have no time limit, so that a separate thread makes them: the caller waits for the result until a deadline.

use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pelago_base::Instant;
use pelago_platform::Clock;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

use crate::OsClock;
use crate::adoption::launcher_store::pmix_library::{Answer, Library, NAME, WILDCARD};
use crate::adoption::launcher_store::{JobFacts, KeyValue, Placement, StoreError, StoreEvent};

/// A call of the library.
type Call = Box<dyn FnOnce(&Library) + Send>;

/// Maximum number of calls that wait for the thread: a fence and its successor.
const CALLS_MAX: usize = 2;

/// A connection to the launcher.
pub(crate) struct Pmix {
    calls: SyncSender<Call>,
    clock: OsClock,
    facts: JobFacts,
    /// Hangs up when the launcher has gone, and has a byte when a fence has ended.
    signals: OwnedFd,
    /// The other end.
    signaller: Arc<OwnedFd>,
    /// The results of the fences that this process has entered: also of the previous one, if another process noticed its end first.
    fences: VecDeque<Receiver<Result<(), String>>>,
    /// For calls while the thread waits in a fence.
    library: Arc<Library>,
}

impl Pmix {
    /// Connects to the launcher that has started this process.
    pub(crate) fn start(clock: OsClock, until: Instant) -> Result<Self, StoreError> {
        let system = |error: Errno| StoreError::Library(NAME, format!("no socket for it: {error}"));
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (signals, signaller) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(system)?;
        let signaller = Arc::new(signaller);
        let shut_down_when_lost = signaller.try_clone().map_err(|error| StoreError::Library(NAME, error.to_string()))?;
        let (calls, made) = sync_channel::<Call>(CALLS_MAX);
        let (started, starts) = sync_channel(1);
        let serve = move || match Library::start(shut_down_when_lost).map(Arc::new) {
            Ok(library) => {
                // If this fails, the caller no longer waits.
                let _ = started.send(Ok(library.clone()));
                made.iter().for_each(|call| call(&library));
            }
            Err(error) => _ = started.send(Err(error)),
        };
        let thread = std::thread::Builder::new().name("pelago-pmix".into());
        thread.spawn(serve).map_err(|error| StoreError::Library(NAME, error.to_string()))?;
        let library = received(&starts, clock, "PMIx_Init", until)?.map_err(|error| StoreError::Library(NAME, error))?;
        let rank = library.rank();
        let facts = JobFacts { rank, size: 0, job: library.job(), placement: Placement::one_host(1) };
        let mut pmix = Self { calls, clock, facts, signals, signaller, fences: VecDeque::new(), library };
        let size = pmix.call("pmix.job.size", until, |library| library.number(WILDCARD, c"pmix.job.size"))?;
        pmix.facts.size =
            size.filter(|&size| rank < size).ok_or_else(|| StoreError::Answer("pmix.job.size".into(), format!("{size:?}")))?;
        pmix.facts.placement = pmix.placed(until)?;
        Ok(pmix)
    }

    /// Returns the host of each rank.
    fn placed(&self, until: Instant) -> Result<Placement, StoreError> {
        let peers = self.call("pmix.lpeers", until, |library| library.text(WILDCARD, c"pmix.lpeers"))?.unwrap_or_default();
        let size = self.facts.size;
        if peers.split(',').count() == size as usize {
            return Ok(Placement::one_host(size));
        }
        // Servers know host numbers only for the processes of their own host. Numbers assigned to host names in the order of the ranks are the same on all
        // processes.
        let mut names = HashMap::new();
        let hosts = (0..size).map(|rank| {
            let name = self.call("pmix.hname", until, move |library| library.text(rank, c"pmix.hname"))?;
            let name = name.ok_or_else(|| StoreError::Answer("pmix.hname".into(), "something else than a text".into()))?;
            let next = names.len() as u32;
            Ok(*names.entry(name).or_insert(next))
        });
        Ok(Placement::listed(&hosts.collect::<Result<Vec<_>, StoreError>>()?))
    }

    fn call<T: Send + 'static>(
        &self,
        what: &str,
        until: Instant,
        call: impl FnOnce(&Library) -> Answer<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answers, answer) = sync_channel(1);
        let made = Box::new(move |library: &Library| {
            // If this fails, the caller no longer waits.
            let _ = answers.send(call(library).map_err(|status| library.error(status)));
        });
        // The queue is full while the library has not returned from a call whose caller has timed out.
        self.calls.try_send(made).map_err(|_| StoreError::Silent(what.into()))?;
        received(&answer, self.clock, what, until)?.map_err(|error| StoreError::Refused(what.into(), error))
    }
}

/// Returns the result that arrives until the deadline.
fn received<T>(answers: &Receiver<T>, clock: OsClock, what: &str, until: Instant) -> Result<T, StoreError> {
    answers.recv_timeout(until.since(clock.now()).into()).map_err(|_| StoreError::Silent(what.into()))
}

/// Converts a key or a value, which contain no zero bytes.
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

    fn awaits_values(&self) -> bool {
        true
    }

    fn arrive(&mut self, _until: Instant) -> Result<(), StoreError> {
        let (ended, end) = sync_channel(1);
        let signaller = self.signaller.clone();
        let made = Box::new(move |library: &Library| {
            // If one of these fails, the caller no longer waits.
            let _ = ended.send(library.fence().map_err(|status| library.error(status)));
            let _ = send(&*signaller, &[0], SendFlags::NOSIGNAL);
        });
        self.calls.try_send(made).map_err(|_| StoreError::Silent("PMIx_Fence".into()))?;
        self.fences.push_back(end);
        Ok(())
    }

    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
        // One byte per fence.
        match recv(&self.signals, &mut [0; 1][..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(StoreError::Gone),
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(StoreError::Library(NAME, error.to_string())),
        }
        let answer = self.fences.pop_front().and_then(|end| end.try_recv().ok()).ok_or(StoreError::Gone)?;
        answer.map(|()| Some(StoreEvent::Met)).map_err(|error| StoreError::Refused("PMIx_Fence".into(), error))
    }

    fn leave(&mut self, until: Instant) {
        // Another process may have noticed first that the last fence has ended.
        for end in self.fences.drain(..) {
            let _whatever_came_of_it = received(&end, self.clock, "PMIx_Fence", until);
        }
        let _whatever_it_says = self.call("PMIx_Finalize", until, Library::finalize);
    }

    fn abort(&mut self, code: i32, until: Instant) {
        let (library, (done, is_done)) = (self.library.clone(), sync_channel(1));
        // The thread for the other calls may be blocked in a fence.
        let thread = std::thread::Builder::new().name("pelago-abort".into());
        let made = move || {
            let _unless_nobody_waits = done.send(library.abort(code));
        };
        if thread.spawn(made).is_ok() {
            let _whatever_it_says = received(&is_done, self.clock, "PMIx_Abort", until);
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}
