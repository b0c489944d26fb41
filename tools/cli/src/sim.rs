//! `pelago sim`: the same executable, with all its ranks on a simulated machine.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use pelago_launch::names;
use pelago_netsim::Machine;
use pelago_simulator::{Protocol, Request, VARIABLE};

use crate::{Refused, bundled, this};

/// Run a program as the ranks of a job on a simulated machine
#[derive(Args)]
#[command(override_usage = "pelago sim -n N --machine MACHINE [OPTIONS] PROGRAM [ARGS…]\n       pelago sim --list")]
#[command(after_help = "\
All ranks are in one process, of which exactly one runs at any time; time is virtual, and computing takes none unless the program says so.
The same program, machine and seed give the same run. Exit codes: those of the program; 2 wrong usage.")]
pub(crate) struct Sim {
    /// How many ranks
    #[arg(short = 'n', value_name = "N", allow_negative_numbers = true, required_unless_present = "list")]
    ranks: Option<u32>,
    /// A bundled machine, or the path of a description in TOML
    #[arg(long, value_name = "MACHINE", required_unless_present = "list")]
    machine: Option<String>,
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
    /// What goes wrong with the datagrams: loss=0.1,duplicate=0.01,delay=0.1:50us,partition=4@1ms-2ms,kill=3@2ms,slow=2:10us; also
    /// told=10ms (when others are told of a killed rank), limit=1s (when a silent rank is lost) and encrypt
    #[arg(long, value_name = "LIST")]
    faults: Option<Protocol>,
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
            None => Command::new(program),
        };
        command.args(arguments).env(VARIABLE, request.to_variable()).env_remove(names::RANK);
        let error = command.exec();
        Err(Refused(format!("cannot run {}: {error}; pelago run --list shows the bundled programs", program.display())))
    }

    fn request(&self) -> Result<Request, Refused> {
        let ranks = self.ranks.expect("clap requires it");
        let name = self.machine.as_ref().expect("clap requires it");
        let request = Request {
            machine: description(name)?,
            ranks,
            per_node: self.per_node,
            seed: self.seed,
            heap_bytes: self.heap,
            stack_bytes: self.stack,
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
        request.settings().map_err(|error| Refused(format!("{name}: {error}")))?;
        Ok(request)
    }
}

/// The text of a machine's description.
fn description(name: &str) -> Result<String, Refused> {
    if let Some(text) = Machine::bundled(name) {
        return Ok(text.into());
    }
    std::fs::read_to_string(Path::new(name)).map_err(|error| {
        let names: Vec<_> = Machine::names().collect();
        Refused(format!("no machine is called {name}, and no file can be read there ({error}); bundled: {}", names.join(", ")))
    })
}
