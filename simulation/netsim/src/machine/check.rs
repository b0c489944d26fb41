//! The check of the values of a description.

use super::datagrams::Datagrams;
use super::domain::DomainSpec;
use super::noise::Noise;
use super::rule::Rule;
use super::software::Software;
use super::spec::{
    ClassSpec, CongestionSpec, DcqcnSpec, HpccSpec, LinkSpec, RailKind, RailSpec, SharedSpec, SlingshotSpec, Spread, SwiftSpec,
};
use super::times::{SIZES_MAX, Times};
use super::{Machine, MachineError};

/// Maximum number of ports of NICs per node, over all rails; a NIC has a port for each plane.
const PORTS_MAX: u32 = 64;
/// Maximum number of rails: as many as programs can name.
const RAILS_MAX: usize = 16;
/// Names that no rail can have, as programs use them for all rails and for any rail.
const NAMES_TAKEN: [&str; 2] = ["all", "-"];
/// Maximum number of cores of a node.
const CORES_MAX: u32 = 1 << 16;
/// Maximum number of virtual channels per link, over all classes.
const VCS_MAX: u8 = 16;
/// Maximum priority of a traffic class.
const PRIORITY_MAX: u32 = 15;
/// Minimum and maximum weight of a traffic class.
const WEIGHTS: (f64, f64) = (1.0, 1000.0);
/// Maximum packet size in bytes, header included.
const PACKET_BYTES_MAX: u32 = 1 << 20;
/// Maximum of any single delay in nanoseconds: one hour.
const DELAY_NS_MAX: f64 = 3.6e12;
/// Maximum number of failures of a rail. A failure of a router takes 32 bytes for each direction of each of its links.
const FAILURES_MAX: usize = 64;

