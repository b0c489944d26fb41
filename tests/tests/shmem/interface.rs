//! Every routine has its type of the table, in C99, C11 and C++17. The library exports all routines, and nothing else.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use pelago_shmem_interface::routines::{FAMILIES, OLDEST, all, names, with_type};
use pelago_shmem_interface::types::distinct;

use crate::build::{compiler, folder, libraries, link};

fn compilers() -> Vec<(&'static str, &'static str, bool)> {
    let known = [
        ("gcc", "-std=c99", false),
        ("gcc", "-std=c11", false),
        ("g++", "-std=c++17", true),
        ("clang", "-std=c99", false),
        ("clang", "-std=c11", false),
        ("clang++", "-std=c++17", true),
    ];
    let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let (found, missing): (Vec<_>, Vec<_>) = known.into_iter().partition(|(name, ..)| is_there(name));
    missing.iter().for_each(|(name, standard, _)| eprintln!("not tested: {name} {standard}, which is not installed"));
    assert!(found.len() >= 2, "gcc is there");
    found
}

/// Returns a program that takes the address of every routine, with its exact type.
fn addresses() -> String {
    let mut text = String::from("#include <shmem.h>\n#include <mpp/shmem.h>\n#include <shmemx.h>\n");
    let mut number = 0;
    let mut take = |name: &str, result: &str, parameters: &str| {
        number += 1;
        writeln!(text, "{result} (*const volatile address{number})({parameters}) = {name};").expect("a text");
    };
    for routine in all() {
        // C++ has overloads of some names, which the type selects.
        take(&format!("shmem_{}", routine.name), &routine.result, &routine.parameters);
        take(&format!("pshmem_{}", routine.name), &routine.result, &routine.parameters);
    }
    for (name, result, parameters) in OLDEST {
        take(name, result, parameters);
    }
    text += "int main(void) { return 0; }\n";
    text
}

/// Returns a program that contains a call of each generic with arguments of each type. The calls are not executed.
fn generics() -> String {
    let mut text = String::from(
        "#include <shmem.h>\nint main(int count, char **arguments) {\n    (void)arguments;\n    if (count < 1000)\n        return 0;\n",
    );
    for family in FAMILIES.iter().filter(|family| family.generic > 0) {
        for of in distinct(family.types) {
            for routine in family.routines(&of) {
                writeln!(text, "    {{").expect("a text");
                for parameter in routine.parameters.split(", ") {
                    // Values come from external variables.
                    let (kind, name) = parameter.split_at(parameter.rfind([' ', '*']).expect("a name") + 1);
                    writeln!(text, "        extern {kind} outside_{}_{}_{name};", family.name, routine.name).expect("a text");
                    writeln!(text, "        {parameter} = outside_{}_{}_{name};", family.name, routine.name).expect("a text");
                }
                let result = with_type(family.result, of.c);
                let call = format!("shmem_{}({})", family.name, names(&routine.parameters).join(", "));
                let store = if result == "void" { call } else { format!("{result} result = {call}; (void)result") };
                writeln!(text, "        {store};\n    }}").expect("a text");
            }
        }
    }
    text += "    return 0;\n}\n";
    text
}

#[test]
fn every_routine_has_its_exact_type() {
    let source = folder().join("addresses.c");
    std::fs::write(&source, addresses()).expect("a file");
    for (name, standard, is_cpp) in compilers() {
        let mut command = compiler(name, standard);
        if is_cpp {
            command.args(["-x", "c++"]);
        }
        link(command, &source, &folder().join("addresses"));
    }
}

#[test]
fn generics_choose_by_type() {
    let source = folder().join("generics.c");
    std::fs::write(&source, generics()).expect("a file");
    for (name, standard, is_cpp) in compilers().into_iter().filter(|(_, standard, _)| *standard != "-std=c99") {
        let mut command = compiler(name, standard);
        if is_cpp {
            command.args(["-x", "c++"]);
        }
        let built = command.arg("-c").arg(&source).arg("-o").arg(folder().join("generics.o")).output().expect("a compiler");
        assert!(built.status.success(), "{name} {standard}: {}", String::from_utf8_lossy(&built.stderr));
    }
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libsma.so")).output().expect("nm");
    let text = String::from_utf8(output.stdout).expect("names");
    let exported: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let mut expected = BTreeSet::from(["isma_simulate_main", "sma_wake", "sma_windows"].map(str::to_owned));
    for routine in all() {
        expected.insert(format!("shmem_{}", routine.name));
        expected.insert(format!("pshmem_{}", routine.name));
    }
    for (name, ..) in OLDEST {
        expected.insert((*name).to_owned());
        expected.insert(format!("p{name}"));
    }
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(exported.difference(&expected).collect::<Vec<_>>(), Vec::<&&str>::new(), "too many");
    assert_eq!(expected.difference(&exported).collect::<Vec<_>>(), Vec::<&&str>::new(), "missing");
}
