//! A rank whose peers are simulated by the test, and two ranks between which a test carries the datagrams.

use pelago_base::{AddressLayout, AtomicOperator, Duration, GlobalAddress, Instant, Rank, SegmentId, Width};

use crate::wire::seal::Seal;
use crate::wire::{self, Acknowledgement, Frame, HEADER_BYTES, Header, Place, Reader, TAG_BYTES};
use crate::{Config, Conversations, Denied, Failure, Key, Memory, Rejected, Request, reseal};

pub(super) const RANKS: u32 = 3;
pub(super) const HEAP_BYTES: usize = 1 << 12;
pub(super) const KEY: Key = Key([3; 16]);
pub(super) const FAILURE_LIMIT: Duration = Duration::from_milliseconds(5_000);

/// Local memory of an operation, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Local(pub(super) u64);

/// Memory of a rank: one segment at the addresses of rank 0, and local memory of its operations, for which accesses out of bounds panic.
pub(super) struct Bytes {
    pub(super) heap: Vec<u8>,
    pub(super) local: Vec<u8>,
}

impl Bytes {
    pub(super) fn range(at: GlobalAddress, bytes: u64) -> Result<std::ops::Range<usize>, Denied> {
        let start = layout().offset(at);
        let is_here = layout().rank(at) == Rank::new(0) && start.checked_add(bytes).is_some_and(|end| end <= HEAP_BYTES as u64);
        if is_here { Ok(start as usize..(start + bytes) as usize) } else { Err(Denied::Outside) }
    }
}

impl Memory for Bytes {
    type Local = Local;

    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        into.copy_from_slice(self.heap.get(Self::range(from, into.len() as u64)?).ok_or(Denied::Outside)?);
        Ok(())
    }

    fn read_local(&self, _: &Local, offset: u64, into: &mut [u8]) {
        into.copy_from_slice(&self.local[offset as usize..][..into.len()]);
    }

    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        Self::range(at, bytes).map(drop)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        self.heap[Self::range(to, bytes.len() as u64)?].copy_from_slice(bytes);
        Ok(())
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)> {
        let (from, to) = (Self::range(from, bytes).expect("checked"), Self::range(to, bytes).expect("checked"));
        self.heap.copy_within(from, to.start);
        Ok(())
    }

    fn atomic(&mut self, at: GlobalAddress, _: Width, _: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        self.heap[Self::range(at, 1)?][0] += operand as u8;
        Ok(0)
    }

    fn write_local(&mut self, _: &Local, offset: u64, bytes: &[u8]) {
        self.local[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

/// Rank 0; the test sends datagrams in the name of the other ranks.
pub(super) struct Scene {
    pub(super) me: Conversations<Bytes>,
    pub(super) memory: Bytes,
    pub(super) now: Instant,
    /// The latest transmission number of the other ranks, and the next sequence number of each.
    pub(super) transmission: u64,
    pub(super) next: [u64; RANKS as usize],
}

/// A datagram that rank 0 has sent.
pub(super) struct Heard {
    pub(super) place: Option<Place>,
    pub(super) frames: Vec<u8>,
}

pub(super) fn layout() -> AddressLayout {
    AddressLayout::new(RANKS, HEAP_BYTES as u64).unwrap()
}

pub(super) fn at(rank: u32, offset: u64) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::new(1).unwrap(), offset).unwrap()
}

/// Returns an acknowledgement of everything below `next`.
pub(super) fn received(next: u64) -> Acknowledgement {
    let nothing = Acknowledgement::parse(&mut Reader(&[0; 64])).unwrap();
    Acknowledgement { next, receive_window: 1000, datagram_bytes: 1200, ..nothing }
}

pub(super) fn endpoint(me: u32) -> Conversations<Bytes> {
    Conversations::new(config(me))
}

pub(super) fn config(me: u32) -> Config {
    Config {
        me: Rank::new(me),
        incarnation: 1,
        layout: layout(),
        key: KEY,
        encrypt: false,
        failure_limit: FAILURE_LIMIT,
        receive_window_bytes: 1 << 20,
    }
}

pub(super) fn memory() -> Bytes {
    Bytes { heap: vec![0; HEAP_BYTES], local: vec![0; 8] }
}

impl Scene {
    pub(super) fn new() -> Self {
        let (mut me, memory) = (endpoint(0), memory());
        for rank in 1..RANKS {
            me.connect(Rank::new(rank), 1200);
        }
        Self { me, memory, now: Instant::ZERO, transmission: 0, next: [0; RANKS as usize] }
    }

    /// Submits a request to rank 1, and returns the datagrams that are sent for it.
    pub(super) fn submit(&mut self, request: Request<'_, Local>, token: u64) -> Vec<Heard> {
        let peer = self.me.connect(Rank::new(1), 1200);
        self.me.submit(self.now, peer, request, token).unwrap();
        self.listen(1)
    }

