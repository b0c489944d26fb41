//! `pelago run --record`: writes the recordings of a job's ranks as a schedule in the GOAL language, for the program `goal`.
//!
//! Each rank is a chain of computing, posted operations, and waits. The recording does not contain the event that ended a wait. It is assumed
//! to be the last operation by another rank on the memory of this rank that was posted before the end of the wait and had not ended before
//! its beginning. If there is none, it is assumed to be the operation of this rank that completed last during the wait. The former becomes a
//! message, the latter a dependency. Waits that neither explains become computing.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use pelago_kit::{RecordedKind, RecordedOperation, RecordedRank};
use pelago_report::files;

use super::gathering::Parts;
use crate::printable;

/// Shortest computing that becomes an operation of its own, in nanoseconds; shorter gaps between events are added to the next one.
const GAP_NS: u64 = 50;

/// Longest computing of one operation, in nanoseconds: a day, the most that the program `goal` accepts. Longer computing becomes several.
const CALC_NS: u64 = 86_400_000_000_000;

/// Writes the schedule, and prints one line on its contents and another on missing data.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, program: &str, parts: &Parts) -> Result<(), String> {
    let schedule = Schedule::new(parts);
    let is_packed = file.extension().is_some_and(|extension| extension == "gz");
    files::write(file, |to| {
        if is_packed {
            let mut packed = GzEncoder::new(to, Compression::default());
            schedule.write(program, &mut packed)?;
            packed.finish().map(drop)
        } else {
            schedule.write(program, to)
        }
    })?;
    crate::say(&format!(
        "{}: {schedule}; replay it with pelago sim -n {} --machine MACHINE goal FILE",
        file.display(),
        parts.ranks
    ));
    parts.lacks(file).iter().for_each(|lacks| crate::say(lacks));
    Ok(())
}

/// One step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// Computes for a number of nanoseconds.
    Computes(u64),
    /// Posts the operation with this index.
    Posts(usize),
    /// Waits for operation `operation` of the rank at index `from` of the recorded ranks.
    Receives { from: usize, operation: usize },
    /// Waits for the completion of its own operation with this index.
    Awaits(usize),
}

/// The chains of all ranks.
struct Schedule<'p> {
    parts: &'p Parts,
    chains: Vec<Vec<Item>>,
    /// For each rank and operation, whether another rank waits for it.
    is_message: Vec<Vec<bool>>,
    /// Nanoseconds from the first to the last event.
    lasts_ns: u64,
    unexplained_ns: u64,
}

/// An operation by another rank on the memory of a rank, in the time of the common clock.
struct Incoming {
    posted_ns: u64,
    /// Latest time at which the operation takes effect.
    ended_ns: u64,
    from: usize,
    operation: usize,
    is_used: bool,
}

impl<'p> Schedule<'p> {
    fn new(parts: &'p Parts) -> Self {
        let starts = parts.starts();
        let ranks = || parts.recorded.iter().map(|(_, rank)| rank).zip(&starts);
        // All chains end when the first rank's recording memory was full: later operations of that rank are missing.
        let ends_ns = ranks().map(|(rank, start)| start + recorded_until(rank)).min().unwrap_or(0);
        let begins_ns = ranks().map(|(rank, start)| start + rank.begin_ns).min().unwrap_or(0);
        let lasts_ns = ranks().map(|(rank, start)| start + rank.end_ns).max().unwrap_or(0).min(ends_ns).saturating_sub(begins_ns);
        let mut schedule = Self {
            parts,
            chains: Vec::new(),
            is_message: ranks().map(|(rank, _)| vec![false; rank.operations.len()]).collect(),
            lasts_ns,
            unexplained_ns: 0,
        };
        for place in 0..parts.recorded.len() {
            let chain = schedule.chain(place, &starts, ends_ns);
            schedule.chains.push(chain);
        }
        schedule
    }

