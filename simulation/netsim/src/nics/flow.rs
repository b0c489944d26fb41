//! Congestion control of a flow: the packets of one traffic class from one NIC to another.
//!
//! DCQCN (Zhu et al., *Congestion Control for Large-Scale RDMA Deployments*, SIGCOMM 2015) sets a rate: a notification, which the receiver of a
//! marked packet sends, cuts it in proportion to an estimate of congestion, and time and bytes without one raise it again. Swift (Kumar et al.,
//! *Swift: Delay is Simple and Effective for Congestion Control in the Datacenter*, SIGCOMM 2020) sets a window by the delay of each packet until its
//! answer; a window of less than a packet becomes a pause between packets. HPCC is in `hpcc`, the law after Slingshot in `slingshot`.
//!
//! Time is an argument; periodic changes are applied when the next packet is to be sent. Numbers are integers, in fixed units.

use super::hpcc::{HopRecord, Hpcc, Window};
use super::slingshot::{Limit, Slingshot};
use crate::events::rate::Rate;
use crate::machine::picoseconds;
use crate::machine::spec::{CongestionSpec, DcqcnSpec, SwiftSpec};

/// The fixed-point value of 1 in estimates and loads.
pub(super) const ONE: u64 = 1 << 20;

/// The fixed-point value of one packet in windows.
const PACKET: u64 = 1 << 16;

/// The smallest window: one packet in about a thousand round trips.
const WINDOW_MIN: u64 = PACKET >> 10;

/// The divisor of the link rate that gives the smallest rate.
const RATE_PARTS: u64 = 1000;

/// Congestion control of all NICs of a rail.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    Dcqcn(Dcqcn),
    Swift(Swift),
    Hpcc(Hpcc),
    Slingshot(Slingshot),
}

/// Times in picoseconds, rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dcqcn {
    notification: u64,
    gain: u64,
    estimate: u64,
    increase: u64,
    increase_bytes: u64,
    recoveries: u32,
    additive: u64,
    hyper: u64,
    /// The rate of the link.
    rate_max: u64,
}

/// Times in picoseconds, windows in units of 1 / [`PACKET`] packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swift {
    target: u64,
    range: u64,
    additive: u64,
    /// In units of 1 / [`ONE`].
    decrease: u64,
    decrease_max: u64,
    window_max: u64,
}

/// The state of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// When it may send the next packet.
    next: u64,
    /// Number of packets that were sent and not answered; with HPCC, their bytes.
    in_flight: u64,
    /// Number of packets that were sent.
    sent: u64,
    /// Transfers that wait for an answer.
    pub(crate) waiting: Vec<u32>,
    /// At the receiver: when it may notify again.
    notify_from: u64,
    /// The current rate, and the target of its recovery, in bytes per second.
    rate: u64,
    rate_target: u64,
    /// The estimate of congestion, in units of 1 / [`ONE`].
    congestion: u64,
    /// When the estimate decreases, and when the rate increases, unless a notification arrives before.
    estimate_at: u64,
    increase_at: u64,
    /// Number of increases since the last notification, by time and by bytes, and bytes towards the next one.
    increases: [u32; 2],
    bytes: u64,
    window: u64,
    /// When the window may decrease again.
    decrease_from: u64,
    round_trip: u64,
    hpcc: Option<Box<Window>>,
    limit: Limit,
}

/// What the answer to a packet returns of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// When it was sent.
    pub(crate) time: u64,
    /// Number of packets of the flow that were sent before.
    pub(crate) number: u64,
    pub(crate) bytes: u32,
}

/// Whether a flow may send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Now,
    At(u64),
    /// After an answer.
    Answer,
}

