//! Sums, minima and maxima of integers and floating-point numbers.

use pelago_base::AtomicOperator;
use pelago_memory::{NumberKind, Pod, Word};

use super::check_end;
use super::indexed::check;
use crate::memory::segment::known;
use crate::{Context, GlobalPtr, Handle, Ordered, Result};

/// Number of accumulations per batch: a part of the operations that may be in flight.
const TOGETHER: usize = 256;

/// Number of values of mapped memory that are loaded before the first of them is accumulated.
const AHEAD: usize = 8;

/// The result that an accumulation stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulation {
    /// The sum; integers wrap.
    Sum,
    /// The smaller of the two.
    Min,
    /// The greater of the two.
    Max,
}

/// A number type for [`Context::accumulate`]: `u32`, `i32`, `u64`, `i64`, `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that accumulations work on",
    label = "not one of `u32`, `i32`, `u64`, `i64`, `f32`, `f64`"
)]
pub trait Number: Pod + sealed::Sealed {
    /// The word of its bits.
    #[doc(hidden)]
    type Bits: Word;
    /// The number kind for memory of a device.
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
    /// Stores the sum, the minimum or the maximum of `value` and the number at `at` there.
    ///
    /// A floating-point sum depends on the order of the ranks' additions, because of rounding. A minimum or maximum of a number and NaN is the number; a sum
    /// that is NaN is `NAN`.
    ///
    /// Cost: mapped target: one atomic instruction; for minima and maxima of signed numbers and for floating-point numbers a load and a
    /// compare-and-swap, which are repeated after a conflict with another writer. An accumulation at the address of the previous one expects the
    /// number that the previous one stored, and needs no load. Other targets: one operation of the transport.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
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
            // After a wrong expectation the next one is probably wrong as well: several ranks accumulate at this address.
            self.left.set(left.map_or((0, 0), |left| (address, left.to_bits())));
            return Ok(Handle::done_by(self));
        }
        self.apply(at, operator, operand)
    }

    /// As [`accumulate`](Self::accumulate), for each of `values` and the number at the same index from `at` on. Each change is atomic, but not all
    /// changes together.
    ///
    /// Cost: that of all accumulations; mapped targets: numbers without an atomic instruction are loaded ahead, eight at a time. Other targets: issued in
    /// [batches](Self::batch), so that one message carries several.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    pub fn accumulate_all<T: Number>(&self, at: GlobalPtr<T>, accumulation: Accumulation, values: &[T]) -> Result<()> {
        self.accumulate_each(at, accumulation, (0..values.len()).map(|place| (place as u64, values[place])))
    }

    /// As [`accumulate`](Self::accumulate), for each of `values` and the number at index `places[i]` from `at` on. An index may occur several times.
    ///
    /// Cost: as [`accumulate_all`](Self::accumulate_all).
    ///
    /// # Errors
    /// The numbers of indices and values differ; an element lies past the last address: then no number has changed; as [`accumulate`](Self::accumulate).
    pub fn accumulate_indexed<T: Number>(
        &self,
        at: GlobalPtr<T>,
        places: &[u64],
        accumulation: Accumulation,
        values: &[T],
    ) -> Result<()> {
        check(places.len(), values.len())?;
        if let Some(last) = places.iter().max() {
            let end = last.checked_add(1).and_then(|elements| elements.checked_mul(size_of::<T>() as u64));
            check_end(at.address(), end.unwrap_or(u64::MAX))?;
        }
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

    /// Accumulates as long as the addresses are mapped. Loads several numbers before it changes the first, because a load after an atomic
    /// instruction waits for it; a number that changes in between is accumulated correctly.
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
    /// The handle belongs to another context, or its operation failed; the job has a fault.
    pub fn accumulate<T: Number>(&self, at: GlobalPtr<T>, accumulation: Accumulation, value: T) -> Result<Handle<'c>> {
        self.apply(known::<T::Bits>(at.address()), T::operator(accumulation), value.into_bits())
    }
}
