//! The examples of the book, from the modules that the build script writes, and the command that starts them. `run …` and `sim …` are the command; a page
//! runs the fragments on it, a page with a line the program there; no argument lists pages and programs.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::ExitCode;

use pelago::World;

type Example = fn(&World) -> Result<(), Box<dyn Error>>;
type Program = fn() -> pelago::Result<()>;

include!(concat!(env!("OUT_DIR"), "/examples.rs"));

fn main() -> Result<ExitCode, Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("run" | "sim") => return Ok(pelago_cli::main()),
        None => names().iter().for_each(|name| println!("{name}")),
        Some(wanted) => match PROGRAMS.iter().find(|(name, _)| *name == wanted) {
            Some((_, program)) => program()?,
            None => pelago::run(|world| fragments(world, wanted))?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn page(name: &'static str) -> &'static str {
    name.split(':').next().expect("a first part")
}

/// The pages with fragments, and the programs.
fn names() -> BTreeSet<&'static str> {
    EXAMPLES.iter().map(|(name, _)| page(name)).chain(PROGRAMS.iter().map(|(name, _)| *name)).collect()
}

/// Runs the fragments of a page, one after another.
fn fragments(world: &World, wanted: &str) -> Result<(), Box<dyn Error>> {
    for (name, example) in EXAMPLES.iter().filter(|(name, _)| page(name) == wanted) {
        match example(world) {
            Err(error) if matches!(error.downcast_ref(), Some(pelago::Error::Unsupported(_))) => {
                println!("{name} is not run: {error}");
            }
            result => result.map_err(|error| format!("{name}: {error}"))?,
        }
        world.barrier()?;
    }
    Ok(())
}
