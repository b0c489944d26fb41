//! The meaning of a seed: the job, its programs, and the faults.

use std::fmt;

use pelago_base::{Duration, Instant, Rank};
use pelago_kit::Manner;
use pelago_simulator::{FaultInjection, Partition, Protocol};

use crate::networks::Networks;
use crate::program::Program;
use crate::random::Random;

/// The machine of all scenarios.
pub(crate) const MACHINE: &str = "rx200-qdr";

/// Maximum number of lost datagrams per thousand, and of duplicated ones.
const LOSS_MAX: u64 = 400;
const DUPLICATION_MAX: u64 = 300;

/// Maximum number of delayed datagrams per thousand, and maximum delay: a hundred round-trip times of the machine.
const DELAY_CHANCE_MAX: u64 = 500;
const DELAY_MAX_NS: u64 = 300_000;

/// Maximum delay of datagrams to a slow rank.
const SLOW_MAX_NS: u64 = 1_000_000;

/// Latest start and maximum duration of network partitions: much shorter than the shortest failure limit.
const PARTITION_BEGIN_MAX_NS: u64 = 200_000_000;
const PARTITION_MAX_NS: u64 = 400_000_000;

/// The failure limit where up to four of ten datagrams are lost, and the shorter one where at most one of ten is lost.
const FAILURE_LIMIT: Duration = Duration::from_milliseconds(5_000);
const FAILURE_LIMIT_SHORT: Duration = Duration::from_milliseconds(2_000);
const LOSS_SHORT_MAX: u32 = 100;

/// Maximum time after which a launcher announces a failure in some scenarios. In the others, it waits for twice the failure limit, so that
/// ranks detect the failure by themselves as far as they can.
const TOLD_SOON_MAX_NS: u64 = 10_000_000;

/// Maximum number of operations that a rank posts before a connection breaks.
const BROKEN_AFTER_MAX: u64 = 1000;

/// Number of seeds of which one has two networks and the program for them, and one has two networks and any programs.
const NETWORKS_ONE_IN: u64 = 16;

/// Number of seeds of which one, the even one, combines programs and kinds of networks in turn.
const TURNS_ONE_IN: u64 = 2;

/// Numbers of ranks of these scenarios: a power of two and others, so that every algorithm has surplus members.
const TURNS_RANKS: [u32; 3] = [4, 5, 7];

/// Minimum number of lost, duplicated or delayed datagrams per thousand on networks with faults, and bounds of losses and delays: a delay is long
/// enough for other datagrams to overtake, and sometimes longer than all retransmissions.
const SOME: u64 = 20;
const TURNS_LOSS_MAX: u64 = 250;
const LATE_MIN_NS: u64 = 5_000;
const LATE_MAX_NS: u64 = 3_000_000;

/// A job and its faults, determined by a seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// The number of ranks, at least two.
    pub ranks: u32,
    /// The number of consecutive ranks that share a node.
    pub per_node: u32,
    /// The programs that the ranks run, one after another.
    pub programs: Vec<Program>,
    /// The faults of datagrams, without failures of ranks.
    pub faults: FaultInjection,
    /// Two networks that the ranks use instead of sending datagrams.
    pub networks: Option<Networks>,
    /// Whether datagrams are encrypted.
    pub encrypt: bool,
    /// Time without an answer after which a peer counts as failed.
    pub failure_limit: Duration,
    /// Maximum computing time of a rank between two steps.
    pub pause_max: Duration,
    /// Whether ranks sometimes compute for so long that their peers discard idle state.
    pub rests: bool,
    /// The failure of a rank, if there is one.
    pub death: Option<Death>,
    /// The broken connection, if there is one.
    pub broken: Option<BrokenConnection>,
}

/// Operations of one rank that need another one fail from some time on, although both ranks live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenConnection {
    /// The rank whose operations fail.
    pub from: Rank,
    /// The rank that they need.
    pub to: Rank,
    /// The number of operations that `from` posts before.
    pub after: u64,
    /// Whether the transport reports the failure to the job, as it does if ranks wait for each other. Otherwise only the operations fail.
    pub is_reported: bool,
}

/// The failure of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// The rank.
    pub rank: Rank,
    /// The time of the failure, in thousandths of the duration of the job without it.
    pub per_mille: u64,
    /// Whether the other ranks continue without it.
    pub survival: bool,
    /// Time from the failure to its announcement to all ranks.
    pub told_after: Duration,
}

