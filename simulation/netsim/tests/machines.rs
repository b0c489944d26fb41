//! Tests that the bundled descriptions behave as their comments state, and that errors in descriptions are explained.

use pelago_base::Instant;
use pelago_netsim::{Machine, Netsim, NetworkOperation, Notice};

fn bundled(name: &str) -> Machine {
    Machine::parse(Machine::bundled(name).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the time at which all effects have happened.
fn finish(netsim: &mut Netsim) -> Instant {
    let mut last = Instant::ZERO;
    while let Some(notice) = netsim.next() {
        if let Notice::Effect { .. } = notice {
            last = netsim.now();
        }
    }
    last
}

/// Returns the latency of an 8-byte put from node 0 to its neighbour, in microseconds.
fn latency_us(name: &str) -> f64 {
    let mut netsim = Netsim::new(&bundled(name), 12 * 27, 1).unwrap();
    netsim.post(0, NetworkOperation::Put { from: 0, to: 1, bytes: 8 }, 0);
    finish(&mut netsim).as_picoseconds() as f64 / 1e6
}

/// Returns the rate at which node 0 sends to several neighbours at once, in gigabytes per second.
fn injection_gb_per_s(name: &str, neighbours: &[u32]) -> f64 {
    let mut netsim = Netsim::new(&bundled(name), 12 * 27, 1).unwrap();
    let bytes = 8 << 20;
    for (entity, &to) in neighbours.iter().enumerate() {
        netsim.post(entity as u32, NetworkOperation::Put { from: 0, to, bytes }, 0);
    }
    let seconds = finish(&mut netsim).since(Instant::ZERO).as_seconds();
    (bytes * neighbours.len() as u64) as f64 / seconds / 1e9
}

#[test]
fn all_can_be_read_and_run() {
    assert_eq!(Machine::names().count(), 12);
    for name in Machine::names() {
        let machine = bundled(name);
        assert_eq!(machine.name(), name);
        // Ranks can share the memory of one node only.
        let nodes = if name == "laptop" { &[1][..] } else { &[1, 2, 16, 300] };
        for &nodes in nodes {
            let mut netsim = Netsim::new(&machine, nodes, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
            (0..nodes)
                .for_each(|from| netsim.post(from, NetworkOperation::Put { from, to: (from + 1) % nodes, bytes: 5_000 }, 0));
            finish(&mut netsim);
            assert_eq!(netsim.statistics().bytes, u64::from(nodes) * 5_000, "{name}");
        }
    }
    assert_eq!(Machine::bundled("abacus"), None);
}

#[test]
fn congestion_alone_fails_no_operation() {
    const SENDERS: u32 = 15;
    for name in Machine::names().filter(|&name| name != "laptop") {
        let mut netsim = Netsim::new(&bundled(name), SENDERS + 1, 1).unwrap();
        (1..=SENDERS).for_each(|from| netsim.post(from, NetworkOperation::Put { from, to: 0, bytes: 256 << 10 }, 0));
        let mut done = 0;
        while let Some(notice) = netsim.next() {
            assert!(!matches!(notice, Notice::Failed { .. } | Notice::Lost { .. }), "{name}: {notice:?}");
            done += u32::from(matches!(notice, Notice::Done { .. }));
        }
        assert_eq!(done, SENDERS, "{name}");
    }
}

#[test]
fn every_value_says_where_it_comes_from() {
    for name in Machine::names() {
        for line in Machine::bundled(name).unwrap().lines() {
            let value = line.contains(" = ") && !line.starts_with('#');
            let exempt =
                ["name", "about", "kind = \"tofu\"", "kind = \"infiniband-rc\"", "type"].iter().any(|key| line.starts_with(key));
            let told = ["# published", "# fitted", "# assumed", "# measured"].iter().any(|mark| line.contains(mark));
            assert!(!value || exempt || told, "{name}: {line}");
        }
    }
}

/// The two networks of paper B, as they were fitted: microseconds by rail, target node and number of bytes.
#[test]
fn tca_and_infiniband_cost_what_they_were_fitted_to() {
    let machine = bundled("ha-pacs-tca");
    let time = |rail: u8, to: u32, bytes: u64| {
        let mut netsim = Netsim::new(&machine, 16, 1).unwrap();
        netsim.post_by(Some(rail), 0, NetworkOperation::Put { from: 0, to, bytes }, 0);
        let mut effect = Instant::ZERO;
        while let Some(notice) = netsim.next() {
            if matches!(notice, Notice::Effect { .. }) {
                effect = netsim.now();
            }
        }
        effect.as_picoseconds() as f64 / 1e6
    };
    for (found, fitted) in [
        (time(0, 1, 8), 4.5),
        (time(0, 1, 2048), 4.5 + 2048.0 / 819.0),
        (time(0, 9, 4096), 8.0 + 4096.0 / 284.0),
        (time(0, 1, 16384), 17.7 + 16384.0 * (0.88 / 6714.0 + 1.0 / 3079.0)),
        (time(0, 1, 1 << 20), 59.9 + 1048576.0 / 3079.0),
        (time(1, 1, 16), 2.4),
        (time(1, 2, 16), 2.4 + 0.38),
        (time(1, 1, 65536), 2.4 + 65536.0 / 2784.0),
    ] {
        println!("{found:.3}, fitted {fitted:.3}");
        assert!((found / fitted - 1.0).abs() < 0.04, "{found}, fitted {fitted}");
    }
}

#[test]
fn tofu_has_the_published_latency_and_rate() {
    let close = |here: f64, published: f64| {
        println!("{here:.4}, published {published}");
        assert!((here / published - 1.0).abs() < 0.002, "{here}, published {published}")
    };
    // Node 0 has neighbours along a, along b in both directions, along c, and along x in both directions.
    let neighbours = [1, 2, 4, 6, 12, 24];
    close(latency_us("torus-tofud"), 0.49);
    close(injection_gb_per_s("torus-tofud", &neighbours), 38.1);
    close(latency_us("tofu2"), 0.71);
    close(injection_gb_per_s("tofu2", &neighbours[..4]), 45.9);
}

fn error(change: impl Fn(&str) -> String) -> String {
    let error = Machine::parse(&change(Machine::bundled("rx200-qdr").unwrap())).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn wrong_descriptions_are_explained_in_a_line() {
    let replaced = |from: &'static str, to: &'static str| {
        error(|text| {
            assert!(text.contains(from));
            text.replace(from, to)
        })
    };
    let expected = "rail.link.gb_per_s = -4: must be gigabytes per second, from 1e-6 to 1e6, or inf";
    assert_eq!(replaced("\ngb_per_s = 4.0", "\ngb_per_s = -4.0"), expected);
    assert_eq!(replaced("gap_ns = 0.0", "gap_ns = nan"), "rail.nic.gap_ns = NaN: must be nanoseconds, from 0 to 3.6e12");
    assert_eq!(replaced("vcs = 1 ", "vcs = 17 "), "rail.router.vcs = 17: must be from 1 to 16");
    assert_eq!(
        replaced("buffer_bytes = 16384", "buffer_bytes = 100"),
        "rail.router.buffer_bytes = 100: must be from 2078 to 1073741824"
    );
    assert_eq!(replaced("count = 1 ", "count = 0 "), "rail.count = [0]: each must be at least 1, their sum at most 64");
    assert!(replaced("gap_ns", "gape_ns").contains("unknown field `gape_ns`, expected one of"));
    assert!(replaced("\"star\"", "\"knot\"").contains("unknown variant `knot`, expected one of"));
    assert!(replaced("kind = \"infiniband-rc\"", "kind = \"token-ring\"").contains("unknown variant `token-ring`"));
    let failure = |until: &str| {
        let text = Machine::bundled("rx200-qdr").unwrap();
        format!("{text}\n[[rail.failure]]\nlink = [0, 1]\nat_ns = 2e4\nuntil_ns = {until}")
    };
    for until in ["1e4", "2e4"] {
        let nanoseconds: f64 = until.parse().unwrap();
        let expected = format!("rail.failure.until_ns = {nanoseconds}: must be later than at_ns, which is 20000");
        assert_eq!(error(|_| failure(until)), expected);
    }
    assert!(Machine::parse(&failure("20000.5")).is_ok());
    assert!(error(|_| "name = [".into()).starts_with("line 1: "));
    assert!(error(|_| "name = \"empty\"".into()).starts_with("rail: there must be at least one"));
    let shared = |from: &str, to: &str| {
        let text = Machine::bundled("laptop").unwrap();
        assert!(text.contains(from));
        Machine::parse(&text.replace(from, to)).unwrap_err().to_string()
    };
    assert!(shared("visible_ns = ", "visible_ns = -").contains("node.shared.visible_ns = -"));
    assert!(shared("    [64, ", "    [8, ").starts_with("node.shared.put = 10 pairs: must be 1 to 64 of"));
    assert!(shared("    [8, ", "    [0, ").starts_with("node.shared.put = 10 pairs"));
    assert!(shared("get = [", "gets = [").contains("unknown field `gets`"));
}

/// The queues of a rank's NICs add up; a rail without a limit leaves the rank without one.
#[test]
fn send_queues_add_up() {
    let queues = |head: &str, rails: &[&str]| {
        let (start, rail) = Machine::bundled("rx200-qdr").unwrap().split_once("[[rail]]").unwrap();
        let rails = rails.iter().map(|queue| format!("[[rail]]{}", rail.replace("[rail.nic]", &format!("[rail.nic]\n{queue}"))));
        Machine::parse(&format!("{head}{start}{}", rails.collect::<String>())).map(|machine| machine.send_queue())
    };
    assert_eq!(queues("", &[""]).unwrap(), None);
    assert_eq!(queues("", &["send_queue = 7"]).unwrap(), Some(7));
    assert_eq!(queues("choice = \"first\"\n", &["send_queue = 7", "send_queue = 20"]).unwrap(), Some(27));
    assert_eq!(queues("choice = \"first\"\n", &["send_queue = 7", ""]).unwrap(), None);
    let empty = queues("", &["send_queue = 0"]).unwrap_err().to_string();
    assert_eq!(empty, "rail.nic.send_queue = 0: must be from 1 to 1048576");
}

/// Values of another type than that of their key, and numbers that their type cannot have, are named with their key and their line.
#[test]
fn values_of_wrong_types_are_named() {
    let whole = "a whole number from 0 to 4294967295";
    let star = "type = \"star\"  ";
    for (from, to, key, allowed) in [
        ("packet_bytes = 2048", "packet_bytes = -1", "packet_bytes = -1", whole),
        ("packet_bytes = 2048", "packet_bytes = 1e300", "packet_bytes = 1e300", whole),
        ("packet_bytes = 2048", "packet_bytes = 2_048.5", "packet_bytes = 2_048.5", whole),
        ("packet_bytes = 2048", "packet_bytes = inf", "packet_bytes = inf", whole),
        ("\nvcs = 1 ", "\nvcs = 256 ", "vcs = 256", "a whole number from 0 to 255"),
        ("cable_ns = 0.6", "cable_ns = \"short\"", "cable_ns = \"short\"", "a number"),
        ("cable_ns = 0.6", "cable_ns = true", "cable_ns = true", "a number"),
        ("name = \"rx200-qdr\"", "name = 7", "name = 7", "a text in quotation marks"),
        (
            "count = 1 ",
            "operation_bytes_max = -5\ncount = 1 ",
            "operation_bytes_max = -5",
            "a whole number from 0 to 9223372036854775807",
        ),
        // Elements of lists, and values of tables that have a form for each type of network or of congestion control.
        (
            "gap_ns = 0.0",
            "stages = [\n    [1, 2.0, 3.0],  # as = 1\n    [-4, 5.0, 6.0],\n]",
            "stages = -4",
            "a whole number from 0 to 9223372036854775807",
        ),
        (star, "type = \"torus\"\n dimensions = [4, -4]\nrings = [true, true]", "dimensions = -4", whole),
        (star, "type = \"torus\"\ndimensions = [4, 4]\nrings = [true, 1]", "rings = 1", "true or false"),
        (star, "type = \"ring\"\nnodes_per_router = 1e300", "nodes_per_router = 1e300", whole),
        (
            "[rail.topology]",
            "[rail.congestion]\ncontrol = \"swift\"\nwindow_packets = -2\n[rail.topology]",
            "window_packets = -2",
            whole,
        ),
        ("[rail.router]", "[rail.router.pfc]\nxoff_bytes = -3\nxon_bytes = 1\n[rail.router]", "xoff_bytes = -3", whole),
    ] {
        let text = Machine::bundled("rx200-qdr").unwrap();
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        let place = text.find(to).unwrap() + to.rfind(key.rsplit(' ').next().unwrap()).unwrap();
        let expected = format!("line {}: {key}: must be {allowed}", text[..place].matches('\n').count() + 1);
        assert_eq!(Machine::parse(&text).unwrap_err().to_string(), expected, "{to}");
    }
}

#[test]
fn machines_have_their_limits() {
    let nodes = |name: &str, nodes: u32| {
        Netsim::new(&bundled(name), nodes, 1).map(|netsim| netsim.nodes()).map_err(|error| error.to_string())
    };
    assert_eq!(nodes("rx200-qdr", 0), Err("nodes = 0: must be from 1 to 16777216".into()));
    assert_eq!(nodes("fat-tree-ndr", 65_537), Err("nodes: 65537 terminals do not fit in a fat tree of 65536".into()));
    let expected = "rail.topology.groups = 546: 279041 nodes need at least 546, the links between groups allow 545";
    assert_eq!(nodes("dragonfly-slingshot", 279_041), Err(expected.into()));
    assert_eq!(nodes("laptop", 2), Err("nodes = 2: must be 1, as laptop has no network ([[rail]])".into()));
    assert_eq!(nodes("rx200-qdr", u32::MAX), Err("nodes = 4294967295: must be from 1 to 16777216".into()));
}

#[test]
fn a_core_that_shares_memory_is_busy_with_what_it_does() {
    let machine = "name = \"m\"\n[node.shared]\nvisible_ns = 50\natomic_ns = 7\nput = [[8, 2], [16, 4]]\nget = [[8, 9]]";
    let mut netsim = Netsim::new(&Machine::parse(machine).unwrap(), 1, 1).unwrap();
    let mut times = |operation| {
        let start = netsim.now();
        let busy = netsim.busy(operation).as_nanoseconds();
        netsim.post(3, operation, 0);
        let mut notices = Vec::new();
        while let Some(notice) = netsim.next() {
            let what = match notice {
                Notice::Read { .. } => "read",
                Notice::Effect { .. } => "effect",
                Notice::Done { .. } => "done",
                other => panic!("{other:?}"),
            };
            notices.push((what, netsim.now().since(start).as_nanoseconds()));
        }
        (busy, notices)
    };
    let put = |bytes| NetworkOperation::Put { from: 0, to: 0, bytes };
    assert_eq!(times(put(12)), (3, vec![("read", 3), ("done", 3), ("effect", 53)]));
    assert_eq!(times(put(32)), (8, vec![("read", 8), ("done", 8), ("effect", 58)]));
    assert_eq!(times(NetworkOperation::Get { by: 0, at: 0, bytes: 8 }), (9, vec![("read", 9), ("effect", 9), ("done", 9)]));
    assert_eq!(times(NetworkOperation::Atomic { by: 0, at: 0 }), (7, vec![("effect", 7), ("done", 7)]));
    assert_eq!(netsim.statistics().bytes, 12 + 32 + 8 + 8);
}
