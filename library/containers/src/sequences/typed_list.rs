//! Lists of values of a type.

use core::marker::PhantomData;

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Error, Pod, Result};

use super::list::List;
use crate::GlobalHeap;
use crate::memory::ByteSource;

/// A list of values, each on a chosen rank. All ranks may read it; one rank at a time may change it.
///
/// The address of a value is valid until the value is erased; [`end`](Self::end) is the position after the last value.
pub struct GlobalList<'h, 'w, T> {
    list: List<'h, 'w>,
    values: PhantomData<fn(T)>,
}

impl<'h, 'w, T: Pod> GlobalList<'h, 'w, T> {
    /// Creates an empty list on `rank`. Cost: an allocation.
    ///
    /// # Errors
    /// As [`GlobalHeap::allocate`].
    pub fn new(heap: &'h GlobalHeap<'w>, rank: Rank) -> Result<Self> {
        Ok(Self { list: List::create(heap, rank)?, values: PhantomData })
    }

    /// Opens the list at an address of another rank.
    ///
    /// # Errors
    /// The address is null. Operations return an error if the address is not that of a list.
    pub fn open(heap: &'h GlobalHeap<'w>, at: GlobalAddress) -> Result<Self> {
        Ok(Self { list: List::open(heap, at)?, values: PhantomData })
    }

    /// The position after the last value, which is also the list's address, for other ranks.
    pub fn end(&self) -> GlobalAddress {
        self.list.address()
    }

    /// The list of the values' bytes, with further operations: neighbours, splicing, other orders.
    pub fn bytes(&self) -> List<'h, 'w> {
        self.list
    }

    /// Inserts a value on `rank` before another, or at the end; returns its address. Cost: as [`List::insert`].
    ///
    /// # Errors
    /// As [`List::insert`].
    pub fn insert(&self, before: GlobalAddress, value: T, rank: Rank) -> Result<GlobalAddress> {
        self.list.insert(before, ByteSource::Bytes(value.as_bytes()), rank)
    }

    /// Adds a value on `rank` at the end.
    ///
    /// # Errors
    /// As [`List::insert`].
    pub fn push_back(&self, value: T, rank: Rank) -> Result<GlobalAddress> {
        self.insert(self.end(), value, rank)
    }

    /// Adds a value on `rank` at the beginning.
    ///
    /// # Errors
    /// As [`List::insert`].
    pub fn push_front(&self, value: T, rank: Rank) -> Result<GlobalAddress> {
        self.insert(self.list.next(self.end())?, value, rank)
    }

    /// Removes a value; returns the address of the next one.
    ///
    /// # Errors
    /// As [`List::erase`].
    pub fn erase(&self, at: GlobalAddress) -> Result<GlobalAddress> {
        self.list.erase(at)
    }

    /// The value at an address.
    ///
    /// # Errors
    /// As [`List::read`].
    pub fn get(&self, at: GlobalAddress) -> Result<T> {
        T::read_from_bytes(&self.list.read(at)?).map_err(|_| Error::Invalid("the element of the list has another type"))
    }

    /// Copies of all values. Cost: three round trips for each.
    ///
    /// # Errors
    /// As [`List::elements`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.list.elements()?.into_iter().map(|at| self.get(at)).collect()
    }

    /// Sorts the values; the sort is stable. Cost: as [`to_vec`](Self::to_vec), and that of [`List::relink`].
    ///
    /// # Errors
    /// As [`List::elements`].
    pub fn sort_by(&self, mut compare: impl FnMut(&T, &T) -> core::cmp::Ordering) -> Result<()> {
        let elements = self.list.elements()?.into_iter();
        let mut values = elements.map(|at| Ok((self.get(at)?, at))).collect::<Result<Vec<_>>>()?;
        values.sort_by(|(one, _), (other, _)| compare(one, other));
        self.list.relink(&values.into_iter().map(|(_, at)| at).collect::<Vec<_>>())
    }
}