/// Kinds of faults of datagrams: one kind alone, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Datagrams are delayed, so that others overtake them.
    Delay,
    /// Datagrams are lost.
    Loss,
    /// Datagrams are duplicated.
    Duplication,
    /// All faults.
    All,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Delay, Self::Loss, Self::Duplication, Self::All];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Loss => "loss",
            Self::Duplication => "duplication",
            Self::All => "all",
        }
    }

    fn faults(self, random: &mut Random) -> FaultInjection {
        let mut chance = |kind, most| if self == kind || self == Self::All { random.within(SOME, most) as u32 } else { 0 };
        let loss = chance(Self::Loss, TURNS_LOSS_MAX);
        let (duplication, delay) = (chance(Self::Duplication, DUPLICATION_MAX), chance(Self::Delay, DELAY_CHANCE_MAX));
        let most = if random.one_in(8) { LATE_MAX_NS } else { DELAY_MAX_NS };
        let delay_max = Duration::from_nanoseconds(random.spread(most).max(LATE_MIN_NS));
        FaultInjection { loss, duplication, delay, delay_max, ..FaultInjection::default() }
    }
}

/// Choices of the user that override the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The program that replaces all programs.
    pub program: Option<Program>,
    /// The faults of datagrams; no rank fails in this case.
    pub faults: Option<FaultKind>,
    /// The number of ranks; no rank fails in this case.
    pub ranks: Option<u32>,
    /// Whether the ranks use two networks instead of sending datagrams; no rank fails in this case.
    pub networks: bool,
    /// Whether the machine is drawn at random; no rank fails in this case.
    pub machines: bool,
}

impl Chosen {
    /// Returns the choice of a program, without other choices.
    pub const fn program(program: Program) -> Self {
        Self { program: Some(program), faults: None, ranks: None, networks: false, machines: false }
    }
}

/// Formats the choices as options of the command.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, faults, ranks, networks, machines } = self;
        program.map_or(Ok(()), |program| write!(f, " --program {}", program.name()))?;
        faults.map_or(Ok(()), |faults| write!(f, " --faults {}", faults.name()))?;
        ranks.map_or(Ok(()), |ranks| write!(f, " --ranks {ranks}"))?;
        f.write_str(if *networks { " --networks" } else { "" })?;
        f.write_str(if *machines { " --machines" } else { "" })
    }
}

impl Scenario {
    /// Maximum computing time of a rank that rests.
    pub const REST_MAX: Duration = Duration::from_milliseconds(3_000);

    /// Returns the scenario of `seed`.
    pub fn new(seed: u64) -> Self {
        if seed.is_multiple_of(TURNS_ONE_IN) {
            return Self::by_turns(seed);
        }
        let mut random = Random::of(seed, 0);
        let ranks = if random.one_in(32) { 16 } else { random.within(2, 9) as u32 };
        let per_node = random.within(1, 3) as u32;
        let count = if random.one_in(4) { 2_u64 } else { 1 };
        let programs = programs(&mut random, &mut Random::of(seed, 1 << 33), count);
        let faults = if random.one_in(16) { FaultInjection::default() } else { faults(&mut random, ranks) };
        let is_clear = faults.loss <= LOSS_SHORT_MAX && random.one_in(2);
        let failure_limit = if is_clear { FAILURE_LIMIT_SHORT } else { FAILURE_LIMIT };
        let pause_max = Duration::from_nanoseconds(if random.one_in(3) { 0 } else { random.spread(100_000) });
        let rests = random.one_in(12);
        let encrypt = random.one_in(4);
        let death = random.one_in(4).then(|| death(&mut random, ranks, failure_limit));
        let death = death.filter(|death| programs.iter().all(|program| program.knows_of_death(death.survival)));
        let (networks, broken) = (None, None);
        let scenario =
            Self { seed, ranks, per_node, programs, faults, networks, encrypt, failure_limit, pause_max, rests, death, broken };
        match seed % NETWORKS_ONE_IN {
            1 => scenario.on_machine(),
            7 => scenario.by_networks(),
            15 => scenario.with(Program::Rails),
            _ => scenario,
        }
    }

