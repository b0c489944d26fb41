//! Whole jobs of processes. This program starts itself as their ranks, and therefore has its own main function.

use std::collections::HashMap;
use std::process::{Command, ExitCode, Output, Stdio};

use pelago::platform::BootstrapError;
use pelago::prelude::*;
use pelago::{Error, Failure, Fault};
use pelago_examples::himeno;
use pelago_tcp::{Outcome, Seat, join, launch};

/// The variable with the role of this program, and the names of the roles.
const ROLE: &str = "ROLE";
const ALONE: &str = "himeno over shared memory";
const DIES: &str = "rank 2 dies";
const SURVIVES: &str = "rank 2 dies and the others go on";
const TRANSFERS: &str = "transfers longer than what sockets keep";

const RANKS: u32 = 4;
const VICTIM: Rank = Rank::new(2);
const HEAP_BYTES: u64 = 64 << 20;
const HIMENO: [&str; 3] = ["S", "--iterations", "3"];

fn main() -> ExitCode {
    match std::env::var(ROLE).as_deref() {
        Ok(ALONE) => himeno::main(HIMENO.map(str::to_owned).into()),
        Ok(role) => rank(role).map_or_else(failed, |()| ExitCode::SUCCESS),
        Err(_) => {
            let tests: [(&str, fn()); 4] = [
                ("himeno_finds_over_tcp_what_it_finds_over_shared_memory", same_hash),
                ("a_rank_that_dies_ends_the_job", death_ends_the_job),
                ("a_job_may_go_on_without_a_rank_that_died", job_goes_on),
                ("transfers_longer_than_what_sockets_keep_arrive_whole", transfers),
            ];
            let chosen = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
            let chosen: Vec<_> = tests.into_iter().filter(|(name, _)| name.contains(&chosen)).collect();
            for (name, test) in &chosen {
                test();
                println!("test {name} ... ok");
            }
            println!("test result: ok. {} passed; 0 failed", chosen.len());
            ExitCode::SUCCESS
        }
    }
}

fn same_hash() {
    let hash = |mut command: Command| {
        let Output { status, stdout, stderr } = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{text}{}", String::from_utf8_lossy(&stderr));
        let fields: HashMap<_, _> = text.lines().filter_map(|line| line.split_once(' ')).collect();
        [fields["hash"], fields["ranks"]].map(|value| value.trim().to_owned())
    };
    let mut over_tcp = Command::new(env!("CARGO_BIN_EXE_himeno-tcp"));
    over_tcp.arg(RANKS.to_string()).args(HIMENO);
    let [[found, ranks], [expected, _]] = [over_tcp, myself(ALONE)].map(hash);
    assert_eq!((found, ranks), (expected, RANKS.to_string()));
}

fn death_ends_the_job() {
    let Outcome { lost, statuses } = launch(RANKS, |_| myself(DIES)).expect("ranks start");
    assert!(lost.contains(&VICTIM), "{lost:?}");
    let codes: Vec<_> = statuses.iter().map(|status| status.code()).collect();
    let told = Some(i32::from(LOST));
    assert_eq!(codes, [told, told, None, told], "who waits for it is told");
}

fn job_goes_on() {
    let Outcome { lost, statuses } = launch(RANKS, |_| myself(SURVIVES)).expect("ranks start");
    let codes: Vec<_> = statuses.iter().map(|status| status.code()).collect();
    assert_eq!((lost, codes), (vec![VICTIM], vec![Some(0), Some(0), None, Some(0)]));
}

fn transfers() {
    let Outcome { lost, statuses } = launch(RANKS, |_| myself(TRANSFERS)).expect("ranks start");
    assert!(lost.is_empty() && statuses.iter().all(|status| status.success()), "{lost:?} {statuses:?}");
}

/// Returns the command for this program in a role, without standard input.
fn myself(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.env(ROLE, role).stdin(Stdio::null());
    command
}

/// Exit code of a rank that has seen the failure of [`VICTIM`], or of a rank that ended because of it.
const LOST: u8 = 7;

