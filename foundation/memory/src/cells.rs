//! Cell-like access to bytes that others may write concurrently (invariants M1 to M5 of the crate).
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pelago_base::{AtomicOperator, Width};
use zerocopy::IntoBytes;

use crate::bulk::{self, Source};
use crate::{Pod, Word};

/// A range of bytes that other threads and processes may read and write at any moment.
///
/// Copies are not atomic: bytes that are written meanwhile arrive as some mixture of old and new.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    pointer: NonNull<u8>,
    bytes: usize,
    memory: PhantomData<&'a AtomicU64>,
}

// SAFETY: M4: all access is by atomics or opaque instructions, which any thread may use on the same bytes.
unsafe impl Send for Cells<'_> {}
// SAFETY: as above.
unsafe impl Sync for Cells<'_> {}

impl<'a> Cells<'a> {
    /// The `bytes` bytes from `pointer` on.
    ///
    /// # Safety
    /// They are valid for reads and writes for `'a` (M1), and no reference to them is used for `'a` (M2).
    #[inline]
    pub const unsafe fn new(pointer: NonNull<u8>, bytes: usize) -> Self {
        Self { pointer, bytes, memory: PhantomData }
    }

    /// The bytes of an exclusively borrowed slice.
    pub fn from_mut<T: Pod>(slice: &'a mut [T]) -> Self {
        let bytes = size_of_val(slice);
        // SAFETY: M1 and M2 by the exclusive borrow for `'a`.
        unsafe { Self::new(NonNull::from(slice).cast(), bytes) }
    }

    /// Returns the address of the first byte.
    #[inline]
    pub const fn pointer(self) -> NonNull<u8> {
        self.pointer
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// `bytes` bytes from `offset` on, or `None` if they reach past the end.
    #[inline]
    pub fn part(self, offset: u64, bytes: u64) -> Option<Self> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: M1 of `self`, inside its length.
        (end <= self.bytes as u64).then(|| unsafe { Self::new(self.pointer.add(offset as usize), bytes as usize) })
    }

    /// Copies all bytes into `into`.
    ///
    /// # Panics
    /// The lengths differ.
    #[inline]
    pub fn read(self, into: &mut [u8]) {
        assert_eq!(into.len(), self.bytes);
        // SAFETY: M1, equal lengths; a slice and cells do not overlap by M2.
        unsafe { bulk::copy::<Cells<'_>>(self.pointer, NonNull::from(into).cast(), self.bytes) }
    }

    /// Returns a copy of all bytes.
    pub fn to_vec(self) -> Vec<u8> {
        let mut copied = vec![0; self.bytes];
        self.read(&mut copied);
        copied
    }

    /// Copies all bytes from `from`.
    ///
    /// # Panics
    /// The lengths differ.
    #[inline]
    pub fn write(self, from: &[u8]) {
        assert_eq!(from.len(), self.bytes);
        // SAFETY: M1, equal lengths; a slice and cells do not overlap by M2.
        unsafe { bulk::copy::<&[u8]>(NonNull::from(from).cast(), self.pointer, self.bytes) }
    }

    /// Copies all bytes from `from`; the two may overlap.
    ///
    /// # Panics
    /// The lengths differ.
    pub fn copy_from(self, from: Cells<'_>) {
        assert_eq!(from.bytes, self.bytes);
        let distance = (self.pointer.as_ptr() as usize).abs_diff(from.pointer.as_ptr() as usize);
        if distance >= self.bytes {
            // SAFETY: M1, equal lengths, no overlap.
            unsafe { bulk::copy::<Cells<'_>>(from.pointer, self.pointer, self.bytes) }
        } else if distance > 0 {
            let mut staged = vec![0; self.bytes];
            from.read(&mut staged);
            self.write(&staged);
        }
    }

    /// Performs an atomic on these bytes and returns the previous value; `None` if they are not one aligned word.
    #[inline]
    pub fn atomic(self, width: Width, operator: AtomicOperator, operand: u64) -> Option<u64> {
        let address = self.pointer.as_ptr() as usize as u64;
        let is_word = self.bytes as u64 == width.bytes() && address.is_multiple_of(width.bytes());
        // SAFETY: M1; just checked.
        is_word.then(|| unsafe { atomic(self.pointer, width, operator, operand) })
    }

    /// Returns the bytes as elements, or `None` if they are not aligned to `T`. Bytes past the last whole element are omitted.
    pub fn elements<T: Pod>(self) -> Option<CellSlice<'a, T>> {
        assert!(size_of::<T>() > 0, "elements have a size");
        let aligned = (self.pointer.as_ptr() as usize).is_multiple_of(align_of::<T>());
        aligned.then(|| CellSlice { pointer: self.pointer.cast(), length: self.bytes / size_of::<T>(), memory: PhantomData })
    }
}

impl Source for Cells<'_> {
    const IS_STILL: bool = false;

