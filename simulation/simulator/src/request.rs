//! The environment variable by which `pelago sim` requests that a program simulate its ranks.

use std::path::PathBuf;
use std::sync::Arc;

use pelago_base::SampleError;
use pelago_netsim::{Machine, MachineError};
use serde::{Deserialize, Serialize};

use crate::costs::computing::Computing;
use crate::protocol::settings::{Protocol, ProtocolError};
use crate::settings::{Data, ReportSettings, Settings};

/// The name of the variable.
pub const VARIABLE: &str = "PELAGO_SIM";

/// The settings of a simulation, as text. Paths are absolute or relative to the working directory of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationRequest {
    /// The machine, in TOML.
    pub machine: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of consecutive ranks that share a node.
    pub per_node: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Bytes of each heap of a rank; `None` for a default that depends on the number of ranks.
    pub heap_bytes: Option<u64>,
    /// Bytes of the stack of a rank; `None` for a default that depends on the number of ranks.
    pub stack_bytes: Option<u64>,
    /// The settings of the library's own protocol, as text; `None` if it does not carry the operations.
    pub protocol: Option<String>,
    /// What operations move.
    pub data: Data,
    /// How computing advances virtual time.
    pub computing: Computing,
    /// Number of threads that simulate the network.
    #[serde(default)]
    pub threads: u32,
    /// The limit in seconds of real time after which the job is ended.
    pub time_limit_seconds: Option<f64>,
    /// The line on standard error at the end.
    pub summary: Summary,
    /// Whether the process shows the progress of the simulation on standard error.
    pub progress: bool,
    /// The name of the program in a report.
    pub program: String,
    /// The file for a report: a page if its name ends in `.html`, else JSON.
    pub report: Option<PathBuf>,
    /// The file for a trace, in the format of Chrome and Perfetto.
    pub trace: Option<PathBuf>,
    /// The part of the job that the time line of the report and the trace show.
    #[serde(default)]
    pub sample: Option<String>,
}

/// The form of the line on standard error at the end of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Summary {
    /// No line.
    None,
    /// A sentence.
    #[default]
    Text,
    /// A [`SimulationSummary`](crate::SimulationSummary) as JSON.
    Json,
}

/// The variable does not hold a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It is not a request.
    #[error("the environment variable {VARIABLE} does not describe a simulation of pelago sim: {0}")]
    Malformed(String),
    /// Its machine is invalid.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Its sample is invalid.
    #[error("sample: {0}")]
    Sample(#[from] SampleError),
    /// Its protocol settings are invalid.
    #[error(transparent)]
    Protocol(ProtocolError),
}

/// Virtual memory for the heaps of all ranks, small enough to keep their page tables small.
const HEAPS_BYTES: u64 = 64 << 30;

/// Minimum heap size in bytes: the scratch memory of a job of maximum size.
const HEAP_BYTES_MIN: u64 = 512 << 10;
/// Maximum default heap size in bytes.
const HEAP_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of ranks with large separate stacks. More ranks share one small stack, which also keeps their page tables small.
const LARGE_STACKS_MAX: u32 = 16_384;
const LARGE_STACK_BYTES: usize = 256 << 10;
const SMALL_STACK_BYTES: usize = 64 << 10;

impl SimulationRequest {
    /// Reads the request from the environment of this process; `None` if it requests no simulation.
    ///
    /// # Errors
    /// The variable does not hold a request.
    pub fn from_environment() -> Result<Option<Self>, RequestError> {
        let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
        let malformed = |why: &dyn std::fmt::Display| RequestError::Malformed(why.to_string());
        let text = text.to_str().ok_or_else(|| malformed(&"it is not UTF-8"))?;
        serde_json::from_str(text).map(Some).map_err(|error| malformed(&error))
    }

    /// Returns the value of the variable.
    pub fn to_variable(&self) -> String {
        serde_json::to_string(self).expect("numbers and text have a JSON form")
    }

    /// Returns the settings of the simulation.
    ///
    /// # Errors
    /// The machine, the protocol or the sample is invalid.
    pub fn settings(&self) -> Result<Settings, RequestError> {
        let heap_bytes = (HEAPS_BYTES / 2 / u64::from(self.ranks.max(1))).clamp(HEAP_BYTES_MIN, HEAP_BYTES_MAX);
        let stack_bytes = if self.ranks > LARGE_STACKS_MAX { SMALL_STACK_BYTES } else { LARGE_STACK_BYTES };
        let machine = Machine::parse(&self.machine)?;
        let protocol = self.protocol.as_deref().map(str::parse).transpose().map_err(RequestError::Protocol)?;
        let sample = self.sample.as_deref().map(str::parse).transpose()?;
        // A machine that describes datagrams describes those of the protocol.
        let protocol = protocol.or_else(|| machine.datagrams().map(|_| Protocol::default()));
        Ok(Settings {
            machine,
            ranks: self.ranks,
            per_node: self.per_node,
            seed: self.seed,
            heap_bytes: self.heap_bytes.unwrap_or(1 << heap_bytes.ilog2()),
            stack_bytes: self.stack_bytes.map_or(stack_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            shared_stack: self.ranks > LARGE_STACKS_MAX,
            protocol,
            data: self.data,
            computing: self.computing,
            threads: self.threads,
            watch: Arc::default(),
            report: (self.report.is_some() || self.trace.is_some())
                .then(|| ReportSettings { program: self.program.clone(), sample: sample.unwrap_or_default() }),
        })
    }
}
