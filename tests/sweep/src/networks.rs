//! A machine with two networks, each with its own faults.

use pelago_base::Duration;
use pelago_kit::Manner;
use pelago_netsim::{Machine, MachineError};

use crate::machines::{self, Traffic};
use crate::random::Random;

/// Maximum number of packets per thousand that a network loses; its adapters retransmit them.
const LOSS_MAX: u64 = 20;

/// Maximum number of delayed operations per thousand, and maximum delay.
const DELAY_CHANCE_MAX: u64 = 600;
const DELAY_MAX_NS: u64 = 300_000;

/// Maximum overhead of an adapter.
const OVERHEAD_MAX_NS: u64 = 50_000;

/// Minimum retransmission timeout of an adapter: longer than the slowest network takes for the packets in flight of the other ranks.
const TIMEOUT_MIN_NS: u64 = 4_000_000;

/// Maximum number of operations of a rank that a short send queue of an adapter holds.
const SEND_QUEUE_MAX: u64 = 16;

/// Bounds of the bandwidth of a network, in megabytes per second.
const RATE_MIN: u64 = 100;
const RATE_MAX: u64 = 8_000;

/// The networks of a machine other than the usual one, and the faults of each.
#[derive(Clone, Debug)]
pub struct Networks {
    /// The text of the machine file.
    pub(crate) machine: String,
    /// Whether the machine was drawn: its networks have no faults but those in its description.
    pub(crate) is_drawn: bool,
    /// Whether the ranks send datagrams.
    pub(crate) by_datagrams: bool,
    /// The delays of operations on each network, by which others overtake them.
    pub(crate) manners: Vec<Manner>,
    /// Number of refused posts per thousand.
    pub(crate) refused: u32,
}

impl Networks {
    pub(crate) fn new(random: &mut Random) -> Self {
        let choice = *random.pick(&["first", "entity"]);
        let rails = [false, true].map(|is_second| rail(random, is_second));
        let mut machine = format!("name = \"two-networks\"\nchoice = \"{choice}\"\n[node]\n{}", rails.concat());
        let mut manner = |_| Manner {
            delay_per_mille: if random.one_in(4) { 0 } else { random.below(DELAY_CHANCE_MAX + 1) as u32 },
            delay_max: Duration::from_nanoseconds(random.spread(DELAY_MAX_NS)),
        };
        let manners = (0..2).map(&mut manner).collect();
        let refused = if random.one_in(2) { 0 } else { random.below(300) as u32 };
        if random.one_in(2) {
            let queue = format!("[rail.nic]\nsend_queue = {}\n", random.within(1, SEND_QUEUE_MAX));
            machine = machine.replace("[rail.nic]\n", &queue);
        }
        Self { machine, is_drawn: false, by_datagrams: false, manners, refused }
    }

    /// Draws a machine of `nodes` nodes. `talks`: whether the ranks use two-sided messages of the network.
    pub(crate) fn drawn(random: &mut Random, nodes: u32, talks: bool) -> Self {
        let by_datagrams = random.one_in(4);
        let traffic = match by_datagrams {
            true => Traffic::Datagrams,
            false if talks => Traffic::Messages,
            false => Traffic::OneSided,
        };
        let machine = machines::draw(random, nodes, traffic);
        let by_datagrams = by_datagrams || machine.contains(machines::DATAGRAMS);
        Self { machine, is_drawn: true, by_datagrams, manners: Vec::new(), refused: 0 }
    }

    /// Takes back the delays and refusals of operations.
    pub(crate) fn leave_order(&mut self) {
        (self.manners, self.refused) = (Vec::new(), 0);
    }

    pub(crate) fn parsed(&self) -> Result<Machine, MachineError> {
        Machine::parse(&self.machine)
    }
}

/// Returns a network; the second may reach only neighbours.
fn rail(random: &mut Random, is_second: bool) -> String {
    let group = if is_second && random.one_in(4) { "group = 2\n" } else { "" };
    let mut rate = || random.spread(RATE_MAX).max(RATE_MIN) as f64 / 1e3;
    let [read, write, link] = [rate(), rate(), rate()];
    let (overhead, gap) = (random.spread(OVERHEAD_MAX_NS), random.spread(1000));
    let (packet, timeout) = (random.pick(&[256, 1024, 2048]), random.within(TIMEOUT_MIN_NS, 2 * TIMEOUT_MIN_NS));
    let loss = if random.one_in(2) { 0.0 } else { random.below(LOSS_MAX + 1) as f64 / 1e3 };
    format!(
        "[[rail]]\ncount = 1\nkind = \"infiniband-rc\"\n{group}\
         [rail.nic]\noverhead_ns = {overhead}.0\ngap_ns = {gap}.0\nread_gb_per_s = {read:?}\nwrite_gb_per_s = {write:?}\n\
         packet_bytes = {packet}\nheader_bytes = 30\ncontrol_bytes = 30\n\
         [rail.reliability]\ntimeout_ns = {timeout}.0\nretries = 255\n\
         [rail.link]\ngb_per_s = {link:?}\ncable_ns = 1.0\nloss = {loss:?}\n\
         [rail.router]\nrouting_ns = 4.0\nvc_allocation_ns = 4.0\nswitch_allocation_ns = 4.0\nswitch_ns = 128.0\n\
         vcs = 1\nbuffer_bytes = 16384\n\
         [rail.topology]\ntype = \"star\"\n"
    )
}
