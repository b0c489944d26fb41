//! The blocks that a member sends and receives in an operation with counts: pure functions of the counts and its position.
//!
//! - **X1** For each block that a member receives from another, the other sends it exactly one, in the same order, with the same count if the members
//!   agree. An empty block is a message too, so that a different count is detected.
//! - **X2** A send waits at most for an earlier receive, and no receive waits for a send: with room for one fragment in each stream, no
//!   member waits for ever.

use crate::cost::Promise;

/// The sum of counts, or the greatest number if it is greater.
pub(crate) fn sum_of(counts: &[usize]) -> usize {
    counts.iter().fold(0, |sum: usize, &count| sum.saturating_add(count))
}

/// The operation. Fragments carry it, so that members detect that they call different operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Alltoall = 1,
    Allgather,
    Gather,
    Scatter,
    ReduceScatter,
    Neighbours,
}

/// The order of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// All at once.
    Direct,
    /// One partner at a time.
    Pairwise,
    /// Always from the left neighbour to the right one.
    Ring,
}

/// Values of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) count: usize,
}

/// The source of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Input,
    /// The block of the receive with this number: each value as soon as it has arrived.
    Received(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) to: u32,
    pub(crate) from: Source,
    pub(crate) block: Block,
    /// A receive that must end before the send begins.
    pub(crate) after: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receive {
    pub(crate) from: u32,
    pub(crate) block: Block,
    /// This member's own block in the input.
    pub(crate) own: Block,
    pub(crate) combines: bool,
}

/// The messages of a member. Ended ones are kept and filled again, so that nothing is allocated.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) kind: Kind,
    pub(crate) sends: Vec<Send>,
    pub(crate) receives: Vec<Receive>,
    /// Whether each send, or receive, waits for those before it.
    pub(crate) sends_in_order: bool,
    pub(crate) receives_in_order: bool,
}

impl Messages {
    pub(crate) fn clear(&mut self, kind: Kind) {
        self.kind = kind;
        self.sends.clear();
        self.receives.clear();
        (self.sends_in_order, self.receives_in_order) = (false, false);
    }

    fn send(&mut self, to: u32, block: Block) {
        self.sends.push(Send { to, from: Source::Input, block, after: None });
    }

    fn receive(&mut self, from: u32, block: Block) {
        self.receive_own(from, block, Block { start: 0, count: block.count });
    }

    /// As `receive`; `own` is the block that the member sends to itself.
    fn receive_own(&mut self, from: u32, block: Block, own: Block) {
        self.receives.push(Receive { from, block, own, combines: false });
    }

    /// Every member sends a block to each; `send` and `receive` have the counts of this member.
    pub(crate) fn alltoall(&mut self, me: u32, way: Way, send: &[usize], receive: &[usize]) {
        self.clear(Kind::Alltoall);
        let own = Block { start: start_of(send, me), count: send[me as usize] };
        each(send, |to, block| {
            if to != me {
                self.send(to, block)
            }
        });
        each(receive, |from, block| {
            if from != me {
                self.receive(from, block)
            }
        });
        // Sends begin with the right neighbour, receives with the left one: so members do not all address the same one.
        self.sends.rotate_left(me as usize);
        self.receives.rotate_left(me as usize);
        self.receives.reverse();
        if way == Way::Pairwise {
            (self.sends_in_order, self.receives_in_order) = (true, true);
            for (step, send) in self.sends.iter_mut().enumerate().skip(1) {
                send.after = Some(step - 1);
            }
        }
        let block = Block { start: start_of(receive, me), count: receive[me as usize] };
        // The last receive, because sends name receives by their indices.
        self.receive_own(me, block, own);
    }

    /// Every member gets the blocks of all; all members know all counts.
    pub(crate) fn allgather(&mut self, me: u32, way: Way, counts: &[usize]) {
        self.clear(Kind::Allgather);
        let size = counts.len() as u32;
        let block = |member: u32| Block { start: start_of(counts, member), count: counts[member as usize] };
        let own = Block { start: 0, count: counts[me as usize] };
        if way == Way::Ring {
            let (right, left) = ((me + 1) % size, (me + size - 1) % size);
            (self.sends_in_order, self.receives_in_order) = (true, true);
            for step in 0..size - 1 {
                let sent = (me + size - step) % size;
                let (from, sent) = match step {
                    0 => (Source::Input, own),
                    _ => (Source::Received(step as usize - 1), block(sent)),
                };
                self.sends.push(Send { to: right, from, block: sent, after: None });
                self.receive(left, block((me + size - step - 1) % size));
            }
        } else {
            (1..size).for_each(|distance| self.send((me + distance) % size, own));
            (1..size).for_each(|distance| {
                let from = (me + size - distance) % size;
                self.receive(from, block(from));
            });
        }
        self.receive(me, block(me));
    }

    /// The root gets the blocks of all; it alone knows all counts.
    pub(crate) fn gather(&mut self, me: u32, root: u32, own: usize, counts: &[usize]) {
        self.clear(Kind::Gather);
        if me == root {
            each(counts, |from, block| self.receive(from, block));
        } else {
            self.send(root, Block { start: 0, count: own });
        }
    }

