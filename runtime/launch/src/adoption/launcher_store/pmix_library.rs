//! The part of libpmix that a process of a job needs, opened at run time.
//!
//! P1: the types and signatures are those of `pmix.h` from PMIx 3 to 5, whose library is `libpmix.so.2`; a [`Value`] has room for the largest member.
//! P2: texts end with a zero byte and live until the call returns.
//! P3: what `PMIx_Get` returns belongs to the caller and comes from `malloc`, its text too.
//! P4: the library is never closed: it has threads of its own.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The name of the library.
pub(super) const NAME: &str = "libpmix.so.2";

/// All ranks of a job, where information on the job is asked for.
pub(super) const WILDCARD: u32 = u32::MAX - 1;

const SUCCESS: c_int = 0;
const GLOBAL: u8 = 3;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;
/// To the server: since PMIx 4, and before.
const LOST_CONNECTION: [c_int; 2] = [-61, -101];
const EVENT_ACTION_COMPLETE: c_int = -334;

/// A process: the name of its job and its rank there.
#[repr(C)]
#[derive(Clone)]
struct Process {
    job: [c_char; 256],
    rank: u32,
}

#[repr(C)]
struct Value {
    kind: u16,
    data: Data,
}

#[repr(C)]
#[derive(Clone, Copy)]
union Data {
    text: *mut c_char,
    number: u32,
    flag: bool,
    /// As long as the longest member: two pointers and a byte.
    room: [u64; 3],
}

/// An option of a call.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

/// What is told when a handler has done its part.
type EventDone = Option<unsafe extern "C" fn(c_int, *mut c_void, usize, *mut c_void, *mut c_void, *mut c_void)>;

type EventHandler =
    unsafe extern "C" fn(usize, c_int, *const Process, *mut c_void, usize, *mut c_void, usize, EventDone, *mut c_void);

/// What was asked for, or the status that the library gave instead.
pub(super) type Answer<T> = Result<T, c_int>;

/// The opened library, and this process in its job.
pub(super) struct Library {
    put: unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int,
    commit: unsafe extern "C" fn() -> c_int,
    fence: unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int,
    get: unsafe extern "C" fn(*const Process, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int,
    finalize: unsafe extern "C" fn(*const c_void, usize) -> c_int,
    abort: unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    this: Process,
}

/// A socket that is shut down when the launcher has gone; none if negative.
static SHUT_DOWN_WHEN_LOST: AtomicI32 = AtomicI32::new(-1);

/// The connection to the launcher is lost.
unsafe extern "C" fn lost(
    _: usize,
    _: c_int,
    _: *const Process,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: usize,
    done: EventDone,
    data: *mut c_void,
) {
    let descriptor = SHUT_DOWN_WHEN_LOST.swap(-1, Ordering::Relaxed);
    if descriptor >= 0 {
        // SAFETY: `Library::start` gave the descriptor up, and the one that swaps it out ends it.
        unsafe {
            libc::shutdown(descriptor, libc::SHUT_RDWR);
            libc::close(descriptor);
        }
    }
    if let Some(done) = done {
        // SAFETY: P1, and the data is what came with the function.
        unsafe { done(EVENT_ACTION_COMPLETE, ptr::null_mut(), 0, ptr::null_mut(), ptr::null_mut(), data) };
    }
}

impl Library {
    /// Opens the library and connects to the launcher's server. `shut_down_when_lost`, a socket, is shut down when that goes.
    ///
    /// # Errors
    /// Why it cannot be opened, or what the library says.
    pub(super) fn start(shut_down_when_lost: std::os::fd::OwnedFd) -> Result<Self, String> {
        let name = CString::new(NAME).map_err(|error| error.to_string())?;
        // SAFETY: P2, P4.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(opening_error());
        }
        let found = |name: &CStr| {
            // SAFETY: P2, and the library is open.
            let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
            if symbol.is_null() { Err(opening_error()) } else { Ok(symbol) }
        };
        let init: unsafe extern "C" fn(*mut Process, *mut c_void, usize) -> c_int = as_function(found(c"PMIx_Init")?);
        let register: unsafe extern "C" fn(
            *const c_int,
            usize,
            *const c_void,
            usize,
            EventHandler,
            *const c_void,
            *const c_void,
        ) -> c_int = as_function(found(c"PMIx_Register_event_handler")?);
        let mut opened = Self {
            put: as_function(found(c"PMIx_Put")?),
            commit: as_function(found(c"PMIx_Commit")?),
            fence: as_function(found(c"PMIx_Fence")?),
            get: as_function(found(c"PMIx_Get")?),
            finalize: as_function(found(c"PMIx_Finalize")?),
            abort: as_function(found(c"PMIx_Abort")?),
            error_string: as_function(found(c"PMIx_Error_string")?),
            this: Process { job: [0; 256], rank: 0 },
        };
        // SAFETY: P1.
        let status = unsafe { init(&mut opened.this, ptr::null_mut(), 0) };
        if status != SUCCESS {
            return Err(format!("PMIx_Init: {}", opened.error(status)));
        }
        SHUT_DOWN_WHEN_LOST.store(std::os::fd::IntoRawFd::into_raw_fd(shut_down_when_lost), Ordering::Relaxed);
        // SAFETY: P1; the handler is a function without data.
        unsafe { register(LOST_CONNECTION.as_ptr(), LOST_CONNECTION.len(), ptr::null(), 0, lost, ptr::null(), ptr::null()) };
        Ok(opened)
    }

