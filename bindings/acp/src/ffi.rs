//! The functions that C sees, and what C's library does for this one. Each hands its arguments on and turns the outcome into what the
//! interface says.
//!
//! Invariant **A4**: pointers that come from a program are what its header says: a text ends with a zero byte.
//!
//! No panic leaves a function: it ends the process, with a line.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pelago::{Context, Scope, Word};
use pelago_base::AtomicOperator;

use crate::library::{library, who};
use crate::links::Joined;
use crate::memory::Memory;
use crate::refusal::{self, Refusal};
use crate::segments::SegmentBuffer;
use crate::{access, library as life, simulated, turns};

/// Calls, with `failed` as the result of what cannot be done.
pub(crate) fn call<R>(function: &str, failed: R, f: impl FnOnce() -> Result<R, Refusal>) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(result)) => result,
        Ok(Err(Refusal::Earlier(error))) => life::end(&error, function),
        Ok(Err(Refusal::Failed(error))) if error.scope() > Scope::Operation => life::end(&error, function),
        Ok(Err(why)) => {
            refusal::tell(who(), function, &why);
            failed
        }
        Err(_panic) => {
            refusal::say(who(), &format_args!("{function}: a mistake in the library; the job is ended"));
            exit_now(1)
        }
    }
}

/// As `call`, with 0 for what was done and -1 for what cannot be.
fn status(function: &str, f: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    call(function, -1, || f().map(|()| 0))
}

/// What cannot be told by a result ends the process.
fn must<R>(function: &str, result: pelago::Result<R>) -> R {
    result.unwrap_or_else(|error| life::end(&error, function))
}

/// Ends the process at once: nothing that it has set up for its end is done, but what it has written to its standard output is.
pub(crate) fn exit_now(code: i32) -> ! {
    simulated::end_at_once(code);
    // SAFETY: flushes streams of the C library, which may be done at any time; ends the process.
    unsafe {
        libc::fflush(stdout);
        libc::_exit(code)
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Leaves the job when the process ends in good order.
pub(crate) fn at_exit() {
    extern "C" fn leave() {
        if let Some(code) = life::leave() {
            exit_now(code);
        }
    }
    // SAFETY: the function lives as long as the library, which is never unloaded while it is in use.
    unsafe { libc::atexit(leave) };
}

/// Initializes the library. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_init(_count: *mut c_int, _arguments: *mut *mut *mut c_char) -> c_int {
    status("acp_init", life::init)
}

/// Ends what `acp_init` began. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_finalize() -> c_int {
    status("acp_finalize", || library()?.finalize())
}

/// Initializes the library anew, with another number for each rank. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reset(rank: c_int) -> c_int {
    status("acp_reset", || library()?.reset(rank))
}

/// Ends the job with a text.
///
/// # Safety
/// `text` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_abort(text: *const c_char) {
    // SAFETY: A4.
    let text = if text.is_null() { c"aborted" } else { unsafe { CStr::from_ptr(text) } };
    refusal::say(who(), &text.to_string_lossy().trim_end());
    exit_now(1)
}

/// Waits for all ranks. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_sync() -> c_int {
    status("acp_sync", || {
        let library = library()?;
        must("acp_sync", library.sync());
        Ok(())
    })
}

/// The number of this rank; -1 if the library is not initialized.
#[unsafe(no_mangle)]
pub extern "C" fn acp_rank() -> c_int {
    call("acp_rank", -1, || Ok(library()?.rank() as c_int))
}

/// How many ranks the job has; -1 if the library is not initialized.
#[unsafe(no_mangle)]
pub extern "C" fn acp_procs() -> c_int {
    call("acp_procs", -1, || Ok(library()?.size() as c_int))
}

/// The starter memory of a rank; null if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_starter_ga(rank: c_int) -> u64 {
    call("acp_query_starter_ga", 0, || Ok(library()?.starter_of(rank)?.bits()))
}

/// Lets all ranks reach memory of this one; returns its key, null if that cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_register_memory(address: *mut c_void, bytes: usize, color: c_int) -> u64 {
    call("acp_register_memory", 0, || {
        let library = library()?;
        if color != 0 {
            return Err(Refusal::Color(color));
        }
        let address = simulated::outward(address as usize, bytes)?;
        library.turns().with(|core| core.regions.register(core.job, library.memory(), address, bytes))
    })
}

