//! The send queue: it groups datagrams into messages and handles the outcome of sending them, without system calls of its own.
//!
//! Datagrams lie in one buffer in their order, described by runs. A run leaves as one message that the kernel cuts, where the kernel
//! supports that, and otherwise datagram by datagram.
//!
//! Bytes of a datagram may lie elsewhere, in memory that is borrowed for one call that sends: the datagram then has a gap in the buffer. If the
//! kernel has no buffer space, the bytes are copied into the gaps before that call returns.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pelago_protocol::Gap;
use rustix::io::Errno;

use super::kernel::Message;
use super::name::{Name, canonical};
use crate::limits::{
    UDP_BATCH_BYTES, UDP_OUTGOING_BYTES, UDP_OUTGOING_DATAGRAMS_MAX, UDP_PAYLOAD_BYTES_MAX, UDP_RUN_BYTES_MAX,
    UDP_RUN_DATAGRAMS_MAX,
};

/// Numbers of datagrams of a batch by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Accepted by the kernel.
    pub sent: usize,
    /// Refused by the kernel and dropped, as if lost in the network: there is no route, or a filter forbids them.
    pub dropped: usize,
    /// Still in the batch, because the kernel has no buffer space now.
    pub left: usize,
}

/// Receiver of messages: the kernel, or a substitute in tests.
pub(super) trait Kernel {
    /// Takes the first messages, as many as there is space for, and returns their number; an error concerns the first message.
    fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) -> Result<usize, Errno>;
}

