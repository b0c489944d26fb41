//! Two-sided messages of networks that have them.

use std::collections::VecDeque;

use pelago_base::Rank;
use pelago_platform::{Endpoint, Failure, Fault};
use pelago_rma::Error;

use super::scripted::lone;

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
        let _sharer = is_shared.then(|| world.share());
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
        // One that the network has no room for is sent when there is; one that finds no room is the sender's to know.
        script.lock().unwrap().refusals = 3;
        let refused = world.send(Rank::new(1), b"later").unwrap();
        assert_eq!(script.lock().unwrap().sent.len(), 2);
        let failure = Failure::NotReady(Rank::new(1));
        script.lock().unwrap().complete(1, Err(failure));
        assert_eq!(refused.wait(), Err(Error::Failed(failure)));
    }
}
