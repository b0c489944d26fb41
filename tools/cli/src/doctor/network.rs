//! Checks of sockets, fabrics, and launchers for jobs on several hosts.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;

use pelago_dynamic::{DynamicLibrary, Visibility};

use super::System;
use super::finding::Finding;

/// Socket buffer that each rank requests over UDP; equal to `UDP_SOCKET_BUFFER_BYTES` of the transport.
const SOCKET_BUFFER_BYTES: u64 = 4 << 20;

/// Time in which a datagram to the same socket arrives.
const DATAGRAM_WAIT: Duration = Duration::from_millis(500);

pub(super) fn findings(system: &System) -> Vec<Finding> {
    vec![
        datagrams(),
        buffer(
            system,
            "receive buffer",
            "net.core.rmem_max",
            "bursts to one rank overflow it earlier: datagrams are lost and sent again",
        ),
        buffer(system, "send buffer", "net.core.wmem_max", "a rank waits for the kernel earlier while it sends long transfers"),
        fabric(),
        launchers(),
        remote_shell(),
    ]
}

fn datagrams() -> Finding {
    match reach_itself() {
        Ok(()) => Finding::good("datagrams", "a socket reaches itself over the loopback interface"),
        Err(error) => Finding::fails(
            "datagrams",
            error.to_string(),
            "jobs over UDP and of several hosts cannot start",
            "a network namespace whose loopback interface is up: ip link set lo up",
        ),
    }
}

/// Sends a datagram to the socket itself: a socket can be bound where no datagram arrives.
fn reach_itself() -> std::io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.set_read_timeout(Some(DATAGRAM_WAIT))?;
    socket.send_to(&[], socket.local_addr()?)?;
    socket.recv_from(&mut []).map(drop)
}

fn buffer(system: &System, name: &'static str, key: &str, cost: &str) -> Finding {
    let path = format!("/proc/sys/{}", key.replace('.', "/"));
    match system.number(&path) {
        None => Finding::unknown(name),
        Some(bytes) if bytes < SOCKET_BUFFER_BYTES => Finding::costs(
            name,
            format!("{} KiB of the {} KiB that a rank asks for", bytes >> 10, SOCKET_BUFFER_BYTES >> 10),
            cost,
            format!("sysctl {key}={SOCKET_BUFFER_BYTES}"),
        ),
        Some(bytes) => Finding::good(name, format!("{} KiB", bytes >> 10)),
    }
}

fn fabric() -> Finding {
    match pelago::fabric(None) {
        Ok(provider) => Finding::good("libfabric", provider),
        Err(why) => Finding::costs(
            "libfabric",
            why,
            "jobs of several hosts use UDP; networks with RDMA are not used as such",
            "install libfabric (Debian: libfabric1)",
        ),
    }
}

/// Reports launchers other than `pelago run` whose command or library is installed.
fn launchers() -> Finding {
    let commands = ["srun", "mpirun", "mpiexec.hydra", "torchrun"].into_iter().filter(|name| on_path(name).is_some());
    let pmix = DynamicLibrary::open("libpmix.so.2", Visibility::Local).is_ok().then_some("libpmix.so.2");
    let found = commands.chain(pmix).collect::<Vec<_>>().join(", ");
    let found = if found.is_empty() { "none".into() } else { found };
    Finding::good("other launchers", format!("{found}; pelago run needs none of them"))
}

fn remote_shell() -> Finding {
    match on_path("ssh") {
        Some(path) => Finding::good("remote shell", path.display().to_string()),
        None => Finding::costs(
            "remote shell",
            "no ssh in PATH",
            "pelago run --hosts needs --remote-shell COMMAND",
            "install an ssh client",
        ),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}
