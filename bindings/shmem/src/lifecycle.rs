//! Initialization, finalization, the end of the job.
//!
//! The process joins the job at its first initialization and leaves it when it exits: the data that a launcher passes to a rank can be used only once, and
//! a program may initialize the library again after a finalization.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use pelago::{Error, GlobalAddress, Job, Rank, Result, Scope, SegmentId, Symmetric};
use pelago_c_support::{exit, monitor, simulated};
use pelago_memory::Heap;

use crate::collectives::{self, SCRATCH_BYTES};
use crate::library::{Area, ContextSlot, Library, Parts, SHARED, process};
use crate::limits::STATIC_AREAS_MAX;
use crate::refusal::{self, end, refuse};
use crate::statics;

const PAGE_BYTES: u64 = 4096;

/// Alignment of the start of the heap: a large page.
const HEAP_ALIGNMENT: usize = 2 << 20;

/// Divisor of a rank's memory that gives the size of the symmetric heap, unless the environment sets the size.
const HEAP_SHARE: u64 = 2;

/// Initializes the library and returns the provided level of thread support. Collective.
pub(crate) fn init(routine: &'static str, requested: c_int) -> c_int {
    let process = process();
    let _lifecycle = monitor::lock(&process.lifecycle);
    if let Some(library) = process.library.get() {
        // No other thread changes the depth while the lock is held.
        let depth = library.depth.load(Ordering::Acquire);
        if depth == 0 {
            begin(library, routine, requested);
        }
        library.set_depth(depth + 1);
        return library.threads.load(Ordering::Relaxed) as c_int;
    }
    let library = match join(routine) {
        Ok(parts) => process.library.get_or_init(|| Library::new(parts)),
        Err(error) => end(routine, &error, None),
    };
    library.is_debugged.store(variable("DEBUG").is_some(), Ordering::Relaxed);
    begin(library, routine, requested);
    library.set_depth(1);
    tell(library);
    requested
}

/// Sets the level of thread support, and that of all PEs. Returns after all PEs have joined.
fn begin(library: &Library, routine: &'static str, requested: c_int) {
    library.threads.store(requested as u32, Ordering::Relaxed);
    let mut levels = [requested as u64];
    let met =
        library.default_context().monitor.with(|state| state.job.map_or(Ok(()), |job| job.allreduce(&mut levels, u64::max)));
    library.or_end(routine, met);
    library.threads_of_all.store(levels[0] as u32, Ordering::Relaxed);
}

/// Prints the information that `SHMEM_VERSION` and `SHMEM_INFO` request, at the first PE.
fn tell(library: &Library) {
    if library.me > 0 {
        return;
    }
    if variable("VERSION").is_some() {
        println!("OpenSHMEM 1.6, Pelago {}", env!("CARGO_PKG_VERSION"));
    }
    if variable("INFO").is_some() {
        println!("SHMEM_SYMMETRIC_SIZE={} (bytes of the symmetric heap of each PE)", library.heap_area().bytes);
        println!("SHMEM_DEBUG, SHMEM_INFO, SHMEM_VERSION: any value switches each on; SMA_ is accepted for SHMEM_");
    }
}

/// Returns the environment variable `SHMEM_name`, or else `SMA_name`.
fn variable(name: &str) -> Option<String> {
    ["SHMEM_", "SMA_"].iter().find_map(|prefix| std::env::var(format!("{prefix}{name}")).ok())
}

/// Joins the job and allocates its memory.
fn join(routine: &'static str) -> Result<Parts> {
    let wanted = variable("SYMMETRIC_SIZE").map(|text| {
        let why = format!("SHMEM_SYMMETRIC_SIZE cannot be {text:?}: it is a number, maybe with one of k, m, g, t");
        bytes_of(&text).unwrap_or_else(|| refuse(routine, &why))
    });
    let job: &'static Job = Box::leak(Box::new(Job::join()?));
    refusal::set_number(job.rank().number());
    let is_simulated = simulated::running().is_some();
    if !is_simulated {
        exit::at_exit(leave_at_exit);
    }
    let limit = job.reach().addresses().segment_bytes();
    let ranges = statics::ranges();
    let (scratch, kept) = allocate(job, SCRATCH_BYTES as u64)?;
    std::mem::forget(kept);
    let statics = if is_simulated { register_statics(job, routine, &ranges)? } else { move_statics(job, routine, &ranges)? };
    let heap_bytes = wanted.unwrap_or((limit / HEAP_SHARE).saturating_sub(HEAP_ALIGNMENT as u64) / PAGE_BYTES * PAGE_BYTES);
    if heap_bytes + HEAP_ALIGNMENT as u64 >= limit {
        let enough = heap_bytes.saturating_mul(2).next_power_of_two();
        refuse(
            routine,
            &format_args!(
                "SHMEM_SYMMETRIC_SIZE is {heap_bytes} bytes, and a PE has {limit}: pelago run --heap {enough}, or PELAGO_HEAP={enough}"
            ),
        );
    }
    let (room, kept) = allocate(job, heap_bytes + HEAP_ALIGNMENT as u64)?;
    std::mem::forget(kept);
    let (heap, alignment) = aligned(job, room)?;
    Ok(Parts { job, heap, alignment, statics, scratch, is_simulated })
}

