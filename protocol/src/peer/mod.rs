//! What is known of one peer; 120 bytes when idle.
//!
//! | part | for |
//! |---|---|
//! | `sender`, `receiver` | one direction each: what is on its way and what has come |
//! | `waiting` | what waits to be sent |
//! | `round_trip`, `congestion` | how long to wait, and how much to send |

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
use sender::Sender;

/// The datagram that every network carries whole (RFC 8899), until both ends have said what they can take.
pub(crate) const DATAGRAM_BYTES_BASE: usize = 1200;

/// After so long without traffic, what is not needed for exactness is dropped.
const IDLE_AFTER: Duration = Duration::from_milliseconds(2_000);

/// After so many tries in vain, datagrams go back to the size that every network carries.
const TRIES_BEFORE_BASE: u32 = 3;

/// A peer is asked whether it is there so many times within the failure limit.
const QUESTIONS: u64 = 5;

/// A peer that this rank has talked to. Without `active`, which is dropped when nothing passes for a while, it keeps what exactness
/// needs for ever: how far both sides have come.
pub(crate) struct Peer {
    pub(crate) rank: Rank,
    /// The process that speaks for the rank; the first that did.
    pub(crate) incarnation: Option<u32>,
    /// Datagrams sent so far, while idle.
    sent: u64,
    /// The oldest datagram that has not come.
    pub(crate) received: u64,
    /// The peer's latest transmission, and when it came.
    pub(crate) transmission: u64,
    pub(crate) heard: Instant,
    /// Writes of the peer that were refused, and writes that the peer refused, as far as it told.
    pub(crate) refusals_sent: u32,
    pub(crate) refusals_received: u32,
    pub(crate) round_trip: RoundTrip,
    /// The largest datagram that the way there takes, as seen from here and from there; 0 is unknown.
    pub(crate) datagram_bytes_here: u16,
    pub(crate) datagram_bytes_there: u16,
    /// When it was last counted among those that send.
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

/// What is needed while something passes.
pub(crate) struct Active {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Since when something is under way to the peer; meaningful while it is.
    pub(crate) outstanding_since: Instant,
    pub(crate) used: Instant,
    /// When it was asked last whether the peer is alive.
    doubted: Instant,
    /// Whether the peer stands in the queue of those that something may have to be sent to, and of those that wait for an acknowledgement.
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

    /// Why operations on it fail, if they do.
    pub(crate) fn failure(&self) -> Option<Failure> {
        match self.standing {
            Standing::Reached => None,
            Standing::Lost => Some(Failure::PeerLost(self.rank)),
            Standing::Unreachable => Some(Failure::Unreachable(self.rank)),
        }
    }

    /// The size of a full datagram.
    pub(crate) fn datagram_bytes(&self) -> usize {
        let (tries, receive_window) =
            self.active.as_ref().map_or((0, u64::MAX), |active| (active.sender.tries, active.sender.receive_window));
        let both = usize::from(self.datagram_bytes_here.min(self.datagram_bytes_there));
        // Where many share a receive window, a large datagram would take the parts of others.
        let part = usize::try_from(receive_window).unwrap_or(usize::MAX);
        if tries >= TRIES_BEFORE_BASE { DATAGRAM_BYTES_BASE } else { both.min(part).max(DATAGRAM_BYTES_BASE) }
    }

    /// Whether a datagram at this place has not been executed.
    pub(crate) fn is_new(&self, place: Place) -> bool {
        match &self.active {
            Some(active) => active.receiver.judge(self.received, place) != Verdict::Duplicate,
            None => place.sequence >= self.received,
        }
    }

    /// Makes sure that the peer is active; returns whether it was not. `receive_window` is what it grants, as far as that can be guessed.
    pub(crate) fn activate(&mut self, now: Instant, receive_window: u64) -> bool {
        if let Some(active) = &mut self.active {
            active.used = now;
            return false;
        }
        let sender = Sender::new(self.sent, self.datagram_bytes(), receive_window, now);
        let (receiver, queued, waiting) = (Receiver::default(), false, false);
        let (outstanding_since, used, doubted) = (now, now, Instant::ZERO);
        self.active = Some(Box::new(Active { sender, receiver, outstanding_since, used, doubted, queued, waiting }));
        true
    }

    /// Drops what is not needed if the peer has been idle for long; returns whether it did.
    pub(crate) fn rest(&mut self, now: Instant) -> bool {
        let Some(active) = &self.active else { return false };
        let idle = active.is_idle(self.received) && now >= active.used + IDLE_AFTER;
        if idle {
            self.sent = active.sender.next();
            self.active = None;
        }
        idle
    }

    /// When the peer wants to be looked at next, after `now`.
    pub(crate) fn deadline(&self, now: Instant, failure_limit: Duration, patience: Patience) -> Instant {
        const NEVER: Instant = Instant::from_picoseconds(u64::MAX);
        let Some(active) = &self.active else { return NEVER };
        let sender = &active.sender;
        let acknowledge = if let Owed::Later(due) = active.receiver.owed() { due } else { NEVER };
        let answer = sender.answer_due(&self.round_trip, patience).unwrap_or(NEVER);
        let pace = sender.congestion.due(self.round_trip.smoothed());
        // A pace that is reached is not what holds a datagram up.
        let pace = if sender.has_new() && pace > now { pace } else { NEVER };
        let doubt = self.doubt_at(failure_limit).unwrap_or(NEVER);
        let question = self.question_at(failure_limit).unwrap_or(NEVER);
        let rest = if active.is_idle(self.received) { active.used + IDLE_AFTER } else { NEVER };
        acknowledge.min(answer).min(pace).min(doubt).min(question).min(rest)
    }

    /// Since when the peer has owed a sign of life and given none, if it owes one.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        (!active.sender.is_idle()).then(|| self.heard.max(active.outstanding_since))
    }

    /// When to ask those who know whether the peer is alive: after each failure limit, and when it becomes unreachable.
    pub(crate) fn doubt_at(&self, failure_limit: Duration) -> Option<Instant> {
        let (since, doubted) = (self.silent_since()?, self.active.as_ref()?.doubted);
        let next = since.max(doubted) + failure_limit;
        let unreachable = unreachable_at(since, failure_limit);
        Some(if doubted < unreachable { next.min(unreachable) } else { next })
    }

    /// Somebody was asked whether the peer is alive.
    pub(crate) fn doubt(&mut self, now: Instant) {
        if let Some(active) = &mut self.active {
            active.doubted = now;
        }
    }

    /// When to ask whether the peer is there: while it owes an answer and nothing else passes.
    pub(crate) fn question_at(&self, failure_limit: Duration) -> Option<Instant> {
        let active = self.active.as_ref().filter(|active| active.sender.awaited > 0 && active.sender.is_all_arrived())?;
        Some(self.heard.max(active.used) + question_pause(failure_limit))
    }
}

/// When a peer that is alive, and silent since `since`, is unreachable.
pub(crate) fn unreachable_at(since: Instant, failure_limit: Duration) -> Instant {
    since + Duration::from_picoseconds(failure_limit.as_picoseconds().saturating_mul(UNREACHABLE_AFTER_LIMITS))
}

/// Between two questions whether a peer is there.
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

    /// A peer to which something waits to be sent.
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
