//! Maps over all ranks, with keys and values of fixed lengths, padded with zeros.

use std::sync::Arc;

use pelago::containers::{GlobalHeap, GlobalMap};
use pyo3::prelude::*;

use crate::buffer::Bytes;
use crate::fail::Fail;
use crate::link::Link;
use crate::objects::AnyMap;
use crate::rank::Garbage;

/// Keys with values, distributed over all ranks.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Map {
    link: Arc<Link>,
    number: u64,
    key_bytes: usize,
    value_bytes: usize,
}

/// Returns bytes padded with zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut whole = [0; N];
    whole[..bytes.len()].copy_from_slice(bytes);
    whole
}

impl<const K: usize, const V: usize> AnyMap for GlobalMap<'_, '_, [u8; K], [u8; V]> {
    fn store(&self, keys: &[u8], values: &[u8], [key, value]: [usize; 2], is_insertion: bool) -> pelago::Result<usize> {
        let pairs = keys.chunks_exact(key).zip(values.chunks_exact(value));
        let pairs: Vec<_> = pairs.map(|(key, value)| (padded(key), padded(value))).collect();
        if is_insertion { self.insert_all(&pairs) } else { self.set_all(&pairs) }
    }

    fn find(&self, keys: &[u8], [key, value]: [usize; 2]) -> pelago::Result<(Vec<u8>, Vec<u8>)> {
        let keys: Vec<_> = keys.chunks_exact(key).map(padded).collect();
        let found = self.find_all(&keys)?;
        let values = found.iter().flat_map(|found| found.unwrap_or([0; V])[..value].to_vec()).collect();
        Ok((values, found.iter().map(|found| u8::from(found.is_some())).collect()))
    }

    fn remove(&self, key: &[u8]) -> pelago::Result<bool> {
        GlobalMap::remove(self, &padded(key))
    }

    fn owner(&self, key: &[u8]) -> u32 {
        GlobalMap::owner(self, &padded(key)).number()
    }

    fn local(&self, [key, value]: [usize; 2]) -> pelago::Result<(Vec<u8>, Vec<u8>)> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        self.for_each_local(|one, its| {
            keys.extend_from_slice(&one[..key]);
            values.extend_from_slice(&its[..value]);
        })?;
        Ok((keys, values))
    }
}

/// Creates a map. Collective.
pub(crate) fn new(
    link: &Arc<Link>,
    py: Python<'_>,
    [key_bytes, value_bytes]: [usize; 2],
    buckets: usize,
    heap_bytes: u64,
) -> Result<Map, Fail> {
    let number = link.call(py, |me| {
        let heap = me.arenas.heaps.keep(GlobalHeap::new(me.world, heap_bytes)?)?;
        let map = match (key_bytes, value_bytes) {
            (1..=8, 1..=8) => made::<8, 8>(heap, buckets),
            (1..=8, 1..=64) => made::<8, 64>(heap, buckets),
            (1..=32, 1..=8) => made::<32, 8>(heap, buckets),
            (1..=32, 1..=64) => made::<32, 64>(heap, buckets),
            _ => return Err(Fail::Value("keys have from 1 to 32 bytes, values from 1 to 64".into())),
        };
        Ok(me.maps.insert(map?))
    })?;
    Ok(Map { link: link.clone(), number, key_bytes, value_bytes })
}

fn made<'a, const K: usize, const V: usize>(heap: &'a GlobalHeap<'_>, buckets: usize) -> pelago::Result<Box<dyn AnyMap + 'a>> {
    Ok(Box::new(GlobalMap::<[u8; K], [u8; V]>::new(heap, buckets)?))
}

impl Map {
    fn call<R: Send>(&self, py: Python<'_>, act: impl FnOnce(&dyn AnyMap) -> pelago::Result<R> + Send) -> Result<R, Fail> {
        self.link.call(py, |me| me.maps.with(self.number, |map| Ok(act(&**map)?)))
    }

    const fn lengths(&self) -> [usize; 2] {
        [self.key_bytes, self.value_bytes]
    }

    /// Returns the bytes of keys. Fails unless they are whole keys.
    fn keys(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let keys = Bytes::of(keys)?.to_values::<u8>();
        if keys.len().is_multiple_of(self.key_bytes) {
            return Ok(keys);
        }
        Err(Fail::Value(format!("{} bytes are no keys of {} bytes", keys.len(), self.key_bytes)).into())
    }
}

#[pymethods]
impl Map {
    /// Sets the values of keys, or with `is_insertion` adds only missing keys. Returns the number of added keys.
    fn store(&self, py: Python<'_>, keys: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>, is_insertion: bool) -> PyResult<usize> {
        let (keys, values) = (self.keys(keys)?, Bytes::of(values)?.to_values::<u8>());
        if values.len() / self.value_bytes != keys.len() / self.key_bytes || !values.len().is_multiple_of(self.value_bytes) {
            return Err(Fail::Value("there must be one value for each key".into()).into());
        }
        Ok(self.call(py, |map| map.store(&keys, &values, self.lengths(), is_insertion))?)
    }

    /// Returns the values of keys, and for each key a byte that says whether it was found.
    fn find(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, Vec<u8>)> {
        let keys = self.keys(keys)?;
        Ok(self.call(py, |map| map.find(&keys, self.lengths()))?)
    }

    /// Removes keys. Returns the number of keys that the map contained.
    fn remove(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let keys = self.keys(keys)?;
        Ok(self.call(py, |map| {
            keys.chunks_exact(self.key_bytes).try_fold(0, |count, key| Ok(count + usize::from(map.remove(key)?)))
        })?)
    }

    /// Returns the rank that stores a key.
    fn owner(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        let key = self.keys(key)?;
        if key.len() != self.key_bytes {
            return Err(Fail::Value(format!("one key of {} bytes, not {}", self.key_bytes, key.len())).into());
        }
        Ok(self.call(py, |map| Ok(map.owner(&key)))?)
    }

    /// Returns the keys of this rank and their values.
    fn local(&self, py: Python<'_>) -> PyResult<(Vec<u8>, Vec<u8>)> {
        Ok(self.call(py, |map| map.local(self.lengths()))?)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.link.discard(Garbage::Map(self.number));
    }
}