/// Datagrams in their order.
pub(super) struct Queue {
    bytes: Box<[u8]>,
    /// Offset of the first datagram: 0 except while sending.
    start: usize,
    /// Offset of the end of the last datagram.
    end: usize,
    datagrams: usize,
    /// Length of the last datagram, which is also the expected length of the next.
    last_bytes: usize,
    runs: VecDeque<Run>,
    /// Gaps in the buffer, in order, and the number of those whose datagrams have been sent.
    gaps: Vec<Gap>,
    gaps_sent: usize,
    /// Number of bytes that the gaps leave out.
    missing: usize,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; UDP_BATCH_BYTES].into(),
            start: 0,
            end: 0,
            datagrams: 0,
            last_bytes: 0,
            runs: VecDeque::with_capacity(UDP_OUTGOING_DATAGRAMS_MAX),
            gaps: Vec::with_capacity(UDP_OUTGOING_DATAGRAMS_MAX),
            gaps_sent: 0,
            missing: 0,
        }
    }

    /// Number of bytes of the buffer that are not sent yet.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.end - self.start
    }

    pub(super) fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// The destination of all runs; `None` if they have several or there are none.
    pub(super) fn destination(&self) -> Option<SocketAddr> {
        let first = self.runs.front()?.to;
        self.runs.iter().all(|run| run.to == first).then_some(first)
    }

    /// The only datagram; `None` if there are several or none, or if it has a gap.
    pub(super) fn only(&self) -> Option<&[u8]> {
        (self.datagrams == 1 && self.gaps.is_empty()).then(|| &self.bytes[self.start..self.end])
    }

    /// Empties the queue after everything, without gaps, has been sent.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        (self.datagrams, self.end) = (0, 0);
    }

    pub(super) fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        assert!(bytes <= UDP_PAYLOAD_BYTES_MAX, "a datagram of {bytes} bytes: at most {UDP_PAYLOAD_BYTES_MAX}");
        let filled = self.end + self.missing;
        if self.datagrams == UDP_OUTGOING_DATAGRAMS_MAX || self.datagrams > 0 && filled + self.last_bytes > UDP_OUTGOING_BYTES {
            return None;
        }
        self.bytes[self.end..UDP_BATCH_BYTES - self.missing].get_mut(..bytes)
    }

    /// Appends a datagram of `bytes` bytes, the bytes of the gap included. Space for these stays free, in case they have to be copied.
    pub(super) fn commit(&mut self, to: SocketAddr, bytes: usize, gap: Option<Gap>) {
        assert!(self.room(bytes).is_some(), "{bytes} bytes were committed without room for them");
        let to = canonical(to);
        match self.runs.back_mut().filter(|run| run.accepts(to, bytes)) {
            Some(run) => run.push(bytes),
            None => self.runs.push_back(Run::new(to, bytes)),
        }
        self.datagrams += 1;
        self.last_bytes = bytes;
        let missing = gap.map_or(0, |gap| gap.bytes);
        self.gaps.extend(gap.map(|gap| Gap { at: self.end + gap.at, ..gap }));
        self.missing += missing;
        self.end += bytes - missing;
    }

    /// Sends until nothing is left or the kernel has no buffer space, and lowers `segment_bytes_max` below lengths that the kernel does not cut.
    /// The bytes of gaps lie in `outside`.
    ///
    /// Each iteration removes a datagram or marks an unmarked run as refused, so that there are at most twice as many iterations as datagrams.
    pub(super) fn send_with(&mut self, outside: &[u8], segment_bytes_max: &AtomicUsize, kernel: &mut impl Kernel) -> Sent {
        let mut outcome = Sent::default();
        while let Some(first) = self.runs.front() {
            let limit = segment_bytes_max.load(Ordering::Relaxed);
            let (refused, cut) = (first.refused, first.is_cut(limit));
            match kernel.send(self.messages(outside, limit)) {
                Ok(0) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => break,
                Ok(taken) => {
                    // The datagrams pass uncut: the kernel had refused to cut, not the datagrams.
                    if let Some(limit) = refused {
                        segment_bytes_max.fetch_min(limit, Ordering::Relaxed);
                    }
                    outcome.sent += (0..taken).map(|_| self.take_message(limit)).sum::<usize>();
                }
                Err(error @ (Errno::INVAL | Errno::MSGSIZE | Errno::IO)) if cut => self.refuse_first(error),
                Err(_) => outcome.dropped += self.take_message(limit),
            }
        }
        self.make_room();
        self.fill_gaps(outside);
        outcome.left = self.datagrams;
        outcome
    }

    fn messages<'a>(&'a self, outside: &'a [u8], limit: usize) -> impl Iterator<Item = Message<'a>> + Clone {
        let (mut start, mut gaps) = (self.start, &self.gaps[self.gaps_sent..]);
        self.runs.iter().flat_map(move |run| run.lengths(limit).map(move |length| (run, length))).map(move |(run, length)| {
            let (end, inside) = extent(gaps, start, length);
            let (mine, others) = gaps.split_at(inside);
            let message = Message {
                to: &run.name,
                bytes: &self.bytes[start..end],
                start,
                gaps: mine,
                outside,
                cut_into: run.is_cut(limit).then_some(run.segment_bytes as u16),
            };
            (start, gaps) = (end, others);
            message
        })
    }

    /// Makes the first run leave datagram by datagram.
    fn refuse_first(&mut self, error: Errno) {
        if let Some(run) = self.runs.front_mut() {
            // Segments too long for the path say nothing about shorter ones; a device that cannot cut (`EIO`) cuts none.
            run.refused = Some(if error == Errno::IO { 0 } else { run.segment_bytes - 1 });
        }
    }

    /// Removes the first message and returns the number of its datagrams.
    fn take_message(&mut self, limit: usize) -> usize {
        let Some(run) = self.runs.front_mut() else { return 0 };
        let (bytes, datagrams) =
            if run.is_cut(limit) { (run.bytes, run.datagrams) } else { (run.segment_bytes.min(run.bytes), 1) };
        run.bytes -= bytes;
        run.datagrams -= datagrams;
        if run.datagrams == 0 {
            self.runs.pop_front();
        }
        self.datagrams -= datagrams;
        let (end, gaps) = extent(&self.gaps[self.gaps_sent..], self.start, bytes);
        (self.start, self.gaps_sent) = (end, self.gaps_sent + gaps);
        datagrams
    }

    /// Moves the remaining datagrams to the front of the buffer.
    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.gaps.drain(..std::mem::take(&mut self.gaps_sent));
        self.gaps.iter_mut().for_each(|gap| gap.at -= self.start);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Behaves as if the kernel had no buffer space.
    #[cfg(test)]
    pub(super) fn keep(&mut self, outside: &[u8]) -> Sent {
        self.fill_gaps(outside);
        Sent { left: self.datagrams, ..Sent::default() }
    }

    /// Copies the missing bytes of the remaining datagrams into the buffer, where space was kept free. Goes from the last gap to the first: the
    /// bytes behind each gap move by the size of this gap and all gaps before it.
    fn fill_gaps(&mut self, outside: &[u8]) {
        let mut missing: usize = self.gaps.iter().map(|gap| gap.bytes).sum();
        let (mut end, all) = (self.end, self.end + missing);
        while let Some(Gap { at, from, bytes }) = self.gaps.pop() {
            self.bytes.copy_within(at..end, at + missing);
            missing -= bytes;
            self.bytes[at + missing..][..bytes].copy_from_slice(&outside[from..][..bytes]);
            end = at;
        }
        (self.end, self.missing) = (all, 0);
    }
}

