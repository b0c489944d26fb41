//! Writes the examples of the book as Rust modules, which `src/main.rs` includes and runs as the ranks of jobs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

const SIGNATURE: &str = "fn example(world: &World) ->";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in tests/book");
    let (book, readme) = (root.join("docs/book/src"), root.join("README.md"));
    for path in [Path::new("build.rs"), &book, &readme] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    // An example may depend on this feature of `pelago`, which the manifest switches on.
    println!("cargo::rustc-cfg=feature=\"page-faults\"");
    let mut pages = vec![readme];
    add_pages(&book, &mut pages);
    pages.sort();
    let (mut modules, mut examples, mut programs) = (String::new(), String::new(), String::new());
    for page in pages {
        let name = page.strip_prefix(&book).unwrap_or(Path::new("README.md")).display().to_string();
        for (line, code) in blocks(&std::fs::read_to_string(&page).expect("a page of text")) {
            let module = format!("{}_{line}", name.trim_end_matches(".md").replace(['/', '-'], "_").to_lowercase());
            // The last lines call the example, whatever its type of errors is.
            let (list, end) = if code.contains("\nfn main() -> pelago::Result<()> {") {
                (&mut programs, "pub fn call() -> pelago::Result<()> { main() }")
            } else if code.contains(SIGNATURE) {
                (
                    &mut examples,
                    "pub fn call(world: &pelago::World) -> Result<(), Box<dyn std::error::Error>> { Ok(example(world)?) }",
                )
            } else {
                panic!("{}:{line}: put the example into a hidden `# {SIGNATURE} …`, so that tests can run it", page.display());
            };
            writeln!(modules, "#[allow(warnings, clippy::all)]\nmod {module} {{\n{code}{end}\n}}").expect("into memory");
            writeln!(list, "    (\"{name}:{line}\", {module}::call),").expect("into memory");
        }
    }
    let text = format!(
        "{modules}\nconst EXAMPLES: &[(&str, Example)] = &[\n{examples}];\nconst PROGRAMS: &[(&str, Program)] = &[\n{programs}];\n"
    );
    std::fs::write(Path::new(&std::env::var("OUT_DIR").expect("cargo sets it")).join("examples.rs"), text)
        .expect("a writable folder");
}

fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the book") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// The blocks of Rust on a page with the lines in which they begin, as rustdoc compiles them: with their hidden lines. Included programs, which are
/// compiled where they lie, are no blocks of the page.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if !line.starts_with("```rust") {
            continue;
        }
        let code: Vec<_> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        if !code.iter().any(|line| line.starts_with("{{#include")) {
            let shown = |line: &&str| if *line == "#" { "" } else { line.strip_prefix("# ").unwrap_or(line) }.to_owned() + "\n";
            found.push((number + 1, code.iter().map(shown).collect()));
        }
    }
    found
}
