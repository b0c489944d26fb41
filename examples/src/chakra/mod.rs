//! Replays execution traces of Chakra (MLCommons), one file per rank: computing, sends, receives and collective operations.
//!
//! The processor, the accelerator and the network of a rank are separate cores: nodes with `is_cpu_op` occupy the first, other computing the
//! second, communication the third, so that communication overlaps with computing.

mod node;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, ErrorKind, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pelago::collectives::Collective;
use pelago::{Rank, Team, World};

use crate::graph::report::replay;
use crate::graph::source::{Limited, stream};
use crate::graph::{Builder, DEPENDENCIES_MAX, Graph, Kind, OPERATIONS_MAX, Operation, TRANSFER_BYTES_MAX, When};
use crate::usage::{exit, if_all_have, parse};
use node::{Attributes, Node, NodeType, shown};
use wire::{Fields, Wrong};

/// Maximum bytes of a node.
const NODE_BYTES_MAX: u64 = 16 << 20;

/// Maximum bytes of a collective operation that a rank contributes, or that it receives of a broadcast or a scatter. Each operation in flight needs
/// memory for them; the root of a scatter or a gather, and each rank of an allgather, needs as much for every rank of the group.
const COLLECTIVE_BYTES_MAX: u64 = 1 << 30;

/// Maximum bytes of the file of groups.
const GROUPS_BYTES_MAX: u64 = 64 << 20;

/// The error of a longer one.
const GROUPS_TOO_LONG: &str = "it has more than 64 MiB, the maximum of a file of groups";

/// Maximum number of groups.
const GROUPS_MAX: usize = 256;

/// Maximum microseconds of a node: a day.
const DURATION_MICROS_MAX: u64 = 86_400_000_000;

/// Cores that a node may occupy.
const PROCESSOR: u8 = 0;
const ACCELERATOR: u8 = 1;
const NETWORK: u8 = 2;

/// Run execution traces of Chakra (MLCommons, schema 0.0.4): rank 0 prints ranks, operations, messages, bytes and the microseconds until the
/// last rank has ended
#[derive(Parser)]
#[command(name = "chakra")]
struct Arguments {
    /// Beginning of the names of the files: rank R reads PREFIX.R.et, plain or compressed with gzip
    prefix: PathBuf,
    /// Groups of collective operations: a JSON object with the ranks of each pg_name, as in {"1": [0, 1]}
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    // All ranks of a simulation share the groups that this process has read.
    let arguments = parse::<Arguments>(&arguments).map(|arguments| (arguments.groups(), arguments));
    let result = pelago::run(|world| match &arguments {
        Ok((groups, arguments)) => run(world, arguments, groups),
        Err(stop) => Ok(stop.tell("chakra", world)),
    });
    exit("chakra", result)
}

/// Checks the arguments for a job of `ranks` ranks.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    let arguments = match parse::<Arguments>(arguments) {
        Ok(arguments) => arguments,
        Err(stop) => return stop.wrong(),
    };
    let first_without = (0..ranks).map(|rank| arguments.file(rank)).find(|file| !file.exists());
    match first_without {
        Some(file) => Err(format!("{} is missing: each of the {ranks} ranks reads a file of its own", file.display())),
        None => arguments.groups()?.are_for(ranks),
    }
}

impl Arguments {
    fn file(&self, rank: u32) -> PathBuf {
        let mut name = self.prefix.clone().into_os_string();
        name.push(format!(".{rank}.et"));
        name.into()
    }

    /// Reads the groups, each with its name and number.
    fn groups(&self) -> Result<Groups, String> {
        let Some(file) = &self.groups else { return Ok(Groups::default()) };
        let named = |why: String| format!("{}: {why}", file.display());
        let mut text = String::new();
        let limited = |stream| Limited::new(stream, GROUPS_BYTES_MAX, GROUPS_TOO_LONG);
        let read = stream(file).and_then(|stream| limited(stream).read_to_string(&mut text));
        read.map_err(|error| named(error.to_string()))?;
        let listed: BTreeMap<String, Vec<u32>> = serde_json::from_str(&text).map_err(|error| named(error.to_string()))?;
        if listed.len() > GROUPS_MAX {
            return Err(named(format!("{} groups; {GROUPS_MAX} at most", listed.len())));
        }
        let mut groups = Groups::default();
        for (name, members) in listed {
            let team = Team::of(&members.iter().copied().map(Rank::new).collect::<Vec<_>>())
                .map_err(|error| named(format!("group {}: {error}", shown(&name))))?;
            if let Some(&rank) = members.iter().max()
                && groups.highest.as_ref().is_none_or(|(highest, _)| rank > *highest)
            {
                groups.highest = Some((rank, named(format!("group {} has rank {rank}", shown(&name)))));
            }
            groups.teams.push(team);
            groups.numbers.insert(name, groups.teams.len() as u32);
        }
        Ok(groups)
    }
}

