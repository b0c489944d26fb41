//! The conformance programs of OpenSHMEM on three hosts whose network loses datagrams.

use std::path::Path;

use pelago_test_support::shmem::{GROUPS, libraries, program};

use crate::job::pelago;
use crate::network::Network;

#[test]
fn every_group_of_openshmem_conforms_where_datagrams_are_lost() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(network) = Network::ordinary(3) else { return };
    if !network.lose(2) {
        return;
    }
    for group in GROUPS {
        let built = program(&format!("{group}.c"), &["-fwrapv"], &folder.join(format!("shmem-{group}-lossy")));
        let mut command = pelago(&network, 1, &["--transport", "udp"], &[built.to_str().unwrap(), "3", "100"]);
        let ended = command.env("LD_LIBRARY_PATH", libraries()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{group}: {said}");
    }
    assert!(network.counted() > 0, "nothing was lost");
}
