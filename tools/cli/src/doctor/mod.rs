//! `pelago doctor`: what this machine lacks, what that costs, and what to do about it.
//!
//! | file | content |
//! |---|---|
//! | here | the command, its output and its exit code |
//! | `finding` | one result of a check |
//! | `kernel` | the kernel, its system calls and its settings |
//! | `resources` | cores, memory, limits, clocks |
//! | `network` | sockets, fabrics, launchers |
//!
//! Checks read `/proc` and `/sys` below a configurable root, so that tests can describe a machine, and try operations that jobs need.

mod finding;
mod kernel;
mod network;
mod resources;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use self::finding::{Finding, State};
use crate::{Refused, outputs};

/// Check what this machine lacks for jobs, and what that costs
#[derive(Args)]
#[command(after_help = "\
Each line has a state: ok; costs (jobs work, but slower or with less); fails (some jobs cannot run); unknown.

Exit codes:
  0  every job can run, perhaps slower than it could
  1  some jobs, or all, cannot run on this machine")]
pub(crate) struct Doctor {
    /// Print one JSON object per check and line
    #[arg(long)]
    json: bool,
    /// Omit checks without a finding
    #[arg(long)]
    brief: bool,
}

impl Doctor {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let findings = examine(&System::here());
        let mut text = String::new();
        for finding in findings.iter().filter(|finding| !self.brief || finding.state != State::Good) {
            if self.json {
                let _ = writeln!(text, "{}", finding.to_json());
            } else {
                let _ = write!(text, "{finding}");
            }
        }
        if !self.json {
            let _ = writeln!(text, "{}", verdict(&findings));
        }
        outputs::print(&text)?;
        Ok(ExitCode::from(u8::from(findings.iter().any(|finding| finding.state == State::Fails))))
    }
}

/// Root folder from which checks read the settings of the machine.
pub(super) struct System {
    root: PathBuf,
}

impl System {
    fn here() -> Self {
        Self { root: "/".into() }
    }

    /// Returns the trimmed text of a file such as `/proc/cpuinfo`.
    fn read(&self, path: &str) -> Option<String> {
        let path = self.root.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)));
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    }

    /// Returns the first number in a file.
    fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.split_whitespace().next()?.parse().ok()
    }
}

fn examine(system: &System) -> Vec<Finding> {
    [kernel::findings(system), resources::findings(system), network::findings(system)].concat()
}

fn verdict(findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (fails, costs) = (count(State::Fails), count(State::Costs));
    let checks = findings.len();
    match (fails, costs) {
        (0, 0) => format!("{checks} checks: this machine has everything that jobs use"),
        (0, 1) => format!("{checks} checks: every job can run; 1 finding costs something"),
        (0, _) => format!("{checks} checks: every job can run; {costs} findings cost something"),
        (1, _) => format!("{checks} checks: 1 finding keeps jobs from running, {costs} cost something"),
        _ => format!("{checks} checks: {fails} findings keep jobs from running, {costs} cost something"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine described by the files below this folder.
    struct Described(PathBuf);

    impl Described {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("pelago-doctor-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(&path[1..]);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("a file");
            }
            Self(root)
        }

        fn find(&self, name: &str) -> Finding {
            let findings = examine(&System { root: self.0.clone() });
            findings.into_iter().find(|finding| finding.name == name).unwrap_or_else(|| panic!("a check of {name}"))
        }
    }

    impl Drop for Described {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_poor_machine_is_told_what_it_lacks_and_what_that_costs() {
        let poor = Described::new(
            "poor",
            &[
                ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size advise [never] deny force\n"),
                ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
                ("/proc/sys/net/core/rmem_max", "212992\n"),
                ("/proc/sys/net/core/wmem_max", "212992\n"),
                ("/proc/sys/kernel/yama/ptrace_scope", "2\n"),
                ("/proc/cpuinfo", "flags : fpu sse2\n"),
                ("/sys/fs/cgroup/cpu.max", "50000 100000\n"),
                ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ],
        );
        let names = [
            "huge pages",
            "clock",
            "receive buffer",
            "send buffer",
            "cross-memory attach",
            "AES instructions",
            "CPU quota",
            "CPU frequency",
        ];
        for name in names {
            let finding = poor.find(name);
            assert!(finding.state == State::Costs && !finding.cost.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
        }
        assert!(poor.find("CPU quota").found.contains("0.5 cores"));
    }

    #[test]
    fn a_good_machine_has_no_findings_there() {
        let good = Described::new(
            "good",
            &[
                ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never deny force\n"),
                ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
                ("/proc/sys/net/core/rmem_max", "16777216\n"),
                ("/proc/sys/net/core/wmem_max", "16777216\n"),
                ("/proc/sys/kernel/yama/ptrace_scope", "1\n"),
                ("/proc/cpuinfo", "flags : fpu aes sse2\n"),
                ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
            ],
        );
        for name in ["huge pages", "clock", "receive buffer", "send buffer", "AES instructions", "CPU quota"] {
            assert_eq!(good.find(name).state, State::Good, "{name}");
        }
    }

    /// The group of a batch job, below the root; the root itself has no files of quotas.
    #[test]
    fn a_quota_of_the_own_group_or_of_one_around_it_is_found() {
        const V2: &str = "/sys/fs/cgroup/batch.slice";
        for (name, groups, folder, files, found) in [
            (
                "own",
                "0::/batch.slice/job.scope\n",
                "/job.scope",
                &[("cpu.max", "150000 100000\n")][..],
                Some("1.5 cores in every 100 ms"),
            ),
            ("around", "0::/batch.slice/job.scope\n", "", &[("cpu.max", "800000 100000\n")], Some("8.0 cores")),
            ("beside", "0::/batch.slice/job.scope\n", "/other.scope", &[("cpu.max", "50000 100000\n")], None),
            ("none", "0::/batch.slice/job.scope\n", "/job.scope", &[("cpu.max", "max 100000\n")], None),
        ] {
            let mut all = vec![("/proc/self/cgroup".to_owned(), groups)];
            all.extend(files.iter().map(|(file, text)| (format!("{V2}{folder}/{file}"), *text)));
            let all: Vec<_> = all.iter().map(|(path, text)| (&**path, *text)).collect();
            let finding = Described::new(name, &all).find("CPU quota");
            assert_eq!(finding.state == State::Costs, found.is_some(), "{name}: {finding:?}");
            assert!(found.is_none_or(|found| finding.found.contains(found)), "{name}: {finding:?}");
        }
        for (name, quota, found) in [("one", "50000\n", "0.5 cores in every 100 ms"), ("one-none", "-1\n", "none")] {
            let files = [
                ("/proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/job\n0::/\n"),
                ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", quota),
                ("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"),
            ];
            assert_eq!(Described::new(name, &files).find("CPU quota").found, found);
        }
        let two = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/cpu.max", "200000 100000\n"),
            ("/sys/fs/cgroup/a/b/cpu.max", "900000 100000\n"),
        ];
        assert!(Described::new("two", &two).find("CPU quota").found.starts_with("2.0 cores"), "the least counts");
    }

    #[test]
    fn the_verdict_counts() {
        let finding = |state| Finding { state, ..Finding::good("clock", "tsc") };
        assert!(verdict(&[finding(State::Good)]).ends_with("everything that jobs use"));
        assert!(verdict(&[finding(State::Costs), finding(State::Good)]).contains("every job can run; 1 finding costs"));
        assert!(verdict(&[finding(State::Costs), finding(State::Fails)]).contains("1 finding keeps jobs from running, 1 cost"));
    }
}
