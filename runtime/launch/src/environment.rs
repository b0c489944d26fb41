//! What the environment says about the job; the launcher writes it, the rank reads it.

use std::os::fd::RawFd;

use pelago_base::{Duration, Rank};

/// The names of the variables.
pub mod names {
    /// This rank's number. Set by the launcher.
    pub const RANK: &str = "PELAGO_RANK";
    /// How many ranks the job has. Set by the launcher.
    pub const SIZE: &str = "PELAGO_SIZE";
    /// The descriptor of the memory that the ranks of this host share. Set by the launcher.
    pub const MEMORY: &str = "PELAGO_MEMORY";
    /// `auto`, `agent` or `inline`: who serves other ranks' requests.
    pub const PROGRESS: &str = "PELAGO_PROGRESS";
    /// `attach` or `agent`: how registered memory of other ranks is copied.
    pub const COPY: &str = "PELAGO_COPY";
    /// The most that each heap of a rank may grow to: bytes, or with K, M, G or T.
    pub const HEAP: &str = "PELAGO_HEAP";
    /// `1`: each rank writes every operation that passes through a transport to standard error.
    pub const TRACE: &str = "PELAGO_TRACE";
    /// `1`: each rank ends with a line on standard error that counts them.
    pub const STATISTICS: &str = "PELAGO_STATISTICS";
    /// After how many seconds in which every rank waits the job is declared deadlocked; 0 is never.
    pub const DEADLOCK: &str = "PELAGO_DEADLOCK_SECONDS";
}

const DEADLOCK_SECONDS_DEFAULT: f64 = 5.0;

/// What the environment says.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The job that a launcher started, or `None` if the program was started alone.
    pub job: Option<LaunchedJob>,
    /// Whether no agent thread may be started.
    pub inline_progress: bool,
    /// Whether copies of registered memory are left to its owner's agent.
    pub copy_by_agent: bool,
    /// Whether operations of the transport are written down.
    pub trace: bool,
    /// Whether they are counted.
    pub statistics: bool,
    /// The most bytes of a heap; `None` is as much as the machine has.
    pub heap_bytes: Option<u64>,
    /// After how long in which every rank waits the job is declared deadlocked; `None` is never.
    pub deadlock_after: Option<Duration>,
}

/// A rank's place in a job that a launcher started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedJob {
    /// This rank.
    pub rank: Rank,
    /// How many ranks the job has.
    pub size: u32,
    /// The descriptor of the memory that the ranks of this host share.
    pub memory: RawFd,
}

/// A variable has a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} cannot be {value:?}: it is {expected}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl Settings {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// A variable has a value that it cannot have.
    pub fn from_environment() -> Result<Self, SettingsError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the variables that `variable` looks up.
    ///
    /// # Errors
    /// A variable has a value that it cannot have.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let parsed = |name, expected, parse: &dyn Fn(&str) -> Option<f64>| match variable(name) {
            None => Ok(None),
            Some(value) => parse(&value).map(Some).ok_or(SettingsError { name, value, expected }),
        };
        let number = |name| parsed(name, "a number set by the launcher", &|text| Some(f64::from(text.parse::<u32>().ok()?)));
        let choice = |name, expected, words: &[&str]| {
            let position = |text: &str| Some(words.iter().position(|word| *word == text)? as f64);
            Ok(parsed(name, expected, &position)?.map_or(0, |index| index as usize))
        };
        let job = match (number(names::RANK)?, number(names::SIZE)?, number(names::MEMORY)?) {
            (Some(rank), Some(size), Some(memory)) => {
                Some(LaunchedJob { rank: Rank::new(rank as u32), size: size as u32, memory: memory as RawFd })
            }
            _ => None,
        };
        let seconds = |text: &str| text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
        let deadlock_seconds = parsed(names::DEADLOCK, "a number of seconds", &seconds)?.unwrap_or(DEADLOCK_SECONDS_DEFAULT);
        let heap_bytes = match variable(names::HEAP) {
            None => None,
            Some(value) => Some(parse_bytes(&value).ok_or(SettingsError {
                name: names::HEAP,
                value,
                expected: "a number of bytes, or of K, M, G or T",
            })?),
        };
        Ok(Self {
            job,
            inline_progress: choice(names::PROGRESS, "auto, agent or inline", &["auto", "agent", "inline"])? == 2,
            copy_by_agent: choice(names::COPY, "attach or agent", &["attach", "agent"])? == 1,
            trace: choice(names::TRACE, "0 or 1", &["0", "1"])? == 1,
            statistics: choice(names::STATISTICS, "0 or 1", &["0", "1"])? == 1,
            heap_bytes,
            deadlock_after: (deadlock_seconds > 0.0).then(|| Duration::from_seconds(deadlock_seconds)),
        })
    }
}

/// A number of bytes, with an optional K, M, G or T for powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().last()? {
        (end, 'K' | 'k') => (&text[..end], 10),
        (end, 'M' | 'm') => (&text[..end], 20),
        (end, 'G' | 'g') => (&text[..end], 30),
        (end, 'T' | 't') => (&text[..end], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_variables(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn an_empty_environment_is_a_program_alone() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.job, settings.inline_progress, settings.copy_by_agent), (None, false, false));
        assert_eq!(settings.deadlock_after, Some(Duration::from_milliseconds(5000)));
    }

    #[test]
    fn what_the_launcher_says_is_understood() {
        let settings = read(&[
            (names::RANK, "3"),
            (names::SIZE, "8"),
            (names::MEMORY, "17"),
            (names::HEAP, "2G"),
            (names::PROGRESS, "inline"),
            (names::COPY, "agent"),
            (names::DEADLOCK, "0"),
        ])
        .unwrap();
        assert_eq!(settings.job, Some(LaunchedJob { rank: Rank::new(3), size: 8, memory: 17 }));
        assert_eq!((settings.heap_bytes, settings.deadlock_after), (Some(2 << 30), None));
        assert!(settings.inline_progress && settings.copy_by_agent);
    }

    #[test]
    fn a_wrong_value_is_named() {
        for (name, value) in [(names::RANK, "x"), (names::HEAP, "12Q"), (names::PROGRESS, "Inline"), (names::DEADLOCK, "-1")] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
