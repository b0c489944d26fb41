//! Operations to ranks that the fabric does not reach, and messages that the provider fails to deliver.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pelago_base::{
    AddressLayout, AtomicOperator, Blocks, Duration, Failure, GlobalAddress, Instant, Rank, SegmentId, Shape, Width,
};
use pelago_kit::Loopback;
use pelago_kit::conformance::Ends;
use pelago_memory::Cells;
use pelago_platform::{Address, Capabilities, Completion, Endpoint, Flags, Network, Operation, Registry, Token, Transport};

use crate::fabric::mock::{Failing, Profile, Silent, World};
use crate::limits::TRANSMIT_SLOTS;
use crate::{Introduced, Introduction, Ofi, Setup};

/// Ranks that were reported as lost.
type Lost = Arc<Mutex<Vec<Rank>>>;

fn setup(me: Rank, layout: AddressLayout, provider: &str, lost: &Lost) -> Setup {
    let lost = lost.clone();
    Setup {
        me,
        layout,
        fabric: provider.parse().unwrap(),
        interface: None,
        find: Box::new(|_| None),
        wake: Box::new(|| ()),
        lost: Box::new(move |rank| lost.lock().unwrap().push(rank)),
        progress_thread: false,
        devices: false,
        is_oversubscribed: false,
    }
}

const FAILURE_LIMIT: Duration = Duration::from_milliseconds(5_000);

fn introduction(control: Loopback, unreachable: &Lost) -> Introduction<Loopback> {
    let unreachable = unreachable.clone();
    Introduction {
        control,
        find: Box::new(|rank: Rank| Some(Address(rank.number().to_le_bytes().into()))),
        failure_limit: FAILURE_LIMIT,
        unreachable: Box::new(move |rank| unreachable.lock().unwrap().push(rank)),
    }
}

/// Ranks with an even number have another fabric than those with an odd one.
fn differing(ranks: u32) -> Ends<Introduced<Loopback>> {
    let (layout, wakes) = (Ends::<Ofi>::layout(ranks), Ends::<Ofi>::wakes(ranks));
    let fabrics = [Profile::VERBS, Profile::CXI].map(|profile| World::provider(profile, u64::from(ranks), 0));
    let woken = wakes.clone();
    let control =
        Loopback::network_like(Capabilities { blocks_max: 64, ..Capabilities::of("control") }, layout, ranks, move |rank| {
            woken[rank.index()].fetch_add(1, Ordering::Relaxed);
        });
    let end = |(me, control): (u32, Loopback)| {
        let wakes = wakes.clone();
        let setup = Setup {
            wake: Box::new(move || _ = wakes[me as usize].fetch_add(1, Ordering::Relaxed)),
            ..setup(Rank::new(me), layout, &fabrics[me as usize % 2], &Lost::default())
        };
        Introduced::new(setup, introduction(control, &Lost::default())).unwrap()
    };
    let failed = |ends: &mut BTreeMap<Rank, Introduced<Loopback>>, rank| {
        if let Some(end) = ends.remove(&rank) {
            end.control().peer_failed(rank);
        }
        ends.values_mut().for_each(|end| end.network().peer_failed(Instant::ZERO, rank));
    };
    Ends::new((0..).zip(control).map(end), failed).counting(wakes)
}

pelago_kit::conformance!(differing, differing);

/// Number of ranks of a [`Job`].
const RANKS: u32 = 3;

fn layout() -> AddressLayout {
    AddressLayout::new(RANKS, 1 << 25).unwrap()
}

/// Ranks of one fabric, each with a heap, that find each other through another transport, or know each other.
pub(crate) struct Job<T> {
    pub(crate) ends: Vec<T>,
    memory: Vec<Cells<'static>>,
    layout: AddressLayout,
    lost: Lost,
    /// Ranks that were reported as unreachable.
    unreachable: Lost,
    provider: String,
    now: Instant,
    completed: Vec<Completion>,
}

