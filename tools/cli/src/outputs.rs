//! Whether a file can be written, found out before the work for it, when one that is there is not touched; and replacing a file as a whole.

use std::io::{Error, ErrorKind};
use std::path::Path;

use rustix::fs::{Access, access};

use crate::Refused;

/// Looks whether a file can be written, or one that is there replaced.
///
/// # Errors
/// It cannot.
pub(crate) fn check(path: &Path) -> Result<(), Refused> {
    writable(path).map_err(|error| Refused(format!("cannot write {}: {error}", path.display())))
}

/// Writes a file under another name beside its own and renames it, so that it is there whole, or as it was.
///
/// # Errors
/// It cannot be written.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Refused> {
    let other = path.with_extension(format!("pelago-{}.tmp", std::process::id()));
    std::fs::write(&other, text).and_then(|()| std::fs::rename(&other, path)).map_err(|error| {
        let _ = std::fs::remove_file(&other);
        Refused(format!("cannot write {}: {error}", path.display()))
    })
}

fn writable(path: &Path) -> Result<(), Error> {
    let found = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => Some(found?),
    };
    if found.as_ref().is_some_and(|found| found.is_dir()) || path.file_name().is_none() {
        return Err(Error::other("it is a folder; name a file"));
    }
    if found.is_some() {
        access(path, Access::WRITE_OK)?;
    }
    if found.is_some_and(|found| !found.is_file()) {
        // A terminal or a pipe is written as it is.
        return Ok(());
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A new file takes the place of one that is there, at the end. Only to make one shows whether that is possible.
    let trial = folder.join(format!(".pelago-{}-trial.tmp", std::process::id()));
    match std::fs::File::create_new(&trial) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|_| std::fs::remove_file(trial)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_said_before() {
        let says = |path: &str| check(Path::new(path)).map_err(|Refused(line)| line);
        let long = format!("/tmp/{}", "x".repeat(300));
        for (path, why) in [
            ("/no/such/folder/file", "No such file or directory"),
            ("/tmp", "it is a folder"),
            ("/tmp/..", "it is a folder"),
            ("", "it is a folder"),
            ("/dev/null/file", "Not a directory"),
            ("/proc/file", ""),
            (&long, "File name too long"),
        ] {
            let line = says(path).unwrap_err();
            assert!(line.starts_with(&format!("cannot write {path}: ")) && line.contains(why), "{line}");
        }
        let file = std::env::temp_dir().join(format!("pelago-outputs-{}", std::process::id()));
        assert!(check(&file).is_ok() && !file.exists(), "it is only looked at");
        std::fs::write(&file, "kept").unwrap();
        assert!(check(&file).is_ok() && std::fs::read(&file).unwrap() == b"kept");
        let trial = format!(".pelago-{}-trial.tmp", std::process::id());
        assert!(!file.with_file_name(trial).exists(), "nothing is left");
        std::fs::remove_file(file).unwrap();
        assert_eq!([says("file"), says("/dev/null")], [Ok(()), Ok(())]);
    }
}
