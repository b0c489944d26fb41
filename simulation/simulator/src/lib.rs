//! The ranks of a job as coroutines of one process, on a simulated machine in virtual time.
//!
//! | part | for |
//! |---|---|
//! | [`simulate`] | runs the body of every rank, and the network between them, to the end |
//! | [`simulate_processes`] | the same for ranks that are written as processes: each may end anywhere, and a hook runs before it continues |
//! | `settings`, `request`, `error` | the settings of a simulation; the same as an environment variable; why a simulation cannot begin |
//! | `summary` | the results of a completed simulation, as one line of JSON |
//! | `run` | the main loop: ranks and events alternate until all ranks have ended |
//! | `platform` | the platform as a rank sees it: `Transport`, `Clock`, `Wait`, `VirtualTime`, `Bootstrap` |
//! | `job` | the state of the job, and the handling of each event |
//! | `operations` | operations and messages in flight, as data |
//! | `costs` | times besides those of the network: computing, progress threads, intra-node memory |
//! | `protocol` | the library's own protocol over the simulated network, and the faults that are injected there |
//! | `memory` | the heaps and stacks of all ranks, of which only used pages exist |
//! | `shared_stack` | one stack for all ranks of a large job |
//! | `timer` | deadlines, whose events stay in the queue of the network |
//! | `ranks` | a rank as a coroutine: fiber, stack, status, crash handler |
//!
//! Imports between these parts point one way; a test of the workspace checks that (`tests/tests/tidy.rs`).
//!
//! Exactly one rank runs at any time, and virtual time does not advance meanwhile: it advances from one event to the next, in an order that
//! the events alone determine. The same program, machine and seed give the same events.
//!
//! Absent on purpose: the times of network operations (`pelago-netsim` has them), and the computation of a program.

mod costs;
mod error;
mod job;
mod memory;
mod operations;
mod platform;
mod protocol;
mod ranks;
mod request;
mod run;
mod settings;
mod shared_stack;
mod summary;
mod timer;

pub use crate::costs::computing::Computing;
pub use crate::error::SimulationError;
pub use crate::job::WaitReason;
pub use crate::protocol::faults::{FaultError, FaultInjection, Partition};
pub use crate::protocol::settings::{Protocol, ProtocolError};
pub use crate::ranks::status::{SimulationControl, SimulationSnapshot};
pub use crate::request::{RequestError, SimulationRequest, Summary, VARIABLE};
pub use crate::run::{
    Processes, SimulationOutcome, VIRTUAL_TIME_MAX, begin_thread, disturbances, end_process, end_thread, ends, is_unwinding,
    simulate, simulate_processes, thread,
};
pub use crate::settings::{Data, ReportSettings, Settings};
pub use crate::summary::SimulationSummary;