impl<T: Transport> Job<T> {
    fn new(provider: String, end: impl Fn(Rank, AddressLayout, &str, &Lost) -> T) -> Self {
        let layout = layout();
        let lost = Lost::default();
        let mut ends: Vec<_> = (0..RANKS).map(|rank| end(Rank::new(rank), layout, &provider, &lost)).collect();
        let memory: Vec<_> = ends.iter().map(|_| Cells::from_mut(vec![0_u64; 1024].leak())).collect();
        for (rank, (end, memory)) in (0..).map(Rank::new).zip(ends.iter_mut().zip(&memory)) {
            let start = layout.encode(rank, SegmentId::SYMMETRIC, 0).unwrap();
            end.memory().register(start, (*memory).into()).unwrap();
        }
        let unreachable = Lost::default();
        Self { ends, memory, layout, lost, unreachable, provider, now: Instant::ZERO, completed: Vec::new() }
    }

    pub(crate) fn world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        change(&mut World::find(&self.provider).unwrap().lock().unwrap())
    }

    pub(crate) fn at(&self, rank: u32, offset: u64) -> GlobalAddress {
        self.layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).unwrap()
    }

    pub(crate) fn connect(&mut self, from: usize, to: u32) -> Endpoint {
        let address = self.ends[to as usize].network().address();
        self.ends[from].network().connect(None, Rank::new(to), &address).unwrap()
    }

    pub(crate) fn post(&mut self, from: usize, to: Endpoint, operation: Operation<'_>, token: u64) {
        self.ends[from].post(self.now, to, operation, Flags::NONE, Token(token)).unwrap();
    }

    /// Lets all ranks poll; the completions of the first are collected.
    pub(crate) fn look(&mut self, times: u32, step: Duration) {
        for _ in 0..times {
            self.now = self.now + step;
            self.ends[0].progress(self.now, &mut self.completed);
            self.ends[1..].iter_mut().for_each(|end| _ = end.progress(self.now, &mut Vec::new()));
        }
    }

    pub(crate) fn results(&self) -> BTreeMap<u64, Result<u64, Failure>> {
        let results: BTreeMap<_, _> = self.completed.iter().map(|done| (done.token.0, done.result)).collect();
        assert_eq!(results.len(), self.completed.len(), "each completes once");
        results
    }

    /// Ranks that were reported as lost.
    pub(crate) fn lost(&self) -> Vec<Rank> {
        self.lost.lock().unwrap().clone()
    }

    pub(crate) fn word(&self, rank: usize, index: usize) -> u64 {
        self.memory[rank].elements::<u64>().unwrap().load(index)
    }
}

/// Ranks that know each other's endpoints.
pub(crate) fn known(provider: String) -> Job<Ofi> {
    let published: Arc<Mutex<BTreeMap<Rank, Address>>> = Arc::default();
    Job::new(provider, |rank, layout, provider, lost| {
        let found = published.clone();
        let find = Box::new(move |rank| found.lock().unwrap().get(&rank).cloned());
        let end = Ofi::new(Setup { find, ..setup(rank, layout, provider, lost) }).unwrap();
        published.lock().unwrap().insert(rank, end.address());
        end
    })
}

/// Ranks that another transport introduces.
fn introduced(provider: String) -> Job<Introduced<Loopback>> {
    let control = Mutex::new(Loopback::network(layout(), RANKS));
    let unreachable = Lost::default();
    let job = Job::new(provider, |rank, layout, provider, lost| {
        let control = control.lock().unwrap().remove(0);
        Introduced::new(setup(rank, layout, provider, lost), introduction(control, &unreachable)).unwrap()
    });
    Job { unreachable, ..job }
}

pub(crate) const STEP: Duration = Duration::from_microseconds(10);
const ADD: AtomicOperator = AtomicOperator::Add;

