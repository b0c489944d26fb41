//! Two-sided messages with tags. The length of a message chooses its protocol: eager, into acquired slots, or rendezvous.
//!
//! Eager and rendezvous are the protocols of message-passing libraries, for programs that need them and for comparison.
//! `docs/evaluation/incast.md` shows the advantages of a mailbox.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use pelago_base::{Duration, GlobalAddress, Rank};
use pelago_rma::{Error, Fault, FixedMemory, GlobalPtr, Handle, Individual, Result, Symmetric, World};

use crate::limits::{SENDERS_KEPT, UNEXPECTED_BYTES_MAX};
use crate::mailbox::{MailReceiver, MailSender, Mailbox};
use crate::message_guard::Sent;
use crate::peer_loss::{ABANDONED_INTERVAL, LastLook, all_there, unless_lost};
use crate::pending::PendingOperations;
use crate::settings::Settings;

/// The messages that no receive has asked for, in error messages.
const UNEXPECTED: &FixedMemory = &FixedMemory {
    name: "the memory for unexpected messages",
    remedy: "receive them earlier, raise the bound (Party::bound_unexpected), or send long messages by rendezvous",
};

/// The protocol of a message, by its length.
///
/// | length | protocol | memory of the receiver | its core |
/// |---|---|---|---|
/// | up to `eager_bytes_max` | eager: sent whether or not a receive matches | unexpected messages are kept, up to a bound | receives and copies the message |
/// | up to `acquired_bytes_max` | into a slot of a [`Mailbox`] | the slots | copies the message |
/// | above | rendezvous: announced, fetched, acknowledged | the announcements | answers each announcement |
///
/// Announcements go into slots if `acquired_bytes_max` is not 0, else eagerly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Maximum length of an eager message in bytes; 0: none.
    pub eager_bytes_max: usize,
    /// Maximum length in bytes of a message into acquired slots; 0: none.
    pub acquired_bytes_max: usize,
}

impl Lengths {
    /// All messages eagerly.
    pub const EAGER: Self = Self { eager_bytes_max: usize::MAX, acquired_bytes_max: 0 };
    /// All messages by rendezvous, announced eagerly.
    pub const RENDEZVOUS: Self = Self { eager_bytes_max: 0, acquired_bytes_max: 0 };
    /// Messages that fit into acquired slots, the rest by rendezvous: bounded memory.
    pub const ACQUIRED: Self = Self { eager_bytes_max: 0, acquired_bytes_max: usize::MAX };
}

/// Two-sided messages among all ranks.
///
/// Messages of one sender and one protocol are received in the order in which they were sent; [`Received::number`] counts the messages of all
/// protocols. Eager messages use the network's own two-sided messages if it [has them](pelago_rma::Context::is_two_sided), with the network's order
/// and its behaviour when a receiver has no buffer. Otherwise they use a mailbox, which the receiver empties at each receive.
pub struct Messages<'w> {
    world: &'w World,
    lengths: Lengths,
    slots: Mailbox<'w>,
    /// For eager messages, if the network has no two-sided messages.
    eager: Option<Mailbox<'w>>,
    eager_bytes_max: usize,
    /// Memory of this rank, to wait on: any arrival wakes the waiting rank.
    memory: Symmetric<'w, u64>,
}

/// One rank's end of [`Messages`].
pub struct Party<'m, 'w> {
    messages: &'m Messages<'w>,
    slots_in: Option<MailReceiver<'m, 'w>>,
    eager_in: Option<MailReceiver<'m, 'w>>,
    slots_out: Senders<'m, 'w>,
    eager_out: Senders<'m, 'w>,
    numbers: BTreeMap<Rank, u32>,
    /// Acknowledgements of fetched messages. Those to lost senders may fail.
    fetched: PendingOperations<'w>,
    /// Messages that have arrived and have not matched a receive.
    unexpected: VecDeque<Arrived>,
    unexpected_bytes: usize,
    unexpected_bytes_peak: usize,
    unexpected_bytes_max: usize,
    fetched_within: Option<Duration>,
    unfetched: Unfetched<'w>,
    operations: u64,
}

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub from: Rank,
    /// The tag that the sender gave it.
    pub tag: u32,
    /// The number of earlier messages of the sender to this rank, modulo 2³².
    pub number: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

/// An arrived message, or the announcement of one.
struct Arrived {
    from: Rank,
    head: Head,
    bytes: Vec<u8>,
}

