//! A rank for the tests: joins the job, performs the action of its first argument, and finishes.

use std::os::fd::OwnedFd;
use std::process::{Command, ExitCode, exit};
use std::thread::sleep;
use std::time::Duration;

use pelago_base::Rank;
use pelago_launch::{LaunchSettings, LocalBootstrap, OsClock};
use pelago_platform::{Bootstrap, Fault};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, connect, listen, recv, send, socket,
};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

const FOR_EVER: Duration = Duration::from_secs(1000);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (act, arguments) = arguments.split_first().expect("what to do");
    let argument = |index: usize| arguments.get(index).expect("an argument for what to do").as_str();
    let rank = ["PELAGO_RANK", "PMI_RANK"].into_iter().find_map(|name| std::env::var(name).ok());
    let chosen = rank.zip(arguments.first()).is_some_and(|(rank, chosen)| rank == *chosen);
    match act.as_str() {
        "parent" => return parent(arguments),
        "hold" => return hold(argument(0)),
        "visit" => return visit(argument(0), argument(1)),
        _ => {}
    }
    match (act.as_str(), chosen) {
        ("late", true) => sleep(FOR_EVER),
        ("bystander", true) => return ExitCode::SUCCESS,
        _ => {}
    }
    let mut world = World::start();
    let name = world.0.rank();
    match act.as_str() {
        "nothing" | "late" => {}
        "bystander" | "meet" => world.meet(),
        "print" => (0..5).for_each(|line| println!("rank {name} line {line}\n\tand more")),
        "both" => {
            println!("rank {name} out");
            eprintln!("rank {name} err");
        }
        "echo" => println!("rank {name} {}", arguments.join("|")),
        "unfinished" => print!("rank {name} has no end"),
        "flood" => {
            let line = "x".repeat(999);
            (0..argument(0).parse().expect("a number of lines")).for_each(|_| println!("{line}"));
        }
        "long" => println!("{}", "y".repeat(argument(0).parse().expect("a number of bytes"))),
        "stdin" => print!("rank {name} {}", std::io::read_to_string(std::io::stdin()).expect("text")),
        "code" if chosen => exit(argument(1).parse().expect("a code")),
        "silent" if chosen => exit(0),
        "abort" if chosen => std::process::abort(),
        "fault" if chosen => {
            let fault = if argument(1) == "deadlock" { Fault::Deadlock } else { Fault::PeerLost(name) };
            world.0.host().fail(fault);
            sleep(Duration::from_millis(100));
            exit(101);
        }
        // Allocates memory page by page until none is left.
        "hoard" if chosen => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1_u8; 1 << 20]);
            }
        }
        "code" | "silent" | "abort" | "fault" | "hoard" => world.meet(),
        "wait" => {
            println!("rank {name} {}", std::process::id());
            // Rank 0 sleeps outside the library, which counts as computing, so that there is no deadlock.
            if name == Rank::new(0) { sleep(FOR_EVER) } else { world.meet() }
        }
        // Writes the job's key to a file once another rank waits for this one.
        "secret" => {
            while world.0.host().arrivals() == 0 {
                sleep(Duration::from_millis(1));
            }
            std::fs::write(argument(0), world.0.host().key()).expect("a file");
            println!("rank {name} {}", std::process::id());
            sleep(FOR_EVER);
        }
        "wait-and-flood" => {
            println!("rank {name} {}", std::process::id());
            world.meet();
            loop {
                println!("{}", "x".repeat(999));
            }
        }
        "deadlock" if name == Rank::new(0) => {}
        "deadlock" => {
            world.meet();
            world.meet();
        }
        "grandchild" => {
            let child = Command::new("sleep").arg("1000").spawn().expect("sleep is installed");
            println!("rank {name} {}", child.id());
            match argument(0) {
                "stay" => sleep(FOR_EVER),
                _ => drop(child),
            }
        }
        other => panic!("what is {other}?"),
    }
    world.0.finish();
    ExitCode::SUCCESS
}

/// Runs a command that must leave no process behind. Remaining processes would become children of this process.
fn parent(command: &[String]) -> ExitCode {
    set_child_subreaper(Some(getpid())).expect("the system grants it");
    let (program, arguments) = command.split_first().expect("a command");
    let status = Command::new(program).args(arguments).status().expect("the command under test");
    let left = wait(WaitOptions::NOHANG);
    assert!(matches!(left, Err(Errno::CHILD)), "a process is left: {left:?}");
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Listens at the socket of this name, so that no other process can, and accepts one connection.
fn hold(name: &str) -> ExitCode {
    let (socket, address) = place(name);
    bind(&socket, &address).expect("nobody else has it");
    listen(&socket, 1).expect("a place");
    println!("rank that is none holds {}", std::process::id());
    drop(accept(&socket).expect("somebody comes"));
    sleep(FOR_EVER);
    ExitCode::SUCCESS
}

/// Sends a text to the socket of this name as soon as a process listens there. The connection is to be closed without an answer.
fn visit(name: &str, text: &str) -> ExitCode {
    let (socket, address) = place(name);
    while connect(&socket, &address).is_err() {
        sleep(Duration::from_millis(1));
    }
    let _unless_it_was_sent_away_before = send(&socket, text.as_bytes(), SendFlags::NOSIGNAL);
    let answered = recv(&socket, &mut [0; 1][..], RecvFlags::empty());
    println!("rank that is none was {}", if matches!(answered, Ok((1.., _))) { "answered" } else { "sent away" });
    ExitCode::SUCCESS
}

fn place(name: &str) -> (OwnedFd, SocketAddrUnix) {
    let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
    (socket, SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a short name"))
}

struct World(LocalBootstrap);

impl World {
    fn start() -> Self {
        let settings = LaunchSettings::from_environment().expect("the launcher's settings");
        Self(LocalBootstrap::start(&settings, OsClock::start()).unwrap_or_else(|error| panic!("no job: {error}")))
    }

    /// Waits at a barrier. If it fails, exits with the code for a failure that another rank has caused.
    fn meet(&mut self) {
        if self.0.barrier(&mut || false).is_err() {
            exit(3);
        }
    }
}
