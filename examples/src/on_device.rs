//! Fields in GPU memory and the exchange of their halos, shared by programs.

use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use pelago::cuda::{CudaError, Device, Driver, Stream};
use pelago::halo::{Block, Explanation, Field, Layout, Plan, Settings, StreamPlan};
use pelago::{DeviceMemory, Pod, World};

use crate::usage::Stop;

/// Where a rank computes, and how halos are exchanged there.
#[derive(Args)]
pub(crate) struct Placement {
    /// Where the arrays are and are computed: host, or cuda (GPUs, by turns)
    #[arg(long, value_name = "KIND", default_value = "host")]
    pub(crate) device: Place,
    /// GPUs: put the halo exchange into the stream of the kernels, so that the host waits for neither
    #[arg(long)]
    queued: bool,
}

impl Placement {
    /// Checks that the options fit together.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        let is_wrong = self.queued && self.device == Place::Host;
        if is_wrong { Err(Stop::Wrong("only GPUs queue an exchange: give --device cuda".into())) } else { Ok(()) }
    }

    /// Builds the plans of two sets of fields, into the stream if that is requested. Collective.
    pub(crate) fn plans<'w, T: Pod, const D: usize>(
        &self,
        world: &'w World,
        [one, other]: [&mut [Field<'w, T, D>]; 2],
        settings: &Settings,
        stream: Option<&Arc<Stream>>,
    ) -> pelago::Result<Plans<'w, T, D>> {
        Ok(match stream.filter(|_| self.queued) {
            Some(stream) => {
                let build = |fields| StreamPlan::build(world, fields, settings, stream.clone());
                Plans::Stream(vec![build(one)?, build(other)?])
            }
            None => Plans::Host(vec![Plan::build(world, one, settings)?, Plan::build(world, other, settings)?]),
        })
    }
}

/// The exchange plans of two sets of fields that alternate, executed by the host or in the stream of the kernels.
pub(crate) enum Plans<'w, T: Pod, const D: usize> {
    Host(Vec<Plan<'w, T, D>>),
    Stream(Vec<StreamPlan<'w, T, D>>),
}

impl<'w, T: Pod, const D: usize> Plans<'w, T, D> {
    pub(crate) fn explain(&self) -> &Explanation {
        match self {
            Self::Host(plans) => plans[0].explain(),
            Self::Stream(plans) => plans[0].explain(),
        }
    }

    /// Starts the exchange of the set `which`: by the host, or behind the kernels in the stream.
    pub(crate) fn start(&mut self, which: usize, fields: &mut [Field<'w, T, D>]) -> pelago::Result<()> {
        match self {
            Self::Host(plans) => plans[which].start(fields),
            Self::Stream(plans) => plans[which].start(fields),
        }
    }

    /// Ends the exchange: waits for it, or makes the kernels that follow in the stream wait for it.
    pub(crate) fn finish(&mut self, which: usize, fields: &mut [Field<'w, T, D>]) -> pelago::Result<()> {
        match self {
            Self::Host(plans) => plans[which].wait(fields),
            Self::Stream(plans) => plans[which].finish(fields),
        }
    }

    /// Waits for the kernels in the stream: always, or only at the end of all steps if the stream has the exchanges, too.
    pub(crate) fn end_step(
        &mut self,
        which: usize,
        is_last: bool,
        wait_for_kernels: impl FnOnce() -> pelago::Result<()>,
    ) -> pelago::Result<()> {
        match self {
            Self::Host(_) => wait_for_kernels(),
            Self::Stream(plans) if is_last => plans[which].wait(),
            Self::Stream(_) => Ok(()),
        }
    }
}

/// Where a rank computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    Host,
    Cuda,
}

/// Returns the GPU of this rank; ranks use the devices round-robin.
pub(crate) fn own_device(world: &World) -> Result<Device, CudaError> {
    Device::get(world.rank().number() % Driver::get()?.devices())
}

/// Reads the first `count` numbers in GPU memory.
pub(crate) fn values<T, const B: usize>(
    memory: &dyn DeviceMemory,
    count: usize,
    number: impl Fn([u8; B]) -> T,
) -> pelago::Result<Vec<T>> {
    let mut all = vec![0; count * B];
    memory.read(0, &mut all).map_err(|_| pelago::Error::Invalid("the GPU failed"))?;
    Ok(all.as_chunks().0.iter().map(|&bytes| number(bytes)).collect())
}

/// Writes the first numbers in GPU memory.
pub(crate) fn set_values<const B: usize>(
    memory: &dyn DeviceMemory,
    numbers: impl Iterator<Item = [u8; B]>,
) -> pelago::Result<()> {
    let all: Vec<u8> = numbers.flatten().collect();
    memory.write(0, &all).map_err(|_| pelago::Error::Invalid("the GPU failed"))
}

/// Calls `act` with the index and the global position of each cell of the block, row by row.
pub(crate) fn each_cell<const D: usize>(layout: &Layout<D>, mut act: impl FnMut(usize, [usize; D])) {
    let Block { first, cells } = layout.block();
    for number in 0..cells.iter().product() {
        let mut rest: usize = number;
        let mut at = [0; D];
        for d in (0..D).rev() {
            (at[d], rest) = (rest % cells[d], rest / cells[d]);
        }
        let index = layout.index(at.map(|at| at as isize)).expect("a cell of the block");
        act(index, std::array::from_fn(|d| first[d] + at[d]));
    }
}

/// Prints the error of a GPU; returns the error that ends the job.
pub(crate) fn told(program: &str, world: &World, why: &CudaError) -> pelago::Error {
    let _ = writeln!(std::io::stderr(), "{program}: rank {}: {why}", world.rank());
    pelago::Error::Invalid("the GPU failed")
}
