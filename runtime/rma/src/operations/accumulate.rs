//! Sums, minima and maxima of numbers of any kind.

use pelago_base::AtomicOperator;
use pelago_memory::{NumberKind, Pod, Word};

use super::indexed::check;
use crate::memory::segment::known;
use crate::{Context, GlobalPtr, Handle, Ordered, Result};

/// Accumulations of one batch: a part of the operations that may be in flight.
const TOGETHER: usize = 256;

/// Numbers of mapped memory that are loaded before the first of them is accumulated.
const AHEAD: usize = 8;

/// What an accumulation leaves where it found a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulation {
    /// The sum; integers wrap.
    Sum,
    /// The smaller of the two.
    Min,
    /// The greater of the two.
    Max,
}

/// A number that [`Context::accumulate`] works on: `u32`, `i32`, `u64`, `i64`, `f32` or `f64`.
pub trait Number: Pod + sealed::Sealed {
    /// The word of its bits.
    #[doc(hidden)]
    type Bits: Word;
    /// What it is in memory of a device.
    const KIND: NumberKind;
    /// Its bits.
    #[doc(hidden)]
    fn into_bits(self) -> Self::Bits;
    /// The operator of the transport.
    #[doc(hidden)]
    fn operator(accumulation: Accumulation) -> AtomicOperator;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty, $kind:ident, $bits:ty, |$value:ident| $into:expr, $sum:ident, $min:ident, $max:ident;)+) => {$(
        impl sealed::Sealed for $number {}
        impl Number for $number {
            type Bits = $bits;
            const KIND: NumberKind = NumberKind::$kind;
            #[inline(always)]
            fn into_bits(self) -> $bits {
                let $value = self;
                $into
            }
            #[inline(always)]
            fn operator(accumulation: Accumulation) -> AtomicOperator {
                match accumulation {
                    Accumulation::Sum => AtomicOperator::$sum,
                    Accumulation::Min => AtomicOperator::$min,
                    Accumulation::Max => AtomicOperator::$max,
                }
            }
        }
    )+};
}

numbers! {
    u32, U32, u32, |value| value, Add, Min, Max;
    u64, U64, u64, |value| value, Add, Min, Max;
    i32, I32, u32, |value| value.cast_unsigned(), Add, MinSigned, MaxSigned;
    i64, I64, u64, |value| value.cast_unsigned(), Add, MinSigned, MaxSigned;
    f32, F32, u32, |value| value.to_bits(), AddFloat, MinFloat, MaxFloat;
    f64, F64, u64, |value| value.to_bits(), AddFloat, MinFloat, MaxFloat;
}

