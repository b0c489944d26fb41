//! All ranks send to the mailbox of one, by any kind of call: each message arrives once, in its sender's order. Of a failed sender, only unflushed
//! messages are missing, and senders to a failed receiver get an error.

use std::cell::Cell;

use pelago_base::{Duration, Rank, Team};
use pelago_messaging::{Counting, MailReceiver, Mailbox, MessageGuard, Placement, Sent, Settings, Waiting};
use pelago_platform::{Failure, Fault};
use pelago_rma::{Error, World};

use super::{Act, Memory, Room, Trouble, demand, rest};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Interval at which the receiver checks whether to wait any longer for messages of a failed rank: longer than it takes to skip its tickets.
const PATIENCE: Duration = Duration::from_milliseconds(100);

pub(super) struct Mailboxes {
    seed: u64,
    slots: u32,
    bytes: u64,
    counting: Counting,
    waiting: Waiting,
    /// Number of shares of the counters, 0 if the counters are at the receiver; and whether shares are borrowed.
    shares: u32,
    borrow: bool,
    /// The receiver: a member, or the stranger if there is one.
    receiver: u32,
    to_stranger: bool,
    /// Number of messages of each sender.
    each: u64,
    /// Number of messages that the stranger has flushed.
    flushed: Cell<u64>,
}

impl Mailboxes {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        let shares = if random.one_in(3) { 0 } else { 1 << random.below(u64::from(size.ilog2()) + 1) };
        Self {
            seed: random.draw(),
            slots: (1 << random.below(6)).max(shares),
            bytes: random.spread(200),
            counting: *random.pick(&[Counting::OneWord, Counting::TwoWords]),
            // Polling without pauses during a network partition would cause millions of events.
            waiting: *random.pick(&[Waiting::Notified, Waiting::BackingOff]),
            shares,
            borrow: random.one_in(2),
            receiver: random.below(size.into()) as u32,
            to_stranger: random.one_in(4),
            each: random.within(1, if size > 9 { 6 } else { 25 }),
            flushed: Cell::new(0),
        }
    }

    fn receiver(&self, team: &Team, stranger: Option<Rank>) -> Rank {
        stranger.filter(|_| self.to_stranger).unwrap_or_else(|| rank(team, self.receiver))
    }

    fn settings(&self, team: &Team) -> Settings {
        let Self { slots, bytes, counting, waiting, shares, borrow, .. } = *self;
        let settings = Settings { counting, waiting, ..Settings::new(slots, bytes as usize) };
        let middle = |share: u32| rank(team, (2 * share + 1) * team.size() / (2 * shares));
        settings.placed(match shares {
            0 => Placement::Receiver,
            1 => Placement::Proxy(middle(0)),
            _ => Placement::Split { proxies: (0..shares).map(middle).collect(), borrow },
        })
    }

    fn message(&self, from: Rank, number: u64) -> Vec<u8> {
        let word = |place: u64| stamp(self.seed, [from.into(), number, place]);
        (0..word(u64::MAX) % (self.bytes + 1)).map(|place| word(place) as u8).collect()
    }

    /// Sends all messages of this rank, by any kind of call; counts the flushed messages in `flushed`.
    fn send(&self, world: &World, mailbox: &Mailbox<'_>, to: Rank, flushed: &Cell<u64>, pause: impl Fn()) -> Result<(), Error> {
        let mut random = Random::of(self.seed, world.rank().into());
        let mut sender = mailbox.sender(to)?;
        let mut number = 0;
        while number < self.each {
            pause();
            let message = self.message(world.rank(), number);
            match random.below(5) {
                0 | 1 => sender.send(message)?,
                2 => {
                    let count = random.within(1, 8).min(self.each - number);
                    let messages: Vec<_> = (number..number + count).map(|number| self.message(world.rank(), number)).collect();
                    sender.send_all(&messages)?;
                    number += count - 1;
                }
                way => {
                    let (mut message, mut tries) = (message, 0);
                    while let Sent::Full(back) = sender.try_send(message)? {
                        message = back;
                        tries += 1;
                        rest(world, &mut random, tries);
                        if way == 4 && tries == 1 {
                            // The held ticket is returned, only once for each message, since the next ticket is behind all others.
                            drop(sender);
                            sender = mailbox.sender(to)?;
                        }
                    }
                }
            }
            number += 1;
            if random.one_in(4) {
                sender.flush()?;
                flushed.set(number);
            }
        }
        sender.flush()?;
        flushed.set(number);
        Ok(())
    }

    /// Receives the messages of `senders`, and those of the `stranger` as long as they arrive.
    fn receive(&self, world: &World, mailbox: &Mailbox<'_>, senders: &[Rank], stranger: Option<Rank>) -> Result<(), Trouble> {
        let mut random = Random::of(self.seed, u64::MAX);
        let mut receiver = mailbox.receiver()?;
        let mut next = vec![0; world.size() as usize];
        let (mut forsaken, mut tries) = (false, 0);
        // The first missing message of the stranger before a later one that has arrived.
        let mut gap = u64::MAX;
        loop {
            let is_missing = |rank: &Rank| next[rank.index()] < self.each;
            let is_waiting = senders.iter().any(is_missing);
            if !is_waiting && (forsaken || !stranger.iter().any(is_missing)) {
                break;
            }
            let was_lost = stranger.is_some_and(|stranger| world.lost().contains(&stranger));
            let way = if is_waiting { random.below(3) } else { 0 };
            let Some(message) = look(&mut receiver, way)? else {
                forsaken = was_lost && way == 0;
                tries += 1;
                rest(world, &mut random, tries);
                continue;
            };
            tries = 0;
            let from = message.from();
            demand!(senders.contains(&from) || stranger == Some(from), "rank {from} has sent a message");
            let (number, bytes) = (&mut next[from.index()], message.to_vec());
            let expected = *number;
            if stranger == Some(from) {
                // Each unflushed message may be missing independently.
                *number = (expected..self.each).find(|&number| self.message(from, number) == bytes).unwrap_or(self.each);
                gap = if *number > expected { gap.min(expected) } else { gap };
            }
            demand!(
                *number < self.each && bytes == self.message(from, *number),
                "message {expected} of rank {from} is another one"
            );
            *number += 1;
            if random.one_in(4) {
                rest(world, &mut random, 0);
            }
        }
        let came = stranger.map_or(u64::MAX, |stranger| next[stranger.index()]).min(gap);
        demand!(
            came >= self.flushed.get(),
            "{came} of the stranger's messages came, of {} that it knew to be safe",
            self.flushed.get()
        );
        demand!(gap == u64::MAX || !world.lost().is_empty(), "message {gap} of the stranger did not come, though it lives");
        demand!(receiver.try_receive()?.is_none(), "more has come than was sent");
        Ok(())
    }
}

