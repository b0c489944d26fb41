//! The contract of a transport over mock providers that behave like those of network cards.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pelago_base::{AtomicOperator, Instant, Rank, SegmentId, Width};
use pelago_kit::conformance::Ends;
use pelago_memory::Cells;
use pelago_platform::{Address, Completion, Endpoint, Flags, Network, Operation, Rail, Registry, Token, Transport};

use crate::around_tests::{STEP, known};
use crate::fabric::mock::{Profile, World};
use crate::{FabricError, Ofi, Setup};

/// The published addresses of ranks.
pub(crate) type Published = Arc<Mutex<BTreeMap<Rank, Address>>>;

/// The transport of a rank over a provider.
fn end(
    me: Rank,
    layout: pelago_base::AddressLayout,
    provider: &str,
    published: &Published,
    setup: impl FnOnce(&mut Setup),
) -> Ofi {
    let mut settings = settings(me, layout, provider, published);
    setup(&mut settings);
    let end = Ofi::new(settings).unwrap();
    published.lock().unwrap().insert(me, end.address());
    end
}

pub(crate) fn settings(me: Rank, layout: pelago_base::AddressLayout, provider: &str, published: &Published) -> Setup {
    let found = published.clone();
    Setup {
        me,
        layout,
        fabric: provider.parse().unwrap(),
        interface: None,
        find: Box::new(move |rank| found.lock().unwrap().get(&rank).cloned()),
        wake: Box::new(|| ()),
        lost: Box::new(|_| ()),
        progress_thread: false,
        devices: false,
        is_oversubscribed: false,
    }
}

fn ends(ranks: u32, profile: Profile) -> Ends<Ofi> {
    ends_by(ranks, World::provider(profile, u64::from(ranks), 0))
}

/// The same over a provider of several domains.
fn ends_by_rails(ranks: u32, profile: Profile, domains: usize, severed: Option<usize>) -> Ends<Ofi> {
    let provider = World::provider(profile, u64::from(ranks), 0);
    with_domains(&provider, domains, severed);
    ends_by(ranks, provider)
}

/// Sets the number of a provider's domains, and a domain by which nothing arrives at its target.
fn with_domains(provider: &str, domains: usize, severed: Option<usize>) {
    let world = World::find(provider).unwrap();
    let mut world = world.lock().unwrap();
    (world.domains, world.severed) = (domains, severed);
}

fn ends_by(ranks: u32, provider: String) -> Ends<Ofi> {
    let (layout, wakes) = (Ends::<Ofi>::layout(ranks), Ends::<Ofi>::wakes(ranks));
    let published = Published::default();
    let make = |me: Rank| {
        let wakes = wakes.clone();
        end(me, layout, &provider, &published, |setup| {
            setup.wake = Box::new(move || _ = wakes[me.index()].fetch_add(1, Ordering::Relaxed));
        })
    };
    let ends: Vec<_> = (0..ranks).map(Rank::new).map(make).collect();
    let failed = |ends: &mut BTreeMap<Rank, Ofi>, rank| {
        drop(ends.remove(&rank));
        ends.values_mut().for_each(|end| end.network().peer_failed(Instant::ZERO, rank));
    };
    Ends::new(ends, failed).counting(wakes)
}

pelago_kit::conformance!(verbs, |ranks| ends(ranks, Profile::VERBS));
pelago_kit::conformance!(cxi, |ranks| ends(ranks, Profile::CXI));
pelago_kit::conformance!(efa, |ranks| ends(ranks, Profile::EFA));
pelago_kit::conformance!(opx, |ranks| ends(ranks, Profile::OPX));

pelago_kit::conformance!(verbs_rails, |ranks| ends_by_rails(ranks, Profile::VERBS, 2, None));
pelago_kit::conformance!(cxi_rails, |ranks| ends_by_rails(ranks, Profile::CXI, 3, None));
pelago_kit::conformance!(efa_rails, |ranks| ends_by_rails(ranks, Profile::EFA, 4, None));
pelago_kit::conformance!(severed, |ranks| ends_by_rails(ranks, Profile::CXI, 2, Some(1)));

/// Two ranks over a provider of several domains, the second of which has memory; and the first rank's endpoints for it, by each rail.
struct Railed {
    provider: String,
    ends: [Ofi; 2],
    memory: Cells<'static>,
    endpoints: Vec<Endpoint>,
    completed: Vec<Completion>,
}

impl Railed {
    const OWNER: Rank = Rank::new(1);