/// Allocates memory at the same offset on every rank.
fn allocate(job: &'static Job, bytes: u64) -> Result<(Area, Symmetric<'static, u64>)> {
    let words = job.alloc::<u64>(bytes.div_ceil(8).max(1) as usize)?;
    let bits = words.at(Rank::new(0), 0).address().bits();
    let start = words.local().cells().pointer().as_ptr() as usize;
    Ok((Area { start, bytes: bytes as usize, bits }, words))
}

/// Returns the part of `room` from the first multiple of [`HEAP_ALIGNMENT`] on, or from the first page if those multiples have different offsets on different
/// ranks; and the alignment used.
fn aligned(job: &'static Job, room: Area) -> Result<(Area, usize)> {
    let skip = |alignment: usize| room.start.next_multiple_of(alignment) - room.start;
    let mut both = [skip(HEAP_ALIGNMENT) as u64, !(skip(HEAP_ALIGNMENT) as u64)];
    job.allreduce(&mut both, u64::max)?;
    let alignment = if both[0] == !both[1] { HEAP_ALIGNMENT } else { PAGE_BYTES as usize };
    let skip = skip(alignment);
    Ok((Area { start: room.start + skip, bytes: room.bytes - HEAP_ALIGNMENT, bits: room.bits + skip as u64 }, alignment))
}

/// Ends the job unless all ranks have the same numbers.
fn agree(job: &'static Job, routine: &'static str, numbers: &[u64]) -> Result<()> {
    let mut both: Vec<u64> = numbers.iter().flat_map(|&number| [number, !number]).collect();
    job.allreduce(&mut both, u64::max)?;
    if both.chunks_exact(2).any(|pair| pair[0] != !pair[1]) {
        refuse(routine, &"the executables of the PEs have different variables: all PEs run the same executable");
    }
    Ok(())
}

fn too_many(routine: &'static str, ranges: &[Range<usize>]) {
    if ranges.len() > STATIC_AREAS_MAX {
        refuse(
            routine,
            &format_args!("the executable has {} ranges of variables, {STATIC_AREAS_MAX} are possible", ranges.len()),
        );
    }
}

/// Moves the variables of the executable into memory of the job, at unchanged addresses.
fn move_statics(job: &'static Job, routine: &'static str, ranges: &[Range<usize>]) -> Result<[Area; STATIC_AREAS_MAX]> {
    too_many(routine, ranges);
    let mut numbers = [0; STATIC_AREAS_MAX];
    ranges.iter().zip(&mut numbers).for_each(|(range, number)| *number = range.len() as u64);
    agree(job, routine, &numbers)?;
    let mut areas = [Area::default(); STATIC_AREAS_MAX];
    for (range, area) in ranges.iter().zip(&mut areas) {
        let (place, kept) = allocate(job, range.len() as u64)?;
        std::mem::forget(kept);
        if let Err(error) = statics::move_to(place.start as *mut u8, range) {
            refuse(routine, &format_args!("cannot map the variables of the executable into the memory of the job: {error}"));
        }
        *area = Area { start: range.start, ..place };
    }
    Ok(areas)
}

