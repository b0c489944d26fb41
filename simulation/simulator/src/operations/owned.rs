//! An operation with its own copy of what it writes, and its effect on memory.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Width};
use pelago_memory::{Cells, Region};
use pelago_platform::{Failure, Operation, Transfer};
use pelago_report::OperationKind;

use crate::memory::RankMemory;

/// Maximum size in bytes of a captured put that is stored without an allocation.
const SHORT_BYTES_MAX: usize = 16;

/// An operation, with its own copy of the bytes of a write.
pub(crate) enum OwnedOperation {
    Write {
        to: GlobalAddress,
        bytes: CapturedBytes,
    },
    Put {
        from: Cells<'static>,
        to: GlobalAddress,
    },
    Get {
        from: GlobalAddress,
        to: Cells<'static>,
        read: Option<Box<[u8]>>,
    },
    Copy {
        from: GlobalAddress,
        to: GlobalAddress,
        bytes: u64,
        read: Option<Box<[u8]>>,
    },
    Atomic {
        at: GlobalAddress,
        width: Width,
        operator: AtomicOperator,
        operand: u64,
    },
    /// Stands for a transfer: moves no bytes, and fails where the transfer would.
    Sized(Transfer),
}

/// CapturedBytes that were captured.
pub(crate) enum CapturedBytes {
    Short([u8; SHORT_BYTES_MAX], u8),
    Long(Box<[u8]>),
}

impl OwnedOperation {
    pub(crate) fn new(operation: Operation<'_>) -> Self {
        match operation {
            Operation::Write { to, bytes } => Self::Write { to, bytes: CapturedBytes::new(bytes) },
            Operation::Put { from, to } => Self::Put { from, to },
            Operation::Get { from, to } => Self::Get { from, to, read: None },
            Operation::Copy { from, to, bytes } => Self::Copy { from, to, bytes, read: None },
            Operation::Atomic { at, width, operator, operand } => Self::Atomic { at, width, operator, operand },
            Operation::Sized(transfer) => Self::Sized(transfer),
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } => unreachable!("refused when it was posted"),
        }
    }

    /// Its kind, and how many bytes it moves.
    pub(crate) fn kind(&self) -> (OperationKind, u64) {
        match self {
            Self::Write { bytes, .. } => (OperationKind::Put, bytes.as_slice().len() as u64),
            Self::Put { from, .. } => (OperationKind::Put, from.bytes() as u64),
            Self::Get { to, .. } => (OperationKind::Get, to.bytes() as u64),
            Self::Copy { bytes, .. } => (OperationKind::Copy, *bytes),
            Self::Atomic { width, .. } => (OperationKind::Atomic, width.bytes()),
            Self::Sized(Transfer::Put { bytes, .. }) => (OperationKind::Put, *bytes),
            Self::Sized(Transfer::Get { bytes, .. }) => (OperationKind::Get, *bytes),
            Self::Sized(Transfer::Copy { bytes, .. }) => (OperationKind::Copy, *bytes),
        }
    }

    #[inline]
    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self, Self::Atomic { .. })
    }

    #[inline]
    pub(crate) fn is_put(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Put { .. } | Self::Sized(Transfer::Put { .. }))
    }

    /// The address whose owner is the target.
    pub(crate) fn address(&self) -> GlobalAddress {
        match *self {
            Self::Write { to, .. } | Self::Put { to, .. } | Self::Sized(Transfer::Put { to, .. }) => to,
            Self::Get { from, .. } | Self::Copy { from, .. } => from,
            Self::Sized(Transfer::Get { from, .. } | Transfer::Copy { from, .. }) => from,
            Self::Atomic { at, .. } => at,
        }
    }

    /// The rank that it is posted to.
    pub(crate) fn target(&self, memory: &RankMemory) -> Rank {
        memory.addresses().rank(self.address())
    }

    /// The rank whose memory it writes, where other ranks can see it.
    pub(crate) fn written(&self, memory: &RankMemory) -> Option<Rank> {
        match *self {
            Self::Write { to, .. } | Self::Put { to, .. } | Self::Copy { to, .. } => Some(memory.addresses().rank(to)),
            Self::Sized(Transfer::Put { to, .. } | Transfer::Copy { to, .. }) => Some(memory.addresses().rank(to)),
            Self::Atomic { at, .. } => Some(memory.addresses().rank(at)),
            Self::Get { .. } | Self::Sized(Transfer::Get { .. }) => None,
        }
    }

    /// Whether its source is still to be read before it takes effect.
    pub(crate) fn needs_read(&self) -> bool {
        matches!(
            self,
            Self::Get { read: None, .. }
                | Self::Copy { read: None, .. }
                | Self::Sized(Transfer::Get { .. } | Transfer::Copy { .. })
        )
    }

    /// Reads the source of a get or a copy.
    pub(crate) fn read(&mut self, memory: &RankMemory) -> Result<(), Failure> {
        let (from, bytes, read) = match self {
            Self::Get { from, to, read } => (*from, to.bytes() as u64, read),
            Self::Copy { from, bytes, read, .. } => (*from, *bytes, read),
            Self::Sized(Transfer::Get { from, bytes } | Transfer::Copy { from, bytes, .. }) => {
                return memory.find(*from, *bytes).map(|_| ());
            }
            _ => return Ok(()),
        };
        let source = memory.find(from, bytes)?;
        source.read(read.insert(vec![0; bytes as usize].into())).map_err(|_| Failure::Device(from))
    }

    /// Takes effect for its initiator; returns the old word of an atomic, else 0.
    pub(crate) fn perform(&self, rank: Rank, memory: &RankMemory) -> Result<u64, Failure> {
        let (moved, to) = match self {
            Self::Write { to, bytes } => (memory.find(*to, bytes.as_slice().len() as u64)?.write(bytes.as_slice()), *to),
            Self::Put { from, to } => {
                (memory.find(*to, from.bytes() as u64)?.copy_from(&Region::Host(memory.present(rank, *from))), *to)
            }
            Self::Get { to, read, .. } => {
                memory.present(rank, *to).write(read.as_deref().unwrap_or_default());
                return Ok(0);
            }
            Self::Copy { to, bytes, read, .. } => (memory.find(*to, *bytes)?.write(read.as_deref().unwrap_or_default()), *to),
            Self::Atomic { at, width, operator, operand } => {
                let found = memory.find(*at, width.bytes())?.atomic(*width, *operator, *operand);
                return found.map_err(|_| Failure::Device(*at))?.ok_or(Failure::Misaligned(*at));
            }
            Self::Sized(Transfer::Put { to, bytes } | Transfer::Copy { to, bytes, .. }) => {
                return memory.find(*to, *bytes).map(|_| 0);
            }
            Self::Sized(Transfer::Get { .. }) => return Ok(0),
        };
        moved.map(|()| 0).map_err(|_| Failure::Device(to))
    }
}

