//! Flowlets: packets of a pair of NICs that follow each other closely and therefore take one route.

use crate::events::random::{hash, mix};

/// Number of flowlets that a NIC stores. Pairs with equal hashes share one, as in the tables of switches.
pub(crate) const FLOWLETS: usize = 64;

/// The memory of the flowlets of a NIC.
pub(crate) const FLOWLETS_BYTES: u64 = (FLOWLETS * size_of::<Flowlet>()) as u64;

/// The last flowlet of the pairs that share an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flowlet {
    last: u64,
    number: u32,
}

impl Flowlet {
    /// Returns the number of the flowlet of a packet that is sent now.
    fn number(&mut self, now: u64, gap: u64) -> u32 {
        if now.saturating_sub(self.last) > gap {
            self.number = self.number.wrapping_add(1);
        }
        self.last = now;
        self.number
    }
}

/// Returns the number that determines the route of a packet from one NIC to another, given the flowlets of the sending NIC.
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
