//! A test program that uses the library: every rank performs the action of the first argument, and checks its outcome.

mod crash;
mod killed;
mod stopped;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pelago::dsm::{Region, RegionSettings};
use pelago::messaging::{Channel, ChannelSettings, Lengths, Mailbox, Messages, Sent, Settings};
use pelago::prelude::*;
use pelago::{BarrierAlgorithm, Error, Event, Failure, Fault, GlobalAddress};
use pelago_kit::MockDevice;
use rustix::process::{Signal, getpid, kill_process};

fn main() -> pelago::Result<()> {
    let act = std::env::args().nth(1).expect("what to do");
    pelago::run(|world| match act.as_str() {
        "nothing" => Ok(()),
        "everything" => everything(world),
        "registered" => registered(world),
        "device" => device(world),
        "wake" => wake(world),
        "deadlock" => world.wait_until(world.alloc::<u64>(1)?.local(), 0, |value| value == 1).map(drop),
        // The last rank has an operation in flight when it begins to wait.
        "wait after put" => {
            let words = world.alloc::<u64>(2)?;
            let last = Rank::new(world.size() - 1);
            let sent = (world.rank() == last).then(|| world.put(words.at(Rank::new(0), 1), &[1])).transpose()?;
            world.wait_until(words.local(), 0, |value| value == 1)?;
            sent.map_or(Ok(()), |sent| sent.wait())
        }
        // The last rank is stopped while all wait.
        "stopped deadlock" => {
            if world.rank() == Rank::new(world.size() - 1) {
                std::thread::spawn(|| {
                    std::thread::sleep(Duration::from_millis(100));
                    kill_process(getpid(), Signal::STOP)
                });
            }
            world.wait_until(world.alloc::<u64>(1)?.local(), 0, |value| value == 1).map(drop)
        }
        // Rank 0 computes for longer than the limit of the detection while all others wait.
        "slow" => {
            let words = world.alloc::<u64>(1)?;
            if world.rank() == Rank::new(0) {
                std::thread::sleep(Duration::from_secs(4));
                for rank in (0..world.size()).map(Rank::new) {
                    world.put(words.at(rank, 0), &[1])?;
                }
            }
            world.wait_until(words.local(), 0, |value| value == 1).map(drop)
        }
        "hang" => hang(world),
        "counted" => counted(world),
        // A thread that waits for page faults does not count for the detection of deadlocks.
        "stuck" => {
            let mut region = Region::<u64>::with_page_faults(world, 1000, RegionSettings::default())?;
            region.all_mut()?[0] = 1;
            world.wait_until(world.alloc::<u64>(1)?.local(), 0, |value| value == 1).map(drop)
        }
        "lost" => lost(world),
        "deep" => {
            assert!(world.rank() != Rank::new(1) || deep(1000) == 0);
            world.barrier()
        }
        "survive" => survive(world),
        "variable" => killed::variable(world, &std::env::args().nth(2).expect("a step")),
        "region" => killed::region(world, &std::env::args().nth(2).expect("a step")),
        "slice" => killed::slice(world),
        "mailbox" => mailbox(world),
        "channel" => channel(world),
        "parties" => parties(world),
        "late" if world.rank() == Rank::new(1) => {
            // The others are in the final barrier.
            std::thread::sleep(Duration::from_millis(200));
            std::process::abort();
        }
        "late" => Ok(()),
        "leave" if world.rank() == Rank::new(0) => Err(Error::ForeignHandle),
        "leave" => world.barrier(),
        "quit" if world.rank() == Rank::new(1) => {
            std::process::exit(std::env::args().nth(2).map_or(0, |code| code.parse().expect("a code")))
        }
        "quit" => world.barrier(),
        "panic" if world.rank() == Rank::new(1) => panic!("on purpose"),
        "panic" => world.barrier(),
        "crash" if world.rank() == Rank::new(1) => crash::crash(world.rank(), &std::env::args().nth(2).expect("how")),
        "crash" => world.barrier(),
        "wild" => {
            let bytes = world.alloc::<u8>(crash::BYTES)?;
            if world.rank() == Rank::new(1) {
                crash::transfer_wildly(world, bytes.at(Rank::new(0), 0), &std::env::args().nth(2).expect("how"))?;
            }
            world.barrier()
        }
        // Rank 0 ignores the errors of its calls.
        "deaf" => loop {
            let _ = world.barrier();
        },
        "bereaved" => bereaved(world),
        "outlive" => outlive(world),
        "memory" => memory(world),
        "exchange" => exchange(world),
        "beset" => beset(world),
        "stopped" => stopped::stopped(world),
        other => panic!("what is {other}?"),
    })
}

