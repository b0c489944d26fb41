//! The servers of an admission: the ranks that hold counters, with their slots and the senders that use them.

use std::fmt;

use pelago_base::{Partition, Rank, Topology};

use crate::limits::SHARES_MAX;
use crate::relays::{Relay, Relays};
use crate::settings::{Counting, Placement, Settings};

/// Number of senders up to which one counter is sufficient. Measured on simulated machines: `docs/evaluation/incast.md`.
const SENDERS_OF_ONE_COUNTER: u32 = 128;

/// Number of senders per server of the automatic placement.
const SENDERS_PER_SERVER: u32 = 64;

/// Number of slots per server of the automatic placement, at least: with fewer, senders are several laps behind and poll often.
const SLOTS_PER_SERVER: u32 = 16;

/// Approximate maximum number of ranks per server, if each server has as many slots as intended. If all senders start at once, a query
/// waits behind the first tickets of all. With more ranks per server that wait exceeds the time in which the receiver consumes the messages
/// of the slots.
const SENDERS_PER_SERVER_MAX: u32 = 1024;
const SLOTS_PER_SERVER_MIN: u32 = 4;

/// A rank that holds counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// The rank.
    pub holder: Rank,
    /// Number of the receiver's slots that it grants.
    pub slots: u32,
    /// Number of ranks that use it.
    pub senders: u32,
}

/// The chosen servers of a mailbox or a limit, and the reasons. Its [`Display`](fmt::Display) is a line for the choice and one for each rejected
/// placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementExplanation {
    /// The servers.
    pub servers: Vec<Server>,
    /// The group that each server serves: `host`, a level of switches, `box`; `job` if there is one server, `rank numbers` if the program gave the ranks.
    pub level: &'static str,
    chosen: String,
    rejected: Vec<String>,
}

impl fmt::Display for PlacementExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.servers.len();
        let range = |of: fn(&Server) -> u32| {
            let (least, most) = (self.servers.iter().map(of).min(), self.servers.iter().map(of).max());
            match (least.unwrap_or(0), most.unwrap_or(0)) {
                (least, most) if least == most => most.to_string(),
                (least, most) => format!("{least} to {most}"),
            }
        };
        let (slots, senders) = (range(|server| server.slots), range(|server| server.senders));
        let servers = if count == 1 { "1 server" } else { &format!("{count} servers") };
        write!(
            f,
            "counters: {servers}, by {}, with {slots} slots for {senders} ranks each; chosen: {}",
            self.level, self.chosen
        )?;
        self.rejected.iter().try_for_each(|line| write!(f, "\ncounters: rejected: {line}"))
    }
}

/// The properties of a job on which the automatic placement depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'t> {
    pub(crate) topology: &'t Topology,
    /// Whether atomics of the network occupy a core of the rank that holds the word.
    pub(crate) atomics_by_cores: bool,
    /// Whether the job goes on when ranks are lost.
    pub(crate) survives: bool,
}

/// A server, with its slots and entries at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) number: u32,
    pub(crate) holder: Rank,
    pub(crate) slots: u32,
    pub(crate) first_slot: u32,
    /// Its weight in the distribution of slots and messages: the number of ranks that use it, or 1 if the program gave the ranks.
    pub(crate) weight: u32,
    /// Number of entries for waiting senders, at least that of the slots.
    pub(crate) waiters: u32,
    pub(crate) first_waiter: u32,
}

/// The assignment of ranks to servers.
#[derive(Clone, Debug)]
enum Users {
    /// All ranks use the only server.
    One,
    /// A rank uses the server whose rank number is closest to its own.
    Nearest,
    /// A rank uses the server of its group.
    Groups(Partition),
}

/// The servers of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    shares: Vec<Share>,
    users: Users,
    relays: Option<Relays>,
}

impl Servers {
    /// One server: the receiver of each message.
    pub(crate) fn one(holder: Rank, settings: &Settings) -> Self {
        Self::new(&[holder], &[1], settings, Users::One)
    }

    /// The servers of a placement that was checked.
    pub(crate) fn of(receiver: Rank, settings: &Settings, topology: &Topology) -> Self {
        let relays = settings.has_relays().then(|| Relays { each: settings.relay_ranks, ranks: topology.ranks(), receiver });
        Self { relays, ..Self::placed(receiver, settings, topology, relays) }
    }

