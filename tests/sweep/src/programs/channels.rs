//! Each rank sends messages and bytes to its right neighbour through a channel, and receives from the left neighbour: all of it, in order.

use std::collections::VecDeque;

use pelago_base::{Rank, Team};
use pelago_messaging::{Channel, ChannelReceiver, ChannelSender, ChannelSettings, Sent};
use pelago_rma::{Error, World};

use super::{Act, Memory, Room, Trouble, demand, rest};
use crate::crew::Crew;
use crate::random::{Random, stamp};

pub(super) struct Channels {
    seed: u64,
    settings: ChannelSettings,
    messages: u64,
    stream_bytes: usize,
}

impl Channels {
    pub(super) fn new(random: &mut Random) -> Self {
        let settings = ChannelSettings::new(1 << random.below(5), random.spread(200) as usize);
        let stream_bytes = random.spread(20 * settings.segment_bytes as u64) as usize;
        Self { seed: random.draw(), settings, messages: random.within(1, 30), stream_bytes }
    }

    fn message(&self, from: u32, number: u64) -> Vec<u8> {
        let word = |place: u64| stamp(self.seed, [from.into(), number, place]);
        (0..word(u64::MAX) % (self.settings.segment_bytes as u64 + 1)).map(|place| word(place) as u8).collect()
    }

    fn stream(&self, from: u32) -> VecDeque<u8> {
        (0..self.stream_bytes as u64).map(|place| stamp(self.seed, [from.into(), u64::MAX, place]) as u8).collect()
    }

    /// Alternates between both ends to avoid deadlocks: a call waits only for a message that must arrive.
    fn converse(
        &self,
        crew: &Crew<'_>,
        left: u32,
        mut sender: ChannelSender<'_>,
        mut receiver: ChannelReceiver<'_>,
    ) -> Result<(), Trouble> {
        let mut random = Random::of(self.seed, crew.position().into());
        let mut outgoing: VecDeque<_> = (0..self.messages).map(|number| self.message(crew.position(), number)).collect();
        let (mut stream, mut expected) = (self.stream(crew.position()), self.stream(left));
        let (mut number, mut tries) = (0, 0);
        while !outgoing.is_empty() || !stream.is_empty() || number < self.messages || !expected.is_empty() {
            if tries == 0 && random.one_in(4) {
                crew.pause();
            }
            let mut moved = false;
            if let Some(message) = outgoing.pop_front() {
                match sender.try_send(message)? {
                    Sent::Sent => moved = true,
                    Sent::Full(message) => outgoing.push_front(message),
                }
            } else if !stream.is_empty() {
                let part = random.within(1, stream.len() as u64) as usize;
                let sent = sender.try_send_stream(&stream.make_contiguous()[..part])?;
                stream.drain(..sent);
                moved = sent > 0;
            }
            if number < self.messages {
                // When this rank has sent everything, it may wait.
                let received =
                    if outgoing.is_empty() && stream.is_empty() { Some(receiver.receive()?) } else { receiver.try_receive()? };
                if let Some(message) = received {
                    demand!(message.to_vec() == self.message(left, number), "message {number} is another one");
                    (number, moved) = (number + 1, true);
                }
            } else if !expected.is_empty() {
                let mut part = vec![0; random.within(1, expected.len() as u64) as usize];
                let came = receiver.try_receive_stream(&mut part)?;
                demand!(part[..came].iter().eq(expected.range(..came)), "a part of the stream is another one");
                expected.drain(..came);
                moved |= came > 0;
            }
            tries = if moved { 0 } else { tries + 1 };
            if !moved {
                rest(crew.world(), &mut random, tries);
            }
        }
        demand!(receiver.try_receive()?.is_none(), "more has come than was sent");
        Ok(sender.flush()?)
    }
}

impl Act for Channels {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn room<'w>(&self, world: &'w World, team: &Team, _stranger: Option<Rank>) -> Result<Room<'w>, Error> {
        let rank = |position: u32| team.rank(position % team.size()).expect("positions are below the size");
        let channel = |position| Channel::new(world, rank(position), rank(position + 1), self.settings);
        Ok(Room::Channels((0..team.size()).map(channel).collect::<Result<_, _>>()?))
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let Room::Channels(channels) = crew.room() else { return Ok(()) };
        let (me, left) = (crew.position(), (crew.position() + crew.size() - 1) % crew.size());
        self.converse(crew, left, channels[me as usize].sender()?, channels[left as usize].receiver()?)
    }
}
