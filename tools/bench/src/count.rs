//! Instructions of one operation on mapped memory, counted under valgrind: a cost that must not grow unnoticed, and that does not depend on
//! the load of the machine.
//!
//! A job of one rank executes an operation N times, another N + M times. The difference divided by M, less that of an empty loop, is exact and
//! independent of start and end. Counts are valid for the release profile and for the compiler version stated in the table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use pelago::{GlobalPtr, World};

use crate::growth;

/// The operations, in the order of the table.
const OPERATIONS: &[(&str, Loop)] = &[
    ("put", put),
    ("put_64_bytes", put_block),
    ("get", get),
    ("get_64_bytes", get_block),
    ("fetch_add", fetch_add),
    ("add", add),
    ("compare_swap", compare_swap),
    ("put_then_quiet", put_then_quiet),
    ("put_ordered", put_ordered),
];

/// Executes an operation a number of times.
type Loop = fn(&World, GlobalPtr<u64>, u64) -> pelago::Result<()>;

const EMPTY: &str = "empty";

/// Numbers of operations of the two runs whose difference is taken.
const ITERATIONS: [u64; 2] = [1_000, 101_000];

/// Number of words that operations use in turn, so that their addresses change.
const SLOTS: u64 = 64;

/// Command that renews the table, for messages and for the head of the table.
const RENEW: &str = "cargo run --release -p pelago-bench --bin pelago-count -- renew";

/// Start of the second line of the table.
const COMPILER: &str = "# compiler: ";

/// Executes a subcommand: `check` compares the counts with the table, `renew` rewrites the table, and valgrind runs `loop NAME N`. `talk HEAP
/// FIRST PEERS` is a rank that prints its memory use, and `meet` a job whose first rank does so; see [`growth`].
pub fn counted_main(arguments: &[String]) -> ExitCode {
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check"] => check().map(|message| println!("{message}")),
        ["renew"] => renew().map(|table| print!("{table}")),
        ["loop", name, iterations] => match iterations.parse() {
            Ok(iterations) => count(name, iterations).map_err(|error| error.to_string()),
            Err(_) => Err(format!("{iterations} is not a number")),
        },
        ["talk", ref numbers @ ..] => {
            match numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u64>, _>>().as_deref() {
                Ok(&[heap_bytes, first, peers]) => {
                    growth::talk(heap_bytes, first as u32, peers as u32).map_err(|error| error.to_string())
                }
                _ => Err("talk needs three numbers".into()),
            }
        }
        ["meet"] => growth::meet().map_err(|error| error.to_string()),
        _ => Err("say check, renew, loop NAME N, talk HEAP FIRST PEERS, or meet".into()),
    };
    done.map_or_else(
        |message| {
            eprintln!("{message}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Executes the operation `name` a number of times, in a job of one rank.
///
/// # Errors
/// The job cannot start.
///
/// # Panics
/// There is no such operation.
pub fn count(name: &str, iterations: u64) -> pelago::Result<()> {
    let act = OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, act)| *act);
    let act = act.or((name == EMPTY).then_some(empty as Loop)).unwrap_or_else(|| panic!("no operation is called {name}"));
    pelago::run(|world| {
        let memory = world.alloc::<u64>(2 * SLOTS as usize)?;
        act(world, memory.at(world.rank(), 0), iterations)
    })
}

/// Counts all operations and compares the counts with the table. Returns the message of a successful comparison.
///
/// # Errors
/// The counts differ, or could not be made; the message names the differences and the remedy.
pub fn check() -> Result<String, String> {
    let path = table_path();
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}; make it with: {RENEW}", path.display()))?;
    compare(&text, &counted()?, &compiler())
}

fn renew() -> Result<String, String> {
    let table = table(&counted()?, &compiler());
    std::fs::write(table_path(), &table).map_err(|error| format!("{}: {error}", table_path().display()))?;
    Ok(table)
}

#[inline(never)]
fn empty(_: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        black_box(at.add(value % SLOTS));
    }
    Ok(())
}

#[inline(never)]
fn put(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        world.put(black_box(at.add(value % SLOTS)), &[value])?.wait()?;
    }
    Ok(())
}

#[inline(never)]
fn put_block(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        world.put(black_box(at.add(value % SLOTS)), &[value; 8])?.wait()?;
    }
    Ok(())
}

#[inline(never)]
fn get(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    let mut sum = 0_u64;
    for value in 0..iterations {
        sum = sum.wrapping_add(world.get(black_box(at.add(value % SLOTS)))?);
    }
    black_box(sum);
    Ok(())
}

#[inline(never)]
fn get_block(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    let mut block = [0; 8];
    for value in 0..iterations {
        world.get_into(black_box(at.add(value % SLOTS)), &mut block)?;
    }
    black_box(block);
    Ok(())
}

#[inline(never)]
fn fetch_add(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    let mut sum = 0_u64;
    for value in 0..iterations {
        sum = sum.wrapping_add(world.fetch_add(black_box(at.add(value % SLOTS)), value)?.wait()?);
    }
    black_box(sum);
    Ok(())
}

#[inline(never)]
fn add(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        world.add(black_box(at.add(value % SLOTS)), value)?.wait()?;
    }
    Ok(())
}

