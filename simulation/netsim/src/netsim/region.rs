//! A region of a machine, mostly the whole of it: its NICs, links and routers, and their events in order.
//!
//! This file: posting operations, the dispatch of events, and intra-node operations.

use std::collections::{HashMap, VecDeque};
use std::iter::repeat_n;

use pelago_base::{Duration, Instant};

use crate::classes::Classes;
use crate::events::pool::{List, NONE, Pool};
use crate::events::prefetch::prefetch;
use crate::events::queue::{Distance, Event, Queue};
use crate::events::{ENTITIES_MAX, class, random};
use crate::machine::rule::ATOMIC_BYTES;
use crate::machine::software::Software;
use crate::machine::spec::{CongestionSpec, LinkSpec, NicChoice, RailKind, RailSpec, Spread};
use crate::machine::{Machine, MachineError, bytes_per_second, picoseconds};
use crate::network::{Fabric, Failures, Marking, Medium, Messages, Network, PacketOutcome, QueuedBytes, Signals, Thresholds};
use crate::nics::domain::{self, Domains};
use crate::nics::flow::{Flow, Stamp};
use crate::nics::flowlet::{FLOWLETS, Flowlet};
use crate::nics::nic::{ClassQueue, Nic, RailNics, task};
use crate::nics::node::{Node, SharedMemory};
use crate::nics::port::Port;
use crate::nics::transfer::{AttemptTable, OperationFacts, OperationKind, Phase, Transfer};
use crate::operation::{FailureReason, NetworkOperation, Notice};
use crate::statistics::{AtomicStatistics, LinkEnd, LinkStatistics, Statistics};
use crate::topology::{Link, Topology};

/// How many messages ahead the record of a message is prefetched.
const AHEAD: usize = 8;

/// The state of a region. The region that stands for the ranks of a divided machine has no network.
pub(crate) struct Region {
    pub(crate) queue: Queue,
    pub(crate) network: Network,
    pub(crate) rails: Vec<RailNics>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) transfers: Pool<Transfer>,
    pub(crate) attempts: AttemptTable,
    /// For each NIC, the packets that wait for a receive slot.
    pub(crate) held: Vec<List>,
    /// The transfer that was posted last, if a later one may be chained to its start.
    last_posted: Option<Beginning>,
    pub(crate) notices: VecDeque<Notice>,
    /// Number of event keys that each entity has used.
    sequences: Vec<u32>,
    /// The ports of each NIC, on rails with several planes.
    pub(crate) ports: Vec<Port>,
    /// The most recent flowlets of each NIC, on rails that spread packets by flowlets.
    pub(crate) flowlets: Vec<Flowlet>,
    /// For each class of each NIC of rails with classes: its queue, and its lead in reading packets.
    pub(crate) class_queues: Vec<ClassQueue>,
    pub(crate) class_leads: Vec<u64>,
    /// The congestion control state per pair of source and destination NIC and class, on rails with congestion control.
    pub(crate) flows: HashMap<FlowKey, Flow>,
    /// What answers return of packets, by the numbers of packets and of answers, on rails where each packet is answered.
    pub(crate) stamps: Vec<Stamp>,
    choice: NicChoice,
    copy: Medium,
    /// When each NIC can start the next copy within its node for another node; empty before the first one.
    copies: Vec<u64>,
    shared: Option<SharedMemory>,
    pub(crate) domains: Option<Box<Domains>>,
    /// The notices of a region of a divided machine, with the events that caused them.
    pub(crate) timed_notices: Vec<TimedNotice>,
    /// The messages of each other region that were not read.
    pub(crate) inbox: Vec<Messages>,
    /// The operations of NICs of the region that were posted and are not scheduled.
    pub(crate) posted: Vec<Posted>,
    pub(crate) seed: u64,
    pub(crate) statistics: Statistics,
}

