//! Bytes of many ranks become one stream of whole lines.

use pelago_base::Rank;

use super::limits::LINE_BYTES_MAX;

/// The beginning of a line whose end has not come yet.
#[derive(Default)]
pub(super) struct Unfinished(Vec<u8>);

impl Unfinished {
    /// Takes what a rank wrote and passes on the lines that are whole.
    pub(super) fn feed(&mut self, rank: Rank, bytes: &[u8], into: &mut Merged) {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole > 0 {
            self.finish(rank, into);
            into.push(rank, &bytes[..whole]);
        }
        self.0.extend_from_slice(&bytes[whole..]);
        if self.0.len() >= LINE_BYTES_MAX {
            self.finish(rank, into);
        }
    }

    /// Passes on what there is. The memory is given back: thousands of ranks may have had one long line each.
    pub(super) fn finish(&mut self, rank: Rank, into: &mut Merged) {
        into.push(rank, &std::mem::take(&mut self.0));
    }
}

/// One stream made of those of all ranks, until it is written.
pub(super) struct Merged {
    label: bool,
    bytes: Vec<u8>,
    /// How many of them have been written.
    written: usize,
    /// Whose line has begun and not ended.
    open: Option<Rank>,
}

impl Merged {
    pub(super) fn new(label: bool) -> Self {
        Self { label, bytes: Vec::new(), written: 0, open: None }
    }

    /// What is to be written.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// The first `bytes` have been written.
    pub(super) fn written(&mut self, bytes: usize) {
        self.written += bytes;
        // What is left is moved at most as often as it was written.
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// Ends the line that is open, if there is one, so that what follows stands on a line of its own.
    pub(super) fn close_line(&mut self) {
        if self.open.take().is_some() {
            self.bytes.push(b'\n');
        }
    }

    /// What one rank writes is never changed; only where another rank goes on in the middle of a line, that line is ended first.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(label: bool, pieces: &[(u32, &str)]) -> String {
        let mut into = Merged::new(label);
        let ranks = pieces.iter().map(|(rank, _)| rank + 1).max().unwrap_or(0);
        let mut unfinished: Vec<_> = (0..ranks).map(|_| Unfinished::default()).collect();
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
    fn last_lines_without_end_are_not_glued_together() {
        assert_eq!(merge(false, &[(0, "a"), (1, "b")]), "a\nb");
        assert_eq!(merge(false, &[(0, "no end")]), "no end");
    }

    #[test]
    fn an_endless_line_is_passed_on_in_pieces_and_unchanged() {
        let piece = "z".repeat(1000);
        let mut into = Merged::new(true);
        let mut unfinished = Unfinished::default();
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
