//! The catalogue of benchmarks.

use crate::Transport;
use crate::error::Result;
use crate::measure::{
    atomics, barrier, collectives, computing, copies, crossing, datagrams, faces, halo, indexed, memory, rate, shared, transfer,
    tuning, visible,
};
use crate::rank::context::RankContext;

/// A benchmark.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    /// OSU benchmarks that measure the same.
    pub(crate) osu: &'static [&'static str],
    /// Measured operation, and the raw limits for comparison: where ranks share memory; over UDP.
    pub(crate) summary: &'static str,
    /// Minimum number of ranks.
    pub(crate) ranks_min: u32,
    /// Minimum number of ranks that share no memory: a rank's own memory is always mapped.
    pub(crate) ranks_min_apart: u32,
    /// Jobs of the benchmark, unless the command line gives a number of ranks.
    pub(crate) jobs: Jobs,
    /// The measurement, called on each rank.
    pub(crate) run: fn(&RankContext<'_>) -> Result<()>,
}

/// Jobs in which a benchmark is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Jobs {
    /// A job shared with other benchmarks.
    Shared,
    /// A shared job, but only if the command line names the benchmark.
    Named,
    /// A separate job for each of these numbers of ranks.
    Own(&'static [u32]),
    /// A shared job if ranks share memory; otherwise a separate job for each of these numbers of ranks.
    OwnApart(&'static [u32]),
    /// Empty jobs with these numbers of ranks, timed by the command.
    Empty(&'static [u32]),
}

impl Benchmark {
    /// Returns the minimum number of ranks over `transport`.
    pub(crate) fn ranks_min(&self, transport: Transport) -> u32 {
        if transport.is_network() { self.ranks_min_apart } else { self.ranks_min }
    }

    /// Returns the numbers of ranks of separate jobs, if the benchmark has such jobs.
    pub(crate) fn own_jobs(&self, transport: Transport) -> Option<&'static [u32]> {
        match self.jobs {
            Jobs::Own(table) => Some(table),
            Jobs::OwnApart(table) if transport.is_network() => Some(table),
            _ => None,
        }
    }
}

/// All benchmarks in the order of measurement: `memory` first, before other benchmarks use memory.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "memory",
        osu: &[],
        summary: "private memory of a rank after start and a barrier; over UDP also in large jobs; raw: before the rank joined",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::OwnApart(&[2, 64, 1024]),
        run: memory::run,
    },
    Benchmark {
        name: "put",
        osu: &["osu_put_latency", "osu_put_bw", "osu_bw", "osu_oshm_put"],
        summary: "put with completion; raw: store, memcpy; UDP: round trip of a datagram, a stream from 16K on",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::put,
    },
    Benchmark {
        name: "get",
        osu: &["osu_get_latency", "osu_get_bw", "osu_oshm_get"],
        summary: "get; raw: load, memcpy; UDP: round trip of a datagram, a stream from 16K on",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::get,
    },
    Benchmark {
        name: "put_registered",
        osu: &[],
        summary: "put from registered memory (copy) with completion, each timed separately; raw: memcpy; UDP: a stream",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::put_registered,
    },
    Benchmark {
        name: "get_registered",
        osu: &[],
        summary: "get to registered memory (copy), each timed separately; raw: memcpy; UDP: a stream",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: transfer::get_registered,
    },
    Benchmark {
        name: "fetch_add",
        osu: &["osu_fop_latency", "osu_oshm_atomics"],
        summary: "fetch_add of 8 bytes; raw: atomic add; UDP: round trip of a datagram",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: atomics::fetch_add,
    },
    Benchmark {
        name: "compare_swap",
        osu: &["osu_cas_latency"],
        summary: "compare_swap of 8 bytes; raw: atomic compare and exchange; UDP: round trip of a datagram",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: atomics::compare_swap,
    },
    Benchmark {
        name: "accumulate",
        osu: &["osu_acc_latency", "osu_get_acc_latency"],
        summary: "accumulate (sum) of an f64, and of 1,024 in one call; raw: add of a u64 by the library",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: atomics::accumulate,
    },
    Benchmark {
        name: "indexed",
        osu: &[],
        summary: "get of 2,000 numbers at places of their own; raw: get of as many that lie together, by the library",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: indexed::run,
    },
    Benchmark {
        name: "visible",
        osu: &["osu_latency"],
        summary: "ping-pong of puts, half of the round trip; raw: ping-pong of a cache line; UDP: ping-pong of datagrams",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: visible::run,
    },
    Benchmark {
        name: "crossing",
        osu: &[],
        summary: "put, get and fetch_add on memory that its owner used in between, and put to unused pages; for pelago tune",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: crossing::run,
    },
    Benchmark {
        name: "datagrams",
        osu: &[],
        summary: "costs of a message at its sender and its receiver, and what passes between, of ranks that share no memory; for pelago tune",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: datagrams::run,
    },
    Benchmark {
        name: "rate",
        osu: &["osu_mbw_mr", "osu_oshm_put_mr"],
        summary: "rate of 8-byte puts, 512 followed by quiet; raw: stores and a fence; UDP: one datagram with all of them, and its answer",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: rate::run,
    },
    Benchmark {
        name: "get_while_target_computes",
        osu: &[],
        summary: "get of a word while the target computes (10 ms periods); raw: load; UDP: answer by a thread that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::get,
    },
    Benchmark {
        name: "put_while_target_computes",
        osu: &[],
        summary: "put of a word and flush while the target computes (10 ms periods); raw: store; UDP: answer by a thread that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::put,
    },
    Benchmark {
        name: "fetch_add_while_target_computes",
        osu: &[],
        summary: "fetch_add of a word while the target computes (10 ms periods); raw: atomic add; UDP: answer by a thread that sleeps in recv",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: computing::fetch_add,
    },
    Benchmark {
        name: "faces",
        osu: &[],
        summary: "strided put of a face of a cube, planes jk, ik and ij; raw: loops; UDP: packed by loops, streamed",
        ranks_min: 1,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: faces::run,
    },
    Benchmark {
        name: "halo",
        osu: &[],
        summary: "halo plan: exchange and read a face of a cube; as chosen by the plan, direct, and packed",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Shared,
        run: halo::run,
    },
    Benchmark {
        name: "barrier",
        osu: &["osu_barrier", "osu_oshm_barrier"],
        summary: "barrier; raw: flags, or a counter with yields if ranks share cores; UDP: one datagram per step",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Own(&[2, 4, 8, 16]),
        run: barrier::run,
    },
    Benchmark {
        name: "collectives",
        osu: &[
            "osu_allgather",
            "osu_allreduce",
            "osu_alltoall",
            "osu_bcast",
            "osu_gather",
            "osu_reduce",
            "osu_reduce_scatter",
            "osu_scatter",
        ],
        summary: "collective operations by plans: broadcast, reductions, gathers, all-to-all, scans",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Named,
        run: collectives::run,
    },
    Benchmark {
        name: "one_shot",
        osu: &[],
        summary: "collective operations by calls without a plan, 8 bytes, 64 KiB and 1 MiB",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Named,
        run: collectives::one_shot,
    },
    Benchmark {
        name: "acquire",
        osu: &[],
        summary: "acquire and release of a shared variable without contention, released to its home or kept; raw: an uncontended mutex; UDP: round trip of a datagram",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::acquire,
    },
    Benchmark {
        name: "hand_over",
        osu: &[],
        summary: "hand-over of a shared variable between ranks that alternate and write all of it; raw: a turn word and memcpy",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::hand_over,
    },
    Benchmark {
        name: "cached",
        osu: &[],
        summary: "acquire of a variable and barrier of a region, by the amount of cached data",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::cached,
    },
    Benchmark {
        name: "acquire_while_home_computes",
        osu: &[],
        summary: "acquire of a variable while its home waits in the library, or computes for 2 s",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::computing,
    },
    Benchmark {
        name: "fairness",
        osu: &[],
        summary: "contention of all ranks for one variable during 1 s: time of a turn; ratio: most turns of a rank / fewest turns; with -n 4",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: shared::fairness,
    },
    Benchmark {
        name: "tuning",
        osu: &[],
        summary: "atomic of 4 bytes through a command queue and a communication thread, with each tuning step of paper E; raw: without them",
        ranks_min: 2,
        ranks_min_apart: 2,
        jobs: Jobs::Named,
        run: tuning::run,
    },
    Benchmark {
        name: "copy",
        osu: &[],
        summary: "copy between two ranks, requested by a third; raw: get and put by the third; with -n 3",
        ranks_min: 3,
        ranks_min_apart: 3,
        jobs: Jobs::Named,
        run: copies::run,
    },
    Benchmark {
        name: "launch",
        osu: &["osu_init"],
        summary: "start to end of a job with an empty program; raw: the same number of empty processes",
        ranks_min: 1,
        ranks_min_apart: 1,
        jobs: Jobs::Empty(&[2, 16]),
        run: |_| Ok(()),
    },
];
