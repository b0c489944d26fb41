//! The connections between all ranks: each rank connects to all lower ranks and accepts connections of all higher ranks.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};

use pelago::Rank;

use crate::message::{Key, greet, greeted};

/// Returns the connections of rank `me` in the order of ranks, none to itself. `wait` returns when a rank may have connected, or with an error
/// when a rank can no longer connect.
pub(crate) fn connect(
    me: Rank,
    key: Key,
    listener: &TcpListener,
    addresses: &[SocketAddr],
    mut wait: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<Option<TcpStream>>> {
    let mut streams: Vec<Option<TcpStream>> = addresses.iter().map(|_| None).collect();
    for (stream, address) in streams[..me.index()].iter_mut().zip(addresses) {
        let connected = TcpStream::connect(address)?;
        greet(&connected, key, me)?;
        *stream = Some(connected);
    }
    while streams[me.index() + 1..].iter().any(Option::is_none) {
        match listener.accept() {
            Ok((connected, _)) => {
                // Connections without the job's key are ignored.
                let rank = greeted(&connected, key).ok().filter(|&rank| rank > me);
                if let Some(place @ None) = rank.and_then(|rank| streams.get_mut(rank.index())) {
                    *place = Some(connected);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait()?,
            Err(error) => return Err(error),
        }
    }
    for stream in streams.iter().flatten() {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // The kernel detects a machine that has failed without closing the connection (T6).
        rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    }
    Ok(streams)
}