/// The header of each message.
#[derive(Clone, Copy)]
struct Head {
    tag: u32,
    number: u32,
    /// The place and the number of the bytes, if they do not follow the header.
    announced: Option<(GlobalPtr<u64>, usize)>,
}

const HEAD_BYTES: usize = 24;

/// The state of an exposed message in its first word.
const FETCHED: u64 = 1;

/// The same settings with space for a header in each message.
fn with_head(settings: Settings) -> Settings {
    // Saturates, so that an impossible length is refused as such.
    Settings { message_bytes: settings.message_bytes.saturating_add(HEAD_BYTES), ..settings }
}

impl<'w> Messages<'w> {
    /// Creates two-sided messages among all ranks. Collective. `slots` are the acquired slots of each rank. `eager` is the number and length of eager
    /// messages that a rank holds while it is not in the library, if the network has no two-sided messages.
    ///
    /// # Errors
    /// As [`Mailbox::on_every_rank`].
    pub fn new(world: &'w World, lengths: Lengths, slots: Settings, eager: Settings) -> Result<Self> {
        Self::of(world, lengths, Mailbox::on_every_rank(world, with_head(slots))?, with_head(eager))
    }

    /// As [`new`](Self::new) for messages to one receiver, so that the counters of its slots may lie at other ranks.
    ///
    /// # Errors
    /// As [`Mailbox::new`].
    pub fn to_one(world: &'w World, receiver: Rank, lengths: Lengths, slots: Settings, eager: Settings) -> Result<Self> {
        Self::of(world, lengths, Mailbox::new(world, receiver, with_head(slots))?, with_head(eager))
    }

    fn of(world: &'w World, lengths: Lengths, slots: Mailbox<'w>, eager: Settings) -> Result<Self> {
        let eager_bytes_max = eager.message_bytes - HEAD_BYTES;
        let eager = if world.is_two_sided() { None } else { Some(Mailbox::on_every_rank(world, eager)?) };
        Ok(Self { world, lengths, slots, eager, eager_bytes_max, memory: world.alloc(1)? })
    }

    /// Returns this rank's end. A rank has only one.
    ///
    /// # Errors
    /// The end exists already.
    pub fn party(&self) -> Result<Party<'_, 'w>> {
        let eager_in = self.eager.as_ref().map(Mailbox::receiver).transpose()?;
        let slots_in = if self.slots.is_receiver() { Some(self.slots.receiver()?) } else { None };
        Ok(Party {
            messages: self,
            slots_in,
            eager_in,
            slots_out: Senders::default(),
            eager_out: Senders::default(),
            numbers: BTreeMap::new(),
            fetched: PendingOperations::default(),
            unexpected: VecDeque::new(),
            unexpected_bytes: 0,
            unexpected_bytes_peak: 0,
            unexpected_bytes_max: UNEXPECTED_BYTES_MAX,
            fetched_within: None,
            unfetched: Unfetched::default(),
            operations: 0,
        })
    }

    /// Bytes of memory of a receiver for messages, without unexpected messages.
    pub fn receiver_bytes(&self) -> usize {
        self.slots.receiver_bytes() + self.eager.as_ref().map_or(0, Mailbox::receiver_bytes)
    }

    /// Maximum length of an eager message.
    pub fn eager_bytes_max(&self) -> usize {
        self.lengths.eager_bytes_max.min(self.eager_bytes_max)
    }

    /// Maximum length of a message into acquired slots.
    pub fn acquired_bytes_max(&self) -> usize {
        self.lengths.acquired_bytes_max.min(self.slots.message_bytes_max() - HEAD_BYTES)
    }
}

impl<'m, 'w> Party<'m, 'w> {
    /// Bounds the memory of unexpected messages; above the bound a receive returns an error.
    pub fn bound_unexpected(&mut self, bytes_max: usize) {
        self.unexpected_bytes_max = bytes_max;
    }

    /// Bounds the time that a rendezvous waits for the receiver. Without a bound, a lost announcement blocks the sender for ever.
    ///
    /// The receiver may still fetch a message that was not fetched in time: its copy takes memory of this rank until then, or, after the drop of this
    /// end, until the end of the job.
    pub fn bound_rendezvous(&mut self, limit: Duration) {
        self.fetched_within = Some(limit);
    }

