//! Puts, gets and signals.
//!
//! Invariant **B3**: pointers from the program satisfy the requirements of the standard: a source is readable and a destination is writable for
//! the number of elements of the call, until the call returns or, for nonblocking calls, until a quiet has completed.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use pelago::{GlobalAddress, GlobalPtr, Pod, Rank, Shape, Signal};
use pelago_memory::Cells;

use crate::library::{DEFAULT, Library, direct, library};
use crate::refusal::refuse;

/// Operations on the word of a signal: set, or add.
pub(crate) const SIGNAL_SET: c_int = 0;
pub(crate) const SIGNAL_ADD: c_int = 1;

/// Whether a call waits for the completion of its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Later,
}

/// Returns the number of bytes of `elements` elements.
#[inline(always)]
fn total(routine: &str, elements: usize, element: usize) -> usize {
    match elements.checked_mul(element) {
        Some(bytes) if bytes <= isize::MAX as usize => bytes,
        _ => refuse(routine, &format_args!("{elements} elements of {element} bytes are more than any memory")),
    }
}

/// Returns the bytes at a pointer from the program.
#[inline(always)]
fn own(pointer: *const c_void, bytes: usize) -> Cells<'static> {
    let start = NonNull::new(pointer.cast_mut().cast()).unwrap_or(NonNull::dangling());
    // SAFETY: B3; a null pointer has no bytes.
    unsafe { Cells::new(start, bytes) }
}

/// Returns the bytes at an argument of a call. Ends the job if the argument is a null pointer.
#[inline(always)]
fn argument(routine: &str, name: &str, pointer: *const c_void, bytes: usize) -> Cells<'static> {
    if pointer.is_null() {
        refuse(routine, &format_args!("{name} is a null pointer"));
    }
    own(pointer, bytes)
}

/// Writes a result to an argument of a call. Ends the job if the argument is a null pointer.
pub(crate) fn answer<T>(routine: &str, name: &str, pointer: *mut T, value: T) {
    if pointer.is_null() {
        refuse(routine, &format_args!("{name} is a null pointer"));
    }
    // SAFETY: B3.
    unsafe { pointer.write(value) };
}

/// Returns the address at which an operation that continues after this call accesses memory of the program. It differs only for variables of a simulated
/// rank, which are accessed in the rank's private copy while the rank does not run. Returns `None` if they cannot be accessed there.
pub(crate) fn lasting(library: &Library, cells: Cells<'static>) -> Option<Cells<'static>> {
    if !library.is_simulated {
        return Some(cells);
    }
    let start = pelago_c_support::simulated::shared_address(cells.pointer().as_ptr() as usize, cells.bytes())?;
    Some(own(start as *const c_void, cells.bytes()))
}

/// Writes bytes to memory of a rank and rings its doorbell, if the memory is mapped. Returns whether it is.
#[inline]
pub(crate) fn write_mapped(library: &Library, to: GlobalAddress, rank: u32, from: Cells<'static>) -> bool {
    let Some(target) = library.reach.cells(to, from.bytes() as u64) else { return false };
    target.copy_from(from);
    if let Some(bell) = library.reach.bell(Rank::new(rank)) {
        bell.ring_for(target.pointer().as_ptr(), from.bytes());
    }
    true
}

/// Wakes the waits of a PE for `bytes` bytes at `dest`, which this process has written in mapped memory.
pub(crate) fn wake(routine: &str, dest: *const c_void, bytes: usize, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, DEFAULT, pe);
    let written = library.reach.cells(library.global(routine, "dest", dest as usize, bytes, rank), bytes as u64);
    if let (Some(written), Some(bell)) = (written, library.reach.bell(Rank::new(rank))) {
        bell.ring_for(written.pointer().as_ptr(), bytes);
    }
}

