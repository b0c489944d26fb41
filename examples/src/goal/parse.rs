//! Parses the operations of one rank from its part of a schedule.
//!
//! ```text
//! [LABEL:] send SIZEb to RANK [tag T] [cpu C] [nic N]      [LABEL:] put SIZEb to RANK       (one-sided; not in LogGOPSim)
//! [LABEL:] recv SIZEb from RANK|-1 [tag T|-1] [cpu C] …    [LABEL:] get SIZEb from RANK     (one-sided; not in LogGOPSim)
//! [LABEL:] calc NANOSECONDS [cpu C]                        [LABEL:] atomic to RANK          (one-sided; not in LogGOPSim)
//! LABEL requires LABEL        after its end                LABEL irequires LABEL            after its beginning
//! ```

use std::collections::HashMap;

use super::text::{Place, Token, Tokens, Wrong};
use crate::graph::{ANY, Builder, DEPENDENCIES_MAX, Graph, Kind, OPERATIONS_MAX, Operation, TRANSFER_BYTES_MAX, When};

/// Maximum nanoseconds of one computation: a day.
const COMPUTE_NS_MAX: u64 = 86_400_000_000_000;

/// Parses the part of a rank, which begins at `begin` in its file, in a schedule for `ranks` ranks.
pub(crate) fn graph(bytes: &[u8], begin: Place, ranks: u32) -> Result<Graph, Wrong> {
    let mut part = Part { tokens: Tokens::new(bytes, begin), ranks, builder: Builder::default(), labels: HashMap::new() };
    let mut waits = Vec::new();
    while !part.tokens.is_over()? {
        part.statement(&mut waits)?;
    }
    for (label, (other, place), when) in waits {
        let [operation, other] = [(label, place), (other, place)].map(|(label, place)| {
            let wrong = || Wrong { place, what: format!("no operation of this rank has the label {label}") };
            part.labels.get(label).copied().ok_or_else(wrong)
        });
        if !part.builder.waits(operation?, other?, when) {
            return Err(Wrong { place, what: format!("a rank has {DEPENDENCIES_MAX} dependencies at most") });
        }
    }
    part.builder.finish().map_err(|operation| {
        let place = Place { line: operation.place, column: 1 };
        Wrong { place, what: "this operation waits for itself, by its own label or by those of others".into() }
    })
}

/// A dependency: the label of the waiting operation, the label and place of the other one, and whether its start or end is awaited.
type Wait<'t> = (&'t str, (&'t str, Place), When);

struct Part<'t> {
    tokens: Tokens<'t>,
    ranks: u32,
    builder: Builder,
    labels: HashMap<&'t str, u32>,
}

impl<'t> Part<'t> {
    fn statement(&mut self, waits: &mut Vec<Wait<'t>>) -> Result<(), Wrong> {
        let (first, place) = self.word("an operation, or a label")?;
        if matches!(first, "send" | "recv" | "calc" | "put" | "get" | "atomic") {
            return self.operation(first, place).map(drop);
        }
        if !first.starts_with(|first: char| first.is_ascii_alphabetic()) || first.contains('-') {
            return Err(expected("an operation, or a label that begins with a letter", Token::Word(first), place));
        }
        let (second, second_place) = self.tokens.next()?;
        match second {
            Token::Colon => {
                let (name, name_place) = self.word("send, recv, calc, put, get or atomic")?;
                let number = self.operation(name, name_place)?;
                match self.labels.insert(first, number) {
                    None => Ok(()),
                    Some(_) => Err(Wrong { place, what: format!("the label {first} was given already") }),
                }
            }
            Token::Word(word @ ("requires" | "irequires")) => {
                let other = self.word("a label")?;
                waits.push((first, other, if word == "requires" { When::Ended } else { When::Begun }));
                match self.tokens.next()? {
                    (Token::End, _) => Ok(()),
                    (token, place) => Err(expected("the end of the line", token, place)),
                }
            }
            token => Err(expected("\":\", requires or irequires", token, second_place)),
        }
    }

    fn operation(&mut self, name: &str, place: Place) -> Result<u32, Wrong> {
        let kind = match name {
            "send" => Kind::Send,
            "recv" => Kind::Receive,
            "calc" => Kind::Compute,
            "put" => Kind::Put,
            "get" => Kind::Get,
            "atomic" => Kind::Atomic,
            _ => return Err(expected("send, recv, calc, put, get or atomic", Token::Word(name), place)),
        };
        let amount = match kind {
            Kind::Compute => self.number("nanoseconds", COMPUTE_NS_MAX)?,
            Kind::Atomic => 8,
            _ => self.bytes()?,
        };
        let mut operation = Operation { kind, core: 0, peer: 0, tag: 0, amount, place: place.line };
        if kind != Kind::Compute {
            let direction = if matches!(kind, Kind::Receive | Kind::Get) { "from" } else { "to" };
            match self.word(direction)? {
                (word, _) if word == direction => {}
                (word, place) => return Err(expected(direction, Token::Word(word), place)),
            }
            operation.peer = match self.number_or_any("a rank", kind == Kind::Receive)? {
                (ANY, _) => ANY,
                (rank, _) if rank < self.ranks => rank,
                (rank, place) => {
                    return Err(Wrong { place, what: format!("there is no rank {rank}: num_ranks is {}", self.ranks) });
                }
            };
        }
        let mut seen = [false; 3];
        loop {
            let (token, place) = self.tokens.next()?;
            let is_message = matches!(kind, Kind::Send | Kind::Receive);
            let place_of = match token {
                Token::End => break,
                Token::Word("tag") if is_message => 0,
                Token::Word("cpu") => 1,
                Token::Word("nic") => 2,
                token => return Err(expected("tag (of a message), cpu, nic or the end of the line", token, place)),
            };
            if std::mem::replace(&mut seen[place_of], true) {
                return Err(Wrong { place, what: format!("{token} was said already") });
            }
            match place_of {
                0 => operation.tag = self.number_or_any("a tag", kind == Kind::Receive)?.0,
                1 => operation.core = self.number("a core from 0 to 255", 255)? as u8,
                // Ignored: the machine determines the NICs.
                _ => drop(self.number("a NIC from 0 to 255", 255)?),
            }
        }
        let full = || Wrong { place, what: format!("a rank has {OPERATIONS_MAX} operations at most") };
        self.builder.add(operation).ok_or_else(full)
    }

