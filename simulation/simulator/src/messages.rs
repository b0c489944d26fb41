//! Two-sided messages: those on their way, and those that have come and were not taken.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::Rank;
use pelago_netsim::{Operation as Message, Reason};
use pelago_platform::{Completion, Failure, PostError, Token};

use crate::core::{Core, IN_FLIGHT_MAX, IS_MESSAGE};

/// A message that its receiver has.
pub(crate) type Received = (Rank, Box<[u8]>);

/// Two-sided messages.
#[derive(Default)]
pub(crate) struct Messages {
    under_way: Vec<Option<Letter>>,
    free: Vec<u32>,
    /// Of ranks that have some.
    inboxes: BTreeMap<Rank, VecDeque<Received>>,
}

/// A message on its way.
pub(crate) struct Letter {
    pub(crate) from: Rank,
    pub(crate) to: Rank,
    pub(crate) token: Token,
    /// Whether its sender knows what it will know.
    pub(crate) told: bool,
    /// None once it has come.
    pub(crate) bytes: Option<Box<[u8]>>,
}

impl Messages {
    /// A message leaves; returns its number.
    pub(crate) fn send(&mut self, letter: Letter) -> u32 {
        let number = self.free.pop().unwrap_or(self.under_way.len() as u32);
        if number as usize == self.under_way.len() {
            self.under_way.push(None);
        }
        self.under_way[number as usize] = Some(letter);
        number
    }

    /// A message has come; returns to whom.
    pub(crate) fn arrive(&mut self, number: u32) -> Option<Rank> {
        let letter = self.under_way[number as usize].as_mut()?;
        let (from, to, told) = (letter.from, letter.to, letter.told);
        let bytes = letter.bytes.take()?;
        self.inboxes.entry(to).or_default().push_back((from, bytes));
        if told {
            self.forget(number);
        }
        Some(to)
    }

    /// The sender of a message is told what became of it; returns who it is and what it calls the message, unless it was told before.
    pub(crate) fn tell(&mut self, number: u32, is_final: bool) -> Option<(Rank, Token)> {
        let letter = self.under_way[number as usize].as_mut()?;
        let news = (!std::mem::replace(&mut letter.told, true)).then_some((letter.from, letter.token));
        if is_final || letter.bytes.is_none() {
            self.forget(number);
        }
        news
    }

    /// Nothing more becomes of a message.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.under_way[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    /// To whom a message goes.
    pub(crate) fn receiver(&self, number: u32) -> Option<Rank> {
        self.under_way[number as usize].as_ref().map(|letter| letter.to)
    }

    /// The next message that a rank has.
    pub(crate) fn take(&mut self, rank: Rank) -> Option<Received> {
        let inbox = self.inboxes.get_mut(&rank)?;
        let received = inbox.pop_front();
        if inbox.is_empty() {
            self.inboxes.remove(&rank);
        }
        received
    }
}

impl Core {
    /// Sends a two-sided message of `rank`.
    pub(crate) fn send(&mut self, from: Rank, to: Rank, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let state = &mut self.ranks[from.index()];
        if state.in_flight == IN_FLIGHT_MAX {
            return Err(PostError::Full);
        }
        state.in_flight += 1;
        let number = self.messages.send(Letter { from, to, token, told: false, bytes: Some(bytes.into()) });
        let [by, at] = [from, to].map(|rank| rank.number() / self.per_node);
        let message = Message::Datagram { from: by, to: at, bytes: bytes.len() as u64 };
        self.network.post(from.number(), message, IS_MESSAGE | u64::from(number));
        Ok(())
    }

    /// The next two-sided message that `rank` has; its network interface has room for another then.
    pub(crate) fn take(&mut self, rank: Rank) -> Option<Received> {
        let received = self.messages.take(rank)?;
        let [from, here] = [received.0, rank].map(|rank| rank.number() / self.per_node);
        if from != here {
            self.network.consume(here);
        }
        Some(received)
    }

    /// A two-sided message has come.
    pub(crate) fn deliver(&mut self, number: u32) {
        if let Some(to) = self.messages.arrive(number) {
            self.rouse(to.number(), false);
        }
    }

    /// The sender of a two-sided message learns what became of it.
    pub(crate) fn tell(&mut self, number: u32, failed: Option<Reason>) {
        let result = match (failed, self.messages.receiver(number)) {
            (Some(Reason::ReceiverNotReady), Some(to)) => Err(Failure::NotReady(to)),
            (Some(_), Some(to)) => Err(Failure::PeerLost(to)),
            _ => Ok(0),
        };
        if let Some((from, token)) = self.messages.tell(number, failed.is_some()) {
            self.completed(from, Completion { token, result });
        }
    }
}
