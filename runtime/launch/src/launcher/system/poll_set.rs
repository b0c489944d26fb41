//! A set of descriptors with a query for the readable ones: the cost depends on their number only, not on the thousands of others.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// Descriptors that are identified by a number each.
pub(crate) struct PollSet {
    set: OwnedFd,
    events: Vec<epoll::Event>,
}

/// Maximum number of events per query; the others are returned by the next query.
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
        // Fails only for a descriptor that is not in the set.
        let _ = epoll::delete(&self.set, descriptor);
    }

    /// Returns a descriptor that is readable if one of the set is.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.set
    }

    /// Returns the numbers of some readable descriptors.
    pub(crate) fn poll(&mut self) -> Result<Vec<u64>, SystemCallError> {
        self.events.clear();
        match epoll::wait(&self.set, rustix::buffer::spare_capacity(&mut self.events), Some(&NOW)) {
            Ok(_) | Err(Errno::INTR) => Ok(self.events.iter().map(|event| event.data.u64()).collect()),
            Err(error) => Err(error).named("epoll_wait"),
        }
    }
}
