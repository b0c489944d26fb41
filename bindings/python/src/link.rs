//! From a Python object to its rank, which belongs to one thread.
//!
//! - **Y1** The pointer of a [`Gate::Process`] leads to a rank on the stack of `run`, in the thread that owns the link; it is taken away before that rank is
//!   dropped, and read by the owner alone. Lifetimes of a rank are erased, and every use is for any lifetimes.
//! - **Y2** Work that is handed to a [`Counter`] borrows from the stack of a thread that waits until the rank has done it, or has let go of it.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use pelago::World;
use pelago::platform::Reach;
use pyo3::prelude::*;

use crate::fail::Fail;
use crate::rank::{Garbage, Rank};

/// What is done with a rank.
type Work<'f> = dyn FnMut(&Rank<'_, '_>) + Send + 'f;

/// What every object of a rank knows of it.
pub(crate) struct Link {
    owner: OnceLock<ThreadId>,
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
    /// The way to `rank`, for the calling thread.
    pub(crate) fn to_process(rank: &Rank<'_, '_>) -> Arc<Self> {
        let pointer = std::ptr::from_ref(rank).cast_mut().cast();
        let link = Self::new(rank.world, Gate::Process { rank: AtomicPtr::new(pointer), is_inside: AtomicBool::new(false) });
        let _only_one = link.owner.set(thread::current().id());
        Arc::new(link)
    }

    /// The way to a simulated rank, for the thread that says that it is [the owner](Self::own).
    pub(crate) fn to_simulated(world: &World) -> Arc<Self> {
        Arc::new(Self::new(world, Gate::Simulated(Counter::default())))
    }

    fn new(world: &World, gate: Gate) -> Self {
        let (rank, size, reach) = (world.rank().number(), world.size(), world.reach().clone());
        Self { owner: OnceLock::new(), gate, garbage: Mutex::default(), _reach: reach, rank, size }
    }

    /// The calling thread is the rank's.
    pub(crate) fn own(&self) {
        let _only_one = self.owner.set(thread::current().id());
    }

    /// Nothing reaches the rank any more.
    pub(crate) fn close(&self) {
        match &self.gate {
            Gate::Process { rank, .. } => rank.store(null_mut(), Ordering::Release),
            Gate::Simulated(counter) => counter.set(Turn::Closed),
        }
    }

    /// Lets the rank do what its thread asks for, until the link is closed from there. For the thread that simulates.
    pub(crate) fn serve(&self, rank: &Rank<'_, '_>) {
        if let Gate::Simulated(counter) = &self.gate {
            counter.serve(rank);
        }
    }

    /// The rank's object is not needed any more; from any thread.
    pub(crate) fn discard(&self, garbage: Garbage) {
        lock(&self.garbage).push(garbage);
    }

    /// Does something with the rank; other threads of Python run meanwhile.
    ///
    /// # Errors
    /// The job has ended; the calling thread is another; those of `work`.
    pub(crate) fn call<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Rank<'_, '_>) -> Result<R, Fail> + Send,
    ) -> Result<R, Fail> {
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

/// There is such a rank.
pub(crate) fn check_rank(link: &Link, rank: u32) -> Result<(), Fail> {
    if rank < link.size { Ok(()) } else { Err(Fail::Index(format!("rank {rank} of a job of {} ranks", link.size))) }
}

/// The thread is inside the library.
struct Inside<'l>(&'l AtomicBool);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Where the thread of a simulated rank hands work over, and waits for it.
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
    /// The rank is to do this.
    Rank(Handed),
    /// Nobody asks any more, or nobody does anything.
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

    /// Has the rank do something.
    fn ask(&self, work: &mut Work<'_>) {
        let pointer: *mut Work<'_> = work;
        // SAFETY: Y2: nobody uses the pointer when this function has returned; only its lifetime is another.
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
        // A rank that does not go on lets go of what it was to do.
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
            // SAFETY: Y2: its thread waits.
            unsafe { (*work)(rank) };
            self.set(Turn::Program);
        }
        drop(let_go);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
