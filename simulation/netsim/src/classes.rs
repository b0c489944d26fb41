//! Traffic classes of a rail: which packets belong to which class, and whose turn it is where several classes wait for a link or a NIC.
//!
//! Of the classes that can send, those of the highest priority come first. Classes of equal priority share by weight, as in start-time fair
//! queueing (Goyal, Vin, Cheng, SIGCOMM 1996). The state of a class is its *lead*: how far its service is ahead of the one that was served last, in
//! bytes divided by the weight. The class with the smallest lead is next. A class that has nothing to send, or must wait for room, falls back to
//! a lead of zero at most: it does not save up its share.

use std::cmp::Reverse;

use crate::machine::rule::{Rule, Traffic};
use crate::machine::spec::{ClassSpec, TrafficKind};

/// The cost of a byte of a class of weight 1.
const BYTE: f64 = (1 << 20) as f64;

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
    pub(crate) fn of(&self, kind: TrafficKind, is_control: bool, bytes: u64) -> u8 {
        if self.is_empty() {
            return 0;
        }
        let traffic = Traffic::of(kind, is_control);
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
        use TrafficKind::{Atomic, Control, Get, Put};
        let specs = [
            class(Some(&[Atomic]), None, 0, 1.0),
            class(Some(&[Put]), Some(100), 0, 1.0),
            class(Some(&[Control]), None, 0, 1.0),
            class(None, None, 0, 1.0),
        ];
        let classes = Classes::new(&specs);
        let of = |kind, is_control, bytes| classes.of(kind, is_control, bytes);
        assert_eq!([of(Atomic, true, 8), of(Put, false, 100)], [0, 1]);
        assert_eq!([of(Put, true, 100), of(Put, true, 101)], [1, 2], "acknowledgements");
        assert_eq!([of(Put, false, 101), of(Get, false, 8)], [3, 3]);
    }
}
