//! Lists.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::GlobalAddress;
use pelago::containers::{GlobalHeap, List};

use super::{Container, Element, data, marked_container, read, source};
use crate::library::Library;
use crate::refusal::Refusal;

/// A place in a list: an element, or the list's own address for the end.
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

/// What a program orders elements by.
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

/// Calls with two lists.
fn with_two<R>(
    function: &str,
    failed: R,
    one: Container,
    other: Container,
    f: impl FnOnce(Opened<'_>, Opened<'_>) -> Result<R, Refusal>,
) -> R {
    with(function, failed, one, |library, heap, one| f(one, open(library, heap, other)?))
}

/// The elements from one place up to another.
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

/// Replaces the elements by copies of another list's.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_list(list: Container, from: Container) {
    with_two("acp_assign_list", (), list, from, |list, from| Ok(list.assign(&from, &from.elements()?)?));
}

/// Replaces the elements by copies of those between two places.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_range_list(list: Container, start: ListIt, end: ListIt) {
    with_two("acp_assign_range_list", (), list, start.list, |list, from| Ok(list.assign(&from, &between(&from, start, end)?)?));
}

/// The first element, or the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_begin_list(list: Container) -> ListIt {
    let end = acp_end_list(list);
    with("acp_begin_list", end.failed(), list, |_, _, list| Ok(end.at(list.next(list.address())?)))
}

/// Takes all elements out.
#[unsafe(no_mangle)]
pub extern "C" fn acp_clear_list(list: Container) {
    with("acp_clear_list", (), list, |_, _, list| Ok(list.clear()?));
}

/// An empty list on a rank; a null address if that cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_list(rank: c_int) -> Container {
    data("acp_create_list", Container { ga: 0 }, |library, heap| {
        Ok(Container { ga: List::create(heap, library.rank_of(rank)?)?.address().bits() })
    })
}

/// Gives its memory back.
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_list(list: Container) {
    with("acp_destroy_list", (), list, |_, _, list| Ok(list.destroy()?));
}

/// 1 if there is no element, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn acp_empty_list(list: Container) -> c_int {
    with("acp_empty_list", 1, list, |_, _, list| Ok(list.is_empty()?.into()))
}

/// The end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_end_list(list: Container) -> ListIt {
    ListIt { list, elem: list.ga }
}

/// Takes an element out; the one after it.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_list(it: ListIt) -> ListIt {
    with("acp_erase_list", it.failed(), it.list, |_, _, list| Ok(it.at(list.erase(it.element())?)))
}

/// Takes the elements between two places out; the second place.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_range_list(start: ListIt, end: ListIt) -> ListIt {
    with("acp_erase_range_list", end.failed(), start.list, |_, _, list| {
        between(&list, start, end)?.into_iter().try_for_each(|element| list.erase(element).map(drop))?;
        Ok(end)
    })
}

/// Puts an element on a rank before a place; where it is.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_list(it: ListIt, element: Element, rank: c_int) -> ListIt {
    with("acp_insert_list", it.failed(), it.list, |library, _, list| {
        let mut buffer = Vec::new();
        let from = source(library, element, &mut buffer)?;
        Ok(it.at(list.insert(it.element(), from, library.rank_of(rank)?)?))
    })
}

/// Puts copies of the elements between two places before a place; the first of them.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_range_list(it: ListIt, start: ListIt, end: ListIt) -> ListIt {
    with_two("acp_insert_range_list", it.failed(), it.list, start.list, |list, from| {
        Ok(it.at(list.copy(it.element(), &from, &between(&from, start, end)?)?))
    })
}

/// Moves the elements of another list into this one, both in order.
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

/// Takes the last element out.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_back_list(list: Container) {
    with("acp_pop_back_list", (), list, |_, _, list| pop(&list, list.before(list.address())?));
}

/// Takes the first element out.
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

/// Adds an element on a rank at the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_back_list(list: Container, element: Element, rank: c_int) {
    push("acp_push_back_list", list, element, rank, false);
}

/// Adds an element on a rank at the beginning.
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

/// Takes out every element with these bytes.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_list(list: Container, element: Element) {
    with("acp_remove_list", (), list, |library, heap, list| {
        let wanted = read(library, heap, element)?;
        Ok(list.retain(|_, bytes| bytes != wanted)?)
    });
}