/// Puts elements of `ELEMENT` bytes.
#[inline]
pub(crate) fn put<const ELEMENT: usize>(
    routine: &str,
    context: usize,
    mode: Mode,
    (dest, source): (*mut c_void, *const c_void),
    elements: usize,
    pe: c_int,
) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let bytes = total(routine, elements, ELEMENT);
    if bytes == 0 {
        return;
    }
    let to = library.global(routine, "dest", dest as usize, bytes, rank);
    let from = argument(routine, "source", source, bytes);
    if write_mapped(library, to, rank, from) {
        return;
    }
    if rank == library.me {
        // A variable of this simulated rank.
        return own(dest, bytes).copy_from(from);
    }
    put_remote(routine, library, context, mode, to, from);
}

#[cold]
fn put_remote(routine: &str, library: &Library, context: usize, mode: Mode, to: GlobalAddress, from: Cells<'static>) {
    let lasting = lasting(library, from).filter(|_| mode == Mode::Later);
    let issued = library.context(routine, context).issue(|context| match lasting {
        // SAFETY: B3.
        Some(from) => unsafe { context.put_raw(to, from.pointer(), from.bytes()) }.map(drop),
        None => put_captured(context, to, from),
    });
    library.or_end(routine, issued);
}

/// Puts bytes that are captured before the call returns.
fn put_captured(context: &pelago::Context, to: GlobalAddress, from: Cells<'static>) -> pelago::Result<()> {
    // SAFETY: B3: the program does not access the bytes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(from.pointer().as_ptr(), from.bytes()) };
    context.put(GlobalPtr::from_address(to)?, bytes).map(drop)
}

/// Puts one value.
#[inline(always)]
pub(crate) fn put_value<T: Pod>(routine: &str, context: usize, dest: *mut T, value: T, pe: c_int) {
    match direct(context, dest as usize, pe) {
        Some(place) => place.store(value),
        None => put_value_elsewhere(routine, context, dest, value, pe),
    }
}

#[cold]
#[inline(never)]
fn put_value_elsewhere<T: Pod>(routine: &str, context: usize, dest: *mut T, value: T, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let to = library.pointer::<T>(routine, "dest", dest as usize, rank);
    match library.reach.place(to) {
        Some(place) => place.store(value),
        None => put_value_remote(routine, library, context, to, value, rank),
    }
}

#[cold]
#[inline(never)]
fn put_value_remote<T: Pod>(routine: &str, library: &Library, context: usize, to: GlobalPtr<T>, value: T, rank: u32) {
    let from = own((&raw const value).cast(), size_of::<T>());
    if rank == library.me
        && let Some(address) = library.own_address(to.address())
    {
        return own(address as *const c_void, size_of::<T>()).copy_from(from);
    }
    if !write_mapped(library, to.address(), rank, from) {
        put_remote(routine, library, context, Mode::Blocking, to.address(), from);
    }
}

/// Gets elements of `ELEMENT` bytes.
#[inline]
pub(crate) fn get<const ELEMENT: usize>(
    routine: &str,
    context: usize,
    mode: Mode,
    (dest, source): (*mut c_void, *const c_void),
    elements: usize,
    pe: c_int,
) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let bytes = total(routine, elements, ELEMENT);
    if bytes == 0 {
        return;
    }
    let from = library.global(routine, "source", source as usize, bytes, rank);
    let into = argument(routine, "dest", dest, bytes);
    match library.reach.cells(from, bytes as u64) {
        Some(cells) => into.copy_from(cells),
        None => get_remote(routine, library, context, mode, from, into),
    }
}

#[cold]
fn get_remote(routine: &str, library: &Library, context: usize, mode: Mode, from: GlobalAddress, into: Cells<'static>) {
    let slot = library.context(routine, context);
    let Some(into) = lasting(library, into) else {
        let mut bytes = vec![0; into.bytes()];
        get_remote(routine, library, context, Mode::Blocking, from, own(bytes.as_mut_ptr().cast(), bytes.len()));
        return into.write(&bytes);
    };
    // SAFETY: B3.
    let issue = |context: &'static pelago::Context| unsafe { context.get_raw(from, into.pointer(), into.bytes()) };
    if mode == Mode::Later {
        library.or_end(routine, slot.issue(issue).map(drop));
        return;
    }
    let handle = library.or_end(routine, slot.issue(issue));
    library.or_end(routine, slot.wait_for("shmem_get", &handle));
}

