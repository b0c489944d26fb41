//! Whether a file is a program whose ranks can be simulated, before the system starts it: what a user gets wrong is said in one line.

use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pelago_simulator::VARIABLE;

use crate::Refused;

/// What can be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the system can start.
    Program,
    /// A shared object, whose `main` has to be called.
    Object,
}

/// Why a file is no program whose ranks can be simulated.
#[derive(Debug, PartialEq, Eq)]
enum Unfit {
    /// It is no program of this machine.
    Broken(&'static str),
    /// It is one, but knows nothing of Pelago.
    Stranger(&'static str),
}

/// What of an ELF file matters here.
#[derive(Debug, PartialEq, Eq)]
struct Elf {
    is_object: bool,
    /// Whether it names the library of the C interface as one that it needs.
    needs_acp: bool,
    /// What of the file the system maps.
    loaded: Vec<Range<usize>>,
}

/// What every file of the format begins with; of 64 bits, least significant byte first.
const MAGIC: [u8; 6] = *b"\x7fELF\x02\x01";

const HEADER_BYTES: usize = 64;
const SHARED: u16 = 3;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const LOADED: u32 = 1;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u16 = 0;

/// Looks at a program, of this path or in `PATH`. What cannot be found or read is left to the system, and so is what may start another
/// program: scripts, and programs with arguments, as `env`.
///
/// # Errors
/// The file is no program whose ranks can be simulated.
pub(crate) fn look(program: &OsStr, has_arguments: bool) -> Result<Kind, Refused> {
    let Some(path) = find(program) else { return Ok(Kind::Program) };
    let Ok(bytes) = fs::read(&path) else { return Ok(Kind::Program) };
    if bytes.starts_with(b"#!") {
        return Ok(Kind::Program);
    }
    match judge(&bytes) {
        Err(Unfit::Stranger(_)) if has_arguments => Ok(Kind::Program),
        Err(Unfit::Stranger(why) | Unfit::Broken(why)) => Err(Refused(format!("{} {why}", path.display()))),
        Ok(kind) => Ok(kind),
    }
}

/// Where a program lies.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(Path::new(program).to_owned()).filter(|path| path.is_file());
    }
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(is_program)
}

/// What a file is, or why it cannot be simulated.
fn judge(bytes: &[u8]) -> Result<Kind, Unfit> {
    let elf = Elf::parse(bytes)?;
    match elf {
        Elf { needs_acp: true, is_object: true, .. } => Ok(Kind::Object),
        Elf { needs_acp: true, .. } => Ok(Kind::Program),
        Elf { is_object: true, .. } => {
            Err(Unfit::Broken("is a shared object that is not linked with libacp.so (acpcc -shared does that)"))
        }
        // A library of this project in the file itself asks for the simulation by this name.
        Elf { ref loaded, .. } if loaded.iter().any(|part| names_variable(&bytes[part.clone()])) => Ok(Kind::Program),
        _ => Err(Unfit::Stranger("is linked neither with libacp.so nor with Pelago (acpcc links a program in C)")),
    }
}

/// Whether the name of the variable is among these bytes.
fn names_variable(bytes: &[u8]) -> bool {
    let (name, mut from) = (VARIABLE.as_bytes(), 0);
    while let Some(found) = bytes[from..].iter().position(|&byte| byte == name[0]) {
        if bytes[from + found..].starts_with(name) {
            return true;
        }
        from += found + 1;
    }
    false
}

impl Elf {
    fn parse(bytes: &[u8]) -> Result<Self, Unfit> {
        if !bytes.starts_with(&MAGIC) || bytes.len() < HEADER_BYTES {
            return Err(Unfit::Broken("is not an ELF program of 64 bits"));
        }
        let broken = || Unfit::Broken("is a broken ELF program");
        let kind = half(bytes, 16).ok_or_else(broken)?;
        if half(bytes, 18) != Some(MACHINE) {
            return Err(Unfit::Broken("is a program for another kind of processor"));
        }
        let (start, size, count) = (|| Some((word(bytes, 32)?, half(bytes, 54)?, half(bytes, 56)?)))().ok_or_else(broken)?;
        let mut elf = Self { is_object: kind == SHARED, needs_acp: false, loaded: Vec::new() };
        let headers: Option<Vec<Header>> =
            (0..count).map(|index| Header::parse(bytes, start.checked_add(u64::from(index) * u64::from(size))?)).collect();
        let headers = headers.ok_or_else(broken)?;
        for header in &headers {
            match header.kind {
                INTERPRETER => elf.is_object = false,
                DYNAMIC => elf.needs_acp = header.needs_acp(bytes, &headers).ok_or_else(broken)?,
                LOADED => elf.loaded.push(header.part_of(bytes).ok_or_else(broken)?),
                _ => {}
            }
        }
        Ok(elf)
    }
}

/// A part of an ELF file.
struct Header {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

impl Header {
    fn parse(file: &[u8], at: u64) -> Option<Self> {
        let at = usize::try_from(at).ok()?;
        let kind = u32::from_le_bytes(file.get(at..at.checked_add(4)?)?.try_into().ok()?);
        let field = |offset: usize| word(file, at.checked_add(offset)?);
        Some(Self { kind, offset: field(8)?, address: field(16)?, bytes: field(32)? })
    }

    /// Where it lies in the file; `None` if that is past its end.
    fn part_of(&self, file: &[u8]) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.bytes).ok()?)?;
        (end <= file.len()).then_some(start..end)
    }

    /// Whether this dynamic section names the library; `None` if it is broken.
    fn needs_acp(&self, file: &[u8], headers: &[Self]) -> Option<bool> {
        let section = &file[self.part_of(file)?];
        let entries = || section.chunks_exact(16).filter_map(|entry| Some((word(entry, 0)?, word(entry, 8)?)));
        let Some((_, strings)) = entries().find(|&(tag, _)| tag == STRINGS) else { return Some(false) };
        let holds = |part: &&Self| part.kind == LOADED && strings >= part.address && strings - part.address < part.bytes;
        let part = headers.iter().find(holds)?;
        let strings = (strings - part.address).checked_add(part.offset)?;
        let mut names = entries().take_while(|&(tag, _)| tag != 0).filter(|&(tag, _)| tag == NEEDED);
        Some(names.any(|(_, name)| {
            let at = strings.checked_add(name).and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| file.get(at..)).is_some_and(|text| text.starts_with(b"libacp"))
        }))
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test is linked with Pelago, as it names the variable.
    #[test]
    fn programs_are_told_from_what_is_none() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(judge(&this), Ok(Kind::Program));
        for (bytes, why) in [
            (&b"text"[..], "not an ELF program"),
            (&this[..40], "not an ELF program"),
            (&this[..HEADER_BYTES], "broken"),
            (&this[..HEADER_BYTES + 100], "broken"),
        ] {
            let Err(Unfit::Broken(said)) = judge(bytes) else { panic!("{why}") };
            assert!(said.contains(why), "{said}");
        }
        let mut other = this[..4096].to_vec();
        other[18] ^= 1;
        assert_eq!(judge(&other), Err(Unfit::Broken("is a program for another kind of processor")));
    }

    /// Whatever bytes of the headers are wrong, the answer is one line.
    #[test]
    fn broken_files_are_refused() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        for at in 16..1024 {
            for value in [0, 0xff] {
                let mut bytes = this[..4096.min(this.len())].to_vec();
                bytes[at] = value;
                let _ = judge(&bytes);
            }
        }
    }
}
