//! The utilization of links: the busiest by name, all of them in a histogram.

use std::cmp::Reverse;

use pelago_base::Instant;
use serde::{Deserialize, Serialize};

use crate::facts::LinkUse;
use crate::limits::{LINK_ROWS_MAX, STRIP_CELLS_MAX};

/// The units of full utilization: parts per million of the time.
const PPM: u64 = 1_000_000;

/// Number of histogram intervals of utilization, of equal width.
const SHARES: u64 = 20;

/// All links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// Number of links.
    pub count: u64,
    /// Number of links that sent nothing.
    pub idle: u64,
    /// Bytes that all links sent.
    pub bytes: u64,
    /// Of the links that sent something, those with the longest sending times, in descending order; among equals, first those that sent more bytes,
    /// then in their given order.
    pub busiest: Vec<LinkRow>,
    /// Number of links that sent something and are not in `busiest`.
    pub left_out: u64,
    /// The histogram of utilization: an interval for each 5 %, the last with all links from 95 % on.
    pub shares: Vec<Share>,
    /// The utilization of all links in their given order; for links that share a cell, the largest.
    pub strip_utilization_ppm: Vec<u64>,
    /// Number of consecutive links that share a cell of the strip; the last cell may have fewer.
    pub strip_links_per_cell: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The end where it begins.
    pub from: String,
    /// The end where it leads.
    pub to: String,
    /// Bytes that were sent over it.
    pub bytes: u64,
    /// The total time for which it was sending.
    pub busy_ps: u64,
    /// That time in millionths of the duration of the job, a million at most: links may still send when the last rank has ended; 0 in a job that
    /// took no time.
    pub utilization_ppm: u64,
    /// The largest number of packets that waited for it at once.
    pub longest_queue: u32,
}

/// The number of links with a utilization within one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The lower bound of the interval; the next interval begins at its end.
    pub from_ppm: u64,
    /// Number of links.
    pub count: u64,
}

impl Links {
    /// Cost: sorts the links.
    pub(crate) fn new(links: Vec<LinkUse>, end: Instant) -> Self {
        let utilizations: Vec<u64> = links.iter().map(|link| utilization_ppm(link, end)).collect();
        let per_cell = links.len().div_ceil(STRIP_CELLS_MAX).max(1);
        let idle = links.iter().filter(|link| link.bytes == 0).count();
        Self {
            count: links.len() as u64,
            idle: idle as u64,
            bytes: links.iter().fold(0, |sum, link| sum.saturating_add(link.bytes)),
            left_out: (links.len() - idle).saturating_sub(LINK_ROWS_MAX) as u64,
            shares: shares(&utilizations),
            strip_utilization_ppm: utilizations.chunks(per_cell).filter_map(|cell| cell.iter().max().copied()).collect(),
            strip_links_per_cell: per_cell as u64,
            busiest: busiest(links, end),
        }
    }
}

fn utilization_ppm(link: &LinkUse, end: Instant) -> u64 {
    let busy = u128::from(link.busy.as_picoseconds()) * u128::from(PPM);
    let share = busy.checked_div(end.as_picoseconds().into()).unwrap_or(0);
    u64::try_from(share).unwrap_or(PPM).min(PPM)
}

fn shares(utilizations: &[u64]) -> Vec<Share> {
    let mut counts = [0; SHARES as usize];
    for utilization in utilizations {
        counts[(utilization / (PPM / SHARES)).min(SHARES - 1) as usize] += 1;
    }
    (0..).zip(counts).map(|(share, count)| Share { from_ppm: share * (PPM / SHARES), count }).collect()
}

fn busiest(mut links: Vec<LinkUse>, end: Instant) -> Vec<LinkRow> {
    links.retain(|link| link.bytes > 0);
    links.sort_by_key(|link| Reverse((link.busy, link.bytes)));
    links.truncate(LINK_ROWS_MAX);
    let row = |link: LinkUse| {
        let utilization_ppm = utilization_ppm(&link, end);
        let LinkUse { from, to, bytes, busy, longest_queue } = link;
        LinkRow { from, to, bytes, busy_ps: busy.as_picoseconds(), utilization_ppm, longest_queue }
    };
    links.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::Duration;

    fn link(number: u64, bytes: u64, busy: u64) -> LinkUse {
        let busy = Duration::from_picoseconds(busy);
        LinkUse { from: format!("nic {number}"), to: "router 0".into(), bytes, busy, longest_queue: 3 }
    }

    #[test]
    fn utilization_is_busy_time_over_all_time() {
        let links = Links::new(vec![link(0, 0, 0), link(1, 9, 250), link(2, 8, 1100)], Instant::from_picoseconds(1000));
        assert_eq!((links.count, links.idle, links.bytes, links.left_out), (3, 1, 17, 0));
        assert_eq!(links.strip_utilization_ppm, [0, 250_000, 1_000_000]);
        let counts: Vec<u64> = links.shares.iter().map(|share| share.count).collect();
        assert_eq!((counts[0], counts[5], counts[19], counts.iter().sum::<u64>()), (1, 1, 1, 3));
        let names: Vec<&str> = links.busiest.iter().map(|row| row.from.as_str()).collect();
        assert_eq!(names, ["nic 2", "nic 1"], "what sent nothing is not busy");
        let LinkRow { bytes, busy_ps, utilization_ppm, longest_queue, .. } = links.busiest[1];
        assert_eq!((bytes, busy_ps, utilization_ppm, longest_queue), (9, 250, 250_000, 3));
    }

    #[test]
    fn a_job_without_time_or_links_has_no_utilization() {
        let still = Links::new(vec![link(0, 1, 1)], Instant::ZERO);
        assert_eq!(still.strip_utilization_ppm, [0]);
        let none = Links::new(Vec::new(), Instant::from_picoseconds(5));
        assert_eq!((none.count, none.strip_links_per_cell, none.strip_utilization_ppm.len()), (0, 1, 0));
    }

    #[test]
    fn of_many_links_few_are_named_and_all_are_in_the_strip() {
        let count = 2 * STRIP_CELLS_MAX as u64 + 1;
        let links = Links::new((0..count).map(|n| link(n, n, n % 1000)).collect(), Instant::from_picoseconds(1000));
        assert_eq!((links.busiest.len(), links.idle), (LINK_ROWS_MAX, 1));
        assert_eq!(links.left_out, count - LINK_ROWS_MAX as u64 - 1, "the idle one is no less busy link of the list");
        assert!(links.busiest.is_sorted_by_key(|row| Reverse((row.busy_ps, row.bytes))));
        assert_eq!(links.strip_links_per_cell, 3);
        assert_eq!(links.strip_utilization_ppm.len() as u64, count.div_ceil(3));
        assert_eq!(links.strip_utilization_ppm[0], 2000);
        assert_eq!(links.shares.iter().map(|share| share.count).sum::<u64>(), count);
    }
}