    fn placed(receiver: Rank, settings: &Settings, topology: &Topology, relays: Option<Relays>) -> Self {
        let slots = settings.slots;
        match &settings.placement {
            Placement::Receiver | Placement::Automatic => Self::one(receiver, settings),
            Placement::Proxy(rank) => Self::one(*rank, settings),
            Placement::Split { proxies, .. } => Self::new(proxies, &vec![1; proxies.len()], settings, Users::Nearest),
            Placement::Topology { servers, .. } => {
                let partition = topology.partition((*servers).clamp(1, slots.min(SHARES_MAX as u32)));
                let mut senders: Vec<_> = (0..partition.groups()).map(|group| partition.ranks_of(group)).collect();
                if let Some(relays) = relays {
                    senders.fill(0);
                    relays.all().for_each(|relay| senders[partition.group_of(relay.holder) as usize] += relay.members);
                }
                let holders: Vec<_> = (0..partition.groups()).map(|group| holder(&partition, group, receiver)).collect();
                Self::new(&holders, &senders, settings, Users::Groups(partition))
            }
        }
    }

    fn new(holders: &[Rank], weights: &[u32], settings: &Settings, users: Users) -> Self {
        let all = settings.slots;
        let (mut first_slot, mut first_waiter) = (0, 0);
        let slots = slots(all, weights);
        let share = |(number, ((&holder, &weight), slots)): (u32, ((&Rank, &u32), u32))| {
            let waiters = slots.max((u64::from(settings.waiters) * u64::from(slots) / u64::from(all.max(1))) as u32);
            let share = Share { number, holder, slots, first_slot, weight, waiters, first_waiter };
            (first_slot, first_waiter) = (first_slot + slots, first_waiter + waiters);
            share
        };
        Self { shares: (0..).zip(holders.iter().zip(weights).zip(slots)).map(share).collect(), users, relays: None }
    }

    /// The number of servers.
    pub(crate) fn count(&self) -> u32 {
        self.shares.len() as u32
    }

    pub(crate) fn share(&self, number: u32) -> Share {
        self.shares[number as usize]
    }

    /// Number of entries of all servers for waiting senders.
    pub(crate) fn waiters(&self) -> u32 {
        self.shares.iter().map(|share| share.waiters).sum()
    }

    /// The relay of a rank, if ranks share relays.
    pub(crate) fn relay_of(&self, rank: Rank) -> Option<Relay> {
        self.relays.map(|relays| relays.of_rank(rank))
    }

    /// The server of a rank, or of its relay if it has one.
    pub(crate) fn of_rank(&self, rank: Rank) -> u32 {
        let rank = self.relay_of(rank).map_or(rank, |relay| relay.holder);
        match &self.users {
            Users::One => 0,
            Users::Groups(partition) => partition.group_of(rank),
            Users::Nearest => {
                let distance = |share: &&Share| share.holder.number().abs_diff(rank.number());
                self.shares.iter().min_by_key(distance).map_or(0, |share| share.number)
            }
        }
    }

    /// Describes the servers and the number of their ranks, for a job of `size` ranks.
    pub(crate) fn explained(&self, size: u32, (chosen, rejected): (String, Vec<String>)) -> PlacementExplanation {
        let mut senders = vec![0; self.shares.len()];
        match &self.users {
            Users::One => senders[0] = size,
            Users::Groups(partition) if self.relays.is_none() => {
                (0..).zip(&mut senders).for_each(|(group, count)| *count = partition.ranks_of(group))
            }
            Users::Nearest | Users::Groups(_) => (0..size).for_each(|rank| senders[self.of_rank(Rank::new(rank)) as usize] += 1),
        }
        let level = match &self.users {
            Users::One => "job",
            Users::Nearest => "rank numbers",
            Users::Groups(partition) => partition.name(),
        };
        let server = |(share, &senders): (&Share, &u32)| Server { holder: share.holder, slots: share.slots, senders };
        let servers = self.shares.iter().zip(&senders).map(server).collect();
        PlacementExplanation { servers, level, chosen, rejected }
    }
}

/// The server of a group: a rank in the middle of the group. In the receiver's group, from which the first message arrives, the next rank on a
/// neighbouring router. Not the receiver, whose network interface handles the messages.
fn holder(partition: &Partition, group: u32, receiver: Rank) -> Rank {
    if partition.group_of(receiver) == group
        && let Some(beside) = partition.beside(receiver)
    {
        return beside;
    }
    let middle = partition.middle(group);
    let next = Rank::new(middle.number().wrapping_sub(1));
    let is_other = middle != receiver || middle.number() == 0 || partition.group_of(next) != group;
    if is_other { middle } else { next }
}

/// Distributes `all` slots in proportion to `weights`: one each, the rest by the largest remainder. Their sum is `all`, which must be at least the
/// number of weights.
fn slots(all: u32, weights: &[u32]) -> Vec<u32> {
    let count = weights.len() as u32;
    let (rest, sum) = (u64::from(all.saturating_sub(count)), weights.iter().copied().map(u64::from).sum::<u64>().max(1));
    let mut slots: Vec<_> = weights.iter().map(|&weight| 1 + (rest * u64::from(weight) / sum) as u32).collect();
    let mut order: Vec<_> = (0..weights.len()).collect();
    order.sort_by_key(|&share| std::cmp::Reverse(rest * u64::from(weights[share]) % sum));
    let left = all.saturating_sub(slots.iter().sum());
    order.into_iter().take(left as usize).for_each(|share| slots[share] += 1);
    slots
}

