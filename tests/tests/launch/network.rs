//! The sockets and addresses that ranks get to reach each other over a network. The ranks are shells that print them.

use crate::{Ended, end, pelago, run, wait_until_gone};

/// Prints the rank's socket, its address in the kernel's notation, and every socket that the rank could use.
const SHOW: &str = r#"
own=$(readlink /proc/$$/fd/$PELAGO_SOCKET)
inode=${own#socket:[}
while read slot at rest; do
    case "$rest" in *" ${inode%]} "*) echo "$PELAGO_RANK at $at $own" ;; esac
done < /proc/net/udp
for descriptor in /proc/$$/fd/*; do echo "$PELAGO_RANK has $(readlink $descriptor)"; done
"#;

fn shell(arguments: &[&str], script: &str) -> Ended {
    run(&[&["run"], arguments, &["sh", "-c", script]].concat())
}

#[test]
fn each_rank_has_its_own_socket_on_consecutive_ports_of_the_loopback() {
    let ended = shell(&["-n", "3", "--transport", "udp"], SHOW);
    let lines: Vec<Vec<_>> = ended.sorted_lines().into_iter().map(|line| line.split(' ').collect()).collect();
    let shown: Vec<_> = lines.iter().filter(|words| words[1] == "at").collect();
    let ports: Vec<_> = shown.iter().map(|words| words[2].strip_prefix("0100007F:").expect("the loopback")).collect();
    let ports: Vec<_> = ports.into_iter().map(|port| u16::from_str_radix(port, 16).expect("a port")).collect();
    assert!(ports.len() == 3 && ports[1] == ports[0] + 1 && ports[2] == ports[1] + 1, "{ended:?}");
    for words in shown {
        let owners = lines.iter().filter(|line| line[1] == "has" && line[2] == words[3]).map(|line| line[0]);
        assert_eq!(owners.collect::<Vec<_>>(), [words[0]], "{ended:?}");
    }
}

#[test]
fn ranks_are_told_what_the_options_say() {
    const TELL: &str = "echo $PELAGO_TRANSPORT,$PELAGO_ENCRYPT,$PELAGO_FAILURE_SECONDS";
    let options = ["-n", "2", "--transport", "udp", "--encrypt", "--failure-limit", "0.5"];
    assert_eq!(shell(&options, TELL).sorted_lines(), ["udp,1,0.5", "udp,1,0.5"]);
    assert_eq!(shell(&["-n", "1"], TELL).output, "auto,,\n");
    let (mut command, mark) = pelago(&["run", "-n", "1", "sh", "-c", TELL]);
    command.env("PELAGO_TRANSPORT", "shm").env("PELAGO_FAILURE_SECONDS", "2");
    assert_eq!(end(command).output, "shm,,2\n");
    wait_until_gone(&mark);
}

#[test]
fn descriptors_of_a_job_around_this_one_are_not_passed_on() {
    let (mut command, mark) = pelago(&["run", "-n", "1", "sh", "-c", "echo $PELAGO_SOCKET,$PELAGO_CALL"]);
    command.env("PELAGO_SOCKET", "1").env("PELAGO_CALL", "2");
    assert_eq!(end(command).output, ",\n");
    wait_until_gone(&mark);
}
