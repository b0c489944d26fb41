//! The examples verify their results. The installed files suffice to build and run them.

use std::path::{Path, PathBuf};
use std::process::Command;

use pelago_test_support::c::lacks;

use crate::build::{TRANSPORTS, bindings, compiler, folder, libraries, link, run};

const EXAMPLES: [(&str, &str); 5] = [
    ("gups", "GUPS, 0 errors"),
    ("sort", "keys, sorted"),
    ("tree", "nodes, complete"),
    ("heat", "steps, error 0"),
    ("matrix", ", 0 wrong rows"),
];

#[test]
fn examples_verify_their_results() {
    for (name, result) in EXAMPLES {
        let mut command = compiler("cc", "-std=c11");
        command.arg("-D_POSIX_C_SOURCE=200809L");
        let built = link(command, &bindings().join("examples").join(format!("{name}.c")), &folder().join(name));
        for transport in TRANSPORTS {
            for ranks in [1, 4] {
                let ended = run(ranks, transport, &built, &[]);
                let (out, said) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
                assert!(ended.status.success() && out.contains(result), "{name}, {ranks} PEs, {transport}: {out}{said}");
            }
        }
    }
}

/// Installs the results of a build to a folder of this name, twice, to check that an installation can be overwritten. Returns the path.
pub(crate) fn install(name: &str) -> PathBuf {
    let folder = folder().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let built = folder.join("built");
    std::fs::create_dir_all(&built).expect("a folder");
    let pelago = Path::new(env!("CARGO_BIN_EXE_pelago-under-test"));
    for (from, name) in
        [(libraries().join("libsma.so"), "libsma.so"), (libraries().join("libsma.a"), "libsma.a"), (pelago.into(), "pelago")]
    {
        std::os::unix::fs::symlink(from, built.join(name)).expect("a link");
    }
    for _ in 0..2 {
        let ended = Command::new(bindings().join("install")).arg(folder.join("shmem")).arg(&built).output().expect("install");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    folder.join("shmem")
}

#[test]
fn what_is_installed_compiles_and_runs_programs() {
    let prefix = install("installed");
    let tool = |name: &str| {
        let mut command = Command::new(prefix.join("bin").join(name));
        command.env_remove("LD_LIBRARY_PATH").env_remove("PELAGO").env_remove("SHMEM_LIB");
        command
    };
    let program = prefix.join("program");
    let source = bindings().join("tests/c/collectives.c");
    let built = tool("oshcc").arg("-O1").arg(&source).arg("-lsma").arg("-o").arg(&program).output().expect("oshcc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ended = tool("oshrun").args(["-np", "2", "--transport=udp"]).arg(&program).output().expect("oshrun");
    assert!(ended.status.success() && ended.stdout == b"good\ngood\n", "{}", String::from_utf8_lossy(&ended.stderr));
    // C++, and the output of the flags only.
    if !lacks("c++") {
        let built = tool("oshc++").args(["-x", "c++"]).arg(bindings().join("tests/c/locks.c")).arg("-o").arg(&program).output();
        let built = built.expect("oshc++");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ended = tool("oshrun").args(["-n", "3"]).arg(&program).output().expect("oshrun");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    for (option, flag) in [("-showme:compile", "-I"), ("-showme:link", "-lsma"), ("-showme", "program.c")] {
        let shown = tool("oshcc").args([option, "program.c"]).output().expect("oshcc");
        assert!(shown.status.success() && String::from_utf8_lossy(&shown.stdout).contains(flag), "{option}");
    }
    let shown = tool("oshrun").args(["-np", "5", "-showme", "a b"]).output().expect("oshrun");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.ends_with("'run' '-n' '5' 'a b'\n"), "{shown}");
    for (arguments, why) in [(&["-np", "x", "a"][..], "number of PEs"), (&["-np", "2"], "say which program")] {
        let refused = tool("oshrun").args(arguments).output().expect("oshrun");
        assert!(refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains(why), "{arguments:?}");
    }
    let flags = Command::new("pkg-config")
        .args(["--libs", "--cflags", "sma"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output();
    if let Ok(flags) = flags {
        let text = String::from_utf8_lossy(&flags.stdout).into_owned();
        assert!(flags.status.success() && text.contains("-lsma") && text.contains("/include"), "{text}");
    }
    assert!(prefix.join("lib/cmake/OpenSHMEM/OpenSHMEMConfig.cmake").exists() && prefix.join("share/man/man1/oshcc.1").exists());
}
