//! Tests of which thread drives, between a rank with a progress thread and one that the test drives.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU32;

use pelago_base::{AddressLayout, AtomicOperator, Event, GlobalAddress, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Endpoint, Flags, Network, Operation, Registry, Token, Transport};

use super::*;
use crate::{Setup, Socket, Udp, Unwatched};

const HEAP_BYTES: usize = 64 << 10;

/// Longer than any step of the tests takes, so that a missing event is detected.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Longer than `PATIENCE`.
const FAR: Duration = Duration::from_milliseconds(100_000);

struct Wall(std::time::Instant);

impl Clock for Wall {
    fn now(&self) -> Instant {
        // Any time but zero.
        Instant::ZERO + FAR + self.0.elapsed().into()
    }
}

/// Two ranks that know each other: the first has a progress thread on request, the second never.
struct Two {
    clock: Arc<Wall>,
    me: Udp,
    peer: Udp,
    /// The endpoint of the first rank for the second, and the reverse.
    to: Endpoint,
    back: Endpoint,
    /// Number of times that the first rank was woken.
    wakes: Arc<AtomicU32>,
    layout: AddressLayout,
}

impl Two {
    fn new(progress_thread: bool) -> Self {
        let layout = AddressLayout::new(2, HEAP_BYTES as u64).unwrap();
        let (clock, wakes) = (Arc::new(Wall(std::time::Instant::now())), Arc::new(AtomicU32::new(0)));
        let sockets = [0, 1].map(|_| Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap());
        let addresses: [SocketAddr; 2] = std::array::from_fn(|rank| sockets[rank].local_address());
        let mut ranks = sockets.into_iter().enumerate().map(|(rank, socket)| {
            let wakes = wakes.clone();
            let mut end = Udp::new(Setup {
                me: Rank::new(rank as u32),
                layout,
                socket,
                key: [7; 16],
                encrypt: false,
                failure_limit: FAR,
                find: Box::new(move |rank| addresses.get(rank.index()).copied()),
                wake: Box::new(move || {
                    wakes.fetch_add(u32::from(rank == 0), Ordering::Relaxed);
                }),
                watcher: Box::new(Unwatched),
                clock: clock.clone(),
                progress_thread: progress_thread && rank == 0,
            })
            .unwrap();
            let start = layout.encode(Rank::new(rank as u32), SegmentId::SYMMETRIC, 0).unwrap();
            end.register(start, Cells::from_mut(vec![0u64; HEAP_BYTES / 8].leak()).into()).unwrap();
            end
        });
        let (mut me, mut peer) = (ranks.next().unwrap(), ranks.next().unwrap());
        let to = peer.connect(None, Rank::new(0), &me.address()).unwrap();
        let back = me.connect(None, Rank::new(1), &peer.address()).unwrap();
        drop(ranks);
        let two = Self { clock, me, peer, to, back, wakes, layout };
        if progress_thread {
            two.until("the progress thread has begun", || two.sleeps() > 0);
        }
        two
    }

