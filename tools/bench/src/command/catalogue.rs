//! The table of what can be measured.

use crate::Transport;
use crate::error::Result;
use crate::measure::{
    atomics, barrier, collectives, computing, copies, crossing, faces, halo, memory, rate, shared, transfer, tuning, visible,
};
use crate::rank::context::RankContext;

/// Something that can be measured.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    /// What is measured, and the raw limit that it is compared with: where ranks share memory; over UDP.
    pub(crate) summary: &'static str,
    /// Fewer ranks cannot do it.
    pub(crate) ranks_min: u32,
    /// The same where they share no memory: a rank's own is always mapped.
    pub(crate) ranks_min_apart: u32,
    /// Numbers of ranks that it is measured with, in jobs of their own, unless the command line names one.
    pub(crate) jobs: Jobs,
    /// Measures, on each rank.
    pub(crate) run: fn(&RankContext<'_>) -> Result<()>,
}

/// The jobs in which something is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Jobs {
    /// One, together with others.
    Shared,
    /// The same, but only if it is named.
    Named,
    /// One of its own for each of these numbers of ranks.
    Own(&'static [u32]),
    /// One together with others where ranks share memory; where they do not, one of its own for each of these numbers of ranks.
    OwnApart(&'static [u32]),
    /// Jobs that do nothing, timed from outside.
    Empty(&'static [u32]),
}

impl Benchmark {
    /// Fewer ranks that reach each other like this cannot do it.
    pub(crate) fn ranks_min(&self, transport: Transport) -> u32 {
        if transport.is_network() { self.ranks_min_apart } else { self.ranks_min }
    }

    /// The numbers of ranks with which it has jobs of its own, if it has.
    pub(crate) fn own_jobs(&self, transport: Transport) -> Option<&'static [u32]> {
        match self.jobs {
            Jobs::Own(table) => Some(table),
            Jobs::OwnApart(table) if transport.is_network() => Some(table),
            _ => None,
        }
    }
}

/// In the order in which it is measured: `memory` first, before others have used any.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "memory",
        summary: "private memory of a rank after start and a barrier, over udp also in large jobs; raw: before it joined",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::OwnApart(&[2, 64, 1024]),
        run: memory::run,
    },
    Benchmark {
        name: "put",
        summary: "write another rank's memory, with completion; raw: store, memcpy; udp: a datagram and its answer, a stream from 16K on",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::put,
    },
    Benchmark {
        name: "get",
        summary: "read another rank's memory; raw: load, memcpy; udp: a datagram and its answer, a stream from 16K on",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::get,
    },
    Benchmark {
        name: "fetch_add",
        summary: "add to another rank's word and fetch it; raw: atomic add; udp: a datagram and its answer",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: atomics::fetch_add,
    },
    Benchmark {
        name: "compare_swap",
        summary: "replace another rank's word if it is as expected; raw: atomic compare and exchange; udp: a datagram and its answer",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: atomics::compare_swap,
    },
    Benchmark {
        name: "visible",
        summary: "put, seen by its target, put back, one way; raw: a cache line to and fro; udp: a datagram to and fro",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: visible::run,
    },
    Benchmark {
        name: "crossing",
        summary: "put, get and fetch_add on memory that its owner has used since, put to pages that nobody has used: for pelago tune",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: crossing::run,
    },
    Benchmark {
        name: "rate",
        summary: "puts of 8 bytes, 512 and then quiet; raw: stores and a fence; udp: one datagram with all of them, and its answer",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: rate::run,
    },
    Benchmark {
        name: "get_while_target_computes",
        summary: "read a word of a rank that computes 10 ms at a time; raw: the instruction; udp: a thread of the target that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::get,
    },
    Benchmark {
        name: "put_while_target_computes",
        summary: "write a word, and flush, to a rank that computes 10 ms at a time; raw: the instruction; udp: a thread of the target that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::put,
    },
    Benchmark {
        name: "fetch_add_while_target_computes",
        summary: "add to a word of a rank that computes 10 ms at a time; raw: the instruction; udp: a thread of the target that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::fetch_add,
    },
    Benchmark {
        name: "faces",
        summary: "put a face of a cube of numbers, in planes jk, ik and ij; raw: loops over it; udp: packed by loops, streamed",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: faces::run,
    },
    Benchmark {
        name: "halo",
        summary: "exchange a face of a cube of numbers with the neighbour by a plan, and read it: as it chooses, direct, and packed",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: halo::run,
    },
    Benchmark {
        name: "barrier",
        summary: "all ranks meet; raw: flags, or a counter and yielding where ranks share cores; udp: a datagram for each step",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Own(&[2, 4, 8, 16]),
        run: barrier::run,
    },
    Benchmark {
        name: "collectives",
        summary: "broadcast, reductions, gathers, exchanges and scans of all ranks, by plans",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Named,
        run: collectives::run,
    },
    Benchmark {
        name: "acquire",
        summary: "acquire a shared variable to write, and release it, to its home or kept; raw: a mutex that nobody wants; udp: a datagram and its answer",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::acquire,
    },
    Benchmark {
        name: "hand_over",
        summary: "hand a shared variable over and write all of it, by turns; raw: a word that says whose turn it is, memcpy",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::hand_over,
    },
    Benchmark {
        name: "cached",
        summary: "acquire a variable, and meet in a region, with so much data cached",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::cached,
    },
    Benchmark {
        name: "acquire_while_home_computes",
        summary: "acquire a variable whose home waits in the library, or computes for 2 seconds",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::computing,
    },
    Benchmark {
        name: "fairness",
        summary: "all ranks want one variable for a second: time of one turn; ratio: the most turns of a rank by the least; with -n 4",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::fairness,
    },
    Benchmark {
        name: "tuning",
        summary: "an atomic of 4 bytes through a command queue and a communication thread, with each step of paper E; raw: without",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: tuning::run,
    },
    Benchmark {
        name: "copy",
        summary: "copy from one rank to another, on behalf of a third; raw: the third gets and puts; with -n 3",
        ranks_min: 3,
        ranks_min_apart: 3,
        jobs: Jobs::Named,
        run: copies::run,
    },
    Benchmark {
        name: "launch",
        summary: "start to end of an empty program; raw: as many processes that do nothing",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Empty(&[2, 16]),
        run: |_| Ok(()),
    },
];
