//! Flow control by pauses (PFC, IEEE 802.1Qbb) of one virtual channel of a class: its buffer asks the sender to stop when it fills up, and to
//! continue when it has emptied.
//!
//! The sender sees arrivals at the buffer and departures from it with the delay that a pause takes to reach it. Both are recorded as soon as
//! their times are known, which may lie in the future, and evaluated when the sender has a packet. Hence no pause is an event.

use std::collections::VecDeque;

use super::Network;

/// Bytes in a buffer at which the sender must stop, and at which it may continue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    pub(crate) stop: u32,
    pub(crate) resume: u32,
}

/// The memory of the record of a virtual channel, without what it has in flight.
pub(crate) const PAUSE_BYTES: u64 = size_of::<Pause>() as u64;

/// The sender's view of the buffer at the far end of one virtual channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    /// Bytes in the buffer; negative if a packet's departure is recorded before the arrival of its tail.
    occupied: i64,
    is_paused: bool,
    /// Arrivals and departures of bytes, each with the time at which the sender can know of it, in order of time.
    come: VecDeque<(u64, u32)>,
    gone: VecDeque<(u64, u32)>,
    /// Number of pauses that the buffer has asked for.
    pub(super) count: u64,
}

impl Pause {
    /// Records the arrival of a packet, of which the sender can know at time `at`.
    pub(super) fn comes(&mut self, at: u64, bytes: u32) {
        self.come.push_back((at, bytes));
    }

    /// Records the departure of packets, of which the sender can know at time `at`.
    pub(super) fn goes(&mut self, at: u64, bytes: u32) {
        let at = self.gone.back().map_or(at, |&(last, _)| at.max(last));
        self.gone.push_back((at, bytes));
    }

    /// Returns when the sender may send: `now` if it is not paused, `None` if the pause ends with a departure that is not recorded yet.
    pub(super) fn ends(&mut self, now: u64, thresholds: Thresholds) -> Option<u64> {
        while let Some((_, change)) = self.next().filter(|&(at, _)| at <= now) {
            self.take(change, thresholds);
        }
        if !self.is_paused {
            return Some(now);
        }
        // Applies the recorded future changes to a copy.
        let mut later = Self { count: 0, ..self.clone() };
        while let Some((at, change)) = later.next() {
            later.take(change, thresholds);
            if !later.is_paused {
                return Some(at);
            }
        }
        None
    }

    /// Returns the next change; of two at the same time, the departure.
    fn next(&self) -> Option<(u64, Change)> {
        match (self.come.front(), self.gone.front()) {
            (Some(&(come, bytes)), gone) if gone.is_none_or(|&(gone, _)| come < gone) => Some((come, Change::Comes(bytes))),
            (_, Some(&(gone, bytes))) => Some((gone, Change::Goes(bytes))),
            _ => None,
        }
    }

    fn take(&mut self, change: Change, thresholds: Thresholds) {
        match change {
            Change::Comes(bytes) => {
                self.come.pop_front();
                self.occupied += i64::from(bytes);
            }
            Change::Goes(bytes) => {
                self.gone.pop_front();
                self.occupied -= i64::from(bytes);
            }
        }
        if self.occupied >= i64::from(thresholds.stop) && !self.is_paused {
            self.is_paused = true;
            self.count += 1;
        } else if self.occupied <= i64::from(thresholds.resume) {
            self.is_paused = false;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Comes(u32),
    Goes(u32),
}

impl Network {
    /// The record of pauses of a lane of a channel, if it has one.
    #[inline]
    pub(super) fn pause(&self, channel: u32, lane: u32) -> Option<usize> {
        if self.pauses.is_empty() {
            return None;
        }
        let fabric = &self.fabrics[usize::from(self.channels[channel as usize].network)];
        fabric.pfc.map(|_| (fabric.first_pause + lane - fabric.first_lane) as usize)
    }

    /// Returns when the pause of a lane ends: `now` if it is not paused, `u64::MAX` if the time is not known yet. A release of buffer space then
    /// serves the channel.
    pub(super) fn unpaused_at(&mut self, channel: u32, lane: u32, now: u64) -> u64 {
        let Some(pause) = self.pause(channel, lane) else { return now };
        let thresholds = self.fabrics[usize::from(self.channels[channel as usize].network)].pfc;
        let ends = thresholds.and_then(|thresholds| self.pauses[pause].ends(now, thresholds));
        ends.unwrap_or_else(|| {
            self.lanes[lane as usize].starved = true;
            u64::MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds { stop: 300, resume: 100 };

    #[test]
    fn a_buffer_that_fills_up_pauses_until_it_has_emptied() {
        let mut pause = Pause::default();
        [10, 20, 30].iter().for_each(|&at| pause.comes(at, 100));
        assert_eq!([pause.ends(9, THRESHOLDS), pause.ends(29, THRESHOLDS)], [Some(9), Some(29)]);
        assert_eq!((pause.ends(30, THRESHOLDS), pause.count), (None, 1), "nothing is known to leave");
        pause.goes(40, 100);
        assert_eq!(pause.ends(50, THRESHOLDS), None, "200 bytes are more than those at which it goes on");
        pause.goes(60, 100);
        assert_eq!((pause.ends(50, THRESHOLDS), pause.ends(59, THRESHOLDS)), (Some(60), Some(60)));
        assert_eq!((pause.ends(60, THRESHOLDS), pause.count), (Some(60), 1));
    }

    /// A packet that is forwarded immediately leaves before its tail has arrived.
    #[test]
    fn what_passes_through_leaves_nothing() {
        let mut pause = Pause::default();
        for number in 0..10 {
            pause.goes(100 * number + 5, 100);
            pause.comes(100 * number + 10, 100);
        }
        assert_eq!((pause.ends(2000, THRESHOLDS), pause.occupied, pause.count), (Some(2000), 0, 0));
    }

    #[test]
    fn what_comes_late_counts_although_it_was_sent_before() {
        let mut pause = Pause::default();
        (1..=5).for_each(|number| pause.comes(number * 10, 100));
        (1..=3).for_each(|number| pause.goes(100 + number, 100));
        assert_eq!(pause.ends(35, THRESHOLDS), None, "two more come before anything leaves: three leave two hundred");
        pause.goes(110, 100);
        assert_eq!(pause.ends(35, THRESHOLDS), Some(110));
    }
}
