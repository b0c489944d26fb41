//! A sender at a gate: takes tickets, and waits until they are granted.

use std::collections::VecDeque;

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{Error, Fault, Handle, Result};

use super::{Claim, Gate, SENDER_WORDS, SENDERS, Share, Waiter, rung};
use crate::credit::{Credit, Ticket};
use crate::settings::{Counting, Waiting, check};

/// Messages of one sender that are on their way.
const FLIGHTS_MAX: usize = 64;

/// How long a sender that looks at the counters pauses, at least and at most.
const PAUSE_MIN: Duration = Duration::from_microseconds(1);
const PAUSE_MAX: Duration = Duration::from_milliseconds(2);

/// How long a sender waits for its bell before it looks for itself (G2).
const BELL_LIMIT: Duration = Duration::from_milliseconds(10);

/// A sender at a gate.
pub(crate) struct Taker<'g, 'w> {
    gate: &'g Gate<'w>,
    to: Rank,
    /// Its number among the senders of this rank.
    sender: usize,
    share: u32,
    /// What is known to be granted.
    granted: Ticket,
    /// The ticket taken last, and whether it had to wait.
    last: Option<Ticket>,
    waited: bool,
    /// The first ticket whose message may not have come, and how many from there on may be this sender's.
    claim: Claim,
    flights: VecDeque<(Ticket, Handle<'w>)>,
}

impl<'g, 'w> Taker<'g, 'w> {
    pub(crate) fn new(gate: &'g Gate<'w>, to: Rank) -> Result<Self> {
        check(gate.receives(to), "that rank does not receive here")?;
        let sender = gate.senders.get().trailing_ones() as usize;
        if sender == SENDERS {
            return Err(Error::TooMany { what: "senders of one rank at a mailbox", limit: SENDERS });
        }
        gate.senders.set(gate.senders.get() | 1 << sender);
        gate.words.local().store(gate.sender_index(sender), u64::from(to.number()) + 1);
        let (share, claim) = (gate.nearest(gate.world.rank()), Claim::default());
        let (granted, flights) = (Ticket::new(gate.slots), VecDeque::new());
        Ok(Self { gate, to, sender, share, granted, last: None, waited: false, claim, flights })
    }

    /// The share by which it is admitted.
    pub(crate) fn share(&self) -> u32 {
        self.share
    }

    /// Whether the next ticket would have to wait, as far as is known without a message; with a message if the last one had to.
    pub(crate) fn is_full(&mut self) -> Result<bool> {
        if !self.waited {
            return Ok(false);
        }
        let credit = self.gate.look(self.counters())?;
        self.waited = credit.is_full();
        Ok(self.waited)
    }

    /// Takes `count` tickets that follow each other, and returns the first. Cost: one round trip, two if the counters lie apart.
    pub(crate) fn take(&mut self, count: u32) -> Result<Ticket> {
        self.settle()?;
        if self.waited && self.gate.borrow {
            self.choose()?;
        }
        self.publish(Claim { taking: true, ..self.claim });
        let taken = self.add(count);
        let first = match taken {
            Ok(credit) => {
                self.granted = credit.granted;
                credit.taken
            }
            Err(error) => {
                self.publish(self.claim);
                return Err(error);
            }
        };
        if self.claim.count == 0 {
            self.claim = Claim { taking: false, share: self.share, first, count };
        } else {
            self.claim.count = first.after(count).since(self.claim.first) as u32;
        }
        self.publish(self.claim);
        self.last = Some(first.after(count - 1));
        self.waited = !self.admits(first);
        Ok(first)
    }

    /// Whether `ticket` is granted. Cost: nothing if that is known, else as much as [`Gate::look`].
    pub(crate) fn is_granted(&mut self, ticket: Ticket) -> Result<bool> {
        if !self.admits(ticket) {
            self.granted = self.gate.look(self.counters())?.granted;
        }
        Ok(self.admits(ticket))
    }

    /// Waits until `ticket` is granted.
    pub(crate) fn wait(&mut self, ticket: Ticket) -> Result<()> {
        let mut pause = Pause::new(self.gate.world.now());
        let mut registered = false;
        while !self.is_granted(ticket)? {
            let behind = ticket.since(self.granted) as u32;
            let next = pause.next(self.gate.world.now(), self.granted, behind);
            match self.gate.settings.waiting {
                Waiting::Polling => self.pause(ticket, PAUSE_MIN)?,
                Waiting::Notified if registered => self.pause(ticket, BELL_LIMIT)?,
                Waiting::Notified if behind < self.gate.slots => {
                    self.register(ticket)?;
                    registered = true;
                }
                Waiting::Notified | Waiting::BackingOff => self.pause(ticket, next)?,
            }
        }
        Ok(())
    }

    /// The message of `ticket` is complete with `handle`.
    pub(crate) fn used(&mut self, ticket: Ticket, handle: Handle<'w>) -> Result<()> {
        self.flights.push_back((ticket, handle));
        if self.flights.len() == FLIGHTS_MAX {
            let (_, oldest) = self.flights[0];
            oldest.wait()?;
        }
        self.settle()
    }

    /// Waits until all messages are complete.
    pub(crate) fn flush(&mut self) -> Result<()> {
        while let Some(&(_, handle)) = self.flights.front() {
            let done = handle.wait();
            self.settle()?;
            done?;
        }
        Ok(())
    }

