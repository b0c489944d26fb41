//! Flowlets: packets of a pair of NICs that follow each other closely, and so take one route.

use crate::events::random::{hash, mix};

/// Flowlets that a NIC remembers. Pairs whose hashes are the same share one, as in the tables of switches.
pub(crate) const FLOWLETS: usize = 64;

/// The last flowlet of some pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flowlet {
    last: u64,
    number: u32,
}

impl Flowlet {
    /// The number of the flowlet of a packet that is sent now.
    fn number(&mut self, now: u64, gap: u64) -> u32 {
        if now.saturating_sub(self.last) > gap {
            self.number = self.number.wrapping_add(1);
        }
        self.last = now;
        self.number
    }
}

/// What the route of a packet from a NIC to a terminal follows from, among the flowlets of the NIC.
pub(crate) fn of_packet(flowlets: &mut [Flowlet], [from, to]: [u32; 2], now: u64, gap: u64) -> u64 {
    let place = mix(to.into()) as usize % flowlets.len();
    hash(u64::from(from), u64::from(to), flowlets[place].number(now, gap).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_a_flowlet() {
        let mut flowlets = [Flowlet::default(); FLOWLETS];
        let mut at = |now| of_packet(&mut flowlets, [1, 2], now, 100);
        let first = at(10);
        assert_eq!([at(60), at(160)], [first; 2]);
        let second = at(261);
        assert!(second != first && at(300) == second);
    }
}
