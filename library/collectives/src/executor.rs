//! Executes the steps of schedules, by puts with flags behind the data.
//!
//! Memory of a plan, at the same place of every member, in words:
//!
//! | words | for |
//! |---|---|
//! | one for each member | its credit: the last operation that it has reported complete; `BROKEN` after a failure |
//! | for each slot, a line for each message | the number of the message's operation; behind it the values, if they fit |
//! | for each slot, the room | where longer messages land, and values that other members read; then data that is sent later |
//!
//! - **E1** Operations are numbered from 1; number e uses the slot e mod s. A flag holds a number, so that it needs no reset.
//! - **E2** No data of operation e is put to a member, or exposed to it, before that member has completed operation e − s. The proof is either its
//!   credit, or a message from it in operation e − 1, with s ≥ 2 (see [`Schedule::owes`]). Hence no member overwrites data that is still to be read,
//!   and a member is at most s operations ahead of a slow one. Members send credits after every ⌊s/2⌋ operations: a member may be ⌈s/2⌉ ahead at any
//!   time, and a wait for the credit of operation e − s is a wait for an operation before e, as ⌊s/2⌋ ≤ s.
//! - **E3** Data that a network sends later (not captured by the transport) lies in the slot. By E2 the slot stays unchanged until the receiver has
//!   the data.
//! - **E4** Before it waits, a member checks whether any member has failed, because a wait reports only failures that occur during the wait. A member
//!   that waits for a living member must detect the failure too: the living one may be waiting for the failed one.
//! - **E5** A member whose operation fails, or whose operator panics, puts `BROKEN` in the place of its credit to each member that waits for its
//!   messages or credits. That member fails when it waits for it, and does the same: so no member waits for one that does not continue.

use core::ops::Range;

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{Rank, Team};
use pelago_rma::{CellSlice, Context, Error, Fault, GlobalPtr, Handle, Pod, Rail, Result, Signal};

use crate::choice::Rails;
use crate::operator::Fold;
use crate::pool::{LINE, Region};
use crate::schedule::{Buffer, Schedule, ScheduledMessage, Shape, Side, Span, Step, Then};
use crate::words::Words;

/// Bytes that are combined at a time from memory that other members write. A chunk of this size stays in the first-level cache.
const CHUNK_BYTES: usize = 16 * 1024;

/// Maximum bytes of a message whose values are combined one by one.
const SINGLY_BYTES: usize = 64;

/// The credit of a member whose operation has failed (E5); no operation has this number.
const BROKEN: u64 = u64::MAX;

const FAILED_ELSEWHERE: Error = Error::Invalid(
    "an operation of the plan has failed on another member, or the operator has panicked there: the plan does not continue on any member",
);

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = LINE * 8;

/// The memory and the steps of a plan, which do not change.
pub(crate) struct Layout {
    /// Shape of a piece.
    pub(crate) shape: Shape,
    /// Values in a block of the program's buffers.
    pub(crate) count: usize,
    pub(crate) value_bytes: usize,
    pub(crate) slots: usize,
    /// This member's steps for a piece, and for the last piece if that is shorter.
    pub(crate) piece: Schedule,
    pub(crate) rest: Option<Schedule>,
    /// Members whose credits this one awaits, and members to which it sends credits.
    pub(crate) awaits: Vec<u32>,
    pub(crate) owes: Vec<u32>,
    /// Maximum bytes of one range that every transport captures.
    pub(crate) captured: usize,
    /// Values of a slot's area for data that is sent later (E3).
    pub(crate) kept: usize,
    pub(crate) region: Region,
    pub(crate) rails: Rails,
}

/// The progress of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Operations that have begun; each piece counts as one.
    pub(crate) epoch: u64,
    pub(crate) piece: usize,
    pub(crate) step: usize,
    /// Values kept in this slot so far.
    kept: usize,
    /// An operation that all awaited members have completed, by their credits.
    credited: u64,
    /// Whether the piece has begun.
    begun: bool,
}

