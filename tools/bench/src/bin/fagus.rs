//! Reproduces tables 1 to 3 of paper C (Okuno et al., Fagus on DIMMnet) on the simulated machines, with the paper's values for comparison.
//!
//!     pelago-fagus PELAGO [--json]
//!
//! PELAGO is the path of the command. The times are those printed by the bundled program `fagus` in `pelago sim`. A share of table 3 is the
//! difference to a machine on which that part takes no time.

use std::process::{Command, ExitCode};

/// A row: table, name, machine, overrides for `pelago sim`, the word before the number in the output, unit, and the paper's value. A share
/// refers to 20 ms.
struct Row {
    table: u32,
    name: &'static str,
    machine: &'static str,
    set: &'static [&'static str],
    after: &'static str,
    unit: &'static str,
    paper: f64,
}

const DIMMNET: &str = "dimmnet1";
const INLINE: &str = "message, polling inline";

/// A message of table 1, in milliseconds.
const fn message(name: &'static str, set: &'static [&'static str], paper: f64) -> Row {
    Row { table: 1, name, machine: DIMMNET, set, after: "sent", unit: "ms", paper }
}

/// A barrier of table 2, in microseconds.
const fn barrier(name: &'static str, machine: &'static str, set: &'static [&'static str], paper: f64) -> Row {
    Row { table: 2, name, machine, set, after: "ranks", unit: "us", paper }
}

/// A share of table 3, in per cent of the message time without `set`.
const fn share(name: &'static str, set: &'static [&'static str], paper: f64) -> Row {
    Row { table: 3, name, machine: DIMMNET, set, after: "sent", unit: "%", paper }
}

const ROWS: [Row; 10] = [
    message(INLINE, &[], 20.000),
    message("message, detection thread", &["node.software.detection=thread"], 23.590),
    barrier("_expBarrier", DIMMNET, &["node.software.call_ns=1412.3"], 4.0881),
    barrier("barrier by AOTF", DIMMNET, &[], 29.8033),
    barrier("barrier by UDP, fast Ethernet", "fast-ethernet", &[], 179.8826),
    barrier("barrier by UDP, gigabit Ethernet", "gigabit-ethernet", &[], 136.6572),
    share("bank switching", &["rail.1.nic.bank_ns=0", "rail.1.nic.bank_core_ns=0"], 99.46),
    share("internal processing", &["rail.1.nic.overhead_ns=0", "node.software.call_ns=0"], 0.36),
    share("BOTF", &["rail.1.link.gb_per_s=inf"], 0.11),
    share("synchronization, AOTF", &["rail.1.router.switch_ns=0"], 0.071),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(pelago) = arguments.first() else {
        eprintln!("pelago-fagus: give the path of the pelago command");
        return ExitCode::from(2);
    };
    let json = arguments.iter().any(|word| word == "--json");
    match rows(pelago) {
        Ok(values) => {
            print(&values, json);
            ExitCode::SUCCESS
        }
        Err(line) => {
            eprintln!("pelago-fagus: {line}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates the value of each row.
fn rows(pelago: &str) -> Result<Vec<f64>, String> {
    let whole = microseconds(pelago, &ROWS[0])?;
    ROWS.iter()
        .map(|row| {
            let time = microseconds(pelago, row)?;
            Ok(match row.unit {
                "ms" => time / 1e3,
                "%" => (whole - time) / whole * 100.0,
                _ => time,
            })
        })
        .collect()
}

/// Runs one simulation; returns the time for the row.
fn microseconds(pelago: &str, row: &Row) -> Result<f64, String> {
    let mut command = Command::new(pelago);
    command.args(["sim", "-n", "2", "--quiet", "--machine", row.machine]);
    command.args(row.set.iter().flat_map(|value| ["--set", value]));
    let ended = command.args(["fagus", "--repeat", "100", "--warm-up", "1"]).output();
    let ended = ended.map_err(|error| format!("cannot run {pelago}: {error}"))?;
    if !ended.status.success() {
        return Err(format!("{}: {}", row.name, String::from_utf8_lossy(&ended.stderr)));
    }
    find(&String::from_utf8_lossy(&ended.stdout), row.after).ok_or_else(|| format!("{}: no time", row.name))
}

/// Finds the microseconds after the word `after`, possibly with one number in between.
fn find(text: &str, after: &str) -> Option<f64> {
    let behind = text.split_whitespace().skip_while(|word| *word != after).skip_while(|word| *word != "us");
    behind.skip(1).find_map(|word| word.parse().ok())
}

fn print(values: &[f64], json: bool) {
    if !json {
        println!("{:<7}{:<34}{:>12}{:>12}  {:<4}{:>10}", "table", "", "paper", "here", "", "deviation");
    }
    for (Row { table, name, unit, paper, .. }, here) in ROWS.iter().zip(values) {
        let deviation = (here / paper - 1.0) * 100.0;
        if json {
            println!(
                "{{\"table\":{table},\"name\":\"{name}\",\"unit\":\"{unit}\",\"paper\":{paper},\"here\":{here:.4},\"deviation_percent\":{deviation:.2}}}"
            );
        } else {
            println!("{table:<7}{name:<34}{paper:>12.4}{here:>12.4}  {unit:<4}{deviation:>+9.2} %");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_stands_behind_its_word() {
        let text = "message bytes 10000 sent us 19999.8033 answered us 20029.6\nbarrier ranks 2 us 29.8022\n";
        assert_eq!((find(text, "sent"), find(text, "ranks"), find(text, "bank")), (Some(19999.8033), Some(29.8022), None));
    }
}
