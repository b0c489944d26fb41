//! Execution traces of Chakra: files in the format of its tools run on every transport and machine, and errors in a file are named.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Ended, end, pelago, run};

/// Encodes a number as a protobuf varint.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7F) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Encodes an attribute whose value is a field of any type.
fn attribute(name: &str, value: Vec<u8>) -> Vec<u8> {
    bytes(10, &[bytes(1, name.as_bytes()), value].concat())
}

const COMP: u64 = 4;
const SEND: u64 = 5;
const RECV: u64 = 6;
const COLL: u64 = 7;

/// Encodes a node with its type, its dependencies, its microseconds and its attributes, which have type int64 as the tools of Chakra write them.
fn node(id: u64, node_type: u64, deps: &[u64], micros: u64, attributes: &[(&str, u64)]) -> Vec<u8> {
    let packed: Vec<u8> = deps.iter().copied().flat_map(varint).collect();
    let attributes: Vec<u8> = attributes.iter().flat_map(|(name, value)| attribute(name, number(9, *value))).collect();
    let deps = if deps.is_empty() { Vec::new() } else { bytes(5, &packed) };
    [number(1, id), bytes(2, b"n"), number(3, node_type), deps, number(7, micros), attributes].concat()
}

fn trace(nodes: &[Vec<u8>]) -> Vec<u8> {
    let metadata = bytes(1, b"0.0.4");
    let messages = std::iter::once(&metadata).chain(nodes);
    messages.flat_map(|message| [varint(message.len() as u64), message.clone()].concat()).collect()
}

/// Writes the traces of all ranks, and returns the prefix of their names.
fn files(name: &str, traces: &[Vec<u8>]) -> String {
    let prefix = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned();
    traces.iter().enumerate().for_each(|(rank, trace)| fs::write(format!("{prefix}.{rank}.et"), trace).unwrap());
    prefix
}

const SIM: [&str; 5] = ["sim", "--machine", "rx200-qdr", "--quiet", "-n"];

fn simulated(ranks: &str, arguments: &[&str]) -> Ended {
    run(&[&SIM[..], &[ranks, "chakra"], arguments].concat())
}

#[track_caller]
fn microseconds(ended: &Ended) -> f64 {
    ended.expect(0, "");
    ended.output.trim().rsplit(' ').next().unwrap().parse().unwrap()
}

/// Layers of a model on four ranks: computation, a reduction over all, a message to the next rank, and all other collective operations at the end.
#[test]
fn a_trace_runs_on_every_transport_and_machine() {
    let traces: Vec<_> = (0..4_u64)
        .map(|rank| {
            let (next, previous) = ((rank + 1) % 4, (rank + 3) % 4);
            let mut nodes = vec![node(0, 1, &[], 0, &[]), node(10, COMP, &[0], 100, &[("is_cpu_op", 0)])];
            nodes.push(node(11, COLL, &[10], 0, &[("comm_type", 0), ("comm_size", 40_000), ("is_cpu_op", 0)]));
            nodes.push(node(12, SEND, &[11], 0, &[("comm_dst", next), ("comm_size", 3_000), ("comm_tag", 5)]));
            nodes.push(node(13, RECV, &[], 0, &[("comm_src", previous), ("comm_size", 3_000), ("comm_tag", 5)]));
            let collective = |kind| node(20 + kind, COLL, &[12, 13], 0, &[("comm_type", kind), ("comm_size", 4_000)]);
            nodes.extend((1..10).map(collective));
            trace(&nodes)
        })
        .collect();
    let prefix = files("model", &traces);
    for start in [
        &["run", "-n", "4", "--transport", "shm"][..],
        &["run", "-n", "4", "--transport", "udp"],
        &[&SIM[..], &["4"]].concat(),
        &["sim", "--machine", "laptop", "--per-node", "4", "--quiet", "-n", "4"],
    ] {
        let ended = run(&[start, &["chakra", &prefix]].concat());
        ended.expect(0, "");
        assert!(ended.output.starts_with("chakra ranks 4 operations 56 messages 4 bytes 12000 us "), "{}", ended.output);
        assert!(microseconds(&ended) > 100.0, "{}", ended.output);
    }
}