/// Puts the elements into the opposite order.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reverse_list(list: Container) {
    with("acp_reverse_list", (), list, |_, _, list| {
        let mut elements = list.elements()?;
        elements.reverse();
        Ok(list.relink(&elements)?)
    });
}

/// How many elements there are.
#[unsafe(no_mangle)]
pub extern "C" fn acp_size_list(list: Container) -> usize {
    with("acp_size_list", 0, list, |_, _, list| Ok(list.len()? as usize))
}

/// Puts the elements in order, equal ones as they were.
#[unsafe(no_mangle)]
pub extern "C" fn acp_sort_list(list: Container, compare: Compare) {
    let (Some(compare), Some(elements)) = (compare, elements("acp_sort_list", list)) else { return };
    let sorted = sort(elements, compare);
    with("acp_sort_list", (), list, |_, _, list| Ok(list.relink(&addresses(sorted))?));
}

/// Moves one element before a place.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_list(it: ListIt, element: ListIt) {
    with_two("acp_splice_list", (), it.list, element.list, |list, from| {
        let end = from.next(element.element())?;
        Ok(list.splice(it.element(), &from, element.element(), end)?)
    });
}

/// Moves the elements between two places before a place.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_range_list(it: ListIt, start: ListIt, end: ListIt) {
    with_two("acp_splice_range_list", (), it.list, start.list, |list, from| {
        between(&from, start, end)?;
        Ok(list.splice(it.element(), &from, start.element(), end.element())?)
    });
}

/// Exchanges what two lists hold.
#[unsafe(no_mangle)]
pub extern "C" fn acp_swap_list(one: Container, other: Container) {
    with_two("acp_swap_list", (), one, other, |one, other| Ok(one.swap(&other)?));
}

/// Of equal elements in a row, keeps the first.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unique_list(list: Container) {
    with("acp_unique_list", (), list, |_, _, list| Ok(list.retain(|before, bytes| before != Some(bytes))?));
}

/// The place `count` elements on, or back.
#[unsafe(no_mangle)]
pub extern "C" fn acp_advance_list_it(it: ListIt, count: c_int) -> ListIt {
    with("acp_advance_list_it", it.failed(), it.list, |_, _, list| {
        let step = |at| if count > 0 { list.next(at) } else { list.before(at) };
        Ok(it.at((0..count.unsigned_abs()).try_fold(it.element(), |at, _| step(at))?))
    })
}

/// The place before.
#[unsafe(no_mangle)]
pub extern "C" fn acp_decrement_list_it(it: ListIt) -> ListIt {
    with("acp_decrement_list_it", it.failed(), it.list, |_, _, list| Ok(it.at(list.before(it.element())?)))
}

/// The bytes of an element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_list_it(it: ListIt) -> Element {
    with("acp_dereference_list_it", Element::NULL, it.list, |_, _, list| Ok(Element::new(list.bytes_of(it.element())?)))
}

/// How many elements one place is before another.
#[unsafe(no_mangle)]
pub extern "C" fn acp_distance_list_it(first: ListIt, last: ListIt) -> c_int {
    with("acp_distance_list_it", 0, first.list, |_, _, list| Ok(between(&list, first, last)?.len() as c_int))
}

/// The place after.
#[unsafe(no_mangle)]
pub extern "C" fn acp_increment_list_it(it: ListIt) -> ListIt {
    with("acp_increment_list_it", it.failed(), it.list, |_, _, list| Ok(it.at(list.next(it.element())?)))
}

/// An element, and where its bytes lie.
type Known = (GlobalAddress, Element);

/// All elements of a list.
fn elements(function: &str, list: Container) -> Option<Vec<Known>> {
    with(function, None, list, |_, _, list| {
        let known = |at| Ok((at, Element::new(list.bytes_of(at)?)));
        Ok(Some(list.elements()?.into_iter().map(known).collect::<Result<_, Refusal>>()?))
    })
}

fn addresses(elements: Vec<Known>) -> Vec<GlobalAddress> {
    elements.into_iter().map(|(at, _)| at).collect()
}

/// Puts elements in order. The program's function may call the library, and need not be an order.
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
