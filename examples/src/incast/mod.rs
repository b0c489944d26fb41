//! Many ranks send to one: the cost, the losses and the delays of each method (paper A).
//!
//! Rank 0 receives, and the next ranks send. With `--bystander` the last rank puts to rank 1, neither of which sends, over the links that the
//! messages use, and reports the slowdown of its puts. Every message carries its number and a checksum, which the receiver verifies.

mod letter;
mod method;
mod report;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::messaging::{Counting, Lengths, Limit, Mailbox, Messages, Party, Settings, Waiting};
use pelago::{Duration, Error, Failure, Instant, Rank, World};

use crate::usage::{Stop, at_least_one, exit, parse};
use letter::Letter;
use method::Method;
use report::{Found, Report};

/// The receiver.
const RECEIVER: Rank = Rank::new(0);

/// Number of bystanders.
const BYSTANDERS: u32 = 2;

/// Bytes of a put from one bystander to the other.
const BYSTANDER_BYTES: usize = 64 << 10;

/// Puts that a bystander times before the senders start.
const QUIET_PUTS: u32 = 20;

/// Time from the agreement on the start to the start: longer than the agreement takes to reach all ranks.
const PAUSE: Duration = Duration::from_microseconds(100);

/// Maximum number of slots to acquire at once: as many as a receiver has at most.
const BATCH_MAX: i64 = 1 << 16;

/// Measure many-to-one messages to rank 0; rank 0 prints one line, or one JSON object
#[derive(Parser)]
#[command(name = "incast")]
struct Arguments {
    /// eager, rendezvous, limit, acquire, acquire-auto, acquire-proxy, acquire-split:K, acquire-borrow:K, acquire-topology:K or acquire-relay:K
    #[arg(long, default_value_t = Method::Acquire)]
    method: Method,
    /// Number of sending ranks [default: all but the receiver]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = at_least_one)]
    senders: Option<u32>,
    /// Number of messages of each sender
    #[arg(long, value_name = "M", default_value_t = 100, allow_negative_numbers = true, value_parser = at_least_one)]
    messages: u32,
    /// Bytes of a message; at least 24, for its check
    #[arg(long, value_name = "B", default_value_t = 64, allow_negative_numbers = true, value_parser = at_least_one)]
    bytes: u32,
    /// Number of slots at the receiver, or of concurrent messages
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true, value_parser = at_least_one)]
    slots: u32,
    /// Number of slots that a sender acquires at once
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=BATCH_MAX))]
    batch: u32,
    /// How senders wait for a slot: notified, backing-off or polling
    #[arg(long, default_value = "notified", value_parser = method::waiting)]
    waiting: Waiting,
    /// Places at the receiver for senders that wait for a notification; 0: as many as slots
    #[arg(long, value_name = "W", default_value_t = 0)]
    waiters: u32,
    /// Layout of the two counters: one-word, or two-words as in paper A
    #[arg(long, default_value = "one-word", value_parser = method::counting)]
    counting: Counting,
    /// Milliseconds that the receiver sleeps (in a simulation: computes) before it receives
    #[arg(long, value_name = "MS", default_value_t = 0)]
    sleep_ms: u32,
    /// Simulation: nanoseconds of computing for each message at the receiver
    #[arg(long, value_name = "NS", default_value_t = 0)]
    work_ns: u32,
    /// Simulation: nanoseconds for each message that the core of the receiver matches or answers (eager, limit, rendezvous)
    #[arg(long, value_name = "NS", default_value_t = 0)]
    match_ns: u32,
    /// Milliseconds without a message after which the receiver counts the missing messages as lost
    #[arg(long, value_name = "MS", default_value_t = 1000, allow_negative_numbers = true, value_parser = at_least_one)]
    patience_ms: u32,
    /// The last rank measures puts of 64 KiB to rank 1, the neighbour of the receiver; neither of them sends
    #[arg(long)]
    bystander: bool,
    /// Report the peak memory of the receiver's process in an additional JSON field, where the system provides it
    #[arg(long)]
    peak: bool,
    /// Print the placement of the counters and its reason to standard error
    #[arg(long)]
    explain: bool,
    /// text or json
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => match arguments.check(world.size()) {
            Ok(()) => measure(world, arguments),
            Err(line) => Ok(Stop::Wrong(line).tell("incast", world)),
        },
        Err(stop) => Ok(stop.tell("incast", world)),
    });
    exit("incast", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    match parse::<Arguments>(arguments) {
        Ok(arguments) => arguments.check(ranks),
        Err(stop) => stop.wrong(),
    }
}

impl Arguments {
    fn check(&self, ranks: u32) -> Result<(), String> {
        let most = ranks.saturating_sub(1 + self.bystanders());
        let senders = self.senders.unwrap_or(most);
        if senders == 0 || senders > most {
            let needed = senders.max(1) + 1 + self.bystanders();
            return Err(format!("{needed} ranks are needed, one to receive and those that send; start more (-n {needed})"));
        }
        if (self.bytes as usize) < Letter::BYTES_MIN {
            return Err(format!(
                "--bytes {} is too short for a message that can be checked: at least {}",
                self.bytes,
                Letter::BYTES_MIN
            ));
        }
        Ok(())
    }

