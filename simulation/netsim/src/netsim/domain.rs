//! Operations between ranks of a domain.
//!
//! ```text
//!  put:            overhead -> pieces ==> (bytes visible) -> answer ==> completion
//!  get:            overhead -> request ==> pieces ==> (bytes visible, completion)
//!  atomic:         overhead -> request ==> atomic -> answer ==> completion
//!  copy of others: overhead -> request ==> pieces ==> (bytes visible) -> answer ==> completion
//! ```
//!
//! Each arrow `==>` takes the latency. Only pieces take the time of ports and links. A sender sends one piece of each of its transfers in turn. With
//! a switch, the receiving port takes pieces in the order of their arrival, each as soon as its head arrives; the switch stores those that wait.

use pelago_base::Duration;

use super::Region;
use super::region::{Posted, parts};
use crate::events::pool::NONE;
use crate::events::queue::Event;
use crate::events::{ENTITIES_MAX, class};
use crate::nics::domain::{self, Domains, task};
use crate::nics::transfer::{OperationFacts, OperationKind, Phase};
use crate::operation::{FailureReason, NetworkOperation, Notice};

impl Region {
    /// Returns the time from posting an operation between ports until it begins.
    pub(crate) fn domain_overhead(&self) -> Duration {
        Duration::from_picoseconds(self.domains.as_ref().map_or(0, |domains| domains.overhead))
    }

    /// Starts an operation between ports on behalf of `entity`, `late` after its overhead.
    pub(crate) fn post_in_domain(&mut self, entity: u32, operation: NetworkOperation, token: u64, late: Duration) {
        let now = self.queue.now();
        let (kind, by, from, to, bytes) = parts(operation);
        let Some(domains) = &mut self.domains else {
            return self.notices.push_back(Notice::Failed { token, reason: FailureReason::NoSuchNode });
        };
        let Ok(packets) = u32::try_from(bytes.div_ceil(u64::from(domains.piece_bytes)).max(1)) else {
            return self.notices.push_back(Notice::Failed { token, reason: FailureReason::TooLong });
        };
        let last = by.max(from).max(to);
        assert!(last < ENTITIES_MAX, "port {last}: must be less than {ENTITIES_MAX}");
        domains.grow(last);
        let time = now.saturating_add(domains.overhead).saturating_add(late.as_picoseconds());
        let [by, from, to] = [by, from, to].map(domain::port);
        let facts = OperationFacts { token, bytes, by, from, to, packets, salt: 0, via: 0, kind };
        let key = self.key(entity);
        self.begin(Posted { time, key, facts, seen: None });
    }

    /// Starts an operation whose overhead is over.
    pub(crate) fn start_in_domain(&mut self, index: u32) {
        match self.transfers[index].kind {
            OperationKind::Put | OperationKind::Datagram => self.send_in_domain(index),
            OperationKind::Get | OperationKind::Atomic | OperationKind::Copy => self.after_latency(task::REQUESTED, index),
        }
    }

    /// Performs a scheduled task of a domain.
    pub(crate) fn perform_in_domain(&mut self, payload: u64) {
        let index = payload as u32;
        match payload >> 56 {
            task::REQUESTED if self.transfers[index].kind == OperationKind::Atomic => self.work_in_domain(index),
            task::REQUESTED => self.send_in_domain(index),
            task::SENT => self.sent_in_domain(index),
            task::ARRIVED => self.arrived_in_domain(index),
            _ => self.answered_in_domain(index),
        }
    }

    /// Lets the port of a word perform an atomic, after earlier ones.
    fn work_in_domain(&mut self, index: u32) {
        let (now, at) = (self.queue.now(), domain::number(self.transfers[index].from));
        let domains = self.domains();
        let atomic = domains.atomic;
        let free = &mut domains.ports[at as usize].atomic_free;
        *free = now.max(*free).saturating_add(atomic);
        let done = *free;
        self.at_port(at, done, task::ARRIVED, index);
    }

    /// Gives a transfer to its sender.
    fn send_in_domain(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Sending;
        let [from, to] = [transfer.from, transfer.to].map(domain::number);
        let Self { domains: Some(domains), transfers, .. } = self else { return };
        let number = domains.sender(from, to);
        let sender = &mut domains.senders[number as usize];
        sender.waiting.push(transfers, index);
        if sender.current == NONE {
            self.send_piece(number);
        }
    }

    /// Lets an idle sender send a piece of the transfer whose turn it is.
    fn send_piece(&mut self, number: u32) {
        let now = self.queue.now();
        let Self { domains: Some(domains), transfers, .. } = self else { return };
        let sender = &mut domains.senders[number as usize];
        let Some(index) = sender.waiting.pop(transfers) else { return };
        sender.current = index;
        let port = sender.port;
        let transfer = &mut transfers[index];
        let piece = u64::from(domains.piece_bytes);
        let takes = domains.rate.time((transfer.bytes - u64::from(transfer.sent) * piece).min(piece));
        transfer.sent += 1;
        let (to, is_last) = (domain::number(transfer.to), transfer.sent == transfer.packets);
        let received = domains.receive(now, to, takes);
        self.at_port(port, now.saturating_add(takes), task::SENT, number);
        if is_last {
            self.at_port(to, received, task::ARRIVED, index);
        }
    }

    /// A sender has sent a piece.
    fn sent_in_domain(&mut self, number: u32) {
        let Self { domains: Some(domains), transfers, .. } = self else { return };
        let sender = &mut domains.senders[number as usize];
        let index = std::mem::replace(&mut sender.current, NONE);
        let transfer = &transfers[index];
        if transfer.sent < transfer.packets {
            sender.waiting.push(transfers, index);
        } else {
            let token = transfer.token;
            self.notices.push_back(Notice::Read { token });
        }
        self.send_piece(number);
    }

    /// An operation takes effect.
    fn arrived_in_domain(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Returning;
        let (token, is_known) = (transfer.token, transfer.kind == OperationKind::Get);
        self.statistics.bytes += transfer.bytes;
        self.notices.push_back(Notice::Effect { token });
        if is_known { self.answered_in_domain(index) } else { self.after_latency(task::ANSWERED, index) }
    }

    /// The initiator knows that an operation has taken effect.
    fn answered_in_domain(&mut self, index: u32) {
        let token = self.transfers[index].token;
        self.notices.push_back(Notice::Done { token });
        self.transfers.remove(index);
    }

    /// Schedules a task for a transfer after the time from one port to another.
    fn after_latency(&mut self, task: u64, index: u32) {
        let (now, by) = (self.queue.now(), domain::number(self.transfers[index].by));
        let time = now.saturating_add(self.domains().latency);
        self.at_port(by, time, task, index);
    }

    /// Schedules a task.
    fn at_port(&mut self, port: u32, time: u64, task: u64, number: u32) {
        let sequence = &mut self.domains().ports[port as usize].sequence;
        let key = class::DOMAIN | u64::from(port) << 32 | u64::from(*sequence);
        *sequence = sequence.wrapping_add(1);
        self.queue.push(Event { time, key, payload: task << 56 | u64::from(number) });
    }

    /// The domains of a machine that has an operation in one.
    fn domains(&mut self) -> &mut Domains {
        self.domains.as_mut().expect("an operation between ports needs a machine with domains")
    }
}
