//! All interleavings, within loom's bounds, of senders and a receiver that admit messages by the arithmetic of `credit`.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p pelago-messaging --release --test loom`. A lost notification shows as loom's deadlock.
//!
//! The words are those of the admission, with the operations and their order of `admission/requester.rs` and `admission/granter.rs`. Claims, which matter
//! when ranks are lost, are not modelled.
#![cfg(loom)]

use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU64, fence};
use loom::sync::{Arc, Notify};
use loom::{model::Builder, thread};
use pelago_messaging::credit::{Credit, Ticket};

/// The words of the counters.
enum Counters {
    OneWord(AtomicU64),
    TwoWords { taken: AtomicU64, consumed: AtomicU64 },
}

/// The way in which a sender waits for its ticket.
#[derive(Clone, Copy)]
enum Waiting {
    /// Reads the counters again whenever a ticket was granted: the model has no time for polling.
    Polling,
    /// Registers, reads the counters, sleeps until the bell rings.
    Notified,
}

struct Job {
    slots: u32,
    counters: Counters,
    waiting: Waiting,
    /// Ticket 0 of the job.
    first: Ticket,
    /// For each slot, the ticket of its message, and the message; 0 after the message was consumed.
    flags: Vec<AtomicU64>,
    bodies: Vec<AtomicU64>,
    /// The entries of waiting senders, one for each slot.
    waiters: Vec<AtomicU64>,
    bells: Vec<Notify>,
    /// Wakes the senders that are more than a lap behind, which read the counters whenever a ticket was granted.
    grants: Vec<Notify>,
    /// Wakes the receiver when a message has arrived.
    arrival: Notify,
}

impl Counters {
    fn take(&self, slots: u32) -> Credit {
        match self {
            Self::OneWord(word) => Credit::of_word(word.fetch_add(Credit::TAKE, AcqRel)),
            Self::TwoWords { taken, consumed } => {
                let granted = Ticket::new(consumed.load(Acquire) as u32).after(slots);
                Credit { taken: Ticket::new(taken.fetch_add(1, AcqRel) as u32), granted }
            }
        }
    }

    /// The first ticket that is not granted. An addition of 0 models an atomic load, because loom would let a load return an old value.
    fn granted(&self, slots: u32) -> Ticket {
        match self {
            Self::OneWord(word) => Credit::of_word(word.fetch_add(0, AcqRel)).granted,
            Self::TwoWords { consumed, .. } => Ticket::new(consumed.fetch_add(0, AcqRel) as u32).after(slots),
        }
    }

    /// Grants `ticket`; all earlier tickets must be granted.
    fn grant(&self, ticket: Ticket) {
        match self {
            Self::OneWord(word) => word.fetch_add(Credit::grant(ticket, 1), AcqRel),
            Self::TwoWords { consumed, .. } => consumed.fetch_add(1, AcqRel),
        };
    }
}

impl Job {
    fn new(slots: u32, in_one_word: bool, waiting: Waiting, first: u32, senders: usize) -> Self {
        let first = Ticket::new(first);
        let counters = if in_one_word {
            Counters::OneWord(AtomicU64::new(Credit { taken: first, granted: first.after(slots) }.word()))
        } else {
            let counter = || AtomicU64::new(first.number().into());
            Counters::TwoWords { taken: counter(), consumed: counter() }
        };
        let words = || (0..slots).map(|_| AtomicU64::new(0)).collect();
        let bells = || (0..senders).map(|_| Notify::new()).collect();
        let (flags, bodies, waiters, arrival) = (words(), words(), words(), Notify::new());
        Self { slots, counters, waiting, first, flags, bodies, waiters, bells: bells(), grants: bells(), arrival }
    }

    fn slot(&self, ticket: Ticket) -> usize {
        ticket.slot(self.slots) as usize
    }

    fn send(&self, sender: usize, message: u64) {
        let credit = self.counters.take(self.slots);
        let ticket = credit.taken;
        if !credit.admits(ticket) {
            self.wait(sender, ticket);
        }
        let before = self.bodies[self.slot(ticket)].swap(message, Relaxed);
        assert_eq!(before, 0, "C1: a slot is written before it was read");
        self.flags[self.slot(ticket)].store(mark(ticket), Release);
        self.arrival.notify();
    }

