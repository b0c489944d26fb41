//! The state of one peer; 120 bytes when idle.
//!
//! | part | for |
//! |---|---|
//! | `sender`, `receiver` | one direction each: datagrams in flight, and datagrams received |
//! | `waiting` | frames and transfers that wait to be sent |
//! | `round_trip`, `congestion` | timeouts, and the congestion window |

pub(crate) mod congestion;
pub(crate) mod receiver;
pub(crate) mod round_trip;
pub(crate) mod sender;
pub(crate) mod waiting;

use pelago_base::{Duration, Failure, Instant, Rank};

use crate::api::UNREACHABLE_AFTER_LIMITS;
use crate::wire::Place;
use receiver::{Owed, Receiver, Verdict};
use round_trip::{Patience, RoundTrip};
use sender::{Before, Sender};

/// Size of a datagram that every network carries without fragmentation (RFC 8899). Used until both ends have announced their maximum.
pub(crate) const DATAGRAM_BYTES_BASE: usize = 1200;

/// Time without traffic after which the state that is not needed for exactly-once execution is dropped.
const IDLE_AFTER: Duration = Duration::from_milliseconds(2_000);

/// Number of unanswered tries after which datagrams return to the size that every network carries.
const TRIES_BEFORE_BASE: u32 = 3;

/// Number of probes of a silent peer within the failure limit.
const QUESTIONS: u64 = 5;

/// A peer that this rank has communicated with. `active` is dropped after a time without traffic. The rest is kept for ever, as exactly-once
/// execution needs the sequence state of both directions.
pub(crate) struct Peer {
    pub(crate) rank: Rank,
    /// Incarnation of the peer's process: that of the first datagram from the rank.
    pub(crate) incarnation: Option<u32>,
    /// Number of datagrams sent so far; valid while the peer is idle.
    sent: u64,
    /// Sequence number of the oldest datagram that has not been received.
    pub(crate) received: u64,
    /// Number of the peer's latest transmission, and its time of arrival.
    pub(crate) transmission: u64,
    pub(crate) heard: Instant,
    /// Number of writes of the peer that were refused here, and of refusals received from the peer.
    pub(crate) refusals_sent: u32,
    pub(crate) refusals_received: u32,
    pub(crate) round_trip: RoundTrip,
    /// Maximum datagram size of the route to the peer, as known here and as announced by the peer; 0 is unknown.
    pub(crate) datagram_bytes_here: u16,
    pub(crate) datagram_bytes_there: u16,
    /// Time interval in which the peer was last counted as a sender.
    pub(crate) counted: u32,
    pub(crate) standing: Standing,
    pub(crate) active: Option<Box<Active>>,
}

/// Whether operations on a peer may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Reached,
    Lost,
    Unreachable,
}

/// State that is needed while there is traffic.
pub(crate) struct Active {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Start of the current period with outstanding operations, or the latest time in it at which this rank ran again; valid during such a period.
    pub(crate) outstanding_since: Instant,
    pub(crate) used: Instant,
    /// Time of the last [`Silent`](crate::Event::Silent) event for the peer.
    doubted: Instant,
    /// Whether the peer is in the send queue, and in the queue of peers that wait for an acknowledgement.
    pub(crate) queued: bool,
    pub(crate) waiting: bool,
}

impl Peer {
    pub(crate) fn new(rank: Rank) -> Self {
        Self {
            rank,
            incarnation: None,
            sent: 0,
            received: 0,
            transmission: 0,
            heard: Instant::ZERO,
            refusals_sent: 0,
            refusals_received: 0,
            round_trip: RoundTrip::default(),
            datagram_bytes_here: 0,
            datagram_bytes_there: 0,
            counted: 0,
            standing: Standing::Reached,
            active: None,
        }
    }

    /// Returns the failure of operations on the peer, if they fail.
    pub(crate) fn failure(&self) -> Option<Failure> {
        match self.standing {
            Standing::Reached => None,
            Standing::Lost => Some(Failure::PeerLost(self.rank)),
            Standing::Unreachable => Some(Failure::Unreachable(self.rank)),
        }
    }

