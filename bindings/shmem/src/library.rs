//! The library in this process: its teams, its contexts, and the translation of symmetric addresses to global ones.
//!
//! Invariant **A1** of `pelago-c-support` (`monitor.rs`): the state of a context refers to that context, and that of the default context to the job; only
//! the holder of its monitor uses either.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use pelago::{Advance, Background, Context, ContextFactory, GlobalAddress, GlobalPtr, Handle, Job, Pod, Rank, Result};
use pelago_c_support::monitor::{self, Monitor, Progress};
use pelago_c_support::simulated::{self, PerRank};
use pelago_memory::{Heap, Place, Reach, Window};

use crate::limits::{CONTEXTS_MAX, STATIC_AREAS_MAX, TEAMS_MAX};
use crate::refusal::{end, refuse};

/// The invalid handle of teams and contexts.
pub(crate) const INVALID: usize = 0;
/// The handle of the default context, and of the team of all PEs.
pub(crate) const DEFAULT: usize = 1;
/// The handle of the team of the PEs whose memory is mapped in this process.
pub(crate) const SHARED: usize = 2;

/// Comparison operators of waits.
pub(crate) const EQUAL: c_int = 0;
pub(crate) const NOT_EQUAL: c_int = 1;

/// The highest level of thread support.
pub(crate) const THREAD_MULTIPLE: c_int = 3;

/// A part of this PE's memory that has the same offset in the memory of every PE.
#[derive(Clone, Copy, Default)]
pub(crate) struct Area {
    /// Its start address in this process.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    /// The bits of its global address at rank 0.
    pub(crate) bits: u64,
}

/// The library in this process, from its first initialization on.
pub(crate) struct Library {
    pub(crate) reach: Reach,
    /// Windows of the heap and of the largest area of variables, open while the library is initialized.
    direct: [Window; 2],
    pub(crate) me: u32,
    pub(crate) size: u32,
    /// Difference between the bits of the same address at consecutive ranks.
    rank_bits: u64,
    heap_area: Area,
    /// Alignment of the start of the heap, and so the largest alignment of its objects.
    pub(crate) alignment: usize,
    statics: [Area; STATIC_AREAS_MAX],
    /// Memory of the teams, [`TEAM_BYTES`](crate::collectives::TEAM_BYTES) for each.
    scratch: Area,
    pub(crate) is_simulated: bool,
    pub(crate) heap: Mutex<Heap>,
    contexts: Box<[OnceLock<ContextSlot>]>,
    teams: Box<[Team]>,
    factory: Mutex<Option<ContextFactory>>,
    /// The provided level of thread support, `SHMEM_THREAD_…`.
    pub(crate) threads: AtomicU32,
    /// The highest level that a PE has requested: PEs may request different ones, and synchronize in the same way.
    pub(crate) threads_of_all: AtomicU32,
    /// Number of initializations without a matching finalization.
    pub(crate) depth: AtomicU32,
    /// Whether collective operations compare their arguments.
    pub(crate) is_debugged: AtomicBool,
    /// A bit for each PE of this host to whose memory the program has a pointer, from the first PE of this host on.
    pointed: Box<[AtomicU64]>,
    /// Whether there is such a PE.
    has_pointers: AtomicBool,
}

/// A context: operations with their own order and completion.
pub(crate) struct ContextSlot {
    pub(crate) monitor: Monitor<ContextState>,
    /// Whether operations may be in flight.
    busy: AtomicBool,
    /// The default context, if this is another one.
    default: Option<&'static ContextSlot>,
    /// Whether operations may remain to be posted, which other contexts do when they wait.
    has_deferred: AtomicBool,
    is_used: AtomicBool,
    /// The index of its team.
    team: AtomicU32,
    pub(crate) options: AtomicI64,
    /// Whether a session is open.
    pub(crate) session: AtomicBool,
}

/// State of a context that one thread uses at a time.
pub(crate) struct ContextState {
    pub(crate) context: &'static Context,
    /// The job; only in the default context.
    pub(crate) job: Option<&'static Job>,
    /// The other contexts; in the default context, once there is one.
    others: Option<Rc<OtherContexts>>,
}

