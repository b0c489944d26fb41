//! Hosts that are network namespaces, connected by a bridge in another namespace, and faults of the network between them. All namespaces are removed
//! at the end.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

use rustix::process::{Pid, Signal, geteuid, kill_process};

/// Prefix of the names of all namespaces of these tests. The number of the process that made them follows, and that of the network.
const PREFIX: &str = "pelago-test-";

/// The folder in which the system keeps named namespaces.
const NAMED: &str = "/run/netns";

/// Maximum packet size (MTU) of an ordinary network.
pub(crate) const ETHERNET_BYTES: u32 = 1500;

/// Networks that exist at a time. A job on a network mostly waits, for packets, timeouts and failure limits; more jobs than two would share the cores of a
/// small machine.
const NETWORKS_MAX: usize = 2;

/// The number of networks, and the event of the end of one.
static NETWORKS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The right to make a network.
struct Turn;

impl Turn {
    /// Waits until fewer than `NETWORKS_MAX` networks exist.
    fn wait() -> Self {
        let (count, ended) = &NETWORKS;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        *ended.wait_while(count, |count| *count == NETWORKS_MAX).unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (count, ended) = &NETWORKS;
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ended.notify_one();
    }
}

/// Whether these tests may create networks on this machine.
static ALLOWED: LazyLock<bool> = LazyLock::new(|| {
    sweep(|maker| maker == std::process::id() || is_gone(maker));
    told(
        "namespaces are not tested here",
        probe(&["ip link add name one type veth peer name other", "ip link add name bridge type bridge"]),
    )
});

/// Whether this machine can filter the packets of these networks.
static FILTERS: LazyLock<bool> = LazyLock::new(|| {
    told(
        "networks that lose datagrams are not tested here",
        probe(&[CHAIN, "nft add rule inet pelago input numgen random mod 100 < 1 counter drop"]),
    )
});

/// The queueing discipline by which this machine delays the packets of a host: a random delay of each datagram, or, where the kernel has no such
/// discipline, a delay of the packets that exceed a rate.
static LATE: LazyLock<Option<&str>> = LazyLock::new(|| {
    let ways = ["netem delay 1ms 900us", "tbf rate 10mbit burst 1600 latency 100ms"];
    let outcomes = ways.map(|way| {
        probe(&["ip link add name one type veth peer name other", &format!("tc qdisc add dev one root {way}")]).map(|()| way)
    });
    let [chance, rate] = outcomes;
    let found = chance.or(rate);
    told("networks that are late are not tested here", found.clone().map(drop)).then(|| found.expect("a way"))
});

/// The commands that create the filter chain for received packets of a host.
const CHAIN: &str = "nft add table inet pelago; add chain inet pelago input { type filter hook input priority 0; }";

/// The family of the hosts' addresses.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Hosts and the links between them, which carry single datagrams like links between machines. At most `NETWORKS_MAX` exist at a time: other tests
/// wait for the end of one.
pub(crate) struct Network {
    /// The hosts, then the bridge.
    names: Vec<String>,
    _turn: Turn,
}

impl Network {
    /// Creates a host for each of `links`, the maximum packet sizes of the hosts' links; `None` where that is not allowed.
    pub(crate) fn of(links: &[u32], family: Family) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let turn = Turn::wait();
        if !*ALLOWED {
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = |place| format!("{PREFIX}{}-{number}{place}", std::process::id());
        let names = ('a'..).take(links.len()).map(name).chain([name('+')]).collect();
        let network = Self { names, _turn: turn };
        network.make(links, family);
        Some(network)
    }

