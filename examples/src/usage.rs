//! Parsing of a program's arguments. Rank 0 reports wrong arguments in one line; the exit code is 2.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Args, Parser};
use pelago::halo::{DIMENSIONS_MAX, Halo, Method, Route, Settings, TRIAL_LIMIT};
use pelago::{Duration, Error, Rail, World};

/// Reason why a program does not start.
pub(crate) enum Stop {
    /// The user requested this help text.
    Help(String),
    /// The error, in one line.
    Wrong(String),
}

impl Stop {
    /// Prints the reason once for all ranks; returns the exit code.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell(&self, program: &str, world: &World) -> ExitCode {
        if world.rank().number() == 0 {
            let _ = match self {
                Self::Help(text) => write!(Output, "{text}"),
                Self::Wrong(line) => writeln!(std::io::stderr(), "{program}: {line}"),
            };
        }
        ExitCode::from(if matches!(self, Self::Help(_)) { 0 } else { 2 })
    }

    /// Converts to a result with the error, if there is one.
    pub(crate) fn wrong(self) -> Result<(), String> {
        match self {
            Self::Help(_) => Ok(()),
            Self::Wrong(line) => Err(line),
        }
    }
}

/// Returns this rank's value if all ranks have one. Otherwise returns `None` on all ranks, and the first rank without a value prints the reason on
/// standard error, formatted by `line`. Collective.
pub(crate) fn if_all_have<T, E: Display>(
    world: &World,
    got: Result<T, E>,
    line: impl FnOnce(String) -> String,
) -> pelago::Result<Option<T>> {
    let rank = world.rank().number();
    let mut first_without = [if got.is_ok() { u32::MAX } else { rank }];
    world.allreduce(&mut first_without, |one, other| one.min(other))?;
    if let Err(why) = &got
        && first_without == [rank]
    {
        let _ = writeln!(std::io::stderr(), "{}", line(format!("rank {rank}: {why}")));
    }
    // The launcher ends the job when the first rank fails, and the message must be printed before.
    world.barrier()?;
    Ok(got.ok().filter(|_| first_without == [u32::MAX]))
}

/// A requested value; `None` if the choice is left open.
#[derive(Clone, Copy)]
struct Open<T>(Option<T>);

/// Expands requests to all dimensions: none, one for all, or one for each.
fn for_each_dimension<T: Copy>(asked: &[Open<T>]) -> Result<[Option<T>; DIMENSIONS_MAX], Stop> {
    match asked {
        [Open(all)] => Ok([*all; DIMENSIONS_MAX]),
        each if each.len() <= DIMENSIONS_MAX => Ok(std::array::from_fn(|d| each.get(d).and_then(|open| open.0))),
        each => Err(Stop::Wrong(format!("{} names for {DIMENSIONS_MAX} dimensions at most", each.len()))),
    }
}

/// How borders travel, for programs with halos.
#[derive(Args)]
pub(crate) struct Borders {
    /// Method of the halo exchange: direct, packed or fetched; one name for all dimensions, or one for each; -: chosen by a trial
    /// [default: chosen by a trial]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 1, value_parser = method)]
    method: Vec<Open<Method>>,
    /// Route of edges and corners: direct or forwarded [default: chosen by a trial]
    #[arg(long, value_name = "NAME", value_parser = route)]
    route: Option<Route>,
    /// Rail of the halo exchange: one name for all dimensions, or one for each; -: chosen by a trial; all: in parts over all rails
    /// [default: chosen by trials]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 1)]
    rail: Vec<String>,
    /// Time limit of all trials together; candidates that were not measured by then are not chosen [default: 0.5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    trial_limit: Option<Duration>,
    /// Print the chosen methods, all candidates and their costs: rank 0, for its neighbours
    #[arg(long)]
    pub(crate) explain: bool,
}

impl Borders {
    /// Returns the settings of a plan; an error if a rail does not exist.
    pub(crate) fn settings(&self, world: &World, halo: Halo) -> Result<Settings, Stop> {
        let by: Vec<_> = self.rail.iter().map(|name| rail(world, name).map(Open)).collect::<Result<_, _>>()?;
        Ok(Settings {
            methods: for_each_dimension(&self.method)?,
            rails: for_each_dimension(&by)?,
            route: self.route,
            trial_limit: self.trial_limit.unwrap_or(TRIAL_LIMIT),
            ..Settings::new(halo)
        })
    }
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..1e6).contains(seconds));
    seconds.map(Duration::from_seconds).ok_or("it is a number of seconds, below a million")
}

