//! Active messages: functions of the program that run at other ranks.
//!
//! | file | subject |
//! |---|---|
//! | here | [`ActiveMessages`]: sending, calling, and the barrier after which all messages have run |
//! | `functions` | [`Functions`]: the functions that can be called; [`Call`]: the environment of a function |
//! | `inbox` | the queue of a rank, whose messages run during progress |
//! | `outbox` | the batch of messages for one rank |
//! | `replies` | slots for replies at the caller |
//! | `layout` | the layout of the queue, its counters and the replies in symmetric memory |
//!
//! **Admission.** The queue of a rank has a fixed number of slots, one per batch. A sender takes a ticket by a remote atomic add, waits until the
//! receiver has granted it (a slot is granted again after its batch has run), and writes its batch, then the slot's flag, which contains the
//! ticket. Therefore the queue never overflows, and batches run once, in the order of their tickets.
//!
//! **Progress.** Functions run on the thread of the rank, inside calls of the library: those that wait, and `progress`. They never interrupt the
//! program between two calls. A rank that computes for long without such a call runs no messages meanwhile.

mod functions;
mod inbox;
mod layout;
mod outbox;
mod replies;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::{Duration, Rank};
use pelago_memory::Pod;

pub use self::functions::{Call, Function, Functions, Next, PREPARED};
pub use self::replies::Reply;

use self::inbox::Inbox;
use self::layout::Layout;
use self::outbox::Outbox;
use self::replies::Replies;
use crate::limits::{ACTIVE_BATCH_BYTES_MAX, ACTIVE_CALLS_MAX, ACTIVE_SLOTS_MAX};
use crate::{Background, Error, Result, Symmetric, World};

/// Sizes of the queues of active messages, equal on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Number of batches that the queue of a rank holds; a power of two, at most 65,536.
    pub slots: u32,
    /// Size of a batch in bytes, at most 1 MiB: the memory at a sender for each rank that it sends to, and of each slot.
    pub batch_bytes: usize,
    /// Number of calls of one rank whose replies have not been taken, at most 65,536; 64 bytes each.
    pub calls: u32,
    /// Maximum time for which a sender waits for a slot of a full queue; without a limit it waits as long as the job has no fault.
    pub limit: Option<Duration>,
}

impl Default for QueueSettings {
    /// 32 batches of 8 KiB, 64 calls, no limit: 260 KiB of each rank.
    fn default() -> Self {
        Self { slots: 32, batch_bytes: 8 << 10, calls: 64, limit: None }
    }
}

impl QueueSettings {
    fn check(&self) -> Result<()> {
        if !self.slots.is_power_of_two() || self.slots > ACTIVE_SLOTS_MAX {
            return Err(Error::Invalid("the slots of a queue are a power of two up to 65,536"));
        }
        if !(64..=ACTIVE_BATCH_BYTES_MAX).contains(&self.batch_bytes) {
            return Err(Error::Invalid("a batch of active messages has from 64 bytes to 1 MiB"));
        }
        if self.calls > ACTIVE_CALLS_MAX {
            return Err(Error::Invalid("at most 65,536 calls are under way"));
        }
        Ok(())
    }
}

/// Counters of one rank's active messages, since their creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveCounters {
    /// Messages that this rank has sent.
    pub sent: u64,
    /// Batches in which these messages were sent.
    pub batches: u64,
    /// Messages that have run on this rank.
    pub run: u64,
}

