//! Reports a simulated rank that ends the process, for example by `std::process::exit`: the other ranks end with it, and its exit code may be 0.
//!
//! The C library drops the thread-local values of the thread that ends the process (glibc does, musl does not); the code that the rank passed is unknown
//! there.

use std::cell::RefCell;
use std::io::{Write, stderr};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use pelago_platform::Fault;
use pelago_simulator::SimulationControl;
use signal_hook::low_level::exit;

use crate::exit_code::exit_code;

thread_local! {
    /// The simulation that this thread runs.
    static RUNNING: RunningSimulation = const { RunningSimulation(RefCell::new(None)) };
}

struct RunningSimulation(RefCell<Option<Arc<SimulationControl>>>);

/// While this value lives, a rank that ends the process is reported.
pub(crate) struct DepartureWatch {
    /// The value belongs to the thread of the simulation.
    of_this_thread: PhantomData<Rc<()>>,
}

impl DepartureWatch {
    pub(crate) fn new(simulation: Arc<SimulationControl>) -> Self {
        RUNNING.with(|running| running.0.replace(Some(simulation)));
        Self { of_this_thread: PhantomData }
    }
}

impl Drop for DepartureWatch {
    fn drop(&mut self) {
        RUNNING.with(|running| running.0.take());
    }
}

impl Drop for RunningSimulation {
    fn drop(&mut self) {
        let running = self.0.get_mut().take().and_then(|simulation| simulation.snapshot()?.running);
        let Some(rank) = running else { return };
        // A panic in this function would abort the process.
        let _ = writeln!(stderr(), "pelago: rank {rank} ended the process in the middle of the job; the job was ended");
        exit(exit_code(Fault::PeerLost(rank)))
    }
}
