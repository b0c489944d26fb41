//! `pelago sim`: the same executable, with all its ranks on a simulated machine.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};
use pelago_base::Duration;
use pelago_launch::names;
use pelago_netsim::Machine;
use pelago_simulator::{Computing, Data, Protocol, Request, VARIABLE};

use crate::executable::{self, Kind};
use crate::{Refused, bundled, object, overrides, this};

/// Run a program as the ranks of a job on a simulated machine
#[derive(Args)]
#[command(override_usage = "pelago sim -n N --machine MACHINE [OPTIONS] PROGRAM [ARGS…]\n       pelago sim --list")]
#[command(after_help = "\
All ranks are in one process, of which exactly one runs at any time; time is virtual, and computing takes what --compute says.
The same program, machine and seed give the same run, unless computing is measured: then no two runs are quite the same. Exit codes: those of the program; 2 wrong usage.")]
pub(crate) struct Sim {
    /// How many ranks
    #[arg(short = 'n', value_name = "N", allow_negative_numbers = true, required_unless_present = "list")]
    ranks: Option<u32>,
    /// A bundled machine, or the path of a description in TOML
    #[arg(long, value_name = "MACHINE", required_unless_present = "list")]
    machine: Option<String>,
    /// A value of the machine to be another one, as rail.receive.slots=256; may be given several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// How many consecutive ranks share a node
    #[arg(long, value_name = "K", default_value_t = 1, allow_negative_numbers = true)]
    per_node: u32,
    /// What chance depends on, where the machine has any
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The most that a heap of a rank may grow to: bytes, or with K, M, G or T [default: what so many ranks leave]
    #[arg(long, value_name = "BYTES", value_parser = crate::run::bytes)]
    heap: Option<u64>,
    /// The stack of a rank: bytes, or with K or M [default: 256K; 64K for more than 16384 ranks]
    #[arg(long, value_name = "BYTES", value_parser = crate::run::bytes)]
    stack: Option<u64>,
    /// Carry what ranks send by the library's own protocol, over datagrams that may be lost, instead of by the NICs of the machine
    #[arg(long)]
    protocol: bool,
    /// What operations move: real bytes, or sizes, of puts, gets and copies between ranks that are longer than 64 bytes, which is faster and
    /// needs no memory for them; for programs that ask the library (World::moves_data), of the bundled ones alltoall, barrier and ring
    #[arg(long, value_name = "real|sizes", value_parser = data, default_value = "real", hide_default_value = true)]
    data: Data,
    /// What goes wrong with the datagrams: loss=0.1,duplicate=0.01,delay=0.1:50us,partition=4@1ms-2ms,kill=3@2ms,slow=2:10us; also
    /// told=10ms (when others are told of a killed rank), limit=1s (when a silent rank is lost) and encrypt
    #[arg(long, value_name = "LIST")]
    faults: Option<Protocol>,
    /// What computing costs in virtual time: what the program declares, the processor time that it takes here, or nothing
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    compute: Compute,
    /// How many times as long as here computing takes there, where it is measured [default: 1]
    #[arg(long, value_name = "F", allow_negative_numbers = true, value_parser = scale)]
    compute_scale: Option<f64>,
    /// End the job after so many seconds of real time, with what is known until then
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = crate::run::seconds)]
    time_limit: Option<Duration>,
    /// Write what happened to a file: a page that a browser shows if its name ends in .html, else JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a trace for chrome://tracing or Perfetto to a file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// End without the line that says what was simulated
    #[arg(long)]
    quiet: bool,
    /// List the bundled machines
    #[arg(long)]
    list: bool,
    /// A bundled program, a path, or a program in PATH; then its arguments
    #[arg(required_unless_present = "list", trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Compute {
    /// What the program says by world.compute
    #[default]
    Declared,
    /// The processor time of each rank between two calls of the library; never quite the same in two runs
    Measured,
    /// Nothing
    Zero,
}

