//! A growing sequence of bytes on one rank: the base of vector and deque.
//!
//! Control words lead to a block of the heap. Their layout is that of the C library ACP, whose programs read them; the mark, which no program
//! knows, is the word before:
//!
//! | | word −1 | 0 | 1 | 2 | 3 |
//! |---|---|---|---|---|---|
//! | vector | mark | address of the block | bytes of the content | bytes of the block | |
//! | deque | mark | address of the block | offset of the first byte | bytes of the content | bytes of the block |
//!
//! The address is null while there is no block. The content of a deque continues at the beginning of the block when it reaches the end; that
//! of a vector begins at the beginning and so never does.
//!
//! What makes or closes a gap moves bytes inside their rank: its owner's transport does it, in pieces as long as memory allows, each ordered
//! after the one before without a wait in between.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Chain, Error, GlobalPtr, Handle, Result, World};

use crate::GlobalHeap;
use crate::memory::{ByteSource, bytes_at, words_before};

/// The mark, and the control words of a deque; those of a vector are one less.
const WORDS: usize = 5;

/// The mark of the control words of sequences; the form is added.
const MARK: u64 = 0x7065_6c61_676f_0200;

/// Maximum number of bytes per step when elements move within overlapping ranges.
const MOVED_BYTES_MAX: u64 = 1 << 20;

/// The distance in bytes from which on bytes that go over themselves move in steps of it, and not by way of other memory.
const STEP_BYTES_MIN: u64 = 1 << 14;

