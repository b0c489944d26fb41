//! The operations of a single rank, and the collective creation of distributed objects.

use std::sync::Arc;

use pelago::collectives::Collectives;
use pelago::{Duration, Rank as Number};
use pyo3::prelude::*;

use crate::device;
use crate::dlpack::Tensor;
use crate::grid::{self, Grid};
use crate::link::{Link, RankNumber, check_rank};
use crate::mailbox::{self, Mailbox};
use crate::map::{self, Map};
use crate::memory::Memory;
use crate::objects::Area;
use crate::rank::{duration, team_settings};
use crate::team::Team;

/// The job, seen from one rank.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct World {
    link: Arc<Link>,
}

impl World {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }
}

#[pymethods]
impl World {
    /// The number of this rank.
    #[getter]
    fn rank(&self) -> u32 {
        self.link.rank
    }

    /// The number of ranks of the job.
    #[getter]
    fn size(&self) -> u32 {
        self.link.size
    }

    /// Allocates bytes on every rank. Collective.
    fn alloc(&self, py: Python<'_>, bytes: usize) -> PyResult<Memory> {
        let (number, start) = self.link.call(py, |me| {
            let memory = me.world.alloc::<u64>(bytes.div_ceil(8))?;
            let start = memory.local().cells().pointer().as_ptr().expose_provenance();
            Ok((me.memories.insert(Area::Heap(memory)), start))
        })?;
        Ok(Memory::symmetric(self.link.clone(), number, start, bytes))
    }

    /// Provides bytes on a device of every rank: new memory of zeros, or memory of another library. Collective.
    #[pyo3(signature = (ordinal, bytes, adopted=None))]
    fn device(&self, py: Python<'_>, ordinal: u32, bytes: u64, adopted: Option<device::Described>) -> PyResult<Memory> {
        Ok(device::new(&self.link, py, ordinal, bytes, adopted)?)
    }

    /// Takes a tensor of another library out of its capsule.
    #[staticmethod]
    fn tensor(capsule: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        Tensor::take(capsule)
    }

    fn fence(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| Ok(me.world.fence()?))?)
    }

    fn quiet(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| Ok(me.world.quiet()?))?)
    }

    fn flush(&self, py: Python<'_>, rank: RankNumber) -> PyResult<()> {
        let RankNumber(rank) = rank;
        check_rank(&self.link, rank)?;
        Ok(self.link.call(py, |me| Ok(me.world.flush(Number::new(rank))?))?)
    }

    fn progress(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.link.call(py, |me| Ok(me.world.progress()))?)
    }

    /// Whether the memory of a rank is mapped in this process.
    fn maps(&self, py: Python<'_>, rank: RankNumber) -> PyResult<bool> {
        let RankNumber(rank) = rank;
        check_rank(&self.link, rank)?;
        Ok(self.link.call(py, |me| Ok(me.world.maps(Number::new(rank))))?)
    }

    /// Seconds since the start of the job, on the clock of this rank.
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.link.call(py, |me| Ok(me.world.now().as_picoseconds() as f64 * 1e-12))?)
    }

    /// Accounts for a computation of the program of `seconds` seconds.
    fn compute(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let time = duration(Some(seconds))?.unwrap_or(Duration::ZERO);
        Ok(self.link.call(py, |me| {
            me.world.compute(time);
            Ok(())
        })?)
    }

    /// Returns the team of all ranks.
    fn all(&self) -> Team {
        Team::all(self.link.clone())
    }

    /// Creates the team of the listed ranks; `None` for a rank that is not a member. Collective over all ranks.
    fn team(&self, py: Python<'_>, ranks: Vec<RankNumber>) -> PyResult<Option<Team>> {
        let ranks: Vec<u32> = ranks.into_iter().map(|RankNumber(rank)| rank).collect();
        ranks.iter().try_for_each(|&rank| check_rank(&self.link, rank))?;
        let members = ranks.clone();
        let made = self.link.call(py, |me| {
            let members: Vec<_> = members.into_iter().map(Number::new).collect();
            let team = pelago::Team::of(&members).map_err(pelago::Error::from)?;
            let Some(team) = Collectives::of(me.world, &team, &team_settings())? else { return Ok(None) };
            let position = team.position();
            Ok(Some((me.teams.insert(me.arenas.teams.keep(team)?), position)))
        })?;
        Ok(made.map(|(number, position)| Team::of(self.link.clone(), number, position, ranks)))
    }

    /// Creates a mailbox. Collective.
    fn mailbox(&self, py: Python<'_>, receiver: Option<RankNumber>, slots: u32, message_bytes: usize) -> PyResult<Mailbox> {
        let receiver = receiver.map(|RankNumber(receiver)| receiver);
        receiver.map_or(Ok(()), |receiver| check_rank(&self.link, receiver))?;
        Ok(mailbox::new(&self.link, py, receiver, slots, message_bytes)?)
    }

    /// Creates fields on a grid of blocks, one block for each rank. Collective.
    fn grid(&self, py: Python<'_>, description: grid::Description) -> PyResult<Grid> {
        Ok(grid::new(&self.link, py, description)?)
    }

    /// Creates a map of keys to values, both of a fixed length, over all ranks. Collective.
    fn map(&self, py: Python<'_>, key_bytes: usize, value_bytes: usize, buckets: usize, heap_bytes: u64) -> PyResult<Map> {
        Ok(map::new(&self.link, py, [key_bytes, value_bytes], buckets, heap_bytes)?)
    }
}
