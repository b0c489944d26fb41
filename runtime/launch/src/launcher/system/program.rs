//! Looking up the program before any rank is started, so that an error is reported once.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
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
        Ok(()) | Err(Errno::NOSYS | Errno::PERM) => {}
        Err(error) => return Err(named(error.into())),
    }
    match foreign_machine(path).filter(|_| !runs_foreign_programs(Path::new(INTERPRETERS))) {
        Some(machine) => Err(named(Error::other(format!(
            "it is a program for {machine}, and this host is {}: build it for this host",
            std::env::consts::ARCH
        )))),
        None => Ok(()),
    }
}

/// The interpreters that the kernel runs for programs of other machines, such as qemu.
const INTERPRETERS: &str = "/proc/sys/fs/binfmt_misc";

/// The first bytes of an executable.
const ELF: [u8; 4] = *b"\x7fELF";

/// Returns the machine of an executable that this one cannot run. Where the kernel refuses such a file, the C library starts a shell with it as a script.
fn foreign_machine(path: &Path) -> Option<String> {
    let mut head = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    let own = own_machines();
    let is_big_endian = head[5] == 2;
    let machine = [head[18], head[19]];
    let machine = if is_big_endian { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
    let is_foreign = head[..4] == ELF && !own.is_empty() && !own.contains(&machine);
    is_foreign.then(|| match MACHINES.iter().find(|(number, _)| *number == machine) {
        Some((_, name)) => (*name).into(),
        None => format!("the machine {machine} of ELF"),
    })
}

/// Machines of ELF, by the names that Rust gives to them.
const MACHINES: [(u16, &str); 8] =
    [(3, "x86"), (8, "mips"), (21, "powerpc64"), (22, "s390x"), (40, "arm"), (62, "x86_64"), (183, "aarch64"), (243, "riscv64")];

/// Returns the machines whose programs this one runs: its own, and the one of 32 bits where the kernel may run both; none if this one has no name here.
fn own_machines() -> &'static [u16] {
    match std::env::consts::ARCH {
        "x86_64" => &[62, 3],
        "aarch64" => &[183, 40],
        "riscv64" => &[243],
        "powerpc64" => &[21],
        "s390x" => &[22],
        _ => &[],
    }
}

/// Whether the kernel has an interpreter for executables of other machines.
fn runs_foreign_programs(interpreters: &Path) -> bool {
    let entries = std::fs::read_dir(interpreters).into_iter().flatten().flatten();
    entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).any(|text| {
        let magic = text.lines().find_map(|line| line.strip_prefix("magic "));
        text.starts_with("enabled") && magic.is_some_and(|magic| magic.starts_with("7f454c46"))
    })
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
    fn a_program_of_another_machine_is_no_script() {
        let folder = std::env::temp_dir().join(format!("pelago-machines-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("none")).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let program = |machine: u16| {
            let mut head = [0; 64];
            head[..4].copy_from_slice(&ELF);
            head[18..20].copy_from_slice(&machine.to_le_bytes());
            file("program", &head)
        };
        for (machine, name) in [(8, "mips"), (0xfeed, "the machine 65261 of ELF")] {
            assert_eq!(foreign_machine(&program(machine)).as_deref(), Some(name));
        }
        assert_eq!(foreign_machine(Path::new("/proc/self/exe")), None);
        assert_eq!(foreign_machine(&file("script", b"#!/bin/sh\nexit 0 # for a shell")), None);
        assert!(!runs_foreign_programs(&folder.join("none")) && !runs_foreign_programs(Path::new("/no/such/folder")));
        file("none/qemu-mips", b"enabled\ninterpreter /usr/bin/qemu-mips\nflags: F\noffset 0\nmagic 7f454c46010201\n");
        assert!(runs_foreign_programs(&folder.join("none")));
        std::fs::remove_dir_all(folder).unwrap();
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
