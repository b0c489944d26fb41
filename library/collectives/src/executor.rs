//! Executes the steps of schedules, by puts with flags behind the data.
//!
//! Memory of a plan, at the same place of every member, in words:
//!
//! | words | for |
//! |---|---|
//! | one for each member | credits: an operation that it has said to have ended |
//! | for each slot, a line for each message | the number of the operation that the message belongs to; beside it, what fits |
//! | for each slot, the room | where longer messages land, and what others read; then what waits to be sent |
//!
//! - **E1** Operations are numbered from 1; number e uses the slot e mod s. A flag holds a number, so that it needs no reset.
//! - **E2** Nothing of operation e is put to a member, or exposed to it, before that one has ended e − s: either it has said so, or it has told
//!   this one something in operation e − 1, and s ≥ 2 (see [`Schedule::owes`]). So what is read is never overwritten, and a member may be s
//!   operations ahead of a slow one, and no further. It says so after every ⌊s/2⌋ operations: a member may be ⌈s/2⌉ ahead at any time, and whoever
//!   waits for operation e − s waits for one that comes before e, as ⌊s/2⌋ ≤ s.
//! - **E3** What a network is to send later (not captured by the transport) lies in the slot, which E2 keeps as it is until the receiver has it.
//! - **E4** A member that waits checks first whether a member is lost, as a wait ends with the losses that happen during it only. Whoever waits
//!   for a living member learns of the loss as well: that one may wait for the lost one.

use core::ops::Range;

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{Rank, Team};
use pelago_rma::{CellSlice, Context, Error, Fault, GlobalPtr, Handle, Pod, Rail, Result, Signal};

use crate::choice::Rails;
use crate::operator::Fold;
use crate::pool::{LINE, Region};
use crate::schedule::{Buffer, Schedule, ScheduledMessage, Shape, Side, Span, Step, Then};
use crate::words::Words;

/// Bytes that are combined at a time out of memory that others write: they stay in the nearest cache.
const CHUNK_BYTES: usize = 16 * 1024;

/// As many bytes are combined value by value.
const SINGLY_BYTES: usize = 64;

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = LINE * 8;

/// The memory and the steps of a plan, which do not change.
pub(crate) struct Layout {
    /// Of a piece.
    pub(crate) shape: Shape,
    /// Values in a block of the program's.
    pub(crate) count: usize,
    pub(crate) value_bytes: usize,
    pub(crate) slots: usize,
    /// The member's steps for a piece, and for the last one, which may be shorter.
    pub(crate) piece: Schedule,
    pub(crate) rest: Option<Schedule>,
    /// Members that this one awaits, and that it owes.
    pub(crate) awaits: Vec<u32>,
    pub(crate) owes: Vec<u32>,
    /// Bytes of one span that transports capture.
    pub(crate) captured: usize,
    /// Values of a slot in which to keep what is sent later.
    pub(crate) kept: usize,
    pub(crate) region: Region,
    pub(crate) rails: Rails,
}

/// The progress of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Operations, pieces counted singly, that have begun.
    pub(crate) epoch: u64,
    pub(crate) piece: usize,
    pub(crate) step: usize,
    /// Values kept in this slot so far.
    kept: usize,
    /// An operation that all awaited members have said to have ended.
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

    /// The loss of a member.
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
    /// `None` if the program brings values where it gets them.
    pub(crate) input: Option<&'e [T]>,
    pub(crate) output: &'e mut [T],
    /// Blocks by which an input, and an output, is further back in memory that is both.
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
        longest(&self.piece).min((CHUNK_BYTES / self.value_bytes).max(1))
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

    /// The words that others write and this member looks at; they begin as zero. Of a large team these are few of the words that there are,
    /// and the pages of the others are never touched.
    pub(crate) fn flags(&self) -> impl Iterator<Item = usize> {
        let credits = self.awaits.iter().map(|&member| self.region.start + member as usize);
        let heard = self.piece.steps.iter().filter_map(|step| match step {
            Step::Receive { message, .. } => Some(message.line as usize),
            _ => None,
        });
        let lines = heard.flat_map(move |line| (0..self.slots).map(move |slot| self.lines_at(slot) + line * LINE));
        credits.chain(lines)
    }

    /// After how many operations members say that they have ended the last (E2).
    fn told_every(&self) -> u64 {
        (self.slots as u64 / 2).max(1)
    }
}

/// Whether a message of so many bytes waits in a slot for the network (E3). Others are captured: by `put`, or, as far as they are not sent at once, by
/// transports that take up to `captured` bytes from where they are, which is one range.
#[inline]
fn is_kept(bytes: usize, from: &[Span], captured: usize, whole: Option<usize>) -> bool {
    bytes > if is_one_range(from, whole) { captured.max(INJECT_SIZE) } else { INJECT_SIZE }
}

/// Whether spans are one range of memory: part of one block, or adjacent blocks, which are that if a piece is a `whole` block.
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

/// Values that a member keeps in a slot to send them later; `whole` is that of [`whole_blocks`].
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
    sent.sum()
}