    /// Returns the size of a full datagram.
    pub(crate) fn datagram_bytes(&self) -> usize {
        let (tries, receive_window) =
            self.active.as_ref().map_or((0, u64::MAX), |active| (active.sender.tries, active.sender.receive_window));
        let both = usize::from(self.datagram_bytes_here.min(self.datagram_bytes_there));
        // If many senders share a receive window, a large datagram would use the shares of others.
        let part = usize::try_from(receive_window).unwrap_or(usize::MAX);
        if tries >= TRIES_BEFORE_BASE { DATAGRAM_BYTES_BASE } else { both.min(part).max(DATAGRAM_BYTES_BASE) }
    }

    /// Whether the datagram at this place has not been executed.
    pub(crate) fn is_new(&self, place: Place) -> bool {
        match &self.active {
            Some(active) => active.receiver.judge(self.received, place) != Verdict::Duplicate,
            None => place.sequence >= self.received,
        }
    }

    /// Activates the peer; returns whether it was inactive. `receive_window` is the estimate of the window that it grants.
    pub(crate) fn activate(&mut self, now: Instant, receive_window: u64) -> bool {
        if let Some(active) = &mut self.active {
            active.used = now;
            return false;
        }
        // All refusals that the peer has counted have been received, as no datagram is in flight.
        let before = Before { sent: self.sent, refused: self.refusals_received };
        let sender = Sender::new(before, self.datagram_bytes(), receive_window, now);
        let (receiver, queued, waiting) = (Receiver::default(), false, false);
        let (outstanding_since, used, doubted) = (now, now, Instant::ZERO);
        self.active = Some(Box::new(Active { sender, receiver, outstanding_since, used, doubted, queued, waiting }));
        true
    }

    /// Drops the active state if the peer has been idle for [`IDLE_AFTER`]; returns whether it did.
    pub(crate) fn rest(&mut self, now: Instant) -> bool {
        let Some(active) = &self.active else { return false };
        let idle = active.is_idle(self.received) && now >= active.used + IDLE_AFTER;
        if idle {
            self.sent = active.sender.next();
            self.active = None;
        }
        idle
    }

    /// Returns the next deadline of the peer, after `now`.
    pub(crate) fn deadline(&self, now: Instant, failure_limit: Duration, patience: Patience) -> Instant {
        const NEVER: Instant = Instant::from_picoseconds(u64::MAX);
        let Some(active) = &self.active else { return NEVER };
        let sender = &active.sender;
        let acknowledge = if let Owed::Later(due) = active.receiver.owed() { due } else { NEVER };
        let answer = sender.answer_due(&self.round_trip, patience).unwrap_or(NEVER);
        let pace = sender.congestion.due(self.round_trip.smoothed());
        // If the pace's time has passed, something else delays the datagram.
        let pace = if sender.has_new() && pace > now { pace } else { NEVER };
        let doubt = self.doubt_at(failure_limit).unwrap_or(NEVER);
        let question = self.question_at(failure_limit).unwrap_or(NEVER);
        let rest = if active.is_idle(self.received) { active.used + IDLE_AFTER } else { NEVER };
        acknowledge.min(answer).min(pace).min(doubt).min(question).min(rest)
    }

    /// Returns the time since which the peer has owed a sign of life without giving one, if it owes one.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        (!active.sender.is_idle()).then(|| self.heard.max(active.outstanding_since))
    }

    /// Returns when the peer becomes unreachable if it is alive: after a long silence, or if a datagram has not arrived at it for as long, because
    /// the network carries no datagrams of this length.
    pub(crate) fn unreachable_at(&self, failure_limit: Duration) -> Option<Instant> {
        let (silent, stuck) = (self.silent_since()?, self.active.as_ref()?.sender.stuck_since());
        let since = stuck.map_or(silent, |stuck| stuck.min(silent));
        Some(since + Duration::from_picoseconds(failure_limit.as_picoseconds().saturating_mul(UNREACHABLE_AFTER_LIMITS)))
    }

    /// Returns when to ask other sources whether the peer is alive: after each failure limit, and when it becomes unreachable.
    pub(crate) fn doubt_at(&self, failure_limit: Duration) -> Option<Instant> {
        let (since, doubted) = (self.silent_since()?, self.active.as_ref()?.doubted);
        let next = since.max(doubted) + failure_limit;
        let unreachable = self.unreachable_at(failure_limit)?;
        Some(if doubted < unreachable { next.min(unreachable) } else { next })
    }

    /// Starts all times without a sign of life anew: this rank did not run and could not receive any.
    pub(crate) fn restart_silence(&mut self, now: Instant) {
        if let Some(active) = &mut self.active {
            active.outstanding_since = now;
            active.sender.restart(now);
        }
    }

    /// Records that other sources were asked whether the peer is alive.
    pub(crate) fn doubt(&mut self, now: Instant) {
        if let Some(active) = &mut self.active {
            active.doubted = now;
        }
    }

    /// Returns when to probe the peer: while it owes an answer and there is no other traffic.
    pub(crate) fn question_at(&self, failure_limit: Duration) -> Option<Instant> {
        let active = self.active.as_ref().filter(|active| active.sender.awaited > 0 && active.sender.is_all_arrived())?;
        Some(self.heard.max(active.used) + question_pause(failure_limit))
    }
}