/// The progress of contexts whose operations could not be posted at once. A PE that waits for memory, in the default context, or polls memory of another
/// PE by gets or atomics, in any context, may be waiting for a consequence of these operations, for which their contexts need not be called again.
struct OtherContexts {
    contexts: &'static [OnceLock<ContextSlot>],
    /// The index of the context that advances the others.
    own: usize,
    /// Whether that context advances this.
    is_advanced: Cell<bool>,
    /// Whether another context advances that one, and goes over all contexts itself: otherwise each would advance all others in turn, in any order.
    is_resting: Cell<bool>,
}

impl OtherContexts {
    fn new(contexts: &'static [OnceLock<ContextSlot>], own: usize) -> Rc<Self> {
        Rc::new(Self { contexts, own, is_advanced: Cell::new(false), is_resting: Cell::new(false) })
    }

    /// Returns the other contexts that may have operations to be posted. Contexts are made in the order of their indices.
    fn deferred(&self) -> impl Iterator<Item = &'static ContextSlot> {
        let made = self.contexts.iter().map_while(OnceLock::get).enumerate();
        made.filter(|(index, slot)| *index != self.own && slot.has_deferred.load(Ordering::Relaxed)).map(|(_, slot)| slot)
    }
}

impl Background for OtherContexts {
    fn advance(&self, _: &Context) -> Advance {
        if self.is_resting.get() {
            return Advance::Nothing;
        }
        let mut advance = Advance::Done;
        for slot in self.deferred() {
            let progress = |state: &mut ContextState| {
                let rest = |is_resting| state.others.iter().for_each(|others| others.is_resting.set(is_resting));
                rest(true);
                let moved = state.context.progress();
                rest(false);
                slot.has_deferred.store(state.context.has_deferred(), Ordering::Relaxed);
                if moved { Advance::Moved } else { Advance::Nothing }
            };
            // Another thread that holds it rings no doorbell when it leaves.
            advance = match (slot.monitor.try_with(progress).unwrap_or(Advance::Blocked), advance) {
                (Advance::Moved, _) | (_, Advance::Moved) => Advance::Moved,
                (Advance::Blocked, _) | (_, Advance::Blocked) => Advance::Blocked,
                _ => Advance::Nothing,
            };
        }
        self.is_advanced.set(advance != Advance::Done);
        advance
    }
}

/// A team: every `stride`-th rank from `start` on.
pub(crate) struct Team {
    pub(crate) start: AtomicU32,
    pub(crate) stride: AtomicI64,
    /// 0 in an unused slot.
    pub(crate) size: AtomicU32,
    pub(crate) me: AtomicU32,
    pub(crate) contexts: AtomicU32,
    /// Number of synchronizations so far; below, of data operations, short reductions and whole exchanges.
    pub(crate) syncs: AtomicU64,
    pub(crate) operations: AtomicU64,
    pub(crate) short_reductions: AtomicU64,
    pub(crate) exchanges: AtomicU64,
    /// Number of arrivals that operations have waited for so far; below, of parts and of results of long reductions.
    pub(crate) arrivals: AtomicU64,
    pub(crate) parts: AtomicU64,
    pub(crate) results: AtomicU64,
    /// Lock held during an operation: if a program erroneously calls operations of one team from two threads, the state is not corrupted.
    pub(crate) turn: Mutex<()>,
}

/// The members of a team by their ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) start: u32,
    pub(crate) stride: i64,
    pub(crate) size: u32,
}

impl ContextState {
    /// Lets the waits of this context advance the others, until none has deferred operations.
    fn advance_others(&self) {
        let deferred = self.others.as_ref().filter(|others| others.deferred().next().is_some());
        let Some(others) = deferred.filter(|others| !others.is_advanced.replace(true)) else { return };
        let others: Rc<dyn Background> = others.clone();
        self.context.go_on_with(&others).expect("few libraries have background work in a program in C");
    }
}

impl Progress for ContextState {
    fn context(&self) -> &'static Context {
        self.context
    }

    fn progress(&mut self) -> Result<()> {
        Ok(())
    }
}

/// State that exists once in a process, or once for each rank that is simulated in it.
pub(crate) struct Process {
    pub(crate) library: OnceLock<Library>,
    /// Held while the library is initialized or finalized.
    pub(crate) lifecycle: Mutex<()>,
}

impl Process {
    const fn new() -> Self {
        Self { library: OnceLock::new(), lifecycle: Mutex::new(()) }
    }
}