/// The team of a member, and its memory.
#[derive(Clone, Copy)]
pub(crate) struct MemberContext<'p> {
    pub(crate) world: &'p Context,
    pub(crate) team: &'p Team,
    pub(crate) position: u32,
    pub(crate) words: Words,
    pub(crate) mapped: bool,
}

impl MemberContext<'_> {
    pub(crate) fn rank(&self, position: u32) -> Rank {
        self.team.rank(position).expect("schedules name members")
    }

    /// Returns an error if a member has failed.
    pub(crate) fn is_whole(&self) -> Result<()> {
        if self.world.losses() > 0
            && let Some(&rank) = self.world.lost().iter().find(|&&rank| self.team.position(rank).is_some())
        {
            return Err(Fault::PeerLost(rank).into());
        }
        Ok(())
    }
}

/// The program's memory, and scratch.
pub(crate) struct Ends<'e, T> {
    /// `None` if the operation is in place: the output buffer holds the input.
    pub(crate) input: Option<&'e [T]>,
    pub(crate) output: &'e mut [T],
    /// Offsets of the input and of the output, in blocks, in a buffer that holds both.
    pub(crate) shifts: (usize, usize),
    pub(crate) temporary: &'e mut [T],
    pub(crate) chunk: &'e mut [T],
}

impl Layout {
    /// Values of scratch that a member needs.
    pub(crate) fn temporary(&self) -> usize {
        self.rest.as_ref().map_or(0, |rest| rest.temporary).max(self.piece.temporary)
    }

    /// Values of a chunk.
    pub(crate) fn chunk(&self) -> usize {
        let longest = |schedule: &Schedule| {
            let lengths = schedule.steps.iter().map(|step| match step {
                Step::Send { from, message, .. } if from.len() > 1 || from.iter().any(|span| span.blocks > 1) => message.length,
                Step::Receive { then: Then::Combine(span, _), .. } | Step::Fetch { then: Then::Combine(span, _), .. } => {
                    span.values()
                }
                _ => 0,
            });
            lengths.max().unwrap_or(0)
        };
        // A part of a block may be longer in the last piece: there the remainder goes to other members.
        let values = self.rest.as_ref().map_or(0, longest).max(longest(&self.piece));
        values.min((CHUNK_BYTES / self.value_bytes).max(1))
    }

    pub(crate) fn pieces(&self) -> usize {
        self.count.div_ceil(self.shape.count.max(1)).max(1)
    }

    /// Words of the memory of a plan.
    pub(crate) fn words(size: u32, slots: usize, schedule: &Schedule, kept: usize, value_bytes: usize) -> usize {
        credits(size) + slots * (schedule.lines as usize * LINE + room_words(schedule.room + kept, value_bytes))
    }

    fn lines_at(&self, slot: usize) -> usize {
        self.region.start + credits(self.shape.size) + slot * self.piece.lines as usize * LINE
    }

    fn room_at(&self, slot: usize) -> usize {
        self.lines_at(self.slots) + slot * room_words(self.piece.room + self.kept, self.value_bytes)
    }

    /// Words that other members write and this member polls; their initial value is zero. In a large team these are few of the plan's words, and the
    /// pages of the other words are never touched.
    pub(crate) fn flags(&self) -> impl Iterator<Item = usize> {
        // Of members that send messages, for E5; of others, for E2.
        let members = self.awaits.iter().copied().chain(self.piece.hears());
        let credits = members.map(|member| self.region.start + member as usize);
        let heard = self.piece.steps.iter().filter_map(|step| match step {
            Step::Receive { message, .. } => Some(message.line as usize),
            _ => None,
        });
        let lines = heard.flat_map(move |line| (0..self.slots).map(move |slot| self.lines_at(slot) + line * LINE));
        credits.chain(lines)
    }