/// Ends what `acp_register_memory` began.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unregister_memory(key: u64) -> c_int {
    status("acp_unregister_memory", || {
        let library = library()?;
        must("acp_unregister_memory", library.complete(access::ALL));
        library.turns().with(|core| core.regions.unregister(library.memory(), key))
    })
}

/// The global address of registered memory; null if it is not.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_ga(key: u64, address: *mut c_void) -> u64 {
    call("acp_query_ga", 0, || {
        let library = library()?;
        let address = simulated::outward(address as usize, 1)?;
        library.turns().with(|core| Ok(core.regions.address_of(key, address)?.bits()))
    })
}

/// Where memory of this rank lies; null if it is another's.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_address(address: u64) -> *mut c_void {
    call("acp_query_address", std::ptr::null_mut(), || {
        let memory: &'static Memory = library()?.memory();
        match memory.own(address, 0) {
            Ok(cells) => Ok(simulated::inward(cells.pointer().as_ptr() as usize) as *mut c_void),
            Err(Refusal::Elsewhere(_) | Refusal::Null(_)) => Ok(std::ptr::null_mut()),
            Err(why) => Err(why),
        }
    })
}

/// The number of the rank that owns an address; -1 if none does.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_rank(address: u64) -> c_int {
    call("acp_query_rank", -1, || owner(address))
}

/// The color of an address; -1 if it is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_color(address: u64) -> c_int {
    call("acp_query_color", -1, || Ok(owner(address)?.min(0)))
}

/// The number of the rank that owns an address; -1 for null, which may be asked for.
fn owner(address: u64) -> Result<c_int, Refusal> {
    match library()?.owner_of(address) {
        Err(Refusal::Null(_)) => Ok(-1),
        owner => Ok(owner? as c_int),
    }
}

/// How many colors there are.
#[unsafe(no_mangle)]
pub extern "C" fn acp_colors() -> c_int {
    1
}

/// Copies `bytes` bytes, whichever ranks own both ends.
#[unsafe(no_mangle)]
pub extern "C" fn acp_copy(to: u64, from: u64, bytes: usize, order: i64) -> i64 {
    call("acp_copy", access::NULL, || library()?.copy(to, from, bytes, order))
}

#[inline]
fn atomic<T: Word>(function: &str, to: u64, at: u64, operator: AtomicOperator, operand: T, order: i64) -> i64 {
    call(function, access::NULL, || library()?.atomic(to, at, operator, operand, order))
}

/// Writes `new` if `old` is there.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas4(to: u64, at: u64, old: u32, new: u32, order: i64) -> i64 {
    atomic("acp_cas4", to, at, AtomicOperator::CompareSwap { expected: old.into() }, new, order)
}

/// Writes `new` if `old` is there.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas8(to: u64, at: u64, old: u64, new: u64, order: i64) -> i64 {
    atomic("acp_cas8", to, at, AtomicOperator::CompareSwap { expected: old }, new, order)
}

/// An atomic of one operand, in both widths.
macro_rules! atomics {
    ($($four:ident, $eight:ident, $operator:ident, $does:literal;)+) => {$(
        #[doc = $does]
        #[unsafe(no_mangle)]
        pub extern "C" fn $four(to: u64, at: u64, value: u32, order: i64) -> i64 {
            atomic(stringify!($four), to, at, AtomicOperator::$operator, value, order)
        }

        #[doc = $does]
        #[unsafe(no_mangle)]
        pub extern "C" fn $eight(to: u64, at: u64, value: u64, order: i64) -> i64 {
            atomic(stringify!($eight), to, at, AtomicOperator::$operator, value, order)
        }
    )+};
}

atomics! {
    acp_swap4, acp_swap8, Swap, "Writes a word.";
    acp_add4, acp_add8, Add, "Adds to a word.";
    acp_xor4, acp_xor8, Xor, "Combines a word by exclusive or.";
    acp_or4, acp_or8, Or, "Combines a word by or.";
    acp_and4, acp_and8, And, "Combines a word by and.";
}

/// Waits for an operation and all before it.
#[unsafe(no_mangle)]
pub extern "C" fn acp_complete(handle: i64) {
    call("acp_complete", (), || {
        let library = library()?;
        must("acp_complete", library.complete(handle));
        Ok(())
    });
}

