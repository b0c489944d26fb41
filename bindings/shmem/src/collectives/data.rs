//! Broadcast, collects and exchanges: members put into the destination of other members.

use std::ffi::c_int;

use super::{ARRIVALS, FLAGS, Run, SECOND_FLAGS, cells, rounds};
use crate::refusal::refuse;
use crate::transfer::{self, Strided};

/// Returns the number of bytes of `elements` elements.
fn total(run: &Run<'_>, elements: usize, element: usize) -> usize {
    match elements.checked_mul(element) {
        Some(bytes) if bytes <= isize::MAX as usize / run.size() as usize => bytes,
        _ => refuse(run.routine, &format_args!("nelems {elements} is more than any memory")),
    }
}

/// Copies within this PE.
fn copy(to: usize, from: usize, bytes: usize) {
    if to != from && bytes > 0 {
        cells(to, bytes).copy_from(cells(from, bytes));
    }
}

/// Broadcasts the elements of the member at `root` to all members, down a binomial tree.
pub(crate) fn broadcast(
    routine: &'static str,
    team: usize,
    (dest, source): (usize, usize),
    elements: usize,
    element: usize,
    root: c_int,
) {
    let run = Run::begin(routine, team);
    let (size, bytes) = (run.size(), total(&run, elements, element));
    if run.members.rank(root).is_none() {
        refuse(routine, &format_args!("PE_root {root} is no member: the team has {size}"));
    }
    run.compare(&[bytes as u64, root as u64]);
    run.check("dest", dest, bytes);
    let (root, number) = (root as u32, run.number());
    let relative = (run.me + size - root) % size;
    if relative == 0 {
        copy(dest, source, bytes);
    } else {
        run.wait(FLAGS, number);
    }
    let below = if relative == 0 { rounds(size) } else { relative.trailing_zeros() };
    for round in (0..below).rev().filter(|round| relative + (1 << round) < size) {
        let child = (relative + (1 << round) + root) % size;
        let to = global(&run, dest, bytes, child);
        run.send(child, to, cells(if relative == 0 { source } else { dest }, bytes), FLAGS, number);
    }
    run.sync();
}

fn global(run: &Run<'_>, address: usize, bytes: usize, position: u32) -> pelago::GlobalAddress {
    if bytes == 0 {
        return pelago::GlobalAddress::NULL;
    }
    run.library.global(run.routine, "dest", address, bytes, run.rank(position))
}

/// Distributes the block of each member to all members: in round k, a member forwards the 2ᵏ blocks that end with its own to the member at distance 2ᵏ.
pub(crate) fn fcollect(routine: &'static str, team: usize, (dest, source): (usize, usize), elements: usize, element: usize) {
    let run = Run::begin(routine, team);
    let (size, block) = (run.size(), total(&run, elements, element));
    run.compare(&[block as u64]);
    run.check("dest", dest, block * size as usize);
    let number = run.number();
    copy(dest + run.me as usize * block, source, block);
    for round in 0..rounds(size) {
        let (distance, flag) = (1u32 << round, FLAGS + round as usize);
        let count = distance.min(size - distance);
        let to = (run.me + distance) % size;
        let send = |first: u32, count: u32, line: usize| {
            let (from, bytes) = (dest + first as usize * block, count as usize * block);
            run.send(to, global(&run, from, bytes, to), cells(from, bytes), line, number);
        };
        let wraps = |member: u32| count > member + 1;
        if wraps(run.me) {
            let before = count - run.me - 1;
            send(size - before, before, SECOND_FLAGS + round as usize);
            send(0, run.me + 1, flag);
        } else {
            send(run.me + 1 - count, count, flag);
        }
        run.wait(flag, number);
        if wraps((run.me + size - distance) % size) {
            run.wait(SECOND_FLAGS + round as usize, number);
        }
    }
    run.sync();
}

/// Concatenates the blocks of all members, which may differ in length, at all members.
pub(crate) fn collect(routine: &'static str, team: usize, (dest, source): (usize, usize), elements: usize, element: usize) {
    let run = Run::begin(routine, team);
    let bytes = total(&run, elements, element);
    let before = super::reductions::sum_before(&run, bytes as u64) as usize;
    run.check("dest", dest, before + bytes);
    copy(dest + before, source, bytes);
    for to in run.others() {
        run.send_counted(to, global(&run, dest + before, bytes, to), cells(source, bytes), ARRIVALS);
    }
    run.wait_for_arrivals(u64::from(run.size() - 1));
    run.sync();
}

/// Exchanges blocks between all members.
pub(crate) fn alltoall(routine: &'static str, team: usize, (dest, source): (usize, usize), elements: usize, element: usize) {
    let run = Run::begin(routine, team);
    let (me, size, block) = (run.me as usize, run.size(), total(&run, elements, element));
    run.compare(&[block as u64]);
    run.check("dest", dest, block * size as usize);
    copy(dest + me * block, source + me * block, block);
    for to in run.others() {
        let from = cells(source + to as usize * block, block);
        run.send_counted(to, global(&run, dest + me * block, block, to), from, ARRIVALS);
    }
    run.wait_for_arrivals(u64::from(size - 1));
    run.sync();
}

/// Like `alltoall`, for elements at equal strides.
pub(crate) fn alltoalls<const ELEMENT: usize>(
    routine: &'static str,
    team: usize,
    (dest, source): (usize, usize),
    (dest_stride, source_stride): (isize, isize),
    elements: usize,
) {
    let run = Run::begin(routine, team);
    total(&run, elements, ELEMENT);
    run.compare(&[elements as u64, dest_stride as u64, source_stride as u64]);
    if dest_stride < 1 || source_stride < 1 {
        refuse(routine, &format_args!("the strides {dest_stride} and {source_stride} are not positive"));
    }
    let place = |start: usize, block: u32, stride: isize| start + block as usize * elements * stride as usize * ELEMENT;
    for to in run.others().chain([run.me]) {
        let blocks = Strided {
            dest: place(dest, run.me, dest_stride) as *mut _,
            source: place(source, to, source_stride) as *const _,
            dest_stride,
            source_stride,
            block: 1,
            blocks: elements,
        };
        transfer::put_blocks::<ELEMENT>(routine, transfer::default_context(), blocks, run.rank(to) as c_int);
    }
    run.library.or_end(routine, run.library.default_context().quiet());
    run.others().for_each(|to| run.count(to));
    run.wait_for_arrivals(u64::from(run.size() - 1));
    run.sync();
}
