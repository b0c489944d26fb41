//! Gets that the program waits for later.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::buffer::Bytes;
use crate::fail::Fail;
use crate::link::Link;
use crate::rank::Garbage;

/// A get in flight. If nobody waits for it, its bytes are discarded.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Get {
    link: Arc<Link>,
    number: u64,
}

impl Get {
    pub(crate) fn new(link: Arc<Link>, number: u64) -> Self {
        Self { link, number }
    }
}

#[pymethods]
impl Get {
    /// Waits for the bytes and writes them to `into`, which has room for all. A second call fails; after an exception of a signal handler it does not.
    fn wait(&self, py: Python<'_>, into: &Bound<'_, PyAny>) -> PyResult<()> {
        let into = Bytes::writable(into)?;
        Ok(self.link.call(py, |me| {
            let handle = me.gets.with(self.number, |get| Ok(get.handle()))?;
            me.wait(handle)?;
            let (get, mut bytes) = (me.gets.take(self.number).ok_or(Fail::Ended)?, vec![0_u8; into.len()]);
            get.wait_into(&mut bytes)?;
            into.write(&bytes);
            Ok(())
        })?)
    }

    /// Whether the bytes have arrived.
    fn test(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.link.call(py, |me| me.gets.with(self.number, |get| Ok(get.test()?)))?)
    }
}

impl Drop for Get {
    fn drop(&mut self) {
        self.link.discard(Garbage::Get(self.number));
    }
}
