//! C programs on three hosts, also on a network that loses datagrams: no program hangs, and all checks of the programs succeed.

use std::path::Path;
use std::process::{Command, Output};

use pelago_test_support::c::{LIBRARY_PATH, bindings, compile, install, lacks, libraries, make_programs};

use crate::job::pelago;
use crate::network::Network;

/// Rounds of the program that orders operations. Each round transfers 200 KB, which takes long at a high loss rate.
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

fn assert_good(ended: &Output, what: &str) {
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && ended.stdout == b"good\n".repeat(3), "{what}: {said}");
}

/// Programs with 100,000 regions, programs that read the words of containers, and programs that poll memory without a call; and those of a Makefile with the
/// link names and the options of the original; also on networks that lose or delay datagrams.
#[test]
fn programs_that_were_written_for_the_original_run_on_three_hosts() {
    if lacks("make") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [regions, layout, polling] =
        ["regions", "layout", "polling"].map(|name| compile(&format!("{name}.c"), &folder.join(name)));
    let programs = make_programs(&install(&folder.join("acp-hosts"), env!("CARGO_BIN_EXE_pelago-under-test").as_ref()));
    for (percent, is_late) in [(0, false), (5, false), (0, true), (5, true)] {
        let Some(network) = Network::ordinary(3) else { return };
        if percent > 0 && !network.lose(percent) || is_late && !network.be_late() {
            continue;
        }
        let how = format!("at {percent} %{}", if is_late { ", late" } else { "" });
        let polls = ["starter", "global", "heap", "counted", "atomic", "get", "chain"].map(|how| (&polling, how));
        // `tests/acp` runs these programs on one host by the same transport; here they run only on a bad network.
        let polls = polls.into_iter().filter(|_| percent > 0 || is_late);
        for (program, argument) in [(&regions, "100003"), (&layout, "3")].into_iter().chain(polls) {
            let mut command = pelago(&network, 1, &["--transport", "udp"], &[program.to_str().unwrap(), argument]);
            let what = format!("{} {argument} {how}", program.display());
            assert_good(&command.env(LIBRARY_PATH, libraries()).output().unwrap(), &what);
        }
        let nodes = folder.join("acprun-hosts");
        std::fs::write(&nodes, network.hosts().join("\n") + "\n").unwrap();
        let by_file = ["-nodefile", nodes.to_str().unwrap(), "-net", "udp", "-startermemsize", "2097152"];
        let list = network.hosts().join(",");
        let by_list = [&format!("--acp-host={list}"), "-envnet=udp", "--acp-smemsize=2097152"].map(ToOwned::to_owned);
        for name in ["layers", "layers2", "archive"] {
            for options in [by_file.map(ToOwned::to_owned).to_vec(), by_list.to_vec()] {
                let mut acprun = Command::new(bindings().join("bin/acprun"));
                acprun.args(&options).args(["-np", "3", "--pelago-remote-shell=ip netns exec {host}", "--pelago-time-limit=120"]);
                acprun.env("PELAGO", env!("CARGO_BIN_EXE_pelago-under-test")).env_remove(LIBRARY_PATH);
                let ended = acprun.arg(programs.join(name)).arg("3").output().unwrap();
                assert_good(&ended, &format!("acprun {options:?} {name} {how}"));
            }
        }
        assert!(percent == 0 || network.counted() > 0, "nothing was lost");
        assert!(!is_late || network.late() > 0, "nothing was late");
    }
}
