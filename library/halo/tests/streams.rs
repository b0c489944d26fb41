//! Exchanges in the order of streams: halos are those of host fields, the host does not wait, and the test detects the omission of each word that
//! orders the streams.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pelago_base::{Duration, Instant, Rank};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{Device, Driver, Stream};
use pelago_halo::{Array, Field, Halo, Method, Nodes, Plan, Settings, StreamPlan, Template, Verdict};
use pelago_kit::MockDevice;
use pelago_rma::{
    BlockCopy, DeviceAnnouncement, DeviceError, DeviceMemory, DeviceRange, DeviceStream, Error, Fault, PreparedCopies, Result,
    World,
};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death;
use pelago_test_support::simulated;
use pelago_test_support::threads::{PLATFORMS, Platform, run};

const EXCHANGES: u64 = 4;

fn mock(name: &str) -> (MockDriver, Arc<Driver>) {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), name);
    let driver = Driver::open(mock.name()).unwrap();
    (mock, driver)
}

fn arrays(parts: [usize; 3]) -> [Array<3>; 2] {
    let template = Template::new([7, 6, 5], Nodes::new(parts, [true, false, true]).unwrap()).unwrap();
    let array = |widths| template.align([7, 6, 5], [0; 3]).unwrap().shadow(widths).unwrap();
    [array([[1, 1]; 3]), array([[2, 1], [0, 1], [1, 0]])]
}

fn settings(method: Option<Method>) -> Settings {
    let given = |method| Settings { methods: [Some(method); 4], ..Settings::new(Halo::Corners) };
    method.map_or(Settings::new(Halo::Corners), given)
}

/// Uses the proposal without trials.
fn untried(method: Method) -> Settings {
    settings(Some(method)).with_trial_limit(Duration::ZERO)
}

fn bytes_of(host: &Field<'_, u64, 3>) -> Vec<u8> {
    host.cells()[..host.layout().length()].iter().flat_map(|cell| cell.to_le_bytes()).collect()
}

/// Both kinds of fields side by side: those of the host one exchange after the other, those of the device all in a stream, which writes them before
/// each exchange and saves the cells that it finds after it. `watch` is called around the calls that enqueue.
fn examine(
    world: &World,
    parts: [usize; 3],
    settings: &Settings,
    device: &Device,
    watch: impl Fn(&mut dyn FnMut(), bool),
) -> [bool; 2] {
    let stream = Arc::new(device.stream().unwrap());
    let mut hosts: Vec<_> = arrays(parts).iter().map(|array| Field::<u64, 3>::new(world, array).unwrap()).collect();
    let length = |host: &Field<'_, u64, 3>| host.layout().length() as u64 * 8;
    let mut devices: Vec<_> = hosts
        .iter()
        .map(|host| Field::<u64, 3>::on_device(world, host.array(), device.allocate(length(host)).unwrap()).unwrap())
        .collect();
    let mut host_plan = Plan::build(world, &mut hosts, settings).unwrap();
    let mut plan = StreamPlan::build(world, &mut devices, settings, stream.clone()).unwrap();
    let [sources, seen] = [0; 2].map(|_| {
        let all = hosts.iter().map(|host| device.allocate(EXCHANGES * length(host)).unwrap());
        all.collect::<Vec<_>>()
    });
    let mut expected = vec![Vec::new(); hosts.len()];
    for exchange in 0..EXCHANGES {
        for (field, host) in hosts.iter_mut().enumerate() {
            host.for_each(|at, cell| {
                *cell = exchange << 40 | at.iter().fold(field as u64, |number, &at| number << 8 | at as u64)
            });
            sources[field].write(exchange * length(host), &bytes_of(host)).unwrap();
        }
        host_plan.reflect(&mut hosts).unwrap();
        hosts.iter().zip(&mut expected).for_each(|(host, expected)| expected.extend(bytes_of(host)));
    }
    let is_queued = plan.is_queued();
    watch(
        &mut || {
            for exchange in 0..EXCHANGES {
                let part = |memory: &Arc<_>, host: &_| -> DeviceRange {
                    let memory: Arc<dyn DeviceMemory> = Arc::<pelago_cuda::CudaMemory>::clone(memory);
                    DeviceRange::whole(memory).part(exchange * length(host), length(host)).unwrap()
                };
                let whole = |field: &Field<'_, u64, 3>| DeviceRange::whole(field.device().unwrap().clone());
                for (field, host) in hosts.iter().enumerate() {
                    let range = whole(&devices[field]).part(0, length(host)).unwrap();
                    stream.copy(&range, &part(&sources[field], host)).unwrap();
                }
                plan.enqueue(&mut devices).unwrap();
                for (field, host) in hosts.iter().enumerate() {
                    let range = whole(&devices[field]).part(0, length(host)).unwrap();
                    stream.copy(&part(&seen[field], host), &range).unwrap();
                }
            }
        },
        is_queued,
    );
    plan.wait().unwrap();
    for (seen, expected) in seen.iter().zip(&expected) {
        let mut found = vec![0; expected.len()];
        seen.read(0, &mut found).unwrap();
        assert!(found == *expected, "{parts:?} {settings:?}");
    }
    let chosen = plan.explain().streams.iter().filter(|candidate| candidate.verdict.is_chosen()).count();
    assert_eq!(chosen, 1, "{}", plan.explain());
    let has_streams = plan.explain().streams.iter().all(|candidate| candidate.verdict != Verdict::NoStreams);
    world.barrier().unwrap();
    [plan.is_queued(), has_streams]
}

