//! `--set PATH=VALUE`: single values of a machine's description, replaced.

use toml::{Table, Value};

use crate::Refused;

/// The description with these values replaced or added. A path names tables one after another, as `rail.receive.slots`; where it comes to
/// a list, a number picks one of it, and without a number all of it is meant. The machine's name says what was changed.
pub(crate) fn apply(description: &str, overrides: &[String]) -> Result<String, Refused> {
    if overrides.is_empty() {
        return Ok(description.into());
    }
    let parse =
        |text: &str| text.parse::<Table>().map_err(|error| Refused(format!("the machine is no TOML: {}", error.message())));
    let mut machine = parse(description)?;
    for text in overrides {
        let (path, value) =
            text.split_once('=').ok_or_else(|| Refused(format!("--set {text}: give PATH=VALUE, as in rail.nic.gap_ns=5")))?;
        let path: Vec<&str> = path.trim().split('.').collect();
        set(&mut machine, &path, &parsed(value.trim())).map_err(|why| Refused(format!("--set {text}: {why}")))?;
    }
    if let Some(Value::String(name)) = machine.get_mut("name") {
        *name = format!("{name} with {}", overrides.join(", "));
    }
    Ok(machine.to_string())
}

/// The value that a text stands for: as in TOML, or a word without quotes.
fn parsed(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.into()))
}

fn set(table: &mut Table, path: &[&str], value: &Value) -> Result<(), String> {
    match path {
        [] | [""] | ["", ..] => Err("a part of the path is empty".into()),
        [key] => {
            table.insert((*key).into(), value.clone());
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

    const MACHINE: &str =
        "name = \"a\"\n[node]\ncopy_ns = 1.0\n[[rail]]\nkind = \"tofu\"\n[rail.nic]\ngap_ns = 0\n[[rail]]\nkind = \"tofu\"\n";

    fn changed(overrides: &[&str]) -> Result<Table, String> {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.into()).collect();
        apply(MACHINE, &overrides).map(|text| text.parse().unwrap()).map_err(|Refused(line)| line)
    }

    #[test]
    fn values_are_replaced_where_the_path_leads() {
        let machine = changed(&["node.copy_ns=2.5", "rail.receive.slots = 256", "rail.1.kind=infiniband-ud"]).unwrap();
        let rails = machine["rail"].as_array().unwrap();
        assert_eq!(
            machine["name"].as_str(),
            Some("a with node.copy_ns=2.5, rail.receive.slots = 256, rail.1.kind=infiniband-ud")
        );
        assert_eq!(machine["node"]["copy_ns"].as_float(), Some(2.5));
        assert!(rails.iter().all(|rail| rail["receive"]["slots"].as_integer() == Some(256)));
        assert_eq!((rails[0]["kind"].as_str(), rails[1]["kind"].as_str()), (Some("tofu"), Some("infiniband-ud")));
        assert_eq!(rails[0]["nic"]["gap_ns"].as_integer(), Some(0), "the rest is as it was");
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told() {
        for (wrong, why) in [
            ("node.copy_ns", "PATH=VALUE"),
            ("name.x=1", "name is a value"),
            ("rail.2.kind=tofu", "there are 2"),
            (".a=1", "empty"),
            ("node.=1", "empty"),
            ("=1", "empty"),
        ] {
            let line = changed(&[wrong]).unwrap_err();
            assert!(line.contains(why), "{line}");
        }
        assert_eq!(apply("as it is", &[]).map_err(|Refused(line)| line), Ok("as it is".into()));
    }
}
