//! Contexts that are created and dropped: each gets the completions of its own operations only, and their numbers are reused.

use std::collections::{BTreeSet, VecDeque};

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_platform::Token;
use pelago_rma::{Context, Error, GlobalPtr, Handle};

use super::scripted::{self, RANKS, Script, lone, lone_with};

/// Number of contexts that a token can distinguish.
pub(crate) const CONTEXTS_MAX: usize = 1 << 16;

fn word(rank: u32) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(2, scripted::HEAP_BYTES).unwrap();
    GlobalPtr::from_address(layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 64 * 1024).unwrap()).unwrap()
}

pub(crate) fn put(context: &Context) -> Handle<'_> {
    context.put(word(1), &[1]).unwrap()
}

/// A wait of this job reports a deadlock immediately, so that a context is dropped with its operations in flight.
#[test]
fn no_context_is_told_of_the_operations_of_one_before_it() {
    let (world, script) = lone(2);
    let factory = world.context_factory();
    let first = factory.context().unwrap();
    put(&first);
    drop(first);
    let second = factory.context().unwrap();
    let pending = put(&second);
    let complete = |index| script.lock().unwrap().complete(index, Ok(0));
    complete(0);
    assert_eq!(pending.test(), Ok(false), "what has ended is another's");
    complete(1);
    assert_eq!(pending.test(), Ok(true));
    // A completion frees the context's number, whichever context processes it.
    for _ in 0..20 {
        let posted = script.lock().unwrap().posted().len();
        for _ in 0..10 {
            put(&factory.context().unwrap());
        }
        (posted..posted + 10).for_each(complete);
        second.progress();
    }
    let numbers: BTreeSet<_> = script.lock().unwrap().tokens().map(|Token(token)| token >> 48).collect();
    assert!(numbers.len() <= 12, "{numbers:?}: ten at once, the second, and the first");
}

#[test]
fn a_thread_that_the_platform_does_not_take_gets_no_context() {
    for takes in [false, true] {
        let (world, _) = lone_with(RANKS, Script::of_threads(takes), u64::MAX);
        let factory = world.context_factory();
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| factory.context().map(drop)).join().unwrap());
        assert_eq!(elsewhere.is_ok(), takes, "{elsewhere:?}");
        assert!(takes || matches!(elsewhere, Err(Error::Unsupported(_))));
        assert!(factory.context().is_ok(), "the thread of the world");
    }
}

#[test]
fn a_context_whose_operations_have_ended_gives_its_number_back() {
    let (world, script) = lone(2);
    let factory = world.context_factory();
    for index in 0..20 {
        let context = factory.context().unwrap();
        let pending = put(&context);
        script.lock().unwrap().complete(index, Ok(0));
        pending.wait().unwrap();
    }
    let numbers: BTreeSet<_> = script.lock().unwrap().tokens().map(|Token(token)| token >> 48).collect();
    assert_eq!(numbers.len(), 1, "{numbers:?}");
}

/// Another thread that fetches a page of a program's memory may need the transport, so that the transport must not be locked by a thread that
/// waits for that page.
#[test]
fn bytes_are_read_before_the_transport_is_locked() {
    const PAGE_BYTES: usize = 4096;
    let (world, script) = lone(2);
    script.lock().unwrap().inbox = Some(VecDeque::new());
    script.lock().unwrap().watches_pages = true;
    let other = world.context_factory().context().unwrap();
    // So many bytes that the allocation comes from the system and no page has been accessed.
    let bytes = vec![0_u8; 64 << 20];
    let page = |number| &bytes[number * PAGE_BYTES..];
    other.send(Rank::new(1), &page(2000)[100..10 * PAGE_BYTES]).unwrap();
    // Spans two pages.
    let to = word(1).cast::<u8>().unwrap();
    other.put(to, &page(8000)[PAGE_BYTES - 32..PAGE_BYTES + 32]).unwrap();
    assert_eq!(script.lock().unwrap().pages, [true; 2]);
    (0..2).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(other.quiet(), Ok(()));
}

/// A completion is passed to its own context, whichever context drives the transport; and that context reports progress.
#[test]
fn what_another_context_has_fetched_is_progress() {
    let (world, script) = lone(2);
    let other = world.context_factory().context().unwrap();
    let pending = put(&world);
    script.lock().unwrap().complete(0, Ok(0));
    assert!(other.progress(), "the transport has moved");
    assert_eq!(pending.has_ended(), Ok(false));
    assert!(world.progress(), "though the transport has not");
    assert_eq!((pending.has_ended(), world.progress()), (Ok(true), false));
}

#[test]
fn the_first_context_gives_its_number_to_nobody() {
    let (world, script) = lone(2);
    // In flight before another context uses the transport.
    world.put(word(1), &[1]).unwrap();
    let factory = world.context_factory();
    drop(world);
    let other = factory.context().unwrap();
    let pending = put(&other);
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(pending.test(), Ok(false));
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(pending.test(), Ok(true));
}
