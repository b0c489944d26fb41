//! The poster's side: accesses to the memory of peers, requests to their owners, and answers.

use pelago_base::{Failure, GlobalAddress};
use pelago_memory::{Cells, Region};
use pelago_platform::{Endpoint, Flags, Operation, PostError, Token, limits};
use zerocopy::IntoBytes;

use super::{Engine, FIRST, Known, Path, Posted, Scattered, Then, Use, Way, What, led_to};
use crate::fabric::{FiAddress, Local, Port, Refusal, Remote, Slot};
use crate::limits::{ACCESSES_PER_FREE_SLOT, LISTED_BLOCKS_MAX, REGIONS_KNOWN_MAX, REQUESTS_MAX, SIGNALLED_BYTES_MIN};
use crate::message::{Header, PAYLOAD_BYTES_MAX, kind, region};

/// The target of an access.
#[derive(Clone, Copy)]
struct Target {
    /// The first address of the region, and the key and address for the fabric.
    start: u64,
    remote: Remote,
    /// The rail, and the peer's address on it.
    rail: usize,
    address: FiAddress,
    /// The bits of [`region`].
    flags: u8,
}

impl Target {
    /// Whether a write can be an access; `can_notify`: the fabric can notify the owner of a write. A message notifies it of writes to a device.
    const fn takes_writes(&self, notify: bool, can_notify: bool) -> bool {
        let is_device = self.flags & region::DEVICE != 0;
        self.flags & region::READ_ONLY == 0 && (!notify || can_notify || is_device)
    }

    /// Whether a write must notify its owner through the fabric itself.
    const fn notifies(&self, notify: bool) -> bool {
        notify && self.flags & region::DEVICE == 0
    }
}

impl Engine {
    pub(crate) fn post(&mut self, to: Endpoint, operation: Operation<'_>, flags: Flags, token: Token) -> Result<(), PostError> {
        let (peer, lane) = led_to(to);
        if !self.is_connected(peer, lane) {
            return Err(PostError::Unknown(to));
        }
        // The fence takes effect even if the operation is refused.
        self.peers[peer].lanes[lane].fence |= flags.fence;
        let bytes = match operation {
            Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }
                if bytes.len() > pelago_base::limits::INJECT_SIZE =>
            {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Signalled { bytes, .. } if bytes.len() < SIGNALLED_BYTES_MIN => return Err(PostError::Signalled),
            Operation::Sized(_) => return Err(PostError::Sizes),
            Operation::PutBlocks { from_shape: shape, .. } | Operation::GetBlocks { to_shape: shape, .. } => {
                shape.bytes().map_err(|_| PostError::Blocks)?
            }
            Operation::Put { from: local, .. } | Operation::Get { to: local, .. } => local.bytes() as u64,
            Operation::Copy { bytes, .. } => bytes,
            Operation::Write { .. } | Operation::Signalled { .. } | Operation::Atomic { .. } => 0,
        };
        if self.ports.iter().any(|port| bytes > port.message_bytes_max()) {
            return Err(PostError::TooLong(bytes as usize));
        }
        if self.accepted == limits::COMPLETIONS_MAX {
            return Err(PostError::Full);
        }
        let (what, written) = match operation {
            Operation::Write { to, bytes } => (What::Write { to, bytes: Box::default() }, bytes),
            Operation::Put { from, to } => (What::Put { from: from.into(), to, source: GlobalAddress::NULL }, &[][..]),
            Operation::Get { from, to } => (What::Get { from, to }, &[][..]),
            Operation::Copy { from, to, bytes } => (What::Copy { from, to, bytes }, &[][..]),
            Operation::Atomic { at, width, operator, operand } => (What::Atomic { at, width, operator, operand }, &[][..]),
            Operation::PutBlocks { from, from_shape, to, blocks } => {
                let scattered = Scattered::new(true, (from, from_shape), (to, blocks), self.blocks_max)?;
                (What::Blocks(scattered.into()), &[][..])
            }
            Operation::GetBlocks { from, blocks, to, to_shape } => {
                let scattered = Scattered::new(false, (to, to_shape), (from, blocks), self.blocks_max)?;
                (What::Blocks(scattered.into()), &[][..])
            }
            Operation::Sized(_) => return Err(PostError::Sizes),
            Operation::Signalled { to, bytes, at, word } => (What::Signalled { to, bytes: bytes.into(), at, word }, &[][..]),
        };
        let (listed, result) = match &what {
            What::Blocks(scattered) => (scattered.listed(), scattered.result()),
            _ => (0, Ok(0)),
        };
        if self.listed + listed > LISTED_BLOCKS_MAX {
            return Err(PostError::Full);
        }
        self.accepted += 1;
        self.listed += listed;
        let fence = std::mem::take(&mut self.peers[peer].lanes[lane].fence);
        let key = self.operations.insert(Posted {
            what,
            peer,
            lane,
            then: Then::Complete { token, peer, lane, start: None },
            flags: Flags { fence, ..flags },
            begun: false,
            path: Path::Undecided,
            next: 0,
            is_sent: false,
            unanswered: 0,
            result,
        });
        if let What::Write { to, .. } = self.operations[key].what
            && self.write_now(key, to, written)
        {
            return Ok(());
        }
        if let What::Write { bytes, .. } = &mut self.operations[key].what {
            *bytes = written.into();
        }
        self.peers[peer].lanes[lane].queue.push_back(key);
        if flags.more && matches!(self.operations[key].what, What::Atomic { .. }) {
            self.held.insert(peer);
            return Ok(());
        }
        self.issue_all(peer);
        // An operation that was sent at once needs no further progress: the progress thread may continue to sleep.
        self.resume(peer);
        Ok(())
    }

