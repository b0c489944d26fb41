//! Reductions and scans.
//!
//! | members, bytes | reduction |
//! |---|---|
//! | at most 16, at most 120 B | every member sends its values to every other, as a parcel; each combines them in the order of members |
//! | the 2 PEs of a job, on a network, at most 64 KiB | each PE sends all its values to the other, and both combine all values |
//! | at most 16, at most 4 KiB | as in the first row, but by landing buffers, and with a synchronization |
//! | at most 128, more, on one host | every member reads its part of the values from all others, combines it in the order of members and writes it to all |
//! | at most 128, more, on a network | the same, but every member sends the parts of others to their landing buffers, if they fit there |
//! | more members | up and down a binomial tree, 4 KiB at a time |
//!
//! The distance of a scan doubles in each round (Hillis and Steele, 1986). A scan processes 4 KiB at a time.

use std::ops::Range;

use pelago::GlobalAddress;
use pelago::zerocopy::IntoBytes;

use super::{ALL_LANDINGS_BYTES, FLAGS, RESULT, RESULT_LANDING, Run, cells, rounds};
use crate::addresses;
use crate::limits::{
    COMBINED_BYTES, DIRECT_MEMBERS_MAX, DIVIDED_MEMBERS_MAX, EXCHANGE_BYTES, LANDING_BYTES, PARCEL_DATA_BYTES, TEAM_ROUNDS,
};
use crate::refusal::refuse;
use crate::values::{Combine, Value, combine_after, combine_before};

const _: () = assert!(DIRECT_MEMBERS_MAX as usize <= TEAM_ROUNDS, "each member of a direct reduction has a landing buffer");

/// Reads values from memory of this PE.
fn read<T: Value>(from: usize, values: &mut [T]) {
    cells(from, size_of_val(values)).read(values.as_mut_bytes());
}

/// Writes values to memory of this PE.
fn write<T: Value>(to: usize, values: &[T]) {
    cells(to, size_of_val(values)).write(values.as_bytes());
}

/// Returns the bytes of values. The caller sends them before it changes the values.
fn bytes_of<T: Value>(values: &[T]) -> pelago_memory::Cells<'static> {
    cells(values.as_ptr() as usize, size_of_val(values))
}

fn bytes<T>(run: &Run<'_>, count: usize) -> usize {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => bytes,
        _ => refuse(run.routine, &format_args!("nreduce {count} is more than any memory")),
    }
}

