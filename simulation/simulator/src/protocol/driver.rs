//! The driver of a rank's conversations on machines where datagrams take core time: one step after another, each of which sends or receives a
//! message. It models the driver of `pelago-udp`: which operations share a datagram, and when acknowledgements leave, depends on when the rank
//! makes progress.

use std::collections::VecDeque;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::MessageTimes;
use pelago_protocol::PeerIndex;

use super::stations::{Datagram, StationChanges, StationRequest, Stations};

/// Maximum size in bytes of a message of several datagrams, as in the operating system.
const MESSAGE_BYTES_MAX: usize = 65_000;

/// Maximum number of datagrams of a message, as in the operating system.
const MESSAGE_DATAGRAMS_MAX: u32 = 64;

/// Minimum time outside the library after which a rank's progress thread takes over (decision 8).
const ABSENCE_MIN: Duration = Duration::from_microseconds(200);

/// Maximum time outside the library after which a rank's progress thread takes over.
const ABSENCE_MAX: Duration = Duration::from_microseconds(3200);

/// The datagrams to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// All; with `patient`, acknowledgements wait for a datagram that carries them.
    Any { patient: bool },
    /// The datagrams to one peer that gain nothing from being held back.
    Full(PeerIndex),
}

/// A task that keeps the driver of a rank busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Receiving the message with this number.
    Receive(u32),
    /// Sending the message with this number.
    Send(u32),
}

/// The state of a driver, besides the conversations.
#[derive(Default)]
pub(crate) struct Driver {
    /// Messages that have arrived and were not received.
    inbox: VecDeque<u32>,
    /// A datagram that was made and did not fit into the previous message.
    pub(super) made: Option<(Rank, Vec<u8>)>,
    /// The target of posted operations that are held back for later ones.
    pub(crate) waiting: Option<PeerIndex>,
    /// The step in progress, and its end.
    pub(crate) step: Option<(Step, Instant)>,
    /// When the rank began to make progress without longer absences, and when it did so last.
    looks_since: Instant,
    pub(crate) looked: Instant,
    /// When the progress thread runs next, if it has been woken.
    pub(crate) called: Option<Instant>,
    /// Whether the progress thread has taken over, so that it need not wait for a long absence of the rank.
    pub(crate) listens: bool,
}

impl Driver {
    /// Records that the rank makes progress. The progress thread stops listening if the previous time was less than `ABSENCE_MAX` ago.
    pub(crate) fn look(&mut self, now: Instant) {
        if now.since(self.looked) >= ABSENCE_MAX {
            self.looks_since = now;
        } else {
            self.listens = false;
        }
        self.looked = now;
    }

    /// Returns when the progress thread of a computing rank begins to handle a message that arrives now.
    pub(crate) fn attends_at(&self, now: Instant, wake: Duration) -> Instant {
        let absence = self.looked.since(self.looks_since).clamp(ABSENCE_MIN, ABSENCE_MAX);
        let from = if self.listens { now } else { now.max(self.looked + absence) };
        from + wake
    }
}

impl Stations {
    /// Adds a message that arrives to the inbox of its rank; returns the rank.
    pub(crate) fn arrive(&mut self, number: u32) -> Rank {
        let to = self.datagram(number).to;
        self.driver(to).inbox.push_back(number);
        to
    }

    /// Takes the next message to be received; returns also the time that this takes.
    pub(crate) fn begin_receive(&mut self, rank: Rank, times: &MessageTimes) -> Option<(Step, Duration)> {
        let number = self.driver(rank).inbox.pop_front()?;
        let time = times.receive(self.datagram(number).bytes.len() as u64);
        Some((Step::Receive(number), time))
    }

    /// Makes the next message to be sent; returns also the time that this takes.
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

    /// Applies the injected faults to a message that departs after the time `after`; returns the requests for its deliveries.
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

    /// Whether a message waits to be received.
    pub(crate) fn has_mail(&self, rank: Rank) -> bool {
        !self.ranks[rank.index()].driver.inbox.is_empty()
    }

    /// Whether anything may be sent, acknowledgements included.
    pub(crate) fn has_work(&self, rank: Rank) -> bool {
        let end = &self.ranks[rank.index()];
        end.driver.made.is_some() || end.conversations.has_work()
    }
}
