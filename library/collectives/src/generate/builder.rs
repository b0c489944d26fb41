//! Adds steps to a schedule, and assigns the lines and the room that they need.

use crate::schedule::{Buffer, Schedule, ScheduledMessage, Shape, Side, Span, Step, Then};

/// A schedule under construction.
///
/// Places in the room saturate: a schedule with more room than there are numbers is never executed, because its pieces are too long.
///
/// Every member assigns lines and room in the same order and number, whether or not it uses them, so that a sender knows where its message lands.
pub(crate) struct Builder {
    pub(crate) shape: Shape,
    /// Position of the member.
    pub(crate) me: u32,
    schedule: Schedule,
}

/// Lines and room for messages of equal length.
#[derive(Clone, Copy)]
pub(crate) struct Landing {
    line: u32,
    at: usize,
    /// Values of each message.
    length: usize,
}

/// Some members with numbers of their own: `place` maps a number to a position.
#[derive(Clone, Copy)]
pub(crate) struct Crew<'c> {
    pub(crate) count: u32,
    /// The number of this member, if it is one of them.
    pub(crate) me: Option<u32>,
    pub(crate) place: &'c dyn Fn(u32) -> u32,
}

impl Landing {
    /// The message of this number, of `length` values.
    pub(crate) fn message(self, number: u32, length: usize) -> ScheduledMessage {
        debug_assert!(length <= self.length);
        let at = self.at.saturating_add((number as usize).saturating_mul(self.length));
        ScheduledMessage { line: self.line + number, at, length }
    }

    /// The message of this number, of as many values as there is room for.
    pub(crate) fn whole(self, number: u32) -> ScheduledMessage {
        self.message(number, self.length)
    }
}

impl Builder {
    pub(crate) fn new(shape: &Shape, me: u32) -> Self {
        Self { shape: *shape, me, schedule: Schedule::default() }
    }

    pub(crate) fn end(self) -> Schedule {
        self.schedule
    }

    pub(crate) fn size(&self) -> u32 {
        self.shape.size
    }

    pub(crate) fn count(&self) -> usize {
        self.shape.count
    }

    /// All members, counted from `first` on.
    pub(crate) fn from(&self, first: u32) -> impl Fn(u32) -> u32 + use<> {
        let size = self.size();
        move |number| ((u64::from(number) + u64::from(first)) % u64::from(size)) as u32
    }

    /// The other members, the right neighbour first, so that members do not all address the same one.
    pub(crate) fn others(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        (1..self.size()).map(self.from(self.me))
    }

    /// The number of this member, counted from `first` on.
    pub(crate) fn number_from(&self, first: u32) -> u32 {
        (self.me + self.size() - first) % self.size()
    }

    /// Assigns lines and room for `messages` of `length` values each.
    pub(crate) fn landing(&mut self, messages: u32, length: usize) -> Landing {
        let landing = Landing { line: self.schedule.lines, at: self.schedule.room, length };
        self.schedule.lines += messages;
        self.schedule.room = self.schedule.room.saturating_add((messages as usize).saturating_mul(length));
        landing
    }

    /// Assigns room that this member fills for others to read.
    pub(crate) fn exposed(&mut self, length: usize) -> usize {
        self.landing(0, 0);
        let at = self.schedule.room;
        self.schedule.room = at.saturating_add(length);
        at
    }

    /// Reserves whole blocks of scratch.
    pub(crate) fn temporary(&mut self, blocks: u32) {
        self.schedule.temporary = self.schedule.temporary.max(blocks as usize * self.shape.count);
    }

    /// Whole blocks.
    pub(crate) fn blocks(&self, buffer: Buffer, block: u32, blocks: u32) -> Span {
        Span::blocks(buffer, block, blocks, self.shape.count)
    }

    /// A whole block.
    pub(crate) fn block(&self, buffer: Buffer, block: u32) -> Span {
        self.blocks(buffer, block, 1)
    }

    /// Whole blocks counted from `first` on, with wrap-around.
    pub(crate) fn around(&self, buffer: Buffer, first: u32, blocks: u32) -> Vec<Span> {
        let first = first % self.size();
        let before = blocks.min(self.size() - first);
        let spans = [self.blocks(buffer, first, before), self.blocks(buffer, 0, blocks - before)];
        spans.into_iter().filter(|span| span.blocks > 0).collect()
    }

