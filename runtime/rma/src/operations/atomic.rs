//! Remote atomics on words of 4 and 8 bytes.

use pelago_base::AtomicOperator;
use pelago_memory::Word;

use crate::progress::record::{Audience, Terms};
use crate::progress::task::Task;
use crate::{Context, Fetch, GlobalPtr, Handle, Ordered, Result};

/// For each operator: the operation that fetches the old value, and the one that does not.
macro_rules! operators {
    ($($fetching:ident, $plain:ident, $operator:ident, $verb:literal;)+) => {
        impl Context {$(
            #[doc = concat!($verb, " the word at `at` and returns what was there.")]
            ///
            /// Cost: mapped target: one atomic instruction. Other targets: one operation of the transport.
            ///
            /// # Errors
            /// The job has a fault while the call waits for room. The result reports an invalid address.
            #[inline(always)]
            pub fn $fetching<T: Word>(&self, at: GlobalPtr<T>, operand: T) -> Result<Fetch<'_, T>> {
                self.fetch_by(at, AtomicOperator::$operator, operand)
            }

            #[doc = concat!($verb, " the word at `at`.")]
            ///
            /// Cost: mapped target: one atomic instruction. Other targets: one operation of the transport.
            ///
            /// # Errors
            /// The job has a fault while the call waits for room. The handle or `quiet` reports an invalid address.
            #[inline(always)]
            pub fn $plain<T: Word>(&self, at: GlobalPtr<T>, operand: T) -> Result<Handle<'_>> {
                self.apply(at, AtomicOperator::$operator, operand)
            }
        )+}

        impl<'c> Ordered<'c> {$(
            #[doc = concat!("As [`Context::", stringify!($fetching), "`].")]
            ///
            /// # Errors
            /// The handle belongs to another context, or its operation failed; the job has a fault.
            pub fn $fetching<T: Word>(&self, at: GlobalPtr<T>, operand: T) -> Result<Fetch<'c, T>> {
                self.fetch_by(at, AtomicOperator::$operator, operand)
            }

            #[doc = concat!("As [`Context::", stringify!($plain), "`].")]
            ///
            /// # Errors
            /// The handle belongs to another context, or its operation failed; the job has a fault.
            pub fn $plain<T: Word>(&self, at: GlobalPtr<T>, operand: T) -> Result<Handle<'c>> {
                self.apply(at, AtomicOperator::$operator, operand)
            }
        )+}
    };
}

operators! {
    fetch_add, add, Add, "Adds `operand` to";
    fetch_and, and, And, "Bitwise-ands `operand` into";
    fetch_or, or, Or, "Bitwise-ors `operand` into";
    fetch_xor, xor, Xor, "Bitwise-exclusive-ors `operand` into";
    fetch_max, max, Max, "Writes `operand`, if it is the greater, taken for a number without a sign, to";
    fetch_min, min, Min, "Writes `operand`, if it is the smaller, taken for a number without a sign, to";
    swap, set, Swap, "Writes `operand` to";
}

impl Context {
    /// Writes `new` to the word at `at` if it equals `expected`; returns the old value.
    ///
    /// Cost: mapped target: one atomic instruction. Other targets: one operation of the transport.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The result reports an invalid address.
    #[inline(always)]
    pub fn compare_swap<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Fetch<'_, T>> {
        self.fetch_by(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }

    /// Reads the word at `at` without waiting for it.
    ///
    /// # Errors
    /// The job has a fault while the call waits for room. The result reports an invalid address.
    #[inline(always)]
    pub fn fetch<T: Word>(&self, at: GlobalPtr<T>) -> Result<Fetch<'_, T>> {
        self.fetch_by(at, AtomicOperator::Load, T::from_bits(0))
    }

    #[inline(always)]
    fn fetch_by<T: Word>(&self, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Fetch<'_, T>> {
        if let Some(place) = self.reach.place(at) {
            return Ok(Fetch::ready(place.atomic(operator, operand)));
        }
        self.fetch_after(Terms::FREE, at, operator, operand)
    }

    #[inline(always)]
    pub(super) fn apply<T: Word>(&self, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Handle<'_>> {
        if let Some(place) = self.reach.place(at) {
            place.atomic(operator, operand);
            return Ok(Handle::done_by(self));
        }
        self.apply_after(Terms::FREE, at, operator, operand)
    }

    #[cold]
    fn fetch_after<T: Word>(&self, terms: Terms, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Fetch<'_, T>> {
        Ok(Fetch::pending(self, self.submit(terms, task(at, operator, operand), Audience::Keeper)?))
    }

    #[cold]
    fn apply_after<T: Word>(&self, terms: Terms, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Handle<'_>> {
        Ok(Handle::pending(self, self.submit(terms, task(at, operator, operand), Audience::Anyone)?))
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::compare_swap`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; the job has a fault.
    pub fn compare_swap<T: Word>(&self, at: GlobalPtr<T>, expected: T, new: T) -> Result<Fetch<'c, T>> {
        self.fetch_by(at, AtomicOperator::CompareSwap { expected: expected.to_bits() }, new)
    }

    /// As [`Context::fetch`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; the job has a fault.
    pub fn fetch<T: Word>(&self, at: GlobalPtr<T>) -> Result<Fetch<'c, T>> {
        self.fetch_by(at, AtomicOperator::Load, T::from_bits(0))
    }

    fn fetch_by<T: Word>(&self, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Fetch<'c, T>> {
        match self.pending(at.address())? {
            Terms::FREE => self.context().fetch_by(at, operator, operand),
            terms => self.context().fetch_after(terms, at, operator, operand),
        }
    }

    pub(super) fn apply<T: Word>(&self, at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Result<Handle<'c>> {
        match self.pending(at.address())? {
            Terms::FREE => self.context().apply(at, operator, operand),
            terms => self.context().apply_after(terms, at, operator, operand),
        }
    }
}

fn task<T: Word>(at: GlobalPtr<T>, operator: AtomicOperator, operand: T) -> Task {
    Task::Atomic { at: at.address(), width: T::WIDTH, operator, operand: operand.to_bits(), into: None }
}
