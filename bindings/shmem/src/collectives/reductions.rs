//! Reductions and scans.
//!
//! | members, bytes | reduction |
//! |---|---|
//! | at most 16, at most 4 KiB | every member sends its values to every other; each combines them in the order of members |
//! | at most 128, more | every member reads its part of the values from all others, combines it in the order of members and writes it to all |
//! | more members | up and down a binomial tree, 4 KiB at a time |
//!
//! Scans double their reach in each round (Hillis and Steele, 1986), 4 KiB at a time.

use pelago::zerocopy::IntoBytes;

use super::{FLAGS, RESULT, RESULT_LANDING, Run, cells, rounds};
use crate::addresses;
use crate::limits::{DIRECT_MEMBERS_MAX, DIVIDED_MEMBERS_MAX, LANDING_BYTES, TEAM_ROUNDS};
use crate::refusal::refuse;
use crate::values::{Combine, Value};

const _: () = assert!(DIRECT_MEMBERS_MAX as usize <= TEAM_ROUNDS, "each member of a direct reduction has a landing buffer");

/// Reads values from memory of this PE.
fn read<T: Value>(from: usize, values: &mut [T]) {
    cells(from, size_of_val(values)).read(values.as_mut_bytes());
}

/// Writes values to memory of this PE.
fn write<T: Value>(to: usize, values: &[T]) {
    cells(to, size_of_val(values)).write(values.as_bytes());
}

/// The bytes of values, which are sent before they change.
fn bytes_of<T: Value>(values: &[T]) -> pelago_memory::Cells<'static> {
    cells(values.as_ptr() as usize, size_of_val(values))
}

/// `into` becomes what came before it, combined with it.
fn combine_before<T: Value>(before: &[T], into: &mut [T], how: Combine) {
    into.iter_mut().zip(before).for_each(|(into, before)| *into = before.combine(*into, how));
}

/// `into` becomes it, combined with what comes after it.
fn combine_after<T: Value>(into: &mut [T], after: &[T], how: Combine) {
    into.iter_mut().zip(after).for_each(|(into, after)| *into = into.combine(*after, how));
}

fn bytes<T>(run: &Run<'_>, count: usize) -> usize {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => bytes,
        _ => refuse(run.routine, &format_args!("nreduce {count} is more than any memory")),
    }
}

/// Combines the values of all members; all get the result.
pub(crate) fn reduce<T: Value>(routine: &'static str, team: usize, (dest, source): (usize, usize), count: usize, how: Combine) {
    let run = Run::begin(routine, team);
    let bytes = bytes::<T>(&run, count);
    run.compare(&[bytes as u64]);
    run.check("dest", dest, bytes);
    run.check("source", source, bytes);
    let size = run.size();
    if size > 1 && size <= DIVIDED_MEMBERS_MAX && bytes > LANDING_BYTES {
        return reduce_divided::<T>(&run, dest, source, count, how);
    }
    let length = if size == 1 { count.max(1) } else { LANDING_BYTES / size_of::<T>() };
    let mut start = 0;
    while start < count {
        let mut values = vec![T::new_zeroed(); length.min(count - start)];
        read(source + start * size_of::<T>(), &mut values);
        reduce_private(&run, &mut values, how);
        write(dest + start * size_of::<T>(), &values);
        start += values.len();
    }
}

/// As `reduce`, of values that fit a landing buffer, wherever they lie.
pub(crate) fn reduce_private<T: Value>(run: &Run<'_>, values: &mut [T], how: Combine) {
    if run.size() == 1 {
        return;
    }
    debug_assert!(size_of_val(values) <= LANDING_BYTES, "callers send pieces");
    if run.size() <= DIRECT_MEMBERS_MAX {
        reduce_directly(run, values, how)
    } else {
        reduce_by_tree(run, values, how)
    }
    run.sync();
}

fn reduce_directly<T: Value>(run: &Run<'_>, values: &mut [T], how: Combine) {
    for to in run.others() {
        run.send_counted(to, run.landing(to, run.me as usize), bytes_of(values));
    }
    run.wait_for_arrivals(u64::from(run.size() - 1));
    let mut combined = vec![T::new_zeroed(); values.len()];
    let mut other = combined.clone();
    for position in 0..run.size() {
        if position == run.me {
            other.copy_from_slice(values);
        } else {
            read(run.own_landing(position as usize) as usize, &mut other);
        }
        if position == 0 { combined.copy_from_slice(&other) } else { combine_after(&mut combined, &other, how) }
    }
    values.copy_from_slice(&combined);
}