impl CapturedBytes {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        if bytes.len() > SHORT_BYTES_MAX {
            return Self::Long(bytes.into());
        }
        let mut short = [0; SHORT_BYTES_MAX];
        short[..bytes.len()].copy_from_slice(bytes);
        Self::Short(short, bytes.len() as u8)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use pelago_base::SegmentId;

    use super::*;

    /// A put that is under way reads what its rank has on the stack while another rank runs there, and a get writes it.
    #[test]
    fn operations_find_the_frames_of_a_rank_that_has_stopped() {
        const DEPTH: usize = 64;
        let mut memory = RankMemory::new(2, 1 << 16, 16 << 10, true).unwrap();
        let shared = &*Box::leak(Box::new(memory.share_stack().unwrap()));
        let frame: Cells<'static> = shared.part(DEPTH, 8);
        let to = memory.addresses().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
        memory.register(Rank::new(1), to, Region::Host(frame)).unwrap();
        let claim = |rank| shared.claim(rank, DEPTH, |_| DEPTH);
        for rank in [0, 1] {
            claim(rank);
            frame.write(&[7 + rank as u8; 8]);
        }
        for rank in [0, 1] {
            OwnedOperation::Put { from: frame, to }.perform(Rank::new(rank), &memory).unwrap();
            let Region::Host(target) = memory.find(to, 8).unwrap() else { panic!("a heap is of the host") };
            assert_eq!(target.to_vec(), [7 + rank as u8; 8]);
        }
        let read = Some(vec![5; 8].into());
        OwnedOperation::Get { from: to, to: frame, read }.perform(Rank::new(0), &memory).unwrap();
        assert_eq!(frame.to_vec(), [8; 8], "the frame of the rank that runs is left alone");
        claim(0);
        assert_eq!(frame.to_vec(), [5; 8]);
        claim(1);
        assert_eq!(frame.to_vec(), [8; 8]);
    }
}
