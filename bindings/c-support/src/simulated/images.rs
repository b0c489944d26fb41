//! The objects of the program, as the loader has mapped them: data, initializers, and the table entries through which they call other libraries.
//!
//! Invariant **A7**: this module reads memory that the loader has mapped and relocated, of objects that stay loaded, at the addresses that the
//! ELF format and the loader's list of objects give. It reads before the program runs, in its only thread.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

use super::archive;

/// Name prefixes of the libraries of the C interfaces: `libacp.so` with the variants of its name in other implementations, and `libsma.so`.
const LIBRARY_PREFIXES: [&[u8]; 2] = [b"libacp", b"libsma"];

/// Tags of the dynamic section.
const NEEDED: i64 = 1;
const PLT_RELOCATION_BYTES: i64 = 2;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const RELOCATIONS: i64 = 7;
const RELOCATION_BYTES: i64 = 8;
const INIT: i64 = 12;
const FINI: i64 = 13;
const PLT_RELOCATIONS: i64 = 23;
const INIT_ARRAY: i64 = 25;
const FINI_ARRAY: i64 = 26;
const INIT_ARRAY_BYTES: i64 = 27;
const FINI_ARRAY_BYTES: i64 = 28;
const PREINIT_ARRAY: i64 = 32;
const PREINIT_ARRAY_BYTES: i64 = 33;

/// Kinds of relocations that hold the address of a function of another object: absolute, for data, and for calls.
#[cfg(target_arch = "x86_64")]
const ADDRESSES: [u64; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESSES: [u64; 3] = [257, 1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ADDRESSES: [u64; 3] = [u64::MAX; 3];

/// An object that is part of the program: one that is linked with this library, or an executable that contains it.
pub struct Image {
    /// Load address: added to the addresses in its file.
    pub(crate) base: usize,
    /// Writable data, as whole pages.
    pub data: Vec<Range<usize>>,
    /// Its instructions.
    pub(crate) code: Vec<Range<usize>>,
    /// The thread-local variables of the calling thread.
    pub(crate) thread_data: Range<usize>,
    /// Pages that the loader has made read-only after relocation.
    sealed: Range<usize>,
    dynamic: Vec<(i64, u64)>,
    /// Whether the object is the executable, and not a library.
    pub is_executable: bool,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Returns the objects that are part of the program.
pub fn images() -> Vec<Image> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: A7; `found` is the vector that `images` passes and does not use during the call.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Image>>()) };
        // SAFETY: A7. The program itself has an empty name in the loader's list. Its ELF type does not identify it: the C library is executable, too.
        let is_program = unsafe { *info.dlpi_name } == 0;
        // SAFETY: A7.
        let image = unsafe { Image::new(info) };
        found.extend(image.filter(|image| image.is_part_of_program() || is_program && archive::is_there()));
        0
    }
    let mut found: Vec<Image> = Vec::new();
    // SAFETY: calls `look` only before it returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

