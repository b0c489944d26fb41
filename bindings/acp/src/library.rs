//! The life of the library: init, finalize, reset, sync.
//!
//! The process joins the job when it first initializes the library, and leaves it when it exits after finalizing it. Between the two, each
//! session from init to finalize has fresh starter memory and no registrations.

use std::ffi::c_int;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use pelago::containers::GlobalHeap;
use pelago::{Context, Error, GlobalAddress, Job, Rank, Result, Scope, processes};

use crate::access::Access;
use crate::handles::ALL;
use crate::links::channel::Channels;
use crate::links::segments::SegmentBuffers;
use crate::links::{Connection, Connector};
use crate::memory::Memory;
use crate::refusal::{self, End, Lines, Refusal};
use crate::sizes;
use crate::state::{LibraryState, Links, Session};
use crate::workspaces::{self, Workspaces};
use pelago_c_support::exit;
use pelago_c_support::monitor::{self, Monitor};
use pelago_c_support::simulated::{self, PerRank};
use pelago_c_support::slab::Slab;

/// Bytes of starter memory, unless the launcher sets another size.
const STARTER_BYTES: u64 = 1 << 20;

/// Divisor of a rank's symmetric heap that gives the size of the part from which `acp_malloc` allocates.
const HEAP_SHARE: u64 = 4;

/// The environment variable by which `acprun` sets the number of bytes of starter memory.
const STARTER_VARIABLE: &str = "PELAGO_ACP_STARTER_BYTES";

/// The library in this process, from its first initialization on.
pub(crate) struct Library {
    access: Access,
    /// Whether the library is initialized and not finalized.
    active: AtomicBool,
    /// The numbers that `acp_reset` has given to the ranks; `None` if it has not been called.
    numbering: RwLock<Option<RankNumbering>>,
}

/// Numbers that `acp_reset` gave to ranks.
struct RankNumbering {
    /// The number of each rank of the job.
    numbers: Vec<u32>,
    /// The rank of the job for each number.
    ranks: Vec<u32>,
}

/// State that exists once in a process, or once for each rank that is simulated in it.
struct Process {
    library: OnceLock<Library>,
    /// Held while the library is initialized, finalized or reset.
    lifecycle: Mutex<()>,
    lines: Lines,
}

impl Process {
    const fn new() -> Self {
        Self { library: OnceLock::new(), lifecycle: Mutex::new(()), lines: Lines::new() }
    }
}

static PROCESSES: PerRank<Process> = PerRank::new(Process::new(), Process::new);

/// Returns the state of this process, or of the running simulated rank.
fn process() -> &'static Process {
    PROCESSES.get()
}

/// Returns the library, if it is initialized.
#[inline]
pub(crate) fn library() -> Result<&'static Library, Refusal> {
    match PROCESSES.own().library.get() {
        Some(library) if library.active.load(Ordering::Acquire) => Ok(library),
        _ => simulated_library(),
    }
}

/// Returns the library of the running simulated rank, if it is initialized.
#[cold]
fn simulated_library() -> Result<&'static Library, Refusal> {
    simulated::running().ok_or(Refusal::NotInitialized)?;
    let library = process().library.get();
    let library = library.filter(|library| library.active.load(Ordering::Acquire)).ok_or(Refusal::NotInitialized)?;
    // Advances virtual time: a rank that calls in a loop may wait for an event of a later time.
    processes::now();
    Ok(library)
}

/// Writes one line with the reason why a call of `function` is refused.
pub(crate) fn report(function: &str, why: &dyn fmt::Display) {
    process().lines.report(own_rank(), function, why);
}

/// Returns the number of this rank; `None` if the process has not joined a job.
pub(crate) fn own_rank() -> Option<u32> {
    process().library.get().map(Library::rank)
}

/// `acp_init`.
pub(crate) fn init() -> Result<(), Refusal> {
    let process = process();
    let _lifecycle = monitor::lock(&process.lifecycle);
    let starter_bytes = starter_bytes()?;
    let library = match process.library.get() {
        Some(library) if library.active.load(Ordering::Acquire) => return Err(Refusal::Initialized),
        Some(library) => library,
        None => {
            let job: &'static Job = Box::leak(Box::new(Job::join()?));
            let is_simulated = simulated::running().is_some();
            if !is_simulated {
                exit::at_exit(leave_at_exit);
            }
            process.library.get_or_init(|| Library::new(job, is_simulated))
        }
    };
    library.begin(starter_bytes)
}

