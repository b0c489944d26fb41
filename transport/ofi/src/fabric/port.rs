//! An endpoint of a fabric with its completion queue, its memory for messages, and the memory that peers access.
//!
//! F1: objects of the library are used between their creation and [`Port`]'s drop, which closes them in the opposite order; calls are serialized by
//! `&mut self` (`FI_THREAD_DOMAIN`).
//! F2: the memory of slots and the contexts of operations do not move, and live until the endpoint is closed; if it cannot be closed, forever.
//! F3: a [`Slot`] is a token: its holder may use its memory, and passes the token on with a successful post. The provider owns the memory from
//! then until the event that returns the token.
//! F4: a context belongs to the slot of the same number, so that its address identifies the slot.
//! F5: local memory of an access lives until its event: the poster's promise in [`pelago_platform::Operation`]. It is accessed through [`Cells`], which
//! others may write at any moment.
//! F6: registered memory lives until it is deregistered: the promise of `Cells<'static>`.
//! F7: names and arrays passed to the library live until the call returns; the library copies what it keeps.
//! F8: device addresses are passed to the provider with the description of their registration, and no code here dereferences them. Device memory and the
//! descriptor of its dma-buf live until it is deregistered: the promise of the caller that registers it.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};

use pelago_memory::{Cells, DmaBuf, MemoryKind};
use pelago_platform::{DeviceAccess, KeyMode};

use super::abi::*;
use super::library::{Info, Library, named};
use super::{DomainChoice, FabricChoice, FabricError, FabricName, device};
use crate::limits::{COMPLETIONS_AT_ONCE, NAME_BYTES_MAX, RAILS_MAX, RECEIVE_SLOTS, SLOT_BYTES, TRANSMIT_SLOTS};
use crate::message::End;

const SLOTS: usize = RECEIVE_SLOTS + TRANSMIT_SLOTS;

const NO_ENTRY: FiCqDataEntry = FiCqDataEntry { op_context: ptr::null_mut(), flags: 0, len: 0, buf: ptr::null_mut(), data: 0 };

/// Providers in the order of preference if none is named: those of networks with RDMA hardware, then sockets.
const PREFERRED: [&str; 8] = ["cxi", "efa", "opx", "verbs;ofi_rxm", "tcp;ofi_rxm", "tcp", "sockets", "udp;ofi_rxd"];

/// Number of preferred providers, the first ones, of networks with RDMA hardware.
const WITH_CARDS: usize = 4;

/// Whether a fabric moves memory without a core (RDMA hardware), so that each of its domains is a network card.
fn moves_memory(info: &Info) -> bool {
    let provider = info.provider();
    PREFERRED[..WITH_CARDS].contains(&&provider[..]) || cfg!(test) && provider.starts_with("mock-")
}

/// The right to use the memory of one slot (F3).
#[derive(Debug)]
pub(crate) struct Slot(u32);

impl Slot {
    /// The index of the slot.
    pub(crate) fn index(&self) -> usize {
        self.0 as usize
    }
}

/// An event of the completion queue.
pub(crate) enum Event {
    /// A message has arrived in this slot, with this number of bytes.
    Received(Slot, usize),
    /// The operation posted with this slot has ended, or failed with this error number.
    Ended(Slot, Result<(), i32>),
    /// A receive of this slot failed.
    Unreceived(Slot),
    /// A peer has written to memory here, with a notification.
    Written,
}

/// Why a post did not succeed.
pub(crate) enum Refusal {
    /// The provider has no space, or is still connecting: progress, then try again.
    Again,
    /// The local memory cannot be registered, as at the limit of locked memory.
    Unregistered,
    /// It failed with this error number.
    Failed(i32),
}

/// A place in a peer's registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) key: u64,
    pub(crate) address: u64,
}

/// Memory that peers can access, until [`Port::deregister`].
pub(crate) struct Registration {
    object: *mut FidMr,
    /// The key and the address of its first byte for peers.
    pub(crate) remote: Remote,
    /// The address of its first byte for the provider.
    local: u64,
}

impl Registration {
    /// Its bytes from `offset` on, as local memory of an access: for memory of devices.
    pub(crate) fn local(&self, offset: u64) -> Local {
        Local::Device(LocalDevice { address: self.local + offset, description: description(self.object) })
    }
}

