//! The files and variables in which schedulers list hosts.

use std::collections::HashMap;

use pelago_base::limits::RANKS_PER_HOST_MAX;

use crate::launcher::cluster::is_name;
use crate::launcher::limits::REMOTE_HOSTS_MAX;
use crate::limits::HOST_NAME_BYTES_MAX;

/// Hosts and slots, or the number and the text of the first invalid line.
type Parsed<'text> = Result<Vec<(String, u32)>, (usize, &'text str)>;

/// Parses a line with the name of a host per slot, as PBS and LSF write them. The lines of a host need not be adjacent.
pub(crate) fn lines(text: &str) -> Parsed<'_> {
    collect(text, |line| Some((line, 1)))
}

/// Parses a line per host and queue, as Grid Engine writes them: host, slots, queue, cores.
pub(crate) fn columns(text: &str) -> Parsed<'_> {
    collect(text, |line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, slots(words.next()?.parse().ok()?)?))
    })
}

/// Parses alternating hosts and slots, as LSF writes them: `a 4 b 2`.
pub(crate) fn pairs(text: &str) -> Option<Vec<(String, u32)>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut hosts = HostSlots::default();
    for pair in words.chunks(2) {
        let [host, count] = pair else { return None };
        hosts.add(host, slots(count.parse().ok()?)?)?;
    }
    Some(hosts.list)
}

/// Returns a number of slots, if a host can have as many.
pub(crate) fn slots(count: u64) -> Option<u32> {
    u32::try_from(count).ok().filter(|count| (1..=RANKS_PER_HOST_MAX).contains(count))
}

/// Whether this is a valid name of a host.
pub(crate) fn is_host(name: &str) -> bool {
    name.len() <= HOST_NAME_BYTES_MAX && is_name(name)
}

fn collect(text: &str, parse: impl Fn(&str) -> Option<(&str, u32)>) -> Parsed<'_> {
    let mut hosts = HostSlots::default();
    for (index, line) in text.lines().enumerate() {
        let text = line.trim();
        if !text.is_empty() {
            parse(text).and_then(|(host, slots)| hosts.add(host, slots)).ok_or((index + 1, line))?;
        }
    }
    Ok(hosts.list)
}

/// Hosts in the order of their first occurrence.
#[derive(Default)]
struct HostSlots {
    list: Vec<(String, u32)>,
    places: HashMap<String, usize>,
}

impl HostSlots {
    /// Adds slots to a host. `None` if the name is invalid, or the host has too many slots. Hosts beyond the maximum of a launcher are not stored: one
    /// more than the maximum is sufficient to refuse the list.
    fn add(&mut self, host: &str, count: u32) -> Option<()> {
        if let Some(&place) = self.places.get(host) {
            let (_, sum) = &mut self.list[place];
            *sum = slots(u64::from(*sum) + u64::from(count))?;
        } else if !is_host(host) {
            return None;
        } else if self.list.len() <= REMOTE_HOSTS_MAX {
            self.places.insert(host.into(), self.list.len());
            self.list.push((host.into(), count));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
        expected.iter().map(|&(host, slots)| (host.to_owned(), slots)).collect()
    }

    #[test]
    fn a_line_is_a_slot() {
        assert_eq!(lines("a\nb\na\n\n a \nb"), Ok(hosts(&[("a", 3), ("b", 2)])));
        assert_eq!(lines(""), Ok(Vec::new()));
        assert_eq!(lines("a\nb c\n"), Err((2, "b c")));
        assert_eq!(lines("-oProxyCommand=x"), Err((1, "-oProxyCommand=x")));
        assert_eq!(lines(&"a\n".repeat(4097)), Err((4097, "a")));
        let many: String = (0..3 * REMOTE_HOSTS_MAX).map(|number| format!("h{number}\n")).collect();
        assert_eq!(lines(&many).unwrap().len(), REMOTE_HOSTS_MAX + 1);
    }

    #[test]
    fn the_second_column_is_the_slots() {
        let text = "n1.cluster 4 all.q@n1 UNDEFINED\nn2.cluster 2 all.q@n2 <NULL>\nn1.cluster 1 other.q@n1 0,1\n";
        assert_eq!(columns(text), Ok(hosts(&[("n1.cluster", 5), ("n2.cluster", 2)])));
        assert_eq!(columns("a 1\nb\n"), Err((2, "b")));
        assert_eq!(columns("a 0 q"), Err((1, "a 0 q")));
    }

    #[test]
    fn hosts_and_slots_come_in_turn() {
        assert_eq!(pairs("a 4 b 2 a 1"), Some(hosts(&[("a", 5), ("b", 2)])));
        for wrong in ["a", "a 4 b", "4 a b 2", "a 0", "a 4097", "a 4096 a 1"] {
            assert_eq!(pairs(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn slots_are_neither_lost_nor_made(names in prop::collection::vec("[a-e]", 0..100)) {
            let found = lines(&names.join("\n")).unwrap();
            prop_assert_eq!(found.iter().map(|(_, slots)| *slots as usize).sum::<usize>(), names.len());
            for (host, slots) in found {
                prop_assert_eq!(names.iter().filter(|name| **name == host).count(), slots as usize);
            }
        }

        #[test]
        fn any_text_is_hosts_or_refused(text in "[ab\\- 0-9\n]{0,40}") {
            for (host, slots) in [lines(&text), columns(&text)].into_iter().flatten().flatten().chain(pairs(&text).into_iter().flatten()) {
                prop_assert!(is_host(&host) && (1..=RANKS_PER_HOST_MAX).contains(&slots));
            }
        }
    }
}