/// Returns the rail of a name; `None` for -, which leaves the choice open.
pub(crate) fn rail(world: &World, name: &str) -> Result<Option<Rail>, Stop> {
    if name == "-" {
        return Ok(None);
    }
    let rails = world.rails();
    let known = || rails.iter().map(|rail| rail.name).collect::<Vec<_>>().join(", ");
    let of_name = || rails.iter().position(|rail| rail.name == name).and_then(Rail::new);
    let found = if name == "all" { rails.all() } else { of_name() };
    found.map(Some).ok_or_else(|| Stop::Wrong(format!("there is no rail {name:?} here: give {} or -", known())))
}

/// Parses the arguments after a program's name.
pub(crate) fn parse<A: Parser>(arguments: &[String]) -> Result<A, Stop> {
    let name = A::command().get_name().to_owned();
    A::try_parse_from(std::iter::once(&name).chain(arguments)).map_err(|error| {
        let text = error.render().to_string();
        if error.use_stderr() { Stop::Wrong(one_line(&text)) } else { Stop::Help(text) }
    })
}

/// Returns the exit code of a rank; prints an error as one line, and so the first failed write to [`Output`].
pub(crate) fn exit(program: &str, result: pelago::Result<ExitCode>) -> ExitCode {
    let _ = Output.flush();
    let result = result.map_err(|error| error.to_string());
    let written = WRITE_ERROR.get().map_or(Ok(()), |error| Err(format!("cannot write to the standard output: {error}")));
    result.and_then(|code| written.map(|()| code)).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "{program}: {error}");
        ExitCode::FAILURE
    })
}

/// The first error of a write to [`Output`].
static WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// The standard output. Its callers may ignore errors of writes: [`exit`] reports the first one. A reader that closes the pipe early is not an error.
pub(crate) struct Output;

impl Output {
    fn note<T>(result: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(error) = &result
            && !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted)
        {
            WRITE_ERROR.get_or_init(|| error.to_string());
        }
        result
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Self::note(std::io::stdout().write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Self::note(std::io::stdout().flush())
    }
}

/// Returns an empty vector with room for `length` elements: for what the arguments make as large as they like.
///
/// # Errors
/// The system does not give the process so much memory.
pub(crate) fn room<T>(what: &'static str, length: usize) -> pelago::Result<Vec<T>> {
    let mut vector = Vec::new();
    match vector.try_reserve_exact(length) {
        Ok(()) => Ok(vector),
        Err(_) => Err(Error::OutOfMemory { what, bytes: (length as u64).saturating_mul(size_of::<T>() as u64) }),
    }
}

/// Returns a vector with `length` copies of a value.
///
/// # Errors
/// As for [`room`].
pub(crate) fn copies<T: Clone>(what: &'static str, length: usize, value: T) -> pelago::Result<Vec<T>> {
    let mut vector = room(what, length)?;
    vector.resize(length, value);
    Ok(vector)
}

/// Parses a number of at least 1.
pub(crate) fn at_least_one(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|&number| number > 0).ok_or("give a number from 1 on")
}

/// Parses a finite number.
pub(crate) fn finite<T: std::str::FromStr + Copy + Into<f64>>(text: &str) -> Result<T, &'static str> {
    text.parse().ok().filter(|&value: &T| value.into().is_finite()).ok_or("give a finite number")
}

/// Parses a cost in nanoseconds of virtual time.
pub(crate) fn cost(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|cost| (0.0..=1e9).contains(cost)).ok_or("give nanoseconds, from 0 to a second of them")
}

/// Parses a method of the halo exchange.
fn method(text: &str) -> Result<Open<Method>, &'static str> {
    let found = Method::ALL.into_iter().find(|method| method.to_string() == text);
    if found.is_some() || text == "-" { Ok(Open(found)) } else { Err("give direct, packed, fetched or -") }
}

/// Parses the route of edges and corners.
fn route(text: &str) -> Result<Route, &'static str> {
    [Route::Direct, Route::Forwarded].into_iter().find(|route| route.to_string() == text).ok_or("give direct or forwarded")
}

/// Returns the first paragraph of clap's message as one line.
fn one_line(message: &str) -> String {
    let paragraph = message.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_does_not_exist_is_an_error() {
        assert_eq!(copies("numbers", 3, 7_u64), Ok(vec![7; 3]));
        let missing = |length| copies("numbers", length, 7_u64).unwrap_err().to_string();
        assert_eq!(missing(1 << 50), "there are no 9007199254740992 bytes of memory for numbers");
        assert_eq!(missing(usize::MAX), "there are no 18446744073709551615 bytes of memory for numbers");
    }
}