    /// One of `parts` nearly equal parts of a block, or `some` consecutive ones.
    pub(crate) fn parts(&self, buffer: Buffer, parts: u32, first: u32, some: u32) -> Span {
        let bound = |part: u32| (self.shape.count as u128 * u128::from(part) / u128::from(parts)) as usize;
        Span::part(buffer, 0, bound(first), bound(first + some) - bound(first))
    }

    /// Values of the longest of `parts` nearly equal parts.
    pub(crate) fn part_values(&self, parts: u32) -> usize {
        self.shape.count.div_ceil(parts as usize)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.schedule.steps.push(step);
    }

    pub(crate) fn send(&mut self, to: u32, from: Vec<Span>, message: ScheduledMessage) {
        debug_assert_eq!(from.iter().map(Span::values).sum::<usize>(), message.length);
        self.push(Step::Send { to, from, message });
    }

    pub(crate) fn receive(&mut self, from: u32, message: ScheduledMessage, then: Then) {
        self.push(Step::Receive { from, message, then });
    }

    pub(crate) fn tell(&mut self, to: u32, landing: Landing, number: u32) {
        self.send(to, Vec::new(), landing.message(number, 0));
    }

    pub(crate) fn hear(&mut self, from: u32, landing: Landing, number: u32) {
        self.receive(from, landing.message(number, 0), Then::Nothing);
    }

    pub(crate) fn copy(&mut self, from: Span, to: Span) {
        if from != to && from.values() > 0 {
            self.push(Step::Copy { from, to });
        }
    }

    pub(crate) fn expose(&mut self, from: Vec<Span>, at: usize) {
        self.push(Step::Expose { from, at });
    }

    pub(crate) fn fetch(&mut self, from: u32, at: usize, then: Then) {
        self.push(Step::Fetch { from, at, then });
    }

    /// Combines the values that `take` obtains from every other member with this member's own in `into`, in the order of positions, bracketed from
    /// the left: the result is the same on every member. Needs `scratch` of the same form.
    pub(crate) fn combine_in_order(&mut self, into: Span, scratch: Span, mut take: impl FnMut(&mut Self, u32, Then)) {
        match self.me {
            0 => {}
            1 => take(self, 0, Then::Combine(into, Side::Left)),
            me => {
                take(self, 0, Then::Store(vec![scratch]));
                (1..me).for_each(|from| take(self, from, Then::Combine(scratch, Side::Right)));
                self.push(Step::Combine { from: scratch, into, side: Side::Left });
            }
        }
        (self.me + 1..self.size()).for_each(|from| take(self, from, Then::Combine(into, Side::Right)));
    }
}

/// Number of doublings from 1 that reach `size`.
pub(crate) const fn rounds(size: u32) -> u32 {
    size.next_power_of_two().ilog2()
}

/// Pairs of members if their number is not a power of two. Of the first `2 * surplus` members, those with odd positions hand their values to the
/// member before and get the result from it. The others are renumbered, in order.
#[derive(Clone, Copy)]
pub(crate) struct Folded {
    /// Number of the others: a power of two.
    pub(crate) count: u32,
    pub(crate) surplus: u32,
}

/// The pairs of `size` members.
pub(crate) const fn folded(size: u32) -> Folded {
    let count = 1 << size.ilog2();
    Folded { count, surplus: size - count }
}

impl Folded {
    /// Returns the new number of a member; `None` if it hands its values over.
    pub(crate) const fn number(self, position: u32) -> Option<u32> {
        match position < 2 * self.surplus {
            true if position % 2 == 1 => None,
            true => Some(position / 2),
            false => Some(position - self.surplus),
        }
    }

    /// Returns the position of a new number; for the number after the last one, the size.
    pub(crate) const fn position(self, number: u32) -> u32 {
        if number < self.surplus { 2 * number } else { number + self.surplus }
    }

    /// Returns the other member of this one's pair.
    pub(crate) const fn partner(self, position: u32) -> Option<u32> {
        if position < 2 * self.surplus { Some(position ^ 1) } else { None }
    }
}
