//! External libraries that are opened at run time: a program starts without them, and reports which one is missing when it needs one.
//!
//! Absent on purpose: the functions of any library. Each user declares those that it calls, with the invariants of that library.
//!
//! D1: names end with a zero byte and live until the call returns.
//! D2: a library is never closed, because many have threads of their own; its functions stay valid until the process ends.
//! D3: the caller of [`DynamicLibrary::function`] names the type that the symbol has.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};
use std::mem::{size_of, transmute_copy};
use std::ptr::NonNull;

/// A library that stays open until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct DynamicLibrary(NonNull<c_void>);

// SAFETY: D2: the handle is only read, by functions that any thread may call.
unsafe impl Send for DynamicLibrary {}
// SAFETY: as above.
unsafe impl Sync for DynamicLibrary {}

/// Whether libraries that are opened later find the symbols of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Only through the returned handle.
    Local,
    /// By all libraries, such as the plug-ins that the library opens itself.
    Global,
}

impl DynamicLibrary {
    /// Opens the library of this name, by the rules of the system's dynamic linker.
    ///
    /// # Errors
    /// The reason that the dynamic linker gives.
    pub fn open(name: &str, visibility: Visibility) -> Result<Self, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let flags = libc::RTLD_NOW | if visibility == Visibility::Global { libc::RTLD_GLOBAL } else { libc::RTLD_LOCAL };
        // SAFETY: D1. The initialization of the library is as safe as that of a library to which the program is linked.
        let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
        NonNull::new(handle).map(Self).ok_or_else(reason)
    }

    /// Returns a function of the library by its name, and by the version of the symbol if one is given.
    ///
    /// # Errors
    /// The library has no such function.
    ///
    /// # Safety
    /// `F` is a type of functions, and the symbol is a function of this type (D3).
    pub unsafe fn function<F: Copy>(&self, name: &CStr, version: Option<&CStr>) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function is a pointer") }
        let handle = self.0.as_ptr();
        let symbol = match version {
            // SAFETY: D1, D2.
            #[cfg(target_env = "gnu")]
            Some(version) => unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) },
            // The newest version may have another type (D3).
            #[cfg(not(target_env = "gnu"))]
            Some(_) => return Err(format!("{}: only the GNU C library finds versions of a symbol", name.to_string_lossy())),
            // SAFETY: D1, D2.
            None => unsafe { libc::dlsym(handle, name.as_ptr()) },
        };
        if symbol.is_null() {
            return Err(reason());
        }
        // SAFETY: D3; of equal size, as just asserted.
        Ok(unsafe { transmute_copy(&symbol) })
    }
}

/// Returns the reason for the failure of this thread's last call.
fn reason() -> String {
    // SAFETY: called after a failure, so that the text, if any, is that of this thread and lives until its next call.
    let text = unsafe { libc::dlerror() };
    // SAFETY: as above.
    if text.is_null() { "it cannot be opened".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_int;

    #[test]
    fn a_function_of_an_open_library_is_called() {
        let library = DynamicLibrary::open("libc.so.6", Visibility::Local).unwrap();
        // SAFETY: its type by the C standard.
        let absolute: unsafe extern "C" fn(c_int) -> c_int = unsafe { library.function(c"abs", None) }.unwrap();
        // SAFETY: defined for all but the least number.
        assert_eq!(unsafe { absolute(-7) }, 7);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = DynamicLibrary::open("libpelago-none.so.0", Visibility::Local).unwrap_err();
        assert!(error.contains("libpelago-none.so.0"), "{error}");
        let library = DynamicLibrary::open("libc.so.6", Visibility::Global).unwrap();
        for version in [None, Some(c"GLIBC_2.2.5")] {
            // SAFETY: there is none.
            let missing = unsafe { library.function::<unsafe extern "C" fn()>(c"pelago_none", version) };
            assert!(missing.unwrap_err().contains("pelago_none"));
        }
    }
}
