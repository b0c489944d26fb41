//! The Rust files of the exported functions: one macro call for each pair of routines, with their names.

use std::collections::BTreeMap;

use crate::routines::{FAMILIES, Family, Needs, Routine};
use crate::types::Type;

/// Returns the path and the text of each file.
pub fn files() -> Vec<(String, String)> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for family in FAMILIES {
        let text = texts.entry(family.file).or_insert_with(|| heading(family.file));
        *text += "\n";
        for of in family.types {
            *text += &line(family, &needed(family, of), Some(of), &family.routines(of));
        }
        for &bits in family.sizes.iter().filter(|_| family.by_size.is_some()) {
            *text += &line(family, &(bits / 8).to_string(), None, &family.routines_by_size(bits));
        }
        let of_bytes = family.routines_of_bytes();
        if !of_bytes.is_empty() {
            *text += &line(family, "1", None, &of_bytes);
        }
    }
    texts.into_iter().map(|(file, text)| (format!("bindings/shmem/src/ffi/exports/{file}.rs"), text)).collect()
}

fn heading(file: &str) -> String {
    format!(
        "//! Exports: {file}. Generated from the table in `bindings/shmem-interface`; renew it by\n\
         //! `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface`.\n\
         #![allow(unsafe_code)]\n\
         #![cfg_attr(rustfmt, rustfmt::skip)]\n\
         \n\
         use crate::ffi::macros::*;\n"
    )
}

fn needed(family: &Family, of: &Type) -> String {
    if family.needs == Needs::Rust || matches!(family.name, "p" | "g") { of.rust.to_owned() } else { of.bytes.to_string() }
}

fn line(family: &Family, of: &str, named: Option<&Type>, routines: &[Routine]) -> String {
    let (mut export, more) = family.export;
    if named.is_some_and(|of| of.name == "longdouble") {
        export = match export {
            "p" => "long_double_p",
            "g" => "long_double_g",
            other => other,
        };
    }
    let names: Vec<_> = routines.iter().map(|routine| format!("shmem_{}", routine.name)).collect();
    let parts = [of, more, &names.join(", ")];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{export}!({});\n", parts.join(", "))
}
