//! The `pelago` command, as a library so that end-to-end tests can run it too.
//!
//! | file or folder | content |
//! |---|---|
//! | `run` | `pelago run`: its options, and the job that they describe; jobs on several hosts, and the node daemon (`pelago host`, hidden) |
//! | `sim` | `pelago sim`: a program on a simulated machine, overrides of single machine values, C programs built as shared objects |
//! | `compare` | `pelago compare`: the reports of two runs, side by side |
//! | `sweep` | `pelago sweep`: many simulations described by a file, and their results in one table |
//! | `bench` | `pelago bench`: measurements in jobs of this executable |
//! | `tune` | `pelago tune`: a description of this machine, and its comparison with reality |
//! | `info` | `pelago info`: what this machine offers to jobs |
//! | `doctor` | `pelago doctor`: what this machine lacks, what that costs, and what to do |
//! | `top` | `pelago top`: the ranks of a running job |
//! | `manual` | `pelago completions`, `pelago man`: generated from the definitions of the command line |
//! | `bundled` | the programs that come with the command |
//! | `inputs` | input files, read up to a limit |
//! | `outputs` | checks that an output file can be written before the run; atomic replacement of files; standard output |
//! | `statistics` | medians and spreads of measurements |
//!
//! Exit codes, which scripts rely on: 0 success; 1 the program failed; 2 wrong usage; 3 a rank or host failed; 4 time limit; 130 interrupted.
//! Every error is one line on standard error: the problem, its place and a remedy.
//!
//! Absent on purpose: the start and supervision of ranks (`pelago-launch`), and the bundled programs themselves.

mod bench;
mod bundled;
mod compare;
mod doctor;
mod info;
mod inputs;
mod manual;
mod outputs;
mod run;
mod sim;
mod statistics;
mod sweep;
mod top;
mod tune;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use pelago_launch::launcher::LaunchError;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Run parallel programs that communicate by one-sided operations (PGAS): on this host, on several hosts, or on a simulated machine.
#[derive(Parser)]
#[command(name = "pelago", bin_name = "pelago", version, propagate_version = false)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Sim(sim::Sim),
    Compare(compare::Compare),
    Sweep(sweep::Sweep),
    Bench(bench::Bench),
    Tune(tune::Tune),
    Info(info::Info),
    Doctor(doctor::Doctor),
    Top(top::Top),
    Completions(manual::Completions),
    Man(manual::Man),
    /// One rank of a bundled program; `pelago run NAME` starts these.
    #[command(hide = true)]
    Bundled {
        /// The program's name, then its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// A program in C that is a shared object, in this process; `pelago sim` starts these.
    #[command(hide = true, name = sim::shared_object::COMMAND)]
    Object {
        /// Its path, then its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// A command that ends with the process that starts it; `pelago tune` starts simulations so.
    #[command(hide = true, name = CHILD_COMMAND)]
    Child {
        /// The number of the process.
        parent: i32,
        /// The command's path, then its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// The node daemon of one host; `pelago run --hosts` starts these.
    #[command(hide = true, name = pelago_launch::launcher::HOST_COMMAND)]
    NodeDaemon,
}

/// A usage error, or another reason not to start, as one line.
struct Refused(String);

/// Executes the command line.
pub fn main() -> ExitCode {
    pelago_launch::launcher::reset_inherited_signals();
    match parse().map(|arguments| arguments.command) {
        Ok(Command::Run(run)) => run.main(),
        Ok(Command::Sim(sim)) => sim.main(),
        Ok(Command::Compare(compare)) => compare.main(),
        Ok(Command::Sweep(sweep)) => sweep.main(),
        Ok(Command::Bench(bench)) => bench.main(),
        Ok(Command::Tune(tune)) => tune.main(),
        Ok(Command::Info(info)) => info.main(),
        Ok(Command::Doctor(doctor)) => doctor.main(),
        Ok(Command::Top(top)) => top.main(),
        Ok(Command::Completions(completions)) => completions.main(&Arguments::command()),
        Ok(Command::Man(man)) => man.main(Arguments::command()),
        Ok(Command::Bundled { command }) => bundled::main(command),
        Ok(Command::Object { command }) => sim::shared_object::main(command),
        Ok(Command::Child { parent, command }) => child(parent, &command),
        Ok(Command::NodeDaemon) => run::hosts::main(),
        Err(error) => refused(&error, &help_command(std::env::args_os().nth(1))),
    }
    .unwrap_or_else(|Refused(line)| {
        say(&line);
        ExitCode::from(2)
    })
}

/// Returns the path of this executable.
fn this() -> Result<PathBuf, Refused> {
    std::env::current_exe().map_err(|error| Refused(format!("cannot find the pelago command: {error}")))
}

/// Lets the system send a signal to this process when `parent`, which started it, has ended.
///
/// # Errors
/// The system refuses that, or the parent has ended already.
fn end_with(parent: i32, signal: Signal) -> Result<(), Refused> {
    let set = set_parent_process_death_signal(Some(signal));
    set.map_err(|error| Refused(format!("cannot end with process {parent}: {error}")))?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        return Err(Refused(format!("process {parent}, which started this one, has ended")));
    }
    Ok(())
}

/// Name of the hidden subcommand that replaces itself by a command, which ends with a process.
const CHILD_COMMAND: &str = "child";

/// Replaces this process by a command that ends with the process `parent`. The setting survives `exec`.
fn child(parent: i32, command: &[OsString]) -> Result<ExitCode, Refused> {
    end_with(parent, Signal::KILL)?;
    let (program, arguments) = command.split_first().expect("clap requires one");
    let error = std::process::Command::new(program).args(arguments).exec();
    Err(run::refusal(LaunchError::of_start(program, error)))
}

/// Writes a line to standard error, by one call of the system: other processes of the job may write there too. A closed standard error is no error.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("pelago: {line}\n").as_bytes());
}

