//! Threads as ranks, with a store in memory: orders of arrival, missing ranks, and processes that are not ranks.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use pelago_base::Instant;

use super::*;
use crate::adoption::gathering::message::{ToLeader, ToRank};
use crate::adoption::gathering::socket;
use crate::adoption::gathering::socket::{Connection, Received};
use crate::adoption::launcher_store::{JobFacts, Placement, StoreEvent};

/// A store that all ranks of a test share.
#[derive(Default)]
struct Shared {
    values: Mutex<HashMap<String, String>>,
    /// Number of arrivals at fences.
    come: Mutex<u32>,
    /// The launcher's ends of the connections to the ranks.
    streams: Mutex<Vec<UnixStream>>,
}

impl Shared {
    /// Counts an arrival of one of `size` ranks at a fence.
    fn arrive(&self, size: u32) {
        let mut come = self.come.lock().unwrap();
        *come += 1;
        if come.is_multiple_of(size) {
            self.streams.lock().unwrap().iter().for_each(|mut stream| stream.write_all(&[0]).unwrap());
        }
    }
}

struct Memory {
    shared: Arc<Shared>,
    facts: JobFacts,
    socket: UnixStream,
}

impl KeyValue for Memory {
    fn facts(&self) -> &JobFacts {
        &self.facts
    }

    fn put(&mut self, key: &str, value: &str, _: Instant) -> Result<(), StoreError> {
        self.shared.values.lock().unwrap().insert(key.into(), value.into());
        Ok(())
    }

    fn get(&mut self, _owner: u32, key: &str, _: Instant) -> Result<String, StoreError> {
        self.shared.values.lock().unwrap().get(key).cloned().ok_or(StoreError::Gone)
    }

    fn arrive(&mut self, _: Instant) -> Result<(), StoreError> {
        self.shared.arrive(self.facts.size);
        Ok(())
    }

    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
        match self.socket.read(&mut [0]) {
            Ok(1) => Ok(Some(StoreEvent::Met)),
            Ok(_) => Err(StoreError::Gone),
            Err(_nothing_yet) => Ok(None),
        }
    }

    fn leave(&mut self, _: Instant) {}

    fn abort(&mut self, _: i32, _: Instant) {}

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A job of this name, whose ranks share a store.
struct ThreadJob {
    name: String,
    size: u32,
    placement: Placement,
    shared: Arc<Shared>,
}

impl ThreadJob {
    fn new(name: &str, size: u32) -> Self {
        Self::placed(name, &vec![0; size as usize])
    }

    /// Ranks on these hosts, which are all this machine.
    fn placed(name: &str, hosts: &[u32]) -> Self {
        let (size, placement) = (hosts.len() as u32, Placement::listed(hosts));
        Self { name: format!("{name}-{}", std::process::id()), size, placement, shared: Arc::default() }
    }

    fn adopt(&self, rank: u32, settings: &LaunchSettings) -> Result<(HostMemory, Option<OwnedFd>), AdoptionError> {
        let (socket, launcher) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        self.shared.streams.lock().unwrap().push(launcher);
        let facts = JobFacts { rank, size: self.size, job: self.name.clone(), placement: self.placement.clone() };
        let order = HostOrder::of(&facts);
        let mut store = Memory { shared: self.shared.clone(), facts, socket };
        by_store(&mut store, &order, settings, OsClock::start())
    }

    /// Connects an unidentified process to the job's meeting place.
    fn stranger(&self) -> Connection {
        let (name, clock) = (SocketName::new(&self.name, 0).unwrap(), OsClock::start());
        Connection::open(&name, clock, clock.now() + settings().start_limit).unwrap().expect("a leader")
    }

    /// Connects a process that claims to be a rank.
    fn impostor(&self, hello: Hello) -> Connection {
        let stranger = self.stranger();
        assert!(stranger.send(&ToLeader::Hello(hello).to_string(), &[]));
        stranger
    }

    fn hello(&self, rank: u32) -> Hello {
        Hello { rank, size: self.size, process: std::process::id(), settings: SharedSettings::of(&settings()) }
    }