    /// Builds the chain of the rank at index `place` of the recorded ranks until `ends_ns`.
    fn chain(&mut self, place: usize, starts: &[u64], ends_ns: u64) -> Vec<Item> {
        let (number, rank) = &self.parts.recorded[place];
        let start = starts[place];
        let mut incoming = self.incoming(place, starts);
        let mut chain = Chain { items: Vec::new(), at_ns: start + rank.begin_ns, gap_ns: 0, ends_ns };
        let mut posts = (0..rank.operations.len()).filter(|&post| rank.operations[post].to != *number).peekable();
        let posted = |post: usize| start + rank.operations[post].posted_ns;
        for &(from, to) in &rank.waits {
            let (mut from, to) = (start + from, start + to);
            // An operation that is posted during a wait splits the wait.
            while let Some(post) = posts.next_if(|&post| posted(post) < to) {
                if posted(post) > from {
                    self.wait(&mut chain, place, &mut incoming, start, from..posted(post));
                }
                chain.post(post, posted(post), start + rank.operations[post].returned_ns);
                from = from.max(chain.at_ns);
            }
            if from < to {
                self.wait(&mut chain, place, &mut incoming, start, from..to);
            }
        }
        posts.for_each(|post| chain.post(post, posted(post), start + rank.operations[post].returned_ns));
        chain.computes_until(start + rank.end_ns);
        chain.items
    }

    /// Collects the operations by other ranks on the memory of one rank, in the order of posting.
    fn incoming(&self, place: usize, starts: &[u64]) -> Vec<Incoming> {
        let (me, rank_here) = &self.parts.recorded[place];
        let (me, here) = (*me, rank_here.host.first);
        let mut incoming = Vec::new();
        for (from, ((_, rank), start)) in self.parts.recorded.iter().zip(starts).enumerate().filter(|(from, _)| *from != place) {
            // Clock errors delay the operations of other hosts: an operation that may have been posted after a wait must not end it.
            let errors = [rank_here, rank].map(|rank| self.parts.offset_of(rank).1);
            let start = start + if rank.host.first == here { 0 } else { errors.iter().sum() };
            let writes = |operation: &RecordedOperation| operation.to == me && operation.kind != RecordedKind::Get;
            let to_me = rank.operations.iter().enumerate().filter(|(_, operation)| writes(operation));
            incoming.extend(to_me.map(|(operation, RecordedOperation { posted_ns, returned_ns, completed, .. })| {
                let ended_ns = completed.map_or(rank.end_ns, |(at, _)| at.max(*returned_ns));
                Incoming { posted_ns: start + posted_ns, ended_ns: start + ended_ns, from, operation, is_used: false }
            }));
        }
        incoming.sort_by_key(|incoming| (incoming.posted_ns, incoming.from, incoming.operation));
        incoming
    }

    fn wait(&mut self, chain: &mut Chain, place: usize, incoming: &mut [Incoming], start: u64, span: std::ops::Range<u64>) {
        if span.start >= chain.ends_ns {
            return;
        }
        chain.computes_until(span.start);
        let before = incoming.partition_point(|incoming| incoming.posted_ns < span.end);
        let other =
            incoming[..before].iter_mut().rev().take(CANDIDATES_MAX).find(|other| !other.is_used && other.ended_ns >= span.start);
        if let Some(other) = other.filter(|other| other.posted_ns < chain.ends_ns) {
            other.is_used = true;
            self.is_message[other.from][other.operation] = true;
            chain.goes_on(Item::Receives { from: other.from, operation: other.operation }, span.end);
            return;
        }
        let rank = &self.parts.recorded[place].1;
        let began = rank.operations.partition_point(|operation| start + operation.posted_ns < span.end);
        let completed = |operation: usize| rank.operations[operation].completed.map(|(at, _)| start + at);
        let within = |operation: &usize| completed(*operation).is_some_and(|at| (span.start..=span.end).contains(&at));
        let own =
            (began.saturating_sub(CANDIDATES_MAX)..began).rev().filter(within).max_by_key(|&operation| completed(operation));
        match own {
            Some(own) => chain.goes_on(Item::Awaits(own), span.end),
            None => {
                self.unexplained_ns += span.end.min(chain.ends_ns) - span.start;
                chain.computes_until(span.end);
            }
        }
    }

    fn write(&self, program: &str, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        writeln!(to, "// pelago run --record: {}\n// {self}\nnum_ranks {}", printable(program), self.parts.ranks)?;
        for (place, chain) in self.chains.iter().enumerate() {
            self.write_rank(place, chain, to)?;
        }
        Ok(())
    }

