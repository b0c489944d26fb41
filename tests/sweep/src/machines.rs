//! Machines that are drawn at random: nodes, adapters, networks and their topologies.

use pelago_netsim::{Machine, Netsim};

use crate::random::Random;

/// Number of drawn machines after which a machine that is not refused must have been found: about one of three is refused, as its parts do not
/// belong together.
const TRIES_MAX: u32 = 1000;

/// Bounds of rates, in megabytes per second, and maximum delay of a link or a stage of a router.
const RATE_MIN: u64 = 200;
const RATE_MAX: u64 = 50_000;
const STAGE_MAX_NS: u64 = 2_000;

/// Maximum overhead of an operation, and of a call of the library.
const OVERHEAD_MAX_NS: u64 = 20_000;

/// Minimum retransmission timeout: longer than the slowest network takes for the packets in flight of all ranks.
const TIMEOUT_MIN_NS: u64 = 10_000_000;

/// The table of machines where datagrams take time of cores, and the size of a message there with the headers of its packets.
pub(crate) const DATAGRAMS: &str = "[node.datagrams]";
const MESSAGE_BYTES: u32 = 100_000;

/// Maximum number of operations of a rank that a short send queue holds.
const SEND_QUEUE_MAX: u64 = 16;

/// What the ranks send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    OneSided,
    /// One-sided operations, and two-sided messages of the network, which Ethernet loses.
    Messages,
    /// Datagrams of the library's own protocol.
    Datagrams,
}

/// Draws a machine of `nodes` nodes.
pub(crate) fn draw(random: &mut Random, nodes: u32, traffic: Traffic) -> String {
    let is_machine = |text: &String| Machine::parse(text).is_ok_and(|machine| Netsim::new(&machine, nodes, 1).is_ok());
    let mut drawn = (0..TRIES_MAX).map(|_| machine(random, nodes, traffic));
    drawn.find(is_machine).expect("some machine of so many is not refused")
}

fn machine(random: &mut Random, nodes: u32, traffic: Traffic) -> String {
    let choice = *random.pick(&["entity", "size", "first"]);
    let node = node(random);
    let is_driven = node.contains(DATAGRAMS);
    let count = random.within(1, 2);
    let rails: String = (0..count).map(|number| rail(random, nodes, (traffic, is_driven), number > 0)).collect();
    format!("name = \"drawn\"\nchoice = \"{choice}\"\n{node}{rails}")
}

/// Returns gigabytes per second.
fn rate(random: &mut Random) -> f64 {
    random.spread(RATE_MAX).max(RATE_MIN) as f64 / 1e3
}

/// Returns a time in nanoseconds, often 0.
fn time(random: &mut Random, last: u64) -> f64 {
    if random.one_in(4) { 0.0 } else { random.spread(last) as f64 }
}

fn node(random: &mut Random) -> String {
    let mut text = format!("[node]\ncopy_ns = {:?}\ncopy_gb_per_s = {:?}\n", time(random, 1000), rate(random));
    text += &format!("gather_ns = {:?}\ngather_gb_per_s = {:?}\n", time(random, 1000), rate(random));
    if random.one_in(3) {
        text += &format!("cores = {}\nswitch_ns = {:?}\n", random.within(1, 2), time(random, 5000));
    }
    let times = |random: &mut Random| format!("[[8, {:?}], [4096, {:?}]]", time(random, 500), 500.0 + time(random, 5000));
    match random.below(5) {
        0 => {
            text += &format!(
                "[node.shared]\nput = {}\nget = {}\natomic_ns = {:?}\nvisible_ns = {:?}\npage_ns = {:?}\n",
                times(random),
                times(random),
                time(random, 500),
                time(random, 2000),
                time(random, 500),
            );
        }
        1 => {
            let (kind, ranks) = (*random.pick(&["port", "pair"]), random.within(1, 4));
            text += &format!(
                "[node.domain]\n{kind}_gb_per_s = {:?}\nlatency_ns = {:?}\noverhead_ns = {:?}\natomic_ns = {:?}\nranks = {ranks}\npiece_bytes = {}\n",
                rate(random),
                time(random, 2000),
                time(random, OVERHEAD_MAX_NS),
                time(random, 500),
                random.pick(&[64, 1024, 65_536]),
            );
        }
        2 => {
            text += &format!(
                "{DATAGRAMS}\ndatagram_bytes = {}\nwindow_bytes = {}\npost_ns = {:?}\nlatency_ns = {:?}\noverlap_ns = {:?}\nwake_ns = {:?}\n\
                 send = {}\nreceive = {}\n",
                random.pick(&[1200, 9000, 65_000]),
                random.pick(&[100_000, 4_000_000]),
                time(random, 500),
                time(random, 5000),
                time(random, 500),
                time(random, 50_000),
                times(random),
                times(random),
            );
        }
        _ => {}
    }
    if random.one_in(3) {
        text += &software(random);
    }
    if random.one_in(4) {
        let (phases, period) = (*random.pick(&["random", "same"]), random.within(10_000, 1_000_000));
        let duration = random.within(1, period / 2);
        text += &format!("[node.noise]\nphases = \"{phases}\"\nperiod_ns = {period}.0\nduration_ns = {duration}.0\n");
    }
    text
}

