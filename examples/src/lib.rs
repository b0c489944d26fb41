//! Example programs and benchmarks. Each is a function from arguments to an exit code, so that the `pelago` command can bundle it.
//!
//! | program | shows |
//! |---|---|
//! | [`ring`] | put, an ordered atomic, a barrier: the program of the README |
//! | [`barrier`] | the time of a barrier, by each algorithm |
//! | [`fagus`] | a message with a flag behind it, and the barrier of Fagus: the measurements of paper C |
//! | [`latency`] | percentiles of the latency of single operations |
//! | [`collectives`] | the time of collective operations, by each algorithm, and which is chosen |
//! | [`alltoall`] | the time of an exchange in which every rank puts to every other simultaneously |
//! | [`particles`] | particles move to the owners of their positions: receive memory reserved by atomics, puts, arrival detected by counters |
//! | [`incast`] | many ranks send to one: acquired slots, compared with the methods of message-passing libraries |
//! | [`counter`] | a shared variable that every rank increments: entry consistency |
//! | [`tsp`] | the shortest round trip by branch and bound; ranks share the shortest trip so far |
//! | [`kmers`] | the k-mers (words of length k) of a file of sequences, counted by all ranks in one table |
//! | [`gups`] | random updates of a table: remote atomics, active messages, updates of a map at the owners |
//! | [`bfs`] | breadth-first search of a graph, by active messages |
//! | [`uts`] | an unbalanced tree: tasks in a work queue, with work stealing |
//! | [`sor`] | red-black relaxation of a grid in a region: release consistency that transfers only borders |
//! | [`lu`] | a matrix factored in blocks: pages of a region, each kept by one rank until it is complete |
//! | [`kmeans`] | clusters of points: several variables under one synchronization variable |
//! | [`is`] | NAS integer sort: keys are sent to the ranks that own their ranges, by an exchange with counts |
//! | [`cg`] | NAS conjugate gradient: rows of a sparse matrix, a gather with counts and sums in each step |
//! | [`litmus`] | litmus tests of the memory model: forbidden outcomes are counted |
//! | [`gpu`] | puts, gets, copies and atomics between GPU memory or host memory with equal results; their times |
//! | [`goal`] | a schedule of LogGOPSim, or a recording of a real run: a graph of operations |
//! | [`chakra`] | execution traces of Chakra: a graph of operations from binary files |
//! | [`himeno`] | a stencil on a grid split in three directions: faces and edges by plans, overlapped with computing |
//! | [`fields`] | shallow water on a staggered grid: five fields with halos of different widths, exchanged together |

#![forbid(unsafe_code)]

pub mod alltoall;
pub mod barrier;
mod beside;
pub mod bfs;
pub mod cg;
pub mod chakra;
pub mod collectives;
pub mod counter;
pub mod fagus;
pub mod fields;
pub mod goal;
pub mod gpu;
mod graph;
pub mod gups;
pub mod himeno;
pub mod incast;
pub mod is;
pub mod kmeans;
pub mod kmers;
pub mod latency;
pub mod litmus;
pub mod lu;
mod mix;
mod nas;
mod on_device;
pub mod particles;
pub mod ring;
pub mod sor;
pub mod tsp;
mod usage;
pub mod uts;

use std::process::ExitCode;

/// Defines the program of a module, with the name of the module.
macro_rules! program {
    ($name:ident, $summary:literal) => {
        Program { name: stringify!($name), summary: $summary, check: $name::check, main: $name::main }
    };
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    program!(ring, "each rank writes its number to its right neighbour"),
    program!(himeno, "Himeno benchmark: 19-point stencil, three-dimensional halo exchange"),
    program!(fields, "shallow water: five staggered fields in one halo exchange"),
    program!(barrier, "time of a barrier, by algorithm"),
    program!(fagus, "time of a flagged message and of a barrier through one rank (Fagus)"),
    program!(latency, "latency percentiles of single puts, gets and atomics"),
    program!(collectives, "time of collective operations, by algorithm"),
    program!(alltoall, "time of an all-to-all exchange by puts"),
    program!(incast, "many-to-one messages, by method"),
    program!(counter, "time of acquire and release of a shared counter"),
    program!(kmers, "k-mer counting of FASTA and FASTQ files in a distributed hash table"),
    program!(goal, "schedules in the GOAL language (LogGOPSim), and recordings of real runs"),
    program!(chakra, "execution traces of Chakra (MLCommons)"),
    program!(gpu, "operations between memory of GPUs, and their times"),
    program!(gups, "random updates of a distributed table, by method"),
    program!(bfs, "breadth-first search (Graph500), with validation"),
    program!(uts, "unbalanced tree search with work stealing"),
    program!(tsp, "travelling salesman by branch and bound, parallel"),
    program!(sor, "red-black relaxation of a grid in distributed shared memory"),
    program!(lu, "blocked LU factorization in distributed shared memory"),
    program!(is, "NAS integer sort (IS), classes S, W and A"),
    program!(cg, "NAS conjugate gradient (CG), classes S, W and A"),
    program!(litmus, "litmus tests of the memory model"),
    program!(kmeans, "k-means clustering, parallel"),
    program!(particles, "exchange of particles between the ranks that own their positions (NSIM-ACE)"),
];

/// A program that every rank of a job runs.
pub struct Program {
    /// Name of the program.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Checks the arguments for a number of ranks; the error is one line. A launcher calls this before it starts ranks.
    pub check: fn(&[String], u32) -> Result<(), String>,
    /// Runs one rank with the arguments after the name.
    pub main: fn(Vec<String>) -> ExitCode,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_differ() {
        for (index, program) in PROGRAMS.iter().enumerate() {
            assert!(program.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", program.name);
            assert!(PROGRAMS[..index].iter().all(|other| other.name != program.name), "{}", program.name);
            assert!(!program.summary.is_empty() && !program.summary.contains('\n'), "{}", program.name);
        }
    }
}
