//! The part of libpmix that a process of a job needs, opened at run time.
//!
//! P1: the types and signatures are those of `pmix.h` from PMIx 3 to 5, whose library is `libpmix.so.2`; a [`Value`] has room for the largest member.
//! P2: texts end with a zero byte and live until the call returns.
//! P3: the value that `PMIx_Get` returns, with its text, belongs to the caller and is allocated by `malloc`.
//! P4: the library is never closed, as [`pelago_dynamic`] says.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use pelago_dynamic::{DynamicLibrary, Visibility};

/// The name of the library.
pub(super) const NAME: &str = "libpmix.so.2";

/// Stands for all ranks of a job in requests for information on the job.
pub(super) const WILDCARD: u32 = u32::MAX - 1;

const SUCCESS: c_int = 0;
const GLOBAL: u8 = 3;
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;
/// Connection to the server lost: status since PMIx 4, and before.
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
    /// As large as the largest member: two pointers and a byte.
    room: [u64; 3],
}

/// An option of a call.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: Value,
}

/// The function that a handler calls at its end.
type EventDone = Option<unsafe extern "C" fn(c_int, *mut c_void, usize, *mut c_void, *mut c_void, *mut c_void)>;

type EventHandler =
    unsafe extern "C" fn(usize, c_int, *const Process, *mut c_void, usize, *mut c_void, usize, EventDone, *mut c_void);

/// The requested value, or the status that the library returned instead.
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

/// A socket that is shut down when the launcher has gone; negative if there is none.
static SHUT_DOWN_WHEN_LOST: AtomicI32 = AtomicI32::new(-1);

/// Called when the connection to the launcher is lost.
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
        // SAFETY: `Library::start` has released the descriptor, and only the caller that swaps it out closes it.
        unsafe {
            libc::shutdown(descriptor, libc::SHUT_RDWR);
            libc::close(descriptor);
        }
    }
    if let Some(done) = done {
        // SAFETY: P1, and the data was passed together with the function.
        unsafe { done(EVENT_ACTION_COMPLETE, ptr::null_mut(), 0, ptr::null_mut(), ptr::null_mut(), data) };
    }
}

impl Library {
    /// Opens the library and connects to the launcher's server. `shut_down_when_lost`, a socket, is shut down when the server has gone.
    ///
    /// # Errors
    /// The reason why it cannot be opened, or the library's error.
    pub(super) fn start(shut_down_when_lost: std::os::fd::OwnedFd) -> Result<Self, String> {
        let library = DynamicLibrary::open(NAME, Visibility::Global)?;
        // SAFETY: P1.
        let init: unsafe extern "C" fn(*mut Process, *mut c_void, usize) -> c_int =
            unsafe { library.function(c"PMIx_Init", None)? };
        // SAFETY: P1.
        let register: unsafe extern "C" fn(
            *const c_int,
            usize,
            *const c_void,
            usize,
            EventHandler,
            *const c_void,
            *const c_void,
        ) -> c_int = unsafe { library.function(c"PMIx_Register_event_handler", None)? };
        // SAFETY: P1.
        let mut opened = unsafe {
            Self {
                put: library.function(c"PMIx_Put", None)?,
                commit: library.function(c"PMIx_Commit", None)?,
                fence: library.function(c"PMIx_Fence", None)?,
                get: library.function(c"PMIx_Get", None)?,
                finalize: library.function(c"PMIx_Finalize", None)?,
                abort: library.function(c"PMIx_Abort", None)?,
                error_string: library.function(c"PMIx_Error_string", None)?,
                this: Process { job: [0; 256], rank: 0 },
            }
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

    /// Returns the text of a status.
    pub(super) fn error(&self, status: c_int) -> String {
        // SAFETY: P1; the library returns a constant text, or nothing.
        let text = unsafe { (self.error_string)(status) };
        // SAFETY: as above.
        if text.is_null() { format!("status {status}") } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
    }

    /// Stores a text for all processes, visible after the next fence.
    pub(super) fn put(&self, key: &CStr, text: &CStr) -> Answer<()> {
        let mut value = Value { kind: STRING, data: Data { room: [0; 3] } };
        value.data.text = text.as_ptr().cast_mut();
        // SAFETY: P1, P2; the library copies the value.
        answer(unsafe { (self.put)(GLOBAL, key.as_ptr(), &mut value) })?;
        // Processes of this host may request it without a fence.
        // SAFETY: P1.
        answer(unsafe { (self.commit)() })
    }

    /// Waits for all processes of the job.
    pub(super) fn fence(&self) -> Answer<()> {
        // SAFETY: P1.
        answer(unsafe { (self.commit)() })?;
        // The values are collected in the fence: servers need not request them from each other later, which some do not support.
        let mut collect = Info { key: [0; 512], flags: 0, value: Value { kind: BOOL, data: Data { room: [0; 3] } } };
        collect.key.iter_mut().zip(c"pmix.collect".to_bytes()).for_each(|(to, &from)| *to = from as c_char);
        collect.value.data.flag = true;
        // SAFETY: P1: no process is named, which means all of the job.
        answer(unsafe { (self.fence)(ptr::null(), 0, &collect, 1) })
    }

    /// Returns the text that `rank` stored.
    pub(super) fn text(&self, rank: u32, key: &CStr) -> Answer<Option<String>> {
        self.get(rank, key, |value| {
            // SAFETY: P3: the kind specifies the valid member.
            (value.kind == STRING).then(|| unsafe { CStr::from_ptr(value.data.text) }.to_string_lossy().into_owned())
        })
    }

    /// Returns a number that the launcher knows about `rank`.
    pub(super) fn number(&self, rank: u32, key: &CStr) -> Answer<Option<u32>> {
        self.get(rank, key, |value| match value.kind {
            // SAFETY: P3: the kind specifies the valid member.
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
        // SAFETY: P3; the value is no longer used.
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

    /// Disconnects from the launcher.
    pub(super) fn finalize(&self) -> Answer<()> {
        // SAFETY: P1.
        answer(unsafe { (self.finalize)(ptr::null(), 0) })
    }
}

fn answer(status: c_int) -> Answer<()> {
    if status == SUCCESS { Ok(()) } else { Err(status) }
}
