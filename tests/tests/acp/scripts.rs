//! `acpcc` and `acprun`: the files that they find, and the arguments that they refuse.

use std::path::PathBuf;
use std::process::{Command, Output};

use pelago_test_support::c::{install, lacks, make_programs};

use crate::build::{LIBRARY_PATH, bindings, libraries};

fn script(name: &str) -> Command {
    let mut command = Command::new(bindings().join("bin").join(name));
    command.env("ACP_LIB", libraries()).env("PELAGO", env!("CARGO_BIN_EXE_pelago-under-test"));
    command.env(LIBRARY_PATH, libraries());
    command
}

fn compiled(script_name: &str, source: &str, name: &str) -> PathBuf {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built =
        script(script_name).arg("-O1").arg(bindings().join("tests/c").join(source)).arg("-o").arg(&output).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    output
}

fn acprun(arguments: &[&str]) -> Output {
    script("acprun").args(arguments).output().unwrap()
}

#[test]
fn programs_are_compiled_and_run_by_the_names_that_users_know() {
    for (compiler, source) in
        [("acpcc", "interface.c"), ("acpgcc", "interface.c"), ("acpc++", "interface.cpp"), ("acpcxx", "interface.cpp")]
    {
        if source.ends_with("cpp") && lacks("c++") {
            continue;
        }
        let program = compiled(compiler, source, &format!("{compiler}-program"));
        let ended = acprun(&["-np", "2", program.to_str().unwrap()]);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Returns the command that a script would run.
fn shown(script_name: &str, arguments: &[&str]) -> String {
    let ended = script(script_name).env("PELAGO", "/bin/echo").args(arguments).output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr)), (Some(0), "".into()), "{arguments:?}");
    String::from_utf8(ended.stdout).unwrap().trim_end().replace('\'', "")
}

#[test]
fn the_options_of_the_original_have_one_meaning_in_every_form_and_order() {
    let nodes = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acprun-nodes");
    std::fs::write(&nodes, "# hosts\na\na\n\nb\n").unwrap();
    let nodes = nodes.to_str().unwrap();
    let three_on_nodes = "/bin/echo run -n 3 --transport udp --hosts a:2,b:1 program x";
    for options in [
        &["-np", "3", "-nodefile", nodes, "-net", "udp"][..],
        &["-net=udp", "-machinefile", nodes, "-n", "3"],
        &["--acp-envnet=udp", &format!("--acp-nodefile={nodes}"), "--acp-nprocs=3"],
        &["--acp-net", "udp", "-acp-nodefile", nodes, "-nprocs", "3"],
    ] {
        assert_eq!(shown("acprun", &[options, &["-showme", "program", "x"]].concat()), three_on_nodes, "{options:?}");
    }
    let starter = "PELAGO_ACP_STARTER_BYTES=4096 /bin/echo run -n 2 program";
    for options in ["-smemsize 4096", "--acp-startermemsize=4096", "-startermemsize 4096 -smemsize-dl 64 -startermemsize-cl=64"] {
        let options: Vec<_> = options.split(' ').chain(["-np", "2", "-showme", "program"]).collect();
        assert_eq!(shown("acprun", &options), starter, "{options:?}");
    }
    let hosts = shown("acprun", &["-host", "a,b:2", "-np", "3", "-smemsize", "64", "-showme", "program", "-np", "9"]);
    let exported = "--hosts a,b:2 --export PELAGO_ACP_STARTER_BYTES";
    assert_eq!(hosts, format!("PELAGO_ACP_STARTER_BYTES=64 /bin/echo run -n 3 {exported} program -np 9"));
    let further = shown("acprun", &["--pelago-label", "-np", "2", "--pelago-time-limit=9", "-showme", "--", "-odd"]);
    assert_eq!(further, "/bin/echo run -n 2 --label --time-limit=9 -odd");
    assert!(shown("acprun", &["-help"]).starts_with("Usage: acprun -np N"));
}

