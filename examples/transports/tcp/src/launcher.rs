//! The launcher: starts the ranks of a job on this machine, and connects them for the bootstrap. As their parent it detects their deaths.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use pelago::Rank;

use crate::Seat;
use crate::message::{Key, Kind, Message, greeted};

/// Result of a job.
#[derive(Debug)]
pub struct Outcome {
    /// Ranks that ended prematurely, in the order of detection.
    pub lost: Vec<Rank>,
    /// Exit statuses of the processes, in the order of ranks.
    pub statuses: Vec<ExitStatus>,
}

/// Starts the process given by `command` for each of `size` ranks, and returns when all have ended.
///
/// # Errors
/// The system cannot provide a port, a process or a thread.
pub fn launch(size: u32, command: impl Fn(Rank) -> Command) -> io::Result<Outcome> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (launcher, key) = (listener.local_addr()?, draw_key());
    let (events, happened) = channel();
    for rank in (0..size).map(Rank::new) {
        let seat = Seat { rank, size, launcher, key };
        let mut child = command(rank).envs(Seat::VARIABLES.into_iter().zip(seat.to_environment())).spawn()?;
        let events = events.clone();
        thread::Builder::new().spawn(move || child.wait().map(|status| events.send(Event::Ended(rank, status))))?;
    }
    let porter = thread::Builder::new().spawn(move || accept(&listener, size, key, &events))?;
    let members = (0..size).map(|_| Member::default()).collect();
    let mut job = Job { members, said: Vec::new(), meetings: 0, lost: Vec::new() };
    while !job.members.iter().all(|member| member.status.is_some() && (member.connection.is_none() || member.has_left)) {
        job.take(happened.recv().expect("every process ends, and its connection"));
    }
    // The porter thread accepts this connection, finds that the channel is closed, and ends.
    drop(happened);
    TcpStream::connect(launcher)?;
    let _ = porter.join();
    Ok(Outcome { lost: job.lost, statuses: job.members.into_iter().filter_map(|member| member.status).collect() })
}

enum Event {
    Connected(Rank, TcpStream),
    Said(Message),
    /// The rank's connection has ended; all its messages were forwarded before.
    Left(Rank),
    Ended(Rank, ExitStatus),
    Stranger,
}

/// Returns an unpredictable secret: the seeds of hashers are random.
fn draw_key() -> Key {
    let half = || u128::from(RandomState::new().hash_one(0));
    (half() << 64 | half()).to_le_bytes()
}

/// Accepts ranks and forwards their messages, until the channel is closed.
fn accept(listener: &TcpListener, size: u32, key: Key, events: &Sender<Event>) {
    loop {
        let connected = listener.accept().and_then(|(stream, _)| Ok((greeted(&stream, key)?, stream.try_clone()?, stream)));
        let event = match connected {
            Ok((rank, stream, said)) if rank.number() < size => {
                let events = events.clone();
                thread::spawn(move || {
                    while let Ok(message) = Message::receive(&said) {
                        let _ = events.send(Event::Said(Message { rank, ..message }));
                    }
                    let _ = events.send(Event::Left(rank));
                });
                Event::Connected(rank, stream)
            }
            _ => Event::Stranger,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// State of the job.
struct Job {
    members: Vec<Member>,
    /// Messages for every rank.
    said: Vec<Message>,
    meetings: u64,
    lost: Vec<Rank>,
}

/// State of a rank.
#[derive(Default)]
struct Member {
    connection: Option<TcpStream>,
    /// Number of barriers that it has entered.
    meetings: u64,
    is_finished: bool,
    has_left: bool,
    is_lost: bool,
    status: Option<ExitStatus>,
}

impl Job {
    fn take(&mut self, event: Event) {
        match event {
            Event::Connected(rank, connection) => {
                if let Some(member) = self.members.get_mut(rank.index()).filter(|member| member.connection.is_none()) {
                    // A failed send means that the rank has ended, which is a separate event.
                    self.said.iter().for_each(|message| _ = message.send(&connection));
                    member.connection = Some(connection);
                }
            }
            Event::Said(Message { kind: Kind::Met, rank, .. }) => self.members[rank.index()].meetings += 1,
            Event::Said(Message { kind: Kind::Finished, rank, .. }) => self.members[rank.index()].is_finished = true,
            Event::Said(message @ Message { kind: Kind::Published, .. }) => self.tell(message),
            Event::Left(rank) => {
                self.members[rank.index()].has_left = true;
                self.lose(rank);
            }
            Event::Ended(rank, status) => {
                self.members[rank.index()].status = Some(status);
                // A connected rank is handled at the end of its connection, after all its messages were read.
                if self.members[rank.index()].connection.is_none() {
                    self.lose(rank);
                }
            }
            Event::Said(_) | Event::Stranger => {}
        }
        let has_met = |member: &Member| member.is_lost || member.meetings > self.meetings;
        if self.members.iter().all(has_met) && !self.members.iter().all(|member| member.is_lost) {
            self.meetings += 1;
            self.tell(Message::new(Kind::Met, Rank::new(0)));
        }
    }

    fn lose(&mut self, rank: Rank) {
        let member = &mut self.members[rank.index()];
        if !member.is_finished && !std::mem::replace(&mut member.is_lost, true) {
            self.lost.push(rank);
            self.tell(Message::new(Kind::Lost, rank));
        }
    }

    fn tell(&mut self, message: Message) {
        self.members.iter().filter_map(|member| member.connection.as_ref()).for_each(|to| _ = message.send(to));
        self.said.push(message);
    }
}
