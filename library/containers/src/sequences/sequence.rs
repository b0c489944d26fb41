//! A growing sequence of bytes on one rank: the base of vector and deque.
//!
//! Control words describe a block of the heap. Their layout is that of the C library ACP, whose programs read them; the mark, which programs do not
//! use, is the word before:
//!
//! | | word −1 | 0 | 1 | 2 | 3 |
//! |---|---|---|---|---|---|
//! | vector | mark | address of the block | bytes of the content | bytes of the block | |
//! | deque | mark | address of the block | offset of the first byte | bytes of the content | bytes of the block |
//!
//! The address is null while there is no block. The content of a deque wraps around at the end of the block; that of a vector starts at the beginning
//! of the block and never wraps.
//!
//! Opening or closing a gap moves bytes within their rank by copies, which the transport executes there: in pieces as long as memory allows, each
//! ordered after the previous one without a wait in between.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Chain, Error, GlobalPtr, Handle, Result, World};

use crate::GlobalHeap;
use crate::memory::{ByteSource, bytes_at, words_before};

/// Number of words of a deque: the mark and the control words. A vector has one less.
const WORDS: usize = 5;

/// The mark of the control words of sequences; the form is added.
const MARK: u64 = 0x7065_6c61_676f_0200;

/// Maximum number of bytes per step when elements move within overlapping ranges.
const MOVED_BYTES_MAX: u64 = 1 << 20;

/// Minimum distance in bytes of a move between overlapping ranges that proceeds in steps of its distance. Moves by less use a temporary block.
const STEP_BYTES_MIN: u64 = 1 << 14;

/// Whether a sequence has one end or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It grows at its end; its bytes are contiguous.
    Vector,
    /// It grows at both ends; its bytes lie in up to two contiguous pieces.
    Deque,
}

/// An end of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// The position at which bytes are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertAt {
    /// Before the first byte.
    Front,
    /// After the last byte.
    Back,
    /// Before the byte with this number.
    At(u64),
}

/// A growing sequence of bytes on one rank. All ranks may read it; one rank at a time may change it, and no rank may read it meanwhile.
///
/// Any rank can open it by its [`address`](Self::address). It exists until it is destroyed.
#[derive(Clone, Copy)]
pub struct Sequence<'h, 'w> {
    heap: &'h GlobalHeap<'w>,
    /// Its mark, which the control words follow.
    mark: GlobalPtr<u64>,
    form: Form,
}

/// The content of the control words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Control {
    block: u64,
    capacity: u64,
    start: u64,
    bytes: u64,
}

impl Control {
    const EMPTY: Self = Self { block: 0, capacity: 0, start: 0, bytes: 0 };

    /// The pieces of a range of the content: the address and length of each.
    fn pieces(&self, index: u64, bytes: u64) -> [(u64, u64); 2] {
        if bytes == 0 {
            return [(0, 0); 2];
        }
        let place = (self.start + index) % self.capacity;
        let first = bytes.min(self.capacity - place);
        [(self.block + place, first), (self.block, bytes - first)]
    }

    /// Begins to copy bytes of this content to another, each piece ordered after the operations of the chain.
    fn copy<'c>(&self, index: u64, to: &Self, at: u64, bytes: u64, mut chain: Chain<'c>) -> Result<Chain<'c>> {
        let mut done = 0;
        while done < bytes {
            let (from, some) = self.pieces(index + done, bytes - done)[0];
            let (into, room) = to.pieces(at + done, some)[0];
            let (from, into) = (bytes_at(from)?, bytes_at(into)?);
            chain = chain.then(|next| next.copy(from, into, room as usize))?;
            done += room;
        }
        Ok(chain)
    }
}

impl<'h, 'w> Sequence<'h, 'w> {
    /// Creates an empty sequence on `rank`, with a capacity of `capacity` bytes.
    ///
    /// Cost: two allocations.
    ///
    /// # Errors
    /// As [`GlobalHeap::allocate`].
    pub fn create(heap: &'h GlobalHeap<'w>, form: Form, rank: Rank, capacity: u64) -> Result<Self> {
        let at = heap.allocate(rank, 8 * WORDS as u64)?;
        let sequence = Self { heap, mark: GlobalPtr::from_address(at)?, form };
        let made = sequence.block(rank, capacity).and_then(|control| sequence.write(&control));
        match made {
            Ok(()) => Ok(sequence),
            Err(error) => {
                heap.free(at)?;
                Err(error)
            }
        }
    }

