//! Nonblocking connection of two ranks that both ask for a link.
//!
//! The sending end writes a *connection request*: some words of its own memory. It inserts their address at the head of a list that begins in a word of
//! the receiver. The receiving end takes the whole list, keeps the requests that it does not expect yet, and answers a request with the address of its
//! own words. From then on, each end has the address of the other's words.
//!
//! Links of one kind between two ranks, in one direction, are matched in the order in which each side has asked for them.

pub(crate) mod channel;
pub(crate) mod segments;

use std::collections::HashMap;

use pelago::{CellSlice, Context, GlobalAddress, GlobalPtr, Individual, Rank, Result, Symmetric};
use pelago_memory::Cells;

use crate::refusal::Refusal;

/// Indices of the words of a request: the next request in the list, the requested link, two numbers that must be equal at both ends, the answer, the
/// progress of the receiver, and whether the receiver has closed the link.
const NEXT: usize = 0;
const WANTED: usize = 1;
const SHAPE: usize = 2;
const ANSWER: usize = 4;
const PROGRESS: usize = 5;
const RECEIVER_CLOSED: usize = 6;
const REQUEST_WORDS: usize = 7;

/// Indices of the words of a receiver's memory: the count of arrived segments, and whether the sender has closed the link. The transferred data follow.
const SENDER_CLOSED: usize = 1;
pub(crate) const COME: usize = 0;
pub(crate) const BLOCK_WORDS: usize = 2;

/// The answer to a request whose numbers differ from the receiver's.
const MISMATCH: u64 = u64::MAX;

/// The use of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LinkKind {
    Channel,
    SegmentBuffer,
}

/// State of the links of this rank that are not connected yet.
pub(crate) struct Connector {
    request_list: Symmetric<'static, u64>,
    /// Requests that have arrived and are not answered, one for each link that another rank has asked for.
    early: HashMap<(LinkKind, Rank, u64), GlobalAddress>,
    /// Number of links of each kind that this rank has asked for: to a rank, and from it.
    asked: HashMap<(LinkKind, Rank, bool), u64>,
}

/// The sending end of a link.
pub(crate) struct SendingEnd {
    request: Individual<'static, u64>,
    pub(crate) peer: Rank,
}

/// The receiving end of a link.
pub(crate) struct ReceivingEnd {
    block: Individual<'static, u64>,
    pub(crate) peer: Rank,
    kind: LinkKind,
    number: u64,
    shape: [u64; 2],
    /// The sender's words, once its request has arrived.
    request: Option<GlobalPtr<u64>>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection<T> {
    Pending,
    /// The two ends do not match and will never be connected.
    Refused,
    Established(T),
}

impl Connector {
    pub(crate) fn new(request_list: Symmetric<'static, u64>) -> Self {
        Self { request_list, early: HashMap::new(), asked: HashMap::new() }
    }

    /// Asks for a link to `peer`.
    pub(crate) fn sending_end(
        &mut self,
        context: &'static Context,
        kind: LinkKind,
        peer: Rank,
        shape: [u64; 2],
    ) -> Result<SendingEnd, Refusal> {
        let request = context.alloc_individual::<u64>(REQUEST_WORDS)?;
        request.local().write(WANTED, &[wanted(kind, self.number(kind, peer, true)), shape[0], shape[1]]);
        let (request_list, address) = (self.request_list.at(peer, 0), request.ptr(0).address().bits());
        let mut head = context.get(request_list)?;
        loop {
            request.local().store(NEXT, head);
            let found = context.compare_swap(request_list, head, address)?.wait()?;
            if found == head {
                return Ok(SendingEnd { request, peer });
            }
            head = found;
        }
    }

    /// Asks for a link from `peer`, which will write to `words` words of this rank.
    pub(crate) fn receiving_end(
        &mut self,
        context: &'static Context,
        kind: LinkKind,
        peer: Rank,
        shape: [u64; 2],
        words: usize,
    ) -> Result<ReceivingEnd, Refusal> {
        let block = context.alloc_individual::<u64>(BLOCK_WORDS + words)?;
        let number = self.number(kind, peer, false);
        Ok(ReceivingEnd { block, peer, kind, number, shape, request: None })
    }

