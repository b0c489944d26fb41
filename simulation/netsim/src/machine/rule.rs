//! Which packets belong to a traffic class.

use super::spec::{ClassSpec, TrafficKind};

/// Size of the word of an atomic.
pub(crate) const ATOMIC_BYTES: u64 = 8;

/// Which packets belong to a class, unless an earlier class has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    traffic: Traffic,
    bytes_max: u64,
}

/// A set of packets: a bit for the kind of their operation, and that of [`TrafficKind::Control`] for packets without bytes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic(u16);

impl Traffic {
    /// The packets of operations of a kind that carry its bytes, or that do not.
    #[inline]
    pub(crate) fn of(kind: TrafficKind, is_control: bool) -> Self {
        let control = if is_control { Self::bit(TrafficKind::Control) } else { 0 };
        Self(Self::bit(kind) | control)
    }

    #[inline]
    fn bit(kind: TrafficKind) -> u16 {
        1 << kind as u16
    }

    #[inline]
    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Rule {
    pub(crate) fn new(spec: &ClassSpec) -> Self {
        let kinds = spec.kinds.as_ref();
        let traffic = kinds.map_or(u16::MAX, |kinds| kinds.iter().fold(0, |all, &kind| all | Traffic::bit(kind)));
        Self { traffic: Traffic(traffic), bytes_max: spec.operation_bytes_max.unwrap_or(u64::MAX) }
    }

    /// Whether packets of an operation of `bytes` bytes belong to it.
    #[inline]
    pub(crate) fn has(&self, traffic: Traffic, bytes: u64) -> bool {
        self.traffic.meets(traffic) && bytes <= self.bytes_max
    }

    /// Whether a packet can belong to this class although none of `earlier` has it.
    pub(super) fn is_reachable(&self, earlier: &[Self]) -> bool {
        use TrafficKind::{Atomic, Copy, Datagram, Get, Put};
        [Put, Get, Atomic, Copy, Datagram].into_iter().flat_map(|kind| [(kind, false), (kind, true)]).any(|(kind, is_control)| {
            let traffic = Traffic::of(kind, is_control);
            let earlier = || earlier.iter().filter(|rule| rule.traffic.meets(traffic));
            // An operation of so many bytes is the first that no earlier class has.
            let bytes = match kind {
                Atomic if !is_control => return false,
                Atomic => Some(ATOMIC_BYTES).filter(|&bytes| earlier().all(|rule| !rule.has(traffic, bytes))),
                _ => earlier().map(|rule| rule.bytes_max).max().map_or(Some(0), |most| most.checked_add(1)),
            };
            bytes.is_some_and(|bytes| self.has(traffic, bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(kinds: Option<&[TrafficKind]>, operation_bytes_max: Option<u64>) -> ClassSpec {
        ClassSpec { name: String::new(), kinds: kinds.map(<[_]>::to_vec), operation_bytes_max, priority: 0, weight: 1.0 }
    }

    #[test]
    fn a_class_that_gets_nothing_is_found() {
        use TrafficKind::{Atomic, Control, Get, Put};
        let is_reachable = |specs: &[ClassSpec]| {
            let rules: Vec<_> = specs.iter().map(Rule::new).collect();
            rules[rules.len() - 1].is_reachable(&rules[..rules.len() - 1])
        };
        let all = || class(None, None);
        let of = |kinds: &[TrafficKind], most| class(Some(kinds), most);
        assert!(!is_reachable(&[all(), all()]));
        assert!(!is_reachable(&[of(&[Put], None), of(&[Put], Some(8))]));
        assert!(!is_reachable(&[of(&[Put, Get], Some(100)), of(&[Get], Some(100))]));
        assert!(!is_reachable(&[of(&[Control], None), of(&[Atomic], None)]), "an atomic has packets without bytes only");
        assert!(!is_reachable(&[of(&[Put], Some(100)), of(&[Atomic], Some(7))]));
        assert!(is_reachable(&[of(&[Put, Get], Some(100)), of(&[Get], Some(101))]));
        assert!(is_reachable(&[of(&[Atomic], Some(7)), of(&[Atomic], None)]));
        assert!(is_reachable(&[of(&[Control], None), of(&[Put], None)]));
        assert!(is_reachable(&[of(&[Atomic], None), of(&[Put], Some(100)), of(&[Control], None), all()]));
    }
}
