//! Hosts that are network namespaces, joined by a bridge in one more, and what goes wrong between them. Nothing of them stays behind.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, geteuid, kill_process};

/// What the names of all namespaces of these tests begin with; the process that made them follows.
const PREFIX: &str = "pelago-test-";

/// Where the system keeps namespaces that have a name.
const NAMED: &str = "/run/netns";

/// What an ordinary network carries.
pub(crate) const ETHERNET_BYTES: u32 = 1500;

/// Tests take turns: each has the cores of this machine to itself.
static TURN: Mutex<()> = Mutex::new(());

/// Whether this machine lets these tests make networks.
static ALLOWED: LazyLock<bool> = LazyLock::new(|| {
    sweep();
    told(
        "namespaces are not tested here",
        probe(&["ip link add name one type veth peer name other", "ip link add name bridge type bridge"]),
    )
});

/// Whether it filters what passes there.
static FILTERS: LazyLock<bool> = LazyLock::new(|| {
    told(
        "networks that lose datagrams are not tested here",
        probe(&[CHAIN, "nft add rule inet pelago input numgen random mod 100 < 1 counter drop"]),
    )
});

/// How this machine makes what a host sends late: each datagram by a time by chance, or, where the kernel has no such queue, whatever exceeds a rate.
static LATE: LazyLock<Option<&str>> = LazyLock::new(|| {
    let ways = ["netem delay 1ms 900us", "tbf rate 10mbit burst 1600 latency 100ms"];
    let outcomes = ways.map(|way| {
        probe(&["ip link add name one type veth peer name other", &format!("tc qdisc add dev one root {way}")]).map(|()| way)
    });
    let [chance, rate] = outcomes;
    let found = chance.or(rate);
    told("networks that are late are not tested here", found.clone().map(drop)).then(|| found.expect("a way"))
});

/// Where a host looks at what has come.
const CHAIN: &str = "nft add table inet pelago; add chain inet pelago input { type filter hook input priority 0; }";

/// By which addresses hosts reach each other.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Hosts and the wires between them, which carry single datagrams as those between machines do. While there is one, no other test has
/// any.
pub(crate) struct Network {
    /// The hosts, then the bridge.
    names: Vec<String>,
    _turn: MutexGuard<'static, ()>,
}