    /// Creates hosts on an ordinary network.
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
                // No other host has this address; duplicate address detection would take a second.
                Family::V6 => format!("fd00::{number}/64 nodad"),
            };
            inside(host, &format!("ip address add {address} dev net"));
            inside(host, "ip link set dev lo up");
            // Without segmentation offload, which would pass many datagrams as one packet of any size that is lost as a whole.
            inside(host, "ip link set dev net up gso_max_segs 1");
        }
    }

    /// Connects the hosts by a second network, with an interface `other` of each host.
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

    /// Returns the number of bytes that all hosts have received by an interface.
    pub(crate) fn received(&self, interface: &str) -> u64 {
        let count = |host| inside(host, &format!("cat /sys/class/net/{interface}/statistics/rx_bytes"));
        self.hosts().iter().map(|host| count(host).trim().parse::<u64>().expect("a count")).sum()
    }

    /// The hosts.
    pub(crate) fn hosts(&self) -> &[String] {
        self.names.split_last().expect("a bridge").1
    }

    /// Applies `rule` to every datagram that `host` receives from now on. Returns `false` where filters are not available.
    pub(crate) fn filter(&self, host: usize, rule: &str) -> bool {
        if *FILTERS {
            inside(&self.names[host], CHAIN);
            inside(&self.names[host], &format!("nft add rule inet pelago input meta l4proto udp {rule}"));
        }
        *FILTERS
    }

    /// Drops all TCP packets that the hosts receive from now on, so that connections get no answer. Returns `false` where filters are not available.
    pub(crate) fn refuse_streams(&self) -> bool {
        for host in self.hosts().iter().filter(|_| *FILTERS) {
            inside(host, CHAIN);
            inside(host, "nft add rule inet pelago input iifname net meta l4proto tcp counter drop");
        }
        *FILTERS
    }

    /// Drops, at random, `percent` percent of the datagrams that each host receives from now on. Returns `false` where filters are not available.
    pub(crate) fn lose(&self, percent: u32) -> bool {
        let rule = format!("numgen random mod 100 < {percent} counter drop");
        (0..self.hosts().len()).all(|host| self.filter(host, &rule))
    }

    /// Drops one of `number` datagrams that each host receives from now on, beginning with the first: unlike random losses, this guarantees a loss
    /// among few datagrams. Returns `false` where filters are not available.
    pub(crate) fn lose_one_of(&self, number: u32) -> bool {
        let rule = format!("numgen inc mod {number} < 1 counter drop");
        (0..self.hosts().len()).all(|host| self.filter(host, &rule))
    }

    /// Delays the packets that each host sends from now on. Returns `false` where delays are not available.
    pub(crate) fn be_late(&self) -> bool {
        for (host, way) in self.hosts().iter().zip(LATE.iter().cycle()) {
            inside(host, &format!("tc qdisc add dev net root {way}"));
        }
        LATE.is_some()
    }

    /// Returns the number of packets that `be_late` has delayed.
    pub(crate) fn late(&self) -> u64 {
        // A queue with random delays holds all packets, one with a rate those above its limit.
        let word = if LATE.is_some_and(|way| way.starts_with("netem")) { " bytes " } else { "overlimits " };
        let shown = self.hosts().iter().map(|host| inside(host, "tc -s qdisc show dev net"));
        let count = |shown: String| {
            let (_, rest) = shown.split_once(word).expect("a count");
            rest.split(' ').next().unwrap_or_default().parse::<u64>().expect("a number")
        };
        shown.map(count).sum()
    }

    /// Returns the number of datagrams to which rules with a counter have applied.
    pub(crate) fn counted(&self) -> u64 {
        let rules: String = self.hosts().iter().map(|host| inside(host, "nft list ruleset")).collect();
        let counts =
            rules.split("counter packets ").skip(1).map(|rest| rest.split(' ').next().unwrap_or_default().parse::<u64>());
        counts.sum::<Result<_, _>>().expect("counts")
    }

    /// Disconnects a host from the bridge. The host's own link stays up.
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

/// Returns the name of the bridge's end of the link to a host.
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

/// Whether an attempt was successful. If not, writes a line that is visible in the output of passing tests, too.
fn told(what: &str, outcome: Result<(), String>) -> bool {
    if let Err(why) = &outcome {
        let _ = writeln!(std::io::stderr(), "{what}: {why}");
    }
    outcome.is_ok()
}

/// Removes the namespaces that processes of these numbers have left.
fn sweep(makers: impl Fn(u32) -> bool) {
    for entry in std::fs::read_dir(NAMED).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()).and_then(|number| number.parse().ok());
        if maker.is_some_and(&makers) {
            remove(&name);
        }
    }
}

fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

/// Removes the namespace of this name, if it exists, with its processes. Returns the number of these processes.
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

/// Runs a command in a namespace. The command must succeed. The text after the word `nft` is one argument.
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

/// Returns the output of a command, or the reason of its failure.
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
    let _turn = Turn::wait();
    if !*ALLOWED {
        return;
    }
    let name = format!("{PREFIX}{NOBODY}-a");
    run("ip", &["netns", "add", &name]);
    let mut sleeper = Command::new("ip").args(["netns", "exec", &name, "sleep", "20"]).spawn().expect("ip is there");
    while processes(&name).is_empty() {
        std::thread::yield_now();
    }
    sweep(is_gone);
    assert_eq!(sleeper.wait().expect("a status").signal(), Some(Signal::KILL.as_raw()));
    assert!(!exists(&name));
}
