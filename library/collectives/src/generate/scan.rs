//! Scans: each member gets the combined values of the members before it, and of its own unless `exclusive`.

use super::builder::Builder;
use crate::schedule::{Buffer, Side, Span, Step, Then};

/// Every member sends to all after it.
pub(crate) fn direct(build: &mut Builder, exclusive: bool) {
    let me = build.me;
    let own = build.block(Buffer::Input, 0);
    let landing = build.landing(build.size(), build.count());
    (me + 1..build.size()).for_each(|to| build.send(to, vec![own], landing.whole(me)));
    before(build, exclusive, |build, from, then| build.receive(from, landing.whole(from), then));
}

/// Combines the values that `take` obtains from each member before this one, in order.
pub(crate) fn before(build: &mut Builder, exclusive: bool, mut take: impl FnMut(&mut Builder, u32, Then)) {
    let (me, own, result) = (build.me, build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    if !exclusive {
        build.copy(own, result);
    }
    let into = if exclusive { result } else { own.of(Buffer::Temporary) };
    build.temporary(1);
    match me {
        0 => {}
        1 if !exclusive => take(build, 0, Then::Combine(result, Side::Left)),
        _ => {
            take(build, 0, Then::Store(vec![into]));
            (1..me).for_each(|from| take(build, from, Then::Combine(into, Side::Right)));
            if !exclusive {
                build.push(Step::Combine { from: into, into: result, side: Side::Left });
            }
        }
    }
}

/// Every member sends the combination of the received values and its own to the next.
pub(crate) fn chain(build: &mut Builder, exclusive: bool) {
    let (me, own, result) = (build.me, build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    let landing = build.landing(1, build.count());
    let mut sent = own;
    if exclusive {
        if me > 0 {
            // In place, the received values would overwrite this member's own.
            sent = own.of(Buffer::Temporary);
            build.temporary(1);
            build.copy(own, sent);
            build.receive(me - 1, landing.whole(0), Then::Store(vec![result]));
            build.push(Step::Combine { from: result, into: sent, side: Side::Left });
        }
    } else {
        build.copy(own, result);
        sent = result;
        if me > 0 {
            build.receive(me - 1, landing.whole(0), Then::Combine(result, Side::Left));
        }
    }
    if me + 1 < build.size() {
        build.send(me + 1, vec![sent], landing.whole(0));
    }
}

/// In step i every member sends the combination of the last 2ⁱ members' values to the one 2ⁱ further (Hillis and Steele).
pub(crate) fn doubling(build: &mut Builder, exclusive: bool) {
    let (me, size) = (build.me, build.size());
    let (own, result) = (build.block(Buffer::Input, 0), build.block(Buffer::Output, 0));
    let held: Span = if exclusive { own.of(Buffer::Temporary) } else { result };
    build.copy(own, held);
    build.temporary(1);
    for round in 0..super::rounds(size) {
        let distance = 1 << round;
        let landing = build.landing(1, build.count());
        if me + distance < size {
            build.send(me + distance, vec![held], landing.whole(0));
        }
        if me < distance {
            continue;
        }
        let from = me - distance;
        if !exclusive {
            build.receive(from, landing.whole(0), Then::Combine(held, Side::Left));
        } else if round == 0 {
            build.receive(from, landing.whole(0), Then::Store(vec![result]));
            build.push(Step::Combine { from: result, into: held, side: Side::Left });
        } else {
            // The result and the values to send both need the received ones: the result is `held` without this member's own values.
            let scratch = Span { block: 1, ..held };
            build.temporary(2);
            build.receive(from, landing.whole(0), Then::Store(vec![scratch]));
            build.push(Step::Combine { from: scratch, into: result, side: Side::Left });
            build.push(Step::Combine { from: scratch, into: held, side: Side::Left });
        }
    }
}
