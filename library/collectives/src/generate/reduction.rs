//! Reductions: to one member, to all, one block to each.

use super::builder::{Builder, Crew, folded, rounds};
use super::exchange::partners;
use super::gather::scatter_from;
use super::tree::{bring, collect};
use crate::schedule::{Buffer, Side, Span, Then};

/// All send to the root, which combines in order.
pub(crate) fn reduce_flat(build: &mut Builder, root: u32) {
    let (me, own) = (build.me, build.block(Buffer::Input, 0));
    let landing = build.landing(build.size(), build.count());
    if me != root {
        return build.send(root, vec![own], landing.whole(me));
    }
    build.copy(own, own.of(Buffer::Output));
    build.temporary(1);
    let scratch = own.of(Buffer::Temporary);
    build.combine_in_order(own.of(Buffer::Output), scratch, |build, from, then| build.receive(from, landing.whole(from), then));
}

/// A binomial tree. Its foot is the root if operands may be exchanged, else the first member, which forwards the result.
pub(crate) fn reduce_binomial(build: &mut Builder, root: u32) {
    let foot = if build.shape.commutes { root } else { 0 };
    let place = build.from(foot);
    let crew = Crew { count: build.size(), me: Some(build.number_from(foot)), place: &place };
    reduce_along(build, crew, root);
}