/// Whether a sequence has one end or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It grows at its end; its bytes lie in a row.
    Vector,
    /// It grows at both ends; its bytes lie in up to two rows.
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

    /// Where bytes of the content lie: each address with how many.
    fn pieces(&self, index: u64, bytes: u64) -> [(u64, u64); 2] {
        if bytes == 0 {
            return [(0, 0); 2];
        }
        let place = (self.start + index) % self.capacity;
        let first = bytes.min(self.capacity - place);
        [(self.block + place, first), (self.block, bytes - first)]
    }

    /// Begins to copy bytes of this content to another, each piece after what the chain has.
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
    /// An empty sequence on `rank`, with room for `capacity` bytes.
    ///
    /// Cost: two allocations.
    ///
    /// # Errors
    /// As [`GlobalHeap::allocate`].
    ///
    /// # Panics
    /// The job has no such rank.
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

    /// The sequence of this form at an address.
    ///
    /// # Errors
    /// The address is null. Operations return an error if the address is not that of a sequence.
    pub fn open(heap: &'h GlobalHeap<'w>, form: Form, at: GlobalAddress) -> Result<Self> {
        Ok(Self { heap, mark: words_before(at)?, form })
    }

    /// Where its control words lie.
    pub fn address(&self) -> GlobalAddress {
        self.mark.add(1).address()
    }

    /// Gives its memory back.
    ///
    /// # Errors
    /// It is not a sequence of this form; its rank was lost, or the job is at fault. So for all that follows.
    pub fn destroy(self) -> Result<()> {
        let control = self.control()?;
        self.world().put(self.mark, &[0])?.wait()?;
        self.give_back(&control)?;
        self.heap.free(self.mark.address())
    }

    /// How many bytes there are. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn bytes(&self) -> Result<u64> {
        Ok(self.control()?.bytes)
    }

    /// For how many bytes there is room. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn capacity(&self) -> Result<u64> {
        Ok(self.control()?.capacity)
    }

    /// Where some bytes lie: addresses, each with how many from there on. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); they reach past the end.
    pub fn pieces(&self, index: u64, bytes: u64) -> Result<[(GlobalAddress, u64); 2]> {
        let control = self.control()?;
        check_range(&control, index, bytes)?;
        Ok(control.pieces(index, bytes).map(|(address, bytes)| (GlobalAddress::from_bits(address), bytes)))
    }

    /// Reads bytes from a place on.
    ///
    /// Cost: two round trips, three if they lie in two rows.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces).
    pub fn read(&self, index: u64, into: &mut [u8]) -> Result<()> {
        self.read_pieces(self.pieces(index, into.len() as u64)?, into)
    }

    /// Reads the bytes of some [`pieces`](Self::pieces), as many as there are. Cost: one round trip, two if they lie in two rows.
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

    /// Writes over bytes from a place on.
    ///
    /// Cost: two round trips.
    ///
    /// # Errors
    /// As [`pieces`](Self::pieces).
    pub fn overwrite(&self, index: u64, from: ByteSource<'_>) -> Result<()> {
        let control = self.control()?;
        check_range(&control, index, from.bytes())?;
        self.fill(&control, index, &[from])
    }

    /// Puts bytes in at a place, those of all sources one after the other; returns where the first of them is.
    ///
    /// Cost: at an end with room: two round trips, three for several sources or rows. Else the bytes on one side of the position move, inside their rank; without room, an
    /// allocation, and all of it moves.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); the place is past the end; no memory is left there.
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
            // The sources may lie in what is given back afterwards.
            let chain = old.copy(0, &control, 0, index, self.world().chain())?;
            old.copy(index, &control, index + added, old.bytes - index, chain)?.wait()?;
            self.fill_and_write(&control, index, sources)?;
            self.give_back(&old)?;
            return Ok(index);
        }
        let old = control.bytes;
        if self.form == Form::Deque && index < old - index {
            control.start = (control.start + control.capacity - added) % control.capacity;
            control.bytes = total;
            self.shift(&control, added, 0, index)?;
        } else {
            control.bytes = total;
            self.shift(&control, index, index + added, old - index)?;
        }
        self.fill_and_write(&control, index, sources)?;
        Ok(index)
    }

    /// Takes bytes out.
    ///
    /// Cost: at an end: two round trips. Else the bytes on one side of them move, inside their rank.
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

    /// Takes bytes out at an end, which are copied; `false`, and nothing is taken out, if there are fewer. Only a deque has a front that moves.
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
        // Nobody else reads or changes it meanwhile: both may go on at once.
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
        // Each is waited for, whatever becomes of the others: else `quiet` would tell of its failure.
        let read = reads.into_iter().map(|(read, some)| read.wait_into(some)).fold(Ok(()), Result::and);
        written.wait().and(read).map(|()| true)
    }

    /// Takes the last bytes out, or all if there are fewer; returns how many.
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

    /// Takes the first bytes out, or all if there are fewer; returns how many.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn pop_front(&self, bytes: u64) -> Result<u64> {
        let bytes = bytes.min(self.bytes()?);
        self.erase(0, bytes)?;
        Ok(bytes)
    }

    /// Takes all bytes out; the room stays.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn clear(&self) -> Result<()> {
        self.write(&Control { start: 0, bytes: 0, ..self.control()? })
    }

    /// Makes room for so many bytes in all.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); no memory is left there.
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
    /// As [`insert`](Self::insert).
    pub fn assign(&self, sources: &[ByteSource<'_>]) -> Result<()> {
        let old = self.control()?;
        let bytes = sources.iter().map(ByteSource::bytes).sum();
        let fits = bytes <= old.capacity && !sources.iter().any(|source| is_inside(&old, source));
        let new = if fits { Control { start: 0, ..old } } else { self.block(self.rank(), bytes)? };
        let new = Control { bytes, ..new };
        self.fill(&new, 0, sources)?;
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

    /// Inserts a part of the sequence itself, by way of other memory.
    fn insert_own(&self, place: InsertAt, sources: &[ByteSource<'_>], added: u64) -> Result<u64> {
        let copy = Control { bytes: added, ..self.block(self.rank(), added)? };
        self.fill(&copy, 0, sources)?;
        let inserted = self.insert(place, &[ByteSource::Global(GlobalAddress::from_bits(copy.block), added)]);
        self.give_back(&copy)?;
        inserted
    }

    /// Moves bytes of the content to another place of it, where what was there is no longer wanted.
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
            // Towards the end, the last bytes go first.
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

    /// Writes the bytes of all sources to a place of the content.
    fn fill(&self, control: &Control, index: u64, sources: &[ByteSource<'_>]) -> Result<()> {
        self.world().wait_all(&self.begin_fill(control, index, sources)?)
    }

    /// Begins to write the bytes of all sources to a place of the content.
    fn begin_fill(&self, control: &Control, index: u64, sources: &[ByteSource<'_>]) -> Result<Vec<Handle<'w>>> {
        let (mut at, mut writes) = (index, Vec::new());
        for source in sources {
            let mut start = 0;
            for (address, bytes) in control.pieces(at, source.bytes()) {
                if bytes > 0 {
                    writes.push(source.write(self.world(), start, bytes, address)?);
                }
                start += bytes;
            }
            at += start;
        }
        Ok(writes)
    }

    /// The same, and then writes the control words. Cost: one round trip for bytes of this rank that lie in a row, else two.
    fn fill_and_write(&self, control: &Control, index: u64, sources: &[ByteSource<'_>]) -> Result<()> {
        let fill = || self.begin_fill(control, index, sources);
        let written = self.world().pair(fill, |writes| match writes[..] {
            [write] => self.begin_write(control, write),
            _ => {
                self.world().wait_all(&writes)?;
                self.begin_write(control, Handle::done())
            }
        })?;
        written.wait()
    }

    /// A block of at least so many bytes; none for none.
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

    /// The mark and the control words of this form.
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