    fn bystanders(&self) -> u32 {
        if self.bystander { BYSTANDERS } else { 0 }
    }

    /// Returns the first sending rank.
    fn first_sender(&self) -> u32 {
        if self.bystander { 2 } else { 1 }
    }

    fn senders(&self, size: u32) -> u32 {
        self.senders.unwrap_or(size - 1 - self.bystanders())
    }

    fn expected(&self, size: u32) -> u64 {
        u64::from(self.senders(size)) * u64::from(self.messages)
    }

    /// Returns the settings of the mailbox: the slots to acquire, or the limit of concurrent messages.
    fn settings(&self, size: u32) -> Settings {
        let Self { waiting, counting, waiters, .. } = *self;
        let room = if self.method == Method::Limit {
            Settings::permits(self.slots)
        } else {
            Settings::new(self.slots, self.bytes as usize)
        };
        let relay_ranks = self.method.relay_ranks();
        Settings { waiting, counting, waiters, relay_ranks, ..room }.placed(self.method.placement(size))
    }
}

/// Role of a rank.
enum Role {
    Receiver,
    Sender,
    Bystander { to: Rank },
    Idle,
}

fn role(world: &World, arguments: &Arguments) -> Role {
    let (rank, size) = (world.rank(), world.size());
    let senders = arguments.first_sender()..arguments.first_sender() + arguments.senders(size);
    match rank.number() {
        0 => Role::Receiver,
        number if senders.contains(&number) => Role::Sender,
        number if arguments.bystander && number == size - 1 => Role::Bystander { to: Rank::new(1) },
        _ => Role::Idle,
    }
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let size = world.size();
    let mut report = Report::new(arguments.senders(size));
    match arguments.method {
        Method::Acquire
        | Method::AcquireAuto
        | Method::AcquireProxy
        | Method::AcquireSplit(_)
        | Method::AcquireBorrow(_)
        | Method::AcquireTopology(_)
        | Method::AcquireRelay(_) => {
            let mailbox = Mailbox::new(world, RECEIVER, arguments.settings(size))?;
            report.servers = mailbox.explain().servers.len();
            if arguments.explain && world.rank() == RECEIVER {
                let _ = writeln!(std::io::stderr(), "{}", mailbox.explain());
            }
            by_mailbox(world, arguments, &mailbox, &mut report)?;
        }
        Method::Eager | Method::Rendezvous | Method::Limit => {
            let lengths = if arguments.method == Method::Rendezvous { Lengths::RENDEZVOUS } else { Lengths::EAGER };
            let room = Settings::new(1, 1);
            let messages = Messages::new(world, lengths, room, Settings::new(arguments.slots, arguments.bytes as usize))?;
            let limit = match arguments.method {
                Method::Limit => Some(Limit::new(world, RECEIVER, arguments.settings(size))?),
                _ => None,
            };
            by_messages(world, arguments, &messages, limit.as_ref(), &mut report)?;
        }
    }
    report.tell(world, arguments)
}

/// Starts all ranks together, in virtual time at the same instant, and measures from the start to the last message.
fn together(
    world: &World,
    arguments: &Arguments,
    report: &mut Report,
    part: impl FnOnce(Role, &mut Report, Instant) -> pelago::Result<()>,
) -> pelago::Result<()> {
    let role = role(world, arguments);
    let over = world.alloc::<u64>(1)?;
    let block = world.alloc::<u8>(if arguments.bystander { BYSTANDER_BYTES } else { 1 })?;
    if let Role::Bystander { to } = role {
        report.quiet = Some(time_puts(world, block.at(to, 0), |puts| puts < QUIET_PUTS)?);
    }
    // Ranks leave a barrier one after another, which would determine the order of the first messages.
    let mut last = [world.now().as_picoseconds()];
    world.allreduce(&mut last, u64::max)?;
    world.compute(Instant::from_picoseconds(last[0]) + PAUSE - world.now());
    let start = world.now();
    match role {
        Role::Bystander { to } => {
            let ended = || over.local().load(0) == 1;
            report.busy = Some(time_puts(world, block.at(to, 0), |puts| puts < QUIET_PUTS || !ended())?);
        }
        role => {
            let is_receiver = matches!(role, Role::Receiver);
            part(role, report, start)?;
            if is_receiver && arguments.bystander {
                world.put(over.at(Rank::new(world.size() - 1), 0), &[1])?;
            }
        }
    }
    // Ranks with refused messages reach this barrier, too; the report states the refusals.
    match world.barrier() {
        Err(Error::Failed(Failure::NotReady(_))) => world.barrier(),
        other => other,
    }
}

/// Repeats puts while `goes_on` returns true for their number; returns the mean time of a put.
fn time_puts(world: &World, to: pelago::GlobalPtr<u8>, goes_on: impl Fn(u32) -> bool) -> pelago::Result<Duration> {
    let (block, start, mut puts) = (vec![1; BYSTANDER_BYTES], world.now(), 0);
    while goes_on(puts) {
        world.put(to, &block)?.wait()?;
        puts += 1;
    }
    Ok(Duration::from_picoseconds((world.now() - start).as_picoseconds() / u64::from(puts.max(1))))
}

