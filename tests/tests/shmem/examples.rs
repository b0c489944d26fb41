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

/// The first program on the page of the book.
#[test]
fn the_program_of_the_book_counts_the_pes() {
    let page = std::fs::read_to_string(bindings().join("../../docs/book/src/openshmem.md")).expect("the page");
    let program = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program in C");
    let source = folder().join("book.c");
    std::fs::write(&source, program).expect("a file");
    let built = link(compiler("cc", "-std=c11"), &source, &folder().join("book"));
    for transport in TRANSPORTS {
        let ended = run(4, transport, &built, &[]);
        assert!(ended.status.success() && ended.stdout == b"4 PEs\n", "{transport}: {ended:?}");
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
    // The folder of the commands in the Debian package.
    let folder = prefix.join("lib/pelago/bin");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(prefix.join("bin/oshcc"), folder.join("oshcc")).unwrap();
    let built = tool("../lib/pelago/bin/oshcc").arg(&source).arg("-o").arg(&program).output().expect("oshcc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for (option, flag) in [("-showme:compile", "-I"), ("-showme:link", "-lsma"), ("-showme", "program.c")] {
        let shown = tool("oshcc").args([option, "program.c"]).output().expect("oshcc");
        assert!(shown.status.success() && String::from_utf8_lossy(&shown.stdout).contains(flag), "{option}");
    }
    // `make CC=oshcc` tells the script, too, which compiler it has.
    for (named, runs) in
        [("oshcc", "cc -I"), ("oshcc -std=gnu11", "cc -I"), ("ccache oshcc", "cc -I"), ("gcc -std=c11", "gcc -std=c11 -I")]
    {
        let shown = tool("oshcc").env("CC", named).args(["-showme", "program.c"]).output().expect("oshcc");
        assert!(String::from_utf8_lossy(&shown.stdout).starts_with(runs), "{named}");
    }
    let built = tool("oshcc").env("CC", "cc -std=c11").arg("-c").arg(&source).arg("-o").arg(prefix.join("program.o")).output();
    let built = built.expect("oshcc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
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
    assert!(prefix.join("share/man/man1/oshcc.1").exists());
}

/// Programs that run have the library and the command open.
#[test]
fn an_installation_replaces_files_and_overwrites_none() {
    let prefix = install("replaced");
    let version = env!("CARGO_PKG_VERSION");
    for name in [&*format!("lib/libsma.so.{version}"), "bin/pelago", "bin/oshrun"] {
        let (file, kept) = (prefix.join(name), prefix.join("kept"));
        std::fs::hard_link(&file, &kept).unwrap();
        let ended = Command::new(bindings().join("install")).arg(&prefix).arg(prefix.join("../built")).output().expect("install");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let inode = |file: &Path| std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
        assert_ne!(inode(&file), inode(&kept), "{name}");
        std::fs::remove_file(kept).unwrap();
    }
}

/// The package of `CMake` is found below a link as well (`/lib` is one to `/usr/lib`), and by the version of the standard.
#[test]
fn cmake_finds_what_is_installed() {
    if lacks("cmake") {
        return;
    }
    let prefix = install("found");
    let project = prefix.join("project");
    let linked = prefix.join("linked");
    std::fs::create_dir_all(&linked).unwrap();
    std::os::unix::fs::symlink("../lib", linked.join("lib")).unwrap();
    std::fs::create_dir_all(&project).unwrap();
    std::fs::copy(bindings().join("examples/heat.c"), project.join("heat.c")).unwrap();
    let configures = |prefix: &Path, version: &str| {
        let text = format!(
            "cmake_minimum_required(VERSION 3.16)\nproject(heat C)\nfind_package(OpenSHMEM {version} CONFIG REQUIRED)\n\
             add_executable(heat heat.c)\ntarget_link_libraries(heat OpenSHMEM::sma m)\n"
        );
        std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
        let _ = std::fs::remove_dir_all(project.join("build"));
        let mut cmake = Command::new("cmake");
        cmake.current_dir(&project).args(["-S", ".", "-B", "build"]).arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        cmake.output().expect("cmake").status.success()
    };
    for (version, is_there) in [("", true), ("1.5", true), ("1.6 EXACT", true), ("1.7", false), ("2", false)] {
        assert_eq!(configures(&prefix, version), is_there, "version {version}");
    }
    assert!(configures(&linked, "1.6"));
    let built = Command::new("cmake").current_dir(&project).args(["--build", "build"]).output().expect("cmake");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