impl Context {
    /// Leaves the sum, the minimum or the maximum of `value` and the number at `at` there.
    ///
    /// A sum of floating-point numbers depends on the order in which ranks add, as far as it is rounded. A minimum or maximum of a number and NaN is the number; a sum
    /// that is NaN is `NAN`.
    ///
    /// Cost: mapped target: one atomic instruction; for minima and maxima of signed numbers and for floating-point numbers a load and a compare-and-swap, which are repeated
    /// if others come between. An accumulation at the place of the last one expects the number that the last one left, and does not load. Other targets: one operation of
    /// the transport.
    ///
    /// # Errors
    /// The job is at fault while the call waits for room. An address that leads nowhere is reported by the handle or `quiet`.
    ///
    /// ```
    /// # use pelago_base::Rank;
    /// # use pelago_rma::{Accumulation, Result, Symmetric, World};
    /// # fn example(world: &World, forces: &Symmetric<'_, f64>, to: Rank) -> Result<()> {
    /// world.accumulate(forces.at(to, 0), Accumulation::Sum, 0.25)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: `MPI_Accumulate` of MPI 4.1, with one number.
    #[inline(always)]
    pub fn accumulate<T: Number>(&self, at: GlobalPtr<T>, accumulation: Accumulation, value: T) -> Result<Handle<'_>> {
        let (at, operator, operand) = (known::<T::Bits>(at.address()), T::operator(accumulation), value.into_bits());
        if operator.is_repeated()
            && let Some(place) = self.reach.place(at)
        {
            let ((last, left), address) = (self.left.get(), at.address().bits());
            let expected = if last == address { T::Bits::from_bits(left) } else { place.load() };
            let left = place.update(operator, operand, expected);
            // An expectation that was wrong is likely wrong again: the place is one of several ranks.
            self.left.set(left.map_or((0, 0), |left| (address, left.to_bits())));
            return Ok(Handle::done());
        }
        self.apply(at, operator, operand)
    }

    /// As [`accumulate`](Self::accumulate), for each of `values` and the number at its place from `at` on. Each is changed at one moment, all of them at no common one.
    ///
    /// Cost: as many times as much; mapped targets: numbers that no instruction accumulates are loaded ahead, eight at a time. Other targets: issued in
    /// [batches](Self::batch), so that one message carries several.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    pub fn accumulate_all<T: Number>(&self, at: GlobalPtr<T>, accumulation: Accumulation, values: &[T]) -> Result<()> {
        self.accumulate_each(at, accumulation, (0..values.len()).map(|place| (place as u64, values[place])))
    }

    /// As [`accumulate`](Self::accumulate), for each of `values` and the number at place `places[i]` counted from `at` on. A place may occur as often as it likes.
    ///
    /// Cost: as [`accumulate_all`](Self::accumulate_all).
    ///
    /// # Errors
    /// There are not as many places as values; as [`accumulate`](Self::accumulate).
    pub fn accumulate_indexed<T: Number>(
        &self,
        at: GlobalPtr<T>,
        places: &[u64],
        accumulation: Accumulation,
        values: &[T],
    ) -> Result<()> {
        check(places.len(), values.len())?;
        self.accumulate_each(at, accumulation, places.iter().copied().zip(values.iter().copied()))
    }

    fn accumulate_each<T: Number>(
        &self,
        at: GlobalPtr<T>,
        accumulation: Accumulation,
        mut all: impl ExactSizeIterator<Item = (u64, T)> + Clone,
    ) -> Result<()> {
        if T::operator(accumulation).is_repeated() {
            self.accumulate_mapped(at, accumulation, &mut all);
        }
        while all.len() > 0 {
            let mut some = all.by_ref().take(TOGETHER);
            let mut some = || some.try_for_each(|(place, value)| self.accumulate(at.add(place), accumulation, value).map(drop));
            if self.reach.place(at).is_some() { some() } else { self.batch(some) }?;
        }
        Ok(())
    }

    /// Accumulates as long as places are mapped. Loads several numbers before the first is changed, because a load behind an atomic instruction waits for it; a number that
    /// changes in between is accumulated all the same.
    fn accumulate_mapped<T: Number>(
        &self,
        at: GlobalPtr<T>,
        accumulation: Accumulation,
        all: &mut (impl ExactSizeIterator<Item = (u64, T)> + Clone),
    ) {
        while all.len() > 0 {
            let mut loaded = [None; AHEAD];
            for (loaded, (place, _)) in loaded.iter_mut().zip(all.clone()) {
                let Some(place) = self.reach.place(known::<T::Bits>(at.add(place).address())) else { return };
                *loaded = Some((place, place.load()));
            }
            for ((place, expected), (_, value)) in loaded.into_iter().flatten().zip(all.by_ref()) {
                place.update(T::operator(accumulation), value.into_bits(), expected);
            }
        }
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::accumulate`].
    ///
    /// # Errors
    /// The handle to wait for belongs to another context or its operation failed; the job is at fault.
    pub fn accumulate<T: Number>(&self, at: GlobalPtr<T>, accumulation: Accumulation, value: T) -> Result<Handle<'c>> {
        self.apply(known::<T::Bits>(at.address()), T::operator(accumulation), value.into_bits())
    }
}
