//! A process on the same network that sends noise to ranks, replays and alters their datagrams, and listens to them.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with};
use rustix::process::Pid;

use crate::{Ended, PATIENCE, PROGRAM, Running, pelago};

const RANKS: usize = 3;

/// Number of datagrams of noise, and number of the job's datagrams that are captured.
const NOISE: u32 = 2_000;
const HEARD: usize = 300;

/// The upper six bytes of every word that the program transfers.
const MARK: u64 = 0x5EC2_E7DA_7A5E << 16;

#[test]
fn strangers_change_nothing_and_are_counted() {
    let job = Beset::start("changed", &[]);
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    // Errors are ignored: a datagram may be too large for the network or for the kernel's buffers.
    let send = |datagram: &[u8], port| drop(stranger.send_to(datagram, (Ipv4Addr::LOCALHOST, port)));
    let mut numbers = (0u32..).map(|number| number.wrapping_mul(0x9E37_79B9) ^ number.rotate_left(7));
    for (index, &port) in (0..NOISE).zip(job.ports.iter().cycle()) {
        let noise: Vec<u8> = numbers.by_ref().take(index as usize % 300).flat_map(u32::to_le_bytes).collect();
        send(&noise, port);
    }
    let wire = Wire::open();
    for (port, datagram) in wire.iter().flat_map(|wire| wire.listen(&job.ports)).take(HEARD) {
        job.ports.iter().for_each(|&port| send(&datagram, port));
        let mut altered = datagram.clone();
        altered[datagram.len() / 2] ^= 1;
        send(&altered, port);
        send(&datagram[..datagram.len() - 1], port);
    }
    let counted = job.end();
    assert_eq!(counted.len(), RANKS);
    for (rank, counts) in &counted {
        let met = |name: &str| counts.get(name).is_some_and(|&count| count > 0);
        assert!(met("datagrams_received") && met("datagrams_forged"), "{rank}: {counts:?}");
        assert!(wire.is_none() || met("datagrams_duplicate"), "{rank}: {counts:?}");
    }
}

#[test]
fn encrypted_data_are_not_seen_on_the_network() {
    let Some(wire) = Wire::open() else { return };
    let mark = &MARK.to_le_bytes()[2..];
    let shows = |datagram: &[u8]| datagram.windows(mark.len()).any(|part| part == mark);
    let open = Beset::start("open", &[]);
    assert!(wire.listen(&open.ports).take(10 * HEARD).any(|(_, datagram)| shows(&datagram)), "data are seen");
    open.end();
    let hidden = Beset::start("hidden", &["--encrypt"]);
    assert!(!wire.listen(&hidden.ports).take(10 * HEARD).any(|(_, datagram)| shows(&datagram)), "data are seen");
    hidden.end();
}

/// Maximum number of reads of the table of sockets.
const LOOKS: usize = 100;

/// A job that transfers and checks data until a file tells it to end.
struct Beset {
    running: Running,
    enough: PathBuf,
    /// The UDP ports of its ranks.
    ports: Vec<u16>,
}

impl Beset {
    fn start(name: &str, options: &[&str]) -> Self {
        let enough = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let (ranks, mark) = (RANKS.to_string(), MARK.to_string());
        let file = enough.to_str().expect("a path of text");
        let run = ["run", "-n", &ranks, "--transport", "udp", "--time-limit", "60"];
        let (mut command, job) = pelago(&[&run, options, &[PROGRAM, "beset", file, &mark]].concat());
        command.env("PELAGO_STATISTICS", "1");
        let running = Running::of(RANKS, (command, job));
        let ports = ports(&running.processes);
        Self { running, enough, ports }
    }

    /// Ends the job, which must succeed. Returns the counters of each rank.
    fn end(self) -> BTreeMap<String, BTreeMap<String, u64>> {
        fs::write(&self.enough, "").expect("a file");
        let (_, ended) = self.running.end();
        fs::remove_file(&self.enough).expect("the file");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.output.matches("found all as it should be").count(), RANKS, "{ended:?}");
        counted(&ended)
    }
}

/// Returns the counters that the ranks have printed, by rank and name.
fn counted(ended: &Ended) -> BTreeMap<String, BTreeMap<String, u64>> {
    let count = |text: &str| text.split_once(' ').and_then(|(name, count)| Some((name.to_owned(), count.parse().ok()?)));
    let lines = ended.error.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(rank, counts)| (rank.to_owned(), counts.split(", ").filter_map(count).collect())).collect()
}

/// Returns the UDP ports of these ranks. The system's table of sockets is read in pieces, between which sockets may change, so that a row may be missing.
fn ports(processes: &[Pid]) -> Vec<u16> {
    let found = (0..LOOKS).find_map(|_| processes.iter().map(port).collect());
    found.expect("a port of each rank")
}

/// Returns the UDP port of a rank.
fn port(process: &Pid) -> Option<u16> {
    let table = fs::read_to_string("/proc/net/udp").expect("/proc");
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let environment = fs::read(format!("/proc/{process}/environ")).expect("it lives");
    let mut variables = environment.split(|&byte| byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
    let descriptor = variables.find_map(|variable| variable.strip_prefix("PELAGO_SOCKET="))?;
    let socket = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    let number = socket.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    let row = rows.find(|row| row.get(9) == Some(&number))?;
    u16::from_str_radix(row[1].split_once(':')?.1, 16).ok()
}

/// A raw socket that captures all packets of this machine.
struct Wire(OwnedFd);

impl Wire {
    /// `None` where that is not permitted.
    fn open() -> Option<Self> {
        const INTERNET_PROTOCOL: u16 = 0x0800;
        let protocol = NonZeroU32::new(INTERNET_PROTOCOL.to_be().into()).map(Protocol::from_raw);
        let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol);
        let socket =
            socket.inspect_err(|error| eprintln!("listening to the network is left out, which this user may not: {error}"));
        Some(Self(socket.ok()?))
    }

    /// Returns the datagrams between these ports of this machine, with their destination ports.
    fn listen(&self, ports: &[u16]) -> impl Iterator<Item = (u16, Vec<u8>)> {
        set_socket_timeout(&self.0, Timeout::Recv, Some(PATIENCE)).expect("a limit");
        let mut packet = vec![0; 1 << 16];
        let begun = Instant::now();
        let next = move || {
            assert!(begun.elapsed() < PATIENCE, "the job goes on");
            let (bytes, _) = recv(&self.0, &mut packet, RecvFlags::empty()).expect("something passes");
            let of_job = datagram(&packet[..bytes]).filter(|([from, to], _)| ports.contains(from) && ports.contains(to));
            Some(of_job.map(|([_, to], payload)| (to, payload.to_vec())))
        };
        std::iter::from_fn(next).flatten()
    }
}

/// Returns source port, destination port and payload of a packet that is a UDP datagram to the loopback.
fn datagram(packet: &[u8]) -> Option<([u16; 2], &[u8])> {
    const UDP: u8 = 17;
    let header_bytes = usize::from(packet.first()? & 15) * 4;
    let (header, datagram) = packet.split_at_checked(header_bytes)?;
    if header.get(9) != Some(&UDP) || header.get(16..20)? != Ipv4Addr::LOCALHOST.octets() {
        return None;
    }
    let (&[from, from_low, to, to_low, ..], payload) = datagram.split_first_chunk::<8>()?;
    Some(([[from, from_low], [to, to_low]].map(u16::from_be_bytes), payload))
}