#[test]
fn halos_in_streams_are_those_of_the_host() {
    let (_mock, driver) = mock("halo-streams");
    for platform in PLATFORMS {
        for parts in [[1, 1, 1], [2, 1, 2], [2, 2, 2]] {
            for method in [None, Some(Method::Packed), Some(Method::Direct), Some(Method::Fetched)] {
                let is_long = parts == [2, 2, 2] || (method.is_none() && parts != [2, 1, 2]);
                if is_long && (platform != Platform::Mapped || method.is_none()) {
                    continue;
                }
                // Devices with two numbers: some stores go from one to the other.
                run(platform, parts.iter().product::<usize>() as u32, |world| {
                    let device = Device::of(&driver, world.rank().number() % 2).unwrap();
                    let [is_queued, has_streams] = examine(world, parts, &settings(method), &device, |act, _| act());
                    assert!(has_streams && (method != Some(Method::Fetched) || !is_queued));
                });
            }
        }
    }
}

/// One launch stores the borders of all fields into all neighbours, or one packs and one unpacks; no call waits for a device meanwhile.
#[test]
fn an_exchange_in_a_stream_launches_one_kernel_or_two_and_the_host_waits_for_none() {
    let (mock, driver) = mock("halo-stream-counts");
    for (method, launches) in [(Method::Direct, 1), (Method::Packed, 2)] {
        let before = AtomicU64::new(0);
        let count = |world: &World| {
            let device = Device::of(&driver, world.rank().number() % 2).unwrap();
            let watch = |act: &mut dyn FnMut(), is_queued: bool| {
                assert!(is_queued);
                world.barrier().unwrap();
                let waits = mock.count("host-waits");
                if world.rank() == Rank::new(0) {
                    before.store(mock.count("kernels"), Ordering::Relaxed);
                }
                world.barrier().unwrap();
                act();
                world.barrier().unwrap();
                assert_eq!(mock.count("host-waits"), waits, "of any rank");
                world.barrier().unwrap();
            };
            examine(world, [2, 1, 2], &untried(method), &device, watch);
            if world.rank() == Rank::new(0) {
                assert_eq!(mock.count("kernels") - before.load(Ordering::Relaxed), launches * EXCHANGES * 4, "{method}");
            }
            world.barrier().unwrap();
        };
        run(Platform::Mapped, 4, count);
    }
}

