//! The contract of a transport, between ranks of a simulated machine.

use std::collections::BTreeMap;

use pelago_base::{AddressLayout, AtomicOperator, Duration, Instant, Rank, SegmentId, Width};
use pelago_kit::conformance::Fixture;
use pelago_memory::Cells;
use pelago_netsim::Machine;
use pelago_platform::{Flags, Operation, Parts, Token, Transport};
use pelago_simulator::{FaultInjection, Protocol, Settings, ends};

const HEAP_BYTES: u64 = 128 * 1024;
const PART_BYTES: usize = 72_008;

/// The platforms of ranks that do not run.
struct Ranks {
    parts: Vec<Parts>,
    /// Registered memory outside the memory of the simulation.
    registered: BTreeMap<(Rank, SegmentId), Cells<'static>>,
}

impl Fixture for Ranks {
    fn layout(&self) -> AddressLayout {
        self.parts[0].reach.addresses()
    }

    fn segments(&self) -> Vec<SegmentId> {
        vec![SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL, SegmentId::REGISTERED_FIRST]
    }

    fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_> {
        if let Some(&cells) = self.registered.get(&(rank, segment)) {
            return cells;
        }
        let reach = &self.parts[rank.index()].reach;
        reach.cells(reach.addresses().encode(rank, segment, 0).unwrap(), HEAP_BYTES).unwrap()
    }

    fn transport(&mut self, rank: Rank) -> &mut dyn Transport {
        self.parts[rank.index()].transport.as_mut()
    }

    fn peer_failed(&mut self, rank: Rank) -> bool {
        self.transport(rank).network().peer_failed(Instant::ZERO, rank);
        true
    }
}

fn job(machine: &str, ranks: u32, per_node: u32, protocol: Option<Protocol>) -> Ranks {
    job_on(Machine::bundled(machine).unwrap(), ranks, per_node, protocol)
}

fn job_on(machine: &str, ranks: u32, per_node: u32, protocol: Option<Protocol>) -> Ranks {
    let machine = Machine::parse(machine).unwrap();
    let settings = Settings {
        machine,
        ranks,
        per_node,
        seed: 1,
        heap_bytes: HEAP_BYTES,
        stack_bytes: 64 << 10,
        shared_stack: false,
        protocol,
        data: Default::default(),
        computing: Default::default(),
        threads: 1,
        report: None,
        watch: Default::default(),
    };
    let mut parts = ends(&settings).unwrap();
    let mut registered = BTreeMap::new();
    for (rank, parts) in (0..).map(Rank::new).zip(&mut parts) {
        let sizes = [HEAP_BYTES as usize, HEAP_BYTES as usize, PART_BYTES];
        for (segment, bytes) in [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL, SegmentId::REGISTERED_FIRST].into_iter().zip(sizes)
        {
            let cells = Cells::from_mut(vec![0u64; bytes / 8].leak());
            let start = parts.reach.addresses().encode(rank, segment, 0).unwrap();
            parts.transport.as_mut().memory().register(start, cells.into()).unwrap();
            // Simulated NICs already know the heaps.
            if segment == SegmentId::REGISTERED_FIRST || settings.protocol.is_some() {
                registered.insert((rank, segment), cells);
            }
        }
    }
    Ranks { parts, registered }
}

fn a_rank_per_node(ranks: u32) -> Ranks {
    job("rx200-qdr", ranks, 1, None)
}

fn two_ranks_per_node(ranks: u32) -> Ranks {
    job("rx200-qdr", ranks, 2, None)
}

/// NICs that hold few operations.
fn short_queues(ranks: u32) -> Ranks {
    let machine = Machine::bundled("rx200-qdr").unwrap();
    job_on(&machine.replace("[rail.nic]", "[rail.nic]\nsend_queue = 5"), ranks, 1, None)
}

