//! Memory of a GPU of another process of this host: copies by a handle, without the owner; atomics, and everything that the driver refuses, by the
//! owner.
//!
//! The test starts itself twice with a mock driver: as the peer, which posts operations, and as the owner, which executes commands from its standard
//! input and nothing else: it polls its transport only on the command to serve.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use pelago_base::{AtomicOperator, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaMemory, Device, LIBRARY_VARIABLE};
use pelago_memory::{Cells, DeviceMemory, DeviceRange, Region};
use pelago_platform::{Address, Endpoint, Failure, Flags, Network, Operation, Registry, Token, Transport};
use pelago_shm::{CopyBy, HostMemory, HostPlan, Shm};

const BYTES: usize = 300_000;
const ROLE: &str = "PELAGO_TEST_ROLE";
const MEMORY: &str = "PELAGO_TEST_MEMORY";
const OWNER: Rank = Rank::new(1);

/// Runs this program as a peer with a mock driver of these settings.
fn peer(name: &str, settings: &str) {
    let driver = MockDriver::build(Path::new(env!("CARGO_TARGET_TMPDIR")), &format!("shm-{name}"), &[]);
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command
        .args(["--exact", "roles", "--nocapture"])
        .env(ROLE, name)
        .env(LIBRARY_VARIABLE, driver)
        .env("PELAGO_MOCK_CUDA", settings);
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn copies_pass_the_owner_by_and_atomics_are_its_own() {
    peer("handles", "");
}

#[test]
fn what_the_driver_refuses_to_share_is_asked_of_the_owner() {
    peer("refused", "ipc-refused");
}

#[test]
fn a_process_that_does_not_use_the_driver_asks_the_owner() {
    peer("without", "");
}

/// Not a test by itself: the entry point of the processes that the other tests start.
#[test]
fn roles() {
    match std::env::var(ROLE).as_deref() {
        Ok("owner") => owner(),
        Ok("handles") => by_handles(),
        Ok("refused") => by_owner(true),
        Ok("without") => by_owner(false),
        _ => {}
    }
}

/// A rank that registers memory of its GPU, and executes commands.
fn owner() {
    let file = OpenOptions::new().read(true).write(true).open(std::env::var(MEMORY).unwrap()).unwrap();
    let host = Arc::new(HostMemory::attach(&file).unwrap());
    host.join(OWNER);
    let mut transport = Shm::new(host.clone(), OWNER, CopyBy::Attach, true);
    let start = host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, 0).unwrap();
    let device = Device::get(0).unwrap();
    let mut memory: Option<Arc<CudaMemory>> = None;
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("register", byte) => {
                let registered = device.allocate(BYTES as u64).unwrap();
                registered.write(0, &vec![byte.parse().unwrap(); BYTES]).unwrap();
                transport.register(start, Region::Device(DeviceRange::whole(registered.clone()))).unwrap();
                memory = Some(registered);
            }
            ("unregister", _) => {
                assert!(transport.deregister(start), "nobody is inside between operations");
                memory = None;
            }
            ("serve", _) => while !transport.progress(Instant::ZERO, &mut Vec::new()) {},
            ("sum", _) => {
                let mut bytes = vec![0; BYTES];
                memory.as_ref().unwrap().read(0, &mut bytes).unwrap();
                println!("{}", sum(&bytes));
                continue;
            }
            other => panic!("{other:?}"),
        }
        println!("done");
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum: u64, &byte| sum.wrapping_mul(0x100_0000_01B3) ^ u64::from(byte))
}

/// The owner, as a process, and a transport to it.
struct Pair {
    host: Arc<HostMemory>,
    transport: Shm,
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<std::process::ChildStdout>,
}