/// Seeds of a test: `PELAGO_SEEDS`, or a few hundred.
fn seeds() -> impl Iterator<Item = (u64, Profile)> {
    let seeds = std::env::var("PELAGO_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    (0..seeds).zip([Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX].into_iter().cycle())
}

/// One of ten messages fails, and half of the failed ones have arrived: no operation is performed twice, none waits forever, and no rank is lost.
#[test]
fn messages_arrive_once_though_some_fail() {
    let mut failed = 0;
    for (seed, profile) in seeds() {
        let mut job = known(World::provider(profile, seed, 100));
        job.world(|world| world.failing = Failing::Messages);
        let [to, third] = [1, 2].map(|rank| job.connect(0, rank));
        for turn in 0..8 {
            let at = job.at(1, 0);
            job.post(0, to, Operation::Atomic { at, width: Width::Eight, operator: ADD, operand: 1 }, 4 * turn);
            job.post(0, to, Operation::Write { to: job.at(1, 64 + 8 * turn), bytes: &turn.to_ne_bytes() }, 4 * turn + 1);
            job.post(0, third, Operation::Copy { from: job.at(2, 8), to: job.at(1, 256), bytes: 64 }, 4 * turn + 2);
            job.post(
                0,
                third,
                Operation::Atomic { at: job.at(2, 0), width: Width::Four, operator: ADD, operand: 1 },
                4 * turn + 3,
            );
        }
        job.look(600, STEP);
        let results = job.results();
        assert_eq!(results.len(), 32, "seed {seed} of {}: all end", profile.name);
        assert!(results.values().all(Result::is_ok), "seed {seed} of {}: {results:?}", profile.name);
        assert_eq!((job.word(1, 0), job.word(2, 0)), (8, 8), "seed {seed}: each once");
        for first in [0, 3] {
            let found: Vec<_> = (0..8).map(|turn| results[&(4 * turn + first)].unwrap()).collect();
            let mut sorted = found.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..8).collect::<Vec<_>>(), "seed {seed}: none found what another did");
        }
        (0..8).for_each(|turn| assert_eq!(job.word(1, 8 + turn), turn as u64));
        assert!(job.lost.lock().unwrap().is_empty(), "seed {seed}");
        failed += job.world(|world| world.failed);
    }
    assert!(failed > 0);
}

/// A rank that cannot answer reports the failure, as the rank that waits for the answer would never detect it.
#[test]
fn a_rank_whose_answers_cannot_be_delivered_reports_it() {
    for profile in [Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX] {
        let mut job = known(World::provider(profile, 1, 0));
        let to = job.connect(0, 1);
        let add = |job: &Job<_>| Operation::Atomic { at: job.at(1, 0), width: Width::Eight, operator: ADD, operand: 1 };
        job.post(0, to, add(&job), 0);
        job.look(100, STEP);
        assert_eq!(job.results()[&0], Ok(0), "they have met");
        job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::MessagesOf(1), true));
        job.post(0, to, add(&job), 1);
        job.look(300, STEP);
        assert!(!job.results().contains_key(&1));
        assert_eq!(*job.lost.lock().unwrap(), [Rank::new(0)], "{}", profile.name);
    }
}

