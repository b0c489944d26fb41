//! The recording of one rank, in the form in which it is sent from the rank to the process that writes a trace of the job.

use core::fmt::{self, Write};
use core::str::{FromStr, SplitAsciiWhitespace};

/// The first line of the text form, with the version of its layout.
const HEAD: &str = "pelago-recorded 5";

/// The last line of the text form: a text without it, such as one that was cut by a full disk, is not a recording.
const END: &str = "end";

/// The recording of one rank. Times are in nanoseconds of the clock of the rank.
///
/// The text form has a line for each fact, wait and operation, some 30 bytes each; [`FromStr`] parses it, and refuses a part of it.
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
    /// Time at which the rank knew that all ranks had joined the job, before its program began; 0 if it ended before.
    pub joined_ns: u64,
    /// Beginning and end of each wait of the rank.
    pub waits: Vec<(u64, u64)>,
    /// Number of later waits, for which there was no space.
    pub waits_dropped: u64,
    /// Total time of these waits.
    pub waits_dropped_ns: u64,
    /// Operations that the rank posted to a transport.
    pub operations: Vec<RecordedOperation>,
    /// Later operations, for which there was no space, in the order of [`RecordedKind::ALL`].
    pub operations_dropped: [DroppedOperations; 4],
}

/// Operations of one kind that are only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedOperations {
    /// Number of operations.
    pub count: u64,
    /// Number of bytes that they move.
    pub bytes: u64,
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

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for RecordedRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordedHost { name, first, offset_ns, error_ns } = &self.host;
        // A name is one word of the text.
        let name: String = name.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect();
        writeln!(f, "{HEAD}\nhost {first} {offset_ns} {error_ns} {name}")?;
        writeln!(f, "clock {} {} {} {}", self.clock_ns, self.begin_ns, self.end_ns, self.joined_ns)?;
        writeln!(f, "dropped-waits {} {}", self.waits_dropped, self.waits_dropped_ns)?;
        for (kind, DroppedOperations { count, bytes }) in RecordedKind::ALL.into_iter().zip(&self.operations_dropped) {
            writeln!(f, "dropped {} {count} {bytes}", kind.name())?;
        }
        self.waits.iter().try_for_each(|(from, to)| writeln!(f, "wait {from} {to}"))?;
        for RecordedOperation { kind, to, bytes, posted_ns, returned_ns, completed } in &self.operations {
            write!(f, "{} {to} {bytes} {posted_ns} {returned_ns}", kind.name())?;
            if let Some((at, succeeded)) = completed {
                write!(f, " {at} {}", if *succeeded { "done" } else { "failed" })?;
            }
            f.write_char('\n')?;
        }
        writeln!(f, "{END}")
    }
}

impl FromStr for RecordedRank {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.lines().next() != Some(HEAD) {
            return Err(format!("it does not begin with {HEAD:?}"));
        }
        let whole = text.strip_suffix('\n').and_then(|text| text.strip_suffix(END)).filter(|text| text.ends_with('\n'));
        let lines = whole.ok_or_else(|| format!("it is incomplete: its last line is not {END:?}"))?.lines().skip(1);
        let mut rank = Self::default();
        for line in lines {
            rank.read(line).ok_or_else(|| format!("it has the line {line:?}"))?;
        }
        Ok(rank)
    }
}

impl RecordedRank {
    /// Returns the number of operations for which there was no space.
    pub fn operations_dropped(&self) -> u64 {
        self.operations_dropped.iter().map(|dropped| dropped.count).sum()
    }

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
            "clock" => {
                (self.clock_ns, self.begin_ns) = (next(words)?, next(words)?);
                (self.end_ns, self.joined_ns) = (next(words)?, next(words)?);
            }
            "dropped-waits" => (self.waits_dropped, self.waits_dropped_ns) = (next(words)?, next(words)?),
            "dropped" => {
                let kind = RecordedKind::of(words.next()?)?;
                self.operations_dropped[kind as usize] = DroppedOperations { count: next(words)?, bytes: next(words)? };
            }
            "wait" => self.waits.push((next(words)?, next(words)?)),
            name => {
                let kind = RecordedKind::of(name)?;
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
            joined_ns: 2,
            waits: vec![(1, 2), (30, 40)],
            waits_dropped: 8,
            waits_dropped_ns: 80,
            operations: [Some((20, true)), None, Some((25, false)), None]
                .into_iter()
                .zip(RecordedKind::ALL)
                .map(|(completed, kind)| operation(kind, completed))
                .collect(),
            operations_dropped: [1, 2, 3, 4].map(|count| DroppedOperations { count, bytes: 10 * count }),
        };
        assert_eq!(rank.to_string().parse(), Ok(rank.clone()));
        assert_eq!(rank.operations_dropped(), 10);
        let named = RecordedRank { host: RecordedHost { name: "my host".into(), ..rank.host.clone() }, ..rank.clone() };
        assert_eq!(named.to_string().parse::<RecordedRank>().unwrap().host.name, "my_host");
        let text = rank.to_string();
        let parts = (0..text.len()).filter(|&bytes| text[..bytes].parse::<RecordedRank>().is_ok());
        assert_eq!(parts.collect::<Vec<_>>(), [0; 0], "lengths of parts that count as whole");
        for (wrong, why) in [
            ("", "does not begin"),
            ("pelago-recorded 4\nend\n", "does not begin"),
            ("pelago-recorded 5\nwait 1 2\n", "it is incomplete"),
            ("pelago-recorded 5\nwait 1\nend\n", "\"wait 1\""),
            ("pelago-recorded 5\nput 1 2 3 4 5\nend\n", "\"put 1 2 3 4 5\""),
            ("pelago-recorded 5\nwait 1 2 3\nend\n", "\"wait 1 2 3\""),
            ("pelago-recorded 5\npush 1 2 3\nend\n", "push"),
            ("pelago-recorded 5\ndropped push 1 2\nend\n", "\"dropped push 1 2\""),
            ("pelago-recorded 5\nclock 1 2 3\nend\n", "\"clock 1 2 3\""),
            ("pelago-recorded 5\nend\nend\n", "\"end\""),
        ] {
            let error = wrong.parse::<RecordedRank>().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