    /// Opens the sequence of this form at an address.
    ///
    /// # Errors
    /// The address is null. Operations return an error if the address is not that of a sequence.
    pub fn open(heap: &'h GlobalHeap<'w>, form: Form, at: GlobalAddress) -> Result<Self> {
        Ok(Self { heap, mark: words_before(at)?, form })
    }

    /// The address of its control words, for other ranks.
    pub fn address(&self) -> GlobalAddress {
        self.mark.add(1).address()
    }

    /// Frees its memory.
    ///
    /// # Errors
    /// It is not a sequence of this form; its rank was lost, or the job is at fault. The same holds for all following methods.
    pub fn destroy(self) -> Result<()> {
        let control = self.control()?;
        self.world().put(self.mark, &[0])?.wait()?;
        self.give_back(&control)?;
        self.heap.free(self.mark.address())
    }

    /// The number of bytes. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.control()?.bytes)
    }

    /// The capacity in bytes. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn capacity(&self) -> Result<u64> {
        Ok(self.control()?.capacity)
    }

    /// The pieces of a range of bytes: the address and length of each. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); the range reaches past the end.
    pub fn pieces(&self, index: u64, bytes: u64) -> Result<[(GlobalAddress, u64); 2]> {
        let control = self.control()?;
        check_range(&control, index, bytes)?;
        Ok(control.pieces(index, bytes).map(|(address, bytes)| (GlobalAddress::from_bits(address), bytes)))
    }

    /// Reads bytes from an index on.
    ///
    /// Cost: two round trips, three if they lie in two pieces.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces).
    pub fn read(&self, index: u64, into: &mut [u8]) -> Result<()> {
        self.read_pieces(self.pieces(index, into.len() as u64)?, into)
    }

    /// Reads the bytes of [`pieces`](Self::pieces), whose total length is that of `into`. Cost: one round trip for each piece.
    pub(super) fn read_pieces(&self, pieces: [(GlobalAddress, u64); 2], into: &mut [u8]) -> Result<()> {
        let mut rest = into;
        for (address, bytes) in pieces {
            let (some, others) = rest.split_at_mut(bytes as usize);
            if bytes > 0 {
                self.world().get_into(bytes_at(address.bits())?, some)?;
            }
            rest = others;
        }
        Ok(())
    }

    /// Overwrites bytes from an index on.
    ///
    /// Cost: two round trips.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces); the source cannot be read, and some of the bytes may be overwritten.
    pub fn overwrite(&self, index: u64, from: ByteSource<'_>) -> Result<()> {
        let control = self.control()?;
        check_range(&control, index, from.bytes())?;
        self.fill(&control, index, &[from])
    }

    /// Inserts the bytes of all sources, one after another; returns the index of the first inserted byte.
    ///
    /// Cost: at an end, if the capacity suffices: two round trips, three for several sources or pieces. Elsewhere the bytes on one side of the position also
    /// move within their rank. If the capacity does not suffice, an allocation, and all bytes move.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); the position is past the end; no memory is left on the rank; a source cannot be read, and the sequence stays as
    /// it was.
    pub fn insert(&self, place: InsertAt, sources: &[ByteSource<'_>]) -> Result<u64> {
        let mut control = self.control()?;
        let added: u64 = sources.iter().map(ByteSource::bytes).sum();
        let index = match place {
            InsertAt::Front => 0,
            InsertAt::Back => control.bytes,
            InsertAt::At(index) => index,
        };
        check_range(&control, index, 0)?;
        let total = control.bytes.checked_add(added).ok_or(Error::Invalid("the sequence would be too long"))?;
        if total <= control.capacity && sources.iter().any(|source| is_inside(&control, source)) {
            return self.insert_own(place, sources, added);
        }
        if total > control.capacity {
            let old = control;
            let rank = self.rank();
            control = Control { bytes: total, ..self.block(rank, total.max(2 * old.capacity))? };
            // The sources may lie in the old block, which is freed afterwards.
            let chain = old.copy(0, &control, 0, index, self.world().chain())?;
            old.copy(index, &control, index + added, old.bytes - index, chain)?.wait()?;
            self.fill_and_write(&control, index, sources, || self.give_back(&control))?;
            self.give_back(&old)?;
            return Ok(index);
        }
        let old = control.bytes;
        control.bytes = total;
        let [from, to, moved] = if self.form == Form::Deque && index < old - index {
            control.start = (control.start + control.capacity - added) % control.capacity;
            [added, 0, index]
        } else {
            [index, index + added, old - index]
        };
        self.shift(&control, from, to, moved)?;
        self.fill_and_write(&control, index, sources, || self.shift(&control, to, from, moved))?;
        Ok(index)
    }

    /// Removes bytes.
    ///
    /// Cost: at an end, two round trips. Elsewhere the bytes on one side of them also move within their rank.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces).
    pub fn erase(&self, index: u64, bytes: u64) -> Result<()> {
        let mut control = self.control()?;
        check_range(&control, index, bytes)?;
        let after = control.bytes - index - bytes;
        if self.form == Form::Deque && index < after {
            self.shift(&control, 0, bytes, index)?;
            control.start = (control.start + bytes) % control.capacity;
        } else {
            self.shift(&control, index + bytes, index, after)?;
        }
        control.bytes -= bytes;
        self.write(&control)
    }

    /// Removes bytes at an end and copies them to `into`. Returns `false`, and removes nothing, if there are fewer. Only a deque supports the front.
    ///
    /// Cost: two round trips.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub(super) fn take(&self, end: End, into: &mut [u8]) -> Result<bool> {
        let (mut control, bytes) = (self.control()?, into.len() as u64);
        if bytes > control.bytes {
            return Ok(false);
        }
        debug_assert!(end == End::Back || self.form == Form::Deque, "the bytes of a vector begin where its block does");
        let index = match end {
            End::Front => 0,
            End::Back => control.bytes - bytes,
        };
        let pieces = control.pieces(index, bytes).map(|(address, bytes)| (GlobalAddress::from_bits(address), bytes));
        if end == End::Front && bytes > 0 {
            control.start = (control.start + bytes) % control.capacity;
        }
        control.bytes -= bytes;
        // No other rank reads or changes the sequence meanwhile, so the reads and the write may be concurrent.
        let (mut rest, mut reads) = (into, Vec::new());
        let written = self.world().batch(|| {
            for (address, bytes) in pieces {
                let (some, others) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                if bytes > 0 {
                    reads.push((self.world().start_get(bytes_at(address.bits())?, some.len())?, some));
                }
                rest = others;
            }
            self.begin_write(&control, Handle::done())
        })?;
        // Waits for each read, also if another has failed: otherwise `quiet` would report the failure.
        let read = reads.into_iter().map(|(read, some)| read.wait_into(some)).fold(Ok(()), Result::and);
        written.wait().and(read).map(|()| true)
    }

    /// Removes the last `bytes` bytes, or all if there are fewer; returns their number.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn pop_back(&self, bytes: u64) -> Result<u64> {
        let mut control = self.control()?;
        let bytes = bytes.min(control.bytes);
        control.bytes -= bytes;
        self.write(&control)?;
        Ok(bytes)
    }

    /// Removes the first `bytes` bytes, or all if there are fewer; returns their number.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn pop_front(&self, bytes: u64) -> Result<u64> {
        let bytes = bytes.min(self.bytes()?);
        self.erase(0, bytes)?;
        Ok(bytes)
    }

    /// Removes all bytes; the capacity stays.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn clear(&self) -> Result<()> {
        self.write(&Control { start: 0, bytes: 0, ..self.control()? })
    }

    /// Increases the capacity to at least `capacity` bytes in total.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); no memory is left on the rank.
    pub fn reserve(&self, capacity: u64) -> Result<()> {
        let old = self.control()?;
        if capacity <= old.capacity {
            return Ok(());
        }
        let new = Control { bytes: old.bytes, ..self.block(self.rank(), capacity)? };
        old.copy(0, &new, 0, old.bytes, self.world().chain())?.wait()?;
        self.write(&new)?;
        self.give_back(&old)
    }

    /// Replaces the content; the sources may be part of it.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); but if a source cannot be read, a part of the content may be overwritten.
    pub fn assign(&self, sources: &[ByteSource<'_>]) -> Result<()> {
        let old = self.control()?;
        let bytes = sources.iter().map(ByteSource::bytes).sum();
        let fits = bytes <= old.capacity && !sources.iter().any(|source| is_inside(&old, source));
        let new = if fits { Control { start: 0, ..old } } else { self.block(self.rank(), bytes)? };
        let new = Control { bytes, ..new };
        if let Err(error) = self.fill(&new, 0, sources) {
            if !fits {
                let _first_error_is_told = self.give_back(&new);
            }
            return Err(error);
        }
        self.write(&new)?;
        if fits { Ok(()) } else { self.give_back(&old) }
    }

    /// Exchanges the contents of two sequences. No byte moves.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn swap(&self, other: &Self) -> Result<()> {
        let (one, two) = (self.control()?, other.control()?);
        self.write(&two)?;
        other.write(&one)
    }

    /// Inserts sources that are part of the sequence itself, by way of a temporary block.
    fn insert_own(&self, place: InsertAt, sources: &[ByteSource<'_>], added: u64) -> Result<u64> {
        let copy = Control { bytes: added, ..self.block(self.rank(), added)? };
        let own = [ByteSource::Global(GlobalAddress::from_bits(copy.block), added)];
        let inserted = self.fill(&copy, 0, sources).and_then(|()| self.insert(place, &own));
        self.give_back(&copy)?;
        inserted
    }

    /// Moves bytes of the content to another index; the bytes there are overwritten.
    fn shift(&self, control: &Control, from: u64, to: u64, bytes: u64) -> Result<()> {
        let distance = from.abs_diff(to);
        if bytes == 0 || distance == 0 {
            return Ok(());
        }
        let aside = if bytes <= distance || distance >= STEP_BYTES_MIN {
            None
        } else {
            self.block(
                self.heap.world().reach().addresses().rank(GlobalAddress::from_bits(control.block)),
                bytes.min(MOVED_BYTES_MAX),
            )
            .ok()
        };
        let step = aside.map_or(distance, |aside| aside.capacity).min(bytes);
        let mut chain = self.world().chain();
        let mut done = 0;
        while done < bytes {
            let some = step.min(bytes - done);
            // A move towards the end starts with the last bytes.
            let first = if to > from { bytes - done - some } else { done };
            chain = match &aside {
                None => control.copy(from + first, control, to + first, some, chain)?,
                Some(aside) => {
                    let chain = control.copy(from + first, aside, 0, some, chain)?;
                    aside.copy(0, control, to + first, some, chain)?
                }
            };
            done += some;
        }
        chain.wait()?;
        aside.map_or(Ok(()), |aside| self.give_back(&aside))
    }

    /// Writes the bytes of all sources to the content, from an index on.
    fn fill(&self, control: &Control, index: u64, sources: &[ByteSource<'_>]) -> Result<()> {
        self.world().wait_all(&self.begin_fill(control, index, sources)?)
    }

    /// Begins to write the bytes of all sources to the content, from an index on.
    fn begin_fill(&self, control: &Control, index: u64, sources: &[ByteSource<'_>]) -> Result<Vec<Handle<'w>>> {
        let (mut at, mut writes) = (index, Vec::new());
        for source in sources {
            let mut start = 0;
            for (address, bytes) in control.pieces(at, source.bytes()) {
                if bytes > 0 {
                    match source.write(self.world(), start, bytes, address) {
                        Ok(write) => writes.push(write),
                        Err(error) => {
                            // The caller may use the place of these bytes for others.
                            let _first_error_is_told = self.world().wait_all(&writes);
                            return Err(error);
                        }
                    }
                }
                start += bytes;
            }
            at += start;
        }
        Ok(writes)
    }

    /// Writes the bytes of all sources, and then the control words. Cost: one round trip for one source of this rank in one piece, else two.
    ///
    /// If a source cannot be read, calls `undo` instead of writing the control words, so that the content stays as it was.
    fn fill_and_write(
        &self,
        control: &Control,
        index: u64,
        sources: &[ByteSource<'_>],
        undo: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let fill = || self.begin_fill(control, index, sources);
        let begun = self.world().pair(fill, |writes| match writes[..] {
            [write] => Ok((write, self.begin_write(control, write)?)),
            _ => {
                self.world().wait_all(&writes)?;
                Ok((Handle::done(), self.begin_write(control, Handle::done())?))
            }
        });
        let filled = begun.and_then(|(filled, written)| match filled.wait() {
            Ok(()) => Ok(written),
            // Not written, because it is ordered after what has failed; otherwise `quiet` would report that.
            Err(error) => written.wait().and(Err(error)),
        });
        match filled {
            Ok(written) => written.wait(),
            Err(error) => {
                let _first_error_is_told = undo();
                Err(error)
            }
        }
    }

    /// Allocates a block of `capacity` bytes; none if `capacity` is 0.
    fn block(&self, rank: Rank, capacity: u64) -> Result<Control> {
        if capacity == 0 {
            return Ok(Control::EMPTY);
        }
        Ok(Control { block: self.heap.allocate(rank, capacity)?.bits(), capacity, ..Control::EMPTY })
    }

    fn give_back(&self, control: &Control) -> Result<()> {
        if control.capacity == 0 { Ok(()) } else { self.heap.free(GlobalAddress::from_bits(control.block)) }
    }

    fn control(&self) -> Result<Control> {
        let mut words = [0; WORDS];
        let used = self.words();
        self.world().get_into(self.mark, &mut words[..used])?;
        let [mark, block, start, bytes, capacity] = match self.form {
            Form::Vector => [words[0], words[1], 0, words[2], words[3]],
            Form::Deque => words,
        };
        let is_sane = bytes <= capacity && (start < capacity || start == 0);
        if mark != self.mark() || !is_sane {
            return Err(Error::Invalid(match self.form {
                Form::Vector => "there is no vector at this address",
                Form::Deque => "there is no deque at this address",
            }));
        }
        Ok(Control { block, capacity, start, bytes })
    }

    fn write(&self, control: &Control) -> Result<()> {
        self.begin_write(control, Handle::done())?.wait()
    }

    /// Writes the control words after another operation.
    fn begin_write(&self, control: &Control, after: Handle<'w>) -> Result<Handle<'w>> {
        let Control { block, capacity, start, bytes } = *control;
        let words = match self.form {
            Form::Vector => [self.mark(), block, bytes, capacity, 0],
            Form::Deque => [self.mark(), block, start, bytes, capacity],
        };
        self.world().after(&after).put(self.mark, &words[..self.words()])
    }

    /// Number of words of this form: the mark and the control words.
    fn words(&self) -> usize {
        match self.form {
            Form::Vector => WORDS - 1,
            Form::Deque => WORDS,
        }
    }

    fn mark(&self) -> u64 {
        MARK + self.form as u64
    }

    fn rank(&self) -> Rank {
        self.world().reach().addresses().rank(self.address())
    }

    fn world(&self) -> &'w World {
        self.heap.world()
    }
}

fn check_range(control: &Control, index: u64, bytes: u64) -> Result<()> {
    let fits = index <= control.bytes && bytes <= control.bytes - index;
    if fits { Ok(()) } else { Err(Error::Invalid("the position is past the end of the sequence")) }
}

/// Whether a source lies in the block of a sequence.
fn is_inside(control: &Control, source: &ByteSource<'_>) -> bool {
    match *source {
        ByteSource::Bytes(_) => false,
        ByteSource::Global(from, bytes) => from.bits() < control.block + control.capacity && control.block < from.bits() + bytes,
    }
}
