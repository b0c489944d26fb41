//! Features of only some networks (two-sided messages, and sizes without bytes) are available through every layer, and each layer applies to them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use pelago_base::{AddressLayout, Duration, Event, GlobalAddress, Instant, Rank, SegmentId, Team};
use pelago_kit::{Count, Fault, Faults, Loopback, Split, Trace};
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Failure, Flags, Network, Operation, PostError, Rail,
    ReductionGroup, ReductionOperator, Reductions, Registry, Token, Transfer, Transport, TwoSided,
};

const RANKS: u32 = 3;

/// Maximum size of a transfer whose bytes are moved.
const DATA_BYTES_MAX: u64 = 64;

/// State shared by the ends of a network.
#[derive(Default)]
struct Shared {
    /// The inbox of each rank.
    inboxes: [VecDeque<(Rank, Box<[u8]>)>; RANKS as usize],
    /// Transfers, in the order in which they reached the network.
    sizes: Vec<Transfer>,
    flushes: u32,
}

/// An end of a network with all optional features. Messages and transfers arrive at once and complete at the next progress.
struct Postal {
    inner: Box<dyn Transport>,
    capabilities: Capabilities,
    me: Rank,
    shared: Arc<Mutex<Shared>>,
    done: Vec<Token>,
    results: VecDeque<u64>,
}

impl Postal {
    fn ends() -> Vec<Self> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let ends = Loopback::network(layout(), RANKS).into_iter().zip((0..RANKS).map(Rank::new));
        let end = |(inner, me): (Loopback, Rank)| {
            let capabilities = Capabilities { data_bytes_max: DATA_BYTES_MAX, ..*inner.capabilities() };
            Self { inner: Box::new(inner), capabilities, me, shared: shared.clone(), done: Vec::new(), results: VecDeque::new() }
        };
        let mut ends: Vec<_> = ends.map(end).collect();
        ends.iter_mut().for_each(connect_all);
        ends
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }
}

impl Transport for Postal {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let Operation::Sized(transfer) = operation else { return self.inner.post(now, to, operation, flags, token) };
        self.shared().sizes.push(transfer);
        self.done.push(token);
        Ok(())
    }

    fn flush(&mut self, _now: Instant) {
        self.shared().flushes += 1;
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let moved = self.inner.progress(now, completed) | !self.done.is_empty();
        completed.extend(self.done.drain(..).map(|token| Completion { token, result: Ok(0) }));
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn before_sleep(&mut self) {}
}

impl Extensions for Postal {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        Some(self)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        Some(self)
    }
}

/// A network whose groups have one member.
impl Reductions for Postal {
    fn words_max(&mut self) -> usize {
        1
    }

    fn open(&mut self, members: &Team) -> Option<ReductionGroup> {
        (members.size() == 1).then_some(ReductionGroup(7))
    }

    fn contribute(
        &mut self,
        _now: Instant,
        to: ReductionGroup,
        _operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<(), PostError> {
        if to != ReductionGroup(7) {
            return Err(PostError::Group);
        }
        self.results.push_back(words[0]);
        self.done.push(token);
        Ok(())
    }

    fn take(&mut self, _of: ReductionGroup, into: &mut [u64]) -> bool {
        self.results.pop_front().map(|word| into[0] = word).is_some()
    }

    fn close(&mut self, _group: ReductionGroup) {
        self.results.clear();
    }
}

impl Network for Postal {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        Address(self.me.number().to_le_bytes().into())
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        self.inner.network().connect(rail, peer, address)
    }
}

impl TwoSided for Postal {
    fn send(&mut self, _now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let from = self.me;
        self.shared().inboxes[to.0 as usize].push_back((from, bytes.into()));
        self.done.push(token);
        Ok(())
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let me = self.me.index();
        self.shared().inboxes[me].pop_front()
    }
}

fn layout() -> AddressLayout {
    AddressLayout::new(RANKS, 4096).unwrap()
}