    /// The name of the job.
    pub(super) fn job(&self) -> String {
        let bytes = self.this.job.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0);
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
    }

    /// This process.
    pub(super) fn rank(&self) -> u32 {
        self.this.rank
    }

    /// What a status means.
    pub(super) fn error(&self, status: c_int) -> String {
        // SAFETY: P1; the library returns a constant text, or nothing.
        let text = unsafe { (self.error_string)(status) };
        // SAFETY: as above.
        if text.is_null() { format!("status {status}") } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
    }

    /// Leaves a text for all processes, from the next fence on.
    pub(super) fn put(&self, key: &CStr, text: &CStr) -> Answer<()> {
        let mut value = Value { kind: STRING, data: Data { room: [0; 3] } };
        value.data.text = text.as_ptr().cast_mut();
        // SAFETY: P1, P2; the library copies the value.
        answer(unsafe { (self.put)(GLOBAL, key.as_ptr(), &mut value) })
    }

    /// Waits for all processes of the job.
    pub(super) fn fence(&self) -> Answer<()> {
        // SAFETY: P1.
        answer(unsafe { (self.commit)() })?;
        // What was put comes along: servers need not ask each other for it later, which some do not manage.
        let mut collect = Info { key: [0; 512], flags: 0, value: Value { kind: BOOL, data: Data { room: [0; 3] } } };
        collect.key.iter_mut().zip(c"pmix.collect".to_bytes()).for_each(|(to, &from)| *to = from as c_char);
        collect.value.data.flag = true;
        // SAFETY: P1: no process is named, which means all of the job.
        answer(unsafe { (self.fence)(ptr::null(), 0, &collect, 1) })
    }

    /// The text that `rank` left.
    pub(super) fn text(&self, rank: u32, key: &CStr) -> Answer<Option<String>> {
        self.get(rank, key, |value| {
            // SAFETY: P3: the kind says which member it has.
            (value.kind == STRING).then(|| unsafe { CStr::from_ptr(value.data.text) }.to_string_lossy().into_owned())
        })
    }

    /// A number that the launcher knows of `rank`.
    pub(super) fn number(&self, rank: u32, key: &CStr) -> Answer<Option<u32>> {
        self.get(rank, key, |value| match value.kind {
            // SAFETY: P3: the kind says which member it has.
            UINT32 => Some(unsafe { value.data.number }),
            _ => None,
        })
    }

    fn get<T>(&self, rank: u32, key: &CStr, read: impl FnOnce(&Value) -> T) -> Answer<T> {
        let (process, mut value) = (Process { rank, ..self.this.clone() }, ptr::null_mut());
        // SAFETY: P1, P2.
        answer(unsafe { (self.get)(&process, key.as_ptr(), ptr::null(), 0, &mut value) })?;
        // SAFETY: P3.
        let found = read(unsafe { &*value });
        // SAFETY: P3; nothing of it is used any more.
        unsafe {
            if (*value).kind == STRING {
                libc::free((*value).data.text.cast());
            }
            libc::free(value.cast());
        }
        Ok(found)
    }

    /// Asks the launcher to end all processes of the job.
    pub(super) fn abort(&self, code: i32) -> Answer<()> {
        // SAFETY: P1, P2: no process is named, which means all of the job.
        answer(unsafe { (self.abort)(code, c"a rank was lost".as_ptr(), ptr::null(), 0) })
    }

    /// Takes leave of the launcher.
    pub(super) fn finalize(&self) -> Answer<()> {
        // SAFETY: P1.
        answer(unsafe { (self.finalize)(ptr::null(), 0) })
    }
}

/// A symbol as the function that it is.
fn as_function<F: Copy>(symbol: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) }
    // SAFETY: P1; callers name the type of a function.
    unsafe { std::mem::transmute_copy(&symbol) }
}

fn answer(status: c_int) -> Answer<()> {
    if status == SUCCESS { Ok(()) } else { Err(status) }
}

/// Why the library or one of its functions cannot be had.
fn opening_error() -> String {
    // SAFETY: called after a failure, so that the text, if any, is that of this thread and lives until its next call.
    let text = unsafe { libc::dlerror() };
    // SAFETY: as above.
    if text.is_null() { "it cannot be opened".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}