impl Sim {
    /// Becomes the program, or says why not.
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if self.list {
            Machine::names().for_each(|name| println!("{name}"));
            return Ok(ExitCode::SUCCESS);
        }
        let (program, arguments) = self.command.split_first().expect("clap requires one");
        let request = self.request()?;
        let mut command = match bundled::find(program) {
            Some(bundled) => {
                (bundled.check)(&bundled::texts(arguments)?, request.ranks)
                    .map_err(|why| Refused(format!("{}: {why}", bundled.name)))?;
                let mut command = Command::new(this()?);
                command.arg(bundled::COMMAND).arg(program);
                command
            }
            None => match executable::look(program, !arguments.is_empty())? {
                Kind::Program => Command::new(program),
                Kind::Object => {
                    let mut command = Command::new(this()?);
                    command.arg(object::COMMAND).arg(program);
                    command
                }
            },
        };
        command.args(arguments).env(VARIABLE, request.to_variable()).env_remove(names::RANK);
        let error = command.exec();
        Err(Refused(format!("cannot run {}: {error}; pelago run --list shows the bundled programs", program.display())))
    }

    fn request(&self) -> Result<Request, Refused> {
        let ranks = self.ranks.expect("clap requires it");
        let name = self.machine.as_ref().expect("clap requires it");
        let request = Request {
            machine: overrides::apply(&description(name)?, &self.overrides)?,
            ranks,
            per_node: self.per_node,
            seed: self.seed,
            heap_bytes: self.heap,
            stack_bytes: self.stack,
            data: self.data,
            computing: self.computing()?,
            time_limit_seconds: self.time_limit.map(Duration::as_seconds),
            summary: !self.quiet,
            program: self.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
            protocol: self.faults.as_ref().map(Protocol::to_string).or_else(|| self.protocol.then(String::new)),
            report: self.report.clone(),
            trace: self.trace.clone(),
        };
        for (value, option) in [(ranks, "-n"), (self.per_node, "--per-node")] {
            if value == 0 || value > pelago_base::limits::RANKS_MAX {
                let max = pelago_base::limits::RANKS_MAX;
                return Err(Refused(format!("{option} {value}: a job has 1 to {max} ranks; see pelago sim --help")));
            }
        }
        if request.data == Data::Sizes && request.protocol.is_some() {
            return Err(Refused(
                "--data sizes: the library's own protocol carries bytes; leave out --protocol and --faults".into(),
            ));
        }
        request.settings().map_err(|error| Refused(format!("{name}: {error}")))?;
        Ok(request)
    }

    fn computing(&self) -> Result<Computing, Refused> {
        match (self.compute, self.compute_scale) {
            (Compute::Measured, scale) => Ok(Computing::Measured { scale: scale.unwrap_or(1.0) }),
            (_, Some(_)) => Err(Refused("--compute-scale: only what is measured is scaled; give --compute measured too".into())),
            (Compute::Declared, None) => Ok(Computing::Declared),
            (Compute::Zero, None) => Ok(Computing::Zero),
        }
    }
}

/// What operations move.
fn data(text: &str) -> Result<Data, &'static str> {
    match text {
        "real" => Ok(Data::Real),
        "sizes" => Ok(Data::Sizes),
        _ => Err("real or sizes"),
    }
}

/// The text of a machine's description.
pub(crate) fn description(name: &str) -> Result<String, Refused> {
    if let Some(text) = Machine::bundled(name) {
        return Ok(text.into());
    }
    std::fs::read_to_string(Path::new(name)).map_err(|error| {
        let names: Vec<_> = Machine::names().collect();
        Refused(format!("no machine is called {name}, and no file can be read there ({error}); bundled: {}", names.join(", ")))
    })
}

fn scale(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|scale| (1e-6..=1e6).contains(scale)).ok_or("it is a number from 0.000001 to a million")
}
