//! The sender's side of admission: takes tickets, and waits until they are granted.

use std::collections::VecDeque;

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{CellSlice, Error, Fetch, Handle, Result};

use super::ahead::{Held, Pace};
use super::relay::Member;
use super::{Admission, CLAIMS, Claim, SENDER_WORDS, SENDERS, Waiter, rung};
use crate::credit::{Credit, Ticket};
use crate::limits::SENDING_MAX;
use crate::peer_loss::{all_there, is_lost, progress, unless_lost};
use crate::servers::Share;
use crate::settings::{Counting, Waiting, check};

/// Minimum pause of a sender between two reads of the counters.
const PAUSE_MIN: Duration = Duration::from_microseconds(1);
/// Maximum pause of a sender between two reads of the counters.
const PAUSE_MAX: Duration = Duration::from_milliseconds(2);

/// Initial time that a sender waits for its bell before it reads the counters itself (G2). It doubles up to the maximum.
const BELL_LIMIT: Duration = Duration::from_milliseconds(1);
/// Maximum time that a sender waits for its bell before it reads the counters itself (G2), or waits without a limit (G4).
const BELL_LIMIT_MAX: Duration = Duration::from_milliseconds(128);

/// What a sender waits for, in reports.
const ADMISSION: &str = "the admission to a mailbox or limit";

/// The sender's side of admission.
pub(crate) struct Requester<'a, 'w> {
    admission: &'a Admission<'w>,
    /// The words of this rank.
    words: CellSlice<'a, u64>,
    to: Rank,
    /// The number of this sender among the senders of this rank.
    sender: usize,
    share: u32,
    /// The first ticket that is not known to be granted, and whether that was read after the last ticket was taken, by the atomic or a later read.
    granted: Ticket,
    fresh: bool,
    /// The last ticket, and whether the sender had to wait for it.
    last: Option<Ticket>,
    waited: bool,
    /// Number of requests that took tickets.
    turns: u64,
    /// Number of reads of the counters that took no tickets.
    looks: u64,
    /// Operations in flight, with the turn of their ticket.
    pending: VecDeque<(u64, Handle<'w>)>,
    /// The first sender of a rank takes its tickets through the relay of the rank, if there is one.
    relay: Option<Member<'w>>,
    /// The first of the tickets that were taken ahead and not used, and their number (G3), if the receiver has not withdrawn them; and the number to take
    /// at once.
    ahead: Ticket,
    ahead_count: u32,
    pace: Pace,
}

impl<'a, 'w> Requester<'a, 'w> {
    pub(crate) fn new(admission: &'a Admission<'w>, to: Rank) -> Result<Self> {
        check(admission.receives(to), "that rank does not receive here")?;
        let sender = Self::free_sender(admission)?;
        admission.senders.set(admission.senders.get() | 1 << sender);
        admission.words.local().store(admission.sender_index(sender), Held::none(to).word());
        let (share, last) = match admission.left.take() {
            Some((share, last)) if admission.borrow => (share, Some(last)),
            _ => (admission.nearest(admission.world.rank()), None),
        };
        let (granted, pending) = (Ticket::new(admission.server(share).slots), VecDeque::new());
        let relay = if sender == 0 { admission.relay() } else { None };
        let (words, pace, ahead) = (admission.words.local(), Pace::new(admission.ahead(to)), Ticket::default());
        Ok(Self {
            admission,
            words,
            to,
            sender,
            share,
            granted,
            fresh: false,
            last,
            waited: false,
            turns: 0,
            looks: 0,
            pending,
            relay,
            ahead,
            ahead_count: 0,
            pace,
        })
    }

    /// Finds a number for a new sender of this rank: one without tickets of an earlier sender. If there is none, waits until the receiver has withdrawn the
    /// tickets of the first unused number.
    fn free_sender(admission: &'a Admission<'w>) -> Result<usize> {
        let (words, used) = (admission.words.local(), admission.senders.get());
        let is_empty = |word| Held::of_word(word).is_none_or(|held| held.count == 0);
        let unused = || (0..SENDERS).filter(|sender| used & 1 << sender == 0);
        let Some(first) = unused().next() else {
            return Err(Error::TooMany { what: "senders of one rank at a mailbox", limit: SENDERS });
        };
        if let Some(sender) = unused().find(|&sender| is_empty(words.load(admission.sender_index(sender)))) {
            return Ok(sender);
        }
        admission.world.wait_for_value("a sender that was dropped", None, words, admission.sender_index(first), is_empty)?;
        Ok(first)
    }

