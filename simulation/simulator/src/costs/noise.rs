//! Interruptions of cores by the operating system, which lengthen what a core does.
//!
//! A core repeats a list of interruptions for ever. Between them it works. Every time of a core is therefore a pair: virtual time, and the time for
//! which the core could work until then. The end of some work is where the latter has grown by that work.

use pelago_base::{Duration, Instant};
use pelago_netsim::{Machine, Phases};

use crate::protocol::faults::FaultRandom;

/// Separates the random numbers of cores from those of injected faults, which have the same seed.
const SALT: u64 = 0x006e_6f69_7365;

/// The interruptions of all cores. Times in picoseconds.
pub(crate) struct Noise {
    interruptions: Vec<Interruption>,
    /// The time after which the interruptions repeat, and the time for which a core works meanwhile.
    length: u64,
    work: u64,
    /// The seed of the place where each core begins; `None` if all begin at the beginning.
    seed: Option<u64>,
}

/// An interruption within a repetition.
struct Interruption {
    begin: u64,
    end: u64,
    /// The time for which the core works before it.
    work: u64,
    /// The time of all interruptions up to this one, itself included.
    lost: u64,
}

/// The core of a rank, or a core without interruptions.
#[derive(Clone, Copy)]
pub(crate) struct CoreTime<'n> {
    noise: Option<&'n Noise>,
    core: u64,
}

impl Noise {
    /// Makes the interruptions of the cores of a machine; `None` if it has none. `seed` decides where each core begins.
    pub(crate) fn of(machine: &Machine, seed: u64) -> Option<Self> {
        let noise = machine.noise()?;
        let (pairs, length) = noise.interruptions();
        let (mut lost, length) = (0, length.as_picoseconds());
        let interruptions: Vec<_> = (pairs.into_iter())
            .map(|(begin, end)| (begin.as_picoseconds(), end.as_picoseconds()))
            .map(|(begin, end)| {
                let work = begin - lost;
                lost += end - begin;
                Interruption { begin, end, work, lost }
            })
            .collect();
        let seed = (noise.phases == Phases::Random).then_some(seed ^ SALT);
        Some(Self { interruptions, length, work: length - lost, seed })
    }

    /// Returns the first time from `now` on at which a core has performed `work` and is not interrupted.
    pub(crate) fn finish(&self, core: u64, now: Instant, work: Duration) -> Instant {
        let offset = self.offset(core);
        let target = self.worked(u128::from(now.as_picoseconds()) + u128::from(offset)) + u128::from(work.as_picoseconds());
        let (repetitions, rest) = (target / u128::from(self.work), (target % u128::from(self.work)) as u64);
        let passed = self.interruptions.partition_point(|interruption| interruption.work <= rest);
        let lost = passed.checked_sub(1).map_or(0, |last| self.interruptions[last].lost);
        let time = repetitions * u128::from(self.length) + u128::from(rest + lost) - u128::from(offset);
        Instant::from_picoseconds(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// Returns the time for which a core worked, or could have worked, from one time to another.
    pub(crate) fn work(&self, core: u64, from: Instant, to: Instant) -> Duration {
        let offset = u128::from(self.offset(core));
        let [from, to] = [from, to].map(|time| self.worked(u128::from(time.as_picoseconds()) + offset));
        Duration::from_picoseconds(u64::try_from(to.saturating_sub(from)).unwrap_or(u64::MAX))
    }

    /// Returns the place in the repetition at which a core begins.
    fn offset(&self, core: u64) -> u64 {
        self.seed.map_or(0, |seed| FaultRandom::new(seed, core).below(self.length))
    }

    /// Returns the time for which a core works before a time since the beginning of a repetition.
    fn worked(&self, time: u128) -> u128 {
        let (repetitions, place) = (time / u128::from(self.length), (time % u128::from(self.length)) as u64);
        let begun = self.interruptions.partition_point(|interruption| interruption.begin <= place);
        let work = match begun.checked_sub(1).map(|last| &self.interruptions[last]) {
            None => place,
            Some(last) if place < last.end => last.work,
            Some(last) => place - last.lost,
        };
        repetitions * u128::from(self.work) + u128::from(work)
    }
}

impl<'n> CoreTime<'n> {
    /// A core without interruptions.
    pub(crate) const QUIET: Self = Self { noise: None, core: 0 };

    pub(crate) fn new(noise: Option<&'n Noise>, core: u64) -> Self {
        Self { noise, core }
    }

    /// Returns the first time from `now` on at which the core has performed `work` and is not interrupted.
    #[inline]
    pub(crate) fn finish(self, now: Instant, work: Duration) -> Instant {
        match self.noise {
            None => now + work,
            Some(noise) => noise.finish(self.core, now, work),
        }
    }

    /// Returns the time for which the core worked from one time to another.
    #[inline]
    pub(crate) fn work(self, from: Instant, to: Instant) -> Duration {
        match self.noise {
            None => to.since(from),
            Some(noise) => noise.work(self.core, from, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(keys: &str, seed: u64) -> Noise {
        let text = format!("{}\n[node.noise]\n{keys}\n", Machine::bundled("laptop").unwrap());
        Noise::of(&Machine::parse(&text).unwrap(), seed).unwrap()
    }

    fn at(nanoseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_nanoseconds(nanoseconds)
    }

    /// The same by steps of a nanosecond, of which an interruption takes whole ones.
    fn stepped(noise: &Noise, core: u64, now: u64, mut work: u64) -> u64 {
        let is_free = |time: u64| {
            let place = (time * 1000 + noise.offset(core)) % noise.length;
            noise.interruptions.iter().all(|interruption| !(interruption.begin..interruption.end).contains(&place))
        };
        let mut time = now;
        while work > 0 || !is_free(time) {
            work -= u64::from(is_free(time));
            time += 1;
        }
        time
    }

    #[test]
    fn work_ends_where_counting_the_free_time_says() {
        for keys in [
            "phases = \"same\"\nperiod_ns = 10\nduration_ns = 3",
            "phases = \"same\"\ntrace_ns = 20\ntrace = [[0, 2], [2, 1], [7, 4], [18, 2]]",
        ] {
            let noise = noise(keys, 1);
            for now in 0..45 {
                for work in 0..45 {
                    let end = noise.finish(5, at(now), Duration::from_nanoseconds(work));
                    assert_eq!(end, at(stepped(&noise, 5, now, work)), "{keys}: {work} from {now} on");
                    assert_eq!(noise.work(5, at(now), end).as_nanoseconds(), work, "{keys}: {work} from {now} on");
                }
            }
        }
    }

    #[test]
    fn places_depend_on_core_and_seed() {
        let random = |seed| noise("period_ns = 1000000\nduration_ns = 10", seed);
        let places = |noise: Noise| (0..50).map(|core| noise.offset(core)).collect::<Vec<_>>();
        let first = places(random(1));
        assert_eq!(first, places(random(1)));
        assert_ne!(first, places(random(2)));
        assert!((first.windows(2)).all(|pair| pair[0] != pair[1]) && first.iter().any(|place| *place > 500_000_000), "{first:?}");
        assert_eq!(places(noise("phases = \"same\"\nperiod_ns = 1000\nduration_ns = 10", 1)), [0; 50]);
    }

    #[test]
    fn a_core_without_time_for_work_ends_at_the_end_of_time() {
        let busy = noise("phases = \"same\"\nperiod_ns = 3.6e12\nduration_ns = 3599999999999.999", 1);
        assert_eq!(busy.finish(0, at(5), Duration::from_seconds(3600.0)), Instant::from_picoseconds(u64::MAX));
    }
}