/// Returns the time between two probes of a silent peer.
pub(crate) fn question_pause(failure_limit: Duration) -> Duration {
    Duration::from_picoseconds(failure_limit.as_picoseconds() / QUESTIONS)
}

impl Active {
    fn is_idle(&self, received: u64) -> bool {
        self.sender.is_idle() && self.receiver.is_idle(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::waiting::Spare;
    use crate::wire::Frame;

    #[test]
    fn an_idle_peer_is_small() {
        assert!(size_of::<Peer>() <= 120, "{}", size_of::<Peer>());
    }

    #[test]
    fn a_datagram_is_no_longer_than_the_part_of_the_room() {
        let mut peer = Peer::new(Rank::new(1));
        (peer.datagram_bytes_here, peer.datagram_bytes_there) = (20_000, 30_000);
        assert_eq!(peer.datagram_bytes(), 20_000);
        for (receive_window, expected) in [(1 << 20, 20_000), (5_000, 5_000), (100, DATAGRAM_BYTES_BASE)] {
            peer.active = None;
            peer.activate(Instant::ZERO, receive_window);
            assert_eq!(peer.datagram_bytes(), expected, "of a receive window of {receive_window}");
        }
    }

    /// Returns a peer with an answer that waits to be sent.
    fn owing() -> Peer {
        let mut peer = Peer::new(Rank::new(1));
        peer.activate(Instant::ZERO, 1 << 20);
        let active = peer.active.as_mut().expect("just made active");
        active.sender.answer(&Frame::Value { operation: 0, value: 0 }, DATAGRAM_BYTES_BASE, &mut Spare::default());
        peer
    }

    #[test]
    fn a_pace_that_is_reached_asks_for_no_look() {
        let mut peer = owing();
        let [before, at] = [1, 2].map(|seconds| Instant::ZERO + Duration::from_milliseconds(seconds * 1_000));
        peer.active.as_mut().expect("active").sender.congestion.wait_until(at);
        let limit = Duration::from_seconds(100.0);
        assert_eq!(peer.deadline(before, limit, Patience::default()), at);
        assert!(peer.deadline(at, limit, Patience::default()) > at);
    }

    #[test]
    fn those_who_know_are_asked_in_each_limit_and_once_when_a_peer_becomes_unreachable() {
        let (mut peer, limit) = (owing(), Duration::from_seconds(1.0));
        let after = |milliseconds| Instant::ZERO + Duration::from_milliseconds(milliseconds);
        assert_eq!(peer.doubt_at(limit), Some(after(1_000)));
        // Late each time: the moment is not missed.
        for (asked, next) in [(1_500, 2_500), (19_500, 20_000), (20_000, 21_000), (20_700, 21_700)] {
            peer.doubt(after(asked));
            assert_eq!(peer.doubt_at(limit), Some(after(next)), "asked {asked} ms after");
        }
        peer.heard = after(20_800);
        assert_eq!(peer.doubt_at(limit), Some(after(21_800)));
    }

    #[test]
    fn a_peer_that_rests_keeps_how_far_it_has_come() {
        let mut peer = Peer::new(Rank::new(1));
        assert!(peer.activate(Instant::ZERO, 1 << 20) && !peer.activate(Instant::ZERO, 1 << 20));
        assert!(!peer.rest(Instant::ZERO));
        peer.sent = 7;
        peer.active = None;
        peer.activate(Instant::ZERO, 1 << 20);
        assert!(peer.rest(Instant::ZERO + IDLE_AFTER));
        assert_eq!((peer.sent, peer.active.is_none()), (7, true));
    }
}