    /// Number of requests that took tickets, a round trip each.
    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    /// Number of reads of the counters that took no tickets.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// The share from which the sender takes tickets.
    pub(crate) fn share(&self) -> u32 {
        self.share
    }

    /// Whether the sender would have to wait for the next ticket. Reads the counters only if it had to wait for the last ticket.
    pub(crate) fn is_full(&mut self) -> Result<bool> {
        if !self.waited {
            return Ok(false);
        }
        let credit = self.admission.look(self.counters())?;
        self.waited = credit.is_full();
        Ok(self.waited)
    }

    /// Returns the ticket of the next message. If tickets need a round trip, and while the program sends in a loop and the receiver consumes, takes more
    /// tickets with it (G3). Cost: a compare-and-swap in the memory of this rank for a ticket that was taken ahead; else as [`take`](Self::take).
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Ticket> {
        match self.use_ahead(1) {
            Some(ticket) => Ok(ticket),
            None if self.pace.is_ahead() => self.take_ahead(),
            None => self.take(1),
        }
    }

    fn take_ahead(&mut self) -> Result<Ticket> {
        let count = self.pace.next(self.admission.world.now(), self.counters().slots);
        let first = self.take(count)?;
        self.pace.came(self.admission.world.now(), first.after(count - 1), self.granted);
        if count > 1 {
            self.hold(first.after(1), count - 1);
        }
        Ok(first)
    }

    /// Stores tickets taken ahead, when there are none; the receiver may withdraw them from now on.
    fn hold(&mut self, first: Ticket, count: u32) {
        (self.ahead, self.ahead_count) = (first, count);
        self.words.store(self.admission.sender_index(self.sender), self.held(first, count).word());
    }

    /// Whether the next ticket that was taken ahead is granted; `None` if there is none. The receiver may still withdraw it.
    pub(crate) fn is_ahead_granted(&mut self) -> Result<Option<bool>> {
        if self.ahead_count == 0 { Ok(None) } else { self.is_granted(self.ahead).map(Some) }
    }

    /// Removes `count` of the tickets taken ahead and returns the first; `None` if there are none left.
    pub(crate) fn use_ahead(&mut self, count: u32) -> Option<Ticket> {
        if self.ahead_count == 0 {
            return None;
        }
        let (first, left) = (self.ahead, self.ahead_count - count);
        let [held, next] = [self.held(first, self.ahead_count), self.held(first.after(count), left)].map(Held::word);
        if self.words.compare_swap(self.admission.sender_index(self.sender), held, next) != held {
            self.ahead_count = 0;
            self.pace.unused();
            return None;
        }
        (self.ahead, self.ahead_count) = (first.after(count), left);
        Some(first)
    }

    /// Removes the granted tickets that were taken ahead, whose slots the caller marks as void; the receiver withdraws the others. Returns the first and
    /// their number. Does not wait.
    pub(crate) fn give_back(&mut self) -> Option<(Ticket, u32)> {
        let granted = self.granted.since(self.ahead).clamp(0, self.ahead_count as i32) as u32;
        if granted == 0 {
            return None;
        }
        self.pace.unused();
        Some((self.use_ahead(granted)?, granted))
    }

    fn held(&self, first: Ticket, count: u32) -> Held {
        Held::new(self.to, self.share, first, count)
    }

    /// Takes `count` consecutive tickets and returns the first; all earlier tickets must be used. Cost: one round trip, two if the counters are in two
    /// words.
    pub(crate) fn take(&mut self, count: u32) -> Result<Ticket> {
        self.settle()?;
        if self.waited && self.admission.borrow {
            self.choose()?;
        }
        // This turn reuses the claim of an earlier turn, whose messages must be complete.
        while let Some(&(turn, oldest)) = self.pending.front()
            && turn + CLAIMS as u64 <= self.turns
        {
            oldest.wait()?;
            self.settle()?;
        }
        self.claim(Claim { taking: true, ..Claim::default() });
        let taken = self.add(count).inspect_err(|_| self.claim(Claim::default()))?;
        let first = taken.taken;
        self.claim(Claim { taking: false, share: self.share, first, count });
        self.turns += 1;
        (self.granted, self.fresh) = (taken.granted, true);
        self.last = Some(first.after(count - 1));
        self.waited = !self.admits(first);
        Ok(first)
    }

