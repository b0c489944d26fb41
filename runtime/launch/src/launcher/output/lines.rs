//! Merging of the output of many ranks to one stream of whole lines.

use pelago_base::Rank;

use crate::launcher::limits::{LINE_BYTES_MAX, WAITING_BYTES_MAX};

/// The destination of the lines of ranks.
pub(crate) trait LineSink {
    /// Accepts whole lines of a rank, a piece of a line that is too long, or a last line without an end; at most twice `LINE_BYTES_MAX`.
    fn push(&mut self, rank: Rank, bytes: &[u8]);

    /// Whether to read more from the ranks.
    fn has_room(&self) -> bool;
}

/// The beginning of a line whose end has not arrived.
#[derive(Default)]
pub(crate) struct PartialLine(Vec<u8>);

impl PartialLine {
    /// Accepts output of a rank, up to `LINE_BYTES_MAX`, and forwards the complete lines in one call.
    pub(crate) fn feed(&mut self, rank: Rank, bytes: &[u8], into: &mut impl LineSink) {
        let (whole, rest) = bytes.split_at(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        match whole {
            [] => {}
            whole if self.0.is_empty() => into.push(rank, whole),
            whole => {
                self.0.extend_from_slice(whole);
                self.finish(rank, into);
            }
        }
        self.0.extend_from_slice(rest);
        if self.0.len() >= LINE_BYTES_MAX {
            self.finish(rank, into);
        }
    }

    /// Forwards the rest. The memory is freed: thousands of ranks may have had one long line each.
    pub(crate) fn finish(&mut self, rank: Rank, into: &mut impl LineSink) {
        if !self.0.is_empty() {
            into.push(rank, &std::mem::take(&mut self.0));
        }
    }
}

/// The merged stream of all ranks, until it is written.
pub(crate) struct MergedLines {
    label: bool,
    bytes: Vec<u8>,
    /// Number of bytes that have been written.
    written: usize,
    /// The rank whose line is incomplete.
    open: Option<Rank>,
}

impl MergedLines {
    pub(crate) fn new(label: bool) -> Self {
        Self { label, bytes: Vec::new(), written: 0, open: None }
    }

    /// Returns the bytes to write.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Records that the first `bytes` have been written.
    pub(crate) fn written(&mut self, bytes: usize) {
        self.written += bytes;
        // The rest is moved at most as often as bytes were written.
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// Ends the incomplete line, if there is one, so that the following output starts on a new line.
    pub(crate) fn close_line(&mut self) {
        if self.open.take().is_some() {
            self.bytes.push(b'\n');
        }
    }
}

impl LineSink for MergedLines {
    /// The output of a rank is never changed; only if another rank continues in the middle of a line, this line is ended first.
    fn push(&mut self, rank: Rank, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.open != Some(rank) {
            self.close_line();
        }
        if self.label {
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                if self.open.is_none() {
                    self.bytes.extend_from_slice(format!("[{}] ", rank.number()).as_bytes());
                }
                self.bytes.extend_from_slice(line);
                self.open = (!line.ends_with(b"\n")).then_some(rank);
            }
        } else {
            self.bytes.extend_from_slice(bytes);
            self.open = (!bytes.ends_with(b"\n")).then_some(rank);
        }
    }

    fn has_room(&self) -> bool {
        self.waiting().len() < WAITING_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(label: bool, pieces: &[(u32, &str)]) -> String {
        let mut into = MergedLines::new(label);
        let ranks = pieces.iter().map(|(rank, _)| rank + 1).max().unwrap_or(0);
        let mut unfinished: Vec<_> = (0..ranks).map(|_| PartialLine::default()).collect();
        for (rank, bytes) in pieces {
            unfinished[*rank as usize].feed(Rank::new(*rank), bytes.as_bytes(), &mut into);
        }
        for (rank, unfinished) in unfinished.iter_mut().enumerate() {
            unfinished.finish(Rank::new(rank as u32), &mut into);
        }
        String::from_utf8(into.waiting().to_vec()).unwrap()
    }

    #[test]
    fn lines_stay_whole_and_in_order() {
        assert_eq!(merge(false, &[(0, "a"), (1, "x\n"), (0, "b\nc\nd"), (1, "y\n")]), "x\nab\nc\ny\nd");
        assert_eq!(merge(true, &[(0, "a"), (1, "x\n"), (0, "b\nc\nd"), (1, "y\n")]), "[1] x\n[0] ab\n[0] c\n[1] y\n[0] d");
    }

    #[test]
    fn a_line_is_passed_on_at_once_however_it_came() {
        struct Pushes(Vec<String>);
        impl LineSink for Pushes {
            fn push(&mut self, _: Rank, bytes: &[u8]) {
                self.0.push(String::from_utf8(bytes.to_vec()).unwrap());
            }

            fn has_room(&self) -> bool {
                true
            }
        }
        let (mut into, mut unfinished) = (Pushes(Vec::new()), PartialLine::default());
        for piece in ["a", "b", "c\nd\ne", "f\n", "\n", "g"] {
            unfinished.feed(Rank::new(0), piece.as_bytes(), &mut into);
        }
        assert_eq!(into.0, ["abc\nd\n", "ef\n", "\n"], "another host's lines may come between what is passed on");
        let longest = vec![b'z'; LINE_BYTES_MAX];
        unfinished.feed(Rank::new(0), &longest[1..], &mut into);
        assert_eq!(into.0.pop().map(|piece| piece.len()), Some(LINE_BYTES_MAX));
    }

    #[test]
    fn last_lines_without_end_are_not_glued_together() {
        assert_eq!(merge(false, &[(0, "a"), (1, "b")]), "a\nb");
        assert_eq!(merge(false, &[(0, "no end")]), "no end");
    }

    #[test]
    fn an_endless_line_is_passed_on_in_pieces_and_unchanged() {
        let piece = "z".repeat(1000);
        let mut into = MergedLines::new(true);
        let mut unfinished = PartialLine::default();
        for _ in 0..100 {
            unfinished.feed(Rank::new(0), piece.as_bytes(), &mut into);
            assert!(unfinished.0.len() < LINE_BYTES_MAX);
        }
        unfinished.feed(Rank::new(0), b"\n", &mut into);
        assert_eq!(into.waiting(), format!("[0] {}\n", "z".repeat(100_000)).as_bytes());
        into.written(100_000);
        assert_eq!(into.waiting(), b"zzzz\n");
    }
}
