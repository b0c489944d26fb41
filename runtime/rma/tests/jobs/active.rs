//! Active messages: which run, how often, on which rank, and within which limits.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{AddressLayout, Duration, Event, Rank, SegmentId};
use pelago_platform::Failure;
use pelago_rma::active::{ActiveMessages, Call, Functions, Next, PREPARED, QueueSettings};
use pelago_rma::{Error, GlobalPtr, World};

use super::barriers::Random;
use pelago_test_support::counting::allocations;
use pelago_test_support::threads::{HEAP_BYTES, Platform, on_every_platform, run, run_counted};

/// Queues so short that they are full most of the time.
const SHORT: QueueSettings = QueueSettings { slots: 2, batch_bytes: 64, calls: 4, limit: None };

/// The messages that have run at a rank: the numbers of each sender, in order of arrival.
type Seen = Rc<RefCell<Vec<Vec<u64>>>>;

fn seen_by(world: &World) -> Seen {
    Rc::new(RefCell::new(vec![Vec::new(); world.size() as usize]))
}

#[test]
fn each_message_runs_once_and_those_of_one_rank_in_order() {
    const MESSAGES: u64 = 60;
    on_every_platform(&[1, 3], |world, platform| {
        let (seen, mut functions) = (seen_by(world), Functions::new());
        let (one, two) = (seen.clone(), seen.clone());
        let short = functions.register(move |call: &Call<'_>, number: u64| one.borrow_mut()[call.from().index()].push(number));
        let long = functions.register(move |call: &Call<'_>, [number, other]: [u64; 2]| {
            assert_eq!(other, !number);
            two.borrow_mut()[call.from().index()].push(number);
        });
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        let mut random = Random(world.rank().into());
        let mut sent = vec![0; world.size() as usize];
        for _ in 0..MESSAGES {
            let to = random.below(world.size().into()) as usize;
            let number = sent[to];
            sent[to] += 1;
            let rank = Rank::new(to as u32);
            match random.below(3) {
                0 => messages.send(rank, short, number).unwrap(),
                1 => messages.send(rank, long, [number, !number]).unwrap(),
                _ => {
                    messages.send(rank, short, number).unwrap();
                    messages.flush().unwrap();
                }
            }
        }
        messages.barrier().unwrap();
        let mut all = vec![0; (world.size() * world.size()) as usize];
        all[world.rank().index() * sent.len()..][..sent.len()].copy_from_slice(&sent);
        world.allreduce(&mut all, |one, other| one + other).unwrap();
        for (from, numbers) in seen.borrow().iter().enumerate() {
            let expected = all[from * sent.len() + world.rank().index()];
            assert!(numbers.iter().copied().eq(0..expected), "{numbers:?} of {expected} from {from} on {platform:?}");
        }
        assert_eq!(messages.counters().sent, MESSAGES);
        world.barrier().unwrap();
    });
}

#[test]
fn a_call_brings_a_reply_and_places_for_replies_are_bounded() {
    on_every_platform(&[1, 3], |world, platform| {
        let mut functions = Functions::new();
        let me = u64::from(world.rank());
        let multiply = functions.register_with_reply(move |call: &Call<'_>, [one, other]: [u32; 2]| {
            [u64::from(one) * u64::from(other), me, u64::from(call.from())]
        });
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        let right = world.rank().next(world.size());
        for round in 0..6 {
            // Abandoned replies arrive nevertheless, and their slots are reused.
            let patient =
                |number| world.wait_for("a place", None, || Ok(messages.call(right, multiply, [number, 7]).ok())).unwrap();
            let calls: Vec<_> = (0..SHORT.calls).map(patient).collect();
            let Err(error) = messages.call(right, multiply, [0, 0]) else { panic!("no place is left on {platform:?}") };
            assert_eq!(error, Error::TooMany { what: "calls whose replies were not taken (QueueSettings::calls)", limit: 4 });
            for (number, call) in (0..).zip(calls) {
                if round % 2 == 0 {
                    assert_eq!(call.wait().unwrap(), [number * 7, u64::from(right), me], "on {platform:?}");
                }
            }
            messages.barrier().unwrap();
        }
        messages.barrier().unwrap();
    });
}

