//! Tests of direct access to device memory by network cards, with a mock driver.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaMemory, Device, DeviceRange, Driver};
use pelago_memory::DeviceMemory;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn device(mock: &MockDriver) -> Device {
    Device::of(&Driver::open(mock.name()).unwrap(), 0).unwrap()
}

fn refusal(memory: &Arc<CudaMemory>) -> String {
    let why = memory.dma_buf(0, memory.bytes()).expect_err("refused").0;
    assert!(!why.contains('\n'));
    why
}

/// The device sees data written through the descriptor at the reported offset, and the reverse.
#[test]
fn a_range_is_reached_by_its_descriptor() {
    let mock = MockDriver::new(folder(), "dma-buf");
    let device = device(&mock);
    let memory = device.allocate(10_000).unwrap();
    memory.write(0, &[7; 10_000]).unwrap();
    let part = DeviceRange::whole(memory.clone()).part(100, 9_000).unwrap();
    let buffer = part.dma_buf().unwrap();
    assert_eq!((buffer.offset, buffer.address, buffer.read_only), (100, memory.address() + 100, None));
    let file = File::from(buffer.descriptor);
    file.write_at(&[1, 2, 3], buffer.offset).unwrap();
    let mut found = [0; 4];
    memory.read(100, &mut found).unwrap();
    assert_eq!(found, [1, 2, 3, 7]);
    memory.write(9_099, &[9]).unwrap();
    file.read_exact_at(&mut found[..1], buffer.offset + 8_999).unwrap();
    assert_eq!(found[0], 9);
    assert_eq!(mock.count("dma-bufs"), 1);
    assert!(memory.dma_buf(1, 10_000).is_err(), "past the end");
}

#[test]
fn each_refusal_is_one_line() {
    let mock = MockDriver::new(folder(), "no-dma-buf");
    let device = device(&mock);
    let memory = device.allocate(4096).unwrap();
    mock.set("no-dma-buf", 1);
    assert!(refusal(&memory).contains("has no dma-buf"));
    mock.set("no-dma-buf", 0);
    mock.set("dma-buf-refused", 1);
    assert!(refusal(&memory).contains("cuMemGetHandleForAddressRange failed: operation not supported"));
    mock.set("dma-buf-refused", 0);
    assert!(refusal(&device.allocate_managed(4096).unwrap()).contains("has allocated on the device"));
    memory.dma_buf(0, 4096).unwrap();
    // A driver before CUDA 11.7.
    let old = MockDriver::new(folder(), "dma-buf-old");
    old.set_text("missing", "cuMemGetHandleForAddressRange");
    let device = self::device(&old);
    assert!(refusal(&device.allocate(8).unwrap()).contains("no function cuMemGetHandleForAddressRange"));
    assert!(device.dma_buf_access().is_err());
}

/// Cards may read where the device does not see their writes in order.
#[test]
fn memory_is_written_by_cards_only_if_the_device_sees_their_writes_in_order() {
    let mock = MockDriver::new(folder(), "dma-buf-order");
    let device = device(&mock);
    let memory = device.allocate(8).unwrap();
    for (ordering, may_write) in [(0, false), (99, false), (100, true), (200, true)] {
        mock.set("ordering", ordering);
        assert_eq!(memory.dma_buf(0, 8).unwrap().read_only.is_none(), may_write, "{ordering}");
        assert_eq!(device.dma_buf_access().unwrap().is_none(), may_write);
    }
    let hip = MockDriver::at(&MockDriver::build(folder(), "amdhip64-dma-buf", &["MOCK_HIP"]));
    let memory = self::device(&hip).allocate(8).unwrap();
    assert!(memory.dma_buf(0, 8).unwrap().read_only.is_some_and(|why| why.contains("HIP")));
}
