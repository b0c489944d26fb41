//! The bootstrap of a simulated rank.

use std::sync::Arc;

use pelago_base::{Rank, Topology};
use pelago_platform::limits::PUBLISHED_BYTES_MAX;
use pelago_platform::{Bootstrap, BootstrapError, For, VirtualTime};

use super::shared_job::SharedJob;
use super::{NAME, address_of};
use crate::ranks::fiber;

/// The bootstrap of one rank.
pub(super) struct SimulatedBootstrap {
    pub(super) rank: Rank,
    pub(super) shared: Arc<SharedJob>,
}

impl Bootstrap for SimulatedBootstrap {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.shared.size
    }

    fn topology(&self) -> Topology {
        self.shared.topology.clone()
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        if key == NAME {
            // Addresses are computed, not stored.
            return Ok(());
        }
        let mut job = self.shared.job();
        let of_rank = job.published.range((self.rank, String::new())..).take_while(|((rank, _), _)| *rank == self.rank);
        let bytes = of_rank.map(|((_, key), value)| key.len() + value.len()).sum::<usize>() + key.len() + value.len();
        if bytes > PUBLISHED_BYTES_MAX {
            return Err(BootstrapError::TooLong(bytes));
        }
        job.published.insert((self.rank, key.into()), value.into());
        Ok(())
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        if key == NAME && rank.number() < self.shared.size {
            return Ok(address_of(rank).0);
        }
        let missing = || BootstrapError::Missing(rank, key.into());
        self.shared.job().published.get(&(rank, key.into())).cloned().ok_or_else(missing)
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        self.shared.entered();
        let met = self.meet(meanwhile);
        self.shared.left();
        met
    }

    fn finish(&mut self) {}
}

impl SimulatedBootstrap {
    fn meet(&self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        let mut job = self.shared.job();
        let meetings = job.meetings;
        if job.enter_meeting(self.rank) {
            return Ok(());
        }
        drop(job);
        loop {
            let job = self.shared.job();
            if job.meetings > meetings {
                return Ok(());
            }
            if let Some(fault) = job.fault {
                return Err(fault.into());
            }
            drop(job);
            if !meanwhile() {
                let mut job = self.shared.job();
                if job.meetings == meetings && job.fault.is_none() {
                    job.park(self.rank, None, For::Anything);
                    drop(job);
                    fiber::suspend();
                }
            }
        }
    }
}