/// Groups of collective operations, numbered from 1; number 0 is the group of all ranks.
#[derive(Default)]
struct Groups {
    teams: Vec<Team>,
    numbers: HashMap<String, u32>,
    /// The highest rank of all groups, and its place in words.
    highest: Option<(u32, String)>,
}

impl Groups {
    /// Checks that a job of `ranks` ranks has all ranks of the groups.
    fn are_for(&self, ranks: u32) -> Result<(), String> {
        match &self.highest {
            Some((rank, place)) if *rank >= ranks => Err(format!("{place}, the job has {ranks} ranks")),
            _ => Ok(()),
        }
    }
}

fn run(world: &World, arguments: &Arguments, groups: &Result<Groups, String>) -> pelago::Result<ExitCode> {
    let (rank, size) = (world.rank().number(), world.size());
    let file = arguments.file(rank);
    let read = groups.as_ref().map_err(Clone::clone).and_then(|groups| {
        groups.are_for(size)?;
        let graph = stream(&file)
            .map_err(|error| error.to_string())
            .and_then(|stream| graph(stream, rank, size, groups, DEPENDENCIES_MAX).map_err(|wrong| wrong.to_string()));
        graph.map(|graph| (graph, groups)).map_err(|why| format!("{}: {why}", file.display()))
    });
    let Some((graph, groups)) = if_all_have(world, read, |why| format!("chakra: {why}"))? else { return Ok(ExitCode::from(2)) };
    replay(world, "chakra", &graph, &groups.teams, |operation| {
        format!("node {} of {} (counted from 0)", operation.place, file.display())
    })
}

/// Reads the operations of a rank, with up to `dependencies_max` dependencies.
fn graph(mut stream: impl BufRead, rank: u32, ranks: u32, groups: &Groups, dependencies_max: usize) -> Result<Graph, Wrong> {
    let (mut at, mut message) = (0, Vec::new());
    if !next_message(&mut stream, &mut at, &mut message)? {
        return Err(Wrong { at, what: "it is empty, and should begin with the metadata of a trace".into() });
    }
    let mut metadata = Fields::new(&message, at - message.len() as u64);
    while metadata.next()?.is_some() {}
    let (mut builder, mut numbers, mut waits) = (Builder::default(), HashMap::new(), Vec::new());
    let mut last_of_group: HashMap<u32, u32> = HashMap::new();
    while next_message(&mut stream, &mut at, &mut message)? {
        let begin = at - message.len() as u64;
        let node = Node::read(Fields::new(&message, begin))?;
        let wrong = |what: String| Wrong { at: begin, what: format!("node {} {what}", node.id) };
        let place = numbers.len() as u32;
        let operation = operation(&node, rank, ranks, groups, place).map_err(wrong)?;
        let number =
            builder.add(operation).ok_or_else(|| wrong(format!("is one too many: a rank has {OPERATIONS_MAX} at most")))?;
        if numbers.insert(node.id, number).is_some() {
            return Err(wrong("is there twice".into()));
        }
        // Collective operations of a group have the same order on all ranks of the group.
        if matches!(operation.kind, Kind::Collective(_))
            && let Some(last) = last_of_group.insert(operation.tag, number)
        {
            builder.waits(number, last, When::Ended);
        }
        // Before the end of the file: a small compressed one can name very many nodes that are not there.
        if waits.len() + node.waits_for.len() > dependencies_max {
            return Err(wrong(format!("has a dependency too many: a rank has {dependencies_max} at most")));
        }
        waits.extend(node.waits_for.iter().map(|&other| (number, node.id, other)));
    }
    for (number, id, other) in waits {
        let wrong = |what: &str| Wrong { at, what: format!("node {id} waits for node {other}, {what}") };
        let other = *numbers.get(&other).ok_or_else(|| wrong("which is not there"))?;
        if !builder.waits(number, other, When::Ended) {
            return Err(wrong("which is one dependency too many"));
        }
    }
    builder.finish().map_err(|operation| {
        let what = format!(
            "the node at place {} waits for itself, by its dependencies or as its group has an earlier operation in the file",
            operation.place
        );
        Wrong { at, what }
    })
}

/// Reads a length and a message of this length; returns `false` at the end of the file.
fn next_message(stream: &mut impl BufRead, at: &mut u64, message: &mut Vec<u8>) -> Result<bool, Wrong> {
    let mut length = Vec::new();
    let unreadable = |at: u64, error: std::io::Error| Wrong { at, what: error.to_string() };
    loop {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) if length.is_empty() => return Ok(false),
            Ok(0) => break,
            Ok(_) => {
                length.push(byte[0]);
                if byte[0] & 0x80 == 0 || length.len() == 10 {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(*at, error)),
        }
    }
    let bytes = Fields::new(&length, *at).varint()?;
    if bytes > NODE_BYTES_MAX {
        return Err(Wrong {
            at: *at,
            what: format!("a message of {bytes} bytes: {NODE_BYTES_MAX} at most; is it a Chakra trace?"),
        });
    }
    *at += length.len() as u64;
    message.clear();
    let read = stream.take(bytes).read_to_end(message).map_err(|error| unreadable(*at, error))?;
    *at += read as u64;
    if (read as u64) < bytes {
        return Err(Wrong { at: *at, what: format!("the file ends within a message of {bytes} bytes") });
    }
    Ok(true)
}

