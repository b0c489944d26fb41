//! The exported C functions of channels.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::{call, status};
use crate::library::library;
use crate::refusal::Refusal;

/// Creates this rank's end of a channel. Returns null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ch(sender: c_int, receiver: c_int) -> usize {
    call("acp_create_ch", 0, || {
        let library = library()?;
        let (sender, receiver) = (library.rank_of(sender)?, library.rank_of(receiver)?);
        library.with_links(|links, context| links.channels.create(&mut links.connector, context, sender, receiver))
    })
}

/// Frees a channel. Waits until the other end is freed, too.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_ch(channel: usize) -> c_int {
    status("acp_free_ch", || {
        let library = library()?;
        let request = library.ask_channel(|channels| channels.free(channel))?;
        library.await_request("acp_free_ch", request).map(drop)
    })
}

/// Starts to free a channel. Returns the request; null if the channel is not valid.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbfree_ch(channel: usize) -> usize {
    call("acp_nbfree_ch", 0, || library()?.ask_channel(|channels| channels.free(channel)))
}

/// Starts to send a message. Returns the request; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbsend_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    transfer("acp_nbsend_ch", channel, memory, bytes, true)
}

/// Starts to receive a message. Returns the request; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_nbrecv_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    transfer("acp_nbrecv_ch", channel, memory, bytes, false)
}

fn transfer(function: &str, channel: usize, memory: *mut c_void, bytes: usize, is_send: bool) -> usize {
    call(function, 0, || {
        let library = library()?;
        let memory = super::shared(memory as usize, bytes)?;
        library.ask_channel(|channels| channels.request(channel, memory, bytes, is_send))
    })
}

/// Waits for a request. Returns the number of bytes received; the greatest number if the request is not valid.
#[unsafe(no_mangle)]
pub extern "C" fn acp_wait_ch(request: usize) -> usize {
    call("acp_wait_ch", usize::MAX, || library()?.await_request("acp_wait_ch", request))
}

/// Sends a message and waits until its memory may be reused. Returns 0; -1 on failure, also if the receiver has freed the channel before the whole
/// message was sent.
#[unsafe(no_mangle)]
pub extern "C" fn acp_send_ch(channel: usize, memory: *mut c_void, bytes: usize) -> c_int {
    match transfer("acp_send_ch", channel, memory, bytes, true) {
        0 => -1,
        request => {
            if acp_wait_ch(request) == bytes {
                0
            } else {
                -1
            }
        }
    }
}

/// Receives a message. Returns the number of bytes; the greatest number on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_recv_ch(channel: usize, memory: *mut c_void, bytes: usize) -> usize {
    match transfer("acp_recv_ch", channel, memory, bytes, false) {
        0 => usize::MAX,
        request => acp_wait_ch(request),
    }
}

/// Waits for `count` requests, and stores the result of each unless `sizes` is null.
///
/// # Safety
/// `requests`, and `sizes` unless it is null, have `count` elements.
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