    fn write_rank(&self, place: usize, chain: &[Item], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let (number, rank) = &self.parts.recorded[place];
        writeln!(to, "rank {number} {{")?;
        // The previous operation, and the dependencies of the next one. Labels of operations are indexes into the chain.
        let (mut before, mut awaited) = (None, Vec::new());
        let mut places = vec![None; rank.operations.len()];
        for (label, item) in chain.iter().enumerate() {
            let ends_at_once = match *item {
                Item::Awaits(operation) => {
                    awaited.extend(places[operation]);
                    continue;
                }
                Item::Computes(nanoseconds) => {
                    writeln!(to, "l{label}: calc {nanoseconds}")?;
                    true
                }
                Item::Receives { from, operation } => {
                    let (source, other) = &self.parts.recorded[from];
                    writeln!(to, "l{label}: recv {}b from {source} tag {operation}", other.operations[operation].bytes)?;
                    true
                }
                Item::Posts(operation) => {
                    places[operation] = Some(label);
                    let RecordedOperation { kind, to: peer, bytes, .. } = rank.operations[operation];
                    match kind {
                        _ if self.is_message[place][operation] => {
                            writeln!(to, "l{label}: send {bytes}b to {peer} tag {operation}")?
                        }
                        RecordedKind::Put | RecordedKind::Copy => writeln!(to, "l{label}: put {bytes}b to {peer}")?,
                        RecordedKind::Get => writeln!(to, "l{label}: get {bytes}b from {peer}")?,
                        RecordedKind::Atomic => writeln!(to, "l{label}: atomic to {peer}")?,
                    }
                    self.is_message[place][operation]
                }
            };
            if let Some((before, requires)) = before {
                writeln!(to, "l{label} {requires} l{before}")?;
            }
            for other in awaited.drain(..) {
                writeln!(to, "l{label} requires l{other}")?;
            }
            before = Some((label, if ends_at_once { "requires" } else { "irequires" }));
        }
        writeln!(to, "}}")
    }
}

/// Maximum number of operations that are considered as the end of one wait.
const CANDIDATES_MAX: usize = 4096;

impl std::fmt::Display for Schedule<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operations = self.chains.iter().flatten().filter(|item| !matches!(item, Item::Awaits(_))).count();
        let [seconds, unexplained] = [self.lasts_ns, self.unexplained_ns].map(|nanoseconds| nanoseconds as f64 / 1e9);
        write!(
            f,
            "{} ranks, {operations} operations, {seconds:.6} s; waits of {unexplained:.6} s, which no operation explains, as computing",
            self.chains.len()
        )
    }
}

/// Returns the time until which the recording of a rank is complete.
fn recorded_until(rank: &RecordedRank) -> u64 {
    let waits = rank.waits.last().filter(|_| rank.waits_dropped > 0).map(|(_, to)| *to);
    let operations = rank.operations.last().filter(|_| rank.operations_dropped() > 0).map(|last| last.posted_ns + 1);
    waits.into_iter().chain(operations).min().unwrap_or(u64::MAX / 2)
}

/// Steps of a rank, under construction.
struct Chain {
    items: Vec<Item>,
    at_ns: u64,
    gap_ns: u64,
    ends_ns: u64,
}

impl Chain {
    /// Adds computing from the last event until `until_ns`.
    fn computes_until(&mut self, until_ns: u64) {
        let until_ns = until_ns.min(self.ends_ns);
        self.gap_ns += until_ns.saturating_sub(self.at_ns);
        self.at_ns = self.at_ns.max(until_ns);
        if self.gap_ns >= GAP_NS {
            while self.gap_ns > 0 {
                let part_ns = self.gap_ns.min(CALC_NS);
                self.items.push(Item::Computes(part_ns));
                self.gap_ns -= part_ns;
            }
        }
    }

    fn post(&mut self, operation: usize, posted_ns: u64, returned_ns: u64) {
        if posted_ns < self.ends_ns {
            self.computes_until(posted_ns);
            self.goes_on(Item::Posts(operation), returned_ns);
        }
    }

