//! The first rank of a host: it gathers the others, and distributes their resources.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::OsClock;
use crate::adoption::AdoptionError;
use crate::adoption::gathering::message::{Hello, Secret, ToLeader, ToRank};
use crate::adoption::gathering::socket::{Connection, Received, SocketName, hold, wait};
use crate::adoption::monitor::process_identity::ProcessIdentity;

/// Maximum number of connections of unidentified processes, in addition to one per rank. Above it, the oldest connection is closed.
const STRANGERS_MAX: usize = 64;

/// Number of descriptors of each rank in its leader: before and after it has identified itself, and its socket.
const DESCRIPTORS_PER_RANK: u64 = 3;

/// Number of other descriptors of a leader.
const DESCRIPTORS_BESIDES: u64 = 64 + STRANGERS_MAX as u64;

/// Time for which a leader that refuses the job waits for ranks that have not arrived, to tell them why: they would wait for it up to the start limit.
const REFUSAL: Duration = Duration::from_milliseconds(2000);

/// The first rank of a host while the ranks gather.
pub(crate) struct Leader {
    clock: OsClock,
    /// The leader's own hello.
    hello: Hello,
    /// Open until all have arrived.
    meeting_place: Option<OwnedFd>,
    strangers: VecDeque<Connection>,
    /// The other ranks of the host, in their order.
    seats: Vec<GatheredRank>,
    /// The reply to ranks that arrive after the job was refused.
    refusal: Option<ToRank>,
    _room: RaisedDescriptorLimit,
}

/// The sockets that are ready to be read.
struct ReadySockets {
    meeting_place: bool,
    strangers: Vec<bool>,
    seats: Vec<bool>,
}

struct GatheredRank {
    rank: u32,
    connection: Option<Connection>,
    process: u32,
    is_supplied: bool,
}

/// The resources of a rank.
pub(crate) struct RankResources<'a> {
    pub(crate) memory: BorrowedFd<'a>,
    pub(crate) socket: Option<BorrowedFd<'a>>,
}

impl Leader {
    /// Opens the meeting place for these ranks.
    pub(crate) fn open(name: &SocketName, hello: Hello, ranks: &[u32], clock: OsClock) -> Result<Self, AdoptionError> {
        let room = RaisedDescriptorLimit::make(DESCRIPTORS_PER_RANK * ranks.len() as u64 + DESCRIPTORS_BESIDES)?;
        let meeting_place = hold(name, ranks.len().clamp(1, 4096) as i32)?;
        let seat = |&rank: &u32| GatheredRank { rank, connection: None, process: 0, is_supplied: false };
        let seats = ranks.iter().map(seat).collect();
        Ok(Self {
            clock,
            hello,
            meeting_place: Some(meeting_place),
            strangers: VecDeque::new(),
            seats,
            refusal: None,
            _room: room,
        })
    }

    /// Waits for all ranks of the host and returns their processes. No other process is admitted afterwards.
    pub(crate) fn gather(&mut self, until: Instant) -> Result<Vec<ProcessIdentity>, AdoptionError> {
        while self.seats.iter().any(|seat| seat.connection.is_none()) {
            let Some(ready) = self.wait(until)? else {
                return Err(self.missing(|seat| seat.connection.is_none()));
            };
            self.hear_seats(&ready.seats, |_, seat, _| Err(AdoptionError::Message(seat.rank)))?;
            self.hear_strangers(&ready.strangers)?;
            if ready.meeting_place {
                self.accept();
            }
        }
        self.meeting_place = None;
        self.strangers.clear();
        Ok(self.seats.iter().map(|seat| ProcessIdentity::of(seat.process)).collect())
    }

    /// Notifies the ranks that all have arrived.
    pub(crate) fn go_on(&self) {
        self.tell(&ToRank::Gathered);
    }