impl Region {
    /// Returns a machine of `nodes` nodes. `seed` decides all random choices: which packets are lost, and the routes that are
    /// spread at random. `topologies` are those of the rails of this machine; `None` for a region without a network.
    ///
    /// # Errors
    ///
    /// The description does not permit this number of nodes.
    pub(crate) fn new(machine: &Machine, nodes: u32, seed: u64, topologies: Option<&[Topology]>) -> Result<Self, MachineError> {
        let mut region = Self {
            queue: Queue::new(),
            network: Network::new(seed),
            rails: Vec::new(),
            nics: Vec::new(),
            nodes: (0..nodes).map(|_| Node::default()).collect(),
            transfers: Pool::new(),
            attempts: AttemptTable::default(),
            held: Vec::new(),
            last_posted: None,
            notices: VecDeque::new(),
            sequences: Vec::new(),
            ports: Vec::new(),
            flowlets: Vec::new(),
            class_queues: Vec::new(),
            class_leads: Vec::new(),
            flows: HashMap::new(),
            stamps: Vec::new(),
            choice: machine.choice,
            copy: Medium {
                rate: bytes_per_second(machine.node.copy_gb_per_s),
                cable: picoseconds(machine.node.copy_ns),
                loss: 0,
            },
            copies: Vec::new(),
            shared: machine.node.shared.as_ref().map(SharedMemory::new),
            domains: machine.node.domain.as_ref().map(|spec| Box::new(Domains::new(spec))),
            timed_notices: Vec::new(),
            inbox: Vec::new(),
            posted: Vec::new(),
            seed,
            statistics: Statistics::default(),
        };
        for (number, spec) in machine.rails.iter().enumerate() {
            region.add(spec, machine.software(), nodes, topologies.map(|topologies| &topologies[number]))?;
        }
        Ok(region)
    }

    fn add(&mut self, spec: &RailSpec, software: &Software, nodes: u32, topology: Option<&Topology>) -> Result<(), MachineError> {
        let terminals = nodes * spec.count;
        let first = self.nics.len() as u32;
        let number = self.rails.len() as u8;
        let (networks, ports) = (self.network.fabrics.len() as u8, self.ports.len());
        let firsts = (networks, ports, self.flowlets.len(), self.class_queues.len());
        self.rails.push(RailNics::new(spec, software, first, firsts));
        self.nics.extend((0..terminals).map(|terminal| Nic::new(number, terminal)));
        if self.nics.len() >= ENTITIES_MAX as usize {
            return Err(MachineError::too_many(nodes));
        }
        let Some(topology) = topology else { return Ok(()) };
        if spec.has_telemetry() {
            self.rails[usize::from(number)].carry_telemetry(topology.steps_max() + 1);
        }
        let signals = match &spec.congestion {
            Some(CongestionSpec::Hpcc(_)) => Some(Signals::Telemetry),
            Some(CongestionSpec::Slingshot(slingshot)) => Some(Signals::LastHop { threshold: slingshot.threshold_bytes }),
            _ => None,
        };
        let router = &spec.router;
        let medium = |link: &LinkSpec| Medium {
            rate: bytes_per_second(link.gb_per_s),
            cable: picoseconds(link.cable_ns),
            loss: random::probability(link.loss),
        };
        let classes = Classes::new(&spec.class);
        let failures = Failures::new(spec, topology, terminals)?;
        let counts_queues = signals.is_some() || router.ecn.is_some() || topology.adapts().is_some() || topology.chooses_links();
        let routers = if spec.planes > 1 { topology.routers(terminals) } else { 0 };
        let planes = repeat_n(topology, spec.planes as usize).cloned().zip(failures);
        let has_room = (0..).zip(planes).all(|(plane, (topology, failures))| {
            self.network.add(Fabric {
                rail: number,
                first_nic: first,
                first_router: plane * routers,
                whole: topology.claims_whole_buffers(),
                pfc: router.pfc.map(|pfc| Thresholds { stop: pfc.xoff_bytes, resume: pfc.xon_bytes }),
                first_pause: 0,
                marking: router.ecn.map(|ecn| Marking {
                    min: ecn.min_bytes,
                    max: ecn.max_bytes,
                    probability: random::probability(ecn.probability),
                }),
                queued: match counts_queues {
                    true => QueuedBytes::Counted,
                    false => QueuedBytes::NotCounted,
                },
                signals,
                first_backlog: 0,
                failures,
                topology,
                terminals,
                vcs: router.vcs,
                lanes: router.vcs * classes.count(),
                classes: classes.clone(),
                first_share: 0,
                pipeline: router.pipeline(),
                traversal: picoseconds(router.switch_ns),
                bubble: picoseconds(router.vc_allocation_ns),
                credit: picoseconds(router.credit_ns),
                buffer: router.buffer_bytes,
                receive: spec.nic.receive_bytes,
                packet_max: spec.packet_bytes_max(),
                drops: spec.kind == RailKind::Ethernet,
                in_order_from: Topology::in_order_from(spec),
                switching: router.switching,
                host: medium(spec.host_link()),
                link: medium(&spec.link),
                first_channel: 0,
                first_lane: 0,
            })
        });
        if !has_room {
            return Err(MachineError::too_many(nodes));
        }
        if spec.nic.spread == Spread::Flowlet {
            self.flowlets.resize(self.flowlets.len() + terminals as usize * FLOWLETS, Flowlet::default());
        }
        if !spec.class.is_empty() {
            let queues = self.class_queues.len() + terminals as usize * spec.class.len();
            self.class_queues.resize(queues, ClassQueue::EMPTY);
            self.class_leads.resize(queues, 0);
        }
        self.held.resize(self.nics.len(), List::EMPTY);
        if spec.planes > 1 {
            self.ports.resize_with(self.ports.len() + (terminals * spec.planes) as usize, Port::default);
        }
        Ok(())
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the time of the last notice, or of the last event once no notice is left.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_picoseconds(self.queue.now())
    }

