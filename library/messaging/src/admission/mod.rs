//! Admission of messages to a receiver by remote atomics on its counters, which may lie at any rank.
//!
//! Memory, in words, at the same offset on every rank:
//!
//! | words | used at | for |
//! |---|---|---|
//! | a line for each share | its holder | the counters: one word, or `SendCNT` and `RecvCNT` |
//! | six for each sender of a rank | the sender | its receiver, and tickets taken ahead; its claims: its tickets; its bell: the last granted ticket |
//! | one for each slot, or more | the receiver | entries: the senders that wait for the next tickets to be granted |
//! | a line, and two for each rank of a relay | the relay | requests and answers (`relay.rs`) |
//!
//! - **G1** A sender claims a ticket from before it takes the ticket until the message of the ticket is complete. So a taken ticket that no living
//!   sender claims belongs to a lost sender, or its message has arrived. While a sender takes tickets, it claims all tickets; afterwards it claims
//!   only its own, so that an idle or waiting sender does not keep the receiver from skipping the tickets of lost ranks.
//! - **G2** A waiting sender registers, then reads the counters once more; the receiver grants, then reads the registrations. So at least one of them
//!   sees the other. A registration replaces only the registration of an earlier, granted ticket. The sender that replaces it rings the bell of the
//!   replaced sender, because the receiver no longer finds that registration. A bell may be lost, with its rank or behind a late bell for an earlier
//!   ticket of the same sender; so a waiting sender also reads the counters at intervals.
//! - **G3** A sender whose program sends in a loop takes tickets ahead of its messages. It keeps the unused tickets in its first word, and removes
//!   each by compare-and-swap before it writes a message. A receiver that finds the next ticket taken and its message missing removes all of them by
//!   compare-and-swap and skips them. So each ticket is used or withdrawn, whatever the program of the sender does meanwhile. A receiver queries
//!   once for each such ticket: the ticket was in that word before the previous message was written, and never returns to it.
//! - **G4** A sender that was not notified for some time, and whose receiver rings in the call that grants, waits without a limit, so that a job in
//!   which all ranks wait is found. It removes its bell, registers the ticket that it waits for, reads the counters, and waits for any bell. A bell that
//!   it removes follows a grant that it reads. A later bell, even a late one for an earlier ticket, ends the wait, after which it reads the counters
//!   again. So does the loss of a rank, which may have rung instead of the receiver.

mod ahead;
mod granter;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod layout;
mod relay;
mod requester;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;
use pelago_rma::{GlobalPtr, Result, Symmetric, World};

pub(crate) use ahead::WITHDRAW_AFTER;
pub(crate) use granter::Granter;
pub(crate) use requester::Requester;

use crate::credit::{Credit, Ticket};
use crate::limits::{AHEAD_RANKS_MAX, TICKETS_AHEAD_MAX};
use crate::servers::{self, Job, PlacementExplanation, Servers, Share};
use crate::settings::{Counting, Placement, Settings, check};

/// Words of a cache line: counters of different shares do not share one.
const LINE: usize = 8;

/// Senders that a rank may have at one admission at a time, and the words of each.
const SENDERS: usize = 8;
const SENDER_WORDS: usize = 2 + CLAIMS;

/// Number of claims of a sender: it may have messages in flight of as many calls that took tickets, each with its own claim.
const CLAIMS: usize = 4;

/// The receivers of an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receivers {
    One(Rank),
    /// Every rank; each holds its own counters.
    Each,
}

/// Admits at most `slots` messages at a time to a receiver.
pub(crate) struct Admission<'w> {
    world: &'w World,
    words: Symmetric<'w, u64>,
    receivers: Receivers,
    /// The holders of the counters of each share; if every rank receives, each holds its own counters.
    servers: Servers,
    explanation: PlacementExplanation,
    borrow: bool,
    settings: Settings,
    /// The number of the last request of this rank at its relay.
    requests: Cell<u16>,
    /// The existing senders of this rank, one bit each.
    senders: Cell<u8>,
    /// The share and the last ticket of the sender that was dropped last; the next sender continues with them, so that messages stay in order.
    left: Cell<Option<(u32, Ticket)>>,
}