    pub(super) fn write(&mut self, token: u64) -> Vec<Heard> {
        self.submit(Request::Write { to: at(1, 0), bytes: b"8 bytes." }, token)
    }

    /// Returns all datagrams that rank 0 sends now to `rank`.
    pub(super) fn listen(&mut self, rank: u32) -> Vec<Heard> {
        let (mut buffer, mut heard) = ([0; 1 << 16], Vec::new());
        while let Some(transmit) = self.me.poll_transmit(self.now, &self.memory, &mut buffer, false) {
            let datagram = &mut buffer[..transmit.bytes];
            let header = Header::parse(datagram).unwrap();
            let body = Seal::new(KEY, false).open(header.nonce(transmit.to), datagram).unwrap();
            let mut reader = Reader(body);
            Acknowledgement::parse(&mut reader).unwrap();
            let place = header.sequenced.then(|| Place::parse(&mut reader, &header).unwrap());
            if transmit.to == Rank::new(rank) {
                heard.push(Heard { place, frames: reader.0.to_vec() });
            }
        }
        heard
    }

    /// Delivers a datagram with this place and these frames.
    pub(super) fn send(
        &mut self,
        from: u32,
        said: Acknowledgement,
        place: Option<Place>,
        frames: &[Frame<'_>],
    ) -> Result<(), Rejected> {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.append(&mut bytes));
        self.send_bytes(from, said, place, &bytes)
    }

    pub(super) fn send_bytes(
        &mut self,
        from: u32,
        said: Acknowledgement,
        place: Option<Place>,
        frames: &[u8],
    ) -> Result<(), Rejected> {
        let mut datagram = self.datagram(from, said, place, frames);
        self.me.handle_datagram(self.now, &mut datagram, &mut self.memory)
    }

    pub(super) fn datagram(&mut self, from: u32, said: Acknowledgement, place: Option<Place>, frames: &[u8]) -> Vec<u8> {
        self.transmission += 1;
        let mut datagram = vec![0; 1 << 16];
        let (fenced, transmission) = (place.is_some_and(|place| place.after != 0), self.transmission);
        let mut header = Header {
            from: Rank::new(from),
            incarnation: 1,
            sequenced: place.is_some(),
            fenced,
            urgent: true,
            transmission,
            bytes: 0,
        };
        let mut end = HEADER_BYTES + said.write(&mut datagram[HEADER_BYTES..]);
        if let Some(place) = place {
            end += place.write(&mut datagram[end..]);
        }
        datagram[end..end + frames.len()].copy_from_slice(frames);
        datagram.truncate(end + frames.len() + TAG_BYTES);
        header.bytes = datagram.len() as u16;
        header.write(&mut datagram);
        assert!(reseal(KEY, false, Rank::new(0), &mut datagram));
        datagram
    }

    /// Delivers these frames in the next datagram of a rank.
    pub(super) fn tell(&mut self, from: u32, frames: &[Frame<'_>]) -> Result<(), Rejected> {
        let sequence = self.next[from as usize];
        self.next[from as usize] += 1;
        self.send(from, received(0), Some(Place { sequence, after: 0 }), frames)
    }

    /// Acknowledges everything below `next`, and the numbers of `word` from there on.
    pub(super) fn acknowledge(&mut self, next: u64, word: u64) -> Result<(), Rejected> {
        let words_used = u8::from(word != 0);
        let mut said = Acknowledgement { words_used, ..received(next) };
        said.words[0] = word;
        self.send(1, said, None, &[])
    }

    /// Returns the completions since the last call.
    pub(super) fn ended(&mut self) -> Vec<(u64, Result<u64, Failure>)> {
        let completions = std::iter::from_fn(|| self.me.poll_completion());
        completions.map(|completion| (completion.token, completion.result)).collect()
    }

    /// Returns the operation number in a request.
    pub(super) fn operation(heard: &[Heard]) -> u32 {
        match wire::frames(&heard[0].frames).next() {
            Some(Some(Frame::Get { operation, .. } | Frame::Atomic { operation, .. } | Frame::Copy { operation, .. })) => {
                operation
            }
            frame => panic!("{frame:?}"),
        }
    }
}

/// Two ranks that follow the protocol, between which the test carries each datagram by hand.
pub(super) struct Pair(pub(super) [Conversations<Bytes>; 2]);

impl Pair {
    pub(super) fn next(&mut self, from: usize, now: Instant) -> Vec<u8> {
        let (mut buffer, memory) = ([0; 1 << 16], memory());
        let transmit = self.0[from].poll_transmit(now, &memory, &mut buffer, false).expect("there is something to send");
        buffer[..transmit.bytes].to_vec()
    }

    pub(super) fn take(&mut self, to: usize, now: Instant, mut datagram: Vec<u8>) {
        let _ = self.0[to].handle_datagram(now, &mut datagram, &mut memory());
    }

    pub(super) fn smoothed(&self, rank: usize) -> Duration {
        self.0[rank].peers[0].round_trip.smoothed()
    }
}
