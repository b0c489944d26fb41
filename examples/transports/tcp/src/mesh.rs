//! The connections between all ranks: each connects to those before it, and those after it connect to it.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};

use pelago::Rank;

use crate::message::{Key, greet, greeted};

/// The connections of rank `me` to the others in their order, none to itself. `wait` returns when somebody may have connected, or with an
/// error when not everybody ever will.
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
                // Strangers are not answered.
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
        // The kernel finds out about a machine that is gone without a word (T6).
        rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    }
    Ok(streams)
}