    /// The most bytes of unexpected messages so far.
    pub fn unexpected_bytes_peak(&self) -> usize {
        self.unexpected_bytes_peak
    }

    /// Number of operations of this rank's core for receives: received messages, and operations on the memory of other ranks.
    pub fn operations(&self) -> u64 {
        let granted = [&self.slots_in, &self.eager_in].into_iter().flatten().map(MailReceiver::operations);
        self.operations + granted.sum::<u64>()
    }

    /// Sends a message, whose buffer may be reused when the call returns. An eager message is then in flight, and so is a message into acquired slots,
    /// after a wait for a slot. A message by rendezvous has then been fetched by the receiver.
    ///
    /// Two ranks that send to each other by rendezvous before they receive deadlock.
    ///
    /// # Errors
    /// The receiver is no rank of the job, or was lost; no memory is left to expose the message; the receiver did not fetch it [in
    /// time](Self::bound_rendezvous); the job is at fault. If the receiver had no buffer for an eager message, `quiet` reports that, provided the
    /// network reports it.
    pub fn send(&mut self, to: Rank, tag: u32, message: &[u8]) -> Result<()> {
        let count = self.numbers.entry(to).or_default();
        let number = std::mem::replace(count, count.wrapping_add(1));
        let plain = Head { tag, number, announced: None };
        // An empty message also needs a protocol with a maximum length above 0.
        let goes_by = |bytes_max: usize| bytes_max > 0 && message.len() <= bytes_max;
        if goes_by(self.messages.eager_bytes_max()) {
            self.send_eagerly(to, &plain.followed_by(message)).map(drop)
        } else if goes_by(self.messages.acquired_bytes_max()) {
            self.slots_out.to(&self.messages.slots, to)?.send(plain.followed_by(message))
        } else {
            self.unfetched.free();
            let exposed = self.expose(message)?;
            let announcement = Head { announced: Some((exposed.ptr(0), message.len())), ..plain }.followed_by(&[]);
            if self.messages.lengths.acquired_bytes_max > 0 {
                self.slots_out.to(&self.messages.slots, to)?.send(announcement)?;
            } else if let Some(announced) = self.send_eagerly(to, &announcement)? {
                announced.wait()?;
            }
            let fetched = self.wait_until_fetched(to, &exposed);
            if matches!(fetched, Err(Error::TimedOut { .. })) {
                self.unfetched.0.push(exposed);
            }
            fetched
        }
    }

    /// Waits for the first message from `from` (or any rank) with `tag` (or any tag).
    ///
    /// # Errors
    /// `PeerLost` if `from` (or all other ranks) is lost and none of the messages that it had completed matches; unexpected messages exceed their
    /// bound; a sender was lost while its message was fetched; the job is at fault.
    pub fn receive(&mut self, from: Option<Rank>, tag: Option<u32>) -> Result<Received> {
        self.receive_until(None, from, tag)
    }

    /// As [`receive`](Self::receive), at most for `limit`.
    ///
    /// # Errors
    /// `TimedOut`; else as [`receive`](Self::receive).
    pub fn receive_within(&mut self, limit: Duration, from: Option<Rank>, tag: Option<u32>) -> Result<Received> {
        self.receive_until(Some(limit), from, tag)
    }

    fn receive_until(&mut self, limit: Option<Duration>, from: Option<Rank>, tag: Option<u32>) -> Result<Received> {
        let world = self.messages.world;
        let until = limit.map(|limit| world.now() + limit);
        let mut last_look = LastLook::default();
        loop {
            if let Some(received) = self.try_receive(from, tag)? {
                return Ok(received);
            }
            last_look.check(world, from)?;
            let left = until.map(|until| until.since(world.now()));
            match (left, limit) {
                (Some(Duration::ZERO), Some(limit)) => return Err(Error::TimedOut { what: "a message", limit }),
                _ => self.wait(left)?,
            }
        }
    }

