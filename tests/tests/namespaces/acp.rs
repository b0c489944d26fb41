//! C programs on a network that loses datagrams: none of them hangs, and each finds what it checks.

use std::path::Path;

use pelago_test_support::c::{LIBRARY_PATH, compile, libraries};

use crate::job::pelago;
use crate::network::Network;

/// Of the program that orders operations: each moves 200 KB, slowly where much is lost.
const ROUNDS: &str = "12";

#[test]
fn a_lost_datagram_is_sent_again() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for percent in [1, 10] {
        let Some(network) = Network::ordinary(3) else { return };
        if !network.lose(percent) {
            return;
        }
        for group in ["access", "order", "channel", "segbuf", "layout"] {
            let built = compile(&format!("{group}.c"), &folder.join(format!("{group}-lossy")));
            let mut command = pelago(&network, 1, &["--transport", "udp"], &[built.to_str().unwrap(), ROUNDS]);
            let ended = command.env(LIBRARY_PATH, libraries()).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{group} at {percent} %: {said}");
        }
        assert!(percent < 10 || network.counted() > 0, "nothing was lost");
    }
}
