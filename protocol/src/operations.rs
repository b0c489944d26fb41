//! Operations that have not ended, apart from writes: those end with the datagram that carries them.

use pelago_base::{Failure, GlobalAddress};

use crate::{Denied, Local};

/// Operations of this rank and copies on behalf of others, together.
pub(crate) const OPERATIONS_MAX: usize = 8192;

/// Bits of an operation's number that say where it stands; those above tell it from earlier ones there.
const INDEX_BITS: u32 = OPERATIONS_MAX.ilog2();

/// An operation under way.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Bytes that this rank sends.
    Put(Put),
    /// Bytes that it waits for.
    Get { token: u64, from: GlobalAddress, to: Local, bytes: u64, received: u64 },
    /// A word that it waits for.
    Atomic { token: u64, at: GlobalAddress },
    /// A copy that another rank performs.
    Copy { token: u64, from: GlobalAddress, to: GlobalAddress },
}

/// Bytes on their way from this rank to another.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) origin: Origin,
    pub(crate) from: Source,
    pub(crate) to: GlobalAddress,
    pub(crate) bytes: u64,
    /// How many have been sent, and whether no more will be.
    pub(crate) next: u64,
    pub(crate) is_sent: bool,
    /// Pieces that have not arrived.
    pub(crate) out: u32,
    pub(crate) failure: Option<Failure>,
}

impl Put {
    pub(crate) fn new(origin: Origin, from: Source, to: GlobalAddress, bytes: u64) -> Self {
        Self { origin, from, to, bytes, next: 0, is_sent: false, out: 0, failure: None }
    }
}

/// Who wants the bytes to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This rank.
    Own { token: u64 },
    /// The peer at this index, by this operation of its own.
    Peer { index: u32, operation: u32 },
}

/// Where bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Local(Local),
    Segment(GlobalAddress),
}

impl Denied {
    /// The failure of an operation at `address`.
    pub(crate) fn at(self, address: GlobalAddress) -> Failure {
        match self {
            Self::Outside => Failure::OutOfBounds(address),
            Self::Misaligned => Failure::Misaligned(address),
            Self::Device => Failure::Device(address),
        }
    }
}

/// The table of operations.
#[derive(Default)]
pub(crate) struct Operations {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

struct Slot {
    number: u32,
    /// The index of the peer that it waits for.
    peer: u32,
    operation: Option<Operation>,
}

impl Operations {
    /// Adds one that waits for a peer; `None` if the table is full.
    pub(crate) fn insert(&mut self, peer: u32, operation: Operation) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.number = slot.number.wrapping_add(1 << INDEX_BITS);
            (slot.peer, slot.operation) = (peer, Some(operation));
            return Some(slot.number);
        }
        let number = u32::try_from(self.slots.len()).ok().filter(|&index| index < OPERATIONS_MAX as u32)?;
        self.slots.push(Slot { number, peer, operation: Some(operation) });
        Some(number)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty() && self.slots.len() == OPERATIONS_MAX
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Operation> {
        self.slot(number)?.operation.as_mut()
    }

    /// One that waits for this peer, and for no other.
    pub(crate) fn awaited_from(&mut self, peer: u32, number: u32) -> Option<&mut Operation> {
        self.slot(number).filter(|slot| slot.peer == peer)?.operation.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<Operation> {
        let slot = self.slot(number)?;
        let operation = slot.operation.take()?;
        self.free.push(number & (OPERATIONS_MAX as u32 - 1));
        Some(operation)
    }

    /// Takes out all that wait for a peer.
    pub(crate) fn remove_all(&mut self, peer: u32) -> Vec<Operation> {
        let numbers = self.slots.iter().filter(|slot| slot.peer == peer && slot.operation.is_some()).map(|slot| slot.number);
        numbers.collect::<Vec<_>>().into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// All puts under way.
    pub(crate) fn puts(&self) -> impl Iterator<Item = &Put> {
        self.slots.iter().filter_map(|slot| if let Some(Operation::Put(put)) = &slot.operation { Some(put) } else { None })
    }

    /// The put that reads this local memory, and its number.
    pub(crate) fn put_of(&self, local: Local) -> Option<(u32, &Put)> {
        self.slots.iter().find_map(|slot| match &slot.operation {
            Some(Operation::Put(put)) if matches!(put.from, Source::Local(from) if from == local) => Some((slot.number, put)),
            _ => None,
        })
    }

    fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        self.slots.get_mut(number as usize & (OPERATIONS_MAX - 1)).filter(|slot| slot.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atomic(token: u64) -> Operation {
        Operation::Atomic { token, at: GlobalAddress::NULL }
    }

    #[test]
    fn a_number_is_of_one_operation_only() {
        let mut operations = Operations::default();
        let first = operations.insert(0, atomic(1)).unwrap();
        assert!(operations.remove(first).is_some());
        let second = operations.insert(0, atomic(2)).unwrap();
        assert_ne!(first, second);
        assert!(operations.get_mut(first).is_none() && operations.remove(first).is_none());
        assert!(matches!(operations.get_mut(second), Some(Operation::Atomic { token: 2, .. })));
        assert!(operations.awaited_from(0, second).is_some() && operations.awaited_from(1, second).is_none());
    }

    #[test]
    fn the_table_is_bounded_and_emptied_by_peer() {
        let mut operations = Operations::default();
        for token in 0..OPERATIONS_MAX as u64 {
            assert!(!operations.is_full());
            operations.insert(token as u32 % 2, atomic(token)).unwrap();
        }
        assert!(operations.is_full() && operations.insert(0, atomic(0)).is_none());
        assert_eq!(operations.remove_all(1).len(), OPERATIONS_MAX / 2);
        assert_eq!(operations.remove_all(1).len(), 0);
        assert_eq!(operations.remove_all(0).len(), OPERATIONS_MAX / 2);
    }
}
