//! What a machine is made of, as its description says.

use pelago_base::Duration;
use serde::Deserialize;

use crate::network::ENTITIES_MAX;
use crate::rate::Rate;
use crate::topology::{DragonflySpec, FatTreeSpec, GraphSpec, MeshSpec, RingSpec, TorusSpec};

/// The descriptions that come with the simulator, by name.
const BUNDLED: [(&str, &str); 11] = [
    ("dimmnet1", include_str!("../machines/dimmnet1.toml")),
    ("dragonfly-slingshot", include_str!("../machines/dragonfly-slingshot.toml")),
    ("fast-ethernet", include_str!("../machines/fast-ethernet.toml")),
    ("fat-tree-ndr", include_str!("../machines/fat-tree-ndr.toml")),
    ("gigabit-ethernet", include_str!("../machines/gigabit-ethernet.toml")),
    ("ha-pacs-host", include_str!("../machines/ha-pacs-host.toml")),
    ("ha-pacs-tca", include_str!("../machines/ha-pacs-tca.toml")),
    ("laptop", include_str!("../machines/laptop.toml")),
    ("rx200-qdr", include_str!("../machines/rx200-qdr.toml")),
    ("tofu2", include_str!("../machines/tofu2.toml")),
    ("torus-tofud", include_str!("../machines/torus-tofud.toml")),
];

/// NICs of a node at most, all rails together.
const NICS_MAX: u32 = 64;
/// Virtual channels of a link at most.
const VCS_MAX: u8 = 16;
/// Sizes for which the time of a put or get is told, at most.
const SIZES_MAX: usize = 64;
/// Bytes of one packet at most, header included.
const PACKET_BYTES_MAX: u32 = 1 << 20;
/// Nanoseconds that any single delay may last: an hour.
const DELAY_NS_MAX: f64 = 3.6e12;

/// Why a description makes no machine, or not one of that size. One line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(String);

impl MachineError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }

    pub(crate) fn too_many(nodes: u32) -> Self {
        Self(format!("nodes = {nodes}: too many NICs or links, at most {ENTITIES_MAX}"))
    }

    fn value(key: &str, value: impl std::fmt::Display, allowed: &str) -> Self {
        Self(format!("{key} = {value}: must be {allowed}"))
    }
}

/// A machine, as its description says: what a node does on its own, and one or more rails, each of which is a network with NICs
/// of every node on it. A single node whose ranks share memory needs none.
///
/// Times are in nanoseconds, rates in 10⁹ bytes per second, `inf` where nothing limits. Rates are rounded to whole bytes per
/// second, times to whole picoseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) about: String,
    #[serde(default)]
    pub(crate) node: NodeSpec,
    #[serde(default)]
    pub(crate) choice: Choice,
    #[serde(rename = "rail", default)]
    pub(crate) rails: Vec<RailSpec>,
}

/// Which NIC performs an operation whose poster names no rail; always of a rail that leads to all nodes that take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Choice {
    /// That of the entity's number, modulo how many there are.
    #[default]
    Entity,
    /// One of the first rail whose `operation_bytes_max` is not exceeded; among its NICs as above.
    Size,
    /// One of the first rail; among its NICs as above.
    First,
}

/// A rail as its user may know it beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct RailInfo {
    /// What the description calls it; else `rail` and its number.
    pub name: String,
    /// From posting a put of one packet until its bytes are at a neighbour, where nothing else moves: less what its bytes take.
    pub latency: Duration,
    /// What the slowest of NIC and links moves.
    pub bytes_per_second: f64,
}

/// What happens within a node: an engine of the node copies, one operation after another, unless ranks share memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NodeSpec {
    pub(crate) copy_ns: f64,
    pub(crate) copy_gb_per_s: f64,
    /// How long the core of a rank takes to gather blocks into one piece or scatter it, beside what its bytes take.
    pub(crate) gather_ns: f64,
    pub(crate) gather_gb_per_s: f64,
    pub(crate) shared: Option<SharedSpec>,
    pub(crate) software: Software,
}

