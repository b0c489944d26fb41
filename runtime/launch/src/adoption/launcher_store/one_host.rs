//! The launcher of a job whose processes are all on one host and get all information from its variables: Open MPI's `mpirun`.
//!
//! Then no process connects to the launcher. A connection by PMIx loads about thirty libraries and starts threads, which takes 7 ms of a core per process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::Instant;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::OsClock;
use crate::adoption::gathering::message::Secret;
use crate::adoption::launcher_store::pmix::Pmix;
use crate::adoption::launcher_store::{JobFacts, KeyValue, Placement, StoreError, StoreEvent};
use crate::adoption::monitor::process_identity::{ProcessIdentity, ProcessLookup};
use crate::rank::mpirun::OneHostJob;

/// The launcher, to which there is no connection unless the job is to be ended.
pub(crate) struct OneHost {
    facts: JobFacts,
    secret: Secret,
    /// Becomes readable when the launcher has ended.
    launcher: OwnedFd,
    clock: OsClock,
}

impl OneHost {
    /// Returns the launcher of this process, if its variables are complete.
    pub(crate) fn find(clock: OsClock) -> Option<Self> {
        let OneHostJob { rank, size, job, secret, launcher } = OneHostJob::of_variables(|name| std::env::var(name).ok())?;
        let ProcessLookup::Running(launcher) = ProcessIdentity::of(launcher).find() else { return None };
        let secret = Secret::parse(&secret)?;
        Some(Self { facts: JobFacts { rank, size, job, placement: Placement::one_host(size) }, secret, launcher, clock })
    }
}

impl KeyValue for OneHost {
    fn facts(&self) -> &JobFacts {
        &self.facts
    }

    fn secret(&self) -> Option<Secret> {
        Some(self.secret)
    }

    /// All processes already know the secret, which is the only value that the ranks of one host store.
    fn put(&mut self, _key: &str, _value: &str, _until: Instant) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&mut self, _owner: u32, _key: &str, _until: Instant) -> Result<String, StoreError> {
        Ok(self.secret.to_string())
    }

    fn awaits_values(&self) -> bool {
        true
    }

    fn arrive(&mut self, _until: Instant) -> Result<(), StoreError> {
        Err(StoreError::Refused("a fence".into(), "the ranks of one host meet in their memory".into()))
    }

    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.launcher, PollFlags::IN)], Some(&now)) {
            Ok(1..) => Err(StoreError::Gone),
            _ => Ok(None),
        }
    }

    fn leave(&mut self, _until: Instant) {}

    fn abort(&mut self, code: i32, until: Instant) {
        // If the library is missing, the launcher ends the job because of the exit code of this process.
        if let Ok(mut launcher) = Pmix::start(self.clock, until) {
            launcher.abort(code, until);
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.launcher.as_fd()
    }
}
