//! All interleavings, within loom's bounds, of doorbell, ring, gate, watch and version.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p pelago-sync --release --test loom`. A lost wake-up shows as loom's deadlock.
#![cfg(loom)]

use std::collections::BTreeSet;

use loom::{model::Builder, sync::Arc, thread};
use pelago_sync::primitive::{AtomicU32, AtomicU64, Ordering, futex_wake_all};
use pelago_sync::{Doorbell, Full, Gate, Ring, Version, Watch};

/// Explores all interleavings of two threads, and those of three with at most `PREEMPTIONS` preemptions: seconds in total.
///
/// The variable `LOOM_MAX_PREEMPTIONS` looks deeper; 4 and 5 have been run, for half a minute and three minutes.
fn explore(threads: usize, body: impl Fn() + Send + Sync + 'static) {
    if threads > 2 { explore_bounded(body) } else { check(Builder::new(), body) }
}

/// Explores the interleavings with at most `PREEMPTIONS` preemptions, for models with too many of them.
fn explore_bounded(body: impl Fn() + Send + Sync + 'static) {
    const PREEMPTIONS: usize = 3;
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    check(builder, body);
}

fn check(builder: Builder, body: impl Fn() + Send + Sync + 'static) {
    builder.check(move || {
        // The model of the futex orders all its users after the first one. Using it here, before any thread starts, makes that order harmless.
        futex_wake_all(&AtomicU32::new(0));
        body();
    });
}

fn shared<T: Default>() -> Arc<T> {
    Arc::default()
}

/// Writes as a put does, and rings.
fn put(word: &AtomicU64, bell: &Doorbell) {
    word.store(1, Ordering::Relaxed);
    bell.ring();
}

/// Sleeps until all words are written.
fn await_puts(words: &[&AtomicU64], bell: &Doorbell) {
    let mut written = || words.iter().all(|word| word.load(Ordering::Relaxed) == 1);
    while !written() {
        bell.sleep(None, &mut written);
    }
}

/// The wake-up is not lost, and with one ringer the write is seen at once.
#[test]
fn doorbell_wakes_the_sleeper_and_shows_the_write() {
    explore(2, || {
        let (bell, word) = (shared::<Doorbell>(), shared::<AtomicU64>());
        let ringer = thread::spawn({
            let (bell, word) = (bell.clone(), word.clone());
            move || put(&word, &bell)
        });
        let mut ready = || word.load(Ordering::Relaxed) == 1;
        bell.sleep(None, &mut ready);
        assert!(ready());
        ringer.join().unwrap();
    });
}

#[test]
fn doorbell_wakes_two_sleepers() {
    explore(3, || {
        let (bell, word) = (shared::<Doorbell>(), shared::<AtomicU64>());
        let sleeper = thread::spawn({
            let (bell, word) = (bell.clone(), word.clone());
            move || await_puts(&[&word], &bell)
        });
        let ringer = thread::spawn({
            let (bell, word) = (bell.clone(), word.clone());
            move || put(&word, &bell)
        });
        await_puts(&[&word], &bell);
        sleeper.join().unwrap();
        ringer.join().unwrap();
    });
}