/// Gets one value.
#[inline(always)]
pub(crate) fn get_value<T: Pod>(routine: &str, context: usize, source: *const T, pe: c_int) -> T {
    match direct(context, source as usize, pe) {
        Some(place) => place.load(),
        None => get_value_elsewhere(routine, context, source, pe),
    }
}

#[cold]
#[inline(never)]
fn get_value_elsewhere<T: Pod>(routine: &str, context: usize, source: *const T, pe: c_int) -> T {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let from = library.pointer::<T>(routine, "source", source as usize, rank);
    match library.reach.place(from) {
        Some(place) => place.load(),
        None => get_value_remote(routine, context, source, pe),
    }
}

#[cold]
#[inline(never)]
fn get_value_remote<T: Pod>(routine: &str, context: usize, source: *const T, pe: c_int) -> T {
    let mut value = T::new_zeroed();
    let into: *mut T = &raw mut value;
    match size_of::<T>() {
        16 => get::<16>(routine, context, Mode::Blocking, (into.cast(), source.cast()), 1, pe),
        8 => get::<8>(routine, context, Mode::Blocking, (into.cast(), source.cast()), 1, pe),
        4 => get::<4>(routine, context, Mode::Blocking, (into.cast(), source.cast()), 1, pe),
        bytes => get::<1>(routine, context, Mode::Blocking, (into.cast(), source.cast()), bytes, pe),
    }
    value
}

/// Blocks of elements at equal strides, at the source and at the destination. Strides and lengths are in elements.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub(crate) dest: *mut c_void,
    pub(crate) source: *const c_void,
    pub(crate) dest_stride: isize,
    pub(crate) source_stride: isize,
    pub(crate) block: usize,
    pub(crate) blocks: usize,
}

/// Returns the shape of the blocks in bytes, and the number of bytes that they span.
fn shape(routine: &str, argument: &str, element: usize, stride: isize, block: usize, blocks: usize) -> (Shape, usize) {
    let Ok(stride) = usize::try_from(stride) else { refuse(routine, &format_args!("{argument} {stride} is negative")) };
    if stride < block && blocks > 1 {
        refuse(routine, &format_args!("{argument} {stride} is less than a block of {block} elements"));
    }
    let shape = Shape::strided(blocks as u64, total(routine, block, element) as u64, total(routine, stride, element) as u64);
    match shape.extent() {
        Ok(bytes) if bytes <= isize::MAX as u64 => (shape, bytes as usize),
        _ => refuse(routine, &format_args!("{blocks} blocks are more than any memory")),
    }
}

/// Copies blocks of equal lengths between mapped memory.
fn copy_blocks(into: Cells<'_>, into_shape: Shape, from: Cells<'_>, from_shape: Shape) {
    for index in 0..into_shape.counts[2] {
        let part = |cells: Cells<'_>, shape: Shape| {
            let part = cells.part(index * shape.strides[2], shape.block);
            part.map(|part| (part.pointer(), part.bytes()))
        };
        if let (Some((to, bytes)), Some((from, _))) = (part(into, into_shape), part(from, from_shape)) {
            // SAFETY: B3, or memory of the job, which lives as long as the job; the parts lie within it.
            unsafe { Cells::new(to, bytes).copy_from(Cells::new(from, bytes)) }
        }
    }
}

