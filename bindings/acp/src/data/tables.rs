//! Sets, multisets and maps.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::containers::{Geometry, GlobalHeap, PlacedMap, PlacedMultiset, Position};
use pelago::{GlobalAddress, Rank};

use super::{Element, Pair, container, data, read, write};
use crate::library::Library;
use crate::refusal::Refusal;

/// A set, a multiset or a map.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Table {
    ga: u64,
    num_ranks: u64,
    num_slots: u64,
}

/// An iterator of a table.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TableIt {
    table: Table,
    rank: c_int,
    slot: c_int,
    elem: u64,
}

impl Table {
    fn geometry(self) -> Geometry {
        Geometry { ranks: self.num_ranks, buckets: self.num_slots }
    }

    fn it(self, position: Position) -> TableIt {
        let Position { row, bucket, element } = position;
        TableIt { table: self, rank: row as c_int, slot: bucket as c_int, elem: element.bits() }
    }

    /// Returns the end, which is also the result for a missing key.
    fn end(self) -> TableIt {
        TableIt { table: self, rank: self.num_ranks as c_int, slot: 0, elem: 0 }
    }
}

impl TableIt {
    fn position(self) -> Position {
        Position { row: self.rank as u64, bucket: self.slot as u64, element: GlobalAddress::from_bits(self.elem) }
    }

    /// Returns the position of an element; fails at the end.
    fn known(self) -> Result<Position, Refusal> {
        if self.elem == 0 { Err(Refusal::End) } else { Ok(self.position()) }
    }
}

/// Returns the ranks that a program has listed.
///
/// # Safety
/// `ranks` has `count` numbers.
unsafe fn ranks_of(library: &Library, ranks: *const c_int, count: c_int) -> Result<Vec<Rank>, Refusal> {
    if ranks.is_null() || count <= 0 {
        return Err(Refusal::NoRanks);
    }
    // SAFETY: A4: the program's list has `count` numbers.
    (0..count as usize).map(|index| library.rank_of(unsafe { ranks.add(index).read() })).collect()
}

/// Checks a number of slots.
fn slots(count: c_int) -> Result<u64, Refusal> {
    u64::try_from(count).ok().filter(|&count| count > 0).ok_or(Refusal::NoRanks)
}

type Map<'h> = PlacedMap<'h, 'static>;
type Multiset<'h> = PlacedMultiset<'h, 'static>;

/// A container that opens from a table of its kind.
trait Opens<'h>: Sized {
    fn opened(library: &'static Library, heap: &'h GlobalHeap<'static>, table: Table) -> Result<Self, Refusal>;
}

impl<'h> Opens<'h> for Map<'h> {
    fn opened(library: &'static Library, heap: &'h GlobalHeap<'static>, table: Table) -> Result<Self, Refusal> {
        Ok(PlacedMap::open(heap, container(library, table.ga)?, table.geometry())?)
    }
}

impl<'h> Opens<'h> for Multiset<'h> {
    fn opened(library: &'static Library, heap: &'h GlobalHeap<'static>, table: Table) -> Result<Self, Refusal> {
        Ok(PlacedMultiset::open(heap, container(library, table.ga)?, table.geometry())?)
    }
}

