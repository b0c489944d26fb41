//! Checks before the start that a file is a program whose ranks can be simulated, so that a mistake is reported in one line.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{
    DT_NEEDED, DT_NULL, DT_STRSZ, DT_STRTAB, Dyn64, EM_AARCH64, EM_NONE, EM_X86_64, ET_DYN, FileHeader64, Machine, PT_DYNAMIC,
    PT_INTERP, PT_LOAD, ProgramHeader64, SHT_SYMTAB, STB_WEAK, STT_FUNC, STT_OBJECT,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use pelago_simulator::VARIABLE;

use crate::Refused;

/// Environment variable that gives a program linked with `libacp.a` the addresses of the library's symbols in its file: `NAME=ADDRESS` for
/// functions and `NAME@ADDRESS` for variables, separated by commas, in hexadecimal.
pub(crate) const ARCHIVE_VARIABLE: &str = "PELAGO_SIM_ARCHIVE";

/// Name of the local symbol that `bindings/acp/install` adds to each object of the archive.
const WEAKENED: &str = "iacp_weakened";

/// Kinds of files that can be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An executable that the system starts.
    Program,
    /// A program linked with `libacp.a`, and the value of `ARCHIVE_VARIABLE`. The shared library simulates it: its functions replace those of the
    /// archive.
    Archive(String),
    /// A shared object whose `main` has to be called.
    Object,
}

/// Reason why the ranks of a file cannot be simulated.
#[derive(Debug, PartialEq, Eq)]
enum Unfit {
    /// The file is not a program that runs on this machine and can be simulated.
    Broken(&'static str),
    /// The file is a program, but not linked with Pelago.
    Stranger(&'static str),
}

/// The relevant parts of an ELF file.
struct Elf<'a> {
    is_object: bool,
    /// Whether the dynamic section lists the library of a C interface as needed.
    needs_acp: bool,
    /// Whether the file names an interpreter (the dynamic loader), which also maps shared libraries.
    has_loader: bool,
    /// Symbols of `libacp.a` in the file, as the value of `ARCHIVE_VARIABLE`; `None` if there are none.
    archive: Option<String>,
    /// Parts of the file that are mapped at the start.
    loaded: Vec<&'a [u8]>,
}

/// Architecture of this machine.
const MACHINE: Machine = if cfg!(target_arch = "x86_64") {
    EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    EM_AARCH64
} else {
    EM_NONE
};

/// Classifies a program, given by its path or found in `PATH`. Files that cannot be found or read are left to the system. So are files that
/// may start another program: scripts, and programs with arguments, such as `env`.
///
/// # Errors
/// The ranks of the file cannot be simulated.
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

/// Returns the path of a program.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(Path::new(program).to_owned()).filter(|path| path.is_file());
    }
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(is_program)
}

/// Returns the kind of a file, or the reason why it cannot be simulated.
fn judge(bytes: &[u8]) -> Result<Kind, Unfit> {
    let elf = Elf::parse(bytes)?;
    match elf {
        Elf { needs_acp: true, is_object: true, .. } => Ok(Kind::Object),
        Elf { needs_acp: true, .. } => Ok(Kind::Program),
        Elf { is_object: true, .. } => {
            Err(Unfit::Broken("is a shared object that is not linked with libacp.so (acpcc -shared does that)"))
        }
        Elf { archive: Some(_), has_loader: false, .. } => {
            Err(Unfit::Broken("is linked statically as a whole: a simulation needs libacp.so or libacp.a in a dynamic program"))
        }
        Elf { archive: Some(_), .. } if MACHINE != EM_X86_64 => {
            Err(Unfit::Broken("has libacp.a in it, which is simulated on x86-64 alone; acpcc links the shared library"))
        }
        Elf { archive: Some(archive), .. } => Ok(Kind::Archive(archive)),
        // A program linked statically with Pelago contains the name of the variable that requests the simulation.
        Elf { ref loaded, .. } if loaded.iter().any(|part| names_variable(part)) => Ok(Kind::Program),
        _ => Err(Unfit::Stranger("is linked neither with libacp.so nor with Pelago (acpcc links a program in C)")),
    }
}