    /// Writes bytes at once if nothing precedes them; they are copied only once, to the slot from which they are sent.
    fn write_now(&mut self, key: usize, to: GlobalAddress, bytes: &[u8]) -> bool {
        let Posted { peer, lane, flags, .. } = self.operations[key];
        let (way, posted) = (&self.peers[peer].way, &self.peers[peer].lanes[lane]);
        let is_next = matches!(way, Way::Open) && posted.queue.is_empty() && !(flags.fence && posted.started > 0);
        if !is_next || bytes.is_empty() {
            return false;
        }
        let Some(Ok(Some(target))) = self.target(peer, lane, to, bytes.len() as u64) else { return false };
        if !target.takes_writes(flags.notify, self.can_notify()) {
            return false;
        }
        let Target { remote, rail, address, .. } = target;
        let Some(slot) = self.slot_for(peer, rail) else { return false };
        let port = &mut self.ports[rail];
        port.memory(&slot).part(0, bytes.len() as u64).expect("a captured write fits a slot").write(bytes);
        let index = slot.index();
        if let Err((slot, refusal)) = port.write(slot, Local::Slot, bytes.len(), address, remote, target.notifies(flags.notify)) {
            self.refused(peer, rail, slot, refusal);
            return false;
        }
        self.operations[key].begun = true;
        self.peers[peer].lanes[lane].started += 1;
        self.access_began(key, index, target);
        true
    }

    /// Issues operations, in order, as far as there is space.
    pub(super) fn issue_all(&mut self, peer: usize) {
        if matches!(self.peers[peer].way, Way::Greeted | Way::Sought) {
            return;
        }
        while let Some(&key) = self.peers[peer].halves.front() {
            if !self.issue(key) {
                break;
            }
            self.peers[peer].halves.pop_front();
            self.settle(key);
        }
        for lane in 0..self.peers[peer].lanes.len() {
            self.issue_lane(peer, lane);
        }
    }

    fn issue_lane(&mut self, peer: usize, lane: usize) {
        while let Some(&key) = self.peers[peer].lanes[lane].queue.front() {
            if self.issue_atomics(peer, lane) {
                continue;
            }
            let operation = &mut self.operations[key];
            let posted = &mut self.peers[peer].lanes[lane];
            if !operation.begun {
                if operation.flags.fence && posted.started > 0 {
                    break;
                }
                operation.begun = true;
                posted.started += 1;
            }
            if !self.issue(key) {
                break;
            }
            self.peers[peer].lanes[lane].queue.pop_front();
            self.settle(key);
        }
    }

