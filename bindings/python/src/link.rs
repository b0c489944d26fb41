//! Access of a Python object to its rank, which belongs to one thread.
//!
//! - **Y1** The pointer of a [`Gate::Process`] refers to a rank on the stack of `run`, in the thread that owns the link. It is set to null before that rank is
//!   dropped, and only the owner reads it. The lifetimes of the rank are erased; every use is valid for any lifetimes.
//! - **Y2** Work that is passed to a [`Counter`] borrows from the stack of a thread that waits until the rank has executed or abandoned the work.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use pelago::World;
use pelago::platform::Reach;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::fail::Fail;
use crate::rank::{Garbage, Rank};

/// Number of forks on the way from the first process that called `run` to this one. A link with another number belongs to a parent of this process.
pub(crate) static FORKS: AtomicU32 = AtomicU32::new(0);

/// A function that is executed with a rank.
type Work<'f> = dyn FnMut(&Rank<'_, '_>) + Send + 'f;

/// The connection of every Python object to its rank.
pub(crate) struct Link {
    owner: OnceLock<ThreadId>,
    /// [`FORKS`] in the process that owns the link.
    forks: u32,
    gate: Gate,
    garbage: Mutex<Vec<Garbage>>,
    /// Keeps the memory of the job mapped for NumPy arrays that outlive it.
    _reach: Reach,
    pub(crate) rank: u32,
    pub(crate) size: u32,
}

enum Gate {
    /// The rank is this process.
    Process { rank: AtomicPtr<()>, is_inside: AtomicBool },
    /// The rank is simulated by another thread.
    Simulated(Counter),
}

impl Link {
    /// Returns a link to `rank`, owned by the calling thread.
    pub(crate) fn to_process(rank: &Rank<'_, '_>) -> Arc<Self> {
        let pointer = std::ptr::from_ref(rank).cast_mut().cast();
        let link = Self::new(rank.world, Gate::Process { rank: AtomicPtr::new(pointer), is_inside: AtomicBool::new(false) });
        let _only_one = link.owner.set(thread::current().id());
        Arc::new(link)
    }

    /// Returns a link to a simulated rank. The thread that calls [`own`](Self::own) owns it.
    pub(crate) fn to_simulated(world: &World) -> Arc<Self> {
        Arc::new(Self::new(world, Gate::Simulated(Counter::default())))
    }

    fn new(world: &World, gate: Gate) -> Self {
        let (rank, size, reach) = (world.rank().number(), world.size(), world.reach().clone());
        let forks = FORKS.load(Ordering::Relaxed);
        Self { owner: OnceLock::new(), forks, gate, garbage: Mutex::default(), _reach: reach, rank, size }
    }

    /// Makes the calling thread the owner of the link.
    pub(crate) fn own(&self) {
        let _only_one = self.owner.set(thread::current().id());
    }

    /// Closes the link: the rank is not accessible any more.
    pub(crate) fn close(&self) {
        match &self.gate {
            Gate::Process { rank, .. } => rank.store(null_mut(), Ordering::Release),
            Gate::Simulated(counter) => counter.set(Turn::Closed),
        }
    }

    /// Executes the work that the rank's Python thread passes, until that thread closes the link. Called by the simulating thread.
    pub(crate) fn serve(&self, rank: &Rank<'_, '_>) {
        if let Gate::Simulated(counter) = &self.gate {
            counter.serve(rank);
        }
    }

    /// Marks an object of the rank for removal. Any thread may call it.
    pub(crate) fn discard(&self, garbage: Garbage) {
        lock(&self.garbage).push(garbage);
    }

