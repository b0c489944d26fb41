//! The hash table of maps and multisets: buckets on the ranks of a team, each a word with the address of a list of elements on the same rank.
//!
//! A compare-and-swap adds an element at the head of its bucket, after its bytes were written. An element is never removed from its list: a removal
//! changes only its state, a word of its own. So a list only grows at its head, and a successor never changes. A traversal needs no lock, and
//! concurrent changes do not disturb it.
//!
//! *No key is present twice:* two ranks that add the same key both swap the same word. The second finds another head than the one from which it
//! searched, searches the new elements in front of that one, and finds the key.
//!
//! Map and multiset define the meaning of an element's state. The element of a removed key is reused when the key is added again, and freed when the
//! table is cleared: the memory grows with the number of different keys that the table has ever had. One state has a common meaning: a search skips a
//! *dead* element, which is never reused.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

use pelago_base::{Duration, GlobalAddress, Rank};
use pelago_rma::{Error, Failure, Fetch, GlobalPtr, Pod, Result, Symmetric, World};

use super::element_state::{BUSY, GONE, KIND_MASK, writer};
use super::hash::{hash, place};
use super::owner::OwnPart;
use crate::GlobalHeap;
use crate::memory::Glance;

/// Words of an element before its key: its successor, its tag, and its state.
pub(super) const HEADER_WORDS: usize = 3;
pub(super) const NEXT: usize = 0;
pub(super) const TAG: usize = 1;
pub(super) const STATE: usize = 2;
pub(super) const KEY: usize = HEADER_WORDS;

/// Number of low bits of a tag, which hold the length of the key in bytes; the bits above hold bits of its hash.
const KEY_BITS: u32 = 24;
/// Maximum size of a key in bytes.
const KEY_BYTES_MAX: usize = (1 << KEY_BITS) - 1;

/// Bytes of an element before its key.
pub(crate) const HEADER_BYTES: u64 = 8 * HEADER_WORDS as u64;

/// Bytes that a rank allocates on another rank for its next elements there: at first, and at most. The size doubles, so that small tables leave little
/// memory unused and large ones need few round trips.
pub(super) const CHUNK_BYTES: (u64, u64) = (1 << 10, 1 << 18);

/// Initial pause between two checks of a rank that waits for another rank's change of an element. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(2);
/// Maximum pause between two such checks.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1);

/// The pauses of one wait for another rank's change of an element.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) const fn new() -> Self {
        Self(PAUSE_MIN)
    }

    fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause + pause).min(PAUSE_MAX);
        pause
    }
}

/// The state of an element that is never used again.
pub(crate) const DEAD: u64 = u64::MAX;

/// The places of the buckets of a table.
pub(crate) trait Buckets {
    /// Whether ranks allocate memory for many elements at once, which the table frees as a whole.
    const IN_CHUNKS: bool;

    /// Reads the bucket of a hash. Calls `beside` with its rank, to issue further reads there in the same round trip; calls it again if that was the wrong
    /// rank.
    fn look<'w, T>(&self, heap: &GlobalHeap<'w>, hash: u64, beside: impl FnMut(Rank) -> Result<T>) -> Result<Looked<T>>;
}

/// A bucket and its content.
pub(crate) struct Looked<T> {
    /// The rank of the bucket.
    pub(crate) rank: Rank,
    pub(crate) bucket: GlobalPtr<u64>,
    /// The address of its first element.
    pub(crate) head: u64,
    pub(crate) beside: T,
}

/// A read of a bucket in flight.
pub(crate) struct Asked<'w, T> {
    rank: Rank,
    bucket: GlobalPtr<u64>,
    head: Fetch<'w, u64>,
    beside: T,
}

impl<'w, T> Asked<'w, T> {
    /// Begins to read a bucket, together with the reads that `beside` issues.
    #[inline]
    pub(crate) fn of(world: &'w World, bucket: GlobalPtr<u64>, beside: &mut impl FnMut(Rank) -> Result<T>) -> Result<Self> {
        let rank = world.reach().addresses().rank(bucket.address());
        Ok(Self { rank, bucket, head: world.fetch(bucket)?, beside: beside(rank)? })
    }