    /// Makes the members fail that wait for this one, whose operation does not continue (E5). Not if a member or the job has failed: all notice that
    /// themselves.
    pub(crate) fn tell_broken(&self, place: MemberContext<'_>) {
        let MemberContext { world, words, position, .. } = place;
        if place.is_whole().is_err() || world.fault().is_some() {
            return;
        }
        for to in self.piece.tells().into_iter().chain(self.owes.iter().copied()) {
            // As credits: an earlier one may arrive later. A put that fails is reported by the next wait of this member.
            let _told = world.max(words.at(world, place.rank(to), self.region.start + position as usize), BROKEN);
        }
    }

    /// Number of operations after which a member sends a credit (E2).
    fn told_every(&self) -> u64 {
        (self.slots as u64 / 2).max(1)
    }
}

/// Whether a message of `bytes` bytes waits in a slot for the network (E3). `put` captures messages up to the inject size. Longer messages that are
/// one range go directly from the program's memory: transports send them at once or capture them, up to `captured` bytes.
#[inline]
fn is_kept(bytes: usize, from: &[Span], captured: usize, whole: Option<usize>) -> bool {
    bytes > if is_one_range(from, whole) { captured.max(INJECT_SIZE) } else { INJECT_SIZE }
}

/// Whether spans form one contiguous range: part of one block, or adjacent blocks if a piece is a `whole` block.
#[inline]
fn is_one_range(from: &[Span], whole: Option<usize>) -> bool {
    match *from {
        [Span { blocks, stride, start, length, .. }] => blocks == 1 || stride == 1 && start == 0 && whole == Some(length),
        _ => false,
    }
}

/// Values of a block, if pieces of this shape are whole blocks of `count` values.
pub(crate) fn whole_blocks(piece: &Shape, count: usize) -> Option<usize> {
    (piece.count == count).then_some(count)
}

/// Values that a member keeps in a slot to send them later; `whole` is the result of [`whole_blocks`].
pub(crate) fn kept(
    schedule: &Schedule,
    value_bytes: usize,
    (captured, whole): (usize, Option<usize>),
    maps: impl Fn(u32) -> bool,
) -> usize {
    let sent = schedule.steps.iter().map(|step| match step {
        Step::Send { to, from, message } if is_kept(message.length * value_bytes, from, captured, whole) && !maps(*to) => {
            message.length
        }
        _ => 0,
    });
    sent.fold(0, usize::saturating_add)
}

/// Returns the rail for messages between two members if one is named and reaches the peer. `None` also if the named rail is mapped memory.
#[inline]
pub(crate) fn rail_between(world: &Context, team: &Team, rails: Rails, per_host: u32, [from, to]: [u32; 2]) -> Option<Rail> {
    if rails == Rails::default() {
        return None;
    }
    let rail = if from / per_host == to / per_host { rails.intra_node } else { rails.inter_node };
    let rank = team.rank(to)?;
    rail.filter(|&rail| world.rails().reach(rail, rank) && !(world.maps(rank) && world.rails().to(rank) == rail))
}

fn credits(size: u32) -> usize {
    (size as usize).next_multiple_of(LINE)
}

fn room_words(values: usize, value_bytes: usize) -> usize {
    (values * value_bytes).div_ceil(8).next_multiple_of(LINE)
}

/// The word of a line at which values begin, behind its flag; `None` if the alignment of `T` leaves no room.
fn beside<T>() -> Option<usize> {
    (align_of::<T>() <= LINE_BYTES / 2).then_some(align_of::<T>().div_ceil(8))
}

/// Whether `length` values fit a line behind its flag.
fn fits_line<T>(length: usize) -> bool {
    align_of::<T>().max(8) + length * size_of::<T>() <= LINE_BYTES
}

/// The execution of one member's steps.
pub(crate) struct Executor<'x, 'e, T> {
    place: MemberContext<'x>,
    layout: &'x Layout,
    ends: &'x mut Ends<'e, T>,
    fold: &'x dyn Fold<T>,
    local: CellSlice<'x, u64>,
    slot: usize,
    epoch: u64,
    /// First value of this piece in each block of the program's buffers.
    first: usize,
    /// Values in a block of this piece.
    pitch: usize,
}