fn at(rank: u32) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::SYMMETRIC, 0).unwrap()
}

fn connect_all(end: &mut impl Transport) {
    for rank in (0..RANKS).map(Rank::new) {
        assert_eq!(end.network().connect(None, rank, &Address(rank.number().to_le_bytes().into())), Ok(Endpoint(rank.number())));
    }
}

/// The first end of a network in layers, and the second without any.
fn wrapped<T: Transport>(wrap: impl FnOnce(Postal) -> T) -> (T, Postal) {
    let mut ends = Postal::ends();
    let mut end = wrap(ends.remove(0));
    connect_all(&mut end);
    (end, ends.remove(0))
}

fn put(bytes: u64) -> Transfer {
    Transfer::Put { to: at(1), bytes }
}

/// Posts a transfer without a fence.
fn post_size(end: &mut impl Transport, now: Instant, to: Endpoint, transfer: Transfer, token: Token) -> Result<(), PostError> {
    end.post(now, to, Operation::Sized(transfer), Flags::NONE, token)
}

fn send(end: &mut impl Transport, now: Instant, to: u32, bytes: &[u8], token: u64) -> Result<(), PostError> {
    end.extensions().and_then(|end| end.two_sided()).expect("the network has messages").send(
        now,
        Endpoint(to),
        bytes,
        Token(token),
    )
}

fn take(end: &mut impl Transport) -> Option<(Rank, Vec<u8>)> {
    let taken = end.extensions().and_then(|end| end.two_sided()).expect("the network has messages").take();
    taken.map(|(from, bytes)| (from, bytes.into()))
}

/// Advances from deadline to deadline, until there is none.
fn completions(end: &mut impl Transport, now: &mut Instant) -> Vec<Completion> {
    let mut completed = Vec::new();
    for _ in 0..10_000 {
        let moved = end.progress(*now, &mut completed);
        match end.next_deadline() {
            _ if moved => *now = *now + Duration::from_nanoseconds(1),
            Some(deadline) => *now = deadline,
            None => return completed,
        }
    }
    panic!("never idle");
}

fn all_is_there(end: &mut impl Transport, peer: &mut Postal) {
    let mut now = Instant::ZERO;
    assert_eq!(end.network().capabilities().data_bytes_max, DATA_BYTES_MAX);
    assert_eq!(post_size(end, now, Endpoint(1), put(100), Token(7)), Ok(()));
    send(end, now, 1, b"there", 8).unwrap();
    let mut tokens: Vec<_> = completions(end, &mut now).iter().map(|completion| completion.token.0).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [7, 8]);
    assert_eq!(peer.shared().sizes, [put(100)]);
    assert_eq!(take(peer), Some((Rank::new(0), b"there".to_vec())));
    send(peer, now, 0, b"and back", 1).unwrap();
    assert_eq!(take(end), Some((Rank::new(1), b"and back".to_vec())));
    assert_eq!(take(end), None);
    end.flush(now);
    assert_eq!(peer.shared().flushes, 1);
    all_reductions_are_there(end, &mut now);
}

fn reductions(end: &mut impl Transport) -> &mut dyn Reductions {
    end.extensions().and_then(|end| end.reductions()).expect("the network has reductions")
}

fn contribute(end: &mut impl Transport, group: ReductionGroup) -> Result<(), PostError> {
    reductions(end).contribute(Instant::ZERO, group, ReductionOperator::Sum, &[5], Token(9))
}

fn all_reductions_are_there(end: &mut impl Transport, now: &mut Instant) {
    assert_eq!((reductions(end).words_max(), reductions(end).open(&Team::all(2))), (1, None));
    let group = reductions(end).open(&Team::all(1)).expect("one member");
    assert_eq!(contribute(end, ReductionGroup(1)), Err(PostError::Group));
    contribute(end, group).unwrap();
    assert_eq!(completions(end, now), [Completion { token: Token(9), result: Ok(0) }]);
    let mut word = [0];
    assert!(reductions(end).take(group, &mut word) && word == [5] && !reductions(end).take(group, &mut word));
    contribute(end, group).unwrap();
    reductions(end).close(group);
    assert!(!reductions(end).take(group, &mut word), "the layers pass on that the group is closed");
    completions(end, now);
}