/// Registers a simulated rank's private copy of the variables.
fn register_statics(job: &'static Job, routine: &'static str, ranges: &[Range<usize>]) -> Result<[Area; STATIC_AREAS_MAX]> {
    too_many(routine, ranges);
    let layout = job.reach().addresses();
    let mut areas = [Area::default(); STATIC_AREAS_MAX];
    let mut numbers = [0; STATIC_AREAS_MAX];
    let limit = layout.segment_bytes();
    for ((range, area), number) in ranges.iter().zip(&mut areas).zip(&mut numbers) {
        let bytes = range.len() as u64;
        if bytes > limit {
            let enough = bytes.next_power_of_two();
            refuse(
                routine,
                &format_args!("the executable has {bytes} bytes of variables, and a PE has {limit}: pelago sim --heap {enough}"),
            );
        }
        let place = simulated::shared_address(range.start, range.len()).and_then(|place| NonNull::new(place as *mut u8));
        let Some(place) = place else { refuse(routine, &"the variables of the executable have no private copy") };
        // SAFETY: the copy of this rank, which lives as long as the process (A9 of `pelago-c-support`). Words that other ranks change are read by
        // atomic loads; the program is responsible for all other accesses, as in C.
        let registered = unsafe { job.register_raw(place.as_ptr(), range.len()) }?;
        let at = registered.ptr(0).address();
        std::mem::forget(registered);
        let segment = layout.segment(at).unwrap_or(SegmentId::SYMMETRIC);
        let bits = layout.encode(Rank::new(0), segment, layout.offset(at)).map_or(0, GlobalAddress::bits);
        *area = Area { start: range.start, bytes: range.len(), bits };
        *number = bits;
    }
    agree(job, routine, &numbers)?;
    Ok(areas)
}

/// Parses a size: a number, which may have a fraction, and one of k, m, g, t. Further characters are ignored. Returns bytes.
fn bytes_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor: u64 = match text[end..].chars().next().map(|unit| unit.to_ascii_lowercase()) {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some('t') => 1 << 40,
        _ => 1,
    };
    let bytes = number * factor as f64;
    (bytes.is_finite() && bytes >= 1.0 && bytes < u64::MAX as f64 / 4.0).then(|| (bytes as u64).next_multiple_of(PAGE_BYTES))
}

/// Matches one initialization; the last finalization ends the use of the library. Collective.
pub(crate) fn finalize(routine: &'static str) {
    let process = process();
    let _lifecycle = monitor::lock(&process.lifecycle);
    let library = crate::library::library(routine);
    let depth = library.depth.load(Ordering::Acquire);
    if depth > 1 {
        return library.set_depth(depth - 1);
    }
    // Before the barrier, so that after it the operations of all PEs have completed.
    library.contexts_in_use().for_each(|context| library.or_end(routine, context.quiet()));
    collectives::barrier_all(routine);
    library.contexts_in_use().for_each(ContextSlot::release);
    library.teams()[SHARED..].iter().for_each(|team| team.size.store(0, Ordering::Relaxed));
    *library.heap.lock().unwrap_or_else(PoisonError::into_inner) = Heap::new(library.heap_area().bytes as u64);
    library.set_depth(0);
}

/// Ends the job: with status 0, as a regular end of all PEs; otherwise, like an exit of this PE with an error.
pub(crate) fn exit_all(routine: &'static str, status: c_int) -> ! {
    let library = crate::library::library(routine);
    // The system keeps only eight bits of an exit code.
    if status & 0xff == 0 {
        library.default_context().monitor.with(|state| state.job.into_iter().for_each(Job::end_for_all));
    }
    exit::immediately(status)
}

/// Leaves the job when the process ends with an exit code. Returns a different exit code if leaving fails. A return from `main` or a call of `exit` without
/// an error finalizes the library, if the program has not.
pub(crate) fn leave(code: i32) -> Option<i32> {
    let library = process().library.get().filter(|_| code == 0)?;
    if library.depth.load(Ordering::Acquire) > 0 {
        library.set_depth(1);
        finalize("exit");
    }
    // A thread that still holds the lock will not release it any more.
    let left =
        library.default_context().monitor.try_with(|state| state.job.and_then(|job| Some((job.leave().err()?, job.exit_code()))));
    let (error, code) = left??;
    Some(exit_code(code, &error))
}

/// Returns the exit code for an error, and reports the error unless the launcher does.
fn exit_code(code: Option<i32>, error: &Error) -> i32 {
    code.unwrap_or_else(|| {
        refusal::write_line("exit", error);
        if error.scope() == Scope::Peer { 3 } else { 1 }
    })
}

/// Exit handler that calls `leave`.
fn leave_at_exit(code: c_int) {
    if let Some(code) = leave(code) {
        exit::immediately(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_fractions_and_units() {
        assert_eq!(
            ["4096", "1k", "1.5K", "2m", "0.5g", "1T and more"].map(bytes_of),
            [Some(4096), Some(4096), Some(4096), Some(2 << 20), Some(512 << 20), Some(1 << 40)]
        );
        assert_eq!(["", "k", "-1", "1.2.3", "0", "99999999999999999999", "20000000t"].map(bytes_of), [None; 7]);
    }
}
