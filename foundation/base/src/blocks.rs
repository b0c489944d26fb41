//! Blocks of memory that one operation transfers.

use std::ops::Range;

use crate::{Shape, ShapeError};

/// One contiguous piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Offset in bytes from the operation's address.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// The blocks of memory that an operation moves, in transfer order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks<'a> {
    /// Blocks of one length at equal distances, in up to three dimensions.
    Shape(&'a Shape),
    /// Blocks of any length at any offset, in any order; they may overlap.
    List(&'a [Block]),
}

impl<'a> Blocks<'a> {
    /// Returns the number of bytes to move.
    ///
    /// # Errors
    /// The sum overflows.
    pub fn bytes(&self) -> Result<u64, ShapeError> {
        match self {
            Self::Shape(shape) => shape.bytes(),
            Self::List(list) => {
                let sum = list.iter().try_fold(0_u64, |sum, block| sum.checked_add(block.bytes));
                sum.ok_or(ShapeError::Overflow)
            }
        }
    }

    /// Returns the blocks in transfer order. The caller has checked the [`envelope`](Self::envelope).
    pub fn each(self) -> impl Iterator<Item = Block> + use<'a> {
        let (shape, list) = match self {
            Self::Shape(shape) => (Some(shape.offsets().map(|offset| Block { offset, bytes: shape.block })), None),
            Self::List(list) => (None, Some(list.iter().copied())),
        };
        shape.into_iter().flatten().chain(list.into_iter().flatten())
    }

    /// Returns the range from the lowest byte to past the highest, gaps included. Empty blocks count like others; 0..0 if there are no blocks.
    ///
    /// # Errors
    /// The last byte is past 2⁶⁴.
    pub fn envelope(&self) -> Result<Range<u64>, ShapeError> {
        match self {
            Self::Shape(shape) => Ok(0..shape.extent()?),
            Self::List(list) => {
                let mut envelope = list.first().map_or(0..0, |first| first.offset..first.offset);
                for &Block { offset, bytes } in *list {
                    let end = offset.checked_add(bytes).ok_or(ShapeError::Overflow)?;
                    envelope = envelope.start.min(offset)..envelope.end.max(end);
                }
                Ok(envelope)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(blocks: &[(u64, u64)]) -> Vec<Block> {
        blocks.iter().map(|&(offset, bytes)| Block { offset, bytes }).collect()
    }

    #[test]
    fn the_envelope_of_a_list_holds_all_blocks() {
        let blocks = list(&[(100, 8), (20, 4), (108, 1)]);
        assert_eq!((Blocks::List(&blocks).envelope(), Blocks::List(&blocks).bytes()), (Ok(20..109), Ok(13)));
        assert_eq!((Blocks::List(&[]).envelope(), Blocks::List(&[]).bytes()), (Ok(0..0), Ok(0)));
        assert_eq!(Blocks::List(&blocks).each().collect::<Vec<_>>(), blocks);
        let shape = Shape::strided(3, 4, 10);
        assert_eq!(Blocks::Shape(&shape).each().collect::<Vec<_>>(), list(&[(0, 4), (10, 4), (20, 4)]));
        assert_eq!((Blocks::Shape(&shape).envelope(), Blocks::Shape(&shape).bytes()), (Ok(0..24), Ok(12)));
    }

    #[test]
    fn a_list_past_all_memory_is_refused() {
        assert_eq!(Blocks::List(&list(&[(u64::MAX, 1)])).envelope(), Err(ShapeError::Overflow));
        assert_eq!(Blocks::List(&list(&[(0, u64::MAX), (0, 1)])).bytes(), Err(ShapeError::Overflow));
    }
}