    /// Whether a write can notify its target by every rail.
    fn can_notify(&self) -> bool {
        self.ports.iter().all(Port::can_notify)
    }

    /// Issues an operation as far as possible; returns whether it was completely sent, or nothing of it needs to be sent any more.
    fn issue(&mut self, key: usize) -> bool {
        let operation = &self.operations[key];
        let peer = operation.peer;
        if let Way::Lost(failure) = self.peers[peer].way {
            self.operations[key].result = operation.result.and(Err(failure));
        }
        if self.operations[key].result.is_err() {
            self.operations[key].is_sent = true;
            return true;
        }
        if let Way::Around = self.peers[peer].way {
            self.issue_around(key);
            return true;
        }
        if let Way::Me = self.peers[peer].way {
            match self.perform(key) {
                Some(result) => {
                    self.operations[key].result = result;
                    self.operations[key].is_sent = true;
                }
                // Its second half completes it.
                None => drop(self.operations.remove(key)),
            }
            return true;
        }
        let is_sent = match self.operations[key].what {
            What::Atomic { at, width, operator, operand } => {
                self.request(key, Header::atomic(at, width, operator, operand), None)
            }
            What::Copy { from, to, bytes } => {
                let (at, other, whole) = (from.bits().into(), to.bits().into(), bytes.into());
                let request = Header { kind: kind::COPY, at, other, whole, ..Header::default() };
                match self.told_of(peer, to) {
                    Ok(Some(record)) => self.request(key, request, Some(&record)),
                    Ok(None) => false,
                    Err(failure) => {
                        self.operations[key].result = Err(failure);
                        true
                    }
                }
            }
            What::Blocks(_) => self.transfer_blocks(key),
            What::Signalled { .. } => self.write_signalled(key),
            _ => self.transfer(key),
        };
        if is_sent {
            self.operations[key].is_sent = true;
        }
        is_sent
    }

    /// Sends the request for a write with a signal, if there is space; returns whether it did.
    fn write_signalled(&mut self, key: usize) -> bool {
        let What::Signalled { to, ref mut bytes, at, word } = self.operations[key].what else { return true };
        let payload = std::mem::take(bytes);
        let (at, other, whole) = (to.bits().into(), at.bits().into(), (payload.len() as u64).into());
        let request = Header { kind: kind::PUT_SIGNALLED, at, other, whole, value: word.into(), ..Header::default() };
        let is_sent = self.request(key, request, Some(&payload));
        if !is_sent && let What::Signalled { bytes, .. } = &mut self.operations[key].what {
            *bytes = payload;
        }
        is_sent
    }

    /// Returns the published address of the target of a copy, for a peer that may not know it (empty if not needed); `None` while it is being obtained.
    fn told_of(&mut self, peer: usize, to: GlobalAddress) -> Result<Option<Vec<u8>>, Failure> {
        let target = self.layout.rank(to);
        let is_known = target == self.me || target == self.peers[peer].rank || target.number() >= self.layout.ranks();
        if !self.seeks || is_known {
            return Ok(Some(Vec::new()));
        }
        if let Some(&known) = self.by_rank.get(&target)
            && let Way::Lost(failure) = self.peers[known].way
        {
            return Err(failure);
        }
        let record = self.records.get(&target).map(|record| record.0.to_vec());
        if record.is_none() {
            self.seek(target);
        }
        Ok(record)
    }

