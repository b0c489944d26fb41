//! Nodes of Chakra execution traces, as defined by `et_def.proto` of schema 0.0.4.

use super::wire::{Fields, Value, Wrong};

/// Supported types of nodes. Other types are refused with their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeType {
    /// A node without an operation, which only orders others.
    Empty,
    Compute,
    Send,
    Receive,
    Collective,
}

/// The names of all types, by number.
const TYPES: [(&str, Option<NodeType>); 11] = [
    ("INVALID_NODE", Some(NodeType::Empty)),
    ("METADATA_NODE", Some(NodeType::Empty)),
    ("MEM_LOAD_NODE", None),
    ("MEM_STORE_NODE", None),
    ("COMP_NODE", Some(NodeType::Compute)),
    ("COMM_SEND_NODE", Some(NodeType::Send)),
    ("COMM_RECV_NODE", Some(NodeType::Receive)),
    ("COMM_COLL_NODE", Some(NodeType::Collective)),
    ("STORAGE_NODE", None),
    ("BATCH_NODE", None),
    ("CHECKPOINT_NODE", None),
];

/// Maximum number of characters of a name in errors.
const NAME_CHARS_MAX: usize = 64;

/// The relevant fields of a node.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: u64,
    pub(crate) node_type: NodeType,
    pub(crate) waits_for: Vec<u64>,
    pub(crate) duration_micros: u64,
    pub(crate) attributes: Attributes,
}

/// The relevant attributes of a node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) is_cpu_op: bool,
    pub(crate) comm_type: Option<u64>,
    pub(crate) comm_size: Option<u64>,
    pub(crate) comm_src: Option<u64>,
    pub(crate) comm_dst: Option<u64>,
    pub(crate) comm_tag: Option<u64>,
    /// The name of the group of a collective operation.
    pub(crate) group: Option<String>,
}

/// Value of an attribute, of the types that relevant attributes may have.
enum AttributeValue<'m> {
    Number(u64),
    Text(&'m [u8]),
    Flags(&'m [u8]),
    Other,
}

impl Node {
    /// Reads a node.
    pub(crate) fn read(mut fields: Fields<'_>) -> Result<Self, Wrong> {
        let begin = fields.at();
        let (mut id, mut number, mut name) = (None, 0, "".into());
        let (mut waits_for, mut duration_micros, mut attributes) = (Vec::new(), 0, Vec::new());
        loop {
            let at = fields.at();
            let Some((field, value)) = fields.next()? else { break };
            match (field, value) {
                (1, Value::Varint(value)) => id = Some(value),
                (2, Value::Bytes(value)) => name = String::from_utf8_lossy(value),
                (3, Value::Varint(value)) => number = value,
                (4 | 5, Value::Varint(value)) => waits_for.push(value),
                (4 | 5, Value::Bytes(packed)) => {
                    let mut numbers = Fields::new(packed, fields.at() - packed.len() as u64);
                    while !numbers.is_over() {
                        waits_for.push(numbers.varint()?);
                    }
                }
                (7, Value::Varint(value)) => duration_micros = value,
                (10, Value::Bytes(message)) => attributes.push(Fields::new(message, fields.at() - message.len() as u64)),
                (1 | 2 | 3 | 4 | 5 | 7 | 10, _) => {
                    return Err(Wrong { at, what: format!("field {field} of a node has another type than in the schema 0.0.4") });
                }
                _ => {}
            }
        }
        // The encoding omits fields that are zero.
        let id = id.unwrap_or(0);
        let name = shown(&name);
        let refused = |what: String| Wrong { at: begin, what: format!("node {id} ({name}) {what}") };
        let node_type = match TYPES.get(number as usize) {
            Some((_, Some(node_type))) => *node_type,
            Some((name, None)) => return Err(refused(format!("is a {name}, which is not supported"))),
            None => return Err(refused(format!("has the type {number}, which the schema 0.0.4 does not have"))),
        };
        let mut read = Attributes::default();
        for attribute in attributes {
            read.take(attribute, &refused)?;
        }
        Ok(Self { id, node_type, waits_for, duration_micros, attributes: read })
    }
}

/// Returns a name of a file for an error: short, and without control characters, which would act on a terminal.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

impl Attributes {
    fn take(&mut self, mut fields: Fields<'_>, refused: &impl Fn(String) -> Wrong) -> Result<(), Wrong> {
        let (mut name, mut found) = (&b""[..], AttributeValue::Other);
        while let Some((field, value)) = fields.next()? {
            match (field, value) {
                (1, Value::Bytes(value)) => name = value,
                (7 | 9 | 11 | 13 | 27, Value::Varint(value)) => found = AttributeValue::Number(value),
                (15 | 17, Value::Varint(value)) => found = AttributeValue::Number(value >> 1 ^ (value & 1).wrapping_neg()),
                (19 | 23, Value::Fixed32(value)) => found = AttributeValue::Number(value.into()),
                (21 | 25, Value::Fixed64(value)) => found = AttributeValue::Number(value),
                (28, Value::Bytes(value)) => found = AttributeValue::Flags(value),
                (29, Value::Bytes(value)) => found = AttributeValue::Text(value),
                _ => {}
            }
        }
        let place = match name {
            b"is_cpu_op" => {
                self.is_cpu_op = matches!(found, AttributeValue::Number(1..));
                return Ok(());
            }
            b"pg_name" => {
                if let AttributeValue::Text(group) = found {
                    self.group = Some(String::from_utf8_lossy(group).into_owned()).filter(|group| !group.is_empty());
                    return Ok(());
                }
                return Err(refused("has a pg_name that is no text".into()));
            }
            b"involved_dim" => {
                // All dimensions of the topology together are all ranks.
                return match found {
                    AttributeValue::Flags(list) if all_true(list)? => Ok(()),
                    _ => Err(refused("has an involved_dim, other than a list of true; name the ranks by pg_name".into())),
                };
            }
            b"comm_type" => &mut self.comm_type,
            b"comm_size" => &mut self.comm_size,
            b"comm_src" => &mut self.comm_src,
            b"comm_dst" => &mut self.comm_dst,
            b"comm_tag" => &mut self.comm_tag,
            _ => return Ok(()),
        };
        match found {
            AttributeValue::Number(number) if number <= i64::MAX as u64 => *place = Some(number),
            _ => return Err(refused(format!("has a {} that is no number from 0 on", String::from_utf8_lossy(name)))),
        }
        Ok(())
    }
}

/// Returns whether all values of a list are true.
fn all_true(list: &[u8]) -> Result<bool, Wrong> {
    let mut fields = Fields::new(list, 0);
    while let Some((_, value)) = fields.next()? {
        let all = match value {
            Value::Bytes(packed) => packed.iter().all(|&flag| flag == 1),
            other => other == Value::Varint(1),
        };
        if !all {
            return Ok(false);
        }
    }
    Ok(true)
}
