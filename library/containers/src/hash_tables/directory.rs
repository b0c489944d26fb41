//! Maps and multisets with keys of any length on chosen ranks: one rank creates them, and any rank opens them by the address of their directory.
//!
//! A *directory* on one rank has the address of a row of buckets on each chosen rank. Both kinds use the hash table in `table`; this file has the
//! traversal of a table, bucket by bucket, and the operations on whole tables.
//!
//! A value has any length and is stored in its element; two words before it hold its capacity and its length. A removed key that is added again with a
//! value that exceeds the capacity gets a new element; the old element is marked as dead first, so that no key is present twice.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Error, GlobalPtr, Result, World};
use zerocopy::IntoBytes;

use super::element_state::{BUSY, GONE, KIND_BITS, KIND_MASK, THERE, busy, next_number};
use super::hash::{hash, place};
use super::table::{Asked, Buckets, DEAD, Element, HEADER_BYTES, Looked, Pauses, Table, batch};
use crate::GlobalHeap;
use crate::memory::{bytes_at, words_at};

/// The first word of a directory, for a multiset and for a map.
const MULTISET: u64 = 0x7065_6c61_676f_0400;
const MAP: u64 = 0x7065_6c61_676f_0401;

/// Words of a directory before the addresses of rows.
const DIRECTORY_WORDS: u64 = 1;

/// Words of a value before its bytes: its capacity and its length in bytes.
const VALUE_WORDS: usize = 2;

/// Maximum number of words of a value that are read together with its element.
const VALUE_WORDS_MAX: usize = 32;

/// The first number of buckets of all ranks together that no table has.
const BUCKETS_END: u64 = 1 << 48;

/// Number of buckets that are read at once.
const LOOKED_AT_ONCE: u64 = 64;

/// The number of ranks of a table, and of buckets on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of ranks, each with a row of buckets.
    pub ranks: u64,
    /// The number of buckets in each row.
    pub buckets: u64,
}

/// A position in a table: an element, and its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the row.
    pub row: u64,
    /// The number of the bucket in the row.
    pub bucket: u64,
    /// The element; null at the end.
    pub element: GlobalAddress,
}

/// The directory of a table.
pub(crate) struct Directory {
    at: GlobalPtr<u64>,
    geometry: Geometry,
}

impl Buckets for Directory {
    const IN_CHUNKS: bool = false;

    #[inline]
    fn look<'w, T>(&self, heap: &GlobalHeap<'w>, hash: u64, mut beside: impl FnMut(Rank) -> Result<T>) -> Result<Looked<T>> {
        let (world, (row, bucket)) = (heap.world(), self.place(hash));
        let place = self.at.add(DIRECTORY_WORDS + row);
        let rank_of = |at| world.reach().addresses().rank(at);
        let mut ask = |row: u64| Asked::of(world, words_at(row)?.add(bucket), &mut beside);
        if world.maps(rank_of(place.address())) {
            let row = world.get(place)?;
            return batch(world, rank_of(GlobalAddress::from_bits(row)), || ask(row))?.wait();
        }
        // Rows seldom move: reads the bucket at its last known place, and in the same round trip the directory to check that place. A place that cannot be
        // read is no hint: the directory that it came from may have been destroyed.
        let hint = heap.hint(place.address());
        let asked = world.batch(|| Ok::<_, Error>((world.fetch(place)?, hint.and_then(|row| ask(row).ok()))))?;
        let row = asked.0.wait()?;
        if let (Some(early), true) = (asked.1, hint == Some(row)) {
            return early.wait();
        }
        let looked = batch(world, rank_of(GlobalAddress::from_bits(row)), || ask(row))?.wait()?;
        heap.keep_hint(place.address(), row);
        Ok(looked)
    }
}

impl Directory {
    /// The row and the bucket of a hash.
    fn place(&self, hash: u64) -> (u64, u64) {
        let place = place(hash, self.geometry.ranks * self.geometry.buckets);
        (place / self.geometry.buckets, place % self.geometry.buckets)
    }
}

/// The common part of map and multiset.
struct DirectoryTable<'h, 'w> {
    table: Table<'h, 'w, Directory>,
    mark: u64,
}

/// Whether a state of an element means that its key is present.
fn is_there(mark: u64, state: u64) -> bool {
    if mark == MAP { state != DEAD && state & KIND_MASK == THERE } else { state != DEAD && state > 0 }
}

