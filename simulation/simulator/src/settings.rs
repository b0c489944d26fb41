//! The settings of a simulation.

use std::sync::Arc;

use pelago_base::Sample;
use pelago_netsim::Machine;
use serde::{Deserialize, Serialize};

use crate::costs::computing::Computing;
use crate::protocol::settings::Protocol;
use crate::ranks::status::SimulationControl;

/// The settings of a simulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine.
    pub machine: Machine,
    /// Number of ranks, at least one.
    pub ranks: u32,
    /// Number of consecutive ranks that share a node.
    pub per_node: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Bytes of each heap of a rank; only touched pages exist.
    pub heap_bytes: u64,
    /// Bytes of the stack of a rank, including its guard; only touched pages exist.
    pub stack_bytes: usize,
    /// Whether the ranks of [`simulate`](crate::simulate) take turns on one stack. While others run, the frames of a rank are saved in its own
    /// memory, so that a rank needs less memory; a switch to another rank copies the frames of both. Without effect if the library's own
    /// protocol is simulated. No rank may follow a pointer into the stack of another.
    pub shared_stack: bool,
    /// The library's own protocol, if it carries the operations of ranks, over datagrams that may be lost. Without it the NICs of the machine
    /// perform puts, gets and atomics.
    pub protocol: Option<Protocol>,
    /// What operations move.
    pub data: Data,
    /// How computing advances virtual time.
    pub computing: Computing,
    /// Number of threads that simulate the network, the one of the ranks included; 0 and 1 are the same. Results do not depend on it.
    pub threads: u32,
    /// The settings of the report, if one is requested.
    pub report: Option<ReportSettings>,
    /// Through which another thread observes the simulation and ends it.
    pub watch: Arc<SimulationControl>,
}

/// The settings of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportSettings {
    /// The name of the program.
    pub program: String,
    /// The part of the job that its time line shows. Everything else covers the whole job.
    pub sample: Sample,
}

impl ReportSettings {
    /// Makes the settings of a report on the whole job, with the name `program`.
    pub fn of(program: &str) -> Self {
        Self { program: program.into(), sample: Sample::ALL }
    }
}

/// What operations move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Their bytes.
    #[default]
    Real,
    /// Only the sizes of puts, gets and copies between ranks that are longer than 64 bytes: they take as long, and the memory of both ends
    /// stays unchanged. For programs that neither check received data nor compute with it; see `World::moves_data` in `pelago-rma`. The
    /// library's own protocol carries bytes, so that the two exclude each other.
    Sizes,
}
