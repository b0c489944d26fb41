//! The system calls that move datagrams.
//!
//! Invariants of the unsafe code:
//!
//! - **K1** All that a header points to, with the length beside the pointer, is borrowed by the function that writes the header,
//!   from then until the kernel has answered; mutably, if the kernel writes there.
//! - **K2** Outside that function and those that it calls the pointers in a header are neither followed nor handed out.
//! - **K3** All bytes zero are a valid value of the C structures here.
//! - **K4** Excluding pages from core dumps does not change their contents or access to them.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{mem, ptr};

use libc::{c_int, iovec, mmsghdr};
use pelago_protocol::Gap;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::control::{self, CUT_BYTES};
use super::name::Name;

/// Excludes the pages of a value, with everything else on them, from core dumps. Where the system refuses, dumps contain them.
pub(crate) fn keep_from_dumps<T>(value: &T) {
    let page_bytes = rustix::param::page_size();
    let start = ptr::from_ref(value).addr() / page_bytes * page_bytes;
    let end = (ptr::from_ref(value).addr() + mem::size_of_val(value)).next_multiple_of(page_bytes);
    // SAFETY: K4.
    unsafe { libc::madvise(ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTDUMP) };
}

/// Bytes to send to one address, as one datagram or cut into several.
pub(super) struct Message<'a> {
    pub(super) to: &'a Name,
    /// The bytes, except those that lie outside.
    pub(super) bytes: &'a [u8],
    /// The places of missing bytes (`gaps`), counted from `start` bytes before `bytes`, and the memory that holds those bytes (`outside`).
    pub(super) start: usize,
    pub(super) gaps: &'a [Gap],
    pub(super) outside: &'a [u8],
    /// Length of the datagrams into which the kernel cuts the message.
    pub(super) cut_into: Option<u16>,
}

impl<'a> Message<'a> {
    /// Its bytes in order, from `bytes` and `outside`: one part, and two more for each gap.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (bytes, outside, start) = (self.bytes, self.outside, self.start);
        let last = &bytes[self.gaps.last().map_or(0, |gap| gap.at - start)..];
        let mut from = 0;
        let around = self.gaps.iter().flat_map(move |gap| {
            let part = &bytes[from..gap.at - start];
            from = gap.at - start;
            [part, &outside[gap.from..][..gap.bytes]]
        });
        around.chain(std::iter::once(last))
    }
}

/// The headers of messages to send; kept so that sending allocates nothing.
pub(super) struct Departures {
    headers: Box<[mmsghdr]>,
    vectors: Box<[iovec]>,
    controls: Box<[[u8; CUT_BYTES]]>,
    /// The parts of a message, joined where a filter of system calls leaves `sendto` alone.
    joined: Vec<u8>,
}

// SAFETY: K2: only the pointers prevent `Send`, and they are not used between calls.
unsafe impl Send for Departures {}

impl Departures {
    /// Allocates for `messages` messages per call, with as many gaps in total.
    pub(super) fn new(messages: usize) -> Self {
        let vectors = vectors(messages + 2 * messages);
        Self { headers: headers(messages), vectors, controls: vec![[0; CUT_BYTES]; messages].into(), joined: Vec::new() }
    }

