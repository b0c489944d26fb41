//! Deprecated operations of active sets: every `2^logPE_stride`-th PE from `PE_start` on. Their state is the program's array `pSync`, which is zero before and
//! after each operation.
//!
//! | word of `pSync` | meaning |
//! |---|---|
//! | 0 | at the first PE of the set: the number of arrivals |
//! | 1 | at the other PEs: 1 when released |
//! | 2 | in `collect`: the offset of this PE's block, plus one |
//!
//! The first PE counts the arrivals, zeroes the count and releases the other PEs. Each of them zeroes its word when it observes the release. Thus the next
//! operation begins with zeros, and no release overtakes an earlier one: each follows an arrival of its target.

use std::ffi::{c_int, c_long};

use pelago::zerocopy::IntoBytes;

use super::cells;
use crate::library::{DEFAULT, Library, Members, library};
use crate::refusal::refuse;
use crate::transfer::{self, Mode, Strided};
use crate::values::{Combine, Value};
use crate::waiting::{Elements, With};
use crate::{atomics, library};

/// An operation of an active set at one of its PEs.
pub(crate) struct ActiveSet {
    library: &'static Library,
    routine: &'static str,
    members: Members,
    me: u32,
    psync: *mut i64,
}

const ARRIVED: usize = 0;
const RELEASED: usize = 1;
const BEGINS: usize = 2;

impl ActiveSet {
    /// Returns the active set of a call. Ends the job if the set is not valid.
    pub(crate) fn new(routine: &'static str, start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) -> Self {
        let library = library(routine);
        library.announce_stores();
        let is_possible = start >= 0 && (0..31).contains(&log_stride) && size > 0;
        let members = Members { start: start as u32, stride: 1 << log_stride.clamp(0, 31), size: size as u32 };
        if !is_possible || i64::from(start) + (i64::from(size) - 1) * members.stride >= i64::from(library.size) {
            refuse(
                routine,
                &format_args!("PE_start {start}, logPE_stride {log_stride}, PE_size {size} reach past {} PEs", library.size),
            );
        }
        let Some(me) = members.position(library.me) else { refuse(routine, &"this PE is not in the active set") };
        library.global(routine, "pSync", psync as usize, 3 * size_of::<i64>(), library.me);
        library.pointer::<u64>(routine, "pSync", psync as usize, library.me);
        Self { library, routine, members, me, psync }
    }

    fn word(&self, index: usize) -> *mut i64 {
        self.psync.wrapping_add(index)
    }

