//! `--set PATH=VALUE`: replaces single values of a machine description.

use pelago_netsim::{KEYS, Machine};
use toml::{Table, Value};

use crate::Refused;
use crate::sim::quantity;

/// Number of similar keys in the message about an unknown key.
const NEAREST: usize = 3;

/// Returns the description with values replaced or added. A path names nested tables, such as `rail.receive.slots`. At a list, a number
/// selects one element; without a number the path means all elements. A value may have a unit, and is converted to the unit of its key. A
/// changed topology type removes the values of the previous type. The changes are appended to the machine's name.
///
/// # Errors
/// One line that names the key, what is wrong, and what would be right.
pub(crate) fn apply(description: &str, overrides: &[String]) -> Result<String, Refused> {
    if overrides.is_empty() {
        return Ok(description.into());
    }
    let text = changed(description, overrides)?;
    if let Err(error) = Machine::parse(&text)
        && let Some((wrong, why)) = culprit(description, overrides)
    {
        return Err(Refused(format!("--set {wrong}: {}", why.unwrap_or_else(|| error.to_string()))));
    }
    Ok(text)
}

/// Returns the override without which the machine would be valid, and the error of this override alone, if it has one.
fn culprit<'o>(description: &str, overrides: &'o [String]) -> Option<(&'o str, Option<String>)> {
    let is_machine = |overrides: &[String]| changed(description, overrides).is_ok_and(|text| Machine::parse(&text).is_ok());
    let without = |index: usize| [&overrides[..index], &overrides[index + 1..]].concat();
    let index = (0..overrides.len()).find(|&index| is_machine(&without(index)))?;
    let alone = changed(description, &overrides[index..=index]).ok()?;
    let why = Machine::parse(&alone).err().map(|error| {
        // The line number refers to a generated text that the user does not know.
        let error = error.to_string();
        let rest = error.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        rest.map_or(error.clone(), |(_, rest)| rest.to_owned())
    });
    Some((&overrides[index], why))
}

fn changed(description: &str, overrides: &[String]) -> Result<String, Refused> {
    let parse =
        |text: &str| text.parse::<Table>().map_err(|error| Refused(format!("the machine is no TOML: {}", error.message())));
    let mut machine = parse(description)?;
    for text in overrides {
        let (path, value) =
            text.split_once('=').ok_or_else(|| Refused(format!("--set {text}: give PATH=VALUE, as in rail.nic.gap_ns=5")))?;
        let refused = |why: String| Refused(format!("--set {text}: {why}"));
        let parts: Vec<&str> = path.trim().split('.').collect();
        let value = meant(&parts, value.trim()).map_err(refused)?;
        set(&mut machine, &parts, &value).map_err(refused)?;
    }
    if let Some(Value::String(name)) = machine.get_mut("name") {
        *name = format!("{name} with {}", overrides.join(", "));
    }
    Ok(machine.to_string())
}

/// Parses the value for a path.
fn meant(path: &[&str], text: &str) -> Result<Value, String> {
    if path.contains(&"") {
        return Err("a part of the path is empty".into());
    }
    let key = path.iter().filter(|part| part.parse::<usize>().is_err()).copied().collect::<Vec<_>>().join(".");
    if let Some((_, quantity)) = KEYS.iter().find(|(known, _)| *known == key) {
        return quantity::value(*quantity, text).map_err(|why| format!("{key} cannot be {text:?}: {why}"));
    }
    let is_table = KEYS.iter().any(|(known, _)| known.strip_prefix(&key).is_some_and(|rest| rest.starts_with('.')));
    match quantity::as_toml(text) {
        Some(table @ (Value::Table(_) | Value::Array(_))) if is_table => Ok(table),
        _ if is_table => Err(format!("{key} is a table: name one of its values, as {}", nearest(&key))),
        _ => Err(format!("no machine has a {key}; the nearest are {}", nearest(&key))),
    }
}

/// Returns a value of `--set PATH=VALUE` in the unit of its key, without a unit; the text as it is if the value is no number.
pub(crate) fn in_unit_of_key(path: &str, text: &str) -> String {
    match meant(&path.split('.').collect::<Vec<_>>(), text) {
        Ok(Value::Float(number)) => number.to_string(),
        Ok(Value::Integer(number)) => number.to_string(),
        _ => text.into(),
    }
}

/// Returns the keys that are most similar to `key`.
fn nearest(key: &str) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let likeness = |known: &str| {
        let whole = strsim::jaro_winkler(known, key);
        // A key with a missing table or unit still has the right word.
        let has_word = last(known).starts_with(&last(key)) || known.starts_with(key);
        whole.max(strsim::normalized_levenshtein(&last(known), &last(key))) + if has_word { 1.0 } else { 0.0 }
    };
    let mut keys: Vec<_> = KEYS.iter().map(|(known, _)| (likeness(known), *known)).collect();
    keys.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    keys.iter().take(NEAREST).map(|(_, known)| *known).collect::<Vec<_>>().join(", ")
}

