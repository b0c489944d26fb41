//! The tuning steps of paper E (Nose et al., table 3), each of which is on or off, with the names of the simulator.

use core::fmt;
use core::str::FromStr;

/// Thread that posts operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The program's thread, without a queue: the unchanged library.
    Direct,
    /// The communication thread, which takes operations from a queue and stores their results in it.
    ProgressThread,
    /// The program's thread if the queue is empty, else the communication thread.
    Bypass,
}

/// Content of a command in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// The address of the target, computed in advance.
    Prepared,
    /// Rank, offset and length, which are checked and converted to an address for each operation.
    Built,
}

/// Whether several threads of the program may post commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread.
    One,
    /// Several threads: posting and completing take a lock.
    Many,
}

/// Executor of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// The library, in place of the paper's NIC: an instruction on mapped memory, otherwise an operation of the transport.
    Nic,
    /// The communication thread of the word's owner, to which the command is delegated.
    ProgressThread,
}

/// Communication thread that executes delegated operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// The thread that posts operations of its own rank.
    Together,
    /// A second thread.
    Apart,
}

/// A condition of table 3: the selected steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Thread that posts operations.
    pub submission: Submission,
    /// Content of a command.
    pub descriptors: Descriptors,
    /// Whether posting and completing take a lock.
    pub threads: Threads,
    /// Executor of an atomic.
    pub atomics: Atomics,
    /// Communication thread that executes delegated operations.
    pub serving: Serving,
}

impl Default for Steps {
    /// Condition 4 of the paper: the fastest for a single thread.
    fn default() -> Self {
        Self {
            submission: Submission::ProgressThread,
            descriptors: Descriptors::Prepared,
            threads: Threads::One,
            atomics: Atomics::Nic,
            serving: Serving::Together,
        }
    }
}

/// The conditions of table 3, by their numbers.
pub(crate) fn conditions() -> [(&'static str, Steps); 8] {
    let base = Steps { descriptors: Descriptors::Built, ..Steps::default() };
    let software = Steps { atomics: Atomics::ProgressThread, ..base };
    let many = Steps { threads: Threads::Many, ..base };
    let bypass = Steps { submission: Submission::Bypass, ..many };
    let prepared = |steps| Steps { descriptors: Descriptors::Prepared, ..steps };
    [
        ("1", software),
        ("2", Steps { threads: Threads::Many, ..software }),
        ("3", base),
        ("4", prepared(base)),
        ("5", many),
        ("6", prepared(many)),
        ("7", bypass),
        ("8", prepared(bypass)),
    ]
}

/// Defines the names of the values of a step, in order.
macro_rules! words {
    ($($kind:ident: $($word:literal $value:ident),+;)+) => {$(
        impl $kind {
            const WORDS: &[(&str, Self)] = &[$(($word, Self::$value)),+];

            fn word(self) -> &'static str {
                Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
            }

            fn of(word: &str) -> Option<Self> {
                Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
            }
        }
    )+};
}

words! {
    Submission: "direct" Direct, "progress-thread" ProgressThread, "bypass" Bypass;
    Descriptors: "prepared" Prepared, "built" Built;
    Threads: "one" One, "many" Many;
    Atomics: "nic" Nic, "progress-thread" ProgressThread;
    Serving: "together" Together, "apart" Apart;
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { submission, descriptors, threads, atomics, serving } = self;
        write!(
            f,
            "submission={},descriptors={},threads={},atomics={},serving={}",
            submission.word(),
            descriptors.word(),
            threads.word(),
            atomics.word(),
            serving.word()
        )
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut steps = Self::default();
        for step in text.split(',').filter(|step| !step.is_empty()) {
            let (key, word) = step.split_once('=').ok_or_else(|| format!("{step}: a step is KEY=VALUE"))?;
            let known = match key {
                "submission" => Submission::of(word).map(|value| steps.submission = value),
                "descriptors" => Descriptors::of(word).map(|value| steps.descriptors = value),
                "threads" => Threads::of(word).map(|value| steps.threads = value),
                "atomics" => Atomics::of(word).map(|value| steps.atomics = value),
                "serving" => Serving::of(word).map(|value| steps.serving = value),
                _ => return Err(format!("{key}: a step is submission, descriptors, threads, atomics or serving")),
            };
            known.ok_or_else(|| format!("{word}: no value of {key}"))?;
        }
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_back() {
        for (_, steps) in conditions() {
            assert_eq!(steps.to_string().parse(), Ok(steps));
        }
        assert_eq!("".parse(), Ok(Steps::default()));
        let parsed: Steps = "submission=bypass,serving=apart".parse().unwrap();
        assert_eq!(parsed, Steps { submission: Submission::Bypass, serving: Serving::Apart, ..Steps::default() });
        for (wrong, says) in [("bypass", "KEY=VALUE"), ("submission=free", "free"), ("way=direct", "way")] {
            assert!(wrong.parse::<Steps>().unwrap_err().contains(says));
        }
    }

    #[test]
    fn conditions_are_those_of_the_paper() {
        let [_, second, third, fourth, .., eighth] = conditions().map(|(_, steps)| steps);
        assert_eq!(fourth, Steps::default());
        assert_eq!((second.atomics, second.threads), (Atomics::ProgressThread, Threads::Many));
        assert_eq!((third.descriptors, eighth.submission), (Descriptors::Built, Submission::Bypass));
        assert_eq!((eighth.descriptors, eighth.threads), (Descriptors::Prepared, Threads::Many));
    }
}
