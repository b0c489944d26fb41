//! A job and some thousand inputs, all of which follow from a seed.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use pelago_protocol::Rejected;

use crate::input;
use crate::job::{Job, PRESENT, SCENARIOS, Scenario};
use crate::random::Random;

/// Number of inputs after which the endpoints are renewed.
pub(crate) const INPUTS: u64 = 2_048;

/// Number of inputs between checks of the required properties.
const BATCH: u64 = 64;

/// Number of datagrams by the response of the endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of inputs.
    pub inputs: u64,
    /// Datagrams that were not made with the job's key, or were altered.
    pub forged: u64,
    /// Datagrams that were made with the key, but are not valid.
    pub malformed: u64,
    /// Datagrams that were executed before.
    pub duplicate: u64,
    /// Datagrams that arrived too early.
    pub early: u64,
    /// Datagrams from unknown senders.
    pub foreign: u64,
    /// Datagrams that were executed.
    pub accepted: u64,
}

impl Tally {
    fn count(&mut self, taken: Result<(), Rejected>) {
        self.inputs += 1;
        *match taken {
            Ok(()) => &mut self.accepted,
            Err(Rejected::Forged) => &mut self.forged,
            Err(Rejected::Malformed) => &mut self.malformed,
            Err(Rejected::Duplicate) => &mut self.duplicate,
            Err(Rejected::Early) => &mut self.early,
            Err(Rejected::Foreign) => &mut self.foreign,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.forged += other.forged;
        self.malformed += other.malformed;
        self.duplicate += other.duplicate;
        self.early += other.early;
        self.foreign += other.foreign;
        self.accepted += other.accepted;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forged, malformed, duplicate, early, foreign, accepted, .. } = self;
        write!(
            f,
            "forged {forged}, malformed {malformed}, duplicate {duplicate}, early {early}, foreign {foreign}, accepted {accepted}"
        )
    }
}

/// The current input of a round, for the report if the round does not end.
#[derive(Default)]
pub(crate) struct Current(Mutex<(u64, Vec<u8>)>);

impl Current {
    fn set(&self, input: u64, bytes: &[u8]) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.0 = input;
        current.1.clear();
        current.1.extend_from_slice(bytes);
    }

    /// Returns the number of the input in its round, and its bytes.
    pub(crate) fn get(&self) -> (u64, Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The initial state of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) scenario: Scenario,
    /// Whether the inputs come from a sender without the key.
    pub(crate) from_outside: bool,
}

impl Course {
    /// Returns the initial state of round `round` and the generator of its inputs.
    pub(crate) fn of_round(seed: u64, round: u64) -> (Self, Random) {
        let mut random = Random::of_part(seed, round);
        (Self::draw(&mut random), random)
    }

    fn draw(random: &mut Random) -> Self {
        let from_outside = random.one_in(4);
        let scenario = loop {
            let scenario = *random.pick(&SCENARIOS);
            // Encrypted datagrams can be altered only from outside.
            if from_outside || !scenario.encrypt {
                break scenario;
            }
        };
        Self { scenario, from_outside }
    }
}

/// Runs round `round` of `seed` with `inputs` inputs. Each input is passed to `see` before it is given to a rank.
///
/// # Panics
/// A property is violated that must hold for any input.
pub(crate) fn run(seed: u64, round: u64, inputs: u64, current: &Current, mut see: impl FnMut(&[u8])) -> Tally {
    let (course, mut random) = Course::of_round(seed, round);
    go(
        course,
        &mut random,
        |input, _| input < inputs,
        |input, bytes| {
            current.set(input, bytes);
            see(bytes);
        },
    )
}

/// Runs a job whose inputs and initial state follow from `guide`, for a fuzzer that learns which choices reach new code. The job ends with the guide,
/// or after the number of inputs of a round.
///
/// # Panics
/// A property is violated that must hold for any input.
pub fn guided(guide: &[u8]) -> Tally {
    let mut random = Random::guided(guide);
    let course = Course::draw(&mut random);
    go(course, &mut random, |input, random| input < INPUTS && random.is_guided(), |_, _| ())
}

/// Runs a job with inputs as long as `more` holds. Each input is passed to `see` before it is given to a rank.
fn go(course: Course, random: &mut Random, more: impl Fn(u64, &Random) -> bool, mut see: impl FnMut(u64, &[u8])) -> Tally {
    let mut job = Job::new(course.scenario, course.from_outside);
    let mut tally = Tally::default();
    for input in 0.. {
        if !more(input, random) {
            break;
        }
        job.tick();
        let mut made = input::make(random, &mut job, course.from_outside);
        see(input, &made.bytes);
        let taken = job.inject(made.to, &mut made.bytes);
        let refused = matches!(taken, Err(Rejected::Forged | Rejected::Foreign));
        assert!(made.is_genuine || refused, "a datagram that no rank made is {taken:?}");
        tally.count(taken);
        if input % BATCH == BATCH - 1 {
            job.check();
        }
    }
    job.finish();
    tally
}

/// Gives each of these datagrams to every rank of a job; a datagram counts as forged at all ranks except its target. Returns the responses.
///
/// # Panics
/// Those of [`run`].
pub(crate) fn play(course: Course, datagrams: &[Vec<u8>]) -> Vec<[Result<(), Rejected>; PRESENT]> {
    let mut job = Job::new(course.scenario, course.from_outside);
    let answer = |datagram: &Vec<u8>| {
        job.tick();
        [0, 1, 2].map(|to| job.inject(to, &mut datagram.clone()))
    };
    let answers = datagrams.iter().map(answer).collect();
    job.check();
    job.finish();
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guide determines the inputs and their number.
    #[test]
    fn a_guide_decides() {
        let bytes = |seed| Random::new(seed).bytes(60_000);
        let [one, again, other] = [1, 1, 2].map(|seed| guided(&bytes(seed)));
        assert_eq!(one, again);
        assert!(one != other && one.inputs > 50 && one.inputs < INPUTS, "{one:?} and {other:?}");
        assert_eq!(guided(&[]).inputs, 0);
        let first = Random::guided(&[1, 2, 3, 4, 5]).draw();
        assert_eq!(first, 0x0403_0201_0403_0201);
    }
}
