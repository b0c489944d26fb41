//! The server of a rendezvous: a thread of process 0, which ends when all processes have left.

use std::collections::{HashMap, VecDeque};
use std::net::TcpListener;
use std::os::fd::AsFd;

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags, poll};

use crate::OsClock;
use crate::adoption::AdoptionError;
use crate::adoption::gathering::leader::RaisedDescriptorLimit;
use crate::adoption::launcher_store::pmi::timespec;
use crate::adoption::launcher_store::rendezvous::client::digest;
use crate::adoption::launcher_store::rendezvous::message::{ToClient, ToServer};
use crate::adoption::launcher_store::rendezvous::sealed_stream::{
    Closed, INTRODUCTION_BYTES, Introduction, MAGIC, NONCE_BYTES, SealedStream, Side, TAG_BYTES, TO_SERVER_BYTES_MAX, is_same,
};
use crate::system::job_key;

/// Maximum number of connections without a proof of the secret, in addition to one per process. Above it, the oldest connection is closed.
const STRANGERS_MAX: usize = 64;

/// Maximum time for which a connection may lack this proof.
const INTRODUCTION_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// Maximum number of bytes that wait for a slow process: more than all answers that the process can request without reading them.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Maximum number of values per process: three per host are used.
const VALUES_PER_PROCESS: usize = 4;

/// Maximum number of characters of the launcher's name of the job in an error.
const JOB_CHARS_MAX: usize = 100;

/// Number of descriptors other than those of connections.
const DESCRIPTORS_BESIDES: u64 = 64;

pub(super) struct Server {
    clock: OsClock,
    secret: [u8; 16],
    job: String,
    /// The launcher's name of the job.
    launcher_job: String,
    job_digest: u64,
    /// Open until all have arrived.
    listener: Option<TcpListener>,
    /// Deadline for the arrival of all.
    until: Instant,
    strangers: VecDeque<Stranger>,
    /// The processes, by number; without a stream before the process has arrived, and after it has gone.
    members: Vec<Member>,
    values: HashMap<String, String>,
    /// Why the job cannot be set up.
    refusal: Option<String>,
    _room: RaisedDescriptorLimit,
}

struct Stranger {
    stream: SealedStream,
    nonce: [u8; NONCE_BYTES],
    until: Instant,
}

#[derive(Default)]
struct Member {
    stream: Option<SealedStream>,
    host: Option<u64>,
    has_arrived: bool,
}

impl Server {
    /// Creates a server of so many processes of the launcher's job, which have to arrive until the given time.
    pub(super) fn new(
        listener: TcpListener,
        secret: [u8; 16],
        (size, launcher_job): (u32, &str),
        clock: OsClock,
        until: Instant,
    ) -> Result<Self, AdoptionError> {
        let room = RaisedDescriptorLimit::make(u64::from(size) + STRANGERS_MAX as u64 + DESCRIPTORS_BESIDES)?;
        let number = u128::from_le_bytes(job_key::draw().map_err(AdoptionError::Key)?);
        let _nonblocking = listener.set_nonblocking(true);
        Ok(Self {
            clock,
            secret,
            job: format!("rendezvous-{number:032x}"),
            launcher_job: launcher_job.chars().filter(|char| !char.is_control()).take(JOB_CHARS_MAX).collect(),
            job_digest: digest([launcher_job]),
            listener: Some(listener),
            until,
            strangers: VecDeque::new(),
            members: (0..size).map(|_| Member::default()).collect(),
            values: HashMap::new(),
            refusal: None,
            _room: room,
        })
    }

    /// Runs until all have left, or not all have arrived in time.
    pub(super) fn run(mut self) {
        while self.listener.is_some() || self.members.iter().any(|member| member.stream.is_some()) {
            self.wait();
            self.accept();
            self.hear_strangers();
            self.hear_members();
            self.look_at_time();
            for number in 0..self.members.len() {
                let is_broken = self.members[number]
                    .stream
                    .as_mut()
                    .is_some_and(|stream| stream.flush().is_err() || stream.waiting_bytes() > WAITING_BYTES_MAX);
                if is_broken {
                    self.lose(number);
                }
            }
        }
    }