    fn new(profile: Profile, domains: usize, severed: Option<usize>) -> Self {
        let (layout, published) = (Ends::<Ofi>::layout(2), Published::default());
        let provider = World::provider(profile, 1, 0);
        with_domains(&provider, domains, severed);
        let mut ends = [0, 1].map(|rank| end(Rank::new(rank), layout, &provider, &published, |_| ()));
        let memory = Cells::from_mut(vec![0_u64; 512].leak());
        ends[1].register(layout.encode(Self::OWNER, SegmentId::SYMMETRIC, 0).unwrap(), memory.into()).unwrap();
        let address = ends[1].address();
        let rails = 0..ends[0].rails().len();
        let connect = |rail| ends[0].connect(Rail::new(rail), Self::OWNER, &address).unwrap();
        let endpoints = rails.map(connect).collect();
        let mut railed = Self { provider, ends, memory, endpoints, completed: Vec::new() };
        (0..100).for_each(|_| railed.look());
        railed
    }

    fn look(&mut self) {
        self.ends[0].progress(Instant::ZERO, &mut self.completed);
        self.ends[1].progress(Instant::ZERO, &mut Vec::new());
    }

    /// Writes a word by a rail, and waits for its completion; returns the number of accesses by each domain since the last call.
    fn write(&mut self, rail: usize, word: u64) -> Vec<u64> {
        let to = Ends::<Ofi>::layout(2).encode(Self::OWNER, SegmentId::SYMMETRIC, 8 * rail as u64).unwrap();
        let operation = Operation::Write { to, bytes: &word.to_ne_bytes() };
        self.ends[0].post(Instant::ZERO, self.endpoints[rail], operation, Flags::NONE, Token(word)).unwrap();
        while self.completed.is_empty() {
            self.look();
        }
        let done = self.completed.remove(0);
        assert_eq!((done.token, done.result), (Token(word), Ok(0)));
        assert_eq!(self.memory.elements::<u64>().unwrap().load(rail), word);
        let world = World::find(&self.provider).unwrap();
        let accesses = std::mem::take(&mut world.lock().unwrap().accesses);
        (0..self.endpoints.len()).map(|domain| accesses.get(&domain).copied().unwrap_or(0)).collect()
    }
}

#[test]
fn every_domain_of_a_network_card_is_a_rail_by_which_its_accesses_go() {
    let mut railed = Railed::new(Profile::VERBS, 3, None);
    assert_eq!(railed.write(0, 1), [1, 0, 0]);
    assert_eq!(railed.write(1, 2), [0, 1, 0]);
    assert_eq!(railed.write(2, 3), [0, 0, 1]);
    let names: Vec<_> = railed.ends[0].rails().iter().map(|rail| rail.name.to_owned()).collect();
    let expected: Vec<_> = (0..3).map(|domain| format!("{}:mock{domain}", railed.provider)).collect();
    assert_eq!((&names, &railed.ends[0].fabric().rails), (&expected, &expected));
}

#[test]
fn a_domain_that_does_not_lead_to_the_peer_is_not_used() {
    let mut railed = Railed::new(Profile::CXI, 2, Some(1));
    assert_eq!(railed.write(1, 7), [1, 0], "by the first");
    assert_eq!(railed.write(0, 8), [1, 0]);
}

#[test]
fn a_peer_with_fewer_domains_is_reached_by_those_that_it_has() {
    let mut railed = Railed::new(Profile::OPX, 2, None);
    let (layout, published) = (Ends::<Ofi>::layout(2), Published::default());
    // The reverse: a rank with only one domain answers one with two.
    let one = format!("{}:mock0", railed.provider);
    railed.ends[1] = end(Railed::OWNER, layout, &one, &published, |_| ());
    assert_eq!(railed.ends[1].rails().len(), 1);
    let mut other = end(Rank::new(0), layout, &railed.provider.clone(), &published, |_| ());
    let start = layout.encode(Railed::OWNER, SegmentId::SYMMETRIC, 0).unwrap();
    railed.ends[1].register(start, railed.memory.into()).unwrap();
    let address = railed.ends[1].address();
    railed.endpoints = [0, 1].map(|rail| other.connect(Rail::new(rail), Railed::OWNER, &address).unwrap()).into();
    railed.ends[0] = other;
    (0..100).for_each(|_| railed.look());
    railed.write(0, 1);
    assert_eq!(railed.write(1, 2), [1, 0]);
}