    #[inline]
    pub(crate) fn wait(self) -> Result<Looked<T>> {
        Ok(Looked { rank: self.rank, bucket: self.bucket, head: self.head.wait()?, beside: self.beside })
    }
}

/// Buckets on every rank of the job, equally many on each, allocated collectively.
pub(crate) struct Everywhere<'w>(Symmetric<'w, u64>);

impl Buckets for Everywhere<'_> {
    const IN_CHUNKS: bool = true;

    #[inline]
    fn look<'h, T>(&self, heap: &GlobalHeap<'h>, hash: u64, mut beside: impl FnMut(Rank) -> Result<T>) -> Result<Looked<T>> {
        let (rank, bucket) = self.find(heap.world(), hash);
        if heap.world().maps(rank) {
            return Ok(Looked { rank, bucket, head: heap.world().get(bucket)?, beside: beside(rank)? });
        }
        heap.world().batch(|| Asked::of(heap.world(), bucket, &mut beside))?.wait()
    }
}

impl Everywhere<'_> {
    /// The number of buckets on each rank.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A bucket of a rank.
    pub(super) fn at(&self, rank: Rank, bucket: usize) -> GlobalPtr<u64> {
        self.0.at(rank, bucket)
    }

    /// The rank of a hash.
    #[inline]
    fn rank(&self, world: &World, hash: u64) -> Rank {
        let buckets = self.0.len() as u64;
        Rank::new((place(hash, buckets * u64::from(world.size())) / buckets) as u32)
    }

    /// The rank and the bucket of a hash.
    pub(super) fn find(&self, world: &World, hash: u64) -> (Rank, GlobalPtr<u64>) {
        let buckets = self.0.len() as u64;
        let place = place(hash, buckets * u64::from(world.size()));
        let rank = Rank::new((place / buckets) as u32);
        (rank, self.0.at(rank, (place % buckets) as usize))
    }
}

/// A rank's access to a table.
pub(crate) struct Table<'h, 'w, B = Everywhere<'w>> {
    heap: &'h GlobalHeap<'w>,
    pub(crate) buckets: B,
    state: RefCell<Own>,
    /// The part of this rank, for active messages; allocated lazily.
    own_part: OnceCell<Rc<OwnPart>>,
}

/// The private state of a rank.
#[derive(Default)]
struct Own {
    /// Memory for the next elements, by their rank.
    chunks: HashMap<u32, Chunk>,
    /// All allocated chunks, to be freed later.
    taken: Vec<GlobalAddress>,
    /// Buffer for an element that is read or written.
    words: Vec<u64>,
    /// Memory for elements that bulk operations took and did not use, by rank: at most as many elements as a bulk operation has keys in flight.
    spare: HashMap<u32, Vec<GlobalPtr<u64>>>,
}

#[derive(Clone, Copy)]
struct Chunk {
    start: GlobalAddress,
    used: u64,
    bytes: u64,
}

impl Own {
    /// Number of bytes to allocate on `rank` before an element of `bytes` bytes can be added there; `None` if no allocation is necessary.
    fn wanted<B: Buckets>(&self, rank: Rank, bytes: u64) -> Option<u64> {
        if !B::IN_CHUNKS {
            return Some(bytes);
        }
        match self.chunks.get(&rank.number()) {
            Some(chunk) if bytes <= chunk.bytes - chunk.used => None,
            before => Some(before.map_or(CHUNK_BYTES.0, |chunk| (2 * chunk.bytes).min(CHUNK_BYTES.1)).max(bytes)),
        }
    }
}

/// The place of a new element.
#[derive(Clone, Copy)]
struct Room {
    at: GlobalPtr<u64>,
    /// The header of its block, which is written together with the element.
    header: Option<(GlobalPtr<u64>, [u64; 2])>,
}