#[test]
fn the_compiler_shows_its_command_and_takes_the_libraries_of_the_original_for_its_own() {
    let folder = libraries().canonicalize().unwrap();
    let (include, folder) = (bindings().join("include").canonicalize().unwrap(), folder.display().to_string());
    let (compile, link) = (format!("-I{}", include.display()), format!("-L{folder} -Wl,-rpath,{folder} -lacp"));
    let program = ["-showme", "a.c", "-o", "a", "-lacpml", "-lacpbl_udp", "-lm"];
    assert_eq!(shown("acpcc", &program), format!("cc {compile} a.c -o a -lm {link}"));
    assert_eq!(shown("acpc++", &["-showme", "-c", "a.cc"]), format!("c++ {compile} -c a.cc"));
    assert_eq!((shown("acpcc", &["-showme:compile"]), shown("acpcc", &["-showme:link"])), (compile, link));
}

/// `make CC=acpcc` tells the script, too, which compiler it has.
#[test]
fn the_compiler_of_the_environment_may_have_options_or_be_the_script_itself() {
    let of = |script_name: &str, variable: &str, value: &str| {
        let ended = script(script_name).env(variable, value).args(["-showme", "-c", "a.c"]).output().unwrap();
        String::from_utf8(ended.stdout).unwrap().split(" -I").next().unwrap().to_owned()
    };
    for own in ["acpcc", "acpgcc", "/opt/acp/bin/acpcc", "acpcc -std=gnu11", "ccache acpcc"] {
        assert_eq!(of("acpcc", "CC", own), "cc", "{own}");
    }
    for own in ["acpc++", "acpg++", "acpcxx -std=gnu++17"] {
        assert_eq!(of("acpc++", "CXX", own), "c++", "{own}");
    }
    for other in ["gcc", "gcc -std=gnu11"] {
        assert_eq!(of("acpcc", "CC", other), other);
    }
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acpcc-with-options.o");
    let source = bindings().join("tests/c/interface.c");
    let built = script("acpcc").env("CC", "cc -std=c11").args(["-c", "-o"]).arg(&output).arg(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

#[test]
fn starter_memory_has_the_size_that_is_asked_for() {
    let program = compiled("acpcc", "bad.c", "acpcc-bad");
    let program = program.to_str().unwrap();
    for network in ["--acp-envnet=udp", "--acp-envnet=shm"] {
        // The program checks that accesses beyond 4096 bytes are refused.
        let ended = acprun(&["--acp-nprocs=2", network, "--acp-startermemsize=4096", program, "calls"]);
        assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(0), &b"good\ngood\n"[..]));
        let ended = acprun(&["--acp-nprocs=2", network, "--acp-startermemsize=8192", program, "calls"]);
        assert_eq!(ended.status.code(), Some(1));
    }
}