impl<'w> Admission<'w> {
    /// Creates an admission. Collective.
    pub(crate) fn new(world: &'w World, receivers: Receivers, mut settings: Settings) -> Result<Self> {
        settings.check(world.size())?;
        let (receiver, mut reasons) = (world.rank(), ("requested".to_owned(), Vec::new()));
        let servers = match receivers {
            Receivers::One(receiver) => {
                check(receiver.number() < world.size(), "the receiver must be a rank of the job")?;
                if settings.placement == Placement::Automatic {
                    (settings.placement, reasons) = choose(world, &settings)?;
                }
                Servers::of(receiver, &settings, world.topology())
            }
            Receivers::Each => {
                check(!settings.has_relays(), "where every rank receives, there are no relays")?;
                let is_own = matches!(settings.placement, Placement::Receiver | Placement::Automatic);
                check(is_own, "where every rank receives, each holds its own counters")?;
                Servers::one(receiver, &settings)
            }
        };
        let explanation = servers.explained(world.size(), reasons);
        let shares = servers.count();
        let borrow = settings.placement.borrows() && shares > 1;
        let relay_words = if settings.has_relays() { relay::words(settings.relay_ranks) } else { 0 };
        let words = world.alloc(shares as usize * LINE + SENDERS * SENDER_WORDS + servers.waiters() as usize + relay_words)?;
        let (requests, senders, left) = (Cell::new(0), Cell::new(0), Cell::new(None));
        let admission = Self { world, words, receivers, servers, explanation, borrow, settings, requests, senders, left };
        if admission.settings.counting == Counting::OneWord {
            for share in (0..shares).map(|number| admission.servers.share(number)) {
                admission.words.local().store(share.number as usize * LINE, Credit::new(share.slots).word());
            }
        }
        world.meet()?;
        Ok(admission)
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn shares(&self) -> u32 {
        self.servers.count()
    }

    /// A share, with its slots.
    pub(crate) fn server(&self, number: u32) -> Share {
        self.servers.share(number)
    }

    /// The place of the counters, with the reasons.
    pub(crate) fn explanation(&self) -> &PlacementExplanation {
        &self.explanation
    }

    /// Whether `rank` is a receiver.
    pub(crate) fn receives(&self, rank: Rank) -> bool {
        rank.number() < self.world.size() && [Receivers::Each, Receivers::One(rank)].contains(&self.receivers)
    }

    fn share(&self, to: Rank, number: u32) -> Share {
        let share = self.servers.share(number);
        match self.receivers {
            Receivers::One(_) => share,
            Receivers::Each => Share { holder: to, ..share },
        }
    }

    /// The address of the word with both counters, or of `SendCNT`.
    fn taken_at(&self, share: Share) -> GlobalPtr<u64> {
        self.words.at(share.holder, share.number as usize * LINE)
    }

    /// The address of `RecvCNT`, if it has its own word.
    fn consumed_at(&self, share: Share) -> GlobalPtr<u64> {
        self.taken_at(share).add(1)
    }

    /// The index of a sender's first word, with its receiver and the tickets taken ahead; its claims and its bell follow.
    fn sender_index(&self, sender: usize) -> usize {
        self.shares() as usize * LINE + sender * SENDER_WORDS
    }

    /// The index of the claim of the tickets that a sender takes at its `turn`.
    fn claim_index(&self, sender: usize, turn: u64) -> usize {
        self.sender_index(sender) + 1 + turn as usize % CLAIMS
    }

    fn bell_index(&self, sender: usize) -> usize {
        self.sender_index(sender) + 1 + CLAIMS
    }

    /// The index of the receiver's entry for the sender that waits for `ticket`.
    fn waiter_index(&self, share: u32, ticket: Ticket) -> usize {
        let share = self.servers.share(share);
        self.sender_index(SENDERS) + (share.first_waiter + ticket.slot(share.waiters)) as usize
    }

    /// Number of entries of all shares for waiting senders.
    pub(crate) fn waiters(&self) -> usize {
        self.servers.waiters() as usize
    }

    /// The share of a rank: that of its group, or of the holder with the closest rank number.
    pub(crate) fn nearest(&self, rank: Rank) -> u32 {
        self.servers.of_rank(rank)
    }

    /// This rank's access to its relay, if it shares one.
    fn relay(&self) -> Option<relay::Member<'w>> {
        let rank = self.world.rank();
        self.servers.relay_of(rank).and_then(|relay| relay::Member::new(rank, relay))
    }