/// An owner that revokes a key waits for its return: a rank that cannot return it reports the failure, whether it detects that before or after the request.
#[test]
fn a_key_that_cannot_be_given_back_is_reported() {
    for (profile, asks) in
        [Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX].into_iter().flat_map(|it| [(it, false), (it, true)])
    {
        let mut job = known(World::provider(profile, 1, 0));
        let (to, me, owner, start) = (job.connect(0, 1), Rank::new(0), Rank::new(1), job.at(1, 0));
        job.connect(1, 0);
        job.post(0, to, Operation::Write { to: job.at(1, 0), bytes: &[1; 8] }, 0);
        job.look(100, STEP);
        assert_eq!(job.results()[&0], Ok(0), "the key is lent");
        job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::MessagesOf(0), true));
        if asks {
            // The request is lost, and the owner counts as failed, without a report if no operation waits for it any more.
            let nothing = pelago_memory::Cells::from_mut(Vec::<u64>::new().leak());
            let unknown = Operation::Get { from: job.layout.encode(owner, SegmentId::REGISTERED_FIRST, 0).unwrap(), to: nothing };
            job.post(0, to, unknown, 1);
            job.look(300, STEP);
            job.lost.lock().unwrap().clear();
        }
        assert!(!job.ends[1].deregister(start), "{}: it is lent", profile.name);
        job.look(300, STEP);
        assert!(job.lost.lock().unwrap().contains(&owner), "{} {asks}: who waits for the key is reported", profile.name);
        // As the launcher does.
        job.ends[1].network().peer_failed(Instant::ZERO, me);
        assert!(job.ends[1].deregister(start), "{} {asks}: the wait ends", profile.name);
    }
}

/// A key that cannot be revoked by a message is free at once: the provider refuses accesses with it.
#[test]
fn a_key_that_cannot_be_called_back_is_free() {
    for profile in [Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX] {
        let mut job = known(World::provider(profile, 1, 0));
        let (to, start) = (job.connect(0, 1), job.at(1, 0));
        job.post(0, to, Operation::Write { to: start, bytes: &[1; 8] }, 0);
        job.look(100, STEP);
        job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::MessagesOf(1), true));
        assert!(!job.ends[1].deregister(start), "{}: it is lent", profile.name);
        job.look(300, STEP);
        assert!(job.ends[1].deregister(start), "{}: the wait ends", profile.name);
    }
}

/// A key that is dropped from a full table is returned, and requested again.
#[test]
fn a_region_is_free_although_the_table_of_a_peer_was_full() {
    const BYTES: usize = 64;
    for (seed, profile) in seeds().step_by(10) {
        let mut job = known(World::provider(profile, seed, 0));
        let to = job.connect(0, 1);
        let pieces = crate::limits::REGIONS_KNOWN_MAX as u64 + 2;
        let first = SegmentId::REGISTERED_FIRST;
        let layout = job.layout;
        let at = |piece: u64| layout.encode(Rank::new(1), first, piece * BYTES as u64).unwrap();
        for piece in 0..pieces {
            let memory = Cells::from_mut(vec![0_u64; BYTES / 8].leak());
            job.ends[1].register(at(piece), memory.into()).unwrap();
        }
        // All but two are known: the table is full. The first of all is the one that is dropped.
        for piece in 2..pieces {
            job.post(0, to, Operation::Write { to: at(piece), bytes: &[1] }, piece);
            while job.completed.len() as u64 <= piece - 2 {
                job.look(1, STEP);
            }
        }
        for (piece, token) in [(0, 1000), (1, 1001), (0, 1002)] {
            job.post(0, to, Operation::Write { to: at(piece), bytes: &[7; 8] }, token);
        }
        // The owner deregisters it as soon as possible.
        let mut is_back = false;
        for token in 2000..2100 {
            job.look(1, STEP);
            if job.completed.iter().any(|done| done.token.0 == 1000) {
                is_back |= job.ends[1].deregister(at(0));
                job.post(0, to, Operation::Write { to: at(0), bytes: &[7; 8] }, token);
            }
        }
        assert!(is_back, "seed {seed}: it is given back in the end");
        assert_eq!(job.world(|world| world.refused), 0, "seed {seed} of {}: a key was used that was given back", profile.name);
    }
}