#[test]
fn communication_goes_on_beside_computing_and_processor_and_accelerator_too() {
    let time = |name: &str, nodes: &[Vec<u8>], options: &[&str]| {
        let prefix = files(name, &[trace(nodes)]);
        microseconds(&run(&[&SIM[..], &["1"], options, &["chakra", &prefix]].concat()))
    };
    let compute = |id, deps: &[u64], is_cpu_op| node(id, COMP, deps, 50, &[("is_cpu_op", is_cpu_op)]);
    assert_eq!(time("apart", &[compute(1, &[], 0), compute(2, &[], 0)], &[]), 100.0);
    assert_eq!(time("beside", &[compute(1, &[], 0), compute(2, &[], 1)], &[]), 50.0);
    assert_eq!(time("after", &[compute(1, &[], 0), compute(2, &[1], 1)], &[]), 100.0);
    assert_eq!(time("zero", &[compute(1, &[], 0), compute(2, &[1], 1)], &["--compute", "zero"]), 0.0);
    // A reduction over all that takes 100 us on a slow network.
    let both = |name: &str, deps: &[u64]| {
        let sum = node(1, COLL, &[], 0, &[("comm_type", 0), ("comm_size", 400_000)]);
        let prefix = files(name, &[0, 1].map(|_| trace(&[sum.clone(), node(2, COMP, deps, 200, &[])])));
        microseconds(&simulated("2", &[&prefix]))
    };
    let (beside, after) = (both("sum-beside", &[]), both("sum-after", &[1]));
    assert!((200.0..210.0).contains(&beside) && after > 300.0, "{beside} {after}");
}