impl<'h, 'w> DirectoryTable<'h, 'w> {
    fn create(heap: &'h GlobalHeap<'w>, mark: u64, ranks: &[Rank], buckets: u64, rank: Rank) -> Result<Self> {
        let geometry = Geometry { ranks: ranks.len() as u64, buckets };
        check(&geometry)?;
        let world = heap.world();
        let mut directory = vec![mark];
        let mut make = || -> Result<GlobalAddress> {
            for &rank in ranks {
                let row = heap.allocate(rank, 8 * buckets)?;
                directory.push(row.bits());
                world.put(words_at(row.bits())?, &vec![0u64; buckets as usize])?.wait()?;
            }
            let at = heap.allocate(rank, 8 * (DIRECTORY_WORDS + geometry.ranks))?;
            Ok(at)
        };
        let at = match make() {
            Ok(at) => GlobalPtr::from_address(at)?,
            Err(error) => {
                directory[1..].iter().try_for_each(|&row| heap.free(GlobalAddress::from_bits(row)))?;
                return Err(error);
            }
        };
        world.put(at, &directory)?.wait()?;
        Ok(Self { table: Table::over(heap, Directory { at, geometry }), mark })
    }

    fn open(heap: &'h GlobalHeap<'w>, mark: u64, at: GlobalAddress, geometry: Geometry) -> Result<Self> {
        check(&geometry)?;
        let words = heap.bytes() / 8;
        if geometry.ranks.saturating_add(DIRECTORY_WORDS) > words || geometry.buckets > words {
            return Err(Error::Invalid("a table with so many ranks or buckets does not fit the heap"));
        }
        Ok(Self { table: Table::over(heap, Directory { at: GlobalPtr::from_address(at)?, geometry }), mark })
    }

    fn destroy(self) -> Result<()> {
        self.clear(None)?;
        let (directory, heap) = (&self.table.buckets, self.table.heap());
        let rows = self.rows()?;
        // A later incorrect use finds null addresses, as long as the memory is not reused.
        self.world().put(directory.at, &vec![0; DIRECTORY_WORDS as usize + rows.len()])?.wait()?;
        rows.into_iter().try_for_each(|row| heap.free(GlobalAddress::from_bits(row)))?;
        heap.free(directory.at.address())
    }

    /// The addresses of the rows of buckets.
    fn rows(&self) -> Result<Vec<u64>> {
        let directory = &self.table.buckets;
        let mut words = vec![0; (DIRECTORY_WORDS + directory.geometry.ranks) as usize];
        self.world().get_into(directory.at, &mut words)?;
        if words[0] != self.mark {
            return Err(Error::Invalid(if self.mark == MAP {
                "there is no map at this address"
            } else {
                "there is no set or multiset at this address"
            }));
        }
        Ok(words.split_off(DIRECTORY_WORDS as usize))
    }

    /// The first row on a rank.
    fn row_of(&self, rank: Rank) -> Result<Option<u64>> {
        let rank_of = |row: &u64| self.world().reach().addresses().rank(GlobalAddress::from_bits(*row));
        Ok(self.rows()?.iter().position(|row| rank_of(row) == rank).map(|row| row as u64))
    }

    /// The first present key from a bucket on.
    fn first_from(&self, row: u64, bucket: u64) -> Result<Position> {
        let (rows, geometry) = (self.rows()?, self.table.buckets.geometry);
        let mut bucket = bucket;
        for row in row..geometry.ranks {
            while bucket < geometry.buckets {
                let mut heads = vec![0; (geometry.buckets - bucket).min(LOOKED_AT_ONCE) as usize];
                self.world().get_into(words_at(rows[row as usize])?.add(bucket), &mut heads)?;
                for head in heads {
                    if let Some(element) = self.first_of(head)? {
                        return Ok(Position { row, bucket, element });
                    }
                    bucket += 1;
                }
            }
            bucket = 0;
        }
        Ok(self.end())
    }

    /// The next present key.
    fn next(&self, position: Position) -> Result<Position> {
        if position.element.is_null() {
            return Ok(self.end());
        }
        match self.first_of(self.table.header(position.element)?[0])? {
            Some(element) => Ok(Position { element, ..position }),
            None => self.first_from(position.row, position.bucket + 1),
        }
    }

    /// The first element of a list whose key is present.
    fn first_of(&self, mut next: u64) -> Result<Option<GlobalAddress>> {
        while next != 0 {
            let at = GlobalAddress::from_bits(next);
            let [after, state, _] = self.table.header(at)?;
            if is_there(self.mark, state) {
                return Ok(Some(at));
            }
            next = after;
        }
        Ok(None)
    }

    fn end(&self) -> Position {
        Position { row: self.table.buckets.geometry.ranks, bucket: 0, element: GlobalAddress::NULL }
    }

