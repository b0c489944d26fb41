//! Threads as processes of a rendezvous: arrivals, wrong secrets, missing and ended processes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};

use pelago_base::Duration;
use pelago_platform::Clock;
use rustix::net::{AddressFamily, SocketType};

use crate::adoption::launcher_store::rendezvous::client::{PROCESSES_MAX, Rendezvous, to_another};
use crate::adoption::launcher_store::rendezvous::sealed_stream::INTRODUCTION_BYTES;
use crate::adoption::launcher_store::rendezvous::server::Server;
use crate::adoption::launcher_store::{KeyValue, StoreError, StoreEvent, fence};
use crate::rank::environment::RendezvousPoint;
use crate::{OsClock, SecretSource};

const LONG: Duration = Duration::from_milliseconds(20_000);
const SHORT: Duration = Duration::from_milliseconds(300);

/// Returns a rendezvous at a free port.
fn point(size: u32) -> RendezvousPoint {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    RendezvousPoint { size, address: "127.0.0.1".into(), port, secret: secret('7'), job: String::new() }
}

fn secret(digit: char) -> SecretSource {
    SecretSource::Text(digit.to_string().repeat(32))
}

fn come(point: &RendezvousPoint, rank: u32, limit: Duration) -> Result<Rendezvous, StoreError> {
    let clock = OsClock::start();
    Rendezvous::start(point, rank, clock, clock.now() + limit)
}

/// Runs `act` for each of these processes; process 0 arrives last.
fn all<T: Send>(point: &RendezvousPoint, ranks: &[u32], act: impl Fn(u32) -> T + Sync) -> Vec<T> {
    assert!(point.size as usize >= ranks.len());
    std::thread::scope(|threads| {
        let started: Vec<_> = ranks
            .iter()
            .rev()
            .map(|&rank| {
                threads.spawn({
                    let act = &act;
                    move || act(rank)
                })
            })
            .collect();
        started.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
    })
}

fn until() -> pelago_base::Instant {
    OsClock::start().now() + LONG
}

/// Returns the server's next event.
fn hear(store: &mut Rendezvous) -> Result<StoreEvent, StoreError> {
    loop {
        if let Some(event) = store.hear()? {
            return Ok(event);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn error(result: Result<Rendezvous, StoreError>) -> String {
    result.err().expect("no rendezvous").to_string()
}

#[test]
fn processes_meet_and_find_what_others_left() {
    let point = point(4);
    let jobs = all(&point, &[0, 1, 2, 3], |rank| {
        let clock = OsClock::start();
        let mut store = come(&point, rank, LONG).unwrap();
        let until = clock.now() + LONG;
        store.put(&format!("key-{rank}"), &format!("value-{rank}"), until).unwrap();
        fence(&mut store, clock, until).unwrap();
        for other in 0..4 {
            assert_eq!(store.get(other, &format!("key-{other}"), until).unwrap(), format!("value-{other}"));
        }
        assert!(store.get(0, "absent", until).is_err());
        fence(&mut store, clock, until).unwrap();
        let facts = store.facts().clone();
        assert_eq!((facts.rank, facts.size), (rank, 4));
        assert_eq!(facts.placement.hosts().take(4).collect::<Vec<_>>(), [0; 4], "one machine");
        store.leave(until);
        facts.job
    });
    assert!(jobs.iter().all(|job| *job == jobs[0] && job.starts_with("rendezvous-")));
}

#[test]
fn a_process_that_ends_is_told_of_and_not_awaited() {
    let point = point(3);
    all(&point, &[0, 1, 2], |rank| {
        let mut store = come(&point, rank, LONG).unwrap();
        if rank == 1 {
            return;
        }
        store.arrive(until()).unwrap();
        let told = [hear(&mut store).unwrap(), hear(&mut store).unwrap()];
        assert_eq!(told, [StoreEvent::Lost(1), StoreEvent::Met]);
        assert!(store.ends_fences_without_failed(), "so that the end of a fence is awaited");
        store.leave(until());
    });
}

#[test]
fn the_end_of_process_0_is_its_loss_unless_it_has_left() {
    let point = point(3);
    all(&point, &[0, 1, 2], |rank| {
        let mut store = come(&point, rank, LONG).unwrap();
        if rank == 0 {
            store.leave(until());
            return;
        }
        assert_eq!(hear(&mut store), Ok(StoreEvent::Over));
        store.leave(until());
    });
}

#[test]
fn whoever_aborts_tells_all_others() {
    let point = point(3);
    all(&point, &[0, 1, 2], |rank| {
        let mut store = come(&point, rank, LONG).unwrap();
        if rank == 2 {
            store.abort(3, until());
        } else {
            assert_eq!(hear(&mut store), Ok(StoreEvent::Aborted));
        }
        fence(&mut store, OsClock::start(), until()).map_err(drop).ok();
        store.leave(until());
    });
}

#[test]
fn processes_that_do_not_come_are_named() {
    let point = point(4);
    for why in all(&point, &[0, 2], |rank| error(come(&point, rank, SHORT))) {
        assert!(why.starts_with("ranks 1, 3 did not come within the start limit"), "{why}");
    }
    let why = error(come(&RendezvousPoint { size: 2, ..point.clone() }, 1, SHORT));
    assert!(why.starts_with("rank 0 does not listen at 127.0.0.1 port"), "{why}");
}

#[test]
fn who_does_not_know_the_secret_is_sent_away() {
    let point = point(2);
    let whys = all(&point, &[0, 1], |rank| {
        let wrong = RendezvousPoint { secret: secret('8'), ..point.clone() };
        error(come(if rank == 0 { &point } else { &wrong }, rank, SHORT + SHORT))
    });
    assert!(whys[0].starts_with("rank 1 did not come"), "{whys:?}");
    assert!(whys[1].contains("has closed the connection: is PELAGO_SECRET the same"), "{whys:?}");
}

#[test]
fn who_contradicts_process_0_is_refused() {
    let point = point(2);
    let whys = all(&point, &[0, 1], |rank| {
        let other = RendezvousPoint { size: 2 + rank, ..point.clone() };
        error(come(&other, rank, SHORT + SHORT))
    });
    assert!(whys[1].starts_with("rank 1 belongs to a job of 3 ranks"), "{whys:?}");
}

#[test]
fn processes_of_two_jobs_with_one_secret_and_one_port_do_not_meet() {
    // The launcher names the jobs: a process of the other job is refused, and the right one is still awaited.
    let point = RendezvousPoint { job: "Slurm step 3.0".into(), ..point(2) };
    let other = RendezvousPoint { job: "Slurm step 3.1".into(), ..point.clone() };
    all(&point, &[0, 1], |rank| {
        if rank == 1 {
            let why = error(come(&other, 1, LONG));
            assert!(why.starts_with("rank 0, which listens there, belongs to another job (Slurm step 3.0)"), "{why}");
        }
        come(&point, rank, LONG).map(drop).unwrap();
    });
    // Nothing names them: two processes with one number end the meeting of both.
    let point = RendezvousPoint { size: 3, job: String::new(), ..self::point(3) };
    for why in all(&point, &[0, 1, 1], |rank| error(come(&point, rank, LONG))) {
        assert!(why.starts_with("two processes with the same secret claim to be rank 1"), "{why}");
    }
}

#[test]
fn process_0_learns_why_its_server_refused_the_processes_before_it() {
    let point = point(3);
    let clock = OsClock::start();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, point.port)).unwrap();
    let server = Server::new(listener, [0x77; 16], (3, ""), clock, clock.now() + LONG).unwrap();
    let server = std::thread::spawn(move || server.run());
    let join = |rank| error(Rendezvous::join(&point, &[0x77; 16], rank, clock, clock.now() + LONG));
    let mut whys = all(&point, &[1, 1], join);
    // Process 0 comes when nothing else is connected any more, and after it nobody is awaited.
    whys.extend([join(2), join(0)]);
    server.join().unwrap();
    assert!(whys.iter().all(|why| why.starts_with("two processes with the same secret claim to be rank 1")), "{whys:?}");
}

#[test]
fn a_server_ends_if_process_0_goes_before_all_have_come() {
    let point = point(2);
    let clock = OsClock::start();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, point.port)).unwrap();
    let server = Server::new(listener, [0x77; 16], (2, ""), clock, clock.now() + LONG).unwrap();
    let server = std::thread::spawn(move || server.run());
    drop(error(Rendezvous::join(&point, &[0x77; 16], 0, clock, clock.now() + SHORT)));
    server.join().unwrap();
    assert!(clock.now() < pelago_base::Instant::ZERO + LONG, "it does not wait for the others");
}

