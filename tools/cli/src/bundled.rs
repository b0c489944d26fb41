//! The programs that come with the command: `pelago run -n 2 NAME` runs this executable again, as each of the ranks.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use pelago_examples::{PROGRAMS, Program};

use crate::{Refused, say};

/// Name of the hidden subcommand that executes one rank of a bundled program.
pub(crate) const COMMAND: &str = "bundled";

/// Returns the bundled program called `name`.
pub(crate) fn find(name: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// Returns the bundled program whose name is most similar to the misspelled `name`, if one is similar enough.
pub(crate) fn similar(name: &str) -> Option<&'static str> {
    let similarity = |known: &str| strsim::damerau_levenshtein(known, name);
    let nearest = PROGRAMS.iter().map(|program| program.name).min_by_key(|known| similarity(known))?;
    // Similar enough: at most a third of the letters differ.
    (similarity(nearest) * 3 <= nearest.len().max(3)).then_some(nearest)
}

/// Converts arguments to the UTF-8 strings that bundled programs take.
pub(crate) fn texts(arguments: &[OsString]) -> Result<Vec<String>, Refused> {
    let text = |argument: &OsString| argument.clone().into_string();
    arguments.iter().map(text).collect::<Result<_, _>>().map_err(|argument| Refused(format!("{argument:?} is not UTF-8")))
}

/// Internal program name by which `pelago bench` starts its ranks.
pub(crate) const BENCH_RANK: &str = "bench-rank";

/// Executes one rank of the program named by the first word of `command`.
pub(crate) fn main(command: Vec<OsString>) -> Result<ExitCode, Refused> {
    let (name, arguments) = command.split_first().expect("clap requires one");
    if name == BENCH_RANK {
        return Ok(pelago_bench::rank_main(texts(arguments)?));
    }
    let program = find(name).ok_or_else(|| Refused(format!("no bundled program is called {name:?}; see pelago run --list")))?;
    report_failed_prints();
    Ok((program.main)(texts(arguments)?))
}

/// Reports a panic of `println!` because of a full or broken output as one line, without a backtrace: it is no defect of the program.
fn report_failed_prints() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let why = panic.payload().downcast_ref::<String>().and_then(|text| text.strip_prefix("failed printing to stdout: "));
        match why {
            Some(why) => say(&format!("cannot write to the standard output: {why}")),
            None => report(panic),
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_programs_are_recognized() {
        for (name, expected) in [("rign", "ring"), ("himemo", "himeno"), ("colectives", "collectives"), ("kmer", "kmers")] {
            assert_eq!(similar(name), Some(expected), "{name}");
        }
        for name in ["no-such-program", "python3", "x", ""] {
            assert_eq!(similar(name), None, "{name}");
        }
    }
}