impl Pair {
    fn new() -> Self {
        let (host, file) = HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "roles", "--nocapture"]).env(ROLE, "owner").env(MEMORY, path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let host = Arc::new(host);
        host.join(Rank::new(0));
        let mut transport = Shm::new(host.clone(), Rank::new(0), CopyBy::Attach, true);
        let mut pair = {
            transport.connect(None, OWNER, &Address(1u32.to_le_bytes().into())).unwrap();
            Self { host, transport, child, orders, answers }
        };
        while !pair.answer().ends_with("ready") {}
        pair
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        assert!(self.answers.read_line(&mut line).unwrap() > 0, "the owner ended early");
        line.trim_end().into()
    }

    fn order(&mut self, order: &str) -> String {
        self.send(order);
        self.answer()
    }

    fn send(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    fn at(&self, offset: u64) -> GlobalAddress {
        self.host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, offset).unwrap()
    }

    /// Posts an operation; `None` if it does not complete immediately.
    fn post(&mut self, operation: Operation<'_>) -> Option<Result<u64, Failure>> {
        self.transport.post(Instant::ZERO, Endpoint(1), operation, Flags::NONE, Token(1)).unwrap();
        self.look()
    }

    fn look(&mut self) -> Option<Result<u64, Failure>> {
        let mut completed = Vec::new();
        self.transport.progress(Instant::ZERO, &mut completed);
        completed.first().map(|completion| completion.result)
    }

    /// Posts an operation that needs the owner, which serves `requests` requests.
    fn served(&mut self, operation: Operation<'_>, requests: usize) -> Result<u64, Failure> {
        assert_eq!(self.post(operation), None, "it needs the owner");
        for _ in 0..requests {
            assert_eq!(self.look(), None);
            assert_eq!(self.order("serve"), "done");
        }
        self.look().expect("the owner has served it")
    }

    fn end(mut self) {
        drop(self.orders.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn numbers(seed: usize) -> Vec<u8> {
    (0..BYTES).map(|index| (index ^ (index >> 8) ^ (seed * 37)) as u8).collect()
}

/// Memory that lives as long as the process, as transports take it.
fn cells(bytes: Vec<u8>) -> Cells<'static> {
    Cells::from_mut(bytes.leak())
}

fn by_handles() {
    let mock = MockDriver::at(Path::new(&std::env::var(LIBRARY_VARIABLE).unwrap()));
    let mut pair = Pair::new();
    let device = Device::get(1).unwrap();
    assert_eq!(pair.order("register 3"), "done");
    let start = pair.at(0);

    // Put, get and copies of many sizes, while the owner does nothing.
    let mut expected = vec![3; BYTES];
    for (round, (offset, bytes)) in [(0, BYTES), (5, 1), (1000, 65_536), (17, 100_000), (BYTES - 8, 8)].into_iter().enumerate() {
        let part = numbers(round)[..bytes].to_vec();
        let at = pair.at(offset as u64);
        assert_eq!(pair.post(Operation::Put { from: cells(part.clone()), to: at }), Some(Ok(0)));
        expected[offset..offset + bytes].copy_from_slice(&part);
        let back = cells(vec![0; bytes]);
        assert_eq!(pair.post(Operation::Get { from: at, to: back }), Some(Ok(0)));
        assert!(back.to_vec() == part);
    }
    assert_eq!(pair.order("sum"), sum(&expected).to_string());
    assert_eq!(
        pair.post(Operation::Put { from: cells(vec![0; 9]), to: pair.at(BYTES as u64 - 8) }),
        Some(Err(Failure::OutOfBounds(pair.at(BYTES as u64 - 8))))
    );

    // From one's own GPU, by the driver's copy from device to device.
    let own = device.allocate(BYTES as u64).unwrap();
    own.write(0, &numbers(9)).unwrap();
    let mine = pair.host.reach().addresses().encode(Rank::new(0), SegmentId::REGISTERED_FIRST, 0).unwrap();
    pair.transport.register(mine, Region::Device(DeviceRange::whole(own.clone()))).unwrap();
    let executed = mock.count("executed");
    assert_eq!(pair.post(Operation::Copy { from: mine, to: start, bytes: BYTES as u64 }), Some(Ok(0)));
    assert_eq!(mock.count("executed") - executed, 1);
    assert_eq!(pair.order("sum"), sum(&numbers(9)).to_string());
    assert_eq!(mock.count("opened"), 1, "once for all operations");

    // The owner performs atomics.
    let add = Operation::Atomic { at: start, width: Width::Eight, operator: AtomicOperator::Add, operand: 5 };
    let word = u64::from_le_bytes(numbers(9)[..8].try_into().unwrap());
    assert_eq!(pair.served(add, 1), Ok(word));

    // The same addresses belong to other memory now: the open memory is not used for them.
    assert_eq!(pair.order("unregister"), "done");
    let back = cells(vec![0; 8]);
    assert_eq!(pair.post(Operation::Get { from: start, to: back }), Some(Err(Failure::OutOfBounds(start))));
    assert_eq!(pair.order("register 4"), "done");
    assert_eq!(pair.post(Operation::Get { from: start, to: back }), Some(Ok(0)));
    assert_eq!(back.to_vec(), [4; 8]);
    assert_eq!(mock.count("opened"), 2);

    // 256 registrations stay open; beyond, the oldest is closed, and opened again when it is needed.
    for round in 0..256 {
        assert_eq!((pair.order("unregister"), pair.order(&format!("register {}", round % 100))), ("done".into(), "done".into()));
        assert_eq!(pair.post(Operation::Get { from: start, to: back }), Some(Ok(0)));
        assert_eq!(back.to_vec(), [(round % 100) as u8; 8]);
    }
    assert_eq!((mock.count("opened"), mock.count("closed")), (258, 2));
    pair.end();
}

/// The driver refuses handles, or this process does not use it.
fn by_owner(uses_driver: bool) {
    let device = uses_driver.then(|| Device::get(0).unwrap());
    let mut pair = Pair::new();
    assert_eq!(pair.order("register 3"), "done");
    // Pieces of 32 KiB, one request to the owner each.
    let pieces = BYTES.div_ceil(32 * 1024);
    assert_eq!(pair.served(Operation::Put { from: cells(numbers(1)), to: pair.at(0) }, pieces), Ok(0));
    assert_eq!(pair.order("sum"), sum(&numbers(1)).to_string());
    let back = cells(vec![0; BYTES]);
    assert_eq!(pair.served(Operation::Get { from: pair.at(0), to: back }, pieces), Ok(0));
    assert!(back.to_vec() == numbers(1));
    drop(device);
    pair.end();
}
