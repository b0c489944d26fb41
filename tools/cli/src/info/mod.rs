//! `pelago info`: what this machine offers.

pub(crate) mod attach_probe;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Args;
use pelago::cuda::{CudaError, Device, Driver};
use pelago_base::limits::{RANKS_MAX, RANKS_PER_HOST_MAX, SEGMENT_BYTES_MAX};
use pelago_launch::LaunchReport;
use pelago_launch::launcher::system_calls::{CallNeed, OLDEST_LINUX, SYSTEM_CALLS, SystemCall, datagram_options};
use pelago_launch::launcher::{Allocation, AllocationError, AllocationSearch};
use rustix::process::{Resource, getrlimit};

use crate::{Refused, outputs};

/// Show what this machine offers to jobs: versions, system calls, limits, huge pages
#[derive(Args)]
pub(crate) struct Info {
    /// Show which launcher has started this command, and how a program in its place would become a rank
    #[arg(long)]
    launch: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn main(self) -> Result<ExitCode, Refused> {
        let lines = if self.launch { launch_lines(&LaunchReport::from_environment()) } else { lines() };
        let mut text = String::new();
        if self.json {
            let _ = writeln!(text, "{}", json(lines));
        } else {
            lines.iter().for_each(|(name, value)| _ = writeln!(text, "{name:22}{value}"));
        }
        outputs::print(&text).map(|()| ExitCode::SUCCESS)
    }
}

/// Returns one object whose keys are the names of the lines in snake_case.
fn json(lines: Vec<(&'static str, String)>) -> serde_json::Value {
    let key = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    lines.into_iter().map(|(name, value)| (key(name), serde_json::Value::from(value))).collect::<serde_json::Map<_, _>>().into()
}

/// Lists the detected launcher, the start-up method in use and why the others are not, then the hosts that `pelago run` would use.
fn launch_lines(report: &LaunchReport) -> Vec<(&'static str, String)> {
    let detected = if report.detected.is_empty() { "none".into() } else { report.detected.join(", ") };
    let ways =
        report.ways.iter().map(|way| (way.name, format!("{}: {}", if way.is_used { "used" } else { "not used" }, way.why)));
    let lines = [("launcher", detected)].into_iter().chain(ways).chain([("outcome", report.outcome.clone())]);
    lines.chain(allocation_lines(Allocation::find())).collect()
}

/// Describes the allocation, and how `pelago run` would start node daemons on its hosts.
fn allocation_lines(search: Result<AllocationSearch, AllocationError>) -> Vec<(&'static str, String)> {
    let (allocation, daemons) = match search {
        Ok(AllocationSearch::None) => ("none: pelago run starts ranks on this host".into(), None),
        Ok(AllocationSearch::Nested(variable)) => (
            format!("not used: {variable} says that a launcher has started this process; pelago run starts ranks on this host"),
            None,
        ),
        Ok(AllocationSearch::Found(allocation)) => {
            let daemons = match allocation.hosts.only_host(1) {
                Some(host) if allocation.is_here(&host) && allocation.hosts.is_single() => "none: this is the only host".into(),
                _ => allocation.remote_shell().map_or_else(|error| format!("refused: {error}"), |shell| format!("by {shell}")),
            };
            (allocation.to_string(), Some(daemons))
        }
        Err(error) => (format!("refused: {error}"), None),
    };
    [("allocation", allocation)].into_iter().chain(daemons.map(|daemons| ("node daemons", daemons))).collect()
}

fn lines() -> Vec<(&'static str, String)> {
    let system = rustix::system::uname();
    let [shm, udp] = pelago::transports();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let memory = rustix::system::sysinfo();
    let [cut, join] = datagram_options().map(|(name, refusal)| {
        (name, refusal.map_or("yes".into(), |error| format!("no: {error}; datagrams are sent and received one by one")))
    });
    let memory_bytes = |units: u64| gibibytes(units.saturating_mul(u64::from(memory.mem_unit)));
    vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("system", format!("{} {} {}", word(system.sysname()), word(system.release()), word(system.machine()))),
        ("kernel supported", recent(&word(system.release()))),
        ("system calls", missing()),
        ("CPU", core().unwrap_or_else(|| "unknown".into())),
        ("cores", available_parallelism().map_or("unknown".into(), |cores| cores.to_string())),
        ("memory", format!("{}, {} free", memory_bytes(memory.totalram as u64), memory_bytes(memory.freeram as u64))),
        ("transport shm", shm.to_string()),
        ("transport udp", udp.to_string()),
        ("transport ofi", pelago::fabric(None).unwrap_or_else(|why| format!("no: {why}"))),
        ("GPUs", gpus()),
        cut,
        join,
        ("membarrier", yes_or(pelago_sync::asymmetric::register(), "no: sleeping threads poll instead")),
        (
            "cross-memory attach",
            attach_probe::refusal()
                .map_or("yes".into(), |why| format!("no: {why}; progress threads copy registered memory instead")),
        ),
        ("huge pages", huge_pages()),
        ("open files", limit(Resource::Nofile)),
        ("processes", limit(Resource::Nproc)),
        ("ranks of a job", format!("at most {RANKS_PER_HOST_MAX} on one host, {RANKS_MAX} in all")),
        ("segment", format!("at most {}", gibibytes(SEGMENT_BYTES_MAX))),
    ]
}

