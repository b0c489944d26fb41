//! Reads files that describe graphs, plain or compressed with gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Maximum size of a file after decompression, in bytes.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// The error of a longer one.
const UNPACKED_TOO_LONG: &str = "it has more than 4 GiB once it is not compressed; decompress it first";

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// The contents of a file, held in memory if it is compressed.
pub(crate) enum Source {
    File(File),
    Memory(Vec<u8>),
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = regular(path)?;
        if !is_packed(&file)? {
            return Ok(Self::File(file));
        }
        let mut bytes = Vec::new();
        unpacked(file, UNPACKED_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Self::Memory(bytes))
    }

    /// Reads at a position; returns the number of bytes read, 0 at the end.
    pub(crate) fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        match self {
            Self::File(file) => loop {
                match file.read_at(into, at) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => return other,
                }
            },
            Self::Memory(bytes) => {
                let rest = bytes.get(at as usize..).unwrap_or_default();
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }

    /// Returns the bytes of a range.
    ///
    /// # Errors
    /// The file is shorter, for example truncated after it was opened.
    pub(crate) fn range(&self, begin: u64, end: u64) -> Result<Vec<u8>> {
        let (mut bytes, mut done) = (vec![0; (end - begin) as usize], 0);
        while done < bytes.len() {
            let count = self.read_at(begin + done as u64, &mut bytes[done..])?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            done += count;
        }
        Ok(bytes)
    }
}

/// Opens a file for sequential reading without holding it in memory.
pub(crate) fn stream(path: &Path) -> Result<Box<dyn BufRead>> {
    limited_stream(path, UNPACKED_BYTES_MAX)
}

/// Like [`stream`], with a maximum size after decompression.
fn limited_stream(path: &Path, unpacked_bytes_max: u64) -> Result<Box<dyn BufRead>> {
    let file = regular(path)?;
    if is_packed(&file)? {
        return Ok(Box::new(BufReader::new(unpacked(file, unpacked_bytes_max))));
    }
    Ok(Box::new(BufReader::new(file)))
}

/// Decompresses a file.
fn unpacked(file: File, bytes_max: u64) -> impl Read {
    Limited::new(MultiGzDecoder::new(BufReader::new(file)), bytes_max, UNPACKED_TOO_LONG)
}

/// A reader with a maximum number of bytes, at which it fails; [`Read::take`] would end as if the source did.
pub(crate) struct Limited<R> {
    source: R,
    left: u64,
    too_long: &'static str,
}

impl<R: Read> Limited<R> {
    /// Creates a reader of up to `bytes_max` bytes; `too_long` is the error of a longer source.
    pub(crate) fn new(source: R, bytes_max: u64, too_long: &'static str) -> Self {
        Self { source, left: bytes_max, too_long }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = self.source.read(into)?;
        let too_long = || Error::new(ErrorKind::InvalidData, self.too_long);
        self.left = self.left.checked_sub(count as u64).ok_or_else(too_long)?;
        Ok(count)
    }
}

/// Opens a file that can be read at any position. To open a pipe without a writer would wait for one.
fn regular(path: &Path) -> Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

fn is_packed(file: &File) -> Result<bool> {
    let mut head = [0; 2];
    Ok(file.read_at(&mut head, 0)? == 2 && head == GZIP)
}

#[cfg(test)]
mod tests {
    use std::io::{Write, copy, sink};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_source_that_is_too_long_is_an_error_and_not_cut() {
        let path = std::env::temp_dir().join(format!("pelago-limited-{}", std::process::id()));
        let mut packed = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        packed.write_all(&[0; 100_000]).unwrap();
        packed.finish().unwrap();
        let read = |most| limited_stream(&path, most).and_then(|mut stream| copy(&mut stream, &mut sink()));
        let (fits, fails) = (read(100_000), read(99_999));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(fits.unwrap(), 100_000);
        assert_eq!(fails.unwrap_err().to_string(), UNPACKED_TOO_LONG);
    }
}