    /// Issues a transfer as far as possible; returns whether it was completely sent.
    fn transfer(&mut self, key: usize) -> bool {
        let operation = &self.operations[key];
        let Posted { peer, lane, flags: Flags { notify, .. }, .. } = *operation;
        let (at, bytes) = match &operation.what {
            What::Write { to, bytes } => (*to, bytes.len() as u64),
            What::Put { from, to, .. } => (*to, from.bytes()),
            What::Get { from, to } => (*from, to.bytes() as u64),
            What::Copy { .. } | What::Atomic { .. } | What::Blocks(_) | What::Signalled { .. } => return true,
        };
        if operation.path == Path::Undecided {
            match self.target(peer, lane, at, bytes) {
                _ if bytes == 0 => self.operations[key].path = Path::Requests,
                None => {
                    let request = Header { kind: kind::LOOKUP, at: at.bits().into(), ..Header::default() };
                    if self.request(key, request, None) {
                        self.operations[key].path = Path::Looking;
                    }
                }
                Some(Err(failure)) => {
                    self.operations[key].result = Err(failure);
                    return true;
                }
                Some(Ok(Some(target))) if self.is_access(key, &target, notify) => {
                    if self.access(key, target) {
                        return true;
                    }
                }
                Some(Ok(_)) => self.operations[key].path = Path::Requests,
            }
        }
        if self.operations[key].path != Path::Requests {
            return false;
        }
        // A transfer of no bytes is a request too.
        let mut is_first = self.operations[key].next == 0;
        while std::mem::take(&mut is_first) || self.operations[key].next < bytes {
            let next = self.operations[key].next;
            let piece = (bytes - next).min(PAYLOAD_BYTES_MAX as u64);
            let request = Header { at: at.bits().into(), whole: bytes.into(), skip: next.into(), ..Header::default() };
            let is_sent = match &self.operations[key].what {
                What::Get { .. } => {
                    let request = Header { kind: kind::GET, value: piece.into(), ..request };
                    self.request(key, request, None)
                }
                what => {
                    let request = Header { kind: kind::PUT, ..request };
                    match what.piece(next, piece) {
                        Ok(payload) => self.request(key, request, Some(&payload)),
                        Err(failure) => {
                            self.operations[key].result = Err(failure);
                            true
                        }
                    }
                }
            };
            if !is_sent {
                return false;
            }
            self.operations[key].next = next + piece;
            if self.operations[key].result.is_err() {
                return true;
            }
        }
        true
    }

    /// Whether a transfer is an access of the fabric, and not a request to the owner.
    fn is_access(&self, key: usize, target: &Target, notify: bool) -> bool {
        match self.operations[key].what {
            What::Get { .. } => true,
            What::Put { from: Region::Device(_), source, .. } if self.local_device(source, target.rail).is_none() => false,
            _ => target.takes_writes(notify, self.can_notify()),
        }
    }

    /// Returns the target of an access to a peer's memory: `None` if the region is unknown, a failure if the bytes are not inside one region, and no target if
    /// the access must be a request to the owner.
    fn target(&self, peer: usize, lane: usize, at: GlobalAddress, bytes: u64) -> Option<Result<Option<Target>, Failure>> {
        let entry = &self.peers[peer];
        let (&start, known) = entry.known.range(..=at.bits()).next_back()?;
        let offset = at.bits() - start;
        if known.is_revoked || offset >= known.bytes {
            return None;
        }
        if bytes > known.bytes - offset {
            return Some(Err(Failure::OutOfBounds(at)));
        }
        // The first rail is used unless the other one is known to reach the peer and the region.
        let own = entry.lanes[lane].address.filter(|_| lane < known.remotes.len()).map(|address| (lane, address));
        let (rail, address) = own.unwrap_or((FIRST, entry.address));
        let place = |remote: &Remote| {
            let remote = Remote { address: remote.address + offset, ..*remote };
            Target { start, remote, rail, address, flags: known.flags }
        };
        Some(Ok(known.remotes.get(rail).map(place)))
    }

