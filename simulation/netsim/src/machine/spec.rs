//! The tables of a description that describe hardware.

use serde::Deserialize;

use super::datagrams::Datagrams;
use super::domain::DomainSpec;
use super::noise::Noise;
use super::picoseconds;
use super::reduction::ReductionSpec;
use super::software::Software;
use super::topologies::TopologySpec;

/// Maximum number of routers that write into a packet: the telemetry counts them in four bits.
pub(crate) const HOPS_MAX: u32 = 15;

/// The choice of the NIC for an operation that names no rail; always a NIC of a rail that connects all nodes that take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NicChoice {
    /// By the entity's number modulo the number of NICs.
    #[default]
    Entity,
    /// A NIC of the first rail whose `operation_bytes_max` is not exceeded; among its NICs as above.
    Size,
    /// A NIC of the first rail; among its NICs as above.
    First,
}

/// The properties of a node. Unless ranks share memory, a copy engine of the node performs intra-node operations, one after another.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NodeSpec {
    pub(crate) copy_ns: f64,
    pub(crate) copy_gb_per_s: f64,
    /// Time that the core of a rank takes to gather blocks into one or to scatter it, besides the time of its bytes.
    pub(crate) gather_ns: f64,
    pub(crate) gather_gb_per_s: f64,
    /// Number of cores of a node, if a node may have more ranks than cores.
    pub(crate) cores: Option<u32>,
    /// Time from one rank's yielding a core until another runs on it.
    pub(crate) switch_ns: f64,
    pub(crate) shared: Option<SharedSpec>,
    pub(crate) domain: Option<DomainSpec>,
    pub(crate) software: Software,
    pub(crate) datagrams: Option<Datagrams>,
    /// Interruptions of cores by the operating system.
    pub(crate) noise: Option<Noise>,
}

impl Default for NodeSpec {
    fn default() -> Self {
        let inf = f64::INFINITY;
        Self {
            copy_ns: 0.0,
            copy_gb_per_s: inf,
            gather_ns: 0.0,
            gather_gb_per_s: inf,
            cores: None,
            switch_ns: 0.0,
            shared: None,
            domain: None,
            software: Software::default(),
            datagrams: None,
            noise: None,
        }
    }
}

/// Memory that the ranks of a node share: the core of the initiator performs each operation and is busy meanwhile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSpec {
    /// Time from the end of a put until a polling target has seen it.
    pub(crate) visible_ns: f64,
    /// Time that an atomic takes at the initiator.
    pub(crate) atomic_ns: f64,
    /// Times that puts and gets take at the initiator: pairs of bytes and nanoseconds, in order of bytes.
    pub(crate) put: Vec<(u64, f64)>,
    pub(crate) get: Vec<(u64, f64)>,
    /// Additional time of a put for each page on its first use.
    #[serde(default)]
    pub(crate) page_ns: f64,
}

/// A network, and the NICs of each node on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RailSpec {
    /// Its name for programs.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Number of consecutive nodes that form a group; the rail connects only nodes of one group. All nodes if absent.
    #[serde(default)]
    pub(crate) group: Option<u32>,
    /// Number of NICs of each node on this network.
    #[serde(default = "one")]
    pub(crate) count: u32,
    /// Number of planes: equal networks without links between them, each with a port of every NIC.
    #[serde(default = "one")]
    pub(crate) planes: u32,
    pub(crate) kind: RailKind,
    /// The largest operation for this rail, if `choice = "size"`.
    #[serde(default)]
    pub(crate) operation_bytes_max: Option<u64>,
    pub(crate) nic: NicSpec,
    #[serde(default)]
    pub(crate) receive: ReceiveSpec,
    #[serde(default)]
    pub(crate) reliability: ReliabilitySpec,
    pub(crate) link: LinkSpec,
    /// Links between NICs and routers, if they differ from those between routers.
    #[serde(default)]
    pub(crate) host_link: Option<LinkSpec>,
    pub(crate) router: RouterSpec,
    pub(crate) topology: TopologySpec,
    #[serde(default)]
    pub(crate) congestion: Option<CongestionSpec>,
    #[serde(default)]
    pub(crate) reduction: Option<ReductionSpec>,
    /// Traffic classes, each with its own buffers; the first whose rule fits a packet has it.
    #[serde(default)]
    pub(crate) class: Vec<ClassSpec>,
    /// Links and routers that fail during operation.
    #[serde(default)]
    pub(crate) failure: Vec<FailureSpec>,
}