impl Network {
    /// As many hosts as there are links, each of which carries packets of so many bytes; `None` where that is not allowed.
    pub(crate) fn of(links: &[u32], family: Family) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !*ALLOWED {
            return None;
        }
        let name = |place| format!("{PREFIX}{}-{place}", std::process::id());
        let names = ('a'..).take(links.len()).map(name).chain([name('+')]).collect();
        let network = Self { names, _turn: turn };
        network.make(links, family);
        Some(network)
    }

    /// Hosts on an ordinary network.
    pub(crate) fn ordinary(hosts: usize) -> Option<Self> {
        Self::of(&vec![ETHERNET_BYTES; hosts], Family::V4)
    }

    fn make(&self, links: &[u32], family: Family) {
        let (bridge, hosts) = self.names.split_last().expect("a bridge");
        self.names.iter().for_each(|name| run("ip", &["netns", "add", name]));
        inside(bridge, "ip link add name bridge type bridge");
        inside(bridge, "ip link set dev bridge up");
        for (number, (host, bytes)) in (1..).zip(hosts.iter().zip(links)) {
            inside(
                bridge,
                &format!("ip link add name {} mtu {bytes} type veth peer name net mtu {bytes} netns {host}", port(number)),
            );
            inside(bridge, &format!("ip link set dev {} master bridge up", port(number)));
            let address = match family {
                Family::V4 => format!("10.77.0.{number}/24"),
                // The others have not taken it; to find that out takes a second.
                Family::V6 => format!("fd00::{number}/64 nodad"),
            };
            inside(host, &format!("ip address add {address} dev net"));
            inside(host, "ip link set dev lo up");
            // Otherwise many datagrams would pass as one packet, of any size and lost together.
            inside(host, "ip link set dev net up gso_max_segs 1");
        }
    }

    /// Joins the hosts by a second network, by an interface `other` of each.
    pub(crate) fn double(&self) {
        let (bridge, hosts) = self.names.split_last().expect("a bridge");
        inside(bridge, "ip link add name other type bridge");
        inside(bridge, "ip link set dev other up");
        for (number, host) in (1..).zip(hosts) {
            inside(bridge, &format!("ip link add name other-{number} type veth peer name other netns {host}"));
            inside(bridge, &format!("ip link set dev other-{number} master other up"));
            inside(host, &format!("ip address add 10.79.0.{number}/24 dev other"));
            inside(host, "ip link set dev other up");
        }
    }

    /// How many bytes have come to all hosts by an interface.
    pub(crate) fn received(&self, interface: &str) -> u64 {
        let count = |host| inside(host, &format!("cat /sys/class/net/{interface}/statistics/rx_bytes"));
        self.hosts().iter().map(|host| count(host).trim().parse::<u64>().expect("a count")).sum()
    }

    /// The hosts.
    pub(crate) fn hosts(&self) -> &[String] {
        self.names.split_last().expect("a bridge").1
    }

    /// From now on, `rule` applies to every datagram that comes to `host`; `false` where nothing can be filtered.
    pub(crate) fn filter(&self, host: usize, rule: &str) -> bool {
        if *FILTERS {
            inside(&self.names[host], CHAIN);
            inside(&self.names[host], &format!("nft add rule inet pelago input meta l4proto udp {rule}"));
        }
        *FILTERS
    }

    /// From now on, no stream comes to any host, and whoever opens one hears nothing; `false` where nothing can be filtered.
    pub(crate) fn refuse_streams(&self) -> bool {
        for host in self.hosts().iter().filter(|_| *FILTERS) {
            inside(host, CHAIN);
            inside(host, "nft add rule inet pelago input iifname net meta l4proto tcp counter drop");
        }
        *FILTERS
    }

    /// From now on, every host loses so many of a hundred datagrams that come; `false` where none can be lost.
    pub(crate) fn lose(&self, percent: u32) -> bool {
        let rule = format!("numgen random mod 100 < {percent} counter drop");
        (0..self.hosts().len()).all(|host| self.filter(host, &rule))
    }

    /// From now on, every host loses one of so many datagrams that come, and the first: few datagrams suffice for a loss, which chance does not
    /// promise; `false` where none can be lost.
    pub(crate) fn lose_one_of(&self, number: u32) -> bool {
        let rule = format!("numgen inc mod {number} < 1 counter drop");
        (0..self.hosts().len()).all(|host| self.filter(host, &rule))
    }

    /// From now on, what every host sends is late; `false` where nothing can be.
    pub(crate) fn be_late(&self) -> bool {
        for (host, way) in self.hosts().iter().zip(LATE.iter().cycle()) {
            inside(host, &format!("tc qdisc add dev net root {way}"));
        }
        LATE.is_some()
    }

    /// How many packets have waited because of `be_late`.
    pub(crate) fn late(&self) -> u64 {
        // A queue by chance holds all packets, one by rate those over its limit.
        let word = if LATE.is_some_and(|way| way.starts_with("netem")) { " bytes " } else { "overlimits " };
        let shown = self.hosts().iter().map(|host| inside(host, "tc -s qdisc show dev net"));
        let count = |shown: String| {
            let (_, rest) = shown.split_once(word).expect("a count");
            rest.split(' ').next().unwrap_or_default().parse::<u64>().expect("a number")
        };
        shown.map(count).sum()
    }

    /// To how many datagrams a rule with a counter has applied.
    pub(crate) fn counted(&self) -> u64 {
        let rules: String = self.hosts().iter().map(|host| inside(host, "nft list ruleset")).collect();
        let counts =
            rules.split("counter packets ").skip(1).map(|rest| rest.split(' ').next().unwrap_or_default().parse::<u64>());
        counts.sum::<Result<_, _>>().expect("counts")
    }

    /// Pulls the plug of a host, which does not notice.
    pub(crate) fn unplug(&self, host: usize) {
        inside(&self.names[self.hosts().len()], &format!("ip link set dev {} nomaster", port(host + 1)));
    }

    /// The processes on a host.
    pub(crate) fn processes(&self, host: usize) -> Vec<Pid> {
        processes(&self.names[host])
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let left: usize = self.names.iter().map(|name| remove(name)).sum();
        assert!(left == 0 || std::thread::panicking(), "{left} processes were left on the hosts");
    }
}

