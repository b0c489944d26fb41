//! An operation with its own copy of captured bytes, and its effect on memory.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Width};
use pelago_memory::{Cells, Region};
use pelago_platform::{Failure, Operation, Transfer};
use pelago_report::OperationKind;

use crate::memory::RankMemory;

/// Maximum size in bytes of a captured put that is stored without an allocation.
const SHORT_BYTES_MAX: usize = 16;

/// An operation, with its own copy of the bytes of a write.
pub(crate) enum OwnedOperation {
    /// A captured put of at most [`SHORT_BYTES_MAX`] bytes.
    Short {
        to: GlobalAddress,
        bytes: [u8; SHORT_BYTES_MAX],
        length: u8,
    },
    /// A longer captured put.
    Long {
        to: GlobalAddress,
        bytes: Box<[u8]>,
    },
    Put {
        from: Cells<'static>,
        to: GlobalAddress,
    },
    Get(Box<OwnedGet>),
    Copy(Box<OwnedCopy>),
    Atomic {
        at: GlobalAddress,
        width: Width,
        /// The code of the operator and its expected value, which take less space than the operator itself.
        operator: u8,
        expected: u64,
        operand: u64,
    },
    /// Stands for a put: moves no bytes, and fails if the put would. The next two stand for a get and a copy.
    SizedPut {
        to: GlobalAddress,
        bytes: u64,
    },
    SizedGet {
        from: GlobalAddress,
        bytes: u64,
    },
    SizedCopy {
        from: GlobalAddress,
        to: GlobalAddress,
        bytes: u64,
    },
}

/// A get, and the bytes that it has read.
pub(crate) struct OwnedGet {
    from: GlobalAddress,
    to: Cells<'static>,
    read: Option<Box<[u8]>>,
}

/// A copy, and the bytes that it has read.
pub(crate) struct OwnedCopy {
    pub(crate) from: GlobalAddress,
    pub(crate) to: GlobalAddress,
    pub(crate) bytes: u64,
    read: Option<Box<[u8]>>,
}

const _: () = assert!(size_of::<OwnedOperation>() == 32, "it fits the line of its record");

