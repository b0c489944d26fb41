//! The recording of one rank, in the form in which it is sent from the rank to the process that writes a trace of the job.

use core::fmt::{self, Write};
use core::str::{FromStr, SplitAsciiWhitespace};

/// The first line of the text form, with the version of its layout.
const HEAD: &str = "pelago-recorded 3";

/// The recording of one rank. Times are in nanoseconds of the clock of the rank.
///
/// The text form has a line for each fact, wait and operation, some 30 bytes each; [`FromStr`] parses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRank {
    /// The host of the rank.
    pub host: RecordedHost,
    /// The monotonic time of the host at which the clock of the rank was zero.
    pub clock_ns: u64,
    /// Beginning of the recording.
    pub begin_ns: u64,
    /// End of the recording.
    pub end_ns: u64,
    /// Beginning and end of each wait of the rank.
    pub waits: Vec<(u64, u64)>,
    /// Number of later waits, for which there was no space.
    pub waits_dropped: u64,
    /// Operations that the rank posted to a transport.
    pub operations: Vec<RecordedOperation>,
    /// Number of later operations, for which there was no space.
    pub operations_dropped: u64,
}

/// The host of a rank, and the offset of its clock from that of the host of rank 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedHost {
    /// Its name.
    pub name: String,
    /// Its first rank.
    pub first: u32,
    /// Offset to add to its monotonic time to obtain that of the host of rank 0, as measured by the first rank of the host; 0 for its other ranks.
    pub offset_ns: i64,
    /// Maximum error of `offset_ns`.
    pub error_ns: u64,
}

/// An operation that a transport has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedOperation {
    /// Its kind.
    pub kind: RecordedKind,
    /// The rank at its other end.
    pub to: u32,
    /// Number of bytes that it moves.
    pub bytes: u64,
    /// Time of the call that posted it.
    pub posted_ns: u64,
    /// Time at which that call returned.
    pub returned_ns: u64,
    /// Time at which its initiator received the completion, and whether it succeeded; `None` if the recording ended before.
    pub completed: Option<(u64, bool)>,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedKind {
    /// Writes memory of another rank.
    Put,
    /// Reads it.
    Get,
    /// Copies between two ranks.
    Copy,
    /// Changes a word.
    Atomic,
}

impl RecordedKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::Copy, Self::Atomic];

    /// Its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Copy => "copy",
            Self::Atomic => "atomic",
        }
    }
}

impl fmt::Display for RecordedRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordedHost { name, first, offset_ns, error_ns } = &self.host;
        // A name is one word of the text.
        let name: String = name.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect();
        writeln!(f, "{HEAD}\nhost {first} {offset_ns} {error_ns} {name}")?;
        writeln!(f, "clock {} {} {}", self.clock_ns, self.begin_ns, self.end_ns)?;
        writeln!(f, "dropped {} {}", self.waits_dropped, self.operations_dropped)?;
        self.waits.iter().try_for_each(|(from, to)| writeln!(f, "wait {from} {to}"))?;
        for RecordedOperation { kind, to, bytes, posted_ns, returned_ns, completed } in &self.operations {
            write!(f, "{} {to} {bytes} {posted_ns} {returned_ns}", kind.name())?;
            if let Some((at, succeeded)) = completed {
                write!(f, " {at} {}", if *succeeded { "done" } else { "failed" })?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

impl FromStr for RecordedRank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(format!("it does not begin with {HEAD:?}"));
        }
        let mut rank = Self::default();
        lines.try_for_each(|line| rank.read(line).ok_or_else(|| format!("it has the line {line:?}")))?;
        Ok(rank)
    }
}

impl RecordedRank {
    /// Parses one line; `None` if it is not valid.
    fn read(&mut self, line: &str) -> Option<()> {
        fn next<T: FromStr>(words: &mut SplitAsciiWhitespace<'_>) -> Option<T> {
            words.next()?.parse().ok()
        }
        let mut words = line.split_ascii_whitespace();
        let words = &mut words;
        match words.next()? {
            "host" => {
                (self.host.first, self.host.offset_ns, self.host.error_ns) = (next(words)?, next(words)?, next(words)?);
                self.host.name = words.next().unwrap_or_default().into();
            }
            "clock" => (self.clock_ns, self.begin_ns, self.end_ns) = (next(words)?, next(words)?, next(words)?),
            "dropped" => (self.waits_dropped, self.operations_dropped) = (next(words)?, next(words)?),
            "wait" => self.waits.push((next(words)?, next(words)?)),
            name => {
                let kind = RecordedKind::ALL.into_iter().find(|kind| kind.name() == name)?;
                let (to, bytes, posted_ns, returned_ns) = (next(words)?, next(words)?, next(words)?, next(words)?);
                let completed = match words.next() {
                    Some(at) => Some((at.parse().ok()?, words.next()? == "done")),
                    None => None,
                };
                self.operations.push(RecordedOperation { kind, to, bytes, posted_ns, returned_ns, completed });
            }
        }
        words.next().is_none().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_read_again() {
        let operation = |kind, completed| RecordedOperation { kind, to: 3, bytes: 64, posted_ns: 10, returned_ns: 12, completed };
        let rank = RecordedRank {
            host: RecordedHost { name: "a".into(), first: 2, offset_ns: -5, error_ns: 7 },
            clock_ns: 1 << 60,
            begin_ns: 1,
            end_ns: 100,
            waits: vec![(1, 2), (30, 40)],
            waits_dropped: 8,
            operations: [Some((20, true)), None, Some((25, false)), None]
                .into_iter()
                .zip(RecordedKind::ALL)
                .map(|(completed, kind)| operation(kind, completed))
                .collect(),
            operations_dropped: 9,
        };
        assert_eq!(rank.to_string().parse(), Ok(rank.clone()));
        let named = RecordedRank { host: RecordedHost { name: "my host".into(), ..rank.host.clone() }, ..rank.clone() };
        assert_eq!(named.to_string().parse::<RecordedRank>().unwrap().host.name, "my_host");
        for (wrong, why) in [
            ("", "does not begin"),
            ("pelago-recorded 2\n", "does not begin"),
            ("pelago-recorded 3\nwait 1\n", "\"wait 1\""),
            ("pelago-recorded 3\nput 1 2 3 4 5\n", "\"put 1 2 3 4 5\""),
            ("pelago-recorded 3\nwait 1 2 3\n", "\"wait 1 2 3\""),
            ("pelago-recorded 3\npush 1 2 3\n", "push"),
        ] {
            let error = wrong.parse::<RecordedRank>().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