    fn position_of(&self, key: &[u8], element: &Element) -> Position {
        let (row, bucket) = self.table.buckets.place(hash(key));
        Position { row, bucket, element: element.address() }
    }

    /// The address and length of the key of an element.
    fn key_at(&self, element: GlobalAddress) -> Result<(GlobalAddress, u64)> {
        let bytes = self.table.header(element)?[2];
        Ok((GlobalAddress::from_bits(element.bits() + HEADER_BYTES), bytes))
    }

    /// Calls `f` with every element whose key is present, in one row or in all.
    fn for_each(&self, row: Option<u64>, mut f: impl FnMut(GlobalAddress, &[u8]) -> Result<()>) -> Result<()> {
        let mut position = self.first_from(row.unwrap_or(0), 0)?;
        while !position.element.is_null() && row.is_none_or(|row| row == position.row) {
            let (at, bytes) = self.key_at(position.element)?;
            let mut key = vec![0; bytes as usize];
            if bytes > 0 {
                self.world().get_into(bytes_at(at.bits())?, &mut key)?;
            }
            f(position.element, &key)?;
            position = self.next(position)?;
        }
        Ok(())
    }

    /// Removes and frees every element, in one row or in all.
    fn clear(&self, row: Option<u64>) -> Result<()> {
        let rows = self.rows()?;
        for row in row.map_or(0..rows.len(), |row| row as usize..row as usize + 1) {
            for bucket in 0..self.table.buckets.geometry.buckets {
                let mut next = self.world().swap(words_at(rows[row])?.add(bucket), 0)?.wait()?;
                while next != 0 {
                    let at = GlobalAddress::from_bits(next);
                    next = self.table.header(at)?[0];
                    self.table.heap().free(at)?;
                }
            }
        }
        Ok(())
    }

    fn swap(&self, other: &Self) -> Result<bool> {
        if self.table.buckets.geometry != other.table.buckets.geometry {
            return Ok(false);
        }
        let (one, two) = (self.rows()?, other.rows()?);
        let world = self.world();
        world.put(self.table.buckets.at.add(DIRECTORY_WORDS), &two)?.wait()?;
        world.put(other.table.buckets.at.add(DIRECTORY_WORDS), &one)?.wait()?;
        Ok(true)
    }

    /// The rank of each row, and the rank of the directory.
    fn ranks(&self) -> Result<(Vec<Rank>, Rank)> {
        let addresses = self.world().reach().addresses();
        let rank_of = |at| addresses.rank(GlobalAddress::from_bits(at));
        Ok((self.rows()?.into_iter().map(rank_of).collect(), addresses.rank(self.table.buckets.at.address())))
    }

    fn world(&self) -> &'w World {
        self.table.world()
    }
}

