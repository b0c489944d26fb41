//! What to simulate.

use std::sync::Arc;

use pelago_base::Sample;
use pelago_netsim::Machine;
use serde::{Deserialize, Serialize};

use crate::costs::computing::Computing;
use crate::protocol::settings::Protocol;
use crate::ranks::status::SimulationControl;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine.
    pub machine: Machine,
    /// How many ranks, at least one.
    pub ranks: u32,
    /// How many consecutive ranks share a node.
    pub per_node: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Bytes of each heap of a rank; only touched pages exist.
    pub heap_bytes: u64,
    /// Bytes of the stack of a rank, with its guard; only touched pages exist.
    pub stack_bytes: usize,
    /// Whether the ranks of [`simulate`](crate::simulate) run on one stack, by turns. What a rank has on it while others run is in its own
    /// memory, so that a rank needs less of that; a switch to another rank copies what both have on their stacks. Without effect where the library's
    /// own protocol is simulated. No rank may follow a pointer into the stack of another.
    pub shared_stack: bool,
    /// The library's own protocol, if it is to carry what ranks send, over datagrams that may be lost. Without it the NICs of the machine
    /// put, get and work on words by themselves.
    pub protocol: Option<Protocol>,
    /// What operations move.
    pub data: Data,
    /// What computing costs in virtual time.
    pub computing: Computing,
    /// What a report has, if one is wanted.
    pub report: Option<ReportSettings>,
    /// By which another thread observes the simulation and ends it.
    pub watch: Arc<SimulationControl>,
}

/// What a report has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportSettings {
    /// What it calls the program.
    pub program: String,
    /// The part of the job that is in its time line. Everything else covers the whole job.
    pub sample: Sample,
}

impl ReportSettings {
    /// Of the whole job, for a program that is called so.
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
    /// Of puts, gets and copies between ranks that are longer than 64 bytes only the size: they take as long, and the memory of both ends
    /// stays as it is. For programs that neither check nor compute with what they are sent; see `World::moves_data` in `pelago-rma`. The
    /// library's own protocol carries bytes, so that the two exclude each other.
    Sizes,
}