static PROCESSES: PerRank<Process> = PerRank::new(Process::new(), Process::new);

/// The windows of this process for programs that access words themselves (`struct sma_window` in `shmem.h`); null before the first initialization,
/// and in simulations.
#[allow(non_upper_case_globals, reason = "a name in C")]
#[unsafe(no_mangle)]
pub(crate) static sma_windows: [AtomicPtr<Window>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

/// Returns the state of this process, or of the running simulated rank.
pub(crate) fn process() -> &'static Process {
    PROCESSES.get()
}

/// Returns the library. Ends the job if it is not initialized.
#[inline(always)]
pub(crate) fn library(routine: &str) -> &'static Library {
    match PROCESSES.own().library.get() {
        Some(library) if library.depth.load(Ordering::Acquire) > 0 => library,
        _ => other_library(routine),
    }
}

/// Fast path: returns the word of a PE at a symmetric address if it is mapped and few checks suffice: the library is initialized and not simulated, the
/// context is the default one, and the word is aligned and lies in the heap or in the largest area of variables. [`Library::pointer`] handles all other words.
#[inline(always)]
pub(crate) fn direct<T: Pod>(context: usize, address: usize, pe: c_int) -> Option<Place<'static, T>> {
    let [heap, variables] = &PROCESSES.own().library.get().filter(|_| context == DEFAULT)?.direct;
    heap.place(address, pe as u32).or_else(|| variables.place(address, pe as u32))
}

/// Returns the library of the running simulated rank. Ends the job if the library is not initialized.
#[cold]
#[inline(never)]
fn other_library(routine: &str) -> &'static Library {
    let library = process().library.get();
    match library.filter(|library| library.depth.load(Ordering::Acquire) > 0) {
        Some(library) if simulated::running().is_some() => {
            // Advances virtual time: a rank that calls in a loop may wait for an event of a later time.
            pelago::processes::now();
            library
        }
        Some(library) => library,
        None if library.is_some() => refuse(routine, &"called after shmem_finalize"),
        None => refuse(routine, &"called before shmem_init"),
    }
}

/// Arguments of [`Library::new`].
pub(crate) struct Parts {
    pub(crate) job: &'static Job,
    pub(crate) heap: Area,
    /// Alignment of the start of the heap.
    pub(crate) alignment: usize,
    pub(crate) statics: [Area; STATIC_AREAS_MAX],
    pub(crate) scratch: Area,
    pub(crate) is_simulated: bool,
}

impl Library {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { job, heap, alignment, statics, scratch, is_simulated } = parts;
        let (me, size, reach) = (job.rank().number(), job.size(), job.reach().clone());
        let bits =
            |rank| reach.addresses().encode(Rank::new(rank), pelago::SegmentId::SYMMETRIC, 0).map_or(0, GlobalAddress::bits);
        let rank_bits = if size > 1 { bits(1) - bits(0) } else { 0 };
        let first = reach.ranks().next().map_or(me, Rank::number).min(me);
        let last = reach.ranks().last().map_or(me, Rank::number);
        let teams: Box<[Team]> = (0..TEAMS_MAX).map(|_| Team::none()).collect();
        teams[DEFAULT - 1].begin(Members { start: 0, stride: 1, size }, me, 0);
        teams[SHARED - 1].begin(Members { start: first, stride: 1, size: last.max(me) - first + 1 }, me - first, 0);
        let contexts: Box<[OnceLock<ContextSlot>]> = (0..CONTEXTS_MAX).map(|_| OnceLock::new()).collect();
        let state = ContextState { context: job, job: Some(job), others: None };
        contexts[0].get_or_init(|| ContextSlot::new(state, None, is_simulated));
        let [threads, threads_of_all, depth] = [const { AtomicU32::new(0) }; 3];
        let pointed = (0..reach.ranks().len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let variables = statics.iter().max_by_key(|area| area.bytes).copied().unwrap_or_default();
        Self {
            direct: [heap, variables].map(|area| reach.window(area.start, GlobalAddress::from_bits(area.bits), area.bytes)),
            me,
            size,
            rank_bits,
            heap_area: heap,
            alignment,
            statics,
            scratch,
            is_simulated,
            heap: Mutex::new(Heap::new(heap.bytes as u64)),
            contexts,
            teams,
            factory: Mutex::new(None),
            threads,
            threads_of_all,
            depth,
            is_debugged: AtomicBool::new(false),
            pointed,
            has_pointers: AtomicBool::new(false),
            reach,
        }
    }

