//! Which values a description may have.

use super::software::Software;
use super::spec::{LinkSpec, RailKind, RailSpec, SharedSpec};
use super::{Machine, MachineError};

/// Maximum number of NICs per node, over all rails.
const NICS_MAX: u32 = 64;
/// Maximum number of virtual channels per link.
const VCS_MAX: u8 = 16;
/// Maximum number of entries of a table of times by size.
const SIZES_MAX: usize = 64;
/// Maximum packet size in bytes, header included.
const PACKET_BYTES_MAX: u32 = 1 << 20;
/// Nanoseconds that any single delay may last: an hour.
const DELAY_NS_MAX: f64 = 3.6e12;

impl Machine {
    /// Checks all values; the error names the first that is not allowed.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        delay("node.copy_ns", self.node.copy_ns)?;
        rate("node.copy_gb_per_s", self.node.copy_gb_per_s)?;
        delay("node.gather_ns", self.node.gather_ns)?;
        rate("node.gather_gb_per_s", self.node.gather_gb_per_s)?;
        self.node.shared.iter().try_for_each(SharedSpec::check)?;
        self.node.software.check()?;
        if self.rails.is_empty() && self.node.shared.is_none() {
            return Err(MachineError("rail: there must be at least one [[rail]], or [node.shared] for a single node".into()));
        }
        let nics = self.rails.iter().try_fold(0u32, |sum, rail| sum.checked_add(rail.count));
        if self.rails.iter().any(|rail| rail.count == 0) || nics.is_none_or(|nics| nics > NICS_MAX) {
            let counts: Vec<u32> = self.rails.iter().map(|rail| rail.count).collect();
            return Err(MachineError(format!("rail.count = {counts:?}: each must be at least 1, their sum at most {NICS_MAX}")));
        }
        if !self.rails.is_empty() && self.rails.iter().all(|rail| rail.group.is_some()) {
            return Err(MachineError("rail.group: one rail at least must lead to all nodes, so have no group".into()));
        }
        self.rails.iter().enumerate().try_for_each(|(number, rail)| {
            rail.check().map_err(|MachineError(message)| match self.rails.len() {
                1 => MachineError(format!("rail.{message}")),
                _ => MachineError(format!("rail {number}: {message}")),
            })
        })
    }
}

impl Software {
    fn check(&self) -> Result<(), MachineError> {
        for (key, nanoseconds) in [
            ("call_ns", self.call_ns),
            ("own_call_ns", self.own_call_ns),
            ("lock_ns", self.lock_ns),
            ("queue_ns", self.queue_ns),
            ("notify_ns", self.notify_ns),
            ("descriptor_ns", self.descriptor_ns),
            ("serve_ns", self.serve_ns),
            ("signal_ns", self.signal_ns),
        ] {
            delay(&format!("node.software.{key}"), nanoseconds)?;
        }
        Ok(())
    }
}

impl SharedSpec {
    fn check(&self) -> Result<(), MachineError> {
        delay("node.shared.visible_ns", self.visible_ns)?;
        delay("node.shared.atomic_ns", self.atomic_ns)?;
        delay("node.shared.page_ns", self.page_ns)?;
        for (key, times) in [("node.shared.put", &self.put), ("node.shared.get", &self.get)] {
            if times.is_empty()
                || times.len() > SIZES_MAX
                || times[0].0 == 0
                || times.windows(2).any(|pair| pair[0].0 >= pair[1].0)
            {
                let count = times.len();
                return Err(MachineError::value(
                    key,
                    format!("{count} pairs"),
                    &format!(
                        "1 to {SIZES_MAX} of [bytes, nanoseconds], each of more bytes than the one before, the first of some"
                    ),
                ));
            }
            times.iter().try_for_each(|&(_, nanoseconds)| delay(key, nanoseconds))?;
        }
        Ok(())
    }
}

