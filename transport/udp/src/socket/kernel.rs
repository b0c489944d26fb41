//! The system calls that move datagrams.
//!
//! Invariants of the unsafe code:
//!
//! - **K1** All that a header points to, with the length beside the pointer, is borrowed by the function that writes the header,
//!   from then until the kernel has answered; mutably, if the kernel writes there.
//! - **K2** Outside that function the pointers in a header are neither followed nor handed out.
//! - **K3** All bytes zero are a valid value of the C structures here.
#![allow(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{mem, ptr};

use libc::{c_int, iovec, mmsghdr};
use rustix::io::Errno;

use super::control::{self, BESIDE_BYTES, CUT_BYTES};
use super::name::{self, NAME_BYTES, Name};

/// Bytes to send to one address, as one datagram or cut into several.
pub(super) struct Message<'a> {
    pub(super) to: &'a Name,
    pub(super) bytes: &'a [u8],
    /// The length of the datagrams to cut it into.
    pub(super) cut_into: Option<u16>,
}

/// The headers of messages to send; kept so that sending allocates nothing.
pub(super) struct Departures {
    headers: Box<[mmsghdr]>,
    vectors: Box<[iovec]>,
    controls: Box<[[u8; CUT_BYTES]]>,
}

// SAFETY: K2: the pointers, which alone forbid it, mean nothing between calls.
unsafe impl Send for Departures {}

impl Departures {
    /// For so many messages per call.
    pub(super) fn new(messages: usize) -> Self {
        Self { headers: headers(messages), vectors: vectors(messages), controls: vec![[0; CUT_BYTES]; messages].into() }
    }

    /// Sends the first messages, as many as the kernel takes, and returns their number; an error is about the very first.
    pub(super) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: impl Iterator<Item = Message<'a>>,
    ) -> Result<usize, Errno> {
        let places = self.headers.iter_mut().zip(&mut self.vectors).zip(&mut self.controls);
        let mut count = 0;
        for (message, ((header, vector), control)) in messages.zip(places) {
            *vector = iovec { iov_base: message.bytes.as_ptr().cast_mut().cast(), iov_len: message.bytes.len() };
            let name = message.to.bytes();
            header.msg_hdr.msg_name = name.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = name.len() as _;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            (header.msg_hdr.msg_control, header.msg_hdr.msg_controllen) = (ptr::null_mut(), 0);
            if let Some(segment_bytes) = message.cut_into {
                *control = control::cut_into(segment_bytes);
                (header.msg_hdr.msg_control, header.msg_hdr.msg_controllen) = (control.as_mut_ptr().cast(), CUT_BYTES as _);
            }
            count += 1;
        }
        match &mut self.headers[..count] {
            [] => Ok(0),
            // The call with the least for the kernel to read.
            [one] if one.msg_hdr.msg_controllen == 0 => {
                let (message, bytes) = (&one.msg_hdr, &self.vectors[0]);
                let (socket, start, length) = (socket.as_raw_fd(), bytes.iov_base, bytes.iov_len);
                let (name, name_bytes) = (message.msg_name.cast(), message.msg_namelen);
                // SAFETY: K1: the name and the bytes are borrowed for 'a, with these lengths; the kernel only reads them.
                answer(unsafe { libc::sendto(socket, start, length, libc::MSG_DONTWAIT, name, name_bytes) } as c_int).map(|_| 1)
            }
            // SAFETY: K1: the names and bytes are borrowed for 'a, vectors and controls with `self`; the kernel only reads them.
            [one] => answer(unsafe { libc::sendmsg(socket.as_raw_fd(), &one.msg_hdr, libc::MSG_DONTWAIT) } as c_int).map(|_| 1),
            // SAFETY: K1: as above, for each of `count` headers; in the headers the kernel writes lengths.
            many => answer(unsafe { libc::sendmmsg(socket.as_raw_fd(), many.as_mut_ptr(), count as _, libc::MSG_DONTWAIT as _) }),
        }
    }
}

/// A message that has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) from: SocketAddr,
    pub(super) bytes: usize,
    /// The length of the datagrams of which it was joined.
    pub(super) joined_from: Option<usize>,
}

/// The headers of messages to receive; kept so that receiving allocates nothing.
pub(super) struct Arrivals {
    headers: Box<[mmsghdr]>,
    vectors: Box<[iovec]>,
    names: Box<[[u8; NAME_BYTES]]>,
    controls: Box<[[u8; BESIDE_BYTES]]>,
}

// SAFETY: K2: the pointers, which alone forbid it, mean nothing between calls.
unsafe impl Send for Arrivals {}

impl Arrivals {
    /// For so many messages per call.
    pub(super) fn new(messages: usize) -> Self {
        Self {
            headers: headers(messages),
            vectors: vectors(messages),
            names: vec![[0; NAME_BYTES]; messages].into(),
            controls: vec![[0; BESIDE_BYTES]; messages].into(),
        }
    }

    /// Receives what there is, one message into each slot from the first on, and returns how many.
    pub(super) fn receive<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        slots: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<usize, Errno> {
        let places = self.headers.iter_mut().zip(&mut self.vectors).zip(&mut self.names).zip(&mut self.controls);
        let mut count = 0;
        for (slot, (((header, vector), name), control)) in slots.zip(places) {
            *vector = iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            header.msg_hdr.msg_name = name.as_mut_ptr().cast();
            header.msg_hdr.msg_namelen = NAME_BYTES as _;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = BESIDE_BYTES as _;
            count += 1;
        }
        let (socket, first, flags) = (socket.as_raw_fd(), self.headers.as_mut_ptr(), libc::MSG_DONTWAIT as _);
        if let [one] = &mut self.headers[..count] {
            // SAFETY: K1: as below, for one header.
            let bytes = answer(unsafe { libc::recvmsg(socket, &mut one.msg_hdr, libc::MSG_DONTWAIT) } as c_int)?;
            one.msg_len = bytes as _;
            return Ok(1);
        }
        // SAFETY: K1: the slots are borrowed for 'a, the rest with `self`, all mutably; `count` headers have been written.
        answer(unsafe { libc::recvmmsg(socket, first, count as _, flags, ptr::null_mut()) })
    }

    /// The message in a slot that the last call has filled; `None` if a part of it, or of what came beside it, did not fit.
    pub(super) fn message(&self, slot: usize) -> Option<Arrived> {
        let header = &self.headers[slot];
        // The types of these lengths differ between C libraries.
        let (name_bytes, control_bytes): (usize, usize) = (header.msg_hdr.msg_namelen as _, header.msg_hdr.msg_controllen as _);
        if header.msg_hdr.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
            return None;
        }
        Some(Arrived {
            from: name::read(self.names[slot].get(..name_bytes)?)?,
            bytes: header.msg_len as usize,
            joined_from: control::joined_from(self.controls[slot].get(..control_bytes)?),
        })
    }
}

/// Sets an option that is a number.
pub(super) fn set_option(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: c_int) -> Result<(), Errno> {
    let bytes = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until it has answered.
    answer(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), bytes) }).map(|_| ())
}

/// What a call returned, as a number or as the error that it left.
fn answer(returned: c_int) -> Result<usize, Errno> {
    usize::try_from(returned).map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

fn headers(count: usize) -> Box<[mmsghdr]> {
    // SAFETY: K3.
    (0..count).map(|_| unsafe { mem::zeroed() }).collect()
}

fn vectors(count: usize) -> Box<[iovec]> {
    vec![iovec { iov_base: ptr::null_mut(), iov_len: 0 }; count].into()
}
