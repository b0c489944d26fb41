//! Input files, which are read up to a limit: a device may have no end.

use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

/// Reads a text file of at most `bytes_max` bytes.
///
/// # Errors
/// The file cannot be read, or is longer.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<String, Error> {
    let mut text = String::new();
    let bytes = File::open(path)?.take(bytes_max + 1).read_to_string(&mut text)?;
    if bytes as u64 > bytes_max {
        return Err(Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(text)
}