    /// Requests [`Notice::Wake`] at `at`, or now if that time has passed. Wake-ups of equal times come in the order of entity
    /// numbers, and those of one entity in the order of its calls.
    ///
    /// # Panics
    ///
    /// If `entity` is 2²⁹ or more.
    pub(crate) fn wake_at(&mut self, at: Instant, entity: u32, token: u64) {
        let key = class::WAKE | self.key(entity);
        self.queue.push(Event { time: at.as_picoseconds(), key, payload: token });
    }

    /// Describes the operation that `entity` posts now; `None` if it fails at once, of which a notice tells.
    /// It starts `late` after the time that its overhead takes.
    pub(crate) fn prepare(
        &mut self,
        rail: Option<u8>,
        entity: u32,
        operation: NetworkOperation,
        token: u64,
        late: Duration,
    ) -> Option<Posted> {
        let now = self.queue.now();
        let (kind, by, from, to, bytes) = parts(operation);
        let nodes = self.nodes();
        if [by, from, to].iter().any(|&node| node >= nodes) {
            self.notices.push_back(Notice::Failed { token, reason: FailureReason::NoSuchNode });
            return None;
        }
        let local = by == from && from == to;
        let shared = self.within(operation);
        let (ends, packets, delay) = match shared {
            Some((busy, _)) => ([NONE; 3], 1, busy),
            None => {
                let (rail, nic) = self.chosen(rail, entity, [by, from, to], bytes);
                let RailNics { first, count, packet_bytes, overhead, .. } = self.rails[usize::from(rail)];
                let packets = match kind {
                    OperationKind::Atomic => 0,
                    _ => bytes.div_ceil(u64::from(packet_bytes)).max(1),
                };
                let Some(packets) = u32::try_from(packets).ok().or(local.then_some(1)) else {
                    self.notices.push_back(Notice::Failed { token, reason: FailureReason::TooLong });
                    return None;
                };
                let place = |node: u32| first + node * count + nic;
                ([by, from, to].map(place), packets, if local { 0 } else { overhead })
            }
        };
        let key = self.key(entity);
        let choice = random::hash(self.seed, class::START | u64::from(entity), key & u64::from(u32::MAX));
        let time = now.saturating_add(delay).saturating_add(late.as_picoseconds());
        let seen = shared.and_then(|(_, visible)| visible).map(|visible| (time.saturating_add(visible), self.key(entity)));
        let [by, from, to] = ends;
        let facts = OperationFacts { token, bytes, by, from, to, packets, salt: choice as u32, via: (choice >> 32) as u32, kind };
        Some(Posted { time, key, facts, seen })
    }

    /// Schedules the start of an operation.
    #[inline]
    pub(crate) fn begin(&mut self, Posted { time, key, facts, seen }: Posted) {
        let transfer = self.transfers.insert(Transfer::new(facts, Phase::Requesting));
        self.attempts.begin(transfer);
        self.begin_later(Beginning { time, key, transfer }, facts.by != NONE);
        if let Some((time, key)) = seen {
            // The initiator completes first; other ranks see the effect later.
            self.queue.push(Event { time, key: class::START | key, payload: u64::from(transfer) });
        }
    }

