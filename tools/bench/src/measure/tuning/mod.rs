//! `tuning`: the cost of each tuning step of paper E (Nose et al., 2015, table 3) on a real machine.
//!
//! The library posts operations from the program's thread and has neither a command queue nor a thread on that path. This benchmark adds both
//! in front of the library, as in the paper's implementation, and applies the paper's steps one by one to consecutive blocking four-byte
//! atomic adds. The raw limit of each row is the plain library, measured alternately.
//!
//! | part | content |
//! |---|---|
//! | this file | the rows, and the communication threads |
//! | `queue` | the command queue |

mod queue;

use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread::{self, Thread};

use pelago::{Context, GlobalAddress, GlobalPtr};

use self::queue::{Descriptor, Queue, pause};
use super::REPETITIONS;
use crate::comparison::{Comparison, Side};
use crate::error::{Error, Result, check};
use crate::rank::context::RankContext;
use crate::settings::{Atomics, Descriptors, Serving, Steps, Submission, Threads, conditions};

/// Offset of the measured word, and of the word incremented by disturbing ranks.
const WORD: u32 = 0;
const DISTURBED: u32 = 16;
const WORDS: usize = 32;

/// Number of measurements of a batch while another rank delegates atomics, which makes batches many times longer.
const REPETITIONS_DISTURBED: u64 = 11;

/// Subject of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An atomic on a word of the receiver.
    Remote,
    /// An atomic on a word of the sender itself.
    Local,
    /// Like `Remote`, while the receiver continuously delegates atomics to the sender.
    Disturbed,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Remote => "tuning_remote",
            Self::Local => "tuning_local",
            Self::Disturbed => "tuning_disturbed",
        }
    }
}

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
    let world = stage.world;
    let memory = world.alloc::<u32>(WORDS)?;
    let delegated = world.alloc::<u64>(2 * world.size() as usize)?;
    let over = world.alloc::<u64>(1)?;
    if stage.is_idle() {
        return Ok(());
    }
    let size = world.size() as usize;
    let bases = world.ranks().map(|rank| memory.at(rank, 0)).collect();
    // The request of a rank is at index `rank`, its reply at index `size + rank`.
    let words = world.ranks().map(|rank| (0..2 * size).map(|index| delegated.at(rank, index)).collect()).collect();
    let agents = Agents::new(world.rank().number(), bases, words);
    let factory = world.context_factory();
    thread::scope(|scope| {
        for role in [Role::Ordering, Role::Serving] {
            let (factory, agents) = (factory.clone(), &agents);
            let thread = scope.spawn(move || agents.run(role, factory.context()));
            agents.threads.lock().expect("nobody panics with it").push(thread.thread().clone());
        }
        let end = EndOfThreads(&agents);
        let measured = measure_all(stage, &agents, over.at(stage.receiver(), 0));
        drop(end);
        measured
    })?;
    agents.failure()
}

fn measure_all(stage: &RankContext<'_>, agents: &Agents, over: GlobalPtr<u64>) -> Result<()> {
    let disturbed = |serving| Steps { serving, ..Steps::default() };
    let served = [("together", disturbed(Serving::Together)), ("apart", disturbed(Serving::Apart))];
    let asked = stage.settings.steps.map(|steps| [("asked", steps)]);
    for kind in [Kind::Remote, Kind::Local, Kind::Disturbed] {
        let all = if kind == Kind::Disturbed { &served[..] } else { &conditions() };
        for &condition in asked.as_ref().map_or(all, |asked| &asked[..]) {
            measure(stage, agents, kind, condition, over)?;
        }
    }
    Ok(())
}

/// Measures one condition against the unchanged library.
fn measure(
    stage: &RankContext<'_>,
    agents: &Agents,
    kind: Kind,
    (name, steps): (&str, Steps),
    over: GlobalPtr<u64>,
) -> Result<()> {
    let world = stage.world;
    let target = if kind == Kind::Local { stage.sender() } else { stage.receiver() };
    let descriptor = agents.descriptor(steps, target.number(), WORD);
    let direct = agents.bases[target.index()];
    let mut counted: Option<u32> = None;
    let mut add = |side, count: u64| -> Result<()> {
        for _ in 0..count {
            let found = match side {
                Side::Library => agents.post_and_complete(world, steps, descriptor)?,
                Side::Raw => world.fetch_add(direct, 1)?.wait()?,
            };
            let expected = counted.map_or(found, |last| last.wrapping_add(1));
            check("a word that was fetched", found.into(), expected.into())?;
            counted = Some(found);
        }
        Ok(())
    };
    agents.begin(steps, kind);
    let count = stage.calibrate(1, |count| add(Side::Library, count))?;
    agents.rest();
    let raw_count = stage.calibrate(1, |count| add(Side::Raw, count))?;
    let mut round = 0;
    let repetitions = if kind == Kind::Disturbed { REPETITIONS_DISTURBED } else { REPETITIONS };
    let comparison = Comparison::run(repetitions, |side| {
        round += 1;
        match side {
            Side::Library => agents.begin(steps, kind),
            Side::Raw => agents.rest(),
        }
        let count = if side == Side::Library { count } else { raw_count };
        let nanoseconds = match (side, kind) {
            (Side::Library, Kind::Disturbed) => stage.play(
                || {
                    add(side, count)?;
                    // Ends the loop of the receiver, which does nothing else until then.
                    Ok(world.put(over, &[round])?.wait()?)
                },
                || agents.disturb(world, stage.sender().number(), || Ok(world.get(over)? >= round)),
            )?,
            _ => stage.send(|| add(side, count))?,
        };
        if kind == Kind::Disturbed {
            // Threads must not sleep before the last delegated command has its reply.
            stage.meet()?;
        }
        Ok(nanoseconds / count as f64)
    })?;
    agents.rest();
    let row = stage.row(kind.name()).timed(&comparison, "library").sized(4);
    stage.emit(&crate::Row { condition: Some(name.into()), steps: Some(steps.to_string()), ..row })
}