/// Two networks as one; the first two ranks are on one node.
fn split(inter: Postal) -> Split<Postal, Postal, fn(Rank) -> bool> {
    let intra = Postal::ends().remove(0);
    Split::new(intra, inter, layout(), |rank| rank.number() < 2, |rank| Address(rank.number().to_le_bytes().into()))
}

#[test]
fn every_layer_has_what_is_inside() {
    let sink = (|_: &str| ()) as fn(&str);
    let check = |(mut end, mut peer): (Box<dyn Transport>, Postal)| all_is_there(&mut end, &mut peer);
    check(wrapped(|end| Box::new(Count::new(end)) as _));
    check(wrapped(|end| Box::new(Trace::new(end, sink)) as _));
    check(wrapped(|end| Box::new(Fault::new(end, layout(), Faults::default())) as _));
    let faults = Faults { seed: 1, delay_per_mille: 1000, ..Faults::default() };
    check(wrapped(|end| Box::new(Count::new(Trace::new(Fault::new(end, layout(), faults), sink))) as _));
}

#[test]
fn no_layer_has_what_is_not_inside() {
    let end = Loopback::network(layout(), 1).remove(0);
    let mut end = Count::new(Trace::new(Fault::new(end, layout(), Faults::default()), |_: &str| ()));
    assert!(end.extensions().is_none());
    assert_eq!(end.network().capabilities().data_bytes_max, u64::MAX);
    assert_eq!(post_size(&mut end, Instant::ZERO, Endpoint(0), put(1), Token(0)), Err(PostError::Sizes));
}

#[test]
fn two_networks_send_by_the_second_and_move_sizes_by_either() {
    let (mut end, mut peer) = wrapped(split);
    let mut now = Instant::ZERO;
    for (token, to) in [(1, 1), (2, 2)] {
        let get = Operation::Sized(Transfer::Get { from: at(to), bytes: 100 });
        end.post(now, Endpoint(to), get, Flags { fence: to == 1, ..Flags::NONE }, Token(token)).unwrap();
        send(&mut end, now, to, &[to as u8], 10 + token).unwrap();
    }
    assert_eq!(end.intra_node().shared().sizes, [Transfer::Get { from: at(1), bytes: 100 }]);
    assert_eq!(end.inter_node().shared().sizes, [Transfer::Get { from: at(2), bytes: 100 }]);
    assert_eq!(take(&mut peer), Some((Rank::new(0), vec![1])), "of a rank of its node too");
    let tokens: Vec<_> = completions(&mut end, &mut now).iter().map(|completion| completion.token.0).collect();
    assert_eq!(tokens, [1, 11, 2, 12], "with the tokens of the poster");
    assert_eq!(send(&mut end, now, 9, b"", 0), Err(PostError::Unknown(Endpoint(9))));
    send(&mut peer, now, 0, b"back", 0).unwrap();
    assert_eq!(take(&mut end), Some((Rank::new(1), b"back".to_vec())));
    assert_eq!(end.network().capabilities().data_bytes_max, DATA_BYTES_MAX);
}

