//! Comparison with one-sided MPI: the same operations, compiled and run where Open MPI is installed.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::results::row::rounded;
use crate::{Row, Transport};

/// The program in C.
const SOURCE: &str = include_str!("../peers/openmpi.c");

/// Catalogue names of the program's benchmarks between ranks that share memory. Over a network the last two are left out.
const MEASURED: [&str; 7] = ["put", "get", "fetch_add", "rate", "barrier", "compare_swap", "visible"];

/// Sizes of the measured transfers.
pub(crate) const BYTES: [u64; 3] = [8, 64 << 10, 1 << 20];

/// Number of alternating measurements of library and peer.
pub(crate) const TURNS: usize = 3;

/// Another library that measures the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// One-sided MPI of Open MPI; mpicc and mpirun are in PATH
    Openmpi,
}

/// The compiled program of the peer.
pub(crate) struct PeerProgram {
    mpirun: &'static str,
    folder: PathBuf,
}

/// Returns whether the peer's program has the benchmark `name`.
pub(crate) fn measures(name: &str, transport: Transport) -> bool {
    let count = if transport.is_network() { MEASURED.len() - 2 } else { MEASURED.len() };
    MEASURED[..count].contains(&name)
}

impl PeerProgram {
    /// Compiles the program.
    ///
    /// # Errors
    /// Open MPI is not installed, or cannot compile the program; one line with a remedy.
    pub(crate) fn compile() -> Result<Self, String> {
        let remedy = "--compare openmpi needs mpicc and mpirun of Open MPI in PATH: apt-get install openmpi-bin libopenmpi-dev";
        let is_open_mpi = |command: &str, option: &str| {
            let output = Command::new(command).arg(option).stdin(Stdio::null()).output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("Open MPI"))
        };
        // On systems with several MPI implementations, such as Debian, the first names are those of Open MPI.
        let found = |names: [&'static str; 2], option| names.into_iter().find(|name| is_open_mpi(name, option));
        let mpicc = found(["mpicc.openmpi", "mpicc"], "--showme:version").ok_or(remedy)?;
        let mpirun = found(["mpirun.openmpi", "mpirun"], "--version").ok_or(remedy)?;
        let folder = std::env::temp_dir().join(format!("pelago-bench-{}", std::process::id()));
        let program = Self { mpirun, folder };
        let failed =
            |error: io::Error| format!("cannot compile the program of Open MPI in {}: {error}", program.folder.display());
        std::fs::create_dir_all(&program.folder).map_err(failed)?;
        std::fs::write(program.folder.join("openmpi.c"), SOURCE).map_err(failed)?;
        let mut compiler = Command::new(mpicc);
        compiler.args(["-O2", "-o", "openmpi", "openmpi.c"]).current_dir(&program.folder);
        let compiled = compiler.output().map_err(failed)?;
        if compiled.status.success() {
            return Ok(program);
        }
        let text = String::from_utf8_lossy(&compiled.stderr).into_owned();
        // The compiler's wrapper belongs to another package than the headers.
        if text.contains("mpi.h: No such file") {
            return Err(format!("{remedy}; mpi.h is missing"));
        }
        Err(format!("{mpicc} does not compile the program: {}", text.lines().next().unwrap_or("without a message")))
    }

    /// Runs the peer's benchmarks with a number of ranks over `transport`.
    ///
    /// # Errors
    /// The program cannot be run or fails.
    pub(crate) fn rows(&self, transport: Transport, ranks: u32, is_barrier: bool) -> Result<Vec<Row>, String> {
        let way = match (is_barrier, transport.is_network()) {
            (true, _) => "barrier",
            (false, true) => "network",
            (false, false) => "memory",
        };
        let mut command = self.command(transport, ranks, way);
        let output = command.output().map_err(|error| format!("cannot run {}: {error}", self.mpirun))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rows: Vec<Row> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if output.status.success() && !rows.is_empty() {
            return Ok(rows);
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = error.lines().find(|line| !line.trim_matches(['-', ' ']).is_empty()).unwrap_or("it says nothing");
        Err(format!("the program of Open MPI fails ({}): {why}", output.status))
    }

    fn command(&self, transport: Transport, ranks: u32, way: &str) -> Command {
        let mut command = Command::new(self.mpirun);
        // Containers often have root as the only user.
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]).stdin(Stdio::null());
        let options: &[&str] = match transport.is_network() {
            false => &["--mca", "osc", "sm", "--mca", "btl", "self,vader"],
            true => {
                &["--mca", "pml", "ob1", "--mca", "osc", "pt2pt", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"]
            }
        };
        command.args(options).args(["-n", &ranks.to_string(), "--oversubscribe"]);
        if ranks as usize > std::thread::available_parallelism().map_or(1, usize::from) {
            command.args(["--mca", "mpi_yield_when_idle", "1"]);
        }
        command.arg(self.folder.join("openmpi")).args(["openmpi", way]);
        command
    }
}

impl Drop for PeerProgram {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns one row for each benchmark that both have measured, in the order of `library`: the medians of all turns, and the time of the peer
/// divided by that of the library.
pub(crate) fn beside(library: &[Row], peer: &[Row]) -> Vec<Row> {
    let key = |row: &Row| (row.name.clone(), row.ranks, row.bytes);
    let times = |rows: &[Row], of: &Row| -> Vec<f64> {
        rows.iter().filter(|row| key(row) == key(of)).filter_map(|row| row.median_ns).collect()
    };
    let mut rows: Vec<Row> = Vec::new();
    for row in library {
        let (ours, theirs) = (times(library, row), times(peer, row));
        if theirs.is_empty() || rows.iter().any(|done| key(done) == key(row)) {
            continue;
        }
        let [ours, theirs] = [ours, theirs].map(|mut times| crate::comparison::percentile(&mut times, 50));
        rows.push(Row {
            median_ns: Some(rounded(ours)),
            peer_name: Some("openmpi".into()),
            peer_ns: Some(rounded(theirs)),
            peer_ratio: Some(rounded(theirs / ours)),
            ..row.clone()
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, bytes: Option<u64>, median_ns: f64) -> Row {
        Row { name: name.into(), ranks: 2, bytes, median_ns: Some(median_ns), ..Row::default() }
    }

    #[test]
    fn medians_of_the_turns_are_compared() {
        let library = [row("put", Some(8), 2.0), row("put", Some(8), 4.0), row("put", Some(8), 3.0), row("faces", None, 1.0)];
        let peer = [row("put", Some(8), 9.0), row("put", Some(8), 6.0), row("put", Some(8), 5.0), row("put", Some(64), 1.0)];
        let rows = beside(&library, &peer);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.median_ns, row.peer_ns, row.peer_ratio)).collect();
        assert_eq!(found, [("put", Some(3.0), Some(6.0), Some(2.0))]);
    }

    #[test]
    fn the_program_measures_what_the_table_says() {
        for name in MEASURED {
            assert!(SOURCE.contains(&format!("(\"{name}\", ")), "{name}");
        }
        assert!(
            measures("visible", Transport::Shm) && !measures("visible", Transport::Udp) && measures("barrier", Transport::Udp)
        );
        assert!(!measures("faces", Transport::Shm));
    }
}
