//! Reads files that describe graphs, plain or compressed with gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Maximum size of a file after decompression, in bytes.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

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
        MultiGzDecoder::new(BufReader::new(file)).take(UNPACKED_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > UNPACKED_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::InvalidData,
                "it has more than 4 GiB once it is not compressed; decompress it first",
            ));
        }
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
    let file = regular(path)?;
    if is_packed(&file)? {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(BufReader::new(file)))));
    }
    Ok(Box::new(BufReader::new(file)))
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
