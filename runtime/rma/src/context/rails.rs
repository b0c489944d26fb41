//! The networks by which a rank reaches others, and operations that go by one of them.

use pelago_base::{GlobalAddress, Rank};
use pelago_platform::{Capabilities, Rail};

use crate::order::graph::After;
use crate::{Context, Ordered};

/// The networks by which a rank reaches others, by their numbers from [`Rail::FIRST`] on; see [`Context::rails`].
#[derive(Clone, Copy)]
pub struct Rails<'c> {
    context: &'c Context,
}

impl Context {
    /// The networks by which this rank reaches others. The first is the memory of the host where that is mapped.
    pub fn rails(&self) -> Rails<'_> {
        Rails { context: self }
    }

    /// Operations that go by `rail` and no other: a copy is asked for by it of the owner of its source.
    ///
    /// Nothing orders what goes by one rail and what goes by another, [`fence`](Self::fence) included, but [`after`](Self::after) and completion.
    ///
    /// Cost: by the rail that is best nothing; by another to memory that is mapped an operation of the transport.
    ///
    /// # Errors
    /// Of each operation: the rail does not lead to the rank that it is posted to.
    pub fn on(&self, rail: Rail) -> Ordered<'_> {
        Ordered::new(self, Some(After::Nothing)).on(rail)
    }

    /// Whether `rail` is the memory that an address lies in.
    pub(crate) fn is_mapped_by(&self, rail: Rail, at: GlobalAddress) -> bool {
        let rank = self.reach.addresses().rank(at);
        self.reach.holds(rank) && self.rails().to(rank) == rail
    }
}

#[expect(clippy::len_without_is_empty, reason = "there is always a rail")]
impl<'c> Rails<'c> {
    /// How many there are: one at least.
    pub fn len(self) -> usize {
        self.capabilities(<[_]>::len)
    }

    /// What each does by itself, and what operations cost on it, in the order of their numbers.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Capabilities> + use<> {
        self.capabilities(<[_]>::to_vec).into_iter()
    }

    /// The rail that operations on `rank` take by themselves.
    pub fn to(self, rank: Rank) -> Rail {
        self.context.engine().borrow_mut().port().with(|transport| transport.network().rail_to(rank))
    }

    /// Whether operations on `rank` may go by `rail`; by [all of them](Self::all), if two lead there.
    pub fn reach(self, rail: Rail, rank: Rank) -> bool {
        rank.number() < self.context.size() && self.context.engine().borrow_mut().is_reachable(rail, rank)
    }

    /// All rails at once, under a number of their own, after that of the last; `None` where there is one rail.
    ///
    /// By it a put, get or copy of 4096 bytes or more is striped over all rails that lead there, in proportion to the bytes per second of
    /// each: one block is cut, several are dealt out. It is one operation with one handle: it has ended when all parts
    /// have, and what comes [`after`](Context::after) it, or after a [`fence`](Context::fence), comes after all of them. Whatever is shorter, and
    /// atomics, go by the rail that is best.
    ///
    /// Cost: an operation of the transport for each part. Nothing follows a striped operation before it has ended.
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
