//! libfabric's objects and functions over a [`World`].
//!
//! I1: the functions here create objects, as boxes that begin with the public structure of the interface; callers use them until `close` frees them.
//! I2: attributes, names and arrays of a caller are valid during the call.
//! I3: `dupinfo` creates descriptions, with all attributes; their texts come from `malloc`.
//! I4: contexts are memory of the caller for `struct fi_context2` until the completion: a provider writes to them.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::{Arc, Mutex};

use super::world::{DeviceSupport, MockEndpoint, Piece, Registered, What, Window, Wire, World, lock};
use crate::fabric::abi::*;
use crate::fabric::library::{Functions, Library};

type Shared = Arc<Mutex<World>>;

/// The library with a provider.
pub(in crate::fabric) fn library(provider: &str) -> Library {
    let is_old = World::find(provider).is_some_and(|world| lock(&world).devices == DeviceSupport::OldLibrary);
    let version = if is_old { old_version } else { version };
    Library::of(Functions { getinfo, freeinfo, dupinfo, fabric, version, strerror })
}

#[repr(C)]
struct Info {
    raw: FiInfo,
    tx: FiTxAttr,
    rx: FiRxAttr,
    endpoint: FiEpAttr,
    domain: FiDomainAttr,
    fabric: FiFabricAttr,
}

#[repr(C)]
struct Fabric {
    raw: FidFabric,
    world: Shared,
}

#[repr(C)]
struct Domain {
    raw: FidDomain,
    world: Shared,
    number: u64,
    has_devices: bool,
}

#[repr(C)]
struct Memory {
    raw: FidMr,
    world: Shared,
    domain: u64,
}

#[repr(C)]
struct Addresses {
    raw: FidAv,
    world: Shared,
}

#[repr(C)]
struct Queue {
    raw: FidCq,
    world: Shared,
    number: u64,
}

#[repr(C)]
struct Endpoint {
    raw: FidEp,
    world: Shared,
    number: u64,
}

/// A table that never changes.
struct Table<T>(T);

// SAFETY: it holds functions and null pointers.
unsafe impl<T> Sync for Table<T> {}

const NONE: *const c_void = ptr::null();

const fn ops(
    close: unsafe extern "C" fn(*mut Fid) -> c_int,
    bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
) -> Table<FiOps> {
    Table(FiOps { size: size_of::<FiOps>(), close, bind, control })
}

static FABRIC: Table<FiOps> = ops(close::<Fabric>, no_bind, no_control);
static DOMAIN: Table<FiOps> = ops(close::<Domain>, no_bind, no_control);
static MEMORY: Table<FiOps> = ops(close_memory, bind_memory, enable_memory);
static ADDRESSES: Table<FiOps> = ops(close::<Addresses>, no_bind, no_control);
static QUEUE: Table<FiOps> = ops(close::<Queue>, no_bind, no_control);
static ENDPOINT: Table<FiOps> = ops(close_endpoint, bind_endpoint, enable_endpoint);
static OF_FABRIC: Table<FabricOps> =
    Table(FabricOps { size: 0, domain: open_domain, passive_ep: NONE, eq_open: NONE, wait_open: NONE, trywait });
static OF_DOMAIN: Table<DomainOps> =
    Table(DomainOps { size: 0, av_open: open_addresses, cq_open: open_queue, endpoint: open_endpoint });
static OF_MEMORY: Table<MrOps> = Table(MrOps { size: 0, reg: register, regv: NONE, regattr: register_with });
static OF_ADDRESSES: Table<AvOps> = Table(AvOps { size: 0, insert });
static OF_QUEUE: Table<CqOps> = Table(CqOps { size: 0, read: read_queue, readfrom: NONE, readerr: read_error });
static NAMES: Table<CmOps> = Table(CmOps { size: 0, setname: NONE, getname });
static MESSAGES: Table<MsgOps> = Table(MsgOps { size: 0, recv: receive, recvv: NONE, recvmsg: NONE, send });
static ACCESSES: Table<RmaOps> =
    Table(RmaOps { size: 0, read, readv: NONE, readmsg: NONE, write: NONE, writev: NONE, writemsg: write });