    /// Returns the first message from `from` (or any rank) with `tag` (or any tag), if it has arrived.
    ///
    /// # Errors
    /// Unexpected messages exceed their bound; a sender was lost while its message was fetched; the job is at fault.
    pub fn try_receive(&mut self, from: Option<Rank>, tag: Option<u32>) -> Result<Option<Received>> {
        let matches =
            |arrived: &Arrived| from.is_none_or(|from| arrived.from == from) && tag.is_none_or(|tag| arrived.head.tag == tag);
        if let Some(index) = self.unexpected.iter().position(matches) {
            let arrived = self.unexpected.remove(index).expect("just found");
            self.unexpected_bytes -= arrived.memory();
            return self.take_in(arrived).map(Some);
        }
        let mut found = None;
        if let Err(error) = self.take_eager(&matches, &mut found) {
            // The message waits for the next receive, behind those that arrived before it.
            if let Some((place, arrived)) = found {
                self.unexpected_bytes += arrived.memory();
                self.unexpected.insert(place, arrived);
            }
            return Err(error);
        }
        let mut found = found.map(|(_, arrived)| arrived);
        // Messages in slots may stay there.
        while found.is_none() {
            let Some(arrived) = self.next_in_slots()? else { break };
            match matches(&arrived) {
                true => found = Some(arrived),
                false => self.keep(arrived)?,
            }
        }
        found.map(|arrived| self.take_in(arrived)).transpose()
    }

    /// Takes all eager messages that have arrived, expected or not, because their senders do not wait. Sets `found` to the first that matches, and to
    /// its place among the unexpected ones; keeps the others.
    fn take_eager(&mut self, matches: &impl Fn(&Arrived) -> bool, found: &mut Option<(usize, Arrived)>) -> Result<()> {
        while let Some(arrived) = self.next_eager()? {
            if found.is_none() && matches(&arrived) {
                *found = Some((self.unexpected.len(), arrived));
            } else {
                self.keep(arrived)?;
            }
        }
        Ok(())
    }

    fn next_eager(&mut self) -> Result<Option<Arrived>> {
        let arrived = match &mut self.eager_in {
            Some(receiver) => receiver.try_receive()?.and_then(|message| Arrived::of(message.from(), &message.to_vec())),
            None => self.messages.world.take().and_then(|(from, bytes)| Arrived::of(from, &bytes)),
        };
        self.operations += u64::from(arrived.is_some());
        Ok(arrived)
    }

    fn next_in_slots(&mut self) -> Result<Option<Arrived>> {
        let Some(receiver) = &mut self.slots_in else { return Ok(None) };
        let arrived = receiver.try_receive()?.and_then(|message| Arrived::of(message.from(), &message.to_vec()));
        self.operations += u64::from(arrived.is_some());
        Ok(arrived)
    }

    fn keep(&mut self, arrived: Arrived) -> Result<()> {
        self.unexpected_bytes += arrived.memory();
        self.unexpected_bytes_peak = self.unexpected_bytes_peak.max(self.unexpected_bytes);
        self.unexpected.push_back(arrived);
        if self.unexpected_bytes <= self.unexpected_bytes_max {
            return Ok(());
        }
        Err(Error::NoMemory {
            bytes: self.unexpected_bytes as u64,
            heap_bytes: self.unexpected_bytes_max as u64,
            memory: UNEXPECTED,
        })
    }

    /// Returns the message, after a fetch if it was announced.
    fn take_in(&mut self, Arrived { from, head: Head { tag, number, announced }, bytes }: Arrived) -> Result<Received> {
        let Some((exposed, length)) = announced else { return Ok(Received { from, tag, number, bytes }) };
        let world = self.messages.world;
        self.operations += 2;
        let mut bytes = vec![0; length];
        world.get_into(exposed.add(1).cast()?, &mut bytes)?;
        let told = world.put(exposed, &[FETCHED])?;
        let _unheard = self.fetched.add(told);
        Ok(Received { from, tag, number, bytes })
    }