/// Functions of the program that run at other ranks; created collectively by all ranks.
///
/// A message is one argument of a function. Messages to a rank are collected in a batch, which is sent when it is full, and by [`flush`](Self::flush),
/// [`barrier`](Self::barrier) and [`Reply::wait`]. The target runs its functions on its own thread while it waits in any call of the library, or makes
/// [`progress`](crate::Context::progress); never between two calls. A function may use the memory of its rank, issue operations and change state
/// that the program shares with it (`Rc`); it must not send active messages, nor wait for other ranks.
///
/// Each message runs once. Messages from one rank to another run in the order in which they were sent; messages of different ranks are unordered.
///
/// Memory: that of [`QueueSettings`], on each rank, however many ranks send; a sender has one batch for each rank that it has sent to, and 8 bytes for each
/// rank of the job. Senders to a full queue wait, and run their own messages meanwhile.
///
/// If a rank fails in a job that [continues](World::on_peer_lost), all calls here end with `PeerLost` on all ranks: the queues may contain the ticket of a
/// failed sender.
///
/// The drop does not wait. A message that reaches a rank after that never runs: call [`barrier`](Self::barrier) first.
///
/// ```
/// # use std::{cell::Cell, rc::Rc};
/// # use pelago_rma::{Result, World, active::{ActiveMessages, Functions, QueueSettings}};
/// # fn example(world: &World) -> Result<()> {
/// let sum = Rc::new(Cell::new(0));
/// let mut functions = Functions::new();
/// let mine = sum.clone();
/// let add = functions.register(move |_call, value: u64| mine.set(mine.get() + value));
/// let messages = ActiveMessages::new(world, functions, QueueSettings::default())?;
/// for rank in world.ranks() {
///     messages.send(rank, add, 1)?;
/// }
/// messages.barrier()?;
/// assert_eq!(sum.get(), u64::from(world.size()));
/// # Ok(())
/// # }
/// ```
///
/// Source: active messages (von Eicken et al., 1992) as GASNet has them, with admission as in [paper A](https://doi.org/10.1145/2488551.2488592)'s mailboxes.
pub struct ActiveMessages<'w> {
    world: &'w World,
    settings: QueueSettings,
    layout: Layout,
    /// The memory of the queue.
    memory: Symmetric<'w, u64>,
    inbox: Rc<Inbox>,
    /// The hash of each function, by its number.
    prints: Box<[u64]>,
    /// By rank; allocated with the first message to it.
    outboxes: RefCell<Vec<Option<Box<Outbox>>>>,
    replies: RefCell<Replies>,
    sent: Cell<u64>,
    batches: Cell<u64>,
    /// Number of ranks that had failed at creation.
    losses: usize,
}

impl<'w> ActiveMessages<'w> {
    /// Creates queues on all ranks, with the same functions in the same order on each. Collective.
    ///
    /// Cost: an allreduce and an allocation.
    ///
    /// # Errors
    /// The settings are invalid, or differ between ranks; functions differ; too many objects have background work; as [`World::alloc`].
    pub fn new(world: &'w World, functions: Functions, settings: QueueSettings) -> Result<Self> {
        settings.check()?;
        let layout = Layout::new(&settings);
        if functions.record_words_max() > layout.batch_words {
            return Err(Error::Invalid("an argument is longer than a batch of active messages"));
        }
        let print = functions.fingerprint().wrapping_add(layout.fingerprint());
        let mut words = [print, !print];
        world.allreduce(&mut words, |one, other| one & other)?;
        if words != [print, !print] {
            return Err(Error::Disagreement("the functions of active messages, or their queues"));
        }
        let memory = world.alloc(layout.words())?;
        let offset = world.reach().addresses().offset(memory.at(world.rank(), 0).address());
        let prints = functions.prints();
        let inbox = Rc::new(Inbox::new(layout, offset, functions));
        let background: Rc<dyn Background> = inbox.clone();
        world.go_on_with(&background)?;
        Ok(Self {
            world,
            settings,
            layout,
            memory,
            inbox,
            prints,
            outboxes: RefCell::default(),
            replies: RefCell::new(Replies::new(settings.calls, offset / 8 + layout.reply(0) as u64)),
            sent: Cell::new(0),
            batches: Cell::new(0),
            losses: world.losses(),
        })
    }

    /// Runs `function` with `argument` at rank `to`, at a later time.
    ///
    /// Cost: a copy of the argument; for a full batch, a remote atomic and two puts in one message, and a wait if the queue of the target is full.
    ///
    /// # Errors
    /// A rank failed; the queue was full for the time limit of the settings (`TimedOut`): then this message is not sent, and earlier ones are kept; the job has
    /// a fault.
    ///
    /// # Panics
    /// The job has no such rank; the function belongs to another set, in which functions of other types precede it.
    #[inline]
    pub fn send<A: Pod>(&self, to: Rank, function: Function<A>, argument: A) -> Result<()> {
        self.push(to, self.number_of(function), None, &argument)
    }

