//! Memory that all ranks reach, exported to NumPy; operations on it, and their handles.
//!
//! Invariant **X1**: the bytes of an exported memory stay mapped as long as its [`Link`] lives, and every exported buffer keeps the link alive. Other ranks may
//! write the bytes at any time, as `docs/book/src/memory-model.md` specifies. No Rust reference to them exists while Python can access them.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pelago::cuda::CudaMemory;
use pelago::{
    Accumulation, Context, DeviceMemory, Fetch, GlobalAddress, GlobalPtr, Number as Accumulated, Ordered, Rank as Number, Shape,
    Signal, Word,
};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::buffer::Bytes;
use crate::dlpack;
use crate::fail::Fail;
use crate::get::Get;
use crate::link::{Link, RankNumber, check_rank};
use crate::rank::{Garbage, Rank, duration};

/// Memory of this rank, and of the same object on every other rank.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Memory {
    link: Arc<Link>,
    /// The number among the memories of the rank; `None` for the cells of a grid.
    number: Option<u64>,
    /// The object that owns the bytes, if it is another one.
    _owner: Option<Py<PyAny>>,
    start: usize,
    bytes: usize,
    /// The memory on a device, if the bytes are there; then `start` is not an address.
    device: Option<Arc<CudaMemory>>,
    exports: AtomicUsize,
    is_freed: AtomicBool,
}

impl Memory {
    /// Returns the symmetric memory with this number.
    pub(crate) fn symmetric(link: Arc<Link>, number: u64, start: usize, bytes: usize) -> Self {
        let mut memory = Self::part(link, None, start, bytes);
        memory.number = Some(number);
        memory
    }

    /// Returns the memory with this number, which is on a device.
    pub(crate) fn on_device(link: Arc<Link>, number: u64, device: Arc<CudaMemory>) -> Self {
        let mut memory = Self::symmetric(link, number, 0, device.bytes() as usize);
        memory.device = Some(device);
        memory
    }

    /// Returns the memory on a device; fails if it is the host's.
    fn device(&self) -> Result<&Arc<CudaMemory>, Fail> {
        if self.is_freed.load(Ordering::Acquire) {
            return Err(Fail::Ended);
        }
        self.device.as_ref().ok_or_else(|| Fail::Value("the memory is the host's".into()))
    }

    /// Returns bytes that belong to `owner` and have no remote operations.
    pub(crate) fn part(link: Arc<Link>, owner: Option<Py<PyAny>>, start: usize, bytes: usize) -> Self {
        let (exports, is_freed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { link, number: None, _owner: owner, start, bytes, device: None, exports, is_freed }
    }

    /// Returns the number of the memory, if `rank` is valid and the memory contains `bytes` bytes from `offset` on.
    fn check(&self, rank: u32, offset: usize, bytes: usize) -> Result<u64, Fail> {
        let number = self.number.ok_or_else(|| Fail::Value("the cells of a grid have no remote operations".into()))?;
        if self.is_freed.load(Ordering::Acquire) {
            return Err(Fail::Ended);
        }
        check_rank(&self.link, rank)?;
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes);
        end.map(|_| number).ok_or_else(|| {
            Fail::Index(format!("{bytes} bytes from byte {offset} on reach past the array of {} bytes", self.bytes))
        })
    }

    /// Returns the number of the memory, if it contains an aligned word of `width` bytes at `offset`.
    fn check_word(&self, rank: u32, offset: usize, width: usize) -> Result<u64, Fail> {
        if !matches!(width, 4 | 8) || !offset.is_multiple_of(width) {
            return Err(Fail::Value("atomics and waits need aligned elements of 4 or 8 bytes".into()));
        }
        self.check(rank, offset, width)
    }
}

/// Returns the address of a byte of the memory with this number at rank `at`.
fn address(rank: &Rank<'_, '_>, number: u64, at: u32, offset: usize) -> Result<GlobalAddress, Fail> {
    let start = rank.memories.with(number, |memory| Ok(memory.start(Number::new(at))))?;
    Ok(GlobalAddress::from_bits(start.bits() + offset as u64))
}

/// Bytes of a block; numbers and strides of blocks in three dimensions, the slowest first.
type Blocks = (u64, [u64; 3], [u64; 3]);