/// Without words of streams, without access to the memory of other devices, and without streams of a neighbour, the host exchanges, with the same
/// result.
#[test]
fn the_host_exchanges_where_streams_cannot() {
    for word in ["no-stream-values", "no-peers", "no-load"] {
        let (mock, driver) = mock(&format!("halo-{word}"));
        mock.set(word, 1);
        run(Platform::Mapped, 4, |world| {
            let device = Device::of(&driver, world.rank().number() % 2).unwrap();
            let [is_queued, has_streams] = examine(world, [2, 1, 2], &settings(None), &device, |act, _| act());
            assert!(!is_queued && !has_streams, "{word}");
        });
    }
    // One rank alone lacks them: all ranks detect it.
    let [(_one_mock, one), (other_mock, other)] = ["halo-one", "halo-other"].map(mock);
    other_mock.set("no-stream-values", 1);
    run(Platform::Mapped, 4, |world| {
        let driver = if world.rank() == Rank::new(3) { &other } else { &one };
        let device = Device::of(driver, 0).unwrap();
        assert_eq!(examine(world, [2, 1, 2], &settings(None), &device, |act, _| act()), [false; 2]);
    });
}

/// A rank dies before it enqueues its exchange: the others' streams would wait for it forever. Their waits report the failure, and their streams are
/// released.
#[test]
fn a_stream_that_waits_for_a_lost_rank_is_let_go_on() {
    let (mock, driver) = mock("halo-stream-lost");
    mock.set("manual", 1);
    const VICTIM: Rank = Rank::new(1);
    for method in [Method::Direct, Method::Packed] {
        let dies = Some(Instant::from_picoseconds(500_000_000_000));
        let (_, ended) = run_with_death(2, FaultInjection::default(), (VICTIM, dies), |world, begin| {
            world.on_peer_lost(|_| {});
            let device = Device::of(&driver, world.rank().number()).unwrap();
            let stream = Arc::new(device.stream().unwrap());
            let [array, _] = arrays([2, 1, 1]);
            let length = array.layout(array.template().nodes().place(world.rank())).length() as u64 * 8;
            let mut fields = [Field::<u64, 3>::on_device(world, &array, device.allocate(length).unwrap())?];
            let mut plan = StreamPlan::build(world, &mut fields, &untried(method), stream.clone())?;
            assert!(plan.is_queued());
            plan.enqueue(&mut fields)?;
            plan.wait()?;
            world.barrier()?;
            begin();
            if world.rank() == VICTIM {
                // Until it dies.
                return world.poll_for("its end", None, || Ok(None::<()>));
            }
            plan.enqueue(&mut fields)?;
            plan.enqueue(&mut fields)?;
            assert_eq!(stream.is_over(), Ok(false));
            assert_eq!(plan.wait(), Err(Error::Fault(Fault::PeerLost(VICTIM))));
            assert_eq!(stream.is_over(), Ok(true));
            assert!(matches!(plan.enqueue(&mut fields), Err(Error::Invalid(_))));
            Ok(())
        });
        assert_eq!(ended[0], Some(()), "{method}");
    }
}

/// The stream of a rank fails: the others' streams would wait for its borders forever. Their waits report that, and their streams are released.
#[test]
fn a_stream_that_waits_for_one_that_fails_is_let_go_on() {
    let (mock, driver) = mock("halo-stream-fails");
    mock.set("manual", 1);
    for method in [Method::Direct, Method::Packed] {
        run(Platform::Mapped, 2, |world| {
            let fails = world.rank() == Rank::new(1);
            let device = Device::of(&driver, world.rank().number()).unwrap();
            // Both copies of the first exchange of two.
            let wrong = if fails { Wrong::FailsAfter(2) } else { Wrong::Nothing };
            let (inner, is_direct) = (device.stream().unwrap(), method == Method::Direct);
            let stream = Arc::new(Leaky { inner, wrong, is_direct, state: Mutex::default(), watched: None });
            let [array, _] = arrays([2, 1, 1]);
            let length = array.layout(array.template().nodes().place(world.rank())).length() as u64 * 8;
            let mut fields = [Field::<u64, 3>::on_device(world, &array, device.allocate(length).unwrap()).unwrap()];
            let mut plan = StreamPlan::build(world, &mut fields, &untried(method), stream.clone()).unwrap();
            assert!(plan.is_queued());
            plan.enqueue(&mut fields).unwrap();
            plan.wait().unwrap();
            world.barrier().unwrap();
            let ended = plan.enqueue(&mut fields).and_then(|()| plan.wait());
            assert!(
                if fails { matches!(ended, Err(Error::Failed(_))) } else { matches!(ended, Err(Error::Invalid(_))) },
                "{ended:?}"
            );
            assert!(matches!(plan.enqueue(&mut fields), Err(Error::Invalid(_))));
            assert_eq!(DeviceStream::is_over(&*stream), Ok(true));
            world.barrier().unwrap();
        });
    }
}