    #[inline(always)]
    fn start(self) -> (NonNull<u8>, usize) {
        (self.pointer, self.bytes)
    }
}

/// Performs an atomic and returns the previous value.
///
/// # Safety
/// `at` is valid for reads and writes of a word of this width, and aligned to it.
#[inline(always)]
pub(crate) unsafe fn atomic(at: NonNull<u8>, width: Width, operator: AtomicOperator, operand: u64) -> u64 {
    macro_rules! perform {
        ($atomic:ty, $word:ty) => {{
            // SAFETY: the caller's promise; M4.
            let word = unsafe { <$atomic>::from_ptr(at.cast().as_ptr()) };
            let operand = operand as $word;
            u64::from(match operator {
                AtomicOperator::Load => word.load(Ordering::SeqCst),
                AtomicOperator::Swap => word.swap(operand, Ordering::SeqCst),
                AtomicOperator::CompareSwap { expected } => {
                    let expected = expected as $word;
                    word.compare_exchange(expected, operand, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
                }
                AtomicOperator::Add => word.fetch_add(operand, Ordering::SeqCst),
                AtomicOperator::And => word.fetch_and(operand, Ordering::SeqCst),
                AtomicOperator::Or => word.fetch_or(operand, Ordering::SeqCst),
                AtomicOperator::Xor => word.fetch_xor(operand, Ordering::SeqCst),
                AtomicOperator::Max => word.fetch_max(operand, Ordering::SeqCst),
                AtomicOperator::Min => word.fetch_min(operand, Ordering::SeqCst),
                // No instruction performs these: a compare-and-swap loop does.
                AtomicOperator::MaxSigned
                | AtomicOperator::MinSigned
                | AtomicOperator::AddFloat
                | AtomicOperator::MaxFloat
                | AtomicOperator::MinFloat => {
                    let mut old = word.load(Ordering::Relaxed);
                    loop {
                        let new = operator.apply(width, u64::from(old), u64::from(operand)) as $word;
                        match word.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(found) => break found,
                            Err(found) => old = found,
                        }
                    }
                }
            })
        }};
    }
    match width {
        Width::Four => perform!(AtomicU32, u32),
        Width::Eight => perform!(AtomicU64, u64),
    }
}

/// Performs an operator as [`atomic`] does, on a word that the caller expects to equal `expected`. Returns the new value if it does, else
/// `None`. As no fetched word is returned, the caller's next operation does not depend on a load after an atomic instruction.
///
/// # Safety
/// As for [`atomic`].
#[inline(always)]
pub(crate) unsafe fn update(at: NonNull<u8>, width: Width, operator: AtomicOperator, operand: u64, expected: u64) -> Option<u64> {
    let left = operator.apply(width, expected, operand);
    let swap = AtomicOperator::CompareSwap { expected };
    // SAFETY: the caller's promise.
    if unsafe { atomic(at, width, swap, left) } == width.truncate(expected) {
        return Some(left);
    }
    // SAFETY: as above.
    unsafe { atomic(at, width, operator, operand) };
    None
}

impl fmt::Debug for Cells<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cells({:p}, {} bytes)", self.pointer, self.bytes)
    }
}

/// Elements that other threads and processes may read and write at any moment.
///
/// Elements of 1, 2, 4 or 8 bytes with natural alignment are read and written whole; a load sees all writes before the
/// value that it reads (acquire), a store comes after all earlier writes (release). Larger elements may be torn.
pub struct CellSlice<'a, T> {
    pointer: NonNull<T>,
    length: usize,
    memory: PhantomData<&'a AtomicU64>,
}

impl<T> Clone for CellSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CellSlice<'_, T> {}

// SAFETY: M4, as for `Cells`; `Pod` types are `Send` and `Sync`.
unsafe impl<T: Pod> Send for CellSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for CellSlice<'_, T> {}