/// Two networks, the first of which connects only pairs of nodes.
fn two_rails(ranks: u32) -> Ranks {
    let one = Machine::bundled("rx200-qdr").unwrap();
    let (head, rail) = one.split_once("[[rail]]").unwrap();
    job_on(&format!("choice = \"first\"\n{head}[[rail]]\ngroup = 2{rail}\n[[rail]]{rail}"), ranks, 1, None)
}

/// A network whose routers reduce up to four words, for up to four groups.
fn routers_that_reduce(ranks: u32) -> Ranks {
    reducing(ranks, 1, "level = \"routers\"\ncombine_ns = 50.0\nbytes_max = 32\ngroups_max = 4\n")
}

/// A network whose NICs perform barriers, with two ranks for each.
fn nics_that_meet(ranks: u32) -> Ranks {
    reducing(ranks, 2, "level = \"nics\"\ncombine_ns = 50.0\ngroups_max = 4\n")
}

fn reducing(ranks: u32, per_node: u32, reduction: &str) -> Ranks {
    let machine = Machine::bundled("rx200-qdr").unwrap();
    let reducing = machine.replace("[rail.topology]", &format!("[rail.reduction]\n{reduction}[rail.topology]"));
    job_on(&reducing, ranks, per_node, None)
}

/// All ranks in the memory of one node.
fn shared_memory(ranks: u32) -> Ranks {
    job("laptop", ranks, ranks, None)
}

/// The library's own protocol, over a network with many faults.
fn by_protocol(ranks: u32) -> Ranks {
    let delay_max = Duration::from_microseconds(50);
    let faults = FaultInjection { loss: 50, duplication: 30, delay: 100, delay_max, ..FaultInjection::default() };
    job("rx200-qdr", ranks, 1, Some(Protocol { faults, ..Protocol::default() }))
}

/// The same, but each message keeps cores busy, and a message may consist of several datagrams.
fn by_datagrams_that_cost_time(ranks: u32) -> Ranks {
    let rail = Machine::bundled("rx200-qdr").unwrap().split_once("[[rail]]").unwrap().1;
    let node = "name = \"costly\"\n[node.datagrams]\ndatagram_bytes = 1472\nwindow_bytes = 1000000\npost_ns = 100.0\nlatency_ns = 500.0\n\
                overlap_ns = 200.0\nwake_ns = 2e4\nsend = [[8, 2000.0], [65000, 9000.0]]\nreceive = [[8, 1000.0], [65000, 6000.0]]\n";
    let faults = FaultInjection { loss: 50, duplication: 30, ..FaultInjection::default() };
    job_on(&format!("{node}\n[[rail]]{rail}"), ranks, 2, Some(Protocol { faults, ..Protocol::default() }))
}

pelago_kit::conformance!(apart, a_rank_per_node);
pelago_kit::conformance!(together, two_ranks_per_node);
pelago_kit::conformance!(queues, short_queues);
pelago_kit::conformance!(rails, two_rails);
pelago_kit::conformance!(routers, routers_that_reduce);
pelago_kit::conformance!(nics, nics_that_meet);
pelago_kit::conformance!(shared, shared_memory);
pelago_kit::conformance!(protocol, by_protocol);
pelago_kit::conformance!(datagrams, by_datagrams_that_cost_time);

