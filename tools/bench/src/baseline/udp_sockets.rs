//! The raw limits over UDP: plain sockets between ranks of this host, polled continuously.
//!
//! Datagrams carry only the payload of the operation: no sequence numbers, tags or offsets. Loopback is lossless and ordered as long as the
//! bytes in flight fit the receiver's socket buffer; a missing datagram is an error.

use std::hint::spin_loop;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use pelago::limits::{UDP_DATAGRAM_BYTES_MAX, UDP_MESSAGE_BYTES_MAX, UDP_RUN_BYTES_MAX, UDP_RUN_DATAGRAMS_MAX};
use rustix::net::sockopt;

use crate::baseline::mapped_memory::set_udp_option;
use crate::error::{Error, Result};

/// Maximum bytes of a stream in flight.
const WINDOW_BYTES: usize = 1 << 20;

/// Requested socket buffer: the window, with the system's overhead for each datagram.
const BUFFER_BYTES: usize = 4 * WINDOW_BYTES;

/// Number of acknowledgements that the receiver of a stream sends per window.
const TOLD_PER_WINDOW: usize = 4;

/// Header bytes of a datagram over IPv4.
const HEADER_BYTES: usize = 28;

/// Polls of a socket, a third of a microsecond each, before the thread yields: longer than a reply takes on an idle machine.
const LOOKS: u32 = 200;

/// The same where ranks are oversubscribed and the awaited rank may need this core.
const LOOKS_OVERSUBSCRIBED: u32 = 1;

/// Time after which an awaited datagram counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// The polled socket of a rank.
pub(crate) struct Plain {
    socket: UdpSocket,
    /// Number of polls before the thread yields.
    looks: u32,
}

impl Plain {
    /// Binds a socket on loopback; `oversubscribed`: whether ranks share cores.
    pub(crate) fn bind(oversubscribed: bool) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, looks: if oversubscribed { LOOKS_OVERSUBSCRIBED } else { LOOKS } })
    }

    /// Returns the port of the socket.
    pub(crate) fn port(&self) -> Result<u16> {
        self.socket.local_addr().map(|address| address.port()).map_err(failed)
    }

    /// Sends a datagram to the socket at `port`.
    pub(crate) fn send_to(&self, bytes: &[u8], port: u16) -> Result<()> {
        self.poll(|| self.socket.send_to(bytes, (Ipv4Addr::LOCALHOST, port))).map(drop)
    }

    /// Waits for a datagram, and returns its length.
    #[inline(always)]
    pub(crate) fn receive(&self, into: &mut [u8]) -> Result<usize> {
        self.poll(|| self.socket.recv(into))
    }

    /// Repeats a non-blocking call until it succeeds or fails.
    #[inline(always)]
    fn poll(&self, mut attempt: impl FnMut() -> io::Result<usize>) -> Result<usize> {
        let (mut looks, mut since) = (0, None);
        loop {
            match attempt() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other.map_err(failed),
            }
            looks += 1;
            if looks % self.looks == 0 {
                if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    return Err(failed(ErrorKind::TimedOut.into()));
                }
                yield_now();
            }
            spin_loop();
        }
    }
}

/// One end of a line between two ranks: connected sockets.
pub(crate) struct Line {
    plain: Plain,
    /// Bytes of a datagram of a stream, and of the run of datagrams that one system call passes to the kernel.
    datagram_bytes: usize,
    message_bytes: usize,
    window_bytes: usize,
    buffer: Mutex<Box<[u8]>>,
}

