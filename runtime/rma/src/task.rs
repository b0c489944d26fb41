//! What an operation that is not done at once has to do.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Shape, Width};
use pelago_memory::{Cells, Reach, copy_strided};

use crate::buffer::Buffer;

/// An operation, with everything that it needs until it is done.
pub(crate) enum Task {
    /// Move blocks of bytes.
    Move {
        /// From where.
        from: End,
        /// To where.
        to: End,
        /// Which bytes from there on.
        from_shape: Shape,
        /// Onto which; equal blocks and counts.
        to_shape: Shape,
    },
    /// Work on a word.
    Atomic {
        /// Which.
        at: GlobalAddress,
        /// Its width.
        width: Width,
        /// What to do.
        operator: AtomicOperator,
        /// With what.
        operand: u64,
    },
}

/// One end of a move.
pub(crate) enum End {
    /// Memory of the operation.
    Buffer(Buffer),
    /// Memory of the job.
    Global(GlobalAddress),
}

impl Task {
    /// A contiguous move.
    pub(crate) fn contiguous(from: End, to: End, bytes: u64) -> Self {
        Self::Move { from, to, from_shape: Shape::contiguous(bytes), to_shape: Shape::contiguous(bytes) }
    }

    /// How many operations of a transport it takes.
    pub(crate) fn pieces(&self) -> u64 {
        match self {
            Self::Move { from_shape, .. } if from_shape.block == 0 => 0,
            Self::Move { from_shape, .. } => from_shape.blocks(),
            Self::Atomic { .. } => 1,
        }
    }

    /// How many bytes it keeps.
    pub(crate) fn captured(&self) -> usize {
        match self {
            Self::Move { from: End::Buffer(buffer), .. } | Self::Move { to: End::Buffer(buffer), .. } => buffer.bytes(),
            _ => 0,
        }
    }

    /// Whether a rank's memory takes part.
    pub(crate) fn concerns(&self, rank: Rank, reach: &Reach) -> bool {
        let is_at = |address: GlobalAddress| reach.addresses().rank(address) == rank;
        match self {
            Self::Move { from, to, .. } => [from, to].iter().any(|end| matches!(end, End::Global(address) if is_at(*address))),
            Self::Atomic { at, .. } => is_at(*at),
        }
    }

    /// Does all of it if both ends are mapped; `Some` with the word that an atomic found if so.
    pub(crate) fn do_mapped(&mut self, reach: &Reach) -> Option<u64> {
        match self {
            Self::Move { from, to, from_shape, to_shape } => {
                let source = from.mapped(reach, from_shape.extent().ok()?)?;
                let target = to.mapped(reach, to_shape.extent().ok()?)?;
                if from_shape.counts == [1; 3] {
                    target.copy_from(source);
                } else {
                    copy_strided(source, *from_shape, target, *to_shape);
                }
                if let End::Global(address) = to {
                    ring(reach, *address);
                }
                Some(0)
            }
            Self::Atomic { at, width, operator, operand } => {
                let found = reach.cells(*at, width.bytes())?.atomic(*width, *operator, *operand)?;
                ring(reach, *at);
                Some(found)
            }
        }
    }
}

impl End {
    fn mapped<'a>(&'a mut self, reach: &'a Reach, bytes: u64) -> Option<Cells<'a>> {
        match self {
            Self::Buffer(buffer) => buffer.cells().part(0, bytes),
            Self::Global(address) => reach.cells(*address, bytes),
        }
    }
}

fn ring(reach: &Reach, address: GlobalAddress) {
    if let Some(bell) = reach.bell(reach.addresses().rank(address)) {
        bell.ring();
    }
}
