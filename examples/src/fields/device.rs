//! The fields on a GPU: a kernel computes bitwise the same cells as the host, and the same plans exchange the halos.

use std::sync::Arc;

use pelago::World;
use pelago::cuda::kernels::{WATER_FIELDS, Water};
use pelago::cuda::{CudaError, CudaMemory, DeviceRange, Stream};
use pelago::halo::{Array, Field};

use super::step::{CONSTANTS, Part, Parts, parts, reflections};
use super::water::{FIELDS, H, Q, U};
use crate::on_device::{own_device, told};
use crate::usage::if_all_have;

const _: () = assert!(FIELDS == WATER_FIELDS);

/// The CUDA stream of a rank.
pub(super) struct OnDevice(Arc<Stream>);

impl OnDevice {
    /// Allocates the fields before and after a step in the memory of this rank's GPU. Returns `None` if a rank has no GPU or not enough GPU memory;
    /// the first such rank prints the reason. Collective.
    #[expect(clippy::type_complexity, reason = "two sets of fields, as on the host")]
    pub(super) fn new<'w>(world: &'w World, arrays: &[Array<2>]) -> pelago::Result<Option<(Self, [Vec<Field<'w, f64, 2>>; 2])>> {
        let made = || -> Result<_, CudaError> {
            let device = own_device(world)?;
            let bytes = |array: &Array<2>| array.layout(array.template().nodes().place(world.rank())).length() as u64 * 8;
            let memory = || arrays.iter().map(|array| device.allocate(bytes(array))).collect::<Result<Vec<_>, _>>();
            Ok((Arc::new(device.stream()?), [memory()?, memory()?]))
        };
        let Some((stream, memories)) = if_all_have(world, made(), |why| format!("fields: {why}"))? else { return Ok(None) };
        let fields = |memories: Vec<Arc<CudaMemory>>| {
            let pairs = arrays.iter().zip(memories);
            pairs.map(|(array, memory)| Field::on_device(world, array, memory)).collect::<pelago::Result<Vec<_>>>()
        };
        let [one, other] = memories;
        Ok(Some((Self(stream), [fields(one)?, fields(other)?])))
    }

    /// Returns the stream of all steps.
    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.0
    }

    /// Enqueues the step of the middle of the block, which needs no halo.
    pub(super) fn middle(&self, world: &World, before: &[Field<'_, f64, 2>], after: &[Field<'_, f64, 2>]) -> pelago::Result<()> {
        self.advance(before, after, &parts(before).middle).map_err(|why| told("fields", world, &why))
    }

    /// Enqueues the step of the rest, which reads the halos.
    pub(super) fn rim(&self, world: &World, before: &[Field<'_, f64, 2>], after: &[Field<'_, f64, 2>]) -> pelago::Result<()> {
        let all = || -> Result<(), CudaError> {
            for field in [&before[H], &before[Q]] {
                for (from, to, length) in reflections(field) {
                    let row = |first: usize| range(field).part(first as u64 * 8, length as u64 * 8);
                    let missing = || CudaError::Invalid("a row of the field is not in its memory");
                    self.0.copy(&row(to).ok_or_else(missing)?, &row(from).ok_or_else(missing)?)?;
                }
            }
            let Parts { rim, .. } = parts(before);
            rim.iter().try_for_each(|part| self.advance(before, after, part))
        };
        all().map_err(|why| told("fields", world, &why))
    }

    /// Waits for the end of all steps.
    pub(super) fn finish(&self, world: &World) -> pelago::Result<()> {
        self.0.synchronize().map_err(|why| told("fields", world, &why))
    }

    fn advance(
        &self,
        before: &[Field<'_, f64, 2>],
        after: &[Field<'_, f64, 2>],
        [rows, columns]: &Part,
    ) -> Result<(), CudaError> {
        let of_each = |value: &dyn Fn(&Field<'_, f64, 2>) -> usize| std::array::from_fn(|field| value(&before[field]) as u64);
        self.0.water(&Water {
            before: std::array::from_fn(|field| range(&before[field])),
            after: std::array::from_fn(|field| range(&after[field])),
            pitches: of_each(&|field| field.layout().strides()[0]),
            origins: of_each(&|field| field.layout().index([0, 0]).expect("a cell of the block")),
            first: [rows.start as u64, columns.start as u64],
            counts: [rows.len() as u64, columns.len() as u64],
            inside: before[H].block().cells[0] as u64,
            row: before[U].block().first[0] as u64,
            walls: before[U].array().cells()[0] as u64,
            constants: CONSTANTS,
        })
    }
}

fn range(field: &Field<'_, f64, 2>) -> DeviceRange {
    DeviceRange::whole(field.device().expect("it is on the device").clone())
}