#[test]
fn messages_and_sizes_are_counted() {
    let (mut end, mut peer) =
        wrapped(|end| Count::new(Fault::new(end, layout(), Faults { seed: 1, full_per_mille: 500, ..Faults::default() })));
    let mut now = Instant::ZERO;
    let accepted = (0..100).filter(|&token| send(&mut end, now, 1, b"", token).is_ok()).count() as u64;
    let get = Transfer::Get { from: at(1), bytes: 100 };
    let copy = Transfer::Copy { from: at(1), to: at(2), bytes: 100 };
    for transfer in [put(100), get, copy] {
        while post_size(&mut end, now, Endpoint(1), transfer, Token(0)).is_err() {}
    }
    (0..2).for_each(|token| send(&mut peer, now, 0, b"", token).unwrap());
    while take(&mut end).is_some() {}
    completions(&mut end, &mut now);
    all_reductions_are_there(&mut end, &mut now);
    let counters = end.counters();
    let counts =
        [Event::MessagePosted, Event::MessageTaken, Event::PutPosted, Event::GetPosted, Event::CopyPosted, Event::Completed];
    assert_eq!(counts.map(|event| counters.lock().unwrap().of(event)), [accepted, 2, 1, 1, 1, accepted + 5]);
    assert_eq!(counters.lock().unwrap().of(Event::ContributionPosted), 2);
    assert!(counters.lock().unwrap().of(Event::PostRefused) >= 100 - accepted && accepted < 100);
}

#[test]
fn messages_and_sizes_are_told() {
    let mut lines = Vec::new();
    let mut ends = Postal::ends();
    let mut end = Trace::new(ends.remove(0), |line: &str| lines.push(line.to_owned()));
    let copy = Transfer::Copy { from: GlobalAddress::from_bits(0x1000), to: GlobalAddress::from_bits(0x2000), bytes: 9 };
    post_size(&mut end, Instant::from_picoseconds(5), Endpoint(1), copy, Token(3)).unwrap();
    send(&mut end, Instant::from_picoseconds(6), 1, b"four", 4).unwrap();
    send(&mut ends[0], Instant::ZERO, 0, b"back", 1).unwrap();
    take(&mut end).unwrap();
    end.progress(Instant::from_picoseconds(7), &mut Vec::new());
    all_reductions_are_there(&mut end, &mut Instant::from_picoseconds(9));
    let mut mute = Trace::new(Fault::new(ends.remove(0), layout(), Faults::default()), |line: &str| lines.push(line.to_owned()));
    send(&mut mute, Instant::from_picoseconds(8), 9, b"four", 5).unwrap_err();
    assert_eq!(
        lines,
        [
            "5 post 3 to 1: size of copy 9 bytes from 0x1000 to 0x2000",
            "6 post 4 to 1: message of 4 bytes",
            "6 take message of 4 bytes from rank 1",
            "7 complete 3: 0x0",
            "7 complete 4: 0x0",
            "0 refuse 9: Sum of 1 words in group 1: this rank takes no part in such a group of reductions",
            "0 contribute 9: Sum of 1 words in group 7",
            "9 complete 9: 0x0",
            "0 contribute 9: Sum of 1 words in group 7",
            "1009 complete 9: 0x0",
            "8 refuse 5 to 9: message of 4 bytes: Endpoint(9) is not connected",
        ]
    );
}

#[test]
fn messages_are_refused_and_overtaken_whatever_fences_say() {
    let faults = Faults { seed: 3, full_per_mille: 250, delay_per_mille: 500, peer_failed: None };
    let (mut end, mut peer) = wrapped(|end| Fault::new(end, layout(), faults));
    let mut now = Instant::ZERO;
    let (mut sent, mut fenced) = (Vec::new(), 0);
    for token in 0..40 {
        // The fence counts even if the transfer is refused.
        if token == 20 && end.post(now, Endpoint(1), Operation::Sized(put(1)), Flags::FENCE, Token(99)).is_ok() {
            fenced += 1;
        }
        if send(&mut end, now, 1, &[token as u8], token).is_ok() {
            sent.push(token as u8);
        }
    }
    assert!((20..38).contains(&sent.len()), "{sent:?}");
    assert_eq!(completions(&mut end, &mut now).len(), sent.len() + fenced);
    let mut taken: Vec<_> = std::iter::from_fn(|| take(&mut peer)).map(|(_, bytes)| bytes[0]).collect();
    assert!(taken.iter().position(|&token| token >= 20) < taken.iter().rposition(|&token| token < 20), "{taken:?}");
    taken.sort_unstable();
    assert_eq!(taken, sent, "each once");
}

