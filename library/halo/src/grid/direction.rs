//! Directions to neighbouring blocks, and sets of them.

/// An end of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end with the smallest indices.
    Low,
    /// The end with the largest indices.
    High,
}

/// The direction to a neighbouring block: −1, 0 or 1 in each dimension.
pub(crate) type Direction<const D: usize> = [i8; D];

/// A set of directions, one bit for each: at most 3⁴.
pub(crate) type DirectionSet = u128;

/// Mark of borders that others may read: no direction has this bit.
pub(crate) const BORDERS: DirectionSet = 1 << 127;

/// Number of directions, including the one to the block itself.
pub(crate) const fn count<const D: usize>() -> usize {
    3usize.pow(D as u32)
}

/// The number of a direction. Numbers of opposite directions add up to that of the last direction.
pub(crate) fn number<const D: usize>(direction: Direction<D>) -> usize {
    direction.iter().fold(0, |number, &s| number * 3 + (s + 1) as usize)
}

/// The direction of a number.
pub(crate) fn of_number<const D: usize>(mut number: usize) -> Direction<D> {
    let mut direction = [0; D];
    for s in direction.iter_mut().rev() {
        *s = (number % 3) as i8 - 1;
        number /= 3;
    }
    direction
}

/// The opposite direction.
pub(crate) fn opposite<const D: usize>(direction: Direction<D>) -> Direction<D> {
    direction.map(|s| -s)
}

/// Number of dimensions in which the neighbour differs.
pub(crate) fn distance<const D: usize>(direction: Direction<D>) -> usize {
    direction.iter().filter(|&&s| s != 0).count()
}

/// The first dimension in which the neighbour differs; 0 for the block itself.
pub(crate) fn leading<const D: usize>(direction: Direction<D>) -> usize {
    direction.iter().position(|&s| s != 0).unwrap_or(0)
}

/// The direction across the face of a dimension.
pub(crate) fn across<const D: usize>(dimension: usize, side: Side) -> Direction<D> {
    let mut direction = [0; D];
    direction[dimension] = if side == Side::Low { -1 } else { 1 };
    direction
}

/// The directions of 1 to `distance_max` dimensions, each followed by its opposite or preceded by it, in the order in which the block at `place`
/// sends.
///
/// Of each pair, a block with an even coordinate takes the upward direction first, a block with an odd coordinate the downward one: so two neighbours
/// send to each other at the same time, and one neighbour at a time sends to a block (paper B: pairwise order of descriptors).
pub(crate) fn in_order<const D: usize>(place: [usize; D], distance_max: usize) -> Vec<Direction<D>> {
    let upward = (count::<D>() / 2 + 1..count::<D>()).map(of_number::<D>);
    let mut pairs: Vec<Direction<D>> = upward.filter(|&direction| distance(direction) <= distance_max).collect();
    pairs.sort_by_key(|&direction| distance(direction));
    let ordered = |direction: Direction<D>| {
        if place[leading(direction)].is_multiple_of(2) {
            [direction, opposite(direction)]
        } else {
            [opposite(direction), direction]
        }
    };
    pairs.into_iter().flat_map(ordered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_are_one_to_one() {
        for number_of_direction in 0..count::<3>() {
            let direction: Direction<3> = of_number(number_of_direction);
            assert_eq!(number(direction), number_of_direction);
            assert_eq!(number(opposite(direction)), count::<3>() - 1 - number_of_direction);
        }
        assert_eq!(across::<2>(0, Side::Low), [-1, 0]);
    }

    #[test]
    fn every_step_comes_once_and_neighbours_meet() {
        for (distance_max, directions) in [(1, 6), (2, 18), (3, 26)] {
            let even = in_order([0; 3], distance_max);
            assert_eq!(even.len(), directions);
            assert!(even.iter().all(|direction| even.iter().filter(|other| *other == direction).count() == 1));
            let odd = in_order([1; 3], distance_max);
            // What one sends first to the other, the other sends first to the one.
            assert!(even.iter().zip(&odd).all(|(one, other)| *one == opposite(*other)));
        }
    }
}