    /// Returns a program that repeatedly writes words, on a network of one kind: few seeds cover each program on each kind.
    fn by_turns(seed: u64) -> Self {
        let mut random = Random::of(seed, 5 << 33);
        let turn = (seed / TURNS_ONE_IN) as usize;
        let (program, turn) = (Program::REPEATING[turn % Program::REPEATING.len()], turn / Program::REPEATING.len());
        let (kind, turn) = (FaultKind::ALL[turn % FaultKind::ALL.len()], turn / FaultKind::ALL.len());
        let ranks = if random.one_in(4) { random.within(2, 9) as u32 } else { TURNS_RANKS[turn % TURNS_RANKS.len()] };
        Self {
            seed,
            ranks,
            per_node: if random.one_in(4) { random.within(2, 3) as u32 } else { 1 },
            programs: vec![program],
            faults: kind.faults(&mut random),
            networks: None,
            encrypt: random.one_in(8),
            failure_limit: FAILURE_LIMIT,
            pause_max: Duration::from_nanoseconds(if random.one_in(3) { 0 } else { random.spread(100_000) }),
            rests: false,
            death: None,
            broken: None,
        }
    }

    /// Returns the same job with the choices applied.
    pub fn chosen(self, Chosen { program, faults, ranks, networks, machines }: Chosen) -> Self {
        let mut scenario = program.map_or_else(|| self.clone(), |program| self.clone().with(program));
        if let Some(kind) = faults {
            (scenario.faults, scenario.death) = (kind.faults(&mut Random::of(self.seed, 6 << 33)), None);
            scenario.networks = scenario.networks.filter(|networks| !networks.is_drawn);
        }
        if let Some(ranks) = ranks {
            (scenario.ranks, scenario.death) = (ranks, None);
            scenario.broken = scenario.broken.and_then(|_| broken(self.seed, ranks));
            (scenario.faults.partitions, scenario.faults.slow) = Default::default();
        }
        // A drawn machine depends on the number of nodes and on what the programs send. Programs in C have one only if it is asked for.
        let is_in_c = scenario.programs.iter().any(|program| program.interface().is_some());
        scenario.networks = scenario.networks.filter(|networks| !(networks.is_drawn && is_in_c));
        let was_drawn = scenario.networks.as_ref().is_some_and(|networks| networks.is_drawn);
        match (networks, machines || was_drawn) {
            (true, _) => scenario.by_networks(),
            (_, true) => scenario.on_machine(),
            _ => scenario,
        }
    }

    /// Returns the same job with another program alone. No rank fails if the program does not support that. The program for several networks gets two
    /// networks, and ranks with frequent delays.
    pub fn with(self, program: Program) -> Self {
        let death = self.death.filter(|death| program.knows_of_death(death.survival));
        let count = if program.interface().is_some() { 1 } else { self.programs.len() };
        let broken = self.broken.filter(|_| program.knows_of_broken_connections());
        let scenario = Self { programs: vec![program; count], death, broken, ..self };
        if program == Program::Rails { scenario.by_networks() } else { scenario }
    }

    /// Returns the same job by two networks, with frequent delays of ranks, sometimes with a broken connection, and without failures of ranks. The operations of a program in C have the
    /// order that the networks give them: its transport is not wrapped.
    fn by_networks(self) -> Self {
        if self.networks.as_ref().is_some_and(|networks| !networks.is_drawn) {
            return self;
        }
        let mut random = Random::of(self.seed, 3 << 33);
        let mut networks = Networks::new(&mut random);
        if self.programs.iter().any(|program| program.interface().is_some()) {
            networks.leave_order();
        }
        let networks = Some(networks);
        let broken =
            broken(self.seed, self.ranks).filter(|_| self.programs.iter().all(|program| program.knows_of_broken_connections()));
        let pause_max = Duration::from_nanoseconds(if random.one_in(4) { 0 } else { random.spread(SLOW_MAX_NS) });
        Self { faults: FaultInjection::default(), networks, encrypt: false, pause_max, death: None, broken, ..self }
    }

    /// Returns the same job on a machine that is drawn at random, without failures of ranks.
    fn on_machine(self) -> Self {
        let (nodes, talks) = (self.ranks.div_ceil(self.per_node), self.programs.contains(&Program::Talks));
        let networks = Some(Networks::drawn(&mut Random::of(self.seed, 7 << 33), nodes, talks));
        Self { faults: FaultInjection::default(), networks, death: None, broken: None, ..self }
    }

    /// Returns the protocol of the ranks. If `death` is given, the rank of the scenario's failure fails at that time.
    pub(crate) fn protocol(&self, death: Option<Instant>) -> Protocol {
        let mut faults = self.faults.clone();
        if let (Some(Death { rank, told_after, .. }), Some(at)) = (self.death, death) {
            faults.deaths = vec![(rank, at)];
            faults.announced_after = Some(told_after);
        }
        Protocol { faults, encrypt: self.encrypt, failure_limit: self.failure_limit }
    }
}