#[inline(never)]
fn compare_swap(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    let mut sum = 0_u64;
    for value in 0..iterations {
        sum = sum.wrapping_add(world.compare_swap(black_box(at.add(value % SLOTS)), value, value + 1)?.wait()?);
    }
    black_box(sum);
    Ok(())
}

#[inline(never)]
fn put_then_quiet(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        world.put(black_box(at.add(value % SLOTS)), &[value])?;
        world.quiet()?;
    }
    Ok(())
}

#[inline(never)]
fn put_ordered(world: &World, at: GlobalPtr<u64>, iterations: u64) -> pelago::Result<()> {
    for value in 0..iterations {
        let first = world.put(black_box(at.add(value % SLOTS)), &[value])?;
        world.after(&first).put(at.add(SLOTS), &[value])?.wait()?;
    }
    Ok(())
}

/// Instructions of each operation.
type Counts = Vec<(&'static str, f64)>;

/// Runs all loops under valgrind.
fn counted() -> Result<Counts, String> {
    let empty = per_iteration(EMPTY)?;
    OPERATIONS.iter().map(|(name, _)| Ok((*name, per_iteration(name)? - empty))).collect()
}

fn per_iteration(name: &str) -> Result<f64, String> {
    let [few, many] = ITERATIONS;
    let difference = instructions(name, many)? - instructions(name, few)?;
    Ok(difference as f64 / (many - few) as f64)
}

fn instructions(name: &str, iterations: u64) -> Result<i64, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args([
        "loop",
        name,
        &iterations.to_string(),
    ]);
    // Valgrind leaves little address space, so heaps are small. The variables of an enclosing job do not apply.
    command.env("PELAGO_HEAP", "64M").env_remove("PELAGO_RANK").env_remove("PELAGO_SIZE").env_remove("PELAGO_MEMORY");
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "valgrind is not installed (apt-get install valgrind)".to_owned(),
        _ => format!("cannot run valgrind: {error}"),
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.filter(|_| output.status.success()).ok_or_else(|| format!("valgrind failed on {name}:\n{said}"))
}

fn table(counts: &Counts, compiler: &str) -> String {
    let mut table = format!("# Instructions of one operation on mapped memory; renewed by: {RENEW}\n{COMPILER}{compiler}\n");
    for (name, count) in counts {
        writeln!(table, "{name:16}{count:8.2}").expect("a string takes everything");
    }
    table
}

/// Compares counts with a table; differences between compilers are reported but are not an error.
fn compare(text: &str, counts: &Counts, compiler: &str) -> Result<String, String> {
    let entry = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse::<f64>().ok()?))
    };
    let expected: BTreeMap<_, _> = text.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect();
    let mut differences = String::new();
    for (name, count) in counts {
        match expected.get(*name) {
            Some(expected) if (count - expected).abs() < 0.05 => {}
            Some(expected) => writeln!(differences, "  {name}: {expected:.2} in the table, now {count:.2}").expect("a string"),
            None => writeln!(differences, "  {name}: not in the table, now {count:.2}").expect("a string"),
        }
    }
    if differences.is_empty() {
        return Ok(format!("instruction counts are those of the table ({compiler})"));
    }
    let made_by = text.lines().find_map(|line| line.strip_prefix(COMPILER)).unwrap_or("an unknown compiler");
    if made_by != compiler {
        return Ok(format!(
            "instruction counts of {compiler} differ from the table, which was made by {made_by}:\n{differences}"
        ));
    }
    Err(format!(
        "instruction counts changed:\n{differences}if that is meant, renew the table, commit it and say why:\n  {RENEW}\n\
         if not, look at what was added to the path of the operation (runtime/rma/src/operations, foundation/memory/src/reach.rs)"
    ))
}

fn table_path() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "instruction-counts.txt"].iter().collect()
}

/// Returns the version of the compiler and its target.
fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let version = version.split(" (").next().unwrap_or_default();
    format!("{version} {}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "rustc 1.95.0 x86_64";

    #[test]
    fn a_table_agrees_with_its_own_counts() {
        let counts = vec![("put", 9.0), ("get", 7.5)];
        assert!(compare(&table(&counts, HERE), &counts, HERE).is_ok());
    }

    #[test]
    fn a_change_is_named_with_its_remedy() {
        let text = table(&vec![("put", 9.0)], HERE);
        let message = compare(&text, &vec![("put", 12.0)], HERE).unwrap_err();
        assert!(message.contains("put: 9.00 in the table, now 12.00") && message.contains(RENEW), "{message}");
        let message = compare(&text, &vec![("get", 12.0)], HERE).unwrap_err();
        assert!(message.contains("get: not in the table"), "{message}");
    }

    #[test]
    fn another_compiler_is_told_and_no_failure() {
        let text = table(&vec![("put", 9.0)], HERE);
        let message = compare(&text, &vec![("put", 12.0)], "rustc 9.0.0 x86_64").unwrap();
        assert!(message.contains("12.00") && message.contains("1.95.0"), "{message}");
    }

    #[test]
    fn every_loop_runs() {
        for (name, _) in OPERATIONS {
            count(name, 100).unwrap();
        }
        count(EMPTY, 100).unwrap();
    }
}
