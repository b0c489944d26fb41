//! Checks of cores, memory, process limits, and the clock.

use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use pelago::cuda::{CudaError, Driver};
use pelago_memory::memory_file;
use rustix::process::{Resource, getrlimit};

use super::System;
use super::finding::Finding;
use crate::info;

/// Descriptors that the launcher needs for each rank, and in addition; the same values as in the limits of the launcher.
const DESCRIPTORS_PER_RANK: u64 = 3;
const DESCRIPTORS_BESIDES: u64 = 64;

/// Ranks on one host that a limit must allow; a higher limit is not reported.
const RANKS_EXPECTED: u64 = 256;

/// Series of clock readings, of which the fastest counts, because another process may have had the core in the others; the readings of a
/// series; and the longest acceptable time of one reading.
const CLOCK_SERIES: u32 = 100;
const CLOCK_READINGS: u32 = 100;
const CLOCK_READING_MAX: Duration = Duration::from_nanos(200);

/// Size of `/dev/shm` that Open MPI and other libraries expect.
const SHM_BYTES_USUAL: u64 = 64 << 20;

pub(super) fn findings(system: &System) -> Vec<Finding> {
    let mut findings = vec![cores(system), quota(system), aes(system), clock(system), memory(), address_space(), shm(system)];
    findings.extend([descriptors(), processes(), gpus()]);
    findings.extend(governor(system));
    findings
}

/// A machine without a GPU has no deficiency; a machine whose GPU driver does not work has one.
fn gpus() -> Finding {
    match Driver::get() {
        Ok(_) => Finding::good("GPUs", info::gpus()),
        Err(why @ CudaError::Missing(_)) => Finding::good("GPUs", format!("none are used: {why}")),
        Err(why) => Finding::costs(
            "GPUs",
            why.to_string(),
            "memory of GPUs cannot be registered; programs use memory of the host",
            "a driver of CUDA 11.0 or later, and a visible device",
        ),
    }
}

fn cores(system: &System) -> Finding {
    let usable = available_parallelism().map_or(0, |cores| cores.get() as u64);
    let text = system.read("/sys/devices/system/cpu/online").unwrap_or_default();
    let online: u64 = text.split(',').filter_map(range_length).sum();
    if usable == 0 {
        return Finding::unknown("cores");
    }
    if usable < online {
        return Finding::costs(
            "cores",
            format!("{usable} of {online}: an affinity mask or a quota excludes the others"),
            format!("more than {usable} ranks share cores: they yield instead of spinning, and waits take scheduling time"),
            "taskset, the cpuset of the container, or more cores in the allocation",
        );
    }
    Finding::good("cores", format!("{usable}"))
}

/// Returns the count of numbers in a range such as `0-3` or `7`.
fn range_length(range: &str) -> Option<u64> {
    let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
    (last.parse::<u64>().ok()? + 1).checked_sub(first.parse().ok()?)
}

/// Checks the CPU quota of the control group, and of those that contain it: a rank that waits by spinning uses it up.
fn quota(system: &System) -> Finding {
    let groups = system.read("/proc/self/cgroup").unwrap_or_default();
    let quotas = groups.lines().flat_map(|line| quotas_of(system, line)).chain(quota_of(system, "/sys/fs/cgroup"));
    let Some((quota, period)) = quotas.min_by(|(one, per), (other, other_per)| (one / per).total_cmp(&(other / other_per)))
    else {
        return Finding::good("CPU quota", "none");
    };
    Finding::costs(
        "CPU quota",
        format!("{:.1} cores in every {:.0} ms", quota / period, period / 1000.0),
        "when the quota is used up all ranks stand still for the rest of the period",
        "raise the CPU limit of the container, or start fewer ranks than it allows cores",
    )
}

/// Returns the quotas of a control group and of its ancestors. `line` is one of `/proc/self/cgroup`: number of the hierarchy, its controllers, and
/// the path of the group. The hierarchy of version 2 has no controllers; version 1 has one for `cpu`.
fn quotas_of(system: &System, line: &str) -> Vec<(f64, f64)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let mounts: &[&str] = match controllers {
        "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
        _ if controllers.split(',').any(|name| name == "cpu") => &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"],
        _ => &[],
    };
    let groups = || Path::new(path).ancestors().filter_map(Path::to_str).map(|group| group.trim_end_matches('/'));
    let all = mounts.iter().flat_map(|mount| groups().map(move |group| format!("{mount}{group}")));
    all.filter_map(|folder| quota_of(system, &folder)).collect()
}

/// Returns the microseconds of a quota and of its period; `None` if the group has no quota.
fn quota_of(system: &System, folder: &str) -> Option<(f64, f64)> {
    let of_one = |file: &str| system.read(&format!("{folder}/{file}"));
    let text = of_one("cpu.max").or_else(|| Some(format!("{} {}", of_one("cpu.cfs_quota_us")?, of_one("cpu.cfs_period_us")?)))?;
    let mut words = text.split_whitespace().map(|word| word.parse::<f64>().ok().filter(|&time| time > 0.0));
    Some((words.next()??, words.next()??))
}

