//! Contexts that come and go: each is told of its own operations alone, and their numbers are used again.

use std::collections::BTreeSet;

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_platform::Token;
use pelago_rma::{Context, GlobalPtr, Handle};

use super::scripted::{self, lone};

/// Contexts that a token can tell apart.
pub(crate) const CONTEXTS_MAX: usize = 1 << 16;

fn word(rank: u32) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(2, scripted::HEAP_BYTES).unwrap();
    GlobalPtr::from_address(layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 64 * 1024).unwrap()).unwrap()
}

pub(crate) fn put(context: &Context) -> Handle<'_> {
    context.put(word(1), &[1]).unwrap()
}

/// A wait of this job is told at once that nobody moves any more, so that a context is dropped with what it has under way.
#[test]
fn no_context_is_told_of_the_operations_of_one_before_it() {
    let (world, script) = lone(2);
    let sharer = world.share();
    let first = sharer.context().unwrap();
    put(&first);
    drop(first);
    let second = sharer.context().unwrap();
    let pending = put(&second);
    let complete = |index| script.lock().unwrap().complete(index, Ok(0));
    complete(0);
    assert_eq!(pending.test(), Ok(false), "what has ended is another's");
    complete(1);
    assert_eq!(pending.test(), Ok(true));
    // What has completed gives its number back, whoever takes that in.
    for _ in 0..20 {
        let posted = script.lock().unwrap().posted().len();
        for _ in 0..10 {
            put(&sharer.context().unwrap());
        }
        (posted..posted + 10).for_each(complete);
        second.progress();
    }
    let numbers: BTreeSet<_> = script.lock().unwrap().tokens().map(|Token(token)| token >> 48).collect();
    assert!(numbers.len() <= 12, "{numbers:?}: ten at once, the second, and the first");
}

#[test]
fn the_first_context_gives_its_number_to_nobody() {
    let (world, script) = lone(2);
    // Under way before anybody else uses the transport.
    world.put(word(1), &[1]).unwrap();
    let sharer = world.share();
    drop(world);
    let other = sharer.context().unwrap();
    let pending = put(&other);
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(pending.test(), Ok(false));
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(pending.test(), Ok(true));
}
