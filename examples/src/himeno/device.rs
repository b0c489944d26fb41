//! The benchmark on a GPU: a kernel computes bitwise the same cells as the host's sweep, and the same plans exchange the halo.

use std::sync::Arc;

use pelago::cuda::kernels::Sweep;
use pelago::cuda::{CudaError, CudaMemory, DeviceRange, Stream};
use pelago::halo::{Array, Field, Layout};
use pelago::{DeviceMemory as _, World};

use super::field::Coefficients;
use super::order::{Box3, Order};
use super::sweep::sum;
use crate::on_device::{own_device, told, values};
use crate::usage::if_all_have;

/// The GPU of a rank, and the data of sweeps on it.
pub(crate) struct OnDevice {
    stream: Arc<Stream>,
    coefficients: DeviceRange,
    /// Distance between arrays of coefficients, in cells.
    distance: u64,
    squares: Arc<CudaMemory>,
}

impl OnDevice {
    /// Allocates the pressures before and after a sweep in the memory of this rank's GPU; ranks use the devices of their host round-robin.
    /// Returns `None` if a rank has no GPU or not enough GPU memory; the first such rank prints the reason. Collective.
    pub(crate) fn new<'w>(
        world: &'w World,
        array: &Array<3>,
        coefficients: &Coefficients,
    ) -> pelago::Result<Option<(Self, [Field<'w, f32, 3>; 2])>> {
        let bytes = bytes(&array.layout(array.template().nodes().place(world.rank())));
        let made = || -> Result<_, CudaError> {
            let device = own_device(world)?;
            let (stream, values) = (Arc::new(device.stream()?), coefficients.all());
            let [squares, one, other] = [device.allocate(bytes)?, device.allocate(bytes)?, device.allocate(bytes)?];
            let memory = device.allocate(size_of_val(values) as u64)?;
            let all: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            memory.write(0, &all).map_err(|_| CudaError::Invalid("the coefficients cannot be written"))?;
            let (coefficients, distance) = (DeviceRange::whole(memory), coefficients.distance() as u64);
            Ok((Self { stream, coefficients, distance, squares }, [one, other]))
        };
        let Some((on_device, [one, other])) = if_all_have(world, made(), |why| format!("himeno: {why}"))? else {
            return Ok(None);
        };
        Ok(Some((on_device, [Field::on_device(world, array, one)?, Field::on_device(world, array, other)?])))
    }

    /// Returns the stream of all sweeps.
    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Enqueues the sweep of some cells in the stream.
    pub(crate) fn sweep(
        &self,
        world: &World,
        p: &Field<'_, f32, 3>,
        next: &Field<'_, f32, 3>,
        part: &Box3,
    ) -> pelago::Result<()> {
        if part.iter().any(|range| range.is_empty()) {
            return Ok(());
        }
        let first = p.layout().index(part.each_ref().map(|range| range.start as isize)).expect("cells of the block");
        let [plane, row, _] = p.layout().strides();
        let range = |field: &Field<'_, f32, 3>| DeviceRange::whole(field.device().expect("it is on the device").clone());
        let sweep = Sweep {
            p: range(p),
            next: range(next),
            squares: DeviceRange::whole(self.squares.clone()),
            coefficients: self.coefficients.clone(),
            distance: self.distance,
            first: first as u64,
            strides: [plane as u64, row as u64],
            counts: part.each_ref().map(|range| range.len() as u64),
        };
        self.stream.himeno(&sweep).map_err(|why| told("himeno", world, &why))
    }

    /// Waits for the end of all sweeps.
    pub(crate) fn finish(&self, world: &World) -> pelago::Result<()> {
        self.stream.synchronize().map_err(|why| told("himeno", world, &why))
    }

    /// Returns the sum of the squared residuals of the last sweeps, in the host's order.
    pub(crate) fn gosa(&self, layout: &Layout<3>, order: &Order) -> pelago::Result<f64> {
        let squares = values(&*self.squares, layout.length(), f32::from_le_bytes)?;
        let row = |i: usize, j: usize, [_, _, cells]: &Box3| {
            let first = layout.index([i, j, cells.start].map(|at| at as isize)).expect("cells of the block");
            sum(&squares[first..first + cells.len()])
        };
        let mut gosa = 0.0;
        for part in std::iter::once(&order.inner).chain(&order.outer).filter(|part| !part.iter().any(|range| range.is_empty())) {
            // The order of the host: the rows of a part, then the parts.
            let rows = part[0].clone().flat_map(|i| part[1].clone().map(move |j| (i, j)));
            gosa += rows.fold(0.0, |gosa, (i, j)| gosa + row(i, j, part));
        }
        Ok(gosa)
    }
}

fn bytes(layout: &Layout<3>) -> u64 {
    layout.length() as u64 * 4
}
