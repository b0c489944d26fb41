//! The `pelago` command, as a library so that the tests of whole programs can run it too.
//!
//! | file | holds |
//! |---|---|
//! | `run` | `pelago run`: its options, and the job that they describe |
//! | `host` | `pelago run --hosts`: where a job runs; `pelago host`, hidden: what runs on each of them |
//! | `sim`, `overrides`, `quantity` | `pelago sim`: all ranks on a simulated machine; single values of it replaced, with units |
//! | `outputs` | whether a file can be written, before the work for it |
//! | `executable`, `object` | whether a file is a program that can be simulated; programs in C that are shared objects |
//! | `bench` | `pelago bench`: measures in jobs of this executable |
//! | `tune` | `pelago tune`: describes this machine, and compares what is simulated on the description with what happens |
//! | `info` | `pelago info`: what this machine offers |
//! | `attach` | whether processes may read each other's memory here |
//! | `bundled` | the programs that come with the command |
//!
//! Exit codes, which scripts rely on: 0 good; 1 the program failed; 2 wrong usage; 3 a rank was lost; 4 time limit; 130 interrupted.
//! Every error is one line on standard error: what, where, what to do.
//!
//! Absent on purpose: how ranks are started and watched (`pelago-launch`), and what programs compute.

mod attach;
mod bench;
mod bundled;
mod executable;
mod host;
mod info;
mod object;
mod outputs;
mod overrides;
mod quantity;
mod run;
mod sim;
mod tune;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// One-sided communication: run programs and look at this machine.
#[derive(Parser)]
#[command(name = "pelago", version, propagate_version = false)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Sim(sim::Sim),
    Bench(bench::Bench),
    Tune(tune::Tune),
    Info(info::Info),
    /// One rank of a bundled program; `pelago run NAME` starts these.
    #[command(hide = true)]
    Bundled {
        /// The program's name, then its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// A program in C that is a shared object, in this process; `pelago sim` starts these.
    #[command(hide = true, name = object::COMMAND)]
    Object {
        /// Its path, then its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// The part of one host in a job; `pelago run --hosts` starts these.
    #[command(hide = true, name = pelago_launch::launcher::HOST_COMMAND)]
    Host,
}

/// A usage error, or another reason not to start: one line.
struct Refused(String);

/// Does what the command line says.
pub fn main() -> ExitCode {
    match parse().map(|arguments| arguments.command) {
        Ok(Command::Run(run)) => run.main(),
        Ok(Command::Sim(sim)) => sim.main(),
        Ok(Command::Bench(bench)) => bench.main(),
        Ok(Command::Tune(tune)) => tune.main(),
        Ok(Command::Info(info)) => Ok(info.main()),
        Ok(Command::Bundled { command }) => bundled::main(command),
        Ok(Command::Object { command }) => object::main(command),
        Ok(Command::Host) => host::main(),
        Err(error) => refused(&error),
    }
    .unwrap_or_else(|Refused(line)| {
        say(&line);
        ExitCode::from(2)
    })
}

/// Where this command is.
fn this() -> Result<PathBuf, Refused> {
    std::env::current_exe().map_err(|error| Refused(format!("cannot find the pelago command: {error}")))
}

/// Says something on standard error, where nobody may listen any more.
fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "pelago: {line}");
}

fn parse() -> Result<Arguments, clap::Error> {
    let matches = Arguments::command().try_get_matches()?;
    Arguments::from_arg_matches(&matches)
}

/// Help and version are printed as they are; of an error, what matters, in one line.
fn refused(error: &clap::Error) -> Result<ExitCode, Refused> {
    let asked = !error.use_stderr();
    if asked || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return Ok(ExitCode::from(if asked { 0 } else { 2 }));
    }
    Err(Refused(one_line(&error.render().to_string())))
}

/// The first paragraph of a message, which says what is wrong, and where to read on.
fn one_line(message: &str) -> String {
    let what = message.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let words: Vec<_> = what.split_whitespace().collect();
    format!("{}; see pelago --help", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[&str]) -> String {
        let error = Arguments::command().try_get_matches_from(["pelago"].iter().chain(arguments)).unwrap_err();
        one_line(&error.render().to_string())
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn usage_errors_are_one_line() {
        for (arguments, says) in [
            (&["run", "ring"][..], "-n <N>"),
            (&["run", "-n", "x", "ring"], "'x'"),
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
}