/// A get that its core performs waits for a fence. It makes the put before the fence take effect, which releases the get. The get counts
/// only once among the operations that the next fence waits for, and not again when it arrives.
#[test]
fn a_get_that_hastens_what_it_waits_for_takes_effect_once() {
    let mut ranks = shared_memory(2);
    let layout = ranks.layout();
    let [me, peer] = [0, 1].map(Rank::new);
    let at = |offset| layout.encode(peer, SegmentId::SYMMETRIC, offset).unwrap();
    let address = ranks.transport(peer).network().address();
    let to = ranks.transport(me).network().connect(None, peer, &address).unwrap();
    let [first, second] = [0; 2].map(|_| Cells::from_mut(vec![0u64].leak()));
    let fence = Flags { fence: true, ..Flags::NONE };
    let posted = [
        (Operation::Write { to: at(0), bytes: &[1; 8] }, Flags::NONE),
        (Operation::Get { from: at(0), to: first }, fence),
        (Operation::Write { to: at(8), bytes: &[2; 8] }, Flags::NONE),
        (Operation::Get { from: at(8), to: second }, fence),
    ];
    let count = posted.len();
    for ((operation, flags), token) in posted.into_iter().zip((0..).map(Token)) {
        ranks.transport(me).post(Instant::ZERO, to, operation, flags, token).unwrap();
    }
    let mut completed = Vec::new();
    for _ in 0..1000 {
        ranks.transport(me).progress(Instant::ZERO, &mut completed);
    }
    completed.sort_by_key(|completion| completion.token.0);
    let tokens: Vec<u64> = completed.iter().map(|completion| completion.token.0).collect();
    assert_eq!(tokens, (0..count as u64).collect::<Vec<_>>(), "each completes once");
    assert!(completed.iter().all(|completion| completion.result == Ok(0)));
    assert_eq!([first.to_vec(), second.to_vec()], [[1; 8], [2; 8]], "each get sees the write before its fence");
}

/// A long write is in flight on links with high loss. A short write behind a fence arrives first and waits at its target, where the network ends it as
/// failed, since no acknowledgement gets through. When the long write takes effect, the fence must not release the operation that has ended.
#[test]
fn what_a_fence_holds_back_and_the_network_gives_up_ends_once() {
    const ROUNDS: u64 = 300;
    let machine = Machine::bundled("rx200-qdr").unwrap();
    let lossy = machine.replace("[rail.link]", "[rail.reliability]\nretries = 2\n\n[rail.link]\nloss = 0.3");
    let mut ranks = job_on(&lossy, 2, 1, None);
    let [me, peer] = [0, 1].map(Rank::new);
    let at = ranks.layout().encode(peer, SegmentId::SYMMETRIC, 0).unwrap();
    let address = ranks.transport(peer).network().address();
    let to = ranks.transport(me).network().connect(None, peer, &address).unwrap();
    let fence = Flags { fence: true, ..Flags::NONE };
    let data = Cells::from_mut(vec![1u8; 16 << 10].leak());
    let mut overtaken = 0;
    for round in 0..ROUNDS {
        let (long, short) = (Operation::Put { from: data, to: at }, Operation::Write { to: at, bytes: &[2; 8] });
        for (write, flags, token) in [(long, Flags::NONE, 0), (short, fence, 1)] {
            ranks.transport(me).post(Instant::ZERO, to, write, flags, Token(token)).unwrap();
        }
        let mut completed = Vec::new();
        (0..1000).for_each(|_| _ = ranks.transport(me).progress(Instant::ZERO, &mut completed));
        let ended: Vec<_> = completed.iter().map(|completion| (completion.token.0, completion.result.is_ok())).collect();
        assert_eq!(ended.len(), 2, "round {round}: each ends once");
        overtaken += u64::from(ended == [(1, false), (0, true)]);
    }
    assert!(overtaken > 0, "a short write is given up before its long one ends well");
}

