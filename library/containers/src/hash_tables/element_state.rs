//! The state of an element of a map: whether its key is present, and the number of writes of its value. While a rank writes the value, the state contains
//! the number of that rank instead.

use pelago_base::Rank;

/// Number of low bits of a state, which hold its kind; the bits above hold the number of the value, or the rank that writes it.
pub(crate) const KIND_BITS: u32 = 2;
pub(crate) const KIND_MASK: u64 = (1 << KIND_BITS) - 1;
/// The key is absent.
pub(crate) const GONE: u64 = 0;
/// The key is present.
pub(crate) const THERE: u64 = 1;
/// The value is being written.
pub(crate) const BUSY: u64 = 2;

/// The number of the next value, in the position of a state.
pub(crate) const fn next_number(state: u64) -> u64 {
    ((state >> KIND_BITS) + 1) << KIND_BITS
}

/// The state of an element whose value a rank is writing.
pub(crate) fn busy(writer: Rank) -> u64 {
    u64::from(writer) << KIND_BITS | BUSY
}

/// The rank that writes the value of an element in this state, which is busy.
pub(crate) fn writer(state: u64) -> Rank {
    Rank::new((state >> KIND_BITS) as u32)
}