/// An element that was found or added.
pub(crate) struct Element {
    at: GlobalPtr<u64>,
    /// Its state when it was read, before its value.
    pub(crate) state: u64,
    /// Its state after its value was read, if both were read in the same round trip.
    pub(super) state_after: Option<u64>,
    /// Whether it was added.
    pub(crate) is_new: bool,
}

impl Element {
    /// An element that was found.
    pub(super) fn there(at: GlobalPtr<u64>, state: u64) -> Self {
        Self { at, state, state_after: None, is_new: false }
    }

    /// An element that was added.
    pub(super) fn added(at: GlobalPtr<u64>, state: u64) -> Self {
        Self { at, state, state_after: None, is_new: true }
    }

    /// Its address.
    pub(crate) fn address(&self) -> GlobalAddress {
        self.at.address()
    }

    /// The word of its state.
    pub(crate) fn state_at(&self) -> GlobalPtr<u64> {
        self.at.add(STATE as u64)
    }

    /// The first word of its value.
    pub(crate) fn value_at(&self, key_bytes: usize) -> GlobalPtr<u64> {
        self.at.add((HEADER_WORDS + key_bytes.div_ceil(8)) as u64)
    }
}

impl<'h, 'w> Table<'h, 'w> {
    /// Creates a table with `buckets` buckets on each rank. Collective.
    pub(crate) fn new(heap: &'h GlobalHeap<'w>, buckets: usize) -> Result<Self> {
        if buckets == 0 {
            return Err(Error::Invalid("a table needs at least one bucket on each rank"));
        }
        Ok(Self::over(heap, Everywhere(heap.world().alloc(buckets)?)))
    }

    /// The rank that holds a key.
    pub(crate) fn owner(&self, key: &[u8]) -> Rank {
        self.buckets.rank(self.world(), hash(key))
    }

    /// Calls `f` with the key, the state and the value of every element of this rank, in no order. Elements that other ranks add meanwhile may be missed.
    pub(crate) fn for_each_local(&self, value_words: usize, mut f: impl FnMut(&[u64], usize, u64, &[u64])) -> Result<()> {
        let mut words = Vec::new();
        for bucket in 0..self.buckets.0.len() {
            let mut at = self.buckets.0.local().load(bucket);
            while at != 0 {
                let element = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(at))?;
                let key_bytes = key_bytes(self.world().get(element.add(TAG as u64))?);
                let key_words = key_bytes.div_ceil(8);
                words.resize(HEADER_WORDS + key_words + value_words, 0);
                self.world().get_into(element, &mut words)?;
                let (key, value) = words[HEADER_WORDS..].split_at(key_words);
                f(key, key_bytes, words[STATE], value);
                at = words[NEXT];
            }
        }
        Ok(())
    }

    /// Takes memory for an element of `bytes` bytes on a rank, which only this rank uses from now on. All elements of the table have the same size.
    pub(super) fn take_room(&self, rank: Rank, bytes: u64) -> Result<GlobalPtr<u64>> {
        let own = &mut *self.state.borrow_mut();
        if let Some(room) = own.spare.get_mut(&rank.number()).and_then(Vec::pop) {
            return Ok(room);
        }
        let Room { at, .. } = self.room(own, rank, bytes, None)?;
        own.chunks.entry(rank.number()).and_modify(|chunk| chunk.used += bytes);
        Ok(at)
    }

    /// Keeps the memory of an element that was not added, for the next element on that rank.
    pub(super) fn give_room(&self, rank: Rank, room: GlobalPtr<u64>) {
        self.state.borrow_mut().spare.entry(rank.number()).or_default().push(room);
    }

    /// The part of this rank, for changes by active messages.
    pub(super) fn own_part(&self) -> Rc<OwnPart> {
        let (rank, count) = (self.world().rank(), self.buckets.len());
        let [first, all] = [rank.index(), self.world().size() as usize].map(|ranks| (ranks * count) as u64);
        let part = || Rc::new(OwnPart::new(self.buckets.at(rank, 0), count, first, all, self.heap.own_arena()));
        self.own_part.get_or_init(part).clone()
    }

    /// Removes every element and frees the memory. Collective.
    pub(crate) fn clear(&self) -> Result<()> {
        self.world().meet()?;
        self.buckets.0.local().clear();
        let own = &mut *self.state.borrow_mut();
        own.chunks.clear();
        own.spare.clear();
        let given_back = self.own_part.get().map_or_else(Vec::new, |part| part.forget());
        own.taken.drain(..).chain(given_back).try_for_each(|chunk| self.heap.free(chunk))?;
        self.world().meet()
    }
}