/// The bridge's end of the link to a host.
fn port(number: usize) -> String {
    format!("to-{number}")
}

/// Makes a namespace, runs commands there, and removes it.
fn probe(commands: &[&str]) -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("they need root".into());
    }
    let name = format!("{PREFIX}{}-probe", std::process::id());
    let outcome = attempt("ip", &["netns", "add", &name]);
    let outcome = commands.iter().fold(outcome, |outcome, command| outcome.and_then(|_| attempt_inside(&name, command)));
    remove(&name);
    outcome.map(drop)
}

/// Whether it can be done; if not, a line says so that is seen in the output of tests that pass too.
fn told(what: &str, outcome: Result<(), String>) -> bool {
    if let Err(why) = &outcome {
        let _ = writeln!(std::io::stderr(), "{what}: {why}");
    }
    outcome.is_ok()
}

/// Removes what tests that were killed have left.
fn sweep() {
    for entry in std::fs::read_dir(NAMED).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()).and_then(|number| number.parse().ok());
        if maker.is_some_and(|maker: u32| maker == std::process::id() || !Path::new(&format!("/proc/{maker}")).exists()) {
            remove(&name);
        }
    }
}

/// Removes a namespace, if there is one of this name, with its processes; returns how many these were.
fn remove(name: &str) -> usize {
    if !exists(name) {
        return 0;
    }
    let processes = processes(name);
    for process in &processes {
        let _ = kill_process(*process, Signal::KILL);
    }
    let _ = attempt("ip", &["netns", "delete", name]);
    processes.len()
}

fn exists(name: &str) -> bool {
    Path::new(NAMED).join(name).exists()
}

fn processes(name: &str) -> Vec<Pid> {
    let listed = attempt("ip", &["netns", "pids", name]).unwrap_or_default();
    listed.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)).collect()
}

/// Runs a command in a namespace, which must succeed; what follows the first word of `nft` is one argument.
fn inside(name: &str, command: &str) -> String {
    attempt_inside(name, command).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn attempt_inside(name: &str, command: &str) -> Result<String, String> {
    let (program, arguments) = command.split_once(' ').expect("a program and its arguments");
    let arguments = if program == "nft" { vec![arguments] } else { arguments.split(' ').collect() };
    attempt("ip", &[&["netns", "exec", name, program], &arguments[..]].concat())
}

fn run(program: &str, arguments: &[&str]) {
    attempt(program, arguments).unwrap_or_else(|why| panic!("{why}"));
}

/// What a command says, or why it failed.
fn attempt(program: &str, arguments: &[&str]) -> Result<String, String> {
    let failed = |why: &str| format!("{program} {}: {}", arguments.join(" "), why.trim());
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(&error.to_string()))?;
    let [said, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(said) } else { Err(failed(&error)) }
}

#[test]
fn networks_are_gone_after_a_panic_too() {
    let Some(network) = Network::ordinary(2) else { return };
    let names = network.names.clone();
    assert!(names.iter().all(|name| exists(name)));
    let outcome = std::panic::catch_unwind(move || {
        let _network = network;
        panic!("on purpose");
    });
    assert!(outcome.is_err() && !names.iter().any(|name| exists(name)));
}

#[test]
fn what_killed_tests_have_left_is_removed() {
    /// Larger than the number of any process.
    const NOBODY: u32 = (1 << 22) + 1;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if !*ALLOWED {
        return;
    }
    let name = format!("{PREFIX}{NOBODY}-a");
    run("ip", &["netns", "add", &name]);
    let mut sleeper = Command::new("ip").args(["netns", "exec", &name, "sleep", "20"]).spawn().expect("ip is there");
    while processes(&name).is_empty() {
        std::thread::yield_now();
    }
    sweep();
    assert_eq!(sleeper.wait().expect("a status").signal(), Some(Signal::KILL.as_raw()));
    assert!(!exists(&name));
}
