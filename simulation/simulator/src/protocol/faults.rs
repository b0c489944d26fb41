//! Injected faults, decided by a seed alone.

use std::collections::BTreeSet;

use pelago_base::{Duration, Instant, Rank};

/// Faults of datagrams and ranks. Probabilities are in thousandths and apply to each datagram independently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultInjection {
    /// The probability that a datagram is lost.
    pub loss: u32,
    /// The probability that a datagram arrives twice.
    pub duplication: u32,
    /// The probability that a datagram is delayed, by up to `delay_max`, so that others overtake it.
    pub delay: u32,
    /// The longest delay of a datagram.
    pub delay_max: Duration,
    /// Times during which no datagram passes between two parts of the job.
    pub partitions: Vec<Partition>,
    /// Ranks that die, with the time of death.
    pub deaths: Vec<(Rank, Instant)>,
    /// Time from a death until it is announced to all ranks, as by a launcher that supervises them. If `None`, the other ranks detect the
    /// death themselves because the dead rank does not answer.
    pub announced_after: Option<Duration>,
    /// Ranks that receive all datagrams later, each with the additional delay.
    pub slow: Vec<(Rank, Duration)>,
}

/// A time during which no datagram passes between ranks below `first` and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first rank of the second part.
    pub first: Rank,
    /// The beginning.
    pub from: Instant,
    /// The end.
    pub until: Instant,
}

/// A fault does not fit the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// A rank does not exist.
    #[error("{fault}={}: the job has ranks 0 to {last}", .rank.number())]
    NoSuchRank {
        /// The name of the fault in a text.
        fault: &'static str,
        /// The rank.
        rank: Rank,
        /// The last rank of the job.
        last: u32,
    },
    /// A rank dies twice, or has two delays.
    #[error("{fault}={}: this rank occurs twice", .rank.number())]
    Twice {
        /// The name of the fault in a text.
        fault: &'static str,
        /// The rank.
        rank: Rank,
    },
    /// A partition ends before it begins, or at once.
    #[error("partition={}: its end must be later than its beginning", .0.number())]
    EmptyPeriod(Rank),
}

/// A sequence of random numbers that depends on the seed and the rank alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultRandom(u64);

impl FaultRandom {
    pub(crate) fn new(seed: u64, rank: u64) -> Self {
        Self(mix(seed ^ mix(rank.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    /// Returns a number below `end`, which must be above 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((u128::from(mix(self.0)) * u128::from(end)) >> 64) as u64
    }

    /// Whether an event of this probability, in thousandths, occurs.
    pub(crate) fn occurs(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.below(1000) < u64::from(per_mille)
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl FaultInjection {
    /// Checks that the faults fit a job of `ranks` ranks.
    ///
    /// # Errors
    /// A rank does not exist, a rank dies twice or has two delays, or the period of a partition is empty.
    pub fn check(&self, ranks: u32) -> Result<(), FaultError> {
        let partitions = self.partitions.iter().map(|partition| ("partition", partition.first));
        let deaths = self.deaths.iter().map(|(rank, _)| ("kill", *rank));
        let slow = self.slow.iter().map(|(rank, _)| ("slow", *rank));
        let mut found = BTreeSet::new();
        for (fault, rank) in deaths.chain(slow) {
            if !found.insert((fault, rank)) {
                return Err(FaultError::Twice { fault, rank });
            }
        }
        if let Some((fault, rank)) = partitions.chain(found).find(|(_, rank)| rank.number() >= ranks) {
            return Err(FaultError::NoSuchRank { fault, rank, last: ranks.saturating_sub(1) });
        }
        match self.partitions.iter().find(|partition| partition.from >= partition.until) {
            Some(partition) => Err(FaultError::EmptyPeriod(partition.first)),
            None => Ok(()),
        }
    }

    /// Returns the additional delay of each delivery of a datagram; none if it is lost.
    pub(crate) fn deliveries(
        &self,
        random: &mut FaultRandom,
        now: Instant,
        from: Rank,
        to: Rank,
    ) -> impl Iterator<Item = Duration> {
        let parted = |partition: &Partition| {
            (from < partition.first) != (to < partition.first) && (partition.from..partition.until).contains(&now)
        };
        let times = match () {
            () if self.partitions.iter().any(parted) || random.occurs(self.loss) => 0,
            () if random.occurs(self.duplication) => 2,
            () => 1,
        };
        let slow = self.slow.iter().find(|(rank, _)| *rank == to).map_or(Duration::ZERO, |(_, late)| *late);
        let late = [(); 2].map(|()| {
            let late = if random.occurs(self.delay) { random.below(self.delay_max.as_picoseconds() + 1) } else { 0 };
            Duration::from_picoseconds(late + slow.as_picoseconds())
        });
        late.into_iter().take(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_that_were_asked_for() {
        let faults = FaultInjection {
            loss: 100,
            duplication: 50,
            delay: 200,
            delay_max: Duration::from_microseconds(9),
            ..FaultInjection::default()
        };
        let (mut random, mut lost, mut twice, mut late) = (FaultRandom::new(1, 2), 0, 0, 0);
        for _ in 0..100_000 {
            let deliveries: Vec<_> = faults.deliveries(&mut random, Instant::ZERO, Rank::new(0), Rank::new(1)).collect();
            lost += u32::from(deliveries.is_empty());
            twice += u32::from(deliveries.len() == 2);
            late += u32::from(deliveries.first().is_some_and(|late| *late > Duration::ZERO));
            assert!(deliveries.iter().all(|late| *late <= faults.delay_max));
        }
        assert!((9_500..10_500).contains(&lost) && (4_100..4_900).contains(&twice) && (17_000..19_000).contains(&late));
    }

    #[test]
    fn faults_that_do_not_fit_the_job_are_refused() {
        let check = |text: &str| text.parse::<crate::Protocol>().unwrap().faults.check(4).map_err(|error| error.to_string());
        assert_eq!(check("kill=3@1us,kill=0@1us,slow=3:1us,partition=3@1ms-2ms,partition=3@3ms-4ms"), Ok(()));
        for (text, says) in [
            ("kill=4@100us", "kill=4: the job has ranks 0 to 3"),
            ("slow=9:1us", "slow=9: the job has ranks 0 to 3"),
            ("partition=9@1ms-2ms", "partition=9: the job has ranks 0 to 3"),
            ("partition=1@2ms-1ms", "partition=1: its end must be later than its beginning"),
            ("partition=1@2ms-2ms", "partition=1: its end must be later than its beginning"),
            ("slow=0:1us,slow=1:1us,slow=0:2us", "slow=0: this rank occurs twice"),
            ("kill=2@1us,kill=2@2us", "kill=2: this rank occurs twice"),
        ] {
            assert_eq!(check(text), Err(says.into()), "{text}");
        }
    }

    #[test]
    fn nothing_passes_a_partition_while_it_lasts() {
        let at = Instant::from_picoseconds;
        let faults = FaultInjection {
            partitions: vec![Partition { first: Rank::new(2), from: at(10), until: at(20) }],
            ..FaultInjection::default()
        };
        let passes =
            |now, from, to| faults.deliveries(&mut FaultRandom::new(0, 0), at(now), Rank::new(from), Rank::new(to)).count();
        assert_eq!([9, 10, 19, 20].map(|now| passes(now, 1, 2)), [1, 0, 0, 1]);
        assert_eq!([passes(15, 3, 0), passes(15, 0, 1), passes(15, 2, 3)], [0, 1, 1]);
    }
}
