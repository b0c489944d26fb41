//! The programs that come with the command: `pelago run -n 2 NAME` runs this executable again, as each of the ranks.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::Refused;

/// The programs, in the order in which `pelago run --list` shows them.
pub const PROGRAMS: &[Program] = &[];

/// A program that comes with the command.
pub struct Program {
    /// By which it is run.
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    /// What is wrong with these arguments for so many ranks, in one line; asked once, before any rank starts.
    pub check: fn(&[String], u32) -> Result<(), String>,
    /// Runs one rank.
    pub main: fn(Vec<String>) -> ExitCode,
}

/// The hidden command that is one rank of a bundled program.
pub(crate) const COMMAND: &str = "bundled";

/// The program of this name.
pub(crate) fn find(name: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// Arguments as bundled programs take them.
pub(crate) fn texts(arguments: &[OsString]) -> Result<Vec<String>, Refused> {
    let text = |argument: &OsString| argument.clone().into_string();
    arguments.iter().map(text).collect::<Result<_, _>>().map_err(|argument| Refused(format!("{argument:?} is not UTF-8")))
}

/// One rank of the program that `command` names.
pub(crate) fn main(command: Vec<OsString>) -> Result<ExitCode, Refused> {
    let (name, arguments) = command.split_first().expect("clap requires one");
    let program = find(name).ok_or_else(|| Refused(format!("no bundled program is called {name:?}; see pelago run --list")))?;
    Ok((program.main)(texts(arguments)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_differ() {
        for (index, program) in PROGRAMS.iter().enumerate() {
            assert!(program.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", program.name);
            assert!(PROGRAMS[..index].iter().all(|other| other.name != program.name), "{}", program.name);
            assert!(!program.summary.is_empty() && !program.summary.contains('\n'), "{}", program.name);
        }
    }
}