    /// Sets the number of initializations without a matching finalization; opens the windows if it is not 0, else closes them.
    pub(crate) fn set_depth(&'static self, depth: u32) {
        self.depth.store(depth, Ordering::Release);
        for (window, shown) in self.direct.iter().zip(&sma_windows) {
            window.open(depth > 0);
            if !self.is_simulated {
                shown.store(std::ptr::from_ref(window).cast_mut(), Ordering::Release);
            }
        }
    }

    /// Returns the area of the symmetric heap.
    pub(crate) fn heap_area(&self) -> Area {
        self.heap_area
    }

    /// Returns the memory of the teams.
    pub(crate) fn scratch(&self) -> Area {
        self.scratch
    }

    /// Returns the default context.
    #[inline(always)]
    pub(crate) fn default_context(&self) -> &ContextSlot {
        self.contexts[0].get().expect("made with the library")
    }

    /// Returns the bits, at rank 0, of the symmetric address of `bytes` bytes; `None` if the bytes are not symmetric.
    #[inline(always)]
    pub(crate) fn symmetric(&self, address: usize, bytes: usize) -> Option<u64> {
        let inside = address.wrapping_sub(self.heap_area.start);
        if inside < self.heap_area.bytes && bytes <= self.heap_area.bytes - inside {
            return Some(self.heap_area.bits + inside as u64);
        }
        self.symmetric_static(address, bytes)
    }

    /// Like `symmetric`, for a variable of the executable.
    #[inline]
    fn symmetric_static(&self, address: usize, bytes: usize) -> Option<u64> {
        let found = self.statics.iter().find(|area| {
            let inside = address.wrapping_sub(area.start);
            inside < area.bytes && bytes <= area.bytes - inside
        });
        found.map(|area| area.bits + (address - area.start) as u64)
    }

    /// Returns the address in this process of a static variable of this PE with the given global address.
    pub(crate) fn own_address(&self, at: GlobalAddress) -> Option<usize> {
        let bits = at.bits() - u64::from(self.me) * self.rank_bits;
        let found = self.statics.iter().find(|area| bits.wrapping_sub(area.bits) < area.bytes as u64);
        found.map(|area| area.start + (bits - area.bits) as usize)
    }

    /// Returns the global address at `rank` that corresponds to the address with these bits at rank 0.
    #[inline(always)]
    pub(crate) fn at(&self, bits: u64, rank: u32) -> GlobalAddress {
        GlobalAddress::from_bits(bits + u64::from(rank) * self.rank_bits)
    }

    /// Returns the word of this PE that a wait depends on, as a hint. There is no hint in a simulation: threads of a simulated PE run one at a time, and the
    /// thread that leads the wait waits for all of them.
    pub(crate) fn awaited(&self, word: GlobalAddress) -> Option<GlobalPtr<u8>> {
        GlobalPtr::from_address(word).ok().filter(|_| !self.is_simulated)
    }

    /// Returns the global address at `rank` of `bytes` bytes whose address in this process is `address`, the argument `argument` of `routine`.
    #[inline(always)]
    pub(crate) fn global(&self, routine: &str, argument: &str, address: usize, bytes: usize, rank: u32) -> GlobalAddress {
        match self.symmetric(address, bytes) {
            Some(bits) => self.at(bits, rank),
            None => refuse_address(routine, argument, address, bytes),
        }
    }

    /// Like `global`, for one value, as a pointer.
    #[inline(always)]
    pub(crate) fn pointer<T: Pod>(&self, routine: &str, argument: &str, address: usize, rank: u32) -> GlobalPtr<T> {
        match GlobalPtr::from_address(self.global(routine, argument, address, size_of::<T>(), rank)) {
            Ok(pointer) => pointer,
            Err(_) => refuse_alignment(routine, argument, address, size_of::<T>()),
        }
    }

