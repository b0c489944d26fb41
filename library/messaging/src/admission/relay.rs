//! Relays: neighbouring senders take their tickets by one atomic at the server (paper A, section 4.4, last paragraph).
//!
//! The method is flat combining (Hendler, Incze, Shavit and Tzafrir, 2010) by one-sided operations. Memory, in words, at the rank that is the relay:
//!
//! | words | writer | for |
//! |---|---|---|
//! | a line | by compare-and-swap | the lock: the rank that takes tickets for all, plus one; 0 if it is free |
//! | one for each member | the member | its request: a number, and the count of tickets |
//! | one for each member | the holder of the lock | the answer: the number of the request, its first ticket, and the granted tickets |
//!
//! ```text
//!  member                       relay                        holder of the lock             server
//!    |-- put request ------------>|                                |                           |
//!    |-- compare_swap(lock) ----->|  held                          |                           |
//!    |                            |<------- get requests, answers -|                           |
//!    |                            |                                |-- fetch_add(taken, sum) ->|
//!    |                            |<-- put answers; then unlock ---|                           |
//!    |-- get answer ------------->|                                |                           |
//! ```
//!
//! - **R1** Only the holder of the lock writes answers, and it unlocks when they are complete. So a request whose number differs from that of its answer
//!   was not served yet, and each request is served once while no rank is lost.
//! - **R2** A member claims *taking* (G1) from before its request until it knows its ticket.
//! - **R3** A rank that finds the lock held by a lost rank takes it over. No rank claims tickets whose answers were lost with that rank, or tickets that
//!   were taken twice because its last writes restored old answers: the receiver skips them, like those of any lost rank.
//! - **R4** No ticket is taken before its sender has requested it: a ticket that a relay keeps for later would delay the receiver.
//!
//! - **R5** If the relay itself is lost and the job goes on, its members take their tickets at the server from then on. No rank claims tickets that other
//!   ranks take for their last requests, as under R3.

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Failure, Fault, GlobalPtr, Handle, Result};

use super::{Admission, LINE};
use crate::credit::{Credit, Ticket};
use crate::peer_loss::{all_there, is_lost, unless_lost};
use crate::pending::PendingOperations;
use crate::relays::Relay;
use crate::servers::Share;

/// Initial pause between two checks of a member for its answer. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(1);
/// Maximum pause between two checks of a member for its answer.
const PAUSE_MAX: Duration = Duration::from_microseconds(32);

/// Number of words of a relay with `members` members.
pub(super) const fn words(members: u32) -> usize {
    LINE + 2 * members as usize
}

/// A member's access to its relay.
pub(super) struct Member<'w> {
    relay: Relay,
    /// Its number among the members.
    number: u32,
    /// Copy of the requests and answers of all members.
    words: Box<[u64]>,
    /// Answers and unlock operations in flight. They fail only if the relay is lost, which the members notice by their requests.
    pending: PendingOperations<'w>,
}

impl<'w> Member<'w> {
    /// The access of `rank` to its relay; `None` if it is the only member.
    pub(super) fn new(rank: Rank, relay: Relay) -> Option<Self> {
        let words = vec![0; 2 * relay.members as usize].into_boxed_slice();
        let number = rank.number() - relay.first.number();
        (relay.members > 1).then(|| Self { relay, number, words, pending: PendingOperations::default() })
    }

    /// Takes `count` tickets of a share for this member, and serves the requests of other members if none of them does so. Takes the tickets at the server
    /// if the relay is lost (R5).
    pub(super) fn take(&mut self, admission: &Admission<'w>, share: Share, to: Rank, count: u32) -> Result<Credit> {
        let world = admission.world;
        if is_lost(world, self.relay.holder) {
            return admission.take(share, count);
        }
        match self.take_by_relay(admission, share, to, count) {
            Err(error) if self.is_loss_of_relay(&error) && world.fault().is_none() => admission.take(share, count),
            taken => taken,
        }
    }

    /// Waits for answers and unlock operations in flight, so that the next `quiet` of the program does not report a lost relay.
    pub(super) fn flush(&mut self) {
        let _relay_is_lost = self.pending.flush();
    }