/// The target does not call the library until the sender has found its queue full.
#[test]
fn a_queue_holds_its_batches_and_no_more_and_loses_none() {
    let is_full = AtomicU64::new(0);
    run(Platform::Mapped, 2, |world| {
        let sum = Rc::new(Cell::new(0));
        let (mine, mut functions) = (sum.clone(), Functions::new());
        let add = functions.register(move |_: &Call<'_>, value: u64| mine.set(mine.get() + value));
        let settings = QueueSettings { limit: Some(Duration::from_milliseconds(5)), ..SHORT };
        let messages = ActiveMessages::new(world, functions, settings).unwrap();
        world.barrier().unwrap();
        if world.rank().number() == 1 {
            while is_full.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
        } else {
            // A batch holds five messages and the header of their run: those of two slots, and those of the waiting batch.
            let error = (0..16).find_map(|_| messages.send(Rank::new(1), add, 1).err()).unwrap();
            assert!(matches!(error, Error::TimedOut { .. }), "{error}");
            assert_eq!(messages.counters().sent, 3 * 5);
            is_full.store(1, Ordering::SeqCst);
            while messages.flush().is_err() {}
        }
        messages.barrier().unwrap();
        assert_eq!(sum.get(), u64::from(world.rank()) * 15);
        world.barrier().unwrap();
    });
}

#[test]
fn a_message_costs_its_part_of_a_batch() {
    run_counted(Platform::Remote, 2, |world, passed| {
        let mut functions = Functions::new();
        let nothing = functions.register(|_: &Call<'_>, _: u64| {});
        let settings = QueueSettings { batch_bytes: 8 * (2 + 1 + 100), ..QueueSettings::default() };
        let messages = ActiveMessages::new(world, functions, settings).unwrap();
        world.barrier().unwrap();
        let posted = || {
            let passed = passed.lock().unwrap();
            [Event::PutPosted, Event::AtomicPosted, Event::GetPosted].map(|event| passed.of(event))
        };
        let before = posted();
        if world.rank().number() == 0 {
            for _ in 0..1000 {
                messages.send(Rank::new(1), nothing, 1).unwrap();
            }
            messages.flush().unwrap();
            world.quiet().unwrap();
            // Per batch: its bytes; a ticket, a read of the granted number, the flag.
            let after = posted();
            assert_eq!([0, 1, 2].map(|index| after[index] - before[index]), [10, 30, 0]);
            assert_eq!(messages.counters().batches, 10);
        }
        messages.barrier().unwrap();
    });
}

#[test]
fn nothing_is_allocated_for_a_message() {
    run(Platform::Mapped, 1, |world| {
        let mut functions = Functions::new();
        let nothing = functions.register(|_: &Call<'_>, _: u64| {});
        let echo = functions.register_with_reply(|_: &Call<'_>, value: u64| value);
        let messages = ActiveMessages::new(world, functions, QueueSettings::default()).unwrap();
        let round = || {
            for number in 0..20_000 {
                messages.send(Rank::new(0), nothing, number).unwrap();
            }
            for number in 0..100 {
                assert_eq!(messages.call(Rank::new(0), echo, number).unwrap().wait(), Ok(number));
            }
            messages.flush().unwrap();
            while messages.counters().run < messages.counters().sent {
                world.progress();
            }
        };
        round();
        let before = allocations();
        round();
        assert_eq!(allocations() - before, 0);
    });
}

/// A function that makes progress, or waits for its own operations, does not run another message.
#[test]
fn functions_are_not_run_inside_of_each_other() {
    on_every_platform(&[2], |world, platform| {
        let words = world.alloc::<u64>(2).unwrap();
        let (is_running, mut functions) = (Cell::new(false), Functions::new());
        let other = words.at(world.rank().next(2), 0);
        let nested = functions.register(move |call: &Call<'_>, _: u64| {
            assert!(!is_running.replace(true), "on {platform:?}");
            call.context().progress();
            call.context().add(other, 1).unwrap();
            is_running.set(false);
        });
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        for number in 0..40 {
            messages.send(world.rank().next(2), nested, number).unwrap();
        }
        messages.barrier().unwrap();
        world.barrier().unwrap();
        assert_eq!(words.local().load(0), 40);
        world.barrier().unwrap();
    });
}

/// A function that cannot run yet is retried, although no operation writes to its rank, and the messages behind it wait.
#[test]
fn what_cannot_run_yet_runs_later_in_its_turn() {
    on_every_platform(&[2], |world, platform| {
        let (seen, tries, mut functions) = (seen_by(world), Cell::new(0), Functions::new());
        let mine = seen.clone();
        let stubborn = functions.register_retried(move |call: &Call<'_>, number: u64| {
            tries.set(tries.get() + 1);
            if number % 5 == 3 && tries.get() % 4 != 0 {
                return Next::Later;
            }
            mine.borrow_mut()[call.from().index()].push(number);
            Next::Done
        });
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        for number in 0..30 {
            messages.send(world.rank().next(2), stubborn, number).unwrap();
        }
        messages.flush().unwrap();
        // No operation wakes a rank that sleeps meanwhile.
        world.wait_for("all messages", None, || Ok((messages.counters().run == 30).then_some(()))).unwrap();
        messages.barrier().unwrap();
        let from = world.rank().next(2).index();
        assert!(seen.borrow()[from].iter().copied().eq(0..30), "{:?} on {platform:?}", seen.borrow());
    });
}

/// Arguments are passed to `prepare` before the function gets them, a few at a time; again for a function that could not run yet.
#[test]
fn what_runs_next_is_shown_before() {
    on_every_platform(&[2], |world, platform| {
        const MESSAGES: u64 = 50;
        let (shown, ran, is_late) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
        let mut functions = Functions::new();
        let (mine, done) = (shown.clone(), ran.clone());
        let prepare = move |_: &Call<'_>, numbers: &[[u64; 2]]| {
            assert!((1..=PREPARED).contains(&numbers.len()));
            mine.borrow_mut().extend(numbers.iter().map(|&[number, _]| number));
        };
        let careful = functions.register_prepared(prepare, move |_: &Call<'_>, [number, other]: [u64; 2]| {
            assert_eq!((number, other), (done.get(), !number));
            assert!(shown.borrow().contains(&number), "on {platform:?}");
            if number == 30 && !is_late.replace(true) {
                shown.borrow_mut().clear();
                return Next::Later;
            }
            done.set(number + 1);
            Next::Done
        });
        let messages = ActiveMessages::new(world, functions, QueueSettings { batch_bytes: 1 << 10, ..SHORT }).unwrap();
        (0..MESSAGES).for_each(|number| messages.send(world.rank().next(2), careful, [number, !number]).unwrap());
        messages.barrier().unwrap();
        assert_eq!(ran.get(), MESSAGES);
    });
}

