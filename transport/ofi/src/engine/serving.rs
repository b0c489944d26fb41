//! The owner's side: requests of peers for this rank's memory.

use pelago_base::{AtomicOperator, Failure, GlobalAddress, Width};
use pelago_memory::{Cells, Region};
use pelago_platform::{Address, Flags};

use super::{Engine, FIRST, Own, OwnDevice, Path, Posted, Then, Way, What};
use crate::fabric::Remote;
use crate::message::{Header, PAYLOAD_BYTES_MAX, kind};

impl Engine {
    /// Performs a request of a peer. Invalid requests are answered with the failure for an address outside registered memory.
    pub(super) fn serve(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        let at = header.at();
        let done = match header.kind {
            kind::LOOKUP => return self.look_up(peer, header),
            kind::COPY => return self.copy(peer, header, payload),
            kind::ATOMICS => return self.atomics(peer, payload),
            kind::PUT => self.piece(header, payload.bytes() as u64).and_then(|piece| {
                self.touched = true;
                piece.copy_from(&payload.into()).map(|()| 0).map_err(|_| Failure::Device(at))
            }),
            kind::GET => {
                let bytes = header.value.get();
                let found = self.piece(header, bytes).and_then(|piece| piece.to_vec().map_err(|_| Failure::Device(at)));
                return self.tell_found(peer, header, found);
            }
            kind::PUT_SIGNALLED => {
                let at = GlobalAddress::from_bits(header.other.get());
                self.signalled(header.at(), &payload.to_vec(), at, header.value.get())
            }
            kind::PUT_BLOCKS => self.put_blocks(header, &payload.to_vec()),
            kind::GET_BLOCKS => {
                let found = self.get_blocks(header, &payload.to_vec());
                return self.tell_found(peer, header, found);
            }
            _ => self.atomic(header),
        };
        self.tell(peer, Header::answer(header.id, done), &[]);
    }

    /// Answers a request for bytes.
    fn tell_found(&mut self, peer: usize, header: &Header, found: Result<Vec<u8>, Failure>) {
        match found {
            Ok(bytes) => {
                let data = Header { kind: kind::DATA, id: header.id, skip: header.skip, ..Header::default() };
                self.tell(peer, data, &bytes);
            }
            Err(failure) => self.tell(peer, Header::answer(header.id, Err(failure)), &[]),
        }
    }

