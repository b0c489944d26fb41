//! Execution of a Python function as a rank.

use std::mem::{ManuallyDrop, forget};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::Builder;

use pelago::{Error, processes};
use pyo3::prelude::*;

use crate::fail::Fail;
use crate::link::Link;
use crate::rank::{Arenas, Rank};
use crate::world::World;

/// Stack of the thread that runs the function of a simulated rank.
const STACK_BYTES: usize = 4 << 20;

/// Calls `function` with the world of this rank; in a simulation, for each rank with the rank's world, in a thread of its own.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, function: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let is_simulated = processes::ranks().is_ok();
    let function = &function;
    let returned =
        py.detach(|| pelago::run(|world| if is_simulated { simulated(world, function) } else { process(world, function) }));
    Ok(returned?)
}

/// Closes a link when it is dropped.
struct Closing<'l>(&'l Link);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn process(world: &pelago::World, function: &Py<PyAny>) -> Result<Py<PyAny>, Fail> {
    let arenas = ManuallyDrop::new(Arenas::default());
    let rank = Rank::new(world, &arenas, true);
    let link = Link::to_process(&rank);
    let closing = Closing(&link);
    let returned = Python::attach(|py| call(py, function, &link));
    drop(closing);
    end(rank, returned.is_ok());
    if returned.is_ok() {
        drop(ManuallyDrop::into_inner(arenas));
    }
    returned.map_err(Fail::Raised)
}

fn simulated(world: &pelago::World, function: &Py<PyAny>) -> Result<Py<PyAny>, Fail> {
    let arenas = ManuallyDrop::new(Arenas::default());
    let rank = Rank::new(world, &arenas, false);
    let link = Link::to_simulated(world);
    let (function, linked) = (Python::attach(|py| function.clone_ref(py)), link.clone());
    let program = move || {
        linked.own();
        let closing = Closing(&linked);
        let returned = Python::attach(|py| call(py, &function, &linked));
        drop(closing);
        Python::attach(|_| drop(function));
        returned
    };
    let name = format!("rank {}", world.rank());
    let started = Builder::new().name(name).stack_size(STACK_BYTES).spawn(program);
    let thread = started.map_err(|_| Error::Unsupported("the system has no thread for another rank: simulate fewer"))?;
    link.serve(&rank);
    let returned = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    end(rank, returned.is_ok());
    if returned.is_ok() {
        drop(ManuallyDrop::into_inner(arenas));
    }
    returned.map_err(Fail::Raised)
}

/// Drops the objects of a rank, except those whose drop may wait for other ranks: senders of mailboxes that found no free slot and, after a failure, which
/// ends the other ranks, all objects.
fn end(rank: Rank<'_, '_>, is_good: bool) {
    if is_good { forget(rank.mailboxes) } else { forget(rank) }
}

/// Calls the function, and flushes its output: a process that ends because of another rank does not flush.
fn call(py: Python<'_>, function: &Py<PyAny>, link: &Arc<Link>) -> PyResult<Py<PyAny>> {
    let world = py.import("pelago._world")?.getattr("World")?.call1((World::new(link.clone()),))?;
    let returned = function.call1(py, (world,));
    let system = py.import("sys")?;
    for stream in ["stdout", "stderr"] {
        // Errors are ignored: the program may have closed or replaced the stream.
        let _ = system.getattr(stream).and_then(|stream| stream.call_method0("flush"));
    }
    returned
}