/// Leaves the job at a regular end of the process. Returns an exit code if leaving fails.
pub(crate) fn leave() -> Option<i32> {
    let library = process().library.get().filter(|library| !library.active.load(Ordering::Acquire))?;
    // A thread that still holds the lock will not release it any more.
    let (error, code) = library.monitor().try_with(|state| Some((state.job.leave().err()?, state.job.exit_code())))??;
    Some(exit_code(code, &error, "exit"))
}

/// Exit handler that calls `leave`.
fn leave_at_exit(_code: c_int) {
    if let Some(code) = leave() {
        exit::immediately(code);
    }
}

/// Ends the process because of an error that no return value can report.
pub(crate) fn end(error: &Error, function: &str) -> ! {
    let code = process().library.get().and_then(|library| library.monitor().try_with(|state| state.job.exit_code())?);
    exit::immediately(exit_code(code, error, function))
}

/// Returns the exit code for an error, and reports the error unless the launcher does.
fn exit_code(code: Option<i32>, error: &Error, function: &str) -> i32 {
    if let Some(code) = code {
        return code;
    }
    refusal::write_line(own_rank(), &format_args!("{function}: {error}; the job is ended"));
    if error.scope() == Scope::Peer { 3 } else { 1 }
}

fn starter_bytes() -> Result<u64, Refusal> {
    let Ok(text) = std::env::var(STARTER_VARIABLE) else { return Ok(STARTER_BYTES) };
    text.parse().map_err(|_| Refusal::StarterSize(text))
}

impl Library {
    fn new(job: &'static Job, is_simulated: bool) -> Self {
        let numbering = RwLock::new(None);
        Self { access: Access::new(job, is_simulated), active: AtomicBool::new(false), numbering }
    }