/// Uses every kind of operation between processes.
fn everything(world: &World) -> pelago::Result<()> {
    const WORDS: usize = 100_000;
    let (right, size) = (world.rank().next(world.size()), u64::from(world.size()));
    let memory = world.alloc::<u64>(WORDS)?;
    let counter = world.alloc::<u32>(1)?;
    let letter = world.alloc::<u64>(1)?;
    let sent: Vec<u64> = (0..WORDS as u64).map(|i| i * size + u64::from(right)).collect();
    world.put(memory.at(right, 0), &sent)?;
    for rank in world.ranks() {
        world.add(counter.at(rank, 0), 1)?;
    }
    let mine = world.alloc_individual::<u64>(3)?;
    world.put(letter.at(right, 0), &[mine.ptr(0).address().bits()])?;
    world.barrier()?;
    assert!((0..WORDS).all(|i| memory.local().load(i) == i as u64 * size + u64::from(world.rank())));
    assert_eq!(counter.local().load(0), world.size());
    let theirs = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(letter.local().load(0)))?;
    world.put(theirs.add(1), &[77])?;
    world.barrier()?;
    assert_eq!(mine.local().to_vec(), [0, 77, 0]);
    let mut sum = [u64::from(world.rank())];
    world.allreduce(&mut sum, |one, other| one + other)?;
    assert_eq!(sum, [size * (size - 1) / 2]);
    Ok(())
}

/// The last rank computes until it is killed; the others continue without it.
fn survive(world: &World) -> pelago::Result<()> {
    let last = Rank::new(world.size() - 1);
    let told = Rc::new(RefCell::new(Vec::new()));
    world.on_peer_lost({
        let told = told.clone();
        move |rank| told.borrow_mut().push(rank)
    });
    let words = world.alloc::<u64>(2)?;
    let others =
        world.group(&Team::of(&world.ranks().filter(|rank| *rank != last).collect::<Vec<_>>()).expect("no rank twice"))?;
    world.barrier()?;
    println!("rank {} {}", world.rank(), std::process::id());
    let Some(others) = others else {
        loop {
            std::thread::sleep(Duration::from_secs(1000));
        }
    };
    let lost = |error| matches!(error, Err(Error::Fault(Fault::PeerLost(rank))) if rank == last);
    // No rank writes this word; the failure ends the wait, once.
    assert!(lost(world.wait_until(words.local(), 1, |value| value == 1).map(drop)));
    assert_eq!([told.borrow().clone(), world.lost()], [[last], [last]]);
    assert!(lost(world.barrier()));
    let counted = world.fetch_add(words.at(Rank::new(0), 0), 1)?.wait()?;
    assert!(counted < u64::from(last));
    others.barrier()?;
    assert_eq!(world.get(words.at(Rank::new(0), 0))?, u64::from(last));
    let late = world.fetch_add(words.at(last, 0), 1)?.wait();
    // The memory of a failed rank on this host can still be used.
    assert!(matches!(late, Ok(0..) | Err(Error::Failed(Failure::PeerLost(_)))), "{late:?}");
    println!("rank {} went on, its words {}", world.rank(), if late.is_ok() { "mapped" } else { "out of reach" });
    Ok(())
}

