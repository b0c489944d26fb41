//! Execution of a Python function as a rank.

use std::mem::{ManuallyDrop, forget};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use pelago::platform::BootstrapError;
use pelago::{Error, processes};
use pyo3::exceptions::{PyRuntimeError, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::fail::{Fail, JobError};
use crate::link::{FORKS, Link};
use crate::rank::{Arenas, Rank};
use crate::world::World;

/// Stack of the thread that runs the function of a simulated rank.
const STACK_BYTES: usize = 4 << 20;

/// Exit codes of a job in which a rank has failed, and of one that has lost a rank.
const RANK_FAILED: i32 = 1;
const RANK_LOST: i32 = 3;

/// Calls `function` with the world of this rank; in a simulation, for each rank with the rank's world, in a thread of its own.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, function: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let is_simulated = processes::ranks().is_ok();
    if IS_IN_JOB.swap(true, Ordering::Relaxed) {
        return Err(PyRuntimeError::new_err("pelago.run is under way in this process already: a process takes part once"));
    }
    let _left = Leaving;
    count_forks(py)?;
    let function = &function;
    let returned =
        py.detach(|| pelago::run(|world| if is_simulated { simulated(world, function) } else { process(world, function) }));
    returned.map_err(|fail| match &fail {
        Fail::Library(error @ Error::Bootstrap(BootstrapError::Start(_))) if may_be_started_by_a_rank() => {
            JobError::new_err(format!("{error}; a process that a rank starts (subprocess, multiprocessing) is no rank"))
        }
        _ => fail.into(),
    })
}

/// Whether this process has the environment of a rank, and has not been one: then a rank may have started it.
fn may_be_started_by_a_rank() -> bool {
    std::env::var_os("PELAGO_RANK").is_some() && !HAS_JOINED.load(Ordering::Relaxed)
}

/// Whether this process has taken part in a job.
static HAS_JOINED: AtomicBool = AtomicBool::new(false);

/// Lets processes count their forks, so that a child does not use the objects of a rank.
fn count_forks(py: Python<'_>) -> PyResult<()> {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if !IS_REGISTERED.load(Ordering::Relaxed) {
        let options = [("after_in_child", wrap_pyfunction!(note_fork, py)?)].into_py_dict(py)?;
        py.import("os")?.call_method("register_at_fork", (), Some(&options))?;
        IS_REGISTERED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

#[pyfunction]
fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Whether this process takes part in a job. It has no second place in it.
static IS_IN_JOB: AtomicBool = AtomicBool::new(false);

/// Lets the process take part in another job when it is dropped.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        IS_IN_JOB.store(false, Ordering::Relaxed);
    }
}

/// Closes a link when it is dropped.
struct Closing<'l>(&'l Link);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn process(world: &pelago::World, function: &Py<PyAny>) -> Result<Py<PyAny>, Fail> {
    HAS_JOINED.store(true, Ordering::Relaxed);
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

/// Ends a process that the function has forked, with the exit code that the interpreter would give: it must not leave the job in the name of the rank.
/// The state of the thread in the interpreter that the child inherits is used without a pause: a thread other than the first cannot attach again.
fn end_child(py: Python<'_>, returned: PyResult<Py<PyAny>>) -> ! {
    let code = match returned {
        Ok(_) => 0,
        Err(raised) => exit_code(py, &raised).unwrap_or_else(|| {
            raised.display(py);
            1
        }),
    };
    flush(py);
    let _does_not_return = py.import("os").and_then(|system| system.call_method1("_exit", (code,)));
    std::process::abort()
}

/// Returns the exit code that a `SystemExit` asks for; `None` for other exceptions, and for a text instead of a code.
fn exit_code(py: Python<'_>, raised: &PyErr) -> Option<i32> {
    let code = raised.is_instance_of::<PySystemExit>(py).then(|| raised.value(py).getattr("code").ok()).flatten()?;
    if code.is_none() { Some(0) } else { code.extract().ok() }
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
    returned.map_err(|raised| Fail::Raised(Python::attach(|py| reported(py, world, raised))))
}

/// Reports a simulated rank that calls `sys.exit`, and gives the job the exit code that the launcher of processes gives it. Otherwise, code 0 of a rank would
/// tell that all ranks have ended well, and other codes would tell of failures of the job.
fn reported(py: Python<'_>, world: &pelago::World, raised: PyErr) -> PyErr {
    // The system keeps only eight bits of an exit code.
    match exit_code(py, &raised).map(|code| code & 0xff) {
        None => raised,
        Some(0) => {
            eprintln!("pelago: rank {} ended with exit code 0 in the middle of the job; the job was ended", world.rank());
            PySystemExit::new_err(RANK_LOST)
        }
        Some(code) => {
            eprintln!("pelago: rank {} failed with exit code {code}; the job was ended", world.rank());
            PySystemExit::new_err(RANK_FAILED)
        }
    }
}

/// Drops the objects of a rank, except those whose drop may wait for other ranks: senders of mailboxes that found no free slot and, after a failure, which
/// ends the other ranks, all objects.
fn end(rank: Rank<'_, '_>, is_good: bool) {
    if is_good { forget(rank.mailboxes) } else { forget(rank) }
}

/// Calls the function, and flushes its output: a process that ends because of another rank does not flush.
fn call(py: Python<'_>, function: &Py<PyAny>, link: &Arc<Link>) -> PyResult<Py<PyAny>> {
    let world = py.import("pelago._world")?.getattr("World")?.call1((World::new(link.clone()),))?;
    let rank = std::process::id();
    let returned = function.call1(py, (world,));
    if std::process::id() != rank {
        end_child(py, returned);
    }
    flush(py);
    returned
}

/// Flushes the standard streams. Errors are ignored: the program may have closed or replaced a stream.
fn flush(py: Python<'_>) {
    let Ok(system) = py.import("sys") else { return };
    for stream in ["stdout", "stderr"] {
        let _ = system.getattr(stream).and_then(|stream| stream.call_method0("flush"));
    }
}