/// Returns whether `bytes` contain the name of the variable.
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

impl<'a> Elf<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Unfit> {
        let header = FileHeader64::<LittleEndian>::parse(bytes).and_then(|header| header.endian().map(|_| header));
        let header = header.map_err(|_| Unfit::Broken("is not an ELF program of 64 bits"))?;
        if header.e_machine(LittleEndian) != MACHINE {
            return Err(Unfit::Broken("is a program for another kind of core"));
        }
        Self::of(header, bytes).ok_or(Unfit::Broken("is a broken ELF program"))
    }

    /// Returns `None` if the file is broken.
    fn of(header: &FileHeader64<LittleEndian>, bytes: &'a [u8]) -> Option<Self> {
        let is_object = header.e_type(LittleEndian) == ET_DYN;
        let mut elf =
            Self { is_object, needs_acp: false, has_loader: false, archive: archive(header, bytes), loaded: Vec::new() };
        let parts = header.program_headers(LittleEndian, bytes).ok()?;
        for part in parts {
            match part.p_type(LittleEndian) {
                PT_INTERP => (elf.is_object, elf.has_loader) = (false, true),
                PT_DYNAMIC => elf.needs_acp = needs_acp(part.dynamic(LittleEndian, bytes).ok()??, parts, bytes)?,
                PT_LOAD => elf.loaded.push(part.data(LittleEndian, bytes).ok()?),
                _ => {}
            }
        }
        Some(elf)
    }
}

/// Lists the symbols of `libacp.a` in a file; `None` if there are none, or if the file has no symbol table.
fn archive(header: &FileHeader64<LittleEndian>, bytes: &[u8]) -> Option<String> {
    let symbols = header.sections(LittleEndian, bytes).ok()?.symbols(LittleEndian, bytes, SHT_SYMTAB).ok()?;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(LittleEndian));
    let named =
        defined.filter_map(|symbol| Some((std::str::from_utf8(symbols.symbol_name(LittleEndian, symbol).ok()?).ok()?, symbol)));
    let of_library: Vec<_> = named.filter(|(name, _)| name.starts_with("acp_") || name.starts_with("iacp_")).collect();
    of_library.iter().any(|(name, _)| *name == "acp_init").then_some(())?;
    // The installed archive has weak internal symbols. A strong symbol of such a name is the program's own, and is not replaced.
    let is_weakened = of_library.iter().any(|(name, _)| *name == WEAKENED);
    let part = |(name, symbol): &(&str, &_)| {
        let is_own = is_weakened && name.starts_with("iacp_") && Sym::st_bind(*symbol) != STB_WEAK;
        let at = Sym::st_value(*symbol, LittleEndian);
        match Sym::st_type(*symbol) {
            STT_FUNC if !is_own => Some(format!("{name}={at:x}")),
            STT_OBJECT => Some(format!("{name}@{at:x}")),
            _ => None,
        }
    };
    Some(of_library.iter().filter_map(part).collect::<Vec<_>>().join(","))
}

