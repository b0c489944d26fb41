//! Slurm's notation of host lists, and the port at which the processes of a step can meet.

use crate::limits::{HOST_NAME_BYTES_MAX, HOST_RANGES_MAX};

/// Expands a list such as `n[7-9,12],m`, in order, but at most `most` hosts; the rest of the list is not read.
///
/// As in Slurm, the first number of a range gives the width of all of its numbers, and of several ranges in one name the last varies fastest.
/// `None` if the list is malformed.
pub(crate) fn hosts(list: &str, most: usize) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    let mut rest = Some(list.trim());
    while let Some(text) = rest.filter(|_| hosts.len() < most) {
        let (pattern, following) = first_pattern(text);
        if pattern.matches('[').count() > HOST_RANGES_MAX {
            return None;
        }
        expand(pattern, most, &mut hosts)?;
        rest = following;
    }
    Some(hosts)
}

/// Returns the first host of such a list.
pub(crate) fn first_host(list: &str) -> Option<String> {
    hosts(list, 1)?.pop()
}

/// Splits the text at the first comma outside of brackets.
fn first_pattern(text: &str) -> (&str, Option<&str>) {
    let mut is_inside = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => is_inside = true,
            b']' => is_inside = false,
            b',' if !is_inside => return (&text[..place], Some(&text[place + 1..])),
            _ => {}
        }
    }
    (text, None)
}

/// Appends the hosts of one pattern, such as `rack[1-2]-n[01-16]`, until there are `most`.
fn expand(pattern: &str, most: usize, hosts: &mut Vec<String>) -> Option<()> {
    match pattern.split_once('[') {
        None if pattern.is_empty() || pattern.len() > HOST_NAME_BYTES_MAX || pattern.contains(']') => None,
        None => {
            hosts.push(pattern.into());
            Some(())
        }
        Some((prefix, rest)) => {
            let (numbers, suffix) = rest.split_once(']')?;
            if prefix.contains(']') || numbers.contains('[') {
                return None;
            }
            for range in numbers.split(',') {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let width = first.len();
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return None;
                }
                for number in first..=last {
                    if hosts.len() >= most {
                        return Some(());
                    }
                    expand(&format!("{prefix}{number:0width$}{suffix}"), most, hosts)?;
                }
            }
            Some(())
        }
    }
}