/// By which rail a member's messages go to another, if one is named for such that leads there. Mapped memory is no rail to name.
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

/// Whether so many values fit a line behind its flag.
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
    /// The first value of this piece in each block of the program's.
    first: usize,
    /// Values in a block of this piece.
    pitch: usize,
}

impl<'x, 'e, T: Pod> Executor<'x, 'e, T> {
    pub(crate) fn new(place: MemberContext<'x>, layout: &'x Layout, ends: &'x mut Ends<'e, T>, fold: &'x dyn Fold<T>) -> Self {
        let local = place.words.local(place.world);
        Self { place, layout, ends, fold, local, slot: 0, epoch: 0, first: 0, pitch: 0 }
    }

    /// Goes on from `cursor`, to the end of the operation if `wait`, else as far as it goes at once; returns whether that is the end.
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
                    // Nothing orders it after the one before, which may come late.
                    world.max(word, self.epoch)?;
                }
            }
            (cursor.piece, cursor.begun) = (cursor.piece + 1, false);
        }
        cursor.piece = 0;
        Ok(true)
    }

    /// E2, where members say so.
    fn has_credits(&self, credited: &mut u64, wait: bool) -> Result<bool> {
        let ended = self.epoch.saturating_sub(self.layout.slots as u64);
        if *credited >= ended {
            return Ok(true);
        }
        let mut least = u64::MAX;
        for &member in &self.layout.awaits {
            let credit = self.layout.region.start + member as usize;
            if !self.is_told(credit, ended, wait)? {
                return Ok(false);
            }
            least = least.min(self.local.load(credit));
        }
        *credited = least;
        Ok(true)
    }

    /// Whether the word at `index` has come to `number`.
    #[inline]
    fn is_told(&self, index: usize, number: u64, wait: bool) -> Result<bool> {
        if self.local.load(index) >= number { Ok(true) } else { self.await_told(index, number, wait) }
    }

    /// E4.
    fn await_told(&self, index: usize, number: u64, wait: bool) -> Result<bool> {
        let MemberContext { world, team, .. } = self.place;
        loop {
            if world.losses() > 0
                && let Some(&rank) = world.lost().iter().find(|&&rank| team.position(rank).is_some())
            {
                return Err(Fault::PeerLost(rank).into());
            }
            if !wait {
                return Ok(false);
            }
            match world.wait_until(self.local, index, |told| told >= number) {
                // The loss of a rank that is no member does not matter.
                Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => {}
                ended => return ended.map(|_| true),
            }
        }
    }

    #[inline]
    fn make(&mut self, step: &Step, kept: &mut usize, wait: bool) -> Result<bool> {
        match step {
            Step::Send { to, from, message } => self.send(*to, from, *message, kept)?,
            Step::Receive { message, then, .. } => {
                let line = self.line(message.line);
                if !self.is_told(line, self.epoch, wait)? {
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

    /// Does with values that have come what is to be done with them.
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

    /// Combines a span with values of others, a chunk at a time; `read` brings those from so many on.
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

    /// By which rail messages go to a member, if not as is best.
    #[inline]
    fn rail(&self, to: u32) -> Option<Rail> {
        let Layout { rails, shape, .. } = self.layout;
        rail_between(self.place.world, self.place.team, *rails, shape.per_host, [self.place.position, to])
    }

    /// Where the line of a message begins.
    fn line(&self, line: u32) -> usize {
        self.layout.lines_at(self.slot) + line as usize * LINE
    }

    /// The values of a message that has come.
    fn landed(&self, message: &ScheduledMessage) -> CellSlice<'x, T> {
        match beside::<T>() {
            Some(words) if fits_line::<T>(message.length) => self.values(self.line(message.line) + words, message.length),
            _ => {
                let end = message.at + message.length;
                self.values(self.layout.room_at(self.slot), end).range(message.at..end)
            }
        }
    }

    /// So many values of this member's memory, from a word on.
    fn values(&self, word: usize, length: usize) -> CellSlice<'x, T> {
        let words = (length * size_of::<T>()).div_ceil(8);
        let cells = self.local.range(word..word + words).cells();
        cells.elements::<T>().expect("lines are aligned for every type").range(0..length)
    }

    /// Where the ranges of a span lie in their slice; adjacent blocks as one.
    fn ranges(&self, span: Span) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (pitch, before) = self.pitch(span.buffer);
        let whole = span.stride == 1 && span.start == 0 && span.length == pitch;
        let span = if whole && span.blocks > 0 { Span { blocks: 1, length: span.values(), ..span } } else { span };
        span.ranges(pitch).map(move |range| range.start + before..range.end + before)
    }

    /// Those of two spans of one form, each block by itself: what is adjacent in one buffer need not be in the other.
    fn pairs(&self, from: Span, to: Span) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<T> {
        let [from, to] = [from, to].map(|span| {
            let (pitch, before) = self.pitch(span.buffer);
            span.ranges(pitch).map(move |range| range.start + before..range.end + before)
        });
        from.zip(to)
    }

    /// How far apart blocks begin, and where the first one does.
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