    /// The index of the first word of a relay.
    fn relay_index(&self) -> usize {
        self.sender_index(SENDERS) + self.waiters()
    }

    /// The number of the next request of this rank.
    fn next_request(&self) -> u16 {
        self.requests.set(self.requests.get().wrapping_add(1));
        self.requests.get()
    }

    /// Takes `count` tickets of a share. Cost: one round trip, two if the counters are in two words.
    fn take(&self, share: Share, count: u32) -> Result<Credit> {
        let taken_at = self.taken_at(share);
        match self.settings.counting {
            Counting::OneWord => Ok(Credit::of_word(self.world.fetch_add(taken_at, Credit::TAKE * u64::from(count))?.wait()?)),
            Counting::TwoWords => {
                let consumed = self.world.get(self.consumed_at(share))? as u32;
                let taken = self.world.fetch_add(taken_at, u64::from(count))?.wait()? as u32;
                Ok(Credit { taken: Ticket::new(taken), granted: Ticket::new(consumed).after(share.slots) })
            }
        }
    }

    /// Maximum number of tickets that a sender of this rank to `to` takes at once for messages that are sent one by one. It is greater than one if a ticket
    /// needs a network message, and if the receiver holds the counters and queries few ranks, so that it can withdraw unused tickets.
    fn ahead(&self, to: Rank) -> u32 {
        let share = self.share(to, 0);
        let is_possible = self.is_withdrawn_by(to) && self.world.reach().place(self.taken_at(share)).is_none();
        if is_possible { (share.slots / 4).clamp(1, TICKETS_AHEAD_MAX) } else { 1 }
    }

    /// Whether `receiver` withdraws tickets that were taken ahead.
    fn is_withdrawn_by(&self, receiver: Rank) -> bool {
        self.shares() == 1
            && self.share(receiver, 0).holder == receiver
            && self.settings.counting == Counting::OneWord
            && !self.settings.has_relays()
            && self.world.size() <= AHEAD_RANKS_MAX
    }

    /// Reads the counters of a share. Cost: one round trip.
    fn look(&self, share: Share) -> Result<Credit> {
        let word = self.world.fetch(self.taken_at(share))?;
        match self.settings.counting {
            Counting::OneWord => Ok(Credit::of_word(word.wait()?)),
            Counting::TwoWords => {
                // An atomic load, so that it is in one total order with the atomics of G2.
                let consumed = self.world.fetch(self.consumed_at(share))?.wait()? as u32;
                Ok(Credit { taken: Ticket::new(word.wait()? as u32), granted: Ticket::new(consumed).after(share.slots) })
            }
        }
    }
}

/// The automatic placement of this job, with the reasons; the same on every rank. Collective.
fn choose(world: &World, settings: &Settings) -> Result<(Placement, (String, Vec<String>))> {
    let atomics_by_cores = world.rails().iter().any(|rail| !rail.atomics.spare_cores());
    let job = |[by_cores, survives]: [u64; 2]| Job {
        topology: world.topology(),
        atomics_by_cores: by_cores != 0,
        survives: survives != 0,
    };
    let mut facts = [atomics_by_cores, world.goes_on_without_lost_ranks()].map(u64::from);
    // Ranks may have different networks, and the setting to go on without lost ranks may differ from rank to rank.
    let may_be_split = |by_cores| servers::choose(settings, job([by_cores, 0])).0 != Placement::Receiver;
    if may_be_split(0) || may_be_split(1) {
        world.allreduce(&mut facts, |one, other| one | other)?;
    }
    let (placement, chosen, rejected) = servers::choose(settings, job(facts));
    Ok((placement, (chosen, rejected)))
}

#[cfg(test)]
impl Admission<'_> {
    /// The next ticket to be taken of a share of the receiver `to`.
    pub(crate) fn taken(&self, to: Rank, share: u32) -> Ticket {
        self.look(self.share(to, share)).unwrap().taken
    }
}

/// The tickets that a sender claims, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Claim {
    /// Whether the sender is taking tickets and does not know their numbers yet.
    taking: bool,
    share: u32,
    first: Ticket,
    count: u32,
}