impl Default for NodeSpec {
    fn default() -> Self {
        let inf = f64::INFINITY;
        Self {
            copy_ns: 0.0,
            copy_gb_per_s: inf,
            gather_ns: 0.0,
            gather_gb_per_s: inf,
            shared: None,
            software: Software::default(),
        }
    }
}

/// What a communication library does with the cores of a node, before a NIC hears of an operation and after it has ended. Times are in
/// nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Software {
    /// Who hands operations to the NIC.
    pub way: Way,
    /// Whether several threads may ask for operations, so that each call takes a lock.
    pub threads: Threads,
    /// Whether what a NIC is told of an operation has to be made for each.
    pub descriptors: Descriptors,
    /// Who performs an atomic.
    pub atomics: Atomics,
    /// Whether the progress thread that serves other ranks is the one that hands operations to the NIC.
    pub serving: Serving,
    /// A call that asks for an operation and one that waits for it, besides all that follows.
    pub call_ns: f64,
    /// The locks of both calls.
    pub lock_ns: f64,
    /// From the queue to the progress thread.
    pub queue_ns: f64,
    /// From the end of an operation by way of the progress thread until its rank knows.
    pub notify_ns: f64,
    /// To make what the NIC is told.
    pub descriptor_ns: f64,
    /// A progress thread's work for an operation of another rank.
    pub serve_ns: f64,
}

/// Who hands operations to the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Nobody: the NIC knows of them when they are asked for, and their ranks of their end, as if the library took no time.
    #[default]
    Free,
    /// The rank that asks.
    Direct,
    /// A progress thread, a thread beside the rank, by a queue.
    ProgressThread,
    /// The rank itself as long as nothing else of it is under way, else the progress thread; the progress thread learns of the end.
    Bypass,
}

/// How many threads may ask for operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// One, without a lock.
    #[default]
    One,
    /// Several.
    Many,
}

/// What a NIC is told of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Descriptors {
    /// Is there before.
    #[default]
    Prepared,
    /// Is made for each.
    Built,
}

/// Who performs an atomic on a word of another rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Atomics {
    /// The NIC of that rank.
    #[default]
    Nic,
    /// The progress thread of that rank, which is asked by a put and answers by one.
    ProgressThread,
}

/// Who serves other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// The progress thread that hands operations to the NIC, one after another.
    #[default]
    Together,
    /// A progress thread of its own.
    Apart,
}

/// Memory that the ranks of a node share: the core of whoever asks does the operation itself, and is busy with it meanwhile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSpec {
    /// From the end of a put until its target, which looks for it, has seen it.
    pub(crate) visible_ns: f64,
    /// How long an atomic takes whoever asks.
    pub(crate) atomic_ns: f64,
    /// How long puts and gets of so many bytes take whoever asks: pairs of bytes and nanoseconds, by bytes.
    pub(crate) put: Vec<(u64, f64)>,
    pub(crate) get: Vec<(u64, f64)>,
    /// How much longer a put takes for each page that nobody has used before.
    #[serde(default)]
    pub(crate) page_ns: f64,
}

/// A network, and the NICs of each node on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RailSpec {
    /// What programs call it.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// How many nodes, in their order, form a group; it leads nowhere beyond. All of them if absent.
    #[serde(default)]
    pub(crate) group: Option<u32>,
    /// NICs of each node on this network.
    #[serde(default = "one")]
    pub(crate) count: u32,
    pub(crate) kind: Kind,
    /// Where `choice = "size"`: the largest operation for this rail.
    #[serde(default)]
    pub(crate) operation_bytes_max: Option<u64>,
    pub(crate) nic: NicSpec,
    #[serde(default)]
    pub(crate) receive: ReceiveSpec,
    #[serde(default)]
    pub(crate) reliability: ReliabilitySpec,
    pub(crate) link: LinkSpec,
    /// Links between NICs and routers, where they differ from those between routers.
    #[serde(default)]
    pub(crate) host_link: Option<LinkSpec>,
    pub(crate) router: RouterSpec,
    pub(crate) topology: TopologySpec,
}

