//! Files that exist completely or not at all: written under a temporary name in the same folder, and renamed at the end.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of alternative file names that are tried if files of a killed process with the same process number exist.
const NAMES_MAX: u32 = 100;

/// The temporary names of the files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Writes a complete file, in place of an existing one; see [`is_written_directly`] for the exceptions. At a symbolic link the target is replaced,
/// or created.
///
/// # Errors
/// The reason in one line; then the existing file is unchanged.
pub fn write(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    write_whole(path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Whether [`write()`] writes to an existing path instead of replacing it: to what is no regular file, such as a terminal or a pipe, and to the file
/// of the standard output or the standard error, behind what is in it.
pub fn is_written_directly(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file()) || standard(path).is_some()
}

/// Removes the unfinished files; for a process that ends in the middle of a write.
pub fn discard() {
    unfinished().drain(..).for_each(|path| drop(fs::remove_file(path)));
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_whole(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(output) = standard(path) {
        io::stdout().flush()?;
        return fill(output.into(), contents);
    }
    // Before the path is resolved: that of a pipe, at the end of `/dev/stdout`, names no file.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fill(File::options().write(true).open(path)?, contents);
    }
    let known = fs::canonicalize(path).and_then(|path| fs::metadata(&path).map(|found| (path, found)));
    let (target, found) = match known {
        // A link to a file that does not exist yet.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return write_whole(&path.parent().unwrap_or(Path::new("")).join(fs::read_link(path)?), contents);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (path.to_owned(), None),
        known => known.map(|(path, found)| (path, Some(found)))?,
    };
    let (name, file) = begin(&target)?;
    let filled = found.map_or(Ok(()), |found| file.set_permissions(found.permissions())).and_then(|()| fill(file, contents));
    let mut unfinished = unfinished();
    let Some(place) = unfinished.iter().position(|other| *other == name) else {
        // Discarded meanwhile: the process ends.
        return filled;
    };
    unfinished.swap_remove(place);
    filled.and_then(|()| fs::rename(&name, &target)).inspect_err(|_| drop(fs::remove_file(&name)))
}

/// Returns the standard output or the standard error if the path is its file: `/dev/stdout`, or the file that a shell has redirected it to.
fn standard(path: &Path) -> Option<OwnedFd> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let is_it = |output: &OwnedFd| {
        let output = output.try_clone().map(File::from).and_then(|output| output.metadata());
        output.is_ok_and(|output| (output.dev(), output.ino()) == (found.dev(), found.ino()))
    };
    let outputs = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    outputs.into_iter().flatten().find(is_it)
}

/// Creates a temporary file in the folder of `target`, with a name that is recorded as unfinished.
fn begin(target: &Path) -> io::Result<(PathBuf, File)> {
    let mut unfinished = unfinished();
    let process = std::process::id();
    let mut names = (0..NAMES_MAX).map(|number| target.with_file_name(format!(".pelago-{process}-{number}.tmp")));
    let created = names.find_map(|name| match File::create_new(&name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
        created => Some(created.map(|file| (name, file))),
    });
    let (name, file) = created.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into()))?;
    unfinished.push(name.clone());
    Ok((name, file))
}

fn fill(file: File, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    contents(&mut file)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single test, because [`discard`] removes the unfinished files of all tests.
    #[test]
    fn a_file_is_there_whole_or_as_it_was() {
        let folder = std::env::temp_dir().join(format!("pelago-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let names = || fs::read_dir(&folder).unwrap().count();
        let (path, link) = (folder.join("report"), folder.join("link"));
        write(&path, |file| file.write_all(b"first")).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let broken = write(&path, |file| {
            file.write_all(&[b'x'; 100_000])?;
            assert_eq!((names(), &fs::read(&path).unwrap()[..]), (3, &b"first"[..]), "under another name until then");
            Err(ErrorKind::StorageFull.into())
        });
        assert!(broken.unwrap_err().starts_with(&format!("cannot write {}: ", path.display())));
        assert_eq!((names(), fs::read(&path).unwrap()), (2, b"first".to_vec()));
        write(&link, |file| file.write_all(b"second")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && fs::read(&path).unwrap() == b"second");
        let (dangling, target) = (folder.join("dangling"), folder.join("target"));
        std::os::unix::fs::symlink("target", &dangling).unwrap();
        write(&dangling, |file| file.write_all(b"through")).unwrap();
        assert!(dangling.is_symlink() && fs::read(&target).unwrap() == b"through");
        // A pipe, which has no path.
        let (reader, writer) = io::pipe().unwrap();
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        write(Path::new(&link), |file| file.write_all(b"through a pipe")).unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(reader).unwrap(), "through a pipe");
        [dangling, target].iter().for_each(|file| fs::remove_file(file).unwrap());
        // The process ends in the middle of a write.
        let ended = write(&path, |file| {
            file.write_all(b"third")?;
            discard();
            Ok(())
        });
        assert_eq!((ended.is_ok(), names(), fs::read(&path).unwrap()), (true, 2, b"second".to_vec()));
        assert!(write(&folder, |_| Ok(())).is_err(), "a folder");
        write(Path::new("/dev/null"), |file| file.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(folder).unwrap();
    }
}
