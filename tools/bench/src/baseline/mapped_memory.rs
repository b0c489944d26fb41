//! The raw limit on mapped memory: plain load, store and copy instructions; and a socket option for which no safe call exists.
//!
//! - **B1** Memory of a rank on this host is at the location that `Reach` returns for its address.
//! - **B2** The mapping lives as long as the `World` from which the memory was allocated, and thus longer than the borrow of the memory.
//! - **B3** Memory that other ranks may access at the same time is accessed by atomics. Copies are made only while the other rank waits for
//!   its turn, so that they race with no access.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use pelago::{Pod, Rank, Shape, Symmetric, World};

use crate::error::{Error, Result};

/// Memory allocated by a rank, as mapped by this process.
pub(crate) struct Raw<'m, T> {
    start: NonNull<T>,
    length: usize,
    memory: PhantomData<&'m AtomicU64>,
}

impl<'m, T: Pod> Raw<'m, T> {
    /// Returns the part of `memory` that belongs to `rank`.
    pub(crate) fn of(world: &World, memory: &'m Symmetric<'_, T>, rank: Rank) -> Result<Self> {
        let bytes = memory.local().cells().bytes() as u64;
        let there = world.reach().cells(memory.at(rank, 0).address(), bytes).ok_or(Error::NotMapped)?;
        Ok(Self { start: there.pointer().cast(), length: memory.len(), memory: PhantomData })
    }

    /// Copies all of `from` to the first elements by `memcpy`.
    #[inline(never)]
    pub(crate) fn write(&self, from: &[T]) {
        assert!(from.len() <= self.length);
        // SAFETY: B1, B2, B3; `from` is not in the mapping, as a slice of this program cannot be shared with another rank.
        unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), self.start.as_ptr(), from.len()) }
    }

    /// Copies the first elements to all of `into` by `memcpy`.
    #[inline(never)]
    pub(crate) fn read(&self, into: &mut [T]) {
        assert!(into.len() <= self.length);
        // SAFETY: as in `write`.
        unsafe { core::ptr::copy_nonoverlapping(self.start.as_ptr(), into.as_mut_ptr(), into.len()) }
    }

    /// Copies the blocks of `shape` from the start of `from` to the same blocks after `first`, with loops.
    #[inline(never)]
    pub(crate) fn write_blocks(&self, first: usize, from: &[T], shape: Shape) {
        let extent = shape.extent().map_or(usize::MAX, |extent| extent as usize);
        assert!(extent <= from.len() && extent <= self.length - first);
        let [slow, middle, fast] = shape.strides.map(|stride| stride as usize);
        let block = shape.block as usize;
        // SAFETY: B1, B2, B3; the shape was checked against both lengths above.
        unsafe {
            let (from, to) = (from.as_ptr(), self.start.as_ptr().add(first));
            for i in 0..shape.counts[0] as usize {
                for j in 0..shape.counts[1] as usize {
                    let (from, to) = (from.add(i * slow + j * middle), to.add(i * slow + j * middle));
                    for k in 0..shape.counts[2] as usize {
                        match block {
                            1 => to.add(k * fast).write(from.add(k * fast).read()),
                            _ => core::ptr::copy_nonoverlapping(from.add(k * fast), to.add(k * fast), block),
                        }
                    }
                }
            }
        }
    }
}

impl Raw<'_, u64> {
    /// Returns the words as atomics.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: B1, B2, B3; any bit pattern is a valid word.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().cast(), self.length) }
    }

    /// Returns one word as an atomic.
    #[inline(always)]
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        &self.words()[index]
    }
}

/// Sets an integer option of UDP.
pub(crate) fn set_udp_option(socket: BorrowedFd<'_>, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which outlives the call.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, (&raw const value).cast(), bytes) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_and_library_see_the_same_memory() {
        pelago::run(|world| {
            let memory = world.alloc::<u64>(64)?;
            let raw = Raw::of(world, &memory, world.rank()).unwrap();
            raw.write(&[7; 64]);
            raw.word(3).store(8, core::sync::atomic::Ordering::Release);
            assert_eq!((memory.local().load(3), memory.local().load(63)), (8, 7));
            raw.write_blocks(1, &[9; 20], Shape::strided(3, 2, 8));
            let touched: Vec<_> = (0..64).filter(|index| memory.local().load(*index) == 9).collect();
            assert_eq!(touched, [1, 2, 9, 10, 17, 18]);
            let mut read = [0; 2];
            raw.read(&mut read);
            assert_eq!(read, [7, 9]);
            Ok::<_, pelago::Error>(())
        })
        .unwrap();
    }
}
