//! NICs: the properties that all NICs of a rail share, and the state of each.

use pelago_base::Duration;

use crate::classes::Classes;
use crate::events::pool::List;
use crate::events::rate::Rate;
use crate::machine::software::{Detection, Software};
use crate::machine::spec::{NicSpec, RailKind, RailSpec, Spread, TransmitOrder, telemetry_bytes};
use crate::machine::{bytes_per_second, picoseconds};
use crate::nics::flow::Control;
use crate::nics::transfer::{OperationKind, Transfer};
use crate::topology::Topology;

/// The scheduled tasks of a NIC. In parentheses: what the task's number names, if not a packet.
pub(crate) mod task {
    /// Bytes were copied within the node (transfer).
    pub(crate) const COPIED: u64 = 0;
    /// A packet was read from memory.
    pub(crate) const READ: u64 = 1;
    /// The tail of a packet has arrived that is not written to memory or may need a receive slot.
    pub(crate) const ARRIVED: u64 = 2;
    /// A packet was written to memory.
    pub(crate) const WRITTEN: u64 = 3;
    /// A request is sent (transfer).
    pub(crate) const ASK: u64 = 4;
    /// The atomic unit has done its work (transfer).
    pub(crate) const WORKED: u64 = 5;
    /// The host has consumed a datagram (node).
    pub(crate) const CONSUMED: u64 = 6;
    /// A timeout, after which a loss is assumed (transfer).
    pub(crate) const TIMEOUT: u64 = 7;
    /// A datagram is tried again (transfer).
    pub(crate) const RESUME: u64 = 8;
    /// The preparation of a transfer is over, or its flow may send (transfer).
    pub(crate) const STAGED: u64 = 9;
}

/// The properties that all NICs of a rail share. Times in picoseconds.
#[derive(Clone)]
pub(crate) struct RailNics {
    /// The first of its NICs, and the number of NICs per node.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Number of planes, which is that of the ports of a NIC.
    pub(crate) planes: u32,
    /// The network of the first plane, and, if there are several, the first port of the first NIC.
    pub(crate) first_network: u8,
    pub(crate) first_port: usize,
    /// Number of nodes of a group, if the rail connects only nodes of one group.
    pub(crate) group: Option<u32>,
    pub(crate) kind: RailKind,
    pub(crate) operation_bytes_max: Option<u64>,
    pub(crate) packet_bytes: u32,
    pub(crate) header_bytes: u32,
    pub(crate) control_bytes: u32,
    pub(crate) overhead: u64,
    pub(crate) gap: u64,
    pub(crate) read: Rate,
    pub(crate) write: Rate,
    pub(crate) receive_bytes: u32,
    pub(crate) atomic: u64,
    /// For all ports together.
    pub(crate) transmit_packets: u32,
    pub(crate) order: TransmitOrder,
    pub(crate) spread: Spread,
    /// The pause that ends a flowlet, and the first flowlet of its first NIC.
    pub(crate) flowlet: u64,
    pub(crate) first_flowlet: usize,
    pub(crate) control: Option<Control>,
    pub(crate) classes: Classes,
    /// The first class queue of its first NIC.
    first_queue: usize,
    /// Bytes of the telemetry in data packets, which `header_bytes` contains, and in answers.
    pub(crate) telemetry_bytes: u32,
    /// The preparation of a transfer before its first packet: up to this many bytes, a fixed time, and a rate.
    pub(crate) stages: Vec<(u64, u64, Rate)>,
    pub(crate) bank: u64,
    pub(crate) bank_packets: u32,
    /// Whether packets can be lost, so that unanswered operations are repeated.
    pub(crate) lossy: bool,
    /// The time from which a packet behind a missing one tells of a loss; before it, the receiver accepts packets out of order.
    pub(crate) in_order_from: u64,
    pub(crate) slots: Option<u32>,
    pub(crate) service: Option<u64>,
    pub(crate) timeout: u64,
    pub(crate) retries: u8,
    pub(crate) not_ready: u64,
    pub(crate) not_ready_retries: u8,
}

