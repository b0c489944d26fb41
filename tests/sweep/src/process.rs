//! Jobs of the C programs: each is a separate process, in which the C library simulates the ranks.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use pelago_netsim::Machine;
use pelago_simulator::{Computing, Data, SimulationRequest, Summary, VARIABLE};

use crate::program::{Interface, Program};
use crate::scenario::{MACHINE, Scenario};

/// The program for an interface, and the library that it is linked with.
struct Source {
    /// The program's source, the folder of its include files, and the name of the built program.
    source: &'static str,
    includes: &'static str,
    built: &'static str,
    /// The name of the library, and its file.
    library: &'static str,
    file: &'static str,
}

const ACP: Source = Source {
    source: concat!(env!("CARGO_MANIFEST_DIR"), "/c/acp.c"),
    includes: concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/acp/include"),
    built: "pelago-sweep-acp",
    library: "acp",
    file: "libacp.so",
};

const OPEN_SHMEM: Source = Source {
    source: concat!(env!("CARGO_MANIFEST_DIR"), "/c/shmem.c"),
    includes: concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/shmem/include"),
    built: "pelago-sweep-shmem",
    library: "sma",
    file: "libsma.so",
};

/// A program that is compiled on first use: its path, `None` if there is no C compiler, or why it cannot be compiled.
type Compiled = OnceLock<Result<Option<PathBuf>, String>>;

/// Time limit of a job. A job takes a fraction of a second; one that exceeds the limit will not end.
const PATIENCE: Duration = Duration::from_secs(50);

/// Interval at which a job is polled.
const LOOK: Duration = Duration::from_millis(1);

/// Runs the job of a scenario as a process; `false` if there is no C compiler.
pub(crate) fn run(scenario: &Scenario, program: Program, interface: Interface) -> Result<bool, String> {
    static PROGRAMS: [Compiled; 2] = [const { OnceLock::new() }; 2];
    let (compiled, source) = match interface {
        Interface::Acp => (&PROGRAMS[0], &ACP),
        Interface::OpenShmem => (&PROGRAMS[1], &OPEN_SHMEM),
    };
    let Some(path) = compiled.get_or_init(|| build(source)).as_ref().map_err(Clone::clone)? else { return Ok(false) };
    let Scenario { seed, ranks, per_node, ref networks, .. } = *scenario;
    let (machine, protocol) = match networks {
        Some(networks) => (networks.machine.as_str(), networks.by_datagrams.then(|| scenario.protocol(None).to_string())),
        None => (Machine::bundled(MACHINE).unwrap_or_default(), Some(scenario.protocol(None).to_string())),
    };
    let request = SimulationRequest {
        machine: machine.to_owned(),
        ranks,
        per_node,
        seed,
        heap_bytes: None,
        stack_bytes: None,
        protocol,
        data: Data::Real,
        computing: Computing::Declared,
        threads: 1,
        summary: Summary::None,
        progress: false,
        program: program.name().to_owned(),
        report: None,
        trace: None,
        sample: None,
        time_limit_seconds: None,
    };
    let mut command = Command::new(path);
    command.arg(program.name()).arg(seed.to_string()).env(VARIABLE, request.to_variable());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("{} cannot be run: {error}", path.display()))?;
    judge(&wait(child)?, ranks)
}

/// Checks that every rank has printed its success, and that there is no other output.
fn judge(ended: &Output, ranks: u32) -> Result<bool, String> {
    if ended.status.success() && ended.stderr.is_empty() && ended.stdout == b"good\n".repeat(ranks as usize) {
        return Ok(true);
    }
    let said = [&ended.stderr, &ended.stdout].map(|said| String::from_utf8_lossy(said).into_owned()).concat();
    Err(format!("the program ended with {}: {}", ended.status, said.trim_end()))
}

/// Waits for the end of a process, and returns its output.
fn wait(mut child: Child) -> Result<Output, String> {
    let broken = |error: std::io::Error| format!("a process cannot be waited for: {error}");
    let since = Instant::now();
    while child.try_wait().map_err(broken)?.is_none() {
        if since.elapsed() > PATIENCE {
            child.kill().map_err(broken)?;
            child.wait().map_err(broken)?;
            return Err(format!("the program has not ended in {PATIENCE:?}"));
        }
        sleep(LOOK);
    }
    child.wait_with_output().map_err(broken)
}

/// Compiles a program, beside the library that was built with this one; `None` if there is no C compiler.
fn build(&Source { source, includes, built, library, file }: &Source) -> Result<Option<PathBuf>, String> {
    let this = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
    let folder = this.parent().unwrap_or(Path::new("."));
    // The library that Cargo has built for this program takes precedence over one of an earlier build command.
    let folders = [folder.join("deps"), folder.to_owned()];
    let found = folders.iter().find(|folder| folder.join(file).exists());
    let folder = found.ok_or_else(|| format!("{file} is built with this program, and is not in {}", folder.display()))?;
    // Other processes may build the program, too: the complete file is renamed to its final name.
    let making = folder.join(format!("{built}-{}", std::process::id()));
    let built = folder.join(built);
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", includes, source, "-o"]).arg(&making);
    command.arg("-L").arg(folder).arg(format!("-l{library}")).arg(format!("-Wl,-rpath,{}", folder.display()));
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cc cannot be run: {error}")),
        Ok(compiled) if !compiled.status.success() => {
            Err(format!("{source} cannot be compiled: {}", String::from_utf8_lossy(&compiled.stderr)))
        }
        Ok(_) => {
            std::fs::rename(&making, &built).map_err(|error| format!("{} cannot be made: {error}", built.display()))?;
            Ok(Some(built))
        }
    }
}
