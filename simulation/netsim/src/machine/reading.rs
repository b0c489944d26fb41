//! Reading a description: errors of types and ranges in the terms of descriptions.

use std::ops::Range;

use super::{Machine, MachineError};

/// What is allowed where the types of a description expect something, by the word in the parser's messages.
const ALLOWED: [(&str, &str); 6] = [
    ("u8", "a whole number from 0 to 255"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 to 9223372036854775807"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotation marks"),
];

/// Characters that separate keys and values.
const SEPARATORS: [char; 7] = [',', '[', ']', '{', '}', '=', '\n'];

/// Reads a description without checking its values.
pub(super) fn read(text: &str) -> Result<Machine, MachineError> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', " ");
        let wrong = wrong_value(text, error.span().unwrap_or(0..0), &message);
        let (at, message) = wrong.unwrap_or((error.span().map_or(0, |span| span.start), message));
        let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        MachineError(format!("line {line}: {message}"))
    })
}

/// Returns where a value of a wrong type or range is, and what is allowed instead; `None` if the message is about something else. `span` is that
/// of the value or of its table.
fn wrong_value(text: &str, span: Range<usize>, message: &str) -> Option<(usize, String)> {
    let (found, expected) = message.strip_prefix("invalid ")?.rsplit_once(", expected ")?;
    let (_, allowed) = ALLOWED.iter().find(|(word, _)| *word == expected)?;
    let value = text.get(span.clone())?;
    let of_table = || {
        let (_, wrong) = found.split_once(['`', '"'])?;
        let wrong = wrong.trim_end_matches(['`', '"']);
        tokens(text, span.start).find(|(_, token)| is_same(token, wrong))
    };
    let (at, value) = if value.contains(['[', '{', '=', '\n']) { of_table()? } else { (span.start, value) };
    Some((at, format!("{} = {value}: must be {allowed}", key_before(text, at)?)))
}

/// Returns the values and keys from a place on, with their places.
fn tokens(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let rest = text.get(from..).unwrap_or_default();
    let parts = rest.split('\n').flat_map(|line| code_of(line).split(SEPARATORS).map(str::trim));
    parts.filter(|token| !token.is_empty()).map(move |token| (token.as_ptr() as usize - text.as_ptr() as usize, token))
}

/// Whether a token of a description is a value that the parser's message names.
fn is_same(token: &str, wrong: &str) -> bool {
    let number = |text: &str| text.replace('_', "").parse::<f64>().ok();
    token.trim_matches(['"', '\'']) == wrong || number(token).is_some_and(|value| number(wrong) == Some(value))
}

/// Returns the key of the value at a place, which may be an element of a list.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let (before, _) = text.get(..at)?.rsplit('\n').map(code_of).find_map(|line| line.rsplit_once('='))?;
    before.rsplit(SEPARATORS).next().map(str::trim).filter(|key| !key.is_empty())
}

/// Returns a line without its comment.
fn code_of(line: &str) -> &str {
    line.split_once('#').map_or(line, |(code, _)| code)
}
