//! Vectors and deques of values of a type.

use core::marker::PhantomData;

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Error, Pod, Result};
use zerocopy::IntoBytes;

use super::sequence::{End, Form, InsertAt, Sequence};
use crate::GlobalHeap;
use crate::memory::ByteSource;

/// The common methods of vector and deque, implemented by the sequence of bytes.
macro_rules! rows {
    ($name:ident, $form:ident) => {
        impl<T> Clone for $name<'_, '_, T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<'_, '_, T> {}

        impl<'h, 'w, T: Pod> $name<'h, 'w, T> {
            /// Creates an empty container on `rank`, with a capacity of `capacity` values.
            ///
            /// Cost: two allocations.
            ///
            /// # Errors
            /// As [`GlobalHeap::allocate`].
            ///
            /// # Panics
            /// A value has no bytes.
            pub fn new(heap: &'h GlobalHeap<'w>, rank: Rank, capacity: u64) -> Result<Self> {
                let bytes = bytes_of::<T>(capacity)?;
                Ok(Self { bytes: Sequence::create(heap, Form::$form, rank, bytes)?, values: PhantomData })
            }

            /// Opens the container that another rank has created, by its address.
            ///
            /// # Errors
            /// The address is null. Operations return an error if the address is that of another container.
            pub fn open(heap: &'h GlobalHeap<'w>, at: GlobalAddress) -> Result<Self> {
                Ok(Self { bytes: Sequence::open(heap, Form::$form, at)?, values: PhantomData })
            }

            /// Its address, for other ranks.
            pub fn address(&self) -> GlobalAddress {
                self.bytes.address()
            }

            /// The sequence of its bytes.
            pub fn bytes(&self) -> Sequence<'h, 'w> {
                self.bytes
            }

            /// Frees its memory.
            ///
            /// # Errors
            /// It does not exist; its rank was lost, or the job is at fault. The same holds for all following methods.
            pub fn destroy(self) -> Result<()> {
                self.bytes.destroy()
            }

            /// The number of values. Cost: one round trip.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn len(&self) -> Result<u64> {
                Ok(self.bytes.bytes()? / size_of::<T>() as u64)
            }

            /// Whether it has no values. Cost: one round trip.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn is_empty(&self) -> Result<bool> {
                Ok(self.len()? == 0)
            }

            /// Adds a value at the end. Cost: two round trips.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy); no memory is left on the rank.
            pub fn push_back(&self, value: T) -> Result<()> {
                self.extend_from_slice(&[value])
            }

            /// Adds values at the end. Cost: as for one.
            ///
            /// # Errors
            /// As [`push_back`](Self::push_back).
            pub fn extend_from_slice(&self, values: &[T]) -> Result<()> {
                self.bytes.insert(InsertAt::Back, &[ByteSource::Bytes(values.as_bytes())]).map(drop)
            }

            /// Removes and returns the last value. Cost: two round trips, one if there is none.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn pop_back(&self) -> Result<Option<T>> {
                let (mut value, bytes) = (T::new_zeroed(), bytes_of::<T>(1)? as usize);
                Ok(self.bytes.take(End::Back, &mut value.as_mut_bytes()[..bytes])?.then_some(value))
            }

            /// The value at an index. Cost: two round trips.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy); there is no such value.
            pub fn get(&self, index: u64) -> Result<T> {
                Ok(self.range(index, 1)?[0])
            }

            /// Overwrites the value at an index. Cost: two round trips.
            ///
            /// # Errors
            /// As [`get`](Self::get).
            pub fn set(&self, index: u64, value: T) -> Result<()> {
                self.bytes.overwrite(bytes_of::<T>(index)?, ByteSource::Bytes(value.as_bytes()))
            }

            /// Inserts values before the one at an index. Cost: as [`Sequence::insert`].
            ///
            /// # Errors
            /// As [`get`](Self::get); no memory is left on the rank.
            pub fn insert(&self, index: u64, values: &[T]) -> Result<()> {
                self.bytes.insert(InsertAt::At(bytes_of::<T>(index)?), &[ByteSource::Bytes(values.as_bytes())]).map(drop)
            }

            /// Removes `count` values from an index on. Cost: as [`Sequence::erase`].
            ///
            /// # Errors
            /// As [`get`](Self::get).
            pub fn erase(&self, index: u64, count: u64) -> Result<()> {
                self.bytes.erase(bytes_of::<T>(index)?, bytes_of::<T>(count)?)
            }

            /// Copies of `count` values from an index on. Cost: as for one value.
            ///
            /// # Errors
            /// As [`get`](Self::get).
            pub fn range(&self, index: u64, count: u64) -> Result<Vec<T>> {
                // Checks the range before it allocates memory for the values.
                let pieces = self.bytes.pieces(bytes_of::<T>(index)?, bytes_of::<T>(count)?)?;
                let mut values = vec![T::new_zeroed(); count as usize];
                self.bytes.read_pieces(pieces, values.as_mut_bytes())?;
                Ok(values)
            }

            /// Copies of all values.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn to_vec(&self) -> Result<Vec<T>> {
                self.range(0, self.len()?)
            }

            /// Removes all values; the capacity stays.
            ///
            /// # Errors
            /// As [`destroy`](Self::destroy).
            pub fn clear(&self) -> Result<()> {
                self.bytes.clear()
            }

            /// Increases the capacity to at least `capacity` values in total.
            ///
            /// # Errors
            /// As [`push_back`](Self::push_back).
            pub fn reserve(&self, capacity: u64) -> Result<()> {
                self.bytes.reserve(bytes_of::<T>(capacity)?)
            }
        }
    };
}