fn software(random: &mut Random) -> String {
    let mut text = "[node.software]\n".to_owned();
    for (key, values) in [
        ("submission", &["free", "direct", "progress-thread", "bypass"][..]),
        ("threads", &["one", "many"]),
        ("descriptors", &["prepared", "built"]),
        ("atomics", &["nic", "progress-thread"]),
        ("serving", &["together", "apart"]),
        ("detection", &["inline", "thread"]),
    ] {
        text += &format!("{key} = \"{}\"\n", random.pick(values));
    }
    for key in ["call_ns", "own_call_ns", "lock_ns", "queue_ns", "notify_ns", "descriptor_ns", "serve_ns", "signal_ns"] {
        text += &format!("{key} = {:?}\n", time(random, OVERHEAD_MAX_NS / 10));
    }
    text + &format!("spare_cores = {}\n", random.below(2))
}

/// Returns a network; a second one may connect neighbours only. `is_driven`: datagrams take time of cores, and are sent several at once.
fn rail(random: &mut Random, nodes: u32, (traffic, is_driven): (Traffic, bool), is_second: bool) -> String {
    let kinds = if traffic == Traffic::Messages && !is_driven { 3 } else { 4 };
    let kind = *random.pick(&["infiniband-rc", "infiniband-rc", "tofu", "ethernet"][..kinds]);
    // A message is lost as a whole if one of its packets finds no room, is lost, or overtakes another: none of them would arrive.
    let loses_messages = is_driven || kind == "ethernet" && traffic == Traffic::Datagrams;
    let (packet, header) = (*random.pick(&[256_u32, 1024, 4096]), random.within(0, 100));
    let largest = packet + 300;
    let room =
        |random: &mut Random| largest * random.within(1, 20) as u32 + if loses_messages { MESSAGE_BYTES * nodes } else { 0 };
    let (buffer, received) = (room(random), room(random));
    let mut text = format!("[[rail]]\nkind = \"{kind}\"\n");
    if is_second && random.one_in(4) {
        text += "group = 2\n";
    }
    if random.one_in(4) {
        text += &format!("count = {}\n", random.within(1, 3));
    }
    if random.one_in(4) {
        text += &format!("planes = {}\n", random.within(1, 3));
    }
    if random.one_in(4) {
        text += &format!("operation_bytes_max = {}\n", random.spread(100_000));
    }
    text += &format!(
        "[rail.nic]\noverhead_ns = {:?}\ngap_ns = {:?}\nread_gb_per_s = {:?}\nwrite_gb_per_s = {:?}\natomic_ns = {:?}\n\
         packet_bytes = {packet}\nheader_bytes = {header}\ncontrol_bytes = {}\nreceive_bytes = {}\norder = \"{}\"\nspread = \"{}\"\n\
         flowlet_ns = {:?}\ntransmit_packets = {}\n",
        time(random, OVERHEAD_MAX_NS),
        time(random, 1000),
        rate(random),
        rate(random),
        time(random, 1000),
        random.within(1, 100),
        received,
        random.pick(&["fifo", "round-robin"]),
        random.pick(&["operation", "pair", "flowlet", "packet"][..if loses_messages { 2 } else { 4 }]),
        time(random, 100_000),
        random.within(1, 4),
    );
    if random.one_in(3) {
        text += &format!("send_queue = {}\n", random.within(1, SEND_QUEUE_MAX));
    }
    if random.one_in(6) {
        text += &format!(
            "stages = [[256, {:?}, {:?}], [100000, {:?}, {:?}]]\n",
            time(random, 1000),
            rate(random),
            time(random, 1000),
            rate(random)
        );
    }
    if random.one_in(6) {
        text += &format!(
            "bank_ns = {:?}\nbank_core_ns = {:?}\nbank_packets = {}\n",
            time(random, 1000),
            time(random, 1000),
            random.within(1, 4)
        );
    }
    let timeout = random.within(TIMEOUT_MIN_NS, 2 * TIMEOUT_MIN_NS);
    text += &format!("[rail.reliability]\ntimeout_ns = {timeout}.0\nretries = 255\n");
    for link in ["link", "host_link"] {
        let loss = if kind == "tofu" || is_driven || random.one_in(2) { 0 } else { random.below(21) };
        if link == "link" || random.one_in(2) {
            let (rate, cable) = (rate(random), time(random, STAGE_MAX_NS));
            text += &format!("[rail.{link}]\ngb_per_s = {rate:?}\ncable_ns = {cable:?}\nloss = {:?}\n", loss as f64 / 1e3);
        }
    }
    text += "[rail.router]\n";
    for stage in ["routing_ns", "vc_allocation_ns", "switch_allocation_ns", "switch_ns", "credit_ns"] {
        text += &format!("{stage} = {:?}\n", time(random, STAGE_MAX_NS));
    }
    let switching = *random.pick(&["cut-through", "cut-through", "store-and-forward"]);
    text += &format!("vcs = {}\nbuffer_bytes = {buffer}\nswitching = \"{switching}\"\n", random.within(1, 4));
    if random.one_in(5) {
        let xoff = random.within(1, u64::from(buffer));
        text += &format!("[rail.router.pfc]\nxoff_bytes = {xoff}\nxon_bytes = {}\n", random.within(0, xoff));
    }
    if random.one_in(4) {
        let most = random.within(1, u64::from(2 * buffer));
        let least = random.within(0, most);
        text += &format!("[rail.router.ecn]\nmin_bytes = {least}\nmax_bytes = {most}\nprobability = 0.{}\n", random.within(1, 9));
    }
    if random.one_in(3) {
        let control = *random.pick(&["dcqcn", "swift", "hpcc", "slingshot"]);
        let round_trip =
            if control == "hpcc" { format!("round_trip_ns = {}.0\n", random.within(1000, 20_000)) } else { String::new() };
        text += &format!("[rail.congestion]\ncontrol = \"{control}\"\n{round_trip}");
    }
    if random.one_in(3) {
        text += &format!(
            "[rail.reduction]\nlevel = \"{}\"\ncombine_ns = {:?}\nbytes_max = {}\ngroups_max = {}\n",
            random.pick(&["routers", "nics"]),
            time(random, 500),
            random.pick(&[0, 8, 64]),
            random.within(1, 3)
        );
    }
    if random.one_in(4) {
        text += "[[rail.class]]\nname = \"short\"\nkinds = [\"atomic\", \"put\", \"get\"]\noperation_bytes_max = 256\npriority = 1\n\
                 [[rail.class]]\nname = \"control\"\nkinds = [\"control\"]\nweight = 3.0\n[[rail.class]]\nname = \"rest\"\n";
    }
    text + &format!("[rail.topology]\n{}\n", topology(random, nodes))
}

