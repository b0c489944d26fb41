//! Latency of operations on a rank that computes for 10 milliseconds at a time and calls the library once in between.
//!
//! If memory is mapped, the raw limit is the same instruction. Over UDP it is a thread of the target that sleeps in the kernel until a datagram
//! arrives; the target's own thread would answer between two computations, after 5 milliseconds on average.

use std::hint::spin_loop;
use std::io::ErrorKind;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use pelago::GlobalPtr;
use pelago::zerocopy::{FromBytes, IntoBytes};

use crate::Row;
use crate::baseline::Baseline;
use crate::baseline::mapped_memory::Raw;
use crate::baseline::udp_sockets::Line;
use crate::comparison::{Comparison, Side, WARM_UP_ROUNDS, percentile};
use crate::error::{Error, Result, check};
use crate::rank::context::RankContext;
use crate::results::row::rounded;

/// Duration of one computation of the target.
const COMPUTATION: Duration = Duration::from_millis(10);

const REPETITIONS: u64 = 15;

/// Number of consecutive operations, and the time limit after which no further one starts.
const OPERATIONS: u64 = 400;
const OPERATIONS_TIME: Duration = Duration::from_millis(80);

/// Offset of the target word, and of the word with the number of operations for the target.
const WORD: usize = 0;
const END: usize = 8;

