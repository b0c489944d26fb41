//! Checks that an output file can be written before the run produces it, without touching an existing one; and standard output.

use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pelago_report::files;
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

/// Checks that no option names an existing file that the command also reads, and that would be replaced: the program itself, or a file that an
/// argument names, as `FILE`, as `--option=FILE`, or as `PREFIX` of `PREFIX.RANK.et`.
///
/// # Errors
/// One does.
pub(crate) fn check_not_inputs(files: &[(&str, Option<&Path>)], command: &[OsString]) -> Result<(), Refused> {
    let named = files.iter().filter_map(|&(option, file)| Some((option, file.filter(|file| file.is_file())?)));
    let existing: Vec<_> = named.map(|(option, file)| (option, file, whole(file))).collect();
    if existing.is_empty() {
        return Ok(());
    }
    // A program without a folder is a bundled one, or one of PATH.
    let program = command.iter().take(1).filter(|name| name.as_bytes().contains(&b'/'));
    let words = program.chain(command.iter().skip(1)).map(|word| word.as_bytes());
    let names = words.flat_map(|word| [Some(word), word.splitn(2, |&byte| byte == b'=').nth(1)]).flatten().map(OsStr::from_bytes);
    for name in names {
        let of_rank = |rank: u32| {
            let mut name = name.to_owned();
            name.push(format!(".{rank}.et"));
            PathBuf::from(name)
        };
        let of_ranks = (0..).map(of_rank).take_while(|file| file.is_file());
        for input in std::iter::once(PathBuf::from(name)).chain(of_ranks).map(|input| whole(&input)) {
            if let Some((option, file, _)) = existing.iter().find(|(.., target)| *target == input) {
                let (file, name) = (file.display(), name.display());
                return Err(Refused(format!("{option} {file}: the program gets this file by {name}; name another")));
            }
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
    let of_link = |target: PathBuf| whole(&path.parent().unwrap_or(Path::new("")).join(target));
    match std::fs::canonicalize(path) {
        Ok(path) => path,
        // A link to a file that does not exist yet.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            std::fs::read_link(path).map_or_else(|_| path.into(), of_link)
        }
        Err(_) => in_folder().unwrap_or_else(|| path.into()),
    }
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
    if found.is_some() && files::is_written_directly(path) {
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
        std::os::unix::fs::symlink("new", folder.join("dangling")).unwrap();
        let of = |name: &str| folder.join(name);
        for (one, other, expected) in [
            (of("new"), of("new"), false),
            (of("new"), of("./new"), false),
            (of("old"), of("link"), false),
            (of("new"), of("dangling"), false),
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
    fn what_the_program_reads_is_not_replaced() {
        let folder = std::env::temp_dir().join(format!("pelago-inputs-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        ["program", "a", "t.0.et", "t.1.et"].iter().for_each(|name| std::fs::write(path(name), "").unwrap());
        std::os::unix::fs::symlink("a", path("link")).unwrap();
        for (file, words, by) in [
            ("a", ["ring".into(), path("a")], Some(path("a"))),
            ("a", ["ring".into(), path("./a")], Some(path("./a"))),
            ("link", ["ring".into(), format!("--groups={}", path("a"))], Some(path("a"))),
            ("t.1.et", ["chakra".into(), path("t")], Some(path("t"))),
            ("program", [path("program"), path("a")], Some(path("program"))),
            ("new", ["ring".into(), path("new")], None),
            ("a", ["ring".into(), path("t")], None),
        ] {
            let (file, command) = (path(file), words.map(OsString::from));
            let found = check_not_inputs(&[("--trace", None), ("--report", Some(Path::new(&file)))], &command);
            let says = by.map(|by| format!("--report {file}: the program gets this file by {by}; name another"));
            assert_eq!(found.err().map(|Refused(line)| line), says);
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
