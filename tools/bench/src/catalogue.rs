//! The table of what can be measured.

use crate::error::Result;
use crate::measure::{atomics, barrier, faces, memory, rate, transfer, visible};
use crate::stage::Stage;

/// Something that can be measured.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    /// What is measured, and the raw limit that it is compared with.
    pub(crate) summary: &'static str,
    /// Fewer ranks cannot do it.
    pub(crate) ranks_min: u32,
    /// Numbers of ranks that it is measured with, in jobs of their own, unless the command line names one.
    pub(crate) jobs: Jobs,
    /// Measures, on each rank.
    pub(crate) run: fn(&Stage<'_>) -> Result<()>,
}

/// The jobs in which something is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Jobs {
    /// One, together with others.
    Shared,
    /// One of its own for each of these numbers of ranks.
    Own(&'static [u32]),
    /// Jobs that do nothing, timed from outside.
    Empty(&'static [u32]),
}

/// In the order in which it is measured: `memory` first, before others have used any.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "memory",
        summary: "private memory of a rank after start and a barrier; raw: before it joined",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: memory::run,
    },
    Benchmark {
        name: "put",
        summary: "write another rank's memory, with completion; raw: store, memcpy",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: transfer::put,
    },
    Benchmark {
        name: "get",
        summary: "read another rank's memory; raw: load, memcpy",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: transfer::get,
    },
    Benchmark {
        name: "fetch_add",
        summary: "add to another rank's word and fetch it; raw: atomic add",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: atomics::fetch_add,
    },
    Benchmark {
        name: "compare_swap",
        summary: "replace another rank's word if it is as expected; raw: atomic compare and exchange",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: atomics::compare_swap,
    },
    Benchmark {
        name: "visible",
        summary: "put, seen by its target, put back, one way; raw: a cache line to and fro",
        ranks_min: 2,
        jobs: Jobs::Shared,
        run: visible::run,
    },
    Benchmark {
        name: "rate",
        summary: "puts of 8 bytes, 64 and then quiet; raw: stores and a fence",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: rate::run,
    },
    Benchmark {
        name: "faces",
        summary: "put a face of a cube of numbers, in planes jk, ik and ij; raw: loops over it",
        ranks_min: 1,
        jobs: Jobs::Shared,
        run: faces::run,
    },
    Benchmark {
        name: "barrier",
        summary: "all ranks meet; raw: flags, or a counter and yielding where ranks share processors",
        ranks_min: 1,
        jobs: Jobs::Own(&[2, 4, 8, 16]),
        run: barrier::run,
    },
    Benchmark {
        name: "launch",
        summary: "start to end of an empty program; raw: as many processes that do nothing",
        ranks_min: 1,
        jobs: Jobs::Empty(&[2, 16]),
        run: |_| Ok(()),
    },
];
