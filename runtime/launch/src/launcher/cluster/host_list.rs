//! The hosts that the user specifies, and the ranks that each of them gets.

use pelago_base::Rank;
use pelago_base::limits::{RANKS_MAX, RANKS_PER_HOST_MAX};

use crate::launcher::limits::{HOSTS_SHOWN_MAX, REMOTE_HOSTS_MAX};

/// Hosts in the order in which the user specifies them. A name given twice is two hosts, each with its own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList(Vec<HostEntry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostEntry {
    name: String,
    /// If absent, the host takes an equal share of the remaining ranks.
    slots: Option<u32>,
}

/// A host and its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRanks {
    pub(crate) name: String,
    pub(crate) first: Rank,
    pub(crate) count: u32,
}

/// The user's specification of the number of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankAmounts {
    /// Ranks of the job.
    pub ranks: Option<u32>,
    /// Ranks of each host.
    pub per_host: Option<u32>,
    /// Whether a host may get more ranks than it has slots.
    pub oversubscribe: bool,
}

/// The hosts cannot be parsed, or do not fit the ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostListError {
    /// No host is specified.
    #[error("no host is named; name some as HOST or HOST:SLOTS")]
    None,
    /// An entry is invalid.
    #[error("{0:?} is not a host: use HOST or HOST:SLOTS, with 1 to {RANKS_PER_HOST_MAX} slots; put an IPv6 address in brackets")]
    Entry(String),
    /// A line of a file is invalid.
    #[error("line {line} is {text:?}: use HOST, HOST:SLOTS or HOST slots=SLOTS, with 1 to {RANKS_PER_HOST_MAX} slots")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// More hosts than one launcher can manage.
    #[error("{0} hosts are too many; one launcher manages at most {REMOTE_HOSTS_MAX}")]
    Many(usize),
    /// The number of ranks is invalid.
    #[error("{0} ranks: a job has 1 to {RANKS_MAX} ranks")]
    Ranks(u32),
    /// Too few slots.
    #[error(
        "{ranks} ranks do not fit the {slots} slots of {hosts} hosts; start fewer ranks, name more slots, or use --oversubscribe"
    )]
    Slots {
        /// Ranks of the job.
        ranks: u32,
        /// Slots of all hosts.
        slots: u64,
        /// Number of specified hosts.
        hosts: usize,
    },
    /// A host has too few slots for the ranks per host.
    #[error(
        "{count} ranks per host do not fit the {slots} slots of {host}; start fewer, name more slots, or use --oversubscribe"
    )]
    PerHost {
        /// The host.
        host: String,
        /// Number of ranks per host.
        count: u32,
        /// Slots of the host.
        slots: u32,
    },
    /// Too few ranks per host for all ranks.
    #[error("{ranks} ranks are more than {count} for each host (-N {count}; hosts: {hosts})")]
    PerHostAll {
        /// Ranks of the job.
        ranks: u32,
        /// Number of specified hosts.
        hosts: usize,
        /// Number of ranks per host.
        count: u32,
    },
    /// The number of ranks is unknown.
    #[error("say how many ranks: -n N, -N N (per host), or hosts with slots (HOST:SLOTS)")]
    Unsaid,
    /// A host gets too many ranks.
    #[error("{host} would get {count} ranks; the limit for one host is {RANKS_PER_HOST_MAX}")]
    TooManyRanks {
        /// The host.
        host: String,
        /// The number of its ranks.
        count: u32,
    },
}

impl HostList {
    /// Parses a list such as `a:2,b:2`.
    ///
    /// # Errors
    /// An entry is invalid, or there is none.
    pub fn parse_list(text: &str) -> Result<Self, HostListError> {
        let entry = |text: &str| parse_entry(text).ok_or_else(|| HostListError::Entry(text.into()));
        Self(text.split(',').map(str::trim).map(entry).collect::<Result<_, _>>()?).checked()
    }