/// Role of a communication thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Posts the queued operations of its rank, and serves other ranks if no other thread does.
    Ordering,
    /// Serves other ranks, if a separate thread does that.
    Serving,
}

/// Current duties of communication threads, as bits.
mod duty {
    pub(super) const ORDER: u32 = 1;
    pub(super) const SERVE: u32 = 2;
    pub(super) const APART: u32 = 4;
    pub(super) const SOFTWARE: u32 = 8;
    pub(super) const END: u32 = 16;
}

/// The communication threads of a rank, and the state shared with the program's thread.
struct Agents {
    me: u32,
    queue: Queue,
    /// The words of each rank.
    bases: Vec<GlobalPtr<u32>>,
    /// For each rank, the words of commands delegated to it (one per source rank), followed by the words of replies (likewise).
    delegated: Vec<Vec<GlobalPtr<u64>>>,
    duties: AtomicU32,
    /// Number of commands that this rank has delegated.
    requests: AtomicU32,
    /// Number of the last served command of each rank.
    served: Vec<AtomicU32>,
    threads: Mutex<Vec<Thread>>,
    failed: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Agents {
    fn new(me: u32, bases: Vec<GlobalPtr<u32>>, delegated: Vec<Vec<GlobalPtr<u64>>>) -> Self {
        Self {
            me,
            queue: Queue::new(),
            served: bases.iter().map(|_| AtomicU32::new(0)).collect(),
            bases,
            delegated,
            duties: AtomicU32::new(0),
            requests: AtomicU32::new(0),
            threads: Mutex::default(),
            failed: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Starts the duties of the threads for a condition.
    fn begin(&self, steps: Steps, kind: Kind) {
        let software = steps.atomics == Atomics::ProgressThread;
        let serves = software || kind == Kind::Disturbed;
        let orders = steps.submission != Submission::Direct;
        let bits = [
            (orders, duty::ORDER),
            (serves, duty::SERVE),
            (steps.serving == Serving::Apart, duty::APART),
            (software, duty::SOFTWARE),
        ];
        self.set(bits.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum());
    }

    /// Puts the threads to sleep.
    fn rest(&self) {
        self.set(0);
    }

    fn set(&self, duties: u32) {
        self.duties.store(duties, Release);
        self.threads.lock().expect("nobody panics with it").iter().for_each(Thread::unpark);
    }

    /// Builds the command that increments a word of a rank, according to the steps.
    fn descriptor(&self, steps: Steps, rank: u32, index: u32) -> Descriptor {
        let symbolic = Descriptor::Symbolic { rank, index, operand: 1 };
        match steps.descriptors {
            Descriptors::Built => symbolic,
            Descriptors::Prepared => {
                let address = self.bases[rank as usize].add(u64::from(index)).address().bits();
                Descriptor::Prepared { address, operand: 1 }
            }
        }
    }

    /// Executes an operation of the program, like `acp_add4` and `acp_complete`.
    fn post_and_complete(&self, context: &Context, steps: Steps, descriptor: Descriptor) -> Result<u32> {
        let is_direct = match steps.submission {
            Submission::Direct => true,
            Submission::Bypass => self.queue.is_empty(),
            Submission::ProgressThread => false,
        };
        if is_direct {
            return self.execute(context, descriptor, false);
        }
        let locked = steps.threads == Threads::Many;
        let number = self.queue.post(descriptor, locked);
        let result = self.queue.complete(number, locked, || self.failed.load(Acquire));
        result.ok_or_else(|| self.failure().err().unwrap_or_else(ended))
    }

    /// Runs a communication thread to its end.
    fn run(&self, role: Role, context: pelago::Result<Context>) {
        let result = context.map_err(Error::from).and_then(|context| self.work(role, &context));
        if let Err(error) = result {
            *self.failure.lock().expect("nobody panics with it") = Some(error);
            self.failed.store(true, Release);
        }
    }

    fn work(&self, role: Role, context: &Context) -> Result<()> {
        let mut looks = 0;
        loop {
            let duties = self.duties.load(Acquire);
            if duties & duty::END != 0 {
                return Ok(());
            }
            let serves = duties & duty::SERVE != 0 && (role == Role::Serving) == (duties & duty::APART != 0);
            let orders = duties & duty::ORDER != 0 && role == Role::Ordering;
            if !serves && !orders {
                thread::park();
                continue;
            }
            let mut did = orders && self.queue.take(|descriptor| self.execute(context, descriptor, serves))?;
            did |= serves && self.serve(context)?;
            if did {
                looks = 0;
            } else {
                context.progress();
                pause(&mut looks);
            }
        }
    }

    /// Executes a command by the library, or by the communication thread of the word's owner.
    fn execute(&self, context: &Context, descriptor: Descriptor, serves: bool) -> Result<u32> {
        let (at, operand) = match descriptor {
            Descriptor::Prepared { address, operand } => {
                let address = GlobalAddress::from_bits(address);
                (GlobalPtr::from_address(address).map_err(|_| Error::NotMapped)?, operand)
            }
            Descriptor::Symbolic { rank, index, operand } => {
                let base = self.bases.get(rank as usize).filter(|_| (index as usize) < WORDS);
                (base.ok_or(Error::NotMapped)?.add(u64::from(index)), operand)
            }
        };
        if self.duties.load(Relaxed) & duty::SOFTWARE == 0 {
            return Ok(context.fetch_add(at, operand)?.wait()?);
        }
        let place = at.address().bits();
        let holds = |base: &GlobalPtr<u32>| (0..4 * WORDS as u64).contains(&place.wrapping_sub(base.address().bits()));
        let owner = self.bases.iter().position(holds);
        let owner = owner.ok_or(Error::NotMapped)?;
        if owner == self.me as usize {
            return Ok(context.fetch_add(at, operand)?.wait()?);
        }
        let index = (place - self.bases[owner].address().bits()) / 4;
        self.delegate(context, owner, index as u32, || if serves { self.serve(context).map(drop) } else { Ok(()) })
    }

    /// Delegates an increment of a word to the communication thread of its rank, and waits for the reply. A request is put only after the reply to
    /// the previous one, so that the words of request and reply are never overwritten early.
    fn delegate(&self, context: &Context, owner: usize, index: u32, mut meanwhile: impl FnMut() -> Result<()>) -> Result<u32> {
        let number = self.requests.fetch_add(1, Relaxed).wrapping_add(1);
        let request = self.delegated[owner][self.me as usize];
        context.put(request, &[u64::from(number) << 32 | u64::from(index)])?;
        let reply = self.delegated[self.me as usize][self.bases.len() + owner];
        let mut looks = 0;
        loop {
            let word = context.get(reply)?;
            if word >> 32 == u64::from(number) {
                return Ok(word as u32);
            }
            if self.failed.load(Relaxed) {
                return Err(ended());
            }
            meanwhile()?;
            context.progress();
            pause(&mut looks);
        }
    }

    /// Executes commands delegated by other ranks; returns whether there were any. One thread of a rank serves at a time.
    fn serve(&self, context: &Context) -> Result<bool> {
        let mut did = false;
        for (source, last) in self.served.iter().enumerate() {
            let word = context.get(self.delegated[self.me as usize][source])?;
            let number = (word >> 32) as u32;
            if number == last.load(Relaxed) {
                continue;
            }
            last.store(number, Relaxed);
            let value = context.fetch_add(self.bases[self.me as usize].add(word & u64::from(u32::MAX)), 1)?.wait()?;
            let reply = self.delegated[source][self.bases.len() + self.me as usize];
            context.put(reply, &[u64::from(number) << 32 | u64::from(value)])?;
            did = true;
        }
        Ok(did)
    }

    /// Continuously delegates atomics to a rank until `is_over` returns true.
    fn disturb(&self, context: &Context, rank: u32, is_over: impl Fn() -> Result<bool>) -> Result<()> {
        while !is_over()? {
            self.delegate(context, rank as usize, DISTURBED, || Ok(()))?;
        }
        Ok(())
    }

    fn failure(&self) -> Result<()> {
        self.failure.lock().expect("nobody panics with it").take().map_or(Ok(()), Err)
    }
}

/// Error of a command whose thread has ended without a specific error.
fn ended() -> Error {
    Error::Library(pelago::Error::Invalid("a communication thread ended"))
}

/// Ends the communication threads when dropped.
struct EndOfThreads<'a>(&'a Agents);

impl Drop for EndOfThreads<'_> {
    fn drop(&mut self) {
        self.0.set(duty::END);
    }
}
