//! The steps of tuning of paper E (Nose et al., table 3), each of which is there or not, by the names that the simulator has for them.

use core::fmt;
use core::str::FromStr;

/// Which thread posts operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The program's, without a queue: the library as it is.
    Direct,
    /// The communication thread, which takes them from a queue and puts their results there.
    ProgressThread,
    /// The program's if the queue is empty, else the communication thread.
    Bypass,
}

/// What a command of the queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// The address of its target, found beforehand.
    Prepared,
    /// Rank, place and length, which are checked and made an address for each operation.
    Built,
}

/// Whether several threads of the program may post commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One.
    One,
    /// Several: posting and completing take a lock.
    Many,
}

/// What performs an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    /// The library: an instruction on mapped memory, an operation of the transport elsewhere. For what a NIC is in the paper.
    Nic,
    /// The communication thread of the owner of the word, to which the command is delegated.
    ProgressThread,
}

/// Which communication thread performs what others delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// The one that posts operations of its own rank.
    Together,
    /// A second one.
    Apart,
}

/// A condition of table 3: which steps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Which thread posts operations.
    pub submission: Submission,
    /// What a command holds.
    pub descriptors: Descriptors,
    /// Whether posting and completing take a lock.
    pub threads: Threads,
    /// What performs an atomic.
    pub atomics: Atomics,
    /// Which communication thread performs what others delegate.
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

/// Names of the values of a step, in order.
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