    /// Sends eagerly; returns the operation of the network, if there is one.
    fn send_eagerly(&mut self, to: Rank, bytes: &[u8]) -> Result<Option<Handle<'w>>> {
        match &self.messages.eager {
            None => self.messages.world.send(to, bytes).map(Some),
            Some(mailbox) => {
                while self.eager_out.to(mailbox, to)?.try_send(bytes)? != Sent::Sent {
                    // The receiver may itself be sending, so this rank receives meanwhile.
                    while let Some(arrived) = self.next_eager()? {
                        self.keep(arrived)?;
                    }
                    self.wait(Some(Duration::from_microseconds(100)))?;
                }
                Ok(None)
            }
        }
    }

    /// Copies a message to memory from which its receiver can fetch it, behind a word that the receiver sets after the fetch.
    fn expose(&self, message: &[u8]) -> Result<Individual<'w, u64>> {
        let exposed = self.messages.world.alloc_individual(1 + message.len().div_ceil(8))?;
        let words = exposed.local();
        let body = words.range(1..words.len()).cells().elements().expect("bytes are aligned anywhere");
        words.store(0, 0);
        body.write(0, message);
        Ok(exposed)
    }

    fn wait_until_fetched(&self, by: Rank, exposed: &Individual<'w, u64>) -> Result<()> {
        let world = self.messages.world;
        let is_fetched = |word| word == FETCHED;
        loop {
            // A wait reports one loss, and none that was known before: the receiver may be lost together with other ranks.
            if !is_fetched(exposed.local().load(0)) {
                all_there(world, &[by])?;
            }
            let what = "the receiver of a long message";
            let waited = world.wait_for_value(what, self.fetched_within, exposed.local(), 0, is_fetched);
            match waited {
                Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => {}
                ended => return ended.map(drop),
            }
        }
    }

    /// Waits until a message may have arrived. After the loss of ranks, an arrived message may lie behind the ticket of a lost rank.
    fn wait(&mut self, limit: Option<Duration>) -> Result<()> {
        let world = self.messages.world;
        let abandoned = (world.losses() > 0).then_some(ABANDONED_INTERVAL);
        let withdrawn = [&self.slots_in, &self.eager_in].into_iter().flatten().filter_map(MailReceiver::withdraws_after).min();
        let limit = limit.into_iter().chain(abandoned).chain(withdrawn).min();
        let taken = RefCell::new(Vec::new());
        let has_come = |_| {
            taken.borrow_mut().extend(world.take());
            let [slots, eager] = [&self.slots_in, &self.eager_in].map(|end| end.as_ref().is_some_and(MailReceiver::has_come));
            slots || eager || !taken.borrow().is_empty()
        };
        let waited = world.wait_for_value("a two-sided message", limit, self.messages.memory.local(), 0, has_come);
        for (from, bytes) in taken.into_inner() {
            if let Some(arrived) = Arrived::of(from, &bytes) {
                self.operations += 1;
                self.keep(arrived)?;
            }
        }
        unless_lost(world, waited).map(drop)
    }
}

impl Head {
    fn followed_by(self, message: &[u8]) -> Vec<u8> {
        let (address, length) = self.announced.map_or((0, 0), |(exposed, length)| (exposed.address().bits(), length as u64));
        let words = [u64::from(self.tag) << 32 | u64::from(self.number), address, length];
        let mut bytes = Vec::with_capacity(HEAD_BYTES + message.len());
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(message);
        bytes
    }
}

impl Arrived {
    /// Decodes the bytes that a rank has sent; `None` if they are not such a message.
    fn of(from: Rank, bytes: &[u8]) -> Option<Self> {
        let (head, body) = bytes.split_at_checked(HEAD_BYTES)?;
        let (words, _) = head.as_chunks();
        let [marks, address, length] = [0, 1, 2].map(|index| u64::from_le_bytes(words[index]));
        let announced = match address {
            0 => None,
            address => Some((GlobalPtr::from_address(GlobalAddress::from_bits(address)).ok()?, length as usize)),
        };
        let head = Head { tag: (marks >> 32) as u32, number: marks as u32, announced };
        Some(Self { from, head, bytes: body.to_vec() })
    }

    /// Bytes that the message occupies while it is unexpected.
    fn memory(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }
}

/// Copies of messages whose announcements were sent and that were not fetched in time: the receiver may still fetch them and write to their first
/// words.
#[derive(Default)]
struct Unfetched<'w>(Vec<Individual<'w, u64>>);

impl Unfetched<'_> {
    /// Frees the copies that were fetched since.
    fn free(&mut self) {
        self.0.retain(|exposed| exposed.local().load(0) != FETCHED);
    }
}

impl Drop for Unfetched<'_> {
    /// Leaves the memory of the others allocated.
    fn drop(&mut self) {
        self.free();
        self.0.drain(..).for_each(std::mem::forget);
    }
}

/// Senders to the last used ranks.
#[derive(Default)]
struct Senders<'m, 'w>(VecDeque<(Rank, MailSender<'m, 'w>)>);