    /// Schedules the start of a transfer. Of transfers that one entity posts in a row for the same time, only the first is an event; each start
    /// schedules the next one, which happens directly after it. An entity that posts thousands at once thus has one event in the queue.
    #[inline]
    fn begin_later(&mut self, beginning: Beginning, is_alone: bool) {
        let Beginning { time, key, transfer } = beginning;
        let is_next = |last: &Beginning| last.time == time && last.key + 1 == key && time > self.queue.now();
        match self.last_posted.filter(is_next) {
            Some(last) if is_alone => self.transfers[last.transfer].next = transfer,
            _ => self.queue.push(Event { time, key: class::START | key, payload: u64::from(transfer) }),
        }
        self.last_posted = is_alone.then_some(beginning);
    }

    /// Returns how long an operation keeps the core of its initiator busy; zero unless it stays in memory that the ranks of a node share.
    pub(crate) fn busy(&self, operation: NetworkOperation) -> Duration {
        Duration::from_picoseconds(self.within(operation).map_or(0, |(busy, _)| busy))
    }

    /// Returns the time from posting an operation until the NIC gets it; on shared memory, until the core of the
    /// initiator has performed it.
    pub(crate) fn overhead(&self, rail: Option<u8>, entity: u32, operation: NetworkOperation) -> Duration {
        let (_, by, from, to, bytes) = parts(operation);
        let is_within = by == from && from == to;
        match self.within(operation) {
            Some((busy, _)) => Duration::from_picoseconds(busy),
            None if is_within || [by, from, to].iter().any(|&node| node >= self.nodes()) => Duration::ZERO,
            None => {
                let (rail, _) = self.chosen(rail, entity, [by, from, to], bytes);
                Duration::from_picoseconds(self.rails[usize::from(rail)].overhead)
            }
        }
    }

    /// Returns, for an operation on shared memory, how long it keeps the core of its initiator busy, and how much later other ranks see it.
    fn within(&self, operation: NetworkOperation) -> Option<(u64, Option<u64>)> {
        let (kind, by, from, to, bytes) = parts(operation);
        self.shared.as_ref().filter(|_| by == from && from == to).map(|memory| memory.time(kind, bytes))
    }

    /// Advances to the next notice; `None` if no event is left. `soon` gets tokens that notices will probably carry soon.
    #[inline]
    pub(crate) fn next_with(&mut self, mut soon: impl FnMut(u64)) -> Option<Notice> {
        while self.notices.is_empty() {
            let Self { queue, network, nics, transfers, .. } = self;
            let event = queue.pop(|event, distance| fetch((network, nics, transfers), event, distance, &mut soon))?;
            self.happen(event);
        }
        self.notices.pop_front()
    }

    /// Lets the next event happen if it comes before another one of the given time and key; returns whether it did. For a region without a
    /// network, whose events need no prefetching.
    pub(crate) fn step_before(&mut self, limit: (u64, u64)) -> bool {
        let event = self.queue.pop_before(limit, |_, _| {});
        event.into_iter().for_each(|event| self.happen(event));
        event.is_some()
    }

    /// Lets all events before `end` happen, and records their notices.
    pub(crate) fn run(&mut self, end: u64) {
        let mut inbox = std::mem::take(&mut self.inbox);
        for messages in &mut inbox {
            messages.earliest = u64::MAX;
            for (number, room) in messages.room.iter().enumerate() {
                messages.room.get(number + AHEAD).into_iter().for_each(|later| self.network.fetch_lane(later.lane));
                self.network.give_back(&mut self.queue, room);
            }
            messages.room.clear();
            for number in 0..messages.packets.len() {
                messages.packets.get(number + AHEAD).into_iter().for_each(|later| self.network.fetch_lane(later.packet.input()));
                self.take_in(&messages.packets[number]);
            }
            messages.packets.clear();
        }
        self.inbox = inbox;
        let mut posted = std::mem::take(&mut self.posted);
        posted.drain(..).for_each(|posted| self.begin(posted));
        self.posted = posted;
        loop {
            let Self { queue, network, nics, transfers, .. } = self;
            let soon = |event, distance| fetch((network, nics, transfers), event, distance, &mut |_| {});
            let Some(event) = queue.pop_before((end, 0), soon) else { return };
            self.happen(event);
            if !self.notices.is_empty() {
                self.timed_notices.extend(self.notices.iter().map(|&notice| TimedNotice {
                    time: event.time,
                    key: event.key,
                    notice,
                }));
                self.notices.clear();
            }
        }
    }

