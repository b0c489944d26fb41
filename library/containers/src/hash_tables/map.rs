//! Keys with values.
//!
//! The state of an element contains whether its key is present, and the number of writes of its value. A writer first sets the state to *busy* with its
//! rank by compare-and-swap, which excludes other writers, and afterwards to the next number. So a value that was read between two equal states that are
//! not busy is consistent. An operation that finds a busy state waits, or fails if the writer was lost.
//! The first value was written before any rank could find its element: if the state still has its number after the value was read, the value is
//! consistent too, in whatever order state and value were first read.

use core::marker::PhantomData;
use core::sync::atomic::{Ordering, fence};

use pelago_base::Rank;
use pelago_rma::{Pod, Result};
use zerocopy::IntoBytes;

use super::bulk::BULK_MAX;
use super::element_state::{BUSY, GONE, KIND_BITS, KIND_MASK, THERE, busy, next_number};
use super::table::{Element, Pauses, Table};
use crate::GlobalHeap;

/// Keys with values, spread over all ranks.
///
/// All ranks may use it concurrently; every operation is linearizable: it takes effect at one moment between its call and its return. An operation
/// waits for another only while that one writes the value of the same key. If a rank is lost while it writes the value of a key, all operations on that
/// key fail with the loss of that rank.
///
/// The memory of a removed key is kept for the same key, and only [`clear`](Self::clear) frees it: a map through which ever different keys pass fills its
/// heap. Dropping the map frees the buckets; the memory of its keys stays in the heap, unless [`clear`](Self::clear) has freed it before.
pub struct GlobalMap<'h, 'w, K, V> {
    table: Table<'h, 'w>,
    pairs: PhantomData<fn(K) -> V>,
}

impl<'h, 'w, K: Pod, V: Pod> GlobalMap<'h, 'w, K, V> {
    /// Creates a map with `buckets` buckets on each rank, about as many as the expected keys per rank. It allocates from `heap`. Collective.
    ///
    /// # Errors
    /// As [`World::alloc`](pelago_rma::World::alloc); `buckets` is 0.
    pub fn new(heap: &'h GlobalHeap<'w>, buckets: usize) -> Result<Self> {
        Ok(Self { table: Table::new(heap, buckets)?, pairs: PhantomData })
    }

    /// The table of the values.
    pub(super) fn table(&self) -> &Table<'h, 'w> {
        &self.table
    }

    /// The rank that holds a key.
    pub fn owner(&self, key: &K) -> Rank {
        self.table.owner(key.as_bytes())
    }

    /// Adds a key with its value if the key is absent; returns whether it was added.
    ///
    /// Cost: for a new key, two round trips, one more for each other key in its bucket, and those of an allocation for the first of many keys on a rank.
    ///
    /// # Errors
    /// The heap is full on the key's rank; that rank was lost, or another rank while it wrote the value of the key; the job is at fault.
    pub fn insert(&self, key: &K, value: &V) -> Result<bool> {
        let element = self.table.find_or_add(key.as_bytes(), &words_of(value), THERE)?;
        if element.is_new {
            return Ok(true);
        }
        let (mut state, mut pauses) = (element.state, Pauses::new());
        loop {
            match state & KIND_MASK {
                THERE => return Ok(false),
                GONE => match self.write(&element, state, value)? {
                    None => return Ok(true),
                    Some(found) => state = found,
                },
                _ => state = self.table.later(&element, state, &mut pauses)?,
            }
        }
    }

