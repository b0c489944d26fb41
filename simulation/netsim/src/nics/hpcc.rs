//! HPCC: congestion control by telemetry (Li et al., *HPCC: High Precision Congestion Control*, SIGCOMM 2019).
//!
//! Each router writes into a packet how long its queue is, how much its link has sent, and when; the answer to the packet returns that. From
//! two answers the sender computes the load of each link, of which 1 is the bytes that it carries in a round trip, and adapts its window to the most
//! loaded one (Algorithm 1): in proportion if the load is above its target, else by a small step. Answers of one round trip adapt
//! the same reference window, so that none is counted twice. The window also sets the pace.
//!
//! Published: Algorithm 1, and the format of the telemetry: two bytes, and eight for each router. Assumed: the load of a new flow
//! is 1, as it begins at the rate of its link; a window is at most the initial one, and at least a thousandth of it.

use super::flow::{ONE, part};
use crate::machine::picoseconds;
use crate::machine::spec::HpccSpec;

/// The fixed-point value of one byte in windows.
const BYTE: u64 = 1 << 8;

/// The divisor of the initial window that gives the smallest one.
const WINDOW_PARTS: u64 = 1000;

/// Maximum load of a link, in units of 2⁻²⁰: a million times its rate.
const LOAD_MAX: u64 = ONE << 20;

/// What a router writes into a packet that it sends over a link. Bytes are given by the time that the link takes for them, which contains its
/// rate. Times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HopRecord {
    pub(crate) channel: u32,
    /// When the packet is sent.
    pub(crate) time: u64,
    /// The bytes that the link has sent before.
    pub(crate) sent: u64,
    /// The bytes that wait for the link behind the packet.
    pub(crate) queue: u64,
}

/// The law of all flows of a rail. Times in picoseconds, windows in units of 1 / [`BYTE`] bytes, loads in units of 1 / [`ONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hpcc {
    round_trip: u64,
    utilization: u64,
    stages: u32,
    additive: u64,
    window_max: u64,
}

/// The window of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The names of the paper: W, W_c, incStage, U, lastUpdateSeq, L.
    window: u64,
    reference: u64,
    stage: u32,
    load: u64,
    /// The number of the first packet of the flow whose answer may change the reference window.
    update_from: u64,
    path: Vec<HopRecord>,
}

impl Hpcc {
    pub(crate) fn new(spec: &HpccSpec, link_gb_per_s: f64) -> Self {
        let &HpccSpec { round_trip_ns, utilization, stages, additive_bytes } = spec;
        // Nanoseconds times gigabytes per second are bytes.
        let window_max = (round_trip_ns * link_gb_per_s * BYTE as f64) as u64;
        Self {
            round_trip: picoseconds(round_trip_ns),
            utilization: part(utilization).max(1),
            stages,
            additive: u64::from(additive_bytes) * BYTE,
            window_max: window_max.max(BYTE),
        }
    }

    /// The window of a new flow.
    pub(crate) fn window(&self) -> Window {
        Window { window: self.window_max, reference: self.window_max, stage: 0, load: ONE, update_from: 0, path: Vec::new() }
    }
}

impl Window {
    /// Whether it permits no more packets while so many bytes are in flight.
    pub(crate) fn is_full(&self, in_flight: u64) -> bool {
        in_flight * BYTE >= self.window
    }

    /// Returns the time from a packet of `bytes` bytes to the next one.
    pub(crate) fn pause(&self, law: &Hpcc, bytes: u64) -> u64 {
        if self.window == law.window_max {
            return 0;
        }
        (u128::from(law.round_trip) * u128::from(bytes * BYTE) / u128::from(self.window)) as u64
    }

    /// Handles the answer to packet `number` of the flow, of which `sent` packets have been sent. Takes the records and leaves the previous ones.
    pub(crate) fn answered(&mut self, law: &Hpcc, number: u64, sent: u64, path: &mut Vec<HopRecord>) {
        if let Some((load, time)) = self.load_of(law, path) {
            let (round_trip, time) = (u128::from(law.round_trip), u128::from(time.min(law.round_trip)));
            self.load = ((u128::from(self.load) * (round_trip - time) + u128::from(load) * time) / round_trip) as u64;
            let updates = number >= self.update_from;
            self.adapt(law, updates);
            if updates {
                self.update_from = sent;
            }
        }
        std::mem::swap(&mut self.path, path);
    }

