//! Handles of device memory that a process exports to others of its host.

/// Exported handle of device memory ([`DeviceMemory::export`](crate::DeviceMemory::export)): the name of a driver, and the data that the driver
/// needs to open the memory. Plain bytes, which any process of the host may pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceHandle {
    pub(crate) driver: [u8; Self::NAME_BYTES],
    bytes: [u8; Self::BYTES],
}

impl DeviceHandle {
    /// Maximum length of a driver's name.
    pub const NAME_BYTES: usize = 8;
    /// Room for the driver's data.
    pub const BYTES: usize = 112;
    /// Size of an encoded handle.
    pub const ENCODED_BYTES: usize = Self::NAME_BYTES + Self::BYTES;

    /// Creates a handle of a driver; the unused rest of the room is zero.
    ///
    /// # Panics
    /// The name or the bytes are longer than their room.
    pub fn new(driver: &str, bytes: &[u8]) -> Self {
        let mut handle = Self { driver: [0; Self::NAME_BYTES], bytes: [0; Self::BYTES] };
        handle.driver[..driver.len()].copy_from_slice(driver.as_bytes());
        handle.bytes[..bytes.len()].copy_from_slice(bytes);
        handle
    }

    /// Encodes the handle as bytes.
    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut encoded = [0; Self::ENCODED_BYTES];
        encoded[..Self::NAME_BYTES].copy_from_slice(&self.driver);
        encoded[Self::NAME_BYTES..].copy_from_slice(&self.bytes);
        encoded
    }

    /// Decodes the result of [`encode`](Self::encode); any bytes are a handle, though its driver may not exist.
    pub fn decode(encoded: &[u8; Self::ENCODED_BYTES]) -> Self {
        let driver = std::array::from_fn(|index| encoded[index]);
        let bytes = std::array::from_fn(|index| encoded[Self::NAME_BYTES + index]);
        Self { driver, bytes }
    }

    /// Returns the driver's data.
    pub fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.bytes
    }
}
