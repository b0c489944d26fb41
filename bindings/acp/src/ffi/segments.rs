//! The exported C functions of segment buffers.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use pelago::Context;

use super::call;
use crate::library::library;
use crate::links::Connection;
use crate::links::segments::SegmentBuffer;
use crate::refusal::Refusal;

/// Creates the sending end of a segment buffer. Returns null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_src_segbuf(rank: c_int, memory: *mut c_void, segment_bytes: usize, segments: usize) -> usize {
    segment_buffer("acp_create_src_segbuf", rank, memory, [segment_bytes, segments], true)
}

/// Creates the receiving end of a segment buffer. Returns null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_dst_segbuf(rank: c_int, memory: *mut c_void, segment_bytes: usize, segments: usize) -> usize {
    segment_buffer("acp_create_dst_segbuf", rank, memory, [segment_bytes, segments], false)
}

fn segment_buffer(function: &str, rank: c_int, memory: *mut c_void, shape: [usize; 2], is_source: bool) -> usize {
    call(function, 0, || {
        let library = library()?;
        let peer = library.rank_of(rank)?;
        let memory = super::shared(memory as usize, shape[0].saturating_mul(shape[1]))?;
        library.with_links(|links, context| links.segments.create(&mut links.connector, context, peer, is_source, memory, shape))
    })
}

/// Calls `f` with a segment buffer. Returns 0 for success or yes, 1 for failure or no.
fn segments(
    function: &str,
    buffer: usize,
    f: impl FnOnce(&mut SegmentBuffer, &'static Context) -> Result<bool, Refusal>,
) -> c_int {
    call(function, 1, || library()?.with_links(|links, context| Ok(c_int::from(!f(links.segments.get(buffer)?, context)?))))
}

/// Returns a count of a segment buffer; -1 on failure.
fn count(function: &str, buffer: usize, f: impl FnOnce(&mut SegmentBuffer, &'static Context) -> Result<u64, Refusal>) -> i64 {
    call(function, -1, || library()?.with_links(|links, context| Ok(f(links.segments.get(buffer)?, context)? as i64)))
}

/// Waits until both ends are connected.
#[unsafe(no_mangle)]
pub extern "C" fn acp_connect_segbuf(buffer: usize) -> c_int {
    call("acp_connect_segbuf", 1, || library()?.connect(buffer).map(|()| 0))
}

/// Returns 0 if both ends are connected, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isconnected_segbuf(buffer: usize) -> c_int {
    call("acp_isconnected_segbuf", 1, || {
        library()?.with_links(|links, context| Ok(c_int::from(links.connect(buffer, context)? != Connection::Established(()))))
    })
}

/// At the destination: frees the segment at the head.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ready_segbuf(buffer: usize) -> c_int {
    segments("acp_ready_segbuf", buffer, |buffer, context| buffer.release(context).map(|()| true))
}

/// At the source: sends the segment at the tail.
#[unsafe(no_mangle)]
pub extern "C" fn acp_ack_segbuf(buffer: usize) -> c_int {
    segments("acp_ack_segbuf", buffer, |buffer, context| buffer.send(context).map(|()| true))
}

/// At the source: returns 0 if a segment may be written, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isready_segbuf(buffer: usize) -> c_int {
    asked("acp_isready_segbuf", buffer, true)
}

/// At the destination: returns 0 if a segment may be read, else 1.
#[unsafe(no_mangle)]
pub extern "C" fn acp_isacked_segbuf(buffer: usize) -> c_int {
    asked("acp_isacked_segbuf", buffer, false)
}

/// Answers an inquiry by which programs poll a segment buffer.
fn asked(function: &str, buffer: usize, of_source: bool) -> c_int {
    let answer = segments(function, buffer, |buffer, context| {
        if buffer.is_source() != of_source || !buffer.is_connected() {
            return Err(Refusal::NotConnected);
        }
        let is_open = buffer.is_open(context);
        if !is_open {
            context.progress();
        }
        Ok(is_open || buffer.is_open(context))
    });
    if let (1.., Ok(library)) = (answer, library()) {
        library.monitor().yield_core();
    }
    answer
}

/// Returns the number of freed segments.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_head(buffer: usize) -> i64 {
    count("acp_query_segbuf_head", buffer, |buffer, context| Ok(buffer.counts(context)[0]))
}

/// Returns the number of segments that were sent or have arrived.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_segbuf_tail(buffer: usize) -> i64 {
    count("acp_query_segbuf_tail", buffer, |buffer, context| Ok(buffer.counts(context)[1]))
}

/// At the source: returns the number of segments that have arrived at the destination.
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

/// Closes the connection after all operations in flight have completed.
#[unsafe(no_mangle)]
pub extern "C" fn acp_disconnect_segbuf(buffer: usize) -> c_int {
    segments("acp_disconnect_segbuf", buffer, |buffer, context| buffer.close(context).map(|()| true))
}

/// Frees an end that is not connected.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_segbuf(buffer: usize) -> c_int {
    call("acp_free_segbuf", 1, || library()?.with_links(|links, _| links.segments.free(buffer).map(|()| 0)))
}