/// The stream of a rank fails in one of the trials: ranks that have ended this trial do not wait for it in the next one.
#[test]
fn a_stream_that_fails_in_a_trial_ends_the_build_on_all_ranks() {
    let (_mock, driver) = mock("halo-stream-trial");
    for copies in 0..12 {
        run(Platform::Mapped, 2, |world| {
            let wrong = if world.rank() == Rank::new(1) { Wrong::FailsAfter(copies) } else { Wrong::Nothing };
            let device = Device::of(&driver, world.rank().number()).unwrap();
            let inner = device.stream().unwrap();
            let stream = Arc::new(Leaky { inner, wrong, is_direct: false, state: Mutex::default(), watched: None });
            let [array, _] = arrays([2, 1, 1]);
            let length = array.layout(array.template().nodes().place(world.rank())).length() as u64 * 8;
            let mut fields = [Field::<u64, 3>::on_device(world, &array, device.allocate(length).unwrap()).unwrap()];
            let built = StreamPlan::build(world, &mut fields, &settings(None), stream).map(drop);
            assert!(matches!(built, Ok(()) | Err(Error::Failed(_) | Error::Invalid(_))), "{built:?}");
            let mut failed = [u64::from(built.is_err())];
            world.allreduce(&mut failed, |one, other| one + other).unwrap();
            assert!([0, 2].contains(&failed[0]), "{copies}: {failed:?}");
            assert!(failed != [0] || copies > 0);
            world.barrier().unwrap();
        });
    }
}

#[test]
fn exchanges_are_started_and_finished_by_turns() {
    let (_mock, driver) = mock("halo-stream-turns");
    for settings in [untried(Method::Direct), untried(Method::Fetched)] {
        run(Platform::Mapped, 2, |world| {
            let device = Device::of(&driver, 0).unwrap();
            let [array, _] = arrays([2, 1, 1]);
            let mut fields = [Field::<u64, 3>::on_device(world, &array, device.allocate(1 << 16).unwrap()).unwrap()];
            let mut others = [Field::<u64, 3>::on_device(world, &array, device.allocate(1 << 16).unwrap()).unwrap()];
            let mut plan = StreamPlan::build(world, &mut fields, &settings, Arc::new(device.stream().unwrap())).unwrap();
            let is_refused = |ended: Result<()>| matches!(ended, Err(Error::Invalid(_)));
            for _ in 0..2 {
                assert!(is_refused(plan.finish(&mut fields)) && is_refused(plan.start(&mut others)));
                plan.start(&mut fields).unwrap();
                assert!(is_refused(plan.start(&mut fields)) && is_refused(plan.finish(&mut others)));
                plan.finish(&mut fields).unwrap();
            }
            plan.wait().unwrap();
        });
    }
}