/// A rank that cannot be greeted is reached by the transport that introduces ranks, and so is one that stops answering while the state of all operations is
/// known.
#[test]
fn what_the_fabric_does_not_deliver_goes_around() {
    for (drops, holds) in [(true, false), (false, true)] {
        let mut job = introduced(World::provider(Profile::CXI, 1, if drops { 1000 } else { 0 }));
        job.world(|world| (world.failing, world.drops, world.holds) = (Failing::MessagesOf(0), drops, holds));
        let to = job.connect(0, 1);
        job.post(0, to, Operation::Write { to: job.at(1, 8), bytes: &7_u64.to_ne_bytes() }, 0);
        let fence = Flags { fence: true, ..Flags::NONE };
        let add = Operation::Atomic { at: job.at(1, 8), width: Width::Eight, operator: ADD, operand: 1 };
        job.ends[0].post(job.now, to, add, fence, Token(1)).unwrap();
        job.look(200, Duration::from_milliseconds(50));
        assert_eq!(job.results(), BTreeMap::from([(0, Ok(0)), (1, Ok(7))]), "drops {drops}");
        // Messages that arrive late change nothing.
        job.world(|world| (world.errors, world.holds) = (0, false));
        job.look(50, STEP);
        job.post(0, to, Operation::Get { from: job.at(1, 8), to: job.memory[0].part(8, 8).unwrap() }, 2);
        job.look(50, STEP);
        assert_eq!((job.results()[&2], job.word(0, 1)), (Ok(0), 8));
        assert!(job.lost.lock().unwrap().is_empty());
    }
}

/// The progress thread of a rank that sleeps finds that an address is missing, which only the rank itself can obtain.
#[test]
fn a_rank_that_sleeps_is_woken_to_obtain_an_address() {
    let mut job = introduced(World::provider(Profile::CXI, 1, 0));
    let to = job.connect(0, 1);
    job.post(0, to, Operation::Copy { from: job.at(1, 0), to: job.at(2, 0), bytes: 8 }, 0);
    // The address of the owner arrives, and the rank sleeps.
    job.ends[0].progress(job.now, &mut Vec::new());
    let is_woken = (0..50).any(|_| {
        job.ends[1].progress(job.now, &mut Vec::new());
        let mut engine = job.ends[0].ofi().shared.lock();
        engine.drive();
        engine.take_news()
    });
    assert!(is_woken, "it must obtain that of the target");
    job.look(200, STEP);
    assert_eq!(job.results()[&0], Ok(0));
}

/// The other transport repeats a read that fails on the fabric; for a write it is unknown whether it has taken effect.
#[test]
fn reads_are_repeated_by_another_way_and_writes_are_not() {
    let mut job = introduced(World::provider(Profile::VERBS, 1, 0));
    let [to, third] = [1, 2].map(|rank| job.connect(0, rank));
    for (endpoint, rank) in [(to, 1), (third, 2)] {
        job.post(0, endpoint, Operation::Write { to: job.at(rank, 0), bytes: &9_u64.to_ne_bytes() }, u64::from(rank));
    }
    job.look(100, STEP);
    job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::Reads, true));
    job.post(0, to, Operation::Get { from: job.at(1, 0), to: job.memory[0].part(16, 8).unwrap() }, 3);
    job.look(100, STEP);
    assert_eq!((job.results()[&3], job.word(0, 2)), (Ok(0), 9));
    assert!(job.lost.lock().unwrap().is_empty(), "nothing is in doubt");
    // The reverse direction is unchanged, and granted keys are returned.
    let back = job.connect(1, 0);
    let add = Operation::Atomic { at: job.at(0, 64), width: Width::Eight, operator: ADD, operand: 5 };
    job.post(1, back, add, 9);
    job.look(100, STEP);
    assert_eq!(job.word(0, 8), 5);
    let is_free = (0..50).any(|_| {
        job.look(1, STEP);
        job.ends[1].deregister(job.layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap())
    });
    assert!(is_free);
    let memory = job.memory[1].into();
    job.ends[1].register(job.layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap(), memory).unwrap();
    job.world(|world| world.failing = Failing::Everything);
    job.post(0, third, Operation::Write { to: job.at(2, 0), bytes: &8_u64.to_ne_bytes() }, 4);
    job.look(100, STEP);
    let lost = Rank::new(2);
    assert_eq!(job.results()[&4], Err(Failure::PeerLost(lost)));
    assert_eq!(*job.lost.lock().unwrap(), [lost]);
    // The other rank is reached as before.
    job.post(0, to, Operation::Atomic { at: job.at(1, 0), width: Width::Eight, operator: ADD, operand: 1 }, 5);
    job.look(100, STEP);
    assert_eq!(job.results()[&5], Ok(9));
}