/// Draws programs. Programs of one kind replace others by random numbers of their own, so that all other properties of a seed do not depend on them.
fn programs(random: &mut Random, stand_in: &mut Random, count: u64) -> Vec<Program> {
    let (operations, others) = Program::ALL.split_at(Program::OPERATIONS);
    let messages = &others[..Program::MESSAGES];
    let mut program = |_| {
        let first = *random.pick(operations);
        match () {
            () if stand_in.one_in(4) => *stand_in.pick(messages),
            () if stand_in.one_in(6) => *stand_in.pick(&Program::LIBRARIES),
            () => first,
        }
    };
    (0..count).map(&mut program).collect()
}

fn faults(random: &mut Random, ranks: u32) -> FaultInjection {
    // Few faults are as frequent as many.
    let mut chance = |most: u64| match random.below(4) {
        0 => 0,
        1 => random.below(most / 8 + 1) as u32,
        _ => random.below(most + 1) as u32,
    };
    let (loss, duplication, delay) = (chance(LOSS_MAX), chance(DUPLICATION_MAX), chance(DELAY_CHANCE_MAX));
    let delay_max = Duration::from_nanoseconds(random.spread(DELAY_MAX_NS));
    let partitions = if random.one_in(4) { random.within(1, 3) } else { 0 };
    let slow = if random.one_in(4) { random.within(1, 2) } else { 0 };
    let partitions = (0..partitions).map(|_| partition(random, ranks)).collect();
    let late = (0..slow).map(|_| (rank(random, ranks), Duration::from_nanoseconds(random.spread(SLOW_MAX_NS))));
    let mut slow: Vec<_> = late.collect();
    // There are at most two; a rank has one delay.
    slow.dedup_by_key(|(rank, _)| *rank);
    FaultInjection { loss, duplication, delay, delay_max, partitions, slow, ..FaultInjection::default() }
}

fn partition(random: &mut Random, ranks: u32) -> Partition {
    let first = Rank::new(random.within(1, u64::from(ranks) - 1) as u32);
    let from = Instant::ZERO + Duration::from_nanoseconds(random.spread(PARTITION_BEGIN_MAX_NS));
    Partition { first, from, until: from + Duration::from_nanoseconds(random.spread(PARTITION_MAX_NS)) }
}

fn death(random: &mut Random, ranks: u32, failure_limit: Duration) -> Death {
    let survival = ranks > 2 && random.one_in(2);
    let told_after = match random.below(4) {
        0 => Duration::from_nanoseconds(random.spread(TOLD_SOON_MAX_NS)),
        _ => Duration::from_picoseconds(2 * failure_limit.as_picoseconds()),
    };
    Death { rank: rank(random, ranks), per_mille: random.below(1100), survival, told_after }
}

fn broken(seed: u64, ranks: u32) -> Option<BrokenConnection> {
    let mut random = Random::of(seed, 8 << 33);
    let (from, distance) = (rank(&mut random, ranks), random.within(1, u64::from(ranks) - 1) as u32);
    let to = Rank::new((from.number() + distance) % ranks);
    let (after, is_reported) = (random.spread(BROKEN_AFTER_MAX), random.one_in(2));
    random.one_in(2).then_some(BrokenConnection { from, to, after, is_reported })
}

