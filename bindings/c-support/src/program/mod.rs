//! Execution of the program as each rank of a simulated job, in one process.
//!
//! | file | holds |
//! |---|---|
//! | `threads` | threads that the program creates: they run one at a time as coroutines of their rank |
//! | `substitutes` | replacements for functions of the C library that would affect the whole process |
//!
//! The loader initializes this library before the program. If the environment asks for a simulation, `initialize` redirects the program's
//! call of `__libc_start_main` to `start`, which calls `main` for each rank. Otherwise this module has no effect: a program of a real job
//! calls the C library directly.
#![allow(unsafe_code)]

mod substitutes;
mod threads;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pelago::Rank;
use pelago::processes::{self, Program};

use crate::binding::{self, Binding};
use crate::simulated::{self, Image, PerRank};
use threads::Threads;

/// Bytes of a rank's stack: the usual default of the system for the main thread of a process.
const STACK_BYTES: u64 = 8 << 20;

/// The environment variable by which `pelago sim` requests a simulation.
const ASKED_FOR: &CStr = c"PELAGO_SIM";

/// The program's `main`.
pub type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// A function that initializes an object of the program, and one that finalizes it.
type Initializer = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);
type Finalizer = extern "C" fn();

/// An exit handler of the program, and its argument.
type Handler = (extern "C" fn(*mut c_void), usize);

/// State of a simulated rank besides its copy of the program's data.
struct SimulatedRank {
    handlers: Mutex<Vec<Handler>>,
    threads: Mutex<Threads>,
}

impl SimulatedRank {
    const fn new() -> Self {
        Self { handlers: Mutex::new(Vec::new()), threads: Mutex::new(Threads::new()) }
    }

    fn handlers(&self) -> MutexGuard<'_, Vec<Handler>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static RANKS: PerRank<SimulatedRank> = PerRank::new(SimulatedRank::new(), SimulatedRank::new);

/// The program that is called for each rank.
struct SimulatedProgram {
    main: Main,
    arguments: Vec<CString>,
    initializers: Vec<usize>,
    /// Address ranges of its instructions, and of those of libraries that are linked with this one.
    code: Vec<Range<usize>>,
}

/// Finalizers of the program, in call order.
static FINALIZERS: OnceLock<Vec<usize>> = OnceLock::new();

/// Registers the interface, and prepares the program for a simulation if the environment asks for one. A binding has the loader call this
/// function before the program is initialized, by an entry of `.init_array`.
pub fn initialize(binding: &'static Binding) {
    binding::register(binding);
    // SAFETY: reads the environment, which does not change before the program runs.
    if unsafe { libc::getenv(ASKED_FOR.as_ptr()).is_null() } {
        return;
    }
    let images = simulated::images();
    let this = initialize as *const () as usize;
    if images.iter().any(|image| image.code.iter().any(|code| code.contains(&this))) {
        // This copy of the function is part of an archive within the program: the preloaded shared library simulates, with its own copy.
        return;
    }
    images.iter().for_each(|image| image.substitute(&substitutes::all()));
    if let Err(function) = simulated::redirect(&images) {
        let code = refused(&format_args!(
            "the program has a library in it whose {function} cannot be replaced; acpcc links the shared library"
        ));
        // SAFETY: ends the process before the program starts.
        unsafe { libc::_exit(code) }
    }
}

/// Returns the variable of this name in a simulated program that contains the library as an archive: the program reads that variable.
pub fn variable_in_archive(name: &CStr) -> Option<&'static AtomicUsize> {
    simulated::running()?;
    simulated::variable(name)
}

/// Replaces `__libc_start_main`: calls `main` for each rank, and ends the process.
extern "C" fn start(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    initialize: Option<Initializer>,
    _finalize: Option<Finalizer>,
    _loader_finalize: Option<Finalizer>,
    _stack_end: *mut c_void,
) -> c_int {
    // SAFETY: the system passes `count` texts to a program.
    let texts = (0..count as usize).map(|index| unsafe { CStr::from_ptr(*arguments.add(index)) }.to_owned());
    // A program that was linked with an older C library passes the function that calls its initializers.
    let code = run(main, texts.collect(), initialize);
    // SAFETY: writes buffered output, and ends the process.
    unsafe { libc::exit(code) }
}

