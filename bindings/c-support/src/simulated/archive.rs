//! A program that has the library in it, as an archive, on a simulated machine: the shared library, which the loader maps before all others, simulates it, and
//! each function of the archive jumps to the one of the same name there. What the archive holds besides is not used.
//!
//! Invariant **A13**: `pelago sim` names functions and variables of the executable by their places in its file, from the symbols of that file; a function that is
//! overwritten begins at a multiple of 16, as compilers place them, so that a jump takes no byte of another; it is overwritten before the program runs, in its
//! only thread.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::AtomicUsize;

use super::images::{Image, images, page};

/// The variable by which `pelago sim` names what the executable has: `NAME=ADDRESS` of functions, `NAME@ADDRESS` of variables.
const ARCHIVE: &CStr = c"PELAGO_SIM_ARCHIVE";

/// Bytes of a jump, with the address behind it.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const JUMP_BYTES: usize = JUMP.len() + size_of::<usize>();
const FUNCTION_ALIGNMENT: usize = 16;

/// Whether the executable has the library in it.
pub(super) fn is_there() -> bool {
    // SAFETY: reads the environment, which nobody changes before the program runs.
    unsafe { !libc::getenv(ARCHIVE.as_ptr()).is_null() }
}

/// Names and addresses that are separated by `mark`, in an executable whose addresses begin at `base`.
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

/// Has the functions of the archive in the executable jump to those of this library.
///
/// # Errors
/// The name of a function whose place a jump does not fit.
pub fn redirect(images: &[Image]) -> Result<(), String> {
    let Some(executable) = images.iter().find(|image| image.is_executable).filter(|_| is_there()) else { return Ok(()) };
    let library = this();
    protect(executable, libc::PROT_READ | libc::PROT_WRITE);
    let outcome = entries(executable.base, '=').into_iter().try_for_each(|(name, place)| {
        // SAFETY: looks a name up in a library that stays loaded.
        let function = unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
        let is_code = executable.code.iter().any(|code| code.contains(&place) && code.end - place >= JUMP_BYTES);
        if function == 0 {
            // A function of the program's own, with such a name.
            return Ok(());
        }
        if !is_code || !place.is_multiple_of(FUNCTION_ALIGNMENT) {
            return Err(name.to_string_lossy().into_owned());
        }
        let jump: Vec<u8> = JUMP.into_iter().chain(function.to_le_bytes()).collect();
        // SAFETY: A13; the pages may be written now.
        unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), place as *mut u8, jump.len()) };
        Ok(())
    });
    protect(executable, libc::PROT_READ | libc::PROT_EXEC);
    outcome
}

/// The variable of this name in an executable with an archive, which has a value for each rank.
pub fn variable(name: &CStr) -> Option<&'static AtomicUsize> {
    let images = if is_there() { images() } else { return None };
    let executable = images.iter().find(|image| image.is_executable)?;
    let (_, place) = entries(executable.base, '@').into_iter().find(|(found, _)| found.as_c_str() == name)?;
    let is_word = place.is_multiple_of(align_of::<AtomicUsize>()) && executable.data.iter().any(|data| data.contains(&place));
    // SAFETY: A13: a word of the program's data, which lives as long as the process.
    is_word.then(|| unsafe { &*(place as *const AtomicUsize) })
}

/// This library, as the loader knows it.
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
    // SAFETY: a text of the loader's; the library is loaded already.
    unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) }
}

fn protect(image: &Image, protection: libc::c_int) {
    for code in &image.code {
        let start = code.start & !(page() - 1);
        // SAFETY: A13: pages of the executable's own, none of which runs now.
        unsafe { libc::mprotect(start as *mut c_void, code.end - start, protection) };
    }
}