/// Returns the end in the buffer of a message that begins at `start` and has `length` bytes with its gaps, and the number of these gaps.
fn extent(gaps: &[Gap], start: usize, length: usize) -> (usize, usize) {
    let mut end = start + length;
    let inside = gaps.iter().take_while(|gap| {
        // A tag follows each gap in its datagram.
        let is_inside = gap.at + gap.bytes < end;
        end -= if is_inside { gap.bytes } else { 0 };
        is_inside
    });
    let inside = inside.count();
    (end, inside)
}

/// Datagrams to one address that may leave as one message: all of one length, except that the last may be shorter.
#[derive(Debug)]
struct Run {
    to: SocketAddr,
    name: Name,
    bytes: usize,
    datagrams: usize,
    segment_bytes: usize,
    /// Set if the kernel refused the run when it was to be cut: the new limit of segment lengths, if cutting proves to be the reason.
    refused: Option<usize>,
}

impl Run {
    fn new(to: SocketAddr, bytes: usize) -> Self {
        Self { to, name: to.into(), bytes, datagrams: 1, segment_bytes: bytes, refused: None }
    }

    /// Whether a datagram can be appended. An empty one cannot: cutting a message yields no empty datagrams.
    fn accepts(&self, to: SocketAddr, bytes: usize) -> bool {
        let all_equal = self.bytes == self.datagrams * self.segment_bytes;
        let fits = self.datagrams < UDP_RUN_DATAGRAMS_MAX && self.bytes + bytes <= UDP_RUN_BYTES_MAX;
        all_equal && fits && (1..=self.segment_bytes).contains(&bytes) && self.to == to
    }

    fn push(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.datagrams += 1;
    }

    /// Whether the run leaves as one message that the kernel cuts.
    fn is_cut(&self, limit: usize) -> bool {
        self.datagrams > 1 && self.segment_bytes <= limit && self.refused.is_none()
    }

