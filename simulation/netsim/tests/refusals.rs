//! Descriptions that would not do what they say, or that programs could not use, are refused with their key.

use pelago_netsim::Machine;

/// The machine of paper D with further lines at the beginning of a table.
fn with(table: &str, more: &str) -> Result<Machine, String> {
    let text = Machine::bundled("rx200-qdr").unwrap();
    assert!(text.contains(table), "{table}");
    Machine::parse(&text.replacen(table, &format!("{table}\n{more}\n"), 1)).map_err(|error| error.to_string())
}

/// A machine with a rail for each of these lists of further lines.
fn rails(head: &str, rails: &[&str]) -> Result<Machine, String> {
    let (start, rail) = Machine::bundled("rx200-qdr").unwrap().split_once("[[rail]]").unwrap();
    let rails: String = rails.iter().map(|more| format!("[[rail]]\n{more}{rail}\n")).collect();
    Machine::parse(&format!("{head}\n{start}{rails}")).map_err(|error| error.to_string())
}

#[test]
fn keys_without_effect_are_refused() {
    let needs = |key: &str, needed: &str| format!("{key}: has no effect without {needed}; add that, or remove this key");
    for (table, key, more, path, needed) in [
        ("[node]", "switch_ns = 500.0", "cores = 2", "node.switch_ns", "node.cores"),
        ("[[rail]]", "receive.service_ns = 500.0", "receive.slots = 4", "rail.receive.service_ns", "receive.slots"),
    ] {
        assert_eq!(with(table, key).unwrap_err(), needs(path, needed));
        assert!(with(table, &format!("{key}\n{more}")).is_ok(), "{path}");
    }
    // A sweep compares values of `choice` and `spread` on one machine.
    assert!(rails("choice = \"first\"", &["operation_bytes_max = 64", ""]).is_ok());
    assert!(with("[rail.nic]", "flowlet_ns = 500.0").is_ok());
}

/// Programs name rails, by their names or by numbers of four bits.
#[test]
fn each_rail_has_a_name_and_a_number() {
    let name = |name: &str| format!("name = \"{name}\"");
    for taken in ["all", "-"] {
        let expected = format!("rail.name = \"{taken}\": must be another one: programs use it for all rails, or for any");
        assert_eq!(with("[[rail]]", &name(taken)).unwrap_err(), expected);
    }
    let same = "have this name; a rail without one has that of its number, such as rail1";
    assert_eq!(rails("", &[&name("a"), &name("b"), &name("a")]).unwrap_err(), format!("rail.name = \"a\": rails 0 and 2 {same}"));
    assert_eq!(rails("", &[&name("rail1"), ""]).unwrap_err(), format!("rail.name = \"rail1\": rails 0 and 1 {same}"));
    assert!(rails("", &[&name("rail0"), "", &name("c")]).is_ok());
    assert_eq!(rails("", &[""; 17]).unwrap_err(), "rail: 17 rails, must be at most 16");
    assert_eq!(rails("", &[""; 16]).unwrap().rails().count(), 16);
}

#[test]
fn one_rail_reduces() {
    let reduction = "reduction = { level = \"routers\", combine_ns = 50.0, groups_max = 2 }";
    assert!(rails("", &["", reduction]).is_ok());
    assert_eq!(
        rails("", &["", reduction, reduction]).unwrap_err(),
        "rail 2: reduction: must be absent, as rail 1 has one: one rail reduces"
    );
}

/// An empty buffer that pauses its sender would do so for ever.
#[test]
fn an_empty_buffer_pauses_nobody() {
    let pfc = |xoff: u32| with("[rail.router]", &format!("pfc = {{ xoff_bytes = {xoff}, xon_bytes = 0 }}"));
    assert_eq!(pfc(0).unwrap_err(), "rail.router.pfc.xoff_bytes = 0: must be from 1 to 1073741824");
    assert!(pfc(1).is_ok());
}