fn failed(error: Error) -> ExitCode {
    if matches!(error, Error::Fault(Fault::PeerLost(_)) | Error::Failed(Failure::PeerLost(_))) {
        return ExitCode::from(LOST);
    }
    eprintln!("{error}");
    ExitCode::FAILURE
}

fn rank(role: &str) -> pelago::Result<()> {
    let seat = Seat::from_environment().expect("a launcher has started it");
    let parts = join(seat, HEAP_BYTES).map_err(|error| BootstrapError::Start(error.to_string()))?;
    pelago::run_with(parts, |world| match role {
        DIES => {
            world.barrier()?;
            die(world);
            world.barrier()
        }
        SURVIVES => survive(world),
        _ => transfer(world),
    })
}

/// Ends the victim as a crash would, with its memory and its connections.
fn die(world: &World) {
    if world.rank() == VICTIM {
        std::process::abort();
    }
}

fn survive(world: &World) -> pelago::Result<()> {
    world.on_peer_lost(|_| ());
    let words = world.alloc::<u64>(RANKS as usize)?;
    world.barrier()?;
    let me = world.rank();
    let others = || (0..RANKS).map(Rank::new).filter(|&rank| rank != VICTIM);
    let is_set = |by: Rank| world.wait_until(words.local(), by.index(), |value| value != 0);
    if me == VICTIM {
        // Ranks that have set their word are no longer in a barrier with the victim.
        others().try_for_each(|by| is_set(by).map(drop))?;
        die(world);
    }
    // This put may fail with the victim.
    let _ = world.put(words.at(VICTIM, me.index()), &[1])?.wait();
    if world.lost().is_empty() {
        let waited = is_set(VICTIM);
        assert!(matches!(waited, Err(Error::Fault(Fault::PeerLost(VICTIM)))), "{waited:?}");
    }
    for to in (0..RANKS).map(Rank::new) {
        let put = world.put(words.at(to, me.index()), &[1]).and_then(|sent| sent.wait());
        let is_lost = matches!(put, Err(Error::Failed(Failure::PeerLost(VICTIM))));
        assert!(if to == VICTIM { is_lost } else { put.is_ok() }, "rank {me} to rank {to}: {put:?}");
    }
    others().try_for_each(|by| is_set(by).map(drop))
}

/// Every rank moves megabytes to and from its neighbours simultaneously, by each kind of transfer, each followed by a fence.
fn transfer(world: &World) -> pelago::Result<()> {
    const WORDS: usize = 1 << 20;
    let (me, size) = (world.rank(), world.size());
    let [right, left] = [me.next(size), me.previous(size)];
    let value = |rank: Rank, index: usize| u64::from(rank.number()) << 32 | index as u64;
    let [mine, put, copied] = [world.alloc::<u64>(WORDS)?, world.alloc::<u64>(WORDS)?, world.alloc::<u64>(WORDS)?];
    let flags = world.alloc::<u64>(2)?;
    (0..WORDS).for_each(|index| mine.local().store(index, value(me, index)));
    world.barrier()?;
    let sent = world.put(put.at(right, 0), &mine.local().to_vec())?;
    world.after(&sent).fetch_add(flags.at(right, 0), 1)?.wait()?;
    // Copies from the left neighbour to the right one, without passing through the memory of this rank.
    let moved = world.copy(mine.at(left, 0), copied.at(right, 0), WORDS)?;
    world.after(&moved).fetch_add(flags.at(right, 1), 1)?.wait()?;
    for flag in 0..2 {
        world.wait_until(flags.local(), flag, |count| count == 1)?;
    }
    let mut fetched = vec![0; WORDS];
    world.get_into(mine.at(right, 0), &mut fetched)?;
    let two_before = left.previous(size);
    let expected = |rank: Rank| (0..WORDS).map(move |index| value(rank, index));
    assert!(put.local().to_vec().into_iter().eq(expected(left)), "put");
    assert!(copied.local().to_vec().into_iter().eq(expected(two_before)), "copied");
    assert!(fetched.into_iter().eq(expected(right)), "fetched");
    world.barrier()
}
