//! Two-sided messages of networks that support them.

use std::collections::VecDeque;

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_platform::limits::CAPTURED_BYTES_MAX;
use pelago_platform::{Endpoint, Failure, Fault};
use pelago_rma::{Error, GlobalPtr};

use super::scripted::{HEAP_BYTES, lone};

#[test]
fn a_network_without_messages_says_so() {
    let (world, _) = lone(2);
    assert!(!world.is_two_sided() && world.take().is_none());
    let sent = world.send(Rank::new(1), b"x").map(drop);
    assert!(matches!(sent, Err(Error::Invalid(_))), "{sent:?}");
    assert_eq!(world.quiet(), Ok(()));
}

#[test]
fn messages_are_sent_and_taken() {
    for is_shared in [false, true] {
        let (world, script) = lone(2);
        script.lock().unwrap().inbox = Some(VecDeque::from([(Rank::new(1), b"one".as_slice().into())]));
        let _factory = is_shared.then(|| world.context_factory());
        assert!(world.is_two_sided());
        let nobody = world.send(Rank::new(2), b"x").map(drop);
        assert!(matches!(nobody, Err(Error::Invalid(_))), "{nobody:?}");
        let sent = world.send(Rank::new(1), b"hello").unwrap();
        assert_eq!(script.lock().unwrap().sent, [(Endpoint(1), b"hello".to_vec())]);
        assert_eq!(sent.has_ended(), Ok(false));
        assert_eq!(world.flush(Rank::new(1)), Err(Error::Fault(Fault::Deadlock)), "it is under way");
        script.lock().unwrap().complete(0, Ok(0));
        assert_eq!(sent.wait(), Ok(()));
        assert_eq!(world.take(), Some((Rank::new(1), b"one".as_slice().into())));
        assert_eq!(world.take(), None);
        // A message for which the network has no room is sent when there is; if the receiver has no room, the sender's handle reports it.
        script.lock().unwrap().refusals = 3;
        let refused = world.send(Rank::new(1), b"later").unwrap();
        assert_eq!(script.lock().unwrap().sent.len(), 2);
        let failure = Failure::NotReady(Rank::new(1));
        script.lock().unwrap().complete(1, Err(failure));
        assert_eq!(refused.wait(), Err(Error::Failed(failure)));
    }
}

#[test]
fn the_bytes_of_messages_under_way_are_bounded() {
    let (world, script) = lone(2);
    script.lock().unwrap().inbox = Some(VecDeque::new());
    let sent = world.send(Rank::new(1), &vec![7; CAPTURED_BYTES_MAX - 7]).unwrap();
    let at = AddressLayout::new(2, HEAP_BYTES).unwrap().encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
    let put = || world.put(GlobalPtr::from_address(at).unwrap(), &[1_u64]);
    assert_eq!(put().map(drop), Err(Error::Fault(Fault::Deadlock)), "there is no room");
    let byte = GlobalPtr::from_address(at).unwrap();
    world.put(byte, &[1_u8; 7]).unwrap();
    script.lock().unwrap().complete(1, Ok(0));
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(sent.wait(), Ok(()));
    assert!(put().is_ok(), "and now there is");
    script.lock().unwrap().complete(2, Ok(0));
    assert_eq!(world.quiet(), Ok(()));
}
