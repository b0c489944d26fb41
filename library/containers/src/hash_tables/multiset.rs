//! Keys with counts.

use core::marker::PhantomData;

use pelago_base::Rank;
use pelago_rma::{Pod, Result};
use zerocopy::IntoBytes;

use super::bulk::BULK_MAX;
use super::table::Table;
use crate::GlobalHeap;

/// Keys with counts, spread over all ranks. A removed key has the count 0, which is equivalent to an absent key; its memory is kept for the same key,
/// and only [`clear`](Self::clear) frees it.
///
/// All ranks may use it concurrently; every operation is linearizable: it takes effect at one moment between its call and its return.
///
/// A count is less than `u64::MAX`, which marks elements that are no longer used: a key whose count reaches it is lost.
///
/// Dropping it frees the buckets; the memory of its keys stays in the heap, unless [`clear`](Self::clear) has freed it before.
pub struct GlobalMultiset<'h, 'w, K> {
    table: Table<'h, 'w>,
    keys: PhantomData<fn(K)>,
}

impl<'h, 'w, K: Pod> GlobalMultiset<'h, 'w, K> {
    /// Creates a multiset with `buckets` buckets on each rank, about as many as the expected keys per rank. It allocates from `heap`. Collective.
    ///
    /// # Errors
    /// As [`World::alloc`](pelago_rma::World::alloc); `buckets` is 0.
    pub fn new(heap: &'h GlobalHeap<'w>, buckets: usize) -> Result<Self> {
        Ok(Self { table: Table::new(heap, buckets)?, keys: PhantomData })
    }

    /// The table of the counts.
    pub(crate) fn table(&self) -> &Table<'h, 'w> {
        &self.table
    }

    /// The rank that holds a key.
    pub fn owner(&self, key: &K) -> Rank {
        self.table.owner(key.as_bytes())
    }

    /// Adds `count` to the count of a key; returns the count before.
    ///
    /// Cost: for a key in the table, three round trips, and one more for each other key before it in its bucket. For a new key, two round trips, and those
    /// of an allocation for the first of many keys on a rank.
    ///
    /// # Errors
    /// The heap is full on the key's rank; that rank was lost, or the job is at fault.
    pub fn insert(&self, key: &K, count: u64) -> Result<u64> {
        let element = self.table.find_or_add(key.as_bytes(), &[], count)?;
        if element.is_new {
            return Ok(0);
        }
        self.table.world().fetch_add(element.state_at(), count)?.wait()
    }

    /// Adds `count` to the count of each of `keys`, once per occurrence.
    ///
    /// Up to 128 keys are in flight together. Each insertion takes effect at one moment of the call.
    ///
    /// Cost: for keys on ranks whose memory is not mapped, three round trips for up to 128 keys, and one more for each other key before one in its bucket;
    /// the messages to a rank carry the steps of all its keys. For keys in mapped memory, as [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some keys may have been counted.
    ///
    /// ```
    /// # use pelago_containers::{GlobalHeap, GlobalMultiset};
    /// # use pelago_rma::{Result, World};
    /// # fn example(world: &World, words: &[u64]) -> Result<()> {
    /// let heap = GlobalHeap::new(world, 1 << 20)?;
    /// let counts = GlobalMultiset::<u64>::new(&heap, 1 << 12)?;
    /// counts.insert_all(words, 1)?;
    /// world.barrier()?;
    /// println!("{} different words lie on rank {}", counts.local_keys()?, world.rank());
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_all(&self, keys: &[K], count: u64) -> Result<()> {
        let mut elsewhere = Vec::with_capacity(keys.len().min(BULK_MAX));
        for key in keys {
            if self.table.world().maps(self.owner(key)) {
                self.insert(key, count)?;
                continue;
            }
            elsewhere.push(key);
            if elsewhere.len() == BULK_MAX {
                self.insert_elsewhere(&elsewhere, count)?;
                elsewhere.clear();
            }
        }
        self.insert_elsewhere(&elsewhere, count)
    }

    /// Adds to the counts of up to `BULK_MAX` keys on ranks whose memory is not mapped.
    fn insert_elsewhere(&self, keys: &[&K], count: u64) -> Result<()> {
        let (world, mut added) = (self.table.world(), Vec::with_capacity(keys.len()));
        let mut state = |_, _: &mut Vec<u64>| count;
        self.table.search_all(keys.iter().map(|key| key.as_bytes()), 0, Some(&mut state), |_, element, _| {
            if let Some(element) = element.filter(|element| !element.is_new) {
                added.push(world.add(element.state_at(), count)?);
            }
            Ok(())
        })?;
        world.wait_all(&added)
    }

    /// The count of each of `keys`.
    ///
    /// Cost: as [`insert_all`](Self::insert_all), with two round trips.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn count_all(&self, keys: &[K]) -> Result<Vec<u64>> {
        let mut counts = Vec::with_capacity(keys.len());
        for keys in keys.chunks(BULK_MAX) {
            let first = counts.len();
            counts.resize(first + keys.len(), 0);
            self.table.search_all(keys.iter().map(IntoBytes::as_bytes), 0, None, |index, element, _| {
                counts[first + index] = element.map_or(0, |element| element.state);
                Ok(())
            })?;
        }
        Ok(counts)
    }

    /// The count of a key.
    ///
    /// Cost: two round trips, and one more for each other key before it in its bucket.
    ///
    /// # Errors
    /// The key's rank was lost, or the job is at fault.
    pub fn count(&self, key: &K) -> Result<u64> {
        Ok(self.table.find(key.as_bytes(), &mut [])?.map_or(0, |element| element.state))
    }

    /// Decrements the count of a key if it is present; returns the count before.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn remove(&self, key: &K) -> Result<u64> {
        self.table.find(key.as_bytes(), &mut [])?.map_or(Ok(0), |element| self.table.count_down(&element))
    }

    /// Removes a key; returns the count before.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn remove_all(&self, key: &K) -> Result<u64> {
        self.table.find(key.as_bytes(), &mut [])?.map_or(Ok(0), |element| self.table.count_out(&element))
    }

    /// Calls `f` with every key of this rank and its count, in no order.
    ///
    /// Cost: no message. Keys that other ranks add meanwhile may be missed.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn for_each_local(&self, mut f: impl FnMut(K, u64)) -> Result<()> {
        self.table.for_each_local(0, |key, bytes, count, _| {
            if let Ok(key) = K::read_from_bytes(&key.as_bytes()[..bytes])
                && count > 0
            {
                f(key, count);
            }
        })
    }

    /// The number of keys of this rank. Cost: no message, and a traversal of the keys.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn local_keys(&self) -> Result<u64> {
        let mut keys = 0;
        self.for_each_local(|_, _| keys += 1)?;
        Ok(keys)
    }

    /// As [`for_each_local`](Self::for_each_local), with the keys of another rank.
    ///
    /// Cost: a round trip for each 1,024 buckets, and for each 128 buckets as many round trips as their longest list has keys.
    ///
    /// # Errors
    /// The rank was lost, or the job is at fault.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn for_each_on(&self, rank: Rank, mut f: impl FnMut(K, u64)) -> Result<()> {
        self.table.for_each_on(rank, size_of::<K>(), 0, |key, bytes, count, _| {
            if let Ok(key) = K::read_from_bytes(&key.as_bytes()[..bytes])
                && count > 0
            {
                f(key, count);
            }
        })
    }

    /// Removes all keys and frees their memory. Collective.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn clear(&self) -> Result<()> {
        self.table.clear()
    }
}