    /// Sends each rank, in their order, its resources, after it has proved that it belongs to the job.
    pub(crate) fn supply(&mut self, secret: Secret, supplies: &[RankResources<'_>], until: Instant) -> Result<(), AdoptionError> {
        while self.seats.iter().any(|seat| !seat.is_supplied) {
            let Some(ready) = self.wait(until)? else {
                return Err(self.missing(|seat| !seat.is_supplied));
            };
            self.hear_seats(&ready.seats, |place, seat, message| {
                if message != ToLeader::Proof(secret) {
                    return Err(AdoptionError::Proof(seat.rank));
                }
                let RankResources { memory, socket } = &supplies[place];
                let descriptors: Vec<BorrowedFd<'_>> = [*memory].into_iter().chain(*socket).collect();
                seat.is_supplied = seat.send(&ToRank::Supplies, &descriptors);
                if seat.is_supplied { Ok(()) } else { Err(AdoptionError::Ended(seat.rank)) }
            })?;
        }
        Ok(())
    }

    /// Notifies the ranks that have arrived why the job cannot be set up, and for a limited time those that arrive later.
    pub(crate) fn refuse(&mut self, why: &AdoptionError) {
        let refusal = ToRank::Refused(why.to_string());
        self.tell(&refusal);
        if matches!(why, AdoptionError::Missing(_)) {
            return;
        }
        self.refusal = Some(refusal);
        self.seats.iter_mut().for_each(|seat| seat.is_supplied = true);
        let until = self.clock.now() + REFUSAL;
        while self.meeting_place.is_some() && self.seats.iter().any(|seat| seat.connection.is_none()) {
            let Ok(Some(ready)) = self.wait(until) else { return };
            if self.hear_strangers(&ready.strangers).is_err() {
                return;
            }
            if ready.meeting_place {
                self.accept();
            }
        }
    }

    fn tell(&self, message: &ToRank) {
        // A rank that has gone is detected at the next receive.
        self.seats.iter().for_each(|seat| _ = seat.send(message, &[]));
    }

    fn missing(&self, is_missing: impl Fn(&GatheredRank) -> bool) -> AdoptionError {
        AdoptionError::missing(self.seats.iter().filter(|seat| is_missing(seat)).map(|seat| seat.rank))
    }

    /// Waits for a message or a new connection; `None` if none arrives until the given time.
    fn wait(&self, until: Instant) -> Result<Option<ReadySockets>, AdoptionError> {
        let listens = |seat: &GatheredRank| seat.connection.is_some() && !seat.is_supplied;
        let seats = self.seats.iter().filter(|seat| listens(seat)).filter_map(|seat| seat.connection.as_ref());
        let others = self.meeting_place.iter().map(AsFd::as_fd).chain(self.strangers.iter().map(AsFd::as_fd));
        let sockets: Vec<BorrowedFd<'_>> = others.chain(seats.map(AsFd::as_fd)).collect();
        let Some(ready) = wait(&sockets, self.clock, until)? else { return Ok(None) };
        let mut ready = ready.into_iter();
        let mut next = || ready.next().expect("one for each socket");
        Ok(Some(ReadySockets {
            meeting_place: self.meeting_place.is_some() && next(),
            strangers: self.strangers.iter().map(|_| next()).collect(),
            seats: self.seats.iter().map(|seat| listens(seat) && next()).collect(),
        }))
    }

    /// Handles messages of identified ranks.
    fn hear_seats(
        &mut self,
        ready: &[bool],
        mut heard: impl FnMut(usize, &mut GatheredRank, ToLeader) -> Result<(), AdoptionError>,
    ) -> Result<(), AdoptionError> {
        for (place, (seat, _)) in self.seats.iter_mut().zip(ready).enumerate().filter(|(_, (_, ready))| **ready) {
            match seat.connection.as_ref().map_or(Received::Nothing, Connection::receive) {
                Received::Nothing => {}
                Received::End => return Err(AdoptionError::Ended(seat.rank)),
                Received::Nonsense => return Err(AdoptionError::Message(seat.rank)),
                Received::Message(text, _) => {
                    let message = ToLeader::parse(&text).ok_or(AdoptionError::Message(seat.rank))?;
                    heard(place, seat, message)?;
                }
            }
        }
        Ok(())
    }

    /// Receives the hellos of new connections, and closes those that send anything else. Connections of other users were refused before.
    fn hear_strangers(&mut self, ready: &[bool]) -> Result<(), AdoptionError> {
        let strangers = std::mem::take(&mut self.strangers);
        for (stranger, &ready) in strangers.into_iter().zip(ready) {
            match if ready { stranger.receive() } else { Received::Nothing } {
                Received::Nothing => self.strangers.push_back(stranger),
                Received::Message(text, _) => {
                    if let Some(ToLeader::Hello(hello)) = ToLeader::parse(&text) {
                        self.seat(stranger, hello)?;
                    }
                }
                Received::Nonsense | Received::End => {}
            }
        }
        Ok(())
    }

    fn seat(&mut self, connection: Connection, hello: Hello) -> Result<(), AdoptionError> {
        let Hello { rank, size, process, settings } = hello;
        if let Some(refusal) = &self.refusal {
            connection.send(&refusal.to_string(), &[]);
            if let Some(seat) = self.seats.iter_mut().find(|seat| seat.rank == rank) {
                seat.connection = Some(connection);
            }
            return Ok(());
        }
        let leader = &self.hello;
        let wrong = match (settings.difference(&leader.settings), self.seats.iter().find(|seat| seat.rank == rank)) {
            _ if size != leader.size => Some(AdoptionError::Size { rank, size, leader_size: leader.size }),
            (Some(difference), _) => Some(AdoptionError::Setting { rank, leader: leader.rank, difference }),
            (None, None) => Some(AdoptionError::Twice(rank)),
            (None, Some(seat)) if seat.connection.is_some() => Some(AdoptionError::Twice(rank)),
            (None, Some(_)) if connection.peer()?.process != process => Some(AdoptionError::Namespace(rank)),
            (None, Some(_)) => None,
        };
        if let Some(wrong) = wrong {
            connection.send(&ToRank::Refused(wrong.to_string()).to_string(), &[]);
            if let Some(seat) = self.seats.iter_mut().find(|seat| seat.rank == rank && seat.connection.is_none()) {
                seat.connection = Some(connection);
            }
            return Err(wrong);
        }
        let seat = self.seats.iter_mut().find(|seat| seat.rank == rank).expect("it was found");
        (seat.connection, seat.process) = (Some(connection), process);
        Ok(())
    }

    /// Accepts waiting connections of this user.
    fn accept(&mut self) {
        let user = rustix::process::geteuid().as_raw();
        let Some(meeting_place) = &self.meeting_place else { return };
        for _ in 0..=self.seats.len() {
            let Some(connection) = Connection::accept(meeting_place) else { return };
            if connection.peer().is_ok_and(|peer| peer.user == user) {
                if self.strangers.len() == STRANGERS_MAX + self.seats.len() {
                    self.strangers.pop_front();
                }
                self.strangers.push_back(connection);
            }
        }
    }
}

impl GatheredRank {
    fn send(&self, message: &ToRank, descriptors: &[BorrowedFd<'_>]) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.send(&message.to_string(), descriptors))
    }
}

/// A raised limit on open descriptors, until this is dropped.
pub(crate) struct RaisedDescriptorLimit(Option<Rlimit>);

impl RaisedDescriptorLimit {
    pub(crate) fn make(needed: u64) -> Result<Self, AdoptionError> {
        let before = getrlimit(Resource::Nofile);
        if before.current.is_none_or(|current| current >= needed) {
            return Ok(Self(None));
        }
        if let Some(allowed) = before.maximum.filter(|&allowed| allowed < needed) {
            return Err(AdoptionError::Descriptors { needed, allowed });
        }
        let raised = Rlimit { current: Some(needed), maximum: before.maximum };
        setrlimit(Resource::Nofile, raised).map_err(AdoptionError::system("setrlimit"))?;
        Ok(Self(Some(before)))
    }
}

impl Drop for RaisedDescriptorLimit {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            // Open descriptors stay open.
            let _ = setrlimit(Resource::Nofile, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_descriptors_until_it_is_given_back() {
        let limit = || getrlimit(Resource::Nofile).current;
        let before = getrlimit(Resource::Nofile);
        let Some(allowed) = before.maximum else { return };
        // Enough for all other tests.
        let lower = Rlimit { current: Some(allowed / 2), ..before };
        setrlimit(Resource::Nofile, lower).unwrap();
        let room = RaisedDescriptorLimit::make(allowed).unwrap();
        assert_eq!(limit(), Some(allowed));
        drop(room);
        assert_eq!(limit(), Some(allowed / 2));
        assert!(RaisedDescriptorLimit::make(1).unwrap().0.is_none(), "there is enough");
        let refused = RaisedDescriptorLimit::make(allowed + 1);
        assert!(
            matches!(refused, Err(AdoptionError::Descriptors { needed, allowed: all }) if needed == allowed + 1 && all == allowed)
        );
        setrlimit(Resource::Nofile, before).unwrap();
    }
}