impl<'x, 'e, T: Pod> Executor<'x, 'e, T> {
    pub(crate) fn new(place: MemberContext<'x>, layout: &'x Layout, ends: &'x mut Ends<'e, T>, fold: &'x dyn Fold<T>) -> Self {
        let local = place.words.local(place.world);
        Self { place, layout, ends, fold, local, slot: 0, epoch: 0, first: 0, pitch: 0 }
    }

    /// Continues from `cursor`: to the end of the operation if `wait`, else as far as possible without waiting. Returns whether the operation has
    /// ended.
    pub(crate) fn advance(&mut self, cursor: &mut Cursor, wait: bool) -> Result<bool> {
        let (layout, pieces) = (self.layout, self.layout.pieces());
        while cursor.piece < pieces {
            let schedule = match &layout.rest {
                Some(rest) if cursor.piece + 1 == pieces => rest,
                _ => &layout.piece,
            };
            self.first = cursor.piece * layout.shape.count;
            self.pitch = layout.shape.count.min(layout.count - self.first);
            if !cursor.begun {
                (cursor.epoch, cursor.step, cursor.kept, cursor.begun) = (cursor.epoch + 1, 0, 0, true);
            }
            self.epoch = cursor.epoch;
            self.slot = (cursor.epoch % layout.slots as u64) as usize;
            if cursor.step == 0 && !self.has_credits(&mut cursor.credited, wait)? {
                return Ok(false);
            }
            while let Some(step) = schedule.steps.get(cursor.step) {
                if !self.make(step, &mut cursor.kept, wait)? {
                    return Ok(false);
                }
                cursor.step += 1;
            }
            let is_told = self.epoch.is_multiple_of(layout.told_every());
            for &to in layout.owes.iter().filter(|_| is_told) {
                let (world, rank) = (self.place.world, self.rank(to));
                let word = self.place.words.at(world, rank, layout.region.start + self.place.position as usize);
                if world.maps(rank) {
                    world.put(word, &[self.epoch])?;
                } else {
                    // Puts are not ordered: an earlier credit may arrive after a later one.
                    world.max(word, self.epoch)?;
                }
            }
            (cursor.piece, cursor.begun) = (cursor.piece + 1, false);
        }
        cursor.piece = 0;
        Ok(true)
    }

    /// Whether the credits of the awaited members permit this operation (E2).
    fn has_credits(&self, credited: &mut u64, wait: bool) -> Result<bool> {
        let ended = self.epoch.saturating_sub(self.layout.slots as u64);
        if *credited >= ended {
            return Ok(true);
        }
        let mut least = u64::MAX;
        for &member in &self.layout.awaits {
            let credit = self.layout.region.start + member as usize;
            if !self.is_told(credit, ended, member, wait)? {
                return Ok(false);
            }
            match self.local.load(credit) {
                BROKEN => return Err(FAILED_ELSEWHERE),
                told => least = least.min(told),
            }
        }
        *credited = least;
        Ok(true)
    }

    /// Whether the word at `index`, which the member `from` writes, has reached `number`.
    #[inline]
    fn is_told(&self, index: usize, number: u64, from: u32, wait: bool) -> Result<bool> {
        if self.local.load(index) >= number { Ok(true) } else { self.await_told(index, number, from, wait) }
    }

    /// Waits, if `wait`, until the word at `index` reaches `number` (E4, E5).
    fn await_told(&self, index: usize, number: u64, from: u32, wait: bool) -> Result<bool> {
        let MemberContext { world, team, .. } = self.place;
        let is_broken = || self.local.load(self.layout.region.start + from as usize) == BROKEN;
        loop {
            if world.losses() > 0
                && let Some(&rank) = world.lost().iter().find(|&&rank| team.position(rank).is_some())
            {
                return Err(Fault::PeerLost(rank).into());
            }
            if is_broken() {
                return Err(FAILED_ELSEWHERE);
            }
            if !wait {
                return Ok(false);
            }
            match world.wait_for_value("a collective operation", None, self.local, index, |told| told >= number || is_broken()) {
                Ok(told) if told < number => {}
                // The failure of a rank that is not a member does not matter.
                Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => {}
                ended => return ended.map(|_| true),
            }
        }
    }