    /// Calls `work` with the rank. Other threads of Python can run during the call.
    ///
    /// # Errors
    /// The job has ended; the calling thread or process is not the owner; the errors of `work`.
    pub(crate) fn call<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Rank<'_, '_>) -> Result<R, Fail> + Send,
    ) -> Result<R, Fail> {
        // The thread that has forked has the number of the owner.
        if self.forks != FORKS.load(Ordering::Relaxed) {
            return Err(Fail::ForeignProcess);
        }
        if self.owner.get() != Some(&thread::current().id()) {
            return Err(Fail::ForeignThread);
        }
        let (mut work, mut result) = (Some(work), None);
        let mut whole = |rank: &Rank<'_, '_>| {
            let garbage = std::mem::take(&mut *lock(&self.garbage));
            garbage.into_iter().for_each(|garbage| rank.remove(garbage));
            result = work.take().map(|work| work(rank));
        };
        match &self.gate {
            Gate::Process { rank, is_inside } => {
                if is_inside.swap(true, Ordering::Relaxed) {
                    return Err(Fail::Reentered);
                }
                let _inside = Inside(is_inside);
                py.detach(|| {
                    let pointer = rank.load(Ordering::Acquire).cast::<Rank<'_, '_>>();
                    // SAFETY: Y1: this is the owner.
                    if let Some(rank) = unsafe { pointer.as_ref() } {
                        whole(rank);
                    }
                });
            }
            Gate::Simulated(counter) => py.detach(|| counter.ask(&mut whole)),
        }
        result.unwrap_or(Err(Fail::Ended))
    }
}

/// The number of a rank or member, as an argument of a call.
#[derive(Clone, Copy)]
pub(crate) struct RankNumber(pub(crate) u32);

impl<'py> FromPyObject<'_, 'py> for RankNumber {
    type Error = PyErr;

    fn extract(number: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let extracted = number.extract::<u32>().map(Self);
        extracted.map_err(|error| match error.is_instance_of::<PyOverflowError>(number.py()) {
            true => Fail::Index(format!("there is no rank {}", &*number)).into(),
            false => error,
        })
    }
}

/// Checks that there is such a rank.
pub(crate) fn check_rank(link: &Link, rank: u32) -> Result<(), Fail> {
    if rank < link.size { Ok(()) } else { Err(Fail::Index(format!("rank {rank} of a job of {} ranks", link.size))) }
}

/// Marks the thread as inside the library, until it is dropped.
struct Inside<'l>(&'l AtomicBool);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Hand-over of work from the Python thread of a simulated rank, which waits for its completion.
#[derive(Default)]
struct Counter {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
enum Turn {
    /// The program of the rank computes.
    #[default]
    Program,
    /// The rank executes this work.
    Rank(Handed),
    /// One of the two threads has ended: no further work is passed or executed.
    Closed,
}

#[derive(Clone, Copy)]
struct Handed(*mut Work<'static>);

// SAFETY: Y2: the work is `Send`, and one thread uses it at a time.
unsafe impl Send for Handed {}

impl Counter {
    fn set(&self, turn: Turn) {
        *lock(&self.turn) = turn;
        self.changed.notify_all();
    }

    /// Passes work to the rank and waits until it is executed.
    fn ask(&self, work: &mut Work<'_>) {
        let pointer: *mut Work<'_> = work;
        // SAFETY: Y2: the pointer is not used after this function has returned; the cast changes only the lifetime.
        let handed = Handed(unsafe { std::mem::transmute::<*mut Work<'_>, *mut Work<'static>>(pointer) });
        let mut turn = lock(&self.turn);
        if matches!(*turn, Turn::Closed) {
            return;
        }
        *turn = Turn::Rank(handed);
        self.changed.notify_all();
        while matches!(*turn, Turn::Rank(_)) {
            turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn serve(&self, rank: &Rank<'_, '_>) {
        // If the rank ends early, it abandons the work that was passed to it.
        struct LetGo<'c>(&'c Counter);
        impl Drop for LetGo<'_> {
            fn drop(&mut self) {
                self.0.set(Turn::Closed);
            }
        }
        let let_go = LetGo(self);
        loop {
            let mut turn = lock(&self.turn);
            let handed = loop {
                match *turn {
                    Turn::Program => turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner),
                    Turn::Rank(handed) => break Some(handed),
                    Turn::Closed => break None,
                }
            };
            drop(turn);
            let Some(Handed(work)) = handed else { break };
            // SAFETY: Y2: the thread that passed the work waits.
            unsafe { (*work)(rank) };
            self.set(Turn::Program);
        }
        drop(let_go);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
