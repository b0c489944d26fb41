//! A rank whose host's memory was made by a launcher, or a program that was started alone.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use pelago_base::Rank;
use pelago_platform::{Bootstrap, BootstrapError, Park, Woken};
use pelago_shm::{Host, HostError};

use crate::environment::LaunchedJob;
use crate::{OsClock, OsPark, Settings};

/// A rank among those of its host.
pub struct Local {
    host: Arc<Host>,
    rank: Rank,
    park: Arc<OsPark>,
}

/// A program could not become a rank.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The memory of the job cannot be used.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The launcher's descriptor did not survive until here.
    #[error(
        "descriptor {0}, which the launcher left for this rank, is not open: something between the launcher and this program closed it"
    )]
    Descriptor(RawFd),
    /// The launcher's numbers do not fit its memory.
    #[error("{rank} of {size} does not belong to the memory of this job, which has {ranks} ranks")]
    Rank {
        /// The rank that the environment names.
        rank: Rank,
        /// The size that the environment names.
        size: u32,
        /// The ranks that the memory was made for.
        ranks: u32,
    },
}

impl Local {
    /// Becomes the rank that `settings` names, or the only rank of a job of its own.
    ///
    /// # Errors
    /// The memory of the job cannot be used.
    pub fn start(settings: &Settings, clock: OsClock) -> Result<Self, StartError> {
        let (host, rank) = match settings.job {
            Some(LaunchedJob { rank, size, memory }) => {
                let host = Host::attach(&inherit(memory)?)?;
                if host.ranks() != size || host.control(rank).is_none() {
                    return Err(StartError::Rank { rank, size, ranks: host.ranks() });
                }
                (host, rank)
            }
            None => (Host::create(1, settings.heap_bytes)?.0, Rank::new(0)),
        };
        let host = Arc::new(host);
        host.join(rank);
        let park = Arc::new(OsPark::new(host.clone(), rank, clock, settings.deadlock_after));
        Ok(Self { host, rank, park })
    }

    /// The memory of this host.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// How this rank waits.
    pub fn park(&self) -> &Arc<OsPark> {
        &self.park
    }
}

impl Bootstrap for Local {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.host.ranks()
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        let published = self.host.publish(self.rank, key, value);
        published.then_some(()).ok_or(BootstrapError::TooLong(key.len() + value.len()))
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        self.host.published(rank, key).ok_or_else(|| BootstrapError::Missing(rank, key.into()))
    }

    fn barrier(&mut self) -> Result<(), BootstrapError> {
        let count = u64::from(self.size());
        let target = (self.host.arrive() / count + 1) * count;
        while self.host.arrivals() < target {
            if let Woken::Fault(fault) = self.park.park(None, &mut || self.host.arrivals() >= target) {
                return Err(fault.into());
            }
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.host.finish(self.rank);
    }
}

/// Takes over a descriptor that the launcher left open.
fn inherit(descriptor: RawFd) -> Result<OwnedFd, StartError> {
    // SAFETY: only looked at; closed or foreign descriptors are an error of the call.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    // Programs that this rank starts are not ranks.
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC).map_err(|_| StartError::Descriptor(descriptor))?;
    // SAFETY: open, and by the agreement with the launcher nobody else in this process uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(job: Option<LaunchedJob>) -> Settings {
        let none = Settings::from_variables(|_| None).unwrap();
        Settings { job, heap_bytes: Some(1 << 20), ..none }
    }

    #[test]
    fn a_program_alone_is_a_job_of_one() {
        let mut local = Local::start(&settings(None), OsClock::start()).unwrap();
        assert_eq!((local.rank(), local.size()), (Rank::new(0), 1));
        local.publish("key", b"value").unwrap();
        local.barrier().unwrap();
        assert_eq!(local.lookup(Rank::new(0), "key").unwrap(), b"value");
        assert!(matches!(local.lookup(Rank::new(0), "other"), Err(BootstrapError::Missing(..))));
        assert!(matches!(local.publish("long", &[0; 5000]), Err(BootstrapError::TooLong(_))));
    }

    #[test]
    fn a_descriptor_that_is_closed_is_an_error() {
        let job = LaunchedJob { rank: Rank::new(0), size: 1, memory: 9999 };
        let error = Local::start(&settings(Some(job)), OsClock::start()).err().unwrap();
        assert!(matches!(error, StartError::Descriptor(9999)), "{error}");
    }
}