/// Local memory of an access.
#[derive(Clone, Copy)]
pub(crate) enum Local {
    /// The first bytes of the slot.
    Slot,
    /// Memory of this process, which lives until the event (F5).
    Memory(Cells<'static>),
    /// Registered memory of a device, which is registered until the event (F8).
    Device(LocalDevice),
}

/// A device address, and the description of the registration that contains it.
#[derive(Clone, Copy)]
pub(crate) struct LocalDevice {
    address: u64,
    description: *mut c_void,
}

/// A description of a rail, and another one with access to device memory, or why there is none.
struct Selected {
    info: Info,
    with_devices: Result<Info, String>,
}

// SAFETY: F1: the object is used only through the port.
unsafe impl Send for Registration {}

pub(crate) struct Port {
    library: Library,
    info: Info,
    fabric: *mut FidFabric,
    domain: *mut FidDomain,
    addresses: *mut FidAv,
    completions: *mut FidCq,
    endpoint: *mut FidEp,
    /// The registration of the slots, if the provider requires registration of local memory.
    slots_registration: *mut FidMr,
    /// Registrations of local memory by slot, while an access is in flight.
    local: Vec<*mut FidMr>,
    memory: NonNull<u8>,
    contexts: NonNull<FiContext>,
    free: Vec<Slot>,
    /// Buffer for a read of the completion queue.
    entries: Box<[FiCqDataEntry; COMPLETIONS_AT_ONCE]>,
    end: End,
    descriptor: Option<OwnedFd>,
    keys: u64,
    /// Why device memory cannot be registered, if it cannot.
    devices: Result<(), String>,
}

// SAFETY: F1: any thread may use its objects, one thread at a time.
unsafe impl Send for Port {}

impl Port {
    /// Opens an endpoint of each selected fabric: one for each rail. With `devices`, an endpoint that accesses device memory, where the provider supports it.
    pub(crate) fn open(choice: &FabricChoice, interface: Option<IpAddr>, devices: bool) -> Result<Vec<Self>, FabricError> {
        let (library, selected) = Self::select(choice, interface, devices)?;
        let (mut ports, mut unusable): (Vec<Self>, _) = (Vec::new(), None);
        for Selected { info, with_devices } in selected {
            let opened = with_devices.and_then(|info| Self::open_with(library, info, Ok(())).map_err(|error| error.to_string()));
            // The provider may offer device memory and then fail to support it.
            match opened.or_else(|why| Self::open_with(library, info, Err(why))) {
                Ok(port) => ports.push(port),
                // A network card that the choice does not name is left out if it cannot be used.
                Err(error) if choice.domains.len() <= 1 => _ = unusable.get_or_insert(error),
                Err(error) => return Err(error),
            }
        }
        match unusable.filter(|_| ports.is_empty()) {
            Some(error) => Err(error),
            None => Ok(ports),
        }
    }

    /// Returns the fabrics that would be selected, without opening them.
    pub(crate) fn selected(choice: &FabricChoice, devices: bool) -> Result<FabricName, FabricError> {
        let (library, selected) = Self::select(choice, None, devices)?;
        let first = selected.first();
        let keys = first.map_or(KeyMode::None, |rail| rail.info.keys());
        let device_memory = first
            .map_or(DeviceAccess::Staged, |rail| device::access(&rail.with_devices.as_ref().map(drop).map_err(String::clone)));
        let rails = selected.iter().map(|rail| rail.info.name()).collect();
        Ok(FabricName { version: library.version(), rails, keys, device_memory })
    }