/// Converts a node to an operation.
fn operation(node: &Node, rank: u32, ranks: u32, groups: &Groups, place: u32) -> Result<Operation, String> {
    let Attributes { comm_type, comm_size, comm_src, comm_dst, comm_tag, group, is_cpu_op } = &node.attributes;
    let nothing = Operation { kind: Kind::Compute, core: NETWORK, peer: 0, tag: 0, amount: 0, place };
    let peer = |name: &str, number: Option<u64>| match number {
        None => Err(format!("has no {name}")),
        Some(peer) if peer < u64::from(ranks) => Ok(peer as u32),
        Some(peer) => Err(format!("has the {name} {peer}; the job has {ranks} ranks")),
    };
    let is_own = |name: &str, number: Option<u64>| match number {
        Some(other) if other != u64::from(rank) => Err(format!("has the {name} {other}, in the file of rank {rank}")),
        _ => Ok(()),
    };
    let size = |most: u64| match *comm_size {
        None => Err("has no comm_size".to_owned()),
        Some(bytes) if bytes > most => Err(format!("has a comm_size of {bytes} bytes; {most} at most")),
        Some(bytes) => Ok(bytes),
    };
    let tag = || match comm_tag.unwrap_or(0) {
        tag if tag < u64::from(u32::MAX) => Ok(tag as u32),
        tag => Err(format!("has the comm_tag {tag}, which has more than 32 bits")),
    };
    match node.node_type {
        NodeType::Empty => Ok(nothing),
        NodeType::Compute => {
            if node.duration_micros > DURATION_MICROS_MAX {
                return Err(format!("takes {} microseconds, more than a day", node.duration_micros));
            }
            let core = if *is_cpu_op { PROCESSOR } else { ACCELERATOR };
            Ok(Operation { core, amount: node.duration_micros * 1000, ..nothing })
        }
        NodeType::Send => {
            is_own("comm_src", *comm_src)?;
            Ok(Operation {
                kind: Kind::Send,
                peer: peer("comm_dst", *comm_dst)?,
                tag: tag()?,
                amount: size(TRANSFER_BYTES_MAX)?,
                ..nothing
            })
        }
        NodeType::Receive => {
            is_own("comm_dst", *comm_dst)?;
            Ok(Operation {
                kind: Kind::Receive,
                peer: peer("comm_src", *comm_src)?,
                tag: tag()?,
                amount: size(TRANSFER_BYTES_MAX)?,
                ..nothing
            })
        }
        NodeType::Collective => {
            let collective = match comm_type {
                None => return Err("has no comm_type".into()),
                Some(0) => Collective::Allreduce,
                Some(1) => Collective::Reduce { root: 0 },
                Some(2) => Collective::Allgather,
                Some(3) => Collective::Gather { root: 0 },
                Some(4) => Collective::Scatter { root: 0 },
                Some(5) => Collective::Broadcast { root: 0 },
                Some(6) => Collective::Alltoall,
                Some(7 | 8) => Collective::ReduceScatter,
                Some(9) => Collective::Barrier,
                Some(other) => return Err(format!("has the comm_type {other}, which the schema 0.0.4 does not have")),
            };
            let amount = if collective == Collective::Barrier { 0 } else { size(COLLECTIVE_BYTES_MAX)? };
            let tag = match group {
                None => 0,
                Some(name) => {
                    let number = groups.numbers.get(name).copied();
                    number.ok_or_else(|| {
                        format!("is of the group {}, whose ranks are unknown: name them by --groups", shown(name))
                    })?
                }
            };
            if let Some(team) = (tag as usize).checked_sub(1).and_then(|place| groups.teams.get(place))
                && team.position(Rank::new(rank)).is_none()
            {
                let name = shown(group.as_deref().unwrap_or_default());
                return Err(format!("is of the group {name}, which rank {rank} is not in"));
            }
            Ok(Operation { kind: Kind::Collective(collective), tag, amount, ..nothing })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a node without an operation; each dependency takes a byte.
    fn node(id: u8, waits_for: &[u8]) -> Vec<u8> {
        let fields = [&[0x08, id, 0x2A, waits_for.len() as u8][..], waits_for].concat();
        [&[fields.len() as u8][..], &fields[..]].concat()
    }

    #[test]
    fn dependencies_are_limited_before_the_end_of_the_file() {
        let trace = [vec![0], node(1, &[9; 10]), node(2, &[9; 10]), node(3, &[9; 10])].concat();
        let wrong = |most| graph(&trace[..], 0, 1, &Groups::default(), most).unwrap_err().to_string();
        assert_eq!(wrong(19), "byte 17: node 2 has a dependency too many: a rank has 19 at most");
        assert_eq!(wrong(30), "byte 46: node 1 waits for node 9, which is not there");
    }
}