/// A method to increment or read a word. Each returns the deviation of the word from its expected value.
struct Kind {
    name: &'static str,
    library: fn(&RankContext<'_>, GlobalPtr<u64>, Step) -> Result<u64>,
    raw: fn(&AtomicU64, Step) -> u64,
    /// Expected final value of the word.
    last: fn(Step) -> u64,
}

/// One of several operations on a word.
#[derive(Clone, Copy)]
struct Step {
    /// Value of the word before the first operation.
    beginning: u64,
    /// Number of earlier operations.
    index: u64,
}

impl Step {
    fn value(self) -> u64 {
        self.beginning + self.index
    }
}

pub(crate) fn get(stage: &RankContext<'_>) -> Result<()> {
    measure(
        stage,
        &Kind {
            name: "get_while_target_computes",
            library: |stage, at, step| Ok(stage.world.get(at)? ^ step.beginning),
            raw: |word, step| word.load(Acquire) ^ step.beginning,
            last: |step| step.beginning,
        },
    )
}

pub(crate) fn put(stage: &RankContext<'_>) -> Result<()> {
    measure(
        stage,
        &Kind {
            name: "put_while_target_computes",
            library: |stage, at, step| {
                stage.world.put(at, &[step.value() + 1])?;
                stage.world.flush(stage.receiver())?;
                Ok(0)
            },
            raw: |word, step| {
                word.store(step.value() + 1, Release);
                0
            },
            last: Step::value,
        },
    )
}

pub(crate) fn fetch_add(stage: &RankContext<'_>) -> Result<()> {
    measure(
        stage,
        &Kind {
            name: "fetch_add_while_target_computes",
            library: |stage, at, step| Ok(stage.world.fetch_add(at, 1)?.wait()? ^ step.value()),
            raw: |word, step| word.fetch_add(1, SeqCst) ^ step.value(),
            last: Step::value,
        },
    )
}

fn measure(stage: &RankContext<'_>, kind: &Kind) -> Result<()> {
    let memory = stage.world.alloc::<u64>(2 * END)?;
    if stage.is_idle() {
        return Ok(());
    }
    let [at, end] = [WORD, END].map(|index| memory.at(stage.receiver(), index));
    let (world, here) = (stage.world, memory.local());
    let own = Raw::of(world, &memory, world.rank())?;
    let limit = stage.baseline(&memory)?;
    let (mut round, mut all) = (0, Vec::new());
    let comparison = Comparison::run(REPETITIONS, |side| {
        round += 1;
        let beginning = round << 32;
        here.store(WORD, beginning);
        here.store(END, 0);
        let mut times = Vec::with_capacity(OPERATIONS as usize);
        let finish = |count: u64| Ok(world.put(end, &[count])?.wait()?);
        let step = |index| Step { beginning, index };
        match (side, &limit) {
            (Side::Library, _) => stage.play(
                || one_by_one(&mut times, OPERATIONS_TIME, |index| (kind.library)(stage, at, step(index))).and_then(finish),
                || {
                    compute_until(|| {
                        world.progress();
                        here.load(END) > 0
                    });
                    Ok(())
                },
            )?,
            (Side::Raw, Baseline::Memory(raw)) => stage.play(
                || one_by_one(&mut times, OPERATIONS_TIME, |index| Ok((kind.raw)(raw.word(WORD), step(index)))).and_then(finish),
                || {
                    compute_until(|| here.load(END) > 0);
                    Ok(())
                },
            )?,
            (Side::Raw, Baseline::Datagrams(line)) => stage.converse(
                line,
                || one_by_one(&mut times, Duration::MAX, |index| ask(line, step(index))).and_then(finish),
                || attend(line, own.word(WORD), kind.raw),
            )?,
        };
        let count = here.load(END);
        stage.receive(|| check("a word of a rank that computed", here.load(WORD), (kind.last)(step(count))))?;
        let middle = if stage.is_sender() { percentile(&mut times, 50) } else { 0.0 };
        if side == Side::Library && round > 2 * WARM_UP_ROUNDS {
            all.append(&mut times);
        }
        Ok(middle)
    })?;
    let raw_name = limit.name("instruction", "thread");
    let row = stage.row(kind.name).timed(&comparison, raw_name).sized(8);
    stage.emit(&Row { p99_ns: Some(rounded(percentile(&mut all, 99))), ..row })
}

/// Times each operation separately; returns the number of operations.
fn one_by_one(times: &mut Vec<f64>, limit: Duration, mut act: impl FnMut(u64) -> Result<u64>) -> Result<u64> {
    let start = Instant::now();
    for index in 0..OPERATIONS {
        let before = Instant::now();
        let difference = act(index)?;
        times.push(before.elapsed().as_secs_f64() * 1e9);
        check("a word of a rank that computes", difference, 0)?;
        if start.elapsed() > limit {
            return Ok(index + 1);
        }
    }
    Ok(OPERATIONS)
}

/// Computes until `ended` returns true; it is called between two computations.
fn compute_until(mut ended: impl FnMut() -> bool) {
    while !ended() {
        let start = Instant::now();
        while start.elapsed() < COMPUTATION {
            spin_loop();
        }
    }
}

fn ask(line: &Line, step: Step) -> Result<u64> {
    let mut difference = 0_u64;
    line.ask([step.beginning, step.index].as_bytes(), difference.as_mut_bytes())?;
    Ok(difference)
}

/// Computes while another thread answers.
fn attend(line: &Line, word: &AtomicU64, raw: fn(&AtomicU64, Step) -> u64) -> Result<()> {
    let answer = |question: &[u8]| {
        // A malformed question results in a wrong word.
        let [beginning, index] = <[u64; 2]>::read_from_bytes(question).unwrap_or_default();
        line.send(raw(word, Step { beginning, index }).as_bytes())
    };
    thread::scope(|scope| {
        let thread = scope.spawn(|| line.attend(OPERATIONS, answer));
        compute_until(|| thread.is_finished());
        thread.join().unwrap_or_else(|_| Err(Error::System("a thread that answers", ErrorKind::Other.into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_its_time_or_its_operations() {
        let mut times = Vec::new();
        assert_eq!(one_by_one(&mut times, Duration::MAX, |_| Ok(0)).unwrap(), OPERATIONS);
        assert_eq!(times.len() as u64, OPERATIONS);
        assert_eq!(one_by_one(&mut times, Duration::ZERO, |_| Ok(0)).unwrap(), 1);
        assert!(one_by_one(&mut times, Duration::MAX, |index| Ok(index / 5)).is_err());
    }
}
