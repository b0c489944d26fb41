//! Transfers between host memory and device memory through pinned memory, in pieces of which several are in flight.
//!
//! Only from and to pinned memory does a device move bytes at the speed of the bus and asynchronously. Therefore the host copies one piece while the
//! device moves earlier ones. The driver never gets the program's memory, which may be freed as soon as a call returns, even with an error.
//!
//! - **G1** A lane is used by one thread at a time, and its pinned memory has `PIECES` pieces of `PIECE_BYTES`.
//! - **G2** The host writes or reads a piece only when the event after the device's last use of it is over. A lane is returned when its stream
//!   has ended, whatever failed; if not even that is known, the lane is never used again.
//! - C1 to C3 of `driver/table.rs`.
#![allow(unsafe_code)]

use std::ptr::{self, copy_nonoverlapping};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Device;
use crate::driver::{
    CudaError, EVENT_WITHOUT_TIMING, Functions, HOST_PORTABLE, RawEvent, RawStream, Result, STREAM_WITHOUT_LEGACY,
};
use crate::limits::{LANES_LOST_MAX, LANES_MAX, PIECE_BYTES, PIECES};

/// The lanes of a device, created on first use.
#[derive(Default)]
pub(crate) struct Lanes {
    state: Mutex<LanesState>,
    returned: Condvar,
}

#[derive(Default)]
struct LanesState {
    free: Vec<Lane>,
    /// Number of lanes that exist and are not lost, free or not.
    made: usize,
    /// Number of lanes for which it is unknown whether their streams have ended.
    lost: usize,
}

/// A stream, pinned memory and an event for each piece of it.
struct Lane {
    stream: RawStream,
    pinned: *mut u8,
    events: [RawEvent; PIECES],
}

// SAFETY: G1.
unsafe impl Send for Lane {}

impl Lanes {
    /// Copies `from` to the device's address `to`, and returns when the copy is complete.
    pub(crate) fn upload(&self, device: &Device, to: u64, from: &[u8]) -> Result<()> {
        self.transfer(device, &[(to, from)], |_, _| Ok(()), None)
    }

    /// Copies from the device's address `from` until `into` is full.
    pub(crate) fn download(&self, device: &Device, from: u64, into: &mut [u8]) -> Result<()> {
        self.transfer(device, &[], |_, _| Ok(()), Some((from, into)))
    }

    /// Runs `act` with the stream of a lane, and returns when the stream has ended.
    pub(crate) fn on_stream(&self, device: &Device, act: impl FnOnce(RawStream, &Functions) -> Result<()>) -> Result<()> {
        self.transfer(device, &[], act, None)
    }

    /// Performs, on one lane and in this order: copies of bytes to addresses of the device, `act` with the stream, and a copy from an address of the
    /// device until a buffer is full. Returns when all is done.
    pub(crate) fn transfer(
        &self,
        device: &Device,
        uploads: &[(u64, &[u8])],
        act: impl FnOnce(RawStream, &Functions) -> Result<()>,
        download: Option<(u64, &mut [u8])>,
    ) -> Result<()> {
        self.with(device, |lane, functions| {
            let pieces = uploads.iter().flat_map(|&(to, from)| {
                from.chunks(PIECE_BYTES).enumerate().map(move |(number, piece)| (to + (number * PIECE_BYTES) as u64, piece))
            });
            for (number, (to, piece)) in pieces.enumerate() {
                let slot = number % PIECES;
                if number >= PIECES {
                    lane.finish(functions, slot)?;
                }
                // SAFETY: G1, G2; a piece is no longer than a slot.
                unsafe { copy_nonoverlapping(piece.as_ptr(), lane.slot(slot), piece.len()) };
                // SAFETY: C1: the driver checks the target.
                let code = unsafe { (functions.copy_to_device)(to, lane.slot(slot).cast(), piece.len(), lane.stream) };
                functions.check("cuMemcpyHtoDAsync", code)?;
                lane.record(functions, slot)?;
            }
            act(lane.stream, functions)?;
            let Some((from, into)) = download else { return Ok(()) };
            // The stream refills a slot after the host has copied its contents; the host waits for the slot's event.
            let bytes = into.len();
            let fetch = |number: usize| -> Result<()> {
                let start = number * PIECE_BYTES;
                if start >= bytes {
                    return Ok(());
                }
                let (slot, length) = (number % PIECES, PIECE_BYTES.min(bytes - start));
                // SAFETY: C1: the driver checks the source. G1, G2.
                let code = unsafe { (functions.copy_to_host)(lane.slot(slot).cast(), from + start as u64, length, lane.stream) };
                functions.check("cuMemcpyDtoHAsync", code)?;
                lane.record(functions, slot)
            };
            (0..PIECES).try_for_each(fetch)?;
            for (number, piece) in into.chunks_mut(PIECE_BYTES).enumerate() {
                lane.finish(functions, number % PIECES)?;
                // SAFETY: G1, G2; a piece is no longer than a slot.
                unsafe { copy_nonoverlapping(lane.slot(number % PIECES), piece.as_mut_ptr(), piece.len()) };
                fetch(number + PIECES)?;
            }
            Ok(())
        })
    }