/// Puts blocks.
pub(crate) fn put_blocks<const ELEMENT: usize>(routine: &str, context: usize, blocks: Strided, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    if blocks.block == 0 || blocks.blocks == 0 {
        return;
    }
    let (to_shape, to_bytes) = shape(routine, "dst", ELEMENT, blocks.dest_stride, blocks.block, blocks.blocks);
    let (from_shape, from_bytes) = shape(routine, "sst", ELEMENT, blocks.source_stride, blocks.block, blocks.blocks);
    let to = library.global(routine, "dest", blocks.dest as usize, to_bytes, rank);
    let from = argument(routine, "source", blocks.source, from_bytes);
    if let Some(target) = library.reach.cells(to, to_bytes as u64) {
        copy_blocks(target, to_shape, from, from_shape);
        if let Some(bell) = library.reach.bell(Rank::new(rank)) {
            bell.ring_for(target.pointer().as_ptr(), to_bytes);
        }
        return;
    }
    // SAFETY: B3: the program does not access the bytes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(from.pointer().as_ptr(), from_bytes) };
    let issued = library
        .context(routine, context)
        .issue(|context| context.put_strided(GlobalPtr::<u8>::from_address(to)?, to_shape, bytes, from_shape).map(drop));
    library.or_end(routine, issued);
}

/// Gets blocks.
pub(crate) fn get_blocks<const ELEMENT: usize>(routine: &str, context: usize, blocks: Strided, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    if blocks.block == 0 || blocks.blocks == 0 {
        return;
    }
    let (into_shape, into_bytes) = shape(routine, "dst", ELEMENT, blocks.dest_stride, blocks.block, blocks.blocks);
    let (from_shape, from_bytes) = shape(routine, "sst", ELEMENT, blocks.source_stride, blocks.block, blocks.blocks);
    let from = library.global(routine, "source", blocks.source as usize, from_bytes, rank);
    let into = argument(routine, "dest", blocks.dest, into_bytes);
    if let Some(cells) = library.reach.cells(from, from_bytes as u64) {
        copy_blocks(into, into_shape, cells, from_shape);
        return;
    }
    let mut packed = vec![0; ELEMENT * blocks.block * blocks.blocks];
    let packed_shape = into_shape.packed();
    let slot = library.context(routine, context);
    slot.before_wait();
    let got =
        slot.issue(|context| context.get_strided(GlobalPtr::<u8>::from_address(from)?, from_shape, &mut packed, packed_shape));
    library.or_end(routine, got);
    copy_blocks(into, into_shape, Cells::from_mut(&mut packed), packed_shape);
}

/// The word of a put with signal, and its change.
#[derive(Clone, Copy)]
pub(crate) struct SignalWord {
    pub(crate) address: *mut u64,
    pub(crate) value: u64,
    pub(crate) operation: c_int,
}

/// Puts elements, and changes the word of a signal after they have arrived.
pub(crate) fn put_signal<const ELEMENT: usize>(
    routine: &str,
    context: usize,
    (dest, source): (*mut c_void, *const c_void),
    elements: usize,
    word: SignalWord,
    pe: c_int,
) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let bytes = total(routine, elements, ELEMENT);
    let at = library.pointer::<u64>(routine, "sig_addr", word.address as usize, rank);
    if !matches!(word.operation, SIGNAL_SET | SIGNAL_ADD) {
        refuse(routine, &format_args!("sig_op {} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", word.operation));
    }
    if bytes == 0 {
        signal(routine, library, context, at, word);
        return;
    }
    let to = library.global(routine, "dest", dest as usize, bytes, rank);
    let from = argument(routine, "source", source, bytes);
    if write_mapped(library, to, rank, from) {
        fence(Ordering::Release);
        signal(routine, library, context, at, word);
        return;
    }
    library.or_end(routine, put_with_signal(library, routine, context, to, from, at, word));
}

/// Sends data and signal in one message to a rank whose memory is not mapped.
pub(crate) fn put_with_signal(
    library: &Library,
    routine: &str,
    context: usize,
    to: GlobalAddress,
    from: Cells<'static>,
    at: GlobalPtr<u64>,
    word: SignalWord,
) -> pelago::Result<()> {
    let change = if word.operation == SIGNAL_SET { Signal::Set(word.value) } else { Signal::Add(word.value) };
    // SAFETY: B3: the program does not access the bytes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(from.pointer().as_ptr(), from.bytes()) };
    library
        .context(routine, context)
        .issue(|context| context.put_signal(GlobalPtr::<u8>::from_address(to)?, bytes, at, change).map(drop))
}