impl Act for Mailboxes {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn room<'w>(&self, world: &'w World, team: &Team, stranger: Option<Rank>) -> Result<Room<'w>, Error> {
        Ok(Room::Mailbox(Box::new(Mailbox::new(world, self.receiver(team, stranger), self.settings(team))?)))
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (world, team, stranger) = (crew.world(), crew.team(), crew.stranger());
        let Room::Mailbox(mailbox) = crew.room() else { return Ok(()) };
        let to = self.receiver(team, stranger);
        if world.rank() == to {
            let senders: Vec<_> = members(team).filter(|&rank| rank != to).collect();
            return self.receive(world, mailbox, &senders, stranger);
        }
        match self.send(world, mailbox, to, &Cell::new(0), || crew.pause()) {
            Err(Error::Failed(Failure::PeerLost(lost)) | Error::Fault(Fault::PeerLost(lost)))
                if stranger == Some(to) && lost == to =>
            {
                demand!(crew.is_stranger_dead(), "rank {to} counts as lost, though it lives");
                Ok(())
            }
            other => Ok(other?),
        }
    }

    fn play_stranger(&self, world: &World, room: &Room<'_>, team: &Team, pause: &dyn Fn()) -> Result<(), Trouble> {
        let Room::Mailbox(mailbox) = room else { return Ok(()) };
        let to = self.receiver(team, Some(world.rank()));
        if world.rank() == to {
            return self.receive(world, mailbox, &members(team).collect::<Vec<_>>(), None);
        }
        Ok(self.send(world, mailbox, to, &self.flushed, pause)?)
    }
}

/// Receives a message in one of three ways: with a time limit, with a wait, without a wait.
fn look<'r>(receiver: &'r mut MailReceiver<'_, '_>, way: u64) -> Result<Option<MessageGuard<'r>>, Error> {
    match way {
        0 => match receiver.receive_within(PATIENCE) {
            Err(Error::TimedOut { .. }) => Ok(None),
            other => other.map(Some),
        },
        1 => receiver.receive().map(Some),
        _ => receiver.try_receive(),
    }
}

fn rank(team: &Team, position: u32) -> Rank {
    team.rank(position).expect("positions are below the size")
}

fn members(team: &Team) -> impl Iterator<Item = Rank> {
    (0..team.size()).map(|position| rank(team, position))
}
