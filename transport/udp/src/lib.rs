//! Ranks of several hosts: the protocol over UDP sockets, in batches.
//!
//! | part | for |
//! |---|---|
//! | [`Udp`] | the transport |
//! | `driver` | a rank's conversations and its socket, driven by the thread that holds their lock |
//! | `progress_thread` | the thread that drives them while the rank computes or sleeps |
//! | `wait_set` | the event wait set (`epoll`) on which the progress thread sleeps |
//! | [`Socket`] | a UDP socket that sends and receives many datagrams per system call |
//! | [`Outgoing`], [`Incoming`] | the memory in which datagrams are assembled and read in place; no call allocates |
//!
//! `pelago-protocol` defines the contents of datagrams and makes them reliable; `pelago_kit::datagrams` keeps the memory that peers may reach.
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