    /// Takes the next ticket only if it is already granted; returns whether it did. Does not claim the ticket.
    pub(crate) fn take_if_granted(&mut self) -> Result<bool> {
        let (admission, share) = (self.admission, self.counters());
        let taken_at = admission.taken_at(share);
        let found = admission.world.fetch(taken_at)?;
        // With counters in two words this value is older, as in the paper: more tickets may be granted by now.
        let consumed = match admission.settings.counting {
            Counting::OneWord => None,
            Counting::TwoWords => Some(admission.world.get(admission.consumed_at(share))? as u32),
        };
        let mut word = found.wait()?;
        loop {
            let (credit, next) = match consumed {
                None => (Credit::of_word(word), word.wrapping_add(Credit::TAKE)),
                Some(consumed) => {
                    let granted = Ticket::new(consumed).after(share.slots);
                    (Credit { taken: Ticket::new(word as u32), granted }, word.wrapping_add(1))
                }
            };
            if credit.is_full() {
                return self.look_around().map(|()| false);
            }
            // Another word means that another sender took a ticket, or that more tickets were granted.
            match admission.world.compare_swap(taken_at, word, next)?.wait()? {
                seen if seen == word => return Ok(true),
                seen => word = seen,
            }
        }
    }

    /// Whether `ticket` is granted. Cost: nothing if that is known, else as [`Admission::look`].
    pub(crate) fn is_granted(&mut self, ticket: Ticket) -> Result<bool> {
        if !self.admits(ticket) {
            self.looks += 1;
            self.granted = self.admission.look(self.counters())?.granted;
        }
        Ok(self.admits(ticket))
    }

    /// Makes progress and checks for losses, for a caller that does not wait.
    pub(crate) fn look_around(&self) -> Result<()> {
        progress(self.admission.world)?;
        all_there(self.admission.world, &[self.to, self.counters().holder])
    }

    /// Waits until `ticket` is granted.
    #[inline]
    pub(crate) fn wait(&mut self, ticket: Ticket) -> Result<()> {
        if self.admits(ticket) { Ok(()) } else { self.wait_for_grant(ticket) }
    }

    /// A sender that waits for a bell waits until all tickets that were taken with this one are granted, so that their messages leave together. This
    /// depends only on messages of earlier tickets, because at most half of the slots are taken at once.
    #[cold]
    fn wait_for_grant(&mut self, ticket: Ticket) -> Result<()> {
        let mut pause = Pause::new(self.admission.world.now());
        let (mut registered, mut limit) = (false, BELL_LIMIT);
        let Share { slots, waiters, .. } = self.counters();
        let begun = pause.looked;
        loop {
            // `granted` has just been read, so another read would return the same.
            if self.admits(ticket) || !std::mem::take(&mut self.fresh) && self.is_granted(ticket)? {
                self.pace.waited(self.admission.world.now().since(begun));
                return Ok(());
            }
            let behind = ticket.since(self.granted) as u32;
            let next = pause.next(self.admission.world.now(), self.granted, behind, slots);
            match self.admission.settings.waiting {
                Waiting::Polling => self.pause(ticket, PAUSE_MIN)?,
                Waiting::Notified if registered && limit == BELL_LIMIT_MAX && self.is_rung_at_once() => {
                    self.wait_for_any_bell(ticket)?;
                }
                Waiting::Notified if registered => {
                    self.pause(ticket, limit.max(next + next))?;
                    limit = (limit + limit).min(BELL_LIMIT_MAX);
                }
                Waiting::Notified if behind < waiters => {
                    let behind_it = self.last.map_or(0, |last| last.since(ticket)).clamp(0, slots.div_ceil(2) as i32) as u32;
                    registered = self.register(ticket.after(behind_it.min(waiters - 1 - behind)))?;
                    if !registered {
                        self.pause(ticket, next)?;
                    }
                }
                Waiting::Notified | Waiting::BackingOff => self.pause(ticket, next)?,
            }
        }
    }

    /// Records the operations of the message of one of the last tickets.
    pub(crate) fn used<const N: usize>(&mut self, handles: [Handle<'w>; N]) -> Result<()> {
        let turn = self.turns - 1;
        for handle in handles.into_iter().filter(|handle| !handle.was_done_at_once()) {
            self.pending.push_back((turn, handle));
        }
        if self.pending.len() < SENDING_MAX {
            return Ok(());
        }
        let (_, oldest) = self.pending[0];
        oldest.wait()?;
        self.settle()
    }

    /// Waits until all messages are complete; returns the first failure.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.relay.iter_mut().for_each(Member::flush);
        self.pending.drain(..).map(|(_, handle)| handle.wait()).fold(Ok(()), Result::and)
    }