    /// Sends the first messages, as many as the kernel takes, and returns their number; an error concerns the first message. A `connected`
    /// socket sends to its peer, whatever the addresses of the messages.
    pub(super) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        connected: bool,
        messages: impl Iterator<Item = Message<'a>>,
    ) -> Result<usize, Errno> {
        let places = self.headers.iter_mut().zip(&mut self.controls);
        let (mut count, mut free) = (0, &mut *self.vectors);
        for (message, (header, control)) in messages.zip(places) {
            let parts = 1 + 2 * message.gaps.len();
            let Some((vectors, others)) = std::mem::take(&mut free).split_at_mut_checked(parts) else { break };
            free = others;
            for (vector, part) in vectors.iter_mut().zip(message.parts()) {
                *vector = iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
            }
            (header.msg_hdr.msg_name, header.msg_hdr.msg_namelen) = (ptr::null_mut(), 0);
            if !connected {
                let name = message.to.bytes();
                (header.msg_hdr.msg_name, header.msg_hdr.msg_namelen) = (name.as_ptr().cast_mut().cast(), name.len() as _);
            }
            header.msg_hdr.msg_iov = vectors.as_mut_ptr();
            header.msg_hdr.msg_iovlen = parts as _;
            (header.msg_hdr.msg_control, header.msg_hdr.msg_controllen) = (ptr::null_mut(), 0);
            if let Some(segment_bytes) = message.cut_into {
                *control = control::cut_into(segment_bytes);
                (header.msg_hdr.msg_control, header.msg_hdr.msg_controllen) = (control.as_mut_ptr().cast(), CUT_BYTES as _);
            }
            count += 1;
        }
        let sent = self.send_by(socket, count, if count > 1 { Call::Many } else { Call::One });
        if let Err(Errno::NOSYS | Errno::PERM) = sent { self.send_first_otherwise(socket, count, sent) } else { sent }
    }

    /// Sends the first `count` messages by a call; `Call::One` sends the first.
    fn send_by(&mut self, socket: BorrowedFd<'_>, count: usize, call: Call) -> Result<usize, Errno> {
        let socket = socket.as_raw_fd();
        match (&mut self.headers[..count], call) {
            ([], _) => Ok(0),
            (many, Call::Many) => {
                // SAFETY: K1: the names and bytes are borrowed by `send`, vectors and controls with `self`; in the headers the kernel writes lengths.
                answer(unsafe { libc::sendmmsg(socket, many.as_mut_ptr(), many.len() as _, libc::MSG_DONTWAIT as _) })
            }
            // The cheapest call: the kernel reads the least.
            ([one, ..], Call::One) if one.msg_hdr.msg_controllen == 0 && one.msg_hdr.msg_iovlen == 1 => {
                let (message, bytes) = (&one.msg_hdr, &self.vectors[0]);
                let (start, length) = (bytes.iov_base, bytes.iov_len);
                let (name, name_bytes) = (message.msg_name.cast(), message.msg_namelen);
                // SAFETY: K1: the name and the bytes are borrowed by `send`, with these lengths; the kernel only reads them.
                answer(unsafe { libc::sendto(socket, start, length, libc::MSG_DONTWAIT, name, name_bytes) } as c_int).map(|_| 1)
            }
            ([one, ..], Call::One) => {
                // SAFETY: K1: as above; the kernel only reads them.
                answer(unsafe { libc::sendmsg(socket, &one.msg_hdr, libc::MSG_DONTWAIT) } as c_int).map(|_| 1)
            }
        }
    }

    /// Sends the first message after the system has answered `refusal`, by the first call that no filter of system calls refuses. A filter of packets
    /// refuses with the same error; then this is the result.
    #[cold]
    fn send_first_otherwise(
        &mut self,
        socket: BorrowedFd<'_>,
        count: usize,
        refusal: Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let is_refused = |call: Call| {
            // SAFETY: there is no such descriptor, so that the kernel reads nothing.
            let returned = unsafe {
                match call {
                    Call::One => libc::sendmsg(-1, ptr::null(), 0) as c_int,
                    Call::Many => libc::sendmmsg(-1, ptr::null_mut(), 0, 0),
                }
            };
            matches!(answer(returned), Err(Errno::NOSYS | Errno::PERM))
        };
        let others = if count > 1 { [Call::Many, Call::One] } else { [Call::One, Call::Many] };
        if !is_refused(others[0]) {
            return refusal;
        }
        if !is_refused(others[1]) {
            return self.send_by(socket, 1, others[1]);
        }
        let first = &self.headers[0].msg_hdr;
        if first.msg_controllen > 0 {
            // As a device that cannot cut: the datagrams leave one by one.
            return Err(Errno::IO);
        }
        self.joined.clear();
        // The type of the count depends on the C library.
        for part in self.vectors.iter().take(first.msg_iovlen as _) {
            // SAFETY: K1: the bytes are borrowed by `send`, with this length, for reading.
            self.joined.extend_from_slice(unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) });
        }
        let (name, name_bytes) = (first.msg_name.cast(), first.msg_namelen);
        let (start, length) = (self.joined.as_ptr().cast(), self.joined.len());
        // SAFETY: K1: the name is borrowed by `send`, the bytes with `self`; the kernel only reads them.
        answer(unsafe { libc::sendto(socket.as_raw_fd(), start, length, libc::MSG_DONTWAIT, name, name_bytes) } as c_int)
            .map(|_| 1)
    }
}

/// The system calls that send messages.
#[derive(Clone, Copy)]
enum Call {
    /// `sendmsg`, or `sendto` if it does as well.
    One,
    /// `sendmmsg`.
    Many,
}

/// The headers of messages to receive; kept so that receiving allocates nothing.
pub(super) struct Arrivals {
    headers: Box<[mmsghdr]>,
    vectors: Box<[iovec]>,
}

// SAFETY: K2: the pointers, which alone forbid it, mean nothing between calls.
unsafe impl Send for Arrivals {}

impl Arrivals {
    /// Allocates for `messages` messages per call.
    pub(super) fn new(messages: usize) -> Self {
        Self { headers: headers(messages), vectors: vectors(messages) }
    }

    /// Receives the messages that have arrived, one into each slot from the first on, and appends their lengths.
    pub(super) fn receive<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        mut slots: impl ExactSizeIterator<Item = &'a mut [u8]>,
        lengths: &mut Vec<usize>,
    ) -> Result<(), Errno> {
        if slots.len() == 1 {
            // The cheapest call: the kernel reads the least.
            let slot = slots.next().unwrap_or_default();
            return rustix::net::recv(socket, slot, RecvFlags::DONTWAIT).map(|(bytes, _)| lengths.push(bytes));
        }
        let mut count = 0;
        for (slot, (header, vector)) in slots.zip(self.headers.iter_mut().zip(&mut self.vectors)) {
            *vector = iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        let (socket, first, flags) = (socket.as_raw_fd(), self.headers.as_mut_ptr(), libc::MSG_DONTWAIT as _);
        // SAFETY: K1: the slots are borrowed for 'a, the vectors with `self`, all mutably; `count` headers have been written.
        let filled = answer(unsafe { libc::recvmmsg(socket, first, count as _, flags, ptr::null_mut()) })?;
        lengths.extend(self.headers[..filled].iter().map(|header| header.msg_len as usize));
        Ok(())
    }
}

/// Sets a socket option with an integer value.
pub(super) fn set_option(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: c_int) -> Result<(), Errno> {
    let bytes = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until it has answered.
    answer(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), bytes) }).map(|_| ())
}

/// Converts the return value of a system call to a number or to the error in `errno`.
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
