//! The header and the library agree: every function with its type, in C and in C++, and nothing else.

use std::collections::BTreeSet;
use std::process::Command;

use pelago_test_support::c::lacks;

use crate::build::{bindings, libraries, program, run};

/// Functions that the original library exports without a declaration, and that programs declare themselves.
const UNDECLARED: [&str; 5] = ["acp_send_ch", "acp_recv_ch", "acp_free_ws", "acp_clear_local_set", "acp_clear_local_multiset"];

/// Internal symbols that the samples of the original library call or define themselves.
const INTERNAL: [&str; 10] = [
    "iacp_init_dl",
    "iacp_init_cl",
    "iacp_finalize_dl",
    "iacp_finalize_cl",
    "iacp_abort_dl",
    "iacp_abort_cl",
    "iacp_query_starter_ga_dl",
    "iacp_query_starter_ga_cl",
    "iacp_starter_memory_size_dl",
    "iacp_starter_memory_size_cl",
];

/// The function by which the command starts the simulation of a shared object.
const OF_COMMAND: &str = "iacp_simulate_main";

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(bindings().join("include/acp.h")).unwrap();
    let declarations = header.lines().filter(|line| line.ends_with(");") && !line.starts_with('#'));
    let name = |line: &str| {
        let before = line.split('(').next().unwrap();
        before.rsplit([' ', '*']).next().unwrap().to_owned()
    };
    let found: BTreeSet<_> = declarations.map(name).filter(|name| name.starts_with("acp_")).collect();
    assert_eq!(found.len(), 206, "the interface has so many functions: {found:?}");
    found
}

#[test]
fn the_library_exports_what_the_header_declares_and_what_samples_use() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libacp.so")).output().expect("nm");
    let symbols = String::from_utf8(output.stdout).unwrap();
    let exported = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    let known = declared().into_iter().chain(UNDECLARED.map(str::to_owned));
    let known = known.chain(INTERNAL.map(str::to_owned)).chain([OF_COMMAND.to_owned()]);
    assert_eq!(exported.map(str::to_owned).collect::<BTreeSet<_>>(), known.collect());
}

#[test]
fn every_function_has_its_type_in_c_and_in_cpp() {
    let table = std::fs::read_to_string(bindings().join("tests/c/interface.h")).unwrap();
    let listed = table.lines().filter_map(|line| Some(line.strip_prefix("FUNCTION(")?.split(',').next()?.to_owned()));
    assert_eq!(listed.collect::<BTreeSet<_>>(), declared(), "tests/c/interface.h has every function of acp.h");
    for source in ["interface.c", "interface.cpp"] {
        if source.ends_with("cpp") && lacks("c++") {
            continue;
        }
        let built = program(source, &source.replace('.', "-"));
        let ended = run(2, "shm", &built, "", None);
        assert!(ended.status.success(), "{source}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
