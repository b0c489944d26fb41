//! Schedules of members that read each other's memory: the owner copies exposed values once, each reader copies them once, and no message has values.

use super::builder::Builder;
use super::scan;
use crate::Collective;
use crate::schedule::{Buffer, Span, Then};

/// The schedule of an operation where all members' memory is mapped.
pub(crate) fn any(build: &mut Builder, operation: Collective) {
    match operation {
        Collective::Broadcast { root } => broadcast(build, root),
        Collective::Reduce { root } => reduce(build, Some(root)),
        Collective::Allreduce => reduce(build, None),
        Collective::Allgather => allgather(build),
        Collective::ReduceScatter => reduce_scatter(build),
        Collective::Gather { root } => gather(build, root),
        Collective::Scatter { root } => scatter(build, root),
        Collective::Alltoall => alltoall(build),
        Collective::Scan => scan(build, false),
        Collective::ExclusiveScan => scan(build, true),
        Collective::Barrier => unreachable!("barriers have no values"),
    }
}

fn broadcast(build: &mut Builder, root: u32) {
    let (span, told) = (build.block(Buffer::Output, 0), build.landing(1, 0));
    let at = build.exposed(build.count());
    if build.me == root {
        build.expose(vec![span], at);
        build.others().for_each(|to| build.tell(to, told, 0));
    } else {
        build.hear(root, told, 0);
        build.fetch(root, at, Then::Store(vec![span]));
    }
}

/// Each member combines one part of all members' values; the root, or every member, reads the parts.
fn reduce(build: &mut Builder, root: Option<u32>) {
    let (me, size) = (build.me, build.size());
    let (told, done) = (build.landing(size, 0), build.landing(size, 0));
    let at = build.exposed(build.count());
    let result_at = build.exposed(build.count());
    let part = |build: &Builder, buffer, number| build.parts(buffer, size, number, 1);
    let exposed: Vec<Span> = (0..size).filter(|&number| number != me).map(|number| part(build, Buffer::Input, number)).collect();
    // Values before this member's own part, and after it.
    let before: usize = exposed.iter().take(me as usize).map(Span::values).sum();
    let after: usize = exposed.iter().skip(me as usize).map(Span::values).sum();
    let own = part(build, Buffer::Input, me);
    build.expose(vec![Span::part(Buffer::Input, 0, 0, before)], at);
    build.expose(vec![Span::part(Buffer::Input, 0, own.start + own.length, after)], at + own.start + own.length);
    build.others().for_each(|to| build.tell(to, told, me));
    let gets = root.is_none_or(|root| root == me);
    // A member that does not get the result may have no output.
    build.temporary(2);
    let into = if gets { own.of(Buffer::Output) } else { own.of(Buffer::Temporary) };
    build.copy(own, into);
    let scratch = Span { buffer: Buffer::Temporary, block: 1, ..own };
    build.combine_in_order(into, scratch, |build, from, then| {
        build.hear(from, told, from);
        build.fetch(from, at + own.start, then);
    });
    let readers: Vec<u32> = build.others().filter(|&to| root.is_none_or(|root| root == to)).collect();
    if !readers.is_empty() {
        build.expose(vec![into], result_at + own.start);
        readers.into_iter().for_each(|to| build.tell(to, done, me));
    }
    if gets {
        for from in build.others().rev() {
            let theirs = part(build, Buffer::Output, from);
            build.hear(from, done, from);
            build.fetch(from, result_at + theirs.start, Then::Store(vec![theirs]));
        }
    }
}

fn allgather(build: &mut Builder) {
    let me = build.me;
    let told = build.landing(build.size(), 0);
    let at = build.exposed(build.count());
    build.expose(vec![build.block(Buffer::Input, 0)], at);
    build.others().for_each(|to| build.tell(to, told, me));
    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, me));
    for from in build.others().rev() {
        build.hear(from, told, from);
        build.fetch(from, at, Then::Store(vec![build.block(Buffer::Output, from)]));
    }
}

/// Exposes this member's block for each other member, at the place of the block, and notifies them.
fn expose_for_each(build: &mut Builder) -> (super::builder::Landing, usize) {
    let (me, size, count) = (build.me, build.size(), build.count());
    let told = build.landing(size, 0);
    let at = build.exposed(size as usize * count);
    build.expose(vec![build.blocks(Buffer::Input, 0, me)], at);
    build.expose(vec![build.blocks(Buffer::Input, me + 1, size - me - 1)], at + (me as usize + 1) * count);
    build.others().for_each(|to| build.tell(to, told, me));
    (told, at + me as usize * count)
}

fn reduce_scatter(build: &mut Builder) {
    let (told, at) = expose_for_each(build);
    let own = build.block(Buffer::Output, 0);
    build.copy(build.block(Buffer::Input, build.me), own);
    build.temporary(1);
    build.combine_in_order(own, own.of(Buffer::Temporary), |build, from, then| {
        build.hear(from, told, from);
        build.fetch(from, at, then);
    });
}

fn alltoall(build: &mut Builder) {
    let (told, at) = expose_for_each(build);
    build.copy(build.block(Buffer::Input, build.me), build.block(Buffer::Output, build.me));
    for from in build.others().rev() {
        build.hear(from, told, from);
        build.fetch(from, at, Then::Store(vec![build.block(Buffer::Output, from)]));
    }
}

fn gather(build: &mut Builder, root: u32) {
    let me = build.me;
    let told = build.landing(build.size(), 0);
    let at = build.exposed(build.count());
    if me != root {
        build.expose(vec![build.block(Buffer::Input, 0)], at);
        return build.tell(root, told, me);
    }
    build.copy(build.block(Buffer::Input, 0), build.block(Buffer::Output, me));
    for from in build.others() {
        build.hear(from, told, from);
        build.fetch(from, at, Then::Store(vec![build.block(Buffer::Output, from)]));
    }
}

fn scatter(build: &mut Builder, root: u32) {
    let (me, size, count) = (build.me, build.size(), build.count());
    let told = build.landing(1, 0);
    let at = build.exposed(size as usize * count);
    let own = build.block(Buffer::Output, 0);
    if me != root {
        build.hear(root, told, 0);
        return build.fetch(root, at + me as usize * count, Then::Store(vec![own]));
    }
    // One after another, so that the first member can read while the next block is exposed.
    for to in build.others() {
        build.expose(vec![build.block(Buffer::Input, to)], at + to as usize * count);
        build.tell(to, told, 0);
    }
    build.copy(build.block(Buffer::Input, root), own);
}

fn scan(build: &mut Builder, exclusive: bool) {
    let (me, size) = (build.me, build.size());
    let told = build.landing(size, 0);
    let at = build.exposed(build.count());
    if me + 1 < size {
        build.expose(vec![build.block(Buffer::Input, 0)], at);
        (me + 1..size).for_each(|to| build.tell(to, told, me));
    }
    scan::before(build, exclusive, |build, from, then| {
        build.hear(from, told, from);
        build.fetch(from, at, then);
    });
}
