//! Many failures, and many contexts.

use pelago_rma::Error;

use crate::alone::contexts::{CONTEXTS_MAX, put};
use crate::alone::failures::{LOST, job, outside, puts, word};
use crate::alone::scripted::{Answer, lone};

#[test]
fn a_hundred_thousand_failures_are_reported_once_and_none_as_a_success() {
    const COUNT: u64 = 100_000;
    let fails = |number: u64| number.is_multiple_of(2);
    for failure in [|_| LOST, outside] {
        let (world, script) = job();
        let end = |number| if fails(number) { Err(failure(number)) } else { Ok(0) };
        let handles = puts(&world, &script, COUNT, end);
        let mut forgotten = 0;
        // In another order.
        for number in (0..COUNT).map(|index| index * 7919 % COUNT).filter(|number| number % 10 > 0) {
            match handles[number as usize].wait() {
                Err(Error::Forgotten) => forgotten += 1,
                said => assert_eq!(said, end(number).map(drop).map_err(Error::Failed), "put {number}"),
            }
            let posted = script.lock().unwrap().posted().len();
            let ordered = world.after(&handles[number as usize]).put(word(2, 0), &[1]);
            let is_posted = script.lock().unwrap().posted().len() > posted;
            assert_eq!((ordered.is_ok(), is_posted), (handles[number as usize].wait().is_ok(), ordered.is_ok()));
            if is_posted {
                script.lock().unwrap().complete(posted, Ok(0));
                world.progress();
            }
        }
        // A forgotten result does not end the wait for others.
        let posted = script.lock().unwrap().posted().len();
        let other = world.put(word(2, 0), &[1]).unwrap();
        script.lock().unwrap().complete(posted, Ok(0));
        let first = world.wait_all(&[handles[2], other]);
        assert!(matches!(first, Err(Error::Forgotten | Error::Failed(_))) && other.has_ended() == Ok(true), "{first:?}");
        // Equal failures share a group, so that many are remembered.
        assert_eq!(forgotten > 0, failure(0) != LOST);
        assert_eq!(world.quiet(), Err(Error::Failed(failure(0))), "that of the first, whose handle nobody has asked");
        assert_eq!(world.quiet(), Ok(()), "once");
    }
}

#[test]
fn contexts_are_made_one_after_another_for_ever() {
    let (world, script) = lone(2);
    script.lock().unwrap().answer = Answer::Completes;
    let factory = world.context_factory();
    for _ in 0..70_000 {
        let context = factory.context().unwrap();
        put(&context).wait().unwrap();
    }
}

#[test]
fn as_many_contexts_are_there_as_tokens_tell_apart() {
    let (world, _) = lone(2);
    let factory = world.context_factory();
    let mut others: Vec<_> = (1..CONTEXTS_MAX).map(|_| factory.context().unwrap()).collect();
    assert!(matches!(factory.context(), Err(Error::TooMany { limit: CONTEXTS_MAX, .. })));
    others.pop();
    others.push(factory.context().unwrap());
    assert!(factory.context().is_err());
}
