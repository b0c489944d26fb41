//! Steps to neighbouring blocks, and sets of them.

/// An end of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where indices are smallest.
    Low,
    /// Where they are largest.
    High,
}

/// A step to a neighbouring block: −1, 0 or 1 in each dimension.
pub(crate) type Step<const D: usize> = [i8; D];

/// A set of steps, one bit for each: at most 3⁴.
pub(crate) type Steps = u128;

/// Marks borders that others may read: no step has this bit.
pub(crate) const BORDERS: Steps = 1 << 127;

/// How many steps there are, the one to nowhere included.
pub(crate) const fn count<const D: usize>() -> usize {
    3usize.pow(D as u32)
}

/// The number of a step; that of its opposite is as far from the end.
pub(crate) fn number<const D: usize>(step: Step<D>) -> usize {
    step.iter().fold(0, |number, &s| number * 3 + (s + 1) as usize)
}

/// The step of a number.
pub(crate) fn of_number<const D: usize>(mut number: usize) -> Step<D> {
    let mut step = [0; D];
    for s in step.iter_mut().rev() {
        *s = (number % 3) as i8 - 1;
        number /= 3;
    }
    step
}

/// The way back.
pub(crate) fn opposite<const D: usize>(step: Step<D>) -> Step<D> {
    step.map(|s| -s)
}

/// In how many dimensions it leads away.
pub(crate) fn distance<const D: usize>(step: Step<D>) -> usize {
    step.iter().filter(|&&s| s != 0).count()
}

/// The first dimension in which it leads away; 0 if it leads nowhere.
pub(crate) fn leading<const D: usize>(step: Step<D>) -> usize {
    step.iter().position(|&s| s != 0).unwrap_or(0)
}

/// The step across the face of a dimension.
pub(crate) fn across<const D: usize>(dimension: usize, side: Side) -> Step<D> {
    let mut step = [0; D];
    step[dimension] = if side == Side::Low { -1 } else { 1 };
    step
}

/// The steps of 1 to `distance_max` dimensions, each beside its opposite, in the order in which the block at `place` sends.
///
/// Of a pair a block whose coordinate is even takes the upward step first, one whose coordinate is odd the downward one: so two
/// neighbours meet, and a block is sent to by one at a time (paper B: pairwise order of descriptors).
pub(crate) fn in_order<const D: usize>(place: [usize; D], distance_max: usize) -> Vec<Step<D>> {
    let upward = (count::<D>() / 2 + 1..count::<D>()).map(of_number::<D>);
    let mut pairs: Vec<Step<D>> = upward.filter(|&step| distance(step) <= distance_max).collect();
    pairs.sort_by_key(|&step| distance(step));
    let ordered = |step: Step<D>| {
        if place[leading(step)].is_multiple_of(2) { [step, opposite(step)] } else { [opposite(step), step] }
    };
    pairs.into_iter().flat_map(ordered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_are_one_to_one() {
        for number_of_step in 0..count::<3>() {
            let step: Step<3> = of_number(number_of_step);
            assert_eq!(number(step), number_of_step);
            assert_eq!(number(opposite(step)), count::<3>() - 1 - number_of_step);
        }
        assert_eq!(across::<2>(0, Side::Low), [-1, 0]);
    }

    #[test]
    fn every_step_comes_once_and_neighbours_meet() {
        for (distance_max, steps) in [(1, 6), (2, 18), (3, 26)] {
            let even = in_order([0; 3], distance_max);
            assert_eq!(even.len(), steps);
            assert!(even.iter().all(|step| even.iter().filter(|other| *other == step).count() == 1));
            let odd = in_order([1; 3], distance_max);
            // What one sends first to the other, the other sends first to the one.
            assert!(even.iter().zip(&odd).all(|(one, other)| *one == opposite(*other)));
        }
    }
}