    fn at(&self, rank: u32) -> GlobalAddress {
        self.layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 0).unwrap()
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = std::time::Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::yield_now();
        }
    }

    /// Number of times that the progress thread has gone to sleep.
    fn sleeps(&self) -> u64 {
        self.me.progress_thread.as_ref().unwrap().wait_set.sleeps()
    }

    fn listens(&self) -> bool {
        self.me.progress_thread.as_ref().unwrap().listens()
    }

    /// Makes the first rank drive, with an alarm that does not ring during the test.
    fn excuse(&mut self) {
        let shared = self.me.shared.clone();
        let progress_thread = self.me.progress_thread.as_mut().unwrap();
        progress_thread.excuse_for(&mut shared.lock(), self.clock.now(), FAR);
    }

    /// Sets whether the kernel has no buffer space for datagrams of the first rank.
    fn fill(&self, full: bool) {
        self.me.shared.lock().socket.is_full.store(full, Ordering::Relaxed);
    }

    /// The first rank writes to the second.
    fn write(&mut self, now: Instant) {
        let to = self.at(1);
        self.me.post(now, self.back, Operation::Write { to, bytes: &[1; 8] }, Flags::NONE, Token(1)).unwrap();
    }

    /// Whether the second rank receives anything now.
    fn has_arrived(&mut self) -> bool {
        self.peer.progress(self.clock.now(), &mut Vec::new())
    }

    /// Posts an atomic of the second rank on a word of the first.
    fn ask(&mut self) {
        let now = self.clock.now();
        let operation = Operation::Atomic { at: self.at(0), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        self.peer.post(now, self.to, operation, Flags::NONE, Token(1)).unwrap();
    }

    /// Whether the second rank has the answer.
    fn is_answered(&mut self) -> bool {
        let mut completed = Vec::new();
        self.peer.progress(self.clock.now(), &mut completed);
        !completed.is_empty()
    }

    fn drive(&mut self) -> bool {
        self.me.progress(self.clock.now(), &mut Vec::new())
    }

    /// Posts the atomic, and waits until the progress thread has answered.
    fn is_served(&mut self) {
        self.ask();
        let begun = std::time::Instant::now();
        while !self.is_answered() {
            assert!(begun.elapsed() < PATIENCE, "the progress thread answers");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_rank_that_drives_has_its_progress_thread_left_alone() {
    const ROUNDS: u64 = 2000;
    let mut two = Two::new(true);
    let before = two.sleeps();
    for _ in 0..ROUNDS {
        two.ask();
        two.drive();
        while !two.is_answered() {
            two.drive();
        }
    }
    // If other processes take the core for long, the progress thread cannot know that the rank continues to drive: some wake-ups are no error.
    let sleeps = two.sleeps() - before;
    assert!(sleeps < ROUNDS / 4, "{sleeps} for {ROUNDS} requests");
}

#[test]
fn a_rank_that_drives_puts_the_alarm_off_ever_less_often() {
    const LOOKS: u64 = 5000;
    let mut two = Two::new(true);
    let (shared, begun) = (two.me.shared.clone(), two.clock.now());
    let progress_thread = two.me.progress_thread.as_mut().unwrap();
    let (mut times, mut rings) = (0, Instant::ZERO);
    for look in 0..LOOKS {
        progress_thread.excuse(&mut shared.lock(), begun + Duration::from_microseconds(10 * look));
        times += u64::from(std::mem::replace(&mut rings, progress_thread.shared.rings()) != progress_thread.shared.rings());
    }
    assert!((20..LOOKS / 50).contains(&times), "{times} for {LOOKS} looks");
}

#[test]
fn a_rank_that_looks_once_in_a_while_has_its_progress_thread_listen() {
    let mut two = Two::new(true);
    let (begun, sleeps) = (two.clock.now(), two.sleeps());
    for look in 0..1000 {
        two.me.progress(begun + Duration::from_microseconds(300 * look), &mut Vec::new());
        assert!(two.listens() && two.sleeps() == sleeps);
    }
    // Then it acknowledges what it receives at once, if its progress thread does not.
    let now = begun + Duration::from_milliseconds(1000);
    two.peer.post(now, two.to, Operation::Write { to: two.at(0), bytes: &[1; 8] }, Flags::NONE, Token(1)).unwrap();
    two.me.progress(now, &mut Vec::new());
    assert!(two.listens() && !two.me.shared.lock().is_owing());
    two.until("it is acknowledged", || two.me.counters()().of(Event::DatagramSent) > 0);
}

#[test]
fn a_rank_that_stops_looking_is_served() {
    let mut two = Two::new(true);
    for _ in 0..3 {
        // One thread of the rank sleeps; another drives, and then computes.
        two.me.before_sleep();
        two.drive();
        two.drive();
        let wakes = two.wakes.load(Ordering::Relaxed);
        two.is_served();
        two.until("the thread that sleeps is woken", || two.wakes.load(Ordering::Relaxed) > wakes);
    }
}

#[test]
fn a_rank_that_naps_is_woken_by_the_next_datagram_and_its_progress_thread_is_not() {
    let mut two = Two::new(true);
    let nap = two.me.nap().unwrap();
    assert!(!nap(FAR), "a progress thread that listens would take the datagram");
    // Its alarm would ring during the nap.
    let shared = two.me.shared.clone();
    two.me.progress_thread.as_mut().unwrap().excuse_for(&mut shared.lock(), two.clock.now(), Duration::from_milliseconds(40_000));
    let (sleeps, rings) = (two.sleeps(), shared.rings());
    let napped = std::thread::scope(|threads| {
        let napping = threads.spawn(|| nap(FAR));
        two.until("the alarm is put off", || shared.rings() > rings + Duration::from_milliseconds(40_000));
        assert!(!napping.is_finished());
        two.ask();
        napping.join().unwrap()
    });
    assert!(napped && two.sleeps() == sleeps && !two.is_answered());
    assert!(two.drive() && !nap(Duration::from_milliseconds(1)), "nothing more has come");
    let begun = std::time::Instant::now();
    while !two.is_answered() {
        assert!(begun.elapsed() < PATIENCE, "what woke it was the question");
    }
}

#[test]
fn a_rank_that_holds_back_an_acknowledgement_does_not_nap() {
    let mut two = Two::new(true);
    two.excuse();
    let nap = two.me.nap().unwrap();
    two.peer.post(two.clock.now(), two.to, Operation::Write { to: two.at(0), bytes: &[1; 8] }, Flags::NONE, Token(1)).unwrap();
    while !two.drive() {}
    assert!(two.me.shared.lock().is_owing());
    let begun = std::time::Instant::now();
    assert!(!nap(FAR) && begun.elapsed() < PATIENCE);
}

#[test]
fn a_rank_that_falls_asleep_is_served_before_the_alarm_rings() {
    let mut two = Two::new(true);
    two.excuse();
    two.ask();
    let sleeps = two.sleeps();
    for _ in 0..200 {
        std::thread::yield_now();
        assert!(!two.is_answered() && two.sleeps() == sleeps && !two.listens(), "it does not listen");
    }
    two.me.before_sleep();
    assert!(two.listens());
    let begun = std::time::Instant::now();
    while !two.is_answered() {
        assert!(begun.elapsed() < PATIENCE, "what came before it listened is served");
    }
    two.is_served();
}

#[test]
fn an_acknowledgement_that_a_thread_holds_back_is_sent_when_another_falls_asleep() {
    let mut two = Two::new(true);
    two.excuse();
    let counters = two.me.counters();
    two.peer.post(two.clock.now(), two.to, Operation::Write { to: two.at(0), bytes: &[1; 8] }, Flags::NONE, Token(1)).unwrap();
    while !two.drive() {}
    assert!(two.me.shared.lock().is_owing() && counters().of(Event::DatagramSent) == 0);
    two.me.before_sleep();
    two.until("it is sent", || counters().of(Event::DatagramSent) > 0);
}

#[test]
fn a_rank_that_posts_and_does_not_look_is_served() {
    let mut two = Two::new(true);
    let (to, bytes) = (two.at(1), [1; 2000]);
    two.drive();
    two.drive();
    two.ask();
    let begun = std::time::Instant::now();
    while !two.is_answered() {
        assert!(begun.elapsed() < PATIENCE, "the progress thread takes over between two posts");
        let _unless_full = two.me.post(two.clock.now(), two.back, Operation::Write { to, bytes: &bytes }, Flags::NONE, Token(2));
    }
}

#[test]
fn a_post_puts_off_only_an_alarm_that_would_ring_meanwhile() {
    const POSTS: u64 = 1000;
    let mut two = Two::new(true);
    let (shared, begun) = (two.me.shared.clone(), two.clock.now());
    let progress_thread = two.me.progress_thread.as_mut().unwrap();
    let (mut times, mut rings) = (0, Instant::ZERO);
    for post in 0..POSTS {
        let now = begun + Duration::from_microseconds(30 * post);
        progress_thread.excuse_for(&mut shared.lock(), now, Duration::from_microseconds(2));
        assert!(progress_thread.shared.rings() > now + Duration::from_microseconds(2));
        times += u64::from(std::mem::replace(&mut rings, progress_thread.shared.rings()) != progress_thread.shared.rings());
    }
    assert!((POSTS / 20..POSTS / 2).contains(&times), "{times} for {POSTS} posts");
}

#[test]
fn the_alarm_of_a_long_write_is_not_left_far_away() {
    let mut two = Two::new(true);
    let (shared, now) = (two.me.shared.clone(), two.clock.now());
    let progress_thread = two.me.progress_thread.as_mut().unwrap();
    let mut driver = shared.lock();
    progress_thread.excuse_for(&mut driver, now, FAR);
    assert!(progress_thread.shared.rings() >= now + FAR);
    progress_thread.remind(&driver, now);
    assert!(progress_thread.shared.rings() < now + FAR);
    drop(driver);
    two.is_served();
}

#[test]
fn a_progress_thread_that_hears_its_alarm_does_not_wait_for_a_rank_that_drives() {
    let mut two = Two::new(true);
    two.excuse();
    let shared = two.me.shared.clone();
    let driver = shared.lock();
    let before = two.sleeps();
    two.me.progress_thread.as_ref().unwrap().wait_set.set_alarm(Some(Duration::ZERO));
    two.until("it goes to sleep again and again", || two.sleeps() > before + 2);
    assert!(!two.listens());
    drop(driver);
    two.until("it takes over", || two.listens());
}

#[test]
fn where_the_kernel_has_no_room_nothing_moves_and_nothing_is_due_at_once() {
    let mut two = Two::new(false);
    let shared = two.me.shared.clone();
    let mut now = two.clock.now();
    for _ in 0..2 {
        two.fill(true);
        two.write(now);
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let mut driver = shared.lock();
            let due = driver.next_deadline().unwrap();
            pauses.push(due.since(now).as_nanoseconds() / 1000);
            // A poll before the deadline does not postpone it.
            for _ in 0..3 {
                assert!(!driver.drive(now, true) && driver.next_deadline() == Some(due));
            }
            now = due;
            assert!(!driver.drive(now, false));
        }
        // The rank reads the clock itself when it posts.
        assert!(pauses[0] >= 50);
        assert_eq!(pauses[1..], [100, 200, 400, 800, 1600, 3200, 3200, 3200, 3200]);
        two.fill(false);
        assert!(shared.lock().drive(now, false));
        two.until("it arrives", || two.peer.shared.lock().drive(now, false));
        two.until("it is acknowledged", || two.me.shared.lock().drive(now, false));
    }
}

#[test]
fn an_acknowledgement_that_cannot_leave_is_not_due_at_once() {
    let mut two = Two::new(false);
    let now = two.clock.now();
    two.fill(true);
    two.write(now);
    two.peer.post(now, two.to, Operation::Write { to: two.at(0), bytes: &[1; 8] }, Flags::NONE, Token(1)).unwrap();
    two.until("it arrives", || two.me.shared.lock().drive(now, true));
    assert!(!two.me.shared.lock().is_owing());
}

#[test]
fn a_progress_thread_sleeps_while_the_kernel_has_no_room() {
    for sleeping in [false, true] {
        let mut two = Two::new(true);
        two.fill(true);
        if sleeping {
            two.me.before_sleep();
        }
        let (begun, before) = (two.clock.now(), two.sleeps());
        two.write(begun);
        two.until("it sleeps, and comes again", || two.sleeps() >= before + 20);
        // No alarm rings early, even if the thread notices it late.
        assert!(two.clock.now().since(begun) > Duration::from_milliseconds(40));
        two.fill(false);
        let begun = std::time::Instant::now();
        while !two.has_arrived() {
            assert!(begun.elapsed() < PATIENCE, "the progress thread sends it");
            std::thread::yield_now();
        }
    }
}

#[test]
fn only_an_alarm_lets_the_progress_thread_take_over() {
    let two = Two::new(false);
    let shared = &two.me.shared;
    let wait_set = WaitSet::new(shared.lock().socket.descriptor()).unwrap();
    let attendance = Attendance { shared, clock: two.clock.as_ref(), wait_set: &wait_set };
    // It was woken by a datagram, but the rank has begun to drive before it got the lock.
    attendance.serve(false);
    assert_eq!(shared.until.load(Ordering::Relaxed), EXCUSED);
    attendance.serve(true);
    assert_ne!(shared.until.load(Ordering::Relaxed), EXCUSED);
}
