//! Congestion control with the published properties of the Slingshot interconnect. The law and its values are assumed.
//!
//! Published (De Sensi et al., *An In-Depth Analysis of the Slingshot Interconnect*, SC 2020): the hardware tracks every packet in
//! flight between every pair of endpoints, tells flows that cause the congestion of an endpoint from their victims, and applies stiff and fast
//! back-pressure to the sources of the former alone. The algorithm is not published.
//!
//! Assumed: the last router of a packet notifies its source if more bytes than a threshold wait for the NIC. Each notification takes one packet
//! from the number that the flow may have in flight, down to a minimum. As each packet above the threshold causes one, the flows lose together
//! what is too much, whatever their number. Once no notification has come for some time, a flow may have one packet more in each round trip.
//! Answers to packets that were sent before the last notification do not count: these packets stood in the queue that caused it.

use crate::machine::picoseconds;
use crate::machine::spec::SlingshotSpec;

/// The law of all flows of a rail. Times in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slingshot {
    limited: u32,
    recovery: u64,
}

/// The limit of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Maximum number of packets in flight; the largest number stands for none.
    packets: u32,
    /// From when answers permit more, and the number of the first packet whose answer does.
    recovers_at: u64,
    recovers_from: u64,
    /// Number of such answers since it permitted one more packet.
    answers: u32,
}

impl Slingshot {
    pub(crate) fn new(spec: &SlingshotSpec) -> Self {
        Self { limited: spec.limited_packets, recovery: picoseconds(spec.recovery_ns) }
    }
}

impl Limit {
    pub(crate) const NONE: Self = Self { packets: u32::MAX, recovers_at: 0, recovers_from: 0, answers: 0 };

    /// Whether it permits no more packets while so many are in flight.
    pub(crate) fn is_full(&self, in_flight: u64) -> bool {
        in_flight >= u64::from(self.packets)
    }

    /// Handles a notification of a flow of which `sent` packets have been sent and `in_flight` are not answered.
    pub(crate) fn notified(&mut self, law: &Slingshot, now: u64, sent: u64, in_flight: u64) {
        let packets = in_flight.min(self.packets.into()).saturating_sub(1) as u32;
        let recovers_at = now.saturating_add(law.recovery);
        *self = Self { packets: packets.max(law.limited), recovers_at, recovers_from: sent, answers: 0 };
    }

    /// Handles the answer to packet `number` of the flow.
    pub(crate) fn answered(&mut self, now: u64, number: u64) {
        if now >= self.recovers_at && number >= self.recovers_from {
            self.answers += 1;
            if self.answers >= self.packets {
                self.packets = self.packets.saturating_add(1);
                self.answers = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_take_packets_and_answers_bring_them_back() {
        let law = Slingshot::new(&SlingshotSpec { limited_packets: 2, recovery_ns: 1.0, ..SlingshotSpec::default() });
        let mut limit = Limit::NONE;
        limit.answered(5, 0);
        assert!(!limit.is_full(1_000_000), "no limit stays none");
        limit.notified(&law, 10, 7, 5);
        assert_eq!(limit.packets, 4, "one less than are in flight");
        limit.notified(&law, 10, 7, 5);
        assert_eq!(limit.packets, 3, "one less than permitted");
        (0..9).for_each(|_| limit.notified(&law, 10, 7, 5));
        assert_eq!([1, 2].map(|packets| limit.is_full(packets)), [false, true], "the minimum");
        (0..9).for_each(|_| limit.answered(1_009, 7));
        assert_eq!(limit.packets, 2, "too early");
        (0..9).for_each(|_| limit.answered(1_010, 6));
        assert_eq!(limit.packets, 2, "sent before the notification");
        let permitted = [7, 8, 9, 10, 11, 12].map(|number| {
            limit.answered(1_010, number);
            limit.packets
        });
        assert_eq!(permitted, [2, 3, 3, 3, 4, 4], "one more for as many answers as were permitted");
        limit.notified(&law, 1_020, 13, 4);
        (0..9).for_each(|_| limit.answered(2_019, 13));
        assert_eq!(limit.packets, 3, "a notification begins the time anew");
    }
}
