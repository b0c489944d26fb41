//! Functions for fields in GPU memory, shared by programs.

use std::io::Write;

use clap::ValueEnum;
use pelago::cuda::{CudaError, Device, Driver};
use pelago::halo::{Block, Layout};
use pelago::{DeviceMemory, World};

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
