//! Doubly linked lists, with each element on a chosen rank.
//!
//! The words of the list itself are a link like those of elements. Their layout is that of the C library ACP, whose programs read them; the mark,
//! which programs do not use, is the word before:
//!
//! | | word −1 | 0 | 1 | 2 | from 3 on |
//! |---|---|---|---|---|---|
//! | list | mark | first element | last element | number of elements | |
//! | element | mark | next element | previous element | bytes of the value | value |
//!
//! The links form a ring: the list precedes its first element and follows its last one. The address of the list is its end.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Error, GlobalPtr, Handle, Result, World};

use crate::GlobalHeap;
use crate::memory::{ByteSource, bytes_at, words_at, words_before};

/// Indices of the words of a link; the bytes of an element follow the link.
const MARK: usize = 0;
const NEXT: usize = 1;
const BEFORE: usize = 2;
/// The number of bytes of an element, or the number of elements of a list.
const COUNT: usize = 3;
const WORDS: usize = 4;

/// Offset in bytes from the address of a link, which is behind its mark, to the bytes of an element.
const VALUE: u64 = 8 * (WORDS as u64 - 1);

const LIST: u64 = 0x7065_6c61_676f_0300;
const ELEMENT: u64 = 0x7065_6c61_676f_0301;

/// A list of elements, each on a chosen rank. All ranks may read it; one rank at a time may change it, and no rank may read it meanwhile.
///
/// Any rank can open it by its [`address`](Self::address). It exists until it is destroyed. The address of an element is valid until the element is
/// erased; the address of the list is the position after the last element.
#[derive(Clone, Copy)]
pub struct List<'h, 'w> {
    heap: &'h GlobalHeap<'w>,
    /// Its mark, which the other words follow.
    mark: GlobalPtr<u64>,
}

impl<'h, 'w> List<'h, 'w> {
    /// Creates an empty list on `rank`. Cost: an allocation.
    ///
    /// # Errors
    /// As [`GlobalHeap::allocate`].
    pub fn create(heap: &'h GlobalHeap<'w>, rank: Rank) -> Result<Self> {
        let mark = GlobalPtr::from_address(heap.allocate(rank, 8 * WORDS as u64)?)?;
        let list = Self { heap, mark };
        let end = list.address().bits();
        list.world().put(mark, &[LIST, end, end, 0])?.wait()?;
        Ok(list)
    }

    /// Opens the list at an address.
    ///
    /// # Errors
    /// The address is null. Operations return an error if the address is not that of a list.
    pub fn open(heap: &'h GlobalHeap<'w>, at: GlobalAddress) -> Result<Self> {
        Ok(Self { heap, mark: words_before(at)? })
    }

    /// Its address, for other ranks, which is also the position after the last element.
    pub fn address(&self) -> GlobalAddress {
        self.mark.add(1).address()
    }

    /// Frees the list and its elements.
    ///
    /// # Errors
    /// It is not a list; a rank was lost, or the job is at fault. The same holds for all following methods.
    pub fn destroy(self) -> Result<()> {
        self.clear()?;
        self.world().put(self.mark, &[0])?.wait()?;
        self.heap.free(self.mark.address())
    }