    /// Returns the time before which nothing happens; `u64::MAX` if nothing is left to happen.
    pub(crate) fn next_time(&mut self) -> u64 {
        let queued = self.queue.next().map_or(u64::MAX, |(time, _)| time);
        // Operations are posted in order of time, but for the overheads of different rails.
        let posted = self.posted.iter().map(|posted| posted.time).min().unwrap_or(u64::MAX);
        self.inbox.iter().map(|messages| messages.earliest).fold(queued.min(posted), u64::min)
    }

    /// Returns the counters since the start. Time and memory are proportional to the number of links.
    pub(crate) fn statistics(&self) -> Statistics {
        let end = |rail: u8, terminal: u32| {
            let count = self.rails[usize::from(rail)].count;
            LinkEnd::Nic { node: terminal / count, nic: terminal % count }
        };
        let links: Vec<Vec<Link>> = self.network.fabrics.iter().map(|fabric| fabric.topology.links()).collect();
        let mut statistics = self.statistics.clone();
        statistics.drops += self.network.drops;
        statistics.marks += self.network.marks;
        statistics.pauses += self.network.pauses();
        statistics.busiest_atomics = self.busiest_atomics().map(|(_, unit)| unit);
        for count in self.network.counts() {
            let fabric = &self.network.fabrics[usize::from(count.network)];
            let (rail, terminals) = (fabric.rail, fabric.terminals);
            let router = |number| LinkEnd::Router(fabric.first_router + number);
            let (from, to) = if count.number < terminals {
                statistics.packets += count.packets;
                (end(rail, count.number), router(count.to))
            } else if count.number < 2 * terminals {
                (router(fabric.topology.router(count.to)), end(rail, count.to))
            } else {
                let link = links[usize::from(count.network)][(count.number - 2 * terminals) as usize];
                if link.is_absent() {
                    continue;
                }
                (router(link.from), router(link.to))
            };
            statistics.packet_hops += count.packets;
            statistics.links.push(LinkStatistics {
                rail,
                from,
                to,
                bytes: count.bytes,
                busy: Duration::from_picoseconds(count.busy),
                queue_max: count.waiting_max,
            });
        }
        statistics
    }

    /// Returns the NIC whose atomic unit was busy longest, the first among equals, with its counters.
    pub(crate) fn busiest_atomics(&self) -> Option<(u32, AtomicStatistics)> {
        let of = |nic: u32| {
            let (node, count) = (self.node_of(nic), self.nics[nic as usize].atomics);
            let busy = Duration::from_picoseconds(self.rail(nic).atomic().as_picoseconds() * count);
            (nic, AtomicStatistics { node, count, busy })
        };
        let working = (0..self.nics.len() as u32).map(of).filter(|(_, unit)| unit.count > 0);
        working.reduce(|most, unit| if (unit.1.busy, unit.1.count) > (most.1.busy, most.1.count) { unit } else { most })
    }

    /// Returns the next event key of an entity.
    pub(super) fn key(&mut self, entity: u32) -> u64 {
        assert!(entity < ENTITIES_MAX, "entity {entity}: must be less than {ENTITIES_MAX}");
        let index = entity as usize;
        if index >= self.sequences.len() {
            self.sequences.resize(index + 1, 0);
        }
        let sequence = self.sequences[index];
        self.sequences[index] = sequence.wrapping_add(1);
        u64::from(entity) << 32 | u64::from(sequence)
    }

    /// Whether a rail connects two nodes.
    pub(crate) fn rail_connects(&self, rail: u8, from: u32, to: u32) -> bool {
        self.rails.get(usize::from(rail)).is_some_and(|rail| rail.joins([from, from, to]))
    }

    /// Returns the rail that the machine chooses for an operation of `entity` of `bytes` bytes between two nodes.
    pub(crate) fn chosen_rail(&self, entity: u32, from: u32, to: u32, bytes: u64) -> u8 {
        self.chosen(None, entity, [from, from, to], bytes).0
    }

    /// Returns the rail that performs an operation, and the number of the NIC within its node.
    fn chosen(&self, wanted: Option<u8>, entity: u32, ends: [u32; 3], bytes: u64) -> (u8, u32) {
        let leading = || (0..).zip(&self.rails).filter(|(_, rail)| rail.joins(ends));
        let of = |(number, rail): (u8, &RailNics)| (number, entity % rail.count);
        if let Some(found) = leading().find(|(number, _)| wanted == Some(*number)) {
            return of(found);
        }
        match self.choice {
            NicChoice::First => leading().next().map_or((0, 0), of),
            NicChoice::Size => {
                let fits = |rail: &RailNics| rail.operation_bytes_max.is_none_or(|most| bytes <= most);
                leading().find(|(_, rail)| fits(rail)).or_else(|| leading().last()).map_or((0, 0), of)
            }
            NicChoice::Entity => {
                let all: u32 = leading().map(|(_, rail)| rail.count).sum();
                let mut nic = entity % all.max(1);
                for (number, rail) in leading() {
                    if nic < rail.count {
                        return (number, nic);
                    }
                    nic -= rail.count;
                }
                (0, 0)
            }
        }
    }

