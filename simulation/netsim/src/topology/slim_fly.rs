//! Slim flies: two kinds of groups of routers, with a link between any two groups of different kinds for each router, so that two links lead
//! everywhere (Besta, Hoefler: *Slim Fly: A Cost Effective Low-Diameter Network Topology*, SC 2014, section II.B; the graphs are those of McKay,
//! Miller and Širáň, in the form of Hafner).
//!
//! With a finite field of q elements, (x, y) is a router of group x of the first kind, and (m, c) one of group m of the second. They are linked if
//! y = m·x + c. Two routers of a group are linked if the difference of their second numbers belongs to a set of *generators*, which each kind has.
//! Routes follow from these equations, without a table of pairs.
//!
//! Valiant's route is a minimal one to a router that is chosen at random, and a minimal one from there. UGAL-L takes the minimal route unless its
//! first queue times its number of links exceeds that of Valiant's. The operation's random number decides among several minimal routes.
//!
//! No deadlock: the virtual channel of a link is the number of links that the packet has crossed before it. Lanes are ordered by that number.

use super::field::Field;
use super::{Hop, Link, Queues, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DirectRoutes, SlimFlySpec};

/// The smallest field for which such a graph exists.
const Q_MIN: u32 = 3;

/// Number of links of the longest minimal route.
const DIAMETER: u8 = 2;

/// The stage counts the links that a packet has crossed; this bit is set behind the intermediate router.
const BEHIND: u8 = 1 << 7;

impl SlimFlySpec {
    /// Returns the smallest number of elements that makes room for `nodes` nodes.
    pub(super) fn larger(&self, nodes: u32) -> Option<String> {
        let needed = u64::from(routers_for(nodes, self.nodes_per_router).ok()?);
        let q = (self.q.max(Q_MIN)..).find(|&q| 2 * u64::from(q) * u64::from(q) >= needed && Field::exists(q))?;
        Some(q.to_string())
    }
}

/// The groups of one kind.
#[derive(Clone, Debug)]
struct Kind {
    /// The differences between linked routers, in the order of their links.
    generators: Vec<u16>,
    /// For each difference of two routers of a group, the first links of the shortest routes.
    first: Vec<Vec<u16>>,
    /// Whether each difference is a generator.
    is_linked: Vec<bool>,
}

impl Kind {
    fn new(field: &Field, q: u32, exponents: impl Iterator<Item = u32>) -> Self {
        let generators: Vec<u16> = exponents.map(|exponent| field.power(exponent) as u16).collect();
        let mut is_linked = vec![false; q as usize];
        generators.iter().for_each(|&generator| is_linked[usize::from(generator)] = true);
        let first = |difference: u32| {
            let leads = |&(_, &generator): &(u16, &u16)| match field.minus(difference, generator.into()) {
                0 => true,
                rest => !is_linked[difference as usize] && is_linked[rest as usize],
            };
            (0..).zip(&generators).filter(leads).map(|(link, _)| link).collect()
        };
        Self { first: (0..q).map(first).collect(), generators, is_linked }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SlimFly {
    field: Field,
    q: u32,
    kinds: [Kind; 2],
    terminals_per_router: u32,
    routes: DirectRoutes,
}

/// A router: its kind, its group among those of the kind, and its number in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Router {
    kind: usize,
    group: u32,
    place: u32,
}

impl SlimFly {
    pub(crate) fn new(spec: &SlimFlySpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let q = spec.q;
        let routers = u64::from(q).checked_mul(2 * u64::from(q));
        bounded(routers.and_then(|routers| routers.checked_mul((3 * u64::from(q)).div_ceil(2))))?;
        let field = Field::new(q).filter(|_| q >= Q_MIN).ok_or_else(|| no_field(q))?;
        let routers = 2 * q * q;
        if routers_for(nodes, spec.nodes_per_router)? > routers {
            return Err(MachineError::new(format!(
                "nodes = {nodes}: do not fit in the {routers} routers of rail.topology.q = {q}"
            )));
        }
        // The exponents of the generators of both kinds, for q = 4w + 1, q = 4w - 1 and q = 4w. Those of a kind include the negatives, as links lead both
        // ways; those of both kinds together are all differences.
        let w = (q + 1) / 4;
        let exponents: [Vec<u32>; 2] = match q % 4 {
            3 => [0, 1].map(|odd| (0..w).map(|i| 2 * i + odd).chain((0..w).map(|i| 2 * (w + i) - 1 + odd)).collect()),
            _ => [0, 1].map(|odd| (0..q / 2).map(|i| 2 * i + odd).collect()),
        };
        let kinds = exponents.map(|exponents| Kind::new(&field, q, exponents.into_iter()));
        let terminals_per_router = spec.nodes_per_router.min(nodes) * rail.count;
        Ok(Self { field, q, kinds, terminals_per_router, routes: spec.routes })
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        if self.has_detours() { 2 * DIAMETER } else { DIAMETER }
    }

