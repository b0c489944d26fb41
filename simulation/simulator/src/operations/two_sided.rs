//! Two-sided messages: those in transit, and those that no receive has taken.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::Rank;
use pelago_platform::Token;

/// A message at its receiver: the sender and the bytes.
pub(crate) type Received = (Rank, Box<[u8]>);

/// Two-sided messages.
#[derive(Default)]
pub(crate) struct TwoSidedMessages {
    under_way: Vec<Option<TwoSidedMessage>>,
    free: Vec<u32>,
    /// The messages that have arrived, only for ranks that have any.
    inboxes: BTreeMap<Rank, VecDeque<Received>>,
}

/// A message in transit.
pub(crate) struct TwoSidedMessage {
    pub(crate) from: Rank,
    pub(crate) to: Rank,
    pub(crate) token: Token,
    /// Whether the sender has its completion.
    pub(crate) sender_told: bool,
    /// `None` once it has arrived.
    pub(crate) bytes: Option<Box<[u8]>>,
}

impl TwoSidedMessages {
    /// Adds a message that leaves its sender; returns its number.
    pub(crate) fn send(&mut self, message: TwoSidedMessage) -> u32 {
        let number = self.free.pop().unwrap_or(self.under_way.len() as u32);
        if number as usize == self.under_way.len() {
            self.under_way.push(None);
        }
        self.under_way[number as usize] = Some(message);
        number
    }

    /// Moves a message that arrives to the inbox of its receiver; returns the receiver.
    pub(crate) fn arrive(&mut self, number: u32) -> Option<Rank> {
        let message = self.under_way[number as usize].as_mut()?;
        let (from, to, sender_told) = (message.from, message.to, message.sender_told);
        let bytes = message.bytes.take()?;
        self.inboxes.entry(to).or_default().push_back((from, bytes));
        if sender_told {
            self.forget(number);
        }
        Some(to)
    }

    /// Completes a message at its sender; returns the sender and its token, unless the completion was delivered before.
    pub(crate) fn complete(&mut self, number: u32, is_final: bool) -> Option<(Rank, Token)> {
        let message = self.under_way[number as usize].as_mut()?;
        let completion = (!std::mem::replace(&mut message.sender_told, true)).then_some((message.from, message.token));
        if is_final || message.bytes.is_none() {
            self.forget(number);
        }
        completion
    }

    /// Removes a message that has no further events.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.under_way[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    /// Returns the receiver of a message.
    pub(crate) fn receiver(&self, number: u32) -> Option<Rank> {
        self.under_way[number as usize].as_ref().map(|message| message.to)
    }

    /// Takes the oldest message that has arrived at a rank.
    pub(crate) fn take(&mut self, rank: Rank) -> Option<Received> {
        let inbox = self.inboxes.get_mut(&rank)?;
        let received = inbox.pop_front();
        if inbox.is_empty() {
            self.inboxes.remove(&rank);
        }
        received
    }
}
