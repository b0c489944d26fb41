//! A driver without a device, for tests: compiled from `mock/driver.c` by the C compiler of the machine.
//!
//! K1: the two functions of the mock have the types of `mock/driver.c`.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use pelago_dynamic::{DynamicLibrary, Visibility};

const SOURCE: &str =
    concat!("#define WATER static\n", include_str!("../kernels/water.h"), "#line 1\n", include_str!("../mock/driver.c"));

/// A mock driver's library, and its settings. Libraries of different names are separate drivers.
pub struct MockDriver {
    path: PathBuf,
    library: DynamicLibrary,
}

impl MockDriver {
    /// Compiles the driver to `lib<name>.so` in a folder, which is created; `defines` are macros of `mock/driver.c`.
    ///
    /// # Panics
    /// There is no C compiler, or it fails: the desired behaviour in tests.
    pub fn build(folder: &Path, name: &str, defines: &[&str]) -> PathBuf {
        std::fs::create_dir_all(folder).expect("a folder");
        // A process that runs this at the same moment writes its own files.
        let unique = |suffix: &str| folder.join(format!("{name}-{}{suffix}", std::process::id()));
        let (source, output) = (unique(".c"), unique(".so"));
        std::fs::write(&source, SOURCE).expect("a file");
        let mut command = Command::new("cc");
        command.args(["-std=gnu11", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]);
        command.args(defines.iter().map(|define| format!("-D{define}")));
        let built = command.arg(&source).arg("-o").arg(&output).arg("-ldl").output().expect("a C compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let path = folder.join(format!("lib{name}.so"));
        std::fs::rename(&output, &path).expect("a file");
        std::fs::remove_file(&source).expect("it was just written");
        path
    }

    /// Opens the driver at a path.
    ///
    /// # Panics
    /// There is none.
    pub fn at(path: &Path) -> Self {
        let name = path.to_str().expect("a path of letters");
        Self { path: path.into(), library: DynamicLibrary::open(name, Visibility::Local).expect("a library") }
    }

    /// Compiles and opens a driver without further macros.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self::at(&Self::build(folder, name, &[]))
    }

    /// Returns the name of the driver for [`Driver::open`](crate::Driver::open).
    pub fn name(&self) -> &str {
        self.path.to_str().expect("a path of letters")
    }

    /// Changes a setting, by the words of `mock/driver.c`.
    pub fn set(&self, word: &str, value: u64) {
        self.call(word, &value.to_string());
    }

    /// Changes a setting to a text.
    pub fn set_text(&self, word: &str, value: &str) {
        self.call(word, value);
    }

    /// Returns a count: `executed`, `kernels`, `opened`, `closed`, `in-flight-max`, `allocated`, `host-waits` for streams or events, `dma-bufs`, or
    /// existing `memories`.
    pub fn count(&self, what: &str) -> u64 {
        let what = CString::new(what).expect("letters");
        // SAFETY: K1.
        unsafe {
            let count: unsafe extern "C" fn(*const c_char) -> u64 =
                self.library.function(c"pelago_mock_count", None).expect("a mock driver");
            count(what.as_ptr())
        }
    }

    fn call(&self, word: &str, value: &str) {
        let [word, value] = [word, value].map(|text| CString::new(text).expect("letters"));
        let value = if value.is_empty() { ptr::null() } else { value.as_ptr() };
        // SAFETY: K1.
        unsafe {
            let set: unsafe extern "C" fn(*const c_char, *const c_char) =
                self.library.function(c"pelago_mock_set", None).expect("a mock driver");
            set(word.as_ptr(), value);
        }
    }
}
