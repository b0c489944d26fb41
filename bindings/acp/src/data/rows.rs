//! Vectors and deques.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::containers::{ByteSource, Form, GlobalHeap, InsertAt, Sequence};

use super::{Container, Element, Pair, data, index, marked_container, source};
use crate::library::Library;
use crate::refusal::Refusal;

/// An iterator of a vector or a deque: an index in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RowIt {
    row: Container,
    index: c_int,
}

type Opened<'h> = Sequence<'h, 'static>;

fn open<'h>(library: &'static Library, heap: &'h GlobalHeap<'static>, form: Form, row: Container) -> Result<Opened<'h>, Refusal> {
    Ok(Sequence::open(heap, form, marked_container(library, row.ga)?)?)
}

/// Calls `f` with an existing container.
fn with<R>(
    function: &str,
    failed: R,
    form: Form,
    row: Container,
    f: impl FnOnce(&'static Library, &GlobalHeap<'static>, Opened<'_>) -> Result<R, Refusal>,
) -> R {
    data(function, failed, |library, heap| f(library, heap, open(library, heap, form, row)?))
}

/// Returns the bytes from `start` up to `end`, as two sources.
fn between<'s>(row: &Opened<'_>, start: RowIt, end: RowIt) -> Result<[ByteSource<'s>; 2], Refusal> {
    if start.row.ga != end.row.ga {
        return Err(Refusal::Foreign);
    }
    let (first, last) = (index(start.index)?, index(end.index)?);
    let bytes = last.checked_sub(first).ok_or(Refusal::Foreign)?;
    Ok(row
        .pieces(first, bytes)?
        .map(|(at, bytes)| if bytes == 0 { ByteSource::Bytes(&[]) } else { ByteSource::Global(at, bytes) }))
}

fn create(function: &str, form: Form, size: usize, rank: c_int) -> Container {
    data(function, Container { ga: 0 }, |library, heap| {
        let row = Sequence::create(heap, form, library.rank_of(rank)?, size as u64)?;
        row.insert(InsertAt::Back, &[ByteSource::Bytes(&vec![0; size])])?;
        Ok(Container { ga: row.address().bits() })
    })
}

fn assign(function: &str, form: Form, row: Container, from: Container, range: Option<(RowIt, RowIt)>) {
    with(function, (), form, row, |library, heap, row| {
        let from = open(library, heap, form, from)?;
        let sources = match range {
            Some((start, end)) => between(&from, start, end)?,
            None => from
                .pieces(0, from.bytes()?)?
                .map(|(at, bytes)| if bytes == 0 { ByteSource::Bytes(&[]) } else { ByteSource::Global(at, bytes) }),
        };
        Ok(row.assign(&sources)?)
    });
}

/// Inserts an element at an index, or at an end. Returns the index.
fn insert(function: &str, form: Form, row: Container, place: Result<InsertAt, Refusal>, element: Element) -> c_int {
    with(function, -1, form, row, |library, _, row| {
        let mut buffer = Vec::new();
        Ok(row.insert(place?, &[source(library, element, &mut buffer)?])? as c_int)
    })
}

fn insert_range(function: &str, form: Form, it: RowIt, start: RowIt, end: RowIt) -> RowIt {
    with(function, it, form, it.row, |library, heap, row| {
        let from = open(library, heap, form, start.row)?;
        row.insert(InsertAt::At(index(it.index)?), &between(&from, start, end)?)?;
        Ok(it)
    })
}

fn erase(function: &str, form: Form, it: RowIt, bytes: Result<u64, Refusal>) -> RowIt {
    with(function, it, form, it.row, |_, _, row| {
        row.erase(index(it.index)?, bytes?)?;
        Ok(it)
    })
}

/// Returns the number of bytes from `first` to `last`.
fn distance(first: RowIt, last: RowIt) -> Result<u64, Refusal> {
    let bytes = if first.row.ga == last.row.ga { i64::from(last.index) - i64::from(first.index) } else { -1 };
    u64::try_from(bytes).map_err(|_| Refusal::Foreign)
}