/// The end of a plan waits for the last credits of its neighbours, which they write into its mailbox.
#[test]
fn a_mailbox_is_given_back_when_nobody_writes_there_any_more() {
    let (mock, driver) = mock("halo-stream-end");
    mock.set("manual", 1);
    simulated::run_to_the_end(&simulated::settings("rx200-qdr", 2, 2), "ends", |world| {
        let device = Device::of(&driver, world.rank().number()).unwrap();
        let array = Template::new([CELLS * 2], Nodes::new([2], [true]).unwrap()).unwrap().array().shadow([[1, 1]]).unwrap();
        for seed in 1..=20 {
            let done = Arc::new(AtomicU64::new(0));
            let watched = Some((MockDriver::at(Path::new(mock.name())), done.clone()));
            let (inner, state) = (device.stream().unwrap(), Mutex::default());
            let stream = Arc::new(Leaky { inner, wrong: Wrong::Nothing, is_direct: false, state, watched });
            let mut fields = [Field::<u64, 1>::on_device(world, &array, device.allocate(64).unwrap())?];
            let mut plan = StreamPlan::build(world, &mut fields, &untried(Method::Packed), stream)?;
            mock.set("seed", seed);
            plan.enqueue(&mut fields)?;
            world.barrier()?;
            if world.rank() == Rank::new(0) {
                let before = mock.count("executed");
                drop(plan);
                // The last operation that the other's stream executes is the one that the end of this plan waits for.
                assert!(mock.count("executed") > before);
                assert_eq!(mock.count("executed"), done.load(Ordering::Relaxed), "seed {seed}: something was left to be done");
            }
            world.barrier()?;
        }
        Ok(())
    });
}

/// A stream holds a limited number of exchanges: the host waits for it before the next.
#[test]
fn a_stream_holds_so_many_exchanges_at_once() {
    let (mock, driver) = mock("halo-stream-bound");
    mock.set("manual", 1);
    run(Platform::Mapped, 1, |world| {
        let device = Device::of(&driver, 0).unwrap();
        let array = Template::new([4], Nodes::new([1], [true]).unwrap()).unwrap().array().shadow([[1, 1]]).unwrap();
        let mut fields = [Field::<u64, 1>::on_device(world, &array, device.allocate(48).unwrap()).unwrap()];
        let stream = Arc::new(device.stream().unwrap());
        let mut plan = StreamPlan::build(world, &mut fields, &untried(Method::Direct), stream).unwrap();
        let before = mock.count("kernels");
        (0..32).for_each(|_| plan.enqueue(&mut fields).unwrap());
        assert!(mock.count("kernels") - before < 32, "nobody has waited");
        plan.start(&mut fields).unwrap();
        assert!(mock.count("kernels") - before >= 32, "the first exchanges are done");
        plan.finish(&mut fields).unwrap();
        plan.wait().unwrap();
    });
}

#[test]
fn fields_of_the_host_have_no_plan_on_a_stream() {
    let (_mock, driver) = mock("halo-stream-host");
    run(Platform::Mapped, 2, |world| {
        let stream: Arc<dyn DeviceStream> = Arc::new(Device::of(&driver, 0).unwrap().stream().unwrap());
        let [array, _] = arrays([2, 1, 1]);
        let mut fields = [Field::<u64, 3>::new(world, &array).unwrap()];
        let built = StreamPlan::build(world, &mut fields, &untried(Method::Direct), stream.clone());
        assert!(matches!(built.err(), Some(Error::Invalid(_))));
        // Memory of another driver.
        let memory = MockDevice::new(0, 1 << 16);
        let mut fields = [Field::<u64, 3>::on_device(world, &array, memory).unwrap()];
        let mut plan = StreamPlan::build(world, &mut fields, &untried(Method::Direct), stream).unwrap();
        assert!(!plan.is_queued());
        plan.enqueue(&mut fields).unwrap();
        plan.wait().unwrap();
    });
}

/// The fault of a stream, which a test has to detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// One of the words that an exchange waits for or writes is omitted, by its number.
    Without(usize),
    /// Credit is given too early: before the inboxes are unpacked, or before the program has read the halo.
    EarlyCredit,
    /// Copies fail after the first so many.
    FailsAfter(usize),
}

/// A stream of a rank with two neighbours, and its fault.
struct Leaky {
    inner: Stream,
    wrong: Wrong,
    is_direct: bool,
    state: Mutex<LeakyState>,
    /// The driver's count of executed operations when the stream was last seen to be over.
    watched: Option<(MockDriver, Arc<AtomicU64>)>,
}