/// What the network and the NIC do when they have no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Links wait for credits. A datagram that finds no receive slot is tried again, and fails after so many times.
    InfinibandRc,
    /// Links wait for credits. A datagram that finds no receive slot is lost.
    InfinibandUd,
    /// Links wait for credits. A datagram that finds no receive slot stays in the buffers of the network.
    Tofu,
    /// A packet that finds a buffer full is lost, and so is a datagram that finds no receive slot.
    Ethernet,
}

/// A NIC.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NicSpec {
    /// From posting an operation until the NIC knows of it.
    pub(crate) overhead_ns: f64,
    /// The least time between the beginnings of two operations.
    #[serde(default)]
    pub(crate) gap_ns: f64,
    pub(crate) read_gb_per_s: f64,
    pub(crate) write_gb_per_s: f64,
    /// How long the atomic unit works on one.
    #[serde(default)]
    pub(crate) atomic_ns: f64,
    /// Payload of a packet at most.
    pub(crate) packet_bytes: u32,
    pub(crate) header_bytes: u32,
    pub(crate) control_bytes: u32,
    /// Packets read from memory that wait for the link, at most.
    #[serde(default = "transmit_packets")]
    pub(crate) transmit_packets: u32,
    /// Room for packets that wait to be written to memory, per virtual channel.
    #[serde(default = "receive_bytes")]
    pub(crate) receive_bytes: u32,
    #[serde(default)]
    pub(crate) order: Order,
    /// What a transfer waits for before its first packet is read, one after another: a copy to where the NIC reads well, a protocol's
    /// preparations. By size: bytes, nanoseconds, and 10⁹ bytes per second; the first whose bytes are not exceeded, else the last.
    #[serde(default)]
    pub(crate) stages: Vec<(u64, f64, f64)>,
    /// How long the memory of the NIC is switched over to its host, before what has come to it is there.
    #[serde(default)]
    pub(crate) bank_ns: f64,
    /// Packets of a message that one switching is for, at most.
    #[serde(default = "one")]
    pub(crate) bank_packets: u32,
}

/// Whose packet a NIC sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// The operation that came first, until it is sent.
    #[default]
    Fifo,
    /// One packet of each operation in turn.
    RoundRobin,
}

/// Where datagrams go.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReceiveSpec {
    /// Datagrams that have arrived and are not consumed, at most; no limit if absent.
    pub(crate) slots: Option<u32>,
    /// How long the host takes to consume one. If absent, the user says when.
    pub(crate) service_ns: Option<f64>,
}

/// How often and how long a NIC tries.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReliabilitySpec {
    pub(crate) timeout_ns: f64,
    pub(crate) retries: u8,
    pub(crate) not_ready_ns: f64,
    pub(crate) not_ready_retries: u8,
}

impl Default for ReliabilitySpec {
    fn default() -> Self {
        Self { timeout_ns: 1e6, retries: 7, not_ready_ns: 1e5, not_ready_retries: 7 }
    }
}

/// A link, each way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSpec {
    pub(crate) gb_per_s: f64,
    pub(crate) cable_ns: f64,
    /// How likely a packet is lost on it.
    #[serde(default)]
    pub(crate) loss: f64,
}

/// A router.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouterSpec {
    pub(crate) routing_ns: f64,
    pub(crate) vc_allocation_ns: f64,
    pub(crate) switch_allocation_ns: f64,
    /// Through the switch, from the allocation to the cable.
    pub(crate) switch_ns: f64,
    /// From the departure of a packet until the sender may know of the room, less the cable.
    #[serde(default)]
    pub(crate) credit_ns: f64,
    #[serde(default = "one_vc")]
    pub(crate) vcs: u8,
    /// Room for packets, per link and virtual channel: at the input; at the output of a router of kind `ethernet`.
    pub(crate) buffer_bytes: u32,
    #[serde(default)]
    pub(crate) switching: Switching,
}

