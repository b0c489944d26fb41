//! How two ranks that both ask for a link find each other, without waiting.
//!
//! The end that sends writes a *connection request*: some words of its own memory, whose address it puts at the head of the list that begins in the
//! receiver's word for that. The end that receives takes the whole list, keeps what it does not expect yet, and answers the request with the address
//! of its own words. From then on each knows where the other's words are.
//!
//! Links of one kind between two ranks, in one direction, are matched in the order in which each side asked for them.

pub(crate) mod channel;
pub(crate) mod segments;

use std::collections::HashMap;

use pelago::{CellSlice, Context, GlobalAddress, GlobalPtr, Individual, Rank, Result, Symmetric};
use pelago_memory::Cells;

use crate::refusal::Refusal;

/// Words of a request: the next in the list, what it asks for, two numbers that both ends must agree on, the answer, how far the receiver is,
/// and whether it has closed the link.
const NEXT: usize = 0;
const WANTED: usize = 1;
const SHAPE: usize = 2;
const ANSWER: usize = 4;
const PROGRESS: usize = 5;
const RECEIVER_CLOSED: usize = 6;
const REQUEST_WORDS: usize = 7;

/// Words of a receiver's memory: how much has come, and whether the sender has closed the link; then what is sent.
const SENDER_CLOSED: usize = 1;
pub(crate) const COME: usize = 0;
pub(crate) const BLOCK_WORDS: usize = 2;

/// The answer to a request whose numbers are not the receiver's.
const MISMATCH: u64 = u64::MAX;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LinkKind {
    Channel,
    SegmentBuffer,
}

/// What this rank knows of links that are not connected yet.
pub(crate) struct Connector {
    request_list: Symmetric<'static, u64>,
    /// Requests that came before their link was asked for here, one for each link that another rank has asked for.
    early: HashMap<(LinkKind, Rank, u64), GlobalAddress>,
    /// How many links of each kind this rank has asked for: to a rank, and from it.
    asked: HashMap<(LinkKind, Rank, bool), u64>,
}

/// The end of a link that sends.
pub(crate) struct SendingEnd {
    request: Individual<'static, u64>,
    pub(crate) peer: Rank,
}

/// The end of a link that receives.
pub(crate) struct ReceivingEnd {
    block: Individual<'static, u64>,
    pub(crate) peer: Rank,
    kind: LinkKind,
    number: u64,
    shape: [u64; 2],
    /// The sender's words, when its request has come.
    request: Option<GlobalPtr<u64>>,
}

/// Whether two ends are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection<T> {
    Pending,
    /// They do not fit together, and never will be.
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

    /// Asks for a link from `peer`, which is to write to `words` words here.
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

    /// Takes the requests that have come.
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

    /// The next number of a link of this kind with `peer`.
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
    /// The receiver's words.
    pub(crate) fn connection(&self) -> Result<Connection<GlobalPtr<u64>>> {
        Ok(match self.request.local().load(ANSWER) {
            0 => Connection::Pending,
            MISMATCH => Connection::Refused,
            address => Connection::Established(GlobalPtr::from_address(GlobalAddress::from_bits(address))?),
        })
    }

    /// The word in which the receiver says how far it is.
    pub(crate) fn progress(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.request).range(PROGRESS..PROGRESS + 1)
    }

    /// Whether the receiver has closed the link.
    pub(crate) fn is_closed(&self) -> bool {
        self.request.local().load(RECEIVER_CLOSED) != 0
    }

    /// Tells the receiver that nothing comes any more.
    pub(crate) fn close(&self, context: &'static Context, block: GlobalPtr<u64>) -> Result<()> {
        context.after_all().put(block.add(SENDER_CLOSED as u64), &[1]).map(drop)
    }
}

impl ReceivingEnd {
    /// The sender's words: where to say how far this end is.
    pub(crate) fn connection(&mut self, post: &mut Connector, context: &Context) -> Result<Connection<GlobalPtr<u64>>> {
        if self.request.is_none() {
            let Some(at) = post.early.remove(&(self.kind, self.peer, self.number)) else { return Ok(Connection::Pending) };
            let request = GlobalPtr::<u64>::from_address(at)?;
            let mut shape = [0; 2];
            context.get_into(request.add(SHAPE as u64), &mut shape)?;
            let fits = shape == self.shape;
            let answer = if fits { self.block.ptr(0).address().bits() } else { MISMATCH };
            context.put(request.add(ANSWER as u64), &[answer])?;
            // A request that was refused is remembered as null.
            self.request = Some(request);
            self.shape = if fits { shape } else { [MISMATCH; 2] };
        }
        Ok(match self.request {
            Some(_) if self.shape == [MISMATCH; 2] => Connection::Refused,
            Some(request) => Connection::Established(request.add(PROGRESS as u64)),
            None => Connection::Pending,
        })
    }

    /// The words that the sender writes.
    pub(crate) fn block(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.block)
    }

    /// Whether the sender has closed the link.
    pub(crate) fn is_closed(&self) -> bool {
        self.block.local().load(SENDER_CLOSED) != 0
    }

    /// Tells the sender that nothing is taken any more.
    pub(crate) fn close(&self, context: &'static Context) -> Result<()> {
        let Some(request) = self.request else { return Ok(()) };
        context.after_all().put(request.add(RECEIVER_CLOSED as u64), &[1]).map(drop)
    }
}

/// Words of this rank, whose memory stays mapped as long as the job.
fn own(context: &'static Context, words: &Individual<'static, u64>) -> CellSlice<'static, u64> {
    let cells: Option<Cells<'static>> = context.reach().cells(words.ptr(0).address(), 8 * words.len() as u64);
    cells.and_then(Cells::elements).expect("own memory is mapped, and aligned to words")
}
