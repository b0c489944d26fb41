//! `faces`: puts of the faces of a cube of numbers from the program's memory to the same planes of another rank's cube.
//!
//! The last index varies fastest: plane jk is one block, ik one block for each i, ij single numbers. The receiver reads every face before the
//! next is sent.

use pelago::zerocopy::IntoBytes;
use pelago::{CellSlice, Pod, Shape};

use crate::Row;
use crate::baseline::Baseline;
use crate::comparison::{Comparison, Side};
use crate::error::{Result, check};
use crate::rank::context::RankContext;

const REPETITIONS: u64 = 101;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let edge = stage.settings.edge;
    let cells = edge * edge * edge;
    let cube = stage.world.alloc::<f64>(cells as usize)?;
    if stage.is_idle() {
        return Ok(());
    }
    let mut source = vec![0.0_f64; cells as usize];
    let mut packed = vec![0.0_f64; (edge * edge) as usize];
    let limit = stage.baseline(&cube)?;
    for (plane, shape, step) in planes(edge) {
        // From the last inner plane to the border of the other cube, as in a halo update.
        let first = ((edge - 2) * step) as usize;
        let mut round = 0_u64;
        let comparison = Comparison::run(REPETITIONS, |side| {
            round += 1;
            let value = |index: u64| (round * edge * edge + index) as f64;
            if stage.is_sender() {
                each(shape, |index, offset| {
                    source[first + offset] = value(index);
                    Ok(())
                })?;
            }
            let from = &source[first..];
            let nanoseconds = match (side, &limit) {
                (Side::Library, _) => {
                    let to = cube.at(stage.receiver(), 0);
                    stage.send(|| Ok(stage.world.put_strided(to, shape, from, shape)?.wait()?))?
                }
                (Side::Raw, Baseline::Memory(raw)) => stage.send(|| {
                    raw.write_blocks(0, from, shape);
                    Ok(())
                })?,
                (Side::Raw, Baseline::Datagrams(line)) => {
                    let mut there = packed.clone();
                    let send = || {
                        pack(from, shape, &mut packed)?;
                        line.stream(packed.as_bytes())
                    };
                    let nanoseconds = stage.converse(line, send, || line.take(there.as_mut_bytes()))?;
                    stage.receive(|| unpack(&there, shape, cube.local()))?;
                    nanoseconds
                }
            };
            stage.receive(|| {
                let here = cube.local();
                each(shape, |index, offset| check("a number of a face", here.load(offset).to_bits(), value(index).to_bits()))
            })?;
            Ok(nanoseconds)
        })?;
        let row = Row { plane: Some(plane.into()), ..stage.row("faces") };
        let row = row.timed(&comparison, limit.name("loops", "packed")).moved(edge * edge * size_of_pod::<f64>());
        stage.emit(&row)?;
    }
    Ok(())
}

/// Returns each plane with its shape and the distance to the next plane, in numbers.
fn planes(edge: u64) -> [(&'static str, Shape, u64); 3] {
    let square = edge * edge;
    [
        ("jk", Shape::contiguous(square), square),
        ("ik", Shape::strided(edge, edge, square), edge),
        ("ij", Shape { block: 1, counts: [1, edge, edge], strides: [0, square, edge] }, 1),
    ]
}

/// Calls `act` with the index and the offset of each cell of a face.
fn each(shape: Shape, mut act: impl FnMut(u64, usize) -> Result<()>) -> Result<()> {
    let mut index = 0;
    for start in shape.offsets() {
        for cell in start..start + shape.block {
            act(index, cell as usize)?;
            index += 1;
        }
    }
    Ok(())
}

/// Copies the cells of a face to contiguous memory.
#[inline(never)]
fn pack(from: &[f64], shape: Shape, packed: &mut [f64]) -> Result<()> {
    each(shape, |index, offset| {
        packed[index as usize] = from[offset];
        Ok(())
    })
}

fn unpack(packed: &[f64], shape: Shape, to: CellSlice<'_, f64>) -> Result<()> {
    each(shape, |index, offset| {
        to.store(offset, packed[index as usize]);
        Ok(())
    })
}

const fn size_of_pod<T: Pod>() -> u64 {
    size_of::<T>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_face_has_its_cells() {
        for (plane, shape, step) in planes(4) {
            let fixed = |cell: u64| match plane {
                "jk" => cell / 16,
                "ik" => cell / 4 % 4,
                _ => cell % 4,
            };
            let mut cells = Vec::new();
            each(shape, |_, offset| {
                cells.push(offset as u64 + 2 * step);
                Ok(())
            })
            .unwrap();
            assert_eq!(cells.len(), 16);
            assert!(cells.iter().all(|cell| fixed(*cell) == 2 && *cell < 64), "{plane}: {cells:?}");
            assert!(cells.is_sorted());
        }
    }
}
