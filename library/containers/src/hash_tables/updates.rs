//! Changes of tables that the owners of keys execute: sent in batches as active messages, and executed by the owner's progress.

use std::rc::Rc;

use pelago_rma::active::{ActiveCounters, ActiveMessages, Call, Function, Functions, Next, QueueSettings};
use pelago_rma::{Error, Pod, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::map::GlobalMap;
use super::multiset::GlobalMultiset;
use super::owner::Changed;
use super::table::Table;

/// A key and its value or count, without padding.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C, packed)]
struct Pair<K, V> {
    key: K,
    value: V,
}

impl<K: Pod, V: Pod> Pair<K, V> {
    fn key_bytes(&self) -> &[u8] {
        &self.as_bytes()[..size_of::<K>()]
    }
}

/// Updates of the values of a [`GlobalMap`], executed at the owners of their keys; created by [`GlobalMap::updates`].
///
/// An update has no result, and takes effect some time before the next [`barrier`](Self::barrier). All ranks may use all operations of the map meanwhile;
/// for them, too, an update takes effect at one moment.
pub struct MapUpdates<'m, 'h, 'w, K, V> {
    table: &'m Table<'h, 'w>,
    messages: ActiveMessages<'w>,
    function: Function<Pair<K, V>>,
}

/// Additions to the counts of a [`GlobalMultiset`], executed at the owners of their keys; created by [`GlobalMultiset::updates`].
///
/// As [`MapUpdates`].
pub struct CountUpdates<'m, 'h, 'w, K> {
    table: &'m Table<'h, 'w>,
    messages: ActiveMessages<'w>,
    one: Function<K>,
    several: Function<Pair<K, u64>>,
}

impl<'h, 'w, K: Pod, V: Pod> GlobalMap<'h, 'w, K, V> {
    /// Creates updates at the owners of keys, with a function that is the same on all ranks: it returns the new value from the present value and the operand
    /// of an update. An absent key gets the operand as its value. If the function panics, the value does not change. Collective.
    ///
    /// # Errors
    /// As [`ActiveMessages::new`].
    ///
    /// ```
    /// # use pelago_containers::{GlobalHeap, GlobalMap};
    /// # use pelago_rma::{Result, World, active::QueueSettings};
    /// # fn example(world: &World, measured: &[(u64, f64)]) -> Result<()> {
    /// let heap = GlobalHeap::new(world, 1 << 20)?;
    /// let greatest = GlobalMap::<u64, f64>::new(&heap, 1 << 12)?;
    /// let updates = greatest.updates(f64::max, QueueSettings::default())?;
    /// updates.update_all(measured)?;
    /// updates.barrier()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn updates(
        &self,
        combine: impl Fn(V, V) -> V + 'static,
        settings: QueueSettings,
    ) -> Result<MapUpdates<'_, 'h, 'w, K, V>> {
        let table = self.table();
        let (part, mut functions) = (table.own_part(), Functions::new());
        let (mut new, mut scratch) = (vec![0u64; size_of::<V>().div_ceil(8)], vec![0u64; size_of::<V>().div_ceil(8)]);
        let next_ones = Rc::clone(&part);
        let prepare = move |call: &Call<'_>, pairs: &[Pair<K, V>]| {
            next_ones.prepare(call.context(), pairs.iter().map(Pair::key_bytes));
        };
        let function = functions.register_prepared(prepare, move |call: &Call<'_>, Pair { key, value }: Pair<K, V>| {
            let write = |words: &mut [u64], value: V| words.as_mut_bytes()[..size_of::<V>()].copy_from_slice(value.as_bytes());
            write(&mut new, value);
            let combined = |words: &mut [u64]| {
                let (there, _) =
                    V::read_from_prefix(words.as_bytes()).unwrap_or_else(|_| unreachable!("as many words as it needs"));
                write(words, combine(there, value));
            };
            next(call, part.update(call.context(), key.as_bytes(), &new, &mut scratch, combined))
        });
        Ok(MapUpdates { table, messages: ActiveMessages::new(table.world(), functions, settings)?, function })
    }
}

