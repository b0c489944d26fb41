//! Unbalanced tree search: all ranks count the nodes of a tree that is generated during the search, and whose subtrees differ widely in size. Tasks
//! are nodes; a rank without tasks steals tasks of other ranks.
//!
//! Trees are binomial: the root has a given number of children, each other node has `m` children with probability `q`, else none. With `m q` just below
//! 1, most subtrees are tiny and few are huge. The hash of a node determines its children and their hashes, so that all ranks generate the same tree.
//!
//! Source: Olivier et al., *UTS: an unbalanced tree search benchmark* (2006). The hash function is not the benchmark's SHA-1, so that its tables of
//! tree sizes do not apply.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::containers::{WorkQueue, WorkSettings};
use pelago::{Duration, World};

use crate::mix::mix;
use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Number of nodes between two calls of progress, in which this rank serves other ranks.
const NODES_PER_PROGRESS: u64 = 256;

/// Search an unbalanced tree: rank 0 prints its nodes and leaves, the depth, the nodes per second, and how many nodes changed their rank
#[derive(Parser)]
#[command(name = "uts")]
struct Arguments {
    /// Children of the root
    #[arg(long, value_name = "B", default_value_t = 2000, allow_negative_numbers = true, value_parser = at_least_one)]
    root: u32,
    /// Children of a node that has any
    #[arg(long, value_name = "M", default_value_t = 8, allow_negative_numbers = true, value_parser = at_least_one)]
    children: u32,
    /// Probability that a node has children, in millionths
    #[arg(long, value_name = "Q", default_value_t = 124_000, value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    millionths: u32,
    /// Seed of the tree
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Tasks that change their rank together, at most
    #[arg(long, value_name = "C", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    chunk: u32,
    /// Rank 0 also searches the tree alone, and compares
    #[arg(long)]
    verify: bool,
}

/// Computing time of a node on a simulated machine.
const NODE_TIME: Duration = Duration::from_nanoseconds(20);

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = checked(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => search(world, arguments),
        Err(stop) => Ok(stop.tell("uts", world)),
    });
    exit("uts", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    checked(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn checked(arguments: &[String]) -> Result<Arguments, Stop> {
    let arguments = parse::<Arguments>(arguments)?;
    if u64::from(arguments.children) * u64::from(arguments.millionths) >= 1_000_000 {
        return Err(Stop::Wrong("a tree ends only if a node has fewer than one child on average".into()));
    }
    Ok(arguments)
}

/// A node: its hash and its depth.
type Node = [u64; 2];

/// Counts of a tree or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    nodes: u64,
    leaves: u64,
    depth: u64,
}

impl Found {
    fn root(arguments: &Arguments) -> Node {
        [mix(arguments.seed), 0]
    }

    /// Counts a node, and returns its children.
    fn count(&mut self, arguments: &Arguments, [hash, depth]: Node) -> impl ExactSizeIterator<Item = Node> + use<> {
        let is_inner = ((u128::from(hash) * 1_000_000) >> 64) < u128::from(arguments.millionths);
        let children = match depth {
            0 => arguments.root,
            _ if is_inner => arguments.children,
            _ => 0,
        };
        self.nodes += 1;
        self.leaves += u64::from(children == 0);
        self.depth = self.depth.max(depth);
        (0..children).map(move |number| [mix(hash.wrapping_add((u64::from(number) + 1).wrapping_mul(STEP))), depth + 1])
    }
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn search(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let settings = WorkSettings { chunk: arguments.chunk as usize, own: 1 << 20, ..WorkSettings::default() };
    let queue = WorkQueue::<Node>::new(world, settings)?;
    world.barrier()?;
    let start = world.now();
    if world.rank().number() == 0 {
        queue.push(Found::root(arguments))?;
    }
    let (mut found, is_simulated) = (Found::default(), world.has_virtual_time());
    while let Some(node) = queue.next()? {
        queue.push_all(found.count(arguments, node))?;
        if is_simulated {
            world.compute(NODE_TIME);
        }
        if found.nodes.is_multiple_of(NODES_PER_PROGRESS) {
            world.progress();
        }
    }
    world.barrier()?;
    let seconds = (world.now() - start).as_seconds();
    let mut sums = [found.nodes, found.leaves, queue.counters().stolen];
    world.allreduce(&mut sums, |one, other| one + other)?;
    let mut extremes = [found.depth, found.nodes, u64::MAX - found.nodes];
    world.allreduce(&mut extremes, |one, other| one.max(other))?;
    let all = Found { nodes: sums[0], leaves: sums[1], depth: extremes[0] };
    let mut good = true;
    if world.rank().number() == 0 {
        let _ = writeln!(
            Output,
            "uts ranks {} nodes {} leaves {} depth {} s {seconds:.6} millions-per-s {:.3} stolen {} most {} least {}",
            world.size(),
            all.nodes,
            all.leaves,
            all.depth,
            all.nodes as f64 / seconds / 1e6,
            sums[2],
            extremes[1],
            u64::MAX - extremes[2],
        );
        if arguments.verify {
            good = alone(arguments) == all;
            let verdict = if good { "that of" } else { "different from that of" };
            let _ = writeln!(Output, "uts tree is {verdict} one rank alone");
        }
    }
    world.barrier()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Searches the tree serially.
fn alone(arguments: &Arguments) -> Found {
    let (mut found, mut stack) = (Found::default(), vec![Found::root(arguments)]);
    while let Some(node) = stack.pop() {
        stack.extend(found.count(arguments, node));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Result<Arguments, Stop> {
        checked(&text.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_tree_has_inner_nodes_and_leaves_as_its_arguments_say() {
        let Ok(given) = arguments("--root 50 --children 4 --millionths 200000 --seed 3") else { panic!("they are good") };
        let found = alone(&given);
        assert_eq!((found.nodes - 1 - 50) % 4, 0);
        assert_eq!((found.nodes - 1 - 50) / 4 + 1, found.nodes - found.leaves, "inner nodes");
        assert!(found.nodes > 100 && found.depth > 2, "{found:?}");
        assert_eq!(alone(&given), found);
    }

    #[test]
    fn trees_without_end_are_refused() {
        assert!(arguments("--children 10 --millionths 100000").is_err() && arguments("--root 0").is_err());
        assert!(arguments("--children 10 --millionths 99999 --verify").is_ok());
    }
}