/// Returns whether a kernel of this release is recent enough for the launcher; `None` if `release` has no number.
pub(crate) fn is_recent(release: &str) -> Option<bool> {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)) >= OLDEST_LINUX)
}

fn recent(release: &str) -> String {
    let (major, minor) = OLDEST_LINUX;
    match is_recent(release) {
        Some(true) => "yes".into(),
        None => "unknown".into(),
        Some(false) => format!("no: Linux {major}.{minor} is the oldest that can start jobs"),
    }
}

/// Lists the devices of the CUDA driver, or the reason why there are none.
pub(crate) fn gpus() -> String {
    let named = |driver: std::sync::Arc<Driver>| {
        let device = |ordinal| Device::of(&driver, ordinal).map_or_else(|why| why.to_string(), |device| device.name().to_owned());
        let names: Vec<_> = (0..driver.devices()).map(device).collect();
        let dma_buf = dma_buf(Device::of(&driver, 0).and_then(|device| device.dma_buf_access()));
        format!("{} (driver {}; dma-buf: {dma_buf}); untested on hardware", names.join(", "), driver.version())
    };
    Driver::get().map_or_else(|why| format!("no: {why}"), named)
}

/// Describes whether NICs can access device memory directly.
fn dma_buf(access: Result<Option<&str>, CudaError>) -> String {
    match access {
        Ok(None) => "yes".into(),
        Ok(Some(why)) => format!("for reads alone, as {why}"),
        Err(why) => format!("no, {why}"),
    }
}

/// Lists the system calls that are refused here and the consequences; docs/book/src/system-calls.md describes each.
fn missing() -> String {
    let effect = |call: &SystemCall| match call.need {
        CallNeed::Job => "jobs cannot start".into(),
        CallNeed::Network => "jobs cannot use a network".into(),
        CallNeed::Nobody(instead) => format!("instead: {instead}"),
    };
    let line = |call: &SystemCall| Some(format!("{}: {} ({})", call.name, call.refusal()?, effect(call)));
    let missing: Vec<_> = SYSTEM_CALLS.iter().filter_map(line).collect();
    match &missing[..] {
        [] => "all calls that jobs use are granted".into(),
        lines => format!("refused: {}", lines.join("; ")),
    }
}

fn yes_or(yes: bool, otherwise: &str) -> String {
    if yes { "yes".into() } else { otherwise.into() }
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

pub(crate) fn core() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// Whether the kernel grants huge pages to shared memory, of which heaps consist.
fn huge_pages() -> String {
    let chosen = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    let shared = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled").ok().and_then(chosen);
    match shared.as_deref() {
        None => "unknown to this kernel".into(),
        Some("always" | "force" | "within_size") => "granted to shared memory".into(),
        Some("advise") => "granted to shared memory on request (madvise)".into(),
        Some(setting) => format!("not granted to shared memory (shmem_enabled is {setting})"),
    }
}

fn limit(resource: Resource) -> String {
    let text = |value: Option<u64>| value.map_or("no limit".into(), |value| value.to_string());
    let limit = getrlimit(resource);
    format!("{} (hard limit {})", text(limit.current), text(limit.maximum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_a_member_for_each_line() {
        let object = json(vec![("CPU", "x".into()), ("cross-memory attach", "yes".into())]);
        assert_eq!(object.to_string(), r#"{"cpu":"x","cross_memory_attach":"yes"}"#);
        assert_eq!(json(lines()).as_object().map(serde_json::Map::len), Some(lines().len()), "no two names give one key");
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        for (release, expected) in [("5.4.0-42-generic", "yes"), ("6.18.44", "yes"), ("10.0", "yes"), ("odd", "unknown")] {
            assert_eq!(recent(release), expected, "{release}");
        }
        for release in ["5.3.18-150300", "4.18.0-553.el8_10.x86_64"] {
            assert!(recent(release).starts_with("no: Linux 5.4"), "{release}");
        }
    }
}
