//! Memory of a device as other devices of the host reach it without its owner, network cards among them.

use std::os::fd::OwnedFd;

/// A range of device memory as a *dma-buf* of the kernel: a descriptor by which a network card may be allowed to reach it.
///
/// The descriptor keeps no memory allocated: whoever gives it to a card ends that before the memory is freed.
#[derive(Debug)]
pub struct DmaBuf {
    /// The buffer. It may hold more than the range.
    pub descriptor: OwnedFd,
    /// Where the range begins in the buffer, in bytes.
    pub offset: u64,
    /// The address of the range for its device: no address of the host.
    pub address: u64,
    /// Why a card may only read: its writes would not be seen by the device in the order in which they are made. `None` if it may write.
    pub read_only: Option<&'static str>,
}