impl<'a, T: Pod> CellSlice<'a, T> {
    /// Returns the number of elements.
    #[inline]
    pub const fn len(self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns the element at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, index: usize) -> T {
        // SAFETY: M1, M5.
        unsafe { bulk::load::<Cells<'_>, _>(self.element(index)) }
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// `index` is past the end.
    #[inline(always)]
    #[track_caller]
    pub fn store(self, index: usize, value: T) {
        // SAFETY: M1, M5.
        unsafe { bulk::store(self.element(index), value) }
    }

    /// Copies the elements from `start` on into `into`.
    ///
    /// # Panics
    /// They reach past the end.
    #[inline]
    #[track_caller]
    pub fn read(self, start: usize, into: &mut [T]) {
        self.range(start..start + into.len()).cells().read(into.as_mut_bytes());
    }

    /// Copies `from` onto the elements from `start` on.
    ///
    /// # Panics
    /// They reach past the end.
    #[inline]
    #[track_caller]
    pub fn write(self, start: usize, from: &[T]) {
        self.range(start..start + from.len()).cells().write(from.as_bytes());
    }

    /// Writes zero bytes everywhere.
    pub fn clear(self) {
        const ZEROS: [u8; 4096] = [0; 4096];
        let cells = self.cells();
        for start in (0..cells.bytes()).step_by(ZEROS.len()) {
            let length = ZEROS.len().min(cells.bytes() - start);
            cells.part(start as u64, length as u64).expect("inside").write(&ZEROS[..length]);
        }
    }

    /// Returns a copy of all elements.
    pub fn to_vec(self) -> Vec<T> {
        let mut copied = vec![T::new_zeroed(); self.length];
        self.read(0, &mut copied);
        copied
    }

    /// Writes `value` everywhere.
    pub fn fill(self, value: T) {
        (0..self.length).for_each(|index| self.store(index, value));
    }

    /// Returns a range of the elements.
    ///
    /// # Panics
    /// The range reaches past the end.
    #[inline]
    #[track_caller]
    pub fn range(self, range: Range<usize>) -> Self {
        if range.start > range.end || range.end > self.length {
            range_past_the_end(range.start, range.end, self.length);
        }
        // SAFETY: M1, inside the length.
        Self { pointer: unsafe { self.pointer.add(range.start) }, length: range.end - range.start, memory: PhantomData }
    }

    /// The bytes of the elements.
    #[inline]
    pub fn cells(self) -> Cells<'a> {
        // SAFETY: M1.
        unsafe { Cells::new(self.pointer.cast(), self.length * size_of::<T>()) }
    }

    /// The elements as a slice.
    ///
    /// # Safety
    /// No rank and no thread writes them for `'a`.
    #[inline]
    pub unsafe fn as_slice(self) -> &'a [T] {
        // SAFETY: M1, M5, M2 by the caller's promise.
        unsafe { core::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    /// The elements as a mutable slice.
    ///
    /// # Safety
    /// No rank and no thread reads or writes them for `'a`, except through this slice.
    #[inline]
    pub unsafe fn as_mut_slice(self) -> &'a mut [T] {
        // SAFETY: M1, M5, M2 by the caller's promise.
        unsafe { core::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }

    #[inline(always)]
    #[track_caller]
    fn element(self, index: usize) -> NonNull<u8> {
        if index >= self.length {
            past_the_end(index, self.length);
        }
        // SAFETY: M1, inside the length.
        unsafe { self.pointer.add(index).cast() }
    }
}

/// A function of the numbers: a message formatted in place would borrow them, so that a loop writes its index to the stack in each iteration.
#[cold]
#[inline(never)]
#[track_caller]
fn past_the_end(index: usize, length: usize) -> ! {
    panic!("element {index} of {length}");
}

/// As [`past_the_end`].
#[cold]
#[inline(never)]
#[track_caller]
fn range_past_the_end(start: usize, end: usize, length: usize) -> ! {
    panic!("elements {start}..{end} of {length}");
}

impl<T: Word> CellSlice<'_, T> {
    /// Adds to the element at `index` and returns the previous value.
    ///
    /// # Panics
    /// `index` is past the end.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_add(self, index: usize, operand: T) -> T {
        self.atomic(index, AtomicOperator::Add, operand)
    }