    /// Selects one description for each rail. Without a choice of a domain, all domains of a provider with RDMA hardware are rails, but only one domain of
    /// another provider: different socket interfaces may reach different peers.
    fn select(choice: &FabricChoice, interface: Option<IpAddr>, devices: bool) -> Result<(Library, Vec<Selected>), FabricError> {
        let library = Library::with(choice.domains.first())?;
        let mut rails: Vec<Info> = Vec::new();
        if let [] | [DomainChoice { domain: None, .. }] = &choice.domains[..] {
            let infos = Self::candidates(library, choice.domains.first(), interface)?;
            for info in infos {
                let is_another = rails.iter().all(|rail| rail.domain() != info.domain());
                let is_of_kind = rails.first().is_none_or(|first| first.provider() == info.provider() && moves_memory(&info));
                if rails.len() < RAILS_MAX && is_another && is_of_kind {
                    rails.push(info);
                }
            }
        }
        if rails.is_empty() {
            for domain in &choice.domains {
                let infos = Self::candidates(library, Some(domain), interface)?;
                let is_new = |info: &Info| rails.iter().all(|rail| rail.name() != info.name());
                let nothing = || FabricError::None(domain.to_string(), "each of its domains is a rail already".into());
                let info = infos.into_iter().find(is_new).ok_or_else(nothing)?;
                rails.push(info);
            }
        }
        let select = |info: Info| {
            let found = || device::with_devices(library, &info, moves_memory(&info));
            let with_devices = if devices { found() } else { Err("this host has no GPU".into()) };
            Selected { info, with_devices }
        };
        Ok((library, rails.into_iter().map(select).collect()))
    }

    /// Returns possible descriptions of a rail, best first, at least one. Of those of one provider, the one with the address `interface` comes first.
    fn candidates(library: Library, choice: Option<&DomainChoice>, interface: Option<IpAddr>) -> Result<Vec<Info>, FabricError> {
        let mut infos = library.fabrics(choice, false)?;
        infos.retain(|info| info.message_bytes_max() >= SLOT_BYTES);
        infos.sort_by_key(|info| interface.is_some() && info.source() != interface);
        if choice.is_none() {
            infos.retain(|info| PREFERRED.contains(&info.provider().as_str()));
            infos.sort_by_key(|info| PREFERRED.iter().position(|&name| name == info.provider()));
        }
        // Some providers ignore the requested domain.
        let domains: BTreeSet<String> = infos.iter().map(Info::domain).collect();
        let wanted = choice.and_then(|choice| choice.domain.as_ref());
        infos.retain(|info| wanted.is_none_or(|domain| *domain == info.domain()));
        if infos.is_empty() {
            let domains = domains.into_iter().collect::<Vec<_>>().join(", ");
            return Err(FabricError::None(named(choice), format!("the domains are {domains}")));
        }
        Ok(infos)
    }

    fn open_with(library: Library, info: Info, devices: Result<(), String>) -> Result<Self, FabricError> {
        let mut port = Self {
            library,
            info,
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            addresses: ptr::null_mut(),
            completions: ptr::null_mut(),
            endpoint: ptr::null_mut(),
            slots_registration: ptr::null_mut(),
            local: vec![ptr::null_mut(); SLOTS],
            memory: allocated(slots_layout()),
            contexts: allocated(contexts_layout()).cast(),
            free: (RECEIVE_SLOTS..SLOTS).rev().map(|slot| Slot(slot as u32)).collect(),
            entries: Box::new([NO_ENTRY; COMPLETIONS_AT_ONCE]),
            end: End { fabric: 0, name: Vec::new() },
            descriptor: None,
            keys: 0,
            devices,
        };
        port.start()?;
        Ok(port)
    }

