//! Checks of the kernel: its version, the system calls that it permits, and its settings.

use pelago_launch::launcher::system_calls::{CallNeed, OLDEST_LINUX, SYSTEM_CALLS, SystemCall, datagram_options};

use super::System;
use super::finding::Finding;
use crate::info::{attach_probe, is_recent};

pub(super) fn findings(system: &System) -> Vec<Finding> {
    let refused: Vec<_> = SYSTEM_CALLS.iter().filter_map(|call| Some((call, call.refusal()?.to_string()))).collect();
    let mut findings = vec![version()];
    if refused.is_empty() {
        findings.push(Finding::good("system calls", "all calls that jobs use are granted"));
    }
    findings.extend(refused.into_iter().map(|(call, why)| refused_call(call, &why)));
    findings.extend([membarrier(), attach(system), huge_pages(system)]);
    findings.extend(datagram_options().map(|(name, refusal)| offload(name, refusal)));
    findings
}

fn version() -> Finding {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let (major, minor) = OLDEST_LINUX;
    match is_recent(&release) {
        Some(true) => Finding::good("kernel", format!("Linux {release}")),
        Some(false) => Finding::fails(
            "kernel",
            format!("Linux {release}"),
            "pelago run cannot start jobs: waitid does not take process descriptors",
            format!("Linux {major}.{minor} or later"),
        ),
        None => Finding::unknown("kernel"),
    }
}

/// Returns the finding for a system call that a filter or an old kernel refuses.
fn refused_call(call: &SystemCall, why: &str) -> Finding {
    let found = format!("{} is refused: {why}; used for {}", call.name, call.purpose);
    let remedy = "allow the call in the seccomp profile of the container, or use a newer kernel";
    match call.need {
        CallNeed::Job => Finding::fails("system call", found, "no job can start", remedy),
        CallNeed::Network => Finding::fails(
            "system call",
            found,
            "jobs with --transport udp or ofi, and jobs of several hosts, cannot start",
            remedy,
        ),
        CallNeed::Nobody(instead) => Finding::costs("system call", found, format!("instead: {instead}"), remedy),
    }
}

fn membarrier() -> Finding {
    if pelago_sync::asymmetric::register() {
        return Finding::good("membarrier", "a put wakes a sleeping rank without a fence");
    }
    let cost = "sleeping ranks look at their memory every millisecond: a wake-up takes up to 1 ms instead of some 10 us";
    Finding::costs("membarrier", "not available", cost, "Linux 4.16 or later; allow membarrier in the seccomp profile")
}

fn attach(system: &System) -> Finding {
    let scope = system.number("/proc/sys/kernel/yama/ptrace_scope").filter(|level| *level >= 2);
    let refusal = scope.map(|level| format!("kernel.yama.ptrace_scope is {level}")).or_else(attach_probe::refusal);
    match refusal {
        None => Finding::good("cross-memory attach", "registered memory of ranks of one host is copied once"),
        Some(why) => Finding::costs(
            "cross-memory attach",
            why,
            "registered memory (not the symmetric heap) is copied twice, by the progress thread of its owner",
            "sysctl kernel.yama.ptrace_scope=1; allow process_vm_readv and process_vm_writev in the container",
        ),
    }
}

/// Checks whether heaps, which are shared memory, may have huge pages.
fn huge_pages(system: &System) -> Finding {
    let Some(setting) = system.read("/sys/kernel/mm/transparent_hugepage/shmem_enabled") else {
        return Finding::costs(
            "huge pages",
            "this kernel has none for shared memory",
            "accesses that are far apart in a large heap miss the TLB",
            "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
        );
    };
    let chosen = setting.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(chosen, _)| chosen);
    if ["always", "force", "within_size", "advise"].contains(&chosen) {
        return Finding::good("huge pages", format!("granted to shared memory (shmem_enabled is {chosen})"));
    }
    Finding::costs(
        "huge pages",
        format!("not granted to shared memory (shmem_enabled is {chosen})"),
        "accesses that are far apart in a large heap miss the TLB",
        "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled",
    )
}

fn offload(name: &'static str, refusal: Option<std::io::Error>) -> Finding {
    match refusal {
        None => Finding::good(name, "the kernel handles datagrams in batches"),
        Some(why) => Finding::costs(
            name,
            why.to_string(),
            "one pass through the network stack for each datagram of a long transfer",
            "Linux 5.0 or later",
        ),
    }
}
