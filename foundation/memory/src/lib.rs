//! Access to bytes that other processes may write at any moment.
//!
//! | part | for |
//! |---|---|
//! | [`Pod`], [`Word`] | the types that such bytes may contain, and those on which atomics operate |
//! | [`GlobalPtr`] | a typed global address |
//! | [`Cells`], [`CellSlice`] | access without `&[u8]`: loads, stores, atomics and bulk copies |
//! | [`copy_strided`], [`write_strided`] | count × block × stride |
//! | [`Mapping`] | memory in its own pages, private or shared through a descriptor |
//! | [`Reach`] | translation of a global address to a location in the mapping that all ranks of a host share |
//! | [`Heap`] | an allocator of offsets |
//! | [`Region`], [`DeviceMemory`] | memory of any kind, including device memory, which only its driver accesses |
//! | [`DeviceBlocks`], [`gather_by_reads`] | blocks of device memory that move together |
//! | [`DeviceHandle`], [`open_device`] | device memory that another process has exported |
//! | [`DmaBuf`] | device memory for access by a network card |
//! | [`DeviceAnnouncement`] | description of device memory for ranks of the same or another process |
//! | [`DeviceStream`] | a queue of device operations: copies of blocks, and words that order them with those of other queues |
//! | [`Regions`] | memory that is not in a mapping, by its global addresses |
//! | [`Space`] | an allocator of addresses for such memory |
//!
//! # Argument
//!
//! The unsafe modules cite these invariants; `docs/book/src/memory-model.md` explains them to users.
//!
//! - **M1** Every pointer behind [`Cells`] is valid for reads and writes of its length, for its lifetime. The caller of the unsafe
//!   constructor guarantees it; [`Reach`] and [`Mapping`] derive it from the mapping that they own or share.
//! - **M2** No `&[u8]` or `&mut [u8]` is ever created to bytes behind [`Cells`], except by the `unsafe` slice functions, whose callers
//!   guarantee that no thread writes (or, for `&mut`, accesses) them meanwhile.
//! - **M3** All data that is read is plain old data ([`Pod`]): every bit pattern is a value, so a torn or stale read is a wrong value and nothing
//!   worse.
//! - **M4** Words of up to eight bytes at their natural alignment are accessed by atomic instructions. Longer copies consist of
//!   instructions that are opaque to the compiler (inline assembly; relaxed atomics elsewhere), so that a race
//!   in them has the semantics of the core: some mixture of old and new bytes.
//! - **M5** A [`CellSlice<T>`] begins at a multiple of `align_of::<T>()` and has room for its length.
//!
//! M6 to M9 are the invariants of [`Reach`], [`Place`], [`GlobalPtr`] and [`Window`], and are documented there.
//!
//! Absent on purpose: transports, waiting.

#![warn(missing_debug_implementations)]

mod bulk;
mod cells;
mod combine;
mod debug;
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
pub use mapping::{Mapping, MappingError, memory_file};
pub use pod::{Pod, Word};
pub use pointer::{GlobalPtr, PointerError};
pub use reach::{Place, Reach, ReachLayout, Window};
pub use region::{DeviceBlocks, DeviceError, DeviceMemory, DeviceRange, MemoryKind, Region, gather_by_reads, scatter_by_writes};
pub use regions::Regions;
pub use space::Space;
pub use strided::{copy_strided, write_strided};