    /// Whether an error is the loss of the relay.
    fn is_loss_of_relay(&self, error: &Error) -> bool {
        match error {
            Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank)) => *rank == self.relay.holder,
            _ => false,
        }
    }

    fn take_by_relay(&mut self, admission: &Admission<'w>, share: Share, to: Rank, count: u32) -> Result<Credit> {
        let world = admission.world;
        let sequence = admission.next_request();
        let asked = world.put(self.request_at(admission, self.number), &[Request { sequence, count }.word()])?;
        let (lock, mine) = (self.lock_at(admission), locked(world.rank()));
        let swapped = world.after(&asked).compare_swap(lock, 0, mine).and_then(|swapped| swapped.wait());
        // If the request fails, the compare-and-swap after it fails as well; the caller handles both as one failure.
        let mut held = swapped.inspect_err(|_| drop(asked.wait()))?;
        let mut pause = PAUSE_MIN;
        loop {
            if held == 0 {
                return self.serve(admission, share, sequence);
            }
            let answer = Answer::of_word(world.get(self.answer_at(admission, self.number))?);
            if answer.sequence == sequence {
                return answer.credit(admission, share);
            }
            all_there(world, &[to, share.holder, self.relay.holder])?;
            let holder = Rank::new((held - 1) as u32);
            let expected = if is_lost(world, holder) { held } else { 0 };
            if expected == 0 {
                let never = world.wait_until_within(pause, admission.words.local(), 0, |_| false);
                unless_lost(world, never)?;
                pause = (pause + pause).min(PAUSE_MAX);
            }
            // R3: one of the members that find the lock of a lost rank takes it over.
            let found = world.compare_swap(lock, expected, mine)?.wait()?;
            held = if found == expected { 0 } else { found };
        }
    }

    /// Serves all requests while this member holds the lock; then unlocks, also after a failure.
    fn serve(&mut self, admission: &Admission<'w>, share: Share, sequence: u16) -> Result<Credit> {
        let world = admission.world;
        let answered = self.answer_all(admission, share);
        let handle = answered.as_ref().map_or(Handle::done(), |handle| *handle);
        let unlocked =
            world.after(&handle).compare_swap(self.lock_at(admission), locked(world.rank()), 0).map(|old| old.handle());
        let _relay_is_lost = unlocked.and_then(|unlocked| self.pending.add_all([handle, unlocked]));
        answered?;
        let answer = Answer::of_word(self.words[self.relay.members as usize + self.number as usize]);
        if answer.sequence != sequence {
            return Err(Error::Invalid("a relay has no request of its own rank: its memory was written to by somebody else"));
        }
        answer.credit(admission, share)
    }

    /// Takes tickets for all requests that were not answered yet, and writes the answers.
    fn answer_all(&mut self, admission: &Admission<'w>, share: Share) -> Result<Handle<'w>> {
        let (world, members, answers_at) = (admission.world, self.relay.members as usize, self.answer_at(admission, 0));
        world.get_into(self.request_at(admission, 0), &mut self.words)?;
        let (requests, answers) = self.words.split_at_mut(members);
        let is_open = |(number, (request, answer)): (u32, (&u64, &u64))| {
            let rank = Rank::new(self.relay.first.number() + number);
            let request = Request::of_word(*request);
            let is_open = request.sequence != Answer::of_word(*answer).sequence && !is_lost(world, rank);
            is_open.then_some((number as usize, request))
        };
        let open: Vec<_> = (0..).zip(requests.iter().zip(answers.iter())).filter_map(is_open).collect();
        let count: u32 = open.iter().map(|(_, request)| request.count).fold(0, u32::saturating_add);
        if count == 0 {
            return Ok(Handle::done());
        }
        let Credit { taken: mut first, granted } = admission.take(share, count)?;
        for (number, Request { sequence, count }) in open {
            answers[number] = Answer::new(sequence, Credit { taken: first, granted }).word();
            first = first.after(count);
        }
        world.put(answers_at, answers)
    }

    fn lock_at(&self, admission: &Admission<'w>) -> GlobalPtr<u64> {
        admission.words.at(self.relay.holder, admission.relay_index())
    }

    fn request_at(&self, admission: &Admission<'w>, number: u32) -> GlobalPtr<u64> {
        self.lock_at(admission).add((LINE as u32 + number).into())
    }

    fn answer_at(&self, admission: &Admission<'w>, number: u32) -> GlobalPtr<u64> {
        self.request_at(admission, self.relay.members + number)
    }
}

/// The word of a lock that `rank` holds.
fn locked(rank: Rank) -> u64 {
    u64::from(rank.number()) + 1
}

/// A member's request for tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    sequence: u16,
    count: u32,
}

impl Request {
    fn word(self) -> u64 {
        u64::from(self.sequence) << 32 | u64::from(self.count)
    }

    fn of_word(word: u64) -> Self {
        Self { sequence: (word >> 32) as u16, count: word as u32 }
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    sequence: u16,
    /// Number of granted tickets from `first` on; negative if tickets before `first` are not granted either. At most 32,767; -32,768 means unknown.
    ahead: i16,
    first: Ticket,
}

impl Answer {
    fn new(sequence: u16, Credit { taken, granted }: Credit) -> Self {
        let ahead = granted.since(taken).clamp(i16::MIN.into(), i16::MAX.into());
        Self { sequence, ahead: ahead as i16, first: taken }
    }

    fn word(self) -> u64 {
        u64::from(self.sequence) << 48 | u64::from(self.ahead as u16) << 32 | u64::from(self.first.number())
    }

    fn of_word(word: u64) -> Self {
        Self { sequence: (word >> 48) as u16, ahead: (word >> 32) as u16 as i16, first: Ticket::new(word as u32) }
    }

    /// The first ticket, and the tickets that are granted at least.
    fn credit(self, admission: &Admission<'_>, share: Share) -> Result<Credit> {
        let granted = match self.ahead {
            i16::MIN => admission.look(share)?.granted,
            ahead => self.first.after(i32::from(ahead) as u32),
        };
        Ok(Credit { taken: self.first, granted })
    }
}

#[cfg(test)]
mod tests;