    /// Registered memory that is not being deregistered.
    pub(super) fn open_region(&self, at: GlobalAddress, bytes: u64) -> Result<Region<'static>, Failure> {
        let found = self.regions.find(at, bytes).filter(|(_, own)| !own.is_closing);
        found.map(|(memory, _)| memory).ok_or(Failure::OutOfBounds(at))
    }

    /// A piece of a transfer that is inside one region as a whole (T8).
    fn piece(&self, header: &Header, bytes: u64) -> Result<Region<'static>, Failure> {
        let whole = self.open_region(header.at(), header.whole.get())?;
        let piece = whole.part(header.skip.get(), bytes).filter(|_| bytes <= PAYLOAD_BYTES_MAX as u64);
        piece.ok_or(Failure::OutOfBounds(header.at()))
    }

    pub(super) fn atomic(&mut self, header: &Header) -> Result<u64, Failure> {
        let at = header.at();
        let (width, operator) = header.atomic_asked().ok_or(Failure::OutOfBounds(at))?;
        self.touched = true;
        let found = self.open_region(at, width.bytes())?.atomic(width, operator, header.value.get());
        found.map_err(|_| Failure::Device(at))?.ok_or(Failure::Misaligned(at))
    }

    /// Writes bytes, and then their signal word, unless one of both is outside registered memory.
    fn signalled(&mut self, to: GlobalAddress, bytes: &[u8], at: GlobalAddress, word: u64) -> Result<u64, Failure> {
        let (target, signal) = (self.open_region(to, bytes.len() as u64)?, self.open_region(at, 8)?);
        self.touched = true;
        target.write(bytes).map_err(|_| Failure::Device(to))?;
        let swapped = signal.atomic(Width::Eight, AtomicOperator::Swap, word).map_err(|_| Failure::Device(at))?;
        swapped.ok_or(Failure::Misaligned(at)).map(|_| 0)
    }

    /// Grants the key of a region.
    fn look_up(&mut self, peer: usize, header: &Header) {
        let at = header.at();
        let found = self
            .regions
            .at_or_before(at)
            .filter(|(start, memory, own)| !own.is_closing && at.bits() - start.bits() < memory.bytes());
        let Some((start, memory, own)) = found else {
            return self.tell(peer, Header::answer(header.id, Err(Failure::OutOfBounds(at))), &[]);
        };
        let mut remotes = own.registrations.iter().map(|registration| registration.remote);
        let (code, first) = (remotes.len() as u8, remotes.next());
        let region = Header {
            kind: kind::REGION,
            id: header.id,
            code,
            operator: own.device.as_ref().map_or(0, OwnDevice::flags),
            at: start.bits().into(),
            whole: memory.bytes().into(),
            value: first.map_or(0, |remote| remote.key).into(),
            other: first.map_or(0, |remote| remote.address).into(),
            ..Header::default()
        };
        let others: Vec<u8> = remotes.flat_map(|Remote { key, address }| [key, address]).flat_map(u64::to_le_bytes).collect();
        if let Some((_, own)) = self.regions.get_mut(start) {
            *own.lent_to.entry(peer).or_default() += 1;
        }
        self.peers[peer].lent.insert(start.bits());
        self.tell(peer, region, &others);
    }

    /// Handles the return of a key by a peer, for `loans` grants of it.
    pub(super) fn given_back(&mut self, peer: usize, start: GlobalAddress, loans: u64) {
        let Some((_, own)) = self.regions.get_mut(start) else { return };
        if let Some(lent) = own.lent_to.get_mut(&peer) {
            *lent = lent.saturating_sub(loans);
            // A key that was granted again meanwhile is still held.
            if *lent == 0 {
                own.lent_to.remove(&peer);
                self.peers[peer].lent.remove(&start.bits());
            }
        }
    }

    /// Performs a request for a copy. The message contains the published address of the target if the sender knows it and this rank may not.
    fn copy(&mut self, peer: usize, header: &Header, record: Cells<'static>) {
        let target = self.layout.rank(GlobalAddress::from_bits(header.other.get()));
        if record.bytes() > 0 && target != self.me && target.number() < self.layout.ranks() {
            let is_sought = |&peer: &usize| matches!(self.peers[peer].way, Way::Sought);
            if self.by_rank.get(&target).is_none_or(is_sought) {
                self.found(target, Ok(Address(record.to_vec())));
            }
        }
        let (from, to, bytes) = (header.at(), GlobalAddress::from_bits(header.other.get()), header.whole.get());
        let then = |start: GlobalAddress| Then::Answer { peer, id: header.id.get(), start: start.bits() };
        if let Some(result) = self.start_copy(from, to, bytes, then) {
            self.tell(peer, Header::answer(header.id, result), &[]);
        }
    }

    /// Copies memory of this rank. Returns the result, unless another rank owns the target: then the copy ends with `then`, which receives the first address
    /// of the region that is read.
    pub(super) fn start_copy(
        &mut self,
        from: GlobalAddress,
        to: GlobalAddress,
        bytes: u64,
        then: impl FnOnce(GlobalAddress) -> Then,
    ) -> Option<Result<u64, Failure>> {
        let source = match self.open_region(from, bytes) {
            Ok(source) => source,
            Err(failure) => return Some(Err(failure)),
        };
        let rank = self.layout.rank(to);
        if rank == self.me {
            self.touched = true;
            let is_host = matches!(source, Region::Host(_));
            let device = if is_host { to } else { from };
            let target = self.open_region(to, bytes);
            let copied = target.and_then(|target| target.copy_from(&source).map_err(|_| Failure::Device(device)));
            return Some(copied.map(|()| 0));
        }
        if rank.number() >= self.layout.ranks() || !self.layout.is_in_segment(to, bytes) {
            return Some(Err(Failure::OutOfBounds(to)));
        }
        let target = match self.reach(rank) {
            Ok(target) => target,
            Err(failure) => return Some(Err(failure)),
        };
        if let Way::Lost(failure) = self.peers[target].way {
            return Some(Err(failure));
        }
        let (start, ..) = self.regions.at_or_before(from)?;
        if let Some((_, own)) = self.regions.get_mut(start) {
            own.readers += 1;
        }
        let half = Posted {
            what: What::Put { from: source, to, source: from },
            peer: target,
            lane: FIRST,
            then: then(start),
            // The write notifies the target.
            flags: Flags::NOTIFY,
            begun: true,
            path: Path::Undecided,
            next: 0,
            is_sent: false,
            unanswered: 0,
            result: Ok(0),
        };
        let key = self.operations.insert(half);
        self.peers[target].halves.push_back(key);
        self.busy.insert(target);
        None
    }

    /// Records that a copy that read the region with this first address has ended.
    pub(super) fn stop_reading(&mut self, start: u64) {
        if let Some((_, Own { readers, .. })) = self.regions.get_mut(GlobalAddress::from_bits(start)) {
            *readers -= 1;
        }
    }

    /// Performs an operation on this rank's own memory; `None` if it continues at another rank.
    pub(super) fn perform(&mut self, key: usize) -> Option<Result<u64, Failure>> {
        let moved = match &self.operations[key].what {
            What::Write { to, bytes } => {
                self.open_region(*to, bytes.len() as u64).and_then(|target| target.write(bytes).map_err(|_| Failure::Device(*to)))
            }
            What::Put { from, to, .. } => {
                self.open_region(*to, from.bytes()).and_then(|target| target.copy_from(from).map_err(|_| Failure::Device(*to)))
            }
            What::Get { from, to } => self
                .open_region(*from, to.bytes() as u64)
                .and_then(|source| Region::Host(*to).copy_from(&source).map_err(|_| Failure::Device(*from))),
            What::Blocks(_) => self.perform_blocks(key).map(drop),
            What::Signalled { to, bytes, at, word } => {
                let (to, bytes, at, word) = (*to, bytes.clone(), *at, *word);
                self.signalled(to, &bytes, at, word).map(drop)
            }
            &What::Atomic { at, width, operator, operand } => {
                self.touched = true;
                return Some(self.atomic(&Header::atomic(at, width, operator, operand)));
            }
            &What::Copy { from, to, bytes } => {
                let Then::Complete { token, peer, lane, .. } = self.operations[key].then else { return Some(Ok(0)) };
                let then = |start: GlobalAddress| Then::Complete { token, peer, lane, start: Some(start.bits()) };
                return self.start_copy(from, to, bytes, then);
            }
        };
        self.touched = true;
        Some(moved.map(|()| 0))
    }
}