fn set(table: &mut Table, path: &[&str], value: &Value) -> Result<(), String> {
    match path {
        [] => Err("a part of the path is empty".into()),
        [key] => {
            table.insert((*key).into(), value.clone());
            Ok(())
        }
        ["topology", "type"] => {
            let topology = table.entry("topology").or_insert_with(|| Value::Table(Table::new()));
            if topology.get("type") != Some(value) {
                *topology = Value::Table(Table::from_iter([("type".to_owned(), value.clone())]));
            }
            Ok(())
        }
        [key, rest @ ..] => match table.entry(*key).or_insert_with(|| Value::Table(Table::new())) {
            Value::Table(inner) => set(inner, rest, value),
            Value::Array(list) => set_in(list, rest, value),
            _ => Err(format!("{key} is a value, not a table")),
        },
    }
}

fn set_in(list: &mut [Value], path: &[&str], value: &Value) -> Result<(), String> {
    let (chosen, rest) = match path.split_first() {
        Some((first, rest)) if first.parse::<usize>().is_ok() => {
            let index: usize = first.parse().unwrap_or(usize::MAX);
            let count = list.len();
            (list.get_mut(index..=index).ok_or_else(|| format!("there is no {index}: there are {count}"))?, rest)
        }
        _ => (list, path),
    };
    chosen.iter_mut().try_for_each(|element| match element {
        Value::Table(inner) => set(inner, rest, value),
        _ => Err("the list is of values, not of tables".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(machine: &str, overrides: &[&str]) -> Result<Table, String> {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.into()).collect();
        let text = Machine::bundled(machine).unwrap();
        apply(text, &overrides).map(|text| text.parse().unwrap()).map_err(|Refused(line)| line)
    }

    #[test]
    fn values_are_replaced_where_the_path_leads() {
        let machine = with("ha-pacs-tca", &["node.copy_ns=2.5us", "rail.receive.slots = 256", "rail.1.kind=ethernet"]).unwrap();
        let rails = machine["rail"].as_array().unwrap();
        let name = "ha-pacs-tca with node.copy_ns=2.5us, rail.receive.slots = 256, rail.1.kind=ethernet";
        assert_eq!(machine["name"].as_str(), Some(name));
        assert_eq!(machine["node"]["copy_ns"].as_float(), Some(2500.0), "in the unit of the key");
        assert!(rails.iter().all(|rail| rail["receive"]["slots"].as_integer() == Some(256)));
        assert!(rails[0]["kind"].as_str() != Some("ethernet") && rails[1]["kind"].as_str() == Some("ethernet"));
        assert!(rails[0]["nic"]["overhead_ns"].as_float().is_some(), "the rest is as it was");
        let torus = with("fat-tree-ndr", &["rail.router.vcs=2", "rail.topology.type=torus", "rail.topology.dimensions=[0, 0]"]);
        assert_eq!(torus.unwrap()["rail"][0]["topology"].as_table().unwrap().len(), 2, "without what a fat tree has");
        let kept = with("fat-tree-ndr", &["rail.topology.type=fat-tree"]).unwrap();
        assert!(kept["rail"][0]["topology"].get("down").is_some());
        let tree = "rail.topology={ type = \"fat-tree\", down = [4, 4], up = [4] }";
        let failures =
            with("rx200-qdr", &[tree, "rail.failure=[{ link = [0, 4], at_ns = 5 }]", "rail.failure.at_ns=1us"]).unwrap();
        assert_eq!(failures["rail"][0]["failure"][0]["at_ns"].as_float(), Some(1000.0));
        let table = with("rx200-qdr", &["rail.topology={ type = \"ring\" }", "rail.router.vcs=2"]).unwrap();
        assert_eq!(table["rail"][0]["topology"]["type"].as_str(), Some("ring"));
    }

    #[test]
    fn what_is_wrong_names_its_key() {
        for (wrong, why) in [
            ("node.copy_ns", "PATH=VALUE"),
            ("name.x=1", "no machine has a name.x"),
            ("rail.2.kind=tofu", "there are 1"),
            (".a=1", "empty"),
            ("node.=1", "empty"),
            ("=1", "empty"),
            ("rail.nic.gap=5", "no machine has a rail.nic.gap; the nearest are rail.nic.gap_ns, "),
            ("rail.gap_ns=5", "the nearest are rail.nic.gap_ns, "),
            ("rail.latency=1.2us", "the nearest are "),
            ("rail.nic.gap_nss=5", "the nearest are rail.nic.gap_ns, "),
            ("rail.nic=5", "rail.nic is a table: name one of its values, as rail.nic."),
            ("rail.nic.gap_ns=5GB/s", "rail.nic.gap_ns cannot be \"5GB/s\": GB/s is a unit of rates; it is a time"),
            ("rail.nic.packet_bytes=some", "rail.nic.packet_bytes cannot be \"some\": it is a size"),
            ("rail.reliability.retries=256", "rail.reliability.retries cannot be \"256\": it is a whole number, from 0 to 255"),
            ("rail.kind=token-ring", "it is one of infiniband-rc, infiniband-ud, tofu, ethernet"),
            ("rail.nic.gap_ns=-1", "rail.nic.gap_ns = -1: must be nanoseconds, from 0"),
            ("rail.nic.stages=[[1]]", "--set rail.nic.stages=[[1]]: invalid length"),
            ("rail.topology.down=[2]", "unknown field `down`"),
        ] {
            let line = with("rx200-qdr", &["node.gather_ns=1", wrong]).unwrap_err();
            assert!(line.starts_with(&format!("--set {wrong}")) && line.contains(why), "{line}");
        }
        assert_eq!(apply("as it is", &[]).map_err(|Refused(line)| line), Ok("as it is".into()));
    }
}
