//! Acquires several variables in one call, in an order that is the same on all ranks.

use pelago_rma::Result;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{ReadGuard, Shared, WriteGuard};

/// Acquires several variables, each to read or to write, and returns their guards in the order of the requests.
///
/// All ranks acquire variables in the order of their addresses, whatever the order of the requests. So ranks that hold no other variable do not
/// deadlock. This order is the same on all ranks, but it differs from that of creation where memory was used again: a rank that also acquires one variable
/// while it holds another cannot rely on it.
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
/// A vector of requests gives a vector of guards.
///
/// Cost: the sum of the costs of each.
///
/// # Errors
/// As [`Shared::write`]; then no variable is held.
pub fn acquire<W: AcquireSet>(requests: W) -> Result<W::Guards> {
    requests.acquire()
}

/// A request to read a variable; see [`Shared::to_read`].
#[must_use = "a request does nothing until it is given to acquire"]
pub struct ReadRequest<'g, 'w, T: ?Sized>(pub(crate) &'g mut Shared<'w, T>);

/// A request to write a variable; see [`Shared::to_write`].
#[must_use = "a request does nothing until it is given to acquire"]
pub struct WriteRequest<'g, 'w, T: ?Sized>(pub(crate) &'g mut Shared<'w, T>);

/// A request for one variable, as [`acquire`] takes it.
pub trait AcquireRequest: sealed::Sealed {
    /// The guard of the variable.
    type Guard;

    #[doc(hidden)]
    fn order(&self) -> u64;

    #[doc(hidden)]
    fn take(self) -> Result<Self::Guard>;
}

/// The requests that [`acquire`] takes: a tuple of up to six, or a vector of one type.
pub trait AcquireSet: sealed::Sealed {
    /// The guards: a tuple or a vector, like the requests.
    type Guards;

    #[doc(hidden)]
    fn acquire(self) -> Result<Self::Guards>;
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> AcquireRequest for ReadRequest<'g, 'w, T> {
    type Guard = ReadGuard<'g, 'w, T>;

    fn order(&self) -> u64 {
        self.0.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.read()
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> AcquireRequest for WriteRequest<'g, 'w, T> {
    type Guard = WriteGuard<'g, 'w, T>;

    fn order(&self) -> u64 {
        self.0.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.write()
    }
}

impl<W: AcquireRequest> AcquireSet for Vec<W> {
    type Guards = Vec<W::Guard>;

    fn acquire(self) -> Result<Self::Guards> {
        let mut requests: Vec<_> = self.into_iter().enumerate().collect();
        requests.sort_by_key(|(_, request)| request.order());
        let acquired = requests.into_iter().map(|(place, request)| request.take().map(|guard| (place, guard)));
        let mut guards = acquired.collect::<Result<Vec<_>>>()?;
        guards.sort_by_key(|&(place, _)| place);
        Ok(guards.into_iter().map(|(_, guard)| guard).collect())
    }
}

macro_rules! requests {
    ($($request:ident $guard:ident),+) => {
        impl<$($request: AcquireRequest),+> sealed::Sealed for ($($request,)+) {}

        impl<$($request: AcquireRequest),+> AcquireSet for ($($request,)+) {
            type Guards = ($($request::Guard,)+);

            #[allow(non_snake_case)]
            fn acquire(self) -> Result<Self::Guards> {
                let ($($request,)+) = self;
                let mut order = [$($request.order()),+];
                order.sort_unstable();
                $(let (mut $request, mut $guard) = (Some($request), None);)+
                for turn in order {
                    $(if let Some(request) = $request.take_if(|request| request.order() == turn) {
                        $guard = Some(request.take()?);
                    })+
                }
                Ok(($($guard.expect("each request was taken"),)+))
            }
        }
    };
}

requests!(A a);
requests!(A a, B b);
requests!(A a, B b, C c);
requests!(A a, B b, C c, D d);
requests!(A a, B b, C c, D d, E e);
requests!(A a, B b, C c, D d, E e, F f);

pub(crate) mod sealed {
    /// Prevents other implementations: the traits depend on the order in which locks are acquired.
    pub trait Sealed {}

    impl<T: ?Sized> Sealed for super::ReadRequest<'_, '_, T> {}
    impl<T: ?Sized> Sealed for super::WriteRequest<'_, '_, T> {}
    impl<W: super::AcquireRequest> Sealed for Vec<W> {}
}
