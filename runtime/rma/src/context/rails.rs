//! The networks by which a rank reaches others, and operations through one of them.

use pelago_base::{GlobalAddress, Rank};
use pelago_platform::{Capabilities, Rail};

use crate::order::graph::After;
use crate::{Context, Ordered};

/// The networks by which a rank reaches others, numbered from [`Rail::FIRST`]; see [`Context::rails`].
#[derive(Clone, Copy)]
pub struct Rails<'c> {
    context: &'c Context,
}

impl Context {
    /// Returns the networks by which this rank reaches others. The first is the shared memory of the host, if it is mapped.
    pub fn rails(&self) -> Rails<'_> {
        Rails { context: self }
    }

    /// Returns operations that use `rail` only: the request of a copy to the owner of its source uses this rail as well.
    ///
    /// Operations through different rails are ordered only by [`after`](Self::after) and completion, not by [`fence`](Self::fence). In this respect,
    /// operations whose rail the library chooses use a rail of their own, even if there is only one network.
    ///
    /// Cost: none through the best rail; through another rail to mapped memory, an operation of the transport.
    ///
    /// # Errors
    /// Of each operation: the rail has no route to the rank that the operation is posted to.
    pub fn on(&self, rail: Rail) -> Ordered<'_> {
        Ordered::new(self, Some(After::Nothing)).on(rail)
    }

    /// Whether `rail` is the mapped memory that contains the address.
    pub(crate) fn is_mapped_by(&self, rail: Rail, at: GlobalAddress) -> bool {
        let rank = self.reach.addresses().rank(at);
        self.reach.holds(rank) && self.rails().to(rank) == rail
    }
}

#[expect(clippy::len_without_is_empty, reason = "there is always a rail")]
impl<'c> Rails<'c> {
    /// Number of rails: at least one.
    pub fn len(self) -> usize {
        self.capabilities(<[_]>::len)
    }

    /// Returns the capabilities of each rail, with the cost of its operations, in the order of their numbers.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Capabilities> + use<> {
        self.capabilities(<[_]>::to_vec).into_iter()
    }

    /// Returns the default rail of operations on `rank`.
    pub fn to(self, rank: Rank) -> Rail {
        self.context.engine().borrow_mut().port().with(|transport| transport.network().rail_to(rank))
    }

    /// Whether operations on `rank` may use `rail`; for [all rails](Self::all), whether two rails have a route to it.
    pub fn reach(self, rail: Rail, rank: Rank) -> bool {
        rank.number() < self.context.size() && self.context.engine().borrow_mut().is_reachable(rail, rank)
    }

    /// Returns the rail number that stands for all rails at once, which follows the number of the last; `None` if there is only one rail.
    ///
    /// Through it a put, get or copy of 4096 bytes or more is striped over all rails with a route to the rank, in proportion to the bandwidth of
    /// each: a single block is split, several blocks are distributed. It is one operation with one handle: it has ended when all its parts
    /// have, and an operation [`after`](Context::after) it, or after a [`fence`](Context::fence), takes effect after all parts. Shorter operations and
    /// atomics use the best rail.
    ///
    /// Cost: an operation of the transport per part. An operation after a striped one starts only when the striped one has ended.
    ///
    /// ```
    /// # use pelago_base::Rank;
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>, values: &[u64], rank: Rank) -> Result<()> {
    /// let rails = context.rails();
    /// let all = rails.all().filter(|&all| rails.reach(all, rank));
    /// let put = context.on(all.unwrap_or(rails.to(rank))).put(data, values)?;
    /// context.after(&put).put(flag, &[1])?.wait()
    /// # }
    /// ```
    pub fn all(self) -> Option<Rail> {
        self.context.engine().borrow().all_rails()
    }

    fn capabilities<R>(self, f: impl FnOnce(&[Capabilities]) -> R) -> R {
        self.context.engine().borrow_mut().port().with(|transport| f(transport.network().rails()))
    }
}
