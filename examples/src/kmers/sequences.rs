//! Reads the bases of a file: FASTA or FASTQ, plain or compressed with gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 16;

/// An element of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A base: A, C, G, T as 0 to 3.
    Base(u8),
    /// Anything else: no k-mer spans a gap.
    Gap,
}

/// A file read sequentially.
pub(crate) struct Sequences {
    input: Box<dyn Read>,
    buffer: Vec<u8>,
    lines: Lines,
    read: Arc<AtomicU64>,
    bytes: u64,
}

impl Sequences {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let read = Arc::new(AtomicU64::new(0));
        let mut input = BufReader::with_capacity(BLOCK_BYTES, Counted { file, read: read.clone() });
        let is_compressed = input.fill_buf()?.starts_with(&[0x1F, 0x8B]);
        let input: Box<dyn Read> = if is_compressed { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) };
        Ok(Self { input, buffer: vec![0; BLOCK_BYTES], lines: Lines::default(), read, bytes })
    }

    /// Returns the events of the next block; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<impl Iterator<Item = Event>>> {
        let count = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Ok(None);
        }
        self.lines.check(self.buffer[0])?;
        let Self { buffer, lines, .. } = self;
        Ok(Some(buffer[..count].iter().filter_map(|&byte| lines.take(byte))))
    }

    /// Returns the fraction of the file that has been read.
    pub(crate) fn part(&self) -> f64 {
        self.read.load(Ordering::Relaxed) as f64 / self.bytes.max(1) as f64
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = self.file.read(into)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    /// Nothing of the line was read.
    #[default]
    Begin,
    /// A name, or another line to skip.
    Name,
    Bases,
    Qualities,
}

/// State of the parser.
#[derive(Default)]
struct Lines {
    line: Line,
    /// Whether records have qualities; `None` before the first byte.
    is_fastq: Option<bool>,
    /// For a record with qualities: the number of its bases, and of the qualities still to be read.
    bases: u64,
    qualities: Option<u64>,
}

impl Lines {
    /// Checks the first byte, which must begin a record.
    fn check(&mut self, first: u8) -> Result<()> {
        if self.is_fastq.is_none() {
            self.is_fastq = Some(match first {
                b'>' | b';' => false,
                b'@' => true,
                _ => return Err(Error::new(ErrorKind::InvalidData, "neither FASTA nor FASTQ: it begins with neither > nor @")),
            });
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<Event> {
        if byte == b'\n' {
            self.line = Line::Begin;
            return None;
        }
        if self.line == Line::Begin {
            self.line = self.begin(byte);
            if self.line == Line::Name {
                return Some(Event::Gap);
            }
        }
        match self.line {
            Line::Bases => self.base(byte),
            Line::Qualities => {
                if byte != b'\r' {
                    self.qualities = self.qualities.map(|left| left.saturating_sub(1));
                }
                None
            }
            Line::Begin | Line::Name => None,
        }
    }

    #[inline]
    fn base(&mut self, byte: u8) -> Option<Event> {
        let code = match byte {
            b'A' | b'a' => 0,
            b'C' | b'c' => 1,
            b'G' | b'g' => 2,
            b'T' | b't' | b'U' | b'u' => 3,
            b'\r' | b' ' => return None,
            _ => {
                self.bases += 1;
                return Some(Event::Gap);
            }
        };
        self.bases += 1;
        Some(Event::Base(code))
    }

    /// Returns the kind of a line by its first byte. Qualities may begin with any byte; their number is that of the bases.
    fn begin(&mut self, byte: u8) -> Line {
        if self.is_fastq != Some(true) {
            return if matches!(byte, b'>' | b';') { Line::Name } else { Line::Bases };
        }
        match (self.qualities, byte) {
            (Some(1..), _) => Line::Qualities,
            (_, b'@') => {
                (self.bases, self.qualities) = (0, None);
                Line::Name
            }
            (None, b'+') => {
                self.qualities = Some(self.bases);
                Line::Name
            }
            _ => Line::Bases,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Returns the bases of a text, with a dot for each gap.
    fn bases(text: &str) -> String {
        let mut lines = Lines::default();
        lines.check(text.as_bytes()[0]).unwrap();
        let events = text.bytes().filter_map(|byte| lines.take(byte));
        let letters: String = events
            .map(|event| match event {
                Event::Base(code) => char::from(b"ACGT"[code as usize]),
                Event::Gap => '.',
            })
            .collect();
        letters.split('.').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    }

    #[test]
    fn sequences_go_over_lines_and_end_at_names() {
        assert_eq!(bases(">one ACGT\nACG\nTTA\n\n>two\r\nGG\r\nnca\n"), "ACGTTA.GG.CA");
        assert_eq!(bases(">empty\n>last\nA"), "A");
    }

    #[test]
    fn qualities_are_no_bases_whatever_they_look_like() {
        assert_eq!(bases("@one\nACGT\n+\n@AC>\n@two\nGG\nTT\n+two\n@@\n++\n@three\nA\n+\nA\n"), "ACGT.GGTT.A");
        assert_eq!(bases("@none\n\n+\n\n@next\nC\n+\nI\n"), "C");
    }

    #[test]
    fn files_are_read_plain_and_compressed() {
        let folder = std::env::temp_dir().join(format!("pelago-kmers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(">a\n{}\n", "ACGT".repeat(40_000));
        let (plain, compressed, other) = (folder.join("plain"), folder.join("compressed"), folder.join("other"));
        std::fs::write(&plain, &text).unwrap();
        std::fs::write(&other, "no sequences").unwrap();
        // Two members, as written by tools that compress in parallel.
        let mut bytes = Vec::new();
        for half in [&text[..70_000], &text[70_000..]] {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(half.as_bytes()).unwrap();
            bytes.extend(encoder.finish().unwrap());
        }
        std::fs::write(&compressed, bytes).unwrap();
        for path in [&plain, &compressed] {
            let (mut sequences, mut count) = (Sequences::open(path).unwrap(), 0);
            while let Some(block) = sequences.next().unwrap() {
                count += block.filter(|event| matches!(event, Event::Base(_))).count();
            }
            assert_eq!((count, sequences.part()), (160_000, 1.0));
        }
        assert!(Sequences::open(&other).unwrap().next().is_err());
        assert!(Sequences::open(&folder.join("nowhere")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
