//! Other launchers that start several processes of a program, but provide no means by which the processes could become a job.

use std::fmt;

/// The information in the environment about a launcher whose processes cannot become the ranks of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignLauncher {
    variable: &'static str,
    /// Number of processes that it has started, if known.
    processes: Option<u64>,
    /// Whether it has started this process; otherwise the process runs on its own in an allocation.
    has_started: bool,
}

/// Variables that hold the number of processes: of Open MPI, of PMI if there is no connection to the launcher, of Slurm, of torchrun and similar
/// launchers.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", SLURM_SIZE, WORLD_SIZE];

/// Set by torchrun and similar launchers.
const WORLD_SIZE: &str = "WORLD_SIZE";

/// Set by Slurm, also for batch scripts.
const SLURM_SIZE: &str = "SLURM_NTASKS";

/// Set by Slurm for the processes that srun starts.
const SLURM_STEP: &str = "SLURM_STEP_ID";

/// Set by PMIx servers for their processes.
const PMIX: [&str; 2] = ["PMIX_NAMESPACE", "PMIX_RANK"];

impl ForeignLauncher {
    /// Detects a launcher of several processes. A launcher that reports a single process is ignored.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &&'static str| Some((*name, variable(name)?.trim().parse::<u64>().ok()?));
        let sizes: Vec<_> = SIZES.iter().filter_map(number).collect();
        let several = sizes.iter().find(|(_, size)| *size > 1).map(|&(name, size)| (name, Some(size)));
        let server = || PMIX.into_iter().find(|name| sizes.is_empty() && variable(name).is_some()).map(|name| (name, None));
        let (name, processes) = several.or_else(server)?;
        Some(Self { variable: name, processes, has_started: name != SLURM_SIZE || variable(SLURM_STEP).is_some() })
    }
}

impl fmt::Display for ForeignLauncher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.processes.map_or("N".into(), |count| count.to_string());
        match (self.processes, self.has_started) {
            (Some(count), true) => write!(
                f,
                "{} is {count}: another launcher has started this program, and it would run as {count} jobs of one rank each",
                self.variable
            ),
            (Some(count), false) => write!(
                f,
                "{} is {count}: this program was started by itself in an allocation of {count} tasks, and would run as a job of one rank",
                self.variable
            ),
            (None, _) => {
                write!(
                    f,
                    "{} is set: a PMIx launcher has started this program, and each process would be a job of one rank",
                    self.variable
                )
            }
        }?;
        let secret = match self.variable {
            SLURM_SIZE | WORLD_SIZE if self.has_started => {
                " set PELAGO_SECRET to the same 32 hexadecimal digits for all of them (openssl rand -hex 16),"
            }
            _ => "",
        };
        write!(f, "; start it by pelago run -n {processes},{secret} or set PELAGO_SINGLE=1 if single ranks are intended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variables: &[(&str, &str)]) -> Option<String> {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
        ForeignLauncher::find(value).map(|foreign| foreign.to_string())
    }

    #[test]
    fn launchers_of_several_processes_are_found() {
        for name in SIZES {
            let line = find(&[(name, "4"), ("SLURM_STEP_ID", "0")]).unwrap();
            let says = format!("{name} is 4: another launcher has started this program, and it would run as 4 jobs");
            assert!(line.starts_with(&says) && line.contains("pelago run -n 4") && line.contains("PELAGO_SINGLE=1"), "{line}");
        }
        for name in PMIX {
            assert!(find(&[(name, "0")]).unwrap().starts_with(&format!("{name} is set: a PMIx launcher")));
        }
        assert!(find(&[("WORLD_SIZE", "1"), ("PMI_SIZE", "2")]).is_some(), "one says that there are several");
    }

    #[test]
    fn a_batch_script_is_told_from_what_srun_starts() {
        // Slurm numbers the batch script as a process too.
        let script = find(&[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")]).unwrap();
        assert!(
            script.starts_with("SLURM_NTASKS is 4: this program was started by itself in an allocation of 4 tasks"),
            "{script}"
        );
    }

    #[test]
    fn single_processes_and_what_is_no_number_are_let_alone() {
        assert_eq!(find(&[]), None);
        for name in SIZES {
            assert_eq!(find(&[(name, "1"), ("PMIX_RANK", "0"), ("PMIX_NAMESPACE", "x")]), None, "{name}");
            assert_eq!(find(&[(name, "many")]), None);
        }
    }
}
