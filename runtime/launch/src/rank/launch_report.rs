//! The detected launcher, the way by which this process would become a rank, and the reasons against the other ways: for `pelago info --launch`.

use std::ffi::OsString;

use crate::rank::environment::{ForeignStore, LaunchSettings, names};
use crate::rank::mpirun::OneHostJob;

/// One way to become a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchWay {
    /// Its name.
    pub name: &'static str,
    /// Its requirements and findings, or the reason why it is not used.
    pub why: String,
    /// Whether it is used.
    pub is_used: bool,
}

/// The information in the environment about launchers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchReport {
    /// The launchers whose variables are set.
    pub detected: Vec<&'static str>,
    /// Every way to become a rank, in the order in which they are tried.
    pub ways: Vec<LaunchWay>,
    /// The result, in one line.
    pub outcome: String,
}

/// Launchers, by a variable that no other launcher sets.
const MARKS: [(&str, &str); 7] = [
    (names::RANK, "pelago run"),
    (names::OPEN_MPI_SIZE, "Open MPI (mpirun)"),
    ("HYDI_CONTROL_FD", "Hydra (MPICH, Intel MPI)"),
    (names::SLURM_STEP, "Slurm (srun)"),
    ("TORCHELASTIC_RUN_ID", "torchrun"),
    (names::PMI_DESCRIPTOR, "a launcher that speaks PMI-1"),
    (names::PMIX_JOB, "a launcher that speaks PMIx"),
];

/// The ways that this process could become a rank: those of [`LaunchSettings`], in the same order.
const WAYS: [&str; 5] = ["pelago run", "PMI-1", "PMIx", "rendezvous", "alone"];

impl LaunchReport {
    /// Interprets the variables that `variable` looks up.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let settings = LaunchSettings::from_variables(&variable);
        let variable = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let (used, outcome) = outcome(&settings, variable);
        let way = |name: &&'static str| {
            let is_used = used == Some(*name);
            let why = if is_used { outcome.clone() } else { rejection(name, used, &variable) };
            LaunchWay { name, why, is_used }
        };
        let detected = MARKS.iter().filter(|(name, _)| variable(name).is_some()).map(|&(_, launcher)| launcher).collect();
        Self { detected, ways: WAYS.iter().map(way).collect(), outcome }
    }

    /// Interprets the environment of this process.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }
}

/// Returns the way that is used, and the result.
fn outcome(
    settings: &Result<LaunchSettings, crate::LaunchSettingsError>,
    variable: impl Fn(&str) -> Option<String>,
) -> (Option<&'static str>, String) {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return (None, format!("refused: {error}")),
    };
    if let Some(job) = &settings.job {
        return (Some("pelago run"), format!("rank {} of {}", job.rank, job.size));
    }
    match (&settings.adopted, &settings.foreign) {
        (Some(job), _) => {
            let process = job.rank;
            match &job.launcher {
                ForeignStore::Pmi { descriptor, size } => {
                    (Some("PMI-1"), format!("process {process} of {size}, by descriptor {descriptor} (PMI_FD)"))
                }
                ForeignStore::Pmix => match OneHostJob::of_variables(variable) {
                    Some(job) => {
                        (Some("PMIx"), format!("process {process} of {}, all of this host, by the variables of mpirun", job.size))
                    }
                    None => (Some("PMIx"), format!("process {process}, by libpmix.so.2")),
                },
                ForeignStore::Rendezvous(point) => {
                    let (size, address, port) = (point.size, &point.address, point.port);
                    (Some("rendezvous"), format!("process {process} of {size}, which meet at {address} port {port}"))
                }
            }
        }
        (None, Some(foreign)) => (None, format!("refused: {foreign}")),
        (None, None) => (Some("alone"), "a job of one rank".into()),
    }
}