impl RailSpec {
    fn check(&self) -> Result<(), MachineError> {
        let nic = &self.nic;
        if let Some(group) = self.group {
            range("group", group, 1, u32::MAX)?;
        }
        delay("nic.overhead_ns", nic.overhead_ns)?;
        delay("nic.gap_ns", nic.gap_ns)?;
        delay("nic.atomic_ns", nic.atomic_ns)?;
        delay("nic.bank_ns", nic.bank_ns)?;
        delay("nic.bank_core_ns", nic.bank_core_ns)?;
        range("nic.bank_packets", nic.bank_packets, 1, 1 << 16)?;
        rate("nic.read_gb_per_s", nic.read_gb_per_s)?;
        rate("nic.write_gb_per_s", nic.write_gb_per_s)?;
        range("nic.packet_bytes", nic.packet_bytes, 1, PACKET_BYTES_MAX)?;
        range("nic.header_bytes", nic.header_bytes, 0, PACKET_BYTES_MAX - nic.packet_bytes)?;
        range("nic.control_bytes", nic.control_bytes, 1, PACKET_BYTES_MAX)?;
        range("nic.transmit_packets", nic.transmit_packets, 1, 1 << 16)?;
        let packet = self.packet_bytes_max();
        range("nic.receive_bytes", nic.receive_bytes, packet, 1 << 30)?;
        let stages = &nic.stages;
        if stages.len() > SIZES_MAX || stages.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            let allowed = format!("at most {SIZES_MAX}, each of more bytes than the one before");
            return Err(MachineError::value("nic.stages", format!("{} entries", stages.len()), &allowed));
        }
        for &(_, nanoseconds, gigabytes_per_second) in stages {
            delay("nic.stages", nanoseconds)?;
            rate("nic.stages", gigabytes_per_second)?;
        }
        if let Some(slots) = self.receive.slots {
            range("receive.slots", slots, 1, 1 << 30)?;
        }
        if let Some(service) = self.receive.service_ns {
            delay("receive.service_ns", service)?;
        }
        delay("reliability.timeout_ns", self.reliability.timeout_ns)?;
        if self.reliability.timeout_ns < 1.0 {
            return Err(MachineError::value("reliability.timeout_ns", self.reliability.timeout_ns, "at least 1"));
        }
        delay("reliability.not_ready_ns", self.reliability.not_ready_ns)?;
        self.link.check("link")?;
        self.host_link.iter().try_for_each(|link| link.check("host_link"))?;
        if self.kind == RailKind::Tofu && self.lossy() {
            return Err(MachineError(
                "link.loss: must be 0 where kind = \"tofu\", whose links repeat what is lost themselves".into(),
            ));
        }
        let router = &self.router;
        delay("router.routing_ns", router.routing_ns)?;
        delay("router.vc_allocation_ns", router.vc_allocation_ns)?;
        delay("router.switch_allocation_ns", router.switch_allocation_ns)?;
        delay("router.switch_ns", router.switch_ns)?;
        delay("router.credit_ns", router.credit_ns)?;
        range("router.vcs", u32::from(router.vcs), 1, u32::from(VCS_MAX))?;
        range("router.buffer_bytes", router.buffer_bytes, packet, 1 << 30)
    }
}

impl LinkSpec {
    fn check(&self, which: &str) -> Result<(), MachineError> {
        rate(&format!("{which}.gb_per_s"), self.gb_per_s)?;
        delay(&format!("{which}.cable_ns"), self.cable_ns)?;
        if !(0.0..1.0).contains(&self.loss) {
            return Err(MachineError::value(&format!("{which}.loss"), self.loss, "a probability, from 0 to less than 1"));
        }
        Ok(())
    }
}

fn delay(key: &str, nanoseconds: f64) -> Result<(), MachineError> {
    if (0.0..=DELAY_NS_MAX).contains(&nanoseconds) {
        return Ok(());
    }
    Err(MachineError::value(key, nanoseconds, &format!("nanoseconds, from 0 to {DELAY_NS_MAX:e}")))
}

fn rate(key: &str, gigabytes_per_second: f64) -> Result<(), MachineError> {
    if gigabytes_per_second == f64::INFINITY || (1e-6..=1e6).contains(&gigabytes_per_second) {
        return Ok(());
    }
    Err(MachineError::value(key, gigabytes_per_second, "gigabytes per second, from 1e-6 to 1e6, or inf"))
}

fn range(key: &str, value: u32, least: u32, most: u32) -> Result<(), MachineError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(MachineError::value(key, value, &format!("from {least} to {most}")))
}