impl<'m, 'w> Senders<'m, 'w> {
    fn to(&mut self, mailbox: &'m Mailbox<'w>, to: Rank) -> Result<&mut MailSender<'m, 'w>> {
        let index = match self.0.iter().position(|(rank, _)| *rank == to) {
            Some(index) => index,
            None => {
                if self.0.len() == SENDERS_KEPT {
                    self.0.pop_front();
                }
                self.0.push_back((to, mailbox.sender(to)?));
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[index].1)
    }
}

#[cfg(test)]
mod tests {
    use pelago_simulator::{FaultInjection, Settings as Simulated};

    use super::*;
    use crate::settings::Placement;
    use pelago_test_support::faulty;
    use pelago_test_support::threads::{Platform, run};

    const RECEIVER: Rank = Rank::new(0);

    fn messages<'w>(world: &'w World, lengths: Lengths) -> Messages<'w> {
        Messages::new(world, lengths, Settings::new(4, 100), Settings::new(8, 6000)).unwrap()
    }

    #[test]
    fn ways_are_chosen_by_what_has_room_and_their_memory_is_known() {
        run(Platform::Mapped, 1, |world| {
            let limits = |lengths| {
                let messages = messages(world, lengths);
                (messages.eager_bytes_max(), messages.acquired_bytes_max())
            };
            let mixed = Lengths { eager_bytes_max: 40, acquired_bytes_max: 60 };
            let found = [mixed, Lengths::EAGER, Lengths::RENDEZVOUS, Lengths::ACQUIRED].map(limits);
            assert_eq!(found, [(40, 60), (6000, 0), (0, 0), (0, 100)]);
            // Each slot has a flag, a header and a message, rounded up to words, and an entry for a waiting sender.
            let bytes = |slots: usize, message: usize| slots * (8 + (HEAD_BYTES + message).next_multiple_of(8)) + slots * 8;
            assert_eq!(messages(world, mixed).receiver_bytes(), bytes(4, 100) + bytes(8, 6000));
        });
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let head = Head { tag: 7, number: 9, announced: None };
        let whole = head.followed_by(b"abc");
        let arrived = Arrived::of(RECEIVER, &whole).unwrap();
        assert_eq!((arrived.head.tag, arrived.head.number, arrived.bytes.as_slice()), (7, 9, &b"abc"[..]));
        assert!(arrived.head.announced.is_none() && arrived.memory() >= size_of::<Arrived>() + 3);
        assert!(Arrived::of(RECEIVER, &whole[..HEAD_BYTES - 1]).is_none(), "half a head");
        let mut odd = whole.clone();
        odd[8] = 1;
        assert!(Arrived::of(RECEIVER, &odd).is_none(), "an address that leads to no word");
    }

    /// A rank sends to more ranks than it may have senders of a mailbox.
    #[test]
    fn a_rank_may_send_to_any_number_of_ranks() {
        run(Platform::Mapped, SENDERS_KEPT as u32 + 3, |world| {
            let messages = messages(world, Lengths::ACQUIRED);
            let mut party = messages.party().unwrap();
            let others = || world.ranks().skip(1);
            if world.rank() == RECEIVER {
                for tag in 0..2 {
                    others().for_each(|to| party.send(to, tag, &to.number().to_le_bytes()).unwrap());
                    others().take(2).for_each(|to| party.send(to, tag + 2, &[]).unwrap());
                }
                assert_eq!(party.slots_out.0.len(), SENDERS_KEPT);
            } else {
                let count = if world.rank().number() <= 2 { 4 } else { 2 };
                let came: Vec<_> = (0..count).map(|_| party.receive(Some(RECEIVER), None).unwrap()).collect();
                assert!(came.iter().zip(0..).all(|(message, number)| message.number == number), "in order");
                assert_eq!(came[0].bytes, world.rank().number().to_le_bytes());
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn what_is_asked_for_late_takes_room_only_until_then() {
        const BYTES_MAX: usize = 2000;
        run(Platform::Mapped, 2, |world| {
            let messages = messages(world, Lengths::EAGER);
            let mut party = messages.party().unwrap();
            party.bound_unexpected(BYTES_MAX);
            for _ in 0..20 {
                if world.rank() == RECEIVER {
                    assert_eq!(party.receive(None, Some(2)).unwrap().bytes, [2; 100]);
                    assert_eq!(party.receive(None, Some(1)).unwrap().bytes, [1; 500]);
                    assert!((500..1500).contains(&party.unexpected_bytes_peak()));
                } else {
                    party.send(RECEIVER, 1, &[1; 500]).unwrap();
                    party.send(RECEIVER, 2, &[2; 100]).unwrap();
                }
                world.barrier().unwrap();
            }
            assert_eq!(party.unexpected_bytes, 0);
        });
    }

    #[test]
    fn a_message_that_nobody_fetches_is_waited_for_as_long_as_was_said() {
        run(Platform::Mapped, 2, |world| {
            let messages = messages(world, Lengths::RENDEZVOUS);
            let mut party = messages.party().unwrap();
            if world.rank() != RECEIVER {
                party.bound_rendezvous(Duration::from_milliseconds(1));
                assert!(matches!(party.send(RECEIVER, 0, &[7; 10]), Err(Error::TimedOut { .. })));
            }
            world.barrier().unwrap();
        });
    }

    /// In addition to the operations of receives, slots are granted again when no more messages have arrived.
    #[test]
    fn what_receiving_costs_and_by_which_room_messages_come() {
        const MIXED: Lengths = Lengths { eager_bytes_max: 10, acquired_bytes_max: 100 };
        // Length of three messages; operations for each; whether they use acquired slots, or the slots of eager messages.
        for (lengths, bytes, each, slots, eager) in [
            (MIXED, 10, 1, false, true),
            (MIXED, 11, 1, true, false),
            (MIXED, 101, 3, true, false),
            (Lengths::EAGER, 101, 1, false, true),
            (Lengths::ACQUIRED, 0, 1, true, false),
            (Lengths::ACQUIRED, 101, 3, true, false),
            (Lengths::RENDEZVOUS, 10, 3, false, true),
        ] {
            run(Platform::Mapped, 2, |world| {
                let messages = messages(world, lengths);
                let mut party = messages.party().unwrap();
                if world.rank() == RECEIVER {
                    assert_eq!(party.operations(), 0);
                    (0..3).for_each(|_| assert_eq!(party.receive(None, None).unwrap().bytes, vec![7; bytes]));
                    assert_eq!(party.try_receive(None, None), Ok(None));
                    let granted = [&party.slots_in, &party.eager_in].map(|end| end.as_ref().unwrap().operations());
                    let used = granted.map(|grants| grants > 0);
                    assert_eq!((party.operations, used), (3 * each, [slots, eager]), "{lengths:?}, {bytes} bytes");
                    assert_eq!(party.operations(), 3 * each + granted[0] + granted[1]);
                } else {
                    (0..3).for_each(|tag| party.send(RECEIVER, tag, &vec![7; bytes]).unwrap());
                }
                world.barrier().unwrap();
            });
        }
    }

    #[test]
    fn messages_to_one_have_room_where_its_settings_say() {
        run(Platform::Mapped, 2, |world| {
            let slots = Settings::new(4, 100).placed(Placement::Proxy(Rank::new(1)));
            let messages = Messages::to_one(world, RECEIVER, Lengths::ACQUIRED, slots, Settings::new(8, 40)).unwrap();
            assert_eq!((messages.acquired_bytes_max(), messages.eager_bytes_max), (100, 40));
            let mut party = messages.party().unwrap();
            if world.rank() == RECEIVER {
                assert_eq!(party.receive(None, None).unwrap().bytes, [7; 100]);
            } else {
                party.send(RECEIVER, 0, &[7; 100]).unwrap();
            }
            world.barrier().unwrap();
        });
    }

    /// On a network without two-sided messages, and on one that has them.
    #[test]
    fn who_waits_is_woken_by_what_comes_or_when_the_time_is_over() {
        let milliseconds = Duration::from_milliseconds;
        let own = faulty::settings(2, 1, FaultInjection::default());
        for settings in [Simulated { protocol: None, ..own.clone() }, own] {
            let is_two_sided = settings.protocol.is_none();
            faulty::run(
                &settings,
                |_| false,
                |world, _| {
                    let messages = messages(world, Lengths::EAGER);
                    assert_eq!(messages.eager.is_none(), is_two_sided);
                    let mut party = messages.party()?;
                    world.barrier()?;
                    let begun = world.now();
                    if world.rank() == RECEIVER {
                        for (limit, until) in [(2, 2), (10, 5)].map(|times| (milliseconds(times.0), milliseconds(times.1))) {
                            party.wait(Some(limit))?;
                            let passed = world.now().since(begun);
                            assert!((until..until + milliseconds(1)).contains(&passed), "{passed:?}");
                        }
                        assert_eq!(party.operations, u64::from(is_two_sided), "the wait itself takes them in");
                        assert_eq!(party.receive(None, None)?.bytes, [7; 10]);
                        assert_eq!((party.operations, party.unexpected_bytes), (1, 0));
                    } else {
                        world.compute(milliseconds(5));
                        party.send(RECEIVER, 0, &[7; 10])?;
                    }
                    world.barrier()
                },
            );
        }
    }

    /// A rank may notice the loss of a receiver together with other losses, so that no wait reports it.
    #[test]
    fn a_loss_that_is_known_already_ends_the_wait_for_the_receiver_unless_it_has_fetched_the_message() {
        let death = pelago_base::Instant::from_picoseconds(5_000_000_000);
        let (_, ended) = faulty::run_with_death(2, FaultInjection::default(), (RECEIVER, Some(death)), |world, _| {
            world.on_peer_lost(|_| {});
            let messages = messages(world, Lengths::RENDEZVOUS);
            let party = messages.party()?;
            world.compute(Duration::from_milliseconds(10));
            world.progress();
            assert!(world.rank() == RECEIVER || world.lost() == [RECEIVER]);
            let exposed = party.expose(&[7; 10])?;
            let unfetched = party.wait_until_fetched(RECEIVER, &exposed);
            exposed.local().store(0, FETCHED);
            Ok((unfetched, party.wait_until_fetched(RECEIVER, &exposed)))
        });
        assert_eq!(ended[1], Some((Err(Error::Fault(Fault::PeerLost(RECEIVER))), Ok(()))));
    }
    /// Rank 4 fills both slots; rank 2 takes the next ticket and sends nothing; rank 1 completes a message behind that ticket, and rank 4 sends
    /// another. At 29 ms rank 3 dies, so that the receiver checks the ticket of rank 2, and at 30 ms ranks 1 and 2 die. Both messages
    /// are received when the receiver checks the ticket again, at 49 ms.
    #[test]
    fn messages_behind_the_ticket_of_a_lost_rank_are_received_whether_their_sender_is_lost_or_not() {
        let at = |milliseconds: u64| pelago_base::Instant::from_picoseconds(milliseconds * 1_000_000_000);
        let [lost, silent, first, living] = [1, 2, 3, 4].map(Rank::new);
        for from in [lost, living] {
            let deaths = vec![(silent, at(30)), (first, at(29))];
            let faults = FaultInjection { deaths, ..FaultInjection::default() };
            let (_, ended) = faulty::run_with_death(5, faults, (lost, Some(at(30))), |world, _| {
                world.on_peer_lost(|_| {});
                let compute_until = |milliseconds| world.compute(at(milliseconds).since(world.now()));
                let messages = Messages::new(world, Lengths::ACQUIRED, Settings::new(2, 100), Settings::new(8, 100))?;
                let mut party = messages.party()?;
                if world.rank() == living {
                    (0..2).try_for_each(|tag| party.send(RECEIVER, tag, &[4]))?;
                    compute_until(6);
                    party.send(RECEIVER, 2, &[4])?;
                } else if world.rank() == silent {
                    compute_until(2);
                    let mut sender = messages.slots.sender(RECEIVER)?;
                    assert!(sender.try_send([2])? != Sent::Sent);
                    compute_until(100);
                } else if world.rank() == lost {
                    compute_until(4);
                    party.send(RECEIVER, 0, &[1])?;
                    compute_until(100);
                } else if world.rank() == RECEIVER {
                    compute_until(8);
                    let tags: Vec<_> = (0..2).map(|_| party.receive(Some(living), None).map(|message| message.tag)).collect();
                    assert_eq!(tags, [Ok(0), Ok(1)]);
                    let came = party.receive(Some(from), None)?;
                    return Ok(Some((came.tag, came.bytes, party.receive(Some(lost), Some(9)), world.now())));
                }
                Ok(None)
            });
            let (tag, bytes, next, now) = ended[RECEIVER.index()].clone().flatten().unwrap();
            assert_eq!((tag, bytes), if from == lost { (0, vec![1]) } else { (2, vec![4]) });
            assert_eq!(next, Err(Error::Fault(Fault::PeerLost(lost))));
            assert!(now > at(49) && now < at(100), "{now:?}");
        }
    }
}