    /// Returns the rank of a PE, which is numbered in the team of the context.
    #[inline(always)]
    pub(crate) fn rank(&self, routine: &str, context: usize, pe: c_int) -> u32 {
        if context == DEFAULT {
            if (pe as u32) < self.size {
                return pe as u32;
            }
            refuse_pe(routine, pe, self.size)
        }
        self.rank_in_context(routine, context, pe)
    }

    #[inline(never)]
    fn rank_in_context(&self, routine: &str, context: usize, pe: c_int) -> u32 {
        let members = self.teams[self.context(routine, context).team.load(Ordering::Relaxed) as usize].members();
        members.rank(pe).unwrap_or_else(|| refuse_pe(routine, pe, members.size))
    }

    /// Returns the context with a handle. Ends the job if the handle is not valid.
    #[inline(always)]
    pub(crate) fn context(&self, routine: &str, context: usize) -> &ContextSlot {
        if context == DEFAULT {
            return self.default_context();
        }
        match self.find_context(context) {
            Some(slot) => slot,
            None => refuse(routine, &format_args!("{context:#x} is not a context of this PE")),
        }
    }

    /// Returns the context with a handle, if the handle is valid.
    pub(crate) fn find_context(&self, context: usize) -> Option<&ContextSlot> {
        let slot = self.contexts.get(context.wrapping_sub(1))?.get()?;
        slot.is_used.load(Ordering::Acquire).then_some(slot)
    }

    /// Returns the team with a handle, and its index; `None` if the handle is not valid.
    pub(crate) fn find_team(&self, team: usize) -> Option<(usize, &Team)> {
        let index = team.checked_sub(1)?;
        let found = self.teams.get(index)?;
        (found.size.load(Ordering::Acquire) > 0).then_some((index, found))
    }

    /// Returns the team with a handle, and its index. Ends the job if the handle is not valid.
    pub(crate) fn team(&self, routine: &str, team: usize) -> (usize, &Team) {
        match self.find_team(team) {
            Some(found) => found,
            None if team == INVALID => refuse(routine, &"the team is SHMEM_TEAM_INVALID"),
            None => refuse(routine, &format_args!("{team:#x} is not a team of this PE")),
        }
    }

    /// Returns all slots of teams.
    pub(crate) fn teams(&self) -> &[Team] {
        &self.teams
    }

    /// Makes a context of the team at an index, and returns its handle; `None` if there are too many contexts.
    pub(crate) fn make_context(&'static self, team: usize, options: i64) -> Option<usize> {
        let mut factory = monitor::lock(&self.factory);
        let index = (1..CONTEXTS_MAX)
            .find(|&index| self.contexts[index].get().is_none_or(|slot| !slot.is_used.load(Ordering::Relaxed)))?;
        if self.contexts[index].get().is_none() {
            let made = match &mut *factory {
                Some(factory) => factory.context(),
                None => {
                    let default = self.default_context();
                    let first = default.monitor.with(|state| {
                        default.has_deferred.store(state.context.has_deferred(), Ordering::Relaxed);
                        state.others = Some(OtherContexts::new(&self.contexts, 0));
                        state.context.context_factory()
                    });
                    factory.insert(first).context()
                }
            };
            let context: &'static Context = Box::leak(Box::new(made.ok()?));
            let state = ContextState { context, job: None, others: Some(OtherContexts::new(&self.contexts, index)) };
            self.contexts[index].get_or_init(|| ContextSlot::new(state, Some(self.default_context()), self.is_simulated));
        }
        let slot = self.contexts[index].get()?;
        slot.team.store(team as u32, Ordering::Relaxed);
        slot.options.store(options, Ordering::Relaxed);
        slot.is_used.store(true, Ordering::Release);
        Some(index + 1)
    }

    /// Returns the contexts in use, without the default one.
    pub(crate) fn contexts_in_use(&self) -> impl Iterator<Item = &ContextSlot> {
        self.contexts.iter().skip(1).map_while(OnceLock::get).filter(|slot| slot.is_used.load(Ordering::Relaxed))
    }

    /// Returns the contexts in use of the team at an index.
    pub(crate) fn contexts_of(&self, team: usize) -> impl Iterator<Item = &ContextSlot> {
        self.contexts_in_use().filter(move |slot| slot.team() == team)
    }

