//! The receiver at a gate: grants tickets, and tells who waits for them.

use std::collections::VecDeque;

use pelago_base::Rank;
use pelago_rma::{Handle, Result};

use super::{Claim, Gate, SENDER_WORDS, SENDERS, Waiter, rung};
use crate::credit::{Credit, Ticket};
use crate::settings::{Counting, Waiting};

/// The receiver at a gate.
pub(crate) struct Giver<'g, 'w> {
    gate: &'g Gate<'w>,
    me: Rank,
    shares: Vec<Given>,
    /// Grants on their way to their holders.
    told: VecDeque<Told<'w>>,
}

/// What a share has.
#[derive(Clone, Copy)]
struct Given {
    granted: Ticket,
    /// Tickets to be granted that the holder was not told of.
    owed: u32,
}

/// Tickets that were granted, as the holder learns with `handle`.
struct Told<'w> {
    share: u32,
    first: Ticket,
    count: u32,
    handle: Handle<'w>,
}

impl<'g, 'w> Giver<'g, 'w> {
    pub(crate) fn new(gate: &'g Gate<'w>) -> Self {
        let given = Given { granted: Ticket::new(gate.slots), owed: 0 };
        Self { gate, me: gate.world.rank(), shares: vec![given; gate.shares() as usize], told: VecDeque::new() }
    }

    /// Grants one more ticket of a share. A holder elsewhere is told of several at a time.
    pub(crate) fn give(&mut self, share: u32) -> Result<()> {
        let given = &mut self.shares[share as usize];
        given.owed += 1;
        let here = self.gate.share(self.me, share).holder == self.me;
        if here || given.owed >= self.gate.slots.div_ceil(4) {
            self.tell(share)?;
            self.ring()?;
        }
        Ok(())
    }

    /// Tells what holders elsewhere have not been told yet.
    pub(crate) fn flush(&mut self) -> Result<()> {
        for share in 0..self.gate.shares() {
            if self.shares[share as usize].owed > 0 {
                self.tell(share)?;
            }
        }
        self.ring()
    }

    /// Whether there are grants of which the holder may not know yet, so that [`flush`](Self::flush) is to be called again.
    pub(crate) fn is_telling(&self) -> bool {
        !self.told.is_empty()
    }

    fn tell(&mut self, number: u32) -> Result<()> {
        let (gate, share) = (self.gate, self.gate.share(self.me, number));
        let Given { granted: first, owed: count } = self.shares[number as usize];
        let handle = match gate.settings.counting {
            Counting::OneWord => gate.world.add(gate.taken_at(share), Credit::grant(first, count))?,
            Counting::TwoWords => gate.world.add(gate.consumed_at(share), u64::from(count))?,
        };
        self.shares[number as usize] = Given { granted: first.after(count), owed: 0 };
        if gate.settings.waiting == Waiting::Notified {
            self.told.push_back(Told { share: number, first, count, handle });
        }
        Ok(())
    }

    /// Rings for those who wait for tickets of which their holders know (G2).
    fn ring(&mut self) -> Result<()> {
        while let Some(Told { handle, .. }) = self.told.front() {
            if !handle.test()? {
                break;
            }
            let Some(Told { share, first, count, .. }) = self.told.pop_front() else { break };
            for ticket in (0..count).map(|step| first.after(step)) {
                self.ring_for(share, ticket)?;
            }
        }
        Ok(())
    }

    fn ring_for(&self, share: u32, ticket: Ticket) -> Result<()> {
        let gate = self.gate;
        let found = gate.words.local().swap(gate.waiter_index(share, ticket), 0);
        let waiter = Waiter::of_word(found).filter(|waiter| waiter.ticket == ticket && !gate.is_lost(waiter.rank));
        if let Some(Waiter { rank, sender, .. }) = waiter {
            gate.world.put(gate.words.at(rank, gate.bell_index(sender)), &[rung(share, ticket)])?;
        }
        Ok(())
    }

    /// Whether the message of `ticket`, which has not come, never will: it was taken, and no living rank claims it (G1). Who asks
    /// looks for the message once more afterwards.
    ///
    /// Cost: nothing while no rank is lost; then a round trip for each rank of the job.
    pub(crate) fn is_abandoned(&self, share: u32, ticket: Ticket) -> Result<bool> {
        let gate = self.gate;
        if gate.world.lost().is_empty() || gate.look(gate.share(self.me, share))?.taken.since(ticket) <= 0 {
            return Ok(false);
        }
        for rank in gate.world.ranks().filter(|&rank| !gate.is_lost(rank)) {
            let mut words = [0; SENDERS * SENDER_WORDS];
            gate.world.get_into(gate.words.at(rank, gate.sender_index(0)), &mut words)?;
            let claims =
                |sender: &[u64]| sender[0] == u64::from(self.me.number()) + 1 && Claim::of_word(sender[1]).covers(share, ticket);
            if words.chunks_exact(SENDER_WORDS).any(claims) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