#[test]
fn strangers_neither_hold_nor_delay_a_rendezvous() {
    let point = point(2);
    all(&point, &[0, 1], |rank| {
        if rank == 0 {
            drop(come(&point, 0, LONG).unwrap());
            return;
        }
        let connect = || loop {
            if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, point.port)) {
                return stream;
            }
        };
        let silent: Vec<_> = (0..80).map(|_| connect()).collect();
        let mut loud = connect();
        // The greeting of 32 bytes is answered by random data of the right length.
        loud.write_all(&[0x55; INTRODUCTION_BYTES]).unwrap();
        let mut heard = Vec::new();
        let _until_it_is_closed = loud.read_to_end(&mut heard);
        assert_eq!(heard.len(), 32, "nothing but the greeting");
        drop(come(&point, 1, LONG).unwrap());
        drop(silent);
    });
}

#[test]
fn a_connection_of_a_socket_to_itself_is_refused() {
    // By chance the kernel gives a socket the port to which it connects; here the socket has it before.
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    rustix::net::connect(&socket, &rustix::net::getsockname(&socket).unwrap()).unwrap();
    assert!(to_another(TcpStream::from(socket)).is_err(), "its ends are one socket");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    assert!(to_another(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).is_ok());
}

#[test]
fn what_listens_there_and_is_no_rank_is_told_apart() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let point = RendezvousPoint { port, ..point(2) };
    std::thread::spawn(move || listener.accept().unwrap().0.write_all(&[b'x'; 64]));
    let why = error(come(&point, 1, LONG));
    assert!(why.contains("is not rank 0 of this job"), "{why}");
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let why = error(come(&RendezvousPoint { port, ..point.clone() }, 1, SHORT));
    assert!(why.starts_with(&format!("the process that listens at 127.0.0.1 port {port} did not answer")), "{why}");
    let held = TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let why = error(come(&RendezvousPoint { port: held.local_addr().unwrap().port(), ..point.clone() }, 0, SHORT));
    assert!(why.starts_with("rank 0 cannot listen at port"), "{why}");
    let why = error(come(&RendezvousPoint { size: PROCESSES_MAX + 1, ..point.clone() }, 0, SHORT));
    assert!(why.starts_with("4097 processes are more than the 4096"), "{why}");
    let why = error(come(&RendezvousPoint { secret: SecretSource::Text("x".into()), ..point }, 0, SHORT));
    assert!(why.starts_with("PELAGO_SECRET has to be 32"), "{why}");
}