    /// Records that the program has a pointer to memory of another PE of this host.
    pub(crate) fn note_pointer(&self, rank: u32) {
        let Some(local) = self.reach.ranks().next().map(|first| rank - first.number()) else { return };
        self.pointed[local as usize / 64].fetch_or(1 << (local % 64), Ordering::Relaxed);
        self.has_pointers.store(true, Ordering::Release);
    }

    /// Wakes the PEs to whose memory the program has pointers: it may have stored there, which rings no doorbell.
    #[inline]
    pub(crate) fn announce_stores(&self) {
        if self.has_pointers.load(Ordering::Acquire) {
            self.ring_pointed();
        }
    }

    #[cold]
    #[inline(never)]
    fn ring_pointed(&self) {
        for (bits, first) in self.pointed.iter().zip(self.reach.ranks().step_by(64)) {
            let mut bits = bits.load(Ordering::Relaxed);
            while bits != 0 {
                if let Some(bell) = self.reach.bell(Rank::new(first.number() + bits.trailing_zeros())) {
                    bell.ring();
                }
                bits &= bits - 1;
            }
        }
    }

    /// Whether several threads of a PE of the job may call at once.
    pub(crate) fn has_threads(&self) -> bool {
        self.threads_of_all.load(Ordering::Relaxed) == THREAD_MULTIPLE as u32
    }

    /// Returns the value of `result`, or ends the job if it is an error.
    #[inline]
    pub(crate) fn or_end<R>(&self, routine: &str, result: Result<R>) -> R {
        match result {
            Ok(result) => result,
            Err(error) => self.end(routine, &error),
        }
    }

    #[cold]
    fn end(&self, routine: &str, error: &pelago::Error) -> ! {
        let code = self.default_context().monitor.try_with(|state| state.job.and_then(Job::exit_code)).flatten();
        end(routine, error, code)
    }
}

impl ContextSlot {
    fn new(state: ContextState, default: Option<&'static Self>, is_simulated: bool) -> Self {
        let [busy, has_deferred, session] = [const { AtomicBool::new(false) }; 3];
        let (team, options) = (AtomicU32::new(0), AtomicI64::new(0));
        // SAFETY: A1.
        let monitor = unsafe { Monitor::new(state, is_simulated) };
        Self { monitor, busy, default, has_deferred, is_used: AtomicBool::new(true), team, options, session }
    }

    /// The index of its team.
    pub(crate) fn team(&self) -> usize {
        self.team.load(Ordering::Relaxed) as usize
    }