    /// Frees all unused lanes, in the device's context.
    pub(crate) fn free(self, functions: &Functions) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.free.into_iter().for_each(|lane| lane.free(functions));
    }

    fn with(&self, device: &Device, act: impl FnOnce(&Lane, &Functions) -> Result<()>) -> Result<()> {
        let functions = &device.driver().functions;
        device.within(|| {
            let lane = self.take(functions)?;
            let result = act(&lane, functions);
            // SAFETY: C1.
            let ended = functions.check("cuStreamSynchronize", unsafe { (functions.stream_synchronize)(lane.stream) });
            let mut state = self.lock();
            // G2: a lane that may still move pieces is never used again.
            if ended.is_ok() {
                state.free.push(lane);
            } else {
                (state.made, state.lost) = (state.made - 1, state.lost + 1);
            }
            self.returned.notify_one();
            result.and(ended)
        })
    }

    /// Takes a lane that no other thread uses. Waits for one if the maximum exists: each is returned when its transfer has ended.
    fn take(&self, functions: &Functions) -> Result<Lane> {
        let mut state = self.lock();
        loop {
            if let Some(lane) = state.free.pop() {
                return Ok(lane);
            }
            if state.lost >= LANES_LOST_MAX {
                return Err(CudaError::Invalid("the device has failed too often: it is not used any more"));
            }
            if state.made < LANES_MAX {
                let lane = Lane::new(functions)?;
                state.made += 1;
                return Ok(lane);
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LanesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// Creates a lane, in the context of the device.
    fn new(functions: &Functions) -> Result<Self> {
        let none = ptr::null_mut();
        let mut lane = Self { stream: RawStream(none), pinned: ptr::null_mut(), events: [RawEvent(none); PIECES] };
        match lane.make(functions) {
            Ok(()) => Ok(lane),
            Err(error) => {
                lane.free(functions);
                Err(error)
            }
        }
    }

    fn make(&mut self, functions: &Functions) -> Result<()> {
        // SAFETY: C1, C2.
        functions.check("cuStreamCreate", unsafe { (functions.stream_create)(&mut self.stream, STREAM_WITHOUT_LEGACY) })?;
        let mut pinned = ptr::null_mut();
        // SAFETY: C1, C2.
        let code = unsafe { (functions.mem_host_alloc)(&mut pinned, PIECES * PIECE_BYTES, HOST_PORTABLE) };
        functions.check("cuMemHostAlloc", code)?;
        self.pinned = pinned.cast();
        for event in &mut self.events {
            // SAFETY: C1, C2.
            functions.check("cuEventCreate", unsafe { (functions.event_create)(event, EVENT_WITHOUT_TIMING) })?;
        }
        Ok(())
    }

    fn free(self, functions: &Functions) {
        // SAFETY: C1; each exists or is null, and is no longer used (G1, G2). After a failure it exists until the end of the process.
        unsafe {
            for event in self.events.into_iter().filter(|event| !event.0.is_null()) {
                (functions.event_destroy)(event);
            }
            if !self.pinned.is_null() {
                (functions.mem_free_host)(self.pinned.cast());
            }
            if !self.stream.0.is_null() {
                (functions.stream_destroy)(self.stream);
            }
        }
    }

    fn slot(&self, slot: usize) -> *mut u8 {
        self.pinned.wrapping_add(slot * PIECE_BYTES)
    }

    fn record(&self, functions: &Functions, slot: usize) -> Result<()> {
        // SAFETY: C1.
        functions.check("cuEventRecord", unsafe { (functions.event_record)(self.events[slot], self.stream) })
    }

    fn finish(&self, functions: &Functions, slot: usize) -> Result<()> {
        // SAFETY: C1.
        functions.check("cuEventSynchronize", unsafe { (functions.event_synchronize)(self.events[slot]) })
    }
}
