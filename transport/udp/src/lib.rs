//! Ranks of several hosts: the protocol over UDP sockets, in batches.
//!
//! | part | for |
//! |---|---|
//! | [`Udp`] | the transport |
//! | `driver` | a rank's conversations and its socket, moved by whoever holds them |
//! | `progress_thread` | the thread that holds them while the rank computes or sleeps |
//! | `wait_set` | the event wait set (`epoll`) by which the progress thread sleeps |
//! | [`Socket`] | a UDP socket that gives the kernel many datagrams at once, and takes many at once |
//! | [`Outgoing`], [`Incoming`] | the memory in which datagrams are assembled and read in place; no call allocates |
//!
//! What travels, and how it is made reliable, is `pelago-protocol`; which memory peers may reach, `pelago_kit::datagrams`.
//! Absent on purpose: handles, waiting, and who the ranks are.

mod driver;
pub mod limits;
mod progress_thread;
mod socket;
mod transport;
mod wait_set;

pub use driver::{Unwatched, Watcher};
pub use pelago_protocol::Liveness;
pub use socket::{Incoming, Outgoing, Sent, Socket};
pub use transport::{CAPABILITIES, Setup, Udp};