/// A binomial tree of a crew to its number 0, which forwards the result if it is not the root.
pub(crate) fn reduce_along(build: &mut Builder, crew: Crew<'_>, root: u32) {
    let (landing, handed) = (build.landing(rounds(crew.count), build.count()), build.landing(1, build.count()));
    let (foot, own, result) = ((crew.place)(0), build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    build.temporary(1);
    let into = if build.me == root && foot == root { result } else { own.of(Buffer::Temporary) };
    let held = collect(build, crew, landing, own, into);
    if foot != root && build.me == foot {
        build.send(root, vec![held], handed.whole(0));
    } else if foot != root && build.me == root {
        build.receive(foot, handed.whole(0), Then::Store(vec![result]));
    }
}

/// All send to the first, which sends the result to all.
pub(crate) fn allreduce_flat(build: &mut Builder) {
    reduce_flat(build, 0);
    let (result, landing) = (build.block(Buffer::Output, 0), build.landing(1, build.count()));
    if build.me > 0 {
        return build.receive(0, landing.whole(0), Then::Store(vec![result]));
    }
    build.others().for_each(|to| build.send(to, vec![result], landing.whole(0)));
}

/// A binomial tree to the first, and back.
pub(crate) fn allreduce_binomial(build: &mut Builder) {
    let place = build.from(0);
    let crew = Crew { count: build.size(), me: Some(build.me), place: &place };
    let (up, down) = (build.landing(rounds(build.size()), build.count()), build.landing(1, build.count()));
    let (own, result) = (build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    collect(build, crew, up, own, result);
    bring(build, crew, down, &[result]);
}

/// Every member sends to every other; all combine in the same order.
pub(crate) fn allreduce_direct(build: &mut Builder) {
    let (me, own) = (build.me, build.block(Buffer::Input, 0));
    let landing = build.landing(build.size(), build.count());
    build.others().for_each(|to| build.send(to, vec![own], landing.whole(me)));
    build.copy(own, own.of(Buffer::Output));
    build.temporary(1);
    let scratch = own.of(Buffer::Temporary);
    build.combine_in_order(own.of(Buffer::Output), scratch, |build, from, then| build.receive(from, landing.whole(from), then));
}

/// Partners at distance 1, 2, 4, … exchange their values.
pub(crate) fn allreduce_doubling(build: &mut Builder) {
    let place = build.from(0);
    let crew = Crew { count: build.size(), me: Some(build.me), place: &place };
    let result = build.block(Buffer::Output, 0);
    build.copy(build.block(Buffer::Input, 0), result);
    double(build, crew, result);
}

/// As [`allreduce_doubling`], of the values that a crew has in `held`.
pub(crate) fn double(build: &mut Builder, crew: Crew<'_>, held: Span) {
    let pairs = folded(crew.count);
    let rounds = pairs.count.ilog2();
    let landing = build.landing(rounds + 2, held.values());
    let (handed, result) = (landing.whole(rounds), landing.whole(rounds + 1));
    let Some(me) = crew.me else { return };
    let Some(number) = pairs.number(me) else {
        build.send((crew.place)(me - 1), vec![held], handed);
        return build.receive((crew.place)(me - 1), result, Then::Store(vec![held]));
    };
    let partner = pairs.partner(me).map(|partner| (crew.place)(partner));
    if let Some(partner) = partner {
        build.receive(partner, handed, Then::Combine(held, Side::Right));
    }
    for round in 0..rounds {
        let other = number ^ 1 << round;
        let side = if other < number { Side::Left } else { Side::Right };
        let to = (crew.place)(pairs.position(other));
        build.send(to, vec![held], landing.whole(round));
        build.receive(to, landing.whole(round), Then::Combine(held, side));
    }
    if let Some(partner) = partner {
        build.send(partner, vec![held], result);
    }
}

/// Partners halve the range that they combine, then double the range that they know (Rabenseifner).
pub(crate) fn allreduce_halving(build: &mut Builder) {
    let (me, pairs) = (build.me, folded(build.size()));
    let (rounds, result) = (pairs.count.ilog2(), build.block(Buffer::Output, 0));
    let folding = build.landing(2, if pairs.surplus > 0 { build.count() } else { 0 });
    let longest = build.part_values(pairs.count);
    let [down, up] = [(); 2].map(|()| (0..rounds).map(|bit| build.landing(1, longest << bit)).collect::<Vec<_>>());
    build.copy(build.block(Buffer::Input, 0), result);
    let Some(number) = pairs.number(me) else {
        build.send(me - 1, vec![result], folding.whole(0));
        return build.receive(me - 1, folding.whole(1), Then::Store(vec![result]));
    };
    if let Some(partner) = pairs.partner(me) {
        build.receive(partner, folding.whole(0), Then::Combine(result, Side::Right));
    }
    // The part that a number holds after partners have differed in bits from `bit` on.
    let held = |build: &Builder, number: u32, bit: u32| build.parts(Buffer::Output, pairs.count, number >> bit << bit, 1 << bit);
    for bit in (0..rounds).rev() {
        let landing = down[bit as usize];
        let other = number ^ 1 << bit;
        let (mine, theirs) = (held(build, number, bit), held(build, other, bit));
        build.send(pairs.position(other), vec![theirs], landing.message(0, theirs.values()));
        build.receive(pairs.position(other), landing.message(0, mine.values()), Then::Combine(mine, Side::Right));
    }
    for bit in 0..rounds {
        let landing = up[bit as usize];
        let other = number ^ 1 << bit;
        let (mine, theirs) = (held(build, number, bit), held(build, other, bit));
        build.send(pairs.position(other), vec![mine], landing.message(0, mine.values()));
        build.receive(pairs.position(other), landing.message(0, theirs.values()), Then::Store(vec![theirs]));
    }
    if let Some(partner) = pairs.partner(me) {
        build.send(partner, vec![result], folding.whole(1));
    }
}

/// Parts travel around the ring to be combined, then again to be distributed.
pub(crate) fn allreduce_ring(build: &mut Builder) {
    let size = build.size();
    let landing = build.landing(2 * (size - 1), build.part_values(size));
    let (right, left) = partners(build, 1);
    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    for step in 0..2 * (size - 1) {
        // A part is combined for a whole round, and is then complete at the next member.
        let (_, sent) = partners(build, step % size);
        let (_, got) = partners(build, (step + 1) % size);
        let (sent, got) = (build.parts(Buffer::Output, size, sent, 1), build.parts(Buffer::Output, size, got, 1));
        let then = if step < size - 1 { Then::Combine(got, Side::Left) } else { Then::Store(vec![got]) };
        build.send(right, vec![sent], landing.message(step, sent.values()));
        build.receive(left, landing.message(step, got.values()), then);
    }
}

/// All members send all blocks to the first, which combines them and sends each member its own.
pub(crate) fn reduce_scatter_flat(build: &mut Builder) {
    let (me, size) = (build.me, build.size());
    let landing = build.landing(size, size as usize * build.count());
    let all = build.blocks(Buffer::Input, 0, size);
    if me > 0 {
        build.send(0, vec![all], landing.whole(me));
    } else {
        build.temporary(size);
        build.copy(all, all.of(Buffer::Temporary));
        let into = all.of(Buffer::Temporary);
        (1..size).for_each(|from| build.receive(from, landing.whole(from), Then::Combine(into, Side::Right)));
    }
    scatter_from(build, 0, Buffer::Temporary);
}

/// Every member sends each other one its block.
pub(crate) fn reduce_scatter_direct(build: &mut Builder) {
    let me = build.me;
    let landing = build.landing(build.size(), build.count());
    build.others().for_each(|to| build.send(to, vec![build.block(Buffer::Input, to)], landing.whole(me)));
    let (own, scratch) = (build.block(Buffer::Output, 0), build.block(Buffer::Temporary, 0));
    build.copy(build.block(Buffer::Input, me), own);
    build.temporary(1);
    build.combine_in_order(own, scratch, |build, from, then| build.receive(from, landing.whole(from), then));
}

/// A block travels around the ring to its owner, and each member on the way combines its own block with it.
pub(crate) fn reduce_scatter_ring(build: &mut Builder) {
    let size = build.size();
    let landing = build.landing(size - 1, build.count());
    let (right, left) = partners(build, 1);
    build.temporary(1);
    let mut held = build.block(Buffer::Input, left);
    for step in 0..size - 1 {
        build.send(right, vec![held], landing.whole(step));
        let (_, block) = partners(build, (step + 2) % size);
        held = if step + 2 < size { build.block(Buffer::Temporary, 0) } else { build.block(Buffer::Output, 0) };
        build.copy(build.block(Buffer::Input, block), held);
        build.receive(left, landing.whole(step), Then::Combine(held, Side::Left));
    }
}

/// Partners halve the range that they combine.
pub(crate) fn reduce_scatter_halving(build: &mut Builder) {
    let (me, size) = (build.me, build.size());
    build.temporary(size);
    let all = build.blocks(Buffer::Input, 0, size);
    build.copy(all, all.of(Buffer::Temporary));
    for bit in (0..size.ilog2()).rev() {
        let blocks = 1 << bit;
        let landing = build.landing(1, blocks as usize * build.count());
        let other = me ^ blocks;
        build.send(other, vec![build.blocks(Buffer::Temporary, other >> bit << bit, blocks)], landing.whole(0));
        let mine = build.blocks(Buffer::Temporary, me >> bit << bit, blocks);
        build.receive(other, landing.whole(0), Then::Combine(mine, Side::Right));
    }
    build.copy(build.block(Buffer::Temporary, me), build.block(Buffer::Output, 0));
}