/// When a router sends a packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Switching {
    /// Once its head has come.
    #[default]
    CutThrough,
    /// Once all of it has come.
    StoreAndForward,
}

/// How routers are connected.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum TopologySpec {
    /// One router.
    Star {},
    FatTree(FatTreeSpec),
    Torus(TorusSpec),
    Mesh(MeshSpec),
    /// A torus of one dimension.
    Ring(RingSpec),
    /// Two rings, with a link between each two routers of one place.
    DoubleRing(RingSpec),
    Dragonfly(DragonflySpec),
    /// Any form.
    Graph(GraphSpec),
}

fn one() -> u32 {
    1
}

fn one_vc() -> u8 {
    1
}

fn transmit_packets() -> u32 {
    4
}

fn receive_bytes() -> u32 {
    1 << 16
}

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// One line that names the key, the value, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            MachineError(format!("line {line}: {}", error.message().replace('\n', " ")))
        })?;
        machine.check()?;
        Ok(machine)
    }

    /// The text of a description that comes with the simulator.
    pub fn bundled(name: &str) -> Option<&'static str> {
        BUNDLED.iter().find(|(bundled, _)| *bundled == name).map(|(_, text)| *text)
    }

    /// The names that [`bundled`](Self::bundled) knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|(name, _)| *name)
    }

    /// What the machine calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line on what it describes; may be empty.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// How long after its end a put to memory that the ranks of a node share is seen; `None` if they share none.
    pub fn visible(&self) -> Option<Duration> {
        self.node.shared.as_ref().map(|shared| Duration::from_picoseconds(picoseconds(shared.visible_ns)))
    }

    /// How long the core of a rank takes to gather so many bytes into one piece, or to scatter them.
    pub fn gather(&self, bytes: u64) -> Duration {
        let time = bytes_per_second(self.node.gather_gb_per_s).time(bytes);
        Duration::from_picoseconds(picoseconds(self.node.gather_ns).saturating_add(time))
    }

    /// Its rails, by their numbers.
    pub fn rails(&self) -> impl Iterator<Item = RailInfo> {
        self.rails.iter().enumerate().map(|(number, rail)| {
            let (nic, router, host) = (&rail.nic, &rail.router, rail.host_link());
            let pipeline = router.routing_ns + router.vc_allocation_ns + router.switch_allocation_ns + router.switch_ns;
            RailInfo {
                name: rail.name.clone().unwrap_or_else(|| format!("rail{number}")),
                latency: Duration::from_picoseconds(picoseconds(nic.overhead_ns + 2.0 * host.cable_ns + pipeline)),
                bytes_per_second: nic.read_gb_per_s.min(nic.write_gb_per_s).min(host.gb_per_s).min(rail.link.gb_per_s) * 1e9,
            }
        })
    }

    /// What the library does with the cores of a node.
    pub fn software(&self) -> &Software {
        &self.node.software
    }

    /// How much longer a put to memory that the ranks of a node share takes for each page that nobody has used before.
    pub fn page(&self) -> Duration {
        Duration::from_picoseconds(self.node.shared.as_ref().map_or(0, |shared| picoseconds(shared.page_ns)))
    }

    fn check(&self) -> Result<(), MachineError> {
        delay("node.copy_ns", self.node.copy_ns)?;
        rate("node.copy_gb_per_s", self.node.copy_gb_per_s)?;
        delay("node.gather_ns", self.node.gather_ns)?;
        rate("node.gather_gb_per_s", self.node.gather_gb_per_s)?;
        self.node.shared.iter().try_for_each(SharedSpec::check)?;
        self.node.software.check()?;
        if self.rails.is_empty() && self.node.shared.is_none() {
            return Err(MachineError("rail: there must be at least one [[rail]], or [node.shared] for a single node".into()));
        }
        let nics = self.rails.iter().try_fold(0u32, |sum, rail| sum.checked_add(rail.count));
        if self.rails.iter().any(|rail| rail.count == 0) || nics.is_none_or(|nics| nics > NICS_MAX) {
            let counts: Vec<u32> = self.rails.iter().map(|rail| rail.count).collect();
            return Err(MachineError(format!("rail.count = {counts:?}: each must be at least 1, their sum at most {NICS_MAX}")));
        }
        if !self.rails.is_empty() && self.rails.iter().all(|rail| rail.group.is_some()) {
            return Err(MachineError("rail.group: one rail at least must lead to all nodes, so have no group".into()));
        }
        self.rails.iter().enumerate().try_for_each(|(number, rail)| {
            rail.check().map_err(|MachineError(message)| match self.rails.len() {
                1 => MachineError(format!("rail.{message}")),
                _ => MachineError(format!("rail {number}: {message}")),
            })
        })
    }
}

