//! The state of domains: ports that receive and perform atomics, and senders, which are ports or links of pairs.

use std::collections::HashMap;

use crate::events::pool::{List, NONE};
use crate::events::rate::Rate;
use crate::machine::domain::DomainSpec;
use crate::machine::{bytes_per_second, picoseconds};

/// The mark of a number that names a port of a domain instead of a NIC in a transfer. NICs and ports have smaller numbers.
const PORT: u32 = 1 << 30;

/// The scheduled tasks of domains. In parentheses: what the task's number names.
pub(crate) mod task {
    /// A request has reached the owner of the bytes or the word (transfer).
    pub(crate) const REQUESTED: u64 = 0;
    /// A sender has sent a piece (sender).
    pub(crate) const SENT: u64 = 1;
    /// The last piece of a transfer is received, or an atomic performed (transfer).
    pub(crate) const ARRIVED: u64 = 2;
    /// The initiator knows of the end (transfer).
    pub(crate) const ANSWERED: u64 = 3;
}

/// The domains of all nodes. Ports have the numbers that the user of the simulator gives them. Times in picoseconds.
pub(crate) struct Domains {
    pub(crate) rate: Rate,
    pub(crate) has_switch: bool,
    pub(crate) latency: u64,
    pub(crate) overhead: u64,
    pub(crate) atomic: u64,
    pub(crate) piece_bytes: u32,
    pub(crate) ports: Vec<Port>,
    pub(crate) senders: Vec<Sender>,
    /// The senders between pairs of ports that have communicated, without a switch.
    pairs: HashMap<(u32, u32), u32>,
}

/// A port of a domain.
#[derive(Clone, Default)]
pub(crate) struct Port {
    /// When it can receive the next piece from the switch, and perform the next atomic.
    pub(crate) receive_free: u64,
    pub(crate) atomic_free: u64,
    /// Number of event keys that it has used.
    pub(crate) sequence: u32,
    /// Its sender to the switch; `NONE` if it has sent nothing.
    sender: u32,
}

/// What sends pieces one after another: the sending direction of a port, or of the link of a pair.
pub(crate) struct Sender {
    /// The port whose bytes it sends.
    pub(crate) port: u32,
    /// The transfer of the piece that it is sending; `NONE` if it is idle.
    pub(crate) current: u32,
    /// The other transfers that wait, in their turns.
    pub(crate) waiting: List,
}

/// Marks the number of a port.
pub(crate) fn port(number: u32) -> u32 {
    number | PORT
}

/// Whether the initiator of a transfer is a port.
pub(crate) fn is_port(by: u32) -> bool {
    by != NONE && by & PORT != 0
}

/// Returns the number of a port.
pub(crate) fn number(port: u32) -> u32 {
    port & !PORT
}

impl Domains {
    pub(crate) fn new(spec: &DomainSpec) -> Self {
        Self {
            rate: bytes_per_second(spec.gb_per_s()),
            has_switch: spec.has_switch(),
            latency: picoseconds(spec.latency_ns),
            overhead: picoseconds(spec.overhead_ns),
            atomic: picoseconds(spec.atomic_ns),
            piece_bytes: spec.piece_bytes,
            ports: Vec::new(),
            senders: Vec::new(),
            pairs: HashMap::new(),
        }
    }

    /// Makes the ports up to a number.
    pub(crate) fn grow(&mut self, number: u32) {
        if number as usize >= self.ports.len() {
            self.ports.resize(number as usize + 1, Port { sender: NONE, ..Port::default() });
        }
    }

    /// Returns the sender from one port to another.
    pub(crate) fn sender(&mut self, from: u32, to: u32) -> u32 {
        let known =
            if self.has_switch { &mut self.ports[from as usize].sender } else { self.pairs.entry((from, to)).or_insert(NONE) };
        if *known == NONE {
            *known = self.senders.len() as u32;
            self.senders.push(Sender { port: from, current: NONE, waiting: List::EMPTY });
        }
        *known
    }

    /// Returns the time at which a port has received a piece that a sender begins to send now and that takes the time `takes`.
    pub(crate) fn receive(&mut self, now: u64, to: u32, takes: u64) -> u64 {
        let begins = now.saturating_add(self.latency);
        if !self.has_switch {
            return begins.saturating_add(takes);
        }
        let free = &mut self.ports[to as usize].receive_free;
        *free = begins.max(*free).saturating_add(takes);
        *free
    }
}