    /// Takes the requests that have arrived.
    pub(crate) fn collect(&mut self, context: &Context) -> Result<()> {
        if self.request_list.local().load(0) == 0 {
            return Ok(());
        }
        let mut next = context.swap(self.request_list.at(context.rank(), 0), 0)?.wait()?;
        while next != 0 {
            let request = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(next))?;
            let mut words = [0; 2];
            context.get_into(request, &mut words)?;
            let from = context.reach().addresses().rank(request.address());
            let kind = if words[WANTED] & 1 == 0 { LinkKind::Channel } else { LinkKind::SegmentBuffer };
            self.early.insert((kind, from, words[WANTED] >> 1), request.address());
            next = words[NEXT];
        }
        Ok(())
    }

    /// Returns the next number of a link of this kind with `peer`.
    fn number(&mut self, kind: LinkKind, peer: Rank, is_sent: bool) -> u64 {
        let asked = self.asked.entry((kind, peer, is_sent)).or_default();
        *asked += 1;
        *asked
    }
}

fn wanted(kind: LinkKind, number: u64) -> u64 {
    number << 1 | u64::from(kind == LinkKind::SegmentBuffer)
}

impl SendingEnd {
    /// Returns the connection: the receiver's words, if it is established.
    pub(crate) fn connection(&self) -> Result<Connection<GlobalPtr<u64>>> {
        Ok(match self.request.local().load(ANSWER) {
            0 => Connection::Pending,
            MISMATCH => Connection::Refused,
            address => Connection::Established(GlobalPtr::from_address(GlobalAddress::from_bits(address))?),
        })
    }

    /// Returns the word in which the receiver reports its progress.
    pub(crate) fn progress(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.request).range(PROGRESS..PROGRESS + 1)
    }

    /// Whether the receiver has closed the link.
    pub(crate) fn is_closed(&self) -> bool {
        self.request.local().load(RECEIVER_CLOSED) != 0
    }

    /// Closes the link: informs the receiver that no more data follow.
    pub(crate) fn close(&self, context: &'static Context, block: GlobalPtr<u64>) -> Result<()> {
        context.after_all().put(block.add(SENDER_CLOSED as u64), &[1]).map(drop)
    }
}

impl ReceivingEnd {
    /// Answers the sender's request if it has arrived. Returns the connection: the sender's word for this end's progress, if it is established.
    pub(crate) fn connection(&mut self, post: &mut Connector, context: &Context) -> Result<Connection<GlobalPtr<u64>>> {
        if self.request.is_none() {
            let Some(at) = post.early.remove(&(self.kind, self.peer, self.number)) else { return Ok(Connection::Pending) };
            let request = GlobalPtr::<u64>::from_address(at)?;
            let mut shape = [0; 2];
            context.get_into(request.add(SHAPE as u64), &mut shape)?;
            let fits = shape == self.shape;
            let answer = if fits { self.block.ptr(0).address().bits() } else { MISMATCH };
            context.put(request.add(ANSWER as u64), &[answer])?;
            // A refused request is marked by an invalid shape.
            self.request = Some(request);
            self.shape = if fits { shape } else { [MISMATCH; 2] };
        }
        Ok(match self.request {
            Some(_) if self.shape == [MISMATCH; 2] => Connection::Refused,
            Some(request) => Connection::Established(request.add(PROGRESS as u64)),
            None => Connection::Pending,
        })
    }

    /// Returns the words that the sender writes.
    pub(crate) fn block(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.block)
    }

    /// Whether the sender has closed the link.
    pub(crate) fn is_closed(&self) -> bool {
        self.block.local().load(SENDER_CLOSED) != 0
    }

    /// Closes the link: informs the sender that no more data are taken.
    pub(crate) fn close(&self, context: &'static Context) -> Result<()> {
        let Some(request) = self.request else { return Ok(()) };
        context.after_all().put(request.add(RECEIVER_CLOSED as u64), &[1]).map(drop)
    }
}

/// Returns words of this rank, whose memory stays mapped as long as the job.
fn own(context: &'static Context, words: &Individual<'static, u64>) -> CellSlice<'static, u64> {
    let cells: Option<Cells<'static>> = context.reach().cells(words.ptr(0).address(), 8 * words.len() as u64);
    cells.and_then(Cells::elements).expect("own memory is mapped, and aligned to words")
}
