//! Device memory for direct access by other devices of the host, such as network cards.

use std::os::fd::OwnedFd;

/// A range of device memory as a *dma-buf* of the kernel: a descriptor by which a network card can be granted access to it.
///
/// The descriptor does not keep the memory allocated: the registration with a card must end before the memory is freed.
#[derive(Debug)]
pub struct DmaBuf {
    /// Descriptor of the buffer, which may be larger than the range.
    pub descriptor: OwnedFd,
    /// Offset of the range in the buffer, in bytes.
    pub offset: u64,
    /// Address of the range on its device; not a host address.
    pub address: u64,
    /// Reason for which a card may only read: the device would not see its writes in their order. `None` if it may write.
    pub read_only: Option<&'static str>,
}