fn topology(random: &mut Random, nodes: u32) -> String {
    let per_router = random.within(1, 2);
    let direct = *random.pick(&["minimal", "valiant", "ugal-l"]);
    let groups = *random.pick(&["minimal", "valiant", "ugal-l", "ugal-g", "progressive"]);
    let deadlock = *random.pick(&["dateline", "bubble"]);
    match random.below(10) {
        0 => "type = \"star\"".into(),
        1 => {
            let routes = random.pick(&["destination", "random", "adaptive"]);
            format!(
                "type = \"fat-tree\"\ndown = [2, {}]\nup = [{}]\nroutes = \"{routes}\"",
                nodes.div_ceil(2).max(1),
                random.within(1, 2)
            )
        }
        2 => format!("type = \"torus\"\ndimensions = [2, 0]\nnodes_per_router = {per_router}\ndeadlock = \"{deadlock}\""),
        3 => format!("type = \"mesh\"\ndimensions = [2, 0]\nnodes_per_router = {per_router}"),
        4 => format!(
            "type = \"{}\"\nnodes_per_router = {per_router}\ndeadlock = \"{deadlock}\"",
            random.pick(&["ring", "double-ring"])
        ),
        5 => format!(
            "type = \"dragonfly\"\nnodes_per_router = {per_router}\nrouters_per_group = 2\nglobal_links_per_router = 2\nroutes = \"{groups}\""
        ),
        6 => format!(
            "type = \"dragonfly-plus\"\nnodes_per_router = {per_router}\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2\n\
             routes = \"{groups}\""
        ),
        7 => format!("type = \"hyperx\"\ndimensions = [2, 0]\nnodes_per_router = {per_router}\nroutes = \"{direct}\""),
        8 => format!("type = \"slim-fly\"\nq = 3\nroutes = \"{direct}\""),
        _ => {
            let links: Vec<String> =
                (1..nodes.max(2)).map(|router| format!("[{}, {router}]", random.below(router.into()))).collect();
            format!("type = \"graph\"\nlinks = [{}]\nnodes_per_router = 1", links.join(", "))
        }
    }
}