    /// Creates the objects; the drop closes those that were created before an error.
    fn start(&mut self) -> Result<(), FabricError> {
        let (library, info) = (self.library, self.info.raw);
        // SAFETY: F1, F7: each object is created by the one before it.
        unsafe {
            library.check("fi_fabric", (library.functions.fabric)((*info).fabric_attr, &mut self.fabric, ptr::null_mut()))?;
            let fabric = &*(*self.fabric).ops;
            library.check("fi_domain", (fabric.domain)(self.fabric, info, &mut self.domain, ptr::null_mut()))?;
            let domain = &*(*self.domain).ops;
            let mut attributes = FiAvAttr {
                kind: (*self.info.domain_attr()).av_type,
                rx_ctx_bits: 0,
                count: 64,
                ep_per_node: 0,
                name: ptr::null(),
                map_addr: ptr::null_mut(),
                flags: 0,
            };
            let opened = (domain.av_open)(self.domain, &mut attributes, &mut self.addresses, ptr::null_mut());
            library.check("fi_av_open", opened)?;
            self.open_completions()?;
            library.check("fi_endpoint", (domain.endpoint)(self.domain, info, &mut self.endpoint, ptr::null_mut()))?;
            let ops = &*(*self.endpoint).fid.ops;
            let endpoint = self.endpoint.cast::<Fid>();
            library.check("fi_ep_bind", (ops.bind)(endpoint, self.addresses.cast(), 0))?;
            library.check("fi_ep_bind", (ops.bind)(endpoint, self.completions.cast(), FI_SEND | FI_RECV))?;
            library.check("fi_enable", (ops.control)(endpoint, FI_ENABLE, ptr::null_mut()))?;
        }
        if self.info.mr_mode() & FI_MR_LOCAL != 0 {
            let access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
            self.slots_registration = self.register_object(self.memory, SLOTS * SLOT_BYTES, access)?;
        }
        let mut name = vec![0_u8; NAME_BYTES_MAX];
        let mut bytes = name.len();
        // SAFETY: F1, F7.
        let named = unsafe { ((*(*self.endpoint).cm).getname)(self.endpoint.cast(), name.as_mut_ptr().cast(), &mut bytes) };
        library.check("fi_getname", named)?;
        name.truncate(bytes);
        self.end = End { fabric: self.fabric_number(), name };
        let [_, receives] = self.info.queue_sizes();
        for slot in 0..RECEIVE_SLOTS.min(receives.max(1)) {
            if let Err((_, Refusal::Failed(code))) = self.receive(Slot(slot as u32)) {
                return Err(FabricError::Call("fi_recv", self.error(code)));
            }
        }
        Ok(())
    }

    /// Opens the completion queue, with a descriptor to wait on if the provider has one.
    fn open_completions(&mut self) -> Result<(), FabricError> {
        let mut code = 0;
        for wait_obj in [FI_WAIT_FD, FI_WAIT_NONE] {
            let mut attributes = FiCqAttr {
                size: 2 * SLOTS,
                flags: 0,
                format: FI_CQ_FORMAT_DATA,
                wait_obj,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: ptr::null_mut(),
            };
            // SAFETY: F1, F7.
            code =
                unsafe { ((*(*self.domain).ops).cq_open)(self.domain, &mut attributes, &mut self.completions, ptr::null_mut()) };
            if code == 0 {
                break;
            }
        }
        self.library.check("fi_cq_open", code)?;
        let mut descriptor: c_int = -1;
        let queue = self.completions.cast::<Fid>();
        // SAFETY: F1: the command writes one number, for a queue with a descriptor; others refuse it.
        let got = unsafe { ((*(*queue).ops).control)(queue, FI_GETWAIT, ptr::from_mut(&mut descriptor).cast()) };
        if got == 0 && descriptor >= 0 {
            // SAFETY: the descriptor belongs to the queue, which is open.
            let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
            // A duplicate: a thread may wait on it while the queue is being closed.
            self.descriptor = borrowed.try_clone_to_owned().ok();
        }
        Ok(())
    }

    /// The end of this endpoint, by which peers reach it.
    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// A hash of the properties that this endpoint has in common with those that it reaches: the provider and the format of names.
    fn fabric_number(&self) -> u32 {
        let format = self.info.address_format().to_le_bytes();
        // FNV-1a.
        let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        self.info.provider().bytes().chain(format).fold(0x811c_9dc5, step)
    }

    /// The name of the fabric: its provider and its domain.
    pub(crate) fn fabric_name(&self) -> String {
        self.info.name()
    }

    /// The version of the library.
    pub(crate) fn version(&self) -> (u32, u32) {
        self.library.version()
    }

    /// Maximum length of an access to remote memory, in bytes.
    pub(crate) fn message_bytes_max(&self) -> u64 {
        self.info.message_bytes_max() as u64
    }

    /// How peers address memory.
    pub(crate) fn keys(&self) -> KeyMode {
        self.info.keys()
    }

    /// Checks that device memory may be registered.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_devices(&self) -> Result<(), String> {
        self.devices.clone()
    }

    /// How the fabric accesses device memory, before any is registered.
    pub(crate) fn device_access(&self) -> DeviceAccess {
        device::access(&self.devices)
    }