/// Combines the values of all members. All members get the result.
pub(crate) fn reduce<T: Value>(routine: &'static str, team: usize, (dest, source): (usize, usize), count: usize, how: Combine) {
    let run = Run::begin(routine, team);
    let bytes = bytes::<T>(&run, count);
    run.compare(&[bytes as u64]);
    run.check("dest", dest, bytes);
    run.check("source", source, bytes);
    let size = run.size();
    if is_short(&run, bytes) {
        return reduce_shortly::<T>(&run, dest, source, count, how);
    }
    if bytes <= EXCHANGE_BYTES && run.is_pair() {
        return reduce_exchanged::<T>(&run, dest, source, count, how);
    }
    if size > 1 && size <= DIVIDED_MEMBERS_MAX && bytes > LANDING_BYTES {
        let others_bytes = (size as usize - 1) * part_bytes_max::<T>(&run, count);
        let reduce = if others_bytes <= ALL_LANDINGS_BYTES && !run.is_mapped() { reduce_sent::<T> } else { reduce_divided::<T> };
        return reduce(&run, dest, source, count, how);
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

/// Like `reduce`, for values in any memory that fit a landing buffer.
pub(crate) fn reduce_private<T: Value>(run: &Run<'_>, values: &mut [T], how: Combine) {
    if run.size() == 1 {
        return;
    }
    debug_assert!(size_of_val(values) <= LANDING_BYTES, "callers send pieces");
    if is_short(run, size_of_val(values)) {
        let place = values.as_mut_ptr() as usize;
        return reduce_shortly::<T>(run, place, place, values.len(), how);
    }
    if run.size() <= DIRECT_MEMBERS_MAX {
        reduce_directly(run, values, how)
    } else {
        reduce_by_tree(run, values, how)
    }
    run.sync();
}

/// Whether every member sends its values to every other as a parcel.
fn is_short(run: &Run<'_>, bytes: usize) -> bool {
    (2..=DIRECT_MEMBERS_MAX).contains(&run.size()) && bytes <= PARCEL_DATA_BYTES
}

/// Combines values that fit a parcel. No synchronization is needed, because the next short reduction uses other parcels.
fn reduce_shortly<T: Value>(run: &Run<'_>, dest: usize, source: usize, count: usize, how: Combine) {
    let (number, bytes) = (run.short_number(), count * size_of::<T>());
    for to in run.others() {
        run.send_parcel(to, cells(source, bytes), number);
    }
    let mut places = [source; DIRECT_MEMBERS_MAX as usize];
    for from in run.others() {
        places[from as usize] = run.parcel(from, number, bytes);
    }
    for offset in (0..count).map(|index| index * size_of::<T>()) {
        let mut combined: Option<T> = None;
        for place in &places[..run.size() as usize] {
            let mut one = T::new_zeroed();
            read(place + offset, std::slice::from_mut(&mut one));
            combined = Some(combined.map_or(one, |combined| combined.combine(one, how)));
        }
        // `dest` may be equal to `source`: this element is not read again.
        write(dest + offset, combined.as_slice());
    }
}

fn reduce_directly<T: Value>(run: &Run<'_>, values: &mut [T], how: Combine) {
    let (number, flag) = (run.number(), |from: u32| FLAGS + from as usize);
    for to in run.others() {
        run.send(to, run.landing(to, run.me as usize), bytes_of(values), flag(run.me), number);
    }
    let mut combined = vec![T::new_zeroed(); values.len()];
    let mut other = combined.clone();
    for position in 0..run.size() {
        if position == run.me {
            other.copy_from_slice(values);
        } else {
            run.wait(flag(position), number);
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

/// Combines the values of two PEs, at both PEs. This takes one network latency, where a divided reduction takes two.
fn reduce_exchanged<T: Value>(run: &Run<'_>, dest: usize, source: usize, count: usize, how: Combine) {
    let number = run.exchange_number();
    run.send_whole(cells(source, count * size_of::<T>()), number);
    let other = run.whole(number);
    let (first, second) = if run.me == 0 { (source, other) } else { (other, source) };
    // Parts that fit the first-level cache.
    let length = (COMBINED_BYTES / size_of::<T>()).min(count);
    let mut combined = vec![T::new_zeroed(); length];
    let mut after = combined.clone();
    for start in (0..count).step_by(length) {
        let (offset, length) = (start * size_of::<T>(), length.min(count - start));
        let (combined, after) = (&mut combined[..length], &mut after[..length]);
        read(first + offset, combined);
        read(second + offset, after);
        combine_after(combined, after, how);
        write(dest + offset, combined);
    }
}

/// Returns the range of the values that a member combines in a long reduction.
fn part(run: &Run<'_>, count: usize, position: u32) -> Range<usize> {
    let (position, size) = (position as usize, run.size() as usize);
    count * position / size..count * (position + 1) / size
}

fn part_bytes_max<T: Value>(run: &Run<'_>, count: usize) -> usize {
    count.div_ceil(run.size() as usize) * size_of::<T>()
}

/// Long reduction in which every member sends to each other member its part, and combines its own part of the values of all members.
fn reduce_sent<T: Value>(run: &Run<'_>, dest: usize, source: usize, count: usize, how: Combine) {
    // The landing buffers of a member have a place for each other member.
    let place = |from: u32, at: u32| (from - u32::from(from > at)) as usize * part_bytes_max::<T>(run, count);
    let parts = run.parts();
    for to in run.others() {
        let part = part(run, count, to);
        let from = cells(source + part.start * size_of::<T>(), part.len() * size_of::<T>());
        run.send_arrival(to, run.landing_at(to, place(run.me, to)), from, parts);
    }
    let mine = part(run, count, run.me);
    let mut combined = vec![T::new_zeroed(); mine.len()];
    let mut other = combined.clone();
    for position in 0..run.size() {
        let own = source + mine.start * size_of::<T>();
        let from = if position == run.me {
            own
        } else {
            run.wait_for(position, parts);
            run.own_landing(0) as usize + place(position, run.me)
        };
        if position == 0 {
            read(from, &mut combined);
        } else {
            read(from, &mut other);
            combine_after(&mut combined, &other, how);
        }
    }
    exchange_results(run, dest, mine.start, &combined);
}

/// Writes a part of the result to all members, and waits for the other parts. The other members are inside this reduction: they have sent their values, or have
/// synchronized.
fn exchange_results<T: Value>(run: &Run<'_>, dest: usize, start: usize, combined: &[T]) {
    let dest = dest + start * size_of::<T>();
    write(dest, combined);
    let results = run.results();
    for to in run.others() {
        let at = match combined {
            [] => GlobalAddress::NULL,
            _ => run.library.global(run.routine, "dest", dest, size_of_val(combined), run.rank(to)),
        };
        run.send_arrival(to, at, bytes_of(combined), results);
    }
    run.others().for_each(|from| run.wait_for(from, results));
}

/// Long reduction in which every member reads its part of the values from all members and combines it.
fn reduce_divided<T: Value>(run: &Run<'_>, dest: usize, source: usize, count: usize, how: Combine) {
    let (size, library) = (run.size() as usize, run.library);
    let mine = part(run, count, run.me);
    run.sync();
    let (from, length) = (source + mine.start * size_of::<T>(), mine.len());
    let mut all = vec![T::new_zeroed(); length * size];
    let got = library.default_context().issue(|context| {
        for (position, values) in all.chunks_exact_mut(length.max(1)).enumerate() {
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
    others.chunks_exact(length.max(1)).for_each(|other| combine_after(combined, other, how));
    // No other member reads this part of a source, so that `dest` may be `source`. A member that has sent its part of the result has read all sources, so that
    // the program may change this member's source without a synchronization at the end.
    exchange_results(run, dest, mine.start, combined);
}

/// Sums the values of all members up to this one (inclusive), or of those before it (exclusive). The exclusive sum of the first member is zero.
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

/// Replaces `values` by the sum up to this member, and returns the sum of the members before it.
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

/// Returns the sum of a number over the members before this one.
pub(crate) fn sum_before(run: &Run<'_>, number: u64) -> u64 {
    scan_piece(run, &mut [number])[0]
}