/// Returns whether a dynamic section lists the library of a C interface as needed; `None` if the section is broken.
fn needs_acp(section: &[Dyn64<LittleEndian>], parts: &[ProgramHeader64<LittleEndian>], file: &[u8]) -> Option<bool> {
    let entries =
        || section.iter().map(|entry| (entry.tag(LittleEndian), entry.val(LittleEndian))).take_while(|entry| entry.0 != DT_NULL);
    let value = |wanted| entries().find(|&(tag, _)| tag == wanted).map(|(_, value)| value);
    let Some(address) = value(DT_STRTAB) else { return Some(false) };
    let size = value(DT_STRSZ)?;
    let mut loaded = parts.iter().filter(|part| part.p_type(LittleEndian) == PT_LOAD);
    let names = loaded.find_map(|part| part.data_range(LittleEndian, file, address, size).ok()?)?;
    let mut needed = entries().filter(|&(tag, _)| tag == DT_NEEDED);
    Some(needed.any(|(_, at)| {
        names.get(at as usize..).is_some_and(|name| [&b"libacp"[..], b"libsma"].iter().any(|library| name.starts_with(library)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_BYTES: usize = size_of::<FileHeader64<LittleEndian>>();

    fn this() -> Vec<u8> {
        fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    fn parts(bytes: &[u8]) -> &[ProgramHeader64<LittleEndian>] {
        let header = FileHeader64::<LittleEndian>::parse(bytes).unwrap();
        header.program_headers(LittleEndian, bytes).unwrap()
    }

    /// This test program contains the name of the variable, as a program linked with Pelago does.
    #[test]
    fn programs_are_told_from_what_is_none() {
        let this = this();
        assert_eq!(judge(&this), Ok(Kind::Program));
        let with = |at: usize, byte| [&this[..at], &[byte], &this[at + 1..]].concat();
        for (bytes, why) in [
            (b"text".to_vec(), "not an ELF program"),
            (with(4, 1), "not an ELF program of 64 bits"),
            (with(5, 2), "not an ELF program"),
            (with(18, this[18] ^ 1), "another kind of core"),
        ] {
            let Err(Unfit::Broken(said)) = judge(&bytes) else { panic!("{why}") };
            assert!(said.contains(why), "{said}");
        }
    }

    /// At every length that cuts a loaded part.
    #[test]
    fn truncated_files_are_refused() {
        let this = this();
        let loaded = parts(&this).iter().filter(|part| part.p_type(LittleEndian) == PT_LOAD);
        let ends = loaded.map(|part| part.file_range(LittleEndian)).map(|(start, bytes)| (start + bytes) as usize);
        let end = ends.max().unwrap();
        assert_eq!(judge(&this[..end]), Ok(Kind::Program));
        for (bytes, why) in [
            (0, "not an ELF program"),
            (HEADER_BYTES - 1, "not an ELF program"),
            (HEADER_BYTES, "a broken ELF program"),
            (HEADER_BYTES + 100, "a broken ELF program"),
            (4096, "a broken ELF program"),
            (end / 2, "a broken ELF program"),
            (end - 1, "a broken ELF program"),
        ] {
            let Err(Unfit::Broken(said)) = judge(&this[..bytes]) else { panic!("{bytes}") };
            assert!(said.contains(why), "{bytes}: {said}");
        }
    }

    /// This test program is linked with `libc.so.6`, whose name is as long as that of the library, and names an interpreter.
    #[test]
    fn shared_objects_are_those_that_need_the_library() {
        let mut bytes = this();
        let interpreter = parts(&bytes).iter().position(|part| part.p_type(LittleEndian) == PT_INTERP).unwrap();
        bytes[HEADER_BYTES + interpreter * size_of::<ProgramHeader64<LittleEndian>>()] = 0;
        assert!(matches!(judge(&bytes), Err(Unfit::Broken(why)) if why.contains("not linked with libacp.so")));
        let (name, other) = (b"libc.so.6\0", b"libacp.so\0");
        let places: Vec<_> = (0..bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name)).collect();
        places.into_iter().for_each(|at| bytes[at..at + name.len()].copy_from_slice(other));
        assert_eq!(judge(&bytes), Ok(Kind::Object));
    }

    /// Any wrong byte of the headers results in a one-line error.
    #[test]
    fn broken_files_are_refused() {
        let this = this();
        for at in 16..1024 {
            for value in [0, 0xff] {
                let mut bytes = this[..4096.min(this.len())].to_vec();
                bytes[at] = value;
                let _ = judge(&bytes);
            }
        }
    }
}
