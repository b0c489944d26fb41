//! An artificial job of any size.

use fastrand::Rng;
use pelago_base::{Duration, Instant, Rank};
use pelago_report::{Disturbances, Facts, Limits, LinkUse, OperationKind, Recorder, Report, StopReason};

const PER_NODE: u32 = 2;

/// Records ranks that compute, exchange with partners at increasing distances, and end; their times vary randomly.
pub(crate) fn job(ranks: u32, rounds: u32, limits: Limits) -> Report {
    let mut happenings = Vec::new();
    let mut chance = Rng::with_seed(ranks.into());
    for number in 0..ranks {
        let rank = Rank::new(number);
        let mut now = 0;
        for round in 0..rounds {
            let computing = 2_000_000 + chance.u64(..1_500_000) + u64::from(number) * 3_000_000 / u64::from(ranks);
            happenings.push((now, Happening::Stop(rank, StopReason::Computing)));
            now += computing;
            happenings.push((now, Happening::Resume(rank)));
            let partner = Rank::new((number ^ 1 << (round % 31)) % ranks);
            let kind = [OperationKind::Put, OperationKind::Put, OperationKind::Put, OperationKind::Get, OperationKind::Atomic]
                [chance.u64(..5) as usize];
            let bytes = if kind == OperationKind::Atomic { 8 } else { 8 << chance.u64(..14) };
            let latency = 900_000 + bytes * 300 + chance.u64(..400_000) * chance.u64(..8);
            let message = number * rounds + round;
            happenings.push((now, Happening::Post(message, kind, rank, partner, bytes)));
            happenings.push((now + latency, Happening::Effect(message)));
            happenings.push((now, Happening::Stop(rank, StopReason::Waiting)));
            now += latency + 300_000;
            happenings.push((now, Happening::Complete(message, false)));
            happenings.push((now, Happening::Resume(rank)));
        }
        if number > 0 {
            happenings.push((now, Happening::Stop(rank, StopReason::Ended)));
            continue;
        }
        // The first rank posts two more operations: one fails, and one never completes.
        let message = ranks * rounds;
        happenings.push((now, Happening::Post(message, OperationKind::Copy, rank, Rank::new(ranks - 1), 4096)));
        happenings.push((now, Happening::Post(message + 1, OperationKind::Put, rank, Rank::new(ranks / 2), 64)));
        happenings.push((now + 5_000_000, Happening::Complete(message, true)));
        happenings.push((now, Happening::Stop(rank, StopReason::Waiting)));
    }
    happenings.sort_by_key(|(at, _)| *at);
    let end = Instant::from_picoseconds(happenings.last().map_or(0, |(at, _)| *at) + 1_234_567);
    let mut recorder = Recorder::new(limits);
    for (at, happening) in happenings {
        happening.tell(&mut recorder, Instant::from_picoseconds(at));
    }
    recorder.finish(facts(ranks, end, &mut chance))
}

fn facts(ranks: u32, end: Instant, chance: &mut Rng) -> Facts {
    let nodes = ranks.div_ceil(PER_NODE);
    let link = |from: String, to: String, share: u64| {
        let busy = end.as_picoseconds() / 1000 * share;
        LinkUse { from, to, bytes: busy / 250, busy: Duration::from_picoseconds(busy), longest_queue: share as u32 / 10 }
    };
    let links = (0..nodes).flat_map(|node| {
        let (nic, router) = (format!("node {node} nic 0"), format!("router {}", node / 8));
        let shares = [chance.u64(..400), chance.u64(..30) * chance.u64(..30)];
        [link(nic.clone(), router.clone(), shares[0]), link(router, nic, shares[1])]
    });
    Facts {
        program: "exchange --rounds </script> & \"more\"".into(),
        machine: "rx200-qdr".into(),
        machine_source: "16 nodes, InfiniBand QDR, one switch: paper D (NSIM-ACE), table 1".into(),
        ranks,
        nodes,
        per_node: PER_NODE,
        seed: u64::MAX - 4,
        computing: "declared".into(),
        end,
        events: 12_345_678,
        packets: 234_567,
        packet_hops: 1_034_501,
        disturbances: Disturbances { lost: 1_234, repetitions: 56, ..Disturbances::default() },
        links: links.collect(),
        fault: Some("rank 0 waits for an operation that nothing can complete any more".into()),
        recording: None,
    }
}

/// An event that a recorder can be given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    Resume(Rank),
    Stop(Rank, StopReason),
    Post(u32, OperationKind, Rank, Rank, u64),
    Effect(u32),
    Complete(u32, bool),
}

impl Happening {
    pub(crate) fn tell(self, recorder: &mut Recorder, now: Instant) {
        match self {
            Self::Resume(rank) => recorder.resumed(rank, now),
            Self::Stop(rank, why) => recorder.stopped(rank, now, why),
            Self::Post(message, kind, from, to, bytes) => recorder.posted(message, kind, from, to, bytes, now),
            Self::Effect(message) => recorder.effective(message, now),
            Self::Complete(message, failed) => recorder.completed(message, failed, now),
        }
    }
}