impl Machine {
    /// Checks all values; the error names the first invalid one.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        delay("node.copy_ns", self.node.copy_ns)?;
        rate("node.copy_gb_per_s", self.node.copy_gb_per_s)?;
        delay("node.gather_ns", self.node.gather_ns)?;
        rate("node.gather_gb_per_s", self.node.gather_gb_per_s)?;
        if let Some(cores) = self.node.cores {
            range("node.cores", cores, 1, CORES_MAX)?;
        }
        delay("node.switch_ns", self.node.switch_ns)?;
        if self.node.switch_ns > 0.0 && self.node.cores.is_none() {
            return Err(MachineError::without("node.switch_ns", "node.cores"));
        }
        self.node.shared.iter().try_for_each(SharedSpec::check)?;
        self.node.domain.iter().try_for_each(DomainSpec::check)?;
        self.node.software.check()?;
        self.node.datagrams.iter().try_for_each(Datagrams::check)?;
        self.node.noise.iter().try_for_each(Noise::check)?;
        if self.node.datagrams.is_some() && self.node.shared.is_some() {
            return Err(MachineError(
                "node.shared: must be absent where [node.datagrams] has the costs of all communication".into(),
            ));
        }
        if self.node.domain.is_some() {
            let others = [("[node.shared]", self.node.shared.is_some()), ("[node.datagrams]", self.node.datagrams.is_some())];
            if let Some((other, _)) = others.iter().find(|(_, is_there)| *is_there) {
                let message = format!("node.domain: must be absent where {other} has the times of communication within a node");
                return Err(MachineError(message));
            }
        }
        if self.rails.is_empty() && self.node.shared.is_none() && self.node.datagrams.is_none() {
            return Err(MachineError(
                "rail: there must be at least one [[rail]], or [node.shared] or [node.datagrams] for a single node".into(),
            ));
        }
        self.check_rails()?;
        let nics = self.rails.iter().try_fold(0u32, |sum, rail| sum.checked_add(rail.count));
        if self.rails.iter().any(|rail| rail.count == 0) || nics.is_none_or(|nics| nics > PORTS_MAX) {
            let counts: Vec<u32> = self.rails.iter().map(|rail| rail.count).collect();
            return Err(MachineError(format!("rail.count = {counts:?}: each must be at least 1, their sum at most {PORTS_MAX}")));
        }
        let ports = |sum: u32, rail: &RailSpec| sum.checked_add(rail.count.checked_mul(rail.planes)?);
        if self.rails.iter().any(|rail| rail.planes == 0)
            || self.rails.iter().try_fold(0, ports).is_none_or(|sum| sum > PORTS_MAX)
        {
            let planes: Vec<u32> = self.rails.iter().map(|rail| rail.planes).collect();
            return Err(MachineError(format!(
                "rail.planes = {planes:?}: each must be at least 1, the sum of rail.count times rail.planes at most {PORTS_MAX}"
            )));
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

    /// Checks that programs can name each rail, and what concerns several rails.
    fn check_rails(&self) -> Result<(), MachineError> {
        if self.rails.len() > RAILS_MAX {
            return Err(MachineError(format!("rail: {} rails, must be at most {RAILS_MAX}", self.rails.len())));
        }
        let names: Vec<String> = self.rails().map(|rail| rail.name).collect();
        for (number, name) in names.iter().enumerate() {
            if NAMES_TAKEN.contains(&name.as_str()) {
                return Err(MachineError::value(
                    "rail.name",
                    format!("{name:?}"),
                    "another one: programs use it for all rails, or for any",
                ));
            }
            if let Some(other) = names[..number].iter().position(|other| other == name) {
                let reason = "have this name; a rail without one has that of its number, such as rail1";
                return Err(MachineError(format!("rail.name = {name:?}: rails {other} and {number} {reason}")));
            }
        }
        let reducing: Vec<usize> = (0..self.rails.len()).filter(|&rail| self.rails[rail].reduction.is_some()).collect();
        if let [first, second, ..] = reducing[..] {
            return Err(MachineError(format!(
                "rail {second}: reduction: must be absent, as rail {first} has one: one rail reduces"
            )));
        }
        Ok(())
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
        Times::check("node.shared.put", &self.put)?;
        Times::check("node.shared.get", &self.get)
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
        if let Some(operations) = nic.send_queue {
            range("nic.send_queue", operations, 1, 1 << 20)?;
        }
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
            if self.receive.slots.is_none() {
                return Err(MachineError::without("receive.service_ns", "receive.slots"));
            }
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
                "link.loss, failure: must be 0, and absent, where kind = \"tofu\", whose links repeat what is lost themselves"
                    .into(),
            ));
        }
        let router = &self.router;
        delay("router.routing_ns", router.routing_ns)?;
        delay("router.vc_allocation_ns", router.vc_allocation_ns)?;
        delay("router.switch_allocation_ns", router.switch_allocation_ns)?;
        delay("router.switch_ns", router.switch_ns)?;
        delay("router.credit_ns", router.credit_ns)?;
        range("router.vcs", u32::from(router.vcs), 1, u32::from(VCS_MAX))?;
        range("router.buffer_bytes", router.buffer_bytes, packet, 1 << 30)?;
        self.check_classes()?;
        self.check_pauses()?;
        if let Some(ecn) = router.ecn {
            range("router.ecn.max_bytes", ecn.max_bytes, 1, 1 << 30)?;
            range("router.ecn.min_bytes", ecn.min_bytes, 0, ecn.max_bytes)?;
            part("router.ecn.probability", ecn.probability)?;
        }
        delay("nic.flowlet_ns", nic.flowlet_ns)?;
        if self.failure.len() > FAILURES_MAX {
            return Err(MachineError::value("failure", self.failure.len(), &format!("at most {FAILURES_MAX}")));
        }
        for failure in &self.failure {
            if failure.link.is_some() == failure.router.is_some() {
                let reason = "each needs either link = [router, router] or router = NUMBER";
                return Err(MachineError(format!("failure: {reason}")));
            }
            delay("failure.at_ns", failure.at_ns)?;
            delay("failure.detection_ns", failure.detection_ns)?;
            let Some(until) = failure.until_ns else { continue };
            delay("failure.until_ns", until)?;
            if until <= failure.at_ns {
                let allowed = format!("later than at_ns, which is {}", failure.at_ns);
                return Err(MachineError::value("failure.until_ns", until, &allowed));
            }
        }
        self.reduction.iter().try_for_each(|reduction| reduction.check(self))?;
        match &self.congestion {
            _ if self.congestion.is_some() && self.host_link().gb_per_s == f64::INFINITY => {
                Err(MachineError("congestion: the links of NICs must have a rate, which is where flows begin".into()))
            }
            Some(CongestionSpec::Dcqcn(_)) if router.ecn.is_none() => {
                Err(MachineError("congestion.control = \"dcqcn\": needs [rail.router.ecn], whose marks it reacts to".into()))
            }
            Some(CongestionSpec::Dcqcn(dcqcn)) => dcqcn.check(),
            Some(CongestionSpec::Swift(swift)) => swift.check(),
            Some(CongestionSpec::Hpcc(_)) if !matches!(nic.spread, Spread::Pair | Spread::Flowlet) => Err(MachineError(
                "congestion.control = \"hpcc\": compares packets of one route, so that nic.spread must be \"pair\" or \"flowlet\"".into(),
            )),
            Some(CongestionSpec::Hpcc(hpcc)) => hpcc.check(),
            Some(CongestionSpec::Slingshot(slingshot)) => slingshot.check(),
            None => Ok(()),
        }
    }

    /// Checks the traffic classes: each must be able to get packets, and the last one has what no other has.
    fn check_classes(&self) -> Result<(), MachineError> {
        let classes = &self.class;
        let refuse = |key: &str, class: &ClassSpec, reason: &str| {
            Err(MachineError(format!("class.{key}, class {:?}: {reason}", class.name)))
        };
        if classes.is_empty() {
            return Ok(());
        }
        if self.planes > 1 {
            let reason = "a rail of several planes has no traffic classes; remove rail.class or set rail.planes=1";
            return Err(MachineError(format!("class: {reason}")));
        }
        let control = match &self.congestion {
            Some(CongestionSpec::Hpcc(_)) => Some("hpcc"),
            Some(CongestionSpec::Slingshot(_)) => Some("slingshot"),
            _ => None,
        };
        if let Some(control) = control {
            let reason = "routers measure the bytes of all classes together; remove rail.class, or choose \"dcqcn\" or \"swift\"";
            return Err(MachineError(format!("class: with rail.congestion.control = \"{control}\", {reason}")));
        }
        let (vcs, count) = (usize::from(self.router.vcs), classes.len());
        if count * vcs > usize::from(VCS_MAX) {
            let allowed = format!(
                "at most {}, as each has {vcs} virtual channels (router.vcs), and a link {VCS_MAX}",
                usize::from(VCS_MAX) / vcs
            );
            return Err(MachineError::value("class", format!("{count} classes"), &allowed));
        }
        let rules: Vec<_> = classes.iter().map(Rule::new).collect();
        for (number, class) in classes.iter().enumerate() {
            let is_last = number + 1 == count;
            let has_rule = class.kinds.is_some() || class.operation_bytes_max.is_some();
            if class.name.is_empty() {
                return Err(MachineError::value("class.name", "\"\"", "a name"));
            }
            if classes[..number].iter().any(|other| other.name == class.name) {
                return refuse("name", class, "another class has this name");
            }
            if !(WEIGHTS.0..=WEIGHTS.1).contains(&class.weight) {
                let (least, most) = WEIGHTS;
                return refuse("weight", class, &format!("{} must be from {least} to {most}", class.weight));
            }
            if class.priority > PRIORITY_MAX {
                return refuse("priority", class, &format!("{} must be from 0 to {PRIORITY_MAX}", class.priority));
            }
            if class.kinds.as_ref().is_some_and(Vec::is_empty) {
                return refuse("kinds", class, "must name at least one kind; without this key, all kinds belong to the class");
            }
            if !is_last && !has_rule {
                return refuse(
                    "kinds",
                    class,
                    "has all packets without kinds or operation_bytes_max, so that it must be the last one",
                );
            }
            if is_last && has_rule {
                return refuse(
                    "kinds",
                    class,
                    "is the last one, so that it must have neither kinds nor operation_bytes_max: it has the rest",
                );
            }
            if !rules[number].is_reachable(&rules[..number]) {
                return refuse("kinds", class, "earlier classes have all its packets: put it before them, or remove it");
            }
        }
        Ok(())
    }

    /// Checks that each buffer can hold the packets that still arrive after it has asked for a pause.
    fn check_pauses(&self) -> Result<(), MachineError> {
        let Some(pfc) = self.router.pfc else { return Ok(()) };
        if self.kind == RailKind::Ethernet {
            return Err(MachineError("router.pfc: loses nothing, so that kind must not be \"ethernet\"".into()));
        }
        // An empty buffer must not pause its sender: nothing would leave it and end the pause.
        range("router.pfc.xoff_bytes", pfc.xoff_bytes, 1, 1 << 30)?;
        range("router.pfc.xon_bytes", pfc.xon_bytes, 0, pfc.xoff_bytes)?;
        let packet = f64::from(self.packet_bytes_max());
        let late = |link: &LinkSpec| (2.0 * link.cable_ns + self.router.credit_ns) * link.gb_per_s;
        let needed = f64::from(pfc.xoff_bytes) + late(&self.link).max(late(self.host_link())) + 2.0 * packet;
        for (key, bytes) in [("router.buffer_bytes", self.router.buffer_bytes), ("nic.receive_bytes", self.nic.receive_bytes)] {
            if f64::from(bytes) < needed {
                let allowed =
                    format!("at least {needed:.0}: xoff_bytes, what is on the way when the pause comes, and two packets");
                return Err(MachineError::value(key, bytes, &allowed));
            }
        }
        Ok(())
    }
}