    /// Parses a file of lines `host`, `host:slots` or `host slots=K`, with comments after `#`.
    ///
    /// # Errors
    /// A line is invalid, or there is none.
    pub fn parse_file(text: &str) -> Result<Self, HostListError> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()));
        let named = lines
            .filter(|(_, text)| !text.is_empty())
            .map(|(line, text)| parse_line(text).ok_or_else(|| HostListError::Line { line, text: text.into() }));
        Self(named.collect::<Result<_, _>>()?).checked()
    }

    /// Returns a list of hosts with the given slots.
    ///
    /// # Errors
    /// There is none, or there are too many.
    pub(crate) fn with_slots(hosts: impl IntoIterator<Item = (String, u32)>) -> Result<Self, HostListError> {
        Self(hosts.into_iter().map(|(name, slots)| HostEntry { name, slots: Some(slots) }).collect()).checked()
    }

    /// Returns the hosts with the slots that `amounts` requests, and the number of ranks: all slots, unless it specifies another number.
    ///
    /// # Errors
    /// The slots do not suffice, or the number of ranks is unknown.
    pub fn with_amounts(mut self, amounts: RankAmounts) -> Result<(Self, u32), HostListError> {
        let RankAmounts { ranks, per_host, oversubscribe } = amounts;
        if let Some(count) = per_host {
            for host in &mut self.0 {
                if let Some(slots) = host.slots.replace(count).filter(|slots| *slots < count && !oversubscribe) {
                    return Err(HostListError::PerHost { host: host.name.clone(), count, slots });
                }
            }
        }
        let ranks = match ranks {
            Some(ranks) => ranks,
            None => {
                let all: Option<Vec<u32>> = self.0.iter().map(|host| host.slots).collect();
                let slots: u64 = all.ok_or(HostListError::Unsaid)?.into_iter().map(u64::from).sum();
                u32::try_from(slots).unwrap_or(u32::MAX)
            }
        };
        match per_host {
            Some(count) if u64::from(ranks) > u64::from(count) * self.0.len() as u64 => {
                return Err(HostListError::PerHostAll { ranks, hosts: self.0.len(), count });
            }
            None if oversubscribe => self.oversubscribe(ranks),
            _ => {}
        }
        Ok((self, ranks))
    }

    /// Adds equally many slots to each host if the slots do not suffice.
    fn oversubscribe(&mut self, ranks: u32) {
        let slots: u64 = self.0.iter().filter_map(|host| host.slots).map(u64::from).sum();
        let (mut missing, mut hosts) = (u64::from(ranks).saturating_sub(slots), self.0.len() as u64);
        for slots in self.0.iter_mut().map(|host| &mut host.slots) {
            // A host without slots takes the remaining ranks anyway.
            let share = missing.div_ceil(hosts);
            (missing, hosts) = (missing - share, hosts - 1);
            *slots = slots.map(|slots| slots.saturating_add(u32::try_from(share).unwrap_or(u32::MAX)));
        }
    }

    /// Returns the name of the host that gets all `ranks` ranks, if one does.
    pub fn only_host(&self, ranks: u32) -> Option<String> {
        match &self.place(ranks).ok()?[..] {
            [only] => Some(only.name.clone()),
            _ => None,
        }
    }

    /// Assigns `ranks` ranks to the hosts, consecutive numbers to each, in order; omits hosts without ranks.
    pub(crate) fn place(&self, ranks: u32) -> Result<Vec<HostRanks>, HostListError> {
        if !(1..=RANKS_MAX).contains(&ranks) {
            return Err(HostListError::Ranks(ranks));
        }
        let said = self.0.iter().filter_map(|host| host.slots);
        let slots: u64 = said.map(u64::from).sum();
        let mut sharing = self.0.iter().filter(|host| host.slots.is_none()).count() as u64;
        if sharing == 0 && slots < u64::from(ranks) {
            return Err(HostListError::Slots { ranks, slots, hosts: self.0.len() });
        }
        let mut shared = u64::from(ranks).saturating_sub(slots);
        let mut first = 0;
        let mut placed = Vec::new();
        for host in &self.0 {
            let count = match host.slots {
                Some(slots) => slots.min(ranks - first),
                None => {
                    let share = shared.div_ceil(sharing);
                    (shared, sharing) = (shared - share, sharing - 1);
                    share as u32
                }
            };
            if count > RANKS_PER_HOST_MAX {
                return Err(HostListError::TooManyRanks { host: host.name.clone(), count });
            }
            if count > 0 {
                placed.push(HostRanks { name: host.name.clone(), first: Rank::new(first), count });
            }
            first += count;
        }
        Ok(placed)
    }

    /// Whether there is only one host.
    pub fn is_single(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the hosts as text, with the first ones by name: `a:2, b:2`.
    pub fn summary(&self) -> String {
        let text = |host: &HostEntry| host.slots.map_or(host.name.clone(), |slots| format!("{}:{slots}", host.name));
        let named = self.0.iter().take(HOSTS_SHOWN_MAX).map(text).collect::<Vec<_>>().join(", ");
        match self.0.len().saturating_sub(HOSTS_SHOWN_MAX) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    fn checked(self) -> Result<Self, HostListError> {
        match self.0.len() {
            0 => Err(HostListError::None),
            hosts if hosts > REMOTE_HOSTS_MAX => Err(HostListError::Many(hosts)),
            _ => Ok(self),
        }
    }
}

fn parse_line(text: &str) -> Option<HostEntry> {
    match text.split_once(char::is_whitespace) {
        None => parse_entry(text),
        Some((name, slots)) => {
            let named = parse_entry(name).filter(|named| named.slots.is_none())?;
            Some(HostEntry { slots: Some(parse_slots(slots.trim().strip_prefix("slots=")?)?), ..named })
        }
    }
}

fn parse_entry(text: &str) -> Option<HostEntry> {
    let (name, slots) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']')?;
            (name, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((name, slots)) => (name, Some(slots)),
            None => (text, None),
        },
    };
    let slots = slots.map(|slots| parse_slots(slots).ok_or(())).transpose().ok()?;
    is_name(name).then(|| HostEntry { name: name.into(), slots })
}