    pub(crate) fn adapts(&self) -> Option<Queues> {
        (self.routes == DirectRoutes::UgalL).then_some(Queues::Local)
    }

    pub(crate) fn has_detours(&self) -> bool {
        self.routes != DirectRoutes::Minimal
    }

    pub(crate) fn steps_max(&self) -> u32 {
        if self.has_detours() { 2 * u32::from(DIAMETER) } else { DIAMETER.into() }
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.terminals_per_router
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let of = |from: u32| {
            let Router { kind, group, place } = self.parts(from);
            let within = self.kinds[kind].generators.iter().map(move |&generator| Router {
                kind,
                group,
                place: self.field.plus(place, generator.into()),
            });
            let across = (0..self.q).map(move |to| self.across(Router { kind, group, place }, to));
            within.chain(across).map(move |to| Link { from, to: self.number(to) })
        };
        (0..self.routers()).flat_map(of).collect()
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.routers()) * u64::from(self.ports())
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = self.router(header.to);
        if at == to {
            return Hop::out(vcs);
        }
        let each = vcs / self.vcs_min();
        let vc = (header.stage & !BEHIND) * each;
        header.stage += 1;
        if header.stage & BEHIND == 0 && self.has_detours() && header.path.detours(self.routes == DirectRoutes::Valiant) {
            if let Some(link) = self.toward(at, header.via % self.routers(), header.salt) {
                return Hop::over(link, vc, each);
            }
            header.stage |= BEHIND;
        }
        Hop { link: self.toward(at, to, header.salt), ..Hop::over(0, vc, each) }
    }

    /// Returns the first link of a minimal route to another router; `None` to the same router.
    fn toward(&self, at: u32, goal: u32, salt: u32) -> Option<u32> {
        let (here, there) = (self.parts(at), self.parts(goal));
        let kind = &self.kinds[here.kind];
        let inner = kind.generators.len() as u32;
        let within = |difference: u32| {
            let first = &kind.first[difference as usize];
            u32::from(first[salt as usize % first.len()])
        };
        let port = if at == goal {
            return None;
        } else if here.kind != there.kind {
            let difference = self.field.minus(there.place, self.across(here, there.group).place);
            let [before, after] = [here.kind, there.kind].map(|kind| self.kinds[kind].is_linked[difference as usize]);
            // The link within a group may be the first or the second.
            if before && (!after || salt & 1 == 0) { within(difference) } else { inner + there.group }
        } else if here.group == there.group {
            within(self.field.minus(there.place, here.place))
        } else {
            // The group in which a router is linked with both: y = m·x + c holds for both.
            let rise = self.field.minus(here.place, there.place);
            let run = match here.kind {
                0 => self.field.minus(here.group, there.group),
                _ => self.field.minus(there.group, here.group),
            };
            inner + self.field.over(rise, run)
        };
        Some(at * self.ports() + port)
    }

    /// Returns the router of a group of the other kind that is linked with a router.
    fn across(&self, Router { kind, group, place }: Router, to: u32) -> Router {
        let product = self.field.times(group, to);
        let place = if kind == 0 { self.field.minus(place, product) } else { self.field.plus(product, place) };
        Router { kind: 1 - kind, group: to, place }
    }

    fn routers(&self) -> u32 {
        2 * self.q * self.q
    }

    /// Number of links of a router.
    fn ports(&self) -> u32 {
        self.kinds[0].generators.len() as u32 + self.q
    }

    fn parts(&self, router: u32) -> Router {
        let (group, place) = (router / self.q, router % self.q);
        Router { kind: usize::from(group >= self.q), group: group % self.q, place }
    }

    fn number(&self, Router { kind, group, place }: Router) -> u32 {
        (kind as u32 * self.q + group) * self.q + place
    }
}

fn no_field(q: u32) -> MachineError {
    let exists = |q: &u32| Field::exists(*q);
    let below = (Q_MIN..q).rev().find(exists).map(|below| format!("{below} or "));
    let above = (q.max(Q_MIN - 1) + 1..).find(exists).unwrap_or(Q_MIN);
    let below = below.unwrap_or_default();
    MachineError::new(format!(
        "rail.topology.q = {q}: must be a power of a prime number, at least {Q_MIN}, such as {below}{above}"
    ))
}
