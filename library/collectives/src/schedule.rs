//! What one member does in a collective operation, step by step: data, made by pure functions.
//!
//! Every member of a team has the schedule of its own position. They fit together:
//!
//! - **C1** Each message of a member is sent by exactly one step and received by exactly one, with the same length; no two messages to a
//!   member have the same line, nor overlap where they land; nor does what it exposes.
//! - **C2** Steps are made in their order, and never wait for a later one of any member: no deadlock.
//! - **C3** Who tells whom depends on the shape, not on how many values there are. So the next operation of the same shape proves something
//!   about this one: see [`Schedule::owes`].
//! - **C4** A member reads another's memory only after that one has told it so.

use crate::{Algorithm, Collective};

/// All that a schedule depends on, beside the position of the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What is done.
    pub operation: Collective,
    /// By which steps.
    pub algorithm: Algorithm,
    /// Members.
    pub size: u32,
    /// Values in a block.
    pub count: usize,
    /// Consecutive members on a host; the last host may have fewer.
    pub per_host: u32,
    /// Whether the operator gives the same with its operands exchanged.
    pub commutes: bool,
}

/// What the member at one position does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// In their order.
    pub steps: Vec<Step>,
    /// Messages that a member of this shape may get; the same for all.
    pub lines: u32,
    /// Values that others may put to a member of this shape, or read of it; the same for all.
    pub room: usize,
    /// Values of scratch that this member needs.
    pub temporary: usize,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Puts values to where they land at a member, and tells it.
    Send {
        /// The member.
        to: u32,
        /// The values, one span after another.
        from: Vec<Span>,
        /// Which of the receiver's messages it is.
        message: ScheduledMessage,
    },
    /// Waits for a message and takes its values.
    Receive {
        /// The member that sends it.
        from: u32,
        /// Which of this member's messages it is.
        message: ScheduledMessage,
        /// What becomes of its values.
        then: Then,
    },
    /// Copies values of this member; both spans have the same form.
    Copy {
        /// From here.
        from: Span,
        /// To here.
        to: Span,
    },
    /// Combines values of this member.
    Combine {
        /// One operand.
        from: Span,
        /// The other, and the result.
        into: Span,
        /// Which operand `from` is.
        side: Side,
    },
    /// Copies values to where others may read them.
    Expose {
        /// The values, one span after another.
        from: Vec<Span>,
        /// Where in this member's room.
        at: usize,
    },
    /// Reads values that a member exposed.
    Fetch {
        /// The member.
        from: u32,
        /// Where in its room.
        at: usize,
        /// What becomes of them.
        then: Then,
    },
}

/// A message, seen from its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledMessage {
    /// Its number.
    pub line: u32,
    /// Where it lands in the receiver's room.
    pub at: usize,
    /// Values.
    pub length: usize,
}

/// What becomes of values that come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing: there are none, or others are read next.
    Nothing,
    /// They are stored.
    Store(Vec<Span>),
    /// They are one operand; the other, and the result, is here.
    Combine(Span, Side),
}

/// Which operand of an operator something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The left one: it comes from members before.
    Left,
    /// The right one.
    Right,
}

/// Values of this member: of each of `blocks` blocks, at equal distances, the same range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// In which memory.
    pub buffer: Buffer,
    /// The first block.
    pub block: u32,
    /// How many.
    pub blocks: u32,
    /// Distance of blocks, in blocks.
    pub stride: u32,
    /// The first value in each block.
    pub start: usize,
    /// Values in each block.
    pub length: usize,
}

/// Memory of this member that others do not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// What it brings.
    Input,
    /// What it gets.
    Output,
    /// Scratch.
    Temporary,
}

impl Span {
    /// Consecutive blocks of `count` values, whole.
    pub const fn blocks(buffer: Buffer, block: u32, blocks: u32, count: usize) -> Self {
        Self { buffer, block, blocks, stride: 1, start: 0, length: count }
    }

    /// A range of one block.
    pub const fn part(buffer: Buffer, block: u32, start: usize, length: usize) -> Self {
        Self { buffer, block, blocks: 1, stride: 1, start, length }
    }

    /// The same blocks in other memory.
    #[must_use]
    pub const fn of(self, buffer: Buffer) -> Self {
        Self { buffer, ..self }
    }

    /// How many values.
    pub const fn values(&self) -> usize {
        self.blocks as usize * self.length
    }

    /// The ranges of values, where blocks of the buffer begin `pitch` values apart.
    pub fn ranges(self, pitch: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
        (0..self.blocks).map(move |number| {
            let start = (self.block + number * self.stride) as usize * pitch + self.start;
            start..start + self.length
        })
    }
}

impl Schedule {
    /// The members that this one tells something.
    pub fn tells(&self) -> Vec<u32> {
        unique(self.steps.iter().filter_map(|step| if let Step::Send { to, .. } = step { Some(*to) } else { None }))
    }

    /// The members that tell this one something.
    pub fn hears(&self) -> Vec<u32> {
        unique(self.steps.iter().filter_map(|step| if let Step::Receive { from, .. } = step { Some(*from) } else { None }))
    }

    /// The members to which this one says that it has ended an operation. Whoever puts to this member's memory, or lets it read its own, tells it
    /// something. If this member tells that one something in return, in every operation (C3), then what it tells in the next one proves
    /// that it has ended this one; to the others it says so.
    pub fn owes(&self) -> Vec<u32> {
        without(self.hears(), &self.tells())
    }

    /// The members that say to this one that they have ended an operation: where [`owes`](Self::owes) has this one.
    pub fn awaits(&self) -> Vec<u32> {
        without(self.tells(), &self.hears())
    }
}

fn unique(members: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut members: Vec<u32> = members.collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// Those of `members` that are not among `others`; both ascend.
fn without(mut members: Vec<u32>, others: &[u32]) -> Vec<u32> {
    members.retain(|member| others.binary_search(member).is_err());
    members
}