fn fid(ops: &'static Table<FiOps>) -> Fid {
    Fid { class: 0, context: ptr::null_mut(), ops: &ops.0 }
}

/// # Safety
/// I1, of an object of this type.
unsafe extern "C" fn close<T>(object: *mut Fid) -> c_int {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(object.cast::<T>()) });
    0
}

unsafe extern "C" fn no_bind(_object: *mut Fid, _to: *mut Fid, _flags: u64) -> c_int {
    -libc::ENOSYS
}

unsafe extern "C" fn no_control(_object: *mut Fid, _command: c_int, _argument: *mut c_void) -> c_int {
    -libc::ENOSYS
}

unsafe extern "C" fn version() -> u32 {
    1 << 16 | 20
}

/// A version before dma-bufs.
unsafe extern "C" fn old_version() -> u32 {
    API_VERSION
}

unsafe extern "C" fn strerror(_code: c_int) -> *const c_char {
    c"an error of the mock".as_ptr()
}

/// # Safety
/// I3.
unsafe extern "C" fn dupinfo(from: *const FiInfo) -> *mut FiInfo {
    // SAFETY: all bytes zero are a valid value of structures of numbers and pointers.
    let mut made: Box<Info> = Box::new(unsafe { zeroed() });
    if !from.is_null() {
        // SAFETY: I3: every description is a complete `Info` that owns its texts.
        unsafe {
            ptr::copy_nonoverlapping(from.cast::<Info>(), &mut *made, 1);
            for text in [&mut made.domain.name, &mut made.fabric.name, &mut made.fabric.prov_name] {
                *text = if text.is_null() { ptr::null_mut() } else { libc::strdup(*text) };
            }
        }
    }
    let made = Box::into_raw(made);
    // SAFETY: just made.
    unsafe {
        (*made).raw.next = ptr::null_mut();
        (*made).raw.tx_attr = &raw mut (*made).tx;
        (*made).raw.rx_attr = &raw mut (*made).rx;
        (*made).raw.ep_attr = &raw mut (*made).endpoint;
        (*made).raw.domain_attr = &raw mut (*made).domain;
        (*made).raw.fabric_attr = &raw mut (*made).fabric;
    }
    made.cast()
}

/// # Safety
/// I3.
unsafe extern "C" fn freeinfo(info: *mut FiInfo) {
    // SAFETY: I3.
    unsafe {
        let info = Box::from_raw(info.cast::<Info>());
        if !info.raw.next.is_null() {
            freeinfo(info.raw.next);
        }
        [info.domain.name, info.fabric.name, info.fabric.prov_name].into_iter().for_each(|text| libc::free(text.cast()));
    }
}

/// # Safety
/// I2, I3.
unsafe extern "C" fn getinfo(
    _version: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const FiInfo,
    into: *mut *mut FiInfo,
) -> c_int {
    // SAFETY: I2, I3.
    unsafe {
        let name = (*(*hints).fabric_attr).prov_name;
        let found = (!name.is_null()).then(|| CStr::from_ptr(name).to_str().ok().and_then(World::find)).flatten();
        let Some(world) = found else { return -libc::ENODATA };
        let World { profile, domains, devices, .. } = *lock(&world);
        let wants_devices = (*hints).caps & FI_HMEM != 0;
        if wants_devices && devices == DeviceSupport::NotOffered {
            return -libc::ENODATA;
        }
        let is_new = devices != DeviceSupport::OldLibrary;
        assert!(!wants_devices || is_new && (*(*hints).domain_attr).mr_mode & FI_MR_HMEM != 0);
        let missing = profile.mr_mode & !(*(*hints).domain_attr).mr_mode;
        assert_eq!(missing, 0, "the caller supports all that the provider asks for");
        *into = ptr::null_mut();
        for domain in (0..domains).rev() {
            let info = &mut *dupinfo(hints).cast::<Info>();
            libc::free(info.domain.name.cast());
            info.domain.name = libc::strdup(CString::new(format!("mock{domain}")).expect("a name").as_ptr());
            info.raw.caps = FI_MSG | FI_RMA | if wants_devices { FI_HMEM } else { 0 };
            info.raw.mode = FI_CONTEXT | FI_CONTEXT2;
            info.raw.addr_format = if profile.name_bytes == 0 { FI_ADDR_STR } else { 0x1_0000 };
            (info.tx.size, info.rx.size) = (profile.queue, profile.queue);
            info.endpoint.max_msg_size = 1 << 30;
            info.domain.mr_mode = profile.mr_mode | if wants_devices { FI_MR_HMEM } else { 0 };
            info.domain.cq_data_size = profile.cq_data_bytes;
            info.domain.mr_key_size = 8;
            info.domain.av_type = 1;
            info.raw.next = *into;
            *into = &mut info.raw;
        }
    }
    0
}