    fn goes_on(&mut self, item: Item, at_ns: u64) {
        self.items.push(item);
        self.at_ns = self.at_ns.max(at_ns);
    }
}

#[cfg(test)]
mod tests {
    use pelago_kit::{DroppedOperations, RecordedHost};

    use super::*;

    fn put(to: u32, bytes: u64, posted_ns: u64) -> RecordedOperation {
        let (returned_ns, completed) = (posted_ns + 10, Some((posted_ns + 300, true)));
        RecordedOperation { kind: RecordedKind::Put, to, bytes, posted_ns, returned_ns, completed }
    }

    fn rank(operations: Vec<RecordedOperation>, waits: Vec<(u64, u64)>) -> RecordedRank {
        let host = RecordedHost { name: "h".into(), ..RecordedHost::default() };
        RecordedRank { host, clock_ns: 7_000, end_ns: 2_000, operations, waits, ..RecordedRank::default() }
    }

    fn text(ranks: Vec<RecordedRank>) -> String {
        let parts = Parts::of(ranks.len() as u32, (0..).zip(ranks).collect());
        let mut bytes = Vec::new();
        Schedule::new(&parts).write("p", &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (_, text) = text.split_once("num_ranks ").unwrap();
        text.replace('\n', ";")
    }

    #[test]
    fn a_wait_becomes_the_receive_of_what_was_posted_last_before_its_end() {
        // Data, and a flag that ends the wait of rank 1; the put posted after the end of the wait does not.
        let zero = rank(vec![put(1, 4000, 100), put(1, 8, 200), put(1, 16, 900)], vec![]);
        let one = rank(vec![], vec![(50, 600)]);
        assert_eq!(
            text(vec![zero, one]),
            "2;rank 0 {;l0: calc 100;l1: put 4000b to 1;l1 requires l0;l2: calc 90;l2 irequires l1;l3: send 8b to 1 tag 1;l3 requires l2;\
             l4: calc 690;l4 requires l3;l5: put 16b to 1;l5 requires l4;l6: calc 1090;l6 irequires l5;};\
             rank 1 {;l0: calc 50;l1: recv 8b from 0 tag 1;l1 requires l0;l2: calc 1400;l2 requires l1;};"
        );
    }

    #[test]
    fn a_wait_for_own_operations_depends_on_the_last_of_them() {
        let zero = rank(vec![put(1, 4000, 100), put(1, 8, 200)], vec![(210, 500), (600, 700)]);
        assert_eq!(
            text(vec![zero, rank(vec![], vec![])]),
            "2;rank 0 {;l0: calc 100;l1: put 4000b to 1;l1 requires l0;l2: calc 90;l2 irequires l1;l3: put 8b to 1;l3 requires l2;\
             l5: calc 100;l5 irequires l3;l5 requires l3;l6: calc 100;l6 requires l5;l7: calc 1300;l7 requires l6;};\
             rank 1 {;l0: calc 2000;};"
        );
    }

    #[test]
    fn computing_of_more_than_a_day_is_several_operations() {
        let long = RecordedRank { end_ns: 2 * CALC_NS + 7, ..rank(vec![], vec![]) };
        assert_eq!(
            text(vec![long]),
            "1;rank 0 {;l0: calc 86400000000000;l1: calc 86400000000000;l1 requires l0;l2: calc 7;l2 requires l1;};"
        );
    }

    #[test]
    fn all_ranks_end_where_the_memory_of_the_first_was_full() {
        let dropped = DroppedOperations { count: 5, bytes: 40 };
        let zero = RecordedRank { operations_dropped: [dropped; 4], ..rank(vec![put(1, 8, 300)], vec![]) };
        let one = rank(vec![put(0, 8, 100), put(0, 8, 800)], vec![(250, 280)]);
        assert_eq!(
            text(vec![zero, one]),
            "2;rank 0 {;l0: calc 300;l1: put 8b to 1;l1 requires l0;};\
             rank 1 {;l0: calc 100;l1: put 8b to 0;l1 requires l0;l2: calc 140;l2 irequires l1;l3: calc 51;l3 requires l2;};"
        );
    }
}
