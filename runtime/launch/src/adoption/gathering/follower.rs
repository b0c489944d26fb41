//! A rank that is not the first of its host: it receives its resources from the first rank.

use std::os::fd::{AsFd, OwnedFd};

use pelago_base::Duration;
use pelago_platform::Clock;

use crate::OsClock;
use crate::adoption::AdoptionError;
use crate::adoption::gathering::message::{Hello, Secret, ToLeader, ToRank};
use crate::adoption::gathering::socket::{Connection, Received, SocketName, wait};

/// Additional time for which a rank waits, so that the leader can report which ranks are missing.
const GRACE: Duration = Duration::from_milliseconds(2000);

/// A rank with a connection to its leader.
pub(crate) struct Follower {
    connection: Connection,
    clock: OsClock,
    leader: u32,
    limit: Duration,
}

impl Follower {
    /// Connects to the leader and sends the hello of this rank.
    pub(crate) fn open(
        name: &SocketName,
        hello: Hello,
        leader: u32,
        clock: OsClock,
        limit: Duration,
    ) -> Result<Self, AdoptionError> {
        let connection = Connection::open(name, clock, clock.now() + limit)?.ok_or_else(|| AdoptionError::missing([leader]))?;
        let user = connection.peer()?.user;
        if user != rustix::process::geteuid().as_raw() {
            return Err(AdoptionError::User(user));
        }
        // If the leader has gone, the missing reply shows it.
        connection.send(&ToLeader::Hello(hello).to_string(), &[]);
        Ok(Self { connection, clock, leader, limit })
    }

    /// Waits until all ranks of the host have arrived.
    pub(crate) fn gather(&self) -> Result<(), AdoptionError> {
        match self.hear()? {
            (ToRank::Gathered, descriptors) if descriptors.is_empty() => Ok(()),
            _ => Err(AdoptionError::Message(self.leader)),
        }
    }

    /// Proves that this rank belongs to the job, and receives its resources: the memory, and a socket if ranks have one.
    pub(crate) fn prove(&self, secret: Secret, has_socket: bool) -> Result<(OwnedFd, Option<OwnedFd>), AdoptionError> {
        self.connection.send(&ToLeader::Proof(secret).to_string(), &[]);
        let (ToRank::Supplies, descriptors) = self.hear()? else { return Err(AdoptionError::Message(self.leader)) };
        let mut descriptors = descriptors.into_iter();
        match (descriptors.next(), descriptors.next()) {
            (Some(memory), socket) if socket.is_some() == has_socket => Ok((memory, socket)),
            _ => Err(AdoptionError::Message(self.leader)),
        }
    }

    /// Returns the leader's next message.
    fn hear(&self) -> Result<(ToRank, Vec<OwnedFd>), AdoptionError> {
        let until = self.clock.now() + self.limit + GRACE;
        loop {
            if wait(&[self.connection.as_fd()], self.clock, until)?.is_none() {
                return Err(AdoptionError::missing([self.leader]));
            }
            return match self.connection.receive() {
                Received::Nothing => continue,
                Received::End => Err(AdoptionError::Ended(self.leader)),
                Received::Nonsense => Err(AdoptionError::Message(self.leader)),
                Received::Message(text, descriptors) => match ToRank::parse(&text) {
                    Some(ToRank::Refused(why)) => Err(AdoptionError::Refused(why)),
                    Some(message) => Ok((message, descriptors)),
                    None => Err(AdoptionError::Message(self.leader)),
                },
            };
        }
    }
}
