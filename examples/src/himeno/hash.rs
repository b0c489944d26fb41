//! The hash of a field: a sum over cells, so that blocks can be summed in any order.

use super::grid::Extent;

/// Returns the contribution of a cell to the hash: the sum over all cells of (bits(p) + 1)·((g·0x9E3779B97F4A7C15) | 1) modulo 2⁶⁴, where g
/// numbers the cells of the whole grid, k fastest.
pub(crate) fn term([_, nj, nk]: Extent, [i, j, k]: Extent, p: f32) -> u64 {
    let number = ((i * nj + j) * nk + k) as u64;
    (u64::from(p.to_bits()) + 1).wrapping_mul(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_those_of_the_definition() {
        let grid = [2, 3, 4];
        assert_eq!(term(grid, [0, 0, 0], 0.0), 1);
        assert_eq!(term(grid, [0, 0, 0], 1.0), 0x3F80_0001);
        assert_eq!(term(grid, [0, 0, 1], 0.0), 0x9E37_79B9_7F4A_7C15);
        assert_eq!(term(grid, [0, 0, 2], 0.0), 0x3C6E_F372_FE94_F82B);
        assert_eq!(term(grid, [1, 2, 3], 0.0), term([1, 1, 24], [0, 0, 23], 0.0));
    }
}
