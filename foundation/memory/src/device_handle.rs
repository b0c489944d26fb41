//! What a process tells others of this host about memory of a device.

/// What a process tells others of memory of a device ([`DeviceMemory::export`](crate::DeviceMemory::export)): the name of a driver, and what that driver needs to open the memory. Plain
/// bytes, which any process of the host may pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceHandle {
    pub(crate) driver: [u8; Self::NAME_BYTES],
    bytes: [u8; Self::BYTES],
}

impl DeviceHandle {
    /// The longest name of a driver.
    pub const NAME_BYTES: usize = 8;
    /// Room for what a driver needs.
    pub const BYTES: usize = 112;
    /// Both together.
    pub const ENCODED_BYTES: usize = Self::NAME_BYTES + Self::BYTES;

    /// A handle of a driver; what is left of the room is zero.
    ///
    /// # Panics
    /// The name or the bytes are longer than their room.
    pub fn new(driver: &str, bytes: &[u8]) -> Self {
        let mut handle = Self { driver: [0; Self::NAME_BYTES], bytes: [0; Self::BYTES] };
        handle.driver[..driver.len()].copy_from_slice(driver.as_bytes());
        handle.bytes[..bytes.len()].copy_from_slice(bytes);
        handle
    }

    /// As it is passed on.
    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut encoded = [0; Self::ENCODED_BYTES];
        encoded[..Self::NAME_BYTES].copy_from_slice(&self.driver);
        encoded[Self::NAME_BYTES..].copy_from_slice(&self.bytes);
        encoded
    }

    /// What [`encode`](Self::encode) has made; any bytes are a handle, of a driver that may not exist.
    pub fn decode(encoded: &[u8; Self::ENCODED_BYTES]) -> Self {
        let driver = std::array::from_fn(|index| encoded[index]);
        let bytes = std::array::from_fn(|index| encoded[Self::NAME_BYTES + index]);
        Self { driver, bytes }
    }

    /// What the driver needs.
    pub fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.bytes
    }
}
