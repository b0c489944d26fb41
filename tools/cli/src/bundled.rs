//! The programs that come with the command: `pelago run -n 2 NAME` runs this executable again, as each of the ranks.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use pelago_examples::{PROGRAMS, Program};

use crate::Refused;

/// The hidden command that is one rank of a bundled program.
pub(crate) const COMMAND: &str = "bundled";

/// The program of this name.
pub(crate) fn find(name: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// The bundled program whose name is most similar to a misspelled one, if any is similar.
pub(crate) fn similar(name: &str) -> Option<&'static str> {
    let similarity = |known: &str| strsim::damerau_levenshtein(known, name);
    let nearest = PROGRAMS.iter().map(|program| program.name).min_by_key(|known| similarity(known))?;
    // Up to a third of the letters.
    (similarity(nearest) * 3 <= nearest.len().max(3)).then_some(nearest)
}

/// Arguments as bundled programs take them.
pub(crate) fn texts(arguments: &[OsString]) -> Result<Vec<String>, Refused> {
    let text = |argument: &OsString| argument.clone().into_string();
    arguments.iter().map(text).collect::<Result<_, _>>().map_err(|argument| Refused(format!("{argument:?} is not UTF-8")))
}

/// The name of one rank of `pelago bench`, which is not for users.
pub(crate) const BENCH_RANK: &str = "bench-rank";

/// One rank of the program that `command` names.
pub(crate) fn main(command: Vec<OsString>) -> Result<ExitCode, Refused> {
    let (name, arguments) = command.split_first().expect("clap requires one");
    if name == BENCH_RANK {
        return Ok(pelago_bench::rank_main(texts(arguments)?));
    }
    let program = find(name).ok_or_else(|| Refused(format!("no bundled program is called {name:?}; see pelago run --list")))?;
    Ok((program.main)(texts(arguments)?))
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
