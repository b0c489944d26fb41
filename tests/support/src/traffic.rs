//! Open-loop traffic: every node sends packets at random times, independent of the delivery of earlier ones.

/// The random numbers of traffic.
pub use fastrand::Rng;
use pelago_base::Instant;
use pelago_netsim::{Machine, Netsim, NetworkOperation, Notice};

/// One flit is a byte, one cycle a nanosecond.
pub const CYCLE: u64 = 1_000;

/// Returns a machine whose NICs cost nothing. A head flit needs one cycle for each of: allocation of a virtual channel, allocation of the switch, traversal.
pub fn machine(topology: &str, cable_ns: u32, vcs: u8, buffer: u32, packet: u32) -> Machine {
    Machine::parse(&format!(
        r#"
name = "flits"
[[rail]]
kind = "infiniband-ud"
[rail.nic]
overhead_ns = 0
read_gb_per_s = inf
write_gb_per_s = inf
packet_bytes = {packet}
header_bytes = 0
control_bytes = 1
transmit_packets = 1
[rail.link]
gb_per_s = 1.0
cable_ns = {cable_ns}
[rail.host_link]
gb_per_s = 1.0
cable_ns = 1
[rail.router]
routing_ns = 0
vc_allocation_ns = 1
switch_allocation_ns = 1
switch_ns = 1
credit_ns = 2
vcs = {vcs}
buffer_bytes = {buffer}
[rail.topology]
{topology}
"#
    ))
    .unwrap()
}

/// Traffic of packets of equal size, which every node sends at random times.
pub struct Traffic {
    random: Rng,
    chance: f64,
    packet: u32,
}

impl Traffic {
    /// Returns traffic of `load` flits per node and cycle.
    pub fn new(netsim: &mut Netsim, load: f64, packet: u32) -> Self {
        let mut traffic = Self { random: Rng::with_seed(7), chance: load / f64::from(packet), packet };
        (0..netsim.nodes()).for_each(|node| traffic.wake(netsim, node));
        traffic
    }

    fn wake(&mut self, netsim: &mut Netsim, node: u32) {
        let pause = 1 + ((1.0 - self.random.f64()).ln() / (1.0 - self.chance).ln()) as u64;
        let at = netsim.now().as_picoseconds() + pause * CYCLE;
        netsim.wake_at(Instant::from_picoseconds(at), node, u64::from(node));
    }

    /// Runs until `cycles`. `target` returns the destination of a node's packet; `seen` is called at arrivals, with
    /// source, time of generation, and time of arrival.
    pub fn run(
        &mut self,
        netsim: &mut Netsim,
        cycles: u64,
        mut target: impl FnMut(u32, &mut Rng) -> u32,
        mut seen: impl FnMut(u32, u64, u64),
    ) {
        while let Some(notice) = netsim.next() {
            let now = netsim.now().as_picoseconds();
            match notice {
                Notice::Wake { token } => {
                    let from = token as u32;
                    let to = target(from, &mut self.random);
                    let token = (now / CYCLE) << 16 | u64::from(from);
                    netsim.post(from, NetworkOperation::Datagram { from, to, bytes: u64::from(self.packet) }, token);
                    self.wake(netsim, from);
                }
                Notice::Effect { token } => seen(token as u32 & 0xffff, (token >> 16) * CYCLE, now),
                _ => {}
            }
            if now >= cycles * CYCLE {
                break;
            }
        }
    }
}

/// Measured values, in cycles and flits.
#[derive(Debug)]
pub struct Measured {
    /// Average time from the generation of a packet to the arrival of its last flit.
    pub latency: f64,
    /// Arrived flits per node and cycle.
    pub throughput: f64,
}

/// Sends packets of `packet` flits at `load` flits per node and cycle to the destinations of `target`. Measures the packets that are
/// generated from `warm` cycles on for `cycles`, and waits for the same time until they have arrived. Only nodes for which `counted`
/// holds enter the results.
pub fn measure(
    machine: &Machine,
    nodes: u32,
    load: f64,
    packet: u32,
    (warm, cycles): (u64, u64),
    target: impl FnMut(u32, &mut Rng) -> u32,
    counted: impl Fn(u32) -> bool,
) -> Measured {
    let mut netsim = Netsim::new(machine, nodes, 1).unwrap();
    let window = warm * CYCLE..(warm + cycles) * CYCLE;
    let (mut sum, mut measured, mut arrived) = (0u64, 0u64, 0u64);
    Traffic::new(&mut netsim, load, packet).run(&mut netsim, warm + 2 * cycles, target, |from, generated, now| {
        if !counted(from) {
            return;
        }
        arrived += u64::from(window.contains(&now));
        if window.contains(&generated) {
            sum += now - generated;
            measured += 1;
        }
    });
    Measured {
        latency: sum as f64 / measured as f64 / CYCLE as f64,
        throughput: (arrived * u64::from(packet)) as f64
            / (cycles * (0..nodes).filter(|&node| counted(node)).count() as u64) as f64,
    }
}
