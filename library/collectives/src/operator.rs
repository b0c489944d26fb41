//! How two values become one.

use core::ops::{Add, Mul};

use pelago_rma::Pod;

use crate::schedule::Side;

/// How two values become one. Every closure `Fn(T, T) -> T` is one that need not commute.
///
/// It is associative, or as nearly as floating-point numbers are: algorithms differ in where they put the brackets. They never exchange
/// operands unless it [commutes](Self::commutes): the left one comes from members before those of the right one.
pub trait Operator<T> {
    /// The two as one.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether it gives the same with its operands exchanged.
    fn commutes(&self) -> bool {
        false
    }
}

impl<T, F: Fn(T, T) -> T> Operator<T> for F {
    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        self(left, right)
    }
}

/// An operator that gives the same with its operands exchanged: more algorithms can do it.
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
    ($($(#[$doc:meta])* $name:ident where $bound:ident $(<$output:ident = T>)?: |$left:ident, $right:ident| $combined:expr;)+) => {$(
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
        }
    )+};
}

operators! {
    /// The sum.
    Sum where Add<Output = T>: |left, right| left + right;
    /// The product.
    Product where Mul<Output = T>: |left, right| left * right;
    /// The smaller; of values that do not compare, the left one.
    Min where PartialOrd: |left, right| if right < left { right } else { left };
    /// The larger; of values that do not compare, the left one.
    Max where PartialOrd: |left, right| if right > left { right } else { left };
}

/// Combines slices; what executors need of an operator, whatever its type.
pub(crate) trait Fold<T> {
    /// `into[i]` becomes `into[i]` and `with[i]` as one; `side` says which operand `with` is.
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

/// The operator of trials that nobody asked for: it combines any values, at about the cost of a sum. An operator of the program may not bear the zeroes of a trial.
pub(crate) struct Bits;

impl<T: Pod> Operator<T> for Bits {
    #[inline(always)]
    fn combine(&self, mut left: T, right: T) -> T {
        left.as_mut_bytes().iter_mut().zip(right.as_bytes()).for_each(|(left, right)| *left ^= right);
        left
    }
}