/// A traffic class: which packets belong to it, and its share where several classes wait.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassSpec {
    pub(crate) name: String,
    /// The traffic that belongs to it; all if absent.
    #[serde(default)]
    pub(crate) kinds: Option<Vec<TrafficKind>>,
    /// The largest operation whose packets belong to it; no limit if absent.
    #[serde(default)]
    pub(crate) operation_bytes_max: Option<u64>,
    /// Classes of a higher priority are always first.
    #[serde(default)]
    pub(crate) priority: u32,
    /// Its share among classes of equal priority.
    #[serde(default = "one_share")]
    pub(crate) weight: f64,
}

/// What a packet is for. A packet without bytes of its operation also is `control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TrafficKind {
    Put,
    Get,
    Atomic,
    /// An operation that copies bytes between two other nodes.
    Copy,
    Datagram,
    /// Requests, acknowledgements, replies and notifications.
    Control,
}

/// A failure of all links between two routers, or of all links of a router, in both directions: packets that are sent over them are lost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureSpec {
    /// The two routers, if links between routers fail.
    #[serde(default)]
    pub(crate) link: Option<[u32; 2]>,
    /// The router, if a router fails. Its links to NICs fail as well.
    #[serde(default)]
    pub(crate) router: Option<u32>,
    pub(crate) at_ns: f64,
    /// When they work again; never if absent.
    #[serde(default)]
    pub(crate) until_ns: Option<f64>,
    /// Time from the failure, and from its end, until the first router of a route knows of it.
    #[serde(default)]
    pub(crate) detection_ns: f64,
}

/// How NICs react to congestion: each pair of NICs is a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "control", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum CongestionSpec {
    /// Adjusts the rate by packets that routers have marked: Zhu et al., *Congestion Control for Large-Scale RDMA Deployments*, SIGCOMM 2015.
    Dcqcn(DcqcnSpec),
    /// Adjusts the window by delays: Kumar et al., *Swift: Delay is Simple and Effective for Congestion Control in the Datacenter*, SIGCOMM 2020.
    Swift(SwiftSpec),
    /// Adjusts the window by what routers write into packets: Li et al., *HPCC: High Precision Congestion Control*, SIGCOMM 2019.
    Hpcc(HpccSpec),
    /// Limits the flows that fill the queue of a NIC: a model with assumed values of what is published of the interconnect Slingshot.
    Slingshot(SlingshotSpec),
}

/// Parameters of DCQCN. The name in the paper is in parentheses.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DcqcnSpec {
    /// Minimum time between two notifications of a flow (N).
    pub(crate) notification_ns: f64,
    /// Weight of a notification in the estimate of congestion (g).
    pub(crate) gain: f64,
    /// Time without a notification after which the estimate decreases (K).
    pub(crate) estimate_ns: f64,
    /// Time and number of bytes after which the rate increases (T, B).
    pub(crate) increase_ns: f64,
    pub(crate) increase_bytes: u64,
    /// Number of increases that only recover the previous rate (F).
    pub(crate) recoveries: u32,
    /// Amounts that later increases add to the target: when those by time or by bytes exceed `recoveries`, and when both do (R_AI, R_HAI).
    pub(crate) additive_gb_per_s: f64,
    pub(crate) hyper_gb_per_s: f64,
}

impl Default for DcqcnSpec {
    fn default() -> Self {
        Self {
            notification_ns: 50e3,
            gain: 1.0 / 256.0,
            estimate_ns: 55e3,
            increase_ns: 55e3,
            increase_bytes: 10_000_000,
            recoveries: 5,
            additive_gb_per_s: 0.005,
            hyper_gb_per_s: 0.05,
        }
    }
}

/// Parameters of Swift. The name in the paper is in parentheses.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SwiftSpec {
    /// Target delay of large windows (base target).
    pub(crate) target_ns: f64,
    /// Additional target delay of a window of a tenth of a packet; 0 at 100 packets (fs_range).
    pub(crate) range_ns: f64,
    /// Number of packets by which a window grows per round trip (ai).
    pub(crate) additive_packets: f64,
    /// Decrease of the window per relative excess of the delay, and the largest decrease as a part of the window (β, max_mdf).
    pub(crate) decrease: f64,
    pub(crate) decrease_max: f64,
    /// The largest window.
    pub(crate) window_packets: u32,
}