    /// Claims no longer what has come (G1).
    fn settle(&mut self) -> Result<()> {
        let before = self.flights.len();
        let mut outcome = Ok(());
        while let Some((ticket, handle)) = self.flights.front() {
            match handle.test() {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
            let next = ticket.after(1);
            self.claim.count -= (next.since(self.claim.first) as u32).min(self.claim.count);
            self.claim.first = next;
            self.flights.pop_front();
        }
        if self.flights.len() < before {
            self.publish(self.claim);
        }
        outcome
    }

    fn admits(&self, ticket: Ticket) -> bool {
        self.granted.since(ticket) > 0
    }

    fn counters(&self) -> Share {
        self.gate.share(self.to, self.share)
    }

    fn publish(&self, claim: Claim) {
        let word = if claim.taking || claim.count > 0 { claim.word() } else { 0 };
        self.gate.words.local().store(self.gate.claim_index(self.sender), word);
    }

    fn add(&self, count: u32) -> Result<Credit> {
        let (gate, share) = (self.gate, self.counters());
        let taken_at = gate.taken_at(share);
        match gate.settings.counting {
            Counting::OneWord => Ok(Credit::of_word(gate.world.fetch_add(taken_at, Credit::TAKE * u64::from(count))?.wait()?)),
            Counting::TwoWords => {
                let consumed = gate.world.get(gate.consumed_at(share))? as u32;
                let taken = gate.world.fetch_add(taken_at, u64::from(count))?.wait()? as u32;
                Ok(Credit { taken: Ticket::new(taken), granted: Ticket::new(consumed).after(gate.slots) })
            }
        }
    }

    /// Goes over to a share that is not used up, if its own is. Not before its last message was consumed: messages of different shares
    /// may overtake each other.
    fn choose(&mut self) -> Result<()> {
        let gate = self.gate;
        let credit = gate.look(self.counters())?;
        let consumed = self.last.is_none_or(|last| credit.granted.since(last) > gate.slots as i32);
        if !credit.is_full() || !consumed || self.claim.count > 0 {
            return Ok(());
        }
        let others = (1..gate.shares()).map(|step| (self.share + step) % gate.shares());
        let looks = others.map(|share| Ok((share, gate.world.fetch(gate.taken_at(gate.share(self.to, share)))?)));
        let looks: Vec<_> = looks.collect::<Result<_>>()?;
        for (share, word) in looks {
            let credit = match gate.settings.counting {
                Counting::OneWord => Credit::of_word(word.wait()?),
                Counting::TwoWords => gate.look(gate.share(self.to, share))?,
            };
            if !credit.is_full() {
                (self.share, self.last) = (share, None);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks the receiver to ring when it grants `ticket`.
    fn register(&self, ticket: Ticket) -> Result<()> {
        let gate = self.gate;
        let waiter = Waiter { rank: gate.world.rank(), sender: self.sender, ticket };
        let place = gate.words.at(self.to, gate.waiter_index(self.share, ticket));
        // An atomic, as the receiver's taking it is: they are in one order with what both do to the counters.
        gate.world.swap(place, waiter.word())?.wait().map(drop)
    }

    /// Waits for the bell, at most for `limit`.
    fn pause(&mut self, ticket: Ticket, limit: Duration) -> Result<()> {
        let gate = self.gate;
        let bell = rung(self.share, ticket);
        let waited = gate.world.wait_until_within(limit, gate.words.local(), gate.bell_index(self.sender), |seen| seen == bell);
        match waited {
            Ok(_) => self.granted = ticket.after(1),
            Err(Error::TimedOut { .. }) => {}
            // The job goes on without some rank; only these matter here.
            Err(Error::Fault(Fault::PeerLost(_))) if gate.world.fault().is_none() => {}
            Err(error) => return Err(error),
        }
        gate.all_there(&[self.to, self.counters().holder])
    }
}

impl Drop for Taker<'_, '_> {
    fn drop(&mut self) {
        // Messages that are complete need no claim; of those that fail, nobody waits for one but for a lost receiver.
        let _told_by_quiet = self.flush();
        let words = self.gate.words.local();
        (0..SENDER_WORDS).for_each(|word| words.store(self.gate.sender_index(self.sender) + word, 0));
        self.gate.senders.set(self.gate.senders.get() & !(1 << self.sender));
    }
}

/// How long a sender pauses between two looks: half the time that the tickets before its own will take, judged by those of the last pause.
struct Pause {
    looked: Instant,
    granted: Option<Ticket>,
    length: Duration,
}

impl Pause {
    fn new(now: Instant) -> Self {
        Self { looked: now, granted: None, length: PAUSE_MIN }
    }

    /// The next pause of a sender with `behind` tickets before its own.
    fn next(&mut self, now: Instant, granted: Ticket, behind: u32) -> Duration {
        let passed = self.granted.replace(granted).map_or(0, |before| granted.since(before) as u64);
        let elapsed = now.since(std::mem::replace(&mut self.looked, now));
        let picoseconds = match passed {
            0 => self.length.as_picoseconds().saturating_mul(2),
            _ => elapsed.as_picoseconds() / passed * (u64::from(behind) + 1) / 2,
        };
        self.length = Duration::from_picoseconds(picoseconds).clamp(PAUSE_MIN, PAUSE_MAX);
        self.length
    }
}
