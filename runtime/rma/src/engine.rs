//! Operations that are not done at once: they wait for others, are posted to a transport piece by piece, and end.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::limits::{CAPTURED_BYTES_MAX, FAILURES_REMEMBERED_MAX, OPERATIONS_IN_FLIGHT_MAX};
use pelago_base::{Counters, Event, GlobalAddress, Rank};
use pelago_platform::{Completion, Endpoint, Failure, Operation, PostError, Token};

use crate::buffer::Buffer;
use crate::order::{After, Order};
use crate::port::Port;
use crate::shared::Shared;
use crate::task::{End, Task};
use crate::{Error, Result};

/// Pieces of one operation that are with the transport at once.
const PIECES_IN_FLIGHT_MAX: u32 = 64;

/// The operations of one context that are not done.
pub(crate) struct Engine {
    port: Port,
    endpoints: BTreeMap<Rank, Endpoint>,
    order: Order,
    records: BTreeMap<u64, Record>,
    /// Bytes that the records keep.
    captured: usize,
    failures: VecDeque<Failed>,
    completed: Vec<Completion>,
    counters: Counters,
}

/// An operation that failed.
struct Failed {
    id: u64,
    failure: Failure,
    /// Whether somebody knows.
    told: bool,
}

struct Record {
    task: Task,
    /// Whether nothing is waited for any more.
    begun: bool,
    /// Pieces that the transport has accepted, and how many there are.
    posted: u64,
    pieces: u64,
    /// Pieces that it has accepted and not completed.
    out: u32,
    failure: Option<Failure>,
    word: u64,
    /// Whether somebody will come for the word or the buffer.
    keep: bool,
    ended: bool,
}

impl Engine {
    pub(crate) fn new(port: Port) -> Self {
        Self {
            port,
            endpoints: BTreeMap::new(),
            order: Order::default(),
            records: BTreeMap::new(),
            captured: 0,
            failures: VecDeque::new(),
            completed: Vec::new(),
            counters: Counters::default(),
        }
    }

    pub(crate) fn port(&mut self) -> &mut Port {
        &mut self.port
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn count(&mut self, event: Event) {
        self.counters.count(event);
    }

    /// Whether a failure has not been told.
    pub(crate) fn has_failures(&self) -> bool {
        self.failures.iter().any(|failed| !failed.told)
    }

    /// Whether an operation that keeps so many bytes may be submitted.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.is_idle()
            || self.order.live() < OPERATIONS_IN_FLIGHT_MAX && self.captured.saturating_add(bytes) <= CAPTURED_BYTES_MAX
    }

    /// Whether everything has ended.
    pub(crate) fn is_idle(&self) -> bool {
        self.order.live() == 0
    }

    /// Whether every operation is with a transport that can order what comes next.
    pub(crate) fn all_posted(&self, shared: &Shared) -> bool {
        let posted = |record: &Record| record.ended || record.begun && record.posted == record.pieces;
        self.records.values().all(posted) && !self.endpoints.keys().any(|&peer| shared.reach.holds(peer))
    }

    /// Whether no operation that has not ended concerns `rank`.
    pub(crate) fn is_idle_towards(&self, rank: Rank, shared: &Shared) -> bool {
        !self.records.values().any(|record| !record.ended && record.task.concerns(rank, &shared.reach))
    }

    /// Orders what was posted before what will be.
    pub(crate) fn fence(&mut self) {
        for &endpoint in self.endpoints.values() {
            self.port.with(|transport| transport.fence(endpoint));
        }
    }

    /// Takes over an operation. With `keep`, its word and buffer stay until `take` or `forget`.
    pub(crate) fn submit(&mut self, shared: &Shared, after: After, task: Task, keep: bool) -> Result<u64> {
        let (id, ready) = self.order.admit(after).map_err(|_| Error::ForeignHandle)?;
        let pieces = task.pieces();
        self.captured += task.captured();
        let record = Record { task, begun: false, posted: 0, pieces, out: 0, failure: None, word: 0, keep, ended: false };
        self.records.insert(id, record);
        if ready {
            self.begin(shared, id);
        } else {
            self.counters.count(Event::Deferred);
        }
        Ok(id)
    }

