//! A ring of slots in the memory of a receiver. A slot is a flag and the bytes of a message behind it, and begins at a word.
//!
//! Slots are not aligned to cache lines: the messages of one sender often lie in consecutive slots, which the receiver reads one after another. So
//! fewer lines move between the cores.

use pelago_rma::{CellSlice, Context, GlobalPtr, Handle, Result, Signal};

use crate::credit::Ticket;
use crate::limits::SIGNALLED_MESSAGE_BYTES_MIN;
use crate::slot_flag::{Content, content, flag};

/// The layout of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    count: u32,
    /// Words of a slot.
    stride: usize,
}

impl Slots {
    /// `count` slots for messages of up to `bytes` bytes.
    pub(crate) const fn new(count: u32, bytes: usize) -> Self {
        Self { count, stride: 1 + bytes.div_ceil(8) }
    }

    pub(crate) const fn count(self) -> u32 {
        self.count
    }

    /// Words of the ring.
    pub(crate) const fn words(self) -> usize {
        self.count as usize * self.stride
    }

    /// The index of the flag of a ticket's slot.
    pub(crate) const fn index(self, ticket: Ticket) -> usize {
        ticket.slot(self.count) as usize * self.stride
    }

    /// The content of a ticket's slot in a ring of this rank, if it has arrived.
    pub(crate) fn found(self, ring: CellSlice<'_, u64>, ticket: Ticket) -> Option<Content> {
        content(ring.load(self.index(ticket)), ticket, self.count)
    }

    /// The bytes of the message of a ticket.
    pub(crate) fn bytes(self, ring: CellSlice<'_, u64>, ticket: Ticket, bytes: usize) -> CellSlice<'_, u8> {
        let start = self.index(ticket) + 1;
        let all = ring.range(start..start + self.stride - 1).cells().elements().expect("bytes are aligned anywhere");
        // Cuts a length that no correct sender writes.
        all.range(0..bytes.min(all.len()))
    }

    /// Writes the message of a ticket to a ring of any rank: first its bytes, then its flag. Returns both operations, either of which may fail.
    pub(crate) fn write<'c>(
        self,
        context: &'c Context,
        ring: GlobalPtr<u64>,
        ticket: Ticket,
        message: &[u8],
    ) -> Result<[Handle<'c>; 2]> {
        let flag_at = self.flag_at(ring, ticket);
        let told = [flag(ticket, self.count, Content::Message { from: context.rank(), bytes: message.len() })];
        if message.is_empty() {
            return Ok([context.put(flag_at, &told)?; 2]);
        }
        if message.len() >= SIGNALLED_MESSAGE_BYTES_MIN {
            let [word] = told;
            return Ok([context.put_signal(flag_at.add(1).cast()?, message, flag_at, Signal::Put(word))?; 2]);
        }
        let write = || context.put(flag_at.add(1).cast()?, message);
        context.pair(write, |body| Ok([body, context.after(&body).put(flag_at, &told)?]))
    }

    /// Marks the slot of a ticket as void: no message will arrive in it.
    pub(crate) fn give_up<'c>(self, context: &'c Context, ring: GlobalPtr<u64>, ticket: Ticket) -> Result<Handle<'c>> {
        context.put(self.flag_at(ring, ticket), &[flag(ticket, self.count, Content::Void)])
    }

    fn flag_at(self, ring: GlobalPtr<u64>, ticket: Ticket) -> GlobalPtr<u64> {
        ring.add(self.index(ticket) as u64)
    }
}