    /// The number of elements. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn len(&self) -> Result<u64> {
        Ok(self.link(self.address())?[COUNT])
    }

    /// Whether the list has no elements. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The element after `element`; the first element, if `element` is the end. Cost: one round trip.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); there is no such element.
    pub fn next(&self, element: GlobalAddress) -> Result<GlobalAddress> {
        Ok(GlobalAddress::from_bits(self.link(element)?[NEXT]))
    }

    /// The element before `element`; the last element, if `element` is the end. Cost: one round trip.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn before(&self, element: GlobalAddress) -> Result<GlobalAddress> {
        Ok(GlobalAddress::from_bits(self.link(element)?[BEFORE]))
    }

    /// The address and number of the bytes of an element. Cost: one round trip.
    ///
    /// # Errors
    /// As [`next`](Self::next); `element` is the end.
    pub fn bytes_of(&self, element: GlobalAddress) -> Result<(GlobalAddress, u64)> {
        let bytes = self.element(element)?[COUNT];
        Ok((GlobalAddress::from_bits(element.bits() + VALUE), bytes))
    }

    /// A copy of the bytes of an element. Cost: two round trips.
    ///
    /// # Errors
    /// As [`bytes_of`](Self::bytes_of).
    pub fn read(&self, element: GlobalAddress) -> Result<Vec<u8>> {
        let (at, bytes) = self.bytes_of(element)?;
        let mut found = vec![0; bytes as usize];
        self.world().get_into(bytes_at(at.bits())?, &mut found)?;
        Ok(found)
    }

    /// Inserts a new element on `rank` before another, or at the end; returns its address.
    ///
    /// Cost: an allocation, and two round trips; one more for bytes that are copied from a global address.
    ///
    /// # Errors
    /// As [`next`](Self::next); no memory is left on the rank; the bytes cannot be read, and the list stays as it was.
    pub fn insert(&self, before: GlobalAddress, from: ByteSource<'_>, rank: Rank) -> Result<GlobalAddress> {
        let previous = self.link(before)?[BEFORE];
        let block = self.heap.allocate(rank, 8 * WORDS as u64 + from.bytes())?;
        let mark = GlobalPtr::<u64>::from_address(block)?;
        let (at, world) = (mark.add(1).address().bits(), self.world());
        let mut writes = vec![world.put(mark, &[ELEMENT, before.bits(), previous, from.bytes()])?];
        if from.bytes() > 0 {
            let written = from.write(world, 0, from.bytes(), at + VALUE).and_then(|write| match from {
                ByteSource::Bytes(_) => Ok(write),
                // No rank may find an element whose bytes cannot be read.
                ByteSource::Global(..) => write.wait().map(|()| write),
            });
            match written {
                Ok(write) => writes.push(write),
                Err(error) => {
                    let _first_error_is_told = world.wait_all(&writes).and_then(|()| self.heap.free(block));
                    return Err(error);
                }
            }
        }
        writes.push(self.set(previous, NEXT, at)?);
        writes.push(self.set(before.bits(), BEFORE, at)?);
        writes.push(world.add(self.mark.add(COUNT as u64), 1)?);
        world.wait_all(&writes)?;
        Ok(GlobalAddress::from_bits(at))
    }

    /// Removes an element; returns the next one.
    ///
    /// # Errors
    /// As [`bytes_of`](Self::bytes_of).
    pub fn erase(&self, element: GlobalAddress) -> Result<GlobalAddress> {
        let link = self.element(element)?;
        let mut writes = vec![self.set(link[BEFORE], NEXT, link[NEXT])?, self.set(link[NEXT], BEFORE, link[BEFORE])?];
        writes.push(self.world().add(self.mark.add(COUNT as u64), u64::MAX)?);
        writes.push(self.set(element.bits(), MARK, 0)?);
        self.world().wait_all(&writes)?;
        self.free(element)?;
        Ok(GlobalAddress::from_bits(link[NEXT]))
    }

    /// Removes all elements.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn clear(&self) -> Result<()> {
        let elements = self.elements()?;
        self.relink(&[])?;
        for element in elements {
            self.set(element.bits(), MARK, 0)?.wait()?;
            self.free(element)?;
        }
        Ok(())
    }

    /// All elements, in order. Cost: one round trip for each.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy); the list is broken.
    pub fn elements(&self) -> Result<Vec<GlobalAddress>> {
        let [_, mut next, _, count] = self.link(self.address())?;
        let mut found = Vec::new();
        while next != self.address().bits() {
            if found.len() as u64 == count {
                return Err(Error::Invalid("the list is damaged: two ranks have changed it at the same time"));
            }
            let element = GlobalAddress::from_bits(next);
            found.push(element);
            next = self.element(element)?[NEXT];
        }
        Ok(found)
    }

    /// Sets the elements of the list and their order. Previous elements that are left out belong to the caller.
    ///
    /// Cost: one round trip to check the list, and one for all writes together.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn relink(&self, elements: &[GlobalAddress]) -> Result<()> {
        self.link(self.address())?;
        let (end, world) = (self.address().bits(), self.world());
        let neighbour = |index: Option<usize>| index.and_then(|index| elements.get(index)).map_or(end, |at| at.bits());
        let mut writes = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let link = [neighbour(Some(index + 1)), neighbour(index.checked_sub(1))];
            writes.push(world.put(words_at(element.bits())?, &link)?);
        }
        let link = [neighbour(Some(0)), neighbour(elements.len().checked_sub(1)), elements.len() as u64];
        writes.push(world.put(self.mark.add(NEXT as u64), &link)?);
        world.wait_all(&writes)
    }

    /// Moves the elements of another list, or of this one, from `first` up to but not including `end`, before an element of this one. Their bytes stay in
    /// place.
    ///
    /// Cost: one round trip for each moved element, and four more.
    ///
    /// # Errors
    /// As [`next`](Self::next); the element is one of those that are moved, and not the first.
    pub fn splice(&self, before: GlobalAddress, from: &Self, first: GlobalAddress, end: GlobalAddress) -> Result<()> {
        if first == end || before == first || from.address() == self.address() && before == end {
            return Ok(());
        }
        let (mut count, mut last) = (0, first);
        let mut next = first;
        while next != end {
            if next == before {
                return Err(Error::Invalid("elements of a list cannot be moved before one of themselves"));
            }
            (count, last) = (count + 1, next);
            next = GlobalAddress::from_bits(from.element(next)?[NEXT]);
        }
        let previous = from.element(first)?[BEFORE];
        self.world().wait_all(&[from.set(previous, NEXT, end.bits())?, from.set(end.bits(), BEFORE, previous)?])?;
        let previous = self.link(before)?[BEFORE];
        let mut writes = vec![
            self.set(previous, NEXT, first.bits())?,
            self.set(first.bits(), BEFORE, previous)?,
            self.set(last.bits(), NEXT, before.bits())?,
            self.set(before.bits(), BEFORE, last.bits())?,
        ];
        if from.address() != self.address() {
            writes.push(self.world().add(self.mark.add(COUNT as u64), count)?);
            writes.push(self.world().add(from.mark.add(COUNT as u64), 0u64.wrapping_sub(count))?);
        }
        self.world().wait_all(&writes)
    }

    /// Removes every element for which `is_wanted` returns `false`. Its arguments are the bytes of the previous kept element, if any, and of the element.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn retain(&self, mut is_wanted: impl FnMut(Option<&[u8]>, &[u8]) -> bool) -> Result<()> {
        let (mut kept, mut gone): (Vec<_>, Vec<_>) = Default::default();
        let mut before: Option<Vec<u8>> = None;
        for element in self.elements()? {
            let bytes = self.read(element)?;
            if is_wanted(before.as_deref(), &bytes) {
                kept.push(element);
                before = Some(bytes);
            } else {
                gone.push(element);
            }
        }
        self.relink(&kept)?;
        for element in gone {
            self.set(element.bits(), MARK, 0)?.wait()?;
            self.free(element)?;
        }
        Ok(())
    }

    /// Exchanges the elements of two lists.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn swap(&self, other: &Self) -> Result<()> {
        let (one, two) = (self.elements()?, other.elements()?);
        self.relink(&two)?;
        other.relink(&one)
    }

    /// Replaces the elements by copies of elements of this or another list, each on the rank of its original.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn assign(&self, from: &Self, elements: &[GlobalAddress]) -> Result<()> {
        let old = self.elements()?;
        self.copy(self.address(), from, elements)?;
        old.into_iter().try_for_each(|element| self.erase(element).map(drop))
    }

    /// Inserts copies of elements of this or another list before an element; returns the first copy, or that element if there are none.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn copy(&self, before: GlobalAddress, from: &Self, elements: &[GlobalAddress]) -> Result<GlobalAddress> {
        let mut first = None;
        for &element in elements {
            let (at, bytes) = from.bytes_of(element)?;
            let rank = self.world().reach().addresses().rank(element);
            let new = self.insert(before, ByteSource::Global(at, bytes), rank)?;
            first = first.or(Some(new));
        }
        Ok(first.unwrap_or(before))
    }

    /// The words of a link: of an element, or of the list.
    fn link(&self, at: GlobalAddress) -> Result<[u64; WORDS]> {
        let mut words = [0; WORDS];
        self.world().get_into(words_before(at)?, &mut words)?;
        match words[MARK] {
            LIST if at == self.address() => Ok(words),
            ELEMENT if at != self.address() => Ok(words),
            _ if at == self.address() => Err(Error::Invalid("there is no list at this address")),
            _ => Err(Error::Invalid("there is no element of a list at this address")),
        }
    }

    fn element(&self, at: GlobalAddress) -> Result<[u64; WORDS]> {
        if at == self.address() { Err(Error::Invalid("the end of a list is not an element")) } else { self.link(at) }
    }

    /// Begins to write a word of a link.
    fn set(&self, link: u64, word: usize, value: u64) -> Result<Handle<'w>> {
        self.world().put(words_before(GlobalAddress::from_bits(link))?.add(word as u64), &[value])
    }

    /// Frees the memory of an element.
    fn free(&self, element: GlobalAddress) -> Result<()> {
        self.heap.free(words_before(element)?.address())
    }

    fn world(&self) -> &'w World {
        self.heap.world()
    }
}