/// Requests for blocks that are not delivered go another way if they only read.
#[test]
fn blocks_are_read_by_another_way_and_not_written() {
    let mut job = introduced(World::provider(Profile::VERBS, 1, 0));
    let [to, third] = [1, 2].map(|rank| job.connect(0, rank));
    for (endpoint, rank) in [(to, 1), (third, 2)] {
        job.post(0, endpoint, Operation::Write { to: job.at(rank, 16), bytes: &9_u64.to_ne_bytes() }, u64::from(rank));
    }
    job.look(100, STEP);
    job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::Everything, true));
    let (shape, here) = (Shape::strided(2, 8, 16), job.memory[0].part(128, 24).unwrap());
    let (from, blocks) = (job.at(1, 0), Blocks::Shape(&shape));
    job.post(0, to, Operation::GetBlocks { from, blocks, to: here, to_shape: &shape }, 3);
    job.post(0, third, Operation::PutBlocks { from: here, from_shape: &shape, to: job.at(2, 0), blocks }, 4);
    job.look(100, STEP);
    let lost = Rank::new(2);
    assert_eq!((job.results()[&3], job.word(0, 18)), (Ok(0), 9));
    assert_eq!((job.results()[&4], job.word(2, 2)), (Err(Failure::PeerLost(lost)), 9));
    assert_eq!(*job.lost.lock().unwrap(), [lost]);
}

/// A rank whose request is not delivered uses the other transport for its operations, and cannot answer requests.
#[test]
fn a_rank_that_cannot_answer_goes_around_and_reports_who_asks_it() {
    let mut job = introduced(World::provider(Profile::OPX, 1, 0));
    let (to, back) = (job.connect(0, 1), job.connect(1, 0));
    let at = |job: &Job<_>, rank| Operation::Atomic { at: job.at(rank, 0), width: Width::Eight, operator: ADD, operand: 1 };
    job.post(0, to, at(&job, 1), 0);
    job.look(100, STEP);
    job.world(|world| (world.errors, world.failing, world.drops) = (1000, Failing::MessagesOf(0), true));
    job.post(0, to, Operation::Write { to: job.at(1, 8), bytes: &7_u64.to_ne_bytes() }, 1);
    job.look(200, STEP);
    assert_eq!((job.results()[&1], job.word(1, 1)), (Ok(0), 7));
    assert!(job.lost.lock().unwrap().is_empty());
    job.post(1, back, at(&job, 0), 2);
    job.look(200, STEP);
    assert_eq!(*job.lost.lock().unwrap(), [Rank::new(1)]);
}

/// Ranks of a job whose first one has written to the second one by an access, and the endpoint of the second.
fn met(profile: Profile) -> (Job<Introduced<Loopback>>, Endpoint) {
    let mut job = introduced(World::provider(profile, 1, 0));
    let to = job.connect(0, 1);
    job.post(0, to, Operation::Write { to: job.at(1, 0), bytes: &[1; 8] }, 0);
    job.look(200, STEP);
    assert_eq!(job.results()[&0], Ok(0));
    (job, to)
}

impl<T: Transport> Job<T> {
    /// Lets all ranks poll ten times a second, for so many seconds.
    fn pass(&mut self, seconds: u32) {
        self.look(10 * seconds, Duration::from_milliseconds(100));
    }

    fn unreachable(&self) -> Vec<Rank> {
        self.unreachable.lock().unwrap().clone()
    }
}

