//! Channels: messages of any length, in order, from one rank to another.
//!
//! A message consists of a segment with its length and its first bytes, and of further segments as needed. A receiver whose memory is shorter than the
//! message receives the rest and discards it, so that the next message begins at its own first segment.
//!
//! Any thread that waits in the library performs the requests of a channel, in their order.
//!
//! Invariant **A5**: from the call until the request is complete, the memory of a message is valid, and the program does not access it.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::NonNull;

use pelago::messaging::{ChannelReceiver, ChannelSender, ChannelSettings, Sent};
use pelago::{Context, Rank, Result};
use pelago_memory::Cells;

use super::{BLOCK_WORDS, Connection, Connector, LinkKind, ReceivingEnd, SendingEnd};
use crate::refusal::Refusal;
use pelago_c_support::slab::Slab;

/// Number of segments of a channel, and bytes of each: the receiver's memory for one channel, and so the credit of the sender.
const SEGMENTS: u32 = 8;
const SEGMENT_BYTES: usize = 4096;

/// Size of the length field at the start of a message.
const LENGTH_BYTES: usize = 8;

/// Maximum number of incomplete requests of a channel. Further requests are refused.
const REQUESTS_MAX: usize = 1 << 16;

const SETTINGS: ChannelSettings = ChannelSettings::new(SEGMENTS, SEGMENT_BYTES);

/// The channels of this rank, and their requests.
pub(crate) struct Channels {
    channels: Slab<Channel>,
    /// The result of each request; `None` as long as it is incomplete.
    requests: Slab<Option<usize>>,
    /// Channels with incomplete requests.
    busy: Vec<usize>,
}

struct Channel {
    end: End,
    queue: VecDeque<Transfer>,
    /// The request to free the channel, and whether the other end has been informed.
    freeing: Option<(usize, bool)>,
}

