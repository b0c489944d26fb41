//! Gives the shared library an soname with the major version, so that linked programs find a compatible version, and creates a link of that name
//! in the build folders. Binds the library's calls of its own functions, so that `pshmem_x` jumps to the library's `shmem_x` also where a program defines
//! another `shmem_x`. Excludes the unused ciphers of the C code that authenticates datagrams.

use std::os::unix::fs::symlink;
use std::path::Path;

/// Ciphers of that C code other than AEGIS-128L and 128X4, which datagrams use. They take half a megabyte: `aegis_init` selects an implementation of each
/// cipher, so that the linker would include them all.
const UNUSED_CIPHERS: [&str; 4] = ["aegis128x2", "aegis256", "aegis256x2", "aegis256x4"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let name = format!("libsma.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // Only with optimization: otherwise, wrappers of all ciphers are linked, too. Selecting the implementation of 128L again instead has no effect.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for cipher in UNUSED_CIPHERS {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,--defsym={cipher}_pick_best_implementation=aegis128l_pick_best_implementation"
            );
        }
    }
    // The folder of the profile, which contains `build/pelago-shmem-…/out`.
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    for folder in [profile.to_path_buf(), profile.join("deps")] {
        // The link is for programs that run from the source tree; other programs use an installed library.
        if folder.is_dir() && folder.join(&name).symlink_metadata().is_err() {
            let _ = symlink("libsma.so", folder.join(&name));
        }
    }
}
