//! A large byte array, in parts of equal size on several ranks.

use pelago_base::{GlobalAddress, Rank};
use pelago_rma::{Error, Handle, Result};

use crate::GlobalHeap;
use crate::memory::{ByteSource, bytes_at};

/// A large byte array in parts of equal size, each on one rank; it may be larger than the memory of one rank. All ranks may use it concurrently; the
/// program orders conflicting accesses.
pub struct GlobalBytes<'h, 'w> {
    heap: &'h GlobalHeap<'w>,
    parts: Vec<GlobalAddress>,
    part_bytes: u64,
    bytes: u64,
}

impl<'h, 'w> GlobalBytes<'h, 'w> {
    /// Creates an array of `bytes` bytes, in parts of `part_bytes` on `first` and the ranks after it, cyclically. The bytes are not cleared.
    ///
    /// Cost: an allocation for each part.
    ///
    /// # Errors
    /// A size is 0; as [`GlobalHeap::allocate`].
    pub fn create(heap: &'h GlobalHeap<'w>, first: Rank, part_bytes: u64, bytes: u64) -> Result<Self> {
        if part_bytes == 0 || bytes == 0 || bytes.div_ceil(part_bytes) > heap.bytes() {
            return Err(Error::Invalid("a workspace needs at least one part of at least one byte, and must fit the memory"));
        }
        let mut whole = Self { heap, parts: Vec::new(), part_bytes, bytes };
        let (mut rank, mut left) = (first, bytes);
        while left > 0 {
            match heap.allocate(rank, left.min(part_bytes)) {
                Ok(part) => whole.parts.push(part),
                Err(error) => {
                    whole.destroy()?;
                    return Err(error);
                }
            }
            (rank, left) = (rank.next(heap.world().size()), left.saturating_sub(part_bytes));
        }
        Ok(whole)
    }

    /// Opens the array that another rank has created: its parts in order, and their size.
    ///
    /// # Errors
    /// The number of parts does not match `bytes`.
    pub fn open(heap: &'h GlobalHeap<'w>, parts: Vec<GlobalAddress>, part_bytes: u64, bytes: u64) -> Result<Self> {
        if part_bytes == 0 || bytes.div_ceil(part_bytes) != parts.len() as u64 {
            return Err(Error::Invalid("the number of parts does not match the number of bytes"));
        }
        Ok(Self { heap, parts, part_bytes, bytes })
    }

    /// The addresses of the parts.
    pub fn parts(&self) -> &[GlobalAddress] {
        &self.parts
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frees the memory. Only one rank may call it.
    ///
    /// # Errors
    /// A rank was lost, or the job is at fault.
    pub fn destroy(self) -> Result<()> {
        self.parts.into_iter().try_for_each(|part| self.heap.free(part))
    }

    /// Writes bytes from an offset on, to all parts concurrently.
    ///
    /// # Errors
    /// They reach past the end; a rank was lost, or the job is at fault.
    pub fn write(&self, offset: u64, from: ByteSource<'_>) -> Result<()> {
        let pieces = self.pieces(offset, from.bytes())?;
        let writes = pieces.map(|(start, at, count)| from.write(self.heap.world(), start, count, at));
        self.heap.world().wait_all(&writes.collect::<Result<Vec<Handle<'_>>>>()?)
    }

    /// Copies bytes from an offset on to an address of any rank, from all parts concurrently.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn copy_to(&self, offset: u64, to: GlobalAddress, bytes: u64) -> Result<()> {
        let world = self.heap.world();
        let copies = self
            .pieces(offset, bytes)?
            .map(|(start, at, count)| world.copy(bytes_at(at)?, bytes_at(to.bits() + start)?, count as usize));
        world.wait_all(&copies.collect::<Result<Vec<Handle<'_>>>>()?)
    }

    /// Reads bytes from an offset on.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        for (start, at, count) in self.pieces(offset, into.len() as u64)? {
            self.heap.world().get_into(bytes_at(at)?, &mut into[start as usize..(start + count) as usize])?;
        }
        Ok(())
    }

    /// The pieces of a range of bytes: the offset of each in the range, its address, and its length.
    fn pieces(&self, offset: u64, bytes: u64) -> Result<impl Iterator<Item = (u64, u64, u64)>> {
        if offset > self.bytes || bytes > self.bytes - offset {
            return Err(Error::Invalid("the position is past the end"));
        }
        let mut start = 0;
        Ok(core::iter::from_fn(move || {
            let (part, inside) = ((offset + start) / self.part_bytes, (offset + start) % self.part_bytes);
            let count = (self.part_bytes - inside).min(bytes - start);
            let piece = (count > 0).then(|| (start, self.parts[part as usize].bits() + inside, count));
            start += count;
            piece
        }))
    }
}