    fn rank(&self, position: u32) -> c_int {
        self.members.rank_at(position) as c_int
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, size) = (self.me, self.members.size);
        (1..size).map(move |distance| (me + distance) % size)
    }

    /// Sets a word of `pSync` of a PE.
    fn set(&self, position: u32, index: usize, word: i64) {
        if position == self.me {
            return cells(self.word(index) as usize, size_of::<i64>()).write(&word.to_ne_bytes());
        }
        transfer::put_value(self.routine, DEFAULT, self.word(index), word, self.rank(position));
    }

    fn wait(&self, index: usize, comparison: c_int, word: i64) {
        Elements::new(self.routine, self.word(index).cast_const(), 1, std::ptr::null(), comparison, With::One(word)).wait_all();
    }

    fn quiet(&self) {
        self.library.or_end(self.routine, self.library.default_context().quiet());
    }

    /// `shmem_sync`.
    pub(crate) fn sync(&self) {
        if self.members.size == 1 {
            return;
        }
        if self.me > 0 {
            let one = pelago_base::AtomicOperator::Add;
            atomics::update(self.routine, DEFAULT, self.word(ARRIVED).cast::<u64>(), one, 1, self.rank(0));
            self.wait(RELEASED, library::EQUAL, 1);
            self.set(self.me, RELEASED, 0);
            return;
        }
        self.wait(ARRIVED, library::EQUAL, i64::from(self.members.size) - 1);
        self.set(0, ARRIVED, 0);
        self.others().for_each(|position| self.set(position, RELEASED, 1));
    }

    /// `shmem_barrier`.
    pub(crate) fn barrier(&self) {
        self.quiet();
        self.sync();
    }

    fn put(&self, position: u32, dest: usize, source: usize, bytes: usize) {
        transfer::put::<1>(
            self.routine,
            DEFAULT,
            Mode::Blocking,
            (dest as *mut _, source as *const _),
            bytes,
            self.rank(position),
        );
    }

    /// `shmem_broadcast32`, `64`: the `dest` of the root is unchanged.
    pub(crate) fn broadcast(&self, (dest, source): (usize, usize), bytes: usize, root: c_int) {
        if self.members.rank(root).is_none() {
            refuse(self.routine, &format_args!("PE_root {root} is not in the active set of {}", self.members.size));
        }
        if root as u32 == self.me {
            self.others().for_each(|position| self.put(position, dest, source, bytes));
        }
        self.barrier();
    }

    /// `shmem_fcollect32`, `64`.
    pub(crate) fn fcollect(&self, (dest, source): (usize, usize), bytes: usize) {
        let place = dest + self.me as usize * bytes;
        self.others().chain([self.me]).for_each(|position| self.put(position, place, source, bytes));
        self.barrier();
    }

    /// `shmem_collect32`, `64`: each PE sends to the next one the offset of its block.
    pub(crate) fn collect(&self, (dest, source): (usize, usize), bytes: usize) {
        let mut begins = 0;
        if self.me > 0 {
            self.wait(BEGINS, library::NOT_EQUAL, 0);
            begins = transfer::get_value(self.routine, DEFAULT, self.word(BEGINS).cast_const(), self.rank(self.me)) - 1;
            self.set(self.me, BEGINS, 0);
        }
        if self.me + 1 < self.members.size {
            self.set(self.me + 1, BEGINS, begins + bytes as i64 + 1);
        }
        let place = dest + begins as usize;
        self.others().chain([self.me]).for_each(|position| self.put(position, place, source, bytes));
        self.barrier();
    }

    /// `shmem_alltoall32`, `64`.
    pub(crate) fn alltoall(&self, (dest, source): (usize, usize), bytes: usize) {
        let place = dest + self.me as usize * bytes;
        for position in self.others().chain([self.me]) {
            self.put(position, place, source + position as usize * bytes, bytes);
        }
        self.barrier();
    }

    /// `shmem_alltoalls32`, `64`.
    pub(crate) fn alltoalls<const ELEMENT: usize>(
        &self,
        (dest, source): (usize, usize),
        (dst, sst): (isize, isize),
        elements: usize,
    ) {
        if dst < 1 || sst < 1 {
            refuse(self.routine, &format_args!("the strides {dst} and {sst} are not positive"));
        }
        let place = |start: usize, block: u32, stride: isize| start + block as usize * elements * stride as usize * ELEMENT;
        for position in self.others().chain([self.me]) {
            let blocks = Strided {
                dest: place(dest, self.me, dst) as *mut _,
                source: place(source, position, sst) as *const _,
                dest_stride: dst,
                source_stride: sst,
                block: 1,
                blocks: elements,
            };
            transfer::put_blocks::<ELEMENT>(self.routine, DEFAULT, blocks, self.rank(position));
        }
        self.barrier();
    }

    /// `shmem_<TYPENAME>_…_to_all`: each PE reads the values of all, in the order of PEs.
    pub(crate) fn reduce<T: Value>(&self, (dest, source): (usize, usize), count: c_int, how: Combine) {
        let Ok(count) = usize::try_from(count) else { refuse(self.routine, &format_args!("nreduce {count} is negative")) };
        let bytes = count * size_of::<T>();
        if bytes > 0 {
            self.library.global(self.routine, "dest", dest, bytes, self.library.me);
            self.library.global(self.routine, "source", source, bytes, self.library.me);
        }
        let mut combined = vec![T::new_zeroed(); count];
        let mut other = combined.clone();
        self.barrier();
        for position in 0..self.members.size {
            let into = other.as_mut_ptr().cast();
            transfer::get::<1>(self.routine, DEFAULT, Mode::Blocking, (into, source as *const _), bytes, self.rank(position));
            if position == 0 {
                combined.copy_from_slice(&other);
            } else {
                combined.iter_mut().zip(&other).for_each(|(one, other)| *one = one.combine(*other, how));
            }
        }
        self.sync();
        cells(dest, size_of_val(&combined[..])).write(combined.as_bytes());
    }
}
