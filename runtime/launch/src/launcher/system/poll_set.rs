//! A set of descriptors, of which one asks which can be read: thousands cost no more than those that can.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// Descriptors that are told apart by a number each.
pub(crate) struct PollSet {
    set: OwnedFd,
    events: Vec<epoll::Event>,
}

/// How many are reported at once; the others come the next time.
const EVENTS: usize = 64;

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

impl PollSet {
    pub(crate) fn new() -> Result<Self, SystemCallError> {
        Ok(Self { set: epoll::create(epoll::CreateFlags::CLOEXEC).named("epoll_create1")?, events: Vec::with_capacity(EVENTS) })
    }

    /// Adds a descriptor under `number`.
    pub(crate) fn add(&self, descriptor: impl AsFd, number: u64) -> Result<(), SystemCallError> {
        epoll::add(&self.set, descriptor, epoll::EventData::new_u64(number), epoll::EventFlags::IN).named("epoll_ctl")
    }

    /// Removes a descriptor, which must be done before it is closed: a process being started may hold a copy of it.
    pub(crate) fn remove(&self, descriptor: impl AsFd) {
        // It can only fail for a descriptor that is not there.
        let _ = epoll::delete(&self.set, descriptor);
    }

    /// A descriptor that can be read when one of the set can.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.set
    }

    /// The numbers of some that can be read now.
    pub(crate) fn poll(&mut self) -> Result<Vec<u64>, SystemCallError> {
        self.events.clear();
        match epoll::wait(&self.set, rustix::buffer::spare_capacity(&mut self.events), Some(&NOW)) {
            Ok(_) | Err(Errno::INTR) => Ok(self.events.iter().map(|event| event.data.u64()).collect()),
            Err(error) => Err(error).named("epoll_wait"),
        }
    }
}