/// The last rank is killed while it holds a ticket of rank 0's mailbox that blocks senders with later tickets; the others continue. With `relayed`, it is
/// also the relay of the rank before it.
fn mailbox(world: &World) -> pelago::Result<()> {
    const EACH: u64 = 100;
    let (zero, last) = (Rank::new(0), Rank::new(world.size() - 1));
    world.on_peer_lost(|_| ());
    let relay_ranks = if std::env::args().nth(2).as_deref() == Some("relayed") { 2 } else { 0 };
    let mailbox = Mailbox::new(world, zero, Settings::new(2, 8).relayed(relay_ranks))?;
    let held = world.alloc::<u64>(1)?;
    world.barrier()?;
    if world.rank() == last {
        let mut sender = mailbox.sender(zero)?;
        assert_eq!(
            [sender.try_send([1])?, sender.try_send([2])?, sender.try_send([3])?],
            [Sent::Sent, Sent::Sent, Sent::Full([3])]
        );
        sender.flush()?;
        world.ranks().for_each(|rank| drop(world.put(held.at(rank, 0), &[1])));
        world.quiet()?;
        println!("rank {} {}", world.rank(), std::process::id());
        std::thread::sleep(Duration::from_secs(1000));
    }
    world.wait_until(held.local(), 0, |held| held == 1)?;
    println!("rank {} {}", world.rank(), std::process::id());
    if world.rank() != zero {
        let mut sender = mailbox.sender(zero)?;
        (0..EACH).try_for_each(|number| sender.send(number.to_le_bytes()))?;
        sender.flush()?;
    } else {
        let mut receiver = mailbox.receiver()?;
        // The messages that the failed rank has flushed are available.
        assert_eq!(receiver.receive()?.to_vec(), [1]);
        assert_eq!(receiver.receive()?.to_vec(), [2]);
        let mut next = vec![0; world.size() as usize];
        for _ in 0..EACH * (u64::from(world.size()) - 2) {
            let message = receiver.receive()?;
            let number = &mut next[message.from().index()];
            assert_eq!(message.to_vec(), u64::to_le_bytes(*number));
            *number += 1;
        }
        assert_eq!(world.lost(), [last]);
    }
    println!("rank {} went on", world.rank());
    Ok(())
}

/// The last rank is killed while rank 0 waits for its messages and rank 1 for a free slot at it; both get an error.
fn channel(world: &World) -> pelago::Result<()> {
    let last = Rank::new(world.size() - 1);
    world.on_peer_lost(|_| ());
    let settings = ChannelSettings::new(4, 8);
    let from_last = Channel::new(world, last, Rank::new(0), settings)?;
    let to_last = Channel::new(world, Rank::new(1), last, settings)?;
    world.barrier()?;
    let ready = || println!("rank {} {}", world.rank(), std::process::id());
    if world.rank() == last {
        let mut sender = from_last.sender()?;
        sender.send([1])?;
        sender.flush()?;
        ready();
        std::thread::sleep(Duration::from_secs(1000));
    }
    ready();
    let outcome = match world.rank().number() {
        0 => {
            let mut receiver = from_last.receiver()?;
            assert_eq!(receiver.receive()?.to_vec(), [1]);
            receiver.receive().map(drop)
        }
        1 => {
            let mut sender = to_last.sender()?;
            (0..5).try_for_each(|number| sender.send([number]))
        }
        _ => {
            let nothing = world.alloc_individual::<u64>(1)?;
            world.wait_until(nothing.local(), 0, |word| word == 1).map(drop)
        }
    };
    let lost =
        matches!(outcome, Err(Error::Fault(Fault::PeerLost(rank)) | Error::Failed(Failure::PeerLost(rank))) if rank == last);
    assert!(lost, "{outcome:?}");
    println!("rank {} was told", world.rank());
    Ok(())
}

/// The last rank is killed while the others wait for its messages; they get an error.
fn parties(world: &World) -> pelago::Result<()> {
    let last = Rank::new(world.size() - 1);
    world.on_peer_lost(|_| ());
    let lengths = [Lengths::EAGER, Lengths::ACQUIRED, Lengths::RENDEZVOUS][world.rank().index() % 3];
    let of = |lengths| Messages::new(world, lengths, Settings::new(4, 8), Settings::new(4, 8));
    let (here, eager) = (of(lengths)?, of(Lengths::EAGER)?);
    let (mut party, mut eager) = (here.party()?, eager.party()?);
    if world.rank() == last {
        world.ranks().filter(|&rank| rank != last).try_for_each(|rank| eager.send(rank, 0, &[1]))?;
    }
    world.barrier()?;
    println!("rank {} {}", world.rank(), std::process::id());
    if world.rank() == last {
        std::thread::sleep(Duration::from_secs(1000));
    }
    assert_eq!(eager.receive(Some(last), None)?.bytes, [1]);
    for party in [&mut party, &mut eager] {
        let outcome = party.receive(Some(last), None);
        assert!(matches!(outcome, Err(Error::Fault(Fault::PeerLost(rank))) if rank == last), "{outcome:?}");
    }
    println!("rank {} was told", world.rank());
    Ok(())
}

/// Number of words of each rank that other ranks access, in any kind of memory.
const WORDS: usize = 20_000;