impl Image {
    /// # Safety
    /// A7.
    unsafe fn new(info: &libc::dl_phdr_info) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        // SAFETY: A7.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let find = |kind| headers.iter().find(|header| header.p_type == kind);
        let range = |header: &libc::Elf64_Phdr| base + header.p_vaddr as usize..base + (header.p_vaddr + header.p_memsz) as usize;
        let page = page();
        let sealed = find(libc::PT_GNU_RELRO).map_or(0..0, &range);
        let sealed = sealed.start & !(page - 1)..sealed.end & !(page - 1);
        let writable = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0);
        let data = writable.map(|header| {
            let Range { start, end } = range(header);
            let start = if sealed.contains(&start) { sealed.end } else { start & !(page - 1) };
            start..end.next_multiple_of(page)
        });
        let data = data.filter(|data| !data.is_empty()).collect();
        let executable = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
        let code = executable.map(&range).collect();
        let thread_data = find(libc::PT_TLS).filter(|_| !info.dlpi_tls_data.is_null());
        let thread_data = thread_data.map_or(0..0, |header| {
            let start = info.dlpi_tls_data as usize;
            start..start + header.p_memsz as usize
        });
        let mut next = range(find(libc::PT_DYNAMIC)?).start as *const (i64, u64);
        let mut dynamic = Vec::new();
        // SAFETY: A7: a list that ends with a tag of 0.
        while let entry @ (1.., _) = unsafe { next.read() } {
            dynamic.push(entry);
            // SAFETY: as above.
            next = unsafe { next.add(1) };
        }
        Some(Self { base, data, code, thread_data, sealed, dynamic, is_executable: find(libc::PT_INTERP).is_some() })
    }

    fn is_part_of_program(&self) -> bool {
        let names = self.dynamic.iter().filter(|(tag, _)| *tag == NEEDED);
        names.into_iter().any(|&(_, name)| {
            let name = self.text(name as usize).to_bytes();
            LIBRARY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
    }

    /// Redirects the object's calls of the named functions to the given replacements.
    pub(crate) fn substitute(&self, functions: &[(&CStr, usize)]) {
        self.protect_sealed(libc::PROT_READ | libc::PROT_WRITE);
        for (table, bytes) in [(RELOCATIONS, RELOCATION_BYTES), (PLT_RELOCATIONS, PLT_RELOCATION_BYTES)] {
            let (Some(table), Some(bytes)) = (self.address(table), self.value(bytes)) else { continue };
            let count = bytes as usize / size_of::<Relocation>();
            // SAFETY: A7.
            for relocation in unsafe { std::slice::from_raw_parts(table as *const Relocation, count) } {
                self.substitute_one(relocation, functions);
            }
        }
        self.protect_sealed(libc::PROT_READ);
    }

    fn substitute_one(&self, relocation: &Relocation, functions: &[(&CStr, usize)]) {
        let (kind, symbol) = (relocation.info & 0xffff_ffff, (relocation.info >> 32) as usize);
        let Some(symbols) = self.address(SYMBOLS).filter(|_| symbol != 0 && ADDRESSES.contains(&kind)) else { return };
        // SAFETY: A7.
        let symbol = unsafe { &*(symbols as *const libc::Elf64_Sym).add(symbol) };
        // A function that the object defines itself is not replaced.
        if symbol.st_shndx != 0 {
            return;
        }
        let name = self.text(symbol.st_name as usize);
        if let Some((_, function)) = functions.iter().find(|(wanted, _)| *wanted == name) {
            let place = (self.base + relocation.offset as usize) as *mut usize;
            // SAFETY: A7: a word that the loader has relocated, on a page that is writable now.
            unsafe { place.write(function.wrapping_add_signed(relocation.addend as isize)) };
        }
    }

    fn protect_sealed(&self, protection: c_int) {
        if !self.sealed.is_empty() {
            // SAFETY: A7: pages of the object, whose contents do not change.
            unsafe { libc::mprotect(self.sealed.start as *mut c_void, self.sealed.len(), protection) };
        }
    }

    /// Returns the functions to call before the program's `main`, in order. The loader has already called those of libraries.
    pub(crate) fn initializers(&self) -> Vec<usize> {
        if !self.is_executable {
            return Vec::new();
        }
        let mut found = self.array(PREINIT_ARRAY, PREINIT_ARRAY_BYTES);
        found.extend(self.value(INIT).map(|at| self.base + at as usize));
        found.extend(self.array(INIT_ARRAY, INIT_ARRAY_BYTES));
        found
    }

    /// Returns the functions to call after the program's `main`, in order.
    pub(crate) fn finalizers(&self) -> Vec<usize> {
        if !self.is_executable {
            return Vec::new();
        }
        let mut found = self.array(FINI_ARRAY, FINI_ARRAY_BYTES);
        found.reverse();
        found.extend(self.value(FINI).map(|at| self.base + at as usize));
        found
    }

    /// Returns the addresses of functions in an array of the dynamic section.
    fn array(&self, start: i64, bytes: i64) -> Vec<usize> {
        let (Some(start), Some(bytes)) = (self.value(start), self.value(bytes)) else { return Vec::new() };
        let count = bytes as usize / size_of::<usize>();
        // SAFETY: A7.
        let functions = unsafe { std::slice::from_raw_parts((self.base + start as usize) as *const usize, count) };
        functions.iter().copied().filter(|function| !matches!(*function, 0 | usize::MAX)).collect()
    }

    fn value(&self, tag: i64) -> Option<u64> {
        self.dynamic.iter().find(|(found, _)| *found == tag).map(|&(_, value)| value)
    }

    /// Returns an address of the dynamic section, which the loader may have relocated in place.
    fn address(&self, tag: i64) -> Option<usize> {
        let value = self.value(tag)? as usize;
        Some(if value < self.base { self.base + value } else { value })
    }

    fn text(&self, offset: usize) -> &CStr {
        // SAFETY: A7: a text in the object's string table.
        self.address(STRINGS).map_or(c"", |strings| unsafe { CStr::from_ptr((strings + offset) as *const c_char) })
    }
}

/// Bytes of a page.
pub(super) fn page() -> usize {
    // SAFETY: queries a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
