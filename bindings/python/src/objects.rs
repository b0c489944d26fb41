//! What a rank keeps of distributed objects, whatever their types.

use std::collections::BTreeMap;

use pelago::messaging::{MailReceiver, MailSender, Mailbox};
use pelago::{GlobalAddress, Rank, RegisteredDevice, Result, Symmetric};

/// Memory of all ranks.
pub(crate) enum Area<'w> {
    /// In their symmetric heaps.
    Heap(Symmetric<'w, u64>),
    /// On devices.
    Device {
        /// Where each rank's begins.
        starts: Vec<GlobalAddress>,
        /// This rank's own.
        _registered: RegisteredDevice<'w, u8>,
    },
}

impl Area<'_> {
    /// Where the memory of a rank of the job begins.
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

/// A grid of any type and number of dimensions.
pub(crate) trait AnyGrid {
    fn start(&mut self) -> Result<()>;
    fn wait(&mut self) -> Result<()>;
    fn explain(&self) -> String;
}

/// A map of any lengths. Keys and values lie one behind the other, `lengths` bytes each.
pub(crate) trait AnyMap {
    fn store(&self, keys: &[u8], values: &[u8], lengths: [usize; 2], is_insertion: bool) -> Result<usize>;
    /// The values, and whether each was found.
    fn find(&self, keys: &[u8], lengths: [usize; 2]) -> Result<(Vec<u8>, Vec<u8>)>;
    fn remove(&self, key: &[u8]) -> Result<bool>;
    fn owner(&self, key: &[u8]) -> u32;
    fn local(&self, lengths: [usize; 2]) -> Result<(Vec<u8>, Vec<u8>)>;
}