    fn happen(&mut self, event: Event) {
        let index = event.payload as u32;
        self.statistics.events += 1;
        match event.key & class::MASK {
            class::WAKE => self.notices.push_back(Notice::Wake { token: event.payload }),
            class::START => {
                self.begin_next(event);
                self.start(index);
            }
            class::LINK => {
                if !self.network.wake(&mut self.queue, index) {
                    // How often a link that cannot send is looked at depends on the division into regions.
                    self.statistics.events -= 1;
                }
            }
            class::READY => self.network.ready(&mut self.queue, event),
            class::DOMAIN => self.perform_in_domain(event.payload),
            _ => self.perform(event.payload),
        }
        while let Some(outcome) = self.network.outcomes.pop_front() {
            match outcome {
                PacketOutcome::Left { packet, terminal } => self.left(packet, terminal),
                PacketOutcome::Arrives { packet, tail } => self.arrives(packet, tail),
                PacketOutcome::Lost(packet) => self.lost(packet),
                PacketOutcome::Congests(packet) => self.congests(packet),
                PacketOutcome::Crosses { packet, head, time } => self.cross(packet, head, time),
            }
        }
    }

    /// Schedules the transfer that was chained to the one that starts now.
    #[inline]
    fn begin_next(&mut self, Event { time, key, payload }: Event) {
        let next = std::mem::replace(&mut self.transfers[payload as u32].next, NONE);
        if next != NONE {
            self.queue.push(Event { time, key: key + 1, payload: u64::from(next) });
        }
    }

    /// Starts an operation at its NIC, or ends an operation that needs no NIC.
    fn start(&mut self, index: u32) {
        let transfer = &self.transfers[index];
        if transfer.by == NONE {
            return self.done_within(index);
        }
        if domain::is_port(transfer.by) {
            return self.start_in_domain(index);
        }
        if transfer.by == transfer.from && transfer.from == transfer.to {
            let by = transfer.by;
            let (now, bytes, node) = (self.queue.now(), transfer.bytes, self.node_of(by));
            let done = self.copy.copy(&mut self.nodes[node as usize].copy_free, now, bytes);
            return self.at_of(class::COPY, by, done, task::COPIED, index);
        }
        match transfer.kind {
            OperationKind::Put | OperationKind::Datagram => self.send(index),
            OperationKind::Get | OperationKind::Atomic | OperationKind::Copy => self.request(index),
        }
    }

    /// The core of the initiator has performed an operation on memory of its node, or its effect has become visible to other ranks.
    fn done_within(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        let Transfer { token, bytes, kind, phase, .. } = *transfer;
        if phase == Phase::Requesting && !matches!(kind, OperationKind::Atomic | OperationKind::Get) {
            transfer.phase = Phase::Returning;
            self.notices.extend([Notice::Read { token }, Notice::Done { token }]);
        } else if phase == Phase::Returning {
            self.statistics.bytes += bytes;
            self.notices.push_back(Notice::Effect { token });
            self.transfers.remove(index);
        } else {
            self.copied(index);
        }
    }

    /// Copies the bytes of an operation within the node of a NIC, for another node; returns the time at which the copy ends.
    pub(crate) fn copy_for_another(&mut self, nic: u32, index: u32) -> u64 {
        if self.copies.len() < self.nics.len() {
            self.copies.resize(self.nics.len(), 0);
        }
        self.copy.copy(&mut self.copies[nic as usize], self.queue.now(), self.transfers[index].bytes)
    }

    /// Bytes were copied within a node.
    pub(crate) fn copied(&mut self, index: u32) {
        let transfer = &self.transfers[index];
        let (token, bytes, kind) = (transfer.token, transfer.bytes, transfer.kind);
        if kind != OperationKind::Atomic {
            self.notices.push_back(Notice::Read { token });
        }
        self.statistics.bytes += bytes;
        self.notices.extend([Notice::Effect { token }, Notice::Done { token }]);
        self.transfers.remove(index);
    }