/// Returns the reason why a way is not used.
fn rejection(name: &str, used: Option<&str>, variable: &impl Fn(&str) -> Option<String>) -> String {
    let missing = |names: &[&str]| {
        let missing: Vec<&str> = names.iter().copied().filter(|name| variable(name).is_none()).collect();
        (!missing.is_empty()).then(|| format!("{} {} not set", missing.join(", "), if missing.len() == 1 { "is" } else { "are" }))
    };
    let has_secret = variable(names::SECRET).is_some() || variable(names::SECRET_FILE).is_some();
    let needs = match name {
        "pelago run" => missing(&[names::RANK, names::SIZE, names::MEMORY]),
        "PMI-1" => missing(&[names::PMI_DESCRIPTOR, names::PMI_RANK, names::PMI_SIZE]),
        "PMIx" => missing(&[names::PMIX_JOB, names::PMIX_RANK]),
        "rendezvous" if !has_secret => Some(format!("{} and {} are not set", names::SECRET, names::SECRET_FILE)),
        "rendezvous" if variable(names::SLURM_STEP).is_some() => missing(&[names::SLURM_RANK]),
        "rendezvous" => missing(&[names::WORLD_RANK, names::WORLD_SIZE, names::MASTER_ADDRESS, names::MASTER_PORT]),
        _ => None,
    };
    needs.unwrap_or_else(|| match used {
        Some("alone") if variable(names::SINGLE).is_some_and(|value| value == "1") => format!("{} is 1", names::SINGLE),
        Some("alone") => "the launcher has started a single process".into(),
        Some(used) => format!("{used} comes first"),
        None => "the job is refused".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(variables: &[(&str, &str)]) -> LaunchReport {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        LaunchReport::from_variables(value)
    }

    fn used(report: &LaunchReport) -> Vec<&str> {
        report.ways.iter().filter(|way| way.is_used).map(|way| way.name).collect()
    }

    fn why<'a>(report: &'a LaunchReport, name: &str) -> &'a str {
        &report.ways.iter().find(|way| way.name == name).unwrap().why
    }

    #[test]
    fn the_way_that_is_used_is_shown_and_why_the_others_are_not() {
        let none = report(&[]);
        assert_eq!((used(&none), none.detected.len(), none.outcome.as_str()), (vec!["alone"], 0, "a job of one rank"));
        assert_eq!(why(&none, "PMI-1"), "PMI_FD, PMI_RANK, PMI_SIZE are not set");

        let hydra = [("PMI_FD", "6"), ("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("HYDI_CONTROL_FD", "5")];
        let found = report(&hydra);
        assert_eq!((used(&found), found.detected[0]), (vec!["PMI-1"], "Hydra (MPICH, Intel MPI)"));
        assert!(found.outcome.starts_with("process 1 of 4") && why(&found, "alone") == "PMI-1 comes first");

        let single = report(&[&hydra[..], &[("PELAGO_SINGLE", "1")]].concat());
        assert_eq!((used(&single), why(&single, "PMI-1")), (vec!["alone"], "PELAGO_SINGLE is 1"));

        let pmix = report(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "4")]);
        assert_eq!((used(&pmix), pmix.detected[0]), (vec!["PMIx"], "Open MPI (mpirun)"));
    }

    #[test]
    fn a_job_that_is_refused_says_so() {
        let slurm = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0"), ("SLURM_NODELIST", "n1")];
        let refused = report(&slurm);
        assert!(used(&refused).is_empty() && refused.outcome.starts_with("refused: SLURM_NTASKS is 4"), "{refused:?}");
        assert_eq!(why(&refused, "rendezvous"), "PELAGO_SECRET and PELAGO_SECRET_FILE are not set");
        let met = report(&[&slurm[..], &[("PELAGO_SECRET", "x")]].concat());
        assert!(used(&met) == ["rendezvous"] && met.outcome.contains("which meet at n1 port "), "{met:?}");
        let wrong = report(&[("PMI_FD", "x"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")]);
        assert!(wrong.outcome.starts_with("refused: the environment variable PMI_FD cannot be"), "{wrong:?}");
    }
}