    /// Starts an access, if there is space; returns whether it did. A transfer whose local memory cannot be registered continues by requests.
    fn access(&mut self, key: usize, target: Target) -> bool {
        let Target { remote, rail, address, .. } = target;
        let device = match self.operations[key].what {
            What::Put { from: Region::Device(_), source, .. } => self.local_device(source, rail),
            _ => None,
        };
        let peer = self.operations[key].peer;
        let Some(slot) = self.slot_for(peer, rail) else { return false };
        let port = &mut self.ports[rail];
        let (index, Posted { flags, what, .. }) = (slot.index(), &self.operations[key]);
        let notify = target.notifies(flags.notify);
        let begun = match (what, device) {
            (What::Get { to, .. }, _) => port.read(slot, *to, address, remote),
            (What::Put { from: Region::Host(from), .. }, _) => {
                port.write(slot, Local::Memory(*from), from.bytes(), address, remote, notify)
            }
            (What::Put { from: Region::Device(from), .. }, Some(local)) => {
                port.write(slot, local, from.bytes() as usize, address, remote, notify)
            }
            (What::Write { bytes, .. }, _) => {
                port.memory(&slot).part(0, bytes.len() as u64).expect("a captured write fits a slot").write(bytes);
                port.write(slot, Local::Slot, bytes.len(), address, remote, notify)
            }
            _ => Err((slot, Refusal::Again)),
        };
        match begun {
            Ok(()) => {
                self.access_began(key, index, target);
                true
            }
            Err((slot, Refusal::Unregistered)) => {
                self.ports[rail].give_back(slot);
                self.operations[key].path = Path::Requests;
                false
            }
            Err((slot, refusal)) => {
                self.refused(peer, rail, slot, refusal);
                false
            }
        }
    }

    /// Takes a slot of a rail for an access to a peer, unless those in flight to it already hold its share.
    fn slot_for(&mut self, peer: usize, rail: usize) -> Option<Slot> {
        let (held, port) = (self.peers[peer].accesses, &mut self.ports[rail]);
        if held > ACCESSES_PER_FREE_SLOT * port.free_slots() { None } else { port.take() }
    }

    fn access_began(&mut self, key: usize, slot: usize, Target { start, rail, .. }: Target) {
        self.uses[rail][slot] = Use::Access(key);
        let operation = &mut self.operations[key];
        (operation.path, operation.is_sent) = (Path::Access(start), true);
        operation.unanswered += 1;
        let peer = &mut self.peers[operation.peer];
        peer.accesses += 1;
        if let Some(known) = peer.known.get_mut(&start) {
            known.in_flight += 1;
        }
    }

    /// Handles the end of an access: the provider no longer uses its memory.
    pub(super) fn access_ended(&mut self, key: usize, result: Result<(), i32>) {
        let operation = &mut self.operations[key];
        let (peer, path) = (operation.peer, operation.path);
        operation.unanswered -= 1;
        self.peers[peer].accesses -= 1;
        let at = operation.what.at();
        match (result, &self.peers[peer].way) {
            (Ok(()), _) => self.peers[peer].was_heard = true,
            // The owner's provider has refused the key.
            (Err(libc::EACCES | libc::EPERM | libc::EKEYREJECTED), _) => operation.result = Err(Failure::OutOfBounds(at)),
            (Err(_), Way::Lost(_)) => {}
            (Err(_), way) => {
                let is_around = matches!(way, Way::Around);
                match operation.what {
                    What::Get { .. } => operation.path = Path::Requests,
                    _ => operation.result = Err(Failure::PeerLost(self.peers[peer].rank)),
                }
                if is_around && operation.result.is_ok() {
                    self.hand_over(key);
                } else {
                    self.fabric_lost(peer);
                }
            }
        }
        if let Path::Access(start) = path
            && let Some(known) = self.peers[peer].known.get_mut(&start)
        {
            known.in_flight -= 1;
            if known.is_revoked && known.in_flight == 0 {
                self.forget(peer, start);
            }
        }
        self.settle(key);
    }

    /// Whether the number of unanswered requests permits another one of an operation, and no message waits for space.
    pub(super) fn may_request(&self, key: usize) -> bool {
        let (peer, count) = (self.operations[key].peer, usize::from(self.operations[key].is_half()));
        let asked = &self.peers[peer];
        asked.unanswered[count] < REQUESTS_MAX && asked.outbox.is_empty() && !asked.is_failing
    }