impl Software {
    fn check(&self) -> Result<(), MachineError> {
        for (key, nanoseconds) in [
            ("call_ns", self.call_ns),
            ("lock_ns", self.lock_ns),
            ("queue_ns", self.queue_ns),
            ("notify_ns", self.notify_ns),
            ("descriptor_ns", self.descriptor_ns),
            ("serve_ns", self.serve_ns),
        ] {
            delay(&format!("node.software.{key}"), nanoseconds)?;
        }
        Ok(())
    }
}

impl SharedSpec {
    fn check(&self) -> Result<(), MachineError> {
        delay("node.shared.visible_ns", self.visible_ns)?;
        delay("node.shared.atomic_ns", self.atomic_ns)?;
        delay("node.shared.page_ns", self.page_ns)?;
        for (key, times) in [("node.shared.put", &self.put), ("node.shared.get", &self.get)] {
            if times.is_empty()
                || times.len() > SIZES_MAX
                || times[0].0 == 0
                || times.windows(2).any(|pair| pair[0].0 >= pair[1].0)
            {
                let count = times.len();
                return Err(MachineError::value(
                    key,
                    format!("{count} pairs"),
                    &format!(
                        "1 to {SIZES_MAX} of [bytes, nanoseconds], each of more bytes than the one before, the first of some"
                    ),
                ));
            }
            times.iter().try_for_each(|&(_, nanoseconds)| delay(key, nanoseconds))?;
        }
        Ok(())
    }
}