/// The automatic placement, its reason, and the rejected placements with their reasons. The same on every rank.
pub(crate) fn choose(settings: &Settings, job: Job<'_>) -> (Placement, String, Vec<String>) {
    let (ranks, hosts) = (job.topology.ranks(), job.topology.levels().first().map_or(1, |&(_, groups)| groups));
    let most = (settings.slots / SLOTS_PER_SERVER).min(SHARES_MAX as u32);
    let one = |why: String, rejected: &str| (Placement::Receiver, why, vec![format!("servers by topology: {rejected}")]);
    if settings.counting == Counting::TwoWords {
        return one("the receiver, as in the paper".into(), "counters in two words are those of the paper");
    }
    if job.survives {
        return one(
            "the receiver: the job goes on without lost ranks".into(),
            "the loss of a rank that holds counters would end the mailbox",
        );
    }
    if most < 2 {
        return one(
            "the receiver".into(),
            &format!("{} slots are fewer than {SLOTS_PER_SERVER} for each of 2 servers", settings.slots),
        );
    }
    let by_topology = |servers: u32, why: String, rejected: String| {
        (Placement::Topology { servers, borrow: false }, why, vec![format!("one counter: {rejected}")])
    };
    if job.atomics_by_cores && hosts > 1 && ranks / hosts > 1 {
        let why = format!("one for each of {hosts} hosts, as far as each has {SLOTS_PER_SERVER} slots");
        return by_topology(hosts.clamp(2, most), why, "each ticket would take a round trip and a core of its holder".into());
    }
    if ranks <= SENDERS_OF_ONE_COUNTER {
        return one(
            format!("one counter is enough for {ranks} ranks"),
            &format!("pays from {} ranks on", SENDERS_OF_ONE_COUNTER + 1),
        );
    }
    let crowded = (ranks / SENDERS_PER_SERVER_MAX).min(settings.slots / SLOTS_PER_SERVER_MIN).min(SHARES_MAX as u32);
    let (servers, senders, slots) = match (ranks / SENDERS_PER_SERVER).clamp(2, most) {
        servers if servers < crowded => (crowded, SENDERS_PER_SERVER_MAX, SLOTS_PER_SERVER_MIN),
        servers => (servers, SENDERS_PER_SERVER, SLOTS_PER_SERVER),
    };
    by_topology(
        servers,
        format!("one for {senders} of {ranks} ranks, as far as each has {slots} slots"),
        format!("{ranks} ranks are more than the {SENDERS_OF_ONE_COUNTER} that one atomic unit answers"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topologies() -> impl Strategy<Value = Topology> {
        let tree = (2..3000_u32, 1..5_u32, 1..40_u32)
            .prop_map(|(ranks, host, leaf)| Topology::tree(ranks, [("host", host), ("leaf switch", host * leaf)]));
        let hosts = (2..300_u32, prop::collection::btree_set(1..300_u32, 0..12)).prop_map(|(ranks, starts)| {
            Topology::hosts(ranks, std::iter::once(0).chain(starts.into_iter().filter(move |&start| start < ranks)))
        });
        let grid = (1..3_u32, prop::collection::vec(1..6_u32, 1..4), 0.1..1.0_f64).prop_map(|(each, lengths, filled)| {
            let all = each * lengths.iter().product::<u32>();
            Topology::grid(((f64::from(all) * filled) as u32).max(1), each, &lengths)
        });
        prop_oneof![tree, hosts, grid]
    }

    proptest! {
        #[test]
        fn every_sender_has_one_server_and_the_slots_are_those_of_the_receiver(
            topology in topologies(), slots in (0..9_u32).prop_map(|bits| 1 << bits), servers in 1..300_u32, waiters in 0..10_u32,
            receiver in any::<prop::sample::Index>(),
        ) {
            let receiver = Rank::new(receiver.index(topology.ranks() as usize) as u32);
            let settings = Settings::permits(slots)
                .with_waiters(if waiters == 0 { 0 } else { 1 << waiters })
                .placed(Placement::Topology { servers, borrow: false });
            let servers = Servers::of(receiver, &settings, &topology);
            let shares: Vec<_> = (0..servers.count()).map(|number| servers.share(number)).collect();
            prop_assert!(!shares.is_empty() && shares.len() <= slots as usize);
            prop_assert_eq!(shares.iter().map(|share| share.slots).sum::<u32>(), slots, "no slot is lost, and none is there twice");
            let (mut slot, mut waiter) = (0, 0);
            for share in &shares {
                prop_assert!(share.slots > 0 && share.waiters >= share.slots);
                prop_assert_eq!((share.first_slot, share.first_waiter), (slot, waiter), "shares follow each other");
                (slot, waiter) = (slot + share.slots, waiter + share.waiters);
            }
            prop_assert!(servers.waiters() <= slots.max(settings.waiters) + shares.len() as u32);
            let explained = servers.explained(topology.ranks(), (String::new(), Vec::new()));
            let mut counted = vec![0; shares.len()];
            for rank in 0..topology.ranks() {
                counted[servers.of_rank(Rank::new(rank)) as usize] += 1;
            }
            prop_assert_eq!(explained.servers.iter().map(|server| server.senders).collect::<Vec<_>>(), counted.clone());
            for (share, &senders) in shares.iter().zip(&counted) {
                prop_assert!(senders > 0);
                prop_assert_eq!(servers.of_rank(share.holder), share.number, "a server is one of its senders");
                prop_assert!(share.holder != receiver || senders == 1 || receiver.number() == 0 || share.holder.number() == 0
                    || servers.of_rank(Rank::new(receiver.number() - 1)) != share.number);
            }
        }

        #[test]
        fn slots_are_in_proportion_to_senders(slots in 1..5000_u32, senders in prop::collection::vec(1..10_000_u32, 1..100)) {
            prop_assume!(slots as usize >= senders.len());
            let (shares, all) = (super::slots(slots, &senders), f64::from(senders.iter().sum::<u32>()));
            prop_assert_eq!(shares.iter().sum::<u32>(), slots);
            let rest = f64::from(slots) - senders.len() as f64;
            for (&share, &senders) in shares.iter().zip(&senders) {
                prop_assert!((f64::from(share) - 1.0 - rest * f64::from(senders) / all).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn shares_of_any_number() {
        assert_eq!(slots(256, &[1; 3]), [86, 85, 85]);
        assert_eq!(slots(16, &[7, 1]), [13, 3]);
        assert_eq!(slots(4, &[100, 1, 1, 1]), [1; 4]);
    }

    #[test]
    fn one_counter_below_the_crossover_and_topology_above() {
        let tree = |ranks| Topology::tree(ranks, [("host", 2), ("leaf switch", 64), ("spine switch", 2048)]);
        let chosen = |settings: &Settings, topology: &Topology, atomics_by_cores, survives| {
            let (placement, chosen, rejected) = choose(settings, Job { topology, atomics_by_cores, survives });
            assert!(!chosen.is_empty() && rejected.len() == 1, "reasons are told");
            match placement {
                Placement::Topology { servers, borrow: false } => servers,
                Placement::Receiver => 1,
                other => panic!("{other:?}"),
            }
        };
        let settings = Settings::new(256, 64);
        let by_nic = [2, 128, 129, 1027, 4099, 16_387, 65_539].map(|ranks| chosen(&settings, &tree(ranks), false, false));
        assert_eq!(by_nic, [1, 1, 2, 16, 16, 16, 64]);
        assert_eq!(chosen(&settings, &tree(65_539), false, true), 1, "jobs that survive losses");
        assert_eq!(chosen(&Settings::new(16, 64), &tree(65_539), false, false), 1, "too few slots");
        let two_words = Settings { counting: Counting::TwoWords, ..settings.clone() };
        assert_eq!(chosen(&two_words, &tree(65_539), false, false), 1);
        let hosts = Topology::hosts(12, [0, 4, 8]);
        assert_eq!([true, false].map(|by_cores| chosen(&settings, &hosts, by_cores, false)), [3, 1], "a server on each host");
        assert_eq!(chosen(&settings, &Topology::flat(12), true, false), 1);
        assert_eq!(chosen(&settings, &Topology::hosts(3, [0, 1, 2]), true, false), 1, "no two ranks share a counter");
        assert_eq!(chosen(&Settings::new(4096, 64), &tree(65_539), false, false), 256);
    }

    #[test]
    fn explanations_say_chosen_and_rejected() {
        let (settings, topology) = (Settings::new(256, 64), Topology::tree(4099, [("host", 2), ("leaf switch", 64)]));
        let (placement, chosen, rejected) =
            choose(&settings, Job { topology: &topology, atomics_by_cores: false, survives: false });
        let servers = Servers::of(Rank::new(0), &settings.placed(placement), &topology);
        let lines = servers.explained(4099, (chosen, rejected)).to_string();
        assert_eq!(
            lines,
            "counters: 16 servers, by leaf switch, with 16 slots for 256 to 259 ranks each; chosen: one for 64 of 4099 ranks, as far as each \
             has 16 slots\ncounters: rejected: one counter: 4099 ranks are more than the 128 that one atomic unit answers"
        );
    }
}
