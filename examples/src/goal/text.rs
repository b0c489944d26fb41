//! Tokens of a schedule, each with its place.

use std::fmt;

/// A place in a text; line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    /// Beginning of a text.
    pub(crate) const FIRST: Self = Self { line: 1, column: 1 };

    /// Advances past a byte.
    pub(crate) fn pass(&mut self, byte: u8) {
        if byte == b'\n' {
            *self = Self { line: self.line.saturating_add(1), column: 1 };
        } else {
            self.column = self.column.saturating_add(1);
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An error in a text, with its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) place: Place,
    pub(crate) what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// Letters, digits, `_` and `-`.
    Word(&'t str),
    Colon,
    /// The end of a line, or of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{word:?}"),
            Self::Colon => f.write_str("\":\""),
            Self::End => f.write_str("the end of the line"),
        }
    }
}

/// Reads tokens, line by line.
pub(crate) struct Tokens<'t> {
    bytes: &'t [u8],
    at: usize,
    place: Place,
}

impl<'t> Tokens<'t> {
    /// Creates a reader for a text that begins at `place`.
    pub(crate) fn new(bytes: &'t [u8], place: Place) -> Self {
        Self { bytes, at: 0, place }
    }

    /// Skips blanks, line ends and comments; returns whether the text has ended.
    pub(crate) fn is_over(&mut self) -> Result<bool, Wrong> {
        loop {
            self.skip()?;
            match self.bytes.get(self.at) {
                Some(b'\n') => self.step(),
                next => return Ok(next.is_none()),
            }
        }
    }

    /// Returns the next token and its place.
    pub(crate) fn next(&mut self) -> Result<(Token<'t>, Place), Wrong> {
        self.skip()?;
        let (begin, place) = (self.at, self.place);
        let token = match self.bytes.get(begin) {
            None => Token::End,
            Some(b'\n') => {
                self.step();
                Token::End
            }
            Some(b':') => {
                self.step();
                Token::Colon
            }
            Some(&byte) if is_of_word(byte) => {
                while self.bytes.get(self.at).is_some_and(|&byte| is_of_word(byte)) {
                    self.step();
                }
                Token::Word(std::str::from_utf8(&self.bytes[begin..self.at]).expect("ASCII"))
            }
            Some(&byte) => {
                let what = format!("{:?} does not belong here", char::from(byte));
                return Err(Wrong { place, what });
            }
        };
        Ok((token, place))
    }

    fn step(&mut self) {
        self.place.pass(self.bytes[self.at]);
        self.at += 1;
    }

    /// Skips blanks and comments, which may span lines.
    fn skip(&mut self) -> Result<(), Wrong> {
        loop {
            match self.bytes[self.at..] {
                [b' ' | b'\t' | b'\r', ..] => self.step(),
                [b'/', b'/', ..] => {
                    while self.bytes.get(self.at).is_some_and(|&byte| byte != b'\n') {
                        self.step();
                    }
                }
                [b'/', b'*', ..] => {
                    let place = self.place;
                    [(); 2].iter().for_each(|()| self.step());
                    while !self.bytes[self.at..].starts_with(b"*/") {
                        if self.at == self.bytes.len() {
                            return Err(Wrong { place, what: "this comment does not end".into() });
                        }
                        self.step();
                    }
                    [(); 2].iter().for_each(|()| self.step());
                }
                _ => return Ok(()),
            }
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_places_and_comments_are_passed_over() {
        let mut tokens = Tokens::new(b" l1: send // x\n/* a\n b */ -1\r\n", Place { line: 4, column: 7 });
        let mut next = || tokens.next().map(|(token, place)| (token, place.line, place.column)).unwrap();
        assert_eq!(next(), (Token::Word("l1"), 4, 8));
        assert_eq!(next(), (Token::Colon, 4, 10));
        assert_eq!(next(), (Token::Word("send"), 4, 12));
        assert_eq!(next(), (Token::End, 4, 21));
        assert_eq!(next(), (Token::Word("-1"), 6, 7));
        assert_eq!(next(), (Token::End, 6, 10));
        assert!(tokens.is_over().unwrap());
        for (text, what) in [(&b"a ?"[..], "1:3: '?' does not belong here"), (b"a /* b", "1:3: this comment does not end")] {
            let mut tokens = Tokens::new(text, Place::FIRST);
            tokens.next().unwrap();
            assert_eq!(tokens.next().unwrap_err().to_string(), what);
        }
    }
}
