//! Looking up the program before any rank is started, so that an error is reported once.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::launcher::LaunchError;

/// Returns the path of a program, given as a path or as a name in `PATH`.
pub(crate) fn find(program: &OsStr, search: Option<&OsStr>) -> Result<PathBuf, LaunchError> {
    if program.as_encoded_bytes().contains(&b'/') {
        return check(Path::new(program)).map(|()| program.into());
    }
    let found = search.into_iter().flat_map(std::env::split_paths).map(|folder| folder.join(program));
    match found.into_iter().find(|path| check(path).is_ok()) {
        Some(path) => Ok(path),
        None => Err(LaunchError::Unknown(program.to_string_lossy().into_owned())),
    }
}

/// The standard input of ranks that read nothing. The standard library opens it before it runs a program.
const NULL: &str = "/dev/null";

/// Returns the error of the start of the program `path`. The system reports a missing interpreter of a script as a missing file, and so the standard
/// library a missing `/dev/null`.
pub(crate) fn start_error(path: &Path, error: Error) -> Error {
    start_error_with(path, error, Path::new(NULL))
}

fn start_error_with(path: &Path, error: Error, null: &Path) -> Error {
    // A process without descriptors cannot open it either: its error is not that of the device.
    let is_of_path = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
    if let (true, Err(why)) = (is_of_path, File::open(null)) {
        let why = why.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        let null = null.display();
        return Error::other(format!(
            "{null}, the standard input of ranks, cannot be opened: {why}; mknod -m 666 {null} c 1 3 makes it"
        ));
    }
    if error.kind() == ErrorKind::NotFound && path.exists() {
        return Error::other("the file exists, but the interpreter that it names is missing");
    }
    error
}

fn check(path: &Path) -> Result<(), LaunchError> {
    let named = |error: Error| LaunchError::Program(path.to_path_buf(), error);
    if std::fs::metadata(path).map_err(named)?.is_dir() {
        return Err(named(ErrorKind::IsADirectory.into()));
    }
    match access(path, Access::EXEC_OK) {
        // If this check is unavailable, the start of the ranks reports an error.
        Ok(()) | Err(Errno::NOSYS | Errno::PERM) => Ok(()),
        Err(error) => Err(named(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_or_the_reason_is_said() {
        let search = Some(OsStr::new("/nowhere:/usr/bin:/bin"));
        assert!(find(OsStr::new("sh"), search).unwrap().is_absolute());
        assert_eq!(find(OsStr::new("/bin/sh"), None).unwrap(), Path::new("/bin/sh"));
        for (program, reason) in [
            ("no-such-program", "PATH"),
            ("", "PATH"),
            ("/no/such/program", "No such file"),
            ("/tmp", "is a directory"),
            ("/etc/passwd", "Permission denied"),
        ] {
            let error = find(OsStr::new(program), search).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(program), "{error}");
        }
    }

    #[test]
    fn a_missing_interpreter_is_told_from_a_missing_file() {
        let text = |path: &str| start_error(Path::new(path), ErrorKind::NotFound.into()).to_string();
        assert!(text("/bin/sh").contains("the interpreter that it names is missing"));
        assert_eq!(text("/no/such/program"), Error::from(ErrorKind::NotFound).to_string());
    }

    #[test]
    fn a_missing_null_device_is_told_from_a_missing_interpreter() {
        let text = |kind: ErrorKind| start_error_with(Path::new("/bin/sh"), kind.into(), Path::new("/no/such/null")).to_string();
        assert!(
            text(ErrorKind::NotFound).starts_with("/no/such/null, the standard input of ranks, cannot be opened: No such file")
        );
        assert_eq!(text(ErrorKind::WouldBlock), Error::from(ErrorKind::WouldBlock).to_string());
    }
}