/// Defines the functions that all three kinds have in common. `$merge` adds the keys of another table.
macro_rules! alike {
    ($kind:ident, $merge:ident: $assign_local:ident, $assign:ident, $begin_local:ident, $begin:ident, $clear_local:ident, $clear:ident,
     $create:ident, $destroy:ident, $empty_local:ident, $empty:ident, $end_local:ident, $end:ident, $find:ident, $merge_local:ident,
     $merge_all:ident, $move_local:ident, $move:ident, $size_local:ident, $size:ident, $swap:ident, $increment:ident) => {
        /// Replaces this rank's keys by copies of this rank's keys of another table.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign_local(table: Table, from: Table) {
            data(stringify!($assign_local), (), |library, heap| {
                let (table, from) = ($kind::opened(library, heap, table)?, $kind::opened(library, heap, from)?);
                if table.address() == from.address() {
                    return Ok(());
                }
                if let Some(row) = table.row_of(library.memory().me())? {
                    table.clear(Some(row))?;
                }
                if let Some(row) = from.row_of(library.memory().me())? {
                    table.$merge(&from, Some(row))?;
                }
                Ok(())
            });
        }

        /// Replaces all keys by copies of those of another table.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign(table: Table, from: Table) {
            data(stringify!($assign), (), |library, heap| {
                let (table, from) = ($kind::opened(library, heap, table)?, $kind::opened(library, heap, from)?);
                if table.address() != from.address() {
                    table.clear(None)?;
                    table.$merge(&from, None)?;
                }
                Ok(())
            });
        }

        /// Returns the iterator of the first of this rank's keys.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin_local(table: Table) -> TableIt {
            data(stringify!($begin_local), table.end(), |library, heap| {
                let opened = $kind::opened(library, heap, table)?;
                let row = opened.row_of(library.memory().me())?;
                Ok(table.it(row.map_or(Ok(opened.end()), |row| opened.first_from(row))?))
            })
        }

        /// Returns the iterator of the first key.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin(table: Table) -> TableIt {
            data(stringify!($begin), table.end(), |library, heap| {
                Ok(table.it($kind::opened(library, heap, table)?.first_from(0)?))
            })
        }

        /// Removes this rank's keys.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear_local(table: Table) {
            data(stringify!($clear_local), (), |library, heap| {
                let table = $kind::opened(library, heap, table)?;
                Ok(table.row_of(library.memory().me())?.map_or(Ok(()), |row| table.clear(Some(row)))?)
            });
        }

        /// Removes all keys.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(table: Table) {
            data(stringify!($clear), (), |library, heap| Ok($kind::opened(library, heap, table)?.clear(None)?));
        }

        /// Creates an empty table with `num_slots` slots on each of the listed ranks. Its address is on `rank`. Returns a null address on failure.
        ///
        /// # Safety
        /// `ranks` has `num_ranks` numbers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(num_ranks: c_int, ranks: *const c_int, num_slots: c_int, rank: c_int) -> Table {
            let null = Table { ga: 0, num_ranks: num_ranks.max(0) as u64, num_slots: num_slots.max(0) as u64 };
            data(stringify!($create), null, |library, heap| {
                // SAFETY: A4.
                let ranks = unsafe { ranks_of(library, ranks, num_ranks) }?;
                let made = $kind::create(heap, &ranks, slots(num_slots)?, library.rank_of(rank)?)?;
                Ok(Table { ga: made.address().bits(), ..null })
            })
        }

        /// Destroys the table and frees its memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(table: Table) {
            data(stringify!($destroy), (), |library, heap| Ok($kind::opened(library, heap, table)?.destroy()?));
        }

        /// Returns 1 if this rank has no key, else 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty_local(table: Table) -> c_int {
            data(stringify!($empty_local), 1, |library, heap| {
                let table = $kind::opened(library, heap, table)?;
                let Some(row) = table.row_of(library.memory().me())? else { return Ok(1) };
                Ok((table.first_from(row)?.row != row).into())
            })
        }

        /// Returns 1 if the table is empty, else 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(table: Table) -> c_int {
            data(stringify!($empty), 1, |library, heap| {
                let table = $kind::opened(library, heap, table)?;
                Ok((table.first_from(0)? == table.end()).into())
            })
        }

        /// Returns the iterator after the last of this rank's keys: the first key of the following ranks, or the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end_local(table: Table) -> TableIt {
            data(stringify!($end_local), table.end(), |library, heap| {
                let opened = $kind::opened(library, heap, table)?;
                let row = opened.row_of(library.memory().me())?;
                Ok(table.it(row.map_or(Ok(opened.end()), |row| opened.first_from(row + 1))?))
            })
        }

        /// Returns the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end(table: Table) -> TableIt {
            table.end()
        }

        /// Returns the iterator of a key; the end if the table does not contain it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $find(table: Table, key: Element) -> TableIt {
            data(stringify!($find), table.end(), |library, heap| {
                let key = read(library, heap, key)?;
                Ok(table.it($kind::opened(library, heap, table)?.find(&key)?))
            })
        }

        /// Adds copies of this rank's keys of another table.
        #[unsafe(no_mangle)]
        pub extern "C" fn $merge_local(table: Table, from: Table) {
            data(stringify!($merge_local), (), |library, heap| {
                let (table, from) = ($kind::opened(library, heap, table)?, $kind::opened(library, heap, from)?);
                Ok(from.row_of(library.memory().me())?.map_or(Ok(()), |row| table.$merge(&from, Some(row)))?)
            });
        }

        /// Adds copies of the keys of another table.
        #[unsafe(no_mangle)]
        pub extern "C" fn $merge_all(table: Table, from: Table) {
            data(stringify!($merge_all), (), |library, heap| {
                Ok($kind::opened(library, heap, table)?.$merge(&$kind::opened(library, heap, from)?, None)?)
            });
        }

        /// Moves this rank's keys of another table to this one.
        #[unsafe(no_mangle)]
        pub extern "C" fn $move_local(table: Table, from: Table) {
            data(stringify!($move_local), (), |library, heap| {
                let (table, from) = ($kind::opened(library, heap, table)?, $kind::opened(library, heap, from)?);
                let row = from.row_of(library.memory().me())?.filter(|_| table.address() != from.address());
                let Some(row) = row else { return Ok(()) };
                table.$merge(&from, Some(row))?;
                Ok(from.clear(Some(row))?)
            });
        }

        /// Moves the keys of another table to this one.
        #[unsafe(no_mangle)]
        pub extern "C" fn $move(table: Table, from: Table) {
            data(stringify!($move), (), |library, heap| {
                let (table, from) = ($kind::opened(library, heap, table)?, $kind::opened(library, heap, from)?);
                if table.address() == from.address() {
                    return Ok(());
                }
                table.$merge(&from, None)?;
                Ok(from.clear(None)?)
            });
        }

        /// Returns the number of different keys of this rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size_local(table: Table) -> usize {
            data(stringify!($size_local), 0, |library, heap| {
                let table = $kind::opened(library, heap, table)?;
                let row = table.row_of(library.memory().me())?;
                Ok(row.map_or(Ok(0), |row| table.keys(Some(row)))? as usize)
            })
        }

        /// Returns the number of different keys.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size(table: Table) -> usize {
            data(stringify!($size), 0, |library, heap| Ok($kind::opened(library, heap, table)?.keys(None)? as usize))
        }

        /// Exchanges the contents of two tables.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(one: Table, other: Table) {
            data(stringify!($swap), (), |library, heap| {
                Ok($kind::opened(library, heap, one)?.swap(&$kind::opened(library, heap, other)?)?)
            });
        }

        /// Returns the iterator of the next key, or the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $increment(it: TableIt) -> TableIt {
            data(stringify!($increment), it.table.end(), |library, heap| {
                Ok(it.table.it($kind::opened(library, heap, it.table)?.next(it.known()?)?))
            })
        }
    };
}