    pub(crate) fn node_of(&self, nic: u32) -> u32 {
        let Nic { rail, terminal, .. } = self.nics[nic as usize];
        terminal / self.rails[usize::from(rail)].count
    }

    /// Schedules a task of a NIC.
    pub(crate) fn at(&mut self, nic: u32, time: u64, task: u64, index: u32) {
        self.at_of(class::NIC, nic, time, task, index);
    }

    fn at_of(&mut self, class: u64, nic: u32, time: u64, task: u64, index: u32) {
        let state = &mut self.nics[nic as usize];
        let key = class | u64::from(nic) << 32 | u64::from(state.sequence);
        state.sequence = state.sequence.wrapping_add(1);
        self.queue.push(Event { time, key, payload: task << 56 | u64::from(index) });
    }
}

/// Prefetches the records that an upcoming event needs, so that they are in the cache when the event happens.
#[inline]
fn fetch(
    (network, nics, transfers): (&Network, &[Nic], &Pool<Transfer>),
    event: Event,
    distance: Distance,
    soon: &mut impl FnMut(u64),
) {
    match event.key & class::MASK {
        class::LINK => network.fetch_line(event, distance),
        class::READY => network.fetch(event, distance),
        class::START if distance == Distance::Far => prefetch(&transfers[event.payload as u32]),
        class::NIC => {
            let (task, index) = (event.payload >> 56, event.payload as u32);
            if matches!(task, task::READ | task::ARRIVED | task::WRITTEN) {
                let packet = &network.packets[index];
                let nic = &nics[((event.key & !class::MASK) >> 32) as usize];
                match distance {
                    Distance::Far => {
                        prefetch(packet);
                        prefetch(nic);
                    }
                    Distance::Middle => prefetch(&transfers[packet.part.transfer]),
                    // After this packet, the NIC reads one of the next transfer.
                    Distance::Near if task == task::READ => {
                        nic.sending.first().into_iter().for_each(|next| prefetch(&transfers[next]));
                    }
                    Distance::Near => soon(transfers[packet.part.transfer].token),
                }
            }
        }
        _ => {}
    }
}

/// The source and destination NIC of a flow, and its class.
pub(crate) type FlowKey = (u32, u32, u8);

/// An operation that is posted and has not started.
#[derive(Clone, Copy)]
pub(crate) struct Posted {
    pub(crate) time: u64,
    /// The key of its event, without the class.
    pub(super) key: u64,
    pub(crate) facts: OperationFacts,
    /// When other ranks see its effect, and the key of that event, if the core of the initiator performs it.
    pub(super) seen: Option<(u64, u64)>,
}

impl Posted {
    /// Whether packets carry it.
    #[inline]
    pub(crate) fn needs_network(&self) -> bool {
        let OperationFacts { by, from, to, .. } = self.facts;
        by != from || from != to
    }
}

/// A notice, and the time and key of the event that caused it.
pub(crate) struct TimedNotice {
    pub(crate) time: u64,
    pub(crate) key: u64,
    pub(crate) notice: Notice,
}

/// The scheduled start of a transfer.
#[derive(Clone, Copy)]
struct Beginning {
    time: u64,
    /// The key of its event, without the class.
    key: u64,
    transfer: u32,
}

/// Returns the kind of an operation, its initiator, source and destination nodes, and the number of bytes that it moves.
pub(super) fn parts(operation: NetworkOperation) -> (OperationKind, u32, u32, u32, u64) {
    match operation {
        NetworkOperation::Put { from, to, bytes } => (OperationKind::Put, from, from, to, bytes),
        NetworkOperation::Get { by, at, bytes } => (OperationKind::Get, by, at, by, bytes),
        NetworkOperation::Atomic { by, at } => (OperationKind::Atomic, by, at, by, ATOMIC_BYTES),
        NetworkOperation::Copy { by, from, to, bytes } if by == from => (OperationKind::Put, by, from, to, bytes),
        NetworkOperation::Copy { by, from, to, bytes } if by == to => (OperationKind::Get, by, from, to, bytes),
        NetworkOperation::Copy { by, from, to, bytes } => (OperationKind::Copy, by, from, to, bytes),
        NetworkOperation::Datagram { from, to, bytes } => (OperationKind::Datagram, from, from, to, bytes),
    }
}