#[test]
fn sizes_are_overtaken_but_not_past_a_fence() {
    let faults = Faults { seed: 3, delay_per_mille: 500, ..Faults::default() };
    let (mut end, peer) = wrapped(|end| Fault::new(end, layout(), faults));
    let mut now = Instant::ZERO;
    for bytes in 0..40 {
        if bytes == 20 {
            // A message does not block fences.
            send(&mut end, now, 1, b"between", 100).unwrap();
        }
        let flags = Flags { fence: bytes == 20, ..Flags::NONE };
        end.post(now, Endpoint(1), Operation::Sized(put(bytes)), flags, Token(bytes)).unwrap();
    }
    assert_eq!(completions(&mut end, &mut now).len(), 41);
    let order = peer.shared().sizes.clone();
    let sizes: Vec<_> = order.iter().map(|transfer| matches!(transfer, Transfer::Put { bytes, .. } if *bytes < 20)).collect();
    assert_eq!(sizes, [[true; 20], [false; 20]].concat());
    assert_ne!(order, (0..40).map(put).collect::<Vec<_>>(), "in another order");
}

/// Half of the posts are delayed. Behind a fence that waits for them, everything that it orders is delayed too.
#[test]
fn fences_and_messages_do_not_wait_for_each_other() {
    let faults = Faults { seed: 3, delay_per_mille: 500, ..Faults::default() };
    let now = Instant::ZERO;
    let arrived = |peer: &Postal| {
        let shared = peer.shared();
        (shared.inboxes[1].len(), shared.sizes.len())
    };
    let post_sizes = |end: &mut Fault<Postal>, first: Flags| {
        for token in 0..20 {
            let flags = if token == 0 { first } else { Flags::NONE };
            end.post(now, Endpoint(1), Operation::Sized(put(token)), flags, Token(token)).unwrap();
        }
    };
    let (mut end, peer) = wrapped(|end| Fault::new(end, layout(), faults));
    post_sizes(&mut end, Flags::NONE);
    let (_, sizes) = arrived(&peer);
    post_sizes(&mut end, Flags::FENCE);
    (0..20).for_each(|token| send(&mut end, now, 1, b"", token).unwrap());
    let (messages, still) = arrived(&peer);
    assert!(sizes == still && (5..15).contains(&messages), "{sizes}, {still}, {messages}");

    let (mut end, peer) = wrapped(|end| Fault::new(end, layout(), faults));
    (0..20).for_each(|token| send(&mut end, now, 1, b"", token).unwrap());
    post_sizes(&mut end, Flags::FENCE);
    let (_, sizes) = arrived(&peer);
    assert!((5..15).contains(&sizes), "{sizes}");
}

#[test]
fn a_lost_rank_gets_no_message_and_has_sent_none() {
    let lost = Rank::new(1);
    let faults = Faults { seed: 3, delay_per_mille: 500, peer_failed: Some((lost, 4)), ..Faults::default() };
    let (mut end, mut peer) = wrapped(|end| Fault::new(end, layout(), faults));
    let mut now = Instant::ZERO;
    send(&mut peer, now, 0, b"before", 0).unwrap();
    assert_eq!(take(&mut end), Some((lost, b"before".to_vec())));
    for token in 0..20 {
        send(&mut end, now, 1 + token as u32 % 2, &[token as u8], token).unwrap();
    }
    post_size(&mut end, now, Endpoint(1), put(100), Token(21)).unwrap();
    let completed = completions(&mut end, &mut now);
    assert_eq!(completed.len(), 21);
    for Completion { token, result } in completed {
        let failed = token.0 % 2 == 0 || token.0 == 21;
        assert_eq!(result.err(), failed.then_some(Failure::PeerLost(lost)), "{token:?}");
    }
    send(&mut peer, now, 0, b"after", 0).unwrap();
    assert_eq!(take(&mut end), None);
}