fn shape((block, counts, strides): Blocks) -> Shape {
    Shape { block, counts, strides }
}

/// Returns the number of bytes from the first to past the last of a shape.
fn extent(shape: Shape) -> Result<usize, Fail> {
    Ok(shape.extent().map_err(pelago::Error::from)? as usize)
}

/// Returns the order of an operation that executes after the operation with handle `after`.
fn ordered<'w>(rank: &Rank<'_, 'w>, after: Option<u64>) -> Result<Option<Ordered<'w>>, Fail> {
    let world: &'w Context = rank.world;
    after.map(|after| rank.handles.with(after, |handle| Ok(world.after(handle)))).transpose()
}

/// Puts bytes: aligned words of 4 or 8 bytes as one value; others without a copy where the put completes before the call returns, else from a copy.
fn put<'w>(rank: &Rank<'_, 'w>, to: GlobalAddress, data: &Bytes, after: Option<u64>) -> Result<pelago::Handle<'w>, Fail> {
    fn typed<'w, T: pelago::Pod>(
        rank: &Rank<'_, 'w>,
        to: GlobalAddress,
        data: &Bytes,
        after: Option<u64>,
    ) -> Result<pelago::Handle<'w>, Fail> {
        let (to, values) = (GlobalPtr::<T>::from_address(to).map_err(pelago::Error::from)?, data.to_values::<T>());
        let world: &'w Context = rank.world;
        Ok(match ordered(rank, after)? {
            Some(ordered) => ordered.put(to, &values)?,
            None => world.put(to, &values)?,
        })
    }
    match data.len() {
        8 if to.bits().is_multiple_of(8) => typed::<u64>(rank, to, data, after),
        4 if to.bits().is_multiple_of(4) => typed::<u32>(rank, to, data, after),
        bytes => {
            let world: &'w Context = rank.world;
            // A put that may not complete before the call returns, such as a put to a device, needs a copy.
            if after.is_some() || world.reach().cells(to, bytes as u64).is_none() {
                return typed::<u8>(rank, to, data, after);
            }
            // SAFETY: a put to mapped memory completes before the call returns; until then `data` keeps the bytes valid, and no reference to them is used.
            Ok(unsafe { world.put_raw(to, data.pointer(), bytes) }?)
        }
    }
}

/// Starts an atomic that returns the previous value.
fn fetch<'w, T: Word>(
    world: &'w Context,
    at: GlobalPtr<T>,
    operator: &str,
    operand: T,
    expected: T,
) -> Result<Fetch<'w, T>, Fail> {
    Ok(match operator {
        "add" => world.fetch_add(at, operand),
        "and" => world.fetch_and(at, operand),
        "or" => world.fetch_or(at, operand),
        "xor" => world.fetch_xor(at, operand),
        "swap" => world.swap(at, operand),
        "fetch" => world.fetch(at),
        "compare_swap" => world.compare_swap(at, expected, operand),
        _ => return Err(Fail::Value(format!("there is no atomic {operator:?}"))),
    }?)
}

/// Starts an atomic without a result.
fn apply<'w, T: Word>(world: &'w Context, at: GlobalPtr<T>, operator: &str, operand: T) -> Result<pelago::Handle<'w>, Fail> {
    Ok(match operator {
        "add" => world.add(at, operand),
        "and" => world.and(at, operand),
        "or" => world.or(at, operand),
        "xor" => world.xor(at, operand),
        "set" => world.set(at, operand),
        _ => return Err(Fail::Value(format!("there is no atomic {operator:?} without a result"))),
    }?)
}

/// Accumulates values with the elements from `at` on, or with those at the indices `places`.
fn accumulate<T: Accumulated>(
    world: &Context,
    at: GlobalAddress,
    accumulation: Accumulation,
    values: &Bytes,
    places: Option<&[u64]>,
) -> Result<(), Fail> {
    let (at, values) = (GlobalPtr::<T>::from_address(at).map_err(pelago::Error::from)?, values.to_values::<T>());
    match places {
        Some(places) => world.accumulate_indexed(at, places, accumulation, &values)?,
        None => world.accumulate_all(at, accumulation, &values)?,
    }
    Ok(())
}

