//! Index of the ranks' parts in a schedule, so that each rank reads only its own part.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::parse;
use super::text::{Place, Wrong};
use crate::graph::Graph;
use crate::graph::source::{Source, stream};

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 16;

/// Maximum bytes up to the blank behind the number of ranks: a launcher reads no more of the file.
const HEAD_BYTES: u64 = 1 << 16;

/// Maximum bytes of a rank's part.
const PART_BYTES_MAX: u64 = 2 << 30;

/// Maximum ranks of a schedule: the same as of a job.
const RANKS_MAX: u32 = 1 << 20;

/// Maximum length of a word outside the parts.
const WORD_BYTES_MAX: usize = 32;

/// A schedule with the positions of its parts: 24 bytes per rank.
pub(crate) struct Index {
    path: PathBuf,
    source: Source,
    parts: Vec<Part>,
}

/// Range of the text between the braces of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    begin: u64,
    end: u64,
    line: u32,
    column: u32,
}

/// Returns the number of ranks stated by a schedule.
///
/// # Errors
/// The schedule does not state the number, or cannot be read.
pub(crate) fn ranks_of(path: &Path) -> Result<u32, String> {
    let mut head = Vec::new();
    let read = stream(path).and_then(|stream| stream.take(HEAD_BYTES).read_to_end(&mut head));
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut scanner = Scanner::default();
    for &byte in &head {
        scanner.take(byte).map_err(|wrong| named(path, &wrong))?;
        if scanner.parts.is_some() {
            break;
        }
    }
    if (head.len() as u64) < HEAD_BYTES {
        scanner.end_word().map_err(|wrong| named(path, &wrong))?;
    }
    match scanner.parts {
        Some(parts) => Ok(parts.len() as u32),
        None if head.len() as u64 == HEAD_BYTES => {
            let limit = HEAD_BYTES >> 10;
            Err(format!(
                "{}: num_ranks and its number are not in the first {limit} KiB: move comments behind them",
                path.display()
            ))
        }
        None => Err(format!("{}: it is no schedule, as it does not begin with num_ranks and a number", path.display())),
    }
}

fn named(path: &Path, wrong: &Wrong) -> String {
    format!("{}:{wrong}", path.display())
}

impl Index {
    /// Opens a schedule and finds its parts. Cost: the file is read once.
    ///
    /// # Errors
    /// The file cannot be read, or is not a schedule.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let unreadable = |error| format!("{}: {error}", path.display());
        let source = Source::open(path).map_err(unreadable)?;
        let (mut scanner, mut block, mut at) = (Scanner::default(), vec![0; BLOCK_BYTES], 0);
        loop {
            let count = source.read_at(at, &mut block).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            for &byte in &block[..count] {
                scanner.take(byte).map_err(|wrong| named(path, &wrong))?;
            }
            at += count as u64;
        }
        let parts = scanner.finish().map_err(|wrong| named(path, &wrong))?;
        Ok(Self { path: path.to_owned(), source, parts })
    }

    /// Returns the number of ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Returns the path of the file as text.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Reads the operations of a rank.
    ///
    /// # Errors
    /// The part of the rank cannot be read, or has an error.
    pub(crate) fn graph_of(&self, rank: u32) -> Result<Graph, String> {
        let Part { begin, end, line, column } = self.parts[rank as usize];
        let bytes = self.source.range(begin, end).map_err(|error| format!("{}: {error}", self.path.display()))?;
        parse::graph(&bytes, Place { line, column }, self.ranks()).map_err(|wrong| named(&self.path, &wrong))
    }
}

/// Expected next token outside the parts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Expected {
    /// `num_ranks`, or `rank`.
    #[default]
    Keyword,
    NumberOfRanks,
    Rank,
    Brace(u32),
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Comment {
    #[default]
    None,
    Slash,
    Line,
    Block,
    Star,
}

