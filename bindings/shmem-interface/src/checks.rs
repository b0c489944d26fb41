//! A list of all reductions and scans, which a test program compares with serial loops.

use std::fmt::Write;

use crate::routines::FAMILIES;

/// Returns the path and the text of the file, which has a line for each routine and the number of routines.
pub fn reductions() -> (String, String) {
    let mut text = String::from("/* Written by a test from the table of routines. */\n");
    let mut number = 0;
    for family in FAMILIES.iter().filter(|family| family.file == "reductions") {
        for of in family.types {
            for routine in family.routines(of) {
                let line = match family.name.split_once('_') {
                    Some((operator, "reduce")) => format!("REDUCE({}, {}, {})", routine.name, of.c, operator.to_uppercase()),
                    _ => format!("SCAN({}, {}, {})", routine.name, of.c, u8::from(family.name == "sum_inscan")),
                };
                writeln!(text, "{line}").expect("a text");
                number += 1;
            }
        }
    }
    write!(text, "#undef ROUTINES\n#define ROUTINES {number}\n").expect("a text");
    ("bindings/shmem/tests/c/reductions.h".to_owned(), text)
}