impl Control {
    pub(crate) fn new(spec: &CongestionSpec, link_gb_per_s: f64) -> Self {
        let rate = |gb_per_s: f64| (gb_per_s * 1e9) as u64;
        match spec {
            CongestionSpec::Dcqcn(DcqcnSpec {
                notification_ns,
                gain,
                estimate_ns,
                increase_ns,
                increase_bytes,
                recoveries,
                additive_gb_per_s,
                hyper_gb_per_s,
            }) => Self::Dcqcn(Dcqcn {
                notification: picoseconds(*notification_ns),
                gain: part(*gain).max(1),
                estimate: picoseconds(*estimate_ns),
                increase: picoseconds(*increase_ns),
                increase_bytes: *increase_bytes,
                recoveries: *recoveries,
                additive: rate(*additive_gb_per_s),
                hyper: rate(*hyper_gb_per_s),
                rate_max: rate(link_gb_per_s).max(1),
            }),
            CongestionSpec::Swift(SwiftSpec {
                target_ns,
                range_ns,
                additive_packets,
                decrease,
                decrease_max,
                window_packets,
            }) => Self::Swift(Swift {
                target: picoseconds(*target_ns),
                range: picoseconds(*range_ns),
                additive: (additive_packets * PACKET as f64) as u64,
                decrease: part(*decrease),
                decrease_max: part(*decrease_max),
                window_max: u64::from(*window_packets) * PACKET,
            }),
            CongestionSpec::Hpcc(hpcc) => Self::Hpcc(Hpcc::new(hpcc, link_gb_per_s)),
            CongestionSpec::Slingshot(slingshot) => Self::Slingshot(Slingshot::new(slingshot)),
        }
    }

    /// Whether each packet is answered.
    pub(crate) fn answers(&self) -> bool {
        !matches!(self, Self::Dcqcn(_))
    }

    /// A flow that sends its first packet.
    pub(crate) fn flow(&self) -> Flow {
        let (rate, window) = match self {
            Self::Dcqcn(Dcqcn { rate_max, .. }) => (*rate_max, 0),
            Self::Swift(Swift { window_max, .. }) => (0, *window_max),
            Self::Hpcc(_) | Self::Slingshot(_) => (0, 0),
        };
        let hpcc = match self {
            Self::Hpcc(hpcc) => Some(Box::new(hpcc.window())),
            _ => None,
        };
        Flow {
            next: 0,
            in_flight: 0,
            sent: 0,
            waiting: Vec::new(),
            notify_from: 0,
            rate,
            rate_target: rate,
            congestion: ONE,
            estimate_at: 0,
            increase_at: 0,
            increases: [0; 2],
            bytes: 0,
            window,
            decrease_from: 0,
            round_trip: 0,
            hpcc,
            limit: Limit::NONE,
        }
    }
}

/// Returns a part of 1 in units of 1 / [`ONE`].
pub(super) fn part(value: f64) -> u64 {
    (value * ONE as f64) as u64
}

impl Flow {
    /// Whether it may send a packet now.
    pub(crate) fn turn(&mut self, control: &Control, now: u64) -> Turn {
        let is_full = match control {
            Control::Dcqcn(dcqcn) => {
                self.make_up(dcqcn, now);
                false
            }
            Control::Swift(_) => self.in_flight > 0 && self.in_flight * PACKET + PACKET > self.window,
            Control::Hpcc(_) => self.in_flight > 0 && self.hpcc.as_ref().is_some_and(|window| window.is_full(self.in_flight)),
            Control::Slingshot(_) => self.limit.is_full(self.in_flight),
        };
        if is_full {
            return Turn::Answer;
        }
        if self.next > now { Turn::At(self.next) } else { Turn::Now }
    }

    /// Records that it sends a packet of `bytes` bytes now; returns what the answer will return of it.
    pub(crate) fn sends(&mut self, control: &Control, now: u64, bytes: u32) -> Stamp {
        let stamp = Stamp { time: now, number: self.sent, bytes };
        self.sent += 1;
        let bytes = u64::from(bytes);
        match control {
            Control::Dcqcn(dcqcn) => {
                if self.rate < dcqcn.rate_max {
                    self.next = now + Rate::bytes_per_second(self.rate).time(bytes);
                }
                self.bytes += bytes;
                while self.bytes >= dcqcn.increase_bytes {
                    self.bytes -= dcqcn.increase_bytes;
                    self.increases[1] = self.increases[1].saturating_add(1);
                    self.increase(dcqcn);
                }
            }
            Control::Swift(_) => {
                self.in_flight += 1;
                if self.window < PACKET {
                    self.next = now + (u128::from(self.round_trip) * u128::from(PACKET) / u128::from(self.window)) as u64;
                }
            }
            Control::Hpcc(hpcc) => {
                self.in_flight += bytes;
                self.next = now + self.hpcc.as_ref().map_or(0, |window| window.pause(hpcc, bytes));
            }
            Control::Slingshot(_) => self.in_flight += 1,
        }
        stamp
    }

