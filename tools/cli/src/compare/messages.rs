//! Messages of two reports by distance and by pair of ranks, from their time lines.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pelago_report::Report;

use super::comparison::{Row, Unit};

/// Maximum number of pairs that are listed: those whose bytes differ most.
const PAIRS_SHOWN_MAX: usize = 10;

/// Number and bytes of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Pairs of ranks: the one that posted messages, and the one at their other end.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Number of pairs with messages in a report.
    pub(super) count: u64,
    /// Number of these whose messages differ.
    pub(super) differing: u64,
    /// Those that differ most.
    pub(super) largest: Vec<((u32, u32), [Traffic; 2])>,
}

/// Compares the messages between each two ranks; `None` if a time line lacks messages.
pub(super) fn pairs(reports: [&Report; 2]) -> Option<Pairs> {
    let pairs = grouped(reports, |from, to| (from, to))?;
    let count = pairs.len() as u64;
    let mut largest: Vec<_> = pairs.into_iter().filter(|(_, [first, second])| first != second).collect();
    let differing = largest.len() as u64;
    largest.sort_by_key(|(pair, [first, second])| {
        (Reverse((first.bytes.abs_diff(second.bytes), first.count.abs_diff(second.count))), *pair)
    });
    largest.truncate(PAIRS_SHOWN_MAX);
    Some(Pairs { count, differing, largest })
}

/// Returns rows of messages by the distance of their ranks, in intervals that double; none if a time line lacks messages.
pub(super) fn by_distance(reports: [&Report; 2]) -> Vec<Row> {
    let interval = |from: u32, to: u32| from.abs_diff(to).checked_ilog2();
    let rows = grouped(reports, interval).into_iter().flatten().flat_map(|(interval, traffic)| {
        let section = match interval {
            None => "messages to the same rank".into(),
            Some(0) => "messages at distance 1".into(),
            Some(bits) => format!("messages at distance {} to {}", 1_u64 << bits, (2_u64 << bits) - 1),
        };
        let row = move |name: &str, unit, of: fn(&Traffic) -> u64| Row {
            section: section.clone(),
            name: name.into(),
            unit,
            values: traffic.each_ref().map(|traffic| Some(of(traffic))),
            is_of_program: true,
        };
        [row("count", Unit::Count, |of| of.count), row("bytes", Unit::Bytes, |of| of.bytes)]
    });
    rows.collect()
}

/// Sums the messages of both reports by a key of their ranks; `None` if a time line lacks messages.
fn grouped<K: Ord>(reports: [&Report; 2], key: impl Fn(u32, u32) -> K) -> Option<BTreeMap<K, [Traffic; 2]>> {
    if reports.iter().any(|report| report.timeline.messages_left_out > 0) {
        return None;
    }
    let mut sums: BTreeMap<K, [Traffic; 2]> = BTreeMap::new();
    for (side, report) in reports.into_iter().enumerate() {
        for message in &report.timeline.messages {
            sums.entry(key(message.from, message.to)).or_default()[side].add(message.bytes);
        }
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use pelago_base::{Instant, Rank};
    use pelago_report::{Facts, Limits, OperationKind, Recorder};

    use super::*;

    fn report(messages: &[(u32, u32, u64)], records_max: usize) -> Report {
        let mut recorder = Recorder::new(Limits { records_max, ..Limits::default() });
        for (number, &(from, to, bytes)) in (0..).zip(messages) {
            recorder.posted(number, OperationKind::Put, Rank::new(from), Rank::new(to), bytes, Instant::ZERO);
        }
        recorder.finish(Facts { ranks: 8, ..Facts::default() })
    }

    #[test]
    fn messages_are_summed_by_distance_and_pair() {
        let first = report(&[(0, 1, 8), (2, 1, 8), (0, 3, 100), (4, 4, 1)], 10);
        let second = report(&[(0, 1, 8), (0, 1, 8), (0, 2, 100), (4, 4, 1)], 10);
        let rows: Vec<_> = by_distance([&first, &second])
            .into_iter()
            .map(|row| (row.section, row.name, row.values.map(Option::unwrap)))
            .collect();
        let row = |section: &str, name: &str, values| (section.to_owned(), name.to_owned(), values);
        let expected = [
            row("messages to the same rank", "count", [1, 1]),
            row("messages to the same rank", "bytes", [1, 1]),
            row("messages at distance 1", "count", [2, 2]),
            row("messages at distance 1", "bytes", [16, 16]),
            row("messages at distance 2 to 3", "count", [1, 1]),
            row("messages at distance 2 to 3", "bytes", [100, 100]),
        ];
        assert_eq!(rows, expected);
        let Pairs { count, differing, largest } = pairs([&first, &second]).unwrap();
        assert_eq!((count, differing), (5, 4));
        let order: Vec<_> = largest.iter().map(|(pair, _)| *pair).collect();
        assert_eq!(order, [(0, 2), (0, 3), (0, 1), (2, 1)]);
    }

    #[test]
    fn incomplete_time_lines_are_not_compared() {
        let [whole, part] = [10, 1].map(|records| report(&[(0, 1, 8), (1, 0, 8)], records));
        assert!(pairs([&whole, &part]).is_none() && by_distance([&part, &whole]).is_empty());
    }
}