    /// Posts a short write without keeping its bytes; `None` if the transport has no room.
    pub(crate) fn submit_write(&mut self, shared: &Shared, to: GlobalAddress, bytes: &[u8]) -> Result<Option<u64>> {
        let endpoint = self.connect(shared, to)?;
        let (id, _) = self.order.admit(After::Nothing).map_err(|_| Error::ForeignHandle)?;
        match self.port.post(shared.clock.now(), endpoint, Operation::Write { to, bytes }, Token(id)) {
            Ok(()) => {
                let task = Task::contiguous(End::Buffer(Buffer::zeroed(0)), End::Global(to), bytes.len() as u64);
                let record =
                    Record { task, begun: true, posted: 1, pieces: 1, out: 1, failure: None, word: 0, keep: false, ended: false };
                self.records.insert(id, record);
                Ok(Some(id))
            }
            Err(error) => {
                // Nothing can be ordered after the number yet, so nothing begins by its end.
                self.order.end(id, None);
                match error {
                    PostError::Full | PostError::TooLong(_) => Ok(None),
                    error => Err(Error::Refused(error)),
                }
            }
        }
    }

    /// Moves everything that can be moved; returns whether anything did.
    pub(crate) fn progress(&mut self, shared: &Shared) -> bool {
        let unposted: Vec<u64> = self
            .records
            .iter()
            .filter(|(_, record)| record.begun && !record.ended && record.posted < record.pieces)
            .map(|(&id, _)| id)
            .collect();
        for id in unposted {
            self.post(shared, id);
        }
        let mut completed = std::mem::take(&mut self.completed);
        let moved = self.port.progress(shared.clock.now(), &mut completed);
        let any = !completed.is_empty();
        for Completion { token, result } in completed.drain(..) {
            self.complete(shared, token.0, result);
        }
        self.completed = completed;
        moved || any
    }

    /// `Some` with how the operation ended; `None` if it has not.
    pub(crate) fn poll(&mut self, id: u64) -> Option<Result<(), Failure>> {
        if self.order.is_live(id) {
            return None;
        }
        if let Some(record) = self.records.get(&id) {
            return Some(record.failure.map_or(Ok(()), Err));
        }
        Some(self.failures.iter_mut().find(|failed| failed.id == id).map_or(Ok(()), |failed| {
            failed.told = true;
            Err(failed.failure)
        }))
    }

    /// The word and the buffer of an operation that has ended and was kept.
    pub(crate) fn take(&mut self, id: u64) -> (u64, Option<Buffer>) {
        match self.remove(id) {
            Some(Record { word, task: Task::Move { to: End::Buffer(buffer), .. }, .. }) => (word, Some(buffer)),
            record => (record.map_or(0, |record| record.word), None),
        }
    }

    /// Nobody will come for the word of an operation. A failure that it has ended with counts as told.
    pub(crate) fn forget(&mut self, id: u64) {
        if let Some(record) = self.records.get_mut(&id) {
            record.keep = false;
            if record.ended {
                self.remove(id);
            }
        }
    }

    /// The first failure that nobody was told; all count as told from now on.
    pub(crate) fn first_failure(&mut self) -> Result<(), Failure> {
        let first = self.failures.iter().find(|failed| !failed.told).map(|failed| failed.failure);
        self.failures.iter_mut().for_each(|failed| failed.told = true);
        first.map_or(Ok(()), Err)
    }

    fn begin(&mut self, shared: &Shared, id: u64) {
        let Some(record) = self.records.get_mut(&id) else { return };
        record.begun = true;
        if let Some(word) = record.task.do_mapped(&shared.reach) {
            record.word = word;
            record.posted = record.pieces;
            return self.end(shared, id);
        }
        if let Task::Move { from: End::Buffer(buffer), .. } | Task::Move { to: End::Buffer(buffer), .. } = &mut record.task {
            let _for_the_transport = buffer.lend();
        }
        self.post(shared, id);
    }

    /// Posts pieces while there is room; ends the operation if there is nothing left to wait for.
    fn post(&mut self, shared: &Shared, id: u64) {
        loop {
            let Some(record) = self.records.get_mut(&id) else { return };
            if record.failure.is_some() || record.posted == record.pieces {
                if record.out == 0 {
                    self.end(shared, id);
                }
                return;
            }
            if record.out == PIECES_IN_FLIGHT_MAX {
                return;
            }
            let (operation, at) = piece(&mut record.task, record.posted);
            let endpoint = match self.connect(shared, at) {
                Ok(endpoint) => endpoint,
                Err(error) => {
                    let failure = match error {
                        Error::Connect(_) => Failure::PeerLost(shared.reach.addresses().rank(at)),
                        _ => Failure::OutOfBounds(at),
                    };
                    if let Some(record) = self.records.get_mut(&id) {
                        record.failure = Some(failure);
                    }
                    continue;
                }
            };
            match self.port.post(shared.clock.now(), endpoint, operation, Token(id)) {
                Ok(()) => {
                    if let Some(record) = self.records.get_mut(&id) {
                        record.posted += 1;
                        record.out += 1;
                    }
                }
                Err(PostError::Full) => return,
                Err(error) => unreachable!("connected, and nothing is a write: {error}"),
            }
        }
    }

