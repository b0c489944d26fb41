//! Gathers, to one member or to all, and scatters.

use super::builder::{Builder, Crew, folded, rounds};
use super::exchange::partners;
use super::tree::bring;
use crate::schedule::{Buffer, Span, Then};

/// All others send to the root.
pub(crate) fn gather_flat(build: &mut Builder, root: u32) {
    let me = build.me;
    let landing = build.landing(build.size(), build.count());
    if me != root {
        return build.send(root, vec![build.block(Buffer::Input, 0)], landing.whole(me));
    }
    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, me));
    let store = |build: &Builder, from| Then::Store(vec![build.block(Buffer::Output, from)]);
    build.others().for_each(|from| build.receive(from, landing.whole(from), store(build, from)));
}

/// A binomial tree; the blocks of a branch travel together.
pub(crate) fn gather_binomial(build: &mut Builder, root: u32) {
    let (size, number, place) = (build.size(), build.number_from(root), build.from(root));
    if number == 0 {
        build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, root));
    }
    // Number of blocks of its branch that this member holds.
    let mut held = 1;
    for round in 0..rounds(size) {
        let distance = 1 << round;
        let landing = build.landing(1, distance as usize * build.count());
        if number & (distance - 1) != 0 {
            continue;
        }
        if number & distance != 0 {
            let from = if held == 1 { Buffer::Input } else { Buffer::Temporary };
            let values = held as usize * build.count();
            build.send(place(number - distance), vec![build.blocks(from, 0, held)], landing.message(0, values));
        } else if number + distance < size {
            let blocks = distance.min(size - number - distance);
            let spans = if number == 0 {
                build.around(Buffer::Output, root + distance, blocks)
            } else {
                build.temporary(held + blocks);
                if held == 1 {
                    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Temporary, 0));
                }
                vec![build.blocks(Buffer::Temporary, distance, blocks)]
            };
            let message = landing.message(0, blocks as usize * build.count());
            build.receive(place(number + distance), message, Then::Store(spans));
            held += blocks;
        }
    }
}

/// The root sends to each.
pub(crate) fn scatter_flat(build: &mut Builder, root: u32) {
    scatter_from(build, root, Buffer::Input);
}

/// As [`scatter_flat`], with the root's blocks in `buffer`.
pub(crate) fn scatter_from(build: &mut Builder, root: u32, buffer: Buffer) {
    let own = build.block(Buffer::Output, 0);
    let landing = build.landing(1, build.count());
    if build.me != root {
        return build.receive(root, landing.whole(0), Then::Store(vec![own]));
    }
    build.others().for_each(|to| build.send(to, vec![build.block(buffer, to)], landing.whole(0)));
    build.copy(build.block(buffer, root), own);
}

/// A binomial tree; the blocks of a branch travel together.
pub(crate) fn scatter_binomial(build: &mut Builder, root: u32) {
    let (size, number, place) = (build.size(), build.number_from(root), build.from(root));
    let rounds = rounds(size);
    let landing = build.landing(1, (1 << rounds >> 1) as usize * build.count());
    let below = if number == 0 { rounds } else { number.trailing_zeros() };
    let branch = |number: u32, below: u32| (1 << below).min(size - number);
    if number > 0 {
        let (held, own) = (branch(number, below), build.block(Buffer::Output, 0));
        let message = landing.message(0, held as usize * build.count());
        let spans = match held {
            1 => vec![own],
            _ => vec![own, build.blocks(Buffer::Temporary, 1, held - 1)],
        };
        build.temporary(held);
        build.receive(place(number & (number - 1)), message, Then::Store(spans));
    }
    for round in (0..below).rev().filter(|round| number + (1 << round) < size) {
        let child = number + (1 << round);
        let blocks = branch(child, round);
        let spans = match number {
            0 => build.around(Buffer::Input, root + child, blocks),
            _ => vec![build.blocks(Buffer::Temporary, 1 << round, blocks)],
        };
        build.send(place(child), spans, landing.message(0, blocks as usize * build.count()));
    }
    if number == 0 {
        build.copy(build.block(Buffer::Input, root), build.block(Buffer::Output, 0));
    }
}

/// All members send to the first, which sends all blocks to all.
pub(crate) fn allgather_flat(build: &mut Builder) {
    gather_flat(build, 0);
    let landing = build.landing(1, build.size() as usize * build.count());
    let all = build.blocks(Buffer::Output, 0, build.size());
    if build.me > 0 {
        return build.receive(0, landing.whole(0), Then::Store(vec![all]));
    }
    build.others().for_each(|to| build.send(to, vec![all], landing.whole(0)));
}

/// Every member sends to every other.
pub(crate) fn allgather_direct(build: &mut Builder) {
    let me = build.me;
    let landing = build.landing(build.size(), build.count());
    build.others().for_each(|to| build.send(to, vec![build.block(Buffer::Input, 0)], landing.whole(me)));
    own_block(build);
    let store = |build: &Builder, from| Then::Store(vec![build.block(Buffer::Output, from)]);
    build.others().rev().for_each(|from| build.receive(from, landing.whole(from), store(build, from)));
}

/// Every member forwards to the right the blocks that arrive from the left.
pub(crate) fn allgather_ring(build: &mut Builder) {
    let size = build.size();
    let landing = build.landing(size - 1, build.count());
    let (right, left) = partners(build, 1);
    own_block(build);
    for step in 0..size - 1 {
        let (_, sent) = partners(build, step);
        let (_, got) = partners(build, step + 1);
        build.send(right, vec![build.block(Buffer::Output, sent)], landing.whole(step));
        build.receive(left, landing.whole(step), Then::Store(vec![build.block(Buffer::Output, got)]));
    }
}

