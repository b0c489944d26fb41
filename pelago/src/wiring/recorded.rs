//! The record of a rank for a trace of its job (`pelago run --trace`, `--record`, `--report`), and the clock offsets of its hosts.

use std::path::PathBuf;
use std::sync::Arc;

use pelago_base::Rank;
use pelago_kit::{Record, RecordWaits, RecordedHost, RecordedRank, Recording};
use pelago_launch::{OsClock, RecordSettings};
use pelago_platform::{Clock, Transport, Wait};
use pelago_shm::HostMemory;

use crate::{Error, World};

/// Number of readings of rank 0's clock by the first rank of a host; the reading with the shortest round trip counts.
const READINGS: u64 = 16;

/// The record of a rank, and its file.
pub(crate) struct RankRecord {
    recording: Arc<Recording>,
    host: RecordedHost,
    clock: OsClock,
    file: PathBuf,
    all: bool,
    /// Whether the rank is in the sample. If not, nothing is recorded, and the object only measures the clock of its host.
    is_sampled: bool,
}

impl RankRecord {
    /// Creates a record of `me`.
    pub(super) fn new(settings: RecordSettings, me: Rank, host: &HostMemory, clock: OsClock) -> Self {
        let RecordSettings { folder, all, sample } = settings;
        let is_sampled = sample.has(me);
        let recording = Recording::new(me, host.reach().addresses(), sample);
        let host = RecordedHost { first: host.first().number(), ..RecordedHost::default() };
        Self { recording, host, clock, file: folder.join(me.to_string()), all, is_sampled }
    }

    pub(super) fn transport(&self, inner: Box<dyn Transport>) -> Box<dyn Transport> {
        if !self.is_sampled {
            return inner;
        }
        Box::new(Record::new(inner, self.recording.clone(), Arc::new(self.clock)))
    }

    pub(super) fn wait(&self, inner: Arc<dyn Wait>) -> Arc<dyn Wait> {
        if !self.is_sampled {
            return inner;
        }
        Arc::new(RecordWaits::new(inner, self.recording.clone(), Arc::new(self.clock), self.all))
    }

    /// Measures the offset of this host's clock to that of the host of rank 0, and starts the time of the sample after all ranks have arrived.
    /// Collective.
    pub(super) fn begin(&mut self, world: &World, host: &HostMemory) -> Result<(), Error> {
        self.align(world, host)?;
        world.barrier()?;
        self.recording.start(self.clock.now());
        Ok(())
    }

    /// Measures the offset of this host's clock to that of the host of rank 0. Collective.
    ///
    /// The first rank of each other host increments a word of rank 0, which replies with its time. This time lies between the begin and
    /// the end of the reading; half of their difference bounds the error.
    fn align(&mut self, world: &World, host: &HostMemory) -> Result<(), Error> {
        const ASKED: usize = 0;
        const ANSWERED: usize = 1;
        const TIME: usize = 2;
        let first_ranks = host.first_ranks();
        if host.is_whole_job() || first_ranks.len() < 2 {
            return Ok(());
        }
        let started_ns = self.clock.started_ns();
        let now_ns = || started_ns + self.clock.now().as_picoseconds() / 1000;
        let words = world.alloc::<u64>(3)?;
        let (zero, me) = (Rank::new(0), world.rank());
        if me == zero {
            let all = (first_ranks.len() as u64 - 1) * READINGS;
            let mut answered = 0;
            world.wait_until(words.local(), ASKED, |asked| {
                if asked > answered {
                    words.local().store(TIME, now_ns());
                    words.local().store(ANSWERED, asked);
                    answered = asked;
                }
                asked == all
            })?;
        } else if me == host.first() {
            let mut shortest = u64::MAX;
            for _ in 0..READINGS {
                let begun = now_ns();
                let number = world.fetch_add(words.at(zero, ASKED), 1)?.wait()? + 1;
                while world.get(words.at(zero, ANSWERED))? < number {
                    std::hint::spin_loop();
                }
                let there = world.get(words.at(zero, TIME))?;
                let ended = now_ns();
                if ended - begun < shortest {
                    shortest = ended - begun;
                    self.host.offset_ns = there as i64 - (begun + shortest / 2) as i64;
                    self.host.error_ns = shortest.div_ceil(2);
                }
            }
        }
        Ok(())
    }

    /// Writes the record, or prints the reason in one line; the launcher refuses what a failed write has left. Of the ranks that are not in the
    /// sample, only the first of each host writes one.
    pub(crate) fn leave(&self, rank: Rank) {
        if !self.is_sampled && rank.number() != self.host.first {
            return;
        }
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = RecordedHost { name: name.trim().into(), ..self.host.clone() };
        let recorded = RecordedRank { host, clock_ns: self.clock.started_ns(), ..self.recording.recorded(self.clock.now()) };
        if let Err(error) = std::fs::write(&self.file, recorded.to_string()) {
            eprintln!("rank {rank}: cannot leave its part of the trace in {}: {error}", self.file.display());
        }
    }
}