impl Claim {
    const COUNT_BITS: u32 = 20;
    const SHARE_BITS: u32 = 9;

    fn word(self) -> u64 {
        let upper = u64::from(self.taking) << Self::SHARE_BITS | u64::from(self.share);
        (upper << Self::COUNT_BITS | u64::from(self.count)) << 32 | u64::from(self.first.number())
    }

    fn of_word(word: u64) -> Self {
        let upper = (word >> 32) as u32;
        Self {
            taking: upper >> (Self::COUNT_BITS + Self::SHARE_BITS) != 0,
            share: upper >> Self::COUNT_BITS & ((1 << Self::SHARE_BITS) - 1),
            first: Ticket::new(word as u32),
            count: upper & ((1 << Self::COUNT_BITS) - 1),
        }
    }

    /// Whether the message of `ticket` may still arrive.
    fn covers(self, share: u32, ticket: Ticket) -> bool {
        self.taking || self.share == share && (0..self.count as i32).contains(&ticket.since(self.first))
    }
}

/// A sender that waits for a slot, in one word that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiter {
    rank: Rank,
    sender: usize,
    ticket: Ticket,
}

impl Waiter {
    const SENDER_BITS: u32 = SENDERS.ilog2();

    fn word(self) -> u64 {
        let upper = 1 << 31 | u64::from(self.rank.number()) << Self::SENDER_BITS | self.sender as u64;
        upper << 32 | u64::from(self.ticket.number())
    }

    fn of_word(word: u64) -> Option<Self> {
        let upper = (word >> 32) as u32;
        let rank = Rank::new((upper & !(1 << 31)) >> Self::SENDER_BITS);
        (upper >> 31 != 0).then(|| Self { rank, sender: upper as usize % SENDERS, ticket: Ticket::new(word as u32) })
    }
}

/// The word of a bell after `by` has granted all tickets up to `ticket`. A bell may be rung late, when its sender was dropped and a sender to another
/// receiver uses its words. The tickets of that receiver have the same numbers, so the word contains the receiver.
fn rung(by: Rank, share: u32, ticket: Ticket) -> u64 {
    let upper = 1 << 31 | by.number() << Claim::SHARE_BITS | share;
    u64::from(upper) << 32 | u64::from(ticket.number())
}

const _: () = assert!(RANKS_MAX <= 1 << (31 - Claim::SHARE_BITS), "a bell has room for every rank");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{SHARES_MAX, SLOTS_MAX};

    #[test]
    fn claims_and_waiters_are_read_as_they_were_written() {
        for taking in [false, true] {
            let claim = Claim { taking, share: SHARES_MAX as u32 - 1, first: Ticket::new(u32::MAX), count: SLOTS_MAX };
            assert_eq!(Claim::of_word(claim.word()), claim);
            assert!(claim.covers(claim.share, Ticket::new(SLOTS_MAX - 2)));
            assert_eq!(claim.covers(claim.share, Ticket::new(SLOTS_MAX - 1)), taking);
            assert_eq!(claim.covers(0, claim.first), taking);
        }
        assert_eq!(Claim::of_word(0), Claim::default());
        assert!(!Claim::default().covers(0, Ticket::new(0)));
        for (rank, sender) in [(RANKS_MAX - 1, SENDERS - 1), (0, 0), (1, 2)] {
            let waiter = Waiter { rank: Rank::new(rank), sender, ticket: Ticket::new(u32::MAX) };
            assert_eq!(Waiter::of_word(waiter.word()), Some(waiter));
        }
        assert_eq!(Waiter::of_word(0), None);
    }

    /// Otherwise a late bell would count for a ticket of the next receiver for which the same words are used.
    #[test]
    fn a_bell_shows_another_word_for_each_ticket_of_each_share_and_receiver_and_never_that_of_fresh_memory() {
        let mut shown = std::collections::HashSet::from([0]);
        for rank in [0, 1, RANKS_MAX - 1].map(Rank::new) {
            for share in [0, 1, SHARES_MAX as u32 - 1] {
                for ticket in [0, 1, u32::MAX] {
                    assert!(shown.insert(rung(rank, share, Ticket::new(ticket))), "rank {rank}, share {share}, ticket {ticket}");
                }
            }
        }
    }
}