    /// The lengths of the messages as which the run leaves.
    fn lengths(&self, limit: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (step, count) = if self.is_cut(limit) { (self.bytes, 1) } else { (self.segment_bytes, self.datagrams) };
        let bytes = self.bytes;
        (0..count).map(move |index| step.min(bytes - index * step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A kernel with scripted answers, one per call, that takes everything afterwards.
    #[derive(Default)]
    struct Script {
        answers: VecDeque<Result<usize, Errno>>,
        /// The address, the bytes and the segment length of each message taken.
        taken: Vec<(Vec<u8>, Vec<u8>, Option<u16>)>,
        /// The number of messages of each call.
        offered: Vec<usize>,
    }

    impl Script {
        fn of(answers: &[Result<usize, Errno>]) -> Self {
            Self { answers: answers.iter().copied().collect(), ..Self::default() }
        }

        /// The length and the segment length of each message taken.
        fn lengths(&self) -> Vec<(usize, Option<u16>)> {
            self.taken.iter().map(|(_, bytes, cut_into)| (bytes.len(), *cut_into)).collect()
        }

        /// The address and the bytes of each datagram.
        fn datagrams(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
            let cut = |(to, bytes, cut_into): &(Vec<u8>, Vec<u8>, Option<u16>)| match cut_into {
                Some(length) => bytes.chunks(usize::from(*length)).map(|bytes| (to.clone(), bytes.to_vec())).collect(),
                None => vec![(to.clone(), bytes.clone())],
            };
            self.taken.iter().flat_map(cut).collect()
        }
    }

    impl Kernel for Script {
        fn send<'a>(&mut self, messages: impl Iterator<Item = Message<'a>> + Clone) -> Result<usize, Errno> {
            let bytes = |message: &Message<'_>| message.parts().collect::<Vec<_>>().concat();
            let messages: Vec<_> =
                messages.map(|message| (message.to.bytes().to_vec(), bytes(&message), message.cut_into)).collect();
            self.offered.push(messages.len());
            let count = self.answers.pop_front().unwrap_or(Ok(usize::MAX))?.min(messages.len());
            self.taken.extend(messages.into_iter().take(count));
            Ok(count)
        }
    }

    fn address(number: u8) -> SocketAddr {
        ([10, 0, 0, number], 5000).into()
    }

    impl Queue {
        /// Sends datagrams without gaps.
        fn send(&mut self, segment_bytes_max: &AtomicUsize, kernel: &mut impl Kernel) -> Sent {
            self.send_with(&[], segment_bytes_max, kernel)
        }
    }

    fn push(queue: &mut Queue, to: u8, length: usize, content: u8) {
        queue.room(length).unwrap().fill(content);
        queue.commit(address(to), length, None);
    }

    /// The bytes of gaps: each byte value occurs more often than in any datagram.
    fn outside() -> Vec<u8> {
        (0..=u8::MAX).flat_map(|content| [content; 2048]).collect()
    }

    /// As `push`, with a gap that leaves out all bytes but the first and the last.
    fn push_around(queue: &mut Queue, to: u8, length: usize, content: u8) {
        queue.room(length).unwrap()[..2].fill(content);
        let gap = Gap { at: 1, from: 2048 * usize::from(content), bytes: length - 2 };
        queue.commit(address(to), length, Some(gap));
    }

    fn queue(datagrams: &[(u8, usize)]) -> Queue {
        let mut queue = Queue::new();
        for (index, &(to, length)) in datagrams.iter().enumerate() {
            push(&mut queue, to, length, index as u8);
        }
        queue
    }

    fn unlimited() -> AtomicUsize {
        AtomicUsize::new(UDP_RUN_BYTES_MAX)
    }

    #[test]
    fn datagrams_of_one_length_leave_as_one_message() {
        let mut script = Script::default();
        let sent = queue(&[(1, 100), (1, 100), (1, 40), (1, 40), (2, 40), (2, 41), (2, 41)]).send(&unlimited(), &mut script);
        assert_eq!(script.lengths(), [(240, Some(100)), (40, None), (40, None), (82, Some(41))]);
        assert_eq!((sent, script.offered), (Sent { sent: 7, dropped: 0, left: 0 }, vec![4]));
    }

    #[test]
    fn empty_datagrams_leave_by_themselves() {
        let mut script = Script::default();
        queue(&[(1, 0), (1, 0), (1, 9), (1, 0), (1, 9)]).send(&unlimited(), &mut script);
        assert_eq!(script.lengths(), [(0, None), (0, None), (9, None), (0, None), (9, None)]);
    }

    #[test]
    fn a_message_is_no_larger_than_the_kernel_cuts() {
        let mut script = Script::default();
        queue(&[(1, 1); UDP_RUN_DATAGRAMS_MAX + 2]).send(&unlimited(), &mut script);
        queue(&[(1, 16_250); 4]).send(&unlimited(), &mut script);
        queue(&[(1, 32_501); 2]).send(&unlimited(), &mut script);
        let expected = [(64, Some(1)), (2, Some(1)), (65_000, Some(16_250)), (32_501, None), (32_501, None)];
        assert_eq!(script.lengths(), expected);
    }

    #[test]
    fn what_the_kernel_has_no_room_for_is_sent_later() {
        for full in [Err(Errno::AGAIN), Err(Errno::NOBUFS), Err(Errno::INTR), Ok(0)] {
            let mut queue = queue(&[(1, 100), (1, 100), (2, 7), (3, 8)]);
            let mut script = Script::of(&[Ok(1), full]);
            assert_eq!(queue.send(&unlimited(), &mut script), Sent { sent: 2, dropped: 0, left: 2 });
            push(&mut queue, 4, 9, 4);
            assert_eq!(queue.send(&unlimited(), &mut script), Sent { sent: 3, dropped: 0, left: 0 });
            let contents: Vec<_> = script.datagrams().into_iter().map(|(_, bytes)| bytes).collect();
            assert_eq!(contents, [vec![0; 100], vec![1; 100], vec![2; 7], vec![3; 8], vec![4; 9]]);
        }
    }

    #[test]
    fn lengths_that_are_not_cut_are_remembered() {
        for (error, shorter) in [(Errno::INVAL, Some(99)), (Errno::MSGSIZE, Some(99)), (Errno::IO, None)] {
            let limit = unlimited();
            let mut script = Script::of(&[Err(error)]);
            assert_eq!(queue(&[(1, 100), (1, 100), (1, 5)]).send(&limit, &mut script).sent, 3);
            queue(&[(1, 100), (1, 100)]).send(&limit, &mut script);
            assert_eq!(script.lengths(), [(100, None), (100, None), (5, None), (100, None), (100, None)]);
            assert_eq!(script.offered, [1, 3, 2]);
            let mut script = Script::default();
            queue(&[(1, 99), (1, 99)]).send(&limit, &mut script);
            assert_eq!(script.lengths()[0].1, shorter);
        }
    }

    #[test]
    fn an_address_that_refuses_everything_says_nothing_of_cutting() {
        let limit = unlimited();
        let mut script = Script::of(&[Err(Errno::INVAL); 3]);
        let sent = queue(&[(1, 100), (1, 100), (2, 100), (2, 100)]).send(&limit, &mut script);
        assert_eq!(sent, Sent { sent: 2, dropped: 2, left: 0 });
        assert_eq!((script.lengths(), limit.into_inner()), (vec![(200, Some(100))], UDP_RUN_BYTES_MAX));
    }

    #[test]
    fn other_errors_cost_their_message_only() {
        for error in [Errno::CONNREFUSED, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::PERM, Errno::MSGSIZE] {
            let mut script = Script::of(&[Ok(1), Err(error)]);
            let sent = queue(&[(1, 5), (2, 6), (3, 7), (3, 7)]).send(&unlimited(), &mut script);
            assert_eq!(sent, Sent { sent: 3, dropped: 1, left: 0 });
            assert_eq!(script.lengths(), [(5, None), (14, Some(7))]);
        }
    }

    #[test]
    fn a_batch_is_bounded() {
        let mut many = queue(&[(1, 0); UDP_OUTGOING_DATAGRAMS_MAX]);
        assert_eq!(many.room(0), None);
        let mut large = queue(&[(1, UDP_PAYLOAD_BYTES_MAX)]);
        assert_eq!(large.room(1), None, "the next is as long as the last");
        let mut short = queue(&[(1, 1000); UDP_OUTGOING_BYTES / 1000 - 1]);
        assert!(short.room(UDP_PAYLOAD_BYTES_MAX).is_some(), "there is room for one more, however long");
        push(&mut short, 1, UDP_PAYLOAD_BYTES_MAX, 0);
        assert_eq!(short.room(1), None);
        for full in [&mut many, &mut large] {
            full.send(&unlimited(), &mut Script::default());
            assert!(full.room(UDP_PAYLOAD_BYTES_MAX).is_some());
        }
    }

    #[test]
    fn what_lies_elsewhere_leaves_where_it_belongs_and_is_not_copied() {
        let (outside, mut queue, mut script) = (outside(), Queue::new(), Script::default());
        for content in 0..3 {
            push_around(&mut queue, 1, 100, content);
        }
        push(&mut queue, 1, 40, 3);
        assert_eq!(queue.bytes(), 3 * 2 + 40);
        let message = queue.messages(&outside, UDP_RUN_BYTES_MAX).next().unwrap();
        let lengths: Vec<_> = message.parts().map(<[u8]>::len).collect();
        assert_eq!(lengths, [1, 98, 2, 98, 2, 98, 41], "a tag and the next header are one part");
        assert!(message.parts().any(|part| std::ptr::eq(part, &outside[2048..2048 + 98])));
        assert_eq!(queue.send_with(&outside, &unlimited(), &mut script), Sent { sent: 4, dropped: 0, left: 0 });
        let contents: Vec<_> = script.datagrams().into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(contents, [vec![0; 100], vec![1; 100], vec![2; 100], vec![3; 40]]);
        assert_eq!((queue.gaps.len(), queue.missing, queue.bytes()), (0, 0, 0));
    }

    #[test]
    fn what_lies_elsewhere_counts_in_a_batch_as_if_it_were_copied() {
        let (outside, mut queue) = (outside(), Queue::new());
        let mut content = 0;
        while queue.room(2000).is_some() {
            push_around(&mut queue, 1, 2000, content);
            content += 1;
        }
        assert_eq!(usize::from(content), UDP_OUTGOING_BYTES / 2000);
        let full = queue.send_with(&outside, &unlimited(), &mut Script::of(&[Err(Errno::AGAIN)]));
        assert_eq!((full.left, queue.bytes()), (usize::from(content), usize::from(content) * 2000), "it has been copied");
        let mut script = Script::default();
        queue.send(&unlimited(), &mut script);
        let contents: Vec<_> = script.datagrams().into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(contents, (0..content).map(|content| vec![content; 2000]).collect::<Vec<_>>());
    }

    fn answer() -> impl Strategy<Value = Result<usize, Errno>> {
        let errors = [Errno::AGAIN, Errno::INVAL, Errno::IO, Errno::NETUNREACH];
        prop_oneof![(0..9usize).prop_map(Ok), proptest::sample::select(errors.to_vec()).prop_map(Err)]
    }

    proptest! {
        /// For all answers of the kernel, each datagram is sent once or dropped, in its order and with its contents.
        #[test]
        fn datagrams_are_sent_once_and_in_order(
            datagrams in proptest::collection::vec((0..3u8, prop_oneof![0..4usize, 2000..2002usize]), 0..300),
            answers in proptest::collection::vec(answer(), 0..60), gaps in any::<u64>(),
        ) {
            let (mut queue, limit, mut script) = (Queue::new(), unlimited(), Script::of(&answers));
            let outside = outside();
            let (mut total, capacity) = (Sent::default(), (queue.runs.capacity(), queue.gaps.capacity()));
            let mut waiting = datagrams.iter().enumerate().peekable();
            while waiting.peek().is_some() || queue.datagrams() > 0 {
                while let Some((index, &(to, length))) = waiting.next_if(|(_, (_, length))| queue.room(*length).is_some()) {
                    let push = if length > 2 && gaps >> (index % 64) & 1 == 1 { push_around } else { push };
                    push(&mut queue, to, length, index as u8);
                }
                let sent = queue.send_with(&outside, &limit, &mut script);
                prop_assert_eq!(sent.left, queue.datagrams());
                total = Sent { sent: total.sent + sent.sent, dropped: total.dropped + sent.dropped, left: 0 };
            }
            prop_assert_eq!((queue.runs.capacity(), queue.gaps.capacity()), capacity, "nothing was allocated");
            prop_assert_eq!(total.sent + total.dropped, datagrams.len());
            let arrived = script.datagrams();
            prop_assert_eq!(arrived.len(), total.sent);
            let mut all = datagrams.iter().enumerate();
            for (to, bytes) in arrived {
                let committed = |(index, &(number, length)): (usize, &(u8, usize))| {
                    to == Name::from(address(number)).bytes() && bytes == vec![index as u8; length]
                };
                prop_assert!(all.by_ref().any(committed), "this datagram is not one of those that come next");
            }
        }
    }
}
