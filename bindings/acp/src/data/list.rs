//! Lists.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::GlobalAddress;
use pelago::containers::{GlobalHeap, List};

use super::{Container, Element, data, marked_container, read, source};
use crate::library::Library;
use crate::refusal::Refusal;

/// An iterator of a list: an element, or the list's own address for the end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ListIt {
    list: Container,
    elem: u64,
}

impl ListIt {
    fn at(self, element: GlobalAddress) -> Self {
        Self { elem: element.bits(), ..self }
    }

    fn failed(self) -> Self {
        Self { elem: 0, ..self }
    }

    fn element(self) -> GlobalAddress {
        GlobalAddress::from_bits(self.elem)
    }
}

/// Number of steps of an iterator up to which the length of the list is not read.
const STEPS_WITHOUT_LENGTH: u64 = 1024;

/// A program's comparison function for elements.
type Compare = Option<extern "C" fn(Element, Element) -> c_int>;

type Opened<'h> = List<'h, 'static>;

fn open<'h>(library: &'static Library, heap: &'h GlobalHeap<'static>, list: Container) -> Result<Opened<'h>, Refusal> {
    Ok(List::open(heap, marked_container(library, list.ga)?)?)
}

fn with<R>(
    function: &str,
    failed: R,
    list: Container,
    f: impl FnOnce(&'static Library, &GlobalHeap<'static>, Opened<'_>) -> Result<R, Refusal>,
) -> R {
    data(function, failed, |library, heap| f(library, heap, open(library, heap, list)?))
}

/// Calls `f` with two lists.
fn with_two<R>(
    function: &str,
    failed: R,
    one: Container,
    other: Container,
    f: impl FnOnce(Opened<'_>, Opened<'_>) -> Result<R, Refusal>,
) -> R {
    with(function, failed, one, |library, heap, one| f(one, open(library, heap, other)?))
}

/// Returns the elements from `start` up to `end`.
fn between(list: &Opened<'_>, start: ListIt, end: ListIt) -> Result<Vec<GlobalAddress>, Refusal> {
    if start.list.ga != end.list.ga {
        return Err(Refusal::Foreign);
    }
    let elements = list.elements()?;
    let place = |it: ListIt| {
        if it.elem == it.list.ga { Some(elements.len()) } else { elements.iter().position(|element| element.bits() == it.elem) }
    };
    let found =
        place(start).zip(place(end)).filter(|(start, end)| start <= end).map(|(start, end)| elements[start..end].to_vec());
    found.ok_or(Refusal::Foreign)
}

/// Replaces the elements by copies of those of another list.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_list(list: Container, from: Container) {
    with_two("acp_assign_list", (), list, from, |list, from| Ok(list.assign(&from, &from.elements()?)?));
}

/// Replaces the elements by copies of those between two iterators.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_range_list(list: Container, start: ListIt, end: ListIt) {
    with_two("acp_assign_range_list", (), list, start.list, |list, from| Ok(list.assign(&from, &between(&from, start, end)?)?));
}

/// Returns the iterator of the first element, or the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_begin_list(list: Container) -> ListIt {
    let end = acp_end_list(list);
    with("acp_begin_list", end.failed(), list, |_, _, list| Ok(end.at(list.next(list.address())?)))
}

/// Removes all elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_clear_list(list: Container) {
    with("acp_clear_list", (), list, |_, _, list| Ok(list.clear()?));
}

/// Creates an empty list on a rank. Returns a null address on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_list(rank: c_int) -> Container {
    data("acp_create_list", Container { ga: 0 }, |library, heap| {
        Ok(Container { ga: List::create(heap, library.rank_of(rank)?)?.address().bits() })
    })
}

/// Destroys the list and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_list(list: Container) {
    with("acp_destroy_list", (), list, |_, _, list| Ok(list.destroy()?));
}

/// Returns 1 if the list is empty, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn acp_empty_list(list: Container) -> c_int {
    with("acp_empty_list", 1, list, |_, _, list| Ok(list.is_empty()?.into()))
}

/// Returns the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_end_list(list: Container) -> ListIt {
    ListIt { list, elem: list.ga }
}

