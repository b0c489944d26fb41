//! Traffic classes of a rail: which packets belong to which class, and whose turn it is where several classes wait for a link or a NIC.
//!
//! Of the classes that can send, those of the highest priority come first. Classes of equal priority share by weight, as in start-time fair
//! queueing (Goyal, Vin, Cheng, SIGCOMM 1996). The state of a class is its *lead*: how far its service is ahead of the one that was served last, in
//! bytes divided by the weight. The class with the smallest lead is next. A class that has nothing to send, or must wait for room, falls back to
//! a lead of zero at most: it does not save up its share.

use std::cmp::Reverse;

use crate::machine::spec::{ClassSpec, TrafficKind};
use crate::nics::transfer::OperationKind;

/// The cost of a byte of a class of weight 1.
const BYTE: f64 = (1 << 20) as f64;

/// The bit of packets that carry no bytes of their operation, beside the bit of its kind.
const CONTROL: u16 = 0x100;

/// The classes of a rail; none if it does not tell classes apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<Class>);

#[derive(Clone, Copy, Debug)]
struct Class {
    rule: Rule,
    priority: u32,
    /// The lead that a byte brings.
    cost: u64,
}

/// Which packets belong to a class, unless an earlier class has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// A bit for each kind of operation, and [`CONTROL`] for all packets without bytes.
    kinds: u16,
    bytes_max: u64,
}

impl Rule {
    pub(crate) fn new(spec: &ClassSpec) -> Self {
        let bit = |&kind: &TrafficKind| match kind {
            TrafficKind::Put => bit(OperationKind::Put),
            TrafficKind::Get => bit(OperationKind::Get),
            TrafficKind::Atomic => bit(OperationKind::Atomic),
            TrafficKind::Copy => bit(OperationKind::Copy),
            TrafficKind::Datagram => bit(OperationKind::Datagram),
            TrafficKind::Control => CONTROL,
        };
        let kinds = spec.kinds.as_ref().map_or(u16::MAX, |kinds| kinds.iter().map(bit).fold(0, |all, kind| all | kind));
        Self { kinds, bytes_max: spec.operation_bytes_max.unwrap_or(u64::MAX) }
    }

    fn has(&self, traffic: u16, bytes: u64) -> bool {
        self.kinds & traffic != 0 && bytes <= self.bytes_max
    }

    /// Whether a packet can belong to this class although none of `earlier` has it.
    pub(crate) fn is_reachable(&self, earlier: &[Self]) -> bool {
        let kinds = [OperationKind::Put, OperationKind::Get, OperationKind::Atomic, OperationKind::Copy, OperationKind::Datagram];
        kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]).any(|(kind, is_control)| {
            let traffic = traffic(kind, is_control);
            let earlier = || earlier.iter().filter(|rule| rule.kinds & traffic != 0);
            // An operation of so many bytes is the first that no earlier class has.
            let bytes = match kind {
                OperationKind::Atomic if !is_control => return false,
                OperationKind::Atomic => Some(ATOMIC_BYTES).filter(|&bytes| earlier().all(|rule| !rule.has(traffic, bytes))),
                _ => earlier().map(|rule| rule.bytes_max).max().map_or(Some(0), |most| most.checked_add(1)),
            };
            bytes.is_some_and(|bytes| self.has(traffic, bytes))
        })
    }
}

/// Size of the word of an atomic.
pub(crate) const ATOMIC_BYTES: u64 = 8;

fn bit(kind: OperationKind) -> u16 {
    1 << kind as u16
}

fn traffic(kind: OperationKind, is_control: bool) -> u16 {
    bit(kind) | if is_control { CONTROL } else { 0 }
}

/// The sort key of classes that can send: the smallest is next.
pub(crate) type ClassTurn = (Reverse<u32>, u64);

