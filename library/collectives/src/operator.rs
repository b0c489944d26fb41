//! The combination of two values.

use core::any::TypeId;
use core::ops::{Add, Mul};

use pelago_rma::{Pod, ReductionOperator};

use crate::schedule::Side;

/// The combination of two values. Every closure `Fn(T, T) -> T` is an operator that is taken as not commutative.
///
/// An operator is associative, or as nearly as floating-point arithmetic is: algorithms differ in their bracketing. They exchange operands only if it
/// [commutes](Self::commutes): otherwise the left operand comes from members before those of the right one.
///
/// If an operator panics and the program catches the panic, the operation cannot continue, and each later call for it returns an error; so does each later
/// operation of its plan. Other members that wait for this one get an error, too, in this operation or in a later one of the plan. After a panic in an
/// operation with counts, no such operation of the team succeeds, on any member.
pub trait Operator<T> {
    /// Returns the combination of both values.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether the operator is commutative.
    fn commutes(&self) -> bool {
        false
    }

    /// Returns the operator by which a network can combine values of this type, as words of 8 bytes; `None` if there is none. The same on all
    /// members.
    fn in_network(&self) -> Option<ReductionOperator>
    where
        T: 'static,
    {
        None
    }
}

impl<T, F: Fn(T, T) -> T> Operator<T> for F {
    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        self(left, right)
    }
}

/// A commutative operator: more algorithms support it.
#[derive(Clone, Copy, Debug)]
pub struct Commutative<F>(
    /// The operator.
    pub F,
);

impl<T, F: Fn(T, T) -> T> Operator<T> for Commutative<F> {
    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        self.0(left, right)
    }

    fn commutes(&self) -> bool {
        true
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident where $bound:ident $(<$output:ident = T>)?: |$left:ident, $right:ident| $combined:expr, $network:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl<T: $bound $(<$output = T>)?> Operator<T> for $name {
            #[inline(always)]
            fn combine(&self, $left: T, $right: T) -> T {
                $combined
            }

            fn commutes(&self) -> bool {
                true
            }

            fn in_network(&self) -> Option<ReductionOperator>
            where
                T: 'static,
            {
                let [unsigned, signed, float] = $network;
                match TypeId::of::<T>() {
                    id if id == TypeId::of::<u64>() => unsigned,
                    id if id == TypeId::of::<i64>() => signed,
                    id if id == TypeId::of::<f64>() => float,
                    _ => None,
                }
            }
        }
    )+};
}

/// The operators of networks for `u64`, `i64` and `f64`. Minimum and maximum of `f64` depend on the order of values that do not compare.
const SUM: [Option<ReductionOperator>; 3] =
    [Some(ReductionOperator::Sum), Some(ReductionOperator::Sum), Some(ReductionOperator::FloatSum)];
const MIN: [Option<ReductionOperator>; 3] = [Some(ReductionOperator::Min), Some(ReductionOperator::SignedMin), None];
const MAX: [Option<ReductionOperator>; 3] = [Some(ReductionOperator::Max), Some(ReductionOperator::SignedMax), None];

operators! {
    /// The sum. A network that computes it wraps around where integers overflow.
    Sum where Add<Output = T>: |left, right| left + right, SUM;
    /// The product.
    Product where Mul<Output = T>: |left, right| left * right, [None; 3];
    /// The smaller; of values that do not compare, the left one.
    Min where PartialOrd: |left, right| if right < left { right } else { left }, MIN;
    /// The larger; of values that do not compare, the left one.
    Max where PartialOrd: |left, right| if right > left { right } else { left }, MAX;
}

/// Combines slices: the interface of operators to executors, independent of the operator's type.
pub(crate) trait Fold<T> {
    /// Replaces each `into[i]` by the combination of `into[i]` and `with[i]`; `side` is the operand position of `with`.
    fn fold(&self, into: &mut [T], with: &[T], side: Side);
}

impl<T: Pod, O: Operator<T> + ?Sized> Fold<T> for O {
    fn fold(&self, into: &mut [T], with: &[T], side: Side) {
        match side {
            Side::Left => into.iter_mut().zip(with).for_each(|(into, with)| *into = self.combine(*with, *into)),
            Side::Right => into.iter_mut().zip(with).for_each(|(into, with)| *into = self.combine(*into, *with)),
        }
    }
}

/// The operator of operations that combine nothing.
pub(crate) struct Nothing;

impl<T> Operator<T> for Nothing {
    fn combine(&self, left: T, _: T) -> T {
        left
    }
}

/// The operator of automatic trials: it combines any values, at about the cost of a sum. An operator of the program may not accept the zeroes of a trial.
pub(crate) struct Bits;

impl<T: Pod> Operator<T> for Bits {
    #[inline(always)]
    fn combine(&self, mut left: T, right: T) -> T {
        left.as_mut_bytes().iter_mut().zip(right.as_bytes()).for_each(|(left, right)| *left ^= right);
        left
    }
}