impl<'h, 'w, B: Buckets> Table<'h, 'w, B> {
    /// Creates a table over existing buckets.
    pub(crate) fn over(heap: &'h GlobalHeap<'w>, buckets: B) -> Self {
        Self { heap, buckets, state: RefCell::default(), own_part: OnceCell::new() }
    }

    pub(crate) fn world(&self) -> &'w World {
        self.heap.world()
    }

    pub(crate) fn heap(&self) -> &'h GlobalHeap<'w> {
        self.heap
    }

    /// Finds a key; reads the first words of its value into `value`, which must not be longer than the value.
    pub(crate) fn find(&self, key: &[u8], value: &mut [u64]) -> Result<Option<Element>> {
        Ok(self.find_with(key, value.len(), value)?.map(|(element, _)| element))
    }

    /// Finds a key; reads words from the start of its value into `value`, at least `has` words, which the value has. Also returns the number of read words.
    pub(crate) fn find_with(&self, key: &[u8], has: usize, value: &mut [u64]) -> Result<Option<(Element, usize)>> {
        let hash = hash(key);
        let head = self.buckets.look(self.heap, hash, |_| Ok(()))?.head;
        let own = &mut *self.state.borrow_mut();
        self.walk([head, 0], hash, key, &mut own.words, has, value)
    }

    /// Finds a key, or adds it with a value and a state.
    pub(crate) fn find_or_add(&self, key: &[u8], value: &[u64], state: u64) -> Result<Element> {
        check_key(key)?;
        let (hash, world) = (hash(key), self.world());
        let own = &mut *self.state.borrow_mut();
        let bytes = ((HEADER_WORDS + key.len().div_ceil(8) + value.len()) * 8) as u64;
        let glance = |rank| {
            // A glance saves a round trip, so it is useless if the rank is mapped.
            let wanted = if world.maps(rank) { None } else { own.wanted::<B>(rank, bytes) };
            wanted.map(|bytes| self.heap.glance(rank, bytes)).transpose()
        };
        let Looked { rank, bucket, mut head, beside: mut glance } = self.buckets.look(self.heap, hash, glance)?;
        let (mut seen, mut room) = (0, None);
        loop {
            if let Some((element, _)) = self.walk([head, seen], hash, key, &mut own.words, 0, &mut [])? {
                // Frees an unused block; unused memory of a chunk is used for the next element.
                if let Some(Room { at: unused, header: Some(_) }) = room {
                    self.heap.free(unused.address())?;
                }
                return Ok(element);
            }
            let Room { at, header } = match room {
                Some(room) => room,
                None => self.room(own, rank, bytes, glance.take())?,
            };
            room = Some(Room { at, header });
            own.words.clear();
            own.words.reserve(header.map_or(0, |(_, words)| words.len()) + (bytes / 8) as usize);
            if let Some((_, header)) = header {
                own.words.extend_from_slice(&header);
            }
            own.words.extend_from_slice(&[head, tag(hash, key), state]);
            own.words.extend(words_of(key));
            own.words.extend_from_slice(value);
            let link = || {
                let written = world.put(header.map_or(at, |(start, _)| start), &own.words)?;
                world.after(&written).compare_swap(bucket, head, at.address().bits())
            };
            let found = batch(world, rank, link)?.wait()?;
            if found == head {
                if B::IN_CHUNKS {
                    own.chunks.entry(rank.number()).and_modify(|chunk| chunk.used += bytes);
                }
                return Ok(Element { at, state, state_after: None, is_new: true });
            }
            (head, seen) = (found, head);
        }
    }

    /// The header of an element: the next element of its bucket, its state, and the length of its key in bytes.
    pub(crate) fn header(&self, at: GlobalAddress) -> Result<[u64; 3]> {
        let mut words = [0; HEADER_WORDS];
        self.world().get_into(GlobalPtr::<u64>::from_address(at)?, &mut words)?;
        Ok([words[NEXT], words[STATE], key_bytes(words[TAG]) as u64])
    }

    /// Sets the key of a map's element to absent; returns whether it was present.
    pub(crate) fn take_out(&self, element: &Element) -> Result<bool> {
        let (mut state, mut pauses) = (element.state, Pauses::new());
        loop {
            match state & KIND_MASK {
                _ if state == DEAD => return Ok(false),
                GONE => return Ok(false),
                BUSY => state = self.later(element, state, &mut pauses)?,
                _ => {
                    let gone = state & !KIND_MASK | GONE;
                    let found = self.world().compare_swap(element.state_at(), state, gone)?.wait()?;
                    if found == state {
                        return Ok(true);
                    }
                    state = found;
                }
            }
        }
    }

    /// Decrements the count of a multiset's element, unless it is 0; returns the count before.
    pub(crate) fn count_down(&self, element: &Element) -> Result<u64> {
        let mut count = element.state;
        while count > 0 {
            let found = self.world().compare_swap(element.state_at(), count, count - 1)?.wait()?;
            if found == count {
                break;
            }
            count = found;
        }
        Ok(count)
    }

    /// Sets the count of a multiset's element to 0; returns the count before.
    pub(crate) fn count_out(&self, element: &Element) -> Result<u64> {
        if element.state == 0 { Ok(0) } else { self.world().swap(element.state_at(), 0)?.wait() }
    }

    /// Pauses, then reads the state of an element whose state was busy.
    pub(crate) fn later(&self, element: &Element, state: u64, pauses: &mut Pauses) -> Result<u64> {
        self.pause(state, pauses)?;
        self.world().get(element.state_at())
    }

    /// Pauses before the next read of a state that was busy. Fails if the rank that writes the value was lost: nothing ends its write.
    pub(crate) fn pause(&self, state: u64, pauses: &mut Pauses) -> Result<()> {
        let writer = writer(state);
        if self.world().lost().contains(&writer) {
            return Err(Failure::PeerLost(writer).into());
        }
        match self.world().wait_for("another rank's change of an element", Some(pauses.next()), || Ok(None::<()>)) {
            Err(Error::TimedOut { .. }) => Ok(()),
            other => other,
        }
    }

    /// Searches a key from the element `head` up to the element `end`.
    fn walk(
        &self,
        [head, end]: [u64; 2],
        hash: u64,
        key: &[u8],
        words: &mut Vec<u64>,
        has: usize,
        value: &mut [u64],
    ) -> Result<Option<(Element, usize)>> {
        let key_words = key.len().div_ceil(8);
        let mut next = head;
        while next != end {
            let at = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(next))?;
            // One read for the whole element. The read may extend past an element with a shorter key, but not past the heap of its rank. An element that does
            // not fit in the rest of the heap has another key.
            let wanted = HEADER_WORDS + key_words + value.len();
            words.resize(wanted.min(self.words_left(at)?), 0);
            let state_after = match value.is_empty() || maps(self.world(), at) {
                true => self.world().get_into(at, words).map(|()| None)?,
                false => Some(get_then_fetch(self.world(), at, words, at.add(STATE as u64))?),
            };
            let is_it = words.len() >= HEADER_WORDS + key_words + has && words[TAG] == tag(hash, key) && words[STATE] != DEAD;
            if is_it && words[HEADER_WORDS..].iter().copied().zip(words_of(key)).all(|(one, other)| one == other) {
                let read = &words[HEADER_WORDS + key_words..];
                value[..read.len()].copy_from_slice(read);
                return Ok(Some((Element { at, state: words[STATE], state_after, is_new: false }, read.len())));
            }
            next = words[NEXT];
        }
        Ok(None)
    }

    /// Reads the value of an element from `at` on, and then its state; returns whether the state is the one with which the element was found.
    pub(super) fn read_whole<T: Pod>(&self, element: &Element, at: GlobalPtr<T>, into: &mut [T]) -> Result<bool> {
        Ok(get_then_fetch(self.world(), at, into, element.state_at())? == element.state)
    }

    /// Whether an element still has the state with which it was found.
    pub(super) fn is_unchanged(&self, element: &Element) -> Result<bool> {
        if let Some(state) = element.state_after {
            return Ok(state == element.state);
        }
        // Orders the read of the state after that of the value.
        fence(Ordering::Acquire);
        Ok(self.world().get(element.state_at())? == element.state)
    }

    /// Number of words from an element to the end of the heap. Fails if there is no room for an element: the table is in another heap, or was destroyed.
    fn words_left(&self, at: GlobalPtr<u64>) -> Result<usize> {
        let words = self.heap.left(at.address()).map(|bytes| (bytes / 8) as usize);
        words.filter(|&words| words >= HEADER_WORDS).ok_or(Error::Invalid("the table has an element outside of this heap"))
    }

    /// The place of the next element on `rank`; `glance` is the begun allocation, if any.
    #[inline]
    fn room(&self, own: &mut Own, rank: Rank, bytes: u64, glance: Option<Glance<'w>>) -> Result<Room> {
        if let Some(wanted) = own.wanted::<B>(rank, bytes) {
            let glance = glance.map_or_else(|| self.heap.glance(rank, wanted), Ok)?;
            if !B::IN_CHUNKS {
                let block = self.heap.reserve(rank, bytes, glance)?;
                let (start, header) = (self.heap.start_of_block(&block), block.header());
                return Ok(Room { at: start.add(header.len() as u64), header: Some((start, header)) });
            }
            let start = self.heap.allocate_after(rank, wanted, glance)?;
            own.taken.push(start);
            own.chunks.insert(rank.number(), Chunk { start, used: 0, bytes: wanted });
        }
        let Chunk { start, used, .. } = own.chunks[&rank.number()];
        Ok(Room { at: GlobalPtr::from_address(start)?.add(used / 8), header: None })
    }
}