/// Replaces control characters, which a terminal or the reader of a file would obey: for texts of other programs.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn parse() -> Result<Arguments, clap::Error> {
    let command = Arguments::command();
    let words = with_mpi_names(&command, std::env::args_os().collect());
    Arguments::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Options of `mpirun` and `mpiexec`, and their equivalents here.
const MPI_NAMES: [(&str, &str); 5] =
    [("-np", "-n"), ("-ppn", "-N"), ("-hosts", "--hosts"), ("-hostfile", "--hostfile"), ("-machinefile", "--hostfile")];

/// Replaces options in the style of `mpirun`, such as `-np N`, by their equivalents (`-n N`). The arguments of the program stay unchanged.
fn with_mpi_names(command: &clap::Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let Some(subcommand) = command.find_subcommand(name).filter(|_| ["run", "sim"].contains(&name)) else { return words };
    let takes_value = |word: &str| {
        let is_it = |option: &&clap::Arg| match word.strip_prefix("--") {
            Some(long) => option.get_long() == Some(long) || option.get_all_aliases().is_some_and(|all| all.contains(&long)),
            None => word.len() == 2 && option.get_short() == word.chars().nth(1),
        };
        subcommand.get_arguments().find(is_it).is_some_and(|option| option.get_action().takes_values())
    };
    // `pelago sim` has only the first.
    let names = if name == "run" { &MPI_NAMES[..] } else { &MPI_NAMES[..1] };
    let mut at = 2;
    while let Some(word) =
        words.get_mut(at).filter(|word| word.to_str().is_some_and(|word| word.starts_with('-') && word != "--"))
    {
        if let Some((_, meant)) = names.iter().find(|(name, _)| word == name) {
            *word = meant.into();
        }
        at += if word.to_str().is_some_and(takes_value) { 2 } else { 1 };
    }
    words
}