impl Default for SwiftSpec {
    fn default() -> Self {
        Self { target_ns: 25e3, range_ns: 50e3, additive_packets: 1.0, decrease: 0.8, decrease_max: 0.5, window_packets: 256 }
    }
}

/// Parameters of HPCC. The name in the paper is in parentheses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HpccSpec {
    /// Round trip of the largest packet and its answer between the farthest nodes of the idle network (T).
    pub(crate) round_trip_ns: f64,
    /// The part of a link's rate that flows use together (η).
    #[serde(default = "utilization")]
    pub(crate) utilization: f64,
    /// Number of consecutive increases by a step, after which the window follows the load (maxStage).
    #[serde(default = "stages")]
    pub(crate) stages: u32,
    /// The step (W_AI).
    #[serde(default = "additive_bytes")]
    pub(crate) additive_bytes: u32,
}

/// Parameters of the law after Slingshot; all assumed.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SlingshotSpec {
    /// Bytes that wait in a router for a NIC above which the sources of packets for it are notified.
    pub(crate) threshold_bytes: u32,
    /// Number of packets that a flow may have in flight in any case.
    pub(crate) limited_packets: u32,
    /// Time without a notification after which a flow may have one packet more in flight in each round trip.
    pub(crate) recovery_ns: f64,
}

impl Default for SlingshotSpec {
    fn default() -> Self {
        Self { threshold_bytes: 16 << 10, limited_packets: 1, recovery_ns: 10e3 }
    }
}

/// Which packets take the same route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spread {
    /// All packets of an operation take the route of that operation.
    #[default]
    Operation,
    /// All packets from one NIC to another take one route (ECMP).
    Pair,
    /// As `pair`, but after a pause the packets take another route.
    Flowlet,
    /// Each packet takes its own route.
    Packet,
}

/// The behaviour of the network and the NIC when buffers or receive slots are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RailKind {
    /// Links wait for credits. A datagram that finds no receive slot is sent again, and fails after `not_ready_retries` repetitions.
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
    /// Time from posting an operation until the NIC gets it.
    pub(crate) overhead_ns: f64,
    /// Minimum time between the starts of two operations.
    #[serde(default)]
    pub(crate) gap_ns: f64,
    pub(crate) read_gb_per_s: f64,
    pub(crate) write_gb_per_s: f64,
    /// Time that the atomic unit takes for one atomic.
    #[serde(default)]
    pub(crate) atomic_ns: f64,
    /// Largest payload of a packet.
    pub(crate) packet_bytes: u32,
    pub(crate) header_bytes: u32,
    pub(crate) control_bytes: u32,
    /// Maximum number of incomplete operations of a rank; further ones wait in the rank's library.
    pub(crate) send_queue: Option<u32>,
    /// Maximum number of packets read from memory that wait for the link, per class.
    #[serde(default = "transmit_packets")]
    pub(crate) transmit_packets: u32,
    /// Buffer for packets that wait to be written to memory, per class and virtual channel.
    #[serde(default = "receive_bytes")]
    pub(crate) receive_bytes: u32,
    #[serde(default)]
    pub(crate) order: TransmitOrder,
    #[serde(default)]
    pub(crate) spread: Spread,
    /// The pause after which packets of a pair of NICs take another route, if `spread = "flowlet"`.
    #[serde(default)]
    pub(crate) flowlet_ns: f64,
    /// Preparation of a transfer before its first packet is read, for one transfer at a time: a copy to memory that the NIC reads well, or the
    /// set-up of a protocol. Entries of bytes, nanoseconds, and 10⁹ bytes per second; the first whose bytes are not exceeded applies, else the last.
    #[serde(default)]
    pub(crate) stages: Vec<(u64, f64, f64)>,
    /// Time to switch the memory of the NIC over to its host, which delays the delivery of received bytes.
    #[serde(default)]
    pub(crate) bank_ns: f64,
    /// Time that the core of the receiver works for a switch, before or after it.
    #[serde(default)]
    pub(crate) bank_core_ns: f64,
    /// Maximum number of packets of a message per switch.
    #[serde(default = "one")]
    pub(crate) bank_packets: u32,
}