#[test]
fn doorbell_heeds_two_ringers() {
    explore(3, || {
        let (bell, words) = (shared::<Doorbell>(), shared::<[AtomicU64; 2]>());
        let ringers = [0, 1].map(|mine| {
            let (bell, words) = (bell.clone(), words.clone());
            thread::spawn(move || put(&words[mine], &bell))
        });
        await_puts(&[&words[0], &words[1]], &bell);
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

/// Two sleepers, each for its own word, and one writer of both: writes beside a sleeper's word do not wake it, and no wake-up is lost.
#[test]
fn doorbell_wakes_those_who_sleep_for_what_was_written() {
    for sleepers in [1, 2] {
        explore(1 + sleepers, move || {
            let (bell, words) = (shared::<Doorbell>(), shared::<[AtomicU64; 2]>());
            let place = |bell: &Doorbell, word: usize| (&raw const *bell).cast::<u8>().wrapping_add(64 + 64 * word);
            let sleep = move |bell: &Doorbell, words: &[AtomicU64; 2], word: usize| {
                let mut written = || words[word].load(Ordering::Relaxed) == 1;
                while !written() {
                    bell.sleep_for(bell.line(place(bell, word), 8).unwrap(), None, &mut written);
                }
            };
            let others = (1..sleepers).map(|word| {
                let (bell, words) = (bell.clone(), words.clone());
                thread::spawn(move || sleep(&bell, &words, word))
            });
            let others: Vec<_> = others.collect();
            let writer = thread::spawn({
                let (bell, words) = (bell.clone(), words.clone());
                move || {
                    for word in [1, 0] {
                        words[word].store(1, Ordering::Relaxed);
                        bell.ring_for(place(&bell, word), 8);
                    }
                }
            });
            sleep(&bell, &words, 0);
            others.into_iter().chain([writer]).for_each(|thread| thread.join().unwrap());
        });
    }
}

type Small = Ring<2, 2>;

fn push_until_taken(ring: &Small, number: u64) {
    while ring.push(number as u32, [number, !number]).is_err() {
        thread::yield_now();
    }
}

fn pop_until_given(ring: &Small) -> u64 {
    loop {
        if let Some([number, check]) = ring.pop() {
            assert_eq!(check, !number, "half a message");
            return number;
        }
        thread::yield_now();
    }
}

#[test]
fn ring_takes_from_two_producers() {
    explore(3, || {
        let ring = shared::<Small>();
        let producers = [1, 2].map(|number| {
            let ring = ring.clone();
            thread::spawn(move || ring.push(number as u32, [number, !number]).unwrap())
        });
        let popped = BTreeSet::from([pop_until_given(&ring), pop_until_given(&ring)]);
        assert_eq!(popped, BTreeSet::from([1, 2]));
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert!(ring.is_empty());
    });
}

#[test]
fn ring_keeps_order_over_three_laps() {
    explore_bounded(|| {
        let ring = shared::<Small>();
        let producer = thread::spawn({
            let ring = ring.clone();
            move || (1..=5).for_each(|number| push_until_taken(&ring, number))
        });
        (1..=5).for_each(|number| assert_eq!(pop_until_given(&ring), number));
        producer.join().unwrap();
    });
}

#[test]
fn ring_that_is_full_refuses_one_of_two() {
    explore(3, || {
        let ring = shared::<Small>();
        ring.push(1, [1, !1]).unwrap();
        let producers = [2, 3].map(|number| {
            let ring = ring.clone();
            thread::spawn(move || (number, ring.push(number as u32, [number, !number])))
        });
        let results = producers.map(|producer| producer.join().unwrap());
        let taken: Vec<u64> = results.iter().filter(|(_, result)| result.is_ok()).map(|(number, _)| *number).collect();
        for (number, result) in results {
            assert!(result.is_ok() || result == Err(Full([number, !number])));
        }
        assert_eq!([pop_until_given(&ring), pop_until_given(&ring)], [1, taken[0]]);
        assert_eq!((taken.len(), ring.pop()), (1, None));
    });
}

/// A producer has died after its claim. The consumer skips the claim while another producer fills the queue, which takes more than one lap.
#[test]
fn ring_delivers_what_follows_a_skipped_claim() {
    const DEAD: u32 = 7;
    explore_bounded(|| {
        let ring = shared::<Small>();
        let _never_published = ring.claim(DEAD).unwrap();
        let producer = thread::spawn({
            let ring = ring.clone();
            move || (1..=3).for_each(|number| push_until_taken(&ring, number))
        });
        assert!(ring.skip(DEAD));
        (1..=3).for_each(|number| assert_eq!(pop_until_given(&ring), number));
        producer.join().unwrap();
        assert!(ring.is_empty() && !ring.skip(DEAD));
    });
}

#[test]
fn ring_gives_each_message_to_one_of_two_consumers() {
    explore(2, || {
        let ring = shared::<Small>();
        push_until_taken(&ring, 1);
        push_until_taken(&ring, 2);
        let other = thread::spawn({
            let ring = ring.clone();
            move || ring.pop()
        });
        let mine = ring.pop();
        let popped: Vec<_> = [mine, other.join().unwrap(), ring.pop(), ring.pop()].into_iter().flatten().collect();
        assert_eq!(BTreeSet::from_iter(popped.iter().map(|message| message[0])), BTreeSet::from([1, 2]));
        assert_eq!(popped.len(), 2);
    });
}

/// Another consumer takes one of two messages, so at no moment is there none.
#[test]
fn ring_is_not_empty_while_another_consumer_is_half_way() {
    explore(2, || {
        let ring = shared::<Small>();
        push_until_taken(&ring, 1);
        push_until_taken(&ring, 2);
        let other = thread::spawn({
            let ring = ring.clone();
            move || ring.pop()
        });
        // Loom does not try this by itself, as it forgets our reads at the other's; late, we still read what it overwrote.
        thread::yield_now();
        assert!(!ring.is_empty());
        assert!(other.join().unwrap().is_some());
    });
}

#[test]
fn ring_with_a_doorbell_strands_no_message() {
    explore(3, || {
        let (ring, bell) = (shared::<Small>(), shared::<Doorbell>());
        let producers = [1, 2].map(|number| {
            let (ring, bell) = (ring.clone(), bell.clone());
            thread::spawn(move || {
                ring.push(number as u32, [number, !number]).unwrap();
                bell.ring();
            })
        });
        let mut left = 2;
        while left > 0 {
            match ring.pop() {
                Some(_) => left -= 1,
                None => drop(bell.sleep(None, &mut || !ring.is_empty())),
            }
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
}

#[test]
fn gate_shows_the_memory_to_those_who_enter() {
    explore(2, || {
        let (gate, memory) = (shared::<Gate>(), shared::<AtomicU64>());
        let peer = thread::spawn({
            let (gate, memory) = (gate.clone(), memory.clone());
            move || {
                if let Some(pass) = gate.enter() {
                    assert_eq!((pass.generation(), memory.load(Ordering::Relaxed)), (1, 7));
                }
            }
        });
        memory.store(7, Ordering::Relaxed);
        assert_eq!(gate.open(), 1);
        peer.join().unwrap();
    });
}

/// After the gate is closed and empty, the owner sees every write of a peer that entered, and no write comes later.
#[test]
fn gate_that_is_closed_and_empty_leaves_the_owner_alone() {
    explore(3, || {
        let (gate, memory) = (shared::<Gate>(), shared::<[AtomicU64; 2]>());
        gate.open();
        let peers = [0, 1].map(|mine| {
            let (gate, memory) = (gate.clone(), memory.clone());
            thread::spawn(move || {
                let pass = gate.enter();
                if pass.is_some() {
                    memory[mine].store(1, Ordering::Relaxed);
                }
                pass.is_some() as u64
            })
        });
        gate.close();
        while !gate.is_empty() {
            thread::yield_now();
        }
        let seen = [0, 1].map(|peer| memory[peer].load(Ordering::Relaxed));
        assert_eq!(seen, peers.map(|peer| peer.join().unwrap()));
    });
}

/// Two threads watch and end their watches while a request arrives. One of them handles it, or the stand-in is woken.
#[test]
fn watch_leaves_nothing_lying() {
    explore(3, || {
        let (ring, watch, woken) = (shared::<Small>(), shared::<Watch>(), shared::<AtomicU64>());
        watch.begin();
        let other = thread::spawn({
            let (ring, watch, woken) = (ring.clone(), watch.clone(), woken.clone());
            move || watch_once(&ring, &watch, &woken)
        });
        let asker = thread::spawn({
            let (ring, watch, woken) = (ring.clone(), watch.clone(), woken.clone());
            move || {
                ring.push(1, [1, !1]).unwrap();
                if !watch.is_kept() {
                    woken.store(1, Ordering::Relaxed);
                }
            }
        });
        let mine = ring.pop();
        watch.end();
        wake_if_left(&ring, &woken);
        asker.join().unwrap();
        let served = other.join().unwrap() || mine.is_some();
        assert!(served || woken.load(Ordering::Relaxed) == 1, "a request is left lying");
    });
}

/// An owner changes two words together; a reader whose version is still the same has seen both words of one change.
#[test]
fn version_tells_what_is_of_one_moment() {
    explore(2, || {
        let (version, words) = (shared::<Version>(), shared::<[AtomicU64; 2]>());
        let owner = thread::spawn({
            let (version, words) = (version.clone(), words.clone());
            move || {
                version.change(|| words.iter().for_each(|word| word.store(1, Ordering::Relaxed)));
            }
        });
        if let Some(read) = version.read() {
            let seen = [0, 1].map(|index: usize| words[index].load(Ordering::Relaxed));
            assert!(!version.is_still(read) || seen == [read / 2; 2], "version {read}, but {seen:?}");
        }
        owner.join().unwrap();
    });
}

/// A watch with one check; returns whether it found a request.
fn watch_once(ring: &Small, watch: &Watch, woken: &AtomicU64) -> bool {
    watch.begin();
    let served = ring.pop().is_some();
    watch.end();
    wake_if_left(ring, woken);
    served
}

fn wake_if_left(ring: &Small, woken: &AtomicU64) {
    if !ring.is_empty() {
        woken.store(1, Ordering::Relaxed);
    }
}