    #[inline]
    fn make(&mut self, step: &Step, kept: &mut usize, wait: bool) -> Result<bool> {
        match step {
            Step::Send { to, from, message } => self.send(*to, from, *message, kept)?,
            Step::Receive { from, message, then } => {
                let line = self.line(message.line);
                if !self.is_told(line, self.epoch, *from, wait)? {
                    return Ok(false);
                }
                if message.length > 0 {
                    self.take(self.landed(message), then)?;
                }
            }
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::Combine { from, into, side } => self.combine(*from, *into, *side),
            Step::Expose { from, at } => {
                let room = self.values(self.layout.room_at(self.slot), at + values(from));
                let mut at = *at;
                for &span in from {
                    self.each(span, |slice| {
                        room.write(at, slice);
                        at += slice.len();
                    });
                }
            }
            Step::Fetch { from, at, then } => self.fetch(*from, *at, then)?,
        }
        Ok(true)
    }

    fn send(&mut self, to: u32, from: &[Span], message: ScheduledMessage, kept: &mut usize) -> Result<()> {
        let (world, rank) = (self.place.world, self.rank(to));
        let line = self.line(message.line);
        let (flag, rail) = (self.place.words.at(world, rank, line), self.rail(to));
        let on = |after: Handle<'_>| rail.map_or(world.after(&after), |rail| world.after(&after).on(rail));
        if message.length == 0 {
            return match rail {
                None => world.put(flag, &[self.epoch]).map(drop),
                Some(rail) => world.on(rail).put(flag, &[self.epoch]).map(drop),
            };
        }
        let target: GlobalPtr<T> = match beside::<T>() {
            Some(words) if fits_line::<T>(message.length) => self.place.words.at(world, rank, line + words).cast()?,
            _ => self.place.words.at(world, rank, self.layout.room_at(self.slot)).cast::<T>()?.add(message.at as u64),
        };
        if rail.is_none() && (self.place.mapped || world.maps(rank)) {
            let mut done = 0;
            for &span in from {
                self.try_each(span, |slice| {
                    world.put(target.add(done), slice)?;
                    done += slice.len() as u64;
                    Ok(())
                })?;
            }
            return world.put(flag, &[self.epoch]).map(drop);
        }
        let whole = whole_blocks(&self.layout.shape, self.layout.count);
        let handle = if is_kept(message.length * size_of::<T>(), from, self.layout.captured, whole) {
            // E3.
            let at = self.layout.piece.room + *kept;
            *kept += message.length;
            let room = self.layout.room_at(self.slot);
            self.gather(from, self.values(room, at + message.length).range(at..at + message.length));
            let own = self.place.words.at(world, world.rank(), room).cast::<T>()?.add(at as u64);
            on(Handle::done()).copy(own, target, message.length)?
        } else if let [span] = from
            && is_one_range(from, whole)
        {
            let range = self.ranges(*span).next().expect("there is a block");
            let values = &self.slice(span.buffer)[range];
            return on(Handle::done()).put_signal(target, values, flag, Signal::Put(self.epoch)).map(drop);
        } else {
            let mut done = 0;
            let mut chunk = core::mem::take(&mut self.ends.chunk);
            for &span in from {
                self.each(span, |slice| {
                    chunk[done..done + slice.len()].copy_from_slice(slice);
                    done += slice.len();
                });
            }
            let sent = on(Handle::done()).put_signal(target, &chunk[..done], flag, Signal::Put(self.epoch));
            core::mem::swap(&mut self.ends.chunk, &mut chunk);
            return sent.map(drop);
        };
        on(handle).put(flag, &[self.epoch]).map(drop)
    }

    /// Copies spans one after another.
    fn gather(&self, from: &[Span], into: CellSlice<'_, T>) {
        let mut done = 0;
        for &span in from {
            self.each(span, |slice| {
                into.write(done, slice);
                done += slice.len();
            });
        }
    }

