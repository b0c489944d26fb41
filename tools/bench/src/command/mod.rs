//! The command: starts jobs of ranks, collects their rows and shows them.

pub(crate) mod arguments;
pub(crate) mod catalogue;
pub(crate) mod job_start;
pub(crate) mod rank;

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::command::arguments::RANKS_DEFAULT;
use crate::command::catalogue::{BENCHMARKS, Jobs};
use crate::peer::{self, PeerProgram};
use crate::results::{plot, table};
use crate::{Arguments, Format, Progress, Row, Transport, launch_rows};

/// Runs the benchmarks in `arguments` and prints the results.
///
/// `job` makes the command for a job of a number of ranks, each of which calls [`rank_main`](crate::rank_main) with the given arguments. The
/// command forwards the standard output of rank 0. Returns the exit code of a failed job, and 2 for arguments that cannot be met.
pub fn main(arguments: &Arguments, mut job: impl FnMut(u32, &[String]) -> Command) -> ExitCode {
    if arguments.list {
        return print(&list()).map_or_else(|error| fail(&error.to_string(), 1), |()| ExitCode::SUCCESS);
    }
    match measure(arguments, &mut job) {
        Ok(code) => code,
        Err(Stopped::Usage(line)) => fail(&line, 2),
        Err(Stopped::Failed(line)) => fail(&line, 1),
    }
}

/// Returns the list of benchmarks, one line for each.
pub fn list() -> String {
    let osu = |names: &[&str]| if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    BENCHMARKS.iter().map(|benchmark| format!("{:32}{}{}\n", benchmark.name, benchmark.summary, osu(benchmark.osu))).collect()
}

/// Measures the benchmarks `names` of [`list`] in one job of two ranks over `transport`, with transfers of these sizes.
///
/// `job` is that of [`main`].
///
/// # Errors
/// The job cannot be run or fails, in one line.
pub fn rows(
    transport: Transport,
    names: &[&str],
    bytes: &[u64],
    job: impl FnOnce(u32, &[String]) -> Command,
) -> Result<Vec<Row>, String> {
    let arguments = Arguments::over(transport, names, bytes);
    let mut rows = Vec::new();
    let mut take = |row| {
        rows.push(row);
        Ok(())
    };
    let code = run(&mut job(RANKS_DEFAULT, &arguments.of_rank(names)), &mut take);
    match code.map_err(|error| error.to_string())? {
        0 => Ok(rows),
        code => Err(format!("the job that measures ended with exit code {code}")),
    }
}

/// Formats the results as text, and writes pictures to the folder `plot` if one is given.
///
/// # Errors
/// The folder cannot be written to.
pub fn render(rows: &[Row], format: Format, plot: Option<&Path>) -> io::Result<String> {
    if let Some(folder) = plot {
        plot::write(rows, folder)?;
    }
    Ok(match format {
        Format::Json => rows.iter().map(json).collect(),
        Format::Table => table::head() + &rows.iter().map(table::line).collect::<String>(),
    })
}

/// Reason to stop measuring.
enum Stopped {
    Usage(String),
    Failed(String),
}