/// 1 if an operation or one before it is under way, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn acp_inquire(handle: i64) -> c_int {
    call("acp_inquire", 0, || {
        let library = library()?;
        Ok(must("acp_inquire", library.inquire(handle)).into())
    })
}

/// Allocates memory on a rank; null if none is left.
#[unsafe(no_mangle)]
pub extern "C" fn acp_malloc(bytes: usize, rank: c_int) -> u64 {
    call("acp_malloc", 0, || Ok(library()?.allocate(bytes, rank)?.bits()))
}

/// Gives back what `acp_malloc` returned, on any rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free(address: u64) {
    call("acp_free", (), || if address == 0 { Ok(()) } else { library()?.free(address) });
}

/// This rank's end of a channel; null if it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ch(sender: c_int, receiver: c_int) -> usize {
    call("acp_create_ch", 0, || {
        let library = library()?;
        let (sender, receiver) = (library.rank_of(sender)?, library.rank_of(receiver)?);
        library.with_links(|links, context| links.channels.create(&mut links.post, context, sender, receiver))
    })
}

/// Frees a channel when the other end is freed too; waits for that.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_ch(channel: usize) -> c_int {
    status("acp_free_ch", || {
        let library = library()?;
        let request = library.ask_channel(|channels| channels.free(channel))?;
        library.await_request(request).map(drop)
    })
}

/// Begins to free a channel; null if it is not one.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbfree_ch(channel: usize) -> usize {
    call("acp_nbfree_ch", 0, || library()?.ask_channel(|channels| channels.free(channel)))
}

/// Begins to send a message; null if it cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbsend_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    transfer("acp_nbsend_ch", channel, memory, bytes, true)
}

/// Begins to receive a message; null if it cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbrecv_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    transfer("acp_nbrecv_ch", channel, memory, bytes, false)
}

fn transfer(function: &str, channel: usize, memory: *mut c_void, bytes: usize, is_send: bool) -> usize {
    call(function, 0, || {
        let library = library()?;
        let memory = simulated::outward(memory as usize, bytes)?;
        library.ask_channel(|channels| channels.request(channel, memory, bytes, is_send))
    })
}

/// Waits for a request; how many bytes were received, or the greatest number if it is not one.
#[unsafe(no_mangle)]
pub extern "C" fn acp_wait_ch(request: usize) -> usize {
    call("acp_wait_ch", usize::MAX, || library()?.await_request(request))
}

/// Sends a message and waits until its memory may be used again. 0, or -1 if it cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_send_ch(channel: usize, memory: *mut c_void, bytes: usize) -> c_int {
    match transfer("acp_send_ch", channel, memory, bytes, true) {
        0 => -1,
        request => {
            if acp_wait_ch(request) == usize::MAX {
                -1
            } else {
                0
            }
        }
    }
}

/// Receives a message; how many bytes, or the greatest number if it cannot be.
#[unsafe(no_mangle)]
pub extern "C" fn acp_recv_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    match transfer("acp_recv_ch", channel, memory, bytes, false) {
        0 => usize::MAX,
        request => acp_wait_ch(request),
    }
}

/// Waits for some requests, and writes what each has come to unless `sizes` is null.
///
/// # Safety
/// `requests`, and `sizes` unless it is null, have as many places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_waitall_ch(requests: *mut usize, count: c_int, sizes: *mut usize) -> c_int {
    if requests.is_null() && count > 0 {
        return status("acp_waitall_ch", || Err(Refusal::Request(0)));
    }
    let mut outcome = 0;
    for index in 0..count.max(0) as usize {
        // SAFETY: A4.
        let size = acp_wait_ch(unsafe { requests.add(index).read() });
        if size == usize::MAX {
            outcome = -1;
        }
        if !sizes.is_null() {
            // SAFETY: A4.
            unsafe { sizes.add(index).write(size) };
        }
    }
    outcome
}

/// The end of a segment buffer that sends; null if it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_src_segbuf(rank: c_int, memory: *mut c_void, segment_bytes: usize, segments: usize) -> usize {
    segment_buffer("acp_create_src_segbuf", rank, memory, [segment_bytes, segments], true)
}

/// The end of a segment buffer that receives; null if it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_dst_segbuf(rank: c_int, memory: *mut c_void, segment_bytes: usize, segments: usize) -> usize {
    segment_buffer("acp_create_dst_segbuf", rank, memory, [segment_bytes, segments], false)
}

