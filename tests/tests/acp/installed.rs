//! The files that `bindings/acp/install` installs suffice to compile, link and run a program without the source tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{LIBRARY_PATH, bindings, libraries};

/// Returns a command that finds only installed files.
fn alone(program: impl AsRef<Path>, prefix: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(prefix).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    for name in ["ACP_LIB", "PELAGO", "CARGO_TARGET_DIR", LIBRARY_PATH] {
        command.env_remove(name);
    }
    command
}

/// Returns the standard output of a command, which must succeed.
fn output(command: &mut Command) -> String {
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// Installs the libraries of these tests like a release.
fn install() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acp-installed");
    let (built, prefix) = (folder.join("built"), folder.join("prefix"));
    let _from_an_earlier_run = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&built).unwrap();
    for name in ["libacp.so", "libacp.a"] {
        std::fs::copy(libraries().join(name), built.join(name)).unwrap();
    }
    std::fs::copy(env!("CARGO_BIN_EXE_pelago-under-test"), built.join("pelago")).unwrap();
    output(Command::new("sh").arg(bindings().join("install")).args([&prefix, &built]));
    std::fs::remove_dir_all(built).unwrap();
    prefix
}

#[test]
fn a_program_is_compiled_linked_and_run_from_where_it_was_installed() {
    let prefix = install();
    let source = bindings().join("tests/c/interface.c").canonicalize().unwrap();
    let (acprun, acpcc) = (prefix.join("bin/acprun"), prefix.join("bin/acpcc"));
    let flags = output(alone("pkg-config", &prefix).args(["--cflags", "--libs", "acp"]));
    let (include, libraries) = (format!("-I{}/include", prefix.display()), format!("-L{}/lib", prefix.display()));
    let rpath = format!("-Wl,-rpath,{}/lib", prefix.display());
    let original = [&*include, &*libraries, &*rpath, "-lacpml", "-lacpbl_udp"];
    let ways: [(&str, PathBuf, Vec<&str>); 3] = [
        ("with-pkg-config", "cc".into(), flags.split_whitespace().collect()),
        ("with-the-original-names", "cc".into(), original.to_vec()),
        ("with-acpcc", acpcc, Vec::new()),
    ];
    for (name, compiler, flags) in ways {
        output(alone(&compiler, &prefix).arg(&source).args(["-O1", "-o", name]).args(flags));
        let program = prefix.join(name);
        output(alone(&acprun, &prefix).args(["-np", "2"]).arg(&program));
        assert!(!output(alone("ldd", &prefix).arg(&program)).contains("not found"), "{name}");
    }
}