/// The common methods of both kinds of tables.
macro_rules! alike {
    ($kind:ident, $mark:ident) => {
        impl<'h, 'w> $kind<'h, 'w> {
            /// Creates an empty table with `buckets` buckets on each of `ranks`, about as many as the expected keys per rank; its directory is on `rank`.
            ///
            /// Cost: an allocation on each rank.
            ///
            /// # Errors
            /// `ranks` is empty or `buckets` is 0; as [`GlobalHeap::allocate`].
            pub fn create(heap: &'h GlobalHeap<'w>, ranks: &[Rank], buckets: u64, rank: Rank) -> Result<Self> {
                Ok(Self(DirectoryTable::create(heap, $mark, ranks, buckets, rank)?))
            }

            /// Opens the table at an address, which was created with this geometry.
            ///
            /// # Errors
            /// The address is null; the geometry is empty, or does not fit the heap.
            pub fn open(heap: &'h GlobalHeap<'w>, at: GlobalAddress, geometry: Geometry) -> Result<Self> {
                Ok(Self(DirectoryTable::open(heap, $mark, at, geometry)?))
            }

            /// The address of its directory, for other ranks.
            pub fn address(&self) -> GlobalAddress {
                self.0.table.buckets.at.address()
            }

            /// Its numbers of ranks and buckets.
            pub fn geometry(&self) -> Geometry {
                self.0.table.buckets.geometry
            }

            /// Frees its memory. No other rank may use it meanwhile.
            ///
            /// # Errors
            /// It does not exist; a rank was lost (also one that wrote the value of the key), or the job is at fault. The same holds for all
            /// following methods.
            pub fn destroy(self) -> Result<()> {
                self.0.destroy()
            }

            /// The row of buckets on a rank, if there is one.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn row_of(&self, rank: Rank) -> Result<Option<u64>> {
                self.0.row_of(rank)
            }

            /// The position of the first key from a row on, or the end.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn first_from(&self, row: u64) -> Result<Position> {
                self.0.first_from(row, 0)
            }

            /// The position of the next key, or the end.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn next(&self, position: Position) -> Result<Position> {
                self.0.next(position)
            }

            /// The position after the last key.
            pub fn end(&self) -> Position {
                self.0.end()
            }

            /// The position of a key, or the end.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn find(&self, key: &[u8]) -> Result<Position> {
                let found = self.0.table.find(key, &mut [])?.filter(|element| is_there($mark, element.state));
                Ok(found.map_or(self.0.end(), |element| self.0.position_of(key, &element)))
            }

            /// The address and number of the bytes of a key.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy); the position is the end.
            pub fn key_at(&self, position: Position) -> Result<(GlobalAddress, u64)> {
                self.0.key_at(position.element)
            }

            /// The number of different keys, in one row or in all. Cost: a traversal of the keys.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn keys(&self, row: Option<u64>) -> Result<u64> {
                let mut count = 0;
                self.0.for_each(row, |_, _| {
                    count += 1;
                    Ok(())
                })?;
                Ok(count)
            }

            /// Removes all keys of one row or of all. No other rank may use those rows meanwhile.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn clear(&self, row: Option<u64>) -> Result<()> {
                self.0.clear(row)
            }

            /// Exchanges the contents of two tables. No other rank may use them meanwhile.
            ///
            /// Cost: two round trips for each table if the geometries are equal. Otherwise the keys of this table move twice, and those of the other table once.
            ///
            /// # Errors
            /// As [`create`](Self::create).
            pub fn swap(&self, other: &Self) -> Result<()> {
                if self.0.swap(&other.0)? {
                    return Ok(());
                }
                let (ranks, rank) = self.0.ranks()?;
                let aside = Self::create(self.0.table.heap(), &ranks, self.geometry().buckets, rank)?;
                for (to, from) in [(&aside, self), (self, other), (other, &aside)] {
                    to.merge(from, None)?;
                    from.clear(None)?;
                }
                aside.destroy()
            }
        }
    };
}

/// Keys of any length with values of any length, on chosen ranks. The guarantees are those of [`GlobalMap`](crate::GlobalMap): every operation takes
/// effect at one moment, except those on the whole table.
pub struct PlacedMap<'h, 'w>(DirectoryTable<'h, 'w>);

/// Keys of any length with counts, on chosen ranks; with counts of 0 and 1, a set. See [`GlobalMultiset`](crate::GlobalMultiset).
pub struct PlacedMultiset<'h, 'w>(DirectoryTable<'h, 'w>);

alike!(PlacedMap, MAP);
alike!(PlacedMultiset, MULTISET);

impl PlacedMultiset<'_, '_> {
    /// Adds `count` to the count of a key; returns the count before.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); no memory is left on the key's rank.
    pub fn insert(&self, key: &[u8], count: u64) -> Result<u64> {
        let element = self.0.table.find_or_add(key, &[], count)?;
        if element.is_new { Ok(0) } else { self.0.world().fetch_add(element.state_at(), count)?.wait() }
    }

    /// Sets the count of a key to 1 if the key is absent; returns whether it was.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_once(&self, key: &[u8]) -> Result<bool> {
        self.0.table.find_or_add_once(key)
    }

    /// The count of a key.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn count(&self, key: &[u8]) -> Result<u64> {
        Ok(self.0.table.find(key, &mut [])?.map_or(0, |element| element.state))
    }

    /// Decrements the count of a key if it is present; returns the count before.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn remove(&self, key: &[u8]) -> Result<u64> {
        self.0.table.find(key, &mut [])?.map_or(Ok(0), |element| self.0.table.count_down(&element))
    }

    /// Removes a key; returns the count before.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn remove_all(&self, key: &[u8]) -> Result<u64> {
        self.0.table.find(key, &mut [])?.map_or(Ok(0), |element| self.0.table.count_out(&element))
    }

    /// Adds the counts of the keys of another multiset, of one row or of all.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn merge(&self, from: &Self, row: Option<u64>) -> Result<()> {
        from.0.for_each(row, |element, key| self.insert(key, from.0.table.header(element)?[1]).map(drop))
    }

    /// As [`merge`](Self::merge), but sets the count of each absent key to 1, and leaves other keys unchanged.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn merge_once(&self, from: &Self, row: Option<u64>) -> Result<()> {
        from.0.for_each(row, |_, key| self.insert_once(key).map(drop))
    }
}