impl Classes {
    pub(crate) fn new(specs: &[ClassSpec]) -> Self {
        let of = |spec: &ClassSpec| Class {
            rule: Rule::new(spec),
            priority: spec.priority,
            cost: (BYTE / spec.weight).round() as u64,
        };
        Self(specs.iter().map(of).collect())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of classes that have their own queues and buffers, at least one.
    #[inline]
    pub(crate) fn count(&self) -> u8 {
        self.0.len().max(1) as u8
    }

    /// Returns the class of a packet of an operation; the last one has what no other has.
    #[inline]
    pub(crate) fn of(&self, kind: OperationKind, is_control: bool, bytes: u64) -> u8 {
        if self.is_empty() {
            return 0;
        }
        let traffic = traffic(kind, is_control);
        self.0.iter().position(|class| class.rule.has(traffic, bytes)).unwrap_or(self.0.len() - 1) as u8
    }

    /// Returns the turn of a class, given the leads of all.
    pub(crate) fn turn(&self, class: u8, leads: &[u64]) -> ClassTurn {
        (Reverse(self.0[usize::from(class)].priority), leads[usize::from(class)])
    }

    /// Updates the leads for a packet that a class sends.
    pub(crate) fn charge(&self, class: u8, leads: &mut [u64], bytes: u32) {
        let class = usize::from(class);
        let (lead, Class { priority, cost, .. }) = (leads[class], self.0[class]);
        for (other, lead_of_other) in self.0.iter().zip(&mut *leads) {
            if other.priority == priority {
                *lead_of_other = lead_of_other.saturating_sub(lead);
            }
        }
        leads[class] = u64::from(bytes) * cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(kinds: Option<&[TrafficKind]>, operation_bytes_max: Option<u64>, priority: u32, weight: f64) -> ClassSpec {
        ClassSpec { name: String::new(), kinds: kinds.map(<[_]>::to_vec), operation_bytes_max, priority, weight }
    }

    /// Serves `rounds` packets of the given sizes; returns the bytes of each class. `can_send` says which classes have a packet in a round.
    fn serve(classes: &Classes, sizes: &[u32], rounds: usize, can_send: impl Fn(usize, usize) -> bool) -> Vec<u32> {
        let (mut leads, mut bytes) = (vec![0; sizes.len()], vec![0; sizes.len()]);
        for round in 0..rounds {
            let next = (0..sizes.len()).filter(|&class| can_send(round, class));
            let Some(class) = next.min_by_key(|&class| classes.turn(class as u8, &leads)) else { continue };
            classes.charge(class as u8, &mut leads, sizes[class]);
            bytes[class] += sizes[class];
        }
        bytes
    }

    #[test]
    fn shares_follow_weights_whatever_the_sizes_of_packets() {
        let classes = Classes::new(&[class(None, None, 0, 3.0), class(None, None, 0, 1.0), class(None, None, 0, 2.5)]);
        let bytes = serve(&classes, &[100, 1_000, 300], 10_000, |_, _| true);
        let unit = f64::from(bytes.iter().sum::<u32>()) / 6.5;
        for (bytes, weight) in bytes.iter().zip([3.0, 1.0, 2.5]) {
            assert!((f64::from(*bytes) / unit / weight - 1.0).abs() < 0.01, "{bytes} of {unit}");
        }
    }

    /// The share of an idle class goes to the others, and it does not get it back.
    #[test]
    fn a_class_does_not_save_up_its_share() {
        let classes = Classes::new(&[class(None, None, 0, 1.0), class(None, None, 0, 1.0)]);
        assert_eq!(serve(&classes, &[100, 100], 1_000, |round, class| class == 0 || round >= 500), [75_000, 25_000]);
    }

    #[test]
    fn a_higher_priority_is_first_and_leaves_the_shares_of_the_others() {
        let classes = Classes::new(&[class(None, None, 1, 1.0), class(None, None, 0, 3.0), class(None, None, 0, 1.0)]);
        assert_eq!(serve(&classes, &[100; 3], 100, |_, _| true), [10_000, 0, 0]);
        assert_eq!(serve(&classes, &[100; 3], 800, |round, class| class > 0 || round % 2 == 0), [40_000, 30_000, 10_000]);
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        use TrafficKind::{Atomic, Control, Put};
        let specs = [
            class(Some(&[Atomic]), None, 0, 1.0),
            class(Some(&[Put]), Some(100), 0, 1.0),
            class(Some(&[Control]), None, 0, 1.0),
            class(None, None, 0, 1.0),
        ];
        let classes = Classes::new(&specs);
        let of = |kind, is_control, bytes| classes.of(kind, is_control, bytes);
        assert_eq!([of(OperationKind::Atomic, true, 8), of(OperationKind::Put, false, 100)], [0, 1]);
        assert_eq!([of(OperationKind::Put, true, 100), of(OperationKind::Put, true, 101)], [1, 2], "acknowledgements");
        assert_eq!([of(OperationKind::Put, false, 101), of(OperationKind::Get, false, 8)], [3, 3]);
        let rules: Vec<_> = specs.iter().map(Rule::new).collect();
        assert!((0..4).all(|number| rules[number].is_reachable(&rules[..number])));
    }

    #[test]
    fn a_class_that_gets_nothing_is_found() {
        use TrafficKind::{Atomic, Control, Get, Put};
        let is_reachable = |specs: &[ClassSpec]| {
            let rules: Vec<_> = specs.iter().map(Rule::new).collect();
            rules[rules.len() - 1].is_reachable(&rules[..rules.len() - 1])
        };
        let all = || class(None, None, 0, 1.0);
        let of = |kinds: &[TrafficKind], most| class(Some(kinds), most, 0, 1.0);
        assert!(!is_reachable(&[all(), all()]));
        assert!(!is_reachable(&[of(&[Put], None), of(&[Put], Some(8))]));
        assert!(!is_reachable(&[of(&[Put, Get], Some(100)), of(&[Get], Some(100))]));
        assert!(!is_reachable(&[of(&[Control], None), of(&[Atomic], None)]), "an atomic has packets without bytes only");
        assert!(!is_reachable(&[of(&[Put], Some(100)), of(&[Atomic], Some(7))]));
        assert!(is_reachable(&[of(&[Put, Get], Some(100)), of(&[Get], Some(101))]));
        assert!(is_reachable(&[of(&[Atomic], Some(7)), of(&[Atomic], None)]));
        assert!(is_reachable(&[of(&[Control], None), of(&[Put], None)]));
    }
}