    /// Whether a write can notify its target.
    pub(crate) fn can_notify(&self) -> bool {
        self.info.cq_data_bytes() > 0
    }

    /// Whether a core of the target takes part in each access, inside calls of this port: then its descriptor is readable even if the access is no
    /// event. Sockets work in this way.
    pub(crate) fn is_served_by_core(&self) -> bool {
        !moves_memory(&self.info)
    }

    /// A descriptor that is readable when an event may have occurred; `None` if the provider has no such descriptor.
    pub(crate) fn descriptor(&self) -> Option<&OwnedFd> {
        self.descriptor.as_ref()
    }

    /// Whether the descriptor signals every event from now on.
    pub(crate) fn may_sleep(&mut self) -> bool {
        let mut queue = self.completions.cast::<Fid>();
        // SAFETY: F1, F7.
        unsafe { ((*(*self.fabric).ops).trywait)(self.fabric, &mut queue, 1) == 0 }
    }

    /// The text of an error.
    pub(crate) fn error(&self, code: i32) -> String {
        self.library.error(code)
    }

    /// Inserts the end of a peer into the address table, if it is of the same fabric.
    pub(crate) fn insert(&mut self, End { fabric, name }: &End) -> Option<FiAddress> {
        // Providers read as many bytes as the address format has.
        let mut padded = [0_u8; NAME_BYTES_MAX];
        padded.get_mut(..name.len())?.copy_from_slice(name);
        // Names that are text have different lengths, such as those of `shm`, which contain the number of a process.
        let is_of_format = match self.info.address_format() {
            FI_ADDR_STR => name.last() == Some(&0),
            _ => name.len() == self.end.name.len(),
        };
        if *fabric != self.end.fabric || !is_of_format {
            return None;
        }
        let mut address = ADDRESS_UNSPECIFIED;
        // SAFETY: F1, F7.
        let inserted = unsafe {
            ((*(*self.addresses).ops).insert)(self.addresses, padded.as_ptr().cast(), 1, &mut address, 0, ptr::null_mut())
        };
        (inserted == 1 && address != ADDRESS_UNSPECIFIED).then_some(address)
    }

    /// Registers memory for access by peers.
    pub(crate) fn register(&mut self, memory: Cells<'static>) -> Result<Registration, FabricError> {
        let access = FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE;
        let object = self.register_object(memory.pointer(), memory.bytes(), access)?;
        Ok(self.registration(object, memory.pointer().as_ptr() as usize as u64))
    }

    /// Registers `bytes` bytes of device memory for access by peers; the provider moves them without this process. The memory and its dma-buf live until it is
    /// deregistered (F8).
    ///
    /// # Errors
    /// The reason for which the provider refuses.
    pub(crate) fn register_device(&mut self, buffer: &DmaBuf, bytes: u64, kind: MemoryKind) -> Result<Registration, String> {
        self.devices.clone()?;
        let (iface, device) = device::interface(kind).ok_or("libfabric has no name for its driver")?;
        let dmabuf = FiMrDmaBuf {
            fd: buffer.descriptor.as_raw_fd(),
            offset: buffer.offset,
            len: bytes as usize,
            base_addr: (buffer.address - buffer.offset) as usize as *mut c_void,
        };
        let may_write = buffer.read_only.is_none();
        self.keys += 1;
        let attributes = FiMrAttr {
            dmabuf: &dmabuf,
            iov_count: 1,
            access: FI_REMOTE_READ | FI_WRITE | if may_write { FI_REMOTE_WRITE | FI_READ } else { 0 },
            offset: 0,
            requested_key: self.keys,
            context: ptr::null_mut(),
            auth_key_size: 0,
            auth_key: ptr::null_mut(),
            iface,
            device,
            room: [0; 12],
        };
        let (domain, mut object) = (self.domain.cast::<Fid>(), ptr::null_mut());
        // SAFETY: F1, F7, F8.
        let code = unsafe { ((*(*self.domain).mr).regattr)(domain, &attributes, FI_MR_DMABUF, &mut object) };
        self.library.check("fi_mr_regattr", code).map_err(|error| error.to_string())?;
        self.enable(object).map_err(|error| error.to_string())?;
        Ok(self.registration(object, buffer.address))
    }

