//! The links that fail during operation, and what routers know of them.
//!
//! A failed router is a failure of all its links: packets on the way to it, and those in its buffers, are lost when it should send them on.

use std::iter::repeat_n;

use crate::machine::spec::{FailureSpec, RailSpec};
use crate::machine::{Machine, MachineError, picoseconds};
use crate::topology::{Link, Topology};

/// The failures of a network's channels, in order of channels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

/// A channel that fails. Times in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Failure {
    /// Its number within the network.
    channel: u32,
    at: u64,
    until: u64,
    /// Time from a change until the first routers of routes know of it.
    detection: u64,
}

impl Failure {
    fn is_now(&self, now: u64) -> bool {
        (self.at..self.until).contains(&now)
    }

    fn is_known(&self, now: u64) -> bool {
        now.checked_sub(self.detection).is_some_and(|then| self.is_now(then))
    }
}

impl Failures {
    /// Returns the failures of each plane of a rail whose networks have `terminals` terminals.
    ///
    /// # Errors
    ///
    /// A failure names links or a router that the rail does not have.
    pub(crate) fn new(spec: &RailSpec, topology: &Topology, terminals: u32) -> Result<Vec<Self>, MachineError> {
        let mut planes: Vec<Self> = repeat_n(Self::default(), spec.planes as usize).collect();
        for_each(spec, topology, terminals, |failure, plane, channels| {
            let failures = &mut planes[plane].0;
            let before = failures.len();
            failures.extend(channels.map(|channel| Failure {
                channel,
                at: picoseconds(failure.at_ns),
                until: failure.until_ns.map_or(u64::MAX, picoseconds),
                detection: picoseconds(failure.detection_ns),
            }));
            failures.len() > before
        })?;
        planes.iter_mut().for_each(|Self(failures)| failures.sort_by_key(|failure| failure.channel));
        Ok(planes)
    }

    /// Checks that each failure of a machine of `nodes` nodes names links or a router that it has. Takes no memory for the failures.
    pub(crate) fn check(machine: &Machine, nodes: u32) -> Result<(), MachineError> {
        let topologies = machine.topologies(nodes)?;
        machine.rails.iter().zip(&topologies).try_for_each(|(rail, topology)| {
            for_each(rail, topology, nodes * rail.count, |_, _, channels| channels.next().is_some())
        })
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a channel loses what is sent over it now.
    pub(super) fn loses(&self, channel: u32, now: u64) -> bool {
        self.of(channel).any(|failure| failure.is_now(now))
    }

    /// Whether the first routers of routes know that a channel does not work.
    pub(super) fn avoids(&self, channel: u32, now: u64) -> bool {
        self.of(channel).any(|failure| failure.is_known(now))
    }

    /// Whether the first routers of routes know of any failure.
    pub(super) fn are_known(&self, now: u64) -> bool {
        self.0.iter().any(|failure| failure.is_known(now))
    }

    fn of(&self, channel: u32) -> impl Iterator<Item = &Failure> {
        let first = self.0.partition_point(|failure| failure.channel < channel);
        self.0[first..].iter().take_while(move |failure| failure.channel == channel)
    }
}

/// Calls `add` for each failure of a rail, with its plane and its channels in this plane; `add` returns whether there are any.
///
/// # Errors
///
/// There are none.
fn for_each(
    spec: &RailSpec,
    topology: &Topology,
    terminals: u32,
    mut add: impl FnMut(&FailureSpec, usize, &mut dyn Iterator<Item = u32>) -> bool,
) -> Result<(), MachineError> {
    if spec.failure.is_empty() {
        return Ok(());
    }
    let links = topology.links();
    let routers = topology.routers_of(&links, terminals).max(1);
    for failure in &spec.failure {
        // The routers of a plane have consecutive numbers.
        let (plane, ends) = match (failure.link, failure.router) {
            (Some([a, b]), _) if a / routers == b / routers => (a / routers, [a, b].map(|end| Some(end % routers))),
            (None, Some(router)) => (router / routers, [Some(router % routers), None]),
            _ => return Err(missing(failure, spec.planes * routers)),
        };
        let failing = |link: &Link| match ends {
            [Some(a), Some(b)] => [[a, b], [b, a]].contains(&[link.from, link.to]),
            _ => ends[..1].contains(&Some(link.from)) || ends[..1].contains(&Some(link.to)),
        };
        // The channels of NICs in either direction come before those of links between routers.
        let attached = (0..terminals).filter(|&terminal| ends == [Some(topology.router(terminal)), None]);
        let linked = (2 * terminals..).zip(&links).filter(|(_, link)| !link.is_absent() && failing(link));
        let mut channels =
            attached.flat_map(|terminal| [terminal, terminals + terminal]).chain(linked.map(|(channel, _)| channel));
        if plane >= spec.planes || !add(failure, plane as usize, &mut channels) {
            return Err(missing(failure, spec.planes * routers));
        }
    }
    Ok(())
}

fn missing(failure: &FailureSpec, routers: u32) -> MachineError {
    let last = routers.saturating_sub(1);
    MachineError::new(match (failure.link, failure.router) {
        (None, Some(router)) => {
            format!("rail.failure.router = {router}: no such router with links; the routers have the numbers 0 to {last}")
        }
        (link, _) => {
            format!("rail.failure.link = {:?}: no link connects these routers", link.unwrap_or_default())
        }
    })
}