/// A write of several packets that the network gives up has no effect, and neither has one behind a fence, although its packet has arrived.
#[test]
fn what_a_fence_orders_after_a_failed_operation_has_no_effect() {
    const ROUNDS: u64 = 200;
    const AFTER: u64 = 32 << 10;
    let machine = Machine::bundled("rx200-qdr").unwrap();
    let lossy = machine.replace("[rail.link]", "[rail.reliability]\nretries = 1\n\n[rail.link]\nloss = 0.3");
    let mut ranks = job_on(&lossy, 2, 1, None);
    let [me, peer] = [0, 1].map(Rank::new);
    let at = |offset| ranks.layout().encode(peer, SegmentId::SYMMETRIC, offset).unwrap();
    let (first, second) = (at(0), at(AFTER));
    let address = ranks.transport(peer).network().address();
    let to = ranks.transport(me).network().connect(None, peer, &address).unwrap();
    let fence = Flags { fence: true, ..Flags::NONE };
    let mut given_up = 0;
    for round in 1..=ROUNDS {
        let data = Cells::from_mut(vec![round; 2 << 10].leak());
        let (long, short) =
            (Operation::Put { from: data, to: first }, Operation::Write { to: second, bytes: &round.to_ne_bytes() });
        for (write, flags, token) in [(long, Flags::NONE, 0), (short, fence, 1)] {
            ranks.transport(me).post(Instant::ZERO, to, write, flags, Token(token)).unwrap();
        }
        let mut completed = Vec::new();
        (0..1000).for_each(|_| _ = ranks.transport(me).progress(Instant::ZERO, &mut completed));
        assert_eq!(completed.len(), 2, "round {round}: each ends once");
        let memory = ranks.memory(peer, SegmentId::SYMMETRIC).to_vec();
        let [long, short] = [0, AFTER as usize].map(|offset| memory[offset..offset + 8] == round.to_ne_bytes());
        assert!(long || !short, "round {round}: the second without the first");
        given_up += u64::from(!long);
    }
    assert!((1..ROUNDS).contains(&given_up), "{given_up}");
}

/// The network gives up requests to progress threads that have arrived, their replies, and replies that have arrived as well: each atomic ends once, and
/// its record is used again only after the last event that names it.
#[test]
fn atomics_by_progress_threads_end_once_where_the_network_gives_up() {
    const ROUNDS: u64 = 200;
    const AT_ONCE: u64 = 8;
    let machine = Machine::bundled("rx200-qdr").unwrap();
    let lossy = machine.replace("[rail.link]", "[rail.reliability]\nretries = 1\n\n[rail.link]\nloss = 0.2");
    for submission in ["free", "progress-thread"] {
        let software = format!(
            "\n[node.software]\nsubmission = \"{submission}\"\natomics = \"progress-thread\"\nserve_ns = 1e4\nnotify_ns = 1e4\n"
        );
        let mut ranks = job_on(&format!("{lossy}{software}"), 2, 1, None);
        let [me, peer] = [0, 1].map(Rank::new);
        let at = ranks.layout().encode(peer, SegmentId::SYMMETRIC, 0).unwrap();
        let address = ranks.transport(peer).network().address();
        let to = ranks.transport(me).network().connect(None, peer, &address).unwrap();
        let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let (mut found, mut failed) = (Vec::new(), 0);
        for round in 0..ROUNDS {
            let tokens = round * AT_ONCE..(round + 1) * AT_ONCE;
            for token in tokens.clone() {
                ranks.transport(me).post(Instant::ZERO, to, add, Flags::NONE, Token(token)).unwrap();
            }
            let mut completed = Vec::new();
            while completed.len() < AT_ONCE as usize && ranks.transport(me).progress(Instant::ZERO, &mut completed) {}
            completed.sort_by_key(|completion| completion.token.0);
            assert!(completed.iter().map(|completion| completion.token.0).eq(tokens), "round {round}: each ends once");
            found.extend(completed.iter().filter_map(|completion| completion.result.ok()));
            failed += completed.iter().filter(|completion| completion.result.is_err()).count() as u64;
        }
        let mut late = Vec::new();
        while ranks.transport(me).progress(Instant::ZERO, &mut late) {}
        assert!(late.is_empty(), "{late:?}");
        let word = ranks.memory(peer, SegmentId::SYMMETRIC).to_vec()[..8].try_into().map(u64::from_ne_bytes).unwrap();
        let ended = found.len() as u64;
        found.sort_unstable();
        found.dedup();
        assert!(
            failed > 0 && found.len() as u64 == ended && (ended..=ended + failed).contains(&word),
            "{ended}, {failed}: {word}"
        );
    }
}