impl Line {
    /// Connects the line to the socket at `port`.
    pub(crate) fn to(plain: Plain, port: u16) -> Result<Self> {
        plain.socket.connect((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let refused = |error: rustix::io::Errno| failed(error.into());
        let held_bytes = enlarge(&plain.socket).map_err(refused)?;
        let packet_bytes = sockopt::ip_mtu(&plain.socket).map_err(refused)? as usize;
        let datagram_bytes = packet_bytes.saturating_sub(HEADER_BYTES).clamp(1, UDP_DATAGRAM_BYTES_MAX);
        // Older kernels lack segmentation and receive offload: then each datagram is passed alone.
        let options = [(libc::UDP_SEGMENT, 0), (libc::UDP_GRO, 1)];
        let cuts = options.into_iter().all(|(option, value)| set_udp_option(plain.socket.as_fd(), option, value).is_ok());
        let datagrams = if cuts { (UDP_RUN_BYTES_MAX / datagram_bytes).min(UDP_RUN_DATAGRAMS_MAX) } else { 1 };
        Ok(Self {
            plain,
            datagram_bytes,
            message_bytes: datagrams * datagram_bytes,
            window_bytes: WINDOW_BYTES.min(held_bytes / 2),
            buffer: Mutex::new(vec![0; UDP_MESSAGE_BYTES_MAX].into()),
        })
    }

    /// Sends `question` and waits for the answer, which is as long as `answer`.
    #[inline(never)]
    pub(crate) fn ask(&self, question: &[u8], answer: &mut [u8]) -> Result<()> {
        self.send(question)?;
        if self.plain.receive(answer)? == answer.len() { Ok(()) } else { Err(failed(ErrorKind::InvalidData.into())) }
    }

    /// Waits for `count` questions; `answer` sends the answer to each.
    #[inline(never)]
    pub(crate) fn serve(&self, count: u64, mut answer: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).try_for_each(|_| {
            let bytes = self.plain.receive(&mut buffer)?;
            answer(&buffer[..bytes])
        })
    }

    /// Like [`serve`](Self::serve), but sleeps in the kernel until a question arrives.
    pub(crate) fn attend(&self, count: u64, answer: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let socket = &self.plain.socket;
        socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(PATIENCE))).map_err(failed)?;
        let served = self.serve(count, answer);
        socket.set_nonblocking(true).map_err(failed)?;
        served
    }

    /// Sends one datagram.
    #[inline(always)]
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<()> {
        self.plain.poll(|| self.plain.socket.send(bytes)).map(drop)
    }

    /// Sends `bytes` in datagrams of the library's size, in runs that pass the kernel as one message, within the window. Returns when the
    /// receiver has acknowledged all bytes.
    #[inline(never)]
    pub(crate) fn stream(&self, bytes: &[u8]) -> Result<()> {
        self.cut_into(self.datagram_bytes)?;
        let (mut sent, mut told) = (0, 0);
        for part in bytes.chunks(self.message_bytes) {
            while sent > told && sent + part.len() > told + self.window_bytes {
                told = self.hear()?;
            }
            self.send(part)?;
            sent += part.len();
        }
        while told < sent {
            told = self.hear()?;
        }
        // Sending without segmentation costs less.
        self.cut_into(0)
    }

    /// Sets the segment size for following messages, if the kernel supports segmentation; 0 turns it off.
    fn cut_into(&self, datagram_bytes: usize) -> Result<()> {
        if self.message_bytes == self.datagram_bytes {
            return Ok(());
        }
        set_udp_option(self.plain.socket.as_fd(), libc::UDP_SEGMENT, datagram_bytes as libc::c_int).map_err(failed)
    }

    /// Receives a stream of as many bytes as `into` has. Each message is copied once more, because the receiver does not know its destination
    /// before it arrives.
    #[inline(never)]
    pub(crate) fn take(&self, into: &mut [u8]) -> Result<()> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut taken, mut told) = (0, 0);
        while taken < into.len() {
            let bytes = self.plain.receive(&mut buffer)?;
            let place = into.get_mut(taken..taken + bytes).ok_or_else(|| failed(ErrorKind::InvalidData.into()))?;
            place.copy_from_slice(&buffer[..bytes]);
            taken += bytes;
            if taken == into.len() || taken - told >= self.window_bytes / TOLD_PER_WINDOW {
                self.send(&(taken as u64).to_le_bytes())?;
                told = taken;
            }
        }
        Ok(())
    }

    /// Receives an acknowledgement: the bytes of a stream that have arrived.
    fn hear(&self) -> Result<usize> {
        let mut told = [0; 8];
        self.plain.receive(&mut told)?;
        Ok(u64::from_le_bytes(told) as usize)
    }
}

/// Requests large buffers, above the system's limit if permitted; returns the bytes that the socket holds.
fn enlarge(socket: &UdpSocket) -> rustix::io::Result<usize> {
    sockopt::set_socket_recv_buffer_size_force(socket, BUFFER_BYTES)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, BUFFER_BYTES))?;
    sockopt::set_socket_send_buffer_size_force(socket, BUFFER_BYTES)
        .or_else(|_| sockopt::set_socket_send_buffer_size(socket, BUFFER_BYTES))?;
    // The system reports twice the requested size, as it includes its overhead.
    Ok(sockopt::socket_recv_buffer_size(socket)? / 2)
}

fn failed(error: io::Error) -> Error {
    Error::System("a plain datagram between ranks", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> [Line; 2] {
        let plain = [(); 2].map(|()| Plain::bind(true).unwrap());
        let [one, other] = [plain[0].port().unwrap(), plain[1].port().unwrap()];
        let [first, second] = plain;
        [Line::to(first, other).unwrap(), Line::to(second, one).unwrap()]
    }

    #[test]
    fn each_question_has_its_answer() {
        let [asks, answers] = line();
        std::thread::scope(|scope| {
            scope.spawn(|| answers.serve(3, |question| answers.send(&[question[0] + 1, 9])).unwrap());
            for value in [1, 5, 7] {
                let mut answer = [0; 2];
                asks.ask(&[value], &mut answer).unwrap();
                assert_eq!(answer, [value + 1, 9]);
            }
        });
        std::thread::scope(|scope| {
            scope.spawn(|| answers.attend(1, |question| answers.send(question)).unwrap());
            assert!(asks.ask(&[1], &mut [0; 2]).is_err(), "the answer is shorter than was expected");
        });
    }

    #[test]
    fn a_stream_of_several_windows_arrives_whole() {
        let [from, to] = line();
        let bytes: Vec<u8> = (0..5 * WINDOW_BYTES as u32 / 2 + 1).map(|index| (index % 251) as u8).collect();
        let mut taken = vec![0; bytes.len()];
        std::thread::scope(|scope| {
            scope.spawn(|| from.stream(&bytes).unwrap());
            to.take(&mut taken).unwrap();
        });
        assert!(bytes == taken);
    }
}