/// Sends data, and a word that is put after the data, in one message to a rank whose memory is not mapped. Only such puts change the word.
pub(crate) fn put_with_flag(
    library: &Library,
    routine: &str,
    to: GlobalAddress,
    from: Cells<'static>,
    at: GlobalPtr<u64>,
    word: u64,
) -> pelago::Result<()> {
    // SAFETY: B3, as in `put_with_signal`.
    let bytes = unsafe { std::slice::from_raw_parts(from.pointer().as_ptr(), from.bytes()) };
    library
        .context(routine, DEFAULT)
        .issue(|context| context.put_signal(GlobalPtr::<u8>::from_address(to)?, bytes, at, Signal::Put(word)).map(drop))
}

/// Changes the word of a signal.
fn signal(routine: &str, library: &Library, context: usize, at: GlobalPtr<u64>, word: SignalWord) {
    if let Some(place) = library.reach.place(at) {
        if word.operation == SIGNAL_SET {
            place.store(word.value);
        } else {
            place.atomic(pelago_base::AtomicOperator::Add, word.value);
        }
        return;
    }
    let issued = library.context(routine, context).issue(|context| match word.operation {
        SIGNAL_SET => context.set(at, word.value).map(drop),
        _ => context.add(at, word.value).map(drop),
    });
    library.or_end(routine, issued);
}

/// Changes the word of a signal, without data.
pub(crate) fn signal_alone(routine: &str, context: usize, word: SignalWord, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let at = library.pointer::<u64>(routine, "sig_addr", word.address as usize, rank);
    fence(Ordering::Release);
    signal(routine, library, context, at, word);
}

/// Returns the address by which this PE loads and stores an object of another PE (`shmem_ptr`); null if the object is not mapped.
pub(crate) fn local_pointer(routine: &str, address: *const c_void, rank: u32) -> *mut c_void {
    let library = library(routine);
    if rank == library.me && library.symmetric(address as usize, 1).is_some() {
        return address.cast_mut();
    }
    let Some(bits) = library.symmetric(address as usize, 1) else { return std::ptr::null_mut() };
    let Some(cells) = library.reach.cells(library.at(bits, rank), 1) else { return std::ptr::null_mut() };
    library.note_pointer(rank);
    cells.pointer().as_ptr().cast()
}

/// Orders puts, atomics and signals of a context for each target.
pub(crate) fn order(routine: &str, context: usize) {
    let library = library(routine);
    library.announce_stores();
    if context != crate::library::INVALID {
        library.or_end(routine, library.context(routine, context).fence());
    }
}

/// Completes the operations of a context.
pub(crate) fn complete(routine: &str, context: usize) {
    let library = library(routine);
    library.announce_stores();
    if context != crate::library::INVALID {
        library.or_end(routine, library.context(routine, context).quiet());
    }
}

/// Completes the operations of a context to some PEs.
pub(crate) fn complete_some(routine: &str, context: usize, pes: *const c_int, count: usize) {
    let library = library(routine);
    library.announce_stores();
    if context == crate::library::INVALID || count == 0 {
        return;
    }
    if pes.is_null() {
        refuse(routine, &"target_pes is a null pointer");
    }
    // SAFETY: B3.
    let pes = unsafe { std::slice::from_raw_parts(pes, count) };
    let ranks: Vec<u32> = pes.iter().map(|&pe| library.rank(routine, context, pe)).collect();
    library.or_end(routine, library.context(routine, context).flush(ranks.into_iter()));
}

/// Returns the default context, for routines without a context argument.
pub(crate) const fn default_context() -> usize {
    DEFAULT
}