    /// Removes the operations of complete messages. Their claims stay, which is harmless: the receiver does not wait for messages that have arrived.
    #[inline]
    fn settle(&mut self) -> Result<()> {
        if self.pending.is_empty() { Ok(()) } else { self.settle_some() }
    }

    fn settle_some(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some((_, handle)) = self.pending.front() {
            match handle.test() {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
            self.pending.pop_front();
        }
        outcome
    }

    fn admits(&self, ticket: Ticket) -> bool {
        self.granted.since(ticket) > 0
    }

    fn counters(&self) -> Share {
        self.admission.share(self.to, self.share)
    }

    /// Stores the claim of this turn.
    fn claim(&self, claim: Claim) {
        self.words.store(self.admission.claim_index(self.sender, self.turns), claim.word());
    }

    /// Takes tickets: at the server, or through the relay together with other ranks.
    fn add(&mut self, count: u32) -> Result<Credit> {
        let share = self.counters();
        match &mut self.relay {
            Some(relay) => relay.take(self.admission, share, self.to, count),
            None => self.admission.take(share, count),
        }
    }

    /// Changes to a share with free slots, if the own share has none and the receiver has consumed the last message: messages of different shares may
    /// overtake each other.
    fn choose(&mut self) -> Result<()> {
        let admission = self.admission;
        let credit = admission.look(self.counters())?;
        let consumed = self.last.is_none_or(|last| credit.granted.since(last) > self.counters().slots as i32);
        if !credit.is_full() || !consumed {
            return Ok(());
        }
        let others = (1..admission.shares()).map(|step| (self.share + step) % admission.shares());
        let looks = others.map(|share| Ok((share, admission.world.fetch(admission.taken_at(admission.share(self.to, share)))?)));
        let looks: Vec<_> = looks.collect::<Result<_>>()?;
        for (share, word) in looks {
            let credit = match admission.settings.counting {
                Counting::OneWord => Credit::of_word(word.wait()?),
                Counting::TwoWords => admission.look(admission.share(self.to, share))?,
            };
            if !credit.is_full() {
                (self.share, self.last) = (share, None);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Registers this sender, so that the receiver rings its bell when it grants `ticket`, which is less than a lap of entries after the granted tickets.
    /// Returns whether a bell will be rung. Rings for a sender of an earlier lap that it replaces, because the receiver no longer finds that sender.
    ///
    /// Cost: one round trip, which includes a read of the counters if tickets are taken ahead.
    fn register(&mut self, ticket: Ticket) -> Result<bool> {
        let admission = self.admission;
        let waiter = Waiter { rank: admission.world.rank(), sender: self.sender, ticket };
        let place = admission.words.at(self.to, admission.waiter_index(self.share, ticket));
        // After a wrap of ticket numbers, the word of an old bell could count for this ticket.
        self.words.store(admission.bell_index(self.sender), 0);
        // An atomic, so that it is in one total order with the receiver's reads and with the operations of both on the counters. Replaces an entry of
        // an earlier lap; an entry of a later lap means that this ticket was granted meanwhile.
        let register = |expected| admission.world.compare_swap(place, expected, waiter.word());
        let mut expected = 0;
        let mut found = if self.pace.is_ahead() { self.look_behind(|| register(0))? } else { register(0)?.wait()? };
        loop {
            let other = Waiter::of_word(found);
            if found == expected {
                return other.map_or(Ok(()), |replaced| self.ring_for(replaced)).map(|()| true);
            }
            // The counters were read before the registration.
            self.fresh = false;
            match other {
                // This includes this ticket itself, if the wait for it was interrupted.
                Some(other) if other.ticket.since(ticket) >= 0 => return Ok(true),
                // The laps before and after the wrap of numbers overlap if the number of entries is no power of two.
                Some(other) if !self.admits(other.ticket) => return Ok(false),
                _ => expected = found,
            }
            found = register(expected)?.wait()?;
        }
    }

    /// Reads the counters after an atomic at the receiver, in one message; returns the value that the atomic found.
    fn look_behind(&mut self, atomic: impl FnOnce() -> Result<Fetch<'w, u64>>) -> Result<u64> {
        let (admission, share) = (self.admission, self.counters());
        let (found, word) = admission.world.pair(atomic, |found| {
            let word = admission.world.after(&found.handle()).fetch(admission.taken_at(share))?;
            Ok((found, word))
        })?;
        let (found, word) = (found.wait(), word.wait());
        let granted = Credit::of_word(word?).granted;
        self.granted = if self.granted.since(granted) < 0 { granted } else { self.granted };
        (self.fresh, self.looks) = (true, self.looks + 1);
        found
    }

    /// Rings instead of the receiver for a sender whose ticket is granted. The bell has no effect if the sender is lost or has read the counters meanwhile.
    fn ring_for(&self, Waiter { rank, sender, ticket }: Waiter) -> Result<()> {
        let admission = self.admission;
        if is_lost(admission.world, rank) {
            return Ok(());
        }
        let bell = admission.words.at(rank, admission.bell_index(sender));
        let _unheard = admission.world.put(bell, &[rung(self.to, self.share, ticket)])?.wait();
        Ok(())
    }

    /// Waits for the bell, at most for `limit`.
    fn pause(&mut self, ticket: Ticket, limit: Duration) -> Result<()> {
        let (admission, own) = (self.admission, rung(self.to, self.share, ticket));
        let granted = |seen: u64| Some(seen as u32).filter(|_| seen >> 32 == own >> 32).map(|last| Ticket::new(last).after(1));
        let is_mine = |seen: u64| granted(seen).is_some_and(|granted| granted.since(ticket) > 0);
        let waited =
            admission.world.wait_for_value(ADMISSION, Some(limit), self.words, admission.bell_index(self.sender), is_mine);
        if let Some(granted) = unless_lost(admission.world, waited)?.and_then(granted) {
            self.granted = granted;
        }
        all_there(admission.world, &[self.to, self.counters().holder])
    }

    /// Whether the receiver rings in the call that grants: it holds the counters, and a rank changes its own counters at once.
    fn is_rung_at_once(&self) -> bool {
        let (admission, share) = (self.admission, self.counters());
        let own = Share { holder: admission.world.rank(), ..share };
        share.holder == self.to && admission.world.reach().place(admission.taken_at(own)).is_some()
    }

    /// Waits without a limit for any bell (G4).
    fn wait_for_any_bell(&mut self, ticket: Ticket) -> Result<()> {
        let (admission, losses) = (self.admission, self.admission.world.losses());
        // The registration so far may be that of a later ticket.
        if !self.register(ticket)? {
            return self.pause(ticket, BELL_LIMIT_MAX);
        }
        let is_granted = self.is_granted(ticket)?;
        all_there(admission.world, &[self.to])?;
        if is_granted || admission.world.losses() != losses {
            return Ok(());
        }
        let bell = admission.bell_index(self.sender);
        let waited = admission.world.wait_for_value(ADMISSION, None, self.words, bell, |seen| seen != 0);
        unless_lost(admission.world, waited)?;
        all_there(admission.world, &[self.to])
    }
}

impl Drop for Requester<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // Complete messages need no claim. A message fails only if the receiver is lost, so no receiver waits for a failed one.
        let _told_by_quiet = self.flush();
        let (words, index) = (self.words, self.admission.sender_index(self.sender));
        (1..SENDER_WORDS).for_each(|word| words.store(index + word, 0));
        // Tickets that are not granted stay there until the receiver withdraws them (G3).
        if self.ahead_count == 0 {
            words.store(index, 0);
        }
        self.admission.senders.set(self.admission.senders.get() & !(1 << self.sender));
        self.admission.left.set(self.last.map(|last| (self.share, last)));
    }
}

/// The pause of a sender between two reads of the counters. A sender far back wakes in the middle of the lap before its own, because a late sender
/// would delay all senders behind it. So the pause is computed from the best observed pace of the receiver, and a sender that observes no progress
/// polls less often only after some reads.
struct Pause {
    looked: Instant,
    granted: Option<Ticket>,
    /// Estimated minimum time that the receiver takes for a ticket.
    pace: Duration,
    /// Number of reads since tickets were last granted.
    idle: u32,
}

/// Initial estimate of the time that the receiver takes for a ticket.
const PACE: Duration = Duration::from_nanoseconds(100);

/// Number of reads without progress after which each pause is twice the previous one.
const IDLE_LOOKS: u32 = 8;

impl Pause {
    fn new(now: Instant) -> Self {
        Self { looked: now, granted: None, pace: PACE, idle: 0 }
    }

    /// The next pause of a sender with `behind` tickets before its own that are not granted, at an admission of `slots` slots.
    fn next(&mut self, now: Instant, granted: Ticket, behind: u32, slots: u32) -> Duration {
        let passed = self.granted.replace(granted).map_or(0, |before| granted.since(before) as u64);
        let elapsed = now.since(std::mem::replace(&mut self.looked, now));
        match elapsed.as_picoseconds().checked_div(passed) {
            Some(each) => {
                let pace = self.pace.as_picoseconds();
                (self.idle, self.pace) = (0, Duration::from_picoseconds(each.min(pace + pace / 4)));
            }
            None => self.idle += 1,
        }
        let tickets = u64::from(behind.saturating_sub(slots / 2).max(behind / 2).max(1));
        let doublings = self.idle.saturating_sub(IDLE_LOOKS).min(16);
        let picoseconds = self.pace.as_picoseconds().saturating_mul(tickets) << doublings;
        Duration::from_picoseconds(picoseconds).clamp(PAUSE_MIN, PAUSE_MAX)
    }
}

#[cfg(test)]
mod shares;

#[cfg(test)]
impl Requester<'_, '_> {
    /// Takes `count` tickets and holds all but the first, whatever the pace.
    pub(crate) fn take_and_hold(&mut self, count: u32) -> Result<Ticket> {
        let first = self.take(count)?;
        self.hold(first.after(1), count - 1);
        Ok(first)
    }

    /// Forgets the granted tickets, so that none can be returned.
    pub(crate) fn forget_grants(&mut self) {
        self.granted = self.ahead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: u32 = 16;

    /// The pauses of a sender with `behind` tickets before its own that reads the counters after each pause: at the times and with the granted tickets
    /// of `looks`.
    fn pauses(behind: u32, looks: &[(Duration, u32)]) -> Vec<Duration> {
        let mut pause = Pause::new(Instant::ZERO);
        let next = |&(at, granted): &(Duration, u32)| pause.next(Instant::ZERO + at, Ticket::new(granted), behind, SLOTS);
        looks.iter().map(next).collect()
    }

    fn once(behind: u32, slots: u32) -> Duration {
        Pause::new(Instant::ZERO).next(Instant::ZERO, Ticket::new(0), behind, slots)
    }

    /// Before any observation the receiver is assumed to take 100 ns for a ticket.
    #[test]
    fn a_sender_wakes_amid_the_lap_before_its_own() {
        let nanoseconds = |tickets: u32| Duration::from_nanoseconds(100 * u64::from(tickets));
        assert_eq!(once(1000, SLOTS), nanoseconds(1000 - SLOTS / 2));
        assert_eq!(once(1000, 4000), nanoseconds(500), "half of the way, if its own lap is near");
        assert_eq!([0, 1, 3].map(|behind| once(behind, SLOTS)), [PAUSE_MIN; 3]);
        assert_eq!(once(u32::MAX, SLOTS), PAUSE_MAX);
    }

    /// A receiver that was fast may be fast again, so the estimate grows only gradually when it is slow.
    #[test]
    fn the_pace_of_the_receiver_is_judged_by_its_best() {
        let micro = Duration::from_microseconds;
        let of = |nanoseconds: u64| Duration::from_nanoseconds(nanoseconds * 992);
        // Ten tickets in 400 ns, then in 10 µs.
        let looks = [(micro(0), 0), (Duration::from_nanoseconds(400), 10), (micro(10), 20)];
        assert_eq!(pauses(1000, &looks), [of(100), of(40), of(50)]);
        // The time of reads without progress counts.
        let looks = [(micro(0), 0), (Duration::from_nanoseconds(200), 0), (Duration::from_nanoseconds(400), 10)];
        assert_eq!(pauses(1000, &looks)[2], of(20), "since the look before");
    }

    #[test]
    fn a_sender_looks_more_seldom_after_some_looks_in_vain_until_something_is_granted() {
        let longer = |quarters: u64| Duration::from_nanoseconds(25 * 92 * quarters);
        let mut looks = vec![(Duration::ZERO, 0); IDLE_LOOKS as usize];
        assert!(pauses(100, &looks).iter().all(|&pause| pause == longer(4)));
        looks.extend([(Duration::ZERO, 0); 3]);
        assert_eq!(pauses(100, &looks)[IDLE_LOOKS as usize..], [8, 16, 32].map(longer));
        looks.push((Duration::from_microseconds(1), 1));
        assert_eq!(pauses(100, &looks).pop(), Some(longer(5)), "and the pace is thought a quarter slower at most");
        looks.extend([(Duration::from_microseconds(1), 1); 40]);
        assert_eq!(pauses(100, &looks).pop(), Some(PAUSE_MAX));
    }
}