impl RailNics {
    /// `first_network`, `first_port`, `first_flowlet` and `first_queue` are those of the rail.
    pub(crate) fn new(
        spec: &RailSpec,
        software: &Software,
        first: u32,
        (first_network, first_port, first_flowlet, first_queue): (u8, usize, usize, usize),
    ) -> Self {
        let nic = &spec.nic;
        Self {
            first,
            count: spec.count,
            planes: spec.planes,
            first_network,
            first_port,
            group: spec.group,
            kind: spec.kind,
            operation_bytes_max: spec.operation_bytes_max,
            packet_bytes: nic.packet_bytes,
            header_bytes: nic.header_bytes,
            control_bytes: nic.control_bytes,
            overhead: picoseconds(nic.overhead_ns * software.slowdown()),
            gap: picoseconds(nic.gap_ns),
            read: bytes_per_second(nic.read_gb_per_s),
            write: bytes_per_second(nic.write_gb_per_s),
            receive_bytes: nic.receive_bytes,
            atomic: picoseconds(nic.atomic_ns),
            transmit_packets: nic.transmit_packets * spec.planes,
            order: nic.order,
            spread: nic.spread,
            flowlet: picoseconds(nic.flowlet_ns),
            first_flowlet,
            control: spec
                .congestion
                .as_ref()
                .map(|congestion| Control::new(congestion, f64::from(spec.planes_of_operation()) * spec.host_link().gb_per_s)),
            classes: Classes::new(&spec.class),
            first_queue,
            telemetry_bytes: 0,
            stages: nic.stages.iter().map(|&(bytes, time, rate)| (bytes, picoseconds(time), bytes_per_second(rate))).collect(),
            bank: picoseconds(bank_ns(nic, software)),
            bank_packets: nic.bank_packets,
            lossy: spec.lossy(),
            in_order_from: Topology::in_order_from(spec),
            slots: spec.receive.slots,
            service: spec.receive.service_ns.map(picoseconds),
            timeout: picoseconds(spec.reliability.timeout_ns),
            retries: spec.reliability.retries,
            not_ready: picoseconds(spec.reliability.not_ready_ns),
            not_ready_retries: spec.reliability.not_ready_retries,
        }
    }

    /// The queues of the classes of one of its NICs, on a rail with classes.
    pub(crate) fn queues(&self, nic: u32) -> std::ops::Range<usize> {
        let count = usize::from(self.classes.count());
        let first = self.first_queue + (nic - self.first) as usize * count;
        first..first + count
    }

    /// Makes packets carry the telemetry of up to `hops` routers.
    pub(crate) fn carry_telemetry(&mut self, hops: u32) {
        self.telemetry_bytes = telemetry_bytes(hops);
        self.header_bytes += self.telemetry_bytes;
    }

    /// Whether it connects these nodes.
    #[inline]
    pub(crate) fn joins(&self, nodes: [u32; 3]) -> bool {
        self.group.is_none_or(|group| nodes.map(|node| node / group) == [nodes[0] / group; 3])
    }

    /// Whether the receiver of a datagram acknowledges it.
    #[inline]
    pub(crate) fn acknowledges_datagrams(&self) -> bool {
        matches!(self.kind, RailKind::InfinibandRc | RailKind::Tofu)
    }

    /// Whether packets of an operation may arrive more than once.
    #[inline]
    pub(crate) fn repeats(&self, kind: OperationKind) -> bool {
        // A datagram that finds no receive slot is sent again, while packets of the first try may be on their way.
        let is_tried_again = || kind == OperationKind::Datagram && self.slots.is_some() && self.kind == RailKind::InfinibandRc;
        self.lossy || is_tried_again()
    }