/// Removes an element. Returns the next one.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_list(it: ListIt) -> ListIt {
    with("acp_erase_list", it.failed(), it.list, |_, _, list| Ok(it.at(list.erase(it.element())?)))
}

/// Removes the elements between two iterators. Returns the second iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_range_list(start: ListIt, end: ListIt) -> ListIt {
    with("acp_erase_range_list", end.failed(), start.list, |_, _, list| {
        between(&list, start, end)?.into_iter().try_for_each(|element| list.erase(element).map(drop))?;
        Ok(end)
    })
}

/// Inserts an element, in memory of `rank`, before an iterator. Returns its iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_list(it: ListIt, element: Element, rank: c_int) -> ListIt {
    with("acp_insert_list", it.failed(), it.list, |library, _, list| {
        let mut buffer = Vec::new();
        let from = source(library, element, &mut buffer)?;
        Ok(it.at(list.insert(it.element(), from, library.rank_of(rank)?)?))
    })
}

/// Inserts copies of the elements between two iterators before an iterator. Returns the iterator of the first copy.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_range_list(it: ListIt, start: ListIt, end: ListIt) -> ListIt {
    with_two("acp_insert_range_list", it.failed(), it.list, start.list, |list, from| {
        Ok(it.at(list.copy(it.element(), &from, &between(&from, start, end)?)?))
    })
}

/// Merges the elements of another list into this one; both lists are sorted.
#[unsafe(no_mangle)]
pub extern "C" fn acp_merge_list(list: Container, other: Container, compare: Compare) {
    if list.ga == other.ga {
        return;
    }
    let function = "acp_merge_list";
    let (Some(compare), Some(one), Some(two)) = (compare, elements(function, list), elements(function, other)) else { return };
    let merged = merge(one, two, compare);
    with_two(function, (), list, other, |list, other| {
        other.relink(&[])?;
        Ok(list.relink(&addresses(merged))?)
    });
}

/// Removes the last element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_back_list(list: Container) {
    with("acp_pop_back_list", (), list, |_, _, list| pop(&list, list.before(list.address())?));
}

/// Removes the first element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_front_list(list: Container) {
    with("acp_pop_front_list", (), list, |_, _, list| pop(&list, list.next(list.address())?));
}

fn pop(list: &Opened<'_>, element: GlobalAddress) -> Result<(), Refusal> {
    if element != list.address() {
        list.erase(element)?;
    }
    Ok(())
}

/// Appends an element, in memory of `rank`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_back_list(list: Container, element: Element, rank: c_int) {
    push("acp_push_back_list", list, element, rank, false);
}

/// Prepends an element, in memory of `rank`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_front_list(list: Container, element: Element, rank: c_int) {
    push("acp_push_front_list", list, element, rank, true);
}

fn push(function: &str, list: Container, element: Element, rank: c_int, is_first: bool) {
    with(function, (), list, |library, _, list| {
        let mut buffer = Vec::new();
        let from = source(library, element, &mut buffer)?;
        let before = if is_first { list.next(list.address())? } else { list.address() };
        Ok(list.insert(before, from, library.rank_of(rank)?).map(drop)?)
    });
}

/// Removes every element with these bytes.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_list(list: Container, element: Element) {
    with("acp_remove_list", (), list, |library, heap, list| {
        let wanted = read(library, heap, element)?;
        Ok(list.retain(|_, bytes| bytes != wanted)?)
    });
}

/// Reverses the order of the elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reverse_list(list: Container) {
    with("acp_reverse_list", (), list, |_, _, list| {
        let mut elements = list.elements()?;
        elements.reverse();
        Ok(list.relink(&elements)?)
    });
}

/// Returns the number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_size_list(list: Container) -> usize {
    with("acp_size_list", 0, list, |_, _, list| Ok(list.len()? as usize))
}

/// Sorts the elements. The sort is stable.
#[unsafe(no_mangle)]
pub extern "C" fn acp_sort_list(list: Container, compare: Compare) {
    let (Some(compare), Some(elements)) = (compare, elements("acp_sort_list", list)) else { return };
    let sorted = sort(elements, compare);
    with("acp_sort_list", (), list, |_, _, list| Ok(list.relink(&addresses(sorted))?));
}