    fn complete(&mut self, shared: &Shared, id: u64, result: Result<u64, Failure>) {
        let Some(record) = self.records.get_mut(&id) else { return };
        record.out -= 1;
        match result {
            Ok(word) => record.word = word,
            Err(failure) => drop(record.failure.get_or_insert(failure)),
        }
        if record.out == 0 && (record.posted == record.pieces || record.failure.is_some()) {
            self.end(shared, id);
        }
    }

    fn end(&mut self, shared: &Shared, id: u64) {
        let mut ending = vec![(id, None)];
        while let Some((id, doomed)) = ending.pop() {
            let Some(record) = self.records.get_mut(&id) else { continue };
            if let (None, false) = (doomed, record.begun) {
                self.begin(shared, id);
                continue;
            }
            record.failure = record.failure.or(doomed);
            record.ended = true;
            if let Task::Move { from: End::Buffer(buffer), .. } | Task::Move { to: End::Buffer(buffer), .. } = &mut record.task {
                buffer.reclaim();
            }
            let failure = record.failure;
            if !record.keep {
                self.remove(id);
                self.remember(id, failure);
            }
            ending.extend(self.order.end(id, failure));
        }
    }

    fn remove(&mut self, id: u64) -> Option<Record> {
        let record = self.records.remove(&id)?;
        self.captured -= record.task.captured();
        Some(record)
    }

    fn remember(&mut self, id: u64, failure: Option<Failure>) {
        if let Some(failure) = failure {
            if self.failures.len() == FAILURES_REMEMBERED_MAX {
                self.failures.pop_front();
            }
            self.failures.push_back(Failed { id, failure, told: false });
        }
    }

    fn connect(&mut self, shared: &Shared, address: GlobalAddress) -> Result<Endpoint> {
        let peer = shared.reach.addresses().rank(address);
        if let Some(&endpoint) = self.endpoints.get(&peer) {
            return Ok(endpoint);
        }
        if peer.number() >= shared.size {
            return Err(Failure::OutOfBounds(address).into());
        }
        let published = shared.address_of(peer, self.port.with(|transport| transport.capabilities().name))?;
        let endpoint = self.port.with(|transport| transport.connect(peer, &published))?;
        self.endpoints.insert(peer, endpoint);
        Ok(endpoint)
    }
}

/// The `index`-th operation for the transport, and the address whose owner it is posted to.
fn piece(task: &mut Task, index: u64) -> (Operation<'static>, GlobalAddress) {
    match task {
        Task::Atomic { at, width, operator, operand } => {
            (Operation::Atomic { at: *at, width: *width, operator: *operator, operand: *operand }, *at)
        }
        Task::Move { from, to, from_shape, to_shape } => {
            let bytes = from_shape.block;
            let (from_offset, to_offset) = (from_shape.offset(index), to_shape.offset(index));
            let further = |address: GlobalAddress, offset| GlobalAddress::from_bits(address.bits().wrapping_add(offset));
            let part = |buffer: &mut Buffer, offset| buffer.lend().part(offset, bytes).expect("the buffer holds the shape");
            match (from, to) {
                (End::Buffer(buffer), End::Global(to)) => {
                    let to = further(*to, to_offset);
                    (Operation::Put { from: part(buffer, from_offset), to }, to)
                }
                (End::Global(from), End::Buffer(buffer)) => {
                    let from = further(*from, from_offset);
                    (Operation::Get { from, to: part(buffer, to_offset) }, from)
                }
                (End::Global(from), End::Global(to)) => {
                    let (from, to) = (further(*from, from_offset), further(*to, to_offset));
                    (Operation::Copy { from, to, bytes }, from)
                }
                (End::Buffer(_), End::Buffer(_)) => unreachable!("a move has a global end"),
            }
        }
    }
}