/// Installs the results of a build.
fn installed() -> PathBuf {
    install(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acp-install"), env!("CARGO_BIN_EXE_pelago-under-test").as_ref())
}

#[test]
fn makefiles_with_the_link_names_of_the_original_work_on_what_is_installed() {
    if lacks("make") {
        return;
    }
    let prefix = installed();
    let programs = make_programs(&prefix);
    let soname = format!("libacp.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    let dynamic = Command::new("readelf").arg("-d").arg(programs.join("layers")).output().expect("readelf");
    assert!(String::from_utf8_lossy(&dynamic.stdout).contains(&format!("[{soname}]")), "a program asks for the major version");
    for program in ["layers", "layers2", "archive"] {
        for network in ["shm", "udp"] {
            let mut acprun = Command::new(prefix.join("bin/acprun"));
            acprun.env_remove(LIBRARY_PATH).env_remove("PELAGO").args(["-np", "3", "-net", network]);
            let ended = acprun.arg(programs.join(program)).arg("3").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{program}, {network}: {said}");
        }
        let bad = ["--protocol", "--faults", "loss=0.05,duplicate=0.05,delay=0.1:50us"];
        for options in [&[][..], &["--faults", "delay=0.5:50us"], &bad] {
            let mut sim = Command::new(prefix.join("bin/pelago"));
            sim.env_remove(LIBRARY_PATH).args(["sim", "-n", "3", "--machine", "rx200-qdr", "--quiet"]).args(options);
            let ended = sim.arg(programs.join(program)).arg("3").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{program}, simulated, {options:?}: {said}");
        }
    }
    let lib = prefix.join("lib");
    let target = |name: &str| std::fs::read_link(lib.join(name)).unwrap().display().to_string();
    assert_eq!(target("libacp.so"), soname);
    assert_eq!(target(&soname), format!("libacp.so.{}", env!("CARGO_PKG_VERSION")));
    for name in ["libacpml", "libacpcl", "libacpdl", "libacpbl", "libacpbl_udp"] {
        assert_eq!([target(&format!("{name}.so")), target(&format!("{name}.so.2"))], [soname.as_str(), soname.as_str()]);
    }
}

/// Programs that contain the archive are simulated by the shared library: they poll memory without a call, find internal symbols, and read the variable
/// that the library sets.
#[test]
fn programs_with_the_archive_in_them_are_simulated() {
    let prefix = install(
        &PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acp-archive"),
        env!("CARGO_BIN_EXE_pelago-under-test").as_ref(),
    );
    let linked = |source: &str, name: &str, library: &str, options: &[&str]| {
        let output = prefix.join(name);
        let mut command = Command::new("cc");
        command
            .arg("-O1")
            .arg("-I")
            .arg(prefix.join("include"))
            .arg(bindings().join("tests/c").join(source))
            .arg("-o")
            .arg(&output);
        command.arg(prefix.join("lib").join(library)).args(options).args(["-lpthread", "-ldl", "-lm", "-lrt"]);
        let built = command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())).output().expect("cc");
        assert!(built.status.success(), "{source}: {}", String::from_utf8_lossy(&built.stderr));
        output
    };
    let sim = |program: &PathBuf, argument: &str| {
        let mut sim = Command::new(prefix.join("bin/pelago"));
        sim.env_remove(LIBRARY_PATH).args([
            "sim",
            "-n",
            "3",
            "--machine",
            "rx200-qdr",
            "--quiet",
            "--heap",
            "2M",
            "--time-limit",
            "60",
        ]);
        sim.arg(program).arg(argument).output().unwrap()
    };
    for (source, argument) in [("polling.c", "global"), ("channel.c", "3"), ("tables.c", "3")] {
        for options in [&[][..], &["-no-pie"], &["-Wl,-E", "-Wl,-z,now"]] {
            let ended = sim(&linked(source, "archived", "libacp.a", options), argument);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{source}, {options:?}: {said}");
        }
    }
    let [shared, archived] = ["libacp.so", "libacp.a"].map(|library| sim(&linked("samples.c", "sized", library, &[]), "size"));
    assert!(archived.status.success(), "{}", String::from_utf8_lossy(&archived.stderr));
    assert!(String::from_utf8_lossy(&shared.stdout).contains(" bytes\n") && archived.stdout == shared.stdout);
    let whole = sim(&linked("memory.c", "whole", "libacp.a", &["-static"]), "3");
    assert!(whole.status.code() == Some(2) && String::from_utf8_lossy(&whole.stderr).contains("is linked statically as a whole"));
}

/// The size of the library that users install; that of these tests has less optimization.
#[test]
fn the_stripped_library_has_at_most_five_megabytes() {
    const BYTES_MAX: u64 = 5_000_000;
    let release = libraries().join("../../release/libacp.so");
    if !release.exists() {
        return eprintln!("not tested: there is no {}", release.display());
    }
    let stripped = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("libacp-stripped.so");
    let ended = Command::new("strip").arg("--strip-unneeded").arg("-o").arg(&stripped).arg(&release).output().expect("strip");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let bytes = stripped.metadata().unwrap().len();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes; at most {BYTES_MAX}");
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    for (arguments, says) in [
        (&["program"][..], "acprun: say how many processes: -np N"),
        (&["-np"], "acprun: -np needs a value"),
        (&["-np", "2"], "acprun: say which program: acprun -np 2 PROGRAM"),
        (&["-np", "many", "program"], "acprun: the number of processes is a number, not \"many\""),
        (&["-np", "2", "--acp-speed=9", "program"], "acprun: there is no option --acp-speed (acprun -help lists them)"),
        (&["-showme=yes", "program"], "acprun: -showme takes no value"),
        (
            &["-np", "2", "-host", "a", "-nodefile", "b", "program"],
            "acprun: hosts come from a file or from a list, not from both",
        ),
        (&["-np", "2", "--acp-envnet=pigeon", "program"], "acprun: there is no network pigeon: udp, or shm on one host"),
        (&["-np", "2", "--acp-nodefile=/nowhere", "program"], "acprun: cannot read the node file /nowhere"),
    ] {
        let ended = acprun(arguments);
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).trim_end()), (Some(2), says));
    }
}
