//! Gives the shared library a name with the major version, by which programs that were linked with it find a compatible one, and the folders
//! where it is built a link of that name; and leaves out of it what it never calls of the C code that authenticates datagrams.

use std::os::unix::fs::symlink;
use std::path::Path;

/// Ciphers of that C code beside AEGIS-128L and 128X4, which datagrams use: half a megabyte. Its `aegis_init` chooses an implementation of each, and so would
/// have the linker take them all.
const UNUSED_CIPHERS: [&str; 4] = ["aegis128x2", "aegis256", "aegis256x2", "aegis256x4"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let name = format!("libsma.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    // Where nothing is optimized, wrappers of all ciphers are linked, too. To choose for 128L again instead does nothing.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for cipher in UNUSED_CIPHERS {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,--defsym={cipher}_pick_best_implementation=aegis128l_pick_best_implementation"
            );
        }
    }
    // The folder of the profile, with `build/pelago-shmem-…/out` below it.
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    for folder in [profile.to_path_buf(), profile.join("deps")] {
        // Programs that run from the source tree; who builds elsewhere installs.
        if folder.is_dir() && folder.join(&name).symlink_metadata().is_err() {
            let _ = symlink("libsma.so", folder.join(&name));
        }
    }
}