/// Parses a number of at most 18 digits.
fn number(digits: &str) -> Option<u64> {
    let is_number = (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Expands a list such as `4(x2),3`, one number per host, for exactly `hosts` hosts. `None` if the list is malformed or of another length.
#[cfg(any(test, feature = "launcher"))]
pub(crate) fn numbers(list: &str, hosts: usize) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for item in list.trim().split(',') {
        let (value, times) = match item.split_once('(') {
            None => (item, 1),
            Some((value, rest)) => (value, number(rest.strip_prefix('x')?.strip_suffix(')')?)?),
        };
        if times == 0 || times > (hosts - numbers.len()) as u64 {
            return None;
        }
        let length = numbers.len() + times as usize;
        numbers.resize(length, number(value)?);
    }
    (numbers.len() == hosts).then_some(numbers)
}

/// Returns a port that concurrent steps are unlikely to share, below the ports that the system assigns to connections.
pub(crate) fn port(job: u64, step: u64) -> u16 {
    const FIRST: u64 = 10_000;
    const PORTS: u64 = 20_000;
    (FIRST + job.wrapping_mul(31).wrapping_add(step) % PORTS) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_of_hosts_are_expanded_as_slurm_does() {
        for (list, expected) in [
            ("node[01-03,07],gpu-[1-2]-ib", &["node01", "node02", "node03", "node07", "gpu-1-ib", "gpu-2-ib"][..]),
            ("n[8-11]", &["n8", "n9", "n10", "n11"]),
            ("n[098-101]", &["n098", "n099", "n100", "n101"]),
            ("r[1-2]n[01,3]", &["r1n01", "r1n3", "r2n01", "r2n3"]),
            ("a,a", &["a", "a"]),
            ("[1-2]", &["1", "2"]),
        ] {
            assert_eq!(hosts(list, 100).unwrap(), expected, "{list}");
        }
        for list in ["a,", ",a", "a,,b", "n[1-]", "n[1,]", "n[1-2-3]", "n[a-b]", "n[[1]]", "n]1[", "n[+1]", "n[1-2", "n[1] ]"] {
            assert_eq!(hosts(list, 100), None, "{list}");
        }
    }

    #[test]
    fn hostile_lists_cost_no_more_than_is_asked_for() {
        let many = hosts("n[0-999999999999999999]x[0-999999999999999999]", 3).unwrap();
        assert_eq!(many, ["n0x0", "n0x1", "n0x2"]);
        assert_eq!(hosts(&"[0-9]".repeat(HOST_RANGES_MAX), 2).unwrap().len(), 2);
        assert_eq!(hosts(&"[0-9]".repeat(HOST_RANGES_MAX + 1), 2), None);
        assert_eq!(hosts(&"a".repeat(HOST_NAME_BYTES_MAX + 1), 2), None);
        assert_eq!(numbers("4(x999999999999999999)", 2), None);
    }

    #[test]
    fn numbers_of_each_host_are_those_of_the_hosts() {
        assert_eq!(numbers("4(x2),3", 3), Some(vec![4, 4, 3]));
        assert_eq!(numbers("16", 1), Some(vec![16]));
        for (list, count) in
            [("4(x2),3", 2), ("4(x2),3", 4), ("", 1), ("4(x0)", 1), ("4(2)", 2), ("4(x2", 2), ("x", 1), ("-4", 1), ("4,", 1)]
        {
            assert_eq!(numbers(list, count), None, "{list}");
        }
    }

    proptest! {
        #[test]
        fn every_list_that_is_written_is_read(parts in prop::collection::vec(("[a-z]{1,5}", 0..2000_u64, 0..40_u64, 1..5_usize, "[a-z]{0,3}"), 1..6)) {
            let text = |(name, first, more, width, suffix): &(String, u64, u64, usize, String)| {
                format!("{name}[{first:0width$}-{:0width$}]{suffix}", first + more, width = *width)
            };
            let list = parts.iter().map(text).collect::<Vec<_>>().join(",");
            let mut expected = Vec::new();
            for (name, first, more, width, suffix) in &parts {
                let width = format!("{first:0width$}", width = *width).len();
                expected.extend((*first..=first + more).map(|number| format!("{name}{number:0width$}{suffix}")));
            }
            prop_assert_eq!(hosts(&list, 1000), Some(expected));
        }

        #[test]
        fn any_text_is_a_list_or_refused(text in "[a1-3,x()\\[\\]-]{0,30}") {
            if let Some(hosts) = hosts(&text, 7) {
                prop_assert!((1..=7).contains(&hosts.len()) && hosts.iter().all(|host| !host.contains(['[', ']', ','])));
            }
            let _ = numbers(&text, 3);
        }
    }

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, host) in [
            ("n1", "n1"),
            ("n1,n2", "n1"),
            ("n[1-2]", "n1"),
            ("n[007-009,12],m", "n007"),
            ("rack[1,3]-a,b", "rack1-a"),
            ("a,n[1-2]", "a"),
            ("r[1-2]n[3-4]", "r1n3"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(host), "{list}");
        }
        for list in ["", ",", "[", "n[", "n[]", "n[-2]", "n[2-1]", "n[1]]"] {
            assert_eq!(first_host(list), None, "{list}");
        }
    }

    #[test]
    fn steps_have_ports_of_their_own() {
        assert!(port(0, 0) != port(0, 1) && port(1, 0) != port(2, 0));
        assert!([0, 7, u64::MAX].iter().all(|&job| (10_000..30_000).contains(&port(job, u64::MAX))));
    }
}
