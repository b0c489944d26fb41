//! Exchanges: every member has data for every other.

use super::builder::{Builder, rounds};
use crate::schedule::{Buffer, Then};

/// Every member notifies every other.
pub(crate) fn barrier_direct(build: &mut Builder) {
    let landing = build.landing(build.size(), 0);
    build.others().for_each(|to| build.tell(to, landing, build.me));
    build.others().rev().for_each(|from| build.hear(from, landing, from));
}

/// In step i every member notifies the one 2ⁱ further.
pub(crate) fn barrier_dissemination(build: &mut Builder) {
    let rounds = rounds(build.size());
    let landing = build.landing(rounds, 0);
    for round in 0..rounds {
        let (to, from) = partners(build, 1 << round);
        build.tell(to, landing, round);
        build.hear(from, landing, round);
    }
}

/// Every member sends to all others, then receives from all.
pub(crate) fn alltoall_direct(build: &mut Builder) {
    let me = build.me;
    let landing = build.landing(build.size(), build.count());
    build.others().for_each(|to| build.send(to, vec![build.block(Buffer::Input, to)], landing.whole(me)));
    build.copy(build.block(Buffer::Input, me), build.block(Buffer::Output, me));
    let store = |build: &Builder, from| Then::Store(vec![build.block(Buffer::Output, from)]);
    build.others().rev().for_each(|from| build.receive(from, landing.whole(from), store(build, from)));
}

/// In step s every member sends to the one s further and receives from the one s before.
pub(crate) fn alltoall_pairwise(build: &mut Builder) {
    let me = build.me;
    let landing = build.landing(build.size(), build.count());
    build.copy(build.block(Buffer::Input, me), build.block(Buffer::Output, me));
    for step in 1..build.size() {
        let (to, from) = partners(build, step);
        build.send(to, vec![build.block(Buffer::Input, to)], landing.whole(me));
        build.receive(from, landing.whole(from), Then::Store(vec![build.block(Buffer::Output, from)]));
    }
}

/// A block travels to the member at its distance, in the steps of the bits that are set in the distance (Bruck et al.).
pub(crate) fn alltoall_bruck(build: &mut Builder) {
    let (me, size) = (build.me, build.size());
    build.temporary(size);
    let mut done = 0;
    for span in build.around(Buffer::Input, me, size) {
        build.copy(span, build.blocks(Buffer::Temporary, done, span.blocks));
        done += span.blocks;
    }
    for round in 0..rounds(size) {
        let distance = 1 << round;
        // The second half of every 2·distance blocks.
        let starts = (distance..size).step_by(2 * distance as usize);
        let spans: Vec<_> = starts.map(|start| build.blocks(Buffer::Temporary, start, distance.min(size - start))).collect();
        let values = spans.iter().map(|span| span.values()).sum();
        let landing = build.landing(1, values);
        let (to, from) = partners(build, distance);
        build.send(to, spans.clone(), landing.whole(0));
        build.receive(from, landing.whole(0), Then::Store(spans));
    }
    for distance in 0..size {
        let (_, from) = partners(build, distance);
        build.copy(build.block(Buffer::Temporary, distance), build.block(Buffer::Output, from));
    }
}

/// The members at a distance after this one and before it.
pub(crate) fn partners(build: &Builder, distance: u32) -> (u32, u32) {
    let place = build.from(build.me);
    (place(distance), place(build.size() - distance % build.size()))
}