    fn wait(&self, sender: usize, ticket: Ticket) {
        if matches!(self.waiting, Waiting::Notified) {
            // A sender further behind has no entry.
            while ticket.since(self.counters.granted(self.slots)) >= self.slots as i32 {
                self.grants[sender].wait();
            }
            // The replaced sender's ticket is granted, and the receiver no longer finds its entry.
            self.register(sender, ticket).into_iter().for_each(|replaced| self.bells[replaced].notify());
        }
        while !self.is_granted(ticket) {
            self.bells[sender].wait();
        }
    }

    /// Registers a sender; returns the sender whose registration it replaced.
    fn register(&self, sender: usize, ticket: Ticket) -> Option<usize> {
        let place = &self.waiters[self.slot(ticket)];
        let mut expected = 0;
        loop {
            let found = match place.compare_exchange(expected, (sender as u64) << 33 | mark(ticket), AcqRel, Acquire) {
                Ok(replaced) => return (replaced != 0).then_some((replaced >> 33) as usize),
                Err(found) => found,
            };
            // The entry is of a later ticket, so this ticket was granted meanwhile.
            if Ticket::new(found as u32).since(ticket) > 0 {
                return None;
            }
            expected = found;
        }
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        self.counters.granted(self.slots).since(ticket) > 0
    }

    /// Receives `messages` messages.
    fn receive(&self, messages: u32) -> Vec<u64> {
        let take = |ticket: Ticket| {
            while self.flags[self.slot(ticket)].load(Acquire) != mark(ticket) {
                self.arrival.wait();
            }
            let message = self.bodies[self.slot(ticket)].swap(0, Relaxed);
            self.free(ticket);
            message
        };
        (0..messages).map(|step| take(self.first.after(step))).collect()
    }

    fn free(&self, ticket: Ticket) {
        let granted = ticket.after(self.slots);
        self.counters.grant(granted);
        match self.waiting {
            Waiting::Polling => self.bells.iter().for_each(Notify::notify),
            Waiting::Notified => {
                self.grants.iter().for_each(Notify::notify);
                self.waiter(granted).into_iter().for_each(|sender| self.bells[sender].notify());
            }
        }
    }

    /// Takes the sender that is registered for a ticket. As in `admission/granter.rs`, a fence separates the addition of `grant` from the load.
    fn waiter(&self, ticket: Ticket) -> Option<usize> {
        let place = &self.waiters[self.slot(ticket)];
        fence(SeqCst);
        let found = place.load(Acquire);
        if found & ((1 << 33) - 1) != mark(ticket) {
            return None;
        }
        // A sender of the next lap may have replaced the entry.
        let _left = place.compare_exchange(found, 0, AcqRel, Acquire);
        Some((found >> 33) as usize)
    }
}

/// A ticket as a word that is not zero.
fn mark(ticket: Ticket) -> u64 {
    1 << 32 | u64::from(ticket.number())
}

