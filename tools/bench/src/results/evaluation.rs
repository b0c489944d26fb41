//! Draws the data of `docs/evaluation` as pictures in the same folder: `cargo run -p pelago-bench --bin pelago-plots docs/evaluation`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use crate::results::plot::{Curve, Quantity, curves};

/// Reads the data in the folder given as the only argument, and writes the pictures there.
pub fn plots_main(arguments: &[String]) -> ExitCode {
    let [folder] = arguments else {
        eprintln!("pelago-plots: give the folder of the figures, as docs/evaluation");
        return ExitCode::from(2);
    };
    match plot_all(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pelago-plots: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn plot_all(folder: &Path) -> std::io::Result<()> {
    let simulated = read(&folder.join("incast.jsonl"))?;
    let real = read(&folder.join("incast-openmpi.jsonl"))?;
    let write = |file: &str, title: &str, quantities: [Quantity; 2], drawn: &[Curve]| {
        if drawn.iter().all(|(_, points)| points.is_empty()) {
            return Err(std::io::Error::other(format!("there are no figures for {file}")));
        }
        std::fs::write(folder.join(file), curves(title, quantities, drawn))
    };
    for (machine, name) in [("rc", "InfiniBand RC"), ("tofu", "Tofu-like machine")] {
        let times = by_senders(&simulated, machine, time_each);
        let title = format!("{name}: time for each message received");
        write(&format!("incast-time-{machine}.svg"), &title, [Quantity::Senders, Quantity::TimeEach], &times)?;
        let atomics = by_senders(&simulated, machine, atomics_each);
        let title = format!("{name}: work of the busiest atomic unit");
        write(&format!("incast-atomics-{machine}.svg"), &title, [Quantity::Senders, Quantity::AtomicsEach], &atomics)?;
    }
    let title = "Memory of a receiver that comes a second late";
    write("incast-memory.svg", title, [Quantity::Messages, Quantity::Memory], &memory(&real))
}

/// Reads a file with one JSON object per line.
fn read(path: &Path) -> std::io::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    text.lines().map(|line| serde_json::from_str(line).map_err(std::io::Error::other)).collect()
}

fn time_each(row: &Value) -> Option<f64> {
    Some(row["time_us"].as_f64()? * 1e3 / row["received"].as_f64()?)
}

/// Returns atomics per received message; `None` if only the receiver executes atomics.
fn atomics_each(row: &Value) -> Option<f64> {
    Some(row["atomics_most"].as_f64()? / row["received"].as_f64()?)
}

/// Returns a curve over the number of senders for each method, from runs without lost messages.
fn by_senders(rows: &[Value], machine: &str, value: fn(&Value) -> Option<f64>) -> Vec<Curve<'static>> {
    let methods = [
        ("limit, then eager", "limit", false),
        ("acquire", "acquire", false),
        ("acquire, a place for each waiter", "acquire", true),
        ("acquire-proxy", "acquire-proxy", false),
        ("acquire-split:4", "acquire-split:4", false),
        ("acquire-split:16", "acquire-split:16", false),
    ];
    let curve = |(name, method, waits): (&'static str, &str, bool)| {
        let mut points: Vec<_> = rows
            .iter()
            .filter(|row| row["machine"] == machine && row["method"] == method && row["lost"] == 0)
            .filter(|row| (row["waiters"] != 0) == waits)
            .filter_map(|row| Some((row["senders"].as_f64()?, value(row)?)))
            .collect();
        points.sort_by(|one, next| one.0.total_cmp(&next.0));
        (name, points)
    };
    methods.into_iter().map(curve).collect()
}

/// Returns curves of the receiver's memory over the number of messages.
fn memory(rows: &[Value]) -> Vec<Curve<'static>> {
    let kinds = [
        ("Open MPI, waiting inside MPI", "mpi", "wait_ms"),
        ("Open MPI, asleep", "mpi", "sleep_ms"),
        ("Pelago's mailbox, asleep", "acquire", "sleep_ms"),
    ];
    let curve = |(name, method, late): (&'static str, &str, &str)| {
        let rows = rows.iter().filter(|row| row["method"] == method && row[late] == 1000);
        let points = rows.filter_map(|row| Some((row["messages"].as_f64()?, row["memory_peak_bytes"].as_f64()?)));
        (name, points.collect())
    };
    kinds.into_iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_point_of_its_own_curve() {
        let row = |method: &str, waiters: u64, lost: u64| {
            serde_json::json!({
                "machine": "rc", "method": method, "waiters": waiters, "senders": 64, "received": 10, "lost": lost, "time_us": 2.0
            })
        };
        let rows = [row("acquire", 0, 0), row("acquire", 64, 0), row("limit", 0, 3)];
        let curves = by_senders(&rows, "rc", time_each);
        let points: Vec<_> = curves.iter().map(|(_, points)| points.len()).collect();
        assert_eq!(points, [0, 1, 1, 0, 0, 0], "what lost messages is no point");
        assert_eq!(curves[1].1, [(64.0, 200.0)]);
        assert!(by_senders(&rows, "tofu", time_each).iter().all(|(_, points)| points.is_empty()));
    }
}
