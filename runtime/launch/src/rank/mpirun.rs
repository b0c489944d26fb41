//! The variables of Open MPI's `mpirun`: they describe the job completely if all its processes are on one host.

use crate::rank::environment::names;
use crate::system::process_stat::ProcessStat;

/// Maximum number of processes between the launcher and this one, such as shells and debuggers.
const ANCESTORS_MAX: usize = 16;

/// A job whose processes are all on this host, as its launcher describes it to each of them.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct OneHostJob {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) job: String,
    /// 32 hexadecimal digits, which other processes do not know.
    pub(crate) secret: String,
    /// The launcher's process number.
    pub(crate) launcher: u32,
}

impl OneHostJob {
    /// Reads the job from variables. `None` if a variable is missing, if the processes are not all on this host, or if the launcher is not an ancestor of this
    /// process: then the variables are left over from another job.
    pub(crate) fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        Self::told(variable).filter(Self::is_of_us)
    }

    fn told(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let [rank, size] = [names::OPEN_MPI_RANK, names::OPEN_MPI_SIZE].map(number);
        let (rank, size) = (rank?, size?);
        let is_whole = rank < size && number(names::OPEN_MPI_LOCAL_SIZE) == Some(size) && number(names::PMIX_RANK) == Some(rank);
        // Two halves of 16 hexadecimal digits, drawn for each job.
        let key = variable(names::OPEN_MPI_KEY)?;
        let (first, second) = key.trim().split_once('-').filter(|(first, second)| [first.len(), second.len()] == [16; 2])?;
        let secret = [first, second].concat();
        let is_whole = is_whole && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        let launcher = variable(names::PMIX_SERVER)?.rsplit_once("/pid.")?.1.parse().ok()?;
        is_whole.then_some(Self { rank, size, job: variable(names::PMIX_JOB)?, secret, launcher })
    }

    fn is_of_us(&self) -> bool {
        let parent = |process: &u32| ProcessStat::of(*process).map(|stat| stat.parent);
        let mut ancestors = std::iter::successors(Some(std::process::id()), parent).take(ANCESTORS_MAX);
        ancestors.any(|ancestor| ancestor == self.launcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIABLES: [(&str, &str); 7] = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("PMIX_RANK", "1"),
        ("PMIX_NAMESPACE", "1146093569"),
        ("PMIX_SERVER_TMPDIR", "/tmp/ompi.vm.0/pid.10414"),
        ("OMPI_MCA_orte_precondition_transports", "0d8b3fd42b5d66af-4622290126ec6cdd"),
    ];

    fn told(change: (&str, Option<&str>)) -> Option<OneHostJob> {
        let value = |name: &str| VARIABLES.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        OneHostJob::told(|name| if name == change.0 { change.1.map(str::to_owned) } else { value(name) })
    }

    #[test]
    fn variables_of_a_job_of_one_host_tell_all() {
        let secret = "0d8b3fd42b5d66af4622290126ec6cdd".into();
        let all = OneHostJob { rank: 1, size: 4, job: "1146093569".into(), secret, launcher: 10414 };
        assert_eq!(told(("", None)), Some(all));
    }

    #[test]
    fn a_job_is_not_of_one_host_if_a_variable_is_missing_or_says_so() {
        for (name, _) in VARIABLES {
            assert_eq!(told((name, None)), None, "{name}");
        }
        let others = [
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ("OMPI_COMM_WORLD_RANK", "4"),
            ("PMIX_RANK", "0"),
            ("PMIX_SERVER_TMPDIR", "/tmp/ompi.vm.0/jf.10414"),
            ("OMPI_MCA_orte_precondition_transports", "0d8b-4622"),
            ("OMPI_MCA_orte_precondition_transports", "0d8b3fd42b5d66ag-4622290126ec6cdd"),
        ];
        for (name, value) in others {
            assert_eq!(told((name, Some(value))), None, "{name}={value}");
        }
    }

    #[test]
    fn variables_of_a_launcher_that_is_no_ancestor_are_not_ours() {
        let of = |launcher: u32| OneHostJob { launcher, ..told(("", None)).unwrap() };
        let parent = std::os::unix::process::parent_id();
        assert!(of(parent).is_of_us() && of(std::process::id()).is_of_us());
        // Larger than the number of any process.
        assert!(!of((1 << 22) + 1).is_of_us());
    }
}
