//! Streams as [`DeviceStream`], for layers that are independent of the driver.

use std::any::Any;
use std::sync::Arc;

use pelago_memory::{BlockCopy, DeviceAnnouncement, DeviceError, DeviceMemory, DeviceRange, DeviceStream, PreparedCopies};

use super::CudaMemory;
use super::kernels::FaceList;
use super::stream::Stream;
use crate::driver::CudaError;

impl DeviceStream for Stream {
    fn has_words(&self) -> bool {
        self.device().has_stream_values()
    }

    fn allocate(&self, bytes: u64) -> Result<Arc<dyn DeviceMemory>, DeviceError> {
        let memory = self.device().allocate(bytes)?;
        memory.zero()?;
        Ok(memory)
    }

    fn open(&self, announced: &DeviceAnnouncement) -> Result<Arc<dyn DeviceMemory>, DeviceError> {
        if announced.is_of_this_process() {
            let memory = announced.memory().ok_or(CudaError::Invalid("the memory that was announced is gone"))?;
            let is_reached = match (&*memory as &dyn Any).downcast_ref::<CudaMemory>() {
                Some(memory) => self.device().reaches(memory.device())?,
                None => false,
            };
            let unreached = CudaError::Unsupported("way to memory of another device by its address");
            return if is_reached { Ok(memory) } else { Err(unreached.into()) };
        }
        let handle = announced.handle().ok_or(CudaError::Invalid("the memory of a peer is not shared between processes"))?;
        Ok(CudaMemory::import_for(self.device(), &handle)?)
    }

    fn prepare(&self, copies: &[BlockCopy]) -> Result<PreparedCopies, DeviceError> {
        Ok(PreparedCopies::new(Arc::new(self.list_faces(copies)?)))
    }

    fn copy(&self, prepared: &PreparedCopies) -> Result<(), DeviceError> {
        let faces = prepared.downcast::<FaceList>().ok_or(CudaError::Invalid("another driver has prepared the copies"))?;
        Ok(self.copy_listed(&faces)?)
    }

    fn write_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError> {
        Ok(self.write_value(word, value)?)
    }

    fn wait_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError> {
        Ok(self.wait_at_least(word, value)?)
    }

    fn is_over(&self) -> Result<bool, DeviceError> {
        let is_over = Stream::is_over(self)?;
        if is_over {
            // Releases the memory that the stream has kept.
            self.synchronize()?;
        }
        Ok(is_over)
    }
}