/// One job: the benchmarks that share it, and its ranks.
type Plan = (Vec<&'static str>, u32);

fn measure(arguments: &Arguments, job: &mut dyn FnMut(u32, &[String]) -> Command) -> Result<ExitCode, Stopped> {
    let failed = |error: io::Error| Stopped::Failed(error.to_string());
    takes_effect(arguments).map_err(Stopped::Usage)?;
    if let Some(folder) = &arguments.plot {
        // Checked before minutes of measurement, not after them.
        std::fs::create_dir_all(folder).map_err(|error| Stopped::Usage(format!("{}: {error}", folder.display())))?;
    }
    if arguments.compare.is_some() {
        return compare(arguments, job);
    }
    let plans = plans(arguments).map_err(Stopped::Usage)?;
    let mut rows: Vec<Row> = Vec::new();
    if arguments.format() == Format::Table {
        print(&table::head()).map_err(failed)?;
    }
    let empty_jobs = arguments.benchmarks().filter(|benchmark| matches!(benchmark.jobs, Jobs::Empty(_))).count();
    let progress = Progress::new("benchmarks", (plans.iter().map(|(names, _)| names.len()).sum::<usize>() + empty_jobs) as u64);
    let mut show = |row: Row| {
        if rows.last().is_none_or(|last| (&last.name, last.ranks) != (&row.name, row.ranks)) {
            progress.step(&row.name);
        }
        let line = if arguments.format() == Format::Json { json(&row) } else { table::line(&row) };
        rows.push(row);
        let mut printed = Ok(());
        progress.print(|| printed = print(&line));
        printed
    };
    for (names, ranks) in plans {
        let mut command = job(ranks, &arguments.of_rank(&names));
        let code = run(&mut command, &mut show).map_err(failed)?;
        if code != 0 {
            return Ok(ExitCode::from(code));
        }
    }
    let empty = |benchmark: &'static crate::command::catalogue::Benchmark| match benchmark.jobs {
        Jobs::Empty(table) => Some(arguments.ranks.map_or(table.to_vec(), |ranks| vec![ranks])),
        _ => None,
    };
    for ranks in arguments.benchmarks().filter_map(empty) {
        let start = |ranks| {
            let code = run(&mut job(ranks, &arguments.of_rank(&["launch"])), &mut |_| Ok(()))?;
            if code == 0 { Ok(()) } else { Err(io::Error::other(format!("it ended with exit code {code}"))) }
        };
        let launched = launch_rows(arguments.settings.transport.name(), &ranks, start);
        launched.map_err(|error| Stopped::Failed(error.to_string()))?.into_iter().try_for_each(&mut show).map_err(failed)?;
    }
    drop(progress);
    if let Some(folder) = &arguments.plot {
        plot::write(&rows, folder).map_err(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that each option has an effect on what is measured.
fn takes_effect(arguments: &Arguments) -> Result<(), String> {
    let Arguments { settings, .. } = arguments;
    let is_measured = |name| arguments.benchmarks().any(|benchmark| benchmark.name == name);
    if arguments.compare.is_some() && !settings.bytes.is_empty() {
        let sizes: Vec<_> = peer::BYTES.iter().map(|&bytes| table::bytes_text(bytes)).collect();
        return Err(format!("--compare measures transfers of {}: leave --bytes out", sizes.join(", ")));
    }
    if settings.steps.is_some() && !is_measured("tuning") {
        return Err("--steps is for the benchmark tuning: name it, or leave --steps out".into());
    }
    // The measurement counts datagrams, of which ranks that share memory send none.
    if is_measured("datagrams") && !settings.transport.is_network() {
        return Err("datagrams measures ranks that share no memory: give it --transport udp".into());
    }
    Ok(())
}

/// Measures library and peer alternately; prints the medians of both.
fn compare(arguments: &Arguments, job: &mut dyn FnMut(u32, &[String]) -> Command) -> Result<ExitCode, Stopped> {
    let failed = |error: io::Error| Stopped::Failed(error.to_string());
    let mut arguments = arguments.clone();
    let transport = arguments.settings.transport;
    let is_measured = |name: &str| peer::measures(name, transport);
    if let Some(name) = arguments.names.iter().find(|name| !is_measured(name)) {
        let transport = transport.name();
        return Err(Stopped::Usage(format!("--compare has nothing to compare with {name} over {transport}: leave it out")));
    }
    arguments.names =
        arguments.benchmarks().map(|benchmark| benchmark.name.to_owned()).filter(|name| is_measured(name)).collect();
    arguments.settings.bytes = peer::BYTES.to_vec();
    let program = PeerProgram::compile().map_err(Stopped::Usage)?;
    let plans = plans(&arguments).map_err(Stopped::Usage)?;
    let (mut library, mut peers) = (Vec::new(), Vec::new());
    let progress = Progress::new("jobs", (2 * peer::TURNS * plans.len()) as u64);
    for turn in 1..=peer::TURNS {
        for (names, ranks) in &plans {
            progress.step(&format!("turn {turn}, pelago, {ranks} ranks"));
            let mut command = job(*ranks, &arguments.of_rank(names));
            let mut take = |row| {
                library.push(row);
                Ok(())
            };
            let code = run(&mut command, &mut take).map_err(failed)?;
            if code != 0 {
                return Ok(ExitCode::from(code));
            }
            progress.step(&format!("turn {turn}, Open MPI, {ranks} ranks"));
            let measured = program.rows(transport, *ranks, names[..] == ["barrier"]).map_err(Stopped::Failed)?;
            peers.extend(measured);
        }
    }
    drop(progress);
    let rows = peer::beside(&library, &peers);
    if arguments.format() == Format::Table {
        print(&table::head_beside()).map_err(failed)?;
    }
    let line = |row| if arguments.format() == Format::Json { json(row) } else { table::line_beside(row) };
    rows.iter().try_for_each(|row| print(&line(row))).map_err(failed)?;
    if let Some(folder) = &arguments.plot {
        plot::write(&rows, folder).map_err(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Distributes the benchmarks over jobs.
fn plans(arguments: &Arguments) -> Result<Vec<Plan>, String> {
    let ranks = arguments.ranks.unwrap_or(RANKS_DEFAULT);
    let mut shared = Vec::new();
    let mut plans = Vec::new();
    for benchmark in arguments.benchmarks() {
        let needed = benchmark.ranks_min(arguments.settings.transport);
        if needed > ranks {
            if arguments.names.is_empty() {
                continue;
            }
            let (name, transport) = (benchmark.name, arguments.settings.transport.name());
            return Err(format!("{name} over {transport} needs {needed} ranks; give it -n {needed}"));
        }
        match (benchmark.own_jobs(arguments.settings.transport), benchmark.jobs) {
            (Some(table), _) => {
                let table = arguments.ranks.map_or(table.to_vec(), |ranks| vec![ranks]);
                plans.extend(table.into_iter().map(|ranks| (vec![benchmark.name], ranks)));
            }
            (None, Jobs::Empty(_)) => {}
            (None, _) => shared.push(benchmark.name),
        }
    }
    if !shared.is_empty() {
        plans.insert(0, (shared, ranks));
    }
    Ok(plans)
}

/// Runs a job to its end and passes the rows that it prints to `take`; returns the exit code. An error of `take` closes the pipe, which ends the job.
fn run(command: &mut Command, take: &mut dyn FnMut(Row) -> io::Result<()>) -> io::Result<u8> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started
        .map_err(|error| io::Error::new(error.kind(), format!("cannot run {}: {error}", command.get_program().display())))?;
    let output = child.stdout.take().expect("it is piped");
    let taken = BufReader::new(output).lines().try_for_each(|line| {
        let line = line?;
        match serde_json::from_str(&line) {
            Ok(row) => take(row),
            // Ranks may also print lines that are not rows.
            Err(_) => {
                eprintln!("{line}");
                Ok(())
            }
        }
    });
    let status = child.wait()?;
    taken?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn json(row: &Row) -> String {
    serde_json::to_string(row).expect("rows are plain") + "\n"
}

/// Writes text to standard output. A reader that closes the pipe early is not an error.
fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot write to the standard output: {error}"));
    written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(named(error)) })
}

fn fail(line: &str, code: u8) -> ExitCode {
    eprintln!("pelago bench: {line}");
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn arguments(words: &[&str]) -> Arguments {
        Line::parse_from(["bench"].iter().chain(words)).arguments
    }

    /// Replaces a real job by one that prints `text`.
    fn saying(text: &str, code: u8) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "printf '%s' \"$0\"; exit $1", text, &code.to_string()]);
        command
    }

    #[test]
    fn a_barrier_has_jobs_of_its_own() {
        let plans = plans(&arguments(&[])).unwrap();
        assert_eq!(plans[0].1, 2);
        assert!(plans[0].0.contains(&"put") && !plans[0].0.contains(&"barrier"));
        assert_eq!(plans[1..].iter().map(|plan| plan.1).collect::<Vec<_>>(), [2, 4, 8, 16]);
    }

    #[test]
    fn memory_over_udp_is_measured_in_small_and_large_jobs() {
        let all = plans(&arguments(&["--transport", "udp"])).unwrap();
        let alone: Vec<_> = all.iter().filter(|(names, _)| names == &["memory"]).map(|plan| plan.1).collect();
        assert_eq!(alone, [2, 64, 1024]);
        assert!(all.iter().any(|(names, ranks)| *ranks == 2 && names.contains(&"get_while_target_computes")));
        assert_eq!(plans(&arguments(&["memory", "--transport", "udp", "-n", "7"])).unwrap(), [(vec!["memory"], 7)]);
    }

    #[test]
    fn a_number_of_ranks_is_kept_to() {
        assert_eq!(plans(&arguments(&["barrier", "-n", "5"])).unwrap(), [(vec!["barrier"], 5)]);
        assert_eq!(plans(&arguments(&["launch", "-n", "5"])).unwrap(), []);
    }

    #[test]
    fn what_one_rank_cannot_do_is_left_out_unless_it_was_asked_for() {
        let all = plans(&arguments(&["-n", "1"])).unwrap();
        assert!(all.iter().all(|(names, _)| !names.contains(&"visible")));
        assert!(plans(&arguments(&["visible", "-n", "1"])).unwrap_err().contains("-n 2"));
        let apart = plans(&arguments(&["-n", "1", "--transport", "udp"])).unwrap();
        assert!(apart.iter().all(|(names, _)| !names.contains(&"put")), "a rank's own memory is mapped");
        assert!(plans(&arguments(&["put", "-n", "1", "--transport", "udp"])).unwrap_err().contains("-n 2"));
    }

    #[test]
    fn options_without_an_effect_are_refused() {
        for (words, says) in [
            (&["put", "--compare", "openmpi", "--bytes", "64"][..], "8 B, 64 KiB, 1 MiB: leave --bytes out"),
            (&["put", "--steps", "submission=bypass"], "--steps is for the benchmark tuning"),
            (&["datagrams"], "give it --transport udp"),
            (&["put", "datagrams", "--transport", "shm"], "give it --transport udp"),
        ] {
            let line = takes_effect(&arguments(words)).unwrap_err();
            assert!(line.contains(says), "{line}");
        }
        for words in [
            &["put", "--compare", "openmpi"][..],
            &["tuning", "--steps", "submission=bypass"],
            &["datagrams", "--transport", "udp"],
            &[],
        ] {
            assert_eq!(takes_effect(&arguments(words)), Ok(()), "{words:?}");
        }
    }

    #[test]
    fn rows_of_a_job_are_taken_and_its_exit_code_kept() {
        let row = Row { name: "put".into(), transport: "shm".into(), ranks: 2, ..Row::default() };
        let mut taken = Vec::new();
        let code = run(&mut saying(&format!("{}something else\n", json(&row)), 3), &mut |row| {
            taken.push(row);
            Ok(())
        });
        assert_eq!((taken, code.unwrap()), (vec![row], 3));
    }

    /// The job would print without end.
    #[test]
    fn a_job_whose_rows_are_lost_is_ended() {
        let mut job = Command::new("sh");
        job.args(["-c", "while echo \"$0\"; do :; done", json(&Row::default()).trim_end()]);
        let lost = run(&mut job, &mut |_| Err(io::Error::other("lost")));
        assert_eq!(lost.unwrap_err().to_string(), "lost");
    }

    #[test]
    fn json_and_table_have_a_line_for_each_row() {
        let rows = vec![Row { name: "put".into(), ..Row::default() }; 3];
        assert_eq!(render(&rows, Format::Json, None).unwrap().lines().count(), 3);
        assert_eq!(render(&rows, Format::Table, None).unwrap().lines().count(), 3 + table::head().lines().count());
    }

    #[test]
    fn all_that_can_be_measured_is_listed() {
        assert_eq!(list().lines().count(), BENCHMARKS.len());
    }
}