    /// Issues operations that may still be in flight afterwards.
    pub(crate) fn issue<R>(&self, issue: impl FnOnce(&'static Context) -> R) -> R {
        let (issued, has_deferred) = self.monitor.with(|state| {
            self.busy.store(true, Ordering::Relaxed);
            (issue(state.context), state.others.is_some() && state.context.has_deferred())
        });
        if has_deferred
            && !self.has_deferred.swap(true, Ordering::Relaxed)
            && let Some(default) = self.default
        {
            default.monitor.with(|state| state.advance_others());
        }
        issued
    }

    /// Lets the next wait of this context advance the others. Those of the default context do as soon as another context has deferred operations.
    pub(crate) fn before_wait(&self) {
        if self.default.is_some() {
            self.monitor.with(|state| state.advance_others());
        }
    }

    /// Waits for the operation of a handle, and advances other contexts meanwhile.
    pub(crate) fn wait_for(&self, what: &'static str, handle: &Handle<'_>) -> Result<()> {
        self.before_wait();
        self.monitor.wait(what, |_| Ok(handle.has_ended()?.then_some(())))
    }

    /// Orders the issued operations before later ones, for each target.
    #[inline]
    pub(crate) fn fence(&self) -> Result<()> {
        std::sync::atomic::fence(Ordering::SeqCst);
        if !self.busy.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.monitor.with(|state| state.context.fence())
    }

    /// Waits for the completion of all issued operations, which are visible to all PEs afterwards.
    #[inline]
    pub(crate) fn quiet(&self) -> Result<()> {
        std::sync::atomic::fence(Ordering::SeqCst);
        if !self.busy.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.monitor.with(|state| {
            state.context.quiet()?;
            self.busy.store(false, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Like `quiet`, for the operations to some ranks.
    pub(crate) fn flush(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        std::sync::atomic::fence(Ordering::SeqCst);
        if !self.busy.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.monitor.with(|state| ranks.map(Rank::new).try_for_each(|rank| state.context.flush(rank)))
    }

    /// Ends the session of the context, and marks it as unused.
    pub(crate) fn release(&self) {
        if self.session.swap(false, Ordering::Relaxed) {
            self.monitor.with(|state| state.context.set_batching(false));
        }
        self.is_used.store(false, Ordering::Release);
    }
}

impl Team {
    fn none() -> Self {
        let [start, size, me, contexts] = [const { AtomicU32::new(0) }; 4];
        let [syncs, operations, short_reductions, exchanges, arrivals, parts, results] = [const { AtomicU64::new(0) }; 7];
        let (stride, turn) = (AtomicI64::new(1), Mutex::new(()));
        Self { start, stride, size, me, contexts, syncs, operations, short_reductions, exchanges, arrivals, parts, results, turn }
    }

    /// Sets the members of the team, with this PE at position `me`.
    pub(crate) fn begin(&self, members: Members, me: u32, contexts: u32) {
        self.start.store(members.start, Ordering::Relaxed);
        self.stride.store(members.stride, Ordering::Relaxed);
        self.me.store(me, Ordering::Relaxed);
        self.contexts.store(contexts, Ordering::Relaxed);
        for counter in
            [&self.syncs, &self.operations, &self.short_reductions, &self.exchanges, &self.arrivals, &self.parts, &self.results]
        {
            counter.store(0, Ordering::Relaxed);
        }
        self.size.store(members.size, Ordering::Release);
    }

    /// Returns the members.
    pub(crate) fn members(&self) -> Members {
        Members {
            start: self.start.load(Ordering::Relaxed),
            stride: self.stride.load(Ordering::Relaxed),
            size: self.size.load(Ordering::Relaxed),
        }
    }

    /// Returns the position of this PE.
    pub(crate) fn me(&self) -> u32 {
        self.me.load(Ordering::Relaxed)
    }
}

impl Members {
    /// Returns the rank of the member at a position, if there is one.
    #[inline]
    pub(crate) fn rank(self, position: c_int) -> Option<u32> {
        let position = u32::try_from(position).ok().filter(|&position| position < self.size)?;
        Some(self.rank_at(position))
    }

    /// Like `rank`, for a position that is known to be valid.
    #[inline]
    pub(crate) fn rank_at(self, position: u32) -> u32 {
        (i64::from(self.start) + i64::from(position) * self.stride) as u32
    }

    /// Returns the position of a rank, if it is a member.
    pub(crate) fn position(self, rank: u32) -> Option<u32> {
        let distance = i64::from(rank) - i64::from(self.start);
        if self.size == 1 || self.stride == 0 {
            return (distance == 0).then_some(0);
        }
        let position = distance / self.stride;
        (distance % self.stride == 0 && (0..i64::from(self.size)).contains(&position)).then_some(position as u32)
    }
}

#[cold]
#[inline(never)]
fn refuse_pe(routine: &str, pe: c_int, size: u32) -> ! {
    refuse(routine, &format_args!("PE {pe} does not exist: the team has {size}"))
}

#[cold]
#[inline(never)]
fn refuse_address(routine: &str, argument: &str, address: usize, bytes: usize) -> ! {
    refuse(routine, &format_args!("{argument} {address:#x} ({bytes} bytes) is not symmetric"))
}

#[cold]
#[inline(never)]
fn refuse_alignment(routine: &str, argument: &str, address: usize, bytes: usize) -> ! {
    refuse(routine, &format_args!("{argument} {address:#x} is not a multiple of {bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_positions_and_ranks() {
        let odd = Members { start: 7, stride: -2, size: 4 };
        assert_eq!((0..4).map(|position| odd.rank_at(position)).collect::<Vec<_>>(), [7, 5, 3, 1]);
        assert_eq!([7, 5, 3, 1].map(|rank| odd.position(rank)), [0, 1, 2, 3].map(Some));
        assert_eq!([9, 6, 0].map(|rank| odd.position(rank)), [None; 3]);
        assert_eq!((odd.rank(4), odd.rank(-1), odd.rank(3)), (None, None, Some(1)));
        assert_eq!(Members { start: 3, stride: 0, size: 1 }.position(3), Some(0));
    }
}
