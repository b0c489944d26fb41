//! Device memory that the fabric accesses directly: registered by a dma-buf, where provider, driver and device support it.
//!
//! ```text
//!   poster                              card of the owner                      device
//!      │ ═ fi_write ═══════════════════▶ │ ─ writes, which are under way ─────▶ │
//!      │ ◀──────────────────────── acked │
//!      │ ═ fi_read of its first byte ══▶ │ ─ read, which overtakes no write ──▶ │  all has arrived
//!      │ ◀════════════════════ completed │ ◀─────────────────────────────────── │
//!      │ WRITTEN, if the owner is to be woken ─▶ owner
//! ```
//!
//! - V1 A write to device memory is complete when a read behind it, by the same rail, has completed: the acknowledgement of a card means only that the card
//!   has the bytes, and a flag that is written to host memory next takes another path on the bus.
//! - V2 A message after that read notifies the owner of the write, as immediate data would arrive before the bytes.
//! - V3 Where the device does not see writes of cards in their order, the registration serves only reads.
//! - V4 The owner performs atomics.
//!
//! Transfers of unregistered device memory are staged: the owner moves the bytes through host memory, on request.

use pelago_base::GlobalAddress;
use pelago_memory::{DeviceRange, DmaBuf, Region};
use pelago_platform::DeviceAccess;

use super::{Engine, FIRST, Own, Path, Posted, Use, What};
use crate::fabric::{FiAddress, Local, Port, Refusal, Registration, Remote, known_reason};
use crate::limits::DEVICE_SEGMENTS_MAX;
use crate::message::{Header, kind, region};

/// This rank's segments in device memory.
#[derive(Default)]
pub(super) struct DeviceSegments {
    registered: usize,
    staged: usize,
    /// Why the last of them was not, or not completely, registered.
    why: &'static str,
    /// Writes whose read behind could not be posted yet, with their rails: at most as many as operations.
    unread: Vec<(usize, usize)>,
}

impl DeviceSegments {
    /// Whether a read behind a write waits for space.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }
}

/// The registration of a segment in memory of a device.
#[derive(Default)]
pub(super) struct OwnDevice {
    /// The dma-buf by which the segment is registered, if it is.
    buffer: Option<DmaBuf>,
}

impl OwnDevice {
    /// Properties for peers, as bits of [`region`].
    pub(super) fn flags(&self) -> u8 {
        let is_read_only = self.buffer.as_ref().is_some_and(|buffer| buffer.read_only.is_some());
        region::DEVICE | if is_read_only { region::READ_ONLY } else { 0 }
    }
}

impl Engine {
    /// Registers a segment in device memory with the first rails, as far as they accept it.
    pub(super) fn register_device(&mut self, range: &DeviceRange) -> (Vec<Registration>, OwnDevice) {
        match self.try_device(range) {
            Ok((registrations, buffer)) => {
                self.devices.registered += 1;
                if let Some(why) = buffer.read_only {
                    self.devices.why = known_reason(&format!("puts are staged, as {why}"));
                }
                (registrations, OwnDevice { buffer: Some(buffer) })
            }
            Err(why) => {
                self.devices.staged += 1;
                self.devices.why = known_reason(&why);
                (Vec::new(), OwnDevice::default())
            }
        }
    }

    fn try_device(&mut self, range: &DeviceRange) -> Result<(Vec<Registration>, DmaBuf), String> {
        if self.devices.registered == DEVICE_SEGMENTS_MAX {
            return Err(format!("{DEVICE_SEGMENTS_MAX} segments in memory of devices are registered, and more are not"));
        }
        self.ports[FIRST].check_devices()?;
        let buffer = range.dma_buf().map_err(|error| error.0)?;
        let register = |port: &mut Port| port.register_device(&buffer, range.bytes(), range.memory().kind());
        let first = register(&mut self.ports[FIRST])?;
        let others = self.ports[FIRST + 1..].iter_mut().map_while(|port| register(port).ok());
        let registrations = std::iter::once(first).chain(others).collect();
        Ok((registrations, buffer))
    }