/// Puts bytes, or packed blocks to those of a shape, and then changes a word at the same rank. Returns the handle of the change.
fn put_signal<'w, W: Word>(
    rank: &Rank<'_, 'w>,
    (to, shape): (GlobalAddress, Option<Shape>),
    data: &Bytes,
    at: GlobalAddress,
    signal: Signal<W>,
    after: Option<u64>,
) -> Result<pelago::Handle<'w>, Fail> {
    let world: &'w Context = rank.world;
    let to = GlobalPtr::<u8>::from_address(to).map_err(pelago::Error::from)?;
    let at = GlobalPtr::<W>::from_address(at).map_err(pelago::Error::from)?;
    let (bytes, ordered): (Vec<u8>, _) = (data.to_values(), ordered(rank, after)?);
    let Some(shape) = shape else {
        return Ok(match ordered {
            Some(ordered) => ordered.put_signal(to, &bytes, at, signal)?,
            None => world.put_signal(to, &bytes, at, signal)?,
        });
    };
    let put = match ordered {
        Some(ordered) => ordered.put_strided(to, shape, &bytes, shape.packed())?,
        None => world.put_strided(to, shape, &bytes, shape.packed())?,
    };
    Ok(match signal {
        Signal::Add(value) => world.after(&put).add(at, value)?,
        Signal::Set(value) | Signal::Put(value) => world.after(&put).set(at, value)?,
    })
}

/// Keeps a handle and returns its number; `None` if the operation completed when it was issued.
fn keep<'w>(rank: &Rank<'_, 'w>, handle: pelago::Handle<'w>) -> Option<u64> {
    (!handle.was_done_at_once()).then(|| rank.handles.insert(handle))
}