/// Reads values, and then a word. Cost: one round trip if the network orders both.
fn get_then_fetch<T: Pod>(world: &World, from: GlobalPtr<T>, into: &mut [T], word: GlobalPtr<u64>) -> Result<u64> {
    if maps(world, word) {
        world.get_into(from, into)?;
        fence(Ordering::Acquire);
        return world.get(word);
    }
    let read = || world.start_get(from, into.len());
    let (read, fetched) = world.pair(read, |read| {
        let fetched = world.after(&read.handle()).fetch(word)?;
        Ok((read, fetched))
    })?;
    // Waits for both, also if the first has failed: otherwise `quiet` would report the failure of the second.
    let (read, fetched) = (read.wait_into(into), fetched.wait());
    read.and(fetched)
}

fn maps(world: &World, word: GlobalPtr<u64>) -> bool {
    world.maps(world.reach().addresses().rank(word.address()))
}

/// Issues operations on `rank` in one batch, unless its memory is mapped.
pub(crate) fn batch<T>(world: &World, rank: Rank, issue: impl FnOnce() -> T) -> T {
    if world.maps(rank) { issue() } else { world.batch(issue) }
}

/// Checks that the length of a key fits in a tag.
pub(super) fn check_key(key: &[u8]) -> Result<()> {
    let bytes = key.len();
    if bytes > KEY_BYTES_MAX { Err(Error::TooLong { what: "key", bytes, limit: KEY_BYTES_MAX }) } else { Ok(()) }
}

/// The tag of a key, which differs from that of most other keys; keys with equal tags differ in their words. A key whose length does not fit is in no
/// table.
pub(super) fn tag(hash: u64, key: &[u8]) -> u64 {
    hash << KEY_BITS | (key.len() & KEY_BYTES_MAX) as u64
}

pub(super) fn key_bytes(tag: u64) -> usize {
    tag as usize & KEY_BYTES_MAX
}

/// Bytes as words, the last padded with zeros.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    })
}