fn by_mailbox(world: &World, arguments: &Arguments, mailbox: &Mailbox<'_>, report: &mut Report) -> pelago::Result<()> {
    report.room_bytes = mailbox.receiver_bytes();
    together(world, arguments, report, |role, report, start| {
        match role {
            Role::Receiver => {
                let mut receiver = mailbox.receiver()?;
                receive(world, arguments, report, start, Duration::ZERO, |limit, bytes| {
                    let message = receiver.receive_within(limit)?;
                    bytes.resize(message.len(), 0);
                    message.bytes().read(0, bytes);
                    message.release()
                })?;
                report.operations = receiver.operations();
            }
            Role::Sender => {
                let mut sender = mailbox.sender(RECEIVER)?;
                let batch = arguments.batch.min(arguments.messages);
                let mut letters: Vec<_> = (0..batch).map(|_| Letter::new(arguments.bytes as usize)).collect();
                for first in (0..arguments.messages).step_by(batch as usize) {
                    let count = batch.min(arguments.messages - first) as usize;
                    for (number, letter) in (first..).zip(&mut letters[..count]) {
                        letter.write(world.rank(), number);
                    }
                    match &letters[..count] {
                        [letter] => sender.send(letter)?,
                        letters => sender.send_all(letters)?,
                    }
                }
                sender.flush()?;
                report.looks = sender.looks();
            }
            Role::Bystander { .. } | Role::Idle => {}
        }
        Ok(())
    })
}

fn by_messages(
    world: &World,
    arguments: &Arguments,
    messages: &Messages<'_>,
    limit: Option<&Limit<'_>>,
    report: &mut Report,
) -> pelago::Result<()> {
    report.room_bytes = messages.receiver_bytes();
    let matching = Duration::from_nanoseconds(arguments.match_ns.into());
    together(world, arguments, report, |role, report, start| {
        match role {
            Role::Receiver => {
                let mut party = messages.party()?;
                let mut permits = limit.map(Limit::receiver).transpose()?;
                receive(world, arguments, report, start, matching, |limit, bytes| {
                    let received = party.receive_within(limit, None, None)?;
                    *bytes = received.bytes;
                    permits.as_mut().map_or(Ok(()), |permits| permits.release(received.from))
                })?;
                report.unexpected_bytes = party.unexpected_bytes_peak();
                report.operations = party.operations() + permits.map_or(0, |permits| permits.operations());
            }
            Role::Sender => send_messages(world, arguments, &mut messages.party()?, limit, report)?,
            Role::Bystander { .. } | Role::Idle => {}
        }
        Ok(())
    })
}

fn send_messages(
    world: &World,
    arguments: &Arguments,
    party: &mut Party<'_, '_>,
    limit: Option<&Limit<'_>>,
    report: &mut Report,
) -> pelago::Result<()> {
    party.bound_rendezvous(Duration::from_milliseconds(arguments.patience_ms.into()));
    let mut permits = limit.map(|limit| limit.sender(RECEIVER)).transpose()?;
    let mut letter = Letter::new(arguments.bytes as usize);
    let mut sent = || -> pelago::Result<()> {
        for number in 0..arguments.messages {
            if let Some(permits) = &mut permits {
                permits.acquire()?;
            }
            party.send(RECEIVER, number, letter.write(world.rank(), number))?;
        }
        world.quiet()
    };
    match sent() {
        // Like a queue pair in its error state: nothing more is sent.
        Err(Error::Failed(Failure::NotReady(_)) | Error::TimedOut { .. }) => report.refused = 1,
        other => other?,
    }
    report.looks = permits.map_or(0, |permits| permits.looks());
    Ok(())
}

/// Receives messages until all have arrived, or until no more arrive.
fn receive(
    world: &World,
    arguments: &Arguments,
    report: &mut Report,
    start: Instant,
    matching: Duration,
    mut next: impl FnMut(Duration, &mut Vec<u8>) -> pelago::Result<()>,
) -> pelago::Result<()> {
    let sleep = Duration::from_milliseconds(arguments.sleep_ms.into());
    if sleep > Duration::ZERO {
        let late = world.now() + sleep;
        world.compute(sleep);
        // On a real machine declared computing takes no time.
        if world.now() < late {
            std::thread::sleep(late.since(world.now()).into());
        }
    }
    let patience = Duration::from_milliseconds(arguments.patience_ms.into());
    let computing = matching + Duration::from_nanoseconds(arguments.work_ns.into());
    let mut found = Found::new(arguments.first_sender(), arguments.senders(world.size()), arguments.messages);
    let mut bytes = Vec::new();
    for _ in 0..arguments.expected(world.size()) {
        match next(patience, &mut bytes) {
            Ok(()) => {
                if computing > Duration::ZERO {
                    world.compute(computing);
                }
                found.note(&bytes, || world.now().since(start));
            }
            Err(Error::TimedOut { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    found.end = world.now().since(start);
    report.found = Some(found);
    Ok(())
}