fn reduce_by_tree<T: Value>(run: &Run<'_>, values: &mut [T], how: Combine) {
    let (size, me, number) = (run.size(), run.me, run.number());
    let mut other = vec![T::new_zeroed(); values.len()];
    for round in 0..rounds(size) {
        let flag = FLAGS + round as usize;
        if me & (1 << round) != 0 {
            let to = me - (1 << round);
            run.send(to, run.landing(to, round as usize), bytes_of(values), flag, number);
            break;
        }
        if me + (1 << round) < size {
            run.wait(flag, number);
            read(run.own_landing(round as usize) as usize, &mut other);
            combine_after(values, &other, how);
        }
    }
    if me != 0 {
        run.wait(RESULT, number);
        read(run.own_landing(RESULT_LANDING) as usize, values);
    }
    let below = if me == 0 { rounds(size) } else { me.trailing_zeros() };
    for round in (0..below).rev().filter(|round| me + (1 << round) < size) {
        let to = me + (1 << round);
        run.send(to, run.landing(to, RESULT_LANDING), bytes_of(values), RESULT, number);
    }
}

/// Every member combines its part of the values of all members.
fn reduce_divided<T: Value>(run: &Run<'_>, dest: usize, source: usize, count: usize, how: Combine) {
    let (size, library) = (run.size() as usize, run.library);
    let part = |position: usize| count * position / size..count * (position + 1) / size;
    let mine = part(run.me as usize);
    run.sync();
    let (from, length) = (source + mine.start * size_of::<T>(), mine.len());
    let mut all = vec![T::new_zeroed(); length * size];
    if length > 0 {
        let got = library.default_context().issue(|context| {
            for (position, values) in all.chunks_exact_mut(length).enumerate() {
                let at = library.global(run.routine, "source", from, length * size_of::<T>(), run.rank(position as u32));
                let into = cells(values.as_mut_ptr() as usize, size_of_val(values));
                match library.reach.cells(at, into.bytes() as u64) {
                    Some(cells) => into.copy_from(cells),
                    None => addresses::get_later(context, at, into)?,
                }
            }
            context.quiet()
        });
        library.or_end(run.routine, got);
        let (combined, others) = all.split_at_mut(length);
        others.chunks_exact(length).for_each(|other| combine_after(combined, other, how));
        // Nobody else reads this part of any source, so that it may be written where it was read.
        write(dest + mine.start * size_of::<T>(), combined);
        for to in run.others() {
            let at =
                library.global(run.routine, "dest", dest + mine.start * size_of::<T>(), length * size_of::<T>(), run.rank(to));
            run.send_counted(to, at, bytes_of(combined));
        }
    }
    let others = (0..size).filter(|&position| position != run.me as usize && !part(position).is_empty()).count();
    run.wait_for_arrivals(others as u64);
    run.sync();
}

/// Combines the values of all members up to this one, or of those before it: of none, zero.
pub(crate) fn scan<T: Value>(routine: &'static str, team: usize, (dest, source): (usize, usize), count: usize, inclusive: bool) {
    let run = Run::begin(routine, team);
    let bytes = bytes::<T>(&run, count);
    run.compare(&[bytes as u64]);
    run.check("dest", dest, bytes);
    run.check("source", source, bytes);
    let (mut start, length) = (0, LANDING_BYTES / size_of::<T>());
    while start < count {
        let mut values = vec![T::new_zeroed(); length.min(count - start)];
        read(source + start * size_of::<T>(), &mut values);
        let before = scan_piece(&run, &mut values);
        write(dest + start * size_of::<T>(), if inclusive { &values } else { &before });
        start += values.len();
    }
}

/// `values` become the sum up to this member; the sum before it is returned.
fn scan_piece<T: Value>(run: &Run<'_>, values: &mut [T]) -> Vec<T> {
    let (size, me, number) = (run.size(), run.me, run.number());
    let mut before = vec![T::new_zeroed(); values.len()];
    let mut heard = before.clone();
    let mut has_before = false;
    for round in 0..rounds(size) {
        let (distance, flag) = (1 << round, FLAGS + round as usize);
        if me + distance < size {
            run.send(me + distance, run.landing(me + distance, round as usize), bytes_of(values), flag, number);
        }
        if me >= distance {
            run.wait(flag, number);
            read(run.own_landing(round as usize) as usize, &mut heard);
            combine_before(&heard, values, Combine::Sum);
            if has_before {
                combine_before(&heard, &mut before, Combine::Sum)
            } else {
                before.copy_from_slice(&heard)
            }
            has_before = true;
        }
    }
    run.sync();
    before
}

/// The sum of a number over the members before this one.
pub(crate) fn sum_before(run: &Run<'_>, number: u64) -> u64 {
    scan_piece(run, &mut [number])[0]
}