/// Contiguous values on one rank, growing at the end. All ranks may read it; one rank at a time may change it, and no rank may read it meanwhile.
///
/// ```
/// # use pelago_containers::{GlobalHeap, GlobalVector};
/// # fn example(heap: &GlobalHeap<'_>) -> pelago_rma::Result<()> {
/// let vector = GlobalVector::<u64>::new(heap, heap.world().rank(), 10)?;
/// vector.extend_from_slice(&[1, 2, 5])?;
/// vector.insert(2, &[3, 4])?;
/// assert_eq!(vector.to_vec()?, [1, 2, 3, 4, 5]);
/// # Ok(())
/// # }
/// ```
pub struct GlobalVector<'h, 'w, T> {
    bytes: Sequence<'h, 'w>,
    values: PhantomData<fn(T)>,
}

/// As [`GlobalVector`], growing at both ends.
pub struct GlobalDeque<'h, 'w, T> {
    bytes: Sequence<'h, 'w>,
    values: PhantomData<fn(T)>,
}

rows!(GlobalVector, Vector);
rows!(GlobalDeque, Deque);

impl<T: Pod> GlobalDeque<'_, '_, T> {
    /// Adds a value at the beginning. Cost: two round trips.
    ///
    /// # Errors
    /// As [`push_back`](Self::push_back).
    pub fn push_front(&self, value: T) -> Result<()> {
        self.bytes.insert(InsertAt::Front, &[ByteSource::Bytes(value.as_bytes())]).map(drop)
    }

    /// Removes and returns the first value. Cost: two round trips, one if there is none.
    ///
    /// # Errors
    /// As [`destroy`](Self::destroy).
    pub fn pop_front(&self) -> Result<Option<T>> {
        let (mut value, bytes) = (T::new_zeroed(), bytes_of::<T>(1)? as usize);
        Ok(self.bytes.take(End::Front, &mut value.as_mut_bytes()[..bytes])?.then_some(value))
    }
}

/// The size of `values` values in bytes.
fn bytes_of<T>(values: u64) -> Result<u64> {
    const { assert!(size_of::<T>() > 0, "a value has bytes") };
    values.checked_mul(size_of::<T>() as u64).ok_or(Error::Invalid("the values are larger than the address space"))
}
