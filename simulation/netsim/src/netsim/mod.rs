//! A machine of a given number of nodes, in virtual time.
//!
//! | part | for |
//! |---|---|
//! | this file | the interface |
//! | `region` | posting operations, the dispatch of events, intra-node operations |
//! | `nics` | NICs: reading, sending, receiving and writing packets |
//! | `ports` | NICs with several ports: the plane of each packet |
//! | `reliability` | lost packets, and receivers that are not ready |
//! | `classes` | the traffic classes of NICs |
//! | `domain` | operations between ranks whose memories are connected directly |
//! | `congestion` | the congestion control of NICs |
//! | `division`, `crossing` | machines divided among threads; packets that cross the border of a region |

mod classes;
mod congestion;
mod crossing;
mod division;
mod domain;
mod nics;
mod ports;
mod region;
mod reliability;

use pelago_base::{Duration, Instant};

use self::division::Division;
pub(crate) use self::region::Region;
use crate::machine::spec::{CongestionSpec, RailSpec, Spread};
use crate::machine::{Machine, MachineError};
use crate::network::{BACKLOG_BYTES, CHANNEL_BYTES, CLASS_BYTES, Failures, LANE_BYTES, PAUSE_BYTES};
use crate::nics::flowlet::FLOWLETS_BYTES;
use crate::operation::{NetworkOperation, Notice};
use crate::reduction::{ReductionLimits, ReductionNetwork, ReductionTree};
use crate::statistics::Statistics;
use crate::topology::Topology;

/// A simulated machine.
///
/// [`post`](Self::post) starts operations, [`wake_at`](Self::wake_at) requests a wake-up, and [`next`](Self::next) advances to the
/// next notice. The same calls always give the same notices at the same times.
///
/// Memory grows with the number of nodes (some hundred bytes each, and as much per link), of operations in flight (64 bytes
/// each) and of packets in flight (64 bytes each), and with the largest entity number (4 bytes per entity up to it).
///
/// ```
/// use pelago_base::Instant;
/// use pelago_netsim::{Machine, Netsim, Notice, NetworkOperation};
///
/// let machine = Machine::parse(Machine::bundled("rx200-qdr").unwrap())?;
/// let mut netsim = Netsim::new(&machine, 16, 1)?;
/// netsim.post(0, NetworkOperation::Put { from: 0, to: 5, bytes: 8 }, 42);
/// assert_eq!(netsim.next(), Some(Notice::Read { token: 42 }));
/// assert_eq!(netsim.next(), Some(Notice::Effect { token: 42 }));
/// assert_eq!(netsim.now(), Instant::from_picoseconds(1_156_414));
/// # Ok::<(), pelago_netsim::MachineError>(())
/// ```
pub struct Netsim {
    /// The whole machine, or the events of the caller and within nodes if the rest is divided.
    pub(crate) front: Region,
    pub(crate) division: Option<Box<Division>>,
    /// What reduces, if the machine does.
    reduction: Option<Box<ReductionNetwork>>,
}

impl Netsim {
    /// Returns a machine of `nodes` nodes. `seed` decides all random choices: which packets are lost, and the routes that are
    /// spread at random.
    ///
    /// # Errors
    ///
    /// The description does not permit this number of nodes.
    pub fn new(machine: &Machine, nodes: u32, seed: u64) -> Result<Self, MachineError> {
        let topologies = machine.topologies(nodes)?;
        Ok(Self {
            front: Region::new(machine, nodes, seed, Some(&topologies))?,
            division: None,
            reduction: ReductionNetwork::of(machine, nodes, &topologies).map(Box::new),
        })
    }

