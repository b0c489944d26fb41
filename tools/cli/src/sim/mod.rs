//! `pelago sim`: runs an unchanged executable with all its ranks on a simulated machine.

mod executable;
pub(crate) mod overrides;
mod quantity;
pub(crate) mod shared_object;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};
use pelago_base::{Duration, Sample};
use pelago_launch::launcher::LaunchError;
use pelago_launch::names;
use pelago_netsim::{Machine, Netsim};
use pelago_simulator::{Computing, Data, Protocol, SimulationRequest, Summary, VARIABLE};
use rustix::process::Signal;

use crate::sim::executable::{ARCHIVE_VARIABLE, Kind};
use crate::{Refused, bundled, end_with, inputs, outputs, run, this};

/// Maximum length of a machine description: far more than a program can receive.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 20;

/// Maximum length of a request: Linux limits an environment variable, including its name, to 128 KiB.
const REQUEST_BYTES_MAX: usize = (128 << 10) - 64;

/// Run a parallel program on a simulated machine, in virtual time
#[derive(Args)]
#[command(
    override_usage = "pelago sim -n N --machine MACHINE [OPTIONS] PROGRAM [ARGS…]\n       pelago sim --list\n       pelago sim --describe --machine MACHINE"
)]
#[command(after_help = "\
All ranks run in one process, one at any time, in virtual time. The same program, machine and seed give the same run, except with --compute
measured, where the time of computing varies from run to run.

Units of --set: without one, a value is in the unit that its key names. Times: ps, ns, us, ms, s. Rates: b/s, kb/s, Mb/s, Gb/s, Tb/s (bits);
B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s (bytes). Sizes: B, kB, MB, GB, KiB, MiB, GiB; K, M and G are KiB, MiB and GiB.

Exit codes, as of pelago run: 0 success; 1 the program failed; 2 wrong usage; 3 a rank failed or crashed; 4 time limit; 130 interrupted (143: by
SIGTERM); 141 the reader of the output ended. A rank of a Rust program that calls exit ends the job with exit code 3, whatever
code it passed; a C program that exits with a code other than 0 ends it with 1. Otherwise the exit code is the one that main returns (1 for an error).")]
#[expect(clippy::struct_excessive_bools, reason = "options of a command line, each for itself")]
pub(crate) struct Sim {
    /// Number of ranks; also -np N
    #[arg(short = 'n', alias = "np", value_name = "N", allow_negative_numbers = true, required_unless_present_any = ["list", "describe"])]
    ranks: Option<u32>,
    /// Bundled machine, or path of a description in TOML
    #[arg(long, value_name = "MACHINE", required_unless_present = "list")]
    machine: Option<String>,
    /// Replace a value of the machine, as in rail.receive.slots=256 or rail.link.cable_ns=1.2us; may be repeated; units: see below
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Number of consecutive ranks on a node
    #[arg(long, value_name = "K", default_value_t = 1, allow_negative_numbers = true)]
    per_node: u32,
    /// Seed of the random numbers of the machine and of --faults
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Largest size of a heap of a rank: bytes, or with K, M, G or T [default: depends on the number of ranks]
    #[arg(long, value_name = "BYTES", value_parser = crate::run::bytes)]
    heap: Option<u64>,
    /// Stack of a rank: bytes, or with K or M [default: 256K; 64K for more than 16384 ranks]
    #[arg(long, value_name = "BYTES", value_parser = crate::run::bytes)]
    stack: Option<u64>,
    /// Communicate by the UDP protocol of the library, over datagrams that may be lost, instead of by the simulated NICs
    #[arg(long)]
    protocol: bool,
    /// Move real data, or only the sizes of puts, gets and copies above 64 bytes, which is faster and needs no memory for the data; sizes is
    /// for programs that check World::moves_data (of the bundled ones: alltoall, barrier, chakra, goal and ring)
    #[arg(long, value_name = "real|sizes", value_parser = data, default_value = "real", hide_default_value = true)]
    data: Data,
    /// Faults of the network and of ranks: loss=0.1,duplicate=0.01,delay=0.1:50us,partition=4@1ms-2ms,kill=3@2ms,slow=2:10us; also
    /// told=10ms (delay until other ranks learn of a killed one), limit=1s (silence after which a rank counts as failed) and encrypt
    #[arg(long, value_name = "LIST")]
    faults: Option<Protocol>,
    /// Virtual time of computing: as the program declares it, the CPU time measured here, or zero
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    compute: Compute,
    /// Factor from CPU time measured here to virtual time, with --compute measured [default: 1]
    #[arg(long, value_name = "F", allow_negative_numbers = true, value_parser = scale)]
    compute_scale: Option<f64>,
    /// Number of threads that simulate the network: the same results, sooner for networks of many nodes; not for machines with losses,
    /// congestion control, or routes by queues
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// End the job after this many seconds of real time; reports cover the time until then
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = crate::run::seconds)]
    time_limit: Option<Duration>,
    /// Write a report to a file: a web page if its name ends in .html, else JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a trace for chrome://tracing or Perfetto to a file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Part of the job in the file of --trace: RANKS or RANKS@FROM-TO, such as 512-519@1ms-2ms or all@20us-; the time is virtual [default: the first 4096 ranks, the whole time]
    #[arg(long, value_name = "RANKS@FROM-TO", requires = "trace", conflicts_with = "report")]
    sample: Option<Sample>,
    /// Omit the summary line at the end
    #[arg(long)]
    quiet: bool,
    /// Summary line as JSON, also on standard error
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Show on standard error how far the simulation is: once a second on a terminal, else every ten seconds
    #[arg(long)]
    progress: bool,
    /// End with the process of this number, which started this one; for pelago sweep
    #[arg(long, hide = true)]
    end_with_parent: Option<i32>,
    /// List the bundled machines
    #[arg(long)]
    list: bool,
    /// Print the description of the machine, with the values of --set: the start of a description of your own
    #[arg(long, requires = "machine", conflicts_with = "list")]
    describe: bool,
    /// Bundled program, path, or name in PATH; then its arguments
    #[arg(required_unless_present_any = ["list", "describe"], trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Compute {
    /// The time that the program declares by World::compute
    #[default]
    Declared,
    /// The CPU time of each rank between two calls of the library, which varies from run to run
    Measured,
    /// Computing takes no time
    Zero,
}