impl PlacedMap<'_, '_> {
    /// Adds a key with its value if the key is absent; returns whether it was added.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); no memory is left on the key's rank.
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        let (table, world) = (&self.0.table, self.0.world());
        let room = value.len().next_multiple_of(8);
        let mut words = vec![0u64; VALUE_WORDS + room / 8];
        words[..VALUE_WORDS].copy_from_slice(&[room as u64, value.len() as u64]);
        words[VALUE_WORDS..].as_mut_bytes()[..value.len()].copy_from_slice(value);
        'again: loop {
            let element = table.find_or_add(key, &words, THERE)?;
            if element.is_new {
                return Ok(true);
            }
            let (mut state, at, mut pauses) = (element.state, element.value_at(key.len()), Pauses::new());
            loop {
                let found = match state & KIND_MASK {
                    _ if state == DEAD => continue 'again,
                    THERE => return Ok(false),
                    GONE if world.get(at)? < room as u64 => {
                        let found = world.compare_swap(element.state_at(), state, DEAD)?.wait()?;
                        if found == state { DEAD } else { found }
                    }
                    GONE => {
                        let found = world.compare_swap(element.state_at(), state, busy(world.rank()))?.wait()?;
                        if found == state {
                            let write = || world.put(at.add(1), &words[1..]);
                            world
                                .pair(write, |written| world.after(&written).set(element.state_at(), next_number(state) | THERE))?
                                .wait()?;
                            return Ok(true);
                        }
                        found
                    }
                    _ => table.later(&element, state, &mut pauses)?,
                };
                state = found;
            }
        }
    }

    /// Copies as much of the value of a key as fits into `into`; returns the length of the value, `None` if the key is absent.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn retrieve(&self, key: &[u8], into: &mut [u8]) -> Result<Option<u64>> {
        let (table, mut pauses) = (&self.0.table, Pauses::new());
        loop {
            // A short value is read together with its element.
            let mut words = [0; VALUE_WORDS + VALUE_WORDS_MAX];
            let wanted = VALUE_WORDS + into.len().div_ceil(8).min(VALUE_WORDS_MAX);
            let found = table.find_with(key, VALUE_WORDS, &mut words[..wanted])?;
            let Some((element, read)) = found else { return Ok(None) };
            match element.state & KIND_MASK {
                GONE => return Ok(None),
                BUSY => table.pause(element.state, &mut pauses)?,
                _ => {
                    let at = element.value_at(key.len()).add(VALUE_WORDS as u64);
                    let ([room, bytes], value) = ([words[0], words[1]], words[VALUE_WORDS..read].as_bytes());
                    let count = bytes.min(room).min(into.len() as u64) as usize;
                    // A value that was written more than once may have changed between the reads of the state and the value.
                    let is_here = count <= value.len() && element.state >> KIND_BITS == 0;
                    let is_whole = if is_here || count == 0 {
                        into[..count].copy_from_slice(&value[..count]);
                        table.is_unchanged(&element)?
                    } else {
                        table.read_whole(&element, bytes_at(at.address().bits())?, &mut into[..count])?
                    };
                    if is_whole {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Removes a key; returns whether it was present.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        self.0.table.find(key, &mut [])?.map_or(Ok(false), |element| self.0.table.take_out(&element))
    }

    /// The address and length of the value of a key.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); the position is the end.
    pub fn value_at(&self, position: Position) -> Result<(GlobalAddress, u64)> {
        let (key, bytes) = self.0.key_at(position.element)?;
        let at = key.bits() + bytes.next_multiple_of(8);
        let bytes = self.0.world().get(words_at(at)?.add(1))?;
        Ok((GlobalAddress::from_bits(at + 8 * VALUE_WORDS as u64), bytes))
    }

    /// Adds the keys of another map, of one row or of all, that are absent in this one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn merge(&self, from: &Self, row: Option<u64>) -> Result<()> {
        from.0.for_each(row, |element, key| {
            let (_, bytes) = from.value_at(Position { row: 0, bucket: 0, element })?;
            let mut value = vec![0; bytes as usize];
            match from.retrieve(key, &mut value)? {
                Some(bytes) => self.insert(key, &value[..(bytes as usize).min(value.len())]).map(drop),
                None => Ok(()),
            }
        })
    }
}

fn check(geometry: &Geometry) -> Result<()> {
    match geometry.ranks.checked_mul(geometry.buckets) {
        Some(0) => Err(Error::Invalid("a table needs at least one rank, and one bucket on each")),
        Some(..BUCKETS_END) => Ok(()),
        _ => Err(Error::Invalid("a table has fewer than 2^48 buckets on all ranks together")),
    }
}
