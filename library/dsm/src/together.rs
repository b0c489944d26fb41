//! Several variables at once, in an order that is the same on all ranks.

use pelago_rma::Result;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{ReadGuard, Shared, WriteGuard};

/// Acquires several variables, each to read or to write, and returns their guards as they were asked for.
///
/// All ranks acquire variables in one order, that of their making, whatever the order in which they are named here. So ranks that hold nothing
/// else do not wait for each other in a circle.
///
/// ```
/// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
/// # use pelago_dsm::{Shared, acquire};
/// let mut from = Shared::<i64>::new(world, world.rank(), 100)?;
/// let mut to = Shared::<i64>::new(world, world.rank(), 0)?;
/// let mut rate = Shared::<i64>::new(world, world.rank(), 3)?;
/// let (mut one, mut other, rate) = acquire((from.to_write(), to.to_write(), rate.to_read()))?;
/// *one -= *rate;
/// *other += *rate;
/// # Ok(())
/// # }
/// ```
///
/// A vector of wishes gives a vector of guards.
///
/// Cost: that of each; one after another.
///
/// # Errors
/// As [`Shared::write`]; then none is held.
pub fn acquire<W: Wishes>(wishes: W) -> Result<W::Guards> {
    wishes.acquire()
}

/// A wish to read a variable; see [`Shared::to_read`].
#[must_use = "a wish does nothing until it is given to acquire"]
pub struct ToRead<'g, 'w, T: ?Sized>(pub(crate) &'g mut Shared<'w, T>);

/// A wish to write a variable; see [`Shared::to_write`].
#[must_use = "a wish does nothing until it is given to acquire"]
pub struct ToWrite<'g, 'w, T: ?Sized>(pub(crate) &'g mut Shared<'w, T>);

/// What can be acquired together with others.
pub trait Wish: sealed::Sealed {
    /// What it gives.
    type Guard;

    #[doc(hidden)]
    fn order(&self) -> u64;

    #[doc(hidden)]
    fn take(self) -> Result<Self::Guard>;
}

/// A tuple of up to six wishes, or a vector of equal ones.
pub trait Wishes: sealed::Sealed {
    /// What they give.
    type Guards;

    #[doc(hidden)]
    fn acquire(self) -> Result<Self::Guards>;
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Wish for ToRead<'g, 'w, T> {
    type Guard = ReadGuard<'g, 'w, T>;

    fn order(&self) -> u64 {
        self.0.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.read()
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Wish for ToWrite<'g, 'w, T> {
    type Guard = WriteGuard<'g, 'w, T>;

    fn order(&self) -> u64 {
        self.0.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.write()
    }
}

impl<W: Wish> Wishes for Vec<W> {
    type Guards = Vec<W::Guard>;

    fn acquire(self) -> Result<Self::Guards> {
        let mut wishes: Vec<_> = self.into_iter().enumerate().collect();
        wishes.sort_by_key(|(_, wish)| wish.order());
        let taken = wishes.into_iter().map(|(place, wish)| wish.take().map(|guard| (place, guard)));
        let mut guards = taken.collect::<Result<Vec<_>>>()?;
        guards.sort_by_key(|&(place, _)| place);
        Ok(guards.into_iter().map(|(_, guard)| guard).collect())
    }
}

macro_rules! wishes {
    ($($wish:ident $guard:ident),+) => {
        impl<$($wish: Wish),+> sealed::Sealed for ($($wish,)+) {}

        impl<$($wish: Wish),+> Wishes for ($($wish,)+) {
            type Guards = ($($wish::Guard,)+);

            #[allow(non_snake_case)]
            fn acquire(self) -> Result<Self::Guards> {
                let ($($wish,)+) = self;
                let mut order = [$($wish.order()),+];
                order.sort_unstable();
                $(let (mut $wish, mut $guard) = (Some($wish), None);)+
                for turn in order {
                    $(if let Some(wish) = $wish.take_if(|wish| wish.order() == turn) {
                        $guard = Some(wish.take()?);
                    })+
                }
                Ok(($($guard.expect("each has had its turn"),)+))
            }
        }
    };
}

wishes!(A a);
wishes!(A a, B b);
wishes!(A a, B b, C c);
wishes!(A a, B b, C c, D d);
wishes!(A a, B b, C c, D d, E e);
wishes!(A a, B b, C c, D d, E e, F f);

pub(crate) mod sealed {
    /// Nobody else implements what depends on how locks are taken.
    pub trait Sealed {}

    impl<T: ?Sized> Sealed for super::ToRead<'_, '_, T> {}
    impl<T: ?Sized> Sealed for super::ToWrite<'_, '_, T> {}
    impl<W: super::Wish> Sealed for Vec<W> {}
}
