//! Connections between ranks of one process.

use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Creates connections between all ranks: for each rank its connections in the order of ranks.
pub(crate) fn mesh(ranks: u32) -> Vec<Vec<Option<TcpStream>>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of this machine");
    let mut mesh: Vec<Vec<Option<TcpStream>>> = (0..ranks).map(|_| (0..ranks).map(|_| None).collect()).collect();
    for (one, other) in (0..ranks as usize).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let near = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (far, _) = listener.accept().expect("somebody has connected");
        for stream in [&near, &far] {
            stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).expect("a fresh socket");
        }
        (mesh[one][other], mesh[other][one]) = (Some(near), Some(far));
    }
    mesh
}