    /// Sends a request of an operation, if there is space and the number of unanswered requests permits it; returns whether it did.
    pub(super) fn request(&mut self, key: usize, header: Header, payload: Option<&[u8]>) -> bool {
        if !self.may_request(key) {
            return false;
        }
        let (peer, count) = (self.operations[key].peer, usize::from(self.operations[key].is_half()));
        let asked = &self.peers[peer];
        let (nonce, from, id) = (asked.nonce.into(), self.me.number().into(), (key as u32).into());
        let header = Header { nonce, from, id, ..header };
        let message = [header.as_bytes(), payload.unwrap_or_default()].concat();
        let is_sent = self.send(peer, &message);
        if is_sent {
            self.operations[key].unanswered += 1;
            self.peers[peer].unanswered[count] += 1;
        }
        is_sent
    }

    /// Handles an answer. One for which no operation waits is ignored.
    pub(super) fn take_answer(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        let key = header.id.get() as usize;
        let waits = |posted: &&mut Posted| {
            posted.peer == peer && posted.unanswered > 0 && !matches!(posted.path, Path::Access(_) | Path::Around)
        };
        let Some(operation) = self.operations.get_mut(key).filter(waits) else { return self.return_unused(peer, header) };
        let count = usize::from(operation.is_half());
        operation.unanswered -= 1;
        let looked = operation.path == Path::Looking;
        if looked {
            operation.path = Path::Undecided;
        }
        match (header.kind, header.result()) {
            (kind::REGION, _) if looked => self.know(peer, header, payload),
            (kind::ELSEWHERE, _) => self.elsewhere(key),
            (kind::DATA, _) => {
                let skip = header.skip.get();
                let is_stored = match &operation.what {
                    What::Get { to, .. } => to.part(skip, payload.bytes() as u64).map(|piece| piece.copy_from(payload)).is_some(),
                    What::Blocks(scattered) => scattered.store(skip, &payload.to_vec()),
                    _ => false,
                };
                if !is_stored {
                    operation.result = operation.result.and(Err(Failure::OutOfBounds(operation.what.at())));
                }
            }
            (_, Some(Ok(found))) if operation.result.is_ok() => operation.result = Ok(found),
            (_, Some(Err(failure))) => operation.result = operation.result.and(Err(failure)),
            _ => {}
        }
        let unanswered = &mut self.peers[peer].unanswered[count];
        *unanswered = unanswered.saturating_sub(1);
        self.resume(peer);
        self.settle(key);
    }

    /// Ends an operation that was completely sent and has no unanswered request.
    pub(super) fn settle(&mut self, key: usize) {
        if self.operations.get(key).is_some_and(|operation| operation.is_sent && operation.unanswered == 0) {
            self.end(key);
        }
    }

    /// Stores the key of a region of a peer.
    fn know(&mut self, peer: usize, header: &Header, others: Cells<'static>) {
        let words: Vec<u64> = others.to_vec().as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
        let others = words.as_chunks().0.iter().map(|&[key, address]| Remote { key, address });
        let first = Remote { key: header.value.get(), address: header.other.get() };
        let remotes: Vec<Remote> = std::iter::once(first).chain(others).take(header.code.into()).collect();
        let bytes = header.whole.get();
        let known = &mut self.peers[peer].known;
        if let Some(known) = known.get_mut(&header.at.get()) {
            // Several operations have requested the key, and accesses after the first answer may be in flight.
            (known.bytes, known.remotes, known.flags) = (bytes, remotes, header.operator);
            known.loans += 1;
            return;
        }
        if known.len() >= REGIONS_KNOWN_MAX {
            let unused = known.iter().find(|(_, known)| known.in_flight == 0).map(|(&start, _)| start);
            unused.into_iter().for_each(|start| self.forget(peer, start));
        }
        self.peers[peer]
            .known
            .insert(header.at.get(), Known { bytes, remotes, flags: header.operator, in_flight: 0, is_revoked: false, loans: 1 });
    }