/// Operations on registered memory of the program.
fn registered(world: &World) -> pelago::Result<()> {
    let mine = world.register((0..WORDS as u64).collect::<Vec<u64>>())?;
    let words = || (0..WORDS).map(|index| mine.local().load(index)).collect();
    reach_all(world, mine.ptr(0), words)
}

/// Operations on memory of a device.
fn device(world: &World) -> pelago::Result<()> {
    let device = MockDevice::new(0, WORDS * size_of::<u64>());
    let mine = world.register_device::<u64>(device.clone())?;
    world.put(mine.ptr(0), &(0..WORDS as u64).collect::<Vec<u64>>())?.wait()?;
    let words = || device.contents().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    reach_all(world, mine.ptr(0), words)
}

/// Checks that puts and gets of the first rank's memory are correct at every rank, and that atomics on it are exact, while its owner computes. Each
/// rank's memory begins at `mine` and holds the numbers from 0 on; `words` reads it.
fn reach_all(world: &World, mine: GlobalPtr<u64>, words: impl Fn() -> Vec<u64>) -> pelago::Result<()> {
    const EACH: u64 = 200;
    let letter = world.alloc::<u64>(1)?;
    let finished = world.alloc::<u64>(1)?;
    let home = Rank::new(0);
    let changed: Vec<u64> = (1..WORDS as u64).map(|i| i + 1_000_000).collect();
    letter.local().store(0, mine.address().bits());
    world.barrier()?;
    let theirs = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(world.get(letter.at(home, 0))?))?;
    if world.rank() == home && std::env::var("PELAGO_PROGRESS").as_deref() != Ok("manual") {
        // The owner does not enter the library until all others have finished.
        while finished.local().load(0) + 1 < u64::from(world.size()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    } else if world.rank() != home {
        let mut seen = vec![0; WORDS];
        world.get_into(theirs.add(1), &mut seen[1..])?;
        assert!((1..WORDS as u64).all(|i| is_old_or_new(seen[i as usize], i, i + 1_000_000)));
        world.put(theirs.add(1), &changed)?.wait()?;
        for _ in 0..EACH {
            world.fetch_add(theirs, 1)?.wait()?;
        }
        // A copy from the owner's memory to this rank's own memory, both registered.
        world.copy(theirs.add(1), mine.add(1), WORDS - 1)?.wait()?;
        assert!(words()[1..] == changed);
        world.add(finished.at(home, 0), 1)?;
    }
    world.barrier()?;
    if world.rank() == home {
        let words = words();
        assert!(words[0] == EACH * u64::from(world.size() - 1) && words[1..] == changed);
    }
    world.barrier()
}

/// Whether a value is a possible result of a get during a put: each byte is old or new.
fn is_old_or_new(seen: u64, old: u64, new: u64) -> bool {
    let bytes = seen.to_ne_bytes().into_iter().zip(old.to_ne_bytes().into_iter().zip(new.to_ne_bytes()));
    bytes.into_iter().all(|(seen, (old, new))| seen == old || seen == new)
}

/// Parked ranks wake up when their memory is written, and only then: not when a rank of their host writes to quiet memory, nor, in every other round, to
/// memory other than the one word that they wait for.
fn wake(world: &World) -> pelago::Result<()> {
    const ROUNDS: u64 = 5;
    const QUIET_WRITES: u64 = 200;
    let turn = world.alloc::<u64>(1)?;
    let (quiet, beside) = (world.alloc::<u64>(512)?.quiet(), world.alloc::<u64>(512)?);
    let processes = world.alloc::<u32>(world.size() as usize)?;
    let right = world.rank().next(world.size());
    world.put(processes.at(Rank::new(0), world.rank().index()), &[std::process::id()])?;
    world.barrier()?;
    for round in 1..=ROUNDS {
        if world.rank() == Rank::new(0) {
            let others = || processes.local().to_vec().into_iter().filter(|&process| process != std::process::id());
            for _ in 0..QUIET_WRITES {
                others().for_each(until_asleep);
                for rank in (1..world.size()).map(Rank::new).filter(|&rank| world.maps(rank)) {
                    let written = if round % 2 == 0 { &quiet } else { &beside };
                    world.put(written.at(rank, 0), &[round; 8])?;
                    world.add(written.at(rank, 511), 1)?;
                }
            }
            others().for_each(until_asleep);
            world.put(turn.at(right, 0), &[round])?;
        }
        if round % 2 == 0 {
            world.wait_for("the turn", None, || Ok((turn.local().load(0) == round).then_some(())))?;
        } else {
            world.wait_for_word("the turn", None, turn.at(world.rank(), 0), || {
                Ok((turn.local().load(0) == round).then_some(()))
            })?;
        }
        if world.rank() != Rank::new(0) {
            world.put(turn.at(right, 0), &[round])?;
        }
    }
    // Each rank parked once in each round: a wait neither occupies the core nor wakes up repeatedly.
    let parked = world.counters().of(Event::Parked);
    let slept = if world.rank() == Rank::new(0) { 0 } else { ROUNDS };
    assert!((slept..100).contains(&parked), "parked {parked} times");
    world.barrier()?;
    let written = if world.maps(Rank::new(0)) { slept * QUIET_WRITES } else { 0 };
    assert_eq!(quiet.local().load(511) + beside.local().load(511), written);
    Ok(())
}