    /// Whether the receiver of a marked packet notifies the sender now.
    pub(crate) fn notifies(&mut self, control: &Control, now: u64) -> bool {
        let Control::Dcqcn(dcqcn) = control else { return false };
        let notifies = now >= self.notify_from;
        if notifies {
            self.notify_from = now + dcqcn.notification;
        }
        notifies
    }

    /// A notification reaches the sender.
    pub(crate) fn notified(&mut self, control: &Control, now: u64) {
        if let Control::Slingshot(slingshot) = control {
            self.limit.notified(slingshot, now, self.sent, self.in_flight);
        }
        let Control::Dcqcn(dcqcn) = control else { return };
        self.make_up(dcqcn, now);
        self.rate_target = self.rate;
        let cut = u128::from(self.rate) * u128::from(self.congestion) / u128::from(2 * ONE);
        self.rate = (self.rate - cut as u64).max(dcqcn.rate_max / RATE_PARTS).max(1);
        self.congestion += (ONE - self.congestion) * dcqcn.gain / ONE;
        (self.increases, self.bytes) = ([0; 2], 0);
        (self.estimate_at, self.increase_at) = (now + dcqcn.estimate, now + dcqcn.increase);
    }

    /// A packet, or its answer, is lost.
    pub(crate) fn lost(&mut self, control: &Control, stamp: Stamp) {
        let amount = match control {
            Control::Dcqcn(_) => 0,
            Control::Swift(_) | Control::Slingshot(_) => 1,
            Control::Hpcc(_) => stamp.bytes.into(),
        };
        self.in_flight = self.in_flight.saturating_sub(amount);
    }

    /// Handles the answer to a packet. With HPCC, takes the records of its telemetry, and leaves others.
    pub(crate) fn answered(&mut self, control: &Control, now: u64, stamp: Stamp, path: &mut Vec<HopRecord>) {
        self.lost(control, stamp);
        match control {
            Control::Dcqcn(_) => {}
            Control::Swift(swift) => self.delayed(swift, now, now - stamp.time),
            Control::Hpcc(hpcc) => {
                if let Some(window) = &mut self.hpcc {
                    window.answered(hpcc, stamp.number, self.sent, path);
                }
            }
            Control::Slingshot(_) => self.limit.answered(now, stamp.number),
        }
    }

    /// Handles the answer to a packet after `delay`.
    fn delayed(&mut self, swift: &Swift, now: u64, delay: u64) {
        self.round_trip = delay;
        let target = swift.target + swift.scaling(self.window);
        if delay < target {
            let more = if self.window >= PACKET { swift.additive * PACKET / self.window } else { swift.additive };
            self.window = (self.window + more).min(swift.window_max);
        } else if now >= self.decrease_from {
            // A target of 0 may meet a delay of 0, which exceeds nothing.
            let excess = (u128::from(delay - target) * u128::from(swift.decrease) / u128::from(delay.max(1))) as u64;
            let part = ONE - excess.min(swift.decrease_max);
            self.window = (self.window * part / ONE).max(WINDOW_MIN);
            self.decrease_from = now + delay;
        }
    }

    /// Applies the periodic changes up to now.
    fn make_up(&mut self, dcqcn: &Dcqcn, now: u64) {
        if self.rate == dcqcn.rate_max && self.rate_target == dcqcn.rate_max {
            // Nothing but the estimate changes, and only a notification needs it.
            self.increase_at = self.increase_at.max(now);
        }
        while self.increase_at <= now && self.rate < dcqcn.rate_max {
            self.increase_at += dcqcn.increase;
            self.increases[0] = self.increases[0].saturating_add(1);
            self.increase(dcqcn);
        }
        while self.estimate_at <= now && self.congestion > 0 && self.estimate_at > 0 {
            self.estimate_at += dcqcn.estimate;
            self.congestion -= (self.congestion * dcqcn.gain / ONE).max(1);
        }
    }