    fn word(&mut self, what: &str) -> Result<(&'t str, Place), Wrong> {
        match self.tokens.next()? {
            (Token::Word(word), place) => Ok((word, place)),
            (token, place) => Err(expected(what, token, place)),
        }
    }

    /// Parses a number followed by the letter b.
    fn bytes(&mut self) -> Result<u64, Wrong> {
        const WHAT: &str = "a number of bytes with b, as in 64b";
        let (word, place) = self.word(WHAT)?;
        let digits = match word.strip_suffix('b') {
            Some(digits) => digits,
            None if word.bytes().all(|byte| byte.is_ascii_digit()) => match self.word("b, for bytes")? {
                ("b", _) => word,
                (other, place) => return Err(expected("b, for bytes", Token::Word(other), place)),
            },
            None => word,
        };
        within(digits, TRANSFER_BYTES_MAX).ok_or_else(|| expected(WHAT, Token::Word(word), place))
    }

    fn number(&mut self, what: &str, most: u64) -> Result<u64, Wrong> {
        let (word, place) = self.word(what)?;
        within(word, most).ok_or_else(|| expected(what, Token::Word(word), place))
    }

    fn number_or_any(&mut self, what: &str, may_be_any: bool) -> Result<(u32, Place), Wrong> {
        let (word, place) = self.word(what)?;
        let number =
            if may_be_any && word == "-1" { Some(ANY) } else { within(word, (ANY - 1).into()).map(|number| number as u32) };
        Ok((number.ok_or_else(|| expected(what, Token::Word(word), place))?, place))
    }
}

fn within(digits: &str, most: u64) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= most)
}

fn expected(what: &str, found: Token<'_>, place: Place) -> Wrong {
    Wrong { place, what: format!("here should be {what}, not {found}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Graph, String> {
        graph(text.as_bytes(), Place::FIRST, 4).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn every_statement_of_the_language_is_read() {
        let text = "l1: send 10b to 1 tag 3 cpu 1 nic 0\nrecv 2 b from -1 tag -1\n l3 requires l1 // later\nl3: calc 100 cpu 0\n\
                    l3 irequires l4\nl4:put 8b to 2\nget 9b from 3\natomic to 0\n";
        let graph = parsed(text).unwrap();
        let operation = |kind, core, peer, tag, amount, place| Operation { kind, core, peer, tag, amount, place };
        assert_eq!(
            graph.operations,
            [
                operation(Kind::Send, 1, 1, 3, 10, 1),
                operation(Kind::Receive, 0, ANY, ANY, 2, 2),
                operation(Kind::Compute, 0, 0, 0, 100, 4),
                operation(Kind::Put, 0, 2, 0, 8, 6),
                operation(Kind::Get, 0, 3, 0, 9, 7),
                operation(Kind::Atomic, 0, 0, 0, 8, 8),
            ]
        );
        assert_eq!((graph.cores(), graph.traffic()), (2, [3, 27]));
        assert!(parsed("").unwrap().operations.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, what) in [
            ("send", "1:5: here should be a number of bytes with b, as in 64b, not the end of the line"),
            ("send 5 to 1", "1:8: here should be b, for bytes, not \"to\""),
            ("send -5b to 1", "1:6: here should be a number of bytes with b, as in 64b, not \"-5b\""),
            (
                "send 99999999999999999999b to 1",
                "1:6: here should be a number of bytes with b, as in 64b, not \"99999999999999999999b\"",
            ),
            ("send 5b from 1", "1:9: here should be to, not \"from\""),
            ("\n send 5b to 4", "2:13: there is no rank 4: num_ranks is 4"),
            ("send 5b to -1", "1:12: here should be a rank, not \"-1\""),
            ("send 5b to 1 tag -1", "1:18: here should be a tag, not \"-1\""),
            ("send 5b to 1 tag 1 tag 2", "1:20: \"tag\" was said already"),
            ("calc 5 tag 1", "1:8: here should be tag (of a message), cpu, nic or the end of the line, not \"tag\""),
            ("calc 5 cpu 256", "1:12: here should be a core from 0 to 255, not \"256\""),
            ("l1: wait 5", "1:5: here should be send, recv, calc, put, get or atomic, not \"wait\""),
            ("1: calc 5", "1:1: here should be an operation, or a label that begins with a letter, not \"1\""),
            ("l1 calc 5", "1:4: here should be \":\", requires or irequires, not \"calc\""),
            ("l1: calc 5\nl1: calc 6", "2:1: the label l1 was given already"),
            ("l1: calc 5\nl1 requires l2", "2:13: no operation of this rank has the label l2"),
            (
                "l1: calc 5\nl2: calc 5\nl1 requires l2\nl2 irequires l1",
                "1:1: this operation waits for itself, by its own label or by those of others",
            ),
            ("calc 5; calc 6", "1:7: ';' does not belong here"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), what, "{text:?}");
        }
    }
}
