//! The hash of a field: a sum over cells, so that blocks can be summed in any order.

use super::field::Field;
use super::grid::Extent;

/// The part of a block in the sum over all cells of (bits(p) + 1)·((g·0x9E3779B97F4A7C15) | 1) modulo 2⁶⁴, where g numbers the cells of
/// the whole grid, k fastest.
pub(crate) fn hash(field: &Field, [_, nj, nk]: Extent) -> u64 {
    let cells = field.cells().map(|([i, j, k], index)| ((i * nj + j) * nk + k, field.p[index]));
    cells.fold(0u64, |sum, (number, p)| sum.wrapping_add(term(number as u64, p)))
}

fn term(number: u64, p: f32) -> u64 {
    (u64::from(p.to_bits()) + 1).wrapping_mul(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_those_of_the_definition() {
        assert_eq!(term(0, 0.0), 1);
        assert_eq!(term(0, 1.0), 0x3F80_0001);
        assert_eq!(term(1, 0.0), 0x9E37_79B9_7F4A_7C15);
        assert_eq!(term(2, 0.0), 0x3C6E_F372_FE94_F82B);
    }
}