    /// Removes a segment in device memory, whose registrations were closed, or could not be closed: then the provider may still access the memory, which is
    /// kept to the end of the process (F8).
    pub(super) fn forget_device(&mut self, device: OwnDevice, memory: Region<'static>, is_closed: bool) {
        match device.buffer {
            Some(_) => self.devices.registered -= 1,
            None => self.devices.staged -= 1,
        }
        if self.devices.registered + self.devices.staged == 0 {
            self.devices.why = "";
        }
        if !is_closed {
            std::mem::forget((device, memory));
        }
    }

    /// How the fabric accesses device memory.
    pub(crate) fn device_access(&self) -> DeviceAccess {
        let DeviceSegments { registered, staged, why, .. } = self.devices;
        match self.ports[FIRST].device_access() {
            DeviceAccess::Registered { why: before, .. } => {
                let why = if why.is_empty() { before } else { why };
                DeviceAccess::Registered { registered: registered as u32, staged: staged as u32, why }
            }
            other => other,
        }
    }

    /// This rank's device memory from an address on, as local memory of an access by a rail; `None` if it is not registered with that rail.
    pub(super) fn local_device(&self, at: GlobalAddress, rail: usize) -> Option<Local> {
        let (start, _, Own { registrations, .. }) = self.regions.at_or_before(at)?;
        Some(registrations.get(rail)?.local(at.bits() - start.bits()))
    }

    /// Peer address and remote address, by this rail, of the first byte that an operation has written, if it is in device memory (V1).
    fn written_at(&self, key: usize, rail: usize) -> Option<(FiAddress, Remote)> {
        let Posted { what, peer, lane, path: Path::Access(start), .. } = self.operations.get(key)? else { return None };
        let to = match what {
            What::Write { to, .. } | What::Put { to, .. } => to,
            What::Get { .. } | What::Copy { .. } | What::Atomic { .. } | What::Blocks(_) | What::Signalled { .. } => return None,
        };
        let entry = &self.peers[*peer];
        let known = entry.known.get(start).filter(|known| known.flags & region::DEVICE != 0)?;
        let remote = known.remotes.get(rail)?;
        let address = if rail == FIRST { entry.address } else { entry.lanes[*lane].address? };
        Some((address, Remote { address: remote.address + (to.bits() - start), ..*remote }))
    }

    /// Handles the end of an operation's access: a write to device memory continues with a read.
    pub(super) fn access_returned(&mut self, key: usize, rail: usize, result: Result<(), i32>) {
        if result.is_ok() && self.written_at(key, rail).is_some() {
            self.read_behind(key, rail);
        } else {
            self.access_ended(key, result);
        }
    }

    /// Reads behind a write (V1), now or when there is space.
    fn read_behind(&mut self, key: usize, rail: usize) {
        // Without an address, the peer has failed meanwhile, and its keys were dropped.
        let Some((address, remote)) = self.written_at(key, rail) else { return self.access_ended(key, Err(libc::ECONNRESET)) };
        let port = &mut self.ports[rail];
        let Some(slot) = port.take() else { return self.devices.unread.push((key, rail)) };
        let index = slot.index();
        match port.read_behind(slot, address, remote) {
            Ok(()) => self.uses[rail][index] = Use::Behind(key),
            Err((slot, refusal)) => {
                port.give_back(slot);
                match refusal {
                    Refusal::Failed(code) => self.access_ended(key, Err(code)),
                    Refusal::Again | Refusal::Unregistered => self.devices.unread.push((key, rail)),
                }
            }
        }
    }

    /// Posts the reads behind writes that could not be posted before.
    pub(super) fn read_behind_all(&mut self) {
        for (key, rail) in std::mem::take(&mut self.devices.unread) {
            self.read_behind(key, rail);
        }
    }

    /// Handles the end of a read behind a write: the bytes have arrived in device memory, unless the read failed.
    pub(super) fn arrived_at_device(&mut self, key: usize, result: Result<(), i32>) {
        let Posted { peer, flags, .. } = self.operations[key];
        if result.is_ok() && flags.notify {
            self.tell(peer, Header { kind: kind::WRITTEN, ..Header::default() }, &[]);
        }
        self.access_ended(key, result);
    }
}