#[test]
fn rails_are_those_that_were_named_in_their_order() {
    let provider = World::provider(Profile::CXI, 1, 0);
    with_domains(&provider, 6, None);
    let (layout, published) = (Ends::<Ofi>::layout(1), Published::default());
    let rails = |fabric: &str| {
        let fabric = fabric.replace("cxi", &provider);
        let end = end(Rank::new(0), layout, &provider, &published, |setup| setup.fabric = fabric.parse().unwrap());
        end.fabric().rails.iter().map(|rail| rail.replace(&provider, "cxi")).collect::<Vec<_>>()
    };
    assert_eq!(rails("cxi"), ["cxi:mock0", "cxi:mock1", "cxi:mock2", "cxi:mock3"], "no more than there may be");
    assert_eq!(rails("cxi:mock5"), ["cxi:mock5"]);
    assert_eq!(rails("cxi:mock2,cxi:mock0"), ["cxi:mock2", "cxi:mock0"]);
    assert_eq!(rails("cxi:mock1,cxi,cxi"), ["cxi:mock1", "cxi:mock0", "cxi:mock2"], "those that are left");
    let fabric = format!("{provider}:mock0,{provider}:mock9").parse().unwrap();
    let setup = |setup: &mut Setup| setup.fabric = fabric;
    let mut settings = settings(Rank::new(0), layout, &provider, &published);
    setup(&mut settings);
    assert!(matches!(Ofi::new(settings), Err(FabricError::None(..))));
}

/// A provider that may lock no more memory does not register that of a transfer: the owner performs the transfer, and no rank counts as failed.
#[test]
fn memory_that_cannot_be_locked_is_moved_by_requests() {
    let mut job = known(World::provider(Profile::VERBS, 1, 0));
    let (to, at) = (job.connect(0, 1), job.at(1, 64));
    let [here, back] = [7_u64, 0].map(|word| Cells::from_mut(vec![word; 1000].leak()));
    job.post(0, to, Operation::Put { from: here, to: at }, 0);
    job.look(200, STEP);
    assert_eq!(job.results()[&0], Ok(0), "the region is known");
    job.world(|world| (world.locked_bytes_max, world.accesses) = (0, BTreeMap::new()));
    here.write(&[9; 8000]);
    job.post(0, to, Operation::Put { from: here, to: at }, 1);
    let get = Operation::Get { from: at, to: back };
    job.ends[0].post(Instant::ZERO, to, get, Flags::FENCE, Token(2)).unwrap();
    job.look(400, STEP);
    assert_eq!(job.results(), BTreeMap::from([0, 1, 2].map(|token| (token, Ok(0)))));
    assert_eq!((back.to_vec(), job.lost()), (vec![9; 8000], vec![]));
    assert_eq!(job.world(|world| world.accesses.values().sum::<u64>()), 0);
}

#[test]
fn a_limit_of_locked_memory_is_named() {
    let provider = World::provider(Profile::VERBS, 1, 0);
    World::find(&provider).unwrap().lock().unwrap().locked_bytes_max = 1 << 16;
    let settings = settings(Rank::new(0), Ends::<Ofi>::layout(1), &provider, &Published::default());
    let error = Ofi::new(settings).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("fi_mr_reg of libfabric: ") && error.ends_with("(ulimit -l)"), "{error}");
}

/// The numbers of processes, which some providers write in names, have different numbers of digits.
#[test]
fn names_of_different_lengths_lead_to_their_ranks() {
    let mut job = known(World::provider(Profile::TEXT, 1, 0));
    let names = [1, 2].map(|rank: usize| job.ends[rank].address().0.len());
    assert_ne!(names[0], names[1]);
    for rank in [1, 2] {
        let (to, at) = (job.connect(0, rank), job.at(rank, 8));
        job.post(0, to, Operation::Write { to: at, bytes: &[7; 8] }, rank.into());
    }
    job.look(100, STEP);
    assert_eq!(job.results(), BTreeMap::from([(1, Ok(0)), (2, Ok(0))]));
    assert_eq!([1, 2].map(|rank| job.word(rank, 1)), [u64::from_ne_bytes([7; 8]); 2]);
    // The name is the last part; its length is at the 16th byte.
    let Address(mut endless) = job.ends[1].address();
    endless.pop();
    endless[16] -= 1;
    assert!(job.ends[2].connect(None, Rank::new(1), &Address(endless)).is_err(), "a text without an end");
}

