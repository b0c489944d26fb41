//! What Slurm's variables say about the place where the processes of a step can meet.

/// The first host of a list such as `n[7-9,12],m`.
pub(crate) fn first_host(list: &str) -> Option<String> {
    let list = list.trim();
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (prefix, rest) = list.split_at(end);
    let name = match rest.strip_prefix('[') {
        Some(numbers) => {
            let (numbers, suffix) = numbers.split_once(']')?;
            let first = numbers.split([',', '-']).next().filter(|first| !first.is_empty())?;
            let suffix = suffix.split(',').next().unwrap_or_default();
            format!("{prefix}{first}{suffix}")
        }
        None => prefix.into(),
    };
    (!name.is_empty() && !name.contains(['[', ']'])).then_some(name)
}

/// A port that steps which run at the same time hardly share, below those that the system gives to connections.
pub(crate) fn port(job: u64, step: u64) -> u16 {
    const FIRST: u64 = 10_000;
    const PORTS: u64 = 20_000;
    (FIRST + job.wrapping_mul(31).wrapping_add(step) % PORTS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, host) in [
            ("n1", "n1"),
            ("n1,n2", "n1"),
            ("n[1-2]", "n1"),
            ("n[007-009,12],m", "n007"),
            ("rack[1,3]-a,b", "rack1-a"),
            ("a,n[1-2]", "a"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(host), "{list}");
        }
        for list in ["", ",", "[", "n[", "n[]", "r[1-2]n[3-4]"] {
            assert_eq!(first_host(list), None, "{list}");
        }
    }

    #[test]
    fn steps_have_ports_of_their_own() {
        assert!(port(0, 0) != port(0, 1) && port(1, 0) != port(2, 0));
        assert!([0, 7, u64::MAX].iter().all(|&job| (10_000..30_000).contains(&port(job, u64::MAX))));
    }
}
