//! Injected faults, decided by a seed alone.

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
