//! Announcements of device memory to ranks of the same or another process.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::{DeviceHandle, DeviceMemory};

/// Description of device memory for other ranks, as words that any of them may read. A rank of the same process uses the memory itself, a rank
/// of another process of the host opens the handle; drivers do not open handles of their own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAnnouncement {
    /// Number of the process, which is unique with high probability.
    process: u64,
    /// Number of the memory in that process.
    number: u64,
    /// Exported handle; zero if the driver does not export the memory.
    handle: [u8; DeviceHandle::ENCODED_BYTES],
}

/// Memory that this process has announced, while it exists.
struct Announced {
    last: u64,
    memories: BTreeMap<u64, Weak<dyn DeviceMemory>>,
}

static ANNOUNCED: Mutex<Announced> = Mutex::new(Announced { last: 0, memories: BTreeMap::new() });

impl DeviceAnnouncement {
    /// Number of words of an announcement.
    pub const WORDS: usize = 2 + DeviceHandle::ENCODED_BYTES / size_of::<u64>();

    /// Announces memory, which ranks of this process find while it exists.
    ///
    /// Cost: an export of the driver ([`DeviceMemory::export`]), and a search among the memory that has been announced and still exists.
    pub fn of(memory: &Arc<dyn DeviceMemory>) -> Self {
        let handle = memory.export().and_then(Result::ok).map_or([0; DeviceHandle::ENCODED_BYTES], |handle| handle.encode());
        let mut announced = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
        announced.memories.retain(|_, memory| memory.strong_count() > 0);
        let is_it = |known: &Weak<dyn DeviceMemory>| known.upgrade().is_some_and(|known| Arc::ptr_eq(&known, memory));
        let known = announced.memories.iter().find(|(_, known)| is_it(known)).map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| {
            announced.last += 1;
            let number = announced.last;
            announced.memories.insert(number, Arc::downgrade(memory));
            number
        });
        Self { process: this_process(), number, handle }
    }

    /// Whether a rank of this process created the announcement.
    pub fn is_of_this_process(&self) -> bool {
        self.process == this_process()
    }

    /// Returns the memory, if it belongs to this process and still exists.
    pub fn memory(&self) -> Option<Arc<dyn DeviceMemory>> {
        let announced = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
        announced.memories.get(&self.number).filter(|_| self.is_of_this_process()).and_then(Weak::upgrade)
    }

    /// Returns the handle by which another process of the host opens the memory; `None` if its driver exports none.
    pub fn handle(&self) -> Option<DeviceHandle> {
        self.handle.iter().any(|&byte| byte != 0).then(|| DeviceHandle::decode(&self.handle))
    }

    /// Encodes the announcement as words that ranks exchange.
    pub fn encode(&self) -> [u64; Self::WORDS] {
        let (handle, _) = self.handle.as_chunks::<8>();
        std::array::from_fn(|index| match index {
            0 => self.process,
            1 => self.number,
            _ => u64::from_le_bytes(handle[index - 2]),
        })
    }

    /// Decodes the result of [`encode`](Self::encode); any words are an announcement, though its memory may not exist.
    pub fn decode(words: &[u64; Self::WORDS]) -> Self {
        let byte = |index: usize| words[2 + index / 8].to_le_bytes()[index % 8];
        Self { process: words[0], number: words[1], handle: std::array::from_fn(byte) }
    }
}

/// Returns a number of this process: random, as processes of one host may be in several containers with equal process ids.
fn this_process() -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    *PROCESS.get_or_init(|| RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceError, MemoryKind};
    use pelago_base::{AtomicOperator, Width};

    struct Exported(Option<u8>);

    impl DeviceMemory for Exported {
        fn kind(&self) -> MemoryKind {
            MemoryKind::Device { driver: "told", ordinal: 0 }
        }

        fn bytes(&self) -> u64 {
            0
        }

        fn read(&self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
            Ok(())
        }

        fn write(&self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
            Ok(())
        }

        fn atomic(&self, _: u64, _: Width, _: AtomicOperator, _: u64) -> Result<u64, DeviceError> {
            Ok(0)
        }

        fn export(&self) -> Option<Result<DeviceHandle, DeviceError>> {
            self.0.map(|byte| Ok(DeviceHandle::new("told", &[byte; 100])))
        }
    }

    #[test]
    fn memory_of_this_process_is_found_while_it_exists_and_no_other() {
        let memories = [Some(3), None].map(|byte| Arc::new(Exported(byte)) as Arc<dyn DeviceMemory>);
        let [shared, own] =
            memories.each_ref().map(|memory| DeviceAnnouncement::decode(&DeviceAnnouncement::of(memory).encode()));
        assert_eq!(DeviceAnnouncement::of(&memories[0]), shared, "the same each time");
        assert_eq!(shared.handle(), Some(DeviceHandle::new("told", &[3; 100])));
        assert_eq!(own.handle(), None);
        for (announced, memory) in [shared, own].iter().zip(&memories) {
            assert!(announced.is_of_this_process() && announced.memory().is_some_and(|found| Arc::ptr_eq(&found, memory)));
        }
        let foreign = DeviceAnnouncement { process: !shared.process, ..shared };
        assert!(!foreign.is_of_this_process() && foreign.memory().is_none());
        drop(memories);
        assert!(shared.memory().is_none() && own.memory().is_none());
    }
}