    fn increase(&mut self, dcqcn: &Dcqcn) {
        let [fewer, more] = [self.increases[0].min(self.increases[1]), self.increases[0].max(self.increases[1])];
        let step = match dcqcn.recoveries {
            recoveries if fewer > recoveries => dcqcn.hyper,
            recoveries if more > recoveries => dcqcn.additive,
            _ => 0,
        };
        self.rate_target = self.rate_target.saturating_add(step).min(dcqcn.rate_max);
        self.rate = (self.rate + self.rate_target).div_ceil(2);
    }
}

impl Swift {
    /// Returns how much longer the target delay is for a window: `range` for a tenth of a packet and less, 0 for 100 packets and more, and
    /// between them by the inverse of the window's square root (section 3.1.5 of the paper).
    fn scaling(&self, window: u64) -> u64 {
        // The inverse of the square root, times 1,000: 3,162 for a tenth, 100 for a hundred.
        let inverse = |window: u64| (PACKET * 1_000_000 / window.max(1)).isqrt();
        let (most, least) = (3_162, 100);
        let inverse = inverse(window).clamp(least, most);
        (u128::from(self.range) * u128::from(inverse - least) / u128::from(most - least)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: u64 = 1_000_000;

    fn dcqcn() -> Control {
        Control::new(&CongestionSpec::Dcqcn(DcqcnSpec::default()), 5.0)
    }

    /// Section 3.1 of the paper: a first notification halves the rate, five increases bring back half of the rest each, later ones add.
    #[test]
    fn a_rate_is_cut_and_recovers_as_the_paper_says() {
        let control = dcqcn();
        let Control::Dcqcn(law) = control else { panic!() };
        let mut flow = control.flow();
        let start = 1000 * MICROSECOND;
        flow.notified(&control, start);
        assert_eq!((flow.rate, flow.rate_target), (2_500_000_000, 5_000_000_000));
        for step in 1..=5u64 {
            flow.turn(&control, start + step * 55 * MICROSECOND);
            assert_eq!(5_000_000_000 - flow.rate, 2_500_000_000 >> step, "after {step} increases");
        }
        // A second notification a little later halves the rate again, as the estimate has hardly decreased; then the additive increase follows.
        flow.notified(&control, start + 300 * MICROSECOND);
        let (cut, target) = (flow.rate, flow.rate_target);
        assert!(cut * 100 > target * 50 && cut * 100 < target * 52, "{cut} of {target}");
        flow.turn(&control, start + (300 + 6 * 55) * MICROSECOND);
        assert_eq!(flow.rate_target, target + law.additive);
        // Without congestion the estimate decays to nothing, and the rate returns.
        assert_eq!(flow.turn(&control, start + 1_000_000 * MICROSECOND), Turn::Now);
        assert_eq!(flow.rate, 5_000_000_000);
        flow.notified(&control, start + 1_000_001 * MICROSECOND);
        assert!(flow.rate > 4_900_000_000, "{}", flow.rate);
    }

    #[test]
    fn bytes_raise_a_rate_too_and_both_together_faster() {
        let control = dcqcn();
        let Control::Dcqcn(law) = control else { panic!() };
        let mut flow = control.flow();
        flow.notified(&control, MICROSECOND);
        (0..10).for_each(|_| flow.notified(&control, MICROSECOND));
        let (before, now) = (flow.rate_target, 7 * 55 * MICROSECOND);
        flow.turn(&control, now);
        let by_time = flow.rate_target;
        assert_eq!(by_time - before, law.additive);
        (0..6).for_each(|_| _ = flow.sends(&control, now, law.increase_bytes as u32));
        assert_eq!(flow.rate_target - by_time, 5 * law.additive + law.hyper);
        assert!(matches!(flow.turn(&control, now), Turn::At(next) if next > now));
    }

    /// Increases by `inf`, which a description may have, go to the rate of the link at once.
    #[test]
    fn increases_without_a_limit_lead_to_the_rate_of_the_link() {
        let step = f64::INFINITY;
        let spec = DcqcnSpec { additive_gb_per_s: step, hyper_gb_per_s: step, recoveries: 1, ..DcqcnSpec::default() };
        let control = Control::new(&CongestionSpec::Dcqcn(spec), 5.0);
        let Control::Dcqcn(law) = control else { panic!() };
        let mut flow = control.flow();
        let cut = |flow: &mut Flow| {
            (0..2).for_each(|_| flow.notified(&control, MICROSECOND));
            assert_eq!(flow.rate_target, 2_500_000_000);
        };
        cut(&mut flow);
        flow.turn(&control, 120 * MICROSECOND);
        assert_eq!(flow.rate_target, 5_000_000_000, "additive, after two increases by time");
        flow = control.flow();
        cut(&mut flow);
        flow.increases[1] = 2;
        flow.turn(&control, 120 * MICROSECOND);
        assert_eq!((flow.increases[0], flow.rate_target), (2, law.rate_max), "hyper, after two by time and two by bytes");
    }

    #[test]
    fn notifications_keep_their_distance() {
        let (control, mut flow) = (dcqcn(), dcqcn().flow());
        let times: Vec<u64> = (0..200).filter(|&time| flow.notifies(&control, time * MICROSECOND)).collect();
        assert_eq!(times, [0, 50, 100, 150]);
    }

    /// Section 3.1 of the paper: additive increase below the target, decrease in proportion above it, once a round trip.
    #[test]
    fn a_window_grows_below_the_target_and_shrinks_above() {
        let spec = SwiftSpec { target_ns: 20e3, range_ns: 0.0, window_packets: 16, ..SwiftSpec::default() };
        let control = Control::new(&CongestionSpec::Swift(spec), 5.0);
        let mut flow = control.flow();
        let mut answer = |now: u64, delay: u64| {
            let Control::Swift(swift) = &control else { panic!() };
            flow.delayed(swift, now * MICROSECOND, delay * MICROSECOND);
            flow.window as f64 / PACKET as f64
        };
        let excess = 0.8 * 5.0 / 25.0;
        assert!((answer(100, 25) - 16.0 * (1.0 - excess)).abs() < 1e-3, "0.8 of the excess");
        assert!((answer(110, 1000) - 13.44).abs() < 1e-3, "the same round trip");
        assert!((answer(126, 1000) - 6.72).abs() < 1e-3, "half at most");
        let grown = answer(130, 10);
        assert!((grown - 6.72 - 1.0 / 6.72).abs() < 1e-3, "{grown}: a packet for each window");
        // The window shrinks to less than a packet, which becomes a pause.
        (0..5).for_each(|round| {
            answer(2000 * (round + 2), 1000);
        });
        assert!(flow.window < PACKET / 2);
        let stamp = flow.sends(&control, 0, 1000);
        flow.lost(&control, stamp);
        assert!(matches!(flow.turn(&control, 1), Turn::At(next) if next > 2000 * MICROSECOND));
    }

    #[test]
    fn a_delay_of_nothing_exceeds_no_target() {
        let spec = SwiftSpec { target_ns: 0.0, range_ns: 0.0, ..SwiftSpec::default() };
        let control = Control::new(&CongestionSpec::Swift(spec), 5.0);
        let mut flow = control.flow();
        let stamp = flow.sends(&control, MICROSECOND, 1000);
        flow.answered(&control, MICROSECOND, stamp, &mut Vec::new());
        assert_eq!(flow.window, 256 * PACKET);
    }

    #[test]
    fn a_window_bounds_what_is_in_flight() {
        let control = Control::new(&CongestionSpec::Swift(SwiftSpec { window_packets: 2, ..SwiftSpec::default() }), 5.0);
        let mut flow = control.flow();
        let stamps = [0, 1].map(|number| {
            assert_eq!(flow.turn(&control, 5), Turn::Now);
            let stamp = flow.sends(&control, 5, 1000);
            assert_eq!((stamp.time, stamp.number, stamp.bytes), (5, number, 1000));
            stamp
        });
        assert_eq!(flow.turn(&control, 5), Turn::Answer);
        flow.lost(&control, stamps[0]);
        assert_eq!(flow.turn(&control, 6), Turn::Now);
    }

    #[test]
    fn small_windows_have_larger_targets() {
        let Control::Swift(swift) = Control::new(&CongestionSpec::Swift(SwiftSpec::default()), 5.0) else { panic!() };
        let of = |packets: f64| swift.scaling((packets * PACKET as f64) as u64) as f64 / swift.range as f64;
        assert_eq!((of(0.01), of(100.0), of(1000.0)), (1.0, 0.0, 0.0));
        assert!((of(1.0) - (1.0 - 0.1) / (3.162 - 0.1)).abs() < 1e-3 && of(0.1) > 0.999);
    }
}