    /// Runs `function` with `argument` at rank `to`, and returns its result in a reply.
    ///
    /// Cost: as [`send`](Self::send), and one put of the target.
    ///
    /// # Errors
    /// `TooMany`: as many calls as [`QueueSettings::calls`] permits have replies that were not taken; as [`send`](Self::send).
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub fn call<A: Pod, R: Pod>(&self, to: Rank, function: Function<A, R>, argument: A) -> Result<Reply<'_, 'w, R>> {
        let number = self.number_of(function);
        let place = self.replies.borrow_mut().take(|place| self.arrived(place))?;
        match self.push(to, number, Some(place.word()), &argument) {
            Ok(()) => Ok(Reply::new(self, to, place)),
            Err(error) => {
                self.replies.borrow_mut().give_unused(place);
                Err(error)
            }
        }
    }

    /// Sends the collected messages for all ranks, without waiting until they have run.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn flush(&self) -> Result<()> {
        let ranks = self.outboxes.borrow().len() as u32;
        (0..ranks).map(Rank::new).try_for_each(|rank| self.flush_to(rank))
    }

    /// Sends the collected messages for one rank.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn flush_to(&self, rank: Rank) -> Result<()> {
        match self.outboxes.borrow_mut().get_mut(rank.index()) {
            Some(Some(outbox)) if !outbox.is_empty() => self.ship(rank, outbox),
            _ => Ok(()),
        }
    }

    /// Returns after all earlier messages of all ranks have run. Collective.
    ///
    /// Cost: one allreduce, or a few if messages are still in flight.
    ///
    /// # Errors
    /// A function [failed](Call::fail) on some rank since the last barrier; an operation of some rank has failed and was not reported, and may be that of a
    /// batch; as [`send`](Self::send).
    pub fn barrier(&self) -> Result<()> {
        // The other ranks wait for this rank even after an error here, unless the job has a fault.
        let mut flushed = self.flush();
        loop {
            if let Err(error @ Error::Failed(_) | error @ Error::Fault(_)) = flushed {
                return Err(error);
            }
            let quiet = match self.world.quiet() {
                untold @ Err(Error::Failed(_)) => untold,
                quiet => Ok(quiet?),
            };
            let run = self.inbox.run.get();
            let [failed, untold, full] = [self.inbox.has_failed(), quiet.is_err(), flushed.is_err()].map(u64::from);
            // Two numbers of ranks in one word.
            let mut sums = [self.sent.get(), run, untold << u32::BITS | failed, full];
            self.world.allreduce(&mut sums, |one, other| one + other)?;
            self.nothing_lost()?;
            let [sent, all_run, both, full] = sums;
            let (untold, failed) = (both >> u32::BITS, both & u64::from(u32::MAX));
            if untold > 0 {
                return quiet.and(Err(Error::Invalid("an operation of another rank failed before a barrier of active messages")));
            }
            if sent == all_run && failed > 0 {
                return Err(self.inbox.take_failure().unwrap_or(Error::Invalid("an active message failed on another rank")));
            }
            if sent == all_run || full > 0 {
                return flushed.and(if full > 0 {
                    Err(Error::Invalid("a queue of active messages stayed full"))
                } else {
                    Ok(())
                });
            }
            // A message is still in flight, here or elsewhere.
            self.pause(ROUND, || self.inbox.run.get() > run)?;
            flushed = self.flush();
        }
    }

    /// Returns the counters of this rank.
    pub fn counters(&self) -> ActiveCounters {
        ActiveCounters { sent: self.sent.get(), batches: self.batches.get(), run: self.inbox.run.get() }
    }

    /// Number of bytes of a rank's memory for the queue and the replies, however many ranks send.
    pub fn queue_bytes(&self) -> usize {
        self.memory.len() * 8
    }

    /// The world of these active messages.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// Returns the number of a function, whose target expects an argument of its type.
    #[inline]
    fn number_of<A, R>(&self, Function { number, print, .. }: Function<A, R>) -> u16 {
        assert!(self.prints.get(usize::from(number)) == Some(&print), "the function belongs to another set of active messages");
        number
    }

    #[inline]
    fn push<A: Pod>(&self, to: Rank, function: u16, reply: Option<u64>, argument: &A) -> Result<()> {
        let mut outboxes = self.outboxes.borrow_mut();
        if outboxes.len() <= to.index() {
            assert!(to.number() < self.world.size(), "rank {to} does not exist: the job has {} ranks", self.world.size());
            outboxes.resize_with(self.world.size() as usize, || None);
        }
        let outbox = outboxes[to.index()].get_or_insert_with(|| Box::new(Outbox::new(self.layout.batch_words)));
        let words = functions::words_of::<A>() + usize::from(reply.is_some());
        if !outbox.has_room(function, words) {
            self.ship(to, outbox)?;
        }
        outbox.push(function, reply, argument);
        self.sent.set(self.sent.get() + 1);
        Ok(())
    }

    /// Writes a batch into the queue of its target, as soon as there is room.
    #[cold]
    #[inline(never)]
    fn ship(&self, to: Rank, outbox: &mut Outbox) -> Result<()> {
        self.nothing_lost()?;
        let world = self.world;
        let ticket = match outbox.ticket {
            Some(ticket) => ticket,
            None => {
                let take = || world.fetch_add(self.at(to, layout::TAKEN), 1);
                let (ticket, granted) = world.pair(take, |taken| Ok((taken, world.fetch(self.at(to, layout::GRANTED))?)))?;
                outbox.granted = granted.wait()?;
                *outbox.ticket.insert(ticket.wait()?)
            }
        };
        if ticket >= outbox.granted + u64::from(self.settings.slots) {
            self.await_room(to, ticket, outbox)?;
        }
        let slot = self.layout.slot(ticket);
        let words = outbox.sealed(world.rank());
        let write = || world.put_data(self.at(to, slot + 1), words);
        world.pair(write, |written| world.after(&written).set(self.at(to, slot), ticket + 1))?;
        outbox.clear();
        self.batches.set(self.batches.get() + 1);
        // A rank that sends in a loop has to run its own messages, too.
        world.progress();
        Ok(())
    }

    /// Waits until a ticket is granted.
    fn await_room(&self, to: Rank, ticket: u64, outbox: &mut Outbox) -> Result<()> {
        let until = self.settings.limit.map(|limit| (limit, self.world.now() + limit));
        let mut pause = PAUSE_MIN;
        loop {
            outbox.granted = self.world.fetch(self.at(to, layout::GRANTED))?.wait()?;
            if ticket < outbox.granted + u64::from(self.settings.slots) {
                return Ok(());
            }
            if let Some((limit, until)) = until
                && self.world.now() >= until
            {
                return Err(Error::TimedOut { what: "room in a queue of active messages", limit });
            }
            self.pause(pause, || false)?;
            pause = (pause + pause).min(PAUSE_MAX);
        }
    }

    /// Makes progress for `time`, or until a condition holds.
    fn pause(&self, time: Duration, mut until: impl FnMut() -> bool) -> Result<()> {
        self.nothing_lost()?;
        match self.world.wait_for("active messages", Some(time), || Ok(until().then_some(()))) {
            Err(Error::TimedOut { .. }) => self.nothing_lost(),
            other => other,
        }
    }

    fn nothing_lost(&self) -> Result<()> {
        self.world.nothing_lost_since(self.losses)
    }

    /// Returns a pointer to a word of another rank.
    fn at(&self, rank: Rank, word: usize) -> crate::GlobalPtr<u64> {
        self.memory.at(rank, word)
    }
}

/// Initial pause between two checks of a sender that waits for room. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(2);
/// Maximum pause between two checks of a sender that waits for room.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1);

/// Time for which a rank waits for its own messages before it checks again whether all have run.
const ROUND: Duration = Duration::from_microseconds(50);
