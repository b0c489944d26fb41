//! The tables of a description that name hardware.

use serde::Deserialize;

use super::datagrams::Datagrams;
use super::software::Software;
use super::topologies::TopologySpec;

/// Which NIC performs an operation that names no rail; always one of a rail that connects all nodes that take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NicChoice {
    /// That of the entity's number, modulo how many there are.
    #[default]
    Entity,
    /// One of the first rail whose `operation_bytes_max` is not exceeded; among its NICs as above.
    Size,
    /// One of the first rail; among its NICs as above.
    First,
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
    /// How many cores a node has, if its ranks may be more than those.
    pub(crate) cores: Option<u32>,
    /// From one rank that gives a core up until another runs on it.
    pub(crate) switch_ns: f64,
    pub(crate) shared: Option<SharedSpec>,
    pub(crate) software: Software,
    pub(crate) datagrams: Option<Datagrams>,
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
            software: Software::default(),
            datagrams: None,
        }
    }
}

/// Memory that the ranks of a node share: the core of the initiator performs the operation and is busy meanwhile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedSpec {
    /// From the end of a put until a target that polls has seen it.
    pub(crate) visible_ns: f64,
    /// How long an atomic takes the initiator.
    pub(crate) atomic_ns: f64,
    /// How long puts and gets of so many bytes take the initiator: pairs of bytes and nanoseconds, by bytes.
    pub(crate) put: Vec<(u64, f64)>,
    pub(crate) get: Vec<(u64, f64)>,
    /// How much longer a put takes for each page on its first use.
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
    /// How many consecutive nodes form a group; the rail connects only nodes of one group. All nodes if absent.
    #[serde(default)]
    pub(crate) group: Option<u32>,
    /// NICs of each node on this network.
    #[serde(default = "one")]
    pub(crate) count: u32,
    pub(crate) kind: RailKind,
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
    #[serde(default)]
    pub(crate) congestion: Option<CongestionSpec>,
    /// Links that fail while the machine works.
    #[serde(default)]
    pub(crate) failure: Vec<FailureSpec>,
}

/// All links between two routers fail, both ways: what is sent over them is lost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureSpec {
    pub(crate) link: [u32; 2],
    pub(crate) at_ns: f64,
    /// When they work again; never if absent.
    #[serde(default)]
    pub(crate) until_ns: Option<f64>,
    /// From the failure, and from its end, until the first router of a route knows of it.
    #[serde(default)]
    pub(crate) detection_ns: f64,
}

/// How NICs react to congestion: each pair of NICs is a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "control", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum CongestionSpec {
    /// By the rate, at packets that routers have marked: Zhu et al., *Congestion Control for Large-Scale RDMA Deployments*, SIGCOMM 2015.
    Dcqcn(DcqcnSpec),
    /// By the window, at delays: Kumar et al., *Swift: Delay is Simple and Effective for Congestion Control in the Datacenter*, SIGCOMM 2020.
    Swift(SwiftSpec),
}

/// The names in the paper stand behind each value.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DcqcnSpec {
    /// The least time between two notifications of a flow (N).
    pub(crate) notification_ns: f64,
    /// The weight of a notification in the estimate of congestion (g).
    pub(crate) gain: f64,
    /// Without a notification for so long, the estimate decreases (K).
    pub(crate) estimate_ns: f64,
    /// The rate increases each so long, and each so many bytes (T, B).
    pub(crate) increase_ns: f64,
    pub(crate) increase_bytes: u64,
    /// Increases that only return to the rate before (F).
    pub(crate) recoveries: u32,
    /// What later ones add, and those after as many of both kinds (R_AI, R_HAI).
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

/// The names in the paper stand behind each value.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SwiftSpec {
    /// The delay that is aimed at, of windows that are large (base target).
    pub(crate) target_ns: f64,
    /// How much more it is of windows of a tenth of a packet; nothing of 100 packets (fs_range).
    pub(crate) range_ns: f64,
    /// Packets by which a window grows in a round trip (ai).
    pub(crate) additive_packets: f64,
    /// How much of the excess of the delay the window decreases by, and by what part at most (β, max_mdf).
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

/// What packets of an operation have in common, so that they take one route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spread {
    /// All packets of an operation take the route of that operation.
    #[default]
    Operation,
    /// All packets from one NIC to another take one route (ECMP).
    Pair,
    /// As `pair`; after a pause they take another one.
    Flowlet,
    /// Each packet takes its own.
    Packet,
}

/// What the network and the NIC do when they have no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RailKind {
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
    pub(crate) order: TransmitOrder,
    #[serde(default)]
    pub(crate) spread: Spread,
    /// The pause after which packets of a pair of NICs take another route, where `spread = "flowlet"`.
    #[serde(default)]
    pub(crate) flowlet_ns: f64,
    /// What a transfer waits for before its first packet is read, one after another: a copy to where the NIC reads well, a protocol's
    /// preparations. By size: bytes, nanoseconds, and 10⁹ bytes per second; the first whose bytes are not exceeded, else the last.
    #[serde(default)]
    pub(crate) stages: Vec<(u64, f64, f64)>,
    /// How long the memory of the NIC is switched over to its host, before what has come to it is there.
    #[serde(default)]
    pub(crate) bank_ns: f64,
    /// How long the core of the receiver works for that, before or after.
    #[serde(default)]
    pub(crate) bank_core_ns: f64,
    /// Packets of a message that one switching is for, at most.
    #[serde(default = "one")]
    pub(crate) bank_packets: u32,
}

/// Whose packet a NIC sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TransmitOrder {
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
    /// Flow control by pauses instead of credits.
    #[serde(default)]
    pub(crate) pfc: Option<PfcSpec>,
    #[serde(default)]
    pub(crate) ecn: Option<EcnSpec>,
}

/// Priority flow control (IEEE 802.1Qbb): a buffer that fills up has the sender pause.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PfcSpec {
    /// Bytes in a buffer at which the sender is to pause, and at which it may go on.
    pub(crate) xoff_bytes: u32,
    pub(crate) xon_bytes: u32,
}

/// Explicit congestion notification: packets that leave a long queue are marked.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EcnSpec {
    /// Bytes for a link above which some packets are marked, and above which all.
    pub(crate) min_bytes: u32,
    pub(crate) max_bytes: u32,
    /// The part that is marked just below `max_bytes`; proportionally fewer below.
    pub(crate) probability: f64,
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

impl RailSpec {
    /// The largest packet on the wire.
    pub(crate) fn packet_bytes_max(&self) -> u32 {
        (self.nic.packet_bytes + self.nic.header_bytes).max(self.nic.control_bytes)
    }

    /// Whether a packet can be lost in the network.
    pub(crate) fn lossy(&self) -> bool {
        self.kind == RailKind::Ethernet || self.link.loss > 0.0 || self.host_link().loss > 0.0 || !self.failure.is_empty()
    }

    pub(crate) fn host_link(&self) -> &LinkSpec {
        self.host_link.as_ref().unwrap_or(&self.link)
    }
}
