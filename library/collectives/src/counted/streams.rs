//! Streams of fragments between members: from each member to each other, bounded, in order.
//!
//! Memory of the streams, at the same place of every member, in words:
//!
//! | words | for |
//! |---|---|
//! | a line | whether a member has detected different counts, or its operator has panicked |
//! | one for each member | credits: how many fragments of this member that one has taken |
//! | for each member and slot, a line | the flag of a fragment; behind it the values, if they fit |
//! | for each member and slot, a room | where longer fragments land |
//! | the same again, unless all memory is mapped | data that is sent later |
//!
//! - **F1** The fragments of a stream are numbered from 1; number n uses the slot n mod s. Its flag holds the number, the operation, the length, and
//!   whether it is the last of its block. If counts differ, the flag differs from the one that the receiver expects.
//! - **F2** Fragment n is put only after the receiver's credit for fragment n − s: so no slot, and no data that waits in it to be sent, is
//!   overwritten before it is read. The receiver sends a credit after every ⌊s/2⌋ fragments.
//! - **F3** The flag is put after the data, ordered by the data's handle.

use pelago_base::Rank;
use pelago_rma::{CellSlice, Context, GlobalPtr, Handle, Pod, Result, Signal};

use super::schedule::Kind;
use crate::limits::STREAM_SLOTS;
use crate::pool::LINE;
use crate::words::Words;

/// Bits of a flag, from the lowest: bytes, operation, last, number.
const BYTES_BITS: u32 = 23;
const KIND_BITS: u32 = 4;
const NUMBER_SHIFT: u32 = BYTES_BITS + KIND_BITS + 1;

/// Maximum bytes of a fragment.
pub(crate) const FRAGMENT_BYTES_MAX: usize = 64 * 1024;

const _: () = assert!(FRAGMENT_BYTES_MAX < 1 << BYTES_BITS && STREAM_SLOTS >= 2);

/// The content of a flag besides the fragment's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) kind: Kind,
    pub(crate) bytes: usize,
    pub(crate) is_last: bool,
}

impl Fragment {
    fn bits(self) -> u64 {
        (u64::from(self.is_last) << KIND_BITS | self.kind as u64) << BYTES_BITS | self.bytes as u64
    }

    fn flag(self, number: u64) -> u64 {
        number << NUMBER_SHIFT | self.bits()
    }
}

/// Whether a flag announces the fragment with this number, compared in the bits that a flag holds.
fn is_number(flag: u64, number: u64) -> bool {
    flag >> NUMBER_SHIFT == number & (u64::MAX >> NUMBER_SHIFT)
}

/// The streams of a member.
pub(crate) struct Streams {
    words: Words,
    me: u32,
    size: u32,
    /// Words of a room.
    room: usize,
    /// Maximum bytes of a put that every network captures.
    captured: usize,
    /// Number of fragments put to each member, and taken from each.
    sent: Box<[u64]>,
    taken: Box<[u64]>,
    /// Why an operation of this member has failed.
    ended: Option<Broken>,
}

/// What keeps the streams from further operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A member has detected different counts.
    Different = 1,
    /// An operator has panicked.
    Panicked,
    /// An operation of this member has failed for another reason. Others are not told.
    Failed,
}

/// Returns the bytes of a fragment, and the words of all streams together.
pub(crate) fn layout(size: u32, plan_bytes: usize, is_mapped: bool) -> (usize, usize) {
    let slots = size as usize * STREAM_SLOTS;
    let rooms = if is_mapped { 1 } else { 2 };
    let bytes = (plan_bytes / (rooms * slots) / (LINE * 8) * (LINE * 8)).clamp(LINE * 8, FRAGMENT_BYTES_MAX);
    (bytes, LINE + credits(size) + slots * (LINE + rooms * bytes / 8))
}

fn credits(size: u32) -> usize {
    (size as usize).next_multiple_of(LINE)
}

impl Streams {
    /// Makes streams in memory whose flags are zero.
    pub(crate) fn new(words: Words, me: u32, size: u32, fragment_bytes: usize, captured: usize) -> Self {
        let [sent, taken] = [(); 2].map(|()| vec![0; size as usize].into_boxed_slice());
        Self { words, me, size, room: fragment_bytes / 8, captured, sent, taken, ended: None }
    }