/// Finds parts in a stream of bytes.
struct Scanner {
    place: Place,
    at: u64,
    comment: Comment,
    expected: Expected,
    word: Vec<u8>,
    word_place: Place,
    /// The rank whose part is being scanned, and the start of the part.
    inside: Option<(u32, Part)>,
    parts: Option<Vec<Part>>,
}

impl Default for Scanner {
    fn default() -> Self {
        let (comment, expected, word) = Default::default();
        Self { place: Place::FIRST, at: 0, comment, expected, word, word_place: Place::FIRST, inside: None, parts: None }
    }
}

impl Scanner {
    fn take(&mut self, byte: u8) -> Result<(), Wrong> {
        let is_text = !self.is_of_comment(byte)?;
        match self.inside {
            Some((rank, part)) if is_text && byte == b'}' => self.close(rank, part)?,
            Some((rank, _)) if is_text && byte == b'{' => {
                return Err(self.wrong(format!("the part of rank {rank} has not ended: a }} is missing before")));
            }
            Some(_) => {}
            None if is_text => self.take_outside(byte)?,
            None => self.end_word()?,
        }
        self.place.pass(byte);
        self.at += 1;
        Ok(())
    }

    fn is_of_comment(&mut self, byte: u8) -> Result<bool, Wrong> {
        self.comment = match (self.comment, byte) {
            (Comment::None, b'/') => Comment::Slash,
            (Comment::None, _) => return Ok(false),
            (Comment::Slash, b'/') => Comment::Line,
            (Comment::Slash, b'*') => Comment::Block,
            (Comment::Slash, _) => return Err(self.wrong("a / begins no comment".into())),
            (Comment::Line, b'\n') | (Comment::Star, b'/') => Comment::None,
            (Comment::Block | Comment::Star, b'*') => Comment::Star,
            (Comment::Star, _) => Comment::Block,
            (comment, _) => comment,
        };
        Ok(true)
    }

    fn take_outside(&mut self, byte: u8) -> Result<(), Wrong> {
        if byte == b'{' {
            self.end_word()?;
            return match std::mem::take(&mut self.expected) {
                Expected::Brace(rank) => {
                    let Place { line, column } = self.place;
                    let part = Part { begin: self.at + 1, end: 0, line, column: column + 1 };
                    self.inside = Some((rank, part));
                    Ok(())
                }
                _ => Err(self.wrong("a { without rank and its number before it".into())),
            };
        }
        if byte.is_ascii_whitespace() {
            return self.end_word();
        }
        if self.word.len() == WORD_BYTES_MAX || !(byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(self.wrong("here should be num_ranks, or rank, its number and a {".into()));
        }
        if self.word.is_empty() {
            self.word_place = self.place;
        }
        self.word.push(byte);
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), Wrong> {
        if self.word.is_empty() {
            return Ok(());
        }
        let word = String::from_utf8(std::mem::take(&mut self.word)).expect("ASCII");
        self.expected = match (self.expected, word.as_str()) {
            (Expected::Keyword, "num_ranks") if self.parts.is_none() => Expected::NumberOfRanks,
            (Expected::Keyword, "rank") if self.parts.is_some() => Expected::Rank,
            (Expected::NumberOfRanks, number) => {
                let ranks = number.parse().ok().filter(|ranks| (1..=RANKS_MAX).contains(ranks));
                let wrong = || self.wrong_word(format!("num_ranks is 1 to {RANKS_MAX}, not {number}"));
                self.parts = Some(vec![Part::default(); ranks.ok_or_else(wrong)? as usize]);
                Expected::Keyword
            }
            (Expected::Rank, number) => {
                let parts = self.parts.as_deref().unwrap_or_default();
                let rank = number.parse::<u32>().ok().filter(|rank| (*rank as usize) < parts.len());
                let rank =
                    rank.ok_or_else(|| self.wrong_word(format!("there is no rank {number}: num_ranks is {}", parts.len())))?;
                if parts[rank as usize] != Part::default() {
                    return Err(self.wrong_word(format!("there are two parts of rank {rank}")));
                }
                Expected::Brace(rank)
            }
            (_, word) => return Err(self.wrong_word(format!("{word} should be num_ranks, once, or rank, its number and a {{"))),
        };
        Ok(())
    }