    /// Returns the load of the most loaded link since the previous answer, and the time in which it was measured; `None` if the route has changed
    /// or no time has passed.
    fn load_of(&self, law: &Hpcc, path: &[HopRecord]) -> Option<(u64, u64)> {
        let hops = || self.path.iter().zip(path);
        if self.path.len() != path.len() || hops().any(|(before, after)| before.channel != after.channel) {
            return None;
        }
        let of = |(before, after): (&HopRecord, &HopRecord)| {
            let time = after.time.checked_sub(before.time).filter(|&time| time > 0)?;
            let queue = u128::from(before.queue.min(after.queue)) * u128::from(ONE) / u128::from(law.round_trip);
            let rate = u128::from(after.sent - before.sent) * u128::from(ONE) / u128::from(time);
            Some(((queue + rate).min(u128::from(LOAD_MAX)) as u64, time))
        };
        hops().filter_map(of).reduce(|most, hop| if hop.0 > most.0 { hop } else { most })
    }

    /// Adapts the window to the load, and the reference window if `updates`.
    fn adapt(&mut self, law: &Hpcc, updates: bool) {
        let probes = self.load < law.utilization && self.stage < law.stages;
        let base = match probes {
            true => self.reference,
            false => (u128::from(self.reference) * u128::from(law.utilization) / u128::from(self.load.max(1))) as u64,
        };
        self.window = base.saturating_add(law.additive).clamp(law.window_max.div_ceil(WINDOW_PARTS), law.window_max);
        if updates {
            self.stage = if probes { self.stage + 1 } else { 0 };
            self.reference = self.window;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::spec::{HOPS_MAX, telemetry_bytes};

    const ROUND_TRIP: u64 = 1_000_000;

    /// A round trip of a microsecond over links of 1 GB/s, so that the initial window is 1,000 bytes.
    fn law() -> Hpcc {
        Hpcc::new(&HpccSpec { round_trip_ns: 1e3, utilization: 0.75, stages: 2, additive_bytes: 10 }, 1.0)
    }

    /// A window, and the records of the last answer.
    struct Sender {
        law: Hpcc,
        window: Window,
        path: Vec<HopRecord>,
        number: u64,
    }

    impl Sender {
        fn new(hops: u32) -> Self {
            let law = law();
            let path = (0..hops).map(|channel| HopRecord { channel, ..HopRecord::default() }).collect();
            let mut sender = Self { law, window: law.window(), path, number: 0 };
            sender.answer(0, 1);
            sender
        }

        /// Handles the answer to the packet of a number; returns the window in bytes and the load.
        fn answer(&mut self, number: u64, sent: u64) -> (f64, f64) {
            self.window.answered(&self.law, number, sent, &mut self.path.clone());
            (self.window.window as f64 / BYTE as f64, self.window.load as f64 / ONE as f64)
        }

        /// The same, after `time` round trips in which the link of a hop was busy for a part of them; its queue is `queue` round trips long.
        fn after(&mut self, hop: usize, time: f64, busy: f64, queue: f64) -> (f64, f64) {
            let of = |value: f64| (value * ROUND_TRIP as f64) as u64;
            self.path.iter_mut().for_each(|record| record.time += of(time));
            self.path[hop].sent += of(time * busy);
            self.path[hop].queue = of(queue);
            self.number += 1;
            self.answer(self.number, self.number + 1)
        }
    }

    /// Algorithm 1 of the paper, by hand.
    #[test]
    fn a_window_follows_the_load_and_probes_by_steps() {
        let mut sender = Sender::new(1);
        assert_eq!(sender.window.window, 1000 * BYTE, "the first answer has nothing to compare with");
        assert_eq!(sender.after(0, 1.0, 1.0, 2.0), (1000.0 * 0.75 + 10.0, 1.0), "the shorter one of two queues counts");
        assert_eq!(sender.after(0, 1.0, 1.0, 1.0), (760.0 * 0.75 / 2.0 + 10.0, 2.0));
        assert_eq!(sender.after(0, 0.25, 0.0, 0.0).1, 1.5, "a quarter of a round trip counts a quarter");
        assert_eq!(sender.after(0, 4.0, 0.5, 0.0).1, 0.5, "and more than one, as one");
        let mut sender = Sender::new(1);
        sender.after(0, 1.0, 1.0, 3.0);
        sender.after(0, 1.0, 1.0, 3.0);
        let reference = 760.0 * 0.75 / 4.0 + 10.0;
        let steps = [1, 2].map(|_| sender.after(0, 1.0, 0.25, 0.0).0);
        assert_eq!(steps, [reference + 10.0, reference + 20.0]);
        assert_eq!(sender.after(0, 1.0, 0.25, 0.0).0, (reference + 20.0) * 3.0 + 10.0, "after two steps it follows the load");
        (0..9).for_each(|_| _ = sender.after(0, 1.0, 0.01, 0.0));
        assert_eq!(sender.window.window, 1000 * BYTE, "the initial window is the largest one");
        (0..99).for_each(|_| _ = sender.after(0, 1.0, 1.0, 1e6));
        assert_eq!(sender.window.reference, 10 * BYTE, "a step above nothing");
    }

    /// All answers of a round trip adapt the same reference window.
    #[test]
    fn answers_of_one_round_trip_adapt_one_reference() {
        let mut sender = Sender::new(1);
        sender.answer(0, 5);
        sender.path[0] = HopRecord { channel: 0, time: ROUND_TRIP, sent: ROUND_TRIP, queue: 0 };
        assert_eq!(sender.answer(1, 9), (760.0, 1.0));
        for number in 2..9 {
            sender.path[0].time += ROUND_TRIP;
            sender.path[0].sent += ROUND_TRIP;
            assert_eq!(sender.answer(number, 12), (760.0 * 0.75 + 10.0, 1.0), "packet {number} was sent before the change");
            assert_eq!(sender.window.reference, 760 * BYTE);
        }
        sender.path[0].time += ROUND_TRIP;
        sender.path[0].sent += ROUND_TRIP;
        sender.answer(9, 12);
        assert_eq!(sender.window.reference, 580 * BYTE);
    }

    #[test]
    fn the_most_loaded_link_counts() {
        let mut sender = Sender::new(3);
        sender.path[2].sent = ROUND_TRIP / 2;
        assert_eq!(sender.after(1, 1.0, 0.75, 0.0).1, 0.75);
        assert_eq!(sender.after(0, 1.0, 0.25, 0.0).1, 0.25);
    }

    #[test]
    fn records_of_different_routes_are_not_compared() {
        let mut sender = Sender::new(2);
        sender.path[1].channel = 7;
        assert_eq!(sender.after(1, 1.0, 1.0, 5.0), (1000.0, 1.0), "another link");
        sender.path.pop();
        assert_eq!(sender.after(0, 1.0, 1.0, 5.0), (1000.0, 1.0), "another number of links");
        assert_eq!(sender.answer(9, 10), (1000.0, 1.0), "no time has passed");
        assert!(sender.after(0, 1.0, 1.0, 5.0).0 < 200.0, "the same route again");
    }

    #[test]
    fn a_window_bounds_bytes_and_sets_the_pace() {
        let mut sender = Sender::new(1);
        assert_eq!(sender.window.pause(&sender.law, 100), 0, "the link sets the pace");
        assert_eq!([999, 1000].map(|bytes| sender.window.is_full(bytes)), [false, true]);
        sender.after(0, 1.0, 1.0, 0.0);
        assert_eq!([759, 760].map(|bytes| sender.window.is_full(bytes)), [false, true]);
        assert_eq!(sender.window.pause(&sender.law, 380), ROUND_TRIP / 2);
    }

    /// 42 bytes for five routers.
    #[test]
    fn telemetry_has_the_published_size() {
        assert_eq!([5, HOPS_MAX].map(telemetry_bytes), [42, 122]);
    }
}
