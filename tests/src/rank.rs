//! A rank for the tests: joins the job, does what its first argument says, and finishes.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio, exit};
use std::thread::sleep;
use std::time::Duration;

use pelago_base::Rank;
use pelago_launch::{Local, OsClock, Settings};
use pelago_platform::{Bootstrap, Fault};

const FOR_EVER: Duration = Duration::from_secs(1000);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (act, arguments) = arguments.split_first().expect("what to do");
    let argument = |index: usize| arguments.get(index).expect("an argument for what to do").as_str();
    let chosen = std::env::var("PELAGO_RANK").ok().zip(arguments.first()).is_some_and(|(rank, chosen)| rank == *chosen);
    if act == "ballast" {
        ballast();
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
        "print" => (0..5).for_each(|line| println!("{name} line {line}\n\tand more")),
        "both" => {
            println!("{name} out");
            eprintln!("{name} err");
        }
        "echo" => println!("{name} {}", arguments.join("|")),
        "unfinished" => print!("{name} has no end"),
        "flood" => {
            let line = "x".repeat(999);
            (0..argument(0).parse().expect("a number of lines")).for_each(|_| println!("{line}"));
        }
        "long" => println!("{}", "y".repeat(argument(0).parse().expect("a number of bytes"))),
        "stdin" => print!("{name} {}", std::io::read_to_string(std::io::stdin()).expect("text")),
        "code" if chosen => exit(argument(1).parse().expect("a code")),
        "silent" if chosen => exit(0),
        "abort" if chosen => std::process::abort(),
        "fault" if chosen => {
            let fault = if argument(1) == "deadlock" { Fault::Deadlock } else { Fault::PeerLost(name) };
            world.0.host().fail(fault);
            sleep(Duration::from_millis(100));
            exit(101);
        }
        // As much memory as there is, page by page.
        "hoard" if chosen => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(vec![1_u8; 1 << 20]);
            }
        }
        "code" | "silent" | "abort" | "fault" | "hoard" => world.meet(),
        "wait" => {
            println!("{name} {}", std::process::id());
            // Rank 0 computes, as it were, so that this is no deadlock.
            if name == Rank::new(0) { sleep(FOR_EVER) } else { world.meet() }
        }
        // Writes the job's key to a file once another rank waits for this one.
        "secret" => {
            while world.0.host().arrivals() == 0 {
                sleep(Duration::from_millis(1));
            }
            std::fs::write(argument(0), world.0.host().key()).expect("a file");
            println!("{name} {}", std::process::id());
            sleep(FOR_EVER);
        }
        "wait-and-flood" => {
            println!("{name} {}", std::process::id());
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
            let heavy = argument(0) == "heavy";
            let this = std::env::current_exe().expect("a path");
            let mut command = if heavy { Command::new(this) } else { Command::new("sleep") };
            command.arg(if heavy { "ballast" } else { "1000" });
            let mut child = command.stdout(if heavy { Stdio::piped() } else { Stdio::inherit() }).spawn().expect("a program");
            if let Some(mut ready) = child.stdout.take() {
                ready.read_exact(&mut [0]).expect("a byte");
            }
            println!("{name} {}", child.id());
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

/// So much memory that it takes a while to end.
fn ballast() -> ! {
    let memory = vec![1_u8; 1 << 28];
    print!("!");
    std::io::stdout().flush().expect("a pipe");
    sleep(FOR_EVER);
    drop(memory);
    unreachable!("nobody waits for so long")
}

struct World(Local);

impl World {
    fn start() -> Self {
        let settings = Settings::from_environment().expect("the launcher's settings");
        Self(Local::start(&settings, OsClock::start()).expect("a job"))
    }

    /// Waits for all; gives up with the code that says that it is not this rank's fault.
    fn meet(&mut self) {
        if self.0.barrier(&mut || false).is_err() {
            exit(3);
        }
    }
}