impl RailSpec {
    fn check(&self) -> Result<(), MachineError> {
        let nic = &self.nic;
        if let Some(group) = self.group {
            range("group", group, 1, u32::MAX)?;
        }
        delay("nic.overhead_ns", nic.overhead_ns)?;
        delay("nic.gap_ns", nic.gap_ns)?;
        delay("nic.atomic_ns", nic.atomic_ns)?;
        delay("nic.bank_ns", nic.bank_ns)?;
        range("nic.bank_packets", nic.bank_packets, 1, 1 << 16)?;
        rate("nic.read_gb_per_s", nic.read_gb_per_s)?;
        rate("nic.write_gb_per_s", nic.write_gb_per_s)?;
        range("nic.packet_bytes", nic.packet_bytes, 1, PACKET_BYTES_MAX)?;
        range("nic.header_bytes", nic.header_bytes, 0, PACKET_BYTES_MAX - nic.packet_bytes)?;
        range("nic.control_bytes", nic.control_bytes, 1, PACKET_BYTES_MAX)?;
        range("nic.transmit_packets", nic.transmit_packets, 1, 1 << 16)?;
        let packet = self.packet_bytes_max();
        range("nic.receive_bytes", nic.receive_bytes, packet, 1 << 30)?;
        let stages = &nic.stages;
        if stages.len() > SIZES_MAX || stages.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            let allowed = format!("at most {SIZES_MAX}, each of more bytes than the one before");
            return Err(MachineError::value("nic.stages", format!("{} entries", stages.len()), &allowed));
        }
        for &(_, nanoseconds, gigabytes_per_second) in stages {
            delay("nic.stages", nanoseconds)?;
            rate("nic.stages", gigabytes_per_second)?;
        }
        if let Some(slots) = self.receive.slots {
            range("receive.slots", slots, 1, 1 << 30)?;
        }
        if let Some(service) = self.receive.service_ns {
            delay("receive.service_ns", service)?;
        }
        delay("reliability.timeout_ns", self.reliability.timeout_ns)?;
        if self.reliability.timeout_ns < 1.0 {
            return Err(MachineError::value("reliability.timeout_ns", self.reliability.timeout_ns, "at least 1"));
        }
        delay("reliability.not_ready_ns", self.reliability.not_ready_ns)?;
        self.link.check("link")?;
        self.host_link.iter().try_for_each(|link| link.check("host_link"))?;
        if self.kind == Kind::Tofu && self.lossy() {
            return Err(MachineError(
                "link.loss: must be 0 where kind = \"tofu\", whose links repeat what is lost themselves".into(),
            ));
        }
        let router = &self.router;
        delay("router.routing_ns", router.routing_ns)?;
        delay("router.vc_allocation_ns", router.vc_allocation_ns)?;
        delay("router.switch_allocation_ns", router.switch_allocation_ns)?;
        delay("router.switch_ns", router.switch_ns)?;
        delay("router.credit_ns", router.credit_ns)?;
        range("router.vcs", u32::from(router.vcs), 1, u32::from(VCS_MAX))?;
        range("router.buffer_bytes", router.buffer_bytes, packet, 1 << 30)
    }

    /// The largest packet on the wire.
    pub(crate) fn packet_bytes_max(&self) -> u32 {
        (self.nic.packet_bytes + self.nic.header_bytes).max(self.nic.control_bytes)
    }

    /// Whether a packet can be lost in the network.
    pub(crate) fn lossy(&self) -> bool {
        self.kind == Kind::Ethernet || self.link.loss > 0.0 || self.host_link().loss > 0.0
    }

    pub(crate) fn host_link(&self) -> &LinkSpec {
        self.host_link.as_ref().unwrap_or(&self.link)
    }
}

impl LinkSpec {
    fn check(&self, which: &str) -> Result<(), MachineError> {
        rate(&format!("{which}.gb_per_s"), self.gb_per_s)?;
        delay(&format!("{which}.cable_ns"), self.cable_ns)?;
        if !(0.0..1.0).contains(&self.loss) {
            return Err(MachineError::value(&format!("{which}.loss"), self.loss, "a probability, from 0 to less than 1"));
        }
        Ok(())
    }
}

fn delay(key: &str, nanoseconds: f64) -> Result<(), MachineError> {
    if (0.0..=DELAY_NS_MAX).contains(&nanoseconds) {
        return Ok(());
    }
    Err(MachineError::value(key, nanoseconds, &format!("nanoseconds, from 0 to {DELAY_NS_MAX:e}")))
}

fn rate(key: &str, gigabytes_per_second: f64) -> Result<(), MachineError> {
    if gigabytes_per_second == f64::INFINITY || (1e-6..=1e6).contains(&gigabytes_per_second) {
        return Ok(());
    }
    Err(MachineError::value(key, gigabytes_per_second, "gigabytes per second, from 1e-6 to 1e6, or inf"))
}

fn range(key: &str, value: u32, least: u32, most: u32) -> Result<(), MachineError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(MachineError::value(key, value, &format!("from {least} to {most}")))
}

/// A checked delay in picoseconds.
pub(crate) fn picoseconds(nanoseconds: f64) -> u64 {
    (nanoseconds * 1e3).round() as u64
}

/// A checked rate.
pub(crate) fn bytes_per_second(gigabytes_per_second: f64) -> Rate {
    if gigabytes_per_second == f64::INFINITY {
        return Rate::INFINITE;
    }
    Rate::bytes_per_second((gigabytes_per_second * 1e9).round() as u64)
}