#[test]
fn a_domain_that_cannot_be_opened_is_left_out_unless_it_is_named() {
    let provider = World::provider(Profile::CXI, 1, 0);
    with_domains(&provider, 3, None);
    let layout = Ends::<Ofi>::layout(1);
    let rails = |fabric: &str| {
        let fabric = fabric.replace("cxi", &provider).parse().unwrap();
        let opened = Ofi::new(Setup { fabric, ..settings(Rank::new(0), layout, &provider, &Published::default()) });
        opened.map(|end| end.fabric().rails.iter().map(|rail| rail.replace(&provider, "cxi")).collect::<Vec<_>>())
    };
    for (broken, left) in [(0, ["cxi:mock1", "cxi:mock2"]), (1, ["cxi:mock0", "cxi:mock2"]), (2, ["cxi:mock0", "cxi:mock1"])] {
        World::find(&provider).unwrap().lock().unwrap().broken = Some(broken);
        assert_eq!(rails("cxi").unwrap(), left);
        let named = format!("cxi:mock{broken}");
        for fabric in [named.clone(), format!("{named},{}", left[0])] {
            assert!(matches!(rails(&fabric), Err(FabricError::Call("fi_domain", _))), "{fabric}");
        }
    }
}

/// Seeds of the tests of failing operations: `PELAGO_SEEDS`, or a few hundred.
fn seeds() -> u64 {
    std::env::var("PELAGO_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// With random failures of the provider, each operation completes once; one that reports success has taken effect once, and no other
/// more than once. 10,000 seeds (`PELAGO_SEEDS=10000`) passed in 32 s, unoptimized.
#[test]
fn operations_complete_once_though_some_fail() {
    const OPERATIONS: u64 = 24;
    /// Number of polls after which the launcher would have reported a failure.
    const PATIENCE: u32 = 300;
    for (seed, profile) in (0..seeds()).zip([Profile::VERBS, Profile::CXI, Profile::EFA, Profile::OPX].into_iter().cycle()) {
        let layout = Ends::<Ofi>::layout(2);
        let (provider, published) = (World::provider(profile, seed, 30), Published::default());
        let [me, owner] = [0, 1].map(Rank::new);
        let mut ends = [me, owner].map(|rank| end(rank, layout, &provider, &published, |_| ()));
        let memory = Cells::from_mut(vec![0_u64; 512].leak());
        let start = layout.encode(owner, SegmentId::SYMMETRIC, 0).unwrap();
        ends[1].register(start, memory.into()).unwrap();
        let address = published.lock().unwrap()[&owner].clone();
        let endpoint = ends[0].connect(None, owner, &address).unwrap();
        for number in 0..OPERATIONS {
            let place = |offset| layout.encode(owner, SegmentId::SYMMETRIC, offset).unwrap();
            let operator = AtomicOperator::Add;
            let operation = match number % 2 {
                0 => Operation::Atomic { at: place(0), width: Width::Eight, operator, operand: 1 },
                _ => Operation::Write { to: place(8 * number), bytes: &number.to_ne_bytes() },
            };
            ends[0].post(Instant::ZERO, endpoint, operation, Flags::NONE, Token(number)).unwrap();
        }
        let (mut completed, mut looks) = (Vec::new(), 0);
        while completed.len() < OPERATIONS as usize {
            ends[0].progress(Instant::ZERO, &mut completed);
            ends[1].progress(Instant::ZERO, &mut Vec::new());
            looks += 1;
            if looks == PATIENCE {
                let failed = World::find(&provider).unwrap().lock().unwrap().failed;
                assert!(failed > 0, "seed {seed}: nothing failed, and something waits");
                ends[0].peer_failed(Instant::ZERO, owner);
            }
            assert!(looks < 10 * PATIENCE, "seed {seed} of {}: {completed:?}", profile.name);
        }
        for end in &mut ends {
            (0..PATIENCE).for_each(|_| _ = end.progress(Instant::ZERO, &mut completed));
        }
        let mut tokens: Vec<_> = completed.iter().map(|completion| completion.token.0).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, (0..OPERATIONS).collect::<Vec<_>>(), "seed {seed}: each once");
        let words = memory.elements::<u64>().unwrap();
        let succeeded = |completion: &&Completion| completion.result.is_ok();
        let added = completed.iter().filter(succeeded).filter(|completion| completion.token.0 % 2 == 0).count() as u64;
        assert!((added..=OPERATIONS / 2).contains(&words.load(0)), "seed {seed}: {added} of {}", words.load(0));
        for Completion { token, .. } in completed.iter().filter(succeeded).filter(|completion| completion.token.0 % 2 == 1) {
            assert_eq!(words.load(token.0 as usize), token.0, "seed {seed}");
        }
        let mut found: Vec<_> =
            completed.iter().filter(succeeded).filter(|done| done.token.0 % 2 == 0).map(|done| done.result).collect();
        let all = found.len();
        found.sort_by_key(|result| result.unwrap_or(u64::MAX));
        found.dedup();
        assert_eq!(found.len(), all, "seed {seed}: no two found the same");
        assert_eq!(World::find(&provider).unwrap().lock().unwrap().refused, 0, "seed {seed}: bounds and keys were right");
    }
}