#[derive(Default)]
struct LeakyState {
    /// Number of words in this exchange so far.
    words: usize,
    copies: usize,
    /// Credits to give too early.
    credits: Vec<(DeviceRange, u64)>,
}

/// Two links, and for each of them two waits and two writes.
const WORDS: usize = 8;

impl Leaky {
    /// Whether a word is passed on.
    fn passes(&self, write: Option<(&DeviceRange, u64)>) -> Result<bool, DeviceError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.words;
        state.words = (state.words + 1) % WORDS;
        if self.wrong == Wrong::EarlyCredit
            && let Some((word, value)) = write
        {
            // The first words of an exchange if it is direct, else the last.
            let is_credit = if self.is_direct { number < 2 } else { number >= 6 };
            if is_credit {
                state.credits.push((word.clone(), value + 1));
            }
        }
        Ok(self.wrong != Wrong::Without(number))
    }
}

impl DeviceStream for Leaky {
    fn has_words(&self) -> bool {
        self.inner.has_words()
    }

    fn allocate(&self, bytes: u64) -> Result<Arc<dyn DeviceMemory>, DeviceError> {
        self.inner.allocate(bytes)
    }

    fn open(&self, announced: &DeviceAnnouncement) -> Result<Arc<dyn DeviceMemory>, DeviceError> {
        self.inner.open(announced)
    }

    fn prepare(&self, copies: &[BlockCopy]) -> Result<PreparedCopies, DeviceError> {
        self.inner.prepare(copies)
    }

    fn copy(&self, prepared: &PreparedCopies) -> Result<(), DeviceError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.copies += 1;
        if let Wrong::FailsAfter(copies) = self.wrong
            && state.copies > copies
        {
            return Err(DeviceError("it was told to".into()));
        }
        // The second copy of an exchange unpacks. The credit of this exchange, or of the next one if it is direct, precedes it.
        if state.copies.is_multiple_of(2) {
            for (word, value) in std::mem::take(&mut state.credits) {
                self.inner.write_word(&word, value)?;
            }
        }
        drop(state);
        DeviceStream::copy(&self.inner, prepared)
    }

    fn write_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError> {
        if self.passes(Some((word, value)))? { self.inner.write_word(word, value) } else { Ok(()) }
    }

    fn wait_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError> {
        if self.passes(None)? { self.inner.wait_word(word, value) } else { Ok(()) }
    }

    fn is_over(&self) -> Result<bool, DeviceError> {
        let is_over = DeviceStream::is_over(&self.inner)?;
        if let Some((mock, done)) = self.watched.as_ref().filter(|_| is_over) {
            done.store(mock.count("executed"), Ordering::Relaxed);
        }
        Ok(is_over)
    }
}

const CELLS: usize = 3;
const ROUNDS: u64 = 3;
const SEEDS: u64 = 10_000;
/// Enough seeds for a stream with a fault.
const SEEDS_WRONG: u64 = 500;

fn value(rank: u64, seed: u64, round: u64, cell: u64) -> u64 {
    rank << 56 | seed << 24 | round << 16 | cell
}

/// Each rank has two different neighbours: words of one say nothing about the other.
const RANKS: u64 = 3;

