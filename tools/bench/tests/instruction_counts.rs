//! The instruction counts of operations are those of the committed table.

use std::process::Command;

#[test]
fn instruction_counts_are_those_of_the_table() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed (apt-get install valgrind)");
        return;
    }
    // Counts are for the release profile, independent of the profile of this test.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--release", "--package", "pelago-bench", "--bin", "pelago-count", "--", "check"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo is here, as it runs this test");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", said(&output.stderr));
    println!("{}", said(&output.stdout));
}
