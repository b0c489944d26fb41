//! Bytes that other processes may write at any moment.
//!
//! | part | for |
//! |---|---|
//! | [`Pod`], [`Word`] | which types may lie in such bytes, and which of them atomics work on |
//! | [`GlobalPtr`] | a typed global address |
//! | [`Cells`], [`CellSlice`] | access without `&[u8]`: loads, stores, atomics and bulk copies |
//! | [`copy_strided`], [`write_strided`] | count × block × stride |
//! | [`Mapping`] | memory of its own pages, private or shared through a descriptor |
//! | [`Reach`] | from a global address to a place in the one mapping that all ranks of a host share |
//! | [`Heap`] | an allocator of offsets |
//! | [`Region`], [`DeviceMemory`] | memory of any kind, that of devices too, which only its driver touches |
//! | [`DeviceBlocks`], [`gather_by_reads`] | blocks of such memory that move together |
//! | [`DeviceHandle`], [`open_device`] | memory of a device that another process has exported |
//! | [`DmaBuf`] | memory of a device as a network card reaches it |
//! | [`DeviceAnnouncement`] | memory of a device, as a rank tells others of it that may be in its process or in another one |
//! | [`DeviceStream`] | a queue of what a device does: copies of blocks, and words that order them with those of others |
//! | [`Regions`] | memory that is not in a mapping, by the addresses that lead to it |
//! | [`Space`] | an allocator of addresses for such memory |
//!
//! # Argument
//!
//! The unsafe modules cite these invariants; `docs/book/src/memory-model.md` explains them to users.
//!
//! - **M1** Every pointer behind [`Cells`] is valid for reads and writes of its length, for its lifetime. Whoever calls the unsafe
//!   constructor promises it; [`Reach`] and [`Mapping`] derive it from the mapping that they own or share.
//! - **M2** No `&[u8]` or `&mut [u8]` is ever made to bytes behind [`Cells`], except by the `unsafe` slice functions, whose callers
//!   promise that nobody writes (or, for `&mut`, that nobody accesses) them meanwhile.
//! - **M3** What is read is plain old data ([`Pod`]): every bit pattern is a value, so a torn or stale read is a wrong value and nothing worse.
//! - **M4** Words of up to eight bytes at their natural alignment are accessed by atomic instructions. Longer copies are made of
//!   instructions that the compiler does not see through (inline assembly; relaxed atomics elsewhere), so that a race
//!   in them has the meaning of the core: some mixture of old and new bytes.
//! - **M5** A [`CellSlice<T>`] begins at a multiple of `align_of::<T>()` and has room for its length.
//!
//! M6 to M9 are those of [`Reach`], [`Place`], [`GlobalPtr`] and [`Window`], and stand there.
//!
//! Absent on purpose: transports, waiting.

mod bulk;
mod cells;
mod combine;
mod device_announcement;
mod device_handle;
mod device_opener;
mod device_stream;
mod dma_buf;
mod heap;
mod mapping;
mod pod;
mod pointer;
mod reach;
mod region;
mod regions;
mod space;
mod strided;

pub use cells::{CellSlice, Cells};
pub use combine::{Combination, NumberKind, combine_by_host};
pub use device_announcement::DeviceAnnouncement;
pub use device_handle::DeviceHandle;
pub use device_opener::{open_device, set_device_opener};
pub use device_stream::{BlockCopy, DeviceStream, PreparedCopies};
pub use dma_buf::DmaBuf;
pub use heap::Heap;
pub use mapping::{Mapping, MappingError};
pub use pod::{Pod, Word};
pub use pointer::{GlobalPtr, PointerError};
pub use reach::{Place, Reach, ReachLayout, Window};
pub use region::{DeviceBlocks, DeviceError, DeviceMemory, DeviceRange, MemoryKind, Region, gather_by_reads, scatter_by_writes};
pub use regions::Regions;
pub use space::Space;
pub use strided::{copy_strided, write_strided};