/// Returns the first seed with which a rank finds a wrong halo, or its stream gets stuck. The ranks of a ring enqueue some rounds into their streams;
/// the driver executes the streams in an order that the seed determines.
fn wrong_seed(mock: &MockDriver, driver: &Arc<Driver>, method: Method, seeds: u64, wrong: Wrong) -> Option<u64> {
    let found = AtomicU64::new(u64::MAX);
    mock.set("manual", 1);
    let body = |world: &World| -> Result<()> {
        let me = u64::from(world.rank().number());
        let device = Device::of(driver, me as u32 % 2).unwrap();
        let inner = device.stream().unwrap();
        let (is_direct, state) = (method == Method::Direct, Mutex::default());
        let stream = Arc::new(Leaky { inner, wrong, is_direct, state, watched: None });
        let array = Template::new([CELLS * RANKS as usize], Nodes::new([RANKS as usize], [true]).unwrap())
            .unwrap()
            .array()
            .shadow([[1, 1]])
            .unwrap();
        let length = (CELLS as u64 + 2) * 8;
        let mut fields = [Field::<u64, 1>::on_device(world, &array, device.allocate(length).unwrap())?];
        let settings = Settings { methods: [Some(method); 4], ..Settings::default() }.with_trial_limit(Duration::ZERO);
        let mut plan = StreamPlan::build(world, &mut fields, &settings, stream.clone())?;
        assert!(plan.is_queued());
        let [source, seen] = [0; 2].map(|_| device.allocate(ROUNDS * length).unwrap());
        for seed in 1..=seeds {
            // Halo cells are written too: a rank that reads a halo cell before it has arrived finds its own value.
            let cells = (0..ROUNDS).flat_map(|round| (0..CELLS as u64 + 2).map(move |cell| value(me, seed, round, cell)));
            source.write(0, &cells.flat_map(u64::to_le_bytes).collect::<Vec<_>>()).unwrap();
            world.barrier()?;
            mock.set("seed", seed);
            for round in 0..ROUNDS {
                let part = |memory: &Arc<pelago_cuda::CudaMemory>| {
                    DeviceRange::whole(memory.clone()).part(round * length, length).unwrap()
                };
                let field = DeviceRange::whole(fields[0].device().unwrap().clone());
                stream.inner.copy(&field, &part(&source)).unwrap();
                plan.enqueue(&mut fields)?;
                stream.inner.copy(&part(&seen), &field).unwrap();
                // The other rank runs in between.
                if (seed >> round) % 2 == 0 {
                    world.barrier()?;
                }
            }
            world.barrier()?;
            let is_over = (0..5000).any(|_| DeviceStream::is_over(&*stream) == Ok(true));
            world.barrier()?;
            let mut bytes = vec![0; (ROUNDS * length) as usize];
            if is_over {
                seen.read(0, &mut bytes).unwrap();
            }
            let (words, _) = bytes.as_chunks::<8>();
            let is_right = |round: u64| {
                let halo = &words[(round * length / 8) as usize..][..CELLS + 2];
                let [low, high] = [halo[0], halo[CELLS + 1]].map(u64::from_le_bytes);
                let (left, right) = ((me + RANKS - 1) % RANKS, (me + 1) % RANKS);
                [low, high] == [value(left, seed, round, CELLS as u64), value(right, seed, round, 1)]
            };
            if !is_over || !(0..ROUNDS).all(is_right) {
                found.fetch_min(seed, Ordering::Relaxed);
            }
            world.barrier()?;
            if found.load(Ordering::Relaxed) != u64::MAX {
                break;
            }
        }
        drop(plan);
        Ok(())
    };
    simulated::run_to_the_end(
        &simulated::settings("rx200-qdr", RANKS as u32, RANKS as u32),
        &format!("{method}, {wrong:?}"),
        body,
    );
    Some(found.into_inner()).filter(|&seed| seed != u64::MAX)
}

#[test]
fn streams_of_any_speed_find_each_halo() {
    let (mock, driver) = mock("halo-seeds");
    for method in [Method::Direct, Method::Packed] {
        assert_eq!(wrong_seed(&mock, &driver, method, SEEDS, Wrong::Nothing), None, "{method}: the seed replays it");
    }
}

#[test]
fn each_word_of_an_exchange_is_missed_when_it_is_left_out_or_early() {
    let number = AtomicUsize::new(0);
    for method in [Method::Direct, Method::Packed] {
        for wrong in (0..WORDS).map(Wrong::Without).chain([Wrong::EarlyCredit]) {
            // A stream that is stuck in one driver does not affect the next.
            let (mock, driver) = mock(&format!("halo-wrong-{}", number.fetch_add(1, Ordering::Relaxed)));
            let found = wrong_seed(&mock, &driver, method, SEEDS_WRONG, wrong);
            assert!(found.is_some(), "{method}, {wrong:?}: nothing was missed");
        }
    }
}