/// The order in which a NIC sends packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TransmitOrder {
    /// All packets of the oldest operation first.
    #[default]
    Fifo,
    /// One packet of each operation in turn.
    RoundRobin,
}

/// The reception of datagrams.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReceiveSpec {
    /// Maximum number of datagrams that have arrived and are not consumed; no limit if absent.
    pub(crate) slots: Option<u32>,
    /// Time that the host takes to consume a datagram. If absent, the user of the simulator reports each consumption.
    pub(crate) service_ns: Option<f64>,
}

/// The numbers of retransmissions and the times before them.
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

/// A link, in each direction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSpec {
    pub(crate) gb_per_s: f64,
    pub(crate) cable_ns: f64,
    /// Probability that a packet is lost on it.
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
    /// Time through the switch, from the allocation to the cable.
    pub(crate) switch_ns: f64,
    /// Time from the departure of a packet until the sender knows of the freed buffer space, without the cable delay.
    #[serde(default)]
    pub(crate) credit_ns: f64,
    #[serde(default = "one_vc")]
    pub(crate) vcs: u8,
    /// Buffer size per link, class and virtual channel: at the input, or at the output if the rail's kind is `ethernet`.
    pub(crate) buffer_bytes: u32,
    #[serde(default)]
    pub(crate) switching: Switching,
    /// Flow control by pauses instead of credits.
    #[serde(default)]
    pub(crate) pfc: Option<PfcSpec>,
    #[serde(default)]
    pub(crate) ecn: Option<EcnSpec>,
}

/// Priority flow control (IEEE 802.1Qbb): a buffer that fills up pauses its sender.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PfcSpec {
    /// Bytes in a buffer at which the sender must pause, and at which it may continue.
    pub(crate) xoff_bytes: u32,
    pub(crate) xon_bytes: u32,
}

/// Explicit congestion notification: packets that leave a long queue are marked.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EcnSpec {
    /// Bytes of a class queued for a link above which some packets are marked, and from which all are.
    pub(crate) min_bytes: u32,
    pub(crate) max_bytes: u32,
    /// Part of the packets that is marked just below `max_bytes`; it falls linearly to 0 at `min_bytes`.
    pub(crate) probability: f64,
}

/// When a router forwards a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Switching {
    /// When its head has arrived.
    #[default]
    CutThrough,
    /// When all of it has arrived.
    StoreAndForward,
}

fn one() -> u32 {
    1
}

fn one_share() -> f64 {
    1.0
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

fn utilization() -> f64 {
    0.95
}

fn stages() -> u32 {
    5
}

fn additive_bytes() -> u32 {
    80
}

/// Returns the bytes of the telemetry of a packet that passes through up to `hops` routers: two, and eight for each (HPCC).
pub(crate) fn telemetry_bytes(hops: u32) -> u32 {
    2 + 8 * hops
}

impl RouterSpec {
    /// The time from the arrival of a head until it may ask for its link, in picoseconds.
    pub(crate) fn pipeline(&self) -> u64 {
        [self.routing_ns, self.vc_allocation_ns, self.switch_allocation_ns].map(picoseconds).iter().sum()
    }
}

impl RailSpec {
    /// The largest packet on the wire.
    pub(crate) fn packet_bytes_max(&self) -> u32 {
        let telemetry = if self.has_telemetry() { telemetry_bytes(HOPS_MAX) } else { 0 };
        (self.nic.packet_bytes + self.nic.header_bytes).max(self.nic.control_bytes) + telemetry
    }

    /// Whether packets and their answers carry what routers write into them.
    pub(crate) fn has_telemetry(&self) -> bool {
        matches!(self.congestion, Some(CongestionSpec::Hpcc(_)))
    }

    /// Whether a packet can be lost in the network.
    pub(crate) fn lossy(&self) -> bool {
        self.loses_always() || !self.failure.is_empty()
    }

    /// Whether a packet can be lost at any time, and not only by failures.
    pub(crate) fn loses_always(&self) -> bool {
        self.kind == RailKind::Ethernet || self.link.loss > 0.0 || self.host_link().loss > 0.0
    }

    /// The number of planes over which one operation is spread.
    pub(crate) fn planes_of_operation(&self) -> u32 {
        if self.nic.spread == Spread::Packet { self.planes } else { 1 }
    }

    pub(crate) fn host_link(&self) -> &LinkSpec {
        self.host_link.as_ref().unwrap_or(&self.link)
    }
}
