//! Memory of GPUs that all ranks reach.
//!
//! Invariant **V1**: the owner of adopted memory is kept until the process ends, as other ranks of the host may have opened the memory. All other users of the
//! memory belong to the program, and write it as other ranks do.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};

use pelago::cuda::{CudaMemory, Device};
use pelago::{GlobalAddress, RegisteredDevice};
use pyo3::prelude::*;

use crate::fail::Fail;
use crate::limits::ADOPTED_MAX;
use crate::link::Link;
use crate::memory::Memory;
use crate::objects::Area;
use crate::rank::Rank;

/// The owners of adopted memory (V1).
static OWNERS: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());

/// Sent in place of an address by a rank that has no memory.
const NONE: u64 = u64::MAX;

/// Memory of another library: its address, the stream that fills it, and its owner.
pub(crate) type Described = (u64, Option<u64>, Py<PyAny>);

/// Provides memory on a device of every rank. Collective: it fails at all ranks if it fails at one.
pub(crate) fn new(
    link: &Arc<Link>,
    py: Python<'_>,
    ordinal: u32,
    bytes: u64,
    adopted: Option<Described>,
) -> Result<Memory, Fail> {
    let mut place = Ok(None);
    if let Some((address, stream, owner)) = adopted {
        let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
        place = if owners.len() < ADOPTED_MAX {
            owners.push(owner);
            Ok(Some((address, stream)))
        } else {
            Err(Fail::Value(format!("{ADOPTED_MAX} arrays of other libraries are registered already")))
        };
    }
    let (number, memory) = link.call(py, |me| {
        let made = place.and_then(|place| own(me, ordinal, bytes, place));
        let start = made.as_ref().map_or(NONE, |(_, registered)| registered.ptr(0).address().bits());
        // A rank that failed takes part in the exchange to inform the others, which would wait for it otherwise.
        let mut told = me.team(None)?.start_allgather(vec![start, bytes])?;
        me.wait_for("memory of devices", None, || Ok(told.test()?.then_some(())))?;
        let told = told.wait()?;
        let (memory, registered) = made?;
        if let Some(rank) = told.chunks(2).position(|one| one[0] == NONE || one[1] != bytes) {
            return Err(Fail::Value(format!("rank {rank} has no such array on a device: {} bytes of it", told[2 * rank + 1])));
        }
        let starts = told.chunks(2).map(|one| GlobalAddress::from_bits(one[0])).collect();
        Ok((me.memories.insert(Area::Device { starts, _registered: registered }), memory))
    })?;
    Ok(Memory::on_device(link.clone(), number, memory))
}

/// Allocates or adopts this rank's memory, and registers it.
fn own<'w>(
    rank: &Rank<'_, 'w>,
    ordinal: u32,
    bytes: u64,
    adopted: Option<(u64, Option<u64>)>,
) -> Result<(Arc<CudaMemory>, RegisteredDevice<'w, u8>), Fail> {
    let device = Device::get(ordinal)?;
    let memory = match adopted {
        Some((address, stream)) => {
            // SAFETY: V1.
            let memory = unsafe { CudaMemory::adopt(&device, address, bytes) }?;
            if let Some(stream) = stream {
                // SAFETY: the library that provides the memory guarantees that the stream exists.
                rank.poll_for("the stream of an array", || unsafe { device.is_stream_over(stream) })?;
            }
            memory
        }
        None => {
            let memory = device.allocate(bytes)?;
            memory.zero()?;
            memory
        }
    };
    let registered = rank.world.register_device(memory.clone())?;
    Ok((memory, registered))
}