/// Waits until a process sleeps and is not merely ready to run.
fn until_asleep(process: u32) {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("the process lives");
        let state = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        if state == Some("S") {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Rank 1 waits until it fails. The others wait until they have detected the failure, and then finish.
fn outlive(world: &World) -> pelago::Result<()> {
    world.on_peer_lost(|_| ());
    let nothing = world.alloc::<u64>(1)?;
    match std::env::args().nth(2).filter(|_| world.rank() == Rank::new(1)).as_deref() {
        Some("error") => return Err(Error::ForeignHandle),
        Some(_) => panic!("on purpose"),
        None => {}
    }
    match world.wait_until(nothing.local(), 0, |value| value == 1) {
        Err(Error::Fault(Fault::PeerLost(lost))) if lost == Rank::new(1) => Ok(()),
        ended => ended.map(drop),
    }
}

/// Rank 1 fails late. Rank 0 needs rank 1 and reacts as the second argument says: it ends with the error, panics, or has
/// failed before.
fn bereaved(world: &World) -> pelago::Result<()> {
    let words = world.alloc::<u64>(1)?;
    world.barrier()?;
    if world.rank() == Rank::new(1) {
        println!("rank {} {}", world.rank(), std::process::id());
        if std::env::args().nth(3).is_some() {
            std::process::abort();
        }
    }
    // In a simulation, this is before any rank has detected the failure.
    if std::env::args().nth(2).as_deref() == Some("impatient") && world.rank() == Rank::new(0) {
        world.compute(pelago::Duration::from_microseconds(1000));
        return Err(Error::ForeignHandle);
    }
    let added = loop {
        world.compute(pelago::Duration::from_microseconds(10));
        match world.fetch_add(words.at(Rank::new(1), 0), 1)?.wait() {
            Ok(_) if world.rank() == Rank::new(0) => {}
            added => break added.map(drop),
        }
    };
    match std::env::args().nth(2).as_deref() {
        Some("panic") => added.map_err(|error| panic!("{error}")),
        _ => added.and_then(|()| world.barrier()),
    }
}

/// Rank 1 fails. Every other rank gets the error from its wait, and may save its data.
fn lost(world: &World) -> pelago::Result<()> {
    const VICTIM: Rank = Rank::new(1);
    let left = world.alloc::<u64>(1)?;
    world.barrier()?;
    // The victim does not fail before all have left the barrier.
    world.add(left.at(VICTIM, 0), 1)?;
    if world.rank() == VICTIM {
        world.wait_until(left.local(), 0, |count| count == u64::from(world.size()))?;
        std::process::abort();
    }
    let ended = world.barrier();
    assert_eq!(ended, Err(Error::Fault(Fault::PeerLost(VICTIM))));
    println!("rank {} saves its work", world.rank());
    ended
}

/// Repeats the operation of the second argument with the neighbour on the right until the job is ended. Each rank prints a line after the
/// first one.
fn exchange(world: &World) -> pelago::Result<()> {
    let way = std::env::args().nth(2).expect("how");
    let (memory, right) = (world.alloc::<u64>(1)?, world.rank().next(world.size()));
    for round in 1.. {
        match way.as_str() {
            "put" => {
                world.put(memory.at(right, 0), &[round])?;
                world.wait_until(memory.local(), 0, |value| value >= round)?;
            }
            "get" => drop(world.get(memory.at(right, 0))?),
            "add" => drop(world.fetch_add(memory.at(right, 0), 1)?.wait()?),
            "barrier" => world.barrier()?,
            other => panic!("what is {other}?"),
        }
        if round == 1 {
            println!("rank {} {}", world.rank(), std::process::id());
        }
    }
    Ok(())
}

/// Prints the private memory of a rank after start and one barrier.
fn memory(world: &World) -> pelago::Result<()> {
    world.barrier()?;
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("/proc");
    let kilobytes = |name: &str| -> u64 {
        let line = rollup.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    };
    println!("rank {} has {} KiB", world.rank(), kilobytes("Private_Dirty:") + kilobytes("Private_Clean:"));
    world.barrier()
}

/// Transfers and checks words that contain a mark, the third argument, until the file of the second argument exists.
fn beset(world: &World) -> pelago::Result<()> {
    const WORDS: usize = 1000;
    let mut arguments = std::env::args().skip(2);
    let enough = arguments.next().map(std::path::PathBuf::from).expect("a file");
    let mark: u64 = arguments.next().and_then(|mark| mark.parse().ok()).expect("the upper bits of all words");
    println!("rank {} {}", world.rank(), std::process::id());
    let (right, left) = (world.rank().next(world.size()), world.rank().previous(world.size()));
    let memory = world.alloc::<u64>(WORDS)?;
    let counter = world.alloc::<u64>(1)?;
    for round in 1.. {
        let words =
            |of: Rank| -> Vec<u64> { (0..WORDS as u64).map(|i| mark | (i + 7 * round + u64::from(of)) & 0xFFFF).collect() };
        world.put(memory.at(right, 0), &words(world.rank()))?;
        for rank in world.ranks() {
            world.add(counter.at(rank, 0), 1)?;
        }
        world.barrier()?;
        assert_eq!(memory.local().to_vec(), words(left));
        assert_eq!(counter.local().load(0), round * u64::from(world.size()));
        let mut back = vec![0; WORDS];
        world.get_into(memory.at(right, 0), &mut back)?;
        assert_eq!(back, words(world.rank()));
        // No rank continues before all have checked.
        let mut ended = [u64::from(world.rank() == Rank::new(0) && enough.exists())];
        world.allreduce(&mut ended, |one, other| one | other)?;
        if ended == [1] {
            println!("rank {} found all as it should be", world.rank());
            break;
        }
    }
    Ok(())
}

/// Makes `calls` nested calls, each with some hundred bytes of stack.
#[inline(never)]
fn deep(calls: u64) -> u64 {
    let room = std::hint::black_box([calls; 64]);
    if calls == 0 { 0 } else { deep(calls - 1) + room[7] / (calls + 1) }
}

/// Ranks 0 and 1 wait for rank 2, one at a barrier and one for a value, while rank 2 computes until the file of the second argument
/// exists.
fn hang(world: &World) -> pelago::Result<()> {
    let enough = std::env::args().nth(2).map(std::path::PathBuf::from).expect("a file");
    let value = world.alloc::<u64>(1)?;
    world.barrier_by(BarrierAlgorithm::Dissemination)?;
    println!("rank {} {}", world.rank(), std::process::id());
    match world.rank().number() {
        1 => drop(world.wait_until(value.local(), 0, |value| value == 1)?),
        2 => {
            while !enough.exists() {
                std::hint::black_box((0..100_000_u64).fold(0, |sum: u64, number| sum.rotate_left(1) ^ number));
            }
            world.put(value.at(Rank::new(1), 0), &[1])?;
        }
        _ => {}
    }
    world.barrier_by(BarrierAlgorithm::Dissemination)
}

/// Prints the names of the counters that a put and a barrier have changed: operations and datagrams where ranks are reached by a network, none of
/// these where their memory is mapped.
fn counted(world: &World) -> pelago::Result<()> {
    let words = world.alloc::<u64>(16)?;
    world.put(words.at(world.rank().next(world.size()), 0), &[7; 16])?;
    world.quiet()?;
    world.barrier()?;
    let counters = world.counters();
    assert!(counters.of(Event::ByteIssued) >= 128 * u64::from(counters.of(Event::OperationIssued) > 0), "{counters:?}");
    let names = counters.iter().map(|(name, _)| name).filter(|name| ["operations", "datagrams_sent"].contains(name));
    println!("rank {} counted {:?}", world.rank(), names.collect::<Vec<_>>());
    world.barrier()
}
