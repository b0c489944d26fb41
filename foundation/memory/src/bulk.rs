//! Copies of many bytes that may race with other accesses (invariant M4 of the crate).
#![allow(unsafe_code)]

use core::ptr::NonNull;

/// Source of a copy. An atomic must not read the bytes of a `&[u8]`, as the language assumes that an atomic may write.
pub(crate) trait Source: Copy {
    /// Whether the source is not written during the copy.
    const IS_STILL: bool;

    /// Returns the start of the source, and the number of bytes for which it is valid for reads.
    fn start(self) -> (NonNull<u8>, usize);
}

impl Source for &[u8] {
    const IS_STILL: bool = true;

    #[inline(always)]
    fn start(self) -> (NonNull<u8>, usize) {
        (NonNull::from(self).cast(), self.len())
    }
}

/// Reads a value; if others may write it and it is a naturally aligned word of up to 8 bytes, by one atomic load.
///
/// # Safety
/// `at` is valid for reads of a `T` and aligned to it; the memory is of the kind `S`.
#[inline(always)]
pub(crate) unsafe fn load<S: Source, T: crate::Pod>(at: NonNull<u8>) -> T {
    use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Acquire};
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    let into = NonNull::from(&mut value).cast::<u8>();
    // SAFETY: the caller's promise; a word of natural size and alignment is valid for the atomic of that size. M3: any bits are a `T`.
    unsafe {
        match natural::<T>() {
            _ if S::IS_STILL => return at.cast().read(),
            1 => into.cast().write(AtomicU8::from_ptr(at.as_ptr()).load(Acquire)),
            2 => into.cast().write(AtomicU16::from_ptr(at.cast().as_ptr()).load(Acquire)),
            4 => into.cast().write(AtomicU32::from_ptr(at.cast().as_ptr()).load(Acquire)),
            8 => into.cast().write(AtomicU64::from_ptr(at.cast().as_ptr()).load(Acquire)),
            _ => copy::<S>(at, into, size_of::<T>()),
        }
        value.assume_init()
    }
}

/// Writes a value; by one atomic store if it is a naturally aligned word of up to 8 bytes. Earlier writes are visible before it.
///
/// # Safety
/// `at` is valid for writes of a `T` and aligned to it.
#[inline(always)]
pub(crate) unsafe fn store<T: crate::Pod>(at: NonNull<u8>, value: T) {
    use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Release};
    let from = NonNull::from(&value).cast::<u8>();
    // SAFETY: the caller's promise; a word of natural size and alignment is valid for the atomic of that size.
    unsafe {
        match natural::<T>() {
            1 => AtomicU8::from_ptr(at.as_ptr()).store(from.read(), Release),
            2 => AtomicU16::from_ptr(at.cast().as_ptr()).store(from.cast().read(), Release),
            4 => AtomicU32::from_ptr(at.cast().as_ptr()).store(from.cast().read(), Release),
            8 => AtomicU64::from_ptr(at.cast().as_ptr()).store(from.cast().read(), Release),
            _ => copy::<&[u8]>(from, at, size_of::<T>()),
        }
    }
}

/// Returns the size of `T` if an atomic instruction moves it whole, else 0.
pub(crate) const fn natural<T>() -> usize {
    if align_of::<T>() >= size_of::<T>() && size_of::<T>() <= 8 && size_of::<T>().is_power_of_two() { size_of::<T>() } else { 0 }
}

/// Copies `bytes` bytes. Earlier writes are visible before the copied bytes.
///
/// A word of 2, 4 or 8 bytes is read whole where the source is aligned to it, and written whole and once where the target is: a rank that has seen
/// the word may overwrite it. Bytes of a longer copy may be written twice.
///
/// # Safety
/// Valid for reads and writes of `bytes` bytes; the two do not overlap. The source is of the kind `S`.
#[inline(always)]
pub(crate) unsafe fn copy<S: Source>(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        x86::copy(from, to, bytes)
    }
    // SAFETY: as above.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    unsafe {
        by_words::<S>(from, to, bytes)
    }
}