/// Prints help and version unchanged; reduces an error to one line that points to the help by the command `help`.
fn refused(error: &clap::Error, help: &str) -> Result<ExitCode, Refused> {
    if !error.use_stderr() {
        return outputs::printed(error.print().and_then(|()| std::io::stdout().flush())).map(|()| ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return Ok(ExitCode::from(2));
    }
    Err(Refused(one_line(&error.render().to_string(), help)))
}

/// Returns the command that prints the help of the subcommand `name`, or of `pelago` if there is no such subcommand.
fn help_command(name: Option<OsString>) -> String {
    let command = Arguments::command();
    let subcommand = name.and_then(|name| command.find_subcommand(name)).filter(|subcommand| !subcommand.is_hide_set());
    subcommand.map_or("pelago --help".into(), |subcommand| format!("pelago {} --help", subcommand.get_name()))
}

/// Returns the first paragraph of a message, which describes the error, similar names if the message has some, and a pointer to the help.
fn one_line(message: &str, help: &str) -> String {
    let what = message.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let words: Vec<_> = what.split_whitespace().collect();
    let tips = message.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // Similar subcommands may be internal ones.
    let similar = tips.filter(|tip| tip.contains("similar") && !tip.contains("subcommand")).map(|tip| format!("; {tip}"));
    let tip: String = similar.collect();
    format!("{}{tip}; see {help}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[&str]) -> String {
        let error = Arguments::command().try_get_matches_from(["pelago"].iter().chain(arguments)).unwrap_err();
        one_line(&error.render().to_string(), &help_command(arguments.first().map(OsString::from)))
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_number_of_ranks_may_be_given_as_mpirun_takes_it() {
        for (given, meant) in [
            (&["run", "-np", "4", "ring"][..], &["run", "-n", "4", "ring"][..]),
            (
                &["run", "--label", "--hosts", "a,b", "-np", "4", "x", "-np", "5"],
                &["run", "--label", "--hosts", "a,b", "-n", "4", "x", "-np", "5"],
            ),
            (&["sim", "--machine=m", "-np", "4", "x"], &["sim", "--machine=m", "-n", "4", "x"]),
            (&["run", "-n", "4", "--", "x", "-np"], &["run", "-n", "4", "--", "x", "-np"]),
            (&["bench", "-np"], &["bench", "-np"]),
            (&["run", "-ppn", "2", "-hosts", "-np,b", "x", "-hosts"], &["run", "-N", "2", "--hosts", "-np,b", "x", "-hosts"]),
            (&["run", "-machinefile", "f", "-hostfile", "-np"], &["run", "--hostfile", "f", "--hostfile", "-np"]),
            (&["sim", "-hosts", "-np", "2"], &["sim", "-hosts", "-n", "2"]),
        ] {
            let words = |words: &[&str]| ["pelago"].iter().chain(words).map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_mpi_names(&Arguments::command(), words(given)), words(meant));
        }
        let long = ["pelago", "run", "--np", "4", "ring"];
        assert!(Arguments::command().try_get_matches_from(long).is_ok());
    }

    #[test]
    fn usage_errors_are_one_line() {
        for (arguments, says) in [
            (&["run", "-n", "x", "ring"][..], "'x'"),
            (&["run", "-N", "0", "ring"], "'0'"),
            (&["run", "--no-allocation", "--hosts", "a", "ring"], "--no-allocation"),
            (&["run", "-n", "2"], "PROGRAM"),
            (&["run", "--lable", "-n", "2", "ring"], "--lable"),
            (&["run", "-n", "2", "--transport", "pigeon", "ring"], "pigeon"),
            (&["run", "-n", "2", "--time-limit", "-1", "ring"], "-1"),
            (&["tune", "--rounds", "0"], "0"),
            (&["tune", "--machine", "laptop"], "--check"),
            (&["fly"], "fly"),
        ] {
            let line = line(arguments);
            assert!(line.contains(says) && !line.contains('\n'), "{arguments:?}: {line}");
        }
    }

    #[test]
    fn usage_errors_name_the_help_of_the_subcommand_and_similar_names() {
        for (arguments, expected) in [
            (
                &["run", "-n", "4", "--labl", "ring"][..],
                "unexpected argument '--labl' found; a similar argument exists: '--label'; see pelago run --help",
            ),
            (&["sim", "--zzz"], "unexpected argument '--zzz' found; see pelago sim --help"),
            (&["bench", "--zzz"], "unexpected argument '--zzz' found; see pelago bench --help"),
            (&["top", "--onc"], "unexpected argument '--onc' found; a similar argument exists: '--once'; see pelago top --help"),
            (&["benhc"], "unrecognized subcommand 'benhc'; see pelago --help"),
        ] {
            assert_eq!(line(arguments), expected);
        }
    }
}