#[test]
fn groups_of_ranks_have_collective_operations_of_their_own() {
    let in_group = |name: &str| {
        let group = attribute("pg_name", bytes(29, name.as_bytes()));
        trace(&[[node(1, COLL, &[], 0, &[("comm_type", 0), ("comm_size", 1_000)]), group].concat()])
    };
    let prefix = files("groups", &[in_group("a"), in_group("b"), in_group("a"), in_group("b")]);
    let groups = format!("{prefix}.json");
    fs::write(&groups, r#"{"a": [0, 2], "b": [3, 1]}"#).unwrap();
    simulated("4", &[&prefix, "--groups", &groups]).expect(0, "");
    for (text, says) in [
        (r#"{"a": [0, 2]}"#, "is of the group b, whose ranks are unknown: name them by --groups"),
        (r#"{"a": [0, 2], "b": [3, 0]}"#, "is of the group b, which rank 1 is not in"),
        (r#"{"a": [0, 4]}"#, "group a has rank 4, the job has 4 ranks"),
        (r#"{"a": [0, 0]}"#, "group a: rank 0 appears twice in the team"),
        ("{\"\\u001b[31m\": [0, 4]}", "group  [31m has rank 4, the job has 4 ranks"),
        ("{", "EOF while parsing"),
    ] {
        fs::write(&groups, text).unwrap();
        let ended = simulated("4", &[&prefix, "--groups", &groups]);
        assert!(ended.code == Some(2) && ended.error.contains(says), "{ended:?}");
    }
    fs::File::create(&groups).unwrap().set_len((64 << 20) + 1).unwrap();
    let ended = simulated("4", &[&prefix, "--groups", &groups]);
    assert!(
        ended.code == Some(2) && ended.error.contains("it has more than 64 MiB, the maximum of a file of groups"),
        "{ended:?}"
    );
}

/// The root of a scatter needs memory for the data of all ranks.
#[test]
fn data_that_memory_does_not_hold_is_an_error() {
    let scatter = node(1, COLL, &[], 0, &[("comm_type", 4), ("comm_size", 1 << 30)]);
    let prefix = files("large", &[(); 4].map(|()| trace(std::slice::from_ref(&scatter))));
    let (sim, _) = pelago(&[&SIM[..], &["4", "--heap", "256M", "chakra", &prefix]].concat());
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""]).arg(sim.get_program()).args(sim.get_args());
    let ended = end(limited);
    // The error of the root, or of a rank whose own data do not fit beside those of others.
    assert!(ended.code == Some(1) && ended.error.contains("bytes of memory for"), "{ended:?}");
}

#[test]
fn what_is_wrong_is_named_with_file_and_byte() {
    let good = trace(&[node(1, COMP, &[], 5, &[])]);
    let of = |nodes: &[Vec<u8>]| trace(nodes);
    let coloured = |name: &str| format!("\x1b[31m{name}");
    let long = format!("is of the group  [31m{}, whose", "x".repeat(59));
    for (trace, says) in [
        (Vec::new(), "byte 0: it is empty"),
        (good[..good.len() - 2].to_vec(), "the file ends within a message of 9 bytes"),
        (b"\xFF\xFF\xFF\x7F".to_vec(), "byte 0: a message of 268435455 bytes: 16777216 at most; is it a Chakra trace?"),
        (of(&[node(7, 2, &[], 0, &[])]), "byte 9: node 7 (n) is a MEM_LOAD_NODE, which is not supported"),
        (of(&[node(7, 99, &[], 0, &[])]), "node 7 (n) has the type 99, which the schema 0.0.4 does not have"),
        (of(&[node(7, COMP, &[8], 0, &[])]), "node 7 waits for node 8, which is not there"),
        (of(&[node(7, COMP, &[8], 0, &[]), node(8, COMP, &[7], 0, &[])]), "the node at place 0 waits for itself"),
        (of(&[node(7, COMP, &[], 0, &[]), node(7, COMP, &[], 0, &[])]), "node 7 is there twice"),
        (of(&[node(7, COMP, &[], 1 << 60, &[])]), "more than a day"),
        (of(&[node(7, SEND, &[], 0, &[("comm_size", 5)])]), "node 7 has no comm_dst"),
        (of(&[node(7, SEND, &[], 0, &[("comm_dst", 0)])]), "node 7 has no comm_size"),
        (of(&[node(7, SEND, &[], 0, &[("comm_dst", 0), ("comm_size", i64::MAX as u64)])]), "bytes; 1099511627776 at most"),
        (of(&[node(7, SEND, &[], 0, &[("comm_dst", 3), ("comm_size", 5)])]), "has the comm_dst 3; the job has 1 ranks"),
        (of(&[node(7, SEND, &[], 0, &[("comm_src", 3), ("comm_size", 5)])]), "has the comm_src 3, in the file of rank 0"),
        (of(&[node(7, RECV, &[], 0, &[("comm_src", u64::MAX)])]), "node 7 (n) has a comm_src that is no number from 0 on"),
        (of(&[node(7, COLL, &[], 0, &[("comm_type", 77), ("comm_size", 5)])]), "has the comm_type 77, which"),
        (of(&[node(7, COLL, &[], 0, &[("comm_type", 0), ("comm_size", 1 << 40)])]), "1073741824 at most"),
        (of(&[[node(7, COLL, &[], 0, &[]), attribute("involved_dim", bytes(28, &bytes(1, &[1, 0])))].concat()]), "involved_dim"),
        (of(&[[node(7, 2, &[], 0, &[]), bytes(2, coloured("red").as_bytes())].concat()]), "node 7 ( [31mred) is a MEM_LOAD_NODE"),
        (
            of(&[[
                node(7, COLL, &[], 0, &[("comm_type", 9)]),
                attribute("pg_name", bytes(29, coloured(&"x".repeat(1000)).as_bytes())),
            ]
            .concat()]),
            long.as_str(),
        ),
        (of(&[bytes(1, b"x")]), "byte 9: field 1 of a node has another type than in the schema 0.0.4"),
    ] {
        let ended = simulated("1", &[&files("wrong", &[trace])]);
        assert!(!ended.error.lines().any(|line| line.contains(char::is_control)), "{ended:?}");
        let says = [says, "chakra: rank 0: ", "wrong.0.et: byte "];
        assert!(ended.code == Some(2) && says.iter().all(|says| ended.error.contains(says)), "{says:?}: {ended:?}");
    }
    let alone = files("alone", &[of(&[node(7, COLL, &[], 0, &[("comm_type", 0), ("comm_size", 5)])]), trace(&[])]);
    let ended = simulated("2", &[&alone]);
    assert!(ended.code == Some(1) && ended.error.contains("rank 0 waits for node 0 of "), "{ended:?}");
    let ended = simulated("2", &[&files("wrong", &[good])]);
    assert!(ended.code == Some(2) && ended.error.contains("wrong.1.et is missing"), "{ended:?}");
}