    /// Clears the words that other members write and this member polls.
    pub(crate) fn clear(&self, context: &Context) {
        let local = self.words.local(context);
        (0..LINE + credits(self.size)).for_each(|word| local.store(word, 0));
        (0..self.size as usize * STREAM_SLOTS).for_each(|slot| local.store(LINE + credits(self.size) + slot * LINE, 0));
    }

    /// Number of values in a fragment.
    pub(crate) fn fragment<T>(&self) -> usize {
        self.room * 8 / size_of::<T>()
    }

    /// Why no further operation of this member can start or continue.
    pub(crate) const fn ended(&self) -> Option<Broken> {
        self.ended
    }

    /// Refuses all operations of this member from now on.
    pub(crate) const fn end(&mut self, broken: Broken) {
        self.ended = Some(broken);
    }

    /// What a member has told of.
    pub(crate) fn broken(&self, context: &Context) -> Option<Broken> {
        match self.words.local(context).load(0) {
            0 => None,
            told if told == Broken::Panicked as u64 => Some(Broken::Panicked),
            _ => Some(Broken::Different),
        }
    }

    /// Notifies all members.
    pub(crate) fn tell_broken(&self, context: &Context, broken: Broken, members: impl Iterator<Item = Rank>) -> Result<()> {
        for rank in members {
            // Whichever value remains, no further operation succeeds.
            context.put(self.words.at(context, rank, 0), &[broken as u64])?;
        }
        Ok(())
    }

    /// Puts a fragment if its slot is free; returns whether it was.
    pub(crate) fn send<T: Pod>(&mut self, context: &Context, to: (u32, Rank), values: &[T], fragment: Fragment) -> Result<bool> {
        let (to, rank) = to;
        let number = self.sent[to as usize] + 1;
        let slots = STREAM_SLOTS as u64;
        if number > slots && self.words.local(context).load(LINE + to as usize) < number - slots {
            return Ok(false);
        }
        let slot = (number % slots) as usize;
        let line = self.line(self.me, slot);
        let (flag, announced) = (self.words.at(context, rank, line), fragment.flag(number));
        if values.is_empty() {
            context.put(flag, &[announced])?;
        } else {
            let target = self.target::<T>(context, rank, (self.me, slot), values.len())?;
            if context.maps(rank) {
                context.put(target, values)?;
                context.put(flag, &[announced])?;
            } else {
                self.put(context, (to, slot), values, target, (flag, announced))?;
            }
        }
        self.sent[to as usize] = number;
        Ok(true)
    }

    /// Puts to a member whose memory is not mapped, with the flag after the data (F3). Data that the network does not capture waits in its slot (F2).
    fn put<T: Pod>(
        &self,
        context: &Context,
        (to, slot): (u32, usize),
        values: &[T],
        target: GlobalPtr<T>,
        (flag, announced): (GlobalPtr<u64>, u64),
    ) -> Result<()> {
        if size_of_val(values) <= self.captured {
            return context.put_signal(target, values, flag, Signal::Put(announced)).map(drop);
        }
        let room = self.rooms(1) + self.slot(to, slot) * self.room;
        self.values::<T>(context, room, values.len()).write(0, values);
        let own = self.words.at(context, context.rank(), room).cast::<T>()?;
        let sent = context.after(&Handle::done()).copy(own, target, values.len())?;
        context.after(&sent).put(flag, &[announced]).map(drop)
    }

    /// Returns the flag of the next fragment of a member without its number, once it has arrived: its length, operation and last.
    pub(crate) fn next(&self, context: &Context, from: u32) -> Option<u64> {
        let number = self.taken[from as usize] + 1;
        let slot = (number % STREAM_SLOTS as u64) as usize;
        let flag = self.words.local(context).load(self.line(from, slot));
        is_number(flag, number).then_some(flag & ((1 << NUMBER_SHIFT) - 1))
    }

    /// Whether a flag, without its number, is that of this fragment.
    pub(crate) fn is(said: u64, fragment: Fragment) -> bool {
        said == fragment.bits()
    }

