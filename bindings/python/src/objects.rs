//! A rank's part of distributed objects, independent of their types.

use std::collections::BTreeMap;

use pelago::messaging::{MailReceiver, MailSender, Mailbox};
use pelago::{GlobalAddress, Rank, RegisteredDevice, Result, Symmetric};

/// Memory that every rank has.
pub(crate) enum Area<'w> {
    /// In their symmetric heaps.
    Heap(Symmetric<'w, u64>),
    /// On devices.
    Device {
        /// Start address at each rank.
        starts: Vec<GlobalAddress>,
        /// The registration of this rank's own memory.
        _registered: RegisteredDevice<'w, u8>,
    },
}

impl Area<'_> {
    /// Returns the start of the memory at a rank of the job.
    pub(crate) fn start(&self, rank: Rank) -> GlobalAddress {
        match self {
            Self::Heap(memory) => memory.at(rank, 0).address(),
            Self::Device { starts, .. } => starts[rank.index()],
        }
    }
}

/// The ends of a mailbox that a rank uses.
pub(crate) struct Ends<'a, 'w> {
    pub(crate) mailbox: &'a Mailbox<'w>,
    pub(crate) receiver: Option<MailReceiver<'a, 'w>>,
    pub(crate) senders: BTreeMap<u32, MailSender<'a, 'w>>,
}

/// A grid with any type of elements and any number of dimensions.
pub(crate) trait AnyGrid {
    fn start(&mut self) -> Result<()>;
    fn wait(&mut self) -> Result<()>;
    fn explain(&self) -> String;
}

/// A map with keys and values of any lengths. Buffers of keys and of values are contiguous, with `lengths` bytes for each key and value.
pub(crate) trait AnyMap {
    fn store(&self, keys: &[u8], values: &[u8], lengths: [usize; 2], is_insertion: bool) -> Result<usize>;
    /// Returns the values, and whether each key was found.
    fn find(&self, keys: &[u8], lengths: [usize; 2]) -> Result<(Vec<u8>, Vec<u8>)>;
    fn remove(&self, key: &[u8]) -> Result<bool>;
    fn owner(&self, key: &[u8]) -> u32;
    fn local(&self, lengths: [usize; 2]) -> Result<(Vec<u8>, Vec<u8>)>;
}
