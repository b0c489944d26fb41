//! Copies of cells by the core in an exchange, and sleeps and wakes of a rank: in virtual time, where both are exact.

use pelago_test_support::simulated;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Duration, Instant, Rank};
use pelago_halo::{Field, Method, Nodes, Plan, Settings, Template};
use pelago_platform::{Activity, Fault, For, VirtualTime, Wait, WaitPolicy, Woken};
use pelago_rma::{Rail, Result, World};
use pelago_simulator::simulate;

const EXCHANGES: u64 = 20;

/// Waits as the inner one does, and counts.
struct Sleeps {
    inner: Arc<dyn Wait>,
    count: Arc<AtomicU64>,
}

impl Wait for Sleeps {
    fn policy(&self) -> WaitPolicy {
        self.inner.policy()
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.inner.park(what, until, ready)
    }

    fn yield_now(&self) -> bool {
        self.inner.yield_now()
    }

    fn note(&self, activity: Activity) {
        self.inner.note(activity);
    }

    fn fault(&self) -> Option<Fault> {
        self.inner.fault()
    }

    fn tolerate_peer_failures(&self) {
        self.inner.tolerate_peer_failures();
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.inner.failed_peer(known)
    }
}

/// Lets time pass as the inner one does, and counts the bytes that are gathered into contiguous memory or scattered from it, and the calls.
struct Gathered {
    inner: Arc<dyn VirtualTime>,
    counts: Arc<[AtomicU64; 2]>,
}

impl VirtualTime for Gathered {
    fn compute(&self, duration: Duration) {
        self.inner.compute(duration);
    }

    fn gather(&self, bytes: u64) {
        self.counts[0].fetch_add(bytes, Ordering::Relaxed);
        self.counts[1].fetch_add(1, Ordering::Relaxed);
        self.inner.gather(bytes);
    }

    fn entered(&self) {
        self.inner.entered();
    }

    fn left(&self) {
        self.inner.left();
    }
}

/// For all exchanges: bytes that the core has gathered or scattered, the number of such calls, and the sleeps of the rank; on each rank of a ring of
/// four, which has two neighbours.
fn counts(settings: &Settings, fields: usize, cells: usize) -> Vec<[u64; 3]> {
    let job = simulated::settings_by(4, &["overhead_ns = 1000.0", "overhead_ns = 1000.0"]);
    let outcome = simulate(&job, |mut parts| -> Result<[u64; 3]> {
        let (sleeps, gathered) = (Arc::new(AtomicU64::new(0)), Arc::new([const { AtomicU64::new(0) }; 2]));
        parts.wait = Arc::new(Sleeps { inner: parts.wait, count: sleeps.clone() });
        let inner = parts.virtual_time.take().expect("time is virtual");
        parts.virtual_time = Some(Arc::new(Gathered { inner, counts: gathered.clone() }));
        let world = World::new(*parts)?;
        let nodes = Nodes::new([4, 1], [true, false]).unwrap();
        let array = Template::new([8, cells], nodes).unwrap().array().shadow([[1, 1], [0, 0]]).unwrap();
        let counted = {
            let mut fields: Vec<_> = (0..fields).map(|_| Field::<f64, 2>::new(&world, &array)).collect::<Result<_>>()?;
            let mut plan = Plan::build(&world, &mut fields, settings)?;
            plan.reflect(&mut fields)?;
            world.barrier()?;
            let counted = || [&gathered[0], &gathered[1], &sleeps].map(|count| count.load(Ordering::Relaxed));
            let before = counted();
            (0..EXCHANGES).try_for_each(|_| plan.reflect(&mut fields))?;
            let after = counted();
            world.barrier()?;
            std::array::from_fn(|index| after[index] - before[index])
        };
        world.finish()?;
        Ok(counted)
    });
    outcome.unwrap().results.into_iter().map(|result| result.unwrap().unwrap()).collect()
}

/// A packed border is copied once where it is sent and once where it is received, all fields in one call; other borders are never copied. A rank is
/// woken at most once for each message that it receives and once for each that it has sent: data, a flag, and the credit if it is not packed.
#[test]
fn an_exchange_copies_and_sleeps_as_often_as_it_must() {
    let by = |method, number| Settings::default().with_method(method).with_rail(Rail::new(number).unwrap());
    for (method, rail) in Method::ALL.into_iter().flat_map(|method| [0, 2].map(|rail| (method, rail))) {
        for (fields, cells) in [(1, 100), (3, 100), (1, 5000), (3, 5000)] {
            // Over all rails at once, long data is sent in two parts: a field, or all of them if they are packed.
            let parts = if rail == 2 && cells == 5000 { 2 } else { 1 };
            let (copies, messages) = match method {
                Method::Packed => (2, parts + 1),
                Method::Direct | Method::Fetched => (0, fields as u64 * parts + 2),
            };
            for [bytes, times, slept] in counts(&by(method, rail), fields, cells) {
                let expected = 2 * EXCHANGES * copies;
                let what = format!("{method} by {rail}, {fields} of {cells}");
                assert_eq!((times, bytes), (expected, expected * (fields * cells * 8) as u64), "{what}");
                // The last messages of an exchange may be seen in the next.
                assert!(slept <= 2 * (EXCHANGES + 1) * 2 * messages, "{what}: {slept} sleeps");
            }
        }
    }
}

/// A flag that follows the parts of a border needs progress of the sender. The sender makes it before it ends its exchange, not only after computing.
#[test]
fn a_rank_that_computes_after_an_exchange_does_not_keep_its_neighbour_waiting() {
    let settings = simulated::settings_by(2, &["overhead_ns = 1000.0"; 2]);
    for (method, rail) in Method::ALL.into_iter().flat_map(|method| [0, 1, 2].map(|rail| (method, rail))) {
        let outcome = simulated::run(&settings, |world| {
            let array = Template::new([2, 5000], Nodes::new([2, 1], [false; 2]).unwrap())
                .unwrap()
                .array()
                .shadow([[1, 1], [0, 0]])
                .unwrap();
            let mut field = [Field::<f64, 2>::new(world, &array)?];
            let settings = Settings::default().with_method(method).with_rail(Rail::new(rail).unwrap());
            let mut plan = Plan::build(world, &mut field, &settings)?;
            plan.reflect(&mut field)?;
            world.barrier()?;
            // The border of rank 1 has arrived when rank 0, which then computes for long, begins.
            let (computing, at_most) = (Duration::from_milliseconds(10), Duration::from_milliseconds(1));
            if world.rank() == Rank::new(0) {
                world.compute(Duration::from_microseconds(200));
            }
            let start = world.now();
            plan.reflect(&mut field)?;
            let took = world.now() - start;
            if world.rank() == Rank::new(0) {
                world.compute(computing);
            }
            assert!(took < at_most, "{method} by {rail}, {}: {took:?}", world.rank());
            Ok(())
        });
        outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}