fn rank(random: &mut Random, ranks: u32) -> Rank {
    Rank::new(random.below(u64::from(ranks)) as u32)
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let programs: Vec<_> = self.programs.iter().map(|program| program.name()).collect();
        write!(f, "{} on {} ranks, {} per node", programs.join(" then "), self.ranks, self.per_node)?;
        if let Some(Networks { machine, by_datagrams, .. }) = self.networks.as_ref().filter(|networks| networks.is_drawn) {
            let by = if *by_datagrams { "datagrams" } else { "adapters" };
            write!(f, " by {by} on a drawn machine ({})", machine.replace('\n', ";"))?;
        } else if let Some(Networks { manners, refused, .. }) = &self.networks {
            let late = |manner: &Manner| {
                format!("{} % up to {} late", f64::from(manner.delay_per_mille) / 10.0, Brief(manner.delay_max))
            };
            let late: Vec<_> = manners.iter().map(late).collect();
            write!(f, " by two networks ({}), {} % refused", late.join("; "), f64::from(*refused) / 10.0)?;
        }
        let FaultInjection { loss, duplication, delay, delay_max, partitions, slow, .. } = &self.faults;
        let percent = |chance: u32| f64::from(chance) / 10.0;
        if *loss > 0 {
            write!(f, ", {} % lost", percent(*loss))?;
        }
        if *duplication > 0 {
            write!(f, ", {} % twice", percent(*duplication))?;
        }
        if *delay > 0 {
            write!(f, ", {} % up to {} late", percent(*delay), Brief(*delay_max))?;
        }
        for Partition { first, from, until } in partitions {
            let (from, lasts) = (from.since(Instant::ZERO), until.since(*from));
            write!(f, ", below rank {first} parted from the others after {} for {}", Brief(from), Brief(lasts))?;
        }
        for (rank, late) in slow {
            write!(f, ", rank {rank} slow by {}", Brief(*late))?;
        }
        if self.pause_max > Duration::ZERO {
            write!(f, ", pauses up to {}", Brief(self.pause_max))?;
        }
        f.write_str(if self.rests { ", rests" } else { "" })?;
        f.write_str(if self.encrypt { ", encrypted" } else { "" })?;
        if let Some(Death { rank, per_mille, survival, told_after }) = self.death {
            let others = if survival { "the others go on" } else { "the job ends" };
            write!(f, ", rank {rank} dies after {} % of the time and {others}", percent(per_mille as u32))?;
            write!(f, ", told within {}", Brief(told_after))?;
        }
        if let Some(BrokenConnection { from, to, after, is_reported }) = self.broken {
            let reported = if is_reported { ", which is reported" } else { "" };
            write!(f, ", operations of rank {from} on rank {to} fail after {after} operations{reported}")?;
        }
        Ok(())
    }
}

/// Formats a duration with about three digits.
pub(crate) struct Brief(pub(crate) Duration);

impl fmt::Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_seconds();
        match self.0.as_nanoseconds() {
            0..1_000 => write!(f, "{:.1} ns", seconds * 1e9),
            1_000..1_000_000 => write!(f, "{:.1} µs", seconds * 1e6),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", seconds * 1e3),
            _ => write!(f, "{seconds:.1} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_reach_every_kind_of_scenario() {
        let all: Vec<Scenario> = (0..4000).map(Scenario::new).collect();
        let some = |what: &dyn Fn(&Scenario) -> bool| all.iter().filter(|scenario| what(scenario)).count() >= 20;
        for ranks in (2..=9).chain([16]) {
            assert!(some(&|scenario| scenario.ranks == ranks), "{ranks} ranks");
        }
        for program in Program::ALL {
            assert!(some(&|scenario| scenario.programs.contains(&program)), "{program:?}");
        }
        for kind in FaultKind::ALL {
            for program in Program::REPEATING {
                let is_of = |wanted, chance: u32| (chance > 0) == (kind == wanted || kind == FaultKind::All);
                let is_kind = |scenario: &&Scenario| {
                    let FaultInjection { loss, duplication, delay, .. } = scenario.faults;
                    let is_alone = scenario.programs == [program] && scenario.death.is_none();
                    is_alone
                        && is_of(FaultKind::Loss, loss)
                        && is_of(FaultKind::Duplication, duplication)
                        && is_of(FaultKind::Delay, delay)
                };
                assert!(all[..300].iter().any(|scenario| is_kind(&scenario)), "{program:?} in three hundred seeds, {kind:?}");
                let ranks = |ranks| all.iter().filter(is_kind).any(|scenario| scenario.ranks == ranks);
                assert!(TURNS_RANKS.into_iter().all(ranks), "{program:?}, {kind:?}");
            }
        }
        assert!(some(&|scenario| scenario.faults == FaultInjection::default()));
        assert!(some(&|scenario| scenario.faults.loss > 350) && some(&|scenario| scenario.faults.duplication > 250));
        assert!(some(&|scenario| scenario.faults.delay > 0 && scenario.faults.delay_max > Duration::from_microseconds(200)));
        assert!(some(&|scenario| scenario.faults.partitions.len() > 1) && some(&|scenario| !scenario.faults.slow.is_empty()));
        assert!(some(&|scenario| scenario.encrypt) && some(&|scenario| scenario.rests));
        assert!(some(&|scenario| scenario.death.is_some_and(|death| death.survival)));
        assert!(some(&|scenario| scenario.death.is_some_and(|death| !death.survival)));
        assert!(all.iter().all(|scenario| scenario.faults.loss <= 400 && scenario.faults.duplication <= 300));
    }
}