    fn wait(&self) {
        let flags =
            |stream: &SealedStream| PollFlags::IN | if stream.waiting_bytes() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        let listener = self.listener.iter().map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
        let strangers = self.strangers.iter().map(|stranger| &stranger.stream);
        let members = self.members.iter().filter_map(|member| member.stream.as_ref());
        let streams = strangers.chain(members).map(|stream| PollFd::from_borrowed_fd(stream.as_fd(), flags(stream)));
        let mut polled: Vec<PollFd<'_>> = listener.chain(streams).collect();
        let ends = self.strangers.front().map(|stranger| stranger.until).into_iter();
        let end = ends.chain(self.listener.as_ref().map(|_| self.until)).min();
        let left = end.map(|end| timespec(end.since(self.clock.now())));
        if poll(&mut polled, left.as_ref()).is_err() {
            // For example, the kernel has no memory: tried again after a pause.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Accepts new connections, and sends each a nonce.
    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        while let Ok((stream, _)) = listener.accept() {
            let (Ok(mut stream), Ok(nonce)) = (SealedStream::new(stream), job_key::draw()) else { continue };
            stream.send_clear(&[MAGIC, nonce].concat());
            if self.strangers.len() == STRANGERS_MAX + self.members.len() {
                self.strangers.pop_front();
            }
            self.strangers.push_back(Stranger { stream, nonce, until: self.clock.now() + INTRODUCTION_LIMIT });
        }
    }

    /// Turns connections that prove the secret into members.
    fn hear_strangers(&mut self) {
        let now = self.clock.now();
        for mut stranger in std::mem::take(&mut self.strangers) {
            let is_open = stranger.stream.flush().is_ok() && stranger.stream.receive().is_ok() && now < stranger.until;
            match introduction(&mut stranger) {
                Some((introduction, proof)) if is_same(&proof, &introduction.proof(&self.secret, Side::Client)) => {
                    self.introduce(stranger.stream, &introduction);
                }
                None if is_open => self.strangers.push_back(stranger),
                _ => {}
            }
        }
    }

    fn introduce(&mut self, mut stream: SealedStream, introduction: &Introduction) {
        stream.send_clear(&introduction.proof(&self.secret, Side::Server));
        stream.seal(&self.secret, introduction, Side::Server);
        let &Introduction { rank, size, job, .. } = introduction;
        if let Some(refusal) = &self.refusal {
            refuse(stream, refusal);
            if rank == 0 {
                self.close();
            }
            return;
        }
        let leader_size = self.members.len() as u32;
        let mut meets_twice = false;
        let wrong = match self.members.get_mut(rank as usize) {
            _ if job != self.job_digest => {
                let job = if self.launcher_job.is_empty() { "one without a name" } else { &self.launcher_job };
                AdoptionError::OtherJob { rank, job: job.into() }
            }
            _ if size != leader_size => AdoptionError::Size { rank, size, leader_size },
            Some(member) if member.stream.is_none() && member.host.is_none() => {
                member.stream = Some(stream);
                return;
            }
            _ => {
                meets_twice = true;
                AdoptionError::MetTwice(rank)
            }
        };
        refuse(stream, &wrong.to_string());
        if meets_twice {
            // Nothing tells which of the two belongs here: a job with processes of two jobs would compute nonsense.
            self.give_up(&wrong);
        }
    }

    fn hear_members(&mut self) {
        for number in 0..self.members.len() {
            let Some(stream) = &mut self.members[number].stream else { continue };
            let mut is_open = stream.receive().is_ok() && stream.untaken_bytes() <= WAITING_BYTES_MAX;
            while let Some(stream) = &mut self.members[number].stream {
                match stream.take(TO_SERVER_BYTES_MAX).map(|text| text.map(|text| ToServer::parse(&text))) {
                    Ok(None) => break,
                    Ok(Some(Some(message))) => self.handle(number, message),
                    Ok(Some(None)) | Err(Closed) => {
                        is_open = false;
                        break;
                    }
                }
            }
            if !is_open && self.members[number].stream.is_some() {
                self.lose(number);
            }
        }
    }

    fn handle(&mut self, number: usize, message: ToServer) {
        match message {
            ToServer::Come { host } => {
                self.members[number].host = Some(host);
                if self.members.iter().all(|member| member.host.is_some()) {
                    self.place();
                }
            }
            ToServer::Put { key, value } => {
                if self.values.len() < VALUES_PER_PROCESS * self.members.len() + VALUES_PER_PROCESS {
                    self.values.insert(key, value);
                    self.tell(number, &ToClient::Done);
                } else {
                    self.tell(number, &ToClient::NoValue);
                }
            }
            ToServer::Get { key } => {
                let value = self.values.get(&key).map_or(ToClient::NoValue, |value| ToClient::Value(value.clone()));
                self.tell(number, &value);
            }
            ToServer::Arrive => {
                self.members[number].has_arrived = true;
                self.meet();
            }
            ToServer::Leave => self.leave(number),
            ToServer::Abort => self.tell_others(number, &ToClient::Aborted),
        }
    }

    /// Reports that all have arrived: no further process is admitted.
    fn place(&mut self) {
        self.close();
        let mut numbers = HashMap::new();
        let host = |member: &Member| {
            let next = numbers.len() as u32;
            *numbers.entry(member.host.unwrap_or_default()).or_insert(next)
        };
        let hosts = self.members.iter().map(host).collect();
        self.tell_all(&ToClient::Placed { job: self.job.clone(), hosts });
    }

    /// Ends the fence if all remaining processes have entered it.
    fn meet(&mut self) {
        let mut present = self.members.iter().filter(|member| member.stream.is_some());
        if self.listener.is_none() && present.all(|member| member.has_arrived) {
            self.tell_all(&ToClient::Met);
            self.members.iter_mut().for_each(|member| member.has_arrived = false);
        }
    }

    fn leave(&mut self, number: usize) {
        if number == 0 {
            self.tell_others(number, &ToClient::Over);
            for member in &mut self.members {
                // A process that has gone gets no more messages.
                member.stream.as_mut().map(SealedStream::flush);
            }
        }
        self.tell(number, &ToClient::Left);
        if let Some(mut stream) = self.members[number].stream.take() {
            let _whether_it_waits_for_it_or_not = stream.flush();
        }
        self.meet();
    }

    /// Handles a process that has gone without leaving.
    fn lose(&mut self, number: usize) {
        self.members[number].stream = None;
        if self.listener.is_some() {
            self.give_up(&AdoptionError::Ended(number as u32));
            if number == 0 {
                // It does not come again.
                self.close();
            }
        } else {
            self.tell_all(&ToClient::Lost(number as u32));
            self.meet();
        }
    }

    fn look_at_time(&mut self) {
        if self.listener.is_some() && self.clock.now() >= self.until {
            let missing = (0..).zip(&self.members).filter(|(_, member)| member.host.is_none()).map(|(number, _)| number);
            self.give_up(&AdoptionError::missing(missing));
        }
    }

    /// Reports that the job cannot be set up to all that have arrived, and to all that still arrive until process 0 has been told: it
    /// may arrive after the processes that are the reason.
    fn give_up(&mut self, why: &AdoptionError) {
        let why = why.to_string();
        let tells_process_0 = self.members[0].stream.is_some();
        for member in &mut self.members {
            if let Some(stream) = member.stream.take() {
                refuse(stream, &why);
            }
        }
        self.refusal = Some(why);
        if tells_process_0 || self.clock.now() >= self.until {
            self.close();
        }
    }

    /// Admits no further process.
    fn close(&mut self) {
        self.listener = None;
        self.strangers.clear();
    }

    fn tell(&mut self, number: usize, message: &ToClient) {
        if let Some(stream) = &mut self.members[number].stream {
            stream.send(&message.to_string());
        }
    }

    fn tell_all(&mut self, message: &ToClient) {
        self.tell_others(usize::MAX, message);
    }

    fn tell_others(&mut self, number: usize, message: &ToClient) {
        let text = message.to_string();
        let others = self.members.iter_mut().enumerate().filter(|(other, _)| *other != number);
        others.filter_map(|(_, member)| member.stream.as_mut()).for_each(|stream| stream.send(&text));
    }
}

/// Tells a process why the job cannot be set up, and closes its connection.
fn refuse(mut stream: SealedStream, why: &str) {
    stream.send(&ToClient::Refused(why.into()).to_string());
    // A process that cannot receive so few bytes is not waited for.
    let _ = stream.flush();
}

/// Returns the introduction of a connection and its proof, after they have arrived.
fn introduction(stranger: &mut Stranger) -> Option<(Introduction, [u8; TAG_BYTES])> {
    let bytes = stranger.stream.take_clear(INTRODUCTION_BYTES)?;
    let (client_nonce, rest) = bytes.split_first_chunk()?;
    let (rank, rest) = rest.split_first_chunk()?;
    let (size, rest) = rest.split_first_chunk()?;
    let (job, proof) = rest.split_first_chunk()?;
    let (rank, size, job) = (u32::from_le_bytes(*rank), u32::from_le_bytes(*size), u64::from_le_bytes(*job));
    let introduction = Introduction { server_nonce: stranger.nonce, client_nonce: *client_nonce, rank, size, job };
    Some((introduction, proof.try_into().ok()?))
}