    /// Returns the final error of the leader of two ranks, while `meanwhile` runs.
    fn led(&self, meanwhile: impl FnOnce()) -> String {
        std::thread::scope(|threads| {
            let leader = threads.spawn(|| self.adopt(0, &settings()));
            meanwhile();
            leader.join().unwrap().err().expect("nobody adopts an impostor").to_string()
        })
    }
}

fn settings() -> LaunchSettings {
    let none = LaunchSettings::from_variables(|_| None).unwrap();
    LaunchSettings { heap_bytes: Some(1 << 20), start_limit: Duration::from_milliseconds(20_000), ..none }
}

/// Waits for the next message.
fn hear(connection: &Connection) -> Received {
    let clock = OsClock::start();
    socket::wait(&[connection.as_fd()], clock, clock.now() + settings().start_limit).unwrap().expect("an answer");
    connection.receive()
}

#[test]
fn whoever_learns_of_a_failure_in_no_other_way_is_ended_by_the_launcher() {
    let (missing, refused) = (AdoptionError::missing([2]), AdoptionError::Refused("no".into()));
    let ends = |error: &AdoptionError| [false, true].map(|are_several| error.ends_others(are_several));
    assert_eq!([&missing, &refused, &AdoptionError::Taken].map(ends), [[true, true], [false, false], [false, true]]);
}