    /// The registration of an object of the library, whose memory begins at `local`.
    fn registration(&self, object: *mut FidMr, local: u64) -> Registration {
        // SAFETY: F1: just made.
        let key = unsafe { (*object).key };
        let address = if self.info.has_virtual_addresses() { local } else { 0 };
        Registration { object, remote: Remote { key, address }, local }
    }

    /// Ends a registration; the provider refuses accesses of peers from then on. Returns whether the provider has released the memory; otherwise it may access
    /// it forever.
    pub(crate) fn deregister(&mut self, registration: Registration) -> bool {
        close(registration.object.cast())
    }

    fn register_object(&mut self, at: NonNull<u8>, bytes: usize, access: u64) -> Result<*mut FidMr, FabricError> {
        self.keys += 1;
        let (domain, mut object) = (self.domain.cast::<Fid>(), ptr::null_mut());
        // SAFETY: F1, F2, F6; local memory of an access by F5.
        let code = unsafe {
            let register = (*(*self.domain).mr).reg;
            register(domain, at.as_ptr().cast(), bytes, access, 0, self.keys, 0, &mut object, ptr::null_mut())
        };
        self.library.check("fi_mr_reg", code)?;
        self.enable(object)?;
        Ok(object)
    }

    /// Enables a registration where the provider requires that, and closes it on failure.
    fn enable(&self, object: *mut FidMr) -> Result<(), FabricError> {
        if self.info.mr_mode() & FI_MR_ENDPOINT != 0 {
            let fid = object.cast::<Fid>();
            // SAFETY: F1.
            let code = unsafe {
                let ops = &*(*fid).ops;
                match (ops.bind)(fid, self.endpoint.cast(), 0) {
                    0 => (ops.control)(fid, FI_ENABLE, ptr::null_mut()),
                    code => code,
                }
            };
            if let Err(error) = self.library.check("fi_mr_enable", code) {
                close(fid);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes a slot to send or to write from, if one is free.
    pub(crate) fn take(&mut self) -> Option<Slot> {
        self.free.pop()
    }

    pub(crate) const fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// Frees a slot from an [`Event::Ended`] or from [`take`](Self::take).
    pub(crate) fn give_back(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// The memory of a slot; callers do not use it after they have passed the slot on.
    pub(crate) fn memory(&self, slot: &Slot) -> Cells<'static> {
        // SAFETY: F2, F3: inside the memory of slots, which is accessed only through cells.
        unsafe { Cells::new(self.memory.add(slot.index() * SLOT_BYTES), SLOT_BYTES) }
    }

    /// Posts this slot to receive the next message.
    pub(crate) fn receive(&mut self, slot: Slot) -> Result<(), (Slot, Refusal)> {
        let (memory, context) = (self.memory(&slot), self.context(&slot));
        // SAFETY: F1 to F4.
        let code = unsafe {
            let receive = (*(*self.endpoint).msg).recv;
            let into = memory.pointer().as_ptr().cast();
            receive(self.endpoint, into, SLOT_BYTES, self.slots_description(), ADDRESS_UNSPECIFIED, context)
        };
        posted(code, slot)
    }

    /// Sends the first bytes of a slot.
    pub(crate) fn send(&mut self, slot: Slot, bytes: usize, to: FiAddress) -> Result<(), (Slot, Refusal)> {
        let (memory, context) = (self.memory(&slot), self.context(&slot));
        debug_assert!(bytes <= SLOT_BYTES);
        // SAFETY: F1 to F4.
        let code = unsafe {
            let send = (*(*self.endpoint).msg).send;
            send(self.endpoint, memory.pointer().as_ptr().cast(), bytes, self.slots_description(), to, context)
        };
        posted(code, slot)
    }

    /// Writes local memory to a peer's; the event comes when the bytes are there. With `notify`, the peer then has an [`Event::Written`].
    pub(crate) fn write(
        &mut self,
        slot: Slot,
        from: Local,
        bytes: usize,
        to: FiAddress,
        remote: Remote,
        notify: bool,
    ) -> Result<(), (Slot, Refusal)> {
        let (at, described) = match from {
            Local::Slot => (self.memory(&slot).pointer().as_ptr().cast(), self.local_description(&slot, None)),
            Local::Memory(memory) => (memory.pointer().as_ptr().cast(), self.local_description(&slot, Some(memory))),
            Local::Device(LocalDevice { address, description }) => (address as usize as *mut c_void, Ok(description)),
        };
        let mut description = match described {
            Ok(description) => description,
            Err(refusal) => return Err((slot, refusal)),
        };
        let vector = libc::iovec { iov_base: at, iov_len: bytes };
        let target = FiRmaIov { addr: remote.address, len: bytes, key: remote.key };
        let message = FiMsgRma {
            msg_iov: &vector,
            desc: &mut description,
            iov_count: 1,
            addr: to,
            rma_iov: &target,
            rma_iov_count: 1,
            context: self.context(&slot),
            data: 0,
        };
        let flags = FI_COMPLETION | FI_DELIVERY_COMPLETE | if notify { FI_REMOTE_CQ_DATA } else { 0 };
        // SAFETY: F1 to F5, F7, F8.
        let code = unsafe { ((*(*self.endpoint).rma).writemsg)(self.endpoint, &message, flags) };
        self.posted_access(code, slot)
    }

    /// Reads a peer's memory into local memory, which lives until the event (F5).
    pub(crate) fn read(
        &mut self,
        slot: Slot,
        into: Cells<'static>,
        from: FiAddress,
        remote: Remote,
    ) -> Result<(), (Slot, Refusal)> {
        let description = match self.local_description(&slot, Some(into)) {
            Ok(description) => description,
            Err(refusal) => return Err((slot, refusal)),
        };
        let context = self.context(&slot);
        // SAFETY: F1 to F5.
        let code = unsafe {
            let read = (*(*self.endpoint).rma).read;
            let to = into.pointer().as_ptr().cast();
            read(self.endpoint, to, into.bytes(), description, from, remote.address, remote.key, context)
        };
        self.posted_access(code, slot)
    }

    /// Reads one byte of a peer's memory into the slot. When the event comes, all earlier writes of this endpoint to that memory have arrived: on the bus of
    /// the peer a read does not overtake writes.
    pub(crate) fn read_behind(&mut self, slot: Slot, from: FiAddress, remote: Remote) -> Result<(), (Slot, Refusal)> {
        let (memory, description, context) = (self.memory(&slot), self.slots_description(), self.context(&slot));
        // SAFETY: F1 to F4.
        let code = unsafe {
            let read = (*(*self.endpoint).rma).read;
            read(self.endpoint, memory.pointer().as_ptr().cast(), 1, description, from, remote.address, remote.key, context)
        };
        posted(code, slot)
    }

    /// Appends the next events; returns whether there may be more.
    pub(crate) fn poll(&mut self, events: &mut Vec<Event>) -> bool {
        let entries = self.entries.as_mut_ptr().cast();
        // SAFETY: F1, F7: the queue was opened for entries of this format.
        let count = unsafe { ((*(*self.completions).ops).read)(self.completions, entries, COMPLETIONS_AT_ONCE) };
        if count == -FI_EAVAIL {
            self.poll_error(events);
            return true;
        }
        let count = usize::try_from(count).unwrap_or(0).min(COMPLETIONS_AT_ONCE);
        for index in 0..count {
            let entry = self.entries[index];
            let event = if entry.flags & FI_REMOTE_WRITE != 0 {
                Some(Event::Written)
            } else {
                self.slot_of(entry.op_context).map(|slot| match entry.flags & FI_RECV {
                    0 => self.ended(slot, Ok(())),
                    _ => Event::Received(slot, entry.len.min(SLOT_BYTES)),
                })
            };
            events.extend(event);
        }
        count == COMPLETIONS_AT_ONCE
    }

    fn poll_error(&mut self, events: &mut Vec<Event>) {
        let mut entry = FiCqErrEntry {
            op_context: ptr::null_mut(),
            flags: 0,
            len: 0,
            buf: ptr::null_mut(),
            data: 0,
            tag: 0,
            olen: 0,
            err: 0,
            prov_errno: 0,
            err_data: ptr::null_mut(),
            err_data_size: 0,
            room: [0; 4],
        };
        // SAFETY: F1, F7.
        let read = unsafe { ((*(*self.completions).ops).readerr)(self.completions, &mut entry, 0) };
        if read <= 0 {
            return;
        }
        let is_receive = |slot: &Slot| slot.index() < RECEIVE_SLOTS;
        let event = self.slot_of(entry.op_context).map(|slot| match is_receive(&slot) {
            true => Event::Unreceived(slot),
            false => self.ended(slot, Err(entry.err)),
        });
        events.extend(event);
    }

    fn ended(&mut self, slot: Slot, result: Result<(), i32>) -> Event {
        self.forget_local(&slot);
        Event::Ended(slot, result)
    }

    /// The slot of a context (F4).
    fn slot_of(&self, context: *mut c_void) -> Option<Slot> {
        let offset = (context as usize).checked_sub(self.contexts.as_ptr() as usize)?;
        let index = offset / size_of::<FiContext>();
        (index < SLOTS && offset.is_multiple_of(size_of::<FiContext>())).then_some(Slot(index as u32))
    }

    fn context(&self, slot: &Slot) -> *mut c_void {
        // SAFETY: F2: inside.
        unsafe { self.contexts.add(slot.index()) }.as_ptr().cast()
    }

    fn slots_description(&self) -> *mut c_void {
        description(self.slots_registration)
    }

    /// The provider's description of local memory: that of the slot, or other memory, which is registered until the access ends if the provider requires it.
    fn local_description(&mut self, slot: &Slot, memory: Option<Cells<'static>>) -> Result<*mut c_void, Refusal> {
        let Some(memory) = memory.filter(|_| !self.slots_registration.is_null()) else { return Ok(self.slots_description()) };
        let registered = self.register_object(memory.pointer(), memory.bytes(), FI_READ | FI_WRITE);
        self.local[slot.index()] = registered.map_err(|_| Refusal::Unregistered)?;
        Ok(description(self.local[slot.index()]))
    }

    fn forget_local(&mut self, slot: &Slot) {
        close(std::mem::replace(&mut self.local[slot.index()], ptr::null_mut()).cast());
    }

    fn posted_access(&mut self, code: isize, slot: Slot) -> Result<(), (Slot, Refusal)> {
        if code != 0 {
            self.forget_local(&slot);
        }
        posted(code, slot)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let is_closed = close(self.endpoint.cast());
        for object in self.local.drain(..) {
            close(object.cast());
        }
        close(self.slots_registration.cast());
        close(self.completions.cast());
        close(self.addresses.cast());
        close(self.domain.cast());
        close(self.fabric.cast());
        if is_closed {
            // SAFETY: F2: allocated with these layouts, and the provider no longer uses them.
            unsafe {
                dealloc(self.memory.as_ptr(), slots_layout());
                dealloc(self.contexts.as_ptr().cast(), contexts_layout());
            }
        }
    }
}

/// Closes an object, if there is one; returns whether it is closed.
fn close(object: *mut Fid) -> bool {
    // SAFETY: F1.
    object.is_null() || unsafe { ((*(*object).ops).close)(object) == 0 }
}

fn description(registration: *mut FidMr) -> *mut c_void {
    // SAFETY: F1.
    if registration.is_null() { ptr::null_mut() } else { unsafe { (*registration).mem_desc } }
}

/// Converts the return value of a post; if it succeeded, the provider owns the slot (F3).
fn posted(code: isize, slot: Slot) -> Result<(), (Slot, Refusal)> {
    match -(code as i32) {
        0 => Ok(()),
        libc::EAGAIN => Err((slot, Refusal::Again)),
        code => Err((slot, Refusal::Failed(code))),
    }
}

fn slots_layout() -> Layout {
    Layout::from_size_align(SLOTS * SLOT_BYTES, 4096).expect("the size of the slots is a constant")
}

fn contexts_layout() -> Layout {
    Layout::from_size_align(SLOTS * size_of::<FiContext>(), 64).expect("as above")
}

/// Allocates zeroed memory.
fn allocated(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here has size zero.
    NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}