    /// As [`new`](Self::new), simulated by up to `threads` threads (64 at most), the caller's included. Notices, times and statistics are the
    /// same. Each thread needs the memory of the machine's nodes and links once more, and a part of the operations and packets.
    ///
    /// One thread simulates machines that [cannot be divided](Self::obstacle), or whose network has a single router.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn with_threads(machine: &Machine, nodes: u32, seed: u64, threads: u32) -> Result<Self, MachineError> {
        let topologies = machine.topologies(nodes)?;
        let division = Division::new(machine, nodes, seed, threads, &topologies)?.map(Box::new);
        let network = division.is_none().then_some(&topologies[..]);
        Ok(Self {
            front: Region::new(machine, nodes, seed, network)?,
            division,
            reduction: ReductionNetwork::of(machine, nodes, &topologies).map(Box::new),
        })
    }

    /// Returns why one thread must simulate a machine; `None` if several can.
    pub fn obstacle(machine: &Machine) -> Option<&'static str> {
        division::obstacle(machine)
    }

    /// Checks that each failure names a link or a router that the machine has with `nodes` nodes.
    ///
    /// # Errors
    ///
    /// A link or a router does not exist, or the description does not permit so many nodes: one line with the reason.
    pub fn check_failures(machine: &Machine, nodes: u32) -> Result<(), MachineError> {
        Failures::check(machine, nodes)
    }

    /// Returns the memory that the links of the machine take from the start, with `nodes` nodes and `threads` threads, in bytes.
    ///
    /// # Errors
    ///
    /// The description does not permit so many nodes.
    pub fn links_bytes(machine: &Machine, nodes: u32, threads: u32) -> Result<u64, MachineError> {
        let topologies = machine.topologies(nodes)?;
        let bytes: u64 = machine.rails.iter().zip(&topologies).map(|(rail, topology)| rail_bytes(rail, topology, nodes)).sum();
        // Planes and threads share the tables of a topology.
        let tables: u64 = topologies.iter().map(Topology::table_bytes).sum();
        Ok(bytes.saturating_mul(threads.into()).saturating_add(tables))
    }

    /// Returns the number of threads that simulate the machine.
    pub fn threads(&self) -> u32 {
        self.division.as_ref().map_or(1, |division| division.threads())
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.front.nodes()
    }

    /// Returns the time of the last notice, or of the last event once no notice is left.
    pub fn now(&self) -> Instant {
        self.front.now()
    }

    /// Requests [`Notice::Wake`] at `at`, or now if that time has passed. Wake-ups of equal times come in the order of entity
    /// numbers, and those of one entity in the order of its calls.
    ///
    /// # Panics
    ///
    /// If `entity` is 2²⁹ or more.
    pub fn wake_at(&mut self, at: Instant, entity: u32, token: u64) {
        self.front.wake_at(at, entity, token);
    }

    /// Starts an operation now, on behalf of `entity`. The entity number orders operations that reach NICs at the same time, and
    /// selects the NIC. Notices of the operation carry `token`.
    ///
    /// # Panics
    ///
    /// If `entity` is 2²⁹ or more.
    pub fn post(&mut self, entity: u32, operation: NetworkOperation, token: u64) {
        self.post_by(None, entity, operation, token);
    }

    /// As [`post`](Self::post), by a NIC of the rail with the given number; intra-node operations need none. The machine chooses the rail if the
    /// given one does not exist or does not connect all nodes that take part.
    ///
    /// # Panics
    ///
    /// As `post`.
    pub fn post_by(&mut self, rail: Option<u8>, entity: u32, operation: NetworkOperation, token: u64) {
        self.post_late(rail, entity, operation, token, Duration::ZERO);
    }

    /// As [`post_by`](Self::post_by), but the operation starts `late` after the time that its [`overhead`](Self::overhead) takes: the core of the
    /// initiator does something else meanwhile.
    ///
    /// # Panics
    ///
    /// As `post`.
    #[inline]
    pub fn post_late(&mut self, rail: Option<u8>, entity: u32, operation: NetworkOperation, token: u64, late: Duration) {
        let Some(posted) = self.front.prepare(rail, entity, operation, token, late) else { return };
        match &mut self.division {
            Some(division) if posted.needs_network() => division.start(posted),
            _ => self.front.begin(posted),
        }
    }

    /// As [`post_late`](Self::post_late), by the domain of a node: the numbers in `operation` are those of ports, one for each rank, not of nodes.
    /// The caller knows which ports are of one domain. Ports take some 24 bytes up to the largest number, and links 24 bytes for each pair that has
    /// communicated. If the machine has no domains, the operation fails as one that names a node that does not exist.
    ///
    /// # Panics
    ///
    /// If `entity` or a port is 2²⁹ or more.
    pub fn post_in_domain(&mut self, entity: u32, operation: NetworkOperation, token: u64, late: Duration) {
        self.front.post_in_domain(entity, operation, token, late);
    }

    /// Returns the time from posting an operation of a domain until it begins.
    pub fn domain_overhead(&self) -> Duration {
        self.front.domain_overhead()
    }

    /// Returns how long an operation keeps the core of its initiator busy; zero unless it stays in memory that the ranks of a node share.
    pub fn busy(&self, operation: NetworkOperation) -> Duration {
        self.front.busy(operation)
    }

    /// Returns the time from posting an operation by a NIC of a rail, chosen as by [`post_by`](Self::post_by), until the NIC gets it; for one
    /// that stays in memory that the ranks of a node share, until the core of the initiator has performed it.
    pub fn overhead(&self, rail: Option<u8>, entity: u32, operation: NetworkOperation) -> Duration {
        self.front.overhead(rail, entity, operation)
    }

    /// Advances to the next notice; `None` if no event is left.
    #[expect(clippy::should_implement_trait, reason = "a user posts between notices, which an iterator would forbid")]
    pub fn next(&mut self) -> Option<Notice> {
        self.next_with(|_| {})
    }

    /// As [`next`](Self::next). `soon` gets tokens that notices will probably carry soon, so that the caller can prefetch their records.
    #[inline]
    pub fn next_with(&mut self, mut soon: impl FnMut(u64)) -> Option<Notice> {
        match &mut self.division {
            None => self.front.next_with(soon),
            Some(division) => division.next(&mut self.front, &mut soon),
        }
    }

    /// Frees the receive slot of a datagram that `node` has consumed, if the machine limits the slots and specifies no service time
    /// (`receive.slots` without `receive.service_ns`). Does nothing on other machines, or if no slot is in use.
    pub fn consume(&mut self, node: u32) {
        self.front.consume(node);
    }

    /// Returns the number of events that have happened; of a machine divided among threads, a number that lags behind.
    pub fn events(&self) -> u64 {
        self.front.statistics.events + self.division.as_ref().map_or(0, |division| division.events())
    }

    /// Returns the counters since the start. Time and memory are proportional to the number of links. A machine divided among threads may be
    /// ahead of the last notice, unless no event is left.
    pub fn statistics(&mut self) -> Statistics {
        match &mut self.division {
            None => self.front.statistics(),
            Some(division) => {
                let mut statistics = division.statistics();
                let Statistics { events, bytes, .. } = self.front.statistics;
                statistics.events += events;
                statistics.bytes += bytes;
                statistics
            }
        }
    }

    /// Returns what the routers or NICs of the machine reduce; `None` if they do not.
    pub fn reduction(&self) -> Option<ReductionLimits> {
        self.reduction.as_ref().map(|network| network.limits())
    }

    /// Returns the tree by which the machine reduces for a group: nodes, each once, with the number of ranks that contribute through the NIC
    /// of the node. `None` if the machine does not reduce, or the group is empty or has a node that does not exist.
    ///
    /// Cost: proportional to the number of links of the machine if routers combine; if NICs combine, to that of the routes.
    pub fn reduction_tree(&self, nodes: &[(u32, u32)]) -> Option<ReductionTree> {
        let network = self.reduction.as_ref()?;
        let exist = !nodes.is_empty() && nodes.iter().all(|&(node, _)| node < self.nodes());
        exist.then(|| network.tree(nodes))
    }

    /// Whether a rail connects two nodes.
    pub fn rail_connects(&self, rail: u8, from: u32, to: u32) -> bool {
        self.front.rail_connects(rail, from, to)
    }

    /// Returns the rail that the machine chooses for an operation of `entity` of `bytes` bytes between two nodes.
    pub fn chosen_rail(&self, entity: u32, from: u32, to: u32, bytes: u64) -> u8 {
        self.front.chosen_rail(entity, from, to, bytes)
    }
}

/// The memory of all planes of a rail in each region of the machine: links, and the flowlets of their NICs.
fn rail_bytes(rail: &RailSpec, topology: &Topology, nodes: u32) -> u64 {
    let (channels, lanes) = rail.parts(topology, nodes);
    let has_signals = matches!(rail.congestion, Some(CongestionSpec::Hpcc(_) | CongestionSpec::Slingshot(_)));
    let of_channel = CHANNEL_BYTES + CLASS_BYTES * rail.class.len() as u64 + if has_signals { BACKLOG_BYTES } else { 0 };
    let of_lane = LANE_BYTES + if rail.router.pfc.is_some() { PAUSE_BYTES } else { 0 };
    let flowlets = if rail.nic.spread == Spread::Flowlet { u64::from(nodes * rail.count) * FLOWLETS_BYTES } else { 0 };
    channels * of_channel + lanes * of_lane + flowlets
}
