//! Trees: from one member to all and back.

use super::builder::{Builder, Crew, Landing, rounds};
use crate::schedule::{Buffer, Side, Span, Then};

/// All members notify the first, which notifies all.
pub(crate) fn barrier_flat(build: &mut Builder) {
    let size = build.size();
    let (come, go) = (build.landing(size, 0), build.landing(1, 0));
    if build.me > 0 {
        build.tell(0, come, build.me);
        build.hear(0, go, 0);
        return;
    }
    (1..size).for_each(|from| build.hear(from, come, from));
    (1..size).for_each(|to| build.tell(to, go, 0));
}

/// The root sends to each.
pub(crate) fn broadcast_flat(build: &mut Builder, root: u32) {
    let (span, landing) = (build.block(Buffer::Output, 0), build.landing(1, build.count()));
    if build.me == root {
        build.others().for_each(|to| build.send(to, vec![span], landing.whole(0)));
    } else {
        build.receive(root, landing.whole(0), Then::Store(vec![span]));
    }
}

/// Each sends to the next.
pub(crate) fn broadcast_chain(build: &mut Builder, root: u32) {
    let (span, landing) = (build.block(Buffer::Output, 0), build.landing(1, build.count()));
    let (number, place) = (build.number_from(root), build.from(root));
    if number > 0 {
        build.receive(place(number - 1), landing.whole(0), Then::Store(vec![span]));
    }
    if number + 1 < build.size() {
        build.send(place(number + 1), vec![span], landing.whole(0));
    }
}

/// A binomial tree over all.
pub(crate) fn broadcast(build: &mut Builder, root: u32) {
    let place = build.from(root);
    let crew = Crew { count: build.size(), me: Some(build.number_from(root)), place: &place };
    let landing = build.landing(1, build.count());
    bring(build, crew, landing, &[build.block(Buffer::Output, 0)]);
}

/// A binomial tree from number 0 of a crew, largest distances first: each other member receives once, then sends to those below it.
pub(crate) fn bring(build: &mut Builder, crew: Crew<'_>, landing: Landing, spans: &[Span]) {
    let Some(me) = crew.me else { return };
    let values = spans.iter().map(Span::values).sum();
    if me > 0 {
        let then = if values == 0 { Then::Nothing } else { Then::Store(spans.to_vec()) };
        build.receive((crew.place)(me & (me - 1)), landing.message(0, values), then);
    }
    let below = if me == 0 { rounds(crew.count) } else { me.trailing_zeros() };
    for child in (0..below).rev().map(|round| me + (1 << round)).filter(|&child| child < crew.count) {
        build.send((crew.place)(child), spans.to_vec(), landing.message(0, values));
    }
}

/// A binomial tree to number 0 of a crew: each member combines the values that it receives from below, in order, and sends the result up. `held` is
/// this member's span, `into` the span for combined values; returns the one that holds the result. Takes a landing of [`rounds`] messages.
pub(crate) fn collect(build: &mut Builder, crew: Crew<'_>, landing: Landing, held: Span, into: Span) -> Span {
    let Some(me) = crew.me else { return held };
    let mut held = held;
    for round in 0..rounds(crew.count) {
        if me & 1 << round != 0 {
            build.send((crew.place)(me - (1 << round)), vec![held], landing.message(round, held.values()));
            return held;
        }
        let child = me + (1 << round);
        if child < crew.count {
            build.copy(held, into);
            held = into;
            let then = if held.values() == 0 { Then::Nothing } else { Then::Combine(held, Side::Right) };
            build.receive((crew.place)(child), landing.message(round, held.values()), then);
        }
    }
    held
}