impl OwnedOperation {
    pub(crate) fn new(operation: Operation<'_>) -> Self {
        match operation {
            Operation::Write { to, bytes } => Self::write(to, bytes),
            Operation::Put { from, to } => Self::Put { from, to },
            Operation::Get { from, to } => Self::Get(Box::new(OwnedGet { from, to, read: None })),
            Operation::Copy { from, to, bytes } => Self::Copy(Box::new(OwnedCopy { from, to, bytes, read: None })),
            Operation::Atomic { at, width, operator, operand } => {
                let (operator, expected) = operator.code();
                Self::Atomic { at, width, operator, expected: expected.unwrap_or(0), operand }
            }
            Operation::Sized(Transfer::Put { to, bytes }) => Self::SizedPut { to, bytes },
            Operation::Sized(Transfer::Get { from, bytes }) => Self::SizedGet { from, bytes },
            Operation::Sized(Transfer::Copy { from, to, bytes }) => Self::SizedCopy { from, to, bytes },
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } | Operation::Signalled { .. } => {
                unreachable!("refused when it was posted")
            }
        }
    }

    fn write(to: GlobalAddress, bytes: &[u8]) -> Self {
        if bytes.len() > SHORT_BYTES_MAX {
            return Self::Long { to, bytes: bytes.into() };
        }
        let mut short = [0; SHORT_BYTES_MAX];
        short[..bytes.len()].copy_from_slice(bytes);
        Self::Short { to, bytes: short, length: bytes.len() as u8 }
    }

    /// Returns its kind, and the number of bytes that it moves.
    pub(crate) fn kind(&self) -> (OperationKind, u64) {
        match self {
            Self::Short { length, .. } => (OperationKind::Put, u64::from(*length)),
            Self::Long { bytes, .. } => (OperationKind::Put, bytes.len() as u64),
            Self::Put { from, .. } => (OperationKind::Put, from.bytes() as u64),
            Self::Get(get) => (OperationKind::Get, get.to.bytes() as u64),
            Self::Copy(copy) => (OperationKind::Copy, copy.bytes),
            Self::Atomic { width, .. } => (OperationKind::Atomic, width.bytes()),
            Self::SizedPut { bytes, .. } => (OperationKind::Put, *bytes),
            Self::SizedGet { bytes, .. } => (OperationKind::Get, *bytes),
            Self::SizedCopy { bytes, .. } => (OperationKind::Copy, *bytes),
        }
    }

    #[inline]
    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self, Self::Atomic { .. })
    }

    #[inline]
    pub(crate) fn is_put(&self) -> bool {
        matches!(self, Self::Short { .. } | Self::Long { .. } | Self::Put { .. } | Self::SizedPut { .. })
    }

    /// Whether it holds an address in the memory of its rank, which the program has named.
    #[inline]
    pub(crate) fn has_address_of_its_rank(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Get(_))
    }

    /// The address whose owner is the target.
    pub(crate) fn address(&self) -> GlobalAddress {
        match self {
            Self::Short { to, .. } | Self::Long { to, .. } | Self::Put { to, .. } | Self::SizedPut { to, .. } => *to,
            Self::Get(get) => get.from,
            Self::SizedGet { from, .. } | Self::SizedCopy { from, .. } => *from,
            Self::Copy(copy) => copy.from,
            Self::Atomic { at, .. } => *at,
        }
    }

    /// Returns the rank that it is posted to.
    pub(crate) fn target(&self, memory: &RankMemory) -> Rank {
        memory.addresses().rank(self.address())
    }

    /// Returns the rank whose registered memory it writes, if any.
    pub(crate) fn written(&self, memory: &RankMemory) -> Option<Rank> {
        let at = match self {
            Self::Short { to, .. } | Self::Long { to, .. } | Self::Put { to, .. } => to,
            Self::SizedPut { to, .. } | Self::SizedCopy { to, .. } => to,
            Self::Copy(copy) => &copy.to,
            Self::Atomic { at, .. } => at,
            Self::Get(_) | Self::SizedGet { .. } => return None,
        };
        Some(memory.addresses().rank(*at))
    }

    /// Whether its source is still to be read before it takes effect.
    pub(crate) fn needs_read(&self) -> bool {
        match self {
            Self::Get(get) => get.read.is_none(),
            Self::Copy(copy) => copy.read.is_none(),
            Self::SizedGet { .. } | Self::SizedCopy { .. } => true,
            _ => false,
        }
    }

    /// Reads the source of a get or a copy.
    pub(crate) fn read(&mut self, memory: &RankMemory) -> Result<(), Failure> {
        let (from, bytes, read) = match self {
            Self::Get(get) => (get.from, get.to.bytes() as u64, &mut get.read),
            Self::Copy(copy) => (copy.from, copy.bytes, &mut copy.read),
            Self::SizedGet { from, bytes } | Self::SizedCopy { from, bytes, .. } => {
                return memory.find(*from, *bytes).map(|_| ());
            }
            _ => return Ok(()),
        };
        let source = memory.find(from, bytes)?;
        source.read(read.insert(vec![0; bytes as usize].into())).map_err(|_| Failure::Device(from))
    }

    /// Performs the operation on behalf of its initiator `rank`; returns the old word of an atomic, else 0.
    pub(crate) fn perform(&self, rank: Rank, memory: &RankMemory) -> Result<u64, Failure> {
        let (moved, to) = match self {
            Self::Short { to, bytes, length } => {
                (memory.find(*to, u64::from(*length))?.write(&bytes[..usize::from(*length)]), *to)
            }
            Self::Long { to, bytes } => (memory.find(*to, bytes.len() as u64)?.write(bytes), *to),
            Self::Put { from, to } => {
                (memory.find(*to, from.bytes() as u64)?.copy_from(&Region::Host(memory.present(rank, *from))), *to)
            }
            Self::Get(get) => {
                memory.present(rank, get.to).write(get.read.as_deref().unwrap_or_default());
                return Ok(0);
            }
            Self::Copy(copy) => (memory.find(copy.to, copy.bytes)?.write(copy.read.as_deref().unwrap_or_default()), copy.to),
            Self::Atomic { at, width, operator, expected, operand } => {
                let operator = AtomicOperator::from_code(*operator, *expected).expect("the code of an operator");
                let found = memory.find(*at, width.bytes())?.atomic(*width, operator, *operand);
                return found.map_err(|_| Failure::Device(*at))?.ok_or(Failure::Misaligned(*at));
            }
            Self::SizedPut { to, bytes } | Self::SizedCopy { to, bytes, .. } => {
                return memory.find(*to, *bytes).map(|_| 0);
            }
            Self::SizedGet { .. } => return Ok(0),
        };
        moved.map(|()| 0).map_err(|_| Failure::Device(to))
    }
}

#[cfg(test)]
mod tests {
    use pelago_base::SegmentId;

    use super::*;

    /// A put in flight reads the frames of its rank, and a get writes them, while another rank runs on the shared stack.
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
        OwnedOperation::Get(Box::new(OwnedGet { from: to, to: frame, read })).perform(Rank::new(0), &memory).unwrap();
        assert_eq!(frame.to_vec(), [8; 8], "the frame of the rank that runs is left alone");
        claim(0);
        assert_eq!(frame.to_vec(), [5; 8]);
        claim(1);
        assert_eq!(frame.to_vec(), [8; 8]);
    }
}