#[test]
fn a_failure_of_a_function_is_everybody_s_at_the_next_barrier() {
    on_every_platform(&[3], |world, platform| {
        let mut functions = Functions::new();
        let fails = functions.register(|call: &Call<'_>, is_bad: u64| {
            if is_bad == 1 {
                call.fail(Error::Invalid("so it is"));
            }
        });
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        messages.send(Rank::new(2), fails, u64::from(world.rank().number() == 0)).unwrap();
        let expected = if world.rank().number() == 2 { "so it is" } else { "an active message failed on another rank" };
        assert_eq!(messages.barrier(), Err(Error::Invalid(expected)), "on {platform:?}");
        messages.send(Rank::new(1), fails, 0).unwrap();
        assert_eq!(messages.barrier(), Ok(()), "once");
    });
}

/// The target would take the argument for that of another function.
#[test]
fn a_function_of_another_set_is_refused() {
    run(Platform::Mapped, 1, |world| {
        let (mut one, mut other) = (Functions::new(), Functions::new());
        let (word, _) = (one.register(|_: &Call<'_>, _: u64| ()), one.register(|_: &Call<'_>, _: u64| ()));
        let pair = other.register(|_: &Call<'_>, _: [u64; 2]| ());
        let behind = other.register(|_: &Call<'_>, _: u64| ());
        let answer = other.register_with_reply(|_: &Call<'_>, _: u64| 1_u64);
        let messages = ActiveMessages::new(world, one, QueueSettings { calls: 1, ..QueueSettings::default() }).unwrap();
        let is_refused = |send: &dyn Fn() -> Result<(), Error>| catch_unwind(AssertUnwindSafe(send)).is_err();
        let me = world.rank();
        assert!(!is_refused(&|| messages.send(me, word, 1)));
        assert!(is_refused(&|| messages.send(me, pair, [1, 2])));
        assert!(is_refused(&|| messages.send(me, behind, 1)), "a function of other types precedes it");
        assert!((0..2).all(|_| is_refused(&|| messages.call(me, answer, 1).map(drop))), "and takes no place for a reply");
        assert_eq!((messages.barrier(), messages.counters().run), (Ok(()), 1));
    });
}

/// The other ranks would wait for a rank that leaves the barrier by itself.
#[test]
fn a_failed_operation_of_one_rank_ends_the_barrier_of_all() {
    on_every_platform(&[3], |world, platform| {
        let (count, mut functions) = (Rc::new(Cell::new(0)), Functions::new());
        let counted = count.clone();
        let increment = functions.register(move |_: &Call<'_>, by: u64| counted.set(counted.get() + by));
        let messages = ActiveMessages::new(world, functions, SHORT).unwrap();
        let layout = AddressLayout::new(world.size(), HEAP_BYTES).unwrap();
        let nowhere = layout.encode(Rank::new(1), SegmentId::REGISTERED_FIRST, 0).unwrap();
        let fails = world.rank() == Rank::new(0);
        world.ranks().for_each(|rank| messages.send(rank, increment, 1).unwrap());
        if fails {
            world.put(GlobalPtr::<u64>::from_address(nowhere).unwrap(), &[1]).unwrap();
        }
        let expected = if fails {
            Error::Failed(Failure::OutOfBounds(nowhere))
        } else {
            Error::Invalid("an operation of another rank failed before a barrier of active messages")
        };
        assert_eq!(messages.barrier(), Err(expected), "{platform:?}");
        assert_eq!((messages.barrier(), count.get()), (Ok(()), 3), "{platform:?}");
    });
}

#[test]
fn a_message_whose_function_panics_has_run_and_those_behind_it_run_once() {
    const MESSAGES: u64 = 6;
    run(Platform::Mapped, 1, |world| {
        for panics_at in 0..MESSAGES {
            let (seen, mut functions) = (Rc::new(RefCell::new(Vec::new())), Functions::new());
            let mine = seen.clone();
            let note = functions.register(move |_: &Call<'_>, number: u64| {
                if number == panics_at {
                    resume_unwind(Box::new("a bug of the program"));
                }
                mine.borrow_mut().push(number);
            });
            let messages = ActiveMessages::new(world, functions, QueueSettings { batch_bytes: 512, ..SHORT }).unwrap();
            (0..MESSAGES).for_each(|number| messages.send(world.rank(), note, number).unwrap());
            assert!(catch_unwind(AssertUnwindSafe(|| messages.barrier())).is_err());
            assert!(matches!(messages.barrier(), Err(Error::Invalid(_))), "the panic is a failure of the message");
            assert!(seen.borrow().iter().copied().eq((0..MESSAGES).filter(|&number| number != panics_at)), "{seen:?}");
            assert_eq!((messages.barrier(), messages.counters().run), (Ok(()), MESSAGES));
        }
    });
}

#[test]
fn ranks_find_out_that_they_disagree_and_impossible_queues_are_refused() {
    run(Platform::Mapped, 2, |world| {
        let disagreement = Some(Error::Disagreement("the functions of active messages, or their queues"));
        let mut functions = Functions::new();
        if world.rank().number() == 0 {
            functions.register(|_: &Call<'_>, _: u64| {});
        } else {
            functions.register(|_: &Call<'_>, _: i64| {});
        }
        assert_eq!(ActiveMessages::new(world, functions, SHORT).err(), disagreement);
        let settings = QueueSettings { slots: 2 << world.rank().number(), ..SHORT };
        assert_eq!(ActiveMessages::new(world, Functions::new(), settings).err(), disagreement);
        for settings in [
            QueueSettings { slots: 3, ..SHORT },
            QueueSettings { slots: 1 << 17, ..SHORT },
            QueueSettings { batch_bytes: 32, ..SHORT },
            QueueSettings { batch_bytes: 2 << 20, ..SHORT },
            QueueSettings { calls: (1 << 16) + 1, ..SHORT },
        ] {
            assert!(matches!(ActiveMessages::new(world, Functions::new(), settings), Err(Error::Invalid(_))), "{settings:?}");
        }
        let mut functions = Functions::new();
        functions.register(|_: &Call<'_>, _: [u64; 6]| {});
        assert!(matches!(ActiveMessages::new(world, functions, SHORT), Err(Error::Invalid(_))), "longer than a batch");
        world.barrier().unwrap();
    });
}
