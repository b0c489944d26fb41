//! Gives the shared library a name with the major version, by which programs that were linked with it find a compatible one, and the folders
//! where it is built a link of that name.

use std::os::unix::fs::symlink;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let name = format!("libacp.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    // The folder of the profile, with `build/pelago-acp-…/out` below it.
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let Some(profile) = Path::new(&out).ancestors().nth(3) else { return };
    for folder in [profile.to_path_buf(), profile.join("deps")] {
        // Programs that run from the source tree; who builds elsewhere installs.
        if folder.is_dir() && folder.join(&name).symlink_metadata().is_err() {
            let _ = symlink("libacp.so", folder.join(&name));
        }
    }
}