    /// Every member gets its block from the root, which alone knows all counts.
    pub(crate) fn scatter(&mut self, me: u32, root: u32, own: usize, counts: &[usize]) {
        self.clear(Kind::Scatter);
        let start = if me == root { start_of(counts, me) } else { 0 };
        each(counts, |to, block| {
            if me == root && to != me {
                self.send(to, block)
            }
        });
        self.receive_own(root, Block { start: 0, count: own }, Block { start, count: own });
    }

    /// Every member gets its block, combined over all members in their order; all know all counts.
    pub(crate) fn reduce_scatter(&mut self, me: u32, counts: &[usize]) {
        self.clear(Kind::ReduceScatter);
        each(counts, |to, block| {
            if to != me {
                self.send(to, block)
            }
        });
        self.sends.rotate_left(me as usize);
        let count = counts[me as usize];
        let own = Block { start: start_of(counts, me), count };
        self.receives_in_order = true;
        for from in 0..counts.len() as u32 {
            self.receives.push(Receive { from, block: Block { start: 0, count }, own, combines: from > 0 });
        }
    }

    /// Every member sends a block to each of its targets and gets one from each of its sources.
    pub(crate) fn neighbours(&mut self, me: u32, [targets, sources]: [&[u32]; 2], [send, receive]: [&[usize]; 2]) {
        self.clear(Kind::Neighbours);
        let mut own = Block { start: 0, count: 0 };
        each(send, |number, block| match targets[number as usize] {
            to if to == me => own = block,
            to => self.send(to, block),
        });
        each(receive, |number, block| self.receive_own(sources[number as usize], block, own));
    }
}

/// The messages and values of the busiest member of an allgather; for the cost model.
pub(crate) fn allgather_promise(way: Way, counts: &[usize]) -> Promise {
    let (others, most) = (counts.len() as u64 - 1, counts.iter().copied().max().unwrap_or(0) as u64);
    let (all, least) = (sum_of(counts) as u64, counts.iter().copied().min().unwrap_or(0) as u64);
    let messages_of_all = (others + 1) * others;
    match way {
        Way::Ring => Promise { steps: others, messages: others, messages_of_all, values: all - least },
        _ => Promise { steps: 1, messages: others, messages_of_all, values: others.saturating_mul(most) },
    }
}

fn start_of(counts: &[usize], member: u32) -> usize {
    counts[..member as usize].iter().sum()
}

/// Calls `act` with each member and its block; blocks follow one another.
fn each(counts: &[usize], mut act: impl FnMut(u32, Block)) {
    let mut start = 0;
    for (member, &count) in counts.iter().enumerate() {
        act(member as u32, Block { start, count });
        start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fill: impl Fn(&mut Messages)) -> Messages {
        let mut messages = Messages::default();
        fill(&mut messages);
        messages
    }

    /// X1: what a member sends to another is what that one receives from it, in the same order.
    fn assert_fits(all: &[Messages]) {
        for (me, mine) in all.iter().enumerate() {
            for (other, theirs) in all.iter().enumerate().filter(|&(other, _)| other != me) {
                let sent: Vec<_> =
                    mine.sends.iter().filter(|send| send.to as usize == other).map(|send| send.block.count).collect();
                let got: Vec<_> =
                    theirs.receives.iter().filter(|got| got.from as usize == me).map(|got| got.block.count).collect();
                assert_eq!(sent, got, "from {me} to {other}");
            }
            for (number, send) in mine.sends.iter().enumerate() {
                if let Source::Received(receive) = send.from {
                    assert_eq!(send.block, mine.receives[receive].block, "send {number} of {me}");
                }
                assert!(send.after.is_none_or(|after| after < mine.receives.len()));
            }
        }
    }

    #[test]
    fn sends_and_receives_fit_for_any_number_of_members() {
        for size in 1..=9_u32 {
            let counts: Vec<_> = (0..size as usize).map(|member| member * 7 % 5).collect();
            let count = |from: u32, to: u32| (from * 3 + to * 5) as usize % 7;
            for way in [Way::Direct, Way::Pairwise, Way::Ring] {
                let all: Vec<_> = (0..size).map(|me| of(|messages| messages.allgather(me, way, &counts))).collect();
                assert_fits(&all);
                let all: Vec<_> = (0..size)
                    .map(|me| {
                        let [send, receive] = [0, 1].map(|end| {
                            (0..size).map(|other| if end == 0 { count(me, other) } else { count(other, me) }).collect::<Vec<_>>()
                        });
                        of(|messages| messages.alltoall(me, way, &send, &receive))
                    })
                    .collect();
                assert_fits(&all);
            }
            for root in 0..size {
                let own = |me: u32| counts[me as usize];
                let known = |me: u32| if me == root { &counts[..] } else { &[] };
                assert_fits(&(0..size).map(|me| of(|some| some.gather(me, root, own(me), known(me)))).collect::<Vec<_>>());
                assert_fits(&(0..size).map(|me| of(|some| some.scatter(me, root, own(me), known(me)))).collect::<Vec<_>>());
            }
            assert_fits(&(0..size).map(|me| of(|some| some.reduce_scatter(me, &counts))).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_ring_sends_less_where_one_block_is_long() {
        let counts = [100, 1, 1, 1];
        let values = |way| allgather_promise(way, &counts).values;
        assert_eq!((values(Way::Direct), values(Way::Ring)), (300, 102));
    }
}