impl Sim {
    /// Replaces this process by the program, or returns the reason why it cannot.
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        if self.list {
            return outputs::print(&list()).map(|()| ExitCode::SUCCESS);
        }
        if self.describe {
            let machine = self.machine.as_ref().expect("clap requires it");
            let text = overrides::apply(&description(machine)?, &self.overrides)?;
            Machine::parse(&text).map_err(|error| Refused(format!("{machine}: {error}")))?;
            return outputs::print(&text).map(|()| ExitCode::SUCCESS);
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
                Kind::Archive(archive) => {
                    let mut command = Command::new(program);
                    command.env(ARCHIVE_VARIABLE, archive).env("LD_PRELOAD", preloaded(&shared_library()?));
                    command
                }
                Kind::Object => {
                    let mut command = Command::new(this()?);
                    command.arg(shared_object::COMMAND).arg(program);
                    command
                }
            },
        };
        command.args(arguments).env(VARIABLE, request.to_variable()).env_remove(names::RANK);
        if let Some(parent) = self.end_with_parent {
            // The setting survives `exec`.
            end_with(parent, Signal::KILL)?;
        }
        let error = command.exec();
        Err(run::refusal(LaunchError::of_start(command.get_program(), error)))
    }

    fn request(&self) -> Result<SimulationRequest, Refused> {
        let ranks = self.ranks.expect("clap requires it");
        let name = self.machine.as_ref().expect("clap requires it");
        let request = SimulationRequest {
            machine: overrides::apply(&description(name)?, &self.overrides)?,
            ranks,
            per_node: self.per_node,
            seed: self.seed,
            heap_bytes: self.heap,
            stack_bytes: self.stack,
            data: self.data,
            computing: self.computing()?,
            threads: self.threads,
            time_limit_seconds: self.time_limit.map(Duration::as_seconds),
            summary: match (self.quiet, self.json) {
                (true, _) => Summary::None,
                (_, true) => Summary::Json,
                _ => Summary::Text,
            },
            progress: self.progress,
            program: run::title(&self.command),
            protocol: self.faults.as_ref().map(Protocol::to_string).or_else(|| self.protocol.then(String::new)),
            report: self.report.clone(),
            trace: self.trace.clone(),
            sample: self.sample.as_ref().map(Sample::to_string),
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
        if let Some(sample) = &self.sample
            && sample.count(ranks) == 0
        {
            return Err(Refused(format!("--sample {sample}: the job has ranks 0 to {}", ranks - 1)));
        }
        if let Some(protocol) = &self.faults {
            protocol.faults.check(ranks).map_err(|error| Refused(format!("--faults {error}")))?;
        }
        let settings = request.settings().map_err(|error| Refused(format!("{name}: {error}")))?;
        has_room(name, &request.machine, &settings.machine, ranks, self.per_node)?;
        has_links(name, &settings.machine, ranks.div_ceil(self.per_node), self.threads)?;
        if self.threads > 1
            && let Some(obstacle) = Netsim::obstacle(&settings.machine)
        {
            return Err(Refused(format!(
                "--threads {}: {name} takes one thread, as {obstacle}; leave out --threads",
                self.threads
            )));
        }
        for file in [&self.report, &self.trace].into_iter().flatten() {
            if file.to_str().is_none() {
                return Err(Refused(format!("cannot write {}: its name is not UTF-8", file.display())));
            }
            outputs::check(file)?;
        }
        let written = [("--report", self.report.as_deref()), ("--trace", self.trace.as_deref())];
        let machine = Some(Path::new(name)).filter(|_| Machine::bundled(name).is_none());
        outputs::check_different(&[&written[..], &[("--machine", machine)]].concat())?;
        outputs::check_not_inputs(&written, &self.command)?;
        let bytes = request.to_variable().len();
        if bytes > REQUEST_BYTES_MAX {
            return Err(Refused(format!(
                "{name}: with its description the request has {bytes} bytes; at most {REQUEST_BYTES_MAX} reach a program"
            )));
        }
        Ok(request)
    }

    fn computing(&self) -> Result<Computing, Refused> {
        match (self.compute, self.compute_scale) {
            (Compute::Measured, scale) => Ok(Computing::Measured { scale: scale.unwrap_or(1.0) }),
            (_, Some(_)) => Err(Refused("--compute-scale needs --compute measured".into())),
            (Compute::Declared, None) => Ok(Computing::Declared),
            (Compute::Zero, None) => Ok(Computing::Zero),
        }
    }
}

