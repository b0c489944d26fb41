//! Checks that an output file can be written before the run produces it, without touching an existing one; and standard output.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::Refused;

/// Checks that a file can be created, or an existing one replaced.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn check(path: &Path) -> Result<(), Refused> {
    writable(path).map_err(|error| Refused(format!("cannot write {}: {error}", path.display())))
}

/// Checks that no two options name the same file, of which one would be lost.
///
/// # Errors
/// Two do.
pub(crate) fn check_different(files: &[(&str, Option<&Path>)]) -> Result<(), Refused> {
    let named: Vec<_> = files.iter().filter_map(|&(option, file)| Some((option, file?))).collect();
    for (place, &(one, file)) in named.iter().enumerate() {
        if let Some((other, _)) = named[place + 1..].iter().find(|(_, other)| whole(other) == whole(file)) {
            return Err(Refused(format!("{one} and {other} are both {}: give each a file of its own", file.display())));
        }
    }
    Ok(())
}

/// Returns the path of a file that perhaps does not exist, without links and dots.
fn whole(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    std::fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.into())
}

/// Writes text to standard output. A reader that closes the pipe early is not an error.
///
/// # Errors
/// The text is lost for another reason.
pub(crate) fn print(text: &str) -> Result<(), Refused> {
    let mut output = std::io::stdout();
    printed(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

/// Returns the error of a write to standard output, unless its reader has closed the pipe.
///
/// # Errors
/// The text is lost.
pub(crate) fn printed(written: Result<(), Error>) -> Result<(), Refused> {
    written
        .or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(|error| Refused(format!("cannot write to the standard output: {error}")))
}

fn writable(path: &Path) -> Result<(), Error> {
    let found = match std::fs::metadata(path) {
        // A link to a file that does not exist yet.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return writable(&path.parent().unwrap_or(Path::new("")).join(std::fs::read_link(path)?));
        }
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
        // Terminals and pipes are written directly.
        return Ok(());
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // At the end a new file replaces the existing one. Only creating a file shows whether that is possible.
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
    fn two_options_have_two_files() {
        let folder = std::env::temp_dir().join(format!("pelago-different-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let here = std::env::current_dir().unwrap();
        std::fs::write(folder.join("old"), "").unwrap();
        std::os::unix::fs::symlink("old", folder.join("link")).unwrap();
        let of = |name: &str| folder.join(name);
        for (one, other, expected) in [
            (of("new"), of("new"), false),
            (of("new"), of("./new"), false),
            (of("old"), of("link"), false),
            ("x.json".into(), "./x.json".into(), false),
            ("x.json".into(), here.join("x.json"), false),
            (of("new"), of("old"), true),
            (of("no/new"), of("new"), true),
        ] {
            let found = check_different(&[("--a", Some(&one)), ("--b", None), ("--c", Some(&other))]);
            assert_eq!(found.is_ok(), expected, "{one:?} {other:?}");
            assert!(found.err().is_none_or(|Refused(line)| line.starts_with("--a and --c are both ")));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

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
        std::fs::remove_file(&file).unwrap();
        for (target, is_writable) in [("no-such-folder/file", false), ("file", true)] {
            std::os::unix::fs::symlink(target, &file).unwrap();
            assert_eq!(check(&file).is_ok(), is_writable, "a link to {target}");
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!([says("file"), says("/dev/null")], [Ok(()), Ok(())]);
    }
}