    /// Writes `new` to the element at `index` if it equals `expected`; returns the previous value.
    ///
    /// # Panics
    /// `index` is past the end.
    #[inline(always)]
    #[track_caller]
    pub fn compare_swap(self, index: usize, expected: T, new: T) -> T {
        self.atomic(index, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }

    /// Writes the element at `index` and returns the previous value.
    ///
    /// # Panics
    /// `index` is past the end.
    #[inline(always)]
    #[track_caller]
    pub fn swap(self, index: usize, new: T) -> T {
        self.atomic(index, AtomicOperator::Swap, new)
    }

    #[inline(always)]
    #[track_caller]
    fn atomic(self, index: usize, operator: AtomicOperator, operand: T) -> T {
        let word = self.range(index..index + 1).cells();
        T::from_bits(word.atomic(T::WIDTH, operator, operand.to_bits()).expect("M5: elements are aligned"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_inside() {
        let mut memory = [0u8; 16];
        let cells = Cells::from_mut(&mut memory);
        assert_eq!(cells.part(8, 8).unwrap().bytes(), 8);
        cells.part(15, 1).unwrap().write(&[7]);
        assert_eq!(cells.part(14, 2).unwrap().to_vec(), [0, 7]);
        assert!(cells.part(9, 8).is_none());
        assert!(cells.part(u64::MAX, 2).is_none());
    }

    #[test]
    fn atomics_agree_with_their_definition() {
        use AtomicOperator::*;
        for operator in [Load, Swap, CompareSwap { expected: 12 }, CompareSwap { expected: 13 }, Add, And, Or, Xor, Max] {
            for width in [Width::Four, Width::Eight] {
                let mut memory = [12u64, 99];
                let word = Cells::from_mut(&mut memory).part(0, width.bytes()).unwrap();
                assert_eq!(word.atomic(width, operator, 0x1_0000_0006), Some(12));
                assert_eq!(memory, [operator.apply(width, 12, 0x1_0000_0006), 99], "{operator:?} {width:?}");
            }
        }
    }

    #[test]
    fn an_update_is_done_once_whatever_was_expected() {
        use AtomicOperator::*;
        for operator in [AddFloat, MaxFloat, MinFloat, MaxSigned, MinSigned, Add] {
            for (width, operand) in [(Width::Four, 1.5f32.to_bits().into()), (Width::Eight, 1.5f64.to_bits())] {
                for expected in [12, 13, 0x1_0000_000C] {
                    let mut memory = [12u64, 99];
                    // SAFETY: the word is this function's.
                    let left = unsafe { update(NonNull::from(&mut memory[0]).cast(), width, operator, operand, expected) };
                    assert_eq!(memory, [operator.apply(width, 12, operand), 99], "{operator:?} {width:?}");
                    assert_eq!(left, (width.truncate(expected) == 12).then_some(memory[0]), "{operator:?} {width:?} {expected}");
                }
            }
        }
    }

    #[test]
    fn an_atomic_needs_an_aligned_word() {
        let mut memory = [0u64; 2];
        let cells = Cells::from_mut(&mut memory);
        assert_eq!(cells.part(4, 8).unwrap().atomic(Width::Eight, AtomicOperator::Add, 1), None);
        assert_eq!(cells.part(0, 4).unwrap().atomic(Width::Eight, AtomicOperator::Add, 1), None);
    }

    #[test]
    fn elements_of_any_size_are_read_and_written() {
        let mut memory = [0u64; 6];
        let cells = Cells::from_mut(&mut memory);
        let triples = cells.elements::<[u32; 3]>().unwrap();
        triples.store(3, [7, 8, 9]);
        assert_eq!((triples.len(), triples.load(3), triples.load(2)), (4, [7, 8, 9], [0; 3]));
        assert!(cells.part(4, 8).unwrap().elements::<u64>().is_none());
        let words = cells.elements::<i64>().unwrap();
        words.write(0, &[-1, -2]);
        assert_eq!((words.fetch_add(0, -1), words.swap(1, 5), words.compare_swap(1, 5, 6)), (-1, -2, 5));
        assert_eq!(words.range(0..2).to_vec(), [-2, 6]);
    }

    #[test]
    fn all_is_cleared_and_nothing_beside_it() {
        let mut memory = vec![7u8; 9000];
        let cells = Cells::from_mut(&mut memory);
        cells.part(1, 8500).unwrap().elements::<u8>().unwrap().clear();
        assert!(memory.iter().enumerate().all(|(at, &byte)| byte == if (1..8501).contains(&at) { 0 } else { 7 }));
    }

    #[test]
    fn elements_are_none_only_if_there_is_not_one_whole() {
        let mut memory = [0u64; 2];
        let cells = Cells::from_mut(&mut memory);
        let is_empty = |bytes| cells.part(0, bytes).unwrap().elements::<u64>().unwrap().is_empty();
        assert_eq!([0, 7, 8, 16].map(is_empty), [true, true, false, false]);
    }

    #[test]
    fn an_index_past_the_end_names_the_line_of_the_caller() {
        let (me, before) = (std::thread::current().id(), std::panic::take_hook());
        let (tell, told) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == me {
                let told = info.location().map(|location| (location.file().to_owned(), location.line()));
                tell.lock().unwrap().send(told).unwrap();
            } else {
                before(info);
            }
        }));
        let mut values = [0_u64; 4];
        let cells = Cells::from_mut(&mut values).elements::<u64>().unwrap();
        let here = line!() + 1;
        let ended = std::panic::catch_unwind(|| cells.load(9));
        assert!(ended.is_err());
        assert_eq!(told.recv().unwrap(), Some((file!().to_owned(), here)));
    }

    #[test]
    #[should_panic(expected = "element 3 of 3")]
    fn an_index_past_the_end_panics() {
        Cells::from_mut(&mut [0u32; 3]).elements::<u32>().unwrap().load(3);
    }

    #[test]
    fn overlapping_cells_are_copied_as_if_at_once() {
        let mut memory: Vec<u8> = (0..100).collect();
        let cells = Cells::from_mut(&mut memory);
        cells.part(10, 80).unwrap().copy_from(cells.part(5, 80).unwrap());
        assert!((10..90).all(|i| memory[i] == i as u8 - 5));
    }
}