alike!(Multiset, merge_once: acp_assign_local_set, acp_assign_set, acp_begin_local_set, acp_begin_set, acp_clear_local_set,
    acp_clear_set, acp_create_set, acp_destroy_set, acp_empty_local_set, acp_empty_set, acp_end_local_set, acp_end_set, acp_find_set,
    acp_merge_local_set, acp_merge_set, acp_move_local_set, acp_move_set, acp_size_local_set, acp_size_set, acp_swap_set,
    acp_increment_set_it);

alike!(Multiset, merge: acp_assign_local_multiset, acp_assign_multiset, acp_begin_local_multiset, acp_begin_multiset,
    acp_clear_local_multiset, acp_clear_multiset, acp_create_multiset, acp_destroy_multiset, acp_empty_local_multiset,
    acp_empty_multiset, acp_end_local_multiset, acp_end_multiset, acp_find_multiset, acp_merge_local_multiset, acp_merge_multiset,
    acp_move_local_multiset, acp_move_multiset, acp_size_local_multiset, acp_size_multiset, acp_swap_multiset,
    acp_increment_multiset_it);

alike!(Map, merge: acp_assign_local_map, acp_assign_map, acp_begin_local_map, acp_begin_map, acp_clear_local_map, acp_clear_map,
    acp_create_map, acp_destroy_map, acp_empty_local_map, acp_empty_map, acp_end_local_map, acp_end_map, acp_find_map,
    acp_merge_local_map, acp_merge_map, acp_move_local_map, acp_move_map, acp_size_local_map, acp_size_map, acp_swap_map,
    acp_increment_map_it);