impl DcqcnSpec {
    fn check(&self) -> Result<(), MachineError> {
        delay("congestion.notification_ns", self.notification_ns)?;
        for (key, nanoseconds) in [("congestion.estimate_ns", self.estimate_ns), ("congestion.increase_ns", self.increase_ns)] {
            delay(key, nanoseconds)?;
            if nanoseconds < 1.0 {
                return Err(MachineError::value(key, nanoseconds, "at least 1"));
            }
        }
        part("congestion.gain", self.gain)?;
        rate("congestion.additive_gb_per_s", self.additive_gb_per_s)?;
        rate("congestion.hyper_gb_per_s", self.hyper_gb_per_s)?;
        range("congestion.recoveries", self.recoveries, 1, 1000)?;
        range("congestion.increase_bytes", u32::try_from(self.increase_bytes).unwrap_or(u32::MAX), 1, 1 << 31)
    }
}

impl SwiftSpec {
    fn check(&self) -> Result<(), MachineError> {
        delay("congestion.target_ns", self.target_ns)?;
        delay("congestion.range_ns", self.range_ns)?;
        part("congestion.decrease_max", self.decrease_max)?;
        part("congestion.decrease", self.decrease)?;
        if !(1e-3..=100.0).contains(&self.additive_packets) {
            return Err(MachineError::value("congestion.additive_packets", self.additive_packets, "from 0.001 to 100"));
        }
        range("congestion.window_packets", self.window_packets, 1, 1 << 16)
    }
}