/// Copies with relaxed atomics, by words if both sides are aligned, with a fence before and after. A single word is moved whole on each side that is
/// aligned.
///
/// # Safety
/// As for [`copy`].
#[cfg_attr(all(target_arch = "x86_64", not(miri)), allow(dead_code, reason = "for other cores, and tested on this one"))]
unsafe fn by_words<S: Source>(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
    use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
    macro_rules! load {
        ($word:ty, $atomic:ty, $from:expr) => {
            if S::IS_STILL { $from.read() } else { <$atomic>::from_ptr($from.as_ptr()).load(Ordering::Relaxed) }
        };
    }
    macro_rules! copy_each {
        ($word:ty, $atomic:ty, $range:expr) => {
            for at in $range {
                let (from, to) = (from.cast::<$word>().add(at), to.cast().add(at));
                <$atomic>::from_ptr(to.as_ptr()).store(load!($word, $atomic, from), Ordering::Relaxed);
            }
        };
    }
    macro_rules! copy_word {
        ($word:ty, $atomic:ty) => {{
            let (source, target) = (from.cast::<$word>(), to.cast::<$word>());
            let word = if source.is_aligned() {
                load!($word, $atomic, source)
            } else {
                <$word>::from_ne_bytes(core::array::from_fn(|at| {
                    let from = from.add(at);
                    load!(u8, AtomicU8, from)
                }))
            };
            if target.is_aligned() {
                <$atomic>::from_ptr(target.as_ptr()).store(word, Ordering::Relaxed);
            } else {
                for (at, byte) in word.to_ne_bytes().into_iter().enumerate() {
                    AtomicU8::from_ptr(to.add(at).as_ptr()).store(byte, Ordering::Relaxed);
                }
            }
        }};
    }
    fence(Ordering::Release);
    let aligned = (from.as_ptr() as usize | to.as_ptr() as usize).is_multiple_of(8);
    let words = if aligned { bytes / 8 } else { 0 };
    // SAFETY: the caller's promise; words are used only where the side is aligned.
    unsafe {
        match bytes {
            2 => copy_word!(u16, AtomicU16),
            4 => copy_word!(u32, AtomicU32),
            8 => copy_word!(u64, AtomicU64),
            _ => {
                copy_each!(u64, AtomicU64, 0..words);
                copy_each!(u8, AtomicU8, words * 8..bytes);
            }
        }
    }
    fence(Ordering::Acquire);
}