    /// Returns the time that the atomic unit takes for one atomic.
    pub(crate) fn atomic(&self) -> Duration {
        Duration::from_picoseconds(self.atomic)
    }

    /// Returns the preparation time before the first packet of a transfer of `bytes` bytes is read.
    #[inline]
    pub(crate) fn stage(&self, bytes: u64) -> u64 {
        let stage = self.stages.iter().find(|(most, ..)| bytes <= *most).or(self.stages.last());
        stage.map_or(0, |(_, time, rate)| time.saturating_add(rate.time(bytes)))
    }

    /// Returns the time of the memory switch after a packet: after the last of a transfer, and after every `bank_packets` packets before it.
    #[inline]
    pub(crate) fn bank(&self, transfer: &Transfer, sequence: u32) -> u64 {
        let is_last = u64::from(sequence + 1) * u64::from(self.packet_bytes) >= transfer.bytes;
        if is_last || (sequence + 1).is_multiple_of(self.bank_packets) { self.bank } else { 0 }
    }

    #[inline]
    pub(crate) fn payload(&self, transfer: &Transfer, sequence: u32) -> u64 {
        let before = u64::from(sequence) * u64::from(self.packet_bytes);
        (transfer.bytes - before).min(u64::from(self.packet_bytes))
    }
}

/// Returns the time of one memory switch, including the core's work for it.
fn bank_ns(nic: &NicSpec, software: &Software) -> f64 {
    let switching = nic.bank_ns + nic.bank_core_ns * software.slowdown();
    if switching > 0.0 && software.detection == Detection::Thread { switching + software.signal_ns } else { switching }
}

/// A NIC of a node. One cache line.
#[repr(align(64))]
pub(crate) struct Nic {
    pub(crate) rail: u8,
    /// Whether a packet is being read.
    pub(crate) reading: bool,
    /// The plane for which it has read last, if it has several ports.
    pub(crate) last_plane: u8,
    /// Number of packets that were or are being read, and that the link has not taken; 0 if its rail has classes.
    pub(crate) buffered: u32,
    /// Its number on the rail.
    pub(crate) terminal: u32,
    /// Number of event keys that it has used.
    pub(crate) sequence: u32,
    /// When the next operation may begin, the next packet be written, and the next atomic be performed.
    pub(crate) begin_free: u64,
    pub(crate) write_free: u64,
    pub(crate) atomic_free: u64,
    /// When the preparation of the next transfer may begin.
    pub(crate) stage_free: u64,
    /// Number of atomics performed.
    pub(crate) atomics: u64,
    /// Operations with packets to send, if its rail has no classes and they do not wait for a port.
    pub(crate) sending: List,
}

/// What a NIC sends of one class.
#[derive(Clone, Copy)]
pub(crate) struct ClassQueue {
    /// Operations with packets to send.
    pub(crate) sending: List,
    /// Number of packets that were or are being read, and that the link has not taken.
    pub(crate) buffered: u32,
}

impl ClassQueue {
    pub(crate) const EMPTY: Self = Self { sending: List::EMPTY, buffered: 0 };
}

/// The memory of each NIC, besides a list of packets that wait for a receive slot.
const _: () = assert!(size_of::<Nic>() == 64);

impl Nic {
    pub(crate) fn new(rail: u8, terminal: u32) -> Self {
        Self {
            rail,
            reading: false,
            last_plane: 0,
            buffered: 0,
            terminal,
            sequence: 0,
            begin_free: 0,
            write_free: 0,
            atomic_free: 0,
            stage_free: 0,
            atomics: 0,
            sending: List::EMPTY,
        }
    }

    /// Starts an operation at `now` or as soon as the gap after the previous one permits; returns that time.
    #[inline]
    pub(crate) fn begin(&mut self, now: u64, gap: u64) -> u64 {
        let begin = self.begin_free.max(now);
        self.begin_free = begin + gap;
        begin
    }
}