impl HpccSpec {
    fn check(&self) -> Result<(), MachineError> {
        delay("congestion.round_trip_ns", self.round_trip_ns)?;
        if self.round_trip_ns < 1.0 {
            return Err(MachineError::value("congestion.round_trip_ns", self.round_trip_ns, "at least 1"));
        }
        part("congestion.utilization", self.utilization)?;
        range("congestion.stages", self.stages, 0, 1000)?;
        range("congestion.additive_bytes", self.additive_bytes, 1, 1 << 30)
    }
}

impl SlingshotSpec {
    fn check(&self) -> Result<(), MachineError> {
        range("congestion.threshold_bytes", self.threshold_bytes, 1, 1 << 30)?;
        range("congestion.limited_packets", self.limited_packets, 1, 1 << 16)?;
        delay("congestion.recovery_ns", self.recovery_ns)
    }
}

fn part(key: &str, value: f64) -> Result<(), MachineError> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(MachineError::value(key, value, "greater than 0, at most 1"))
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

pub(super) fn delay(key: &str, nanoseconds: f64) -> Result<(), MachineError> {
    if (0.0..=DELAY_NS_MAX).contains(&nanoseconds) {
        return Ok(());
    }
    Err(MachineError::value(key, nanoseconds, &format!("nanoseconds, from 0 to {DELAY_NS_MAX:e}")))
}

pub(super) fn rate(key: &str, gigabytes_per_second: f64) -> Result<(), MachineError> {
    if gigabytes_per_second == f64::INFINITY || (1e-6..=1e6).contains(&gigabytes_per_second) {
        return Ok(());
    }
    Err(MachineError::value(key, gigabytes_per_second, "gigabytes per second, from 1e-6 to 1e6, or inf"))
}

pub(super) fn range(key: &str, value: u32, least: u32, most: u32) -> Result<(), MachineError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(MachineError::value(key, value, &format!("from {least} to {most}")))
}
