//! A process of the job.

use core::fmt;

/// A process of the job, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rank(u32);

impl Rank {
    /// Returns rank number `index`.
    #[inline]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The number as an array index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number as encoded in a [`GlobalAddress`](crate::GlobalAddress).
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The next rank of a ring of `size` ranks.
    #[inline]
    pub const fn next(self, size: u32) -> Self {
        self.offset(1, size)
    }

    /// The previous rank of a ring of `size` ranks.
    #[inline]
    pub const fn previous(self, size: u32) -> Self {
        self.offset(-1, size)
    }

    /// The rank `steps` positions further in a ring of `size` ranks.
    #[inline]
    pub const fn offset(self, steps: i64, size: u32) -> Self {
        Self((self.0 as i64 + steps).rem_euclid(size as i64) as u32)
    }
}

impl From<Rank> for u32 {
    fn from(rank: Rank) -> Self {
        rank.0
    }
}

impl From<Rank> for u64 {
    fn from(rank: Rank) -> Self {
        rank.0.into()
    }
}

/// Writes the number alone; messages write "rank {rank}".
impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_displayed_as_its_number() {
        assert_eq!(Rank::new(7).to_string(), "7");
        assert_eq!(format!("{:>3}", Rank::new(7)), "  7");
        assert_eq!(format!("{:?}", Rank::new(7)), "rank 7");
    }

    #[test]
    fn a_ring_closes_in_both_directions() {
        assert_eq!(Rank::new(2).next(3), Rank::new(0));
        assert_eq!(Rank::new(0).previous(3), Rank::new(2));
        assert_eq!(Rank::new(1).offset(-5, 3), Rank::new(2));
        assert_eq!(Rank::new(0).next(1), Rank::new(0));
    }
}