/// Returns the path of the shared library that simulates programs linked with `libacp.a`, with the same search as `acpcc`.
fn shared_library() -> Result<PathBuf, Refused> {
    let this = this()?;
    let beside = this.parent().unwrap_or(Path::new(".")).to_owned();
    let folders = [std::env::var_os("ACP_LIB").map(PathBuf::from), Some(beside.join("../lib")), Some(beside)];
    let found = folders.into_iter().flatten().map(|folder| folder.join("libacp.so")).find(|path| path.exists());
    found.ok_or_else(|| {
        Refused(
            "a program with libacp.a in it is simulated by libacp.so, which is not beside pelago; set ACP_LIB to its folder"
                .into(),
        )
    })
}

/// Returns the value of `LD_PRELOAD` with `library` in front of the existing entries.
fn preloaded(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD") {
        value.push(":");
        value.push(others);
    }
    value
}

/// Checks that a machine, which `text` describes, has enough nodes for the ranks; the error suggests more ranks on a node or a larger machine.
fn has_room(name: &str, text: &str, machine: &Machine, ranks: u32, per_node: u32) -> Result<(), Refused> {
    let nodes = ranks.div_ceil(per_node);
    let Err(error) = machine.check_nodes(nodes) else { return Ok(()) };
    let fewer = Some(machine.nodes_max()).filter(|&most| most > 0).map(|most| {
        let per_node = ranks.div_ceil(most);
        format!("--per-node {per_node}, which needs {} of at most {most} nodes", ranks.div_ceil(per_node))
    });
    let changes: Vec<String> = machine.larger(nodes).iter().map(|(key, value)| format!("{key}={value}")).collect();
    let changed = overrides::apply(text, &changes).ok().and_then(|text| Machine::parse(&text).ok());
    let is_enough = changed.is_some_and(|machine| machine.check_nodes(nodes).is_ok());
    let larger = changes.iter().filter(|_| is_enough).map(|change| format!("--set '{change}'")).collect::<Vec<_>>().join(" ");
    let ways: Vec<String> = fewer.into_iter().chain(Some(larger).filter(|larger| !larger.is_empty())).collect();
    let hint = if ways.is_empty() { String::new() } else { format!("; there is room with {}", ways.join(", or with ")) };
    Err(Refused(format!("{name}: {error}{hint}")))
}

/// Checks that there is memory for all links of a machine, and that the links that fail exist.
fn has_links(name: &str, machine: &Machine, nodes: u32, threads: u32) -> Result<(), Refused> {
    let refused = |why: &dyn std::fmt::Display| Refused(format!("{name}: {why}"));
    let bytes = Netsim::links_bytes(machine, nodes, threads).map_err(|error| refused(&error))?;
    match available_bytes() {
        Some(available) if bytes > available => Err(refused(&format_args!(
            "the links of its network take {} MiB of memory, of which {} MiB are available; simulate a smaller network{}",
            bytes >> 20,
            available >> 20,
            if threads > 1 { ", or leave out --threads" } else { "" }
        ))),
        _ => Netsim::check_failures(machine, nodes).map_err(|error| refused(&error)),
    }
}

/// Returns the memory that programs can take before this machine is short of it; `None` if the system does not tell.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |key| text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Some((kibibytes("MemAvailable:")? + kibibytes("SwapFree:").unwrap_or(0)) << 10)
}

/// Parses the value of --data.
fn data(text: &str) -> Result<Data, &'static str> {
    match text {
        "real" => Ok(Data::Real),
        "sizes" => Ok(Data::Sizes),
        _ => Err("real or sizes"),
    }
}

fn list() -> String {
    let width = Machine::names().map(str::len).max().unwrap_or(0);
    let about = |name| {
        let text = Machine::bundled(name).expect("it is bundled");
        Machine::parse(text).expect("bundled descriptions are valid").about().to_owned()
    };
    Machine::names().map(|name| format!("{name:width$}  {}\n", about(name))).collect()
}

/// Returns the text of a machine description, bundled or from a file.
pub(crate) fn description(name: &str) -> Result<String, Refused> {
    if let Some(text) = Machine::bundled(name) {
        return Ok(text.into());
    }
    inputs::read(Path::new(name), DESCRIPTION_BYTES_MAX).map_err(|error| {
        let names: Vec<_> = Machine::names().collect();
        Refused(format!("no machine is called {name}, and no file can be read there ({error}); bundled: {}", names.join(", ")))
    })
}

fn scale(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|scale| (1e-6..=1e6).contains(scale)).ok_or("use a number from 0.000001 to 1000000")
}
