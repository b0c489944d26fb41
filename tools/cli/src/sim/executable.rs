//! Whether a file is a program whose ranks can be simulated, before the system starts it: what a user gets wrong is said in one line.

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

/// The variable by which a program with `libacp.a` in it learns where it has the functions and variables of the library: `NAME=ADDRESS` of functions and
/// `NAME@ADDRESS` of variables, separated by commas, with addresses in base 16 as in the file.
pub(crate) const ARCHIVE_VARIABLE: &str = "PELAGO_SIM_ARCHIVE";

/// What `bindings/acp/install` names a local symbol that it adds to each part of the archive.
const WEAKENED: &str = "iacp_weakened";

/// What can be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the system can start.
    Program,
    /// A program with `libacp.a` in it, and the value of `ARCHIVE_VARIABLE`: the shared library simulates it, whose functions are called instead.
    Archive(String),
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
struct Elf<'a> {
    is_object: bool,
    /// Whether it names the library of the C interface as one that it needs.
    needs_acp: bool,
    /// Whether the system has a loader map it, which maps libraries, too.
    has_loader: bool,
    /// What it has of `libacp.a`, if it says so: the value of `ARCHIVE_VARIABLE`.
    archive: Option<String>,
    /// What of the file the system maps.
    loaded: Vec<&'a [u8]>,
}

/// The core of this machine.
const MACHINE: Machine = if cfg!(target_arch = "x86_64") {
    EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    EM_AARCH64
} else {
    EM_NONE
};

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
        Elf { archive: Some(_), has_loader: false, .. } => {
            Err(Unfit::Broken("is linked statically as a whole: a simulation needs libacp.so or libacp.a in a dynamic program"))
        }
        Elf { archive: Some(_), .. } if MACHINE != EM_X86_64 => {
            Err(Unfit::Broken("has libacp.a in it, which is simulated on x86-64 alone; acpcc links the shared library"))
        }
        Elf { archive: Some(archive), .. } => Ok(Kind::Archive(archive)),
        // A library of this project in the file itself asks for the simulation by this name.
        Elf { ref loaded, .. } if loaded.iter().any(|part| names_variable(part)) => Ok(Kind::Program),
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

impl<'a> Elf<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Unfit> {
        let header = FileHeader64::<LittleEndian>::parse(bytes).and_then(|header| header.endian().map(|_| header));
        let header = header.map_err(|_| Unfit::Broken("is not an ELF program of 64 bits"))?;
        if header.e_machine(LittleEndian) != MACHINE {
            return Err(Unfit::Broken("is a program for another kind of core"));
        }
        Self::of(header, bytes).ok_or(Unfit::Broken("is a broken ELF program"))
    }

    /// `None` if the file is broken.
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

/// What a file has of `libacp.a`; `None` if that is nothing, or if it has no symbols to tell.
fn archive(header: &FileHeader64<LittleEndian>, bytes: &[u8]) -> Option<String> {
    let symbols = header.sections(LittleEndian, bytes).ok()?.symbols(LittleEndian, bytes, SHT_SYMTAB).ok()?;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(LittleEndian));
    let named =
        defined.filter_map(|symbol| Some((std::str::from_utf8(symbols.symbol_name(LittleEndian, symbol).ok()?).ok()?, symbol)));
    let of_library: Vec<_> = named.filter(|(name, _)| name.starts_with("acp_") || name.starts_with("iacp_")).collect();
    of_library.iter().any(|(name, _)| *name == "acp_init").then_some(())?;
    // What is installed has internal symbols that give way to those of the program, which stay as they are.
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

/// Whether a dynamic section names the library of a C interface; `None` if it is broken.
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

    /// This test is linked with Pelago, as it names the variable.
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

    /// Wherever what is loaded is cut.
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

    /// This test is linked with `libc.so.6`, a name as long as that of the library, and a program because it names an interpreter.
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

    /// Whatever bytes of the headers are wrong, the answer is one line.
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