fn segment_buffer(function: &str, rank: c_int, memory: *mut c_void, shape: [usize; 2], is_source: bool) -> usize {
    call(function, 0, || {
        let library = library()?;
        let peer = library.rank_of(rank)?;
        let memory = simulated::outward(memory as usize, shape[0].saturating_mul(shape[1]))?;
        library.with_links(|links, context| links.segments.create(&mut links.post, context, peer, is_source, memory, shape))
    })
}

/// Asks or tells a segment buffer something; 0 for good and for yes, 1 for what cannot be and for no.
fn segments(
    function: &str,
    buffer: usize,
    f: impl FnOnce(&mut SegmentBuffer, &'static Context) -> Result<bool, Refusal>,
) -> c_int {
    call(function, 1, || library()?.with_links(|links, context| Ok(c_int::from(!f(links.segments.get(buffer)?, context)?))))
}

/// A count of a segment buffer; -1 if it has none.
fn count(function: &str, buffer: usize, f: impl FnOnce(&mut SegmentBuffer, &'static Context) -> Result<u64, Refusal>) -> i64 {
    call(function, -1, || library()?.with_links(|links, context| Ok(f(links.segments.get(buffer)?, context)? as i64)))
}

/// Waits until both ends are joined.
#[unsafe(no_mangle)]
pub extern "C" fn acp_connect_segbuf(buffer: usize) -> c_int {
    call("acp_connect_segbuf", 1, || library()?.connect(buffer).map(|()| 0))
}

/// 0 if both ends are joined, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isconnected_segbuf(buffer: usize) -> c_int {
    call("acp_isconnected_segbuf", 1, || {
        library()?.with_links(|links, context| Ok(c_int::from(links.join(buffer, context)? != Joined::With(()))))
    })
}

/// At the destination: the segment at the head is free.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ready_segbuf(buffer: usize) -> c_int {
    segments("acp_ready_segbuf", buffer, |buffer, context| buffer.release(context).map(|()| true))
}

/// At the source: sends the segment at the tail.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ack_segbuf(buffer: usize) -> c_int {
    segments("acp_ack_segbuf", buffer, |buffer, context| buffer.send(context).map(|()| true))
}

/// At the source: 0 if a segment may be written, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isready_segbuf(buffer: usize) -> c_int {
    asked("acp_isready_segbuf", buffer, true)
}

/// At the destination: 0 if a segment may be read, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isacked_segbuf(buffer: usize) -> c_int {
    asked("acp_isacked_segbuf", buffer, false)
}

/// A question that programs ask again and again.
fn asked(function: &str, buffer: usize, of_source: bool) -> c_int {
    let answer = segments(function, buffer, |buffer, context| {
        if buffer.is_source() != of_source || !buffer.is_joined() {
            return Err(Refusal::NotConnected);
        }
        let is_open = buffer.is_open(context);
        if !is_open {
            context.progress();
        }
        Ok(is_open || buffer.is_open(context))
    });
    if answer != 0 {
        turns::give_core_away();
    }
    answer
}

/// How many segments were freed.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_head(buffer: usize) -> i64 {
    count("acp_query_segbuf_head", buffer, |buffer, context| Ok(buffer.counts(context)[0]))
}

/// How many segments were sent, or have come.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_tail(buffer: usize) -> i64 {
    count("acp_query_segbuf_tail", buffer, |buffer, context| Ok(buffer.counts(context)[1]))
}

/// At the source: how many segments are at the destination.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_sent(buffer: usize) -> i64 {
    count(
        "acp_query_segbuf_sent",
        buffer,
        |buffer, _| {
            if buffer.is_source() { Ok(buffer.sent()?) } else { Err(Refusal::NotConnected) }
        },
    )
}

/// Ends the connection, when what was sent has arrived.
#[unsafe(no_mangle)]
pub extern "C" fn acp_disconnect_segbuf(buffer: usize) -> c_int {
    segments("acp_disconnect_segbuf", buffer, |buffer, context| buffer.leave(context).map(|()| true))
}

/// Frees an end that is not connected.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_segbuf(buffer: usize) -> c_int {
    call("acp_free_segbuf", 1, || library()?.with_links(|links, _| links.segments.free(buffer).map(|()| 0)))
}