    /// The values of the next fragment of a member.
    pub(crate) fn landed<'c, T: Pod>(&self, context: &'c Context, from: u32, length: usize) -> CellSlice<'c, T> {
        let number = self.taken[from as usize] + 1;
        let slot = (number % STREAM_SLOTS as u64) as usize;
        let word = if fits_line::<T>(length) { self.line(from, slot) + beside::<T>() } else { self.room_at(from, slot) };
        self.values(context, word, length)
    }

    /// Marks the next fragment of a member as taken; sends that member a credit after every half of the slots.
    pub(crate) fn take(&mut self, context: &Context, (from, rank): (u32, Rank)) -> Result<()> {
        let number = self.taken[from as usize] + 1;
        self.taken[from as usize] = number;
        if number.is_multiple_of(STREAM_SLOTS as u64 / 2) {
            let credit = self.words.at(context, rank, LINE + self.me as usize);
            if context.maps(rank) {
                context.put(credit, &[number])?;
            } else {
                // Puts are not ordered: an earlier credit may arrive after a later one.
                context.max(credit, number)?;
            }
        }
        Ok(())
    }

    fn slot(&self, member: u32, slot: usize) -> usize {
        member as usize * STREAM_SLOTS + slot
    }

    fn line(&self, member: u32, slot: usize) -> usize {
        LINE + credits(self.size) + self.slot(member, slot) * LINE
    }

    /// First word of the rooms: number 0 are those in which fragments land, number 1 those in which they wait.
    fn rooms(&self, number: usize) -> usize {
        let slots = self.size as usize * STREAM_SLOTS;
        LINE + credits(self.size) + slots * (LINE + number * self.room)
    }

    fn room_at(&self, member: u32, slot: usize) -> usize {
        self.rooms(0) + self.slot(member, slot) * self.room
    }

    /// Place of a fragment of this member at a rank.
    fn target<T: Pod>(&self, context: &Context, rank: Rank, (me, slot): (u32, usize), length: usize) -> Result<GlobalPtr<T>> {
        let word = if fits_line::<T>(length) { self.line(me, slot) + beside::<T>() } else { self.room_at(me, slot) };
        Ok(self.words.at(context, rank, word).cast()?)
    }

    fn values<'c, T: Pod>(&self, context: &'c Context, word: usize, length: usize) -> CellSlice<'c, T> {
        let words = (length * size_of::<T>()).div_ceil(8);
        let cells = self.words.local(context).range(word..word + words).cells();
        cells.elements::<T>().expect("lines are aligned for every type").range(0..length)
    }
}

/// The word of a line at which values begin, behind its flag.
fn beside<T>() -> usize {
    align_of::<T>().div_ceil(8)
}

fn fits_line<T>(length: usize) -> bool {
    align_of::<T>().max(8) + length * size_of::<T>() <= LINE * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_says_what_its_fragment_is() {
        let fragment = Fragment { kind: Kind::Scatter, bytes: FRAGMENT_BYTES_MAX, is_last: true };
        let flag = fragment.flag(77);
        assert!(is_number(flag, 77) && !is_number(flag, 77 - STREAM_SLOTS as u64) && !is_number(0, 1));
        assert!(is_number(fragment.flag((1 << 36) + 5), (1 << 36) + 5), "numbers go on past what a flag holds");
        let said = flag & ((1 << NUMBER_SHIFT) - 1);
        assert!(Streams::is(said, fragment));
        for other in [
            Fragment { kind: Kind::Gather, ..fragment },
            Fragment { bytes: fragment.bytes - 1, ..fragment },
            Fragment { is_last: false, ..fragment },
        ] {
            assert!(!Streams::is(said, other), "{other:?}");
        }
    }

    #[test]
    fn memory_is_bounded_by_the_plan_except_for_lines() {
        for size in [1, 2, 9, 1024] {
            for mapped in [false, true] {
                let (bytes, words) = layout(size, 4 << 20, mapped);
                let slots = size as usize * STREAM_SLOTS;
                assert!(bytes.is_multiple_of(64) && (64..=FRAGMENT_BYTES_MAX).contains(&bytes));
                assert!(words * 8 <= (4 << 20) + (slots + 1) * 64 + size as usize * 8 + 64, "{size}: {words} words");
            }
        }
    }
}
