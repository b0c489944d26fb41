//! The contract of a transport over providers that behave as those of network cards, which the machines of these tests do not have.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pelago_base::{AtomicOperator, Instant, Rank, SegmentId, Width};
use pelago_kit::conformance::Ends;
use pelago_memory::Cells;
use pelago_platform::{Address, Completion, Flags, Network, Operation, Registry, Token, Transport};

use crate::fabric::mock::{Profile, World};
use crate::{FabricChoice, Ofi, Setup};

/// Where ranks publish their addresses.
type Published = Arc<Mutex<BTreeMap<Rank, Address>>>;

/// The transport of a rank over a provider.
fn end(
    me: Rank,
    layout: pelago_base::AddressLayout,
    provider: &str,
    published: &Published,
    setup: impl FnOnce(&mut Setup),
) -> Ofi {
    let found = published.clone();
    let mut settings = Setup {
        me,
        layout,
        fabric: FabricChoice { provider: Some(provider.into()), domain: None },
        interface: None,
        find: Box::new(move |rank| found.lock().unwrap().get(&rank).cloned()),
        wake: Box::new(|| ()),
        lost: Box::new(|_| ()),
        progress_thread: false,
        is_oversubscribed: false,
    };
    setup(&mut settings);
    let end = Ofi::new(settings).unwrap();
    published.lock().unwrap().insert(me, end.address());
    end
}

fn ends(ranks: u32, profile: Profile) -> Ends<Ofi> {
    let (layout, wakes) = (Ends::<Ofi>::layout(ranks), Ends::<Ofi>::wakes(ranks));
    let (provider, published) = (World::provider(profile, u64::from(ranks), 0), Published::default());
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

/// Seeds of the tests of failing operations: `PELAGO_SEEDS`, or a few hundred.
fn seeds() -> u64 {
    std::env::var("PELAGO_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// Of operations that the provider lets fail now and then each completes once; those that are told to have succeeded have happened once, and no other
/// more than once. 10,000 seeds (`PELAGO_SEEDS=10000`) passed in 32 s, unoptimized.
#[test]
fn operations_complete_once_though_some_fail() {
    const OPERATIONS: u64 = 24;
    /// Looks after which the launcher would have told of a loss.
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