#[test]
fn ranks_adopt_each_other_whoever_comes_first() {
    for (case, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]].into_iter().enumerate() {
        let job = ThreadJob::new(&format!("order-{case}"), 4);
        let adopted: Vec<_> = std::thread::scope(|threads| {
            let ranks = order.map(|rank| {
                let job = &job;
                threads.spawn(move || (rank, job.adopt(rank, &settings()).unwrap().0))
            });
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        for (rank, host) in &adopted {
            assert!(host.publish(Rank::new(*rank), "word", &rank.to_le_bytes()));
        }
        for (other, (_, host)) in (0..4).flat_map(|other| adopted.iter().map(move |adopted| (other, adopted))) {
            let rank = Rank::new(other);
            assert_eq!(host.published(rank, "word"), Some(other.to_le_bytes().to_vec()), "one memory");
            let process = host.published(rank, PROCESS_KEY).expect("its process is known");
            assert!(process.starts_with(format!("{} ", std::process::id()).as_bytes()));
        }
    }
}

#[test]
fn many_that_come_at_once_are_all_let_in() {
    const RANKS: u32 = 150;
    let job = ThreadJob::new("crowd", RANKS);
    std::thread::scope(|threads| {
        // The leader arrives last.
        let ranks: Vec<_> = (0..RANKS)
            .rev()
            .map(|rank| {
                threads.spawn({
                    let job = &job;
                    move || job.adopt(rank, &settings()).map(drop)
                })
            })
            .collect();
        ranks.into_iter().for_each(|rank| rank.join().unwrap().unwrap());
    });
}

#[test]
fn each_rank_has_its_own_socket_where_there_is_a_network() {
    let job = ThreadJob::new("sockets", 3);
    let settings = LaunchSettings { transport: crate::TransportChoice::Udp, ..settings() };
    let adopted = std::thread::scope(|threads| {
        [0, 1, 2]
            .map(|rank| {
                threads.spawn({
                    let (job, settings) = (&job, &settings);
                    move || job.adopt(rank, settings).unwrap()
                })
            })
            .map(|rank| rank.join().unwrap())
    });
    let key = adopted[0].0.key();
    assert_ne!(key, [0; 16]);
    for (rank, (host, socket)) in (0..).zip(adopted) {
        let socket = UdpSocket::from(socket.expect("a socket"));
        assert_eq!((host.address_of(Rank::new(rank)), host.key()), (socket.local_addr().ok(), key));
    }
}

#[test]
fn hosts_agree_on_addresses_key_and_heaps_for_every_placement() {
    for (case, hosts) in [&[0, 0, 1, 1][..], &[3, 8, 3, 8, 3], &[2, 1, 1, 0, 2, 1]].into_iter().enumerate() {
        let job = ThreadJob::placed(&format!("hosts-{case}"), hosts);
        let adopted = std::thread::scope(|threads| {
            let ranks = (0..job.size).map(|process| {
                let job = &job;
                threads.spawn(move || job.adopt(process, &settings()).unwrap())
            });
            ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect::<Vec<_>>()
        });
        let key = adopted[0].0.key();
        assert_ne!(key, [0; 16]);
        let firsts = adopted[0].0.first_ranks();
        for (process, (host, socket)) in adopted.into_iter().enumerate() {
            let facts = JobFacts { rank: process as u32, size: job.size, job: String::new(), placement: job.placement.clone() };
            let order = HostOrder::of(&facts);
            assert_eq!((host.first().number(), host.count(), host.ranks()), (order.here().first, order.here().count, job.size));
            assert_eq!((host.key(), host.first_ranks()), (key, firsts.clone()));
            let socket = UdpSocket::from(socket.expect("a socket"));
            assert_eq!(host.address_of(Rank::new(order.rank)), socket.local_addr().ok(), "process {process} of {hosts:?}");
        }
    }
}

#[test]
fn hosts_that_do_not_agree_are_told_which() {
    let refused = |name: &str, settings_of: &dyn Fn(u32) -> LaunchSettings| {
        let job = ThreadJob::placed(name, &[0, 1]);
        std::thread::scope(|threads| {
            let ranks = [0, 1].map(|rank| {
                let (job, settings) = (&job, settings_of(rank));
                threads.spawn(move || job.adopt(rank, &settings).err().expect("no job").to_string())
            });
            ranks.map(|rank| rank.join().unwrap())
        })
    };
    let [one, other] = refused("transports", &|rank| LaunchSettings {
        transport: if rank == 0 { TransportChoice::Auto } else { TransportChoice::Udp },
        ..settings()
    });
    assert!(one == other && one.contains("PELAGO_TRANSPORT has to be the same"), "{one}");
    let [one, other] = refused("keys", &|rank| LaunchSettings { encrypt: rank == 1, ..settings() });
    assert!(one == other && one.contains("PELAGO_ENCRYPT is 1 on host ") && one.contains(", and 0 on host "), "{one}");
    // Each would choose an address of the other by its own network.
    let [one, other] =
        refused("networks", &|rank| LaunchSettings { network: (rank == 1).then(|| "10.0.0.0/8".parse().unwrap()), ..settings() });
    assert!(
        one == other && one.contains("PELAGO_NETWORK is 10.0.0.0/8 on host ") && one.contains(", and not set on host "),
        "{one}"
    );
    let nowhere = |_| LaunchSettings { network: Some("203.0.113.0/24".parse().unwrap()), ..settings() };
    for said in refused("nowhere", &nowhere) {
        assert!(said.contains("cannot take part: it has no address in 203.0.113.0/24"), "{said}");
    }
    let apart = refused("apart", &|_| LaunchSettings { transport: TransportChoice::Shm, ..settings() });
    assert!(apart.iter().all(|said| said.starts_with("ranks on 2 hosts cannot reach each other by shared memory")), "{apart:?}");
}

#[test]
fn strangers_disturb_nobody() {
    let job = ThreadJob::new("strangers", 2);
    std::thread::scope(|threads| {
        let leader = threads.spawn(|| job.adopt(0, &settings()));
        let (silent, loud): (Vec<Connection>, Vec<Connection>) = (0..100).map(|_| (job.stranger(), job.stranger())).unzip();
        for (stranger, text) in loud.iter().zip(["hello", "proof 00", "pelago-adoption-0 1 2 3 shm", "\n"].into_iter().cycle()) {
            assert!(stranger.send(text, &[]) || matches!(hear(stranger), Received::End));
        }
        assert!(matches!(hear(&silent[0]), Received::End), "nobody keeps so many connections");
        assert!(job.adopt(1, &settings()).is_ok());
        assert!(leader.join().unwrap().is_ok());
        assert!(silent.iter().chain(&loud).all(|stranger| matches!(hear(stranger), Received::End)));
    });
}

#[test]
fn who_does_not_know_the_secret_gets_nothing() {
    let job = ThreadJob::new("secret", 2);
    let said = job.led(|| {
        let (stranger, impostor) = (job.stranger(), job.impostor(job.hello(1)));
        let Received::Message(text, none) = hear(&impostor) else { panic!("a word") };
        assert!(text == ToRank::Gathered.to_string() && none.is_empty());
        assert!(matches!(stranger.receive(), Received::End), "nobody else is listened to");
        let (name, clock) = (SocketName::new(&job.name, 0).unwrap(), OsClock::start());
        assert!(Connection::open(&name, clock, clock.now()).unwrap().is_none(), "nobody else is let in");
        // As the rank that it claims to be would.
        job.shared.arrive(2);
        assert!(impostor.send(&ToLeader::Proof(Secret([0; 16])).to_string(), &[]));
        let Received::Message(text, descriptors) = hear(&impostor) else { panic!("an answer") };
        assert!(text.starts_with("refused ") && descriptors.is_empty(), "{text}");
    });
    assert_eq!(said, AdoptionError::Proof(1).to_string());
}

#[test]
fn who_contradicts_the_leader_is_refused() {
    // Each has a meeting place of its own: processes that other tests start meanwhile may hold one for a while.
    let jobs = [0, 1, 2, 3].map(|case| ThreadJob::new(&format!("contradiction-{case}"), 2));
    let job = &jobs[0];
    let wrong = [
        (Hello { process: 1, ..job.hello(1) }, AdoptionError::Namespace(1)),
        (Hello { size: 3, ..job.hello(1) }, AdoptionError::Size { rank: 1, size: 3, leader_size: 2 }),
        (job.hello(0), AdoptionError::Twice(0)),
        (job.hello(7), AdoptionError::Twice(7)),
    ];
    for (job, (hello, error)) in jobs.iter().zip(wrong) {
        let said = job.led(|| {
            let Received::Message(text, _) = hear(&job.impostor(hello)) else { panic!("an answer") };
            assert_eq!(text, ToRank::Refused(error.to_string()).to_string());
        });
        assert_eq!(said, error.to_string());
    }
}

/// It would wait for the leader up to the start limit.
#[test]
fn a_rank_that_arrives_after_the_refusal_is_told_why() {
    let job = ThreadJob::new("late", 3);
    let encrypts = Hello { settings: SharedSettings::new(TransportChoice::Auto, true), ..job.hello(1) };
    let said = job.led(|| {
        let texts = [encrypts.clone(), job.hello(2)].map(|hello| match hear(&job.impostor(hello)) {
            Received::Message(text, _) => text,
            _ => panic!("an answer"),
        });
        assert_eq!(texts[0], texts[1]);
    });
    assert_eq!(
        said,
        "PELAGO_ENCRYPT is 1 for rank 1, and 0 for rank 0 of its host: PELAGO_ENCRYPT has to be the same for all ranks"
    );
}

#[test]
fn a_rank_that_ends_or_raves_while_others_are_awaited_is_named() {
    let job = ThreadJob::new("early", 3);
    assert_eq!(job.led(|| drop(job.impostor(job.hello(2)))), AdoptionError::Ended(2).to_string());
    let job = ThreadJob::new("raving", 3);
    let raving = job.led(|| {
        let impostor = job.impostor(job.hello(2));
        impostor.send("proof", &[]);
        while !matches!(hear(&impostor), Received::End) {}
    });
    assert_eq!(raving, AdoptionError::Message(2).to_string());
}

#[test]
fn a_leader_that_ends_is_named() {
    let job = ThreadJob::new("leader", 2);
    let (name, clock) = (SocketName::new(&job.name, 0).unwrap(), OsClock::start());
    let held = socket::hold(&name, 1).unwrap();
    let error = std::thread::scope(|threads| {
        let follower = threads.spawn(|| job.adopt(1, &settings()));
        socket::wait(&[held.as_fd()], clock, clock.now() + settings().start_limit).unwrap().expect("a follower");
        let connection = Connection::accept(&held).expect("a follower");
        hear(&connection);
        drop(connection);
        follower.join().unwrap().err().expect("no leader").to_string()
    });
    assert_eq!(error, AdoptionError::Ended(0).to_string());
    assert_eq!(job.adopt(0, &settings()).err().expect("no place").to_string(), AdoptionError::Taken.to_string());
}

#[test]
fn many_that_are_missing_are_counted() {
    let missing = |count| AdoptionError::missing(1..=count).to_string();
    assert!(missing(1).starts_with("rank 1 did not come") && missing(3).starts_with("ranks 1, 2, 3 did not"));
    assert!(missing(100).starts_with("ranks 1, 2, 3, 4, 5, 6, 7, 8 and 92 more did not come"), "{}", missing(100));
}