enum End {
    Sender { link: SendingEnd, sender: Option<(ChannelSender<'static>, pelago::GlobalPtr<u64>)> },
    Receiver { link: ReceivingEnd, receiver: Option<ChannelReceiver<'static>> },
}

/// A message to be sent or received.
struct Transfer {
    request: usize,
    memory: NonNull<u8>,
    bytes: usize,
    /// Number of bytes of the message that have been sent or received.
    done: usize,
    /// Length of the message; `None` before it has been sent or received.
    length: Option<usize>,
}

impl Channels {
    pub(crate) const fn new() -> Self {
        Self { channels: Slab::new(1), requests: Slab::new(2), busy: Vec::new() }
    }

    /// Makes this rank's end of a channel.
    pub(crate) fn create(
        &mut self,
        connector: &mut Connector,
        context: &'static Context,
        sender: Rank,
        receiver: Rank,
    ) -> Result<usize, Refusal> {
        let me = context.rank();
        let end = match () {
            () if sender == receiver => return Err(Refusal::SameRank),
            () if me == sender => {
                End::Sender { link: connector.sending_end(context, LinkKind::Channel, receiver, [0; 2])?, sender: None }
            }
            () if me == receiver => {
                let link = connector.receiving_end(context, LinkKind::Channel, sender, [0; 2], SETTINGS.ring_words()?)?;
                End::Receiver { link, receiver: None }
            }
            () => return Err(Refusal::NoEnd),
        };
        self.channels.insert(Channel { end, queue: VecDeque::new(), freeing: None }).ok_or(Refusal::TooMany("channels"))
    }

    /// Requests the send of a message from `bytes` bytes of memory, or its receipt into them. Returns the request.
    pub(crate) fn request(&mut self, number: usize, memory: usize, bytes: usize, is_send: bool) -> Result<usize, Refusal> {
        let channel = self.channels.get(number).filter(|channel| channel.freeing.is_none()).ok_or(Refusal::Channel(number))?;
        if is_send != matches!(channel.end, End::Sender { .. }) {
            return Err(Refusal::WrongEnd);
        }
        if bytes > isize::MAX as usize || memory == 0 && bytes > 0 {
            return Err(Refusal::NoMemory { address: memory, bytes });
        }
        if channel.queue.len() >= REQUESTS_MAX {
            return Err(Refusal::TooMany("requests of a channel"));
        }
        let memory = NonNull::new(memory as *mut u8).unwrap_or(NonNull::dangling());
        let request = self.requests.insert(None).ok_or(Refusal::TooMany("requests"))?;
        channel.queue.push_back(Transfer { request, memory, bytes, done: 0, length: None });
        self.note(number);
        Ok(request)
    }

    /// Requests that this end be freed once its requests are complete and the other end is freed, too. Returns the request.
    pub(crate) fn free(&mut self, number: usize) -> Result<usize, Refusal> {
        let channel = self.channels.get(number).filter(|channel| channel.freeing.is_none()).ok_or(Refusal::Channel(number))?;
        let request = self.requests.insert(None).ok_or(Refusal::TooMany("requests"))?;
        channel.freeing = Some((request, false));
        self.note(number);
        Ok(request)
    }

    /// Returns the result of a request, and removes the request; `None` as long as it is incomplete.
    pub(crate) fn take(&mut self, request: usize) -> Result<Option<usize>, Refusal> {
        let found = *self.requests.get(request).ok_or(Refusal::Request(request))?;
        if found.is_some() {
            self.requests.remove(request);
        }
        Ok(found)
    }

    /// Whether there are incomplete requests.
    pub(crate) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Abandons the incomplete requests.
    pub(crate) fn stop(&mut self) {
        self.busy.clear();
    }

    /// Performs as much of the requests as is possible without waiting.
    pub(crate) fn advance(&mut self, connector: &mut Connector, context: &'static Context) -> Result<()> {
        let Self { channels, requests, busy } = self;
        let mut failure = Ok(());
        busy.retain(|&number| {
            let Some(channel) = channels.get(number) else { return false };
            match channel.advance(connector, context, requests) {
                Ok(Outcome::Busy) => true,
                Ok(Outcome::Idle) => false,
                Ok(Outcome::Gone) => {
                    channels.remove(number);
                    false
                }
                Err(error) => {
                    failure = Err(error);
                    true
                }
            }
        });
        failure
    }

    fn note(&mut self, number: usize) {
        if !self.busy.contains(&number) {
            self.busy.push(number);
        }
    }
}

/// The state of a channel after it has advanced.
enum Outcome {
    Busy,
    Idle,
    Gone,
}

impl Channel {
    fn advance(
        &mut self,
        connector: &mut Connector,
        context: &'static Context,
        requests: &mut Slab<Option<usize>>,
    ) -> Result<Outcome> {
        if !self.is_connected(connector, context)? {
            return Ok(Outcome::Busy);
        }
        // Read before the transfers: if the other end has closed the link, everything that it sent before is found below.
        let is_closed = self.is_closed();
        while let Some(transfer) = self.queue.front_mut() {
            let is_done = match &mut self.end {
                End::Sender { sender: Some((sender, _)), .. } => transfer.send(sender)?,
                End::Receiver { receiver: Some(receiver), .. } => transfer.receive(receiver)?,
                _ => false,
            };
            if !is_done && !is_closed {
                break;
            }
            // The remaining requests of a closed link complete with 0 bytes.
            complete(requests, transfer.request, if is_done { transfer.size() } else { 0 });
            self.queue.pop_front();
        }
        let Some((request, is_told)) = self.freeing.filter(|_| self.queue.is_empty()) else {
            return Ok(if self.queue.is_empty() { Outcome::Idle } else { Outcome::Busy });
        };
        if !is_told {
            match &self.end {
                End::Sender { link, sender: Some((_, block)) } => link.close(context, *block)?,
                End::Sender { .. } => {}
                End::Receiver { link, .. } => link.close(context)?,
            }
            self.freeing = Some((request, true));
        }
        if !is_closed {
            return Ok(Outcome::Busy);
        }
        complete(requests, request, 0);
        Ok(Outcome::Gone)
    }

    fn is_connected(&mut self, connector: &mut Connector, context: &'static Context) -> Result<bool> {
        match &mut self.end {
            End::Sender { sender: Some(_), .. } | End::Receiver { receiver: Some(_), .. } => {}
            End::Sender { link, sender } => {
                let Connection::Established(block) = link.connection()? else { return Ok(false) };
                let ring = block.add(BLOCK_WORDS as u64);
                let made = ChannelSender::over(context, link.peer, SETTINGS, ring, link.progress(context))?;
                *sender = Some((made, block));
            }
            End::Receiver { link, receiver } => {
                let Connection::Established(progress) = link.connection(connector, context)? else { return Ok(false) };
                let block = link.block(context);
                let ring = block.range(BLOCK_WORDS..block.len());
                *receiver = Some(ChannelReceiver::over(context, link.peer, SETTINGS, ring, progress)?);
            }
        }
        Ok(true)
    }

    fn is_closed(&self) -> bool {
        match &self.end {
            End::Sender { link, .. } => link.is_closed(),
            End::Receiver { link, .. } => link.is_closed(),
        }
    }
}

impl Transfer {
    /// Returns the number of bytes that were sent, or stored in the program's memory.
    fn size(&self) -> usize {
        self.length.unwrap_or(self.bytes).min(self.bytes)
    }

    /// Sends as many segments as there are free. Returns whether the message has been sent completely.
    fn send(&mut self, sender: &mut ChannelSender<'static>) -> Result<bool> {
        let mut segment = [0; SEGMENT_BYTES];
        while !sender.is_full() {
            let start = if self.length.is_none() { LENGTH_BYTES } else { 0 };
            segment[..start].copy_from_slice(&self.bytes.to_le_bytes()[..start]);
            let count = (self.bytes - self.done).min(SEGMENT_BYTES - start);
            self.part(count).read(&mut segment[start..start + count]);
            if let Sent::Full(_) = sender.try_send(&segment[..start + count])? {
                return Ok(false);
            }
            self.length = Some(self.bytes);
            self.done += count;
            if self.done == self.bytes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Receives the segments of a message that have arrived. Returns whether the message has been received completely.
    fn receive(&mut self, receiver: &mut ChannelReceiver<'static>) -> Result<bool> {
        while !receiver.is_empty() {
            let Some(message) = receiver.try_receive()? else { break };
            let bytes = message.bytes();
            let mut start = 0;
            let length = *self.length.get_or_insert_with(|| {
                start = LENGTH_BYTES.min(bytes.len());
                let mut length = [0; LENGTH_BYTES];
                bytes.read(0, &mut length[..start]);
                usize::from_le_bytes(length)
            });
            let come = bytes.len() - start;
            let kept = come.min(self.bytes.saturating_sub(self.done));
            self.part(kept).copy_from(bytes.range(start..start + kept).cells());
            message.release()?;
            self.done += come;
            if self.done >= length {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the next `count` bytes of the program's memory, which has at least as many left.
    fn part(&self, count: usize) -> Cells<'_> {
        let start = self.done.min(self.bytes);
        debug_assert!(count <= self.bytes - start);
        // SAFETY: A5; the bytes are within the length.
        unsafe { Cells::new(self.memory.add(start), count) }
    }
}

fn complete(requests: &mut Slab<Option<usize>>, request: usize, bytes: usize) {
    if let Some(place) = requests.get(request) {
        *place = Some(bytes);
    }
}