/// Calls the `main` of a shared object, which the calling process has loaded, for each rank of the simulation that the environment asks for;
/// returns the exit code. Of the `count` arguments, the first is the program's name.
///
/// # Safety
/// `arguments` has `count` texts; the process has one thread.
pub unsafe fn simulate_main(main: Main, count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let texts = (0..count as usize).map(|index| unsafe { CStr::from_ptr(*arguments.add(index)) }.to_owned());
    run(main, texts.collect(), None)
}

fn run(main: Main, arguments: Vec<CString>, initialize: Option<Initializer>) -> c_int {
    let images = simulated::images();
    let mut initializers: Vec<usize> = images.iter().flat_map(Image::initializers).collect();
    if let Some(initialize) = initialize {
        initializers = vec![initialize as usize];
    }
    FINALIZERS.get_or_init(|| images.iter().flat_map(Image::finalizers).collect());
    let ranks = match processes::ranks() {
        Ok(ranks) => ranks as usize,
        Err(error) => return refused(&error),
    };
    initialize_streams();
    if let Err(error) = simulated::begin(&images, ranks) {
        return refused(&format_args!("no room for the data of {ranks} ranks: {error}"));
    }
    let code = images.iter().flat_map(|image| image.code.clone()).collect();
    processes::simulate(&SimulatedProgram { main, arguments, initializers, code }, STACK_BYTES)
        .unwrap_or_else(|error| refused(&error))
}

/// Makes the C++ library construct its standard streams, if it is loaded. Otherwise it would construct them only for the first rank that
/// uses them, although the objects may lie in the program's data, of which each rank has a copy.
fn initialize_streams() {
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: looks up a name in the loaded objects.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_ZNSt8ios_base4InitC1Ev".as_ptr()) };
    if !found.is_null() {
        // SAFETY: the constructor of an object without members, at an address of its own.
        let initialize: extern "C" fn(*const AtomicUsize) = unsafe { std::mem::transmute(found) };
        initialize(&PLACE);
    }
}

fn refused(why: &dyn std::fmt::Display) -> c_int {
    binding::write_line(None, why);
    2
}

/// The running rank.
fn running_rank() -> Option<&'static SimulatedRank> {
    simulated::running().map(|_| RANKS.get())
}

// SAFETY: C programs borrow nothing from the stack of a rank that ends; A7 for its code.
unsafe impl Program for SimulatedProgram {
    fn enter(&self, rank: Rank) {
        if let Err(error) = simulated::enter(rank.index()) {
            binding::write_line(Some(rank.number()), &format_args!("no room for its data: {error}"));
            // SAFETY: ends the process: no rank can continue without its data.
            unsafe { libc::_exit(1) }
        }
    }

    /// Code of the program holds no lock of the C library, except in callbacks from the C library, such as functions that print.
    fn code(&self) -> Vec<Range<usize>> {
        self.code.clone()
    }

    fn main(&self, _rank: Rank) -> i32 {
        // A copy for each rank, because programs may modify their arguments.
        let mut texts: Vec<Vec<u8>> = self.arguments.iter().map(|text| text.as_bytes_with_nul().to_vec()).collect();
        let mut pointers: Vec<*mut c_char> = texts.iter_mut().map(|text| text.as_mut_ptr().cast()).collect();
        pointers.push(std::ptr::null_mut());
        let (count, arguments) = (texts.len() as c_int, pointers.as_mut_ptr());
        for &initializer in &self.initializers {
            // SAFETY: A7: a function that the program's object names for this.
            let initializer: Initializer = unsafe { std::mem::transmute(initializer) };
            initializer(count, arguments, environment());
        }
        finish((self.main)(count, arguments, environment()))
    }
}

/// Calls the exit handlers and finalizers of the running rank, and leaves the job. Returns the exit code.
fn finish(code: c_int) -> i32 {
    let Some(rank) = running_rank() else { return code };
    // A handler may register another handler.
    while let Some((handler, argument)) = { rank.handlers().pop() } {
        handler(argument as *mut c_void);
    }
    for &finalizer in FINALIZERS.get().into_iter().flatten() {
        // SAFETY: A7: a function that the program's object names for this.
        let finalizer: Finalizer = unsafe { std::mem::transmute(finalizer) };
        finalizer();
    }
    binding::leave(code).unwrap_or(code) & 0xff
}

fn environment() -> *mut *mut c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: A10: a variable of the C library that points to the environment.
    unsafe { environ }
}