/// Moves one element before an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_list(it: ListIt, element: ListIt) {
    with_two("acp_splice_list", (), it.list, element.list, |list, from| {
        let end = from.next(element.element())?;
        Ok(list.splice(it.element(), &from, element.element(), end)?)
    });
}

/// Moves the elements between two iterators before an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_range_list(it: ListIt, start: ListIt, end: ListIt) {
    with_two("acp_splice_range_list", (), it.list, start.list, |list, from| {
        between(&from, start, end)?;
        Ok(list.splice(it.element(), &from, start.element(), end.element())?)
    });
}

/// Exchanges the elements of two lists.
#[unsafe(no_mangle)]
pub extern "C" fn acp_swap_list(one: Container, other: Container) {
    with_two("acp_swap_list", (), one, other, |one, other| Ok(one.swap(&other)?));
}

/// Removes all but the first of consecutive equal elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unique_list(list: Container) {
    with("acp_unique_list", (), list, |_, _, list| Ok(list.retain(|before, bytes| before != Some(bytes))?));
}

/// Returns the iterator advanced by `count` elements, backwards if `count` is negative.
#[unsafe(no_mangle)]
pub extern "C" fn acp_advance_list_it(it: ListIt, count: c_int) -> ListIt {
    with("acp_advance_list_it", it.failed(), it.list, |_, _, list| {
        let step = |at| if count > 0 { list.next(at) } else { list.before(at) };
        let mut steps = u64::from(count.unsigned_abs());
        if steps > STEPS_WITHOUT_LENGTH {
            // The elements and the end are a circle: whole turns change nothing.
            steps %= list.len()? + 1;
        }
        Ok(it.at((0..steps).try_fold(it.element(), |at, _| step(at))?))
    })
}

/// Returns the previous iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_decrement_list_it(it: ListIt) -> ListIt {
    with("acp_decrement_list_it", it.failed(), it.list, |_, _, list| Ok(it.at(list.before(it.element())?)))
}

/// Returns the bytes of an element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_list_it(it: ListIt) -> Element {
    with("acp_dereference_list_it", Element::NULL, it.list, |_, _, list| Ok(Element::new(list.bytes_of(it.element())?)))
}

/// Returns the number of elements between two iterators.
#[unsafe(no_mangle)]
pub extern "C" fn acp_distance_list_it(first: ListIt, last: ListIt) -> c_int {
    with("acp_distance_list_it", 0, first.list, |_, _, list| Ok(between(&list, first, last)?.len() as c_int))
}

/// Returns the next iterator.
#[unsafe(no_mangle)]
pub extern "C" fn acp_increment_list_it(it: ListIt) -> ListIt {
    with("acp_increment_list_it", it.failed(), it.list, |_, _, list| Ok(it.at(list.next(it.element())?)))
}

/// The address of an element in the list, and its bytes.
type Known = (GlobalAddress, Element);

/// Returns all elements of a list.
fn elements(function: &str, list: Container) -> Option<Vec<Known>> {
    with(function, None, list, |_, _, list| {
        let known = |at| Ok((at, Element::new(list.bytes_of(at)?)));
        Ok(Some(list.elements()?.into_iter().map(known).collect::<Result<_, Refusal>>()?))
    })
}

fn addresses(elements: Vec<Known>) -> Vec<GlobalAddress> {
    elements.into_iter().map(|(at, _)| at).collect()
}

/// Sorts elements by merging. The program's function may call the library, and need not be a consistent order.
fn sort(mut elements: Vec<Known>, compare: extern "C" fn(Element, Element) -> c_int) -> Vec<Known> {
    if elements.len() < 2 {
        return elements;
    }
    let second = elements.split_off(elements.len() / 2);
    merge(sort(elements, compare), sort(second, compare), compare)
}

fn merge(one: Vec<Known>, other: Vec<Known>, compare: extern "C" fn(Element, Element) -> c_int) -> Vec<Known> {
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    let mut merged = Vec::with_capacity(one.len() + other.len());
    while let (Some(first), Some(second)) = (one.peek(), other.peek()) {
        let next = if compare(first.1, second.1) <= 0 { one.next() } else { other.next() };
        merged.extend(next);
    }
    merged.extend(one);
    merged.extend(other);
    merged
}