/// Defines the functions that vectors and deques have in common.
macro_rules! alike {
    ($form:ident: $assign:ident, $assign_range:ident, $at:ident, $begin:ident, $capacity:ident, $clear:ident, $create:ident,
     $destroy:ident, $empty:ident, $end:ident, $erase:ident, $erase_range:ident, $insert:ident, $insert_range:ident, $pop_back:ident,
     $push_back:ident, $reserve:ident, $size:ident, $swap:ident, $advance:ident, $distance:ident) => {
        /// Replaces the content by that of another container.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign(row: Container, from: Container) {
            assign(stringify!($assign), Form::$form, row, from, None);
        }

        /// Replaces the content by the bytes between two iterators.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign_range(row: Container, start: RowIt, end: RowIt) {
            assign(stringify!($assign_range), Form::$form, row, start.row, Some((start, end)));
        }

        /// Returns the address of a byte; null if there is no such byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $at(row: Container, at: c_int) -> u64 {
            with(stringify!($at), 0, Form::$form, row, |_, _, row| Ok(row.pieces(index(at)?, 1)?[0].0.bits()))
        }

        /// Returns the iterator of the first byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin(row: Container) -> RowIt {
            RowIt { row, index: 0 }
        }

        /// Returns the capacity in bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $capacity(row: Container) -> usize {
            with(stringify!($capacity), 0, Form::$form, row, |_, _, row| Ok(row.capacity()? as usize))
        }

        /// Removes all bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(row: Container) {
            with(stringify!($clear), (), Form::$form, row, |_, _, row| Ok(row.clear()?));
        }

        /// Creates a container of `size` bytes on a rank. Returns a null address on failure.
        #[unsafe(no_mangle)]
        pub extern "C" fn $create(size: usize, rank: c_int) -> Container {
            create(stringify!($create), Form::$form, size, rank)
        }

        /// Destroys the container and frees its memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(row: Container) {
            with(stringify!($destroy), (), Form::$form, row, |_, _, row| Ok(row.destroy()?));
        }

        /// Returns 1 if the container is empty, else 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(row: Container) -> c_int {
            with(stringify!($empty), 1, Form::$form, row, |_, _, row| Ok(c_int::from(row.bytes()? == 0)))
        }

        /// Returns the iterator after the last byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end(row: Container) -> RowIt {
            let size = with(stringify!($end), 0, Form::$form, row, |_, _, row| Ok(row.bytes()?));
            RowIt { row, index: size as c_int }
        }

        /// Removes `size` bytes. Returns the iterator after them.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase(it: RowIt, size: usize) -> RowIt {
            erase(stringify!($erase), Form::$form, it, Ok(size as u64))
        }

        /// Removes the bytes between two iterators.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase_range(start: RowIt, end: RowIt) -> RowIt {
            erase(stringify!($erase_range), Form::$form, start, distance(start, end))
        }

        /// Inserts bytes at an iterator. Returns their iterator.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert(it: RowIt, ga: u64, size: usize) -> RowIt {
            insert(stringify!($insert), Form::$form, it.row, index(it.index).map(InsertAt::At), Element { ga, size });
            it
        }

        /// Inserts the bytes between two iterators.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert_range(it: RowIt, start: RowIt, end: RowIt) -> RowIt {
            insert_range(stringify!($insert_range), Form::$form, it, start, end)
        }

        /// Removes the last `size` bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $pop_back(row: Container, size: usize) {
            with(stringify!($pop_back), (), Form::$form, row, |_, _, row| Ok(row.pop_back(size as u64).map(drop)?));
        }

        /// Appends bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $push_back(row: Container, ga: u64, size: usize) {
            insert(stringify!($push_back), Form::$form, row, Ok(InsertAt::Back), Element { ga, size });
        }

        /// Reserves a capacity of at least `size` bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $reserve(row: Container, size: usize) {
            with(stringify!($reserve), (), Form::$form, row, |_, _, row| Ok(row.reserve(size as u64)?));
        }

        /// Returns the number of bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size(row: Container) -> usize {
            with(stringify!($size), 0, Form::$form, row, |_, _, row| Ok(row.bytes()? as usize))
        }

        /// Exchanges the contents of two containers.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(one: Container, other: Container) {
            with(stringify!($swap), (), Form::$form, one, |library, heap, one| {
                Ok(one.swap(&open(library, heap, Form::$form, other)?)?)
            });
        }

        /// Returns the iterator advanced by `count` bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $advance(it: RowIt, count: c_int) -> RowIt {
            RowIt { index: it.index.saturating_add(count), ..it }
        }

        /// Returns the number of bytes from `first` to `last`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $distance(first: RowIt, last: RowIt) -> c_int {
            last.index.saturating_sub(first.index)
        }
    };
}

alike!(Vector: acp_assign_vector, acp_assign_range_vector, acp_at_vector, acp_begin_vector, acp_capacity_vector, acp_clear_vector,
    acp_create_vector, acp_destroy_vector, acp_empty_vector, acp_end_vector, acp_erase_vector, acp_erase_range_vector, acp_insert_vector,
    acp_insert_range_vector, acp_pop_back_vector, acp_push_back_vector, acp_reserve_vector, acp_size_vector, acp_swap_vector,
    acp_advance_vector_it, acp_distance_vector_it);

alike!(Deque: acp_assign_deque, acp_assign_range_deque, acp_at_deque, acp_begin_deque, acp_capacity_deque, acp_clear_deque,
    acp_create_deque, acp_destroy_deque, acp_empty_deque, acp_end_deque, acp_erase_deque, acp_erase_range_deque, acp_insert_deque,
    acp_insert_range_deque, acp_pop_back_deque, acp_push_back_deque, acp_reserve_deque, acp_size_deque, acp_swap_deque,
    acp_advance_deque_it, acp_distance_deque_it);

/// Returns the address of the byte at an iterator; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_vector_it(it: RowIt) -> u64 {
    acp_at_vector(it.row, it.index)
}

/// Returns the memory of `size` bytes from an iterator on, as up to two contiguous ranges.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_deque_it(it: RowIt, size: usize) -> Pair {
    let null = Pair { first: Element::NULL, second: Element::NULL };
    with("acp_dereference_deque_it", null, Form::Deque, it.row, |_, _, row| {
        let [first, second] = row.pieces(index(it.index)?, size as u64)?;
        let piece = |(at, bytes)| if bytes == 0 { Element::NULL } else { Element::new((at, bytes)) };
        Ok(Pair { first: piece(first), second: piece(second) })
    })
}

/// Removes the first `size` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_front_deque(row: Container, size: usize) {
    with("acp_pop_front_deque", (), Form::Deque, row, |_, _, row| Ok(row.pop_front(size as u64).map(drop)?));
}

/// Prepends bytes.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_front_deque(row: Container, ga: u64, size: usize) {
    insert("acp_push_front_deque", Form::Deque, row, Ok(InsertAt::Front), Element { ga, size });
}