    /// Returns the access for copies and atomics.
    #[inline]
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the memory with its valid addresses.
    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        self.access.memory()
    }

    /// Returns the state that one thread uses at a time.
    #[inline]
    pub(crate) fn monitor(&self) -> &Monitor<LibraryState> {
        self.access.monitor()
    }

    /// Returns the number of this rank.
    pub(crate) fn rank(&self) -> u32 {
        self.number_of(self.memory().me())
    }

    /// Returns the number of ranks of the job.
    pub(crate) fn size(&self) -> u32 {
        self.memory().size()
    }

    /// Returns the number of a rank of the job.
    pub(crate) fn number_of(&self, rank: Rank) -> u32 {
        let numbering = self.numbering.read().unwrap_or_else(PoisonError::into_inner);
        numbering.as_ref().map_or(rank.number(), |numbering| numbering.numbers[rank.index()])
    }

    /// Returns the rank of the job with this number.
    pub(crate) fn rank_of(&self, number: c_int) -> Result<Rank, Refusal> {
        let size = self.size();
        let known = u32::try_from(number).ok().filter(|&number| number < size);
        let number = known.ok_or(Refusal::Rank { rank: number, ranks: size })?;
        let numbering = self.numbering.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Rank::new(numbering.as_ref().map_or(number, |numbering| numbering.ranks[number as usize])))
    }

    /// Returns the starter memory of the rank with this number.
    pub(crate) fn starter_of(&self, number: c_int) -> Result<GlobalAddress, Refusal> {
        Ok(self.memory().starter_of(self.rank_of(number)?))
    }

    /// Returns the start of the memory for `acp_malloc` of the rank with this number.
    pub(crate) fn heap_of(&self, number: c_int) -> Result<GlobalAddress, Refusal> {
        let rank = self.rank_of(number)?;
        self.with_heap(|heap| Ok(heap.start_of(rank)))
    }

    /// Returns the number of the rank that owns an address.
    pub(crate) fn owner_of(&'static self, address: u64) -> Result<u32, Refusal> {
        Ok(self.number_of(self.memory().locate(End::Source, address, 0)?.rank))
    }

    /// `acp_malloc`.
    pub(crate) fn allocate(&self, bytes: usize, number: c_int) -> Result<GlobalAddress, Refusal> {
        let rank = self.rank_of(number)?;
        self.monitor().with(|state| {
            let session = state.session.as_ref().ok_or(Refusal::NotInitialized)?;
            Ok(session.heap.allocate(rank, bytes as u64)?)
        })
    }

    /// `acp_free`.
    pub(crate) fn free(&self, address: u64) -> Result<(), Refusal> {
        self.monitor().with(|state| {
            let session = state.session.as_ref().ok_or(Refusal::NotInitialized)?;
            Ok(session.heap.free(GlobalAddress::from_bits(address))?)
        })
    }

    /// Calls `f` with the heap.
    pub(crate) fn with_heap<R>(&self, f: impl FnOnce(&GlobalHeap<'static>) -> Result<R, Refusal>) -> Result<R, Refusal> {
        self.with_session(|session, _| f(&session.heap))
    }

    /// Calls `f` with the session, if the library is initialized.
    pub(crate) fn with_session<R>(&self, f: impl FnOnce(&mut Session, &'static Job) -> Result<R, Refusal>) -> Result<R, Refusal> {
        self.monitor().with(|state| {
            let job = state.job;
            f(state.session()?.0, job)
        })
    }

    /// Calls `f` with channels and segment buffers.
    pub(crate) fn with_links<R>(&self, f: impl FnOnce(&mut Links, &'static Context) -> Result<R, Refusal>) -> Result<R, Refusal> {
        self.monitor().with(|state| {
            // Their last messages are ordered behind all earlier operations, and a failure of one of these is none of the call.
            state.pending.have_ended(i64::MAX).map_err(Refusal::Earlier)?;
            let (session, context) = state.session()?;
            f(&mut session.links, context)
        })
    }

    /// Makes a request to a channel, and performs as much of it as is possible immediately. Returns the request.
    pub(crate) fn ask_channel(&self, ask: impl FnOnce(&mut Channels) -> Result<usize, Refusal>) -> Result<usize, Refusal> {
        self.with_links(|links, context| {
            let request = ask(&mut links.channels)?;
            links.connector.collect(context)?;
            links.channels.advance(&mut links.connector, context)?;
            Ok(request)
        })
    }

    /// Waits for a request of a channel in `function`, and returns its result.
    pub(crate) fn await_request(&self, function: &'static str, request: usize) -> Result<usize, Refusal> {
        let found = self.monitor().wait(function, |state| {
            Ok(match state.session() {
                Ok((session, _)) => session.links.channels.take(request).transpose(),
                Err(why) => Some(Err(why)),
            })
        });
        found.map_err(Refusal::Earlier)?
    }

    /// Waits until both ends of a segment buffer are connected. Fails if they differ in number or size of segments.
    pub(crate) fn connect(&self, number: usize) -> Result<(), Refusal> {
        let connection = self.monitor().wait("acp_connect_segbuf", |state| {
            let connection = state.session().and_then(|(session, context)| session.links.connect(number, context));
            Ok(match connection {
                Ok(Connection::Pending) => None,
                Ok(Connection::Established(())) => Some(Ok(())),
                Ok(Connection::Refused) => Some(Err(Refusal::Unlike)),
                Err(why) => Some(Err(why)),
            })
        });
        connection.map_err(Refusal::Earlier)?
    }

    /// Begins a session.
    fn begin(&'static self, starter_bytes: u64) -> Result<(), Refusal> {
        let steps = self.size().next_power_of_two().ilog2().max(1);
        let begun = self.monitor().with(|state| {
            let starter = state.job.alloc::<u64>(starter_bytes.div_ceil(8).max(1) as usize)?;
            let sync_words = state.job.alloc::<u64>(2 * steps as usize)?;
            // Untouched pages of the heap take no memory.
            let heap = GlobalHeap::quiet(state.job, self.memory().layout().segment_bytes() / HEAP_SHARE)?;
            let (me, layout) = (state.job.rank(), self.memory().layout());
            let [starter_at, heap_at] = [starter.at(me, 0).address(), heap.start_of(me)].map(|start| layout.offset(start));
            self.memory().set_areas((starter_at, starter_bytes), (heap_at, heap.bytes()));
            sizes::set_data_bytes(heap.bytes());
            let connector = Connector::new(state.job.alloc::<u64>(1)?);
            let links = Links { connector, channels: Channels::new(), segments: SegmentBuffers::new() };
            let workspaces = Workspaces { settings: workspaces::Settings::DEFAULT, known: Slab::new(1) };
            state.session = Some(Session { _starter: starter, heap, sync_words, syncs: 0, links, workspaces });
            // After the barrier, all owners have cleared their memory, so that other ranks may write to it.
            state.job.barrier()
        });
        begun?;
        self.active.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends a session: afterwards, no operation is in flight, and no memory is registered.
    fn end_session(&'static self) -> Result<(), Refusal> {
        self.sync()?;
        // Messages and segments in flight read memory of the program, and write to memory of the session. After the second sync, all ranks have
        // completed theirs.
        self.monitor().with(|state| {
            if let Some(session) = &mut state.session {
                session.links.stop();
            }
            state.context.quiet()
        })?;
        self.sync()?;
        self.active.store(false, Ordering::Release);
        self.memory().set_areas((0, 0), (0, 0));
        self.monitor().with(|state| {
            state.session = None;
            state.registrations.clear(self.memory())
        })
    }

    /// `acp_finalize`.
    pub(crate) fn finalize(&'static self) -> Result<(), Refusal> {
        let _lifecycle = monitor::lock(&process().lifecycle);
        self.end_session()?;
        *self.numbering.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// `acp_reset`: every rank requests a number.
    pub(crate) fn reset(&'static self, number: c_int) -> Result<(), Refusal> {
        let _lifecycle = monitor::lock(&process().lifecycle);
        let starter_bytes = starter_bytes()?;
        let size = self.size();
        // An invalid number is encoded as 0, a valid number as the number plus one.
        let wanted = u32::try_from(number).ok().filter(|&number| number < size).map_or(0, |number| number + 1);
        let mut numbers = vec![0; size as usize];
        numbers[self.memory().me().index()] = wanted;
        self.access.complete(ALL)?;
        self.monitor().with(|state| state.job.allreduce(&mut numbers, |one, other| one | other))?;
        let numbering = RankNumbering::new(numbers).ok_or(Refusal::Ranks)?;
        self.end_session()?;
        *self.numbering.write().unwrap_or_else(PoisonError::into_inner) = Some(numbering);
        self.begin(starter_bytes)
    }

    /// `acp_sync`: afterwards, all operations that the ranks have issued before are complete.
    ///
    /// Two puts to one word are not ordered, and no rank waits for the completion of its own. Therefore syncs alternate between two words of each
    /// step, as those of a team do (invariant B2 of `runtime/rma/src/barrier.rs`): a rank that puts a word of sync e + 2 has left e + 1, which all
    /// ranks have entered after all their words of e had arrived.
    pub(crate) fn sync(&'static self) -> Result<()> {
        self.access.complete(ALL)?;
        let (me, size) = (self.memory().me().number(), self.size());
        let sync_number = self.monitor().with(|state| {
            let session = state.session.as_mut()?;
            session.syncs += 1;
            Some(session.syncs)
        });
        let Some(sync_number) = sync_number else { return Ok(()) };
        let mut step = 0;
        while 1u32 << step < size {
            let peer = Rank::new((me + (1 << step)) % size);
            let line = 2 * step + (sync_number % 2) as usize;
            self.monitor().with(|state| {
                let Some(session) = &state.session else { return Ok(()) };
                state.context.put(session.sync_words.at(peer, line), &[sync_number]).map(drop)
            })?;
            self.monitor().wait("acp_sync", |state| {
                let met = state.session.as_ref().is_none_or(|session| session.sync_words.local().load(line) >= sync_number);
                Ok(met.then_some(()))
            })?;
            step += 1;
        }
        Ok(())
    }
}

impl RankNumbering {
    /// Returns the numbering with these numbers, which are encoded plus one; `None` unless every number from 0 on occurs exactly once.
    fn new(mut numbers: Vec<u32>) -> Option<Self> {
        let mut ranks = vec![u32::MAX; numbers.len()];
        for (rank, number) in numbers.iter_mut().enumerate() {
            *number = number.checked_sub(1)?;
            let place = ranks.get_mut(*number as usize).filter(|place| **place == u32::MAX)?;
            *place = rank as u32;
        }
        Some(Self { numbers, ranks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_numbers_once_are_a_numbering() {
        let numbering = RankNumbering::new(vec![3, 1, 2]).unwrap();
        assert_eq!((numbering.numbers, numbering.ranks), (vec![2, 0, 1], vec![1, 2, 0]));
        for wrong in [vec![0, 1], vec![1, 1], vec![1, 3]] {
            assert!(RankNumbering::new(wrong).is_none());
        }
    }
}