    fn fetch(&mut self, from: u32, at: usize, then: &Then) -> Result<()> {
        let (world, mut done) = (self.place.world, 0);
        let source: GlobalPtr<T> =
            self.place.words.at(world, self.rank(from), self.layout.room_at(self.slot)).cast::<T>()?.add(at as u64);
        match then {
            Then::Nothing => {}
            Then::Store(spans) => {
                for &span in spans {
                    for range in self.ranges(span) {
                        let length = range.len() as u64;
                        world.get_into(source.add(done), &mut self.slice_mut(span.buffer)[range])?;
                        done += length;
                    }
                }
            }
            Then::Combine(span, side) => {
                self.combine_with(*span, *side, |done, with| world.get_into(source.add(done as u64), with).map(drop))?;
            }
        }
        Ok(())
    }

    /// Stores or combines received values as `then` says.
    fn take(&mut self, come: CellSlice<'x, T>, then: &Then) -> Result<()> {
        let mut done = 0;
        match then {
            Then::Nothing => {}
            Then::Store(spans) => {
                for &span in spans {
                    for range in self.ranges(span) {
                        let start = done;
                        done += range.len();
                        come.read(start, &mut self.slice_mut(span.buffer)[range]);
                    }
                }
            }
            Then::Combine(span, side) if size_of::<T>() * come.len() <= SINGLY_BYTES => {
                for place in self.ranges(*span).flatten() {
                    let with = [come.load(done)];
                    done += 1;
                    self.fold.fold(&mut self.slice_mut(span.buffer)[place..=place], &with, *side);
                }
            }
            Then::Combine(span, side) => {
                self.combine_with(*span, *side, |done, with| {
                    come.read(done, with);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Combines a span with values of other members, one chunk at a time; `read(n, with)` fills `with` with their values from the n-th on.
    fn combine_with(&mut self, span: Span, side: Side, mut read: impl FnMut(usize, &mut [T]) -> Result<()>) -> Result<()> {
        let mut chunk = core::mem::take(&mut self.ends.chunk);
        let mut done = 0;
        for range in self.ranges(span) {
            for start in range.clone().step_by(chunk.len().max(1)) {
                let some = start..range.end.min(start + chunk.len());
                let with = &mut chunk[..some.len()];
                read(done, with)?;
                done += some.len();
                self.fold.fold(&mut self.slice_mut(span.buffer)[some], with, side);
            }
        }
        core::mem::swap(&mut self.ends.chunk, &mut chunk);
        Ok(())
    }

    fn copy(&mut self, from: Span, to: Span) {
        for (from_range, to_range) in self.pairs(from, to) {
            match self.pair(from.buffer, to.buffer) {
                Pair::Apart(source, target) => target[to_range].copy_from_slice(&source[from_range]),
                Pair::Same(both) => both.copy_within(from_range, to_range.start),
            }
        }
    }

    fn combine(&mut self, from: Span, into: Span, side: Side) {
        let fold = self.fold;
        for (from_range, into_range) in self.pairs(from, into) {
            match self.pair(from.buffer, into.buffer) {
                Pair::Apart(with, target) => fold.fold(&mut target[into_range], &with[from_range], side),
                Pair::Same(both) => {
                    for (source, target) in from_range.zip(into_range) {
                        let with = [both[source]];
                        fold.fold(&mut both[target..=target], &with, side);
                    }
                }
            }
        }
    }

    fn rank(&self, position: u32) -> Rank {
        self.place.team.rank(position).expect("schedules name members")
    }

    /// Returns the rail for messages to a member; `None`: the best rail.
    #[inline]
    fn rail(&self, to: u32) -> Option<Rail> {
        let Layout { rails, shape, .. } = self.layout;
        rail_between(self.place.world, self.place.team, *rails, shape.per_host, [self.place.position, to])
    }

    /// First word of the line of a message.
    fn line(&self, line: u32) -> usize {
        self.layout.lines_at(self.slot) + line as usize * LINE
    }

    /// Values of a received message.
    fn landed(&self, message: &ScheduledMessage) -> CellSlice<'x, T> {
        match beside::<T>() {
            Some(words) if fits_line::<T>(message.length) => self.values(self.line(message.line) + words, message.length),
            _ => {
                let end = message.at + message.length;
                self.values(self.layout.room_at(self.slot), end).range(message.at..end)
            }
        }
    }

    /// Returns `length` values of this member's memory, from a word on.
    fn values(&self, word: usize, length: usize) -> CellSlice<'x, T> {
        let words = (length * size_of::<T>()).div_ceil(8);
        let cells = self.local.range(word..word + words).cells();
        cells.elements::<T>().expect("lines are aligned for every type").range(0..length)
    }

    /// Ranges of a span in its slice; adjacent blocks form one range.
    fn ranges(&self, span: Span) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (pitch, before) = self.pitch(span.buffer);
        let whole = span.stride == 1 && span.start == 0 && span.length == pitch;
        let span = if whole && span.blocks > 0 { Span { blocks: 1, length: span.values(), ..span } } else { span };
        span.ranges(pitch).map(move |range| range.start + before..range.end + before)
    }

    /// Pairs of ranges of two spans of the same form, block by block: blocks that are adjacent in one buffer need not be adjacent in the other.
    fn pairs(&self, from: Span, to: Span) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<T> {
        let [from, to] = [from, to].map(|span| {
            let (pitch, before) = self.pitch(span.buffer);
            span.ranges(pitch).map(move |range| range.start + before..range.end + before)
        });
        from.zip(to)
    }

    /// Distance between the starts of blocks, and the start of the first block.
    fn pitch(&self, buffer: Buffer) -> (usize, usize) {
        let (count, first) = (self.layout.count, self.first);
        match buffer {
            Buffer::Temporary => (self.pitch, 0),
            Buffer::Input if self.ends.input.is_some() => (count, first),
            Buffer::Input => (count, self.ends.shifts.0 * count + first),
            Buffer::Output => (count, self.ends.shifts.1 * count + first),
        }
    }

    fn each(&self, span: Span, mut act: impl FnMut(&[T])) {
        let slice = self.slice(span.buffer);
        self.ranges(span).for_each(|range| act(&slice[range]));
    }

    fn try_each(&self, span: Span, mut act: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
        let slice = self.slice(span.buffer);
        self.ranges(span).try_for_each(|range| act(&slice[range]))
    }

    fn slice(&self, buffer: Buffer) -> &[T] {
        match (buffer, self.ends.input) {
            (Buffer::Input, Some(input)) => input,
            (Buffer::Temporary, _) => self.ends.temporary,
            // The root of a broadcast.
            (Buffer::Output, Some(input)) if self.ends.output.is_empty() => input,
            _ => self.ends.output,
        }
    }

    fn slice_mut(&mut self, buffer: Buffer) -> &mut [T] {
        if buffer == Buffer::Temporary { self.ends.temporary } else { self.ends.output }
    }

    /// Memory to read and memory to write.
    fn pair(&mut self, from: Buffer, to: Buffer) -> Pair<'_, T> {
        let Ends { input, output, temporary, .. } = &mut *self.ends;
        match (from, to, *input) {
            (Buffer::Input, Buffer::Temporary, Some(input)) => Pair::Apart(input, temporary),
            (Buffer::Input, _, Some(input)) => Pair::Apart(input, output),
            (Buffer::Temporary, Buffer::Temporary, _) => Pair::Same(temporary),
            (Buffer::Temporary, ..) => Pair::Apart(temporary, output),
            (_, Buffer::Temporary, _) => Pair::Apart(output, temporary),
            _ => Pair::Same(output),
        }
    }
}

enum Pair<'p, T> {
    Apart(&'p [T], &'p mut [T]),
    Same(&'p mut [T]),
}

fn values(spans: &[Span]) -> usize {
    spans.iter().map(Span::values).sum()
}

#[cfg(test)]
mod layout;