impl<'h, 'w, K: Pod> GlobalMultiset<'h, 'w, K> {
    /// Creates additions at the owners of keys. Collective.
    ///
    /// # Errors
    /// As [`ActiveMessages::new`].
    ///
    /// ```
    /// # use pelago_containers::{GlobalHeap, GlobalMultiset};
    /// # use pelago_rma::{Result, World, active::QueueSettings};
    /// # fn example(world: &World, words: &[u64]) -> Result<()> {
    /// let heap = GlobalHeap::new(world, 1 << 20)?;
    /// let counts = GlobalMultiset::<u64>::new(&heap, 1 << 12)?;
    /// let updates = counts.updates(QueueSettings::default())?;
    /// updates.insert_all(words)?;
    /// updates.barrier()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn updates(&self, settings: QueueSettings) -> Result<CountUpdates<'_, 'h, 'w, K>> {
        let table = self.table();
        let (part, mut functions) = (table.own_part(), Functions::new());
        let [next_ones, next_pairs, other] = [(); 3].map(|()| Rc::clone(&part));
        let one = functions.register_prepared(
            move |call: &Call<'_>, keys: &[K]| next_ones.prepare(call.context(), keys.iter().map(K::as_bytes)),
            move |call: &Call<'_>, key: K| next(call, part.count(call.context(), key.as_bytes(), 1)),
        );
        let several = functions.register_prepared(
            move |call: &Call<'_>, pairs: &[Pair<K, u64>]| {
                next_pairs.prepare(call.context(), pairs.iter().map(Pair::key_bytes));
            },
            move |call: &Call<'_>, Pair { key, value }: Pair<K, u64>| {
                next(call, other.count(call.context(), key.as_bytes(), value))
            },
        );
        let messages = ActiveMessages::new(table.world(), functions, settings)?;
        Ok(CountUpdates { table, messages, one, several })
    }
}

impl<K: Pod, V: Pod> MapUpdates<'_, '_, '_, K, V> {
    /// Updates the value of a key, some time before the next barrier. Updates of one rank to one key take effect in order.
    ///
    /// Cost: as [`ActiveMessages::send`].
    ///
    /// # Errors
    /// As [`ActiveMessages::send`].
    #[inline]
    pub fn update(&self, key: K, operand: V) -> Result<()> {
        self.messages.send(self.table.owner(key.as_bytes()), self.function, Pair { key, value: operand })
    }

    /// Updates the values of keys.
    ///
    /// # Errors
    /// As [`update`](Self::update); some may have been updated.
    pub fn update_all(&self, pairs: &[(K, V)]) -> Result<()> {
        pairs.iter().try_for_each(|&(key, operand)| self.update(key, operand))
    }
}

impl<K: Pod> CountUpdates<'_, '_, '_, K> {
    /// Adds `count` to the count of a key, some time before the next barrier.
    ///
    /// Cost: as [`ActiveMessages::send`].
    ///
    /// # Errors
    /// As [`ActiveMessages::send`].
    #[inline]
    pub fn insert(&self, key: K, count: u64) -> Result<()> {
        let owner = self.table.owner(key.as_bytes());
        if count == 1 {
            return self.messages.send(owner, self.one, key);
        }
        self.messages.send(owner, self.several, Pair { key, value: count })
    }

    /// Increments the count of each of `keys`.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); some may have been counted.
    pub fn insert_all(&self, keys: &[K]) -> Result<()> {
        keys.iter().try_for_each(|&key| self.insert(key, 1))
    }
}

/// The common methods of all kinds of updates.
macro_rules! messages {
    () => {
        /// Sends the collected updates, without waiting until they have taken effect.
        ///
        /// # Errors
        /// As [`ActiveMessages::flush`].
        pub fn flush(&self) -> Result<()> {
            self.messages.flush()
        }

        /// Returns when all earlier updates of all ranks have taken effect. Collective.
        ///
        /// # Errors
        /// `NoMemory` if the heap of an owner is full; other ranks get an error that an update failed. As [`ActiveMessages::barrier`].
        pub fn barrier(&self) -> Result<()> {
            self.messages.barrier()
        }

        /// The counters of the messages of these updates on this rank.
        pub fn counters(&self) -> ActiveCounters {
            self.messages.counters()
        }
    };
}

impl<K: Pod, V: Pod> MapUpdates<'_, '_, '_, K, V> {
    messages!();
}

impl<K: Pod> CountUpdates<'_, '_, '_, K> {
    messages!();
}

#[inline]
fn next(call: &Call<'_>, changed: Result<Changed, Error>) -> Next {
    match changed {
        Ok(Changed::Busy) => return Next::Later,
        Ok(Changed::Done) => {}
        Err(error) => call.fail(error),
    }
    Next::Done
}