/// The state of a write is unknown, so that no other transport may repeat it.
#[test]
fn a_fabric_that_goes_silent_during_a_write_makes_the_peer_unreachable() {
    for profile in [Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX] {
        let (mut job, to) = met(profile);
        job.world(|world| world.silent = Silent::Everything(1));
        job.post(0, to, Operation::Write { to: job.at(1, 8), bytes: &[2; 8] }, 1);
        job.post(0, to, Operation::Atomic { at: job.at(1, 0), width: Width::Eight, operator: ADD, operand: 1 }, 2);
        job.pass(99);
        assert_eq!((job.completed.len(), job.unreachable()), (1, vec![]), "{}: it may answer", profile.name);
        job.pass(2);
        let (peer, results) = (Rank::new(1), job.results());
        assert_eq!(job.unreachable(), [peer], "{}", profile.name);
        assert_eq!(results[&2], Err(Failure::Unreachable(peer)));
        assert!(!results.contains_key(&1), "the provider still uses the memory of the access");
        job.post(0, to, Operation::Get { from: job.at(1, 0), to: job.memory[0].part(0, 8).unwrap() }, 3);
        job.world(|world| world.silent = Silent::Nothing);
        job.pass(1);
        assert_eq!([1, 3].map(|token| job.results()[&token]), [Err(Failure::Unreachable(peer)); 2]);
        assert!(job.lost.lock().unwrap().is_empty());
    }
}

/// An owner that waits for a key, without any operation, notices a silent fabric too.
#[test]
fn a_fabric_that_goes_silent_while_a_key_is_called_back_ends_the_wait() {
    let (mut job, _) = met(Profile::CXI);
    job.world(|world| world.silent = Silent::Everything(0));
    let start = job.at(1, 0);
    assert!(!job.ends[1].deregister(start), "it is lent");
    assert!(job.ends[1].next_deadline().is_some());
    job.pass(99);
    assert!(!job.ends[1].deregister(start) && job.unreachable().is_empty());
    job.pass(2);
    assert_eq!(job.unreachable(), [Rank::new(0)]);
    assert!(job.ends[1].deregister(start));
}

/// Nothing that was sent has an effect: the other transport reads. The key that arrives late is returned.
#[test]
fn a_fabric_that_goes_silent_before_a_read_is_gone_around() {
    let mut job = introduced(World::provider(Profile::VERBS, 1, 0));
    let to = job.connect(0, 1);
    let at = job.at(1, 0);
    job.post(0, to, Operation::Atomic { at, width: Width::Eight, operator: ADD, operand: 9 }, 0);
    job.look(200, STEP);
    assert_eq!(job.results()[&0], Ok(0), "they have met, and the region is unknown");
    job.world(|world| world.silent = Silent::Everything(1));
    job.post(0, to, Operation::Get { from: at, to: job.memory[0].part(8, 8).unwrap() }, 1);
    job.pass(99);
    assert_eq!(job.results().len(), 1);
    job.pass(2);
    assert_eq!((job.results()[&1], job.word(0, 1), job.unreachable()), (Ok(0), 9, vec![]));
    job.world(|world| world.silent = Silent::Nothing);
    job.pass(1);
    assert!(job.ends[1].deregister(at), "the key was returned");
}

/// Answers within the limit, and those of a peer that itself waits for another one, are signs of life; and a rank that was stopped waits anew.
#[test]
fn a_slow_peer_is_not_given_up() {
    let (mut job, to) = met(Profile::CXI);
    for turn in 1..4 {
        job.world(|world| world.silent = Silent::Everything(1));
        job.post(0, to, Operation::Write { to: job.at(1, 8), bytes: &[2; 8] }, turn);
        job.pass(95);
        job.world(|world| world.silent = Silent::Nothing);
        // Each write ends between two checks, and the next one is in flight at the second.
        job.look(50, STEP);
        assert_eq!(job.results()[&turn], Ok(0));
    }
    job.world(|world| world.silent = Silent::Everything(1));
    job.post(0, to, Operation::Write { to: job.at(1, 8), bytes: &[2; 8] }, 4);
    job.pass(95);
    job.now = job.now + Duration::from_seconds(1000.0);
    job.pass(95);
    assert_eq!(job.unreachable(), [], "the rank itself was stopped");
    job.world(|world| world.silent = Silent::Nothing);
    job.pass(1);
    assert_eq!(job.results()[&4], Ok(0));
}

