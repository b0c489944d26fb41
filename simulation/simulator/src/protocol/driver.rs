//! The driver of a rank's conversations where datagrams cost time of a core: one step after another, each of which is a message that is sent
//! or taken in. It follows the driver of `pelago-udp`: what joins which datagram, and when acknowledgements leave, depends on when the rank looks.

use std::collections::VecDeque;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::MessageTimes;
use pelago_protocol::PeerIndex;

use super::stations::{Datagram, StationChanges, StationRequest, Stations};

/// Maximum size in bytes of a message of several datagrams, as the system has it.
const MESSAGE_BYTES_MAX: usize = 65_000;

/// Maximum number of datagrams of a message, as the system has it.
const MESSAGE_DATAGRAMS_MAX: u32 = 64;

/// For how long a rank has been away, at least, before its progress thread takes over (decision 8).
const ABSENCE_MIN: Duration = Duration::from_microseconds(200);

/// For how long it has been away, at most.
const ABSENCE_MAX: Duration = Duration::from_microseconds(3200);

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// Everything; with `patient`, acknowledgements wait for a datagram that takes them along.
    Any { patient: bool },
    /// To one peer, what gains nothing by waiting for company.
    Full(PeerIndex),
}

/// Something that keeps the driver of a rank busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A message is taken in.
    Receive(u32),
    /// A message is sent.
    Send(u32),
}

/// What a driver has, beside the conversations.
#[derive(Default)]
pub(crate) struct Driver {
    /// Messages that have arrived and were not taken in.
    inbox: VecDeque<u32>,
    /// A datagram that was made and did not fit into the message before.
    pub(super) made: Option<(Rank, Vec<u8>)>,
    /// To whom what is posted goes that waits for company.
    pub(crate) waiting: Option<PeerIndex>,
    /// The step under way, and its end.
    pub(crate) step: Option<(Step, Instant)>,
    /// Since when the rank has looked again and again, and when it looked last.
    looks_since: Instant,
    pub(crate) looked: Instant,
    /// When the progress thread looks next, if it has been called.
    pub(crate) called: Option<Instant>,
    /// Whether the progress thread listens, so that it need not wait until the rank has been away for long.
    pub(crate) listens: bool,
}

impl Driver {
    /// The rank looks: its progress thread does not listen from the second look within the absence on.
    pub(crate) fn look(&mut self, now: Instant) {
        if now.since(self.looked) >= ABSENCE_MAX {
            self.looks_since = now;
        } else {
            self.listens = false;
        }
        self.looked = now;
    }

    /// When the progress thread of a rank that computes begins with what arrives now.
    pub(crate) fn attends_at(&self, now: Instant, wake: Duration) -> Instant {
        let absence = self.looked.since(self.looks_since).clamp(ABSENCE_MIN, ABSENCE_MAX);
        let from = if self.listens { now } else { now.max(self.looked + absence) };
        from + wake
    }
}

impl Stations {
    /// A message arrives at its rank, which has not looked yet; returns the rank.
    pub(crate) fn arrive(&mut self, number: u32) -> Rank {
        let to = self.datagram(number).to;
        self.driver(to).inbox.push_back(number);
        to
    }

    /// The next message to be taken in, and how long that takes.
    pub(crate) fn begin_receive(&mut self, rank: Rank, times: &MessageTimes) -> Option<(Step, Duration)> {
        let number = self.driver(rank).inbox.pop_front()?;
        let time = times.receive(self.datagram(number).bytes.len() as u64);
        Some((Step::Receive(number), time))
    }

    /// The next message to be sent, and how long that takes.
    pub(crate) fn begin_send(
        &mut self,
        now: Instant,
        rank: Rank,
        load: Load,
        times: &MessageTimes,
        changes: &mut StationChanges,
    ) -> Option<(Step, Duration)> {
        let (to, mut bytes) = self.make(now, rank, load, changes)?;
        let (first, mut count) = (bytes.len(), 1);
        while count < MESSAGE_DATAGRAMS_MAX
            && bytes.len() + first <= MESSAGE_BYTES_MAX
            && let Some((peer, next)) = self.make(now, rank, load, changes)
        {
            if peer != to || next.len() > first {
                self.driver(rank).made = Some((peer, next));
                break;
            }
            let is_shorter = next.len() < first;
            bytes.extend(next);
            count += 1;
            if is_shorter {
                break;
            }
        }
        let time = times.send(bytes.len() as u64);
        let number = self.keep(Datagram { from: rank, to, bytes: bytes.into() });
        Some((Step::Send(number), time))
    }

    /// A message leaves its rank: what becomes of it, after this time at the earliest.
    pub(crate) fn leave(&mut self, now: Instant, number: u32, per_node: u32, after: Duration) -> Vec<StationRequest> {
        let &Datagram { from, to, .. } = self.datagram(number);
        let delays = self.deliveries(now, from, to);
        let copies: Vec<_> = delays.iter().skip(1).map(|_| self.datagram(number).clone()).collect();
        let numbers: Vec<_> = copies.into_iter().map(|copy| self.keep(copy)).collect();
        if delays.is_empty() {
            self.forget(number);
        }
        let sent = [number].into_iter().chain(numbers).zip(delays);
        sent.map(|(number, delay)| {
            let (datagram, from) = self.delayed(number, per_node);
            StationRequest::Send { number, datagram, from, delay: delay + after }
        })
        .collect()
    }

    /// Whether a message waits to be taken in.
    pub(crate) fn has_mail(&self, rank: Rank) -> bool {
        !self.ranks[rank.index()].driver.inbox.is_empty()
    }

    /// Whether anything may be sent, acknowledgements included.
    pub(crate) fn has_work(&self, rank: Rank) -> bool {
        let end = &self.ranks[rank.index()];
        end.driver.made.is_some() || end.conversations.has_work()
    }
}