    fn close(&mut self, rank: u32, part: Part) -> Result<(), Wrong> {
        let part = Part { end: self.at, ..part };
        if part.end - part.begin > PART_BYTES_MAX {
            return Err(self.wrong(format!("the part of rank {rank} has more than 2 GiB")));
        }
        self.parts.as_mut().expect("a rank was read")[rank as usize] = part;
        self.inside = None;
        Ok(())
    }

    /// Returns the parts after all bytes were scanned.
    fn finish(mut self) -> Result<Vec<Part>, Wrong> {
        self.end_word()?;
        match (self.inside, self.comment, self.expected) {
            (Some((rank, _)), ..) => Err(self.wrong(format!("the part of rank {rank} does not end: a }} is missing"))),
            (_, Comment::None | Comment::Line, Expected::Keyword) => {
                let wrong = "it is no schedule, as it does not begin with num_ranks and a number";
                self.parts.take().ok_or_else(|| self.wrong(wrong.into()))
            }
            _ => Err(self.wrong("it ends too early".into())),
        }
    }

    fn wrong(&self, what: String) -> Wrong {
        Wrong { place: self.place, what }
    }

    fn wrong_word(&self, what: String) -> Wrong {
        Wrong { place: self.word_place, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<Vec<Part>, String> {
        let mut scanner = Scanner::default();
        let taken = text.bytes().try_for_each(|byte| scanner.take(byte));
        taken.and_then(|()| scanner.finish()).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn parts_are_found_in_any_order() {
        let text = "// of two\nnum_ranks 3 /* } { */\nrank 1 {\ncalc 5 // }\n}\n\nrank 0{}";
        let parts = scan(text).unwrap();
        let texts: Vec<_> = parts.iter().map(|part| &text[part.begin as usize..part.end as usize]).collect();
        assert_eq!(texts, ["", "\ncalc 5 // }\n", ""]);
        assert_eq!((parts[1].line, parts[1].column, parts[0].line, parts[0].column), (3, 9, 7, 8));
        assert_eq!(parts[2], Part::default(), "a rank without a part does nothing");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, what) in [
            ("", "1:1: it is no schedule, as it does not begin with num_ranks and a number"),
            ("rank 0 {}", "1:1: rank should be num_ranks, once, or rank, its number and a {"),
            ("num_ranks 0\n", "1:11: num_ranks is 1 to 1048576, not 0"),
            ("num_ranks 99999999999\n", "1:11: num_ranks is 1 to 1048576, not 99999999999"),
            ("num_ranks 2 num_ranks 2\n", "1:13: num_ranks should be num_ranks, once, or rank, its number and a {"),
            ("num_ranks 2\nrank 2 {", "2:6: there is no rank 2: num_ranks is 2"),
            ("num_ranks 2\nrank 1 {}\nrank 1 {}", "3:6: there are two parts of rank 1"),
            ("num_ranks 2\nrank 1 {", "2:9: the part of rank 1 does not end: a } is missing"),
            ("num_ranks 2\nrank 1 {\nrank 0 {}", "3:8: the part of rank 1 has not ended: a } is missing before"),
            ("num_ranks 2 {", "1:13: a { without rank and its number before it"),
            ("num_ranks 2\ncalc 5", "2:1: calc should be num_ranks, once, or rank, its number and a {"),
            ("num_ranks 2\nrank 1", "2:7: it ends too early"),
            ("num_ranks 2 / ", "1:14: a / begins no comment"),
            ("num_ranks 2 /* ", "1:16: it ends too early"),
            ("num_ranks 2\n\u{7f}", "2:1: here should be num_ranks, or rank, its number and a {"),
        ] {
            assert_eq!(scan(text).unwrap_err(), what, "{text:?}");
        }
    }
}
