//! A set of keys.

use pelago_base::Rank;
use pelago_rma::{Pod, Result};

use zerocopy::IntoBytes;

use super::bulk::BULK_MAX;
use super::table::{Element, Table};
use crate::{GlobalHeap, GlobalMultiset};

/// A set of keys, spread over all ranks. All ranks may use it concurrently; every operation is linearizable.
///
/// It is a multiset whose counts are 0 and 1; [`clear`](Self::clear) frees the memory of its keys, removing keys and dropping the set do not.
pub struct GlobalSet<'h, 'w, K> {
    counts: GlobalMultiset<'h, 'w, K>,
}

impl<'h, 'w, K: Pod> GlobalSet<'h, 'w, K> {
    /// Creates a set with `buckets` buckets on each rank, about as many as the expected keys per rank. It allocates from `heap`. Collective.
    ///
    /// # Errors
    /// As [`World::alloc`](pelago_rma::World::alloc); `buckets` is 0.
    pub fn new(heap: &'h GlobalHeap<'w>, buckets: usize) -> Result<Self> {
        Ok(Self { counts: GlobalMultiset::new(heap, buckets)? })
    }

    /// The rank that holds a key.
    pub fn owner(&self, key: &K) -> Rank {
        self.counts.owner(key)
    }

    /// Adds a key; returns whether it was absent.
    ///
    /// Cost: as [`GlobalMultiset::insert`].
    ///
    /// # Errors
    /// As [`GlobalMultiset::insert`].
    pub fn insert(&self, key: &K) -> Result<bool> {
        self.counts.table().find_or_add_once(key.as_bytes())
    }

    /// Adds each key; returns the number of keys that were absent.
    ///
    /// Cost: three round trips for up to 128 new keys, and one more for each other key before one in its bucket. A key that was removed before: as
    /// [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some keys may have been added.
    pub fn insert_all(&self, keys: &[K]) -> Result<usize> {
        let mut count = 0;
        for keys in keys.chunks(BULK_MAX) {
            let mut again = Vec::new();
            let bytes = keys.iter().map(IntoBytes::as_bytes);
            self.counts.table().search_all(bytes, 0, Some(&mut |_, _| 1), |index, element, _| {
                match element {
                    Some(element) if element.is_new => count += 1,
                    Some(element) if element.state == 0 => again.push(index),
                    _ => {}
                }
                Ok(())
            })?;
            for index in again {
                count += usize::from(self.insert(&keys[index])?);
            }
        }
        Ok(count)
    }

    /// Removes each key; returns the number of keys that were present.
    ///
    /// Cost: three round trips for up to 128 keys, and one more for each other key before one in its bucket.
    ///
    /// # Errors
    /// As [`GlobalMultiset::count`]; some keys may have been removed.
    pub fn remove_all(&self, keys: &[K]) -> Result<usize> {
        let (table, mut count) = (self.counts.table(), 0);
        for keys in keys.chunks(BULK_MAX) {
            let mut found = Vec::new();
            table.search_all(keys.iter().map(IntoBytes::as_bytes), 0, None, |_, element, _| {
                found.extend(element.filter(|element| element.state > 0));
                Ok(())
            })?;
            let swap = |element: &Element| table.world().swap(element.state_at(), 0);
            let swapped = table.world().batch(|| found.iter().map(swap).collect::<Result<Vec<_>>>())?;
            for before in swapped {
                count += usize::from(before.wait()? > 0);
            }
        }
        Ok(count)
    }

    /// Whether each of `keys` is present. Cost: as [`GlobalMultiset::count_all`].
    ///
    /// # Errors
    /// As [`GlobalMultiset::count`].
    pub fn contains_all(&self, keys: &[K]) -> Result<Vec<bool>> {
        Ok(self.counts.count_all(keys)?.into_iter().map(|count| count > 0).collect())
    }

    /// Whether a key is present.
    ///
    /// # Errors
    /// As [`GlobalMultiset::count`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        Ok(self.counts.count(key)? > 0)
    }

    /// Removes a key; returns whether it was present.
    ///
    /// # Errors
    /// As [`GlobalMultiset::count`].
    pub fn remove(&self, key: &K) -> Result<bool> {
        Ok(self.counts.remove_all(key)? > 0)
    }

    /// Calls `f` with every key of this rank, in no order.
    ///
    /// # Errors
    /// As [`GlobalMultiset::for_each_local`].
    pub fn for_each_local(&self, mut f: impl FnMut(K)) -> Result<()> {
        self.counts.for_each_local(|key, _| f(key))
    }

    /// As [`for_each_local`](Self::for_each_local), with the keys of another rank; see [`GlobalMultiset::for_each_on`].
    ///
    /// # Errors
    /// The rank was lost, or the job is at fault.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn for_each_on(&self, rank: Rank, mut f: impl FnMut(K)) -> Result<()> {
        self.counts.for_each_on(rank, |key, _| f(key))
    }

    /// Removes all keys and frees their memory. Collective.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn clear(&self) -> Result<()> {
        self.counts.clear()
    }
}

impl<B: super::table::Buckets> Table<'_, '_, B> {
    /// Sets the count of a key to 1 if it is 0; returns whether it was.
    pub(crate) fn find_or_add_once(&self, key: &[u8]) -> Result<bool> {
        let element = self.find_or_add(key, &[], 1)?;
        Ok(element.is_new || element.state == 0 && self.world().compare_swap(element.state_at(), 0, 1)?.wait()? == 0)
    }
}