#[pymethods]
impl Memory {
    /// The number of bytes on each rank.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes
    }

    /// Frees the memory. Its bytes are reused after all ranks have freed it.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        let Some(number) = self.number else { return Ok(()) };
        if self.exports.load(Ordering::Acquire) > 0 {
            return Err(Fail::InUse.into());
        }
        if !self.is_freed.swap(true, Ordering::AcqRel) {
            let freed = self.link.call(py, |rank| {
                rank.remove(Garbage::Memory(number));
                Ok(())
            });
            // A refused call frees nothing.
            freed.inspect_err(|_| self.is_freed.store(false, Ordering::Release))?;
        }
        Ok(())
    }

    #[pyo3(signature = (rank, offset, data, after=None))]
    fn put(
        &self,
        py: Python<'_>,
        rank: RankNumber,
        offset: usize,
        data: &Bound<'_, PyAny>,
        after: Option<PyRef<'_, Handle>>,
    ) -> PyResult<Handle> {
        let RankNumber(rank) = rank;
        let data = Bytes::of(data)?;
        let number = self.check(rank, offset, data.len())?;
        let after = after.and_then(|after| after.number);
        let kept = self.link.call(py, |me| {
            let handle = put(me, address(me, number, rank, offset)?, &data, after)?;
            Ok(keep(me, handle))
        })?;
        Ok(Handle { link: self.link.clone(), number: kept })
    }

    fn get(&self, py: Python<'_>, rank: RankNumber, offset: usize, into: &Bound<'_, PyAny>) -> PyResult<()> {
        let RankNumber(rank) = rank;
        let into = Bytes::writable(into)?;
        let number = self.check(rank, offset, into.len())?;
        self.link.call(py, |me| {
            let from = address(me, number, rank, offset)?;
            // SAFETY: `into` keeps the bytes valid until the operation has completed; after a failed wait, it is leaked.
            let handle = unsafe { me.world.get_raw(from, into.pointer(), into.len()) }?;
            if let Err(fail) = me.wait(handle) {
                std::mem::forget(into);
                return Err(fail);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Puts packed blocks to those of `part` from `offset` on.
    #[pyo3(signature = (rank, offset, part, data, after=None))]
    fn put_part(
        &self,
        py: Python<'_>,
        rank: RankNumber,
        offset: usize,
        part: Blocks,
        data: &Bound<'_, PyAny>,
        after: Option<PyRef<'_, Handle>>,
    ) -> PyResult<Handle> {
        let RankNumber(rank) = rank;
        let (data, shape) = (Bytes::of(data)?, shape(part));
        let number = self.check(rank, offset, extent(shape)?)?;
        let after = after.and_then(|after| after.number);
        let kept = self.link.call(py, |me| {
            let to = GlobalPtr::<u8>::from_address(address(me, number, rank, offset)?).map_err(pelago::Error::from)?;
            let (world, bytes): (&Context, Vec<u8>) = (me.world, data.to_values());
            let handle = match ordered(me, after)? {
                Some(ordered) => ordered.put_strided(to, shape, &bytes, shape.packed())?,
                None => world.put_strided(to, shape, &bytes, shape.packed())?,
            };
            Ok(keep(me, handle))
        })?;
        Ok(Handle { link: self.link.clone(), number: kept })
    }

    /// Puts bytes from an offset on, or packed blocks to those of a part, and then changes a word of `words` at the same rank. `signal` is its
    /// offset, its width, the operator and the operand.
    fn put_signal(
        &self,
        py: Python<'_>,
        to: (RankNumber, usize, Option<Blocks>),
        data: &Bound<'_, PyAny>,
        words: PyRef<'_, Self>,
        signal: (usize, usize, &str, u64),
        after: Option<PyRef<'_, Handle>>,
    ) -> PyResult<Handle> {
        let ((RankNumber(rank), offset, part), (word, width, operator, operand)) = (to, signal);
        let (data, shape) = (Bytes::of(data)?, part.map(shape));
        let number = self.check(rank, offset, shape.map_or(Ok(data.len()), extent)?)?;
        let word_number = words.check_word(rank, word, width)?;
        let is_sum = match operator {
            "add" => true,
            "set" => false,
            _ => return Err(Fail::Value(format!("there is no signal {operator:?}: add, set")).into()),
        };
        let after = after.and_then(|after| after.number);
        let kept = self.link.call(py, |me| {
            let to = (address(me, number, rank, offset)?, shape);
            let at = address(me, word_number, rank, word)?;
            fn change<W: Word>(is_sum: bool, operand: u64) -> Signal<W> {
                let operand = W::from_bits(operand);
                if is_sum { Signal::Add(operand) } else { Signal::Set(operand) }
            }
            let handle = match width {
                4 => put_signal(me, to, &data, at, change::<u32>(is_sum, operand), after)?,
                _ => put_signal(me, to, &data, at, change::<u64>(is_sum, operand), after)?,
            };
            Ok(keep(me, handle))
        })?;
        Ok(Handle { link: self.link.clone(), number: kept })
    }

    /// Gets the blocks of `part` from `offset` on, packed.
    fn get_part(&self, py: Python<'_>, rank: RankNumber, offset: usize, part: Blocks, into: &Bound<'_, PyAny>) -> PyResult<()> {
        let RankNumber(rank) = rank;
        let (into, shape) = (Bytes::writable(into)?, shape(part));
        let number = self.check(rank, offset, extent(shape)?)?;
        self.link.call(py, |me| {
            let from = GlobalPtr::<u8>::from_address(address(me, number, rank, offset)?).map_err(pelago::Error::from)?;
            let mut bytes = vec![0_u8; into.len()];
            me.world.get_strided(from, shape, &mut bytes, shape.packed())?;
            into.write(&bytes);
            Ok(())
        })?;
        Ok(())
    }

    /// Starts a get that is waited for later.
    fn start_get(&self, py: Python<'_>, rank: RankNumber, offset: usize, bytes: usize) -> PyResult<Get> {
        let RankNumber(rank) = rank;
        let number = self.check(rank, offset, bytes)?;
        let kept = self.link.call(py, |me| {
            let from = GlobalPtr::<u8>::from_address(address(me, number, rank, offset)?).map_err(pelago::Error::from)?;
            let world: &Context = me.world;
            Ok(me.gets.insert(world.start_get(from, bytes)?))
        })?;
        Ok(Get::new(self.link.clone(), kept))
    }

    fn atomic(
        &self,
        py: Python<'_>,
        place: (RankNumber, usize, usize),
        operator: &str,
        operand: u64,
        expected: u64,
    ) -> PyResult<u64> {
        let (RankNumber(rank), offset, width) = place;
        fn with<T: Word>(me: &Rank<'_, '_>, at: GlobalAddress, operator: &str, words: [u64; 2]) -> Result<u64, Fail> {
            let at = GlobalPtr::<T>::from_address(at).map_err(pelago::Error::from)?;
            let fetched = fetch(me.world, at, operator, T::from_bits(words[0]), T::from_bits(words[1]))?;
            me.wait(fetched.handle())?;
            Ok(fetched.wait()?.to_bits())
        }
        let number = self.check_word(rank, offset, width)?;
        Ok(self.link.call(py, |me| {
            let at = address(me, number, rank, offset)?;
            if width == 4 {
                with::<u32>(me, at, operator, [operand, expected])
            } else {
                with::<u64>(me, at, operator, [operand, expected])
            }
        })?)
    }

    fn apply(&self, py: Python<'_>, place: (RankNumber, usize, usize), operator: &str, operand: u64) -> PyResult<Handle> {
        let (RankNumber(rank), offset, width) = place;
        let number = self.check_word(rank, offset, width)?;
        let kept = self.link.call(py, |me| {
            let at = address(me, number, rank, offset)?;
            let handle = if width == 4 {
                let at = GlobalPtr::from_address(at).map_err(pelago::Error::from)?;
                apply(me.world, at, operator, operand as u32)?
            } else {
                apply(me.world, GlobalPtr::from_address(at).map_err(pelago::Error::from)?, operator, operand)?
            };
            Ok(keep(me, handle))
        })?;
        Ok(Handle { link: self.link.clone(), number: kept })
    }

    /// Accumulates elements of the type `dtype` with those from `offset` on, or with those at the indices `places` from there, all of which lie in `bytes`
    /// bytes.
    fn accumulate(
        &self,
        py: Python<'_>,
        place: (RankNumber, usize, usize),
        kind: (&str, &str),
        values: &Bound<'_, PyAny>,
        places: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let ((RankNumber(rank), offset, bytes), (dtype, operator)) = (place, kind);
        let (values, number) = (Bytes::of(values)?, self.check(rank, offset, bytes)?);
        let places = places.map(Bytes::of).transpose()?.map(|places| places.to_values::<u64>());
        let accumulation = match operator {
            "sum" => Accumulation::Sum,
            "min" => Accumulation::Min,
            "max" => Accumulation::Max,
            _ => return Err(Fail::Value(format!("there is no accumulation {operator:?}: sum, min, max")).into()),
        };
        Ok(self.link.call(py, |me| {
            let (world, at, places): (&Context, _, _) = (me.world, address(me, number, rank, offset)?, places.as_deref());
            match dtype {
                "int32" => accumulate::<i32>(world, at, accumulation, &values, places),
                "uint32" => accumulate::<u32>(world, at, accumulation, &values, places),
                "int64" => accumulate::<i64>(world, at, accumulation, &values, places),
                "uint64" => accumulate::<u64>(world, at, accumulation, &values, places),
                "float32" => accumulate::<f32>(world, at, accumulation, &values, places),
                "float64" => accumulate::<f64>(world, at, accumulation, &values, places),
                _ => Err(Fail::Value(format!("no accumulation of {dtype}"))),
            }
        })?)
    }

    /// Waits until the comparison of a word of this rank with `value` holds. Returns the word.
    fn wait_until(
        &self,
        py: Python<'_>,
        place: (usize, usize, bool),
        comparison: &str,
        value: u64,
        timeout: Option<f64>,
    ) -> PyResult<u64> {
        let ((offset, width, is_signed), own) = (place, self.link.rank);
        if self.device.is_some() {
            return Err(Fail::Value("waits are for words of the host: no load reaches memory of a device".into()).into());
        }
        let number = self.check_word(own, offset, width)?;
        let limit = duration(timeout)?;
        let number_of = move |bits: u64| match (width, is_signed) {
            (4, true) => i128::from(bits as u32 as i32),
            (4, false) => i128::from(bits as u32),
            (_, true) => i128::from(bits as i64),
            (_, false) => i128::from(bits),
        };
        let holds: fn(i128, i128) -> bool = match comparison {
            "==" => |is, value| is == value,
            "!=" => |is, value| is != value,
            "<" => |is, value| is < value,
            "<=" => |is, value| is <= value,
            ">" => |is, value| is > value,
            ">=" => |is, value| is >= value,
            _ => return Err(Fail::Value(format!("there is no comparison {comparison:?}")).into()),
        };
        Ok(self.link.call(py, move |me| {
            let at = address(me, number, own, offset)?;
            let gone = || pelago::Error::Invalid("the memory is not this rank's own");
            let cells = me.world.reach().cells(at, width as u64).ok_or_else(gone)?;
            let load = || match width {
                4 => cells.elements::<u32>().map(|word| u64::from(word.load(0))),
                _ => cells.elements::<u64>().map(|word| word.load(0)),
            };
            let losses = me.world.losses();
            me.wait_for("a value", limit, || {
                if me.world.losses() != losses {
                    return Err(pelago::Error::Invalid("a rank was lost while this one waited for a value"));
                }
                let bits = load().ok_or_else(gone)?;
                Ok(holds(number_of(bits), number_of(value)).then_some(bits))
            })
        })?)
    }

    /// Copies bytes of this rank's `source` to this memory at another rank, without a copy through Python.
    fn copy(
        &self,
        py: Python<'_>,
        to: (RankNumber, usize),
        source: PyRef<'_, Self>,
        from: usize,
        bytes: usize,
    ) -> PyResult<Handle> {
        let ((RankNumber(rank), offset), own) = (to, self.link.rank);
        let numbers = [self.check(rank, offset, bytes)?, source.check(own, from, bytes)?];
        let kept = self.link.call(py, |me| {
            let at = |number, rank, offset| {
                let address = address(me, number, rank, offset)?;
                Ok::<_, Fail>(GlobalPtr::<u8>::from_address(address).map_err(pelago::Error::from)?)
            };
            let (to, from) = (at(numbers[0], rank, offset)?, at(numbers[1], own, from)?);
            let world: &Context = me.world;
            Ok(keep(me, world.copy(from, to, bytes)?))
        })?;
        Ok(Handle { link: self.link.clone(), number: kept })
    }

    /// Returns the start address on the device, and the number of the device.
    fn place(&self) -> PyResult<(u64, u32)> {
        let device = self.device()?;
        Ok((device.address(), device.device().ordinal()))
    }

    /// Returns the bytes as a tensor for another library. The tensor keeps the memory alive.
    fn dlpack(&self, py: Python<'_>, shape: Vec<i64>, code: u8, bits: u8) -> PyResult<Py<PyAny>> {
        dlpack::capsule(py, self.device()?.clone(), shape, code, bits)
    }

    /// # Safety
    /// Called by the interpreter with a view to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        if this.is_freed.load(Ordering::Acquire) {
            return Err(Fail::Ended.into());
        }
        if this.device.is_some() {
            return Err(PyBufferError::new_err("the host has no view of memory of a device: get() copies it"));
        }
        let (start, bytes) = (std::ptr::with_exposed_provenance_mut(this.start), this.bytes as isize);
        // SAFETY: X1; the view keeps the object, and so the link.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, bytes, 0, flags) };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        this.exports.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Called by the interpreter with a filled view.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.exports.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let (Some(number), false) = (self.number, *self.is_freed.get_mut()) {
            self.link.discard(Garbage::Memory(number));
        }
    }
}

/// An operation in flight.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Handle {
    link: Arc<Link>,
    number: Option<u64>,
}

#[pymethods]
impl Handle {
    /// Waits until the operation has taken effect.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let Some(number) = self.number else { return Ok(()) };
        Ok(self.link.call(py, |me| {
            let handle = me.handles.with(number, |handle| Ok(*handle))?;
            me.wait(handle)
        })?)
    }

    /// Whether the operation has taken effect.
    fn test(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(number) = self.number else { return Ok(true) };
        Ok(self.link.call(py, |me| me.handles.with(number, |handle| Ok(handle.test()?)))?)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.link.discard(Garbage::Handle(number));
        }
    }
}