fn parse_slots(text: &str) -> Option<u32> {
    text.parse().ok().filter(|slots| (1..=RANKS_PER_HOST_MAX).contains(slots))
}

/// Whether a text is a host name. Names become arguments of a remote shell, which must not take them for options or for several words.
pub(crate) fn is_name(text: &str) -> bool {
    let good = |character: char| character.is_alphanumeric() || "._-:@%+/".contains(character);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &str, ranks: u32) -> Result<Vec<(String, u32, u32)>, HostListError> {
        let placed = HostList::parse_list(list)?.place(ranks)?;
        Ok(placed.into_iter().map(|host| (host.name, host.first.number(), host.count)).collect())
    }

    fn named(expected: &[(&str, u32, u32)]) -> Result<Vec<(String, u32, u32)>, HostListError> {
        Ok(expected.iter().map(|&(name, first, count)| (name.to_owned(), first, count)).collect())
    }

    #[test]
    fn ranks_fill_the_hosts_in_order() {
        assert_eq!(placed("a:2,b:2", 4), named(&[("a", 0, 2), ("b", 2, 2)]));
        assert_eq!(placed("a:2, b:2 ,c:2", 3), named(&[("a", 0, 2), ("b", 2, 1)]), "the last get fewer");
        assert_eq!(placed("a:3", 2), named(&[("a", 0, 2)]));
        assert_eq!(placed("a:1,a:1", 2), named(&[("a", 0, 1), ("a", 1, 1)]), "named twice is two hosts");
    }

    #[test]
    fn hosts_without_slots_share_what_is_left() {
        assert_eq!(placed("a,b", 5), named(&[("a", 0, 3), ("b", 3, 2)]));
        assert_eq!(placed("a,b,c", 10), named(&[("a", 0, 4), ("b", 4, 3), ("c", 7, 3)]));
        assert_eq!(placed("a:3,b,c", 7), named(&[("a", 0, 3), ("b", 3, 2), ("c", 5, 2)]));
        assert_eq!(placed("b,a:3,c", 6), named(&[("b", 0, 2), ("a", 2, 3), ("c", 5, 1)]));
        assert_eq!(placed("b,a:3", 2), named(&[("a", 0, 2)]), "nothing is left");
        assert_eq!(placed("a,b,c", 2), named(&[("a", 0, 1), ("b", 1, 1)]));
    }

    #[test]
    fn ranks_that_do_not_fit_are_refused() {
        assert_eq!(placed("a:2,b:2", 5), Err(HostListError::Slots { ranks: 5, slots: 4, hosts: 2 }));
        assert_eq!(placed("a:2", 0), Err(HostListError::Ranks(0)));
        assert_eq!(placed("a", RANKS_MAX + 1), Err(HostListError::Ranks(RANKS_MAX + 1)));
        assert_eq!(placed("a:1,b", 4098), Err(HostListError::TooManyRanks { host: "b".into(), count: 4097 }));
    }

    #[test]
    fn the_number_of_ranks_is_that_of_the_slots_unless_said() {
        let amounts = |list: &str, ranks, per_host, oversubscribe| {
            let (hosts, ranks) = HostList::parse_list(list)?.with_amounts(RankAmounts { ranks, per_host, oversubscribe })?;
            Ok(hosts.place(ranks)?.into_iter().map(|host| host.count).collect::<Vec<_>>())
        };
        assert_eq!(amounts("a:2,b:3", None, None, false), Ok(vec![2, 3]));
        assert_eq!(amounts("a:2,b:3", Some(3), None, false), Ok(vec![2, 1]));
        assert_eq!(amounts("a,b", None, None, false), Err(HostListError::Unsaid));
        assert_eq!(amounts("a,b", None, Some(2), false), Ok(vec![2, 2]));
        assert_eq!(amounts("a:4,b:3", Some(3), Some(2), false), Ok(vec![2, 1]));
        assert_eq!(amounts("a:4,b:3", None, Some(4), true), Ok(vec![4, 4]));
        let expected = HostListError::PerHost { host: "b".into(), count: 4, slots: 3 };
        assert_eq!(amounts("a:4,b:3", None, Some(4), false), Err(expected));
        let expected = HostListError::PerHostAll { ranks: 5, hosts: 2, count: 2 };
        for oversubscribe in [false, true] {
            assert_eq!(amounts("a:4,b:3", Some(5), Some(2), oversubscribe), Err(expected.clone()));
        }
    }

    #[test]
    fn ranks_beyond_the_slots_are_shared_equally_on_request() {
        let counts = |list: &str, ranks| {
            let amounts = RankAmounts { ranks: Some(ranks), oversubscribe: true, ..RankAmounts::default() };
            let (hosts, ranks) = HostList::parse_list(list).unwrap().with_amounts(amounts)?;
            Ok(hosts.place(ranks)?.into_iter().map(|host| host.count).collect::<Vec<_>>())
        };
        assert_eq!(counts("a:2,b:3", 5), Ok(vec![2, 3]));
        assert_eq!(counts("a:2,b:3", 4), Ok(vec![2, 2]));
        assert_eq!(counts("a:2,b:3", 8), Ok(vec![4, 4]));
        assert_eq!(counts("a:1,b", 3).map(|counts| counts.iter().sum()), Ok(3));
        assert_eq!(counts("a:4096,b:1", 4099), Err(HostListError::TooManyRanks { host: "a".into(), count: 4097 }));
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(placed("[fe80::1]:2,[::1]", 3), named(&[("fe80::1", 0, 2), ("::1", 2, 1)]));
        assert_eq!(placed("me@host.example:1", 1), named(&[("me@host.example", 0, 1)]));
        for wrong in
            ["", ",", "a,,b", "a:", "a:0", "a:4097", "a:b", "fe80::1:2", "[a", "[a]2", "-oProxyCommand=x", "a b", "a;'b'"]
        {
            assert!(matches!(HostList::parse_list(wrong), Err(HostListError::Entry(_))), "{wrong:?}");
        }
        let many = vec!["a"; REMOTE_HOSTS_MAX + 1].join(",");
        assert_eq!(HostList::parse_list(&many), Err(HostListError::Many(REMOTE_HOSTS_MAX + 1)));
    }

    #[test]
    fn files_say_the_same_line_by_line() {
        let text = "# the machines\n\na:2   # two\n b\t slots=3\nc\n";
        assert_eq!(HostList::parse_file(text), HostList::parse_list("a:2,b:3,c"));
        assert_eq!(HostList::parse_file("# none\n"), Err(HostListError::None));
        for wrong in ["a 2", "a:2 slots=2", "a slots=0", "a slots=2 b", "-a", "a slots="] {
            let expected = HostListError::Line { line: 2, text: wrong.into() };
            assert_eq!(HostList::parse_file(&format!("b\n{wrong}")), Err(expected));
        }
    }
}
