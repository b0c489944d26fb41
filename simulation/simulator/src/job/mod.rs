//! The simulated job: its ranks, operations and network, and the handling of events.
//!
//! | part | for |
//! |---|---|
//! | this file | the state, and the dispatch of events |
//! | `tokens` | events as data: the tokens that the network returns |
//! | `rank_state`, `scheduling` | ranks that run, wait and end |
//! | `posting` | operations from the call until the NIC has them; fences; failed peers |
//! | `effects` | operations from their arrival until their completion |
//! | `intra_node`, `progress_threads` | intra-node operations; operations by progress threads |
//! | `reductions` | reductions by routers or NICs |
//! | `two_sided` | two-sided messages |
//! | `stations` | operations by the library's own protocol |
//! | `driving` | the same, on machines where datagrams take core time |
//! | `noise` | interruptions of cores |
//!
//! The parts extend [`SimulatedJob`]; the records in `operations`, `costs` and `protocol` that they use do not depend on them.

mod driving;
mod effects;
mod intra_node;
mod noise;
mod posting;
mod progress_threads;
mod rank_state;
mod reductions;
mod scheduling;
mod stations;
mod tokens;
mod two_sided;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pelago_base::{Instant, Rank};
use pelago_netsim::{Netsim, Notice};
use pelago_platform::Fault;
use pelago_report::Recorder;

use self::rank_state::RankState;
pub use self::rank_state::WaitReason;
pub(crate) use self::scheduling::{CLOCK_READING, POLL};
use self::tokens::{Subject, WakeUp};
use crate::costs::cores::Cores;
use crate::costs::datagrams::DatagramCosts;
use crate::costs::intra_node::{RankDomains, SharedMemoryCosts};
use crate::costs::noise::Noise;
use crate::costs::progress_threads::ProgressThreads;
use crate::memory::RankMemory;
use crate::operations::completions::CompletionTable;
use crate::operations::fences::FenceOrder;
use crate::operations::pending::{AwaitedEvent, PendingOperations};
use crate::operations::reductions::ReductionGroups;
use crate::operations::two_sided::TwoSidedMessages;
use crate::protocol::stations::Stations;
use crate::ranks::status::SimulationStatus;
use crate::settings::Settings;

/// Maximum number of incomplete operations of one rank on machines that state none.
const IN_FLIGHT_MAX: u32 = 4096;

pub(crate) struct SimulatedJob {
    pub(crate) network: Netsim,
    pub(crate) memory: RankMemory,
    /// The stations of the library's own protocol, if it carries the operations.
    pub(crate) stations: Option<Stations>,
    /// Records events for a report, if one is requested.
    pub(crate) recorder: Option<Recorder>,
    /// Knows whose memory the job accesses.
    pub(crate) status: &'static SimulationStatus,
    /// Number of consecutive ranks that share a node.
    per_node: u32,
    shared_memory: SharedMemoryCosts,
    /// The ranks whose memories are connected directly, if the machine has such domains.
    domains: Option<RankDomains>,
    datagram_costs: Option<DatagramCosts>,
    /// The cores of each node, if ranks may share them.
    pub(crate) cores: Option<Cores>,
    /// The interruptions of cores, if the machine has any.
    noise: Option<Noise>,
    progress_threads: ProgressThreads,
    pub(crate) ranks: Vec<RankState>,
    /// Ranks that run before time advances, in order.
    pub(crate) ready: VecDeque<u32>,
    operations: PendingOperations,
    /// Maximum number of incomplete operations of one rank.
    pub(crate) in_flight_max: u32,
    completions: CompletionTable,
    messages: TwoSidedMessages,
    pub(crate) reductions: ReductionGroups,
    /// The fences of each pair of ranks that has used one and still has operations in transit.
    fences: BTreeMap<(u32, u32), FenceOrder>,
    /// Number of ranks in the current barrier of the bootstrap, and number of completed barriers.
    arrived: u32,
    pub(crate) meetings: u64,
    pub(crate) published: BTreeMap<(Rank, String), Vec<u8>>,
    /// Peers that some rank considers failed, if the network does not use the library's own protocol.
    failed_peers: BTreeSet<Rank>,
    pub(crate) running: Option<Rank>,
    /// Whether ranks run as coroutines, and therefore drive their own progress.
    has_coroutines: bool,
    pub(crate) ended: u32,
    pub(crate) fault: Option<Fault>,
    /// Whether the job continues when ranks fail, and the ranks that have failed then.
    pub(crate) tolerates_peer_failures: bool,
    pub(crate) tolerated_failures: Vec<Rank>,
    /// Ranks that have died, or that others have considered failed, before the job had a fault, unless it continues without them.
    failed_ranks: BTreeSet<Rank>,
    /// Number of operations that the network has failed to perform.
    pub(crate) given_up: u64,
    /// The initiator and the target of the first of them.
    pub(crate) first_given_up: Option<(Rank, Rank)>,
}