    /// Writes the value of a key; adds the key if it is absent, and returns whether it did.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn set(&self, key: &K, value: &V) -> Result<bool> {
        let element = self.table.find_or_add(key.as_bytes(), &words_of(value), THERE)?;
        if element.is_new {
            return Ok(true);
        }
        let (mut state, mut pauses) = (element.state, Pauses::new());
        loop {
            if state & KIND_MASK == BUSY {
                state = self.table.later(&element, state, &mut pauses)?;
                continue;
            }
            match self.write(&element, state, value)? {
                None => return Ok(state & KIND_MASK == GONE),
                Some(found) => state = found,
            }
        }
    }

    /// The value of a key, if it is present.
    ///
    /// Cost: two round trips, three if the value was written more than once, and one more for each other key before it in its bucket. If the network does
    /// not order two reads, one more for each of these except the first.
    ///
    /// # Errors
    /// The key's rank was lost, or another rank while it wrote the value of the key; the job is at fault.
    pub fn find(&self, key: &K) -> Result<Option<V>> {
        let (mut value, mut pauses) = (vec![0u64; size_of::<V>().div_ceil(8)], Pauses::new());
        loop {
            let Some(element) = self.table.find(key.as_bytes(), &mut value)? else { return Ok(None) };
            match element.state & KIND_MASK {
                GONE => return Ok(None),
                BUSY => self.table.pause(element.state, &mut pauses)?,
                _ if self.is_whole(&element, &mut value)? => {
                    return Ok(V::read_from_prefix(value.as_bytes()).ok().map(|(value, _)| value));
                }
                _ => {}
            }
        }
    }

    /// Adds each absent key with its value; returns the number of added keys. A key that occurs several times gets one of its values.
    ///
    /// Up to 128 keys are in flight together. Each insertion takes effect at one moment of the call.
    ///
    /// Cost: three round trips for up to 128 new keys, and one more for each other key before one in its bucket; the messages to a rank carry the steps of
    /// all its keys. A key that was removed before: as [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some keys may have been added.
    pub fn insert_all(&self, pairs: &[(K, V)]) -> Result<usize> {
        let mut count = 0;
        for pairs in pairs.chunks(BULK_MAX) {
            let mut again = Vec::new();
            self.search_or_add(pairs, |index, element| {
                match element.state & KIND_MASK {
                    _ if element.is_new => count += 1,
                    THERE => {}
                    _ => again.push(index),
                }
                Ok(())
            })?;
            for index in again {
                let (key, value) = &pairs[index];
                count += usize::from(self.insert(key, value)?);
            }
        }
        Ok(count)
    }

    /// Writes the value of each key; adds absent keys, and returns their number. A key that occurs several times keeps one of its values.
    ///
    /// Cost: as [`insert_all`](Self::insert_all), and two more round trips for all keys that are present.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some values may have been written.
    pub fn set_all(&self, pairs: &[(K, V)]) -> Result<usize> {
        let (world, mut count) = (self.table.world(), 0);
        for pairs in pairs.chunks(BULK_MAX) {
            let (mut found, mut again) = (Vec::new(), Vec::new());
            self.search_or_add(pairs, |index, element| {
                if element.is_new {
                    count += 1;
                } else if element.state & KIND_MASK == BUSY {
                    again.push(index);
                } else {
                    found.push((index, element));
                }
                Ok(())
            })?;
            let begin =
                |(_, element): &(usize, Element)| world.compare_swap(element.state_at(), element.state, busy(world.rank()));
            let begun: Vec<_> = world.batch(|| found.iter().map(begin).collect());
            // After a failure the call still writes all other elements, so that no element on another rank stays busy.
            let (mut written, mut outcome) = (Vec::with_capacity(found.len()), Ok(()));
            for ((index, element), begun) in found.into_iter().zip(begun) {
                let write = || {
                    if begun?.wait()? != element.state {
                        return Ok(None);
                    }
                    let put = world.put(element.value_at(size_of::<K>()), &words_of(&pairs[index].1))?;
                    world.after(&put).set(element.state_at(), next_number(element.state) | THERE).map(Some)
                };
                match write() {
                    Ok(None) => again.push(index),
                    Ok(Some(set)) => {
                        written.push(set);
                        count += usize::from(element.state & KIND_MASK == GONE);
                    }
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
            world.wait_all(&written)?;
            outcome?;
            // Another rank writes these elements, or this rank has just written them: they are written afterwards.
            for index in again {
                let (key, value) = &pairs[index];
                count += usize::from(self.set(key, value)?);
            }
        }
        Ok(count)
    }

    /// The value of each key, if it is present.
    ///
    /// Cost: three round trips for up to 128 keys, four if the value of one was written more than once, and one more for each other key before one in its
    /// bucket. Keys whose values are written meanwhile: as [`find`](Self::find).
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_all(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        let (world, value_words) = (self.table.world(), size_of::<V>().div_ceil(8));
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(BULK_MAX) {
            let first = values.len();
            values.resize(first + keys.len(), None);
            let (mut found, mut again) = (Vec::new(), Vec::new());
            self.table.search_all(keys.iter().map(IntoBytes::as_bytes), value_words, None, |index, element, value| {
                if let Some(element) = element {
                    match element.state & KIND_MASK {
                        GONE => {}
                        BUSY => again.push(index),
                        _ => found.push((index, element, value.to_vec())),
                    }
                }
                Ok(())
            })?;
            // Reads a value that was written more than once after its state, and the state again after the value: the value is consistent if the state has
            // not changed.
            let is_rewritten = |element: &Element| element.state >> KIND_BITS > 0;
            let read = |(_, element, _): &(usize, Element, Vec<u64>)| {
                let at = element.value_at(size_of::<K>());
                is_rewritten(element).then(|| world.start_get(at, value_words)).transpose()
            };
            let reads = world.batch(|| found.iter().map(read).collect::<Result<Vec<_>>>())?;
            for ((.., value), read) in found.iter_mut().zip(reads) {
                read.map_or(Ok(()), |read| read.wait_into(value))?;
            }
            fence(Ordering::Acquire);
            let states = world
                .batch(|| found.iter().map(|(_, element, _)| world.fetch(element.state_at())).collect::<Result<Vec<_>>>())?;
            for ((index, element, value), state) in found.into_iter().zip(states) {
                if state.wait()? == element.state {
                    values[first + index] = V::read_from_prefix(value.as_bytes()).ok().map(|(value, _)| value);
                } else {
                    again.push(index);
                }
            }
            for index in again {
                values[first + index] = self.find(&keys[index])?;
            }
        }
        Ok(values)
    }

    /// As [`for_each_local`](Self::for_each_local), with the keys of another rank. No rank may write values meanwhile.
    ///
    /// Cost: a round trip for each 1,024 buckets, and for each 128 buckets as many round trips as their longest list has keys.
    ///
    /// # Errors
    /// The rank was lost, or the job is at fault.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn for_each_on(&self, rank: Rank, mut f: impl FnMut(K, V)) -> Result<()> {
        self.table.for_each_on(rank, size_of::<K>(), size_of::<V>().div_ceil(8), |key, bytes, state, value| {
            if let (Ok(key), Ok((value, _))) =
                (K::read_from_bytes(&key.as_bytes()[..bytes]), V::read_from_prefix(value.as_bytes()))
                && state & KIND_MASK == THERE
            {
                f(key, value);
            }
        })
    }

    /// Finds or adds each key with its value.
    fn search_or_add(&self, pairs: &[(K, V)], mut found: impl FnMut(usize, Element) -> Result<()>) -> Result<()> {
        let mut add = |index: usize, words: &mut Vec<u64>| {
            words.extend(words_of(&pairs[index].1));
            THERE
        };
        let (keys, value_words) = (pairs.iter().map(|(key, _)| key.as_bytes()), size_of::<V>().div_ceil(8));
        self.table.search_all(keys, value_words, Some(&mut add), |index, element, _| {
            element.map_or(Ok(()), |element| found(index, element))
        })
    }

    /// Removes a key; returns whether it was present.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn remove(&self, key: &K) -> Result<bool> {
        self.table.find(key.as_bytes(), &mut [])?.map_or(Ok(false), |element| self.table.take_out(&element))
    }

    /// Removes each key; returns the number of keys that were present. Each removal takes effect at one moment of the call.
    ///
    /// Cost: three round trips for up to 128 keys, and one more for each other key before one in its bucket. Keys whose values are written meanwhile: as
    /// [`remove`](Self::remove).
    ///
    /// # Errors
    /// As [`find`](Self::find); some keys may have been removed.
    pub fn remove_all(&self, keys: &[K]) -> Result<usize> {
        let (world, mut count) = (self.table.world(), 0);
        for keys in keys.chunks(BULK_MAX) {
            let (mut found, mut again) = (Vec::new(), Vec::new());
            self.table.search_all(keys.iter().map(IntoBytes::as_bytes), 0, None, |index, element, _| {
                match element {
                    Some(element) if element.state & KIND_MASK == THERE => found.push((index, element)),
                    Some(element) if element.state & KIND_MASK == BUSY => again.push(index),
                    _ => {}
                }
                Ok(())
            })?;
            let begin = |(_, element): &(usize, Element)| {
                world.compare_swap(element.state_at(), element.state, element.state & !KIND_MASK | GONE)
            };
            let begun = world.batch(|| found.iter().map(begin).collect::<Result<Vec<_>>>())?;
            for ((index, element), begun) in found.into_iter().zip(begun) {
                if begun.wait()? == element.state { count += 1 } else { again.push(index) }
            }
            for index in again {
                count += usize::from(self.remove(&keys[index])?);
            }
        }
        Ok(count)
    }

    /// Calls `f` with every key of this rank and its value, in no order. No other rank may write values meanwhile.
    ///
    /// Cost: no message. Keys that other ranks add meanwhile may be missed.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn for_each_local(&self, mut f: impl FnMut(K, V)) -> Result<()> {
        self.table.for_each_local(size_of::<V>().div_ceil(8), |key, bytes, state, value| {
            if let (Ok(key), Ok((value, _))) =
                (K::read_from_bytes(&key.as_bytes()[..bytes]), V::read_from_prefix(value.as_bytes()))
                && state & KIND_MASK == THERE
            {
                f(key, value);
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

    /// Overwrites a value if the state still is `state`; otherwise returns the state that it found.
    fn write(&self, element: &Element, state: u64, value: &V) -> Result<Option<u64>> {
        let world = self.table.world();
        let found = world.compare_swap(element.state_at(), state, busy(world.rank()))?.wait()?;
        if found != state {
            return Ok(Some(found));
        }
        let write = || world.put(element.value_at(size_of::<K>()), &words_of(value));
        world.pair(write, |written| world.after(&written).set(element.state_at(), next_number(state) | THERE))?.wait()?;
        Ok(None)
    }

    /// Whether `value`, which was read together with the state of an element with a present key, is consistent; reads it again if necessary to know that.
    fn is_whole(&self, element: &Element, value: &mut [u64]) -> Result<bool> {
        if element.state >> KIND_BITS > 0 {
            return self.table.read_whole(element, element.value_at(size_of::<K>()), value);
        }
        self.table.is_unchanged(element)
    }
}

/// A value as words, the last padded with zeros.
fn words_of<V: Pod>(value: &V) -> Vec<u64> {
    let mut words = vec![0u64; size_of::<V>().div_ceil(8)];
    words.as_mut_bytes()[..size_of::<V>()].copy_from_slice(value.as_bytes());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_test_support::threads::{Platform, run};

    type Map<'h, 'w> = GlobalMap<'h, 'w, u64, [u64; 2]>;

    /// A value that was read during a change is not returned.
    #[test]
    fn a_value_that_changes_while_it_is_read_is_read_again() {
        run(Platform::Mapped, 1, |world| {
            let heap = GlobalHeap::new(world, 1 << 16).unwrap();
            let map = Map::new(&heap, 1).unwrap();
            for number in 1..4 {
                map.set(&7, &[number; 2]).unwrap();
            }
            // As if one half of this value was read before a write, and the other half after it; the state, which was read last, does not show that.
            let mut value = [1, 3];
            let element = map.table.find(&7u64.to_le_bytes(), &mut []).unwrap().unwrap();
            assert_eq!(map.is_whole(&element, &mut value), Ok(true));
            assert_eq!(value, [3, 3]);
            // After another write, a consistent value must not be reported for the old state.
            map.set(&7, &[4; 2]).unwrap();
            assert_eq!(map.is_whole(&element, &mut value), Ok(false));
            // The first value of a key is whole if nothing has changed since, and only then.
            map.insert(&8, &[5; 2]).unwrap();
            let element = map.table.find(&8u64.to_le_bytes(), &mut value).unwrap().unwrap();
            assert_eq!((map.is_whole(&element, &mut value), value), (Ok(true), [5, 5]));
            map.remove(&8).unwrap();
            map.insert(&8, &[6; 2]).unwrap();
            assert_eq!(map.is_whole(&element, &mut value), Ok(false));
        });
    }
}