/// Accesses to a silent peer hold their slots until the provider ends them. The rank still reaches other peers and answers them.
#[test]
fn a_silent_peer_leaves_slots_for_others() {
    let mut job = introduced(World::provider(Profile { queue: 1024, ..Profile::CXI }, 1, 0));
    let ([silent, other], back) = ([1, 2].map(|rank| job.connect(0, rank)), job.connect(2, 0));
    let add = Operation::Atomic { at: job.at(0, 8), width: Width::Eight, operator: ADD, operand: 1 };
    for (to, rank) in [(silent, 1), (other, 2)] {
        job.post(0, to, Operation::Write { to: job.at(rank, 0), bytes: &[1; 8] }, u64::from(rank));
    }
    job.post(2, back, add, 0);
    job.look(200, STEP);
    assert_eq!((job.results().len(), job.word(0, 1)), (2, 1));
    job.world(|world| world.silent = Silent::Everything(1));
    for token in 0..TRANSMIT_SLOTS as u64 + 100 {
        job.post(0, silent, Operation::Write { to: job.at(1, 8), bytes: &[2; 8] }, 100 + token);
    }
    job.post(0, other, Operation::Write { to: job.at(2, 8), bytes: &[3; 8] }, 3);
    job.post(2, back, add, 0);
    job.look(200, STEP);
    assert_eq!((job.results().get(&3), job.word(2, 1)), (Some(&Ok(0)), u64::from_ne_bytes([3; 8])));
    job.pass(150);
    assert_eq!((job.unreachable(), job.word(0, 1)), (vec![Rank::new(1)], 2), "the second rank has its answer");
}

#[test]
fn a_peer_that_waits_for_a_silent_one_is_not_given_up() {
    let (mut job, to) = met(Profile::CXI);
    let copy = |job: &Job<_>| Operation::Copy { from: job.at(1, 0), to: job.at(2, 0), bytes: 8 };
    job.post(0, to, copy(&job), 1);
    job.pass(1);
    assert_eq!(job.results()[&1], Ok(0), "the second rank knows the third one");
    job.world(|world| world.silent = Silent::Accesses(2));
    job.post(0, to, copy(&job), 2);
    job.pass(300);
    assert_eq!(job.unreachable(), [Rank::new(2)], "only the second rank waits for it");
    assert!(!job.results().contains_key(&2));
}

/// An access gives no sign of life before its end.
#[test]
fn a_long_access_has_more_time() {
    const BYTES: usize = 25_000_000;
    let mut job = introduced(World::provider(Profile::CXI, 1, 0));
    let to = job.connect(0, 1);
    let at = job.layout.encode(Rank::new(1), SegmentId::REGISTERED_FIRST, 0).unwrap();
    let [there, here] = [(); 2].map(|()| Cells::from_mut(vec![0_u64; BYTES / 8].leak()));
    job.ends[1].register(at, there.into()).unwrap();
    job.post(0, to, Operation::Put { from: here, to: at }, 0);
    job.look(500, STEP);
    assert_eq!(job.results()[&0], Ok(0));
    job.world(|world| world.silent = Silent::Everything(1));
    job.post(0, to, Operation::Put { from: here, to: at }, 1);
    job.pass(101);
    assert_eq!(job.unreachable(), []);
    job.pass(3);
    assert_eq!(job.unreachable(), [Rank::new(1)]);
}
