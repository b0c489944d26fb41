//! The operations: first the direct path to mapped memory, then the path through the engine.
//!
//! `put` local to remote, `get` remote to local, `pending_get` the same without waiting, `signal` puts with a signal, `copy` any to any, `atomic` on words,
//! `indexed` values at individual offsets, `raw` the same with memory of the program. Each file has the direct operations of
//! `Context`, then those of `Ordered`, which wait for others.

pub(crate) mod accumulate;
mod atomic;
mod copy;
mod get;
mod indexed;
mod message;
pub(crate) mod pending_get;
mod put;
mod raw;
pub(crate) mod reduction;
pub(crate) mod signal;

use pelago_base::{GlobalAddress, Shape};
use pelago_memory::Pod;
use pelago_platform::Failure;

use crate::{Error, Result};

/// Converts a shape in elements of `T` to bytes, if it stays inside a slice of `length` elements.
fn shape_in_slice<T: Pod>(shape: Shape, length: usize) -> Result<Shape> {
    let needed = shape.extent()?;
    if needed > length as u64 {
        return Err(Error::ShapePastSlice { needed, length });
    }
    Ok(shape.scaled(size_of::<T>() as u64)?)
}

/// Refuses `bytes` bytes from `start` on that reach past the last address: further ones would be taken for the first addresses.
fn check_end(start: GlobalAddress, bytes: u64) -> Result<()> {
    start.bits().checked_add(bytes).map(drop).ok_or(Error::Failed(Failure::OutOfBounds(start)))
}

/// Merges adjacent blocks of two shapes with equal blocks and counts, as far as both permit.
fn joined(from: Shape, to: Shape) -> Result<(Shape, Shape)> {
    from.matches(&to)?;
    from.extent()?;
    to.extent()?;
    if from.bytes()? == 0 {
        // The other counts may be of any size.
        return Ok((Shape::contiguous(0), Shape::contiguous(0)));
    }
    let (from_joined, to_joined) = (from.canonical(), to.canonical());
    Ok(if from_joined.matches(&to_joined).is_ok() { (from_joined, to_joined) } else { (from, to) })
}