/// Each of `senders` senders sends `messages` messages, in all interleavings with at most `preemptions` preemptions: seconds in total.
///
/// The environment variable `LOOM_MAX_PREEMPTIONS` sets another bound.
fn explore(senders: usize, messages: u32, preemptions: usize, job: impl Fn() -> Job + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(move || {
        let job = Arc::new(job());
        let threads: Vec<_> = (0..senders)
            .map(|sender| {
                let job = job.clone();
                let send = move |number| job.send(sender, number_of(sender, number));
                thread::spawn(move || (0..messages).for_each(send))
            })
            .collect();
        let received = job.receive(senders as u32 * messages);
        for sender in 0..senders {
            let of_sender = received.iter().copied().filter(|message| message >> 8 == sender as u64);
            let expected = (0..messages).map(|number| number_of(sender, number));
            assert!(of_sender.eq(expected), "of sender {sender} came {received:?}");
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A message that is not zero.
fn number_of(sender: usize, number: u32) -> u64 {
    (sender as u64) << 8 | u64::from(number) + 1
}

/// The first ticket numbers: the second one wraps soon.
const FIRSTS: [u32; 2] = [0, u32::MAX - 1];

/// Every message arrives once, in its sender's order, and none is overwritten (C1, C2), over several laps.
#[test]
fn slots_hold_one_message_each() {
    for first in FIRSTS {
        for in_one_word in [true, false] {
            explore(1, 5, 3, move || Job::new(2, in_one_word, Waiting::Polling, first, 1));
            explore(2, 1, 3, move || Job::new(1, in_one_word, Waiting::Polling, first, 2));
            explore(2, 2, 1, move || Job::new(1, in_one_word, Waiting::Polling, first, 2));
            explore(2, 2, 1, move || Job::new(2, in_one_word, Waiting::Polling, first, 2));
        }
    }
}

/// A waiting sender is woken (G2). With up to two laps of tickets no sender replaces the entry of a waiting sender; with three, one may.
#[test]
fn whoever_waits_is_told() {
    for first in FIRSTS {
        for in_one_word in [true, false] {
            explore(2, 1, 3, move || Job::new(1, in_one_word, Waiting::Notified, first, 2));
            explore(2, 2, 2, move || Job::new(2, in_one_word, Waiting::Notified, first, 2));
            explore(3, 1, 1, move || Job::new(1, in_one_word, Waiting::Notified, first, 3));
        }
    }
}

/// A sender registers and reads the counters, in either order, while the receiver grants and reads the entry. Checks that the sender sees the grant or
/// is notified.
fn one_sees_the_other(registers_first: bool) {
    for in_one_word in [true, false] {
        loom::model(move || {
            let job = Arc::new(Job::new(1, in_one_word, Waiting::Notified, 0, 1));
            let ticket = Ticket::new(1);
            let sender = thread::spawn({
                let job = job.clone();
                move || {
                    let looked = !registers_first && job.is_granted(ticket);
                    job.register(0, ticket);
                    looked || registers_first && job.is_granted(ticket)
                }
            });
            job.counters.grant(ticket);
            let is_told = job.waiter(ticket).is_some();
            assert!(sender.join().unwrap() || is_told, "G2: it sleeps, and nobody knows");
        });
    }
}

#[test]
fn whoever_registers_and_then_looks_is_let_in_or_told() {
    one_sees_the_other(true);
}

/// The model detects the error.
#[test]
#[should_panic(expected = "G2")]
fn whoever_looks_and_then_registers_may_sleep_for_ever() {
    one_sees_the_other(false);
}

/// A sender registers and reads the counters. A sender of the next lap registers in the same entry when it sees the first one's ticket granted, and the
/// receiver grants that ticket. Checks that the first sender sees the grant or is notified.
fn one_registers_after_the_other(rings: bool) {
    for in_one_word in [true, false] {
        loom::model(move || {
            let job = Arc::new(Job::new(1, in_one_word, Waiting::Notified, 0, 2));
            let [ticket, next_lap] = [1, 2].map(Ticket::new);
            let first = thread::spawn({
                let job = job.clone();
                move || {
                    job.register(0, ticket);
                    job.is_granted(ticket)
                }
            });
            let second = thread::spawn({
                let job = job.clone();
                move || job.is_granted(ticket) && job.register(1, next_lap).is_some() && rings
            });
            job.counters.grant(ticket);
            let mut is_told = job.waiter(ticket).is_some();
            let is_let_in = first.join().unwrap();
            is_told |= second.join().unwrap();
            assert!(is_let_in || is_told, "G2: it sleeps, and nobody knows");
        });
    }
}

#[test]
fn whoever_registers_in_the_place_of_another_rings_for_it() {
    one_registers_after_the_other(true);
}

/// The model detects the error.
#[test]
#[should_panic(expected = "G2")]
fn whoever_is_replaced_and_not_rung_for_may_sleep_for_ever() {
    one_registers_after_the_other(false);
}