    /// Handles a peer's revocation of a region that it deregisters.
    pub(super) fn revoked(&mut self, peer: usize, start: GlobalAddress) {
        match self.peers[peer].known.get_mut(&start.bits()) {
            Some(known) if known.in_flight > 0 => known.is_revoked = true,
            _ => self.forget(peer, start.bits()),
        }
    }

    /// Drops the key of a region and returns all its grants to the owner. Grants of a key dropped earlier were returned then.
    fn forget(&mut self, peer: usize, start: u64) {
        if let Some(Known { loans, .. }) = self.peers[peer].known.remove(&start) {
            let header = Header { kind: kind::REVOKED, at: start.into(), value: loans.into(), ..Header::default() };
            self.tell(peer, header, &[]);
        }
    }
}

impl Posted {
    /// Whether it is the second half of a copy.
    const fn is_half(&self) -> bool {
        matches!(self.then, Then::Answer { .. } | Then::Complete { start: Some(_), .. })
    }
}

impl What {
    /// Number of bytes that are moved.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Write { bytes, .. } | Self::Signalled { bytes, .. } => bytes.len() as u64,
            Self::Put { from, .. } => from.bytes(),
            Self::Get { to, .. } => to.bytes() as u64,
            Self::Copy { bytes, .. } => *bytes,
            Self::Atomic { width, .. } => width.bytes(),
            Self::Blocks(scattered) => scattered.bytes,
        }
    }

    /// The first address of the peer that is accessed.
    fn at(&self) -> GlobalAddress {
        match self {
            Self::Write { to, .. } | Self::Put { to, .. } | Self::Signalled { to, .. } => *to,
            Self::Get { from, .. } | Self::Copy { from, .. } => *from,
            Self::Atomic { at, .. } => *at,
            Self::Blocks(scattered) => scattered.at(),
        }
    }

    /// A piece of the bytes that are written.
    fn piece(&self, skip: u64, bytes: u64) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Write { bytes: all, .. } => Ok(all[skip as usize..][..bytes as usize].to_vec()),
            Self::Put { from, source, .. } => {
                let piece = from.part(skip, bytes).ok_or(Failure::OutOfBounds(*source))?;
                piece.to_vec().map_err(|_| Failure::Device(*source))
            }
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::around_tests::{STEP, known};
    use crate::fabric::mock::{Profile, World};
    use pelago_platform::Registry;

    /// Each answer grants the key of a region; dropping the key returns all grants that have arrived.
    #[test]
    fn a_region_is_given_back_as_often_as_it_was_lent() {
        let mut job = known(World::provider(Profile::CXI, 1, 0));
        let [owner, poster] = [job.connect(0, 1), job.connect(1, 0)].map(|endpoint| endpoint.0 as usize);
        job.look(50, STEP);
        let at = job.at(1, 0);
        let answer = Header { kind: kind::REGION, code: 1, at: at.bits().into(), whole: 8192.into(), ..Header::default() };
        let nothing = Cells::from_mut(Vec::<u64>::new().leak());
        // The answers themselves arrive below: no operation of the poster waits for them.
        {
            let mut engine = job.ends[1].shared.lock();
            engine.regions.get_mut(at).unwrap().1.lent_to.insert(poster, 3);
            engine.peers[poster].lent.insert(at.bits());
        }
        let know = |engine: &mut Engine, times: u32| (0..times).for_each(|_| engine.know(owner, &answer, nothing));
        know(&mut job.ends[0].shared.lock(), 2);
        job.ends[0].shared.lock().forget(owner, at.bits());
        job.look(50, STEP);
        // The third answer arrives now.
        know(&mut job.ends[0].shared.lock(), 1);
        assert!(!job.ends[1].deregister(at), "it is lent once more");
        job.look(50, STEP);
        assert!(job.ends[1].deregister(at));
    }
}