/// Copies for x86-64, where loads and stores are not reordered among themselves, so that no fence is needed.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use core::arch::asm;
    use core::ptr::NonNull;

    /// Minimum size for which `rep movsb` is as fast as vectors of 16 bytes; below, its start-up costs more.
    const STRING_COPY_BYTES_MIN: usize = 2048;

    /// Minimum size for which `rep movsb` is faster than vectors of 32 bytes, because it writes whole lines that no cache needs to read first.
    const LONG_COPY_BYTES_MIN: usize = 8 << 20;

    /// Vectors of 32 bytes are faster at any size if the target begins less than this behind the source, modulo [`PAGE_BYTES`]: with `rep movsb`,
    /// AMD's Zen 4 then copies 3 GB/s instead of 50 from the second-level cache, or 6 instead of 12 from memory, because it assumes that each load
    /// reads bytes just stored.
    const ALIASED_BYTES: usize = 64;

    /// The core compares loads and stores by the lowest 12 bits of their addresses.
    const PAGE_BYTES: usize = 4096;

    /// Minimum size for which vectors of 32 bytes are worth the check whether the core has them.
    const WIDE_COPY_BYTES_MIN: usize = 256;

    /// # Safety
    /// As for [`super::copy`].
    #[inline]
    pub(super) unsafe fn copy(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match bytes {
                0..16 => tail(from, to, bytes),
                16..=64 => few_vectors(from, to, bytes),
                WIDE_COPY_BYTES_MIN.. if is_wide(from, to, bytes) => wide_vectors(from, to, bytes),
                65..STRING_COPY_BYTES_MIN => vectors(from, to, bytes),
                _ => string(from, to, bytes),
            }
        }
    }

    /// Whether vectors of 32 bytes are the fastest way to copy `bytes` bytes.
    #[inline(always)]
    fn is_wide(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) -> bool {
        let ahead = (to.addr().get().wrapping_sub(from.addr().get())) % PAGE_BYTES;
        is_x86_feature_detected!("avx") && (bytes < LONG_COPY_BYTES_MIN || (1..ALIASED_BYTES).contains(&ahead))
    }

    /// # Safety
    /// As for [`super::copy`], less than 16 bytes.
    #[inline]
    unsafe fn tail(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise; unaligned moves are allowed on this core.
        unsafe {
            match bytes {
                8 => move_eight(from, to),
                4 => move_four(from, to),
                2 => move_two(from, to),
                9.. => {
                    move_eight(from, to);
                    move_eight(from.add(bytes - 8), to.add(bytes - 8));
                }
                5.. => {
                    move_four(from, to);
                    move_four(from.add(bytes - 4), to.add(bytes - 4));
                }
                _ => (0..bytes).for_each(|byte| move_one(from.add(byte), to.add(byte))),
            }
        }
    }

    /// # Safety
    /// As for [`super::copy`], 16 to 64 bytes.
    #[inline(always)]
    unsafe fn few_vectors(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise; moves from the end overlap those from the start rather than reach past it.
        unsafe {
            move_sixteen(from, to);
            if bytes > 32 {
                move_sixteen(from.add(16), to.add(16));
                move_sixteen(from.add(bytes - 32), to.add(bytes - 32));
            }
            move_sixteen(from.add(bytes - 16), to.add(bytes - 16));
        }
    }

    /// # Safety
    /// As for [`super::copy`], at least 16 bytes.
    #[inline]
    unsafe fn vectors(mut from: NonNull<u8>, mut to: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise; the last vector overlaps what is already copied rather than reach past the end.
        unsafe {
            let (from_last, to_last) = (from.add(bytes - 16), to.add(bytes - 16));
            for _ in 0..bytes / 64 {
                asm!(
                    "movdqu {a}, [{from}]",
                    "movdqu {b}, [{from} + 16]",
                    "movdqu {c}, [{from} + 32]",
                    "movdqu {d}, [{from} + 48]",
                    "movdqu [{to}], {a}",
                    "movdqu [{to} + 16], {b}",
                    "movdqu [{to} + 32], {c}",
                    "movdqu [{to} + 48], {d}",
                    from = in(reg) from.as_ptr(), to = in(reg) to.as_ptr(),
                    a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
                (from, to) = (from.add(64), to.add(64));
            }
            for _ in 0..bytes % 64 / 16 {
                move_sixteen(from, to);
                (from, to) = (from.add(16), to.add(16));
            }
            move_sixteen(from_last, to_last);
        }
    }

    /// # Safety
    /// As for [`super::copy`], at least 160 bytes, on a core with AVX.
    ///
    /// Stores after the first one are aligned: one that spans two cache lines costs twice as much.
    ///
    /// Never inlined: its last instruction clears the upper halves of all vector registers, which no caller keeps across a call.
    #[inline(never)]
    unsafe fn wide_vectors(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
        let done = to.addr().get().wrapping_neg() % 32;
        // SAFETY: the caller's promise; the last 128 bytes overlap what is already copied rather than reach past the end.
        unsafe {
            asm!(
                "vmovdqu ymm0, [{from}]",
                "vmovdqu [{to}], ymm0",
                "2:",
                "vmovdqu ymm0, [{from} + {done}]",
                "vmovdqu ymm1, [{from} + {done} + 32]",
                "vmovdqu ymm2, [{from} + {done} + 64]",
                "vmovdqu ymm3, [{from} + {done} + 96]",
                "vmovdqu [{to} + {done}], ymm0",
                "vmovdqu [{to} + {done} + 32], ymm1",
                "vmovdqu [{to} + {done} + 64], ymm2",
                "vmovdqu [{to} + {done} + 96], ymm3",
                "sub {done}, -128",
                "cmp {done}, {last}",
                "jbe 2b",
                "vmovdqu ymm0, [{from} + {last}]",
                "vmovdqu ymm1, [{from} + {last} + 32]",
                "vmovdqu ymm2, [{from} + {last} + 64]",
                "vmovdqu ymm3, [{from} + {last} + 96]",
                "vmovdqu [{to} + {last}], ymm0",
                "vmovdqu [{to} + {last} + 32], ymm1",
                "vmovdqu [{to} + {last} + 64], ymm2",
                "vmovdqu [{to} + {last} + 96], ymm3",
                "vzeroupper",
                from = in(reg) from.as_ptr(), to = in(reg) to.as_ptr(),
                last = in(reg) bytes - 128, done = inout(reg) done => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                options(nostack),
            );
        }
    }

    /// # Safety
    /// As for [`super::copy`].
    #[inline]
    unsafe fn string(from: NonNull<u8>, to: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise; the direction flag is clear on entry to any Rust function.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") bytes => _, inout("rsi") from.as_ptr() => _, inout("rdi") to.as_ptr() => _,
                options(nostack, preserves_flags),
            );
        }
    }

    macro_rules! move_by {
        ($name:ident, $class:ident, $instruction:literal, $modifier:literal) => {
            /// # Safety
            /// As for [`super::copy`], for one move.
            #[inline(always)]
            unsafe fn $name(from: NonNull<u8>, to: NonNull<u8>) {
                // SAFETY: the caller's promise.
                unsafe {
                    asm!(
                        concat!($instruction, " {value", $modifier, "}, [{from}]"),
                        concat!($instruction, " [{to}], {value", $modifier, "}"),
                        from = in(reg) from.as_ptr(), to = in(reg) to.as_ptr(), value = out($class) _,
                        options(nostack, preserves_flags),
                    );
                }
            }
        };
    }

    move_by!(move_sixteen, xmm_reg, "movdqu", "");
    move_by!(move_eight, reg, "mov", ":r");
    move_by!(move_four, reg, "mov", ":e");
    move_by!(move_two, reg, "mov", ":x");
    move_by!(move_one, reg_byte, "mov", "");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cells;

    #[test]
    fn every_length_and_alignment_copies_just_its_bytes() {
        // An interpreter takes long.
        let (lengths, long): (_, &[usize]) =
            if cfg!(miri) { (0..20, &[255]) } else { (0..200, &[255, 256, 257, 287, 288, 384, 1023, 2047, 2048, 2049, 4096]) };
        let room = 40 + long[long.len() - 1];
        let mut source: Vec<u8> = (0..room).map(|i| (i * 7 + 1) as u8).collect();
        let slices = [copy::<&[u8]> as unsafe fn(_, _, _), by_words::<&[u8]>].map(|copy| (true, copy));
        let cells = [copy::<Cells<'_>> as unsafe fn(_, _, _), by_words::<Cells<'_>>].map(|copy| (false, copy));
        let ways = slices.into_iter().chain(cells);
        for bytes in lengths.chain(long.iter().copied()) {
            for ((from_skew, to_skew), (is_still, copy)) in
                [(0, 0), (1, 3), (8, 5), (0, 31)].into_iter().flat_map(|skews| ways.clone().map(move |way| (skews, way)))
            {
                let mut target = vec![0u8; room];
                let from = if is_still {
                    NonNull::from(&source[from_skew..]).cast()
                } else {
                    NonNull::from(&mut source[from_skew..]).cast()
                };
                // SAFETY: both vectors hold skew + bytes.
                unsafe { copy(from, NonNull::from(&mut target[to_skew..]).cast(), bytes) }
                assert_eq!(target[to_skew..to_skew + bytes], source[from_skew..from_skew + bytes]);
                assert!(target[..to_skew].iter().chain(&target[to_skew + bytes..]).all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter takes long")]
    fn long_copies_are_whole_however_they_lie() {
        let bytes = (8 << 20) + 13;
        let source: Vec<u8> = (0..bytes as u32).map(|i| (i * 7 + (i >> 9)) as u8).collect();
        for skew in [0, 1, 8, 63, 64, 4095] {
            let mut target = vec![0u8; bytes + 2 * 4096];
            let start = (source.as_ptr() as usize + skew).wrapping_sub(target.as_ptr() as usize) % 4096;
            // SAFETY: the target holds 4096 + bytes and more.
            unsafe { copy::<&[u8]>(NonNull::from(&source[..]).cast(), NonNull::from(&mut target[start..]).cast(), bytes) }
            assert!(target[start..start + bytes] == source[..], "{skew}");
            assert!(target[..start].iter().chain(&target[start + bytes..]).all(|&byte| byte == 0), "{skew}");
        }
    }

    /// The processor stops after each instruction of a copy, and the watched word is set to 0 as soon as it has changed: another rank may do so. The
    /// copy writes the word whole, and does not write it again.
    #[test]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn a_word_is_written_whole_and_once() {
        let written = |copy: unsafe fn(NonNull<u8>, NonNull<u8>, usize), from: NonNull<u8>, bytes: usize| {
            let mut target = [0_u64; 2];
            // SAFETY: the target holds 8 bytes.
            let written = steps::writes(NonNull::from(&mut target).cast(), |to| unsafe { copy(from, to.cast(), bytes) });
            assert_eq!(target, [0; 2]);
            written
        };
        let mut source = u64::from_le_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
        let mut unaligned = [0_u8; 9];
        unaligned[1..].copy_from_slice(&source.to_le_bytes());
        for bytes in [1, 2, 4, 8] {
            let expected = vec![source & u64::MAX >> (64 - 8 * bytes)];
            let slices = [copy::<&[u8]> as unsafe fn(_, _, _), by_words::<&[u8]>];
            let cells = [copy::<Cells<'_>> as unsafe fn(_, _, _), by_words::<Cells<'_>>];
            for copy in slices.into_iter().chain(cells) {
                assert_eq!(written(copy, NonNull::from(&mut source).cast(), bytes), expected, "{bytes} bytes");
                assert_eq!(written(copy, NonNull::from(&mut unaligned[1..]).cast(), bytes), expected, "{bytes} unaligned bytes");
            }
        }
    }

    /// The processor's single steps.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    mod steps {
        use core::arch::asm;
        use core::ptr::{NonNull, null_mut};
        use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

        static WATCHED: AtomicPtr<u64> = AtomicPtr::new(null_mut());
        static VALUES: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];
        static COUNT: AtomicUsize = AtomicUsize::new(0);

        /// Takes the value of the watched word, if it has one.
        extern "C" fn look(_: libc::c_int) {
            // SAFETY: `writes` has set the word, and lives.
            let value = unsafe { AtomicU64::from_ptr(WATCHED.load(Relaxed)) }.swap(0, Relaxed);
            if value != 0 {
                VALUES[COUNT.fetch_add(1, Relaxed)].store(value, Relaxed);
            }
        }

        /// Returns the values that `copy` writes to a word, of which it is told the address. One thread calls it at a time.
        pub(super) fn writes(word: NonNull<u64>, copy: impl FnOnce(NonNull<u64>)) -> Vec<u64> {
            WATCHED.store(word.as_ptr(), Relaxed);
            COUNT.store(0, Relaxed);
            // SAFETY: the handler uses atomics alone; the trap flag of this thread is set and cleared again.
            unsafe {
                let before = libc::signal(libc::SIGTRAP, look as *const () as libc::sighandler_t);
                asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
                copy(word);
                asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
                libc::signal(libc::SIGTRAP, before);
            }
            VALUES[..COUNT.load(Relaxed)].iter().map(|value| value.load(Relaxed)).collect()
        }
    }

    #[test]
    fn words_of_their_own_alignment_are_moved_whole_and_nothing_else() {
        assert_eq!((natural::<u8>(), natural::<u16>(), natural::<u32>(), natural::<u64>()), (1, 2, 4, 8));
        assert_eq!((natural::<[u32; 1]>(), natural::<f64>()), (4, 8));
        assert_eq!((natural::<[u8; 3]>(), natural::<[u8; 4]>(), natural::<[u32; 2]>(), natural::<[u64; 2]>()), (0, 0, 0, 0));
    }
}