/// Calls `f` with a set or multiset and the bytes of a key.
fn with_key<R>(
    function: &str,
    failed: R,
    table: Table,
    key: Element,
    f: impl FnOnce(Multiset<'_>, &[u8]) -> Result<R, Refusal>,
) -> R {
    data(function, failed, |library, heap| {
        let key = read(library, heap, key)?;
        f(Multiset::opened(library, heap, table)?, &key)
    })
}

/// Adds a key. Returns 1, or 0 if the set contains it already or it cannot be added.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_set(table: Table, key: Element) -> c_int {
    with_key("acp_insert_set", 0, table, key, |set, key| Ok(set.insert_once(key)?.into()))
}

/// Removes a key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_set(table: Table, key: Element) {
    with_key("acp_remove_set", (), table, key, |set, key| Ok(set.remove_all(key).map(drop)?));
}

/// Adds one occurrence of a key. Returns 1, or 0 on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_multiset(table: Table, key: Element) -> c_int {
    with_key("acp_insert_multiset", 0, table, key, |multiset, key| Ok(multiset.insert(key, 1).map(|_| 1)?))
}

/// Removes one occurrence of a key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_multiset(table: Table, key: Element) {
    with_key("acp_remove_multiset", (), table, key, |multiset, key| Ok(multiset.remove(key).map(drop)?));
}

/// Removes all occurrences of a key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_all_multiset(table: Table, key: Element) {
    with_key("acp_remove_all_multiset", (), table, key, |multiset, key| Ok(multiset.remove_all(key).map(drop)?));
}

/// Returns the number of occurrences of a key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_multiset(table: Table, key: Element) -> u64 {
    with_key("acp_retrieve_multiset", 0, table, key, |multiset, key| Ok(multiset.count(key)?))
}

/// Adds a key with its value. Returns 1, or 0 if the map contains the key already or it cannot be added.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_map(table: Table, pair: Pair) -> c_int {
    data("acp_insert_map", 0, |library, heap| {
        let (key, value) = (read(library, heap, pair.first)?, read(library, heap, pair.second)?);
        Ok(Map::opened(library, heap, table)?.insert(&key, &value)?.into())
    })
}

/// Removes a key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_map(table: Table, key: Element) {
    data("acp_remove_map", (), |library, heap| {
        let key = read(library, heap, key)?;
        Ok(Map::opened(library, heap, table)?.remove(&key).map(drop)?)
    });
}

/// Copies as much of a key's value as fits. Returns the number of bytes of the value, 0 if the map does not contain the key.
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_map(table: Table, pair: Pair) -> usize {
    data("acp_retrieve_map", 0, |library, heap| {
        // Reading the destination checks it before the value is retrieved, and so bounds the size of `value` by existing memory.
        let mut value = read(library, heap, pair.second)?;
        let key = read(library, heap, pair.first)?;
        let Some(bytes) = Map::opened(library, heap, table)?.retrieve(&key, &mut value)? else { return Ok(0) };
        let bytes = bytes as usize;
        write(library, heap, pair.second.ga, &value[..bytes.min(value.len())])?;
        Ok(bytes)
    })
}

/// Returns the bytes of the key at an iterator.
fn key_at(function: &str, it: TableIt) -> Element {
    data(function, Element::NULL, |library, heap| {
        Ok(Element::new(Multiset::opened(library, heap, it.table)?.key_at(it.known()?)?))
    })
}

/// Returns the bytes of the key at an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_set_it(it: TableIt) -> Element {
    key_at("acp_dereference_set_it", it)
}

/// Returns the bytes of the key at an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_multiset_it(it: TableIt) -> Element {
    key_at("acp_dereference_multiset_it", it)
}

/// Returns the bytes of the key at an iterator, and those of its value.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_map_it(it: TableIt) -> Pair {
    data("acp_dereference_map_it", Pair { first: Element::NULL, second: Element::NULL }, |library, heap| {
        let (map, at) = (Map::opened(library, heap, it.table)?, it.known()?);
        Ok(Pair { first: Element::new(map.key_at(at)?), second: Element::new(map.value_at(at)?) })
    })
}