/// # Safety
/// I2.
unsafe extern "C" fn fabric(attributes: *mut FiFabricAttr, into: *mut *mut FidFabric, _context: *mut c_void) -> c_int {
    // SAFETY: I2.
    let name = unsafe { CStr::from_ptr((*attributes).prov_name) };
    let Some(world) = name.to_str().ok().and_then(World::find) else { return -libc::ENODATA };
    let raw = FidFabric { fid: fid(&FABRIC), ops: &OF_FABRIC.0 };
    // SAFETY: I2.
    unsafe { *into = Box::into_raw(Box::new(Fabric { raw, world })).cast() };
    0
}

unsafe extern "C" fn trywait(_fabric: *mut FidFabric, _objects: *mut *mut Fid, _count: c_int) -> c_int {
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn open_domain(
    fabric: *mut FidFabric,
    info: *mut FiInfo,
    into: *mut *mut FidDomain,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: I1, I2.
    unsafe {
        let world = (*fabric.cast::<Fabric>()).world.clone();
        let number = lock(&world).number();
        let name = CStr::from_ptr((*(*info).domain_attr).name).to_str().expect("it was made here");
        let which = name.strip_prefix("mock").and_then(|number| number.parse().ok()).expect("it was made here");
        if lock(&world).broken == Some(which) {
            return -libc::ENODEV;
        }
        lock(&world).opened.insert(number, which);
        let raw = FidDomain { fid: fid(&DOMAIN), ops: &OF_DOMAIN.0, mr: &OF_MEMORY.0 };
        let has_devices = (*info).caps & FI_HMEM != 0;
        *into = Box::into_raw(Box::new(Domain { raw, world, number, has_devices })).cast();
    }
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn open_addresses(
    domain: *mut FidDomain,
    _attributes: *mut FiAvAttr,
    into: *mut *mut FidAv,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: I1, I2.
    unsafe {
        let world = (*domain.cast::<Domain>()).world.clone();
        let raw = FidAv { fid: fid(&ADDRESSES), ops: &OF_ADDRESSES.0 };
        *into = Box::into_raw(Box::new(Addresses { raw, world })).cast();
    }
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn open_queue(
    domain: *mut FidDomain,
    attributes: *mut FiCqAttr,
    into: *mut *mut FidCq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: I1, I2.
    unsafe {
        if (*attributes).wait_obj != FI_WAIT_NONE {
            return -libc::ENOSYS;
        }
        assert_eq!((*attributes).format, FI_CQ_FORMAT_DATA);
        let world = (*domain.cast::<Domain>()).world.clone();
        let number = lock(&world).number();
        lock(&world).queues.insert(number, Default::default());
        let raw = FidCq { fid: fid(&QUEUE), ops: &OF_QUEUE.0 };
        *into = Box::into_raw(Box::new(Queue { raw, world, number })).cast();
    }
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn open_endpoint(
    domain: *mut FidDomain,
    _info: *mut FiInfo,
    into: *mut *mut FidEp,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: I1, I2.
    unsafe {
        let Domain { world, number: domain, .. } = &*domain.cast::<Domain>();
        let (world, number) = (world.clone(), lock(world).number());
        lock(&world).endpoints.insert(number, MockEndpoint { domain: *domain, ..MockEndpoint::default() });
        let raw = FidEp { fid: fid(&ENDPOINT), ops: NONE, cm: &NAMES.0, msg: &MESSAGES.0, rma: &ACCESSES.0 };
        *into = Box::into_raw(Box::new(Endpoint { raw, world, number })).cast();
    }
    0
}

/// # Safety
/// I1.
unsafe extern "C" fn bind_endpoint(endpoint: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: I1: an object that is bound with flags is a completion queue.
    unsafe {
        let Endpoint { world, number, .. } = &*endpoint.cast::<Endpoint>();
        if flags != 0 {
            let queue = (*to.cast::<Queue>()).number;
            lock(world).endpoints.get_mut(number).expect("open").queue = queue;
        }
    }
    0
}

/// # Safety
/// I1.
unsafe extern "C" fn enable_endpoint(endpoint: *mut Fid, command: c_int, _argument: *mut c_void) -> c_int {
    assert_eq!(command, FI_ENABLE);
    // SAFETY: I1.
    let Endpoint { world, number, .. } = unsafe { &*endpoint.cast::<Endpoint>() };
    lock(world).endpoints.get_mut(number).expect("open").is_enabled = true;
    0
}

/// # Safety
/// I1.
unsafe extern "C" fn close_endpoint(endpoint: *mut Fid) -> c_int {
    // SAFETY: I1.
    let endpoint = unsafe { Box::from_raw(endpoint.cast::<Endpoint>()) };
    lock(&endpoint.world).close(endpoint.number);
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn register(
    domain: *mut Fid,
    at: *const c_void,
    bytes: usize,
    access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    into: *mut *mut FidMr,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: I1.
    let domain = unsafe { &*domain.cast::<Domain>() };
    let made = enter(domain, Piece { at: at as usize, bytes }, access, key, None);
    // SAFETY: I2.
    unsafe { give(made, into) }
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn register_with(domain: *mut Fid, attributes: *const FiMrAttr, flags: u64, into: *mut *mut FidMr) -> c_int {
    // SAFETY: I1, I2.
    let (domain, attributes) = unsafe { (&*domain.cast::<Domain>(), &*attributes) };
    assert!(flags == FI_MR_DMABUF && domain.has_devices, "dma-bufs are for domains with FI_HMEM");
    assert_eq!((attributes.iov_count, attributes.iface), (1, FI_HMEM_CUDA));
    if let DeviceSupport::Refused(code) = lock(&domain.world).devices {
        return -code;
    }
    // SAFETY: I2.
    let dmabuf = unsafe { &*attributes.dmabuf };
    let Some(window) = Window::new(dmabuf.fd, dmabuf.offset as usize, dmabuf.len) else { return -libc::EINVAL };
    let piece = Piece { at: dmabuf.base_addr as usize + dmabuf.offset as usize, bytes: dmabuf.len };
    let made = enter(domain, piece, attributes.access, attributes.requested_key, Some(window));
    // SAFETY: I2.
    unsafe { give(made, into) }
}

/// Registers memory, with the window to it if it is device memory.
fn enter(domain: &Domain, piece: Piece, access: u64, key: u64, window: Option<Window>) -> Result<Memory, c_int> {
    let Domain { world, number: domain, .. } = domain;
    let mut inside = lock(world);
    let mode = inside.profile.mr_mode;
    // A provider chooses keys that are hard to guess.
    let key = if mode & FI_MR_PROV_KEY == 0 { key } else { inside.number() << 32 | inside.below(1 << 32) };
    if inside.memory.contains_key(&(*domain, key)) {
        return Err(-libc::ENOKEY);
    }
    if window.is_none() && piece.bytes > inside.locked_bytes_max {
        return Err(-libc::ENOMEM);
    }
    let registered = Registered { piece, access, endpoint: None, is_enabled: false, window, posted: Vec::new() };
    inside.memory.insert((*domain, key), registered);
    let raw = FidMr { fid: fid(&MEMORY), mem_desc: key as usize as *mut c_void, key };
    Ok(Memory { raw, world: world.clone(), domain: *domain })
}

/// # Safety
/// I2.
unsafe fn give(made: Result<Memory, c_int>, into: *mut *mut FidMr) -> c_int {
    match made {
        Ok(memory) => {
            // SAFETY: the caller's promise.
            unsafe { *into = Box::into_raw(Box::new(memory)).cast() };
            0
        }
        Err(code) => code,
    }
}

/// # Safety
/// I1.
unsafe extern "C" fn bind_memory(memory: *mut Fid, to: *mut Fid, _flags: u64) -> c_int {
    // SAFETY: I1.
    unsafe {
        let Memory { raw, world, domain } = &*memory.cast::<Memory>();
        let endpoint = (*to.cast::<Endpoint>()).number;
        lock(world).memory.get_mut(&(*domain, raw.key)).expect("open").endpoint = Some(endpoint);
    }
    0
}

/// # Safety
/// I1.
unsafe extern "C" fn enable_memory(memory: *mut Fid, command: c_int, _argument: *mut c_void) -> c_int {
    assert_eq!(command, FI_ENABLE);
    // SAFETY: I1.
    let Memory { raw, world, domain } = unsafe { &*memory.cast::<Memory>() };
    lock(world).memory.get_mut(&(*domain, raw.key)).expect("open").is_enabled = true;
    0
}

/// # Safety
/// I1.
unsafe extern "C" fn close_memory(memory: *mut Fid) -> c_int {
    let memory = memory.cast::<Memory>();
    // SAFETY: I1.
    let Memory { raw, world, domain } = unsafe { &*memory };
    if !lock(world).deregister(*domain, raw.key) {
        return -libc::EBUSY;
    }
    // SAFETY: I1.
    drop(unsafe { Box::from_raw(memory) });
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn getname(endpoint: *mut Fid, into: *mut c_void, bytes: *mut usize) -> c_int {
    // SAFETY: I1, I2.
    unsafe {
        let Endpoint { world, number, .. } = &*endpoint.cast::<Endpoint>();
        let name = match lock(world).profile.name_bytes {
            0 => format!("mock://{number}\0").into_bytes(),
            length => [number.to_ne_bytes().to_vec(), vec![0xA5; length - size_of::<u64>()]].concat(),
        };
        assert!(*bytes >= name.len());
        *bytes = name.len();
        ptr::copy_nonoverlapping(name.as_ptr(), into.cast(), name.len());
    }
    0
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn insert(
    addresses: *mut FidAv,
    names: *const c_void,
    count: usize,
    into: *mut FiAddress,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    assert_eq!(count, 1);
    // SAFETY: I1, I2: a name begins with the number, or is text that ends with it.
    unsafe {
        let is_text = lock(&(*addresses.cast::<Addresses>()).world).profile.name_bytes == 0;
        let text = || CStr::from_ptr(names.cast()).to_str().ok()?.strip_prefix("mock://")?.parse().ok();
        *into = if is_text { text().expect("a name made here") } else { names.cast::<u64>().read_unaligned() };
    }
    1
}

/// # Safety
/// I1, I4.
unsafe fn post(endpoint: *mut FidEp, description: *mut c_void, wire: impl FnOnce(u64) -> Wire) -> isize {
    // SAFETY: I1.
    let Endpoint { world, number, .. } = unsafe { &*endpoint.cast::<Endpoint>() };
    let mut inside = lock(world);
    let wire = Wire { description: description as usize as u64, ..wire(*number) };
    check(&inside, *number, description, wire.local);
    let context = wire.context as *mut FiContext;
    let posted = inside.post(wire);
    if posted == 0 {
        // SAFETY: I4.
        unsafe { (*context).internal = [context.cast(); 8] };
    }
    posted
}

/// Checks the rules that apply to every post.
fn check(world: &World, endpoint: u64, description: *mut c_void, local: Piece) {
    let state = &world.endpoints[&endpoint];
    assert!(state.is_enabled, "an endpoint is enabled before it is used");
    let is_described =
        world.profile.mr_mode & FI_MR_LOCAL == 0 || world.is_registered(state.domain, description as usize as u64, local);
    assert!(is_described, "local memory is registered and described");
}

/// # Safety
/// I1, I4.
unsafe extern "C" fn receive(
    endpoint: *mut FidEp,
    at: *mut c_void,
    bytes: usize,
    description: *mut c_void,
    _from: FiAddress,
    context: *mut c_void,
) -> isize {
    // SAFETY: I1.
    let Endpoint { world, number, .. } = unsafe { &*endpoint.cast::<Endpoint>() };
    let mut inside = lock(world);
    let local = Piece { at: at as usize, bytes };
    check(&inside, *number, description, local);
    let queue = inside.profile.queue;
    let is_busy = inside.below(8) == 0;
    let receives = &mut inside.endpoints.get_mut(number).expect("open").receives;
    if receives.len() >= queue || is_busy {
        return -(libc::EAGAIN as isize);
    }
    receives.push_back((local, context as usize));
    0
}

/// # Safety
/// I1, I4.
unsafe extern "C" fn send(
    endpoint: *mut FidEp,
    at: *const c_void,
    bytes: usize,
    description: *mut c_void,
    to: FiAddress,
    context: *mut c_void,
) -> isize {
    let local = Piece { at: at as usize, bytes };
    // SAFETY: the caller's promise.
    unsafe {
        post(endpoint, description, |from| Wire { from, to, context: context as usize, local, what: What::Send, description: 0 })
    }
}

/// # Safety
/// I1, I4.
unsafe extern "C" fn read(
    endpoint: *mut FidEp,
    at: *mut c_void,
    bytes: usize,
    description: *mut c_void,
    to: FiAddress,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let (local, what) = (Piece { at: at as usize, bytes }, What::Read { address, key });
    // SAFETY: the caller's promise.
    unsafe { post(endpoint, description, |from| Wire { from, to, context: context as usize, local, what, description: 0 }) }
}

/// # Safety
/// I1, I2, I4.
unsafe extern "C" fn write(endpoint: *mut FidEp, message: *const FiMsgRma, flags: u64) -> isize {
    let asked = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    assert_eq!(flags & asked, asked, "a write completes when it is visible");
    // SAFETY: I2; the rest is the caller's promise.
    unsafe {
        let message = &*message;
        assert_eq!((message.iov_count, message.rma_iov_count), (1, 1));
        let (local, remote) = (&*message.msg_iov, &*message.rma_iov);
        assert_eq!(local.iov_len, remote.len);
        let (local, to) = (Piece { at: local.iov_base as usize, bytes: local.iov_len }, message.addr);
        let what = What::Write { address: remote.addr, key: remote.key, notifies: flags & FI_REMOTE_CQ_DATA != 0 };
        let wire = |from| Wire { from, to, context: message.context as usize, local, what, description: 0 };
        let description = if message.desc.is_null() { ptr::null_mut() } else { *message.desc };
        post(endpoint, description, wire)
    }
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn read_queue(queue: *mut FidCq, into: *mut c_void, count: usize) -> isize {
    // SAFETY: I1.
    let Queue { world, number, .. } = unsafe { &*queue.cast::<Queue>() };
    let mut inside = lock(world);
    let endpoints: Vec<u64> =
        inside.endpoints.iter().filter(|(_, endpoint)| endpoint.queue == *number).map(|(&number, _)| number).collect();
    endpoints.into_iter().for_each(|endpoint| inside.progress(endpoint));
    let done = inside.queues.get_mut(number).expect("open");
    if done.front().is_some_and(|done| done.result.is_err()) {
        return -FI_EAVAIL;
    }
    let mut written = 0;
    while written < count
        && done.front().is_some_and(|done| done.result.is_ok())
        && let Some(next) = done.pop_front()
    {
        let entry = FiCqDataEntry {
            op_context: next.context as *mut c_void,
            flags: next.flags,
            len: next.bytes,
            buf: ptr::null_mut(),
            data: 0,
        };
        // SAFETY: I2.
        unsafe { into.cast::<FiCqDataEntry>().add(written).write(entry) };
        written += 1;
    }
    if written == 0 { -(libc::EAGAIN as isize) } else { written as isize }
}

/// # Safety
/// I1, I2.
unsafe extern "C" fn read_error(queue: *mut FidCq, into: *mut FiCqErrEntry, _flags: u64) -> isize {
    // SAFETY: I1.
    let Queue { world, number, .. } = unsafe { &*queue.cast::<Queue>() };
    let mut inside = lock(world);
    let done = inside.queues.get_mut(number).expect("open");
    let Some(next) = done.front().is_some_and(|done| done.result.is_err()).then(|| done.pop_front()).flatten() else {
        return -(libc::EAGAIN as isize);
    };
    // SAFETY: I2.
    unsafe {
        (*into).op_context = next.context as *mut c_void;
        (*into).flags = next.flags;
        (*into).err = next.result.err().unwrap_or(0);
    }
    1
}
