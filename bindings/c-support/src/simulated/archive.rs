//! Simulation of a program that contains the library as an archive. The loader maps the shared library before all others; the shared library simulates the
//! program, and each function of the archive is overwritten by a jump to the function of the same name there. The rest of the archive is not used.
//!
//! Invariant **A13**: `pelago sim` passes the addresses of functions and variables of the executable, from the symbols of its file. A function that is
//! overwritten begins at a multiple of 16, as compilers align functions, so that the jump does not overwrite another function. It is overwritten before the
//! program runs, in its only thread.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::AtomicUsize;

use super::images::{Image, images, page};

/// The environment variable by which `pelago sim` passes symbols of the executable: `NAME=ADDRESS` for functions, `NAME@ADDRESS` for variables.
const ARCHIVE: &CStr = c"PELAGO_SIM_ARCHIVE";

/// An indirect jump, and its size with the address that follows it.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const JUMP_BYTES: usize = JUMP.len() + size_of::<usize>();
const FUNCTION_ALIGNMENT: usize = 16;

/// Whether the executable contains the library as an archive.
pub(super) fn is_there() -> bool {
    // SAFETY: reads the environment, which does not change before the program runs.
    unsafe { !libc::getenv(ARCHIVE.as_ptr()).is_null() }
}

/// Returns the pairs of name and address that `mark` separates, for an executable whose addresses begin at `base`.
fn entries(base: usize, mark: char) -> Vec<(CString, usize)> {
    // SAFETY: as above.
    let text = unsafe { libc::getenv(ARCHIVE.as_ptr()) };
    if text.is_null() {
        return Vec::new();
    }
    // SAFETY: a text of the environment.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let parts = text.split(',').filter_map(|part| part.split_once(mark));
    parts
        .filter_map(|(name, at)| Some((CString::new(name).ok()?, base.checked_add(usize::from_str_radix(at, 16).ok()?)?)))
        .collect()
}

/// Overwrites the functions of the archive in the executable by jumps to the functions of this library.
///
/// # Errors
/// The name of a function that a jump cannot overwrite.
pub fn redirect(images: &[Image]) -> Result<(), String> {
    let Some(executable) = images.iter().find(|image| image.is_executable).filter(|_| is_there()) else { return Ok(()) };
    let library = this();
    protect(executable, libc::PROT_READ | libc::PROT_WRITE);
    let outcome = entries(executable.base, '=').into_iter().try_for_each(|(name, place)| {
        // SAFETY: looks up a name in a library that stays loaded.
        let function = unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
        let is_code = executable.code.iter().any(|code| code.contains(&place) && code.end - place >= JUMP_BYTES);
        if function == 0 {
            // This library has no such function: the function belongs to the program.
            return Ok(());
        }
        if !is_code || !place.is_multiple_of(FUNCTION_ALIGNMENT) {
            return Err(name.to_string_lossy().into_owned());
        }
        let jump: Vec<u8> = JUMP.into_iter().chain(function.to_le_bytes()).collect();
        // SAFETY: A13; the pages are writable now.
        unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), place as *mut u8, jump.len()) };
        Ok(())
    });
    protect(executable, libc::PROT_READ | libc::PROT_EXEC);
    outcome
}

/// Returns the variable of this name in an executable with an archive. The variable has a value for each rank.
pub fn variable(name: &CStr) -> Option<&'static AtomicUsize> {
    let images = if is_there() { images() } else { return None };
    let executable = images.iter().find(|image| image.is_executable)?;
    let (_, place) = entries(executable.base, '@').into_iter().find(|(found, _)| found.as_c_str() == name)?;
    let is_word = place.is_multiple_of(align_of::<AtomicUsize>()) && executable.data.iter().any(|data| data.contains(&place));
    // SAFETY: A13: a word of the program's data, which lives as long as the process.
    is_word.then(|| unsafe { &*(place as *const AtomicUsize) })
}

/// Returns the loader's handle of this library.
fn this() -> *mut c_void {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: asks the loader for the object that an address lies in.
    unsafe { libc::dladdr(is_there as *const c_void, &raw mut found) };
    let path: *const c_char = found.dli_fname;
    // SAFETY: a text that the loader owns; the library is already loaded.
    unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
}

fn protect(image: &Image, protection: libc::c_int) {
    for code in &image.code {
        let start = code.start & !(page() - 1);
        // SAFETY: A13: pages of the executable, whose code does not run now.
        unsafe { libc::mprotect(start as *mut c_void, code.end - start, protection) };
    }
}