impl SimulatedJob {
    pub(crate) fn new(mut network: Netsim, memory: RankMemory, stations: Option<Stations>, settings: &Settings) -> Self {
        let Settings { ranks, per_node, .. } = *settings;
        for faults in stations.iter().map(Stations::faults) {
            for &(rank, at) in &faults.deaths {
                let announced = faults.announced_after.map(|announced_after| at + announced_after);
                for at in [Some(at), announced].into_iter().flatten() {
                    network.wake_at(at, rank.number(), WakeUp::Death { rank: rank.number() }.token());
                }
            }
        }
        let mut job = Self {
            network,
            memory,
            stations,
            recorder: None,
            status: SimulationStatus::unknown(),
            per_node,
            shared_memory: SharedMemoryCosts::of(&settings.machine),
            domains: RankDomains::of(&settings.machine, per_node),
            datagram_costs: DatagramCosts::of(&settings.machine),
            cores: None,
            noise: Noise::of(&settings.machine, settings.seed),
            progress_threads: ProgressThreads::of(&settings.machine, ranks),
            ranks: (0..ranks).map(|_| RankState::default()).collect(),
            ready: VecDeque::new(),
            operations: PendingOperations::default(),
            in_flight_max: settings.machine.send_queue().unwrap_or(IN_FLIGHT_MAX),
            completions: CompletionTable::default(),
            messages: TwoSidedMessages::default(),
            reductions: ReductionGroups::default(),
            fences: BTreeMap::new(),
            arrived: 0,
            meetings: 0,
            published: BTreeMap::new(),
            failed_peers: BTreeSet::new(),
            running: None,
            has_coroutines: false,
            ended: 0,
            fault: None,
            tolerates_peer_failures: false,
            tolerated_failures: Vec::new(),
            failed_ranks: BTreeSet::new(),
            given_up: 0,
            first_given_up: None,
        };
        job.cores = Cores::of(&settings.machine, ranks, per_node);
        (0..ranks).for_each(|rank| job.admit(rank));
        job
    }

    pub(crate) fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    pub(crate) fn now(&self) -> Instant {
        self.network.now()
    }

    /// Advances time to the next event and executes it; `false` if there is none.
    pub(crate) fn step(&mut self) -> bool {
        let Self { network, operations, .. } = self;
        let Some(notice) = network.next_with(|token| operations.fetch(token as u32)) else { return false };
        let by_protocol = self.stations.is_some();
        match notice {
            Notice::Wake { token } => self.wake(WakeUp::of(token)),
            Notice::Read { token } if !Subject::needs_read(token) => {}
            Notice::Read { token } => match Subject::of(token) {
                Subject::Operation(number) if !by_protocol => self.arrive_at_source(number),
                _ => {}
            },
            Notice::Effect { token } => match Subject::of(token) {
                Subject::Operation(number) if by_protocol => self.receive_datagram(number),
                Subject::Operation(number) if self.is_served_by_progress_thread(number) => self.serve_by_progress_thread(number),
                Subject::Operation(number) => self.arrive_at_target(number),
                Subject::Message(number) => self.deliver_message(number),
                Subject::Reply(number) => self.answer_by_progress_thread(number),
            },
            Notice::Done { token } => match Subject::of(token) {
                Subject::Operation(_) if by_protocol => {}
                Subject::Operation(number) if self.is_served_by_progress_thread(number) => self.end_request(number),
                Subject::Operation(number) => self.report_end(number),
                Subject::Message(number) => self.end_message(number, None),
                Subject::Reply(number) => self.end_reply(number),
            },
            Notice::Failed { token, reason } => match Subject::of(token) {
                Subject::Operation(_) if by_protocol => {}
                Subject::Operation(number) if self.is_served_by_progress_thread(number) => {
                    self.fail_by_progress_thread(number, AwaitedEvent::Request);
                }
                Subject::Operation(number) => self.fail_operation(number),
                Subject::Reply(number) => self.fail_by_progress_thread(number, AwaitedEvent::Reply),
                Subject::Message(number) => self.end_message(number, Some(reason)),
            },
            Notice::Lost { token } => match Subject::of(token) {
                Subject::Operation(number) | Subject::Reply(number) => self.lose_datagram(number),
                Subject::Message(number) => self.messages.forget(number),
            },
        }
        true
    }

    fn wake(&mut self, wake_up: WakeUp) {
        match wake_up {
            WakeUp::Rank { rank } => self.handle_timer(rank),
            WakeUp::Posted { operation, by_rank } => self.post_to_nic(operation, by_rank),
            WakeUp::Served { operation } => self.serve(operation),
            WakeUp::Reported { operation } => self.end(operation, None),
            WakeUp::Seen { rank } => self.see(Rank::new(rank)),
            WakeUp::Datagram { number } => self.send_delayed_datagram(number),
            WakeUp::Station { rank } => self.handle_station_timer(Rank::new(rank)),
            WakeUp::Arrival { number } => self.arrive_driven(number),
            WakeUp::Step { rank } => self.end_step_by_event(Rank::new(rank)),
            WakeUp::Attend { rank } => self.attend_computing(Rank::new(rank)),
            WakeUp::Core { rank } => self.run_on_core(rank),
            WakeUp::Slice { rank } => self.end_slice(rank),
            WakeUp::Reduced { rank, group } => self.receive_result(rank, group),
            WakeUp::ReductionReported { rank, group } => self.deliver_result(rank, group),
            WakeUp::Death { rank } => self.handle_death(Rank::new(rank)),
        }
    }
}