/// In step i every member sends all its blocks to the one 2ⁱ before (Bruck et al.).
pub(crate) fn allgather_bruck(build: &mut Builder) {
    let (me, size) = (build.me, build.size());
    own_block(build);
    for round in 0..rounds(size) {
        let distance = 1 << round;
        let blocks = distance.min(size - distance);
        let landing = build.landing(1, blocks as usize * build.count());
        let (from, to) = partners(build, distance);
        build.send(to, build.around(Buffer::Output, me, blocks), landing.whole(0));
        build.receive(from, landing.whole(0), Then::Store(build.around(Buffer::Output, me + distance, blocks)));
    }
}

/// Partners at distance 1, 2, 4, …: the blocks of a member are contiguous.
pub(crate) fn allgather_near_first(build: &mut Builder) {
    let pairs = folded(build.size());
    doubling(
        build,
        |round| round,
        |number, round| {
            let group = number >> round << round;
            let (first, end) = (pairs.position(group), pairs.position(group + (1 << round)));
            vec![(first, end - first, 1)]
        },
    );
}

/// Partners at distance p/2, p/4, …: messages over large distances are short.
pub(crate) fn allgather_far_first(build: &mut Builder) {
    let pairs = folded(build.size());
    let last = pairs.count.ilog2().saturating_sub(1);
    doubling(
        build,
        |round| last - round,
        |number, round| {
            // All numbers that are equal to this one modulo `stride`.
            let (held, stride) = (1 << round, pairs.count >> round);
            let first = number % stride;
            let folded_ones = if first < pairs.surplus { (pairs.surplus - first).div_ceil(stride) } else { 0 }.min(held);
            let rest = held - folded_ones;
            let doubled = [(2 * first, folded_ones, 2 * stride), (2 * first + 1, folded_ones, 2 * stride)];
            let single = (first + folded_ones * stride + pairs.surplus, rest, stride);
            doubled.into_iter().chain([single]).filter(|&(_, blocks, _)| blocks > 0).collect()
        },
    );
}

/// Partners exchange the blocks that they hold. `bit` is the bit of the number that differs in a round, `held` the blocks that a number holds before
/// it: first block, blocks, stride.
fn doubling(build: &mut Builder, bit: impl Fn(u32) -> u32, held: impl Fn(u32, u32) -> Vec<(u32, u32, u32)>) {
    let (me, size, count) = (build.me, build.size(), build.count());
    let pairs = folded(size);
    let spans = |number: u32, round: u32| -> Vec<Span> {
        let blocks = held(number, round).into_iter();
        blocks.map(|(block, blocks, stride)| Span { stride, ..Span::blocks(Buffer::Output, block, blocks, count) }).collect()
    };
    let values = |spans: &[Span]| spans.iter().map(Span::values).sum::<usize>();
    let handed = build.landing(1, count);
    own_block(build);
    if pairs.number(me).is_none() {
        build.send(me - 1, vec![build.block(Buffer::Input, 0)], handed.whole(0));
    } else if let Some(partner) = pairs.partner(me) {
        build.receive(partner, handed.whole(0), Then::Store(vec![build.block(Buffer::Output, partner)]));
    }
    for round in 0..pairs.count.ilog2() {
        let most = if pairs.surplus == 0 { 1 << round } else { (2 << round).min(size) };
        let landing = build.landing(1, most as usize * count);
        if let Some(number) = pairs.number(me) {
            let other = number ^ 1 << bit(round);
            let (mine, theirs) = (spans(number, round), spans(other, round));
            let (sent, got) = (landing.message(0, values(&mine)), landing.message(0, values(&theirs)));
            build.send(pairs.position(other), mine, sent);
            build.receive(pairs.position(other), got, Then::Store(theirs));
        }
    }
    let result = build.landing(1, if pairs.surplus > 0 { size as usize * count } else { 0 });
    let all = vec![build.blocks(Buffer::Output, 0, size)];
    match pairs.partner(me) {
        Some(partner) if pairs.number(me).is_some() => build.send(partner, all, result.whole(0)),
        Some(partner) => build.receive(partner, result.whole(0), Then::Store(all)),
        None => {}
    }
}

/// From each host to its first member, then between these, then from them to their hosts.
pub(crate) fn allgather_hierarchical(build: &mut Builder) {
    let (me, size, per_host, hosts) = (build.me, build.size(), build.shape.per_host, build.shape.hosts());
    let (host, leader) = (me / per_host, me / per_host * per_host);
    let members = |host: u32| per_host.min(size - host * per_host);
    let (inside, between) = (build.landing(per_host, build.count()), build.landing(hosts, per_host as usize * build.count()));
    let result = build.landing(1, size as usize * build.count());
    own_block(build);
    if me == leader {
        for from in me + 1..me + members(host) {
            build.receive(from, inside.whole(from - leader), Then::Store(vec![build.block(Buffer::Output, from)]));
        }
        let held = |build: &Builder, host| build.blocks(Buffer::Output, host * per_host, members(host));
        for step in 1..hosts {
            let to = (host + step) % hosts;
            let span = held(build, host);
            build.send(to * per_host, vec![span], between.message(host, span.values()));
        }
        for step in 1..hosts {
            let from = (host + hosts - step) % hosts;
            let span = held(build, from);
            build.receive(from * per_host, between.message(from, span.values()), Then::Store(vec![span]));
        }
    } else {
        build.send(leader, vec![build.block(Buffer::Input, 0)], inside.whole(me - leader));
    }
    let place = move |number| leader + number;
    let crew = Crew { count: members(host), me: Some(me - leader), place: &place };
    bring(build, crew, result, &[build.blocks(Buffer::Output, 0, size)]);
}

/// Copies this member's own block to the output.
fn own_block(build: &mut Builder) {
    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, build.me));
}