fn aes(system: &System) -> Finding {
    let Some(text) = system.read("/proc/cpuinfo") else { return Finding::unknown("AES instructions") };
    let flags = text.lines().find(|line| line.starts_with("flags") || line.starts_with("Features")).unwrap_or_default();
    if flags.split_whitespace().any(|flag| flag == "aes") {
        return Finding::good("AES instructions", "datagrams are authenticated in hardware");
    }
    Finding::costs(
        "AES instructions",
        "the processor, or its hypervisor, has none",
        "each datagram over UDP is authenticated in software: jobs over a network spend most of their time there",
        "a processor with AES instructions; let the virtual machine have the type of the host's processor",
    )
}

/// Checks the clock source of the kernel and the time of one reading.
fn clock(system: &System) -> Finding {
    let series = |_| {
        let begun = Instant::now();
        let last = (0..CLOCK_READINGS).fold(begun, |_, _| Instant::now());
        last.duration_since(begun) / CLOCK_READINGS
    };
    let each = (0..CLOCK_SERIES).map(series).min().unwrap_or_default();
    let source = system.read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.unwrap_or_else(|| "unknown".into());
    let found = format!("{source}, {} ns per reading", each.as_nanos());
    if ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&source.as_str()) || each > CLOCK_READING_MAX {
        return Finding::costs(
            "clock",
            found,
            "operations over a network and waits with a limit read the clock; each reading is a system call",
            "tsc, kvm-clock or hyperv_clocksource as the clock source of the kernel",
        );
    }
    Finding::good("clock", found)
}

/// Checks whether the memory of a job can be as large as that of the machine.
fn memory() -> Finding {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    match memory_file("pelago-doctor", bytes) {
        Ok(_) => Finding::good("shared memory", format!("memfd of {} MiB", bytes >> 20)),
        Err(error) => Finding::fails(
            "shared memory",
            format!("a memfd of {} MiB is refused: {error}", bytes >> 20),
            "heaps of ranks of one host cannot have their default size; jobs may not start",
            "ulimit -f unlimited; allow memfd_create; or pelago run --heap SIZE",
        ),
    }
}

fn address_space() -> Finding {
    match getrlimit(Resource::As).current {
        None => Finding::good("address space", "no limit"),
        Some(bytes) => Finding::costs(
            "address space",
            format!("{} MiB per process", bytes >> 20),
            "every rank maps the heaps of all ranks of its host: jobs need smaller heaps, or end with ENOMEM",
            "ulimit -v unlimited, or pelago run --heap SIZE",
        ),
    }
}

/// Checks `/dev/shm`: Pelago does not use it, but other libraries do, which matters for comparisons.
fn shm(_system: &System) -> Finding {
    let Ok(folder) = rustix::fs::statvfs("/dev/shm") else {
        return Finding::good("/dev/shm", "missing; jobs do not use it (their memory is a memfd)");
    };
    let bytes = folder.f_blocks.saturating_mul(folder.f_frsize);
    let note = if bytes < SHM_BYTES_USUAL { "; small, which matters to other libraries" } else { "" };
    Finding::good("/dev/shm", format!("{} MiB; jobs do not use it (their memory is a memfd){note}", bytes >> 20))
}

fn descriptors() -> Finding {
    let limit = getrlimit(Resource::Nofile).maximum;
    let ranks = limit.map(|limit| limit.saturating_sub(DESCRIPTORS_BESIDES) / DESCRIPTORS_PER_RANK);
    match (limit, ranks) {
        (Some(limit), Some(ranks)) if ranks < RANKS_EXPECTED => Finding::costs(
            "open files",
            format!("hard limit {limit}"),
            format!("pelago run starts at most {ranks} ranks on this host"),
            "ulimit -Hn 16384, or LimitNOFILE of the service",
        ),
        (Some(limit), _) => Finding::good("open files", format!("hard limit {limit}")),
        (None, _) => Finding::good("open files", "no limit"),
    }
}

fn processes() -> Finding {
    match getrlimit(Resource::Nproc).current {
        Some(limit) if limit < 2 * RANKS_EXPECTED => Finding::costs(
            "processes",
            format!("at most {limit} of this user"),
            "each rank is a process with up to two threads",
            "ulimit -u, or pids.max of the container",
        ),
        Some(limit) => Finding::good("processes", format!("at most {limit} of this user")),
        None => Finding::good("processes", "no limit"),
    }
}

/// Checks the frequency governor; `None` if the machine does not report it.
fn governor(system: &System) -> Option<Finding> {
    let governor = system.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    Some(if governor == "powersave" {
        let cost = "cores may start every burst of work at a low frequency: latencies vary";
        Finding::costs("CPU frequency", "the governor is powersave", cost, "cpupower frequency-set -g performance")
    } else {
        Finding::good("CPU frequency", format!("the governor is {governor}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cores_are_counted() {
        assert_eq!(["0-3", "7", "2-2", "x", "3-1"].map(range_length), [Some(4), Some(1), Some(1), None, None]);
    }
}
